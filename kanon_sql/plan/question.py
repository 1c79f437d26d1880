"""A question whose every name is a column, and every level a way of looking at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.spec.hierarchy import GeneralizationHierarchy
from kanon_sql.spec.hierarchy_table import HierarchyTable, Paths
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.column_types import family
from kanon_sql.sql.conditions import Condition
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table

Location = tuple[int | str, ...]
Comparison = Literal["as_is", "as_text", "by_pattern", "by_wildcard"]


@dataclass(frozen=True)
class JoinedLabels:
    """The labels of a hierarchy at a level, joined where a CASE would be too long."""

    name: str
    sql: str
    """The table of labels as it stands after LEFT JOIN."""
    key: str
    """The SQL of the raw value that the table is joined by."""


@dataclass(frozen=True)
class StartedInterval:
    """Where the interval of a value begins, found once, and what it is called."""

    name: str
    start: str
    label: str
    """The label that doesn't read it."""


@dataclass(frozen=True)
class BoundColumn:
    """A column in the part it plays. `alias` is its name in every set above the records."""

    name: str
    type: str
    alias: str
    hashed: bool = False
    """Whether frequency sets group it by its hash, which must then be proved to be exact."""
    generalised: str | None = None
    """The SQL of its value at a level, where the table is looked at as it would be."""
    joined: JoinedLabels | None = None
    """What must be joined for `generalised` to be read."""
    started: StartedInterval | None = None
    """The start of an interval that `generalised` reads."""

    @property
    def is_text(self) -> bool:
        """Whether it holds text, or what nobody has looked up and so may be text."""
        return family(self.type) in ("text", "")


def as_read(columns: Sequence[BoundColumn]) -> list[BoundColumn]:
    """The columns as they are read together: with the start of an interval found once, unless one
    of them is called as it would be."""
    names = {column.name.casefold() for column in columns}
    return [
        replace(column, generalised=column.started.label, started=None)
        if column.started and column.started.name in names
        else column
        for column in columns
    ]


@dataclass(frozen=True)
class LabelOfText:
    """The SQL of the label that a text has at a level, and the table to join for it, if any."""

    sql: str
    joined: JoinedLabels | None


@dataclass(frozen=True)
class Pair:
    """A quasi-identifier, the reference's column for it, and how their cells are compared."""

    column: BoundColumn
    reference: BoundColumn
    how: Comparison
    labels: tuple[LabelOfText, ...] = ()
    """What a value of the reference may be shown as, where cells are at levels of their own."""


@dataclass(frozen=True)
class BoundCheck:
    """A model whose columns and reference are known; `asked` where a person named it."""

    model: Model
    asked: bool
    column: BoundColumn | None = None
    """The sensitive attribute that it is about."""
    paths: Paths = ()
    """The leaves of a hierarchical distance's tree, each with its ancestors below the root."""

    @property
    def gates(self) -> bool:
        return self.asked and self.model.gates


@dataclass(frozen=True)
class ReferenceRoles:
    """A reidentification dataset with its columns found, as they lie there."""

    name: str
    table: Table
    columns: Mapping[str, BoundColumn]
    """The reference's column for each quasi-identifier, by the quasi-identifier's name."""
    entity: BoundColumn | None
    weight: BoundColumn | None
    where: Condition | None
    levels: Mapping[str, int]
    """The level at which it is to be looked at, by quasi-identifier."""


@dataclass(frozen=True)
class EarlierRoles:
    """An earlier release with its columns found, as they lie there."""

    name: str
    table: Table
    quasi_identifiers: tuple[BoundColumn, ...]
    columns: Mapping[str, BoundColumn]
    """Those of them that the table has too, by the name that they have there."""
    entity: BoundColumn
    sensitive: Mapping[str, BoundColumn]
    """Its column for each sensitive attribute that it has, by the attribute's name."""
    where: Condition | None
    levels: Mapping[str, int]
    """The level at which it is to be looked at, by the table's quasi-identifier."""


