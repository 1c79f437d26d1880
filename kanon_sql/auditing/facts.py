"""The facts of the data that a question needs before it is planned.

They are the hierarchies in tables, and the longest value of each masked column.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from kanon_sql.engines.base import Engine
from kanon_sql.errors import SpecError, located
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.named_columns import refuse_merging
from kanon_sql.plan.question import BoundColumn, DataFacts, OtherTable, OtherTableKey, Roles
from kanon_sql.plan.steps import other_records
from kanon_sql.question.hierarchy_table import HierarchyTable, table_of_rows
from kanon_sql.sql.gate import require_select
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row, Table

HierarchyReading = Literal["read", "opened"]
"""Whether all hierarchies in tables are read, or only opened unless a level of them is
requested."""


def read_facts(
    engine: Engine,
    roles: Roles,
    *,
    hierarchies: HierarchyReading = "read",
    show_values: bool = False,
) -> DataFacts:
    """The facts of the data that a bound question needs, with every hierarchy in a table read. If
    `hierarchies` is `opened`, only those with a requested level are read.

    Raises `SpecError` for a hierarchy without levels or with faults, `InputError` for one that
    cannot be read.
    """
    sources, requested = hierarchy_sources(roles, every=True), hierarchy_sources(roles)
    # An engine locks access to all files not named before its first query.
    tables = {}
    for name, source in sources.items():
        with located("quasi_identifiers", name, "hierarchy"):
            tables[name] = engine.table(source)
    rows = {
        name: hierarchy_rows(engine, sources[name], tables[name])
        for name in (tables if hierarchies == "read" else requested)
    }
    unread = sources.keys() - rows.keys()
    read = DataFacts(hierarchies=rows, show_values=show_values)
    levels = column_levels(roles, read, without=unread)
    longest = {
        column.name: longest_value(engine, roles.table, column, _chosen(roles, column))
        for column in masked_columns(roles)
    }
    in_others = dict(_longest_there(engine, roles))
    compared = [
        longest,
        *(in_others[other.key] for other in roles.others if other.kind.shares_columns),
    ]
    # A synthetic table is masked as its original and the holdout are.
    for lengths in compared if len(compared) > 1 else ():
        lengths |= {name: max(each.get(name, 0) for each in compared) for name in lengths}
    return DataFacts(
        longest=longest,
        hierarchies={
            name: level.table for name, level in levels.items() if level.table is not None
        },
        longest_in_other=in_others,
        show_values=show_values,
    )


def facts_unread(roles: Roles) -> DataFacts:
    """The facts without access to the tables: those in the question itself.

    Raises `SpecError` if a requested level needs more.
    """
    for source in hierarchy_sources(roles).values():
        raise SpecError(
            f"{source} would have to be read first, but only SQL is generated and nothing is read. "
            "Write the hierarchy to a CSV file."
        )
    levels = column_levels(roles, without=hierarchy_sources(roles, every=True))
    masked = [masked_in_other(roles, other) for other in roles.others]
    if masked_columns(roles) or any(masked):
        raise SpecError(
            "a mask is as long as the longest value, which is unknown without reading the table "
            "there. Connect to it, or use a prefix."
        )
    return DataFacts(
        hierarchies={name: level.table for name, level in levels.items() if level.table is not None}
    )


def longest_value(
    engine: Engine, table: Table, column: BoundColumn, relation: str | None = None
) -> int:
    """Length of the longest value, to which a mask pads all: in the table, or in a `relation` of
    some of its records."""
    [row] = _rows_of_macro(engine, table, "longest_value", relation, column=column)
    return int(row["kanon_longest"])


def _chosen(roles: Roles, column: BoundColumn) -> str:
    """The records that a question covers."""
    return render(
        "records",
        relation=roles.table.sql,
        columns=[column],
        where=roles.where.sql if roles.where else None,
        first=roles.spec.first,
    )


def hierarchy_rows(engine: Engine, name: str, table: Table) -> HierarchyTable:
    """The hierarchy in a table: the raw value, then one column per level, all as text."""
    for column in table.columns:
        refuse_merging(column, table)
    rows = _rows_of_macro(engine, table, "hierarchy_rows", columns=list(table.columns))
    return table_of_rows(name, table.column_names, [tuple(row.values()) for row in rows])


def _longest_there(engine: Engine, roles: Roles) -> Iterator[tuple[OtherTableKey, dict[str, int]]]:
    """The mask lengths in other tables. An earlier release was masked to its own longest value. The
    release is masked to its own too, which a longer value of a reference must not match."""
    for other in roles.others:
        longest = {}
        for column, there in masked_in_other(roles, other):
            records = None if other.kind.shares_masks else other_records(other, [there])
            longest[column.name] = longest_value(engine, other.table, there, records)
            if other.kind.shares_masks:
                own = longest_value(engine, roles.table, column, _chosen(roles, column))
                longest[column.name] = max(longest[column.name], own)
        yield other.key, longest


def _rows_of_macro(
    engine: Engine, table: Table, macro: str, relation: str | None = None, **arguments: Any
) -> list[Row]:
    sql = render(macro, relation=relation or table.sql, **arguments)
    require_select(sql, frozenset([table.sql]))
    return engine.query(sql)


def masked_columns(roles: Roles) -> list[BoundColumn]:
    """Masked columns, whose longest value must be known before their levels."""
    return [
        column
        for column in roles.generalisable
        if column.name in roles.levels and roles.hierarchy(column).has_mask
    ]


def masked_in_other(roles: Roles, other: OtherTable) -> list[tuple[BoundColumn, BoundColumn]]:
    """The columns masked in another table, each with its column there."""
    return [
        (column, other.column_of(column))
        for column in other.generalisable(roles)
        if column.name in other.levels and roles.hierarchy(column).has_mask
    ]


def hierarchy_sources(roles: Roles, *, every: bool = False) -> dict[str, str]:
    """The hierarchy file or table of each quasi-identifier with a requested level.

    With `every`, that of all quasi-identifiers.
    """
    requested = [roles.levels, *(other.levels for other in roles.others)]
    sources = {
        column.name: roles.hierarchy(column).source
        for column in roles.generalisable
        if every or any(column.name in levels for levels in requested)
    }
    return {name: source for name, source in sources.items() if source is not None}
