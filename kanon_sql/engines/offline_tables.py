"""Describes tables of a database without connecting to it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kanon_sql.engines.names import name_parts
from kanon_sql.errors import SpecError, option
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table


def offline_table(found: Table, name: str | None = None) -> Table:
    """The table in another database that corresponds to a local one.

    It is called `name`, else as in the local catalogue, else like the file without its suffix.
    Column types of text files are unknown there. Raises `SpecError` for files from which no name
    follows.
    """
    columns = tuple(
        Column(
            column.name, "" if found.text else column.type, unusable_because=column.unusable_because
        )
        for column in found.columns
    )
    return Table(
        found.name,
        _called(name) if name is not None else _local_name(found),
        columns,
        ordered=False,
        embedded=False,
        dialect=found.dialect,
    )


def table_of_names(
    name: str, columns: Sequence[str], dialect: str, called: str | None = None
) -> Table:
    """A table of a database of this dialect, of which only some column names are known."""
    return Table(
        name,
        _called(called or name),
        tuple(Column(column, "") for column in columns),
        ordered=False,
        embedded=False,
        dialect=dialect,
    )


def _called(name: str) -> str:
    return ".".join(map(identifier, name_parts(name)))


def _local_name(found: Table) -> str:
    if not found.sql.startswith("read_") and "(" not in found.sql:
        return found.sql.removeprefix('"main".')
    stem = Path(found.name).name.split(".")[0]
    if not stem or set(stem) & set("*?["):
        raise SpecError(
            f"name the table of {found.name} in that database: {option('table', 'NAME')}."
        )
    return identifier(stem)


def refuse_hidden_table(table: Table, sets: Sequence[str]) -> None:
    """Raise `SpecError` for a table that a CTE of the statements would shadow."""
    parts = name_parts(table.sql)
    if len(parts) == 1 and parts[0].casefold() in {name.casefold() for name in sets}:
        raise SpecError(
            f"the statements have a CTE named {parts[0]}. Give the table's schema: "
            f"{option('table', 'SCHEMA.NAME')}."
        )
