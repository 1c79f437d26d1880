"""Tables as a database describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kanon_sql.errors import no_such_column
from kanon_sql.sql.quoting import DIALECT

_FAMILIES = {
    "text": ("VARCHAR", "CHAR", "TEXT", "STRING", "ENUM", "UUID"),
    "number": (
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
        "UBIGINT", "UHUGEINT", "DOUBLE", "FLOAT", "REAL", "DECIMAL", "NUMERIC",
    ),
    "time": ("DATE", "TIMESTAMP"),
    "boolean": ("BOOL",),
    "span": ("INTERVAL", "TIME WITH TIME ZONE"),
    "nested": ("STRUCT", "MAP", "UNION", "LIST", "VARIANT"),
    "nothing": ('"NULL"', "NULL"),
}  # fmt: skip


def family(type: str) -> str:
    """The type family of a column type; a type without one is returned as is.

    >>> family("DECIMAL(10,2)"), family("VARCHAR"), family("INTEGER[]"), family("BLOB")
    ('number', 'text', 'nested', 'BLOB')
    """
    if type.endswith("]"):
        return "nested"
    return next((name for name, types in _FAMILIES.items() if type.startswith(types)), type)


Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column in the catalogue's spelling, with DuckDB's type name."""

    name: str
    type: str
    unusable_because: str | None = None
    """Why the column can't be used, worded to follow its name; for example a merging collation."""
    may_be_read: bool = True
    """False where the user lacks the privilege, so that not even a copy can be made."""
    is_read_as_text: bool = False
    """Whether its values have several types and are read as text, which a condition must cast."""


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
    """Whether records have an order, as in a file."""
    is_named: bool = False
    """Whether the user declared the first line of a text file to be, or not to be, a header."""
    parsed: bool = False
    """Whether each read parses a text file again."""
    in_lines: str = field(default="", compare=False)
    """The FROM item with one reader option per line, if it is a call with many."""
    read_in_views: str = field(default="", compare=False)
    """The FROM item for a permanent view, if `sql` names a relation of this session."""
    temporary: bool = False
    """Whether it is dropped with its session, so that a permanent view can't read it."""
    embedded: bool = True
    """Whether DuckDB reads it, without transpiling."""
    snapshot: str | None = None
    """The snapshot that is read, of a table in a format that has them: Delta version 12."""
    left_out: tuple[str, ...] = ()
    """Hidden files that the glob excludes, like a shell."""
    has_index: bool = False
    """Whether the first column of a text file has no name, and is called column_1."""
    replaceable: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Stored relations, views excepted, that a created view of the same name would replace."""
    dialect: str = DIALECT
    """The SQL of the database that stores it, in which conditions on it are written."""
    rereads: bool = False
    """Whether the database inlines a CTE at each reference."""
    records: int | None = field(default=None, compare=False)
    """The number of records, if metadata has it, so that nothing is read for it."""
    approximates: bool = True
    """Whether the database counts distinct values approximately."""
    samples: bool = True
    """Whether the database has a hash by which combinations of values are sampled."""
    numbered_by: str = field(default="", compare=False)
    """The name of each record's number, from 0, by which DuckDB reads a few without the others."""
    parts: int = field(default=1, compare=False)
    """In how many files records are numbered, each from 0."""
    bits: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)
    """By column, how many bits a file stores of each value, which bounds its information; absent
    where metadata does not have it."""
    nearly_all: float = 0.85
    """Least share of distinct values, counted approximately, in a column that differs in nearly
    every record: three standard errors of the coarsest sketch (Spark's, 5 %) below 1."""

    @property
    def are_doubted(self) -> bool:
        """Whether the column names could be a record, as the user has not declared a header."""
        return self.text and not self.is_named

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def find(name: str, table: Table) -> Column:
    """The column of this name: an exact match, else the only one equal up to case."""
    exact = [column for column in table.columns if column.name == name]
    folded = [column for column in table.columns if column.name.casefold() == name.casefold()]
    matches = exact or folded
    if len(matches) != 1:
        raise no_such_column(name, table.name, table.column_names, text=table.are_doubted)
    return matches[0]
