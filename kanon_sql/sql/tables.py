"""Tables and their columns, as a database describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kanon_sql.errors import no_such_column

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column as the catalogue spells it, with its type by DuckDB's name for it."""

    name: str
    type: str
    unusable_because: str | None = None
    """What is said of it, after its name, where it is to play a part, if the database takes
    different values of it for one, or lets us read none."""


@dataclass(frozen=True)
class Table:
    """Something that can stand after FROM.

    `name` is what people call it, `sql` what the engine reads (DuckDB spelling), `text` is true
    where every column is text because the file has no types (CSV).
    """

    name: str
    sql: str
    columns: tuple[Column, ...]
    text: bool = False
    ordered: bool = True
    """Whether its records lie in an order, as those of a file do and those of a table don't."""
    parsed: bool = False
    """Whether to read it is to parse a text file anew."""
    in_lines: str = field(default="", compare=False)
    """What the engine reads with an option a line, where it is a call of many."""
    read_in_views: str = field(default="", compare=False)
    """What a view reads that stays, where `sql` is a name that the audit's session alone has."""
    temporary: bool = False
    """Whether it goes with its session, so that no view that stays may read it."""
    embedded: bool = True
    """Whether DuckDB reads it, in its own words."""
    left_out: tuple[str, ...] = ()
    """The files that a glob leaves out as a shell does, for their names begin with a dot."""
    stored_beside: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The names of what is stored where the session creates things, itself included, and is no
    view: what is created under one of them would stand in its place."""
    exact: bool = True
    """Whether sums and products of decimals are exact there, as they are in DuckDB."""
    rereads: bool = False
    """Whether a set that a statement names twice is worked out twice there."""

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> frozenset[tuple[str, str, str]]:
        """What the rules of a dialect go by: the table as it is read, a column, its type."""
        return frozenset((self.sql, each.name, each.type) for each in self.columns)


def find(name: str, table: Table) -> Column:
    """The column of this name: as spelled, else the only one that differs by case alone."""
    exact = [column for column in table.columns if column.name == name]
    folded = [column for column in table.columns if column.name.casefold() == name.casefold()]
    matches = exact or folded
    if len(matches) != 1:
        raise no_such_column(name, table.name, table.column_names, text=table.text)
    return matches[0]
