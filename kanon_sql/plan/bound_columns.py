"""The columns of a table that a question names."""

from __future__ import annotations

from collections.abc import Sequence

from kanon_sql.errors import Faults, SpecError, located, refuse_repeated
from kanon_sql.plan.named_columns import refuse_merging
from kanon_sql.plan.question import BoundColumn, Location
from kanon_sql.sql.tables import Column, Table, family, find


def located_column(name: str, table: Table, location: Location) -> Column:
    with located(*location):
        return find(name, table)


def column_named(
    name: str, table: Table, location: Location, alias: str | None = None
) -> BoundColumn:
    """Resolve a column whose values are compared.

    Raises `SpecError` where the database merges distinct values.
    """
    column = located_column(name, table, location)
    with located(*location):
        refuse_merging(column, table)
    return bound_column(column, alias)


TRUTH_VALUES = {"true", "false"}
"""Names that SQLite drops from the columns of a subquery: above it, "true" is the text 'true'."""


def bound_column(column: Column, alias: str | None = None) -> BoundColumn:
    """The column under an alias: by default its name, unless that is a truth value."""
    is_truth_value = column.name.casefold() in TRUTH_VALUES
    own = f"kanon_is_{column.name.casefold()}" if is_truth_value else column.name
    return BoundColumn(column.name, column.type, alias or own)


def refuse_two_roles(roles: Sequence[tuple[BoundColumn | Column, str]]) -> None:
    role_by_column: dict[str, str] = {}
    with Faults() as faults:
        for column, role in roles:
            first_role = role_by_column.setdefault(column.name, role)
            with faults.collected():
                if first_role != role:
                    raise SpecError(
                        f'column "{column.name}" is both {first_role} and {role}; choose one.'
                    )
    refuse_repeated((column.name for column, _ in roles), 'column "{}" is named twice.')


_DURATIONS = {
    "pandas.DataFrame": 'timedelta: convert it, for example df["{}"].dt.days.',
    "polars.DataFrame": 'timedelta: convert it, for example df["{}"].dt.total_days().',
    "pyarrow.Table": 'duration: convert it, for example table["{}"].cast("int64").',
}
"""What a duration is called in a data frame, and how it becomes a number."""


def refuse_uncomparable(column: BoundColumn, table: Table) -> None:
    """Raise `SpecError` for a column whose values SQL can't compare: nested ones, and types whose
    equality merges distinct values, such as 1 month and 30 days."""
    kind, subject = family(column.type), f'column "{column.name}" of {table.name}'
    if kind == "nested":
        raise SpecError(
            f"{subject} is nested. A privacy model compares single values: take its fields apart "
            "into columns of their own."
        )
    if kind == "span" and table.name in _DURATIONS and column.type == "INTERVAL":
        raise SpecError(f"{subject} is a {_DURATIONS[table.name].format(column.name)}")
    if kind == "span":
        raise SpecError(
            f"{subject} is {column.type}, a type in which SQL treats some different values as "
            "equal. Cast it to text in a view, or leave it out."
        )
