"""Which cells of a reference a cell of the release stands for, in plain Python.

Written from the rules of k-map by containment, for the oracle: `*` at either end is one character
each, `[a,b)` and its kin are intervals, `a-b` is a range where nothing speaks against it. Doubt
matches nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import date
from fractions import Fraction
from typing import Any

NUMBER = r"(-?[0-9]+(?:\.[0-9]+)?)"
INTERVAL = re.compile(rf"([\[(\]]) *{NUMBER} *, *{NUMBER} *([\])\[])")
RANGE = re.compile(rf"{NUMBER}-{NUMBER}")

Match = Callable[[Any, Any], bool]


def matcher(released: Iterable[Any], referred: Iterable[Any], *, exact: bool, null: bool) -> Match:
    """Whether one cell stands for another, given all cells of the two columns.

    With `exact` a cell stands for itself alone. With `null` a NULL stands for anything, and
    anything for it.
    """
    here, there = ([as_text(cell) for cell in column] for column in (released, referred))
    ranges = all(_is_numeric(cell) for cell in here + there)
    begins = {_begins(cell) for cell in here}

    def match(cell: Any, other: Any) -> bool:
        cell, other = as_text(cell), as_text(other)
        if cell == other or (null and None in (cell, other)):
            return True
        if exact or cell is None:
            return False
        if _only_stars(cell):
            return True
        if other is None:
            return False
        return (
            _mask_takes_in(cell, other)
            or _interval_takes_in(cell, other)
            or (ranges and _range_takes_in(cell, other, begins))
        )

    return match


def as_text(value: Any) -> str | None:
    """A value's text, in which a whole number has no decimal point."""
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case float() if math.isfinite(value) and value == int(value):
            return str(int(value))
        case date():
            return value.isoformat()
    return str(value)


def _only_stars(cell: str) -> bool:
    return set(cell) == {"*"}


def _mask_takes_in(cell: str, other: str) -> bool:
    left, right = len(cell) - len(cell.lstrip("*")), len(cell) - len(cell.rstrip("*"))
    kept = cell[left : len(cell) - right]
    return left + right > 0 and len(cell) == len(other) and other[left:].startswith(kept)


def _interval_takes_in(cell: str, other: str) -> bool:
    found, number = INTERVAL.fullmatch(cell), _number(other)
    if found is None or number is None:
        return False
    opens, low, high, closes = found.groups()
    above = number >= Fraction(low) if opens == "[" else number > Fraction(low)
    return above and (number <= Fraction(high) if closes == "]" else number < Fraction(high))


def _range_takes_in(cell: str, other: str, begins: set[Fraction | None]) -> bool:
    found, number = RANGE.fullmatch(cell), _number(other)
    if found is None or number is None:
        return False
    low, high = Fraction(found[1]), Fraction(found[2])
    return low <= number < high or (low < number == high and high not in begins)


def _number(cell: str) -> Fraction | None:
    return Fraction(cell) if re.fullmatch(NUMBER, cell) else None


def _low_end(cell: str) -> Fraction | None:
    """Where an interval or a range begins; None for one that ends before it begins."""
    if found := INTERVAL.fullmatch(cell):
        low, high = Fraction(found[2]), Fraction(found[3])
        return low if low <= high else None
    if found := RANGE.fullmatch(cell):
        low, high = Fraction(found[1]), Fraction(found[2])
        return low if low < high else None
    return None


def _begins(cell: str | None) -> Fraction | None:
    """The number that a cell is, or where it begins."""
    if cell is None:
        return None
    number = _number(cell)
    return _low_end(cell) if number is None else number


def _is_numeric(cell: str | None) -> bool:
    """A number, NULL, only `*`, an interval or a range: nothing that speaks against a range."""
    return cell is None or _only_stars(cell) or _begins(cell) is not None
