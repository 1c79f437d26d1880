"""The small sets of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from kanon_sql.errors import SpecError

MOST_SETS = 5_000
"""Maximum number of column sets per question."""
BATCH = 32
"""Number of column sets one statement groups by."""


@dataclass(frozen=True)
class Subset:
    """A column set as 1-based positions, with its number among all sets."""

    number: int
    places: tuple[int, ...]
    smaller: tuple[int, ...] = ()
    """Numbers of its subsets with one column less."""

    @property
    def keys(self) -> list[str]:
        return [key_of(index) for index in self.places]

    @property
    def mask(self) -> int:
        """The positions as a bit mask.

        >>> Subset(1, (1, 3)).mask
        5
        """
        return sum(1 << (index - 1) for index in self.places)


@dataclass(frozen=True)
class Size:
    """The column sets of one size, as an inclusive range of numbers."""

    number: int
    first: int
    last: int


def key_of(index: int) -> str:
    """The name of a column in a set of combinations, by position."""
    return f"kanon_key_{index}"


def number_of_sets(columns: int, size: int) -> int:
    """Number of column sets of at most `size` columns.

    >>> number_of_sets(20, 3)
    1350
    """
    return sum(comb(columns, length) for length in range(1, min(size, columns) + 1))


def refuse_too_many(subject: str, columns: int, size: int, most: int = MOST_SETS) -> None:
    """Raise `SpecError` if there are more column sets than `most`; `subject` asks for them."""
    number = number_of_sets(columns, size)
    if number > most:
        fewer = next(
            (n for n in range(size - 1, 0, -1) if number_of_sets(columns, n) <= most), None
        )
        hint = f", or ask for {fewer}" if fewer else ""
        raise SpecError(
            f"{subject}: {columns:,} columns have {number:,} sets of at most {size}, and "
            f"no more than {most:,} are looked at. Name fewer columns{hint}."
        )


def subsets_up_to(columns: int, size: int) -> tuple[Subset, ...]:
    """Every set of at most `size` of these columns, smallest first, in declared order.

    >>> [(each.number, each.places, each.smaller) for each in subsets_up_to(3, 2)][2:4]
    [(3, (3,), ()), (4, (1, 2), (2, 1))]
    """
    subsets: dict[tuple[int, ...], Subset] = {}
    for length in range(1, min(size, columns) + 1):
        for places in combinations(range(1, columns + 1), length):
            smaller_places = (places[:n] + places[n + 1 :] for n in range(length) if length > 1)
            smaller = tuple(subsets[remaining].number for remaining in smaller_places)
            subsets[places] = Subset(len(subsets) + 1, places, smaller)
    return tuple(subsets.values())


def sizes_of(subsets: Sequence[Subset]) -> tuple[Size, ...]:
    """The number range of each set size."""
    numbers: dict[int, list[int]] = {}
    for subset in subsets:
        numbers.setdefault(len(subset.places), []).append(subset.number)
    return tuple(Size(size, min(of_size), max(of_size)) for size, of_size in numbers.items())


def in_batches(subsets: Sequence[Subset], at_once: int = BATCH) -> Iterator[tuple[Subset, ...]]:
    """Batches of column sets of one size, at most `at_once` each."""
    for size in sizes_of(subsets):
        of_size = tuple(subset for subset in subsets if len(subset.places) == size.number)
        yield from (of_size[start : start + at_once] for start in range(0, len(of_size), at_once))
