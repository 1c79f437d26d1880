"""The statements on the cells of a table made from records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, Literal, NamedTuple, Self

from kanon_sql.errors import SpecError, located, option
from kanon_sql.models.cells.models import (
    CellModel,
    Differences,
    Dominance,
    GroupDisclosure,
    MinContributors,
    PPercent,
)
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.bound_columns import column_named, refuse_uncomparable
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.preconditions import preconditions, without_label
from kanon_sql.plan.question import AtLevel, BoundColumn, ResolvedQuestion, same_name
from kanon_sql.plan.steps import Precondition, name_list, records, step
from kanon_sql.question.figures import FigureOptions
from kanon_sql.question.hierarchy import SUPPRESS
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.spec import SHOWN, TableSpec
from kanon_sql.sql.dialects.rules import TRAITS
from kanon_sql.sql.macros import macro_names, render, render_known
from kanon_sql.sql.quoting import generated_or_quoted, identifier, literal
from kanon_sql.sql.statement import Statement
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


# --- preconditions and exact types ----------------------------------------------------------


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
    return Exactness(digits, _scale(value.type) is not None, weight_digits, narrow)


def typed_exactness(question: CellQuestion) -> Exactness:
    """The types as known from the columns alone; figures of an inexact type count as decimals."""
    value, weight = question.value, question.resolved.weight
    if value is None:
        return Exactness(0)
    scale = _scale(value.type)
    weight_digits = 0 if weight is None else _scale(weight.type)
    if weight_digits is None:
        return FLOATING
    return Exactness(6) if scale is None else Exactness(scale, True, weight_digits)


def decimals_of(column: BoundColumn, facts: Row, decimals: str, largest: str) -> int:
    """How many decimals a column's figures have, by their type or else by the facts; more than any
    type has where floats don't tell."""
    scale = _scale(column.type)
    if scale is not None:
        return scale
    digits = int(facts[decimals] or 0)
    tells = not column.type.startswith(FLOATS) or (
        float(facts[largest] or 0) * 10**digits <= MOST_UNITS_OF_FLOATS
    )
    return digits if tells else UNKNOWN


def _scale(type: str) -> int | None:
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


# --- the statements -------------------------------------------------------------------------

CellListing = Literal["cells", "groups", "differences"]
"""What violates a rule: single cells, groups, or cells that differ by few from a second table's."""


