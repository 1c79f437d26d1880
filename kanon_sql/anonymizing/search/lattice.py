"""The lattice of full-domain generalisation: a level per quasi-identifier, and the order of nodes.

A node lies below another if each of its classes lies within one class of the other. This holds if,
for every quasi-identifier, the lower level is the raw value or each level in between is determined
by the one below it (nested).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

Node = tuple[int, ...]
"""A level for each quasi-identifier, in declared order."""


@dataclass(frozen=True)
class Ladder:
    """The levels available for one quasi-identifier: 0 to `highest`."""

    name: str
    highest: int
    nested: Sequence[bool]
    """For each level from 0 to the highest, whether it is determined by the one below."""
    idle: Sequence[bool]
    """For each of these levels, whether it only renames the labels of the one below."""

    def lowered(self, level: int) -> int:
        """The lowest level that distinguishes the same groups of values."""
        while self.idle[level]:
            level -= 1
        return level

    def climbs(self, low: int, high: int) -> bool:
        """Whether the labels at the higher level are determined by those at the lower."""
        return low == high or (low < high and (low == 0 or all(self.nested[low + 1 : high + 1])))

    def lower(self, level: int) -> list[int]:
        """The levels that determine this one, itself included."""
        return [low for low in range(level + 1) if self.climbs(low, level)]

    def higher(self, level: int) -> list[int]:
        """The levels determined by this one, itself included."""
        return [high for high in range(level, self.highest + 1) if self.climbs(level, high)]


@dataclass(frozen=True)
class NodeSets:
    """The nodes below and above each node, as bit sets with one bit per node."""

    lower: Sequence[Sequence[int]]
    """By quasi-identifier and level: the nodes whose level of it determines this one."""
    upper: Sequence[Sequence[int]]
    every: int
    lowest: int
    """The nodes without an idle level: every other node has the classes of one of these."""

    def below(self, node: Node) -> int:
        """The node and all nodes below it."""
        return self._common(self.lower, node)

    def above(self, node: Node) -> int:
        """The node and all nodes above it."""
        return self._common(self.upper, node)

    def _common(self, sets: Sequence[Sequence[int]], node: Node) -> int:
        common = self.every
        for of_levels, level in zip(sets, node, strict=True):
            common &= of_levels[level]
        return common


@dataclass(frozen=True)
class Lattice:
    """Every combination of levels of the quasi-identifiers; the last one varies fastest."""

    ladders: tuple[Ladder, ...]

    @property
    def size(self) -> int:
        return math.prod(each.highest + 1 for each in self.ladders)

    @property
    def bottom(self) -> Node:
        return (0,) * len(self.ladders)

    @property
    def top(self) -> Node:
        return tuple(each.highest for each in self.ladders)

    def lowered(self, node: Node) -> Node:
        """The lowest node with the same classes."""
        return tuple(each.lowered(level) for each, level in zip(self.ladders, node, strict=True))

    def nodes(self) -> Iterator[Node]:
        return product(*(range(each.highest + 1) for each in self.ladders))

    def index(self, node: Node) -> int:
        """Index of a node in the order of nodes."""
        place = 0
        for each, level in zip(self.ladders, node, strict=True):
            place = place * (each.highest + 1) + level
        return place

    def node(self, index: int) -> Node:
        levels = []
        for each in reversed(self.ladders):
            index, level = divmod(index, each.highest + 1)
            levels.append(level)
        return tuple(reversed(levels))

    @property
    def by_level(self) -> Lattice:
        """The lattice by level alone: a node lies below another if none of its levels is higher."""
        return Lattice(
            tuple(replace(each, nested=[True] * len(each.nested)) for each in self.ladders)
        )

    def neighbours(self, node: Node) -> Iterator[Node]:
        """The nodes that differ by one level of one quasi-identifier."""
        for place, (each, level) in enumerate(zip(self.ladders, node, strict=True)):
            for other in (level - 1, level + 1):
                if 0 <= other <= each.highest:
                    yield (*node[:place], other, *node[place + 1 :])

    def sums(self, by_level: Sequence[Sequence[float]]) -> list[float]:
        """For every node, the sum of the values of its levels."""
        sums = [0.0]
        for each in by_level:
            sums = [so_far + more for so_far in sums for more in each]
        return sums

    def sets(self, order: Sequence[int]) -> NodeSets:
        """The nodes below and above each node; `order` lists node indices by bit position."""
        lower, upper = [], []
        every = lowest = (1 << self.size) - 1
        period = self.size
        for each in self.ladders:
            period //= each.highest + 1
            levels = [index // period % (each.highest + 1) for index in reversed(order)]
            at = [_bits(map(level.__eq__, levels)) for level in range(each.highest + 1)]
            lower.append([_united(at, each.lower(level)) for level in range(len(at))])
            upper.append([_united(at, each.higher(level)) for level in range(len(at))])
            lowest &= _united(at, [level for level, idle in enumerate(each.idle) if not idle])
        return NodeSets(lower, upper, every, lowest)


def _bits(flags: Iterable[bool]) -> int:
    return int(bytes(flags).translate(bytes.maketrans(b"\0\1", b"01")), 2)


def _united(at: Sequence[int], levels: Sequence[int]) -> int:
    """Union of the bit sets at some levels."""
    nodes = 0
    for level in levels:
        nodes |= at[level]
    return nodes
