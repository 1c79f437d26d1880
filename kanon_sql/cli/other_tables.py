"""Parses the options for other tables: references and earlier releases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kanon_sql.cli.option_syntax import column_names, levels_given
from kanon_sql.errors import SpecError

DEFAULT_REFERENCE = "reference"
DEFAULT_EARLIER = "earlier"


@dataclass(frozen=True)
class _Kind:
    """A kind of other table, and the options that describe it."""

    flag: str
    noun: str
    default: str
    """The name of an unnamed one."""
    example: str
    parts: tuple[str, ...]
    """Parts that may be given once per table."""
    name: str
    """Regular expression of its names."""

    def given(self, part: str, values: Mapping[str, Any]) -> Sequence[str]:
        texts: Sequence[str] = values.get(f"{self.flag}-{part}"[2:].replace("-", "_"), ())
        return texts


REFERENCES = _Kind(
    "--reference",
    "reference",
    DEFAULT_REFERENCE,
    "voters.parquet",
    ("where", "entity", "weight", "header"),
    r"[A-Za-z_]\w*",
)
EARLIER = _Kind(
    "--earlier",
    "earlier release",
    DEFAULT_EARLIER,
    "r2024.parquet",
    ("where", "entity", "header"),
    r"\w+",
)


def beside(kind: _Kind, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every reference or earlier release by name, with its settings."""
    flag, found = kind.flag, dict[str, dict[str, Any]]()
    for text in values.get(flag[2:], ()):
        name, source = _named_source(kind, text)
        if name in found:
            raise SpecError(
                f'there are two {kind.noun}s called "{name}": name them, as in '
                f"{flag} {kind.example.partition('.')[0]}={kind.example}."
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
        found[name]["levels"] = levels_given(f"{flag}-level", texts)
    for part in kind.parts:
        for name, text in _of_each(kind, part, values, found):
            if part in found[name]:
                raise SpecError(f"{flag}-{part} is given twice for {name}. Give it once.")
            found[name][part] = text
    for name, text in _of_each(kind, "qi", values, found):
        names = found[name].setdefault("quasi_identifiers", [])
        names += column_names(f"{flag}-qi", text)
    return found


def _named_source(kind: _Kind, text: str) -> tuple[str, str]:
    """Split `[NAME=]SRC`; a path that contains `=` must begin with `./`."""
    named = re.fullmatch(rf"({kind.name})=(.+)", text, re.DOTALL)
    return (named[1], named[2]) if named else (kind.default, text)


def _of_each(
    kind: _Kind, part: str, values: Mapping[str, Any], found: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Each value of an option, with the name of the table it belongs to."""
    flag = f"{kind.flag}-{part}"
    for text in kind.given(part, values):
        prefix = re.match(r"(\w+):(?!:)\s*", text)
        if prefix and prefix[1] in found:
            yield prefix[1], text[prefix.end() :]
        elif len(found) == 1:
            yield next(iter(found)), text
        elif not found:
            raise SpecError(f"{flag} needs a table that it is about: {kind.flag} {kind.example}.")
        else:
            raise SpecError(
                f"{flag} {text!r} is for which {kind.noun}? Begin it with a name and a colon: "
                f"{', '.join(f'{name}:' for name in found)}."
            )