@dataclass(frozen=True)
class CellStatements(ABC):
    """The statements on the cells of a table, made from its records or as they are published."""

    question: CellQuestion
    exact: Exactness

    @abstractmethod
    def opening(self) -> Iterator[Statement]:
        """The statements on the table as read, which run before any cell is judged."""

    @abstractmethod
    def facts(self) -> Statement | None:
        """The statement on the values, which tells in which types they are added."""

    def with_exactness(self, facts: Row) -> Self:
        """The same statements in the types that follow from the facts."""
        return replace(self, exact=exactness(self.question, facts))

    @abstractmethod
    def rules(self) -> Statement:
        """The statement that judges every rule for single cells at once."""

    @abstractmethod
    def groupings(self) -> Statement | None:
        """The statement that counts the cells of each grouping; None where `rules` counts them."""

    @abstractmethod
    def each_cell(self, name: str) -> Statement:
        """The statement on each cell, its figure, and whether it is suppressed."""

    @abstractmethod
    def listed(self, name: str) -> Statement:
        """The statement on each cell, its figure, and which rules it violates by itself."""

    @abstractmethod
    def missing(self, row: Row, groupings: Sequence[Row]) -> dict[bool, int]:
        """The combinations of nodes without a cell, in the inner cells and in the margins."""

    @abstractmethod
    def labels(self, listing: CellListing, row: Row, shared: Sequence[str]) -> dict[str, Any]:
        """The labels in a row of a listing; `totals` tells a total from the value NULL. Of
        differences, `shared` are the dimensions that the second table has."""

    def violating(self) -> Statement | None:
        """The statement on the first cells that violate a rule by themselves, which shows values;
        None without such a rule."""
        violated = self._violated()
        if not violated:
            return None
        description = "Which cells of {} violate a rule by themselves?"
        return self._step("violating_cells", description, self._violating(violated))

    def first_empty(
        self, row: Row, groupings: Sequence[Row], first: int = SHOWN
    ) -> Statement | None:
        """The statement on the first combinations without a cell, with their labels; None without
        such a combination, or a rule that they violate."""
        is_required = self.question.spec.absent == "zero" and any(
            isinstance(check.model, MinContributors) and check.model.zeros == "disclosive"
            for check in self.question.checks
            if check.gates
        )
        empty = self._empty(row, groupings) if is_required else {}
        if not empty.get("groupings"):
            return None
        description = "Which combinations of labels have no cell in {}?"
        return self._step(
            "empty_cells", description, render("first_empty_cells", **empty, first=first)
        )

    def groups(self, row: Row, first: int | None = None) -> Statement | None:
        """The statement on the groups of which all members fall into one category, by the numbers
        of nodes in the row of `rules`. With `first`, its rows are the first groups that a rule
        forbids, with their labels."""
        checks = list(self._group_checks(gating=first is not None))
        sql = self._groups(checks, row, first) if checks else None
        if sql is None:
            return None
        name = "groups" if first is None else "disclosed_groups"
        description = "In which groups of {} do all members fall into one category?"
        return self._step(name, description, sql, GroupDisclosure)

    def differences(
        self, name: str, other: Self, shared: Sequence[str], n: int | None, first: int | None = None
    ) -> Statement:
        """The statement that compares the cells that this table and a second one have. With
        `first`, its rows are the first cells that violate, with their labels.

        `shared` are the dimensions of this table that the second one has, in its order.
        """
        table, other_table = self.question.resolved.table, other.question.resolved.table
        return Statement(
            f"differences_{name}" if first is None else f"differing_cells_{name}",
            f"By how many contributors do the cells of {table.name} differ from those of "
            f"{other_table.name}?",
            self._differences(other, shared, n, first),
            (Differences,),
            tables=frozenset({table.sql, other_table.sql}),
        )

    def _step(self, name: str, description: str, sql: str, *models: type[CellModel]) -> Statement:
        """A statement on the table, whose name replaces the braces in `description`."""
        question = self.question.resolved
        return step(question, name, description.format(question.table.name), sql, *models)

    @abstractmethod
    def _violating(self, violated: Sequence[str]) -> str:
        """The SQL of `violating`, by the predicates of the rules."""

    @abstractmethod
    def _empty(self, row: Row, groupings: Sequence[Row]) -> dict[str, Any]:
        """The arguments of the macro of `first_empty`: the groupings that lack a combination."""

    @abstractmethod
    def _groups(
        self, checks: Sequence[Mapping[str, Any]], row: Row, first: int | None
    ) -> str | None:
        """The SQL of `groups`; None where no dimension has several nodes."""

    @abstractmethod
    def _differences(
        self, other: Self, shared: Sequence[str], n: int | None, first: int | None
    ) -> str:
        """The SQL of `differences`."""

    def _rules(self) -> list[dict[str, Any]]:
        """The predicate and the shortfall of each rule for single cells, if it gates, and its
        figure for the worst."""
        rules = []
        for number, check in enumerate(self.question.checks, start=1):
            model = check.model
            if not model.is_primary:
                continue
            parameters = {**model.parameters, "exact": self.exact.is_exact}
            violated = (
                render_known(f"{model.name()}_violated", **parameters) if check.gates else None
            )
            measured = None
            if model.needs_value:
                worst = "max" if model.worst == "greatest" else "min"
                measured = f"{worst}({render_known(model.name(), **parameters)})"
            macro = f"{model.name()}_shortfall"
            is_measured = check.gates and macro in macro_names()
            rules.append(
                {
                    "number": number,
                    "violated": violated,
                    "measured": measured,
                    "shortfall": render_known(macro, **parameters) if is_measured else None,
                }
            )
        return rules

    def _violated(self) -> list[str]:
        """The predicate of each rule for single cells that gates."""
        return [f"({rule['violated']})" for rule in self._gating()]

    def _gating(self) -> list[dict[str, Any]]:
        return [rule for rule in self._rules() if rule["violated"]]

    def _rule_models(self) -> Iterator[type[CellModel]]:
        """The models of the rules for single cells."""
        yield from dict.fromkeys(
            type(model) for model, _ in self.question.checks if model.is_primary
        )

    def _group_checks(self, *, gating: bool) -> Iterator[dict[str, Any]]:
        """The checks of groups, or those that gate, with the dimensions that each looks along."""
        for number, check in enumerate(self.question.checks, start=1):
            model = check.model
            if isinstance(model, GroupDisclosure) and (check.gates or not gating):
                yield {
                    "number": number,
                    "disclosed": render_known("group_disclosure", **model.parameters),
                    "along": [
                        index
                        for index, dimension in enumerate(self.question.dimensions, start=1)
                        if model.along is None
                        or any(same_name(name, dimension.raw.name) for name in model.along)
                    ],
                }


