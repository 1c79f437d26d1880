"""The lattice of full-domain generalisation: its quasi-identifiers with levels, its nodes.

A node lies below another if each of its classes lies within one class of the other. This holds if,
for every quasi-identifier, the lower level is the raw value or each level in between is determined
by the one below it (nested).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import AtLevel, BoundColumn, JoinedLabels
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Row

Levels = Mapping[str, int]
"""A lattice node: the level of each quasi-identifier."""


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier with its number of distinct values at each level, the raw one first."""

    name: str
    distinct: Sequence[int]

    @property
    def height(self) -> int:
        return len(self.distinct) - 1


PRIVATE = "kanon_private_"
"""Prefix of every temporary relation, so that none collides with a table of the user's."""


@dataclass(frozen=True)
class Label:
    """The SQL of a label, and the relation to join for it, if any."""

    sql: str
    joined: JoinedLabels | None = None
    exact: str | None = None
    """SQL that tests whether the label is that of the exact value, if the value may be rounded."""


@dataclass(frozen=True)
class Move:
    """A change from the place at one level to the place at another, by a table of values."""

    values: str
    start: int
    end: int


@dataclass(frozen=True)
class ReleasedLevel:
    """The level at which the values of a quasi-identifier are released, by its key in the sets."""

    values: str
    key: str
    level: int


@dataclass(frozen=True)
class QuasiIdentifier:
    """A quasi-identifier with its levels, its position in the sets, and aggregates of values."""

    column: BoundColumn
    levels: ColumnLevels
    number: int
    in_short: Row

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def values(self) -> str:
        return f"{PRIVATE}values_{self.number}"

    @property
    def key(self) -> str:
        return f"kanon_key_{self.number}"

    @cached_property
    def attribute(self) -> Attribute:
        levels = range(self.levels.height + 1)
        return Attribute(self.name, [int(self.in_short[f"kanon_labels_{n}"]) for n in levels])

    @cached_property
    def leaves(self) -> int:
        """Number of leaves: the values in the hierarchy, else the distinct values of the table."""
        table = self.levels.table
        return len(table.labels(1)) if table else self.attribute.distinct[0]

    @property
    def can_lose(self) -> bool:
        """Whether it has information to lose: levels, and more than one leaf."""
        return self.levels.height > 0 and self.leaves > 1

    def nested(self, level: int) -> bool:
        """Whether, in this table, each label of a level is determined by the label below it."""
        return level == 1 or bool(
            self.in_short[f"kanon_edges_{level}"] == self.in_short[f"kanon_labels_{level - 1}"]
        )

    def climbs(self, start: Levels, end: Levels) -> bool:
        """Whether a set at one level can be rolled up to another, with every level between
        nested."""
        low, high = start[self.name], end[self.name]
        return low <= high and all(map(self.nested, range(low + 1, high + 1)))

    def move(self, start: int, end: int) -> Move:
        return Move(self.values, start, end)


def kept_labels(number: int, level: int) -> str:
    """Name of the temporary table with the labels of a large hierarchy."""
    return f"{PRIVATE}labels_{number}_{level}"


def label_of(
    levels: ColumnLevels,
    level: int,
    value: str,
    kept: str | None = None,
    *,
    portable: bool = False,
    start: str | None = None,
) -> Label:
    """The label of a raw value at a level, for the sets and the views alike; `value` is the SQL
    expression of the value. The labels of a large hierarchy are joined from the temporary table
    `kept`, or else written into the SQL, which may be `portable`. The lower end of an interval may
    use the expression `start`."""
    if not levels.is_joined(level):
        return Label(levels.sql(level, value, start), exact=levels.exact_sql(level, value))
    name = f"kanon_hierarchy_{level}"
    joined = JoinedLabels(
        name, kept or levels.labels_sql(level, portable=portable), levels.key(value)
    )
    return Label(f"{name}.kanon_label", joined)


