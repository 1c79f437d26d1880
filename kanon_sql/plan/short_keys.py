"""Short keys in place of long texts, and the proof that no two share one."""

from __future__ import annotations

from dataclasses import replace

from kanon_sql.plan.bound import BoundColumn, BoundSpec
from kanon_sql.plan.steps import spoken, step
from kanon_sql.spec.models.base import SensitiveModel
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement

LEAST_HASHED = 2
"""How many quasi-identifiers must be grouped by their hash for that to pay, and a sensitive
attribute must be read besides: 1.6 to 1.9 times less processor time for five texts of few values,
1.5 times for zip and sex beside an age, the proof included, and one per cent for one text; for k
alone the proof costs what the hash saves (DuckDB 2.0). Half of a hash is enough, as the proof is
exact: by whole ones the window over a class of five takes 1.3 times as long."""


def with_short_keys(bound: BoundSpec) -> BoundSpec:
    """The same question with text of few values grouped by its hash, where that pays."""

    def keyed(column: BoundColumn) -> BoundColumn:
        return replace(column, hashed=column.type == "VARCHAR" and column.few_values)

    read = {
        check.model.sensitive
        for check in bound.checks
        if isinstance(check.model, SensitiveModel) and check.model.reads_values
    }
    quasi_identifiers = tuple(keyed(column) for column in bound.quasi_identifiers)
    sensitive = tuple(
        column if column.name in read else keyed(column) for column in bound.sensitive
    )
    pays = sum(column.hashed for column in quasi_identifiers) >= LEAST_HASHED and bool(sensitive)
    if bound.wildcard or bound.spec.first or not pays:
        return bound
    return replace(bound, keys=quasi_identifiers, sensitive=sensitive)


def proof_of_keys(bound: BoundSpec) -> Statement | None:
    hashed = [column for column in (*bound.keys, *bound.sensitive) if column.hashed]
    if not hashed:
        return None
    return step(
        bound,
        "keys",
        f"Does the hash of {spoken(hashed)} tell all its values apart, so that classes may be "
        "grouped by it?",
        render("keys_tell_values_apart", relation=bound.table.sql, columns=hashed),
        only="before the steps that group by hash(); if two counts differ, they group by the "
        "values instead",
    )