class RecordCells(CellStatements):
    """The statements on cells that are made from records."""

    def opening(self) -> Iterator[Statement]:
        """The preconditions on the records, then the facts on their figures."""
        yield from (precondition.statement for precondition in cell_preconditions(self.question))
        yield from filter(None, [self.facts()])

    def facts(self) -> Statement | None:
        """None where there are neither values nor contributors."""
        question, resolved = self.question, self.question.resolved
        columns = [
            column for column in (question.value, resolved.entity, resolved.weight) if column
        ]
        if not columns:
            return None
        names, table = name_list(columns), resolved.table.name
        description = f"Are the values of {names} in {table} numbers, and of somebody?"
        sql = render(
            "figure_facts",
            relation=records(resolved, columns),
            column=question.value,
            contributor=resolved.entity,
            weight=resolved.weight,
            # Elsewhere a column of numbers may hold NaN (Postgres) or text (SQLite).
            typed=resolved.table.embedded
            and question.value is not None
            and _scale(question.value.type) is not None,
        )
        return step(resolved, "figures", description, sql)

    def rules(self) -> Statement:
        question, resolved = self.question, self.question.resolved
        names = name_list([dimension.raw for dimension in question.dimensions])
        return step(
            resolved,
            "cells",
            f"What do the cells of {resolved.table.name} by {names} hold of their "
            f"{'contributors' if resolved.entity else 'records'}?",
            render("cell_rules", cells=self._sums(), rules=self._rules(), nodes=_nodes(question)),
            *self._rule_models(),
        )

    def groupings(self) -> None:
        """None: the rules count the cells of each grouping."""

    def each_cell(self, name: str) -> Statement:
        """Each cell that violates a rule by itself counts as suppressed."""
        description = "What would {} show if just its sensitive cells were suppressed?"
        return self._step(name, description, self._violating(self._violated(), first=None))

    def listed(self, name: str) -> Statement:
        sql = self._violating(self._violated(), first=None, rules=self._gating())
        return self._step(name, "Which rules does each cell of {} violate?", sql)

    def _violating(
        self,
        violated: Sequence[str],
        first: int | None = SHOWN,
        rules: Sequence[Mapping[str, Any]] = (),
    ) -> str:
        cells, predicate = self._sums(), " or ".join(violated)
        is_exact = TRAITS[self.question.resolved.table.dialect].adds_decimals
        units = 0 if is_exact else self.exact.decimals
        return render(
            "sensitive_cells",
            violated=predicate,
            first=first,
            cells=cells,
            units=units or 0,
            rules=rules,
        )

    def missing(self, row: Row, groupings: Sequence[Row]) -> dict[bool, int]:
        empty = self._empty_by_grouping(row)
        return {False: empty.pop(0), True: sum(empty.values())}

    def _empty_by_grouping(self, row: Row) -> dict[int, int]:
        empty_cells = {}
        for grouping in self.question.groupings:
            combinations = 1
            for number, level in enumerate(grouping.levels, start=1):
                if level is not None:
                    combinations *= int(row[f"kanon_nodes_{node_name(number, level)}"])
            empty_cells[grouping.number] = combinations - int(row[f"kanon_cells_{grouping.number}"])
        return empty_cells

    def _empty(self, row: Row, groupings: Sequence[Row]) -> dict[str, Any]:
        question = self.question
        labels = [generated_or_quoted(column.alias) for column in question.columns]

        def nodes_at(dimension: Dimension, level: int) -> dict[str, Any]:
            below = is_repeated(dimension, level)
            repeated = f" and not ({below})" if below else ""
            return {
                "names": [generated_or_quoted(column.alias) for column in dimension.levels[level:]],
                "predicate": f"kanon_grouping = 0{repeated}",
            }

        def of_grouping(grouping: Grouping) -> dict[str, Any]:
            number = str(grouping.number)
            keyed = [generated_or_quoted(column.alias) for column in grouping.columns]
            return {
                "own": f"kanon_grouping = {number}",
                "fixed": {"kanon_grouping": number}
                | {label: "null" for label in labels if label not in keyed},
                "nodes": [
                    nodes_at(dimension, level)
                    for dimension, level in zip(question.dimensions, grouping.levels, strict=True)
                    if level is not None
                ],
            }

        empty = self._empty_by_grouping(row)
        return {
            "sets": render("ctes_of_cells", cells=_counts(question, question.groupings)),
            "cells": "cells",
            "labels": ["kanon_grouping", *labels],
            "groupings": [
                of_grouping(grouping) for grouping in question.groupings if empty[grouping.number]
            ],
        }

    def _groups(self, checks: Sequence[Mapping[str, Any]], row: Row, first: int | None) -> str:
        groupings, families = _families(self.question)
        return render(
            "group_counts",
            cells=_counts(self.question, groupings),
            families=families,
            nodes=[{**node, "below": None} for node in _nodes(self.question)],
            checks=checks,
            first=first,
        )

    def _differences(
        self, other: Self, shared: Sequence[str], n: int | None, first: int | None
    ) -> str:
        question = self.question
        names = [dimension.raw.name for dimension in question.dimensions]
        places = [names.index(name) for name in shared]
        compared = self._shared_levels(shared)
        if not compared:
            missing = ", ".join(name for name in names if name not in shared)
            raise SpecError(
                f"differences: no cell of {question.resolved.table.name} is a total over "
                f"{missing}, which the second table lacks. Publish such margins: "
                f"{option('margins')}."
            )
        levels = [tuple(published[index] for index in places) for published in compared]

        def side(cells: CellQuestion) -> dict[str, Any]:
            groupings = [cells.grouping(number, shown) for number, shown in enumerate(levels)]
            repeated = list(_repeated(cells.dimensions, groupings))
            return {**_counts(cells, groupings), "repeated": repeated}

        ours = replace(question, dimensions=tuple(question.dimensions[index] for index in places))
        theirs = other.question
        return render(
            "differences_of_records", here=side(ours), there=side(theirs), n=n, first=first
        )

    def _shared_levels(self, shared: Sequence[str]) -> list[Levels]:
        """The level of each dimension in the cells that are compared with a second table:
        dimensions that it lacks are totals."""
        names = [dimension.raw.name for dimension in self.question.dimensions]
        total_places = [index for index, name in enumerate(names) if name not in shared]
        return [
            grouping.levels
            for grouping in self.question.groupings
            if all(grouping.levels[index] is None for index in total_places)
        ]

    def labels(self, listing: CellListing, row: Row, shared: Sequence[str]) -> dict[str, Any]:
        question = self.question
        groupings = _families(question)[0] if listing == "groups" else question.groupings
        levels = [grouping.levels for grouping in groupings]
        if listing == "differences":
            levels = self._shared_levels(shared)
        at = list(zip(question.dimensions, levels[int(row["kanon_grouping"])], strict=True))
        labels = {
            dimension.raw.name: None if level is None else row[dimension.levels[level].alias]
            for dimension, level in at
        }
        return {
            **labels,
            "totals": [dimension.raw.name for dimension, level in at if level is None],
        }

    def _sums(self) -> dict[str, Any]:
        """The cells with the sum of their figures, for the macros."""
        question = self.question
        figure, weighted = self._figures()
        return {
            **_counts(question, question.groupings),
            "counted": None,
            "figure": figure,
            "weighted": weighted,
            "ranks": question.rank,
            "repeated": list(_repeated(question.dimensions, question.groupings)),
            "top": question.has_largest,
        }

    def _figures(self) -> tuple[str | None, str | None]:
        """The value of a record, and the value times its weight."""
        exact, value, weight = self.exact, self.question.value, self.question.resolved.weight
        if value is None:
            return None, None

        def figure(digits: int | None) -> str:
            typed, narrow = exact.typed and exact.is_exact, exact.narrow
            return render("typed_figure", column=value, digits=digits, typed=typed, narrow=narrow)

        if weight is None:
            return figure(exact.digits), None
        digits = exact.weight_digits if exact.is_exact else None
        typed = exact.is_exact and _scale(weight.type) is not None
        factor = render("typed_figure", column=weight, digits=digits, typed=typed)
        return figure(exact.decimals), f"{figure(exact.digits)} * {factor}"


