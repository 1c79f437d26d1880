"""Names as SQL, values as SQL."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

from kanon_sql.errors import SpecError

SLACK = 1e-12
"""Relative tolerance of floats, so that a bound met exactly counts as met."""
SLACK_OF_DISTANCES = 1e-9
"""The tolerance for distances, which are sums over all values."""


def exactly(threshold: int | float) -> Fraction:
    """The threshold as the decimal that was written.

    >>> exactly(0.29)
    Fraction(29, 100)
    """
    return Fraction(str(threshold))


DIALECT = "duckdb"


def identifier(name: str) -> str:
    """The name as a quoted identifier.

    >>> identifier('a"b')
    '"a""b"'

    Raises `SpecError` for a name with a line break, as SQL is indented for display.
    """
    if not is_one_line(name):
        raise SpecError(f"{name!r} has a line break in it; give it a name of one line.")
    return '"' + name.replace('"', '""') + '"'


def generated_or_quoted(name: str) -> str:
    """A column's name in CTEs above the records: quoted, unless it is a generated one.

    >>> generated_or_quoted("kanon_level_1_of_1"), generated_or_quoted("zip")
    ('kanon_level_1_of_1', '"zip"')
    """
    return name if name.startswith("kanon_") else identifier(name)


def literal(value: str) -> str:
    """The text as a SQL literal.

    >>> literal("it's")
    "'it''s'"

    Raises `SpecError` for one with a line break, without repeating it, as it may be data.
    """
    if not is_one_line(value):
        raise SpecError("a text with a line break in it can't be looked for. Leave it out.")
    return "'" + value.replace("'", "''") + "'"


def is_one_line(text: str) -> bool:
    """Whether a text can be embedded in SQL, which is indented line by line."""
    return text.splitlines() in ([text], [])


def positive_int(value: Any, name: str) -> int:
    """Validate an integer of 1 or more, right before it becomes SQL text."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise SpecError(f"{name} must be a whole number, 1 or more; found {value!r}.")


def value_as_text(value: Any) -> str:
    """A value of the spec as the text of the same value in a table.

    >>> [value_as_text(value) for value in ("HIV", 2, 2.0, 0.5, True, date(2025, 1, 31))]
    ['HIV', '2', '2', '0.5', 'true', '2025-01-31']
    """
    match value:
        case bool():
            return str(value).lower()
        case float() if value.is_integer():
            return str(int(value))
        case date():
            return value.isoformat()
    return str(value)
