"""Intermediate coarser frequency sets that speed up node queries if the set of raw values is large.

A set at a node below several others is at most a tenth as large. Materialising it takes one scan of
the set of raw values, the same as reading one of these nodes from it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import Node
from kanon_sql.anonymizing.search.qi_levels import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.sql.macros import render

LARGE = 500_000
"""Number of combinations from which coarser sets are built. At a fifth of it, a search of sixty
nodes takes seven tenths of the time without them; at a million, a tenth more."""
_SMALLER = 10
"""Minimum factor by which a coarser set must be smaller."""
_MOST = 16
"""Maximum number of coarser sets."""


class ReadOff(NamedTuple):
    """The relation from which a node is computed."""

    set: str
    is_own: bool
    """Whether it is the set of this very node, so that each row is a class."""


class _Climbing(NamedTuple):
    """A quasi-identifier of a set at one level, and the higher levels that it determines."""

    key: str
    values: str
    level: int
    higher: Sequence[int]


@dataclass(frozen=True)
class CoarseSets:
    """The sets from which nodes are computed: the finest, `whole`, and coarser ones."""

    sets: FrequencySets
    whole: str
    highest: Levels
    _made: dict[Node, str] = field(default_factory=dict)

    def of(self, nodes: Sequence[Node]) -> list[ReadOff]:
        """The set from which to compute each of some nodes."""
        if self.sets.by_people:
            return [ReadOff(self.whole, is_own=False)] * len(nodes)
        if not self.sets.are_rows or not self._is_large:
            return [self._off_whole(node) for node in nodes]
        for node in nodes:
            if self._below(node) is None and self._values(node) <= self._most:
                self._make(node, nodes)
        return [
            self._off_whole(node)
            if (below := self._below(node)) is None
            else ReadOff(self._made[below], is_own=below == node)
            for node in nodes
        ]

    # --- internal ---------------------------------------------------------------------------

    def _off_whole(self, node: Node) -> ReadOff:
        return ReadOff(self.whole, is_own=not any(node))

    @cached_property
    def _is_large(self) -> bool:
        possible = self._values((0,) * len(self.sets.quasi_identifiers))
        return possible >= LARGE and self._size >= LARGE

    @cached_property
    def _size(self) -> int:
        [row] = self.sets.ask(
            "combinations",
            "How many combinations of values are there?",
            render("rows_of_set", set=self.whole),
        )
        return int(row["kanon_rows"])

    @property
    def _most(self) -> int:
        return self._size // _SMALLER

    def _values(self, node: Node) -> int:
        """Upper bound of a node's number of classes."""
        return math.prod(
            max(1, each.attribute.distinct[level])
            for each, level in zip(self.sets.quasi_identifiers, node, strict=True)
        )

    def _below(self, node: Node) -> Node | None:
        """The node of the coarsest set from which a node can be computed."""
        fitting = [each for each in self._made if self._reaches(each, node)]
        return min(fitting, key=self._values, default=None)

    def _reaches(self, low: Node, high: Node) -> bool:
        return all(
            _climbs(each, start, end)
            for each, start, end in zip(self.sets.quasi_identifiers, low, high, strict=True)
        )

    def _make(self, node: Node, others: Sequence[Node]) -> None:
        """Materialise a set below a node, lowered while it stays small enough: first to serve the
        other nodes of the request, then any node."""
        if len(self._made) >= _MOST:
            return
        for other in others:
            node = self._if_small(tuple(map(min, node, other)), node)
        lowered = True
        while lowered:
            before = node
            for place, level in enumerate(node):
                if level:
                    node = self._if_small((*node[:place], level - 1, *node[place + 1 :]), node)
            lowered = node != before
        self._made[node] = self.sets.keep(
            f"{PRIVATE}coarse_set_{len(self._made) + 1}",
            "Which combinations become one, for several choices of levels?",
            render(
                "coarser_set",
                set=self.whole,
                sets=[
                    _Climbing(each.key, each.values, level, self._higher(each, level))
                    for each, level in zip(self.sets.quasi_identifiers, node, strict=True)
                ],
                small=self.sets.small,
            ),
        )

    def _higher(self, each: QuasiIdentifier, start: int) -> list[int]:
        """The levels above `start` that it determines."""
        levels = range(start + 1, self.highest[each.name] + 1)
        return [level for level in levels if _climbs(each, start, level)]

    def _if_small(self, lower: Node, node: Node) -> Node:
        """`lower` if its set is small enough and determines `node`, otherwise `node`."""
        fits = self._values(lower) <= self._most and self._reaches(lower, node)
        return lower if fits else node


def _climbs(each: QuasiIdentifier, start: int, end: int) -> bool:
    """Whether a label at one level determines the label at another."""
    return start == end or (
        start < end and (start == 0 or all(map(each.nested, range(start + 1, end + 1))))
    )
