"""The parameters that an error names, as the options that set them here."""

from __future__ import annotations

import ast

from kanon_sql.errors import with_options

_CALLED = {
    "engine": "connect",
    "references": "reference",
    "earlier_releases": "earlier",
    "quasi_identifiers": "qi",
    "view_name": "name",
    "weights": "weight_of",
}
"""The options that are not called as their parameters are."""


def with_flags(text: str) -> str:
    """What an error says, with options in place of parameters.

    >>> from kanon_sql.errors import SpecError, option
    >>> error = SpecError(f"Leave out {option('view_name')}, or add {option('force', True)}.")
    >>> with_flags(str(error))
    'Leave out --name, or add --force.'
    """
    return with_options(text, _flag)


def _flag(parameter: str, value: str | None) -> str:
    flag = f"--{_CALLED.get(parameter, parameter).replace('_', '-')}"
    given = None if value is None else ast.literal_eval(value)
    return flag if given is None or given is True else f"{flag} {given}"