@dataclass(frozen=True)
class Roles:
    """The columns of a question in the parts that they play, as they lie in the tables."""

    spec: TableSpec
    table: Table
    quasi_identifiers: tuple[BoundColumn, ...]
    sensitive: tuple[BoundColumn, ...]
    identifiers: tuple[Column, ...]
    insensitive: tuple[Column, ...]
    entity: BoundColumn | None
    weight: BoundColumn | None
    where: Condition | None
    references: Mapping[str, ReferenceRoles]
    earlier: Mapping[str, EarlierRoles]
    checks: tuple[BoundCheck, ...]
    levels: Mapping[str, int]
    """The level at which the table is to be looked at, by quasi-identifier."""

    @property
    def beside(self) -> tuple[ReferenceRoles | EarlierRoles, ...]:
        """What else holds people: the references and the earlier releases."""
        return (*self.references.values(), *self.earlier.values())

    @property
    def unassigned(self) -> tuple[Column, ...]:
        """The columns that no part was given to."""
        assigned = {column.name for column in (*self.quasi_identifiers, *self.sensitive)}
        assigned |= {column.name for column in (*self.identifiers, *self.insensitive)}
        assigned |= {column.name for column in (self.entity, self.weight) if column}
        return tuple(column for column in self.table.columns if column.name not in assigned)

    def at(self, levels: Mapping[str, int]) -> Roles:
        """The same question of the table at other levels, of which some may be the raw value."""
        spec = self.spec.model_copy(update={"levels": dict(levels)})
        above = {name: level for name, level in levels.items() if level}
        return replace(self, spec=spec, levels=above)

    def hierarchy(self, column: BoundColumn) -> GeneralizationHierarchy:
        """How a quasi-identifier may be generalised."""
        return hierarchy_of(self.spec, column)


@dataclass(frozen=True)
class DataFacts:
    """What must be known of the data before levels have names, by quasi-identifier."""

    longest: Mapping[str, int] = field(default_factory=dict)
    """How many characters the longest value has, where it is masked."""
    hierarchies: Mapping[str, HierarchyTable] = field(default_factory=dict)
    """The rows of its hierarchy, where it has some."""
    referred: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By reference: how many characters the longest value of either side has."""
    longest_earlier: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By earlier release: how many characters its own longest value has."""
    show_values: bool = False
    """Whether a fault may tell the values of a hierarchy that lies in a file or a table."""


@dataclass(frozen=True)
class AtLevel:
    """A quasi-identifier at a level of its hierarchy."""

    raw: BoundColumn
    levels: ColumnLevels
    level: int
    place: int = 1
    """Tells its table of labels from others in a statement."""
    portable: bool = False
    """Whether its table of labels is to be read by another database than DuckDB."""

    @cached_property
    def joined(self) -> JoinedLabels | None:
        """What must be joined for the label to be read."""
        if not self.levels.is_joined(self.level):
            return None
        key = self.levels.key(f"kanon_raw.{identifier(self.raw.name)}")
        return JoinedLabels(
            f"kanon_hierarchy_{self.place}",
            self.levels.labels_sql(self.level, portable=self.portable),
            key,
        )

    @cached_property
    def started(self) -> StartedInterval | None:
        """The start of the interval that a value is in at the level."""
        value = identifier(self.raw.name)
        start = self.levels.start_sql(self.level, value)
        label = self.levels.sql(self.level, value)
        return StartedInterval(f"kanon_start_{self.place}", start, label) if start else None

    @cached_property
    def label(self) -> str:
        """The SQL of the raw value at the level."""
        if self.joined:
            return f"{self.joined.name}.kanon_label"
        start = self.started.name if self.started else None
        return self.levels.sql(self.level, identifier(self.raw.name), start)

    @property
    def checked_label(self) -> str:
        """The same, and NULL where the label would not be exact."""
        if self.joined:
            return self.label
        return self.levels.checked_sql(self.level, identifier(self.raw.name))

    @property
    def column(self) -> BoundColumn:
        """The column as it would be at the level."""
        return replace(
            self.raw,
            type="VARCHAR",
            generalised=self.label,
            joined=self.joined,
            started=self.started,
        )


