"""Tables of a database that is not asked: what they are called there, and their columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kanon_sql.engines.names import name_parts
from kanon_sql.errors import SpecError, option
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table


def table_there(found: Table, name: str | None = None) -> Table:
    """What was opened here as a table there: called `name`, else as in the catalogue, else as the
    file is without its end. Raises `SpecError` for files that no table is called after.

    A text file has no types, and the table there has some.
    """
    columns = tuple(
        Column(
            column.name, "" if found.text else column.type, unusable_because=column.unusable_because
        )
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
        raise SpecError(f"say what {found.name} is called there: {option('table', 'NAME')}.")
    return identifier(stem)


def refuse_hidden_table(table: Table, sets: Sequence[str]) -> None:
    """Raise `SpecError` for a table that a statement would take for a set of its own."""
    parts = name_parts(table.sql)
    if len(parts) == 1 and parts[0].casefold() in {name.casefold() for name in sets}:
        raise SpecError(
            f"the statements call one of their own sets {parts[0]}. Say in which schema the table "
            f"is: {option('table', 'SCHEMA.NAME')}."
        )
