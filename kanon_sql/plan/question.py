"""The types of a resolved question: every name a column, every level an SQL expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from kanon_sql.models.base import Model
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.question.hierarchy_table import HierarchyTable, Paths
from kanon_sql.question.other_tables import (
    EARLIER,
    HOLDOUT,
    ORIGINAL,
    REFERENCE,
    OtherTableKind,
)
from kanon_sql.question.question_parts import OtherTableSpec
from kanon_sql.question.roles import ByRole, columns_by_role
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.conditions import Condition
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table, family

Location = tuple[int | str, ...]
OtherTableKey = tuple[OtherTableKind, str]
"""The kind and name of another table."""
Comparison = Literal["as_is", "as_text", "as_number", "as_numeral", "by_pattern", "by_wildcard"]


class JoinedLabels(NamedTuple):
    """A hierarchy's labels at one level, joined where a CASE would be too long."""

    name: str
    sql: str
    """The derived table of labels, as written after LEFT JOIN."""
    key: str
    """SQL of the raw value, the join key."""


class StartedInterval(NamedTuple):
    """The lower end of a value's interval, computed once under an alias."""

    name: str
    start: str
    label: str
    """The label computed without that alias."""


@dataclass(frozen=True)
class BoundColumn:
    """A column in its role. `alias` is its name in every CTE above the records."""

    name: str
    type: str
    alias: str
    hashed: bool = False
    """Whether frequency sets group it by its hash, whose exactness a step must prove."""
    generalised: str | None = None
    """SQL of its label where the column is generalised; None for raw values."""
    joined: JoinedLabels | None = None
    """The join that `generalised` reads, if any."""
    started: StartedInterval | None = None
    """The interval start that `generalised` reads, if any."""
    star: int | None = None
    """The place of `*`, if the values are places in a frequency set; 0 where none is `*`."""

    @property
    def is_text(self) -> bool:
        """Whether it is text, or of unknown type and so possibly text."""
        return family(self.type) in ("text", "")


def as_read(columns: Sequence[BoundColumn]) -> list[BoundColumn]:
    """The columns of one SELECT; an interval start is inlined if its alias is a column's name."""
    names = {column.name.casefold() for column in columns}
    return [
        replace(column, generalised=column.started.label, started=None)
        if column.started and column.started.name in names
        else column
        for column in columns
    ]


class LabelOfText(NamedTuple):
    """SQL of a text's label at one level, with the join it needs, if any."""

    sql: str
    joined: JoinedLabels | None


class Pair(NamedTuple):
    """A quasi-identifier and the reference's column for it, with how their cells are compared."""

    column: BoundColumn
    reference: BoundColumn
    how: Comparison
    labels: tuple[LabelOfText, ...] = ()
    """The labels a reference's value may have, where cells are recoded individually."""


@dataclass(frozen=True)
class BoundCheck:
    """A model with resolved columns; `requested` unless measured by default."""

    model: Model
    requested: bool
    column: BoundColumn | None = None
    """The sensitive attribute it measures."""
    paths: Paths = ()
    """Leaves of a hierarchical distance's tree, each with its ancestors below the root."""

    @property
    def gates(self) -> bool:
        return self.requested and self.model.gates


@dataclass(frozen=True, kw_only=True)
class ComparedColumns(ByRole[BoundColumn]):
    """The columns that statements read, by role."""

    @property
    def of_classes(self) -> tuple[BoundColumn, ...]:
        """The columns that classes are made of, and counted in."""
        entity = (self.entity,) if self.entity else ()
        return (*self.quasi_identifiers, *self.sensitive, *entity)

    @property
    def names_of_classes(self) -> dict[str, Any]:
        """Their names by role, as results have them."""
        return {
            "quasi_identifiers": tuple(column.name for column in self.quasi_identifiers),
            "sensitive": tuple(column.name for column in self.sensitive),
            "entity": self.entity.name if self.entity else None,
        }


