"""What a node of a lattice costs by a metric, and what it costs at least before it is looked at.

A record that is kept costs what its level loses, one that is suppressed costs all that can be lost;
so a node costs what its levels lose of all records, and what its suppressed records lose more.
Which records are suppressed is unknown before a node is looked at: they are taken for those that
lose least by it. Lower is better: precision costs 1 less itself. The metrics are those of
`kanon_sql.results.metrics`, with their sources.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from kanon_sql.anonymizing.search.lattice import Lattice, Node

MetricName = Literal[
    "loss",
    "loss_geometric",
    "precision",
    "non_uniform_entropy",
    "discernibility",
    "average_class_size",
]


@dataclass(frozen=True)
class Portion:
    """Some records of one quasi-identifier at a level, all of which show labels alike."""

    records: int
    leaves_more: int
    """How many leaves lie under their label, less one."""
    under_label: int
    """How many records have the label."""


@dataclass(frozen=True)
class ColumnCosts:
    """One quasi-identifier of which something can be lost: its place in a node, its leaves, and
    its records at each level."""

    place: int
    leaves: int
    height: int
    levels: Sequence[Sequence[Portion]]
    climbs: Callable[[int, int], bool]
    """Whether the labels of one level follow from those of another."""

    @cached_property
    def records(self) -> int:
        return sum(each.records for each in self.levels[0])

    @cached_property
    def bits(self) -> float:
        """How many bits there are to lose."""
        return self.bits_within(0)

    def bits_within(self, level: int) -> float:
        """How many bits a level leaves to lose."""
        return math.fsum(
            each.records * math.log2(self.records / each.under_label) for each in self.levels[level]
        )


@dataclass(frozen=True)
class Kept:
    """What all records of a quasi-identifier lose at a level, and how much more each would if it
    were suppressed: so much at least, of so many records, the least first."""

    lost: float
    saved: Sequence[tuple[float, int]]

    def least_saved(self, suppressed: int) -> float:
        """What suppressing so many records costs more, at least."""
        counts, costs = self._sums
        place = bisect_left(counts, suppressed)
        if place == len(counts):
            return costs[-1] if costs else 0.0
        before = counts[place - 1] if place else 0
        cost = costs[place - 1] if place else 0.0
        return cost + (suppressed - before) * self.saved[place][0]

    @cached_property
    def _sums(self) -> tuple[list[int], list[float]]:
        return (
            list(accumulate(count for _, count in self.saved)),
            list(accumulate(each * count for each, count in self.saved)),
        )


@dataclass(frozen=True)
class Suppressed:
    """What the suppressed records of a node have: how many they are, and for each quasi-identifier
    by its place the sums of the leaves of their labels, less one, and of the binary logarithm of
    how many records have each label."""

    records: int
    leaves_more: Mapping[int, int]
    bits: Mapping[int, float]


@dataclass(frozen=True)
class CellCosts:
    """A metric that adds up what the cells of each quasi-identifier lose."""

    columns: Sequence[ColumnCosts]
    metric: MetricName
    weights: Mapping[int, float]
    """By the place of a quasi-identifier; 1 for those that are not named."""
    stay_suppressed: bool = False
    """Whether what a node suppresses is suppressed below it too, where no record's label stands
    for more than above."""

    @property
    def needs_only_count(self) -> bool:
        """Whether a suppressed record costs the same whichever it is."""
        return self.metric == "precision"

    def base(self, lattice: Lattice) -> Sequence[float]:
        by_place = {each.place: each for each in self.columns}
        return lattice.sums(
            [
                [
                    self._score(by_place[place], self.kept(by_place[place], level).lost)
                    if place in by_place
                    else 0.0
                    for level in range(ladder.highest + 1)
                ]
                for place, ladder in enumerate(lattice.ladders)
            ]
        )

    def more(self, node: Node, suppressed: int) -> float:
        return math.fsum(self._more(each, node[each.place], suppressed) for each in self.columns)

    def more_below(self, node: Node, cost: float) -> float:
        # The same records are suppressed there, and each loses no less by it: its own label
        # stands for no more. A concave score grows no less where less is lost.
        if not self.stay_suppressed:
            return 0.0
        return cost - math.fsum(
            self._score(each, self.kept(each, node[each.place]).lost) for each in self.columns
        )

    def least_above(self, node: Node) -> float:
        return 0.0

    def cost(self, node: Node, suppressed: Suppressed) -> float:
        """What a node costs of which these records are suppressed."""
        return math.fsum(
            self._score(each, self.lost(each, node[each.place], suppressed))
            for each in self.columns
        )

    def value(self, cost: float) -> float:
        """What the metric says of a cost, as something lost."""
        return math.expm1(cost) if self.metric == "loss_geometric" else cost

    # --- within -----------------------------------------------------------------------------

    def kept(self, column: ColumnCosts, level: int) -> Kept:
        """What a level costs a quasi-identifier."""
        key = column.place, level
        if key not in self._kept:
            self._kept[key] = self._made(column, level)
        return self._kept[key]

    @cached_property
    def _kept(self) -> dict[tuple[int, int], Kept]:
        return {}

    def _made(self, column: ColumnCosts, level: int) -> Kept:
        portions = column.levels[level]
        match self.metric:
            case "precision":
                share = level / column.height
                lost, saved = column.records * share, [(1 - share, column.records)]
            case "non_uniform_entropy":
                lost = column.bits - column.bits_within(level)
                saved = [
                    (math.log2(column.records / each.under_label), each.records)
                    for each in portions
                ]
            case _:
                most = column.leaves - 1
                lost = sum(each.records * each.leaves_more for each in portions) / most
                saved = [(1 - each.leaves_more / most, each.records) for each in portions]
        return Kept(max(lost, 0.0), sorted(saved))

    def lost(self, column: ColumnCosts, level: int, suppressed: Suppressed) -> float:
        """What all records lose of a quasi-identifier."""
        kept, place = self.kept(column, level), column.place
        if not suppressed.records:
            return kept.lost
        match self.metric:
            case "precision":
                more = suppressed.records * (1 - level / column.height)
            case "non_uniform_entropy":
                more = suppressed.records * math.log2(column.records) - suppressed.bits[place]
            case _:
                shares = suppressed.leaves_more[place] / (column.leaves - 1)
                more = suppressed.records - shares
        return kept.lost + more

    def _more(self, column: ColumnCosts, level: int, suppressed: int) -> float:
        """What a quasi-identifier costs more, at this level or any that climbs to it."""
        key = column.place, level, suppressed
        if key not in self._mores:
            self._mores[key] = min(
                self._score(column, kept.lost + kept.least_saved(suppressed))
                - self._score(column, kept.lost)
                for lower in range(level + 1)
                if column.climbs(lower, level)
                for kept in [self.kept(column, lower)]
            )
        return self._mores[key]

    @cached_property
    def _mores(self) -> dict[tuple[int, int, int], float]:
        return {}

    def _score(self, column: ColumnCosts, lost: float) -> float:
        """What a loss of one quasi-identifier adds to the cost of a node."""
        match self.metric:
            case "non_uniform_entropy":
                return lost / self._most_bits if self._most_bits else 0.0
            case "loss_geometric":
                return math.log1p(lost / column.records) / len(self.columns)
        return lost * self.weights.get(column.place, 1.0) / (column.records * self._weight)

    @cached_property
    def _most_bits(self) -> float:
        return math.fsum(each.bits for each in self.columns)

    @cached_property
    def _weight(self) -> float:
        return math.fsum(self.weights.get(each.place, 1.0) for each in self.columns)


@dataclass(frozen=True)
class Sizes:
    """The sizes of the classes at a node."""

    classes: int
    """How many are kept."""
    squares: int
    """The sum of the squares of their sizes."""
    all_squares: int
    """The same of all classes, kept or not."""
    suppressed: int


@dataclass(frozen=True)
class ClassCosts:
    """A metric of the sizes of classes."""

    metric: MetricName
    records: int
    max_suppressed: int
    least_size: int
    """How many records a class has at least that is kept; 1 where nothing is known."""
    only_small: bool
    """Whether all that are suppressed lie in classes of fewer records than that."""
    values: Sequence[Sequence[int]]
    """How many values each quasi-identifier has at each level."""
    sizes: Mapping[Node, Sizes]
    """What was looked at."""

    def base(self, lattice: Lattice) -> Sequence[float]:
        most = [1]
        for ladder, values in zip(lattice.ladders, self.values, strict=True):
            cards = [max(1, each) for each in values[: ladder.highest + 1]]
            most = [so_far * each for so_far in most for each in cards]
        if self.metric == "discernibility":
            return [self.records**2 / each for each in most]
        return [self._average(each) for each in most]

    def more(self, node: Node, suppressed: int) -> float:
        if self.metric != "discernibility" or not self.only_small:
            return 0.0
        # A record of a class of f < k costs n, and not f.
        return float(suppressed * (self.records - self.least_size + 1))

    def more_below(self, node: Node, cost: float) -> float:
        return 0.0

    def least_above(self, node: Node) -> float:
        sizes = self.sizes.get(node)
        if sizes is None:
            return 0.0
        if self.metric == "discernibility":
            return float(sizes.all_squares)
        # A class that is kept above has one that is kept here within it, or enough records that
        # are suppressed here.
        return self._average(sizes.classes + sizes.suppressed // self.least_size)

    def cost(self, node: Node) -> float | None:
        """What a node costs that was looked at; None where it keeps nothing to be measured."""
        sizes = self.sizes[node]
        if self.metric == "discernibility":
            return float(sizes.squares + self.records * sizes.suppressed)
        if not sizes.classes:
            return None
        return (self.records - sizes.suppressed) / sizes.classes

    def value(self, cost: float) -> float:
        """The metric is the cost."""
        return cost

    def _average(self, classes: int) -> float:
        """What the average size is at least, of at most so many classes."""
        most = min(classes, self.records // self.least_size)
        return max(1.0, (self.records - self.max_suppressed) / most) if most else 1.0
