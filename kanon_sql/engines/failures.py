"""What a driver's error means, told by the codes that databases share: its message may hold values
of the data and is withheld."""

from __future__ import annotations

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
"""What SQLite and Trino call errors, as SQLSTATEs."""


def sqlstate(error: BaseException) -> str:
    """The five characters by which the SQL standard sorts errors, or nothing.

    >>> sqlstate(Exception({"C": "42601"})), sqlstate(Exception(1064, "…")), sqlstate(Exception())
    ('42601', '42601', '')
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
        case (str(state),) if len(state) == 5 and state.isalnum() and state.isupper():
            return state
    return ""


def explained(error: Exception, title: str, about_the_statement: str | None = None) -> KanonError:
    """The error in our words. `about_the_statement` is a part of its message that is known to
    speak of names and SQL alone."""
    state = sqlstate(error)
    if state in _STOPPED or type(error).__name__ == "InterruptException":
        return EngineError("the query was stopped before its end. Nothing was left behind.")
    if state == "25006":
        return EngineError("refused to write: the audit's transaction is read-only.")
    if state == "42501":
        return InputError(
            f"{title}: the role may not read a table of the question, or not all of its rows "
            "(row-level security), of which an audit would say nothing."
        )
    if state.startswith("42"):
        said = f": {about_the_statement}" if about_the_statement else f" (SQLSTATE {state})"
        return SpecError(
            f"{title} can't read the question as it is asked{said}. Look at the conditions and "
            "the types of their columns."
        )
    if state.startswith("22"):
        return InputError(
            "a value does not convert to the number, date or type that the question needs. Look "
            "at the columns with a level, a clip, an order or a comparison."
        )
    with_state = f" (SQLSTATE {state})" if state else ""
    return EngineError(
        f"{title} failed with {type(error).__name__}{with_state}. Its message is withheld, as it "
        "may hold values of the data."
    )


def primary_message(error: Any) -> str | None:
    """What libpq's drivers call the primary message, where they tell it apart."""
    said = getattr(getattr(error, "diag", None), "message_primary", None)
    return str(said) if said else None
