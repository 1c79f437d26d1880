"""The sets of columns that a profile looks at, and what is asked of them as SELECTs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from kanon_sql.errors import SpecError, option

MOST_SETS = 5_000
"""How many sets of columns one question may be about."""
AT_ONCE = 32
"""How many sets one statement groups by."""
MOST_IN_PLACE = 511
"""How many sets one statement tells the special uniques of, where nothing may be kept."""
MOST_SCORED = 100
"""How many columns may be scored: a score is a factorial of their number."""


@dataclass(frozen=True)
class Subset:
    """A set of columns by their places, from 1 on, with its number among all that are asked."""

    number: int
    places: tuple[int, ...]
    parts: tuple[int, ...] = ()
    """The numbers of the sets with one column less."""

    @property
    def keys(self) -> list[str]:
        return [key_of(place) for place in self.places]

    @property
    def mask(self) -> int:
        """
        >>> Subset(1, (1, 3)).mask
        5
        """
        return sum(1 << (place - 1) for place in self.places)


@dataclass(frozen=True)
class Size:
    """The sets of one size: the numbers of the first and the last of them."""

    number: int
    first: int
    last: int


def key_of(place: int) -> str:
    """What a set of combinations calls the column of this place."""
    return f"kanon_key_{place}"


def number_of_sets(columns: int, size: int) -> int:
    """How many sets of at most `size` columns there are.

    >>> number_of_sets(20, 3)
    1350
    """
    return sum(comb(columns, each) for each in range(1, min(size, columns) + 1))


def refuse_too_many(parameter: str, columns: int, size: int, most: int = MOST_SETS) -> None:
    """Raise `SpecError` where there are more sets than one question may be about."""
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
    """Every set of at most `size` of so many columns, the small ones first, in declared order.

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
    """The sizes of the sets, each with the numbers of its sets, which follow one another."""
    numbers: dict[int, list[int]] = {}
    for each in subsets:
        numbers.setdefault(len(each.places), []).append(each.number)
    return tuple(Size(size, min(found), max(found)) for size, found in numbers.items())


def in_batches(subsets: Sequence[Subset]) -> Iterator[tuple[Subset, ...]]:
    """The sets some at a time, as many as one statement asks of, none of two sizes."""
    for size in sizes_of(subsets):
        alike = tuple(each for each in subsets if len(each.places) == size.number)
        yield from (alike[start : start + AT_ONCE] for start in range(0, len(alike), AT_ONCE))