@dataclass(frozen=True)
class BoundReference:
    """A reidentification dataset as it is looked at."""

    name: str
    table: Table
    columns: Mapping[str, BoundColumn]
    """The reference's column for each quasi-identifier, by the quasi-identifier's name."""
    entity: BoundColumn | None
    weight: BoundColumn | None
    where: Condition | None
    levels: tuple[AtLevel, ...] = ()
    """Its columns that are looked at as they would be at a level above the raw value."""


@dataclass(frozen=True)
class BoundEarlier:
    """An earlier release as it is looked at."""

    name: str
    table: Table
    quasi_identifiers: tuple[BoundColumn, ...]
    entity: BoundColumn
    sensitive: Mapping[str, BoundColumn]
    """Its column for each sensitive attribute that it has, by the attribute's name."""
    where: Condition | None
    levels: tuple[AtLevel, ...] = ()
    """Its columns that are looked at as they would be at a level above the raw value."""


@dataclass(frozen=True)
class ResolvedQuestion:
    """One table's question, complete."""

    roles: Roles
    facts: DataFacts
    quasi_identifiers: tuple[BoundColumn, ...]
    """As they are looked at."""
    keys: tuple[BoundColumn, ...]
    """What the classes are grouped by: the quasi-identifiers, or shorter keys for some."""
    sensitive: tuple[BoundColumn, ...]
    entity: BoundColumn | None
    weight: BoundColumn | None
    references: Mapping[str, BoundReference]
    earlier: Mapping[str, BoundEarlier]
    checks: tuple[BoundCheck, ...]
    levels: tuple[AtLevel, ...] = ()
    """The quasi-identifiers that are looked at as they would be at a level above the raw value."""
    recoded: Mapping[str, ColumnLevels] = field(default_factory=dict)
    """The quasi-identifiers of which each cell is at a level of its own, with their levels; or of
    which all are at one that is known."""
    shown_at: Mapping[str, int] = field(default_factory=dict)
    """That level, by quasi-identifier."""

    @property
    def spec(self) -> TableSpec:
        """The question in the words of whoever asked it."""
        return self.roles.spec

    @property
    def table(self) -> Table:
        return self.roles.table

    @property
    def beside(self) -> tuple[BoundReference | BoundEarlier, ...]:
        """What else holds people: the references and the earlier releases."""
        return (*self.references.values(), *self.earlier.values())

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table that the question is about, the audited one first."""
        return (self.table, *(each.table for each in self.beside))

    @property
    def where(self) -> Condition | None:
        return self.roles.where

    @property
    def hierarchy_texts(self) -> frozenset[str]:
        """The texts of hierarchies in files and tables: raw values of the data, and labels.

        A result is read by people who may not see them; `compile` and views hold them, to be run.
        """
        tables = [each for each in self.facts.hierarchies.values() if not each.is_in_spec]
        rows = (row for table in tables for row in table.rows)
        of_levels = {text for row in rows for text in (row.value, *row.ancestors)}
        of_trees = {text for check in self.checks for path in check.paths for text in path}
        return frozenset(of_levels | of_trees) - {"", "*"}

    @property
    def unknown(self) -> bool:
        """Whether a NULL in a sensitive attribute counts as no value."""
        return self.spec.sensitive_nulls == "unknown"

    @property
    def wildcard(self) -> bool:
        """Whether a NULL in a quasi-identifier matches everything."""
        return self.spec.nulls == "wildcard"


def hierarchy_of(spec: TableSpec, column: BoundColumn) -> GeneralizationHierarchy:
    """How a quasi-identifier may be generalised."""
    return next(
        (each for name, each in spec.quasi_identifiers.items() if same_name(name, column.name)),
        GeneralizationHierarchy(),
    )


def same_name(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
