"""The formats of dates in text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kanon_sql.errors import SpecError

ORDERS = {"dmy": "day.month.year", "mdy": "month/day/year", "ymd": "year-month-day"}
"""The names of formats that give the order alone, with an example of how they look."""
_SEPARATORS = (".", "/", "-", " ", "")
_TIMES = ("", " %H:%M", " %H:%M:%S")
_DIRECTIVES = {
    "%Y": "[0-9]{4}",
    "%m": "[0-9]{1,2}",
    "%d": "[0-9]{1,2}",
    "%b": "[A-Za-z]{3}",
    "%B": "[A-Za-z]{3,9}",
    "%H": "[0-9]{1,2}",
    "%M": "[0-9]{2}",
    "%S": "[0-9]{2}",
}
"""What each directive of a pattern matches."""
_ADJACENT = re.compile(r"%[YmdHMS](?=%[YmdHMS])|(?<=%[YmdHMS])%[YmdHMS]")


@dataclass(frozen=True)
class DateFormat:
    """How dates are written: by their order, or by a pattern of strptime."""

    name: str
    patterns: tuple[str, ...]
    """The patterns of strptime, of which no text has two."""
    regex: str
    """What each of its texts matches, so that no year has two digits."""

    def used(self, shapes: Iterable[str]) -> list[str]:
        """The patterns of texts with these shapes, in which each number is 9.

        >>> date_format("dmy").used(["9.9.9", "9.9.9 9:9"])
        ['%d.%m.%Y', '%d.%m.%Y %H:%M']
        """
        if len(self.patterns) == 1:
            return list(self.patterns)
        known = set(shapes)
        return [pattern for pattern in self.patterns if shape_of(pattern) in known]


def shape_of(pattern: str) -> str:
    """The shape of a pattern's texts.

    >>> shape_of("%d/%m/%Y %H:%M"), shape_of("%Y%m%d")
    ('9/9/9 9:9', '9')
    """
    return re.sub("(%[YmdHMS])+", "9", pattern)


def date_format(text: str) -> DateFormat:
    """The format of a name or a pattern.

    >>> date_format("%d %b %Y").regex
    '[0-9]{1,2} [A-Za-z]{3} [0-9]{4}'
    >>> date_format("%Y%m%d").regex
    '[0-9]{4}[0-9]{2}[0-9]{2}'

    Raises `SpecError` for another one, and for a pattern without day, month or four-digit year.
    """
    if text in ORDERS:
        parts = [f"%{part.upper() if part == 'y' else part}" for part in text]
        numbers = "[-./ ]".join(map(_DIRECTIVES.__getitem__, parts))
        return DateFormat(
            text,
            tuple(f"{mark.join(parts)}{time}" for mark in _SEPARATORS for time in _TIMES),
            f"({numbers}|[0-9]{{8}})( [0-9]{{1,2}}:[0-9]{{2}}(:[0-9]{{2}})?)?",
        )
    directives = re.findall("%.?", text)
    unknown = next((each for each in directives if each not in _DIRECTIVES), None)
    has_all = "%Y" in directives and "%d" in directives and {"%m", "%b", "%B"} & {*directives}
    if unknown or not has_all or len({*directives}) < len(directives):
        reason = (
            "two digits do not tell 1925 from 2025"
            if unknown == "%y"
            else f"{unknown} is none of {' '.join(_DIRECTIVES)}"
            if unknown
            else "it needs day, month and year, each once"
        )
        raise SpecError(
            "a date format must be dmy, mdy, ymd or a pattern such as %d.%m.%Y or '%d %b %Y'; "
            f"found {text!r}: {reason}."
        )
    pieces = re.split(f"({'|'.join(_DIRECTIVES)})", text)
    adjacent = {match.start() for match in _ADJACENT.finditer(text)}
    regex, place = "", 0
    for piece in pieces:
        known = _DIRECTIVES.get(piece, re.escape(piece).replace(r"\ ", " "))
        regex += known.replace("{1,2}", "{2}") if place in adjacent else known
        place += len(piece)
    return DateFormat(text, (text,), regex)


Dates = str | Mapping[str, str]
"""The format of a table's dates, or of each column that has some."""


def known_dates(value: Any) -> Any:
    """The formats of a spec. Raises `SpecError` for one that is none."""
    for text in value.values() if isinstance(value, Mapping) else [value]:
        if not isinstance(text, str):
            raise ValueError("must be a date format, or one for each column, as in {birth: dmy}")
        date_format(text)
    return value