def _counts(question: CellQuestion, groupings: Sequence[Grouping]) -> dict[str, Any]:
    """The cells with their numbers of contributors, for the macros."""
    return {
        "relation": question.relation,
        "columns": question.columns,
        "groupings": groupings,
        "contributor": question.resolved.entity,
        "counted": question.value,
        "figure": None,
        "weighted": None,
        "ranks": [],
        "repeated": [],
        "top": False,
    }


def _nodes(question: CellQuestion) -> list[dict[str, Any]]:
    """The levels of each dimension whose nodes are counted."""
    return [
        {
            "name": node_name(number, level),
            "column": column,
            "below": is_repeated(dimension, level),
        }
        for number, dimension in enumerate(question.dimensions, start=1)
        for level, column in enumerate(dimension.levels)
    ]


def node_names(question: CellQuestion) -> list[str]:
    """The names of all counts of nodes."""
    return [node["name"] for node in _nodes(question)]


def node_name(index: int, level: int) -> str:
    """Names the count of the nodes of a dimension at a level."""
    return f"{index}_{level}"


def is_repeated(dimension: Dimension, level: int) -> str | None:
    """Predicate: the label of a level repeats that of the level below, as NULL always does; None
    for the raw values."""
    return _is_null_or_one_of(dimension, level, dimension.repeated(level)) if level else None


