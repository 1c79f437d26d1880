"""Looks for columns without a part that could tell people apart, and counts whom they do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kanon_sql.plan.bound import BoundColumn, BoundSpec
from kanon_sql.plan.columns import bound_column
from kanon_sql.plan.steps import counted, records, spoken, step, with_entity
from kanon_sql.sql.column_types import family
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement

FIRST_RECORDS = 10_000
"""How many records are looked at to find columns that might tell people apart."""
MOST_CELLS = 5_000_000
"""How many cells are looked at once such columns are found: a tenth of a second, or a half. What is
asked of ten million records may take less than to count them for a warning."""
MOST_COUNTED = 40
"""How many columns one statement looks at, and for how many all records may be counted."""
_COUNTED = ("text", "number", "time", "boolean")
"""The values that every database tells apart, as Postgres does not those of a JSON column."""


class FirstLook(NamedTuple):
    """Counts the different values that the first records have in each column, and in all."""

    step: Statement
    columns: tuple[BoundColumn, ...]


class AloneStep(NamedTuple):
    """Counts the records (people, where there is an entity) that are alone with their values."""

    step: Statement
    columns: tuple[BoundColumn, ...]


def first_looks(bound: BoundSpec) -> Iterator[FirstLook]:
    """Look at the first records of every column without a part."""
    columns = _looked_at(bound)
    for place, start in enumerate(range(0, len(columns), MOST_COUNTED), start=1):
        some = columns[start : start + MOST_COUNTED]
        yield FirstLook(
            step(
                bound,
                "first_records" if place == 1 else f"first_records_{place}",
                f"Which columns of {bound.table.name} that have no part differ in nearly each of "
                f"the first {FIRST_RECORDS:,} records?",
                render(
                    "distinct_in_first",
                    relation=records(bound, with_entity(bound, some)),
                    columns=some,
                    first=FIRST_RECORDS,
                    entity=bound.entity,
                ),
            ),
            tuple(some),
        )


def alone_steps(bound: BoundSpec) -> Iterator[AloneStep]:
    """Count who is alone with a column, for each of a few; then with all of them."""
    columns = _looked_at(bound)
    if len(columns) <= MOST_COUNTED:
        for place, column in enumerate(columns, start=1):
            yield _alone(bound, [column], f"alone_{place}", "where it differs in nearly each")
    if len(columns) > 1:
        yield _alone(bound, columns, "alone_together", "where none does by itself")


def _alone(bound: BoundSpec, columns: list[BoundColumn], name: str, only: str) -> AloneStep:
    few = len(columns) <= MOST_COUNTED
    sql = render(
        "records_alone",
        relation=records(bound, with_entity(bound, columns)),
        columns=columns,
        entity=bound.entity,
        embedded=bound.table.embedded,
    )
    question = (
        f"How many {counted(bound)} of {bound.table.name} are alone with what they have in "
        f"{spoken(columns) if few else f'{len(columns)} columns'}?"
    )
    return AloneStep(step(bound, name, question, sql, only=only), tuple(columns))


def _looked_at(bound: BoundSpec) -> list[BoundColumn]:
    """The columns without a part that can be compared."""
    return [
        bound_column(column)
        for column in bound.roles.unassigned
        if not column.unusable_because and (bound.table.embedded or family(column.type) in _COUNTED)
    ]