def label_of_any(levels: ColumnLevels, level: int, kept: str) -> Label:
    """The label of a raw value that need not occur in the table; NULL if it has none. The labels of
    a large hierarchy are joined from the temporary table `kept`."""
    if levels.is_joined(level):
        return label_of(levels, level, "kanon_raw", kept)
    return Label(levels.sql_of_any(level, "kanon_raw"))


def at_level(qi: QuasiIdentifier, level: int) -> BoundColumn:
    """A quasi-identifier's column at a level, computed from the records; the labels of a large
    hierarchy are joined from their temporary table."""
    if not level:
        return qi.column
    if not qi.levels.is_joined(level):
        return AtLevel(qi.column, qi.levels, level, qi.number).column
    name = f"kanon_hierarchy_{qi.number}"
    key = qi.levels.key(f"kanon_raw.{identifier(qi.name)}")
    joined = JoinedLabels(name, kept_labels(qi.number, level), key)
    label = f"{name}.kanon_label"
    return replace(qi.column, type="VARCHAR", generalised=label, joined=joined)


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
        return math.prod(ladder.highest + 1 for ladder in self.ladders)

    @property
    def bottom(self) -> Node:
        return (0,) * len(self.ladders)

    @property
    def top(self) -> Node:
        return tuple(ladder.highest for ladder in self.ladders)

    def lowered(self, node: Node) -> Node:
        """The lowest node with the same classes."""
        return tuple(
            ladder.lowered(level) for ladder, level in zip(self.ladders, node, strict=True)
        )

    def nodes(self) -> Iterator[Node]:
        return product(*(range(ladder.highest + 1) for ladder in self.ladders))

    def index(self, node: Node) -> int:
        """Index of a node in the order of nodes."""
        place = 0
        for ladder, level in zip(self.ladders, node, strict=True):
            place = place * (ladder.highest + 1) + level
        return place

    def node(self, index: int) -> Node:
        levels = []
        for ladder in reversed(self.ladders):
            index, level = divmod(index, ladder.highest + 1)
            levels.append(level)
        return tuple(reversed(levels))

    @property
    def by_level(self) -> Lattice:
        """The lattice by level alone: a node lies below another if none of its levels is higher."""
        return Lattice(
            tuple(replace(ladder, nested=[True] * len(ladder.nested)) for ladder in self.ladders)
        )

    def neighbours(self, node: Node) -> Iterator[Node]:
        """The nodes that differ by one level of one quasi-identifier."""
        for index, (ladder, level) in enumerate(zip(self.ladders, node, strict=True)):
            for other in (level - 1, level + 1):
                if 0 <= other <= ladder.highest:
                    yield (*node[:index], other, *node[index + 1 :])

    def sums(self, by_level: Sequence[Sequence[float]]) -> list[float]:
        """For every node, the sum of the values of its levels."""
        sums = [0.0]
        for values in by_level:
            sums = [so_far + more for so_far in sums for more in values]
        return sums

    def sets(self, order: Sequence[int]) -> NodeSets:
        """The nodes below and above each node; `order` lists node indices by bit position."""
        lower, upper = [], []
        every = lowest = (1 << self.size) - 1
        period = self.size
        for ladder in self.ladders:
            period //= ladder.highest + 1
            levels = [index // period % (ladder.highest + 1) for index in reversed(order)]
            at = [_bits(map(level.__eq__, levels)) for level in range(ladder.highest + 1)]
            lower.append([_united(at, ladder.lower(level)) for level in range(len(at))])
            upper.append([_united(at, ladder.higher(level)) for level in range(len(at))])
            lowest &= _united(at, [level for level, idle in enumerate(ladder.idle) if not idle])
        return NodeSets(lower, upper, every, lowest)


def _bits(flags: Iterable[bool]) -> int:
    return int(bytes(flags).translate(bytes.maketrans(b"\0\1", b"01")), 2)


def _united(at: Sequence[int], levels: Sequence[int]) -> int:
    """Union of the bit sets at some levels."""
    nodes = 0
    for level in levels:
        nodes |= at[level]
    return nodes
