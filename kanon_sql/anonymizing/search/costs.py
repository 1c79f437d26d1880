"""The cost of a lattice node by a metric, with lower bounds before the node is evaluated.

A kept record costs the loss of its levels, a suppressed one the maximum loss. A node's cost is
therefore the loss of its levels over all records plus the additional loss of its suppressed
records. Before a node is evaluated, its suppressed records are unknown; the bound assumes those
with the least additional loss. Lower is better, so precision costs 1 - precision. Weights of
columns and their highest levels restrict and rank the nodes. The metrics and their sources are in
`METRICS` of `kanon_sql.results.release`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from kanon_sql.anonymizing.search.lattice import Attribute, Lattice, Node, QuasiIdentifier
from kanon_sql.errors import SpecError
from kanon_sql.results.release import MetricName


@dataclass(frozen=True)
class Preferences:
    """Upper bounds of the levels of each quasi-identifier, and the weights of their losses."""

    at_most: Mapping[str, int]
    """The highest allowed level of each bounded quasi-identifier; 0 keeps the raw value."""
    weights: Mapping[str, float]
    """The weights that differ from 1."""

    def highest(self, name: str, height: int) -> int:
        """The highest allowed level of a quasi-identifier whose hierarchy has this height.

        Raises `SpecError` for a bound above the top level, which would have no effect.
        """
        bound = self.at_most.get(name, height)
        if bound > height:
            raise SpecError(
                f'"{name}" has no level {bound}: its top is level {height}. Name that or a lower '
                "one, or leave the bound out."
            )
        return bound

    def highest_of(self, quasi_identifiers: Iterable[QuasiIdentifier]) -> dict[str, int]:
        """The highest allowed level of each quasi-identifier."""
        return {
            column.name: self.highest(column.name, column.levels.height)
            for column in quasi_identifiers
        }

    def bounded(self, attribute: Attribute) -> Attribute:
        """The attribute without the levels above its highest allowed one."""
        highest = self.highest(attribute.name, attribute.height)
        return Attribute(attribute.name, attribute.distinct[: highest + 1])


@dataclass(frozen=True)
class Portion:
    """Records of one quasi-identifier at a level whose labels cost the same."""

    records: int
    leaves_more: int
    """Number of leaves under their label, minus one."""
    under_label: int
    """Number of records with the label."""


@dataclass(frozen=True)
class ColumnCosts:
    """A quasi-identifier that can lose information: its index in a node, its number of leaves, and
    its records at each level."""

    index: int
    leaves: int
    height: int
    levels: Sequence[Sequence[Portion]]
    climbs: Callable[[int, int], bool]
    """Whether the labels at the first level determine those at the second."""

    @cached_property
    def records(self) -> int:
        return sum(portion.records for portion in self.levels[0])

    @cached_property
    def bits(self) -> float:
        """Total entropy in bits that can be lost."""
        return self.bits_within(0)

    def bits_within(self, level: int) -> float:
        """Bits that are still left to lose at a level."""
        return math.fsum(
            portion.records * math.log2(self.records / portion.under_label)
            for portion in self.levels[level]
        )


@dataclass(frozen=True)
class Kept:
    """Loss of a quasi-identifier at a level over all records, and the additional loss per record if
    it were suppressed, as (loss, number of records) in ascending order of loss."""

    lost: float
    saved: Sequence[tuple[float, int]]

    def least_saved(self, suppressed: int) -> float:
        """Lower bound of the additional loss if this many records are suppressed."""
        counts, costs = self._sums
        index = bisect_left(counts, suppressed)
        if index == len(counts):
            return costs[-1] if costs else 0.0
        before = counts[index - 1] if index else 0
        cost = costs[index - 1] if index else 0.0
        return cost + (suppressed - before) * self.saved[index][0]

    @cached_property
    def _sums(self) -> tuple[list[int], list[float]]:
        return (
            list(accumulate(count for _, count in self.saved)),
            list(accumulate(number * count for number, count in self.saved)),
        )


@dataclass(frozen=True)
class Suppressed:
    """Statistics of a node's suppressed records: their number and, by index of each
    quasi-identifier, the sum of (leaves under the label - 1) and the sum of log2(records with the
    label)."""

    records: int
    leaves_more: Mapping[int, int]
    bits: Mapping[int, float]


@dataclass(frozen=True)
class CellCosts:
    """A metric that sums losses of cells over the quasi-identifiers."""

    columns: Sequence[ColumnCosts]
    metric: MetricName
    weights: Mapping[int, float]
    """By index of the quasi-identifier; the default weight is 1."""
    stay_suppressed: bool = False
    """Whether records suppressed at a node are suppressed at every finer node too, and no record's
    label covers more there."""

    @property
    def needs_only_count(self) -> bool:
        """Whether the cost depends only on the number of suppressed records."""
        return self.metric == "precision"

    def base(self, lattice: Lattice) -> Sequence[float]:
        by_place = {column.index: column for column in self.columns}
        return lattice.sums(
            [
                [
                    self._score(by_place[index], self.kept(by_place[index], level).lost)
                    if index in by_place
                    else 0.0
                    for level in range(ladder.highest + 1)
                ]
                for index, ladder in enumerate(lattice.ladders)
            ]
        )

    def more(self, node: Node, suppressed: int) -> float:
        return math.fsum(
            self._more(column, node[column.index], suppressed) for column in self.columns
        )

    def more_below(self, node: Node, cost: float) -> float:
        # The same records are suppressed at the finer node, and the additional loss of each is no
        # smaller: its own label covers no more. A concave score grows by no less where the loss is
        # smaller.
        if not self.stay_suppressed:
            return 0.0
        return cost - math.fsum(
            self._score(column, self.kept(column, node[column.index]).lost)
            for column in self.columns
        )

    def least_above(self, node: Node) -> float:
        return 0.0

    def cost(self, node: Node, suppressed: Suppressed) -> float:
        """Cost of a node with these suppressed records."""
        return math.fsum(
            self._score(column, self.lost(column, node[column.index], suppressed))
            for column in self.columns
        )

    def value(self, cost: float) -> float:
        """The metric's value, as a loss, for a cost."""
        return math.expm1(cost) if self.metric == "loss_geometric" else cost

    # --- internal ---------------------------------------------------------------------------

    def kept(self, column: ColumnCosts, level: int) -> Kept:
        """Cost of a level of a quasi-identifier; cached."""
        key = column.index, level
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
                    (math.log2(column.records / portion.under_label), portion.records)
                    for portion in portions
                ]
            case _:
                most = column.leaves - 1
                lost = sum(portion.records * portion.leaves_more for portion in portions) / most
                saved = [(1 - portion.leaves_more / most, portion.records) for portion in portions]
        return Kept(max(lost, 0.0), sorted(saved))

    def lost(self, column: ColumnCosts, level: int, suppressed: Suppressed) -> float:
        """Loss of a quasi-identifier over all records, the suppressed ones included."""
        kept, index = self.kept(column, level), column.index
        if not suppressed.records:
            return kept.lost
        match self.metric:
            case "precision":
                more = suppressed.records * (1 - level / column.height)
            case "non_uniform_entropy":
                more = suppressed.records * math.log2(column.records) - suppressed.bits[index]
            case _:
                shares = suppressed.leaves_more[index] / (column.leaves - 1)
                more = suppressed.records - shares
        return kept.lost + more

    def _more(self, column: ColumnCosts, level: int, suppressed: int) -> float:
        """Lower bound of a quasi-identifier's additional cost at this level and every level that
        determines it."""
        key = column.index, level, suppressed
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
        """Contribution of one quasi-identifier's loss to the cost of a node."""
        match self.metric:
            case "non_uniform_entropy":
                return lost / self._most_bits if self._most_bits else 0.0
            case "loss_geometric":
                return math.log1p(lost / column.records) / len(self.columns)
        return lost * self.weights.get(column.index, 1.0) / (column.records * self._weight)

    @cached_property
    def _most_bits(self) -> float:
        return math.fsum(column.bits for column in self.columns)

    @cached_property
    def _weight(self) -> float:
        return math.fsum(self.weights.get(column.index, 1.0) for column in self.columns)


