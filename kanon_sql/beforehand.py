"""What is read of the data before a question can be bound: hierarchies that lie in tables, and
how long the values are that a mask is for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from kanon_sql.binding import (
    BoundColumn,
    Known,
    bound_condition,
    column_levels,
    hierarchy_sources,
    masked_columns,
    masked_references,
    refuse_merging,
)
from kanon_sql.engines.base import Engine, Row, Table
from kanon_sql.hierarchy import HierarchyTable, table_of_rows
from kanon_sql.spec import TableSpec
from kanon_sql.templates import checked_select, render

Looked = Literal["read", "opened", "asked"]
"""How hierarchies that lie in tables are looked at."""


def read_beforehand(
    engine: Engine,
    spec: TableSpec,
    table: Table,
    references: Mapping[str, Table],
    *,
    hierarchies: Looked = "read",
    show_values: bool = False,
) -> Known:
    """What a bound question needs to know of the data, once every hierarchy that it names was
    read. Those in tables of which no level is asked may only be `opened`, or be left alone where
    just what is `asked` can be looked at.

    Raises `SpecError` for a hierarchy that has no levels or has faults, `InputError` for one that
    can't be read.
    """
    sources = hierarchy_sources(spec, table, every=True)
    asked = hierarchy_sources(spec, table)
    # An engine shuts off every file that is not named before its first query.
    tables = {
        name: engine.table(source)
        for name, source in (asked if hierarchies == "asked" else sources).items()
    }
    rows = {
        name: hierarchy_rows(engine, sources[name], tables[name])
        for name in (tables if hierarchies == "read" else asked)
    }
    unread = sources.keys() - rows.keys()
    known = Known(hierarchies=rows, show_values=show_values)
    levels = column_levels(spec, table, known, without=unread)
    return Known(
        longest={
            column.name: longest_value(engine, table, column, _chosen(spec, table, column))
            for column in masked_columns(spec, table)
        },
        hierarchies={name: each.table for name, each in levels.items() if each.table is not None},
        referred=dict(_longest_referred(engine, spec, table, references)),
        show_values=show_values,
    )


def longest_value(
    engine: Engine, table: Table, column: BoundColumn, relation: str | None = None
) -> int:
    """The length of the longest value, by which a mask is as long for all: of the table's, or of
    those of its records that are a `relation`."""
    [row] = _asked(engine, table, "longest_value", relation, column=column)
    return int(row["kanon_longest"])


def _chosen(spec: TableSpec, table: Table, column: BoundColumn) -> str:
    """The records that a question is about."""
    where = bound_condition(spec.where, table, ("where",))
    return render(
        "records",
        relation=table.sql,
        columns=[column],
        where=where.sql if where else None,
        first=spec.first,
    )


def hierarchy_rows(engine: Engine, name: str, table: Table) -> HierarchyTable:
    """The hierarchy in a table: the raw value, then a column a level, all as text."""
    for column in table.columns:
        refuse_merging(column, table)
    rows = _asked(engine, table, "hierarchy_rows", columns=list(table.columns))
    return table_of_rows(name, table.column_names, [tuple(row.values()) for row in rows])


def _longest_referred(
    engine: Engine, spec: TableSpec, table: Table, references: Mapping[str, Table]
) -> Iterator[tuple[str, dict[str, int]]]:
    """A mask of a reference is as long as the longest value of either side: the release is masked
    already, to the length of its own, and what can't be as long there must not match here."""
    for name, reference in references.items():
        pairs = masked_references(spec, table, name, reference)
        yield (
            name,
            {
                column.name: max(
                    longest_value(engine, table, column, _chosen(spec, table, column)),
                    longest_value(engine, reference, other),
                )
                for column, other in pairs
            },
        )


def _asked(
    engine: Engine, table: Table, macro: str, relation: str | None = None, **arguments: Any
) -> list[Row]:
    sql = render(macro, relation=relation or table.sql, **arguments)
    checked_select(sql, frozenset([table.sql]))
    return engine.query(sql)
