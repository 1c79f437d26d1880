"""Levels of quasi-identifiers, and the labels that records have at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kanon_sql.plan.question import AtLevel, BoundColumn, JoinedLabels
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Row

Levels = Mapping[str, int]
"""A node of the lattice: the level of each quasi-identifier."""


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier with how many different values it has at each level, the raw one first."""

    name: str
    distinct: Sequence[int]

    @property
    def height(self) -> int:
        return len(self.distinct) - 1


PRIVATE = "kanon_private_"
"""What every kept name begins with, so that it is never taken for a table of the user's."""


@dataclass(frozen=True)
class Label:
    """The SQL of a label, and the table to join for it, if there is one."""

    sql: str
    joined: JoinedLabels | None = None
    exact: str | None = None
    """Whether it is the label of the value itself, where that may be rounded."""


@dataclass(frozen=True)
class Move:
    """From the place at one level to that at another, as a table of values has it."""

    values: str
    start: int
    end: int


@dataclass(frozen=True)
class ReleasedLevel:
    """The level at which the values of a table are shown."""

    values: str
    level: int


@dataclass(frozen=True)
class QuasiIdentifier:
    """A quasi-identifier with its levels, its place in the sets, and what its values are like."""

    column: BoundColumn
    levels: ColumnLevels
    place: int
    in_short: Row

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def values(self) -> str:
        return f"{PRIVATE}values_{self.place}"

    @property
    def key(self) -> str:
        return f"kanon_key_{self.place}"

    @property
    def attribute(self) -> Attribute:
        levels = range(self.levels.height + 1)
        return Attribute(self.name, [int(self.in_short[f"kanon_labels_{n}"]) for n in levels])

    @property
    def leaves(self) -> int:
        """The leaves of the hierarchy: the values it lists, else those of the table."""
        table = self.levels.table
        return len(table.labels(1)) if table else self.attribute.distinct[0]

    def nested(self, level: int) -> bool:
        """Whether in this table each label of a level follows from the one below."""
        return level == 1 or bool(
            self.in_short[f"kanon_edges_{level}"] == self.in_short[f"kanon_labels_{level - 1}"]
        )

    def climbs(self, start: Levels, end: Levels) -> bool:
        """Whether a set at one level can be rolled up to another: every step there is nested."""
        low, high = start[self.name], end[self.name]
        return low <= high and all(map(self.nested, range(low + 1, high + 1)))

    def move(self, start: int, end: int) -> Move:
        return Move(self.values, start, end)


def kept_labels(place: int, level: int) -> str:
    """What the labels of a large hierarchy are kept as."""
    return f"{PRIVATE}labels_{place}_{level}"


def label_of(
    levels: ColumnLevels,
    level: int,
    value: str,
    kept: str | None = None,
    *,
    portable: bool = False,
    start: str | None = None,
) -> Label:
    """What a raw value becomes at a level, in the sets and in the views alike; `value` is its own
    expression. The labels of a large hierarchy are `kept` under a name, or else stand in the SQL,
    which may be `portable`. The start of an interval may have the name `start`."""
    if not levels.is_joined(level):
        return Label(levels.sql(level, value, start), exact=levels.exact_sql(level, value))
    name = f"kanon_hierarchy_{level}"
    joined = JoinedLabels(
        name, kept or levels.labels_sql(level, portable=portable), levels.key(value)
    )
    return Label(f"{name}.kanon_label", joined)


def label_of_any(levels: ColumnLevels, level: int, kept: str) -> Label:
    """What a raw value becomes that may not be the table's; NULL where it has no label. The labels
    of a large hierarchy are `kept` under a name."""
    if levels.is_joined(level):
        return label_of(levels, level, "kanon_raw", kept)
    return Label(levels.sql_of_any(level, "kanon_raw"))


def at_level(each: QuasiIdentifier, level: int) -> BoundColumn:
    """A quasi-identifier at a level as the records have it; the labels of a large hierarchy are
    read where they are kept."""
    if not level:
        return each.column
    if not each.levels.is_joined(level):
        return AtLevel(each.column, each.levels, level, each.place).column
    name = f"kanon_hierarchy_{each.place}"
    key = each.levels.key(f"kanon_raw.{identifier(each.name)}")
    joined = JoinedLabels(name, kept_labels(each.place, level), key)
    label = f"{name}.kanon_label"
    return replace(each.column, type="VARCHAR", generalised=label, joined=joined)
