"""Plans a search for unassigned columns that could identify people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.resolve_columns import bound_column
from kanon_sql.plan.steps import counted, records, spoken, step, with_entity
from kanon_sql.sql.column_types import family
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement

FIRST_RECORDS = 10_000
"""Number of records inspected to find identifying candidates."""
ALL_COUNTED = 50_000
"""Up to this number, unique records are counted over the whole table.

Of larger tables, the step counts which of the first records are unique among all. That takes a
tenth of the time for numbers and a third for long text, as only values of the first records are
kept: for a million records 8 ms instead of 90, and 69 instead of 186.
"""
MOST_CELLS = 5_000_000
"""Maximum number of cells read once candidates are found: 0.05 to 0.25 seconds."""
MOST_COUNTED = 40
"""Maximum number of columns per statement, and for which all records may be read."""
_COUNTED = ("text", "number", "time", "boolean")
"""Type families whose values every database can compare; Postgres can't compare JSON."""


class FirstLook(NamedTuple):
    """Counts distinct values of each column in the first records."""

    step: Statement
    columns: tuple[BoundColumn, ...]
    together: Statement | None
    """Counts their combinations of all columns; None for a single column."""


class AloneStep(NamedTuple):
    """Counts the records (people, with an entity) with unique values in these columns."""

    columns: tuple[BoundColumn, ...]
    of_all: Statement
    of_first: Statement
    """Counts those of the first records that are unique in the whole table."""


def first_looks(bound: ResolvedQuestion) -> Iterator[FirstLook]:
    """Steps on the first records of every unassigned column."""
    columns = _looked_at(bound)
    for place, start in enumerate(range(0, len(columns), MOST_COUNTED), start=1):
        yield _first_look(
            bound, columns[start : start + MOST_COUNTED], "" if place == 1 else f"_{place}"
        )


def _first_look(bound: ResolvedQuestion, columns: list[BoundColumn], place: str) -> FirstLook:
    of_first: dict[str, Any] = {"columns": columns, "first": FIRST_RECORDS}
    values = step(
        bound,
        f"first_records{place}",
        f"Which columns of {bound.table.name} that have no part differ in nearly each of the first "
        f"{FIRST_RECORDS:,} records?",
        render(
            "distinct_in_first",
            relation=records(bound, with_entity(bound, columns)),
            entity=bound.entity,
            **of_first,
        ),
    )
    if len(columns) == 1:
        return FirstLook(values, tuple(columns), None)
    combinations = step(
        bound,
        f"first_combinations{place}",
        f"How many combinations have the first {FIRST_RECORDS:,} records of {bound.table.name} of "
        "the columns that have no part?",
        render("combinations_in_first", relation=records(bound, columns), **of_first),
        only="where none differs by itself, and there are too many records to count who is alone",
    )
    return FirstLook(values, tuple(columns), combinations)


def alone_steps(bound: ResolvedQuestion) -> Iterator[AloneStep]:
    """Steps counting unique records: per column, unless these are too many, and for all."""
    columns = _looked_at(bound)
    if len(columns) <= MOST_COUNTED:
        for place, column in enumerate(columns, start=1):
            yield _alone(bound, [column], f"alone_{place}", "where it differs in nearly each")
    if len(columns) > 1:
        yield _alone(bound, columns, "alone_together", "where none does by itself")


def _alone(bound: ResolvedQuestion, columns: list[BoundColumn], name: str, only: str) -> AloneStep:
    asked_of: dict[str, Any] = {
        "relation": records(bound, with_entity(bound, columns)),
        "columns": columns,
        "entity": bound.entity,
        "embedded": bound.table.embedded,
    }
    few = len(columns) <= MOST_COUNTED
    alone = f"alone with what they have in {spoken(columns) if few else f'{len(columns)} columns'}?"
    of_all = step(
        bound,
        name,
        f"How many {counted(bound)} of {bound.table.name} are {alone}",
        render("records_alone", **asked_of),
        only=f"{only}, of {ALL_COUNTED:,} records at most",
    )
    of_first = step(
        bound,
        f"first_{name}",
        f"How many {'people in ' if bound.entity else 'of '}the first {FIRST_RECORDS:,} records of "
        f"{bound.table.name} are, among all, {alone}",
        render("first_alone", first=FIRST_RECORDS, **asked_of),
        only=f"{only}, of more than {ALL_COUNTED:,} records",
    )
    return AloneStep(tuple(columns), of_all, of_first)


def _looked_at(bound: ResolvedQuestion) -> list[BoundColumn]:
    """The unassigned columns that can be compared."""
    return [
        bound_column(column)
        for column in bound.roles.unassigned
        if not column.unusable_because and (bound.table.embedded or family(column.type) in _COUNTED)
    ]
