"""Enumerates the column sets of a profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from kanon_sql.errors import SpecError, option

MOST_SETS = 5_000
"""Maximum number of column sets per question."""
AT_ONCE = 32
"""Number of column sets one statement groups by."""
FEW_AT_ONCE = 4
"""That number where time is limited, as a statement that is cancelled tells nothing."""
MOST_IN_PLACE = 511
"""Number of column sets in one statement on special uniques, without temporary tables."""
MOST_SCORED = 100
"""Maximum number of columns to score, as a score is a factorial of their number."""


@dataclass(frozen=True)
class Subset:
    """A column set as 1-based positions, with its number among all sets."""

    number: int
    places: tuple[int, ...]
    parts: tuple[int, ...] = ()
    """Numbers of its subsets with one column less."""

    @property
    def keys(self) -> list[str]:
        return [key_of(place) for place in self.places]

    @property
    def mask(self) -> int:
        """The positions as a bit mask.

        >>> Subset(1, (1, 3)).mask
        5
        """
        return sum(1 << (place - 1) for place in self.places)


@dataclass(frozen=True)
class Size:
    """The column sets of one size, as an inclusive range of numbers."""

    number: int
    first: int
    last: int


def key_of(place: int) -> str:
    """The name of a column in a set of combinations, by position."""
    return f"kanon_key_{place}"


def number_of_sets(columns: int, size: int) -> int:
    """Number of column sets of at most `size` columns.

    >>> number_of_sets(20, 3)
    1350
    """
    return sum(comb(columns, each) for each in range(1, min(size, columns) + 1))


def refuse_too_many(parameter: str, columns: int, size: int, most: int = MOST_SETS) -> None:
    """Raise `SpecError` if there are more column sets than `most`."""
    found = number_of_sets(columns, size)
    if found > most:
        fewer = next(
            (n for n in range(size - 1, 0, -1) if number_of_sets(columns, n) <= most), None
        )
        there = f", or ask for {fewer}" if fewer else ""
        raise SpecError(
            f"{option(parameter)}: {columns:,} columns have {found:,} sets of at most {size}, and "
            f"no more than {most:,} are looked at. Name fewer columns{there}."
        )


def subsets_up_to(columns: int, size: int) -> tuple[Subset, ...]:
    """Every set of at most `size` of these columns, smallest first, in declared order.

    >>> [(each.number, each.places, each.parts) for each in subsets_up_to(3, 2)][2:4]
    [(3, (3,), ()), (4, (1, 2), (2, 1))]
    """
    found: dict[tuple[int, ...], Subset] = {}
    for length in range(1, min(size, columns) + 1):
        for places in combinations(range(1, columns + 1), length):
            without = (places[:n] + places[n + 1 :] for n in range(length) if length > 1)
            parts = tuple(found[part].number for part in without)
            found[places] = Subset(len(found) + 1, places, parts)
    return tuple(found.values())


def sizes_of(subsets: Sequence[Subset]) -> tuple[Size, ...]:
    """The number range of each set size."""
    numbers: dict[int, list[int]] = {}
    for each in subsets:
        numbers.setdefault(len(each.places), []).append(each.number)
    return tuple(Size(size, min(found), max(found)) for size, found in numbers.items())


def in_batches(subsets: Sequence[Subset], at_once: int = AT_ONCE) -> Iterator[tuple[Subset, ...]]:
    """Batches of column sets of one size, at most `at_once` each."""
    for size in sizes_of(subsets):
        alike = tuple(each for each in subsets if len(each.places) == size.number)
        yield from (alike[start : start + at_once] for start in range(0, len(alike), at_once))
