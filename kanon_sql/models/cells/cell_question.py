"""The question on the cells of a published table, its columns resolved."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from kanon_sql.errors import SpecError, located
from kanon_sql.models.base import CellModel
from kanon_sql.models.cells.models import (
    Dominance,
    MinContributors,
    PPercent,
)
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.bound_columns import column_named, refuse_uncomparable
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.preconditions import preconditions, without_label
from kanon_sql.plan.question import AtLevel, BoundColumn, ResolvedQuestion, same_name
from kanon_sql.plan.steps import Precondition, records
from kanon_sql.question.figures import FigureOptions
from kanon_sql.question.hierarchy import SUPPRESS
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Row, Table, family

MOST_DIGITS = 10**36
"""The largest product that a decimal of 38 digits holds, with room for a sum."""
MOST_NARROW = 10**17
"""The largest sum that a decimal of 18 digits holds, with room."""
MOST_UNITS = 9 * 10**18
"""The largest product that a whole number of 64 bits holds."""
MOST_UNITS_OF_FLOATS = 10**15
"""The largest number whose digits a float holds, whichever they are."""
UNKNOWN = 99
"""More decimals than any type has."""
FLOATS = ("DOUBLE", "FLOAT", "REAL")


class CellCheck(NamedTuple):
    """A rule for cells; `requested` unless it is measured by default."""

    model: CellModel
    requested: bool

    @property
    def gates(self) -> bool:
        return self.requested and self.model.gates


@dataclass(frozen=True)
class Dimension:
    """A dimension of a table, with the levels of its hierarchy below the total."""

    raw: BoundColumn
    levels: tuple[BoundColumn, ...]
    """Its columns from the raw value to the highest level below the total."""
    at: tuple[AtLevel, ...] = ()
    """The levels above the raw value."""
    hierarchy: ColumnLevels | None = None

    def repeated(self, level: int) -> list[str]:
        """The labels of a level whose only child has the same label."""
        children = self.children(level)
        return [label for label, below in children.items() if below == {label}]

    def only_children(self, level: int) -> list[str]:
        """The labels of a level with a single child in the hierarchy."""
        return [label for label, below in self.children(level).items() if len(below) == 1]

    def children(self, level: int) -> dict[str, set[str]]:
        """The labels one level below each label; empty without a table of labels."""
        table = self.hierarchy.table if self.hierarchy else None
        if table is None or not 0 < level < len(self.levels):
            return {}
        below = {raw: raw for raw in table.labels(1)} if level == 1 else table.labels(level - 1)
        children_by_label: dict[str, set[str]] = {}
        for raw, label in table.labels(level).items():
            children_by_label.setdefault(label, set()).add(below[raw])
        return children_by_label


Levels = tuple[int | None, ...]
"""A level of each dimension; None is the total."""


class Grouping(NamedTuple):
    """The cells that have the same level of each dimension."""

    number: int
    levels: Levels
    columns: list[BoundColumn]


@dataclass(frozen=True)
class CellQuestion:
    """The question on the cells of one table, with its columns resolved."""

    spec: PublishedSpec
    resolved: ResolvedQuestion
    dimensions: tuple[Dimension, ...]
    value: BoundColumn | None
    checks: tuple[CellCheck, ...]

    @property
    def columns(self) -> list[BoundColumn]:
        """The columns of every level of every dimension."""
        return [column for dimension in self.dimensions for column in dimension.levels]

    @property
    def groupings(self) -> list[Grouping]:
        """The groupings of the inner cells, then of the published margins."""
        inner = tuple(0 for _ in self.dimensions)
        all_levels = [inner, *(margin for margin in self._margins() if margin != inner)]
        return [
            self.grouping(number, levels) for number, levels in enumerate(dict.fromkeys(all_levels))
        ]

    def grouping(self, number: int, levels: Levels) -> Grouping:
        columns = [
            column
            for dimension, level in zip(self.dimensions, levels, strict=True)
            if level is not None
            for column in dimension.levels[level:]
        ]
        return Grouping(number, levels, columns)

    def _margins(self) -> Iterator[Levels]:
        margins = self.spec.margins
        if margins == "all":
            yield from product(
                *((*range(len(dimension.levels)), None) for dimension in self.dimensions)
            )
        elif not isinstance(margins, str):
            for margin in margins:
                yield tuple(
                    0 if any(same_name(name, dimension.raw.name) for name in margin) else None
                    for dimension in self.dimensions
                )

    @property
    def relation(self) -> str:
        """The records, with the labels of every level."""
        raw_columns = [dimension.raw for dimension in self.dimensions]
        others = [self.value, self.resolved.entity, self.resolved.weight]
        levels = [column for dimension in self.dimensions for column in dimension.levels[1:]]
        return records(
            self.resolved, [*raw_columns, *(other for other in others if other), *levels]
        )

    @property
    def rank(self) -> list[int]:
        """How many of the largest contributions each check adds, ascending."""
        ranks = {1} if self.value else set()
        for model, _ in self.checks:
            if isinstance(model, Dominance):
                ranks.add(model.n)
            elif isinstance(model, PPercent):
                ranks |= {1, model.coalition + 1}
        return sorted(ranks)

    @property
    def has_largest(self) -> bool:
        """Whether the engine has an aggregate for the largest contributions."""
        return self.resolved.table.embedded and max(self.rank, default=1) <= MOST_LARGEST


MOST_LARGEST = 1_000
"""Up to this rank DuckDB's aggregate for the largest values is used, which holds a list a cell."""


