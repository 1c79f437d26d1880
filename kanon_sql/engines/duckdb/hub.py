"""The embedded in-memory DuckDB: its settings, its spill folder, its cursors."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engines.failures import (
    no_such_value,
    stopped,
    unreadable,
    unreadable_or_failed,
    withheld,
)
from kanon_sql.errors import EngineError, InputError, KanonError, SpecError, option
from kanon_sql.files import LockedFolder, file_kind
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier


def definitions_read(
    qualified_name: tuple[str, ...], definitions: Sequence[tuple[Any, ...]]
) -> list[str]:
    """A table's definition; for a view all definitions, as it may read any of them."""
    own = own_definition(qualified_name, definitions)
    is_view = any(map(_is_of_view, own))
    return [str(sql) for *_, sql in definitions] if is_view else own


def own_definition(
    qualified_name: tuple[str, ...], definitions: Sequence[tuple[Any, ...]]
) -> list[str]:
    """A table's or a view's definition alone."""
    return [str(sql) for *place, sql in definitions if place == list(qualified_name[1:])]


def stored_in(schema: str, definitions: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """Names of a schema's base tables.

    >>> view, table = "CREATE VIEW v AS SELECT * FROM t", "CREATE TABLE t(a INTEGER)"
    >>> list(stored_in("main", [("main", "v", view), ("main", "t", table), ("m", "u", table)]))
    ['t']
    """
    for place, name, sql in definitions:
        if place == schema and not _is_of_view(str(sql)):
            yield str(name)


def _is_of_view(definition: str) -> bool:
    return definition.lower().startswith("create view")


def paths_in(definition: str) -> set[str]:
    """The potential file paths in a view's definition.

    >>> sorted(paths_in("create view v as from read_csv('a.csv') join 'b.parquet' using (id)"))
    ['a.csv', 'b.parquet']
    """
    try:
        view = sqlglot.parse_one(definition, read="duckdb")
    except (SqlglotError, RecursionError):
        return {text for text in texts_in(definition) if file_kind(text) is not None}
    texts = {literal.name for literal in view.find_all(exp.Literal) if literal.is_string}
    names = {table.name for table in view.find_all(exp.Table)}
    return {text for text in texts | names if file_kind(text) is not None}


_READS_ALL = re.compile(r"(\w\(|\[[^\]]*|\bfrom)\s*'[*?]+'", re.IGNORECASE)
"""Contexts in which a text of wildcards alone is a glob, as in read_csv('*'), and no suppression
label."""


def texts_in(definition: str) -> set[str]:
    r"""Every quoted text or identifier of a definition: the potential file paths.

    >>> sorted(texts_in("create view v as from read_text('it''s') join \"a.csv\" using (id)"))
    ['a.csv', "it's"]
    >>> texts_in("create view v as select '*' as zip"), texts_in("create view v as from '*'")
    (set(), {'*'})
    """
    quoted = re.findall(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"", definition)
    texts = {one.replace("''", "'") or other.replace('""', '"') for one, other in quoted}
    labels = set() if _READS_ALL.search(definition) else {t for t in texts if not t.strip("*?")}
    return {text.removeprefix("file://") for text in texts - labels if text}


SOURCE = "kanon_source"


MEMORY_LIMIT = re.compile(r"\d+(\.\d+)?\s*(B|%|[KMGT]i?B)", re.IGNORECASE)

HUB_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


def own_name(database: str) -> str:
    """DuckDB's default alias of an attached database file, which its views may use.

    >>> own_name("marts/clinic.2026.duckdb")
    'clinic'
    """
    stem = Path(database).name.lstrip(".").partition(".")[0]
    return SOURCE if stem.casefold() in ("memory", "temp", "system", "main") else stem


@contextmanager
def ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt on Ctrl-C, where DuckDB's client raises RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise


def cursor_of(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """A cursor with the connection's current schema. Raises `InputError` within a transaction."""
    question = render("current_transaction")
    try:
        first, second = (connection.execute(question).fetchall() for _ in range(2))
        place = connection.execute(render("current_place")).fetchall()[0]
        cursor = connection.cursor()
    except duckdb.Error:
        raise InputError("the DuckDB connection is closed, or a query of it failed.") from None
    if first == second:
        raise InputError(
            "the DuckDB connection is in a transaction, whose changes an audit would not see. "
            "Commit or roll back first."
        )
    cursor.execute(f"use {'.'.join(map(identifier, place))}")
    return cursor


def open_hub(
    memory_limit: str | None, threads: int | None, spill: LockedFolder
) -> duckdb.DuckDBPyConnection:
    """Open an in-memory database that spills to a private folder."""
    if memory_limit is not None and not MEMORY_LIMIT.fullmatch(memory_limit):
        raise SpecError(f"the memory limit must read like 4GB or 512MiB; found {memory_limit!r}.")
    if memory_limit and memory_limit.endswith("%") and duckdb.__version__ < "2":
        # A share of the memory is read from 2.0 on.
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        memory_limit = f"{int(memory * float(memory_limit[:-1]) / 100)}B"
    limits = {"memory_limit": memory_limit, "threads": threads}
    settings = {key: value for key, value in limits.items() if value is not None}
    try:
        folder = str(spill.path)
        hub = duckdb.connect(config=HUB_SETTINGS | settings | {"temp_directory": folder})
    except (duckdb.Error, OverflowError, TypeError):
        raise SpecError(
            f"DuckDB can't run with a memory limit of {memory_limit or 'no size'} and "
            f"{'all' if threads is None else threads} threads. Threads are a whole number, 1 or "
            "more."
        ) from None
    # Day boundaries are the same on every machine.
    hub.execute("set TimeZone = 'UTC'")
    # Progress is tracked but not printed. In a Jupyter kernel without ipywidgets, DuckDB rejects
    # both settings, and the audit works without them.
    with suppress(duckdb.InvalidInputException):
        hub.execute("set enable_progress_bar_print = false")
        hub.execute("set enable_progress_bar = true")
    if duckdb.__version__ < "2":
        # This optimizer copies plans, which DuckDB 1.5 can't do for a CSV scan.
        hub.execute("set disabled_optimizers = 'window_self_join'")
    return hub


def close_hub(session: duckdb.DuckDBPyConnection, spill: LockedFolder | None) -> None:
    """Close the session and remove its spill folder, if it has one."""
    try:
        session.close()
    finally:
        if spill:
            spill.remove()


# --- errors, without the values that their messages may contain ------------------------------

ABOUT_THE_STATEMENT = (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException)
"""Messages about names and SQL, unless a function builds names or SQL from values."""


def without_values(text: str) -> str:
    """A type name or message without the values of an ENUM; an unterminated list is cut to its end.

    >>> without_values("ENUM('it''s', 'line\\nbreak')[]"), without_values("ENUM('flu', 'H")
    ('ENUM[]', 'ENUM')
    """
    values = r"\((?:'(?:[^']|'')*+(?:'(?:,\s*)?|\Z))*+(?:\)|.*)"
    return re.sub(rf"ENUM{values}", "ENUM", text, flags=re.DOTALL)


def relation_only() -> InputError:
    return InputError(
        "a DuckDB relation is audited in its own session, where the other tables must be files. "
        "Pass the other table as a file, or both as tables of one connection."
    )


def first_line(error: duckdb.Error) -> str:
    """The first line of a message, after removing ENUM values, which may contain line breaks."""
    return without_values(str(error)).partition("\n")[0]


def translated_error(error: duckdb.Error, *, before_rows: bool = True) -> KanonError:
    """Translate a DuckDB error, whose message may contain values.

    With `before_rows`, errors about the statement occurred before any row was read.
    """
    if isinstance(error, duckdb.InterruptException):
        return stopped()
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(
            f"DuckDB ran out of memory, or of disk to spill to. Raise {option('memory_limit')}, "
            "free disk space, or use fewer columns at a time."
        )
    if isinstance(error, duckdb.ConversionException | duckdb.OutOfRangeException):
        return no_such_value()
    if isinstance(error, duckdb.PermissionException):
        return EngineError(
            "the query reads a file that the audit did not name. Name it, or audit a table "
            "instead of a view over files."
        )
    if isinstance(error, ABOUT_THE_STATEMENT):
        if before_rows:
            return unreadable("DuckDB", f": {first_line(error)}")
        return unreadable_or_failed("DuckDB", type(error).__name__)
    # Only the first words, as the rest may contain data.
    message = first_line(error)
    if line := re.match(r"Invalid Input Error: CSV Error on Line: (\d+)", message):
        return InputError(
            f"a CSV file can't be read at line {line[1]}, although it could be at the start. Did "
            "it change?"
        )
    if "JSON" in message:
        return InputError(
            "a JSON file can't be read whole: a record is damaged, has a key twice, or changed "
            "since the start."
        )
    return withheld(
        "DuckDB",
        type(error).__name__,
        "; a damaged file, or a value that its type can't hold, is the usual cause",
    )
