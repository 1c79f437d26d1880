"""The worked examples on the models' pages: one that violates beside one that satisfies."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Any, NamedTuple

from kanon_sql.question.roles import ROLES, columns_by_role

Rows = Sequence[tuple[str | int, ...]]

QUASI_IDENTIFIERS = ("zip", "age")
PERSON = "person"
"""The entity column, in the examples of several releases."""


class Example(NamedTuple):
    """Parameters of a model, six records for which it fails, and six for which it holds."""

    parameters: Mapping[str, Any]
    fails: Rows
    holds: Rows
    why: str
    """Why it fails, in one sentence."""
    sensitive: str = "disease"
    reference: Rows = ()
    earlier: Rows = ()
    """The earlier release of the same six people, in the same order."""
    original: Rows = ()
    """The table that both were made from, in the examples of synthetic tables."""
    roles: Mapping[str, Any] = {}
    """The columns of other roles, such as those of an event; the rows begin with the person."""

    @property
    def columns(self) -> tuple[str, ...]:
        if self.roles:
            named = SimpleNamespace(**self.roles)
            return (PERSON, *(column for _, column in columns_by_role(named)))
        who = (PERSON,) if self.earlier else ()
        return (*who, *QUASI_IDENTIFIERS, self.sensitive)

    def rows(self, rows: Rows) -> Sequence[tuple[str | int, ...]]:
        """The records under `columns`: with the person first, if there was an earlier release."""
        if not self.earlier:
            return rows
        return [(person, *row) for person, row in zip("abcdef", rows, strict=True)]


class CellExample(NamedTuple):
    """Parameters of a model with a table that violates it and one that satisfies it."""

    parameters: Mapping[str, Any]
    columns: tuple[str, ...]
    fails: Sequence[tuple[str | int, ...]]
    holds: Sequence[tuple[str | int, ...]]
    why: str
    """Why it fails, in one sentence."""
    settings: Mapping[str, Any]
    """How both are read, by the keys of a spec."""
    second: Sequence[tuple[str | int, ...]] = ()
    """The second table, for a comparison of two."""

    @property
    def options(self) -> str:
        """The options under which `kanon-sql tables` reads both."""
        flags = []
        for key, value in self.settings.items():
            flag = "published" if key == "cells" else key.replace("_", "-")
            argument = ",".join(value) if isinstance(value, list) else value
            flags.append(f"--{flag}" if value is True else f"--{flag} {argument}")
        return " ".join([*flags, *(["--against SECOND"] if self.second else [])])


class ExampleOf:
    """The example of a model, as an attribute of its class; the file is read when it is used."""

    def __get__(self, instance: object, model: Any) -> Any:
        return examples().get(model.name())


@cache
def records() -> Mapping[str, Rows]:
    """The rows that several examples have, by name."""
    return {name: list(map(tuple, rows)) for name, rows in _file()["records"].items()}


@cache
def examples() -> Mapping[str, Example | CellExample]:
    """The example of each model, by the model's name."""
    return {name: _example(entry) for name, entry in _file().items() if name != "records"}


@cache
def _file() -> dict[str, Any]:
    text = files("kanon_sql.models").joinpath("examples.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _example(entry: Mapping[str, Any]) -> Example | CellExample:
    fields = dict(entry)
    for key in fields.keys() & {"fails", "holds", "reference", "earlier", "original", "second"}:
        rows = fields[key]
        fields[key] = records()[rows] if isinstance(rows, str) else list(map(tuple, rows))
    if "columns" in fields:
        return CellExample(**fields | {"columns": tuple(fields["columns"])})
    others = {role.key for role in ROLES} - {"sensitive"}
    roles = {key: fields.pop(key) for key in fields.keys() & others}
    return Example(**fields, roles=roles)