@dataclass(frozen=True)
class ClassCounts:
    """Counts of a node's classes after all checks."""

    violating: int
    """Records in violating classes."""
    kept: int
    """Records in passing classes."""
    classes: int
    """Number of passing classes."""
    squares: int
    """Sum of squared sizes of the passing classes."""
    all_squares: int
    """Sum of squared sizes of all classes, violating ones included."""
    below: Mapping[int, int]
    """Number of kept records in classes below each size."""


@dataclass(frozen=True)
class ClassCosts:
    """A metric that depends on class sizes alone."""

    metric: MetricName
    records: int
    max_suppressed: int
    least_size: int
    """Lower bound of the size of a kept class; 1 where none is known."""
    only_small: bool
    """Whether suppressed records lie only in classes smaller than `least_size`."""
    values: Sequence[Sequence[int]]
    """Number of distinct values of each quasi-identifier at each level."""
    counted: Callable[[Node], ClassCounts]
    """The counts of an evaluated node."""

    def base(self, lattice: Lattice) -> Sequence[float]:
        most = [1]
        for ladder, values in zip(lattice.ladders, self.values, strict=True):
            cards = [max(1, value) for value in values[: ladder.highest + 1]]
            most = [so_far * card for so_far in most for card in cards]
        if self.metric == "discernibility":
            return [self.records**2 / classes for classes in most]
        return [self._average(classes) for classes in most]

    def more(self, node: Node, suppressed: int) -> float:
        if self.metric != "discernibility" or not self.only_small:
            return 0.0
        # A record in a class of size f < k costs n instead of f.
        return float(suppressed * (self.records - self.least_size + 1))

    def more_below(self, node: Node, cost: float) -> float:
        return 0.0

    def least_above(self, node: Node) -> float:
        counted = self.counted(node)
        if self.metric == "discernibility":
            return float(counted.all_squares)
        # A class kept at a coarser node contains either a class kept here, or enough records that
        # are suppressed here.
        return self._average(counted.classes + counted.violating // self.least_size)

    def cost(self, node: Node) -> float | None:
        """Cost of an evaluated node; None if it keeps no class, so that the metric is undefined."""
        counted = self.counted(node)
        if self.metric == "discernibility":
            return float(counted.squares + self.records * counted.violating)
        return counted.kept / counted.classes if counted.classes else None

    def value(self, cost: float) -> float:
        """The metric's value, equal to the cost."""
        return cost

    def _average(self, classes: int) -> float:
        """Lower bound of the average class size, given an upper bound of the number of classes."""
        most = min(classes, self.records // self.least_size)
        return max(1.0, (self.records - self.max_suppressed) / most) if most else 1.0