@dataclass(frozen=True, kw_only=True)
class Roles(ComparedColumns):
    """The columns of a question by role, at raw values."""

    spec: TableSpec
    table: Table
    identifiers: tuple[Column, ...]
    insensitive: tuple[Column, ...]
    levels: Mapping[str, int]
    """Requested generalisation level, by quasi-identifier."""
    where: Condition | None = None
    others: tuple[OtherTable, ...] = ()
    """The references, then the earlier releases, the original and the holdout."""
    checks: tuple[BoundCheck, ...] = ()

    @property
    def generalisable(self) -> tuple[BoundColumn, ...]:
        """The columns that may have levels; sensitive attributes may have them in a synthetic
        table."""
        sensitive = self.sensitive if self.spec.original else ()
        return (*self.quasi_identifiers, *self.events, *sensitive)

    @property
    def unassigned(self) -> tuple[Column, ...]:
        """The columns without a role."""
        assigned = {column.name for _, column in columns_by_role(self)}
        return tuple(column for column in self.table.columns if column.name not in assigned)

    def at(self, levels: Mapping[str, int]) -> Roles:
        """The same question at other levels; level 0 is the raw value."""
        spec = self.spec.model_copy(update={"levels": dict(levels)})
        above = {name: level for name, level in levels.items() if level}
        return replace(self, spec=spec, levels=above)

    def hierarchy(self, column: BoundColumn) -> GeneralizationHierarchy:
        """The generalisation hierarchy of a quasi-identifier."""
        return hierarchy_of(self.spec, column)


@dataclass(frozen=True)
class DataFacts:
    """Facts that the levels depend on, by quasi-identifier; queried before planning."""

    longest: Mapping[str, int] = field(default_factory=dict)
    """Length of the longest value, for masked columns."""
    hierarchies: Mapping[str, HierarchyTable] = field(default_factory=dict)
    """The rows of its hierarchy, if it has any."""
    longest_in_other: Mapping[OtherTableKey, Mapping[str, int]] = field(default_factory=dict)
    """By other table, the length to which it is masked."""
    show_values: bool = False
    """Whether a fault may show values of a hierarchy file or table."""


@dataclass(frozen=True)
class AtLevel:
    """A quasi-identifier at a level of its hierarchy."""

    raw: BoundColumn
    levels: ColumnLevels
    level: int
    index: int = 1
    """Numbers its table of labels within a statement."""
    portable: bool = False
    """Whether its table of labels must be readable by other databases than DuckDB."""

    @cached_property
    def joined(self) -> JoinedLabels | None:
        """The table of labels to join; None if the labels are an expression."""
        if not self.levels.is_joined(self.level):
            return None
        key = self.levels.key(f"kanon_raw.{identifier(self.raw.name)}")
        return JoinedLabels(
            f"kanon_hierarchy_{self.index}",
            self.levels.labels_sql(self.level, portable=self.portable),
            key,
        )

    @cached_property
    def started(self) -> StartedInterval | None:
        """The start of a value's interval at the level; None unless the level has intervals."""
        value = identifier(self.raw.name)
        start = self.levels.start_sql(self.level, value)
        label = self.levels.sql(self.level, value)
        return StartedInterval(f"kanon_start_{self.index}", start, label) if start else None

    @cached_property
    def label(self) -> str:
        """SQL of the label."""
        if self.joined:
            return f"{self.joined.name}.kanon_label"
        start = self.started.name if self.started else None
        return self.levels.sql(self.level, identifier(self.raw.name), start)

    @property
    def checked_label(self) -> str:
        """SQL of the label, NULL where it would not be exact."""
        if self.joined:
            return self.label
        return self.levels.checked_sql(self.level, identifier(self.raw.name))

    @property
    def column(self) -> BoundColumn:
        """The column with its label in place of the raw value."""
        return replace(
            self.raw,
            type="VARCHAR",
            generalised=self.label,
            joined=self.joined,
            started=self.started,
        )


@dataclass(frozen=True)
class OtherTable:
    """A reference, an earlier release, an original or a holdout with its columns resolved.

    Its columns are at raw values in `Roles`, and at their levels in a `ResolvedQuestion`.
    """

    kind: OtherTableKind
    name: str
    spec: OtherTableSpec
    table: Table
    quasi_identifiers: tuple[BoundColumn, ...]
    columns: Mapping[str, BoundColumn]
    """Its column, by quasi-identifier of the table; an earlier release may lack some."""
    entity: BoundColumn | None
    weight: BoundColumn | None
    sensitive: Mapping[str, BoundColumn]
    """Its column, by sensitive attribute; absent where it has none, as in any reference."""
    shared: Mapping[str, BoundColumn]
    """Its column, by any other column of the table; none unless all columns are compared."""
    where: Condition | None
    levels: Mapping[str, int]
    """Requested generalisation level, by quasi-identifier of the table."""
    generalised: tuple[AtLevel, ...] = ()

    @property
    def key(self) -> OtherTableKey:
        return self.kind, self.name

    def generalisable(self, roles: Roles) -> tuple[BoundColumn, ...]:
        """The columns of the table whose counterparts may have levels here."""
        sensitive = roles.sensitive if self.kind.shares_columns else ()
        return (*roles.quasi_identifiers, *sensitive)

    def column_of(self, column: BoundColumn) -> BoundColumn:
        """Its column for a quasi-identifier or a sensitive attribute of the table."""
        return self.columns.get(column.name) or self.sensitive[column.name]

    @property
    def called(self) -> str:
        """Its name in messages."""
        return self.kind.called(self.name)


