"""The JSON Schema of what is stored, made from the dataclasses that are written.

It is open: a reader passes over keys that it does not know, as later releases add some.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kanon_sql.models.catalogue import MODELS
from kanon_sql.models.described import descriptions, texts_below
from kanon_sql.results.cells import (
    KEYS_OF_CELLS,
    NOT_OF_CELLS,
    CellCheckResult,
    CellDetails,
    CellsResult,
    CellSummary,
)
from kanon_sql.results.check import CheckDetails, CheckResult, InBaseline
from kanon_sql.results.compared import Change, ThresholdChange
from kanon_sql.results.diff import Presence
from kanon_sql.results.json_part import IF_SET, INLINED, UNWRITTEN
from kanon_sql.results.lineage import Carried, ProjectLineage, SelectedBy
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Anonymization, Recoded, Tradeoff
from kanon_sql.results.seal import SEAL
from kanon_sql.results.stored import BASELINE_VERSION
from kanon_sql.results.table import FileDigest, Status, TableResult
from kanon_sql.results.tabular import Risk
from kanon_sql.results.version import FORMAT, VERSION

Schema = dict[str, Any]
_NUMBER: Schema = {"anyOf": [{"type": "number"}, {"enum": ["Infinity", "-Infinity"]}]}
_NO_NUMBER: Schema = {"type": "null"}
_FIGURE: Schema = {"anyOf": [*_NUMBER["anyOf"], _NO_NUMBER]}
_SCALARS: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: _NUMBER,
    str: {"type": "string"},
    NoneType: _NO_NUMBER,
    Any: {},
}


@dataclass(frozen=True)
class _OldAndNew:
    """A property of both results; null where one lacks it."""

    old: Any
    new: Any


@dataclass(frozen=True)
class _ChangedFigure:
    """A figure of both results, and how it changed."""

    old: Any
    new: Any
    change: Change
    of: _OldAndNew | None = None
    """The old and the new denominator, where shares are compared."""


@dataclass(frozen=True)
class _ChangedCheck:
    """A check in both results, or in one of them."""

    model: str
    parameters: _OldAndNew
    presence: Presence
    change: Change
    demand: ThresholdChange
    """How its thresholds changed."""
    holds: _OldAndNew
    figures: Mapping[str, _ChangedFigure]


@dataclass(frozen=True)
class _ChangedStatus:
    """The status of a table in both results."""

    old: Status | None
    new: Status | None
    change: Change


@dataclass(frozen=True)
class _ChangedTable:
    """A table in both results, or in one of them."""

    name: _OldAndNew
    presence: Presence
    status: _ChangedStatus
    question: Mapping[str, _OldAndNew]
    """The parts in which the questions differ."""
    comparable: bool
    """Whether the figures mean the same in both."""
    left_out: tuple[str, ...]
    """Former quasi-identifiers and entity that are no longer used."""
    summary: Mapping[str, _ChangedFigure]
    risk: Mapping[str, _ChangedFigure]
    checks: tuple[_ChangedCheck, ...]


@dataclass(frozen=True)
class _Cells:
    """The result of `tables`."""

    status: Status
    tables: tuple[Any, ...]
    audited: str = ""
    """UTC date of the audit."""
    asked: str = ""
    """The command that wrote it."""
    files: tuple[FileDigest, ...] = ()
    """The files that it is about, if it was written to a file."""
    spec: str = ""
    """The text of the spec file, without secrets and listed values."""


@dataclass(frozen=True)
class _Audit(_Cells):
    """The result of an audit, or of a release with `anonymization`."""

    anonymization: Anonymization | None = None
    """How the release was made; absent for an audit."""


@dataclass(frozen=True)
class _Profile:
    """The result of a profile."""

    status: Status
    tables: tuple[TableProfile, ...]


@dataclass(frozen=True)
class _Tradeoff:
    """The cost of each k."""

    status: Literal["measured", "no_data"]
    tradeoff: Tradeoff
    asked: str = ""
    """The command that wrote it."""


@dataclass(frozen=True)
class _Diff:
    """The differences between an old and a new result."""

    old: str
    """The file name."""
    new: str
    """The file name."""
    worse: bool
    """Whether anything got worse or is no longer required."""
    several_releases: str
    tables: tuple[_ChangedTable, ...]
    anonymization: Mapping[str, _ChangedFigure]
    """Differences in levels, suppression and metrics."""


@dataclass(frozen=True)
class _Lineage:
    """The lineage of roles through a dbt project."""

    status: Status
    lineage: ProjectLineage


_KINDS = {
    "audit or anonymize": _Audit, "tables": _Cells, "profile": _Profile, "tradeoff": _Tradeoff,
    "diff": _Diff, "lineage": _Lineage,
}  # fmt: skip


def result_schema() -> Schema:
    """The JSON Schema of everything written with `--format json`."""
    definitions = _Definitions()
    schemas = [definitions.read(result) | {"title": title} for title, result in _KINDS.items()]
    # Without a table, the first three can't be told apart.
    for schema in schemas[1:3]:
        schema["properties"]["tables"]["minItems"] = 1
    return _document("result", {}, [], definitions, {"oneOf": schemas})


def baseline_schema() -> Schema:
    """The JSON Schema of a baseline: an audit with its version."""
    definitions = _Definitions()
    audit = definitions.read(_Audit)
    properties = {"baseline": {"const": BASELINE_VERSION}, **audit["properties"]}
    del properties["anonymization"]
    return _document("baseline", properties, ["baseline", *audit["required"]], definitions, {})


def schema_id(name: str) -> str:
    """The id of a schema of this version; nothing is fetched from it.

    >>> schema_id("result").endswith("/result.schema.json")
    True
    """
    return f"https://raw.githubusercontent.com/kanon-sql/kanon-sql/v{VERSION}/{name}.schema.json"


def _document(
    name: str, properties: Schema, required: list[str], definitions: _Definitions, more: Schema
) -> Schema:
    written = {
        "kanon_sql": {"type": "string", "description": "The version that wrote it."},
        "format": {"const": FORMAT, "description": "The format; absent in old files."},
        SEAL: {
            "type": "string",
            "pattern": "^[0-9a-f]{64}$",
            "description": "SHA-256 of the canonical JSON without this key: sorted keys, no "
            "whitespace, ASCII alone, whole numbers without a point. Absent in old files, and in "
            "a comparison, which is not read again. It is no signature.",
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": schema_id(name),
        "title": f"kanon-sql {name}",
        "type": "object",
        "required": ["kanon_sql", *required],
        "properties": written | properties,
        **more,
        "$defs": definitions.written,
    }


class _Definitions:
    """The dataclasses of a schema by name, each described once."""

    def __init__(self) -> None:
        self.written: dict[str, Schema] = {}

    def read(self, dataclass_type: Any) -> Schema:
        """The schema of a dataclass's JSON."""
        texts, hints = _texts(dataclass_type), get_type_hints(dataclass_type)
        more = _MORE.get(dataclass_type, _AsWritten())
        written = [
            field
            for field in fields(dataclass_type)
            if field.metadata not in (UNWRITTEN, INLINED) and field.name not in more.without
        ]
        properties = {
            field.name: (
                _NAMED.get((dataclass_type, field.name))
                or self.of(_TYPED.get((dataclass_type, field.name), hints[field.name]))
            )
            | ({"description": texts[field.name]} if field.name in texts else {})
            for field in written
        }
        required = [
            field.name
            for field in written
            if field.metadata != IF_SET
            and (
                hasattr(dataclass_type, "to_dict")
                or (field.default, field.default_factory) == (MISSING, MISSING)
            )
        ]
        if more.inlined:
            properties |= self.read(more.inlined)["properties"]
        schema: Schema = {"type": "object", "description": _in_json(dataclass_type.__doc__)}
        schema |= {"required": required, "properties": properties | dict(more.properties)}
        return schema | (
            {"additionalProperties": more.additional} if more.additional is not None else {}
        )

    def of(self, annotation: Any) -> Schema:
        """The schema of a value of this type."""
        if annotation in _SCALARS:
            return _SCALARS[annotation]
        if annotation is Risk:
            return _RISK
        if is_dataclass(annotation) and isinstance(annotation, type):
            name = annotation.__name__.removeprefix("_")
            if name not in self.written:
                self.written[name] = {}  # holds the place while its own parts are read
                self.written[name] = self.read(annotation)
            return {"$ref": f"#/$defs/{name}"}
        origin, inner = get_origin(annotation), get_args(annotation)
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(argument) for argument in inner]}
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if isinstance(origin, type) and issubclass(origin, tuple | list):
            return {"type": "array", "items": self.of(inner[0])}
        raise AssertionError(f"no schema for {annotation}")


