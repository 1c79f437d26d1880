"""Parameters as the command line spells them."""

from __future__ import annotations

import ast

from kanon_sql.errors import with_options
from kanon_sql.spec.other_tables import OTHER_TABLES

_CALLED = {
    "engine": "connect",
    "levels": "level",
    "null_strings": "null_string",
    **{kind.key: kind.prefix for kind in OTHER_TABLES},
    "quasi_identifiers": "qi",
    "untouched": "unassigned",
    "hierarchies": "hierarchy",
    "view_name": "name",
    "weights": "weight_of",
}
"""Options named differently from their parameters."""


def with_flags(text: str) -> str:
    """An error message with options in place of parameters.

    >>> from kanon_sql.errors import SpecError, option
    >>> error = SpecError(f"Leave out {option('view_name')}, or add {option('force', True)}.")
    >>> with_flags(str(error))
    'Leave out --name, or add --force.'
    >>> with_flags(option("references.columns", {"zip": "zip_code"}))
    '--reference-columns zip=zip_code'
    """
    return with_options(text, _flag_of)


def _flag_of(parameter: str, value: str | None) -> str:
    parts = (_CALLED.get(part, part) for part in parameter.split("."))
    flag = f"--{'-'.join(parts).replace('_', '-')}"
    given = None if value is None else ast.literal_eval(value)
    if given is None or given is True:
        return flag
    if isinstance(given, dict):
        given = ",".join(f"{name}={value}" for name, value in given.items())
    return f"{flag} {given}"
