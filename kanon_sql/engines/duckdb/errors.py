"""Translates DuckDB errors, without the values their messages may contain."""

from __future__ import annotations

import re

import duckdb

from kanon_sql.engines.failures import (
    no_such_value,
    stopped,
    unreadable,
    unreadable_or_failed,
    withheld,
)
from kanon_sql.errors import EngineError, InputError, KanonError, option

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
    return withheld("DuckDB", type(error).__name__, "; a damaged file is the usual cause")
