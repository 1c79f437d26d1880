"""What a database's error means, in our words: its own message may hold values of the data and is
withheld. Drivers of the usual kind are told by the codes that they share."""

from __future__ import annotations

import re
from typing import Any

from kanon_sql.errors import EngineError, InputError, KanonError, SpecError

_STOPPED = ("57014", "57P01", "HY008", "70100")
_STATES = {
    1044: "42501",
    1054: "42703",
    1064: "42601",
    1142: "42501",
    1143: "42501",
    1146: "42P01",
    1292: "22007",
    1317: "57014",
    1365: "22012",
    1366: "22P02",
    1690: "22003",
    1792: "25006",
    3024: "57014",
}
"""MySQL's numbers of errors as SQLSTATEs."""
_NAMES = {
    "InterruptException": "57014",
    "SQLITE_INTERRUPT": "57014",
    "SQLITE_READONLY": "25006",
    "USER_CANCELED": "57014",
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
"""What SQLite, Trino and DuckDB call errors, as SQLSTATEs."""


def sqlstate(error: BaseException) -> str:
    """The five characters by which the SQL standard sorts errors, or nothing.

    >>> sqlstate(Exception({"C": "42601"})), sqlstate(Exception(1064, "…")), sqlstate(Exception())
    ('42601', '42601', '')
    >>> sqlstate(Exception("HY008", "…")), sqlstate(Exception("SMITH"))
    ('HY008', '')
    """
    for name in ("sqlstate", "pgcode", "sqlite_errorname", "error_name"):
        state = getattr(error, name, None)
        if isinstance(state, str) and state:
            return _NAMES.get(state, state if len(state) == 5 else "")
    match error.args[:1]:
        case ({"C": str(state)},):
            return state
        case (int(number),):
            return _STATES.get(number, "")
        case (str(state),) if re.fullmatch(r"(?=.*[0-9])[0-9A-Z]{5}", state):
            return state
    return _NAMES.get(type(error).__name__, "")


def stopped() -> EngineError:
    return EngineError("the query was stopped before its end. Nothing was left behind.")


def refused_to_write() -> EngineError:
    return EngineError("refused to write: the audit only reads.")


def no_such_value() -> InputError:
    """A cast failed, or a sum is too large."""
    return InputError(
        "a value does not convert to the number, date or type that the question needs. Look at "
        "the columns with a level, a clip, an order or a comparison."
    )


def unreadable(title: str, said: str) -> SpecError:
    """The statement is at fault; `said` is known to speak of names and SQL alone."""
    return SpecError(
        f"{title} can't read the question as it is asked{said} Look at the conditions and the "
        "types of their columns."
    )


def withheld(title: str, kind: str, hint: str = "") -> EngineError:
    """Anything else, by the name of its kind."""
    return EngineError(
        f"{title} failed with {kind}. Its message is withheld, as it may hold values of the "
        f"data{hint}."
    )


def explained(error: Exception, title: str, about_the_statement: str | None = None) -> KanonError:
    """The error in our words. `about_the_statement` is a part of its message that is known to
    speak of names and SQL alone."""
    state = sqlstate(error)
    if state in _STOPPED:
        return stopped()
    if state == "25006":
        return refused_to_write()
    if state == "42501":
        return InputError(
            f"{title}: the role may not read a table of the question, or not all of its rows "
            "(row-level security), of which an audit would say nothing."
        )
    if state.startswith("42"):
        said = f": {about_the_statement}" if about_the_statement else f" (SQLSTATE {state})"
        return unreadable(title, f"{said}.")
    if state.startswith("22"):
        return no_such_value()
    kind = type(error).__name__
    return withheld(title, f"{kind} (SQLSTATE {state})" if state else kind)


def primary_message(error: Any) -> str | None:
    """What libpq's drivers call the primary message, where they tell it apart."""
    said = getattr(getattr(error, "diag", None), "message_primary", None)
    return str(said) if said else None
