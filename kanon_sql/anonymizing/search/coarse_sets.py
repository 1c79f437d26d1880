"""Coarser sets that nodes are read off, made on purpose where the set of the raw values is large.

A set at a node that lies below several others is a tenth as large or less, and is made by one look
at the set of the raw values, as each of them would be read by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.qi_levels import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.anonymizing.search.lattice import Node
from kanon_sql.sql.macros import render

LARGE = 500_000
"""From so many combinations of values on, coarser sets are made. Of a fifth as many a search that
looks at sixty nodes takes seven tenths of the time without them, of a million a tenth more."""
_SMALLER = 10
"""How many times smaller one has to be."""
_MOST = 16
"""How many are kept."""


class ReadOff(NamedTuple):
    """What a node is read off."""

    set: str
    is_own: bool
    """Whether it is the set of this very node, of which each row is a class."""


class _Climbing(NamedTuple):
    """A quasi-identifier of a set at one level, and the higher ones that follow from it."""

    key: str
    values: str
    level: int
    higher: Sequence[int]


@dataclass(frozen=True)
class CoarseSets:
    """The sets that nodes are read off: the finest one, `whole`, and coarser ones of it."""

    sets: FrequencySets
    whole: str
    highest: Levels
    _made: dict[Node, str] = field(default_factory=dict)

    def of(self, nodes: Sequence[Node]) -> list[ReadOff]:
        """The set that each of some nodes is read off."""
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

    # --- within -----------------------------------------------------------------------------

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
        """How many classes a node has at most."""
        return math.prod(
            max(1, each.attribute.distinct[level])
            for each, level in zip(self.sets.quasi_identifiers, node, strict=True)
        )

    def _below(self, node: Node) -> Node | None:
        """The node of the coarsest set that has all of a node."""
        fitting = [each for each in self._made if self._reaches(each, node)]
        return min(fitting, key=self._values, default=None)

    def _reaches(self, low: Node, high: Node) -> bool:
        return all(
            _climbs(each, start, end)
            for each, start, end in zip(self.sets.quasi_identifiers, low, high, strict=True)
        )

    def _make(self, node: Node, others: Sequence[Node]) -> None:
        """Make a set below a node, and below as many others as it may: of those that are asked
        now, and then of any."""
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
        """The levels above one that follow from it."""
        levels = range(start + 1, self.highest[each.name] + 1)
        return [level for level in levels if _climbs(each, start, level)]

    def _if_small(self, lower: Node, node: Node) -> Node:
        """A lower node, where its set is small enough and has all of the other's."""
        fits = self._values(lower) <= self._most and self._reaches(lower, node)
        return lower if fits else node


def _climbs(each: QuasiIdentifier, start: int, end: int) -> bool:
    """Whether a label at one level has one at another."""
    return start == end or (
        start < end and (start == 0 or all(map(each.nested, range(start + 1, end + 1))))
    )
