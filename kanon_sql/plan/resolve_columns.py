"""Resolves column names against a table, and rejects columns that can't have a role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kanon_sql.errors import SpecError, did_you_mean, located
from kanon_sql.plan.question import BoundColumn, Location, same_name
from kanon_sql.sql.column_types import family
from kanon_sql.sql.conditions import Condition, condition
from kanon_sql.sql.tables import Column, Table, find


def found_column(name: str, table: Table, location: Location) -> Column:
    with located(*location):
        return find(name, table)


def refuse_missing_beside(own: str, table: Table, location: Location, *ways_out: str) -> None:
    """Raise `SpecError` if another table lacks a column named like one of the audited table.

    `ways_out` are the remedies to suggest.
    """
    with located(*location):
        try:
            find(own, table)
        except SpecError as error:
            raise SpecError(
                f"{error.marked} If it is called otherwise there, say how: "
                f"{', or '.join(ways_out)}."
            ) from None


def column_named(
    name: str, table: Table, location: Location, alias: str | None = None
) -> BoundColumn:
    """Resolve a column whose values are compared.

    Raises `SpecError` where the database merges distinct values.
    """
    column = found_column(name, table, location)
    with located(*location):
        refuse_merging(column, table)
    return bound_column(column, alias)


def bound_column(column: Column, alias: str | None = None) -> BoundColumn:
    return BoundColumn(column.name, column.type, alias or column.name)


def refuse_merging(column: Column, table: Table) -> None:
    """Raise `SpecError` for a column on which the database merges distinct values."""
    if column.unusable_because is not None:
        raise SpecError(f'column "{column.name}" of {table.name} {column.unusable_because}')


def refuse_two_parts(parts: Sequence[tuple[BoundColumn | Column, str]]) -> None:
    seen: dict[str, str] = {}
    for column, part in parts:
        earlier = seen.setdefault(column.name, part)
        if earlier != part:
            raise SpecError(f'column "{column.name}" is both {earlier} and {part}; choose one.')
    names = [column.name for column, _ in parts]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise SpecError(f'column "{repeated}" is named twice.')


def refuse_uncomparable(column: BoundColumn, table: Table) -> None:
    """Raise `SpecError` for a column whose values SQL can't compare."""
    _refuse_nested(column, table)
    _refuse_span(column, table)


def _refuse_nested(column: BoundColumn, table: Table) -> None:
    if family(column.type) == "nested":
        raise SpecError(
            f'column "{column.name}" of {table.name} is nested. A privacy model '
            "compares single values: take its fields apart into columns of their own."
        )


_DAYS = {"pandas.DataFrame": ".dt.days", "polars.DataFrame": ".dt.total_days()"}
"""How a column of a data frame gives the days of a duration."""


def _refuse_span(column: BoundColumn, table: Table) -> None:
    """Reject types whose equality merges distinct values, such as 1 month and 30 days."""
    if family(column.type) == "span":
        if table.name in _DAYS:
            raise SpecError(
                f'column "{column.name}" of {table.name} is a timedelta: convert it, for example '
                f'df["{column.name}"]{_DAYS[table.name]}.'
            )
        raise SpecError(
            f'column "{column.name}" of {table.name} is {column.type}, of which SQL takes '
            "different values for one. Cast it to text in a view, or leave it out."
        )


def bound_condition(text: str | None, table: Table, location: Location) -> Condition | None:
    """Compile a record filter. Raises `SpecError` if it is invalid."""
    if text is None:
        return None
    with located(*location):
        types = {each.name: each.type for each in table.columns}
        found = condition(text, table.name, types, table.dialect, doubted=table.are_doubted)
        for name in found.columns:
            refuse_merging(find(name, table), table)
    return found


def levels_of(
    prefix: str,
    levels: Mapping[str, int],
    columns: Sequence[BoundColumn],
    called: str = "Quasi-identifiers",
) -> dict[str, int]:
    """Requested levels above the raw value, by quasi-identifier."""
    names = [column.name for column in columns]
    for name in levels:
        if not any(same_name(name, each) for each in names):
            raise SpecError(
                f'{prefix}"{name}" is no quasi-identifier, and has no levels. '
                f"{called}: {', '.join(names)}.{did_you_mean(name, names)}"
            )
    asked = {
        own: next((level for name, level in levels.items() if same_name(name, own)), 0)
        for own in names
    }
    return {name: level for name, level in asked.items() if level}


def each_once(*names: str | None) -> list[str]:
    found: dict[str, str] = {}
    for name in names:
        if name is not None:
            found.setdefault(name.casefold(), name)
    return list(found.values())
