"""Parses column lists, levels, weights and checks in option values."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kanon_sql.errors import SpecError

if TYPE_CHECKING:
    from kanon_sql.spec.models.base import Model


def all_column_names(flag: str, texts: Iterable[str]) -> list[str]:
    return [name for text in texts for name in column_names(flag, text)]


def column_names(flag: str, text: str) -> list[str]:
    """Split a comma-separated list of names, with CSV quoting.

    >>> column_names("--qi", 'zip, "last, first"')
    ['zip', 'last, first']

    Raises `SpecError` for an empty part or an unclosed quote.
    """
    try:
        [names] = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise SpecError(
            f"{flag} {text!r} is not a list of names; quote one with a comma or a quote as in CSV."
        ) from None
    if not all(names):
        raise SpecError(f"{flag} {text!r} has an empty item. Remove the extra comma.")
    return names


def parsed_weights(flag: str, texts: Iterable[str]) -> dict[str, float]:
    """Parse COL=X pairs into weights by column."""
    weights: dict[str, float] = {}
    for text in texts:
        for pair in column_names(flag, text):
            name, number = of_column(flag, pair)
            if not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", number) or float(number) <= 0:
                raise SpecError(
                    f"{flag} {pair!r} is not COL=X with a number above 0, as in age=2.5."
                )
            if name in weights:
                raise SpecError(f'{flag} names "{name}" twice. Name it once.')
            weights[name] = float(number)
    return weights


def parsed_levels(flag: str, texts: Iterable[str]) -> dict[str, int]:
    """Parse COL=N pairs into levels by column."""
    levels: dict[str, int] = {}
    for text in texts:
        for pair in column_names(flag, text):
            name, number = of_column(flag, pair)
            if not re.fullmatch("[0-9]+", number):
                raise SpecError(f"{flag} {pair!r} is not COL=N, as in zip=2.")
            if name in levels:
                raise SpecError(f'{flag} names "{name}" twice. Name it once.')
            levels[name] = int(number)
    return levels


def of_column(flag: str, text: str) -> tuple[str, str]:
    """Split COL=VALUE into column and value.

    >>> of_column("--hierarchy", "zip=mask:right"), of_column("--clip", '"a=b"=1:9')
    (('zip', 'mask:right'), ('a=b', '1:9'))
    """
    name, equals, rest = column_first(text)
    if not (name and equals and rest):
        raise SpecError(f"{flag} {text!r} is not COL=…, as in {flag} zip=2.")
    return name, rest


def column_first(text: str) -> tuple[str, str, str]:
    """Split at the first `=` after the column, which is quoted if its name contains one."""
    quoted = re.fullmatch(r'\s*"((?:[^"]|"")+)"\s*(=?)(.*)', text, re.DOTALL)
    if quoted and bool(quoted[2]) == bool(quoted[3]):
        return quoted[1].replace('""', '"'), quoted[2], quoted[3].strip()
    name, equals, rest = text.partition("=")
    return name.strip(), equals, rest.strip()


def check_named(text: str) -> Model:
    """The model of `MODEL[:KEY=VALUE,…]`.

    >>> check_named("k_map:k=5,reference=voters").parameters["reference"]
    'voters'

    Raises `SpecError` for an unknown model, an unknown or repeated key, or an invalid value.
    """
    from kanon_sql.spec.models.catalogue import model_named
    from kanon_sql.spec.yaml_document import scalar_or_list

    name, colon, rest = text.partition(":")
    model = model_named(name.strip())
    parameters: dict[str, Any] = {}
    for part in outer_parts(rest) if colon else ():
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not (key and equals and value.strip()):
            raise SpecError(f"--check {text}: {part.strip()!r} is not KEY=VALUE, as in k=5.")
        if key in parameters:
            raise SpecError(f"--check {text}: {key} is given twice. Give it once.")
        parameters[key] = scalar_or_list(value)
    return model(**parameters)


def outer_parts(text: str) -> Iterator[str]:
    """Split at commas outside quotes and brackets."""
    part, quote, depth = "", "", 0
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            yield part
            part = ""
            continue
        part += character
    yield part
