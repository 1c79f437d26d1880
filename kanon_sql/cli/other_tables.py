"""Parses the options for other tables: references and earlier releases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kanon_sql.cli.option_syntax import column_names, parsed_levels
from kanon_sql.errors import SpecError
from kanon_sql.spec.other_tables import AGAINST, EARLIER, REFERENCE, OtherTableKind

_NAMES = {REFERENCE: r"[A-Za-z_]\w*", EARLIER: r"\w+", AGAINST: r"\w+"}
"""Regular expression of the names of each kind."""
_ONCE = ("where", "entity", "weight", "header")
"""Options that may be given once per table."""


def other_tables(kind: OtherTableKind, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every reference or earlier release by name, with its settings."""
    flag, found = f"--{kind.prefix}", dict[str, dict[str, Any]]()
    for text in values.get(kind.prefix, ()):
        name, source = _named_source(kind, text)
        if name in found:
            raise SpecError(
                f'there are two {kind.noun}s called "{name}": name them, as in '
                f"{flag} {kind.example}={kind.example}.parquet."
            )
        found[name] = {"source": source}
    for name, text in _of_each(kind, "columns", values, found):
        columns = found[name].setdefault("columns", {})
        for pair in column_names(f"{flag}-columns", text):
            column, equals, own = pair.partition("=")
            if not (column and equals and own):
                raise SpecError(f"{flag}-columns {pair!r} is not COL=COL, as in zip=zip_code.")
            if column in columns:
                raise SpecError(f'{flag}-columns names "{column}" twice. Name it once.')
            columns[column] = own
    at_level: dict[str, list[str]] = {}
    for name, text in _of_each(kind, "level", values, found):
        at_level.setdefault(name, []).append(text)
    for name, texts in at_level.items():
        found[name]["levels"] = parsed_levels(f"{flag}-level", texts)
    for part in _ONCE:
        for name, text in _of_each(kind, part, values, found):
            if part in found[name]:
                raise SpecError(f"{flag}-{part} is given twice for {name}. Give it once.")
            found[name][part] = text
    for part, key in (("qi", "quasi_identifiers"), ("by", "by")):
        for name, text in _of_each(kind, part, values, found):
            names = found[name].setdefault(key, [])
            names += column_names(f"{flag}-{part}", text)
    return found


def _named_source(kind: OtherTableKind, text: str) -> tuple[str, str]:
    """Split `[NAME=]SRC`; a path that contains `=` must begin with `./`."""
    named = re.fullmatch(rf"({_NAMES[kind]})=(.+)", text, re.DOTALL)
    return (named[1], named[2]) if named else (kind.prefix, text)


def _of_each(
    kind: OtherTableKind, part: str, values: Mapping[str, Any], found: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Each value of an option, with the name of the table it belongs to."""
    flag = f"--{kind.prefix}-{part}"
    for text in values.get(f"{kind.prefix}_{part}", ()):
        prefix = re.match(r"(\w+):(?!:)\s*", text)
        if prefix and prefix[1] in found:
            yield prefix[1], text[prefix.end() :]
        elif len(found) == 1:
            yield next(iter(found)), text
        elif not found:
            raise SpecError(
                f"{flag} needs a table that it is about: --{kind.prefix} {kind.example}.parquet."
            )
        else:
            raise SpecError(
                f"{flag} {text!r} is for which {kind.noun}? Begin it with a name and a colon: "
                f"{', '.join(f'{name}:' for name in found)}."
            )
