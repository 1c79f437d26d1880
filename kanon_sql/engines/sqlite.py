"""SQLite, by a connection of its own module: a file or a memory that someone has open."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from kanon_sql.dialects import type_of_templates
from kanon_sql.engines.base import Column
from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.errors import InputError, SpecError
from kanon_sql.templates import render

_MERGING = re.compile(
    r"\bcollate\b(?:\s|/\*.*?\*/|--[^\n]*\n)*[\"'`\[]?(?!binary\b)\w+", re.IGNORECASE | re.DOTALL
)
ORDERED = (3, 44)
"""The first version that joins texts in an order."""


class SQLite(DBAPI):
    """Asks a SQLite database. No URL leads to one."""

    name = dialect = "sqlite"
    title = "SQLite"
    packages = ("sqlite3",)
    transaction = ("begin",)

    def in_own_words(self, sql: str) -> str:
        """A SELECT of the templates in SQLite's. Raises `SpecError` for what it can't count."""
        statement = super().in_own_words(sql)
        if "group_concat(" in statement.lower() and self._version < ORDERED:
            raise SpecError(
                f"SQLite {'.'.join(map(str, self._version))} joins texts in no order, and so can't "
                "tell whose records lie in the same classes. Open the database with SQLite "
                f"{'.'.join(map(str, ORDERED))} or later, or leave out the entity."
            )
        return statement

    @cached_property
    def _version(self) -> tuple[int, ...]:
        [[version]] = self._asked(render("told_by_session", functions=["sqlite_version()"]))[1]
        return tuple(map(int, version.split(".")))

    def _tables(self) -> Sequence[tuple[str, ...]]:
        return [tuple(row) for row in self._asked(render("sqlite_tables"))[1]]

    def _place(self) -> tuple[str, str]:
        return "main", "main"

    def _columns(self, found: tuple[str, ...]) -> Sequence[Column]:
        table = found[-1]
        self._refuse_collations(table)
        rows = self._asked(render("sqlite_columns", table=table))[1]
        return [Column(name, _type(type)) for name, type in rows]

    def _refuse_collations(self, table: str) -> None:
        """A view may read any table, and no catalogue tells what a column is compared by."""
        for (definition,) in self._asked(render("sqlite_definitions"))[1]:
            if _MERGING.search(definition):
                raise InputError(
                    f"{table} lies in a database with a collation other than binary, which takes "
                    "different texts for one and would make classes look larger. Audit a copy "
                    "without it."
                )


def _type(declared: str) -> str:
    """A type by DuckDB's name for it.

    >>> _type("varchar(9)"), _type("decimal(9, 2)"), _type("")
    ('VARCHAR', 'DOUBLE', 'VARCHAR')
    """
    if not declared:
        # A column needs no type, and keeps what comes.
        return "VARCHAR"
    if re.match(r"num|dec", declared, re.IGNORECASE):
        # Whatever digits it was declared with.
        return "DOUBLE"
    return type_of_templates(declared, SQLite.dialect)
