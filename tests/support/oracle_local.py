"""Local recoding again, in plain Python over combinations of values, written from the definition.

Top-down specialisation with a staying rest. A combination is a tuple of raw values, None being
NULL; a hierarchy is a mapping from each raw value to its labels, the nearest first. Sums are
fractions, so that a tie is a tie. Nothing here is fast and nothing is shared with the package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

Combination = tuple[Any, ...]
Labels = Mapping[Any, Sequence[Any]]
Holds = Callable[[Sequence[Combination]], bool]
"""Whether a class of these combinations passes every check."""


@dataclass(frozen=True)
class Hierarchy:
    """The labels of each raw value; `listed` says that the leaves are the rows of a file."""

    labels: Labels
    listed: bool = False
    start: int | None = None
    """The level to begin at, where it is not the top."""
    weight: Fraction = Fraction(1)

    @property
    def height(self) -> int:
        return len(next(iter(self.labels.values()), ()))

    @property
    def rows(self) -> set[Any]:
        """The raw values that a file lists: NULL is none."""
        return set(self.labels) - {None}

    def label(self, value: Any, level: int) -> Any:
        if level == 0:
            return value
        if value is None and value not in self.labels:
            return None
        return self.labels[value][level - 1]


@dataclass(frozen=True)
class Class:
    """Combinations that are published alike: a level for each quasi-identifier."""

    levels: tuple[int, ...]
    members: tuple[Combination, ...]


@dataclass
class Recoding:
    """What became of the table. `rounds` counts the last one, in which nothing was split."""

    classes: list[Class]
    suppressed: list[Class]
    rounds: int
    in_vain: bool = False
    offers: list[dict[tuple[int, int], Fraction]] = field(default_factory=list)


class Table:
    """The frequency set of a table with its hierarchies."""

    def __init__(self, rows: Iterable[Combination], hierarchies: Sequence[Hierarchy]) -> None:
        self.counts = Counter(rows)
        self.hierarchies = hierarchies
        self.leaves = [self._leaves(place) for place in range(len(hierarchies))]

    def _leaves(self, place: int) -> list[Counter[Any]]:
        """How many leaves lie under each label, level by level."""
        hierarchy = self.hierarchies[place]
        held = {row[place] for row in self.counts}
        values = hierarchy.rows if hierarchy.listed else held
        levels = [Counter(dict.fromkeys(values | held, 1))]
        levels += [
            Counter(hierarchy.label(value, level) for value in values)
            for level in range(1, hierarchy.height + 1)
        ]
        return levels

    def all_leaves(self, place: int) -> int:
        hierarchy = self.hierarchies[place]
        return len(hierarchy.rows) if hierarchy.listed else len({r[place] for r in self.counts})

    def under(self, place: int, label: Any, level: int) -> int:
        return self.leaves[place][level][label] or 1

    def share(self, place: int, label: Any, level: int) -> Fraction:
        if self.all_leaves(place) < 2:
            return Fraction(0)
        return Fraction(self.under(place, label, level) - 1, self.all_leaves(place) - 1)

    def label(self, place: int, member: Combination, level: int) -> Any:
        return self.hierarchies[place].label(member[place], level)

    def records(self, members: Iterable[Combination]) -> int:
        return sum(self.counts[member] for member in members)

    def by_label(
        self, members: Iterable[Combination], place: int, level: int
    ) -> dict[Any, list[Combination]]:
        found: dict[Any, list[Combination]] = {}
        for member in members:
            found.setdefault(self.label(place, member, level), []).append(member)
        return found

    def loss(self, recoding: Recoding) -> Fraction | None:
        """The mean loss over quasi-identifiers of more than one leaf, and over records."""
        lossy = [
            place
            for place, hierarchy in enumerate(self.hierarchies)
            if hierarchy.height and self.all_leaves(place) > 1
        ]
        everyone = sum(self.counts.values())
        if not lossy:
            return None
        lost = Fraction(sum(self.records(c.members) for c in recoding.suppressed) * len(lossy))
        for each in recoding.classes:
            for place in lossy:
                label = self.label(place, each.members[0], each.levels[place])
                share = self.share(place, label, each.levels[place])
                lost += self.records(each.members) * share
        return lost / (everyone * len(lossy))

    def discernibility(self, recoding: Recoding) -> int:
        everyone = sum(self.counts.values())
        return sum(size**2 for size in self.released(recoding).values()) + everyone * sum(
            self.records(c.members) for c in recoding.suppressed
        )

    def released(self, recoding: Recoding) -> Counter[tuple[Hashable, ...]]:
        """The rows of the release with how often each occurs, every cell as a text."""
        rows: Counter[tuple[Hashable, ...]] = Counter()
        for each in recoding.classes:
            for member in each.members:
                cells = (
                    self.label(place, member, level) for place, level in enumerate(each.levels)
                )
                rows[tuple(None if c is None else str(c) for c in cells)] += self.counts[member]
        return rows

    def levels_by_records(self, recoding: Recoding) -> list[dict[int, int]]:
        found: list[Counter[int]] = [Counter() for _ in self.hierarchies]
        for each in recoding.classes:
            for place, level in enumerate(each.levels):
                found[place][level] += self.records(each.members)
        return [dict(sorted(each.items())) for each in found]


def recode(table: Table, holds: Holds, allowed: range = range(0)) -> Recoding:
    """The classes that top-down specialisation ends with, where none or so many records may be
    suppressed."""
    tops = tuple(
        hierarchy.height if hierarchy.start is None else hierarchy.start
        for hierarchy in table.hierarchies
    )
    starts: dict[tuple[Any, ...], list[Combination]] = {}
    for member in table.counts:
        starts.setdefault(
            tuple(table.label(place, member, top) for place, top in enumerate(tops)), []
        ).append(member)
    classes = [Class(tops, tuple(members)) for members in starts.values()]
    suppressed = [each for each in classes if not holds(each.members)]
    gone = sum(table.records(each.members) for each in suppressed)
    if gone and gone not in allowed:
        return Recoding(classes, [], 0, in_vain=True)
    live = [each for each in classes if holds(each.members)]
    done: list[Class] = []
    rounds, offers = 0, []
    while live:
        rounds += 1
        after, made = [], {}
        for number, each in enumerate(live):
            split = _split(table, each, holds, made, number)
            if split is None:
                done.append(each)
            else:
                after += split
        offers.append(made)
        live = after
    return Recoding(done, suppressed, rounds, offers=offers)


def _split(
    table: Table,
    each: Class,
    holds: Holds,
    made: dict[tuple[int, int], Fraction],
    number: int,
) -> list[Class] | None:
    best: tuple[Fraction, int, list[list[Combination]], list[Combination]] | None = None
    for place, level in enumerate(each.levels):
        if level == 0:
            continue
        going, rest = _offer(table, each, place, holds)
        if not going:
            continue
        gain = (
            sum((_gain(table, each, place, child) for child in going), start=Fraction(0))
            * table.hierarchies[place].weight
        )
        made[number, place] = gain
        if best is None or gain > best[0]:
            best = gain, place, going, rest
    if best is None:
        return None
    _, place, going, rest = best
    lower = tuple(level - 1 if other == place else level for other, level in enumerate(each.levels))
    classes = [Class(lower, tuple(child)) for child in going]
    return [*classes, Class(each.levels, tuple(rest))] if rest else classes


def _gain(table: Table, each: Class, place: int, child: Sequence[Combination]) -> Fraction:
    level = each.levels[place]
    parent = table.label(place, child[0], level)
    label = table.label(place, child[0], level - 1)
    return table.records(child) * (
        table.share(place, parent, level) - table.share(place, label, level - 1)
    )


def _offer(
    table: Table, each: Class, place: int, holds: Holds
) -> tuple[list[list[Combination]], list[Combination]]:
    """The children that would go, and what would stay."""
    children = table.by_label(each.members, place, each.levels[place] - 1)
    big = {label: child for label, child in children.items() if holds(child)}
    rest = [member for label, child in children.items() if label not in big for member in child]
    by_gain = sorted(
        big,
        key=lambda label: (_gain(table, each, place, big[label]), label is None, label or ""),
    )
    while rest and by_gain and not holds(rest):
        rest += big.pop(by_gain.pop(0))
    return list(big.values()), rest


def at_least(table: Table, k: int) -> Holds:
    """The check of k-anonymity alone."""
    return lambda members: table.records(members) >= k
