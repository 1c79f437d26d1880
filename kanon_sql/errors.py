"""Every error this package raises on purpose, as one tree with one root.

A message is one sentence of fact and one of advice, and never holds a value of the data.
`exit_code` is what the command line ends with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class KanonError(Exception):
    """The root of every error raised on purpose."""

    exit_code = 2


class SpecError(KanonError, ValueError):
    """A question that cannot be asked: a bad option, key, column name or threshold."""

    def __init__(self, message: str, key: str | None = None) -> None:
        """`key` is the parameter at fault, where it is one of several."""
        super().__init__(message)
        self.key = key
        self.location: tuple[int | str, ...] = ()
        """Where in the table's spec the fault lies, as far as that is known."""


class InputError(KanonError, ValueError):
    """Data that cannot be read whole, or is not what the question needs."""


class MissingDriverError(KanonError, ImportError):
    """An optional package is not installed; the message names the extra that brings it."""


class EngineError(KanonError, RuntimeError):
    """The database refused or failed a statement, or ran out of memory or time."""

    exit_code = 3


class PrivacyViolation(KanonError, AssertionError):
    """A check does not hold; raised by `AuditResult.raise_if_violated` only."""

    exit_code = 1


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A closing sentence that names the nearest known spelling, or nothing.

    >>> did_you_mean("zipcode", ["zip", "age"])
    ' Did you mean "zip"?'
    >>> did_you_mean("height", ["zip", "age"])
    ''
    """
    folded = {candidate.casefold(): candidate for candidate in known}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return f' Did you mean "{folded[near[0]]}"?' if near else ""


def no_such_column(name: str, table: str, columns: Sequence[str]) -> SpecError:
    """The error for a column that `table` does not have.

    A file without a header has a person's record in the place of the names; where they look like
    one, they are not repeated.
    """
    if any(_VALUE.fullmatch(column) for column in columns):
        return SpecError(
            f'{table} has no column "{name}", and what stands for the names of its '
            f"{len(columns)} columns looks like a record. Put a line with their names first."
        )
    return SpecError(
        f'{table} has no column "{name}". Its columns: {", ".join(columns)}.'
        f"{did_you_mean(name, columns)}"
    )


_VALUE = re.compile(r"[-+]?[\d.,]*\d|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|.+@.+\..+")
"""What a number, a date or an address looks like."""
