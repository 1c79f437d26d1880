"""Levels of quasi-identifiers, and the SQL of labels at each level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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
    """The level at which the values of a table are released."""

    values: str
    level: int


@dataclass(frozen=True)
class QuasiIdentifier:
    """A quasi-identifier with its levels, its position in the sets, and aggregates of values."""

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
        """Number of leaves: the values in the hierarchy, else the distinct values of the table."""
        table = self.levels.table
        return len(table.labels(1)) if table else self.attribute.distinct[0]

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


def kept_labels(place: int, level: int) -> str:
    """Name of the temporary table with the labels of a large hierarchy."""
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


def at_level(each: QuasiIdentifier, level: int) -> BoundColumn:
    """A quasi-identifier's column at a level, computed from the records; the labels of a large
    hierarchy are joined from their temporary table."""
    if not level:
        return each.column
    if not each.levels.is_joined(level):
        return AtLevel(each.column, each.levels, level, each.place).column
    name = f"kanon_hierarchy_{each.place}"
    key = each.levels.key(f"kanon_raw.{identifier(each.name)}")
    joined = JoinedLabels(name, kept_labels(each.place, level), key)
    label = f"{name}.kanon_label"
    return replace(each.column, type="VARCHAR", generalised=label, joined=joined)