def _texts(dataclass_type: Any) -> dict[str, str]:
    described: list[Any] = [cls for cls in reversed(dataclass_type.__mro__) if is_dataclass(cls)]
    return {name: _in_json(text) for cls in described for name, text in texts_below(cls).items()}


def _in_json(text: str) -> str:
    """A docstring about what JSON holds, which has null for None."""
    return re.sub(r"\bNone\b", "null", inspect.cleandoc(text))


def _parameters() -> Schema:
    """The parameters of all models, by name."""
    properties: Schema = {}
    for name, model in MODELS.items():
        for parameter, text in descriptions(model).items():
            entry = properties.setdefault(parameter, {"description": f"{name}: {text}"})
            if not entry["description"].endswith(text):
                entry["description"] += f" {name}: {text}"
    return {
        "type": "object",
        "description": "Every parameter in force, by name.",
        "properties": properties,
    }


@dataclass(frozen=True)
class _AsWritten:
    """How the JSON of a dataclass differs from its fields."""

    without: Collection[str] = ()
    inlined: Any = None
    """The dataclass whose keys are inlined, each only where it is known."""
    properties: Mapping[str, Schema] = field(default_factory=dict)
    additional: Schema | None = None
    """The schema of keys that depend on the data."""


def _values_schema(subject: str, json_type: str = "array") -> Schema:
    """The schema of values of the data."""
    return {"type": json_type, "description": f"{subject}, only with --show-values."}


