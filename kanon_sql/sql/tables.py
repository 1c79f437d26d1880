"""Tables and columns as a database describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kanon_sql.errors import no_such_column

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column in the catalogue's spelling, with DuckDB's type name."""

    name: str
    type: str
    unusable_because: str | None = None
    """Why the column can't be used, worded to follow its name; for example a merging collation."""


@dataclass(frozen=True)
class Table:
    """A relation that can be read in FROM.

    `name` is its display name, `sql` the FROM item in DuckDB's spelling; `text` is true where every
    column is text because the file is untyped (CSV).
    """

    name: str
    sql: str
    columns: tuple[Column, ...]
    text: bool = False
    ordered: bool = True
    """Whether its records lie in an order, as those of a file do and those of a table don't."""
    is_named: bool = False
    """Whether somebody said what a text file's first line is, so that names are no record of it."""
    parsed: bool = False
    """Whether each read parses a text file again."""
    in_lines: str = field(default="", compare=False)
    """What the engine reads with an option a line, where it is a call of many."""
    read_in_views: str = field(default="", compare=False)
    """What a view reads that stays, where `sql` is a name that the audit's session alone has."""
    temporary: bool = False
    """Whether it goes with its session, so that no view that stays may read it."""
    embedded: bool = True
    """Whether DuckDB reads it, without transpiling."""
    left_out: tuple[str, ...] = ()
    """Hidden files that the glob excludes, like a shell."""
    stored_beside: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Stored relations, views excepted, that a created view of the same name would replace."""
    exact: bool = True
    """Whether decimal sums and products are exact, as in DuckDB."""
    rereads: bool = False
    """Whether the database inlines a CTE at each reference."""

    @property
    def are_doubted(self) -> bool:
        """Whether the names of the columns may be a record, for all that anybody said."""
        return self.text and not self.is_named

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def types(self) -> frozenset[tuple[str, str, str]]:
        """(table, column, type) triples, for dialect rules."""
        return frozenset((self.sql, each.name, each.type) for each in self.columns)


def find(name: str, table: Table) -> Column:
    """The column of this name: an exact match, else the only one equal up to case."""
    exact = [column for column in table.columns if column.name == name]
    folded = [column for column in table.columns if column.name.casefold() == name.casefold()]
    matches = exact or folded
    if len(matches) != 1:
        raise no_such_column(name, table.name, table.column_names, text=table.are_doubted)
    return matches[0]
