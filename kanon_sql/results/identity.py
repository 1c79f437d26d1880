"""What makes two tables or two checks the same question."""

from __future__ import annotations

from typing import Any

from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.results.check import CheckResult
from kanon_sql.results.json_part import plain_json
from kanon_sql.results.seal import canonical
from kanon_sql.results.table import TableResult

QUESTION = {
    "quasi_identifiers": "quasi-identifiers",
    "entity": "entity",
    "events": "events",
    "levels": "levels",
    "nulls": "nulls",
    "sensitive_nulls": "sensitive nulls",
    "where": "filter",
    "first": "number of first records",
    "sources": "references or hierarchies",
    "by": "dimensions",
    "value": "value",
    "contributor": "contributor",
    "weight": "weight",
    "published": "records or published cells",
    "margins": "margins",
    "totals": "what totals are",
    "figure": "kind of figure",
    "against": "second tables",
}
"""The parts of a question that must agree for tables to be comparable, with their display names;
first those of a table of records."""
OTHER_RECORDS = ("where", "first", "sources", "against")
"""Parts that may differ while figures stay comparable: another filter is like another file."""


def check_key(check: CheckResult, table: TableResult, *, thresholds: bool = True) -> str:
    """Identity of a check: its model and all parameters.

    If other sensitive attributes count as known, these too. Without `thresholds`, checks that
    differ only in these are equal.
    """
    left_out = () if thresholds else ALL_MODELS[check.model].thresholds
    parameters = {key: value for key, value in check.parameters.items() if key not in left_out}
    if parameters.get("with_other_sensitive"):
        parameters["with_other_sensitive"] = sorted(table.sensitive)
    if columns := parameters.get("columns"):
        parameters["columns"] = sorted(columns)
    return f"{check.model} {_canonical(parameters)}"


def table_key(table: TableResult) -> str:
    """Identity of a table: its name and question."""
    return _canonical({"name": table.name, **table.question})


def other_questions(one: TableResult, other: TableResult) -> list[str]:
    """Keys of `QUESTION` in which two tables differ."""
    first, second = one.question, other.question
    return [key for key in QUESTION if _canonical(first.get(key)) != _canonical(second.get(key))]


def _canonical(value: Any) -> str:
    """Canonical JSON, equal only for equal values: 1 is 1.0, and neither is true."""
    return canonical(plain_json(value))
