"""What dbt documents of a model's test, in the model's own words, for a test that has none yet."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, get_args

from kanon_sql.spec.models.base import Model, Values
from kanon_sql.spec.models.catalogue import MODELS
from kanon_sql.spec.models.described import descriptions

LAST = "  - name: generalized\n"
"""What is no test stands below them all."""


def with_entries(text: str, tests: dict[str, Sequence[str]]) -> str:
    """The document with an entry for each test that it lacks."""
    lacking = [name for name in MODELS if name in tests and f"- name: test_{name}\n" not in text]
    anchors = set(re.findall(r"- &(\w+)", text))
    entries = "".join(_entry(MODELS[name], tests[name], anchors) for name in lacking)
    return text.replace(LAST, entries + LAST)


def _entry(model: type[Model], arguments: Sequence[str], anchors: set[str]) -> str:
    own = [name for name in arguments if name in model.model_fields and name not in anchors]
    title = f"{model.title[0].upper()}{model.title[1:]}. {model.promise}"
    lines = [f"  - name: test_{model.name()}", "    description: |", *_folded(title, 6), ""]
    lines += ["      ```yaml", "      data_tests:", f"        - kanon_sql.{model.name()}:"]
    lines += ["            arguments:", "              quasi_identifiers: [zip, age, sex]"]
    lines += ["              sensitive: diagnosis"] * ("sensitive" in arguments)
    asked = model.example.parameters
    lines += [f"              {name}: {value}" for name, value in asked.items()]
    lines += ["      ```", "    arguments:"]
    for name in arguments:
        lines += _argument(model, name) if name in own else [f"      - *{name}"]
    return "\n".join([*lines, "", ""])


def _argument(model: type[Model], name: str) -> Iterator[str]:
    yield f"      - name: {name}"
    yield f"        type: {_type(model.model_fields[name].annotation)}"
    yield "        description: >-"
    yield from _folded(descriptions(model)[name], 10)


def _type(annotation: Any) -> str:
    """The type in dbt's words: a threshold is a number, whole or not."""
    kinds = {annotation, *get_args(annotation)}
    inner = kinds | {each for kind in kinds for each in get_args(kind)}
    if Values in kinds or any(each in inner for each in get_args(Values)):
        return "list[any]"
    if float in inner or any(float in get_args(each) for each in inner):
        return "float"
    return "integer" if int in inner else "string"


def _folded(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, 100, initial_indent=" " * indent, subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )  # fmt: skip