class Exactness(NamedTuple):
    """In which types the figures and weights are added, by their decimals; None is a float."""

    digits: int | None = None
    typed: bool = False
    """Whether the column itself is a whole number or a decimal."""
    weight_digits: int = 0
    narrow: bool = False
    """Whether 18 digits hold the sum of all figures."""

    @property
    def is_exact(self) -> bool:
        return self.digits is not None

    @property
    def decimals(self) -> int | None:
        """The decimals of a figure times its weight."""
        return None if self.digits is None else self.digits + self.weight_digits


FLOATING = Exactness(None)
"""Figures that are added as floats."""


class CellTable(TableSpec):
    """A published table as one of records: its dimensions classify, its contributor counts."""

    marks: tuple[str, ...] = ()
    """What stands in place of suppressed figures."""
    figures: FigureOptions | None = None
    """How published figures are read."""

    @property
    def figure_reading(self) -> dict[str, Any]:
        return {"marks": self.marks, "figures": self.figures}


def table_of(spec: PublishedSpec) -> CellTable:
    marks = tuple(mark.text for mark in spec.suppressed if mark.text)
    return CellTable(
        figures=figures_of(spec, marks) if spec.cells and spec.value else None,
        source=spec.source,
        name=spec.name,
        connect=spec.connect,
        quasi_identifiers={
            name: next(
                (hierarchy for key, hierarchy in spec.hierarchies.items() if same_name(key, name)),
                {},
            )
            for name in spec.by
        },
        entity=spec.contributor,
        weight=spec.weight,
        where=spec.where,
        first=spec.first,
        null_strings=spec.null_strings,
        delimiter=spec.delimiter,
        decimal=spec.decimal,
        marks=marks,
        header=spec.header,
        encoding=spec.encoding,
        skip=spec.skip,
        dates=spec.dates,
        hierarchy_faults=spec.hierarchy_faults,
    )


def figures_of(spec: PublishedSpec, marks: tuple[str, ...]) -> FigureOptions:
    """How the figures of a published table and of its second tables are read."""
    own = [name for name in (spec.value, spec.count) if name]
    others = [
        other.columns[name]
        for other in spec.against.values()
        for name in own
        if name in other.columns
    ]
    return FigureOptions(
        columns=(*own, *others),
        by=tuple(spec.by),
        marks=marks,
        decimal=spec.decimal,
        are_counts=not spec.magnitude,
        thousands=" " if spec.thousands == "space" else spec.thousands,
        flags=spec.flags,
        wide=spec.wide,
    )


def cell_question(spec: PublishedSpec, question: ResolvedQuestion) -> CellQuestion:
    """Resolve the dimensions with their levels, the value and the checks."""
    levels = column_levels(question.roles, question.facts)
    value = None
    if spec.value is not None:
        value = column_named(spec.value, question.table, ("value",), alias="kanon_value")
        refuse_uncomparable(value, question.table)
        if family(value.type) in ("time", "boolean"):
            with located("value"):
                raise SpecError(
                    f'column "{value.name}" of {question.table.name} is {value.type}, and no '
                    "number. Name the column with the figures of the cells."
                )
    dimensions = tuple(
        _dimension(
            number,
            column,
            levels[column.name] if _has_hierarchy(spec, column) else None,
            question.table,
        )
        for number, column in enumerate(question.quasi_identifiers, start=1)
    )
    return CellQuestion(spec, question, dimensions, value, tuple(_checks(spec)))


def _has_hierarchy(spec: PublishedSpec, column: BoundColumn) -> bool:
    return any(same_name(name, column.name) for name in spec.hierarchies)


def _dimension(
    index: int, column: BoundColumn, levels: ColumnLevels | None, table: Table
) -> Dimension:
    if levels is None:
        return Dimension(column, (column,))
    if levels.needs_longest:
        with located("hierarchies", column.name):
            raise SpecError(
                f'the hierarchy of "{column.name}" is a mask, which has a level for each character '
                "of the longest value, and each would be a subtotal. Take prefix, as in prefix:3,2."
            )
    height = levels.height
    while height and _is_total(levels, height):
        height -= 1
    at = tuple(
        AtLevel(column, levels, level, index, portable=not table.embedded)
        for level in range(1, height + 1)
    )
    labels = (
        BoundColumn(
            name=f"kanon_level_{at_level.level}_of_{index}",
            type="VARCHAR",
            alias=f"kanon_level_{at_level.level}_of_{index}",
            generalised=levels.sql(at_level.level, identifier(column.name)),
        )
        for at_level in at
    )
    return Dimension(column, (column, *labels), at, levels)