@dataclass(frozen=True, kw_only=True)
class ResolvedQuestion(ComparedColumns):
    """The complete question on one table, its columns at their levels, ready to be planned."""

    roles: Roles
    facts: DataFacts
    keys: tuple[BoundColumn, ...]
    """The grouping keys of the classes: the quasi-identifiers, some of them hashed."""
    others: tuple[OtherTable, ...]
    checks: tuple[BoundCheck, ...]
    levels: tuple[AtLevel, ...] = ()
    """The generalised quasi-identifiers."""
    recoded: Mapping[str, ColumnLevels] = field(default_factory=dict)
    """Levels of the quasi-identifiers recoded cell by cell, or all at the level in `shown_at`."""
    shown_at: Mapping[str, int] = field(default_factory=dict)
    """That single level, by quasi-identifier."""
    rolled_up: bool = False
    """Whether its table is a frequency set of the chosen records, each row with their number."""

    def with_columns(
        self, keys: tuple[BoundColumn, ...], there: Callable[[BoundColumn], BoundColumn]
    ) -> ResolvedQuestion:
        """The same question with these quasi-identifiers, and with the counterparts of its
        sensitive attributes and its entity."""
        checks = (
            replace(check, column=there(check.column)) if check.column else check
            for check in self.checks
        )
        return replace(
            self,
            quasi_identifiers=keys,
            keys=keys,
            sensitive=tuple(map(there, self.sensitive)),
            entity=there(self.entity) if self.entity else None,
            checks=tuple(checks),
        )

    @property
    def spec(self) -> TableSpec:
        """The spec as written."""
        return self.roles.spec

    @property
    def table(self) -> Table:
        return self.roles.table

    @cached_property
    def references(self) -> Mapping[str, OtherTable]:
        return {other.name: other for other in self.others if other.kind is REFERENCE}

    @cached_property
    def earlier(self) -> Mapping[str, OtherTable]:
        """The earlier releases."""
        return {other.name: other for other in self.others if other.kind is EARLIER}

    @cached_property
    def made_from(self) -> Mapping[OtherTableKind, OtherTable]:
        """The original of a synthetic table, and the holdout, if it has them."""
        return {other.kind: other for other in self.others if other.kind in (ORIGINAL, HOLDOUT)}

    @property
    def tables(self) -> tuple[Table, ...]:
        """Every table of the question, the audited one first."""
        return (self.table, *(other.table for other in self.others))

    @property
    def snapshots(self) -> dict[str, str]:
        """The snapshot that is read, of each table that has them."""
        named = {self.spec.name or self.table.name: self.table}
        named |= {other.name: other.table for other in self.others}
        return {name: table.snapshot for name, table in named.items() if table.snapshot}

    @property
    def where(self) -> Condition | None:
        return self.roles.where

    @property
    def hierarchy_texts(self) -> frozenset[str]:
        """The texts of hierarchies in files and tables: raw values of the data, and labels.

        A result is read by people who may not see them; `compile` and views hold them, to be run.
        """
        tables = [
            hierarchy for hierarchy in self.facts.hierarchies.values() if not hierarchy.is_in_spec
        ]
        rows = (row for table in tables for row in table.rows)
        of_levels = {label for row in rows for label in (row.value, *row.ancestors)}
        of_trees = {label for check in self.checks for path in check.paths for label in path}
        return frozenset(of_levels | of_trees) - {"", "*"}

    @property
    def unknown(self) -> bool:
        """Whether NULL in a sensitive attribute counts as no value."""
        return self.spec.sensitive_nulls == "unknown"

    @property
    def wildcard(self) -> bool:
        """Whether NULL in a quasi-identifier matches every value."""
        return self.spec.nulls == "wildcard"


def reads_values(question: ResolvedQuestion) -> bool:
    """Whether the sensitive values of classes are read: in a synthetic table if a check asks."""
    asks = not question.made_from or any(
        check.model.family == "values" for check in question.checks
    )
    return bool(question.sensitive) and not question.wildcard and asks


def hierarchy_of(spec: TableSpec, column: BoundColumn) -> GeneralizationHierarchy:
    """The generalisation hierarchy of a column; an empty one by default."""
    hierarchies = spec.column_hierarchies.items()
    return next(
        (hierarchy for name, hierarchy in hierarchies if same_name(name, column.name)),
        GeneralizationHierarchy(),
    )


def same_name(name: str, other: str) -> bool:
    return name.casefold() == other.casefold()
