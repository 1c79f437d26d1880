"""Short keys in place of long texts, and the proof that no two share one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kanon_sql.plan.bound import BoundColumn, BoundSpec
from kanon_sql.plan.steps import spoken, step
from kanon_sql.spec.models.base import SensitiveModel
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement

LEAST_HASHED = 3
"""From how many columns on it pays to group by their hashes, the proof included. A sensitive
attribute counts twice, because its frequency set is the larger one."""


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
    hashed = sum(column.hashed for column in quasi_identifiers)
    hashed += 2 * any(column.hashed for column in sensitive)
    if bound.wildcard or bound.spec.first or hashed < LEAST_HASHED:
        return bound
    return replace(bound, keys=tuple(_paired(quasi_identifiers)), sensitive=sensitive)


def _paired(columns: Sequence[BoundColumn]) -> Iterator[BoundColumn]:
    """Hashed columns two by two in one key; one that is left over, and all others, as they are."""
    hashed = [column for column in columns if column.hashed]
    paired = len(hashed) - len(hashed) % 2
    for place in range(0, paired, 2):
        yield BoundColumn(
            name=spoken(hashed[place : place + 2]),
            type="UBIGINT",
            alias=f"kanon_key_{place // 2 + 1}",
            parts=tuple(hashed[place : place + 2]),
        )
    yield from (column for column in columns if column not in hashed[:paired])


def proof_of_keys(bound: BoundSpec) -> Statement | None:
    grouped = [part for key in bound.keys for part in key.parts or (key,)]
    hashed = [column for column in (*grouped, *bound.sensitive) if column.hashed]
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