def _is_total(levels: ColumnLevels, level: int) -> bool:
    """Whether a level has a single node, so that it is the total."""
    if levels.table is not None and level <= levels.table.height:
        return len(set(levels.table.labels(level).values())) == 1
    return levels.label(level) == SUPPRESS


def _checks(spec: PublishedSpec) -> Iterator[CellCheck]:
    """The requested checks, gating ones first; then those measured by default."""
    requested = [
        CellCheck(check, requested=True)
        for check in spec.required_checks
        if isinstance(check, CellModel)
    ]
    yield from sorted(requested, key=lambda check: not check.gates)
    names = {check.model.name() for check in requested}
    if "min_contributors" not in names and (not spec.is_magnitude or spec.count or not spec.cells):
        yield CellCheck(MinContributors(), requested=False)
    if spec.is_magnitude and not spec.cells:
        ranks = {check.model.n for check in requested if isinstance(check.model, Dominance)}
        yield from (
            CellCheck(Dominance(n=rank), requested=False) for rank in (1, 2) if rank not in ranks
        )


def cell_preconditions(question: CellQuestion) -> Iterator[Precondition]:
    """The preconditions on the table: readable conditions and weights, and for records a label at
    every level."""
    resolved = question.resolved
    yield from preconditions(resolved)
    for column in (at for dimension in question.dimensions for at in dimension.at):
        if not question.spec.cells:
            name = f"labels_{column.level}_{column.raw.name}"
            yield from without_label(
                resolved, column, resolved.table, records(resolved, [column.raw]), name
            )


def exactness(question: CellQuestion, facts: Row) -> Exactness:
    """The types in which sums are exact, and fit with every factor of a rule."""
    value, table = question.value, question.resolved.table
    if value is None:
        return Exactness(0)
    digits, weight_digits = decimals_of(value, facts, "kanon_decimals", "kanon_largest"), 0
    highest = 1.0
    if weight := question.resolved.weight:
        weight_digits = decimals_of(weight, facts, "kanon_weight_decimals", "kanon_highest_weight")
        highest = float(facts["kanon_highest_weight"] or 1)
    decimals, kept = digits + weight_digits, TRAITS[table.dialect].decimals
    units = max(float(facts["kanon_size"] or 0) * highest, 1.0) * 10**decimals
    largest = units * max((_factor(model) for model, _ in question.checks), default=1)
    fits = largest <= MOST_DIGITS
    if not TRAITS[table.dialect].adds_decimals:
        fits = largest <= MOST_UNITS and (not decimals or units <= MOST_UNITS_OF_FLOATS)
    if not fits or decimals > kept:
        return FLOATING
    narrow = units < MOST_NARROW and weight is None and table.embedded
    return Exactness(digits, scale_of(value.type) is not None, weight_digits, narrow)


def typed_exactness(question: CellQuestion) -> Exactness:
    """The types as known from the columns alone; figures of an inexact type count as decimals."""
    value, weight = question.value, question.resolved.weight
    if value is None:
        return Exactness(0)
    scale = scale_of(value.type)
    weight_digits = 0 if weight is None else scale_of(weight.type)
    if weight_digits is None:
        return FLOATING
    return Exactness(6) if scale is None else Exactness(scale, True, weight_digits)


def decimals_of(column: BoundColumn, facts: Row, decimals: str, largest: str) -> int:
    """How many decimals a column's figures have, by their type or else by the facts; more than any
    type has where floats don't tell."""
    scale = scale_of(column.type)
    if scale is not None:
        return scale
    digits = int(facts[decimals] or 0)
    tells = not column.type.startswith(FLOATS) or (
        float(facts[largest] or 0) * 10**digits <= MOST_UNITS_OF_FLOATS
    )
    return digits if tells else UNKNOWN


def scale_of(type: str) -> int | None:
    """The number of decimals of an exact type; None for floats and text."""
    if family(type) != "number" or type.startswith(FLOATS):
        return None
    if type.startswith(("DECIMAL", "NUMERIC")):
        digits = type.partition("(")[2].rstrip(")").split(",")
        return int(digits[1]) if len(digits) == 2 else None
    return 0


def _factor(model: CellModel) -> int:
    """The largest factor by which a rule multiplies a sum."""
    if isinstance(model, Dominance) and model.k is not None:
        share = Fraction(str(model.k))
        return max(100 * share.denominator, share.numerator)
    if isinstance(model, PPercent) and model.p is not None:
        p, q = Fraction(str(model.p)), Fraction(str(model.q))
        return max(p.denominator * q.numerator, p.numerator * q.denominator)
    return 1
