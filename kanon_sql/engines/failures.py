"""The errors of databases as this package's own, without messages that may hold data.

DB-API drivers are mapped by SQLSTATE.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from kanon_sql.errors import EngineError, InputError, KanonError, MissingDriverError, SpecError

LOOK = (
    "Check your conditions (where) and the types of their columns; if you gave none, report this "
    "as a defect of kanon-sql."
)

_STOPPED = ("HY008", "70100")
"""Cancelled by the client, or from another session."""
_LIMITED = ("57014", "25P03", "25P04")
"""Timeout of a statement, a transaction or an idle transaction."""
_LOCKED = ("55P03", "40P01")
"""Lock timeout, or deadlock."""
_ENDED = ("57P01", "57P02", "57P05")
"""Session ended by an administrator or the server."""
_FULL = ("53100", "53200", "53000")
"""Out of disk, memory or file handles."""
_STATES = {
    3: "53100",
    5: "53200",
    20: "53100",
    23: "53000",
    1021: "53100",
    1037: "53200",
    1038: "53200",
    1041: "53200",
    1114: "53100",
    1044: "42501",
    1054: "42703",
    1064: "42601",
    1142: "42501",
    1143: "42501",
    1146: "42P01",
    1205: "55P03",
    1213: "40P01",
    1292: "22007",
    1317: "70100",
    1365: "22012",
    1366: "22P02",
    1690: "22003",
    1792: "25006",
    1969: "57014",
    3024: "57014",
}
"""SQLSTATEs of MySQL and MariaDB error numbers."""
_NAMES = {
    "InterruptException": "HY008",
    "SQLITE_INTERRUPT": "HY008",
    "SQLITE_READONLY": "25006",
    "USER_CANCELED": "HY008",
    "EXCEEDED_TIME_LIMIT": "57014",
    "PERMISSION_DENIED": "42501",
    "SYNTAX_ERROR": "42601",
    "COLUMN_NOT_FOUND": "42703",
    "TABLE_NOT_FOUND": "42P01",
    "TYPE_MISMATCH": "42804",
    "FUNCTION_NOT_FOUND": "42883",
    "INVALID_CAST_ARGUMENT": "22P02",
    "DIVISION_BY_ZERO": "22012",
    "NUMERIC_VALUE_OUT_OF_RANGE": "22003",
}
"""SQLSTATEs of SQLite, Trino and DuckDB error names."""


def sqlstate(error: BaseException) -> str:
    """An error's SQLSTATE, or "" if it has none.

    >>> sqlstate(Exception({"C": "42601"})), sqlstate(Exception(1064, "…")), sqlstate(Exception())
    ('42601', '42601', '')
    >>> sqlstate(Exception("HY008", "…")), sqlstate(Exception("SMITH"))
    ('HY008', '')
    """
    if isinstance(number := next(iter(error.args), None), int) and number in _STATES:
        # Some have only a general SQLSTATE besides the number.
        return _STATES[number]
    for name in ("sqlstate", "pgcode", "sqlite_errorname", "error_name"):
        state = getattr(error, name, None)
        if isinstance(state, str) and state:
            return _NAMES.get(state, state if len(state) == 5 else "")
    match error.args[:1]:
        case ({"C": str(state)},):
            return state
        case (str(state),) if re.fullmatch(r"(?=.*[0-9])[0-9A-Z]{5}", state):
            return state
    return _NAMES.get(type(error).__name__, "")


def required(module: str, need: str, extra: str) -> Any:
    """Import a driver. Raises `MissingDriverError`: who needs it, and the extra that has it."""
    try:
        return import_module(module)
    except ImportError:
        raise MissingDriverError(f"{need}. Install it: pip install 'kanon-sql[{extra}]'") from None


_SILENCED: dict[str, tuple[int, int]] = {}
"""For each silent logger, the number of statements that silence it, and its level before."""
_SILENCING = threading.Lock()


@contextmanager
def silenced(*loggers: str) -> Iterator[None]:
    """Silence the loggers of a driver until the last statement of any thread has ended; errors are
    reported by this package."""
    with _SILENCING:
        for name in loggers:
            statements, level = _SILENCED.get(name, (0, logging.getLogger(name).level))
            _SILENCED[name] = statements + 1, level
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        with _SILENCING:
            for name in loggers:
                statements, level = _SILENCED.pop(name)
                if statements > 1:
                    _SILENCED[name] = statements - 1, level
                else:
                    logging.getLogger(name).setLevel(level)


def stopped() -> EngineError:
    return EngineError("the query was stopped before its end. Nothing was left behind.")


def server_stopped(title: str) -> EngineError:
    return EngineError(
        f"{title} stopped the query before its end: a time limit of the server, the role or the "
        "session was reached, such as statement_timeout, or someone cancelled it. Raise the limit, "
        "or use fewer columns at a time. Nothing was left behind."
    )


def server_locked(title: str) -> EngineError:
    return EngineError(
        f"{title} could not lock a table of the audit: another session is changing it, and waiting "
        "took longer than the server, the role or the session allows (lock_timeout). Run the audit "
        "again when that is done, or raise the limit. Nothing was left behind."
    )


def server_full(title: str) -> EngineError:
    return EngineError(
        f"{title} ran out of resources: disk space for temporary files, memory, or open files. "
        "Give the server more of them, or run fewer checks at a time. Nothing was left behind."
    )


def server_ended(title: str) -> EngineError:
    return EngineError(
        f"{title} ended the session before the result: an administrator ended it, or the server "
        "was shut down. Connect again and run the audit again. Nothing was left behind."
    )


def refused_to_write() -> EngineError:
    return EngineError("refused to write: the audit only reads.")


def no_such_value() -> InputError:
    """The error for a failed cast or an overflow."""
    return InputError(
        "a value can't be converted to the number, date or type that the audit needs. Check the "
        "casts and comparisons in where (try_cast gives NULL, in databases that have it), and the "
        "columns with a level, a clip or an order."
    )


def unreadable(title: str, message: str, advice: str = LOOK) -> SpecError:
    """The error for an invalid statement; `message` is known to contain only names and SQL."""
    message = message if message.endswith(".") else f"{message}."
    return SpecError(f"{title} rejects the SQL of the audit{message} {advice}")


def unreadable_or_failed(title: str, kind: str) -> SpecError:
    """The error for an invalid statement, or a failing view or function, which may quote data."""
    return SpecError(
        f"{title} rejects the SQL of the audit, or a view or function in it fails on a value "
        f"({kind}). The message is withheld, as it may hold values of the data. {LOOK}"
    )


def withheld(title: str, kind: str, hint: str = "") -> EngineError:
    """The error for any other failure, with its class name only."""
    return EngineError(
        f"{title} failed with {kind}. Its message is withheld, as it may hold values of the "
        f"data{hint}."
    )


def translated_error(
    error: Exception, title: str, about_the_statement: str | None = None, advice: str = LOOK
) -> KanonError:
    """Translate a driver's error.

    `about_the_statement` is the part of its message known to contain only names and SQL, `advice`
    the remedy.
    """
    state = sqlstate(error)
    if state in _STOPPED:
        return stopped()
    if state in _LIMITED:
        return server_stopped(title)
    if state in _LOCKED:
        return server_locked(title)
    if state in _ENDED:
        return server_ended(title)
    if state in _FULL:
        return server_full(title)
    if state == "25006":
        return refused_to_write()
    if state == "42501":
        return InputError(
            f"{title}: the role may not read a table of the audit, or not all of its rows "
            "(row-level security), and the audit would miss them silently."
        )
    if state.startswith("42"):
        if about_the_statement:
            return unreadable(title, f": {about_the_statement}.", advice)
        return unreadable_or_failed(title, f"SQLSTATE {state}")
    if state.startswith("22"):
        return no_such_value()
    kind = type(error).__name__
    return withheld(title, f"{kind} (SQLSTATE {state})" if state else kind)


def statement_message(error: Any) -> str | None:
    """The part of a Postgres message that refers to a position in the statement (libpq only).

    Postgres sets a position only while parsing, before it reads any row. Later errors may contain a
    value even under a SQLSTATE about names: `patient::regclass` looks for a table named like a
    patient, and a function builds statements and errors of its own.
    """
    message = getattr(error, "diag", None)
    if message is None or not getattr(message, "statement_position", None):
        return None
    # Set where a function raised the error.
    if any(getattr(message, name, None) for name in ("context", "internal_query")):
        return None
    return message.message_primary and str(message.message_primary)
