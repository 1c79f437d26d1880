"""Formats numbers, shares and lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol

from kanon_sql.errors import printable as printable

KEPT_TOGETHER = "\u00a0"
TO = "\u2013"
NONE = "\u2013"
"""Placeholder for a missing figure."""
BLOCKS = "▏▎▍▌▋▊▉█"
"""Block characters from one to eight eighths, for text bars."""
_PLURALS = {"class": "classes", "person": "people"}


def plain(text: str) -> str:
    """The text with ordinary spaces, after wrapping."""
    return text.replace(KEPT_TOGETHER, " ")


def number(value: int | float) -> str:
    """A number with thousands separators; a fraction with four significant digits.

    >>> number(1204311), number(0.25), number(float("inf"))
    ('1,204,311', '0.25', 'infinite')
    """
    if isinstance(value, int):
        return f"{value:,}"
    if value in (float("inf"), float("-inf")):
        return "infinite"
    return f"{value:,.4g}"


def counted(value: int, noun: str) -> str:
    """A count with its noun.

    >>> plain(counted(1, "class")), plain(counted(2100, "class"))
    ('1 class', '2,100 classes')
    """
    word = noun if value == 1 else _PLURALS.get(noun, f"{noun}s")
    return f"{value:,}{KEPT_TOGETHER}{word}"


def ordinal(place: int) -> str:
    """An English ordinal.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 22)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd']
    """
    teen = place % 100 in (11, 12, 13)
    return f"{place}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(place % 10, 'th')}"


def percent(fraction: float) -> str:
    """A percentage; only exact 0 and 1 are shown as such.

    >>> [plain(percent(x)) for x in (0, 0.0001, 0.675, 0.9999, 1)]
    ['0 %', 'less than 0.1 %', '67.5 %', 'more than 99.9 %', '100 %']
    """
    if fraction in (0, 1):
        figure = f"{fraction:.0%}"[:-1]
    elif fraction < 0.001:
        figure = f"less than{KEPT_TOGETHER}0.1"
    elif fraction > 0.999:
        figure = f"more than{KEPT_TOGETHER}99.9"
    else:
        figure = f"{fraction * 100:.1f}"
    return f"{figure}{KEPT_TOGETHER}%"


def percent_asked(fraction: float) -> str:
    """A percentage from a requirement, never rounded.

    >>> [plain(percent_asked(x)) for x in (0, 0.2, 0.0001, 0.12345, 1)]
    ['0 %', '20.0 %', '0.01 %', '12.345 %', '100 %']
    """
    whole = Decimal(str(fraction)) * 100
    if whole == round(whole, 1):
        return percent(fraction)
    return f"{whole.normalize():f}{KEPT_TOGETHER}%"


def short_percent(fraction: float | None) -> str:
    """A percentage as a table cell, with < and > in place of words.

    >>> [plain(short_percent(share)) for share in (0.0001, 0.25, 1)]
    ['< 0.1 %', '25.0 %', '100 %']
    """
    if fraction is None:
        return NONE
    return percent(fraction).replace("less than", "<").replace("more than", ">")


def short_share(part: int, whole: int) -> str:
    """The percentage of a whole as a table cell."""
    return short_percent(part / whole if whole else None)


def number_or_none(value: int | None) -> str:
    return NONE if value is None else number(value)


def significant_percent(fraction: float) -> str:
    """A percentage with four significant digits, for a threshold.

    >>> plain(significant_percent(1 / 3)), plain(significant_percent(0.05))
    ('33.33 %', '5 %')
    """
    return f"{number(fraction * 100)}{KEPT_TOGETHER}%"


def bar(share: float, longest: int, *, least: int = 1) -> str:
    """A bar in eighths of a character, at least `least` for any share but 0.

    >>> bar(0.3, 4), bar(0.001, 4), bar(0, 4)
    ('█▎', '▏', '')
    """
    full, eighths = divmod(max(round(share * longest * 8), least if share else 0), 8)
    return BLOCKS[-1] * full + BLOCKS[:eighths][-1:]


class HasEntity(Protocol):
    """A result that counts people if it has an entity, and records otherwise."""

    @property
    def entity(self) -> str | None: ...


def member(table: HasEntity) -> str:
    return "person" if table.entity else "record"


def members(table: HasEntity) -> str:
    return "people" if table.entity else "records"


def listed(names: Sequence[str]) -> str:
    return ", ".join(printable(name) for name in names)


def quasi_identifiers(names: Sequence[str]) -> str:
    """The quasi-identifiers of a heading: by name, or their number where they would fill a page."""
    if len(names) > _MOST_NAMED:
        return counted(len(names), "quasi-identifier")
    return f"quasi-identifiers {listed(names)}"


_MOST_NAMED = 20
"""How many columns a heading names."""


def cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Rows as text below their column names; empty without rows."""
    if not rows:
        return []
    values = ((("NULL" if v is None else str(v)) for v in row.values()) for row in rows)
    return [[printable(cell) for cell in row] for row in (rows[0], *values)]


_FIGURE_NAMES = {
    "achieved": "found",
    "violating_classes": "violating classes",
    "violating_records": "violating records",
    "violating_people": "violating people",
    "min": "least",
    "max": "greatest",
    "at_risk": "at risk",
    "distinct": "distinct values",
    "prosecutor.average": "average prosecutor risk",
    "journalist.average": "average journalist risk",
    "marketer.average": "average marketer risk",
    "homogeneity.achieved": "homogeneous classes",
    "homogeneity.violating_classes": "homogeneous classes",
    "homogeneity.violating_records": "records in homogeneous classes",
    "homogeneity.violating_people": "people in homogeneous classes",
    "step4": "suppressed in step 4",
}


def figure_name(name: str) -> str:
    """Display name of a figure.

    >>> figure_name("violating_records"), figure_name("unmatched_classes"), figure_name("k")
    ('violating records', 'unmatched classes', 'k')
    """
    return _FIGURE_NAMES.get(name, name.replace("_", " "))


def figure(value: Any) -> str:
    """A figure of a result; "none" if undefined.

    >>> figure(1200), figure(None)
    ('1,200', 'none')
    """
    return number(value) if isinstance(value, int | float) else "none"