def _is_null_or_one_of(dimension: Dimension, level: int, labels: Sequence[str]) -> str:
    """Predicate: the label of a level is NULL, or one of these."""
    column = generated_or_quoted(dimension.levels[level].alias)
    listed = ", ".join(literal(label) for label in labels)
    return f"{column} is null or {column} in ({listed})" if labels else f"{column} is null"


def _repeated(dimensions: Sequence[Dimension], groupings: Sequence[Grouping]) -> Iterator[str]:
    """Predicates: a cell repeats one of a lower level."""
    for index, dimension in enumerate(dimensions):
        for level in range(1, len(dimension.levels)):
            predicate = is_repeated(dimension, level)
            numbers = [grouping.number for grouping in groupings if grouping.levels[index] == level]
            if predicate and numbers:
                yield f"kanon_grouping in ({', '.join(map(str, numbers))}) and ({predicate})"


def _excluded_groups(question: CellQuestion, parents: Levels, along: int) -> Iterator[str]:
    """Predicates of the groups to exclude: those with one child along a dimension, and those that
    repeat a group of a lower level of another dimension."""
    for index, (dimension, level) in enumerate(zip(question.dimensions, parents, strict=True)):
        if level:
            labels = dimension.only_children if index == along else dimension.repeated
            yield _is_null_or_one_of(dimension, level, labels(level))


def _level_of_values(dimension: Dimension) -> int:
    """The level at which a dimension with one node has no group below its total: the raw values in
    a hierarchy of labels, whose nodes all lie below the total; with a builder, which has only the
    nodes of the table, the highest level."""
    is_listed = dimension.hierarchy is not None and dimension.hierarchy.table is not None
    return 0 if is_listed else len(dimension.levels) - 1


def _families(question: CellQuestion) -> tuple[list[Grouping], list[dict[str, Any]]]:
    """The groupings, and which are children and parents of each other along a dimension."""
    numbers: dict[Levels, int] = {
        grouping.levels: grouping.number for grouping in question.groupings
    }
    families = []
    for grouping in question.groupings:
        for index, level in enumerate(grouping.levels):
            if level is None:
                continue
            dimension = question.dimensions[index]
            for parents, membership in _groups_above(question, grouping.levels, index):
                number = numbers.setdefault(parents, len(numbers))
                counted = _level_of_values(dimension) if parents[index] is None else 0
                families.append(
                    {
                        "dimension": index + 1,
                        "parents": number,
                        "children": grouping.number,
                        "keyed_by": question.grouping(number, parents).columns,
                        "node": node_name(index + 1, counted),
                        "alone": " or ".join(_excluded_groups(question, parents, index)) or None,
                        "among": membership,
                    }
                )
    return [question.grouping(number, levels) for levels, number in numbers.items()], families


def _groups_above(
    question: CellQuestion, children: Levels, along: int
) -> Iterator[tuple[Levels, str | None]]:
    """The levels of the groups above the cells of a grouping along a dimension. A label that is
    repeated on a level that is not published is itself a child of the level above that one: the
    predicate selects the cells whose groups these are."""
    dimension, level = question.dimensions[along], children[along]
    published = {grouping.levels for grouping in question.groupings}
    repeated: list[str] = []
    while level is not None:
        level = None if level == len(dimension.levels) - 1 else level + 1
        parents = (*children[:along], level, *children[along + 1 :])
        yield parents, " and ".join(repeated) or None
        if level is None or parents in published:
            break
        repeated.append(f"({is_repeated(dimension, level)})")