_FROM: Schema = {"type": "array", "items": {"type": "string"}}
"""The origins of a role, as source.table.column or model.column."""
_MORE: dict[Any, _AsWritten] = {
    **dict.fromkeys((Carried, SelectedBy), _AsWritten(properties={"from": _FROM})),
    CheckResult: _AsWritten(inlined=CheckDetails),
    InBaseline: _AsWritten(additional={}),
    TableResult: _AsWritten(
        properties={
            "holds_personal_data": {"const": True, "description": "Only with --show-values."},
            "shown_values": _values_schema("Values of the data", "object"),
        }
    ),
    CellCheckResult: _AsWritten(without=NOT_OF_CELLS, inlined=CellDetails),
    CellsResult: _AsWritten(
        without={field.name for field in fields(CellsResult)} - set(KEYS_OF_CELLS),
        properties={
            "holds_personal_data": {"const": True, "description": "Only with --show-values."},
            "cells": _values_schema("Violating cells, combinations without a record among them"),
            "groups": _values_schema("Disclosed groups"),
            "differences": _values_schema("Cells that differ by few"),
            "intervals": _values_schema("Of suppressed cells"),
        },
    ),
    TableProfile: _AsWritten(properties={"counted": {"enum": ["records", "people"]}}),
    Anonymization: _AsWritten(inlined=Recoded),
}
_TYPED: dict[tuple[Any, str], Any] = {
    (_Audit, "tables"): tuple[TableResult, ...],
    (_Cells, "tables"): tuple[CellsResult, ...],
    (CheckResult, "baseline"): InBaseline | float | None,
    (CellsResult, "summary"): CellSummary,
    (CellsResult, "checks"): tuple[CellCheckResult, ...],
}
"""The types of fields that a subclass writes otherwise."""
_NAMED: dict[tuple[Any, str], Schema] = {
    (CheckResult, "achieved"): {
        "description": "The figure of the worst class; of δ-presence both ends of its range.",
        "anyOf": [
            *_FIGURE["anyOf"],
            {
                "type": "object",
                "required": ["min", "max"],
                "properties": {"min": _FIGURE, "max": _FIGURE},
            },
        ],
    },
    (CheckResult, "parameters"): _parameters(),
}
_RISK: Schema = {
    "type": "object",
    "description": "By attacker: prosecutor, journalist, marketer, individual or household; null "
    "where not measured.",
    "additionalProperties": {
        "anyOf": [{"type": "object", "additionalProperties": _FIGURE}, {"type": "null"}]
    },
}
