"""Tables of a database that is not asked: what they are called there, and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kanon_sql.dialects import ROUNDING
from kanon_sql.engines.base import Column, Estimate, Row, Table
from kanon_sql.engines.definitions import Definitions
from kanon_sql.engines.names import name_parts
from kanon_sql.errors import SpecError
from kanon_sql.templates import identifier


def table_there(found: Table, name: str | None = None) -> Table:
    """What was opened here as a table there: called `name`, else as in the catalogue, else as the
    file is without its end. Raises `SpecError` for files that no table is called after.

    A text file has no types, and the table there has some.
    """
    columns = tuple(
        Column(column.name, "" if found.text else column.type, merges=column.merges)
        for column in found.columns
    )
    return Table(
        found.name,
        _called(name) if name is not None else _as_here(found),
        columns,
        ordered=False,
        embedded=False,
    )


def table_of_names(name: str, columns: Sequence[str], called: str | None = None) -> Table:
    """A table of which nothing is known but the names of some columns."""
    return Table(
        name,
        _called(called or name),
        tuple(Column(column, "") for column in columns),
        ordered=False,
        embedded=False,
    )


def _called(name: str) -> str:
    return ".".join(map(identifier, name_parts(name)))


def _as_here(found: Table) -> str:
    if not found.sql.startswith("read_") and "(" not in found.sql:
        return found.sql.removeprefix('"main".')
    stem = Path(found.name).name.split(".")[0]
    if not stem or set(stem) & set("*?["):
        raise SpecError(f"say what {found.name} is called there: --table NAME.")
    return identifier(stem)


class Elsewhere(Definitions):
    """Stands for an engine where only SQL is made: it knows its tables, and answers nothing.

    `tables` are what a question calls each, with the table.
    """

    can_cancel = False

    def __init__(self, dialect: str, tables: Sequence[tuple[Any, Table]]) -> None:
        self.name = self.dialect = dialect
        self._tables = tables

    def table(self, target: Any) -> Table:
        """The table that a question calls so. Raises `SpecError` for one that was not looked at."""
        for called, table in self._tables:
            if called is target or (isinstance(target, str) and called == target):
                self._types[table.sql] = table.types
                return replace(table, exact=self.dialect not in ROUNDING)
        raise SpecError(
            f"{target} would have to be read first, and nothing is read where only SQL is made. "
            "Write the hierarchy down in a CSV file."
        )

    def query(self, sql: str) -> list[Row]:
        """Refuse: there is no data."""
        raise SpecError(
            "a mask is as long as the longest value, and nobody has looked at the values of the "
            "table there. Connect to it, or take a prefix."
        )

    def check(self, sql: str) -> None:
        """Refuse: there is no database."""
        self.query(sql)

    def estimate(self, sql: str) -> Estimate:
        """Nothing is expected of what does not run."""
        return Estimate()

    def limit(self, seconds: float) -> None:
        """Nothing runs."""

    def cancel(self) -> None:
        """Nothing runs."""

    def progress(self) -> str:
        """Nothing runs."""
        return ""

    def files_read(self) -> Iterable[str]:
        """Nothing is read."""
        return ()

    def verify_unchanged(self) -> None:
        """Nothing was read."""

    def renew(self) -> None:
        """Nothing is held."""

    def close(self) -> None:
        """Nothing is held."""


def refuse_hidden_table(table: Table, sets: Sequence[str]) -> None:
    """Raise `SpecError` for a table that a statement would take for a set of its own."""
    parts = name_parts(table.sql)
    if len(parts) == 1 and parts[0].casefold() in {name.casefold() for name in sets}:
        raise SpecError(
            f"the statements call one of their own sets {parts[0]}. Say in which schema the table "
            "is: --table SCHEMA.NAME."
        )
