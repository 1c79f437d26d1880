"""Plans the statements on the cells of a table: its groupings, its rules and their predicates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from kanon_sql.errors import SpecError, option
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.preconditions import preconditions, without_label
from kanon_sql.plan.question import AtLevel, BoundColumn, ResolvedQuestion, same_name
from kanon_sql.plan.resolve import column_levels, column_named, refuse_uncomparable
from kanon_sql.plan.steps import Precondition, name_list, records, step
from kanon_sql.spec.hierarchy import SUPPRESS
from kanon_sql.spec.models.cells import (
    CellModel,
    Differences,
    Dominance,
    GroupDisclosure,
    MinContributors,
    PPercent,
)
from kanon_sql.spec.published import PublishedSpec
from kanon_sql.spec.spec import SHOWN, TableSpec
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.quoting import generated_or_quoted, identifier, literal
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row, Table, family

MOST_DIGITS = 10**36
"""The largest product that a decimal of 38 digits holds, with room for a sum."""
MOST_NARROW = 10**17
"""The largest sum that a decimal of 18 digits holds, with room."""


class CellCheck(NamedTuple):
    """A rule for cells; `asked` unless it is measured by default."""

    model: CellModel
    asked: bool

    @property
    def gates(self) -> bool:
        return self.asked and self.model.gates


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
        found: dict[str, set[str]] = {}
        for raw, label in table.labels(level).items():
            found.setdefault(label, set()).add(below[raw])
        return found


class Grouping(NamedTuple):
    """The cells that have the same level of each dimension; None is the total."""

    number: int
    levels: tuple[int | None, ...]
    columns: list[BoundColumn]


@dataclass(frozen=True)
class CellQuestion:
    """The question on the cells of one table, with its columns resolved."""

    spec: PublishedSpec
    bound: ResolvedQuestion
    dimensions: tuple[Dimension, ...]
    value: BoundColumn | None
    checks: tuple[CellCheck, ...]

    @property
    def columns(self) -> list[BoundColumn]:
        """The columns of every level of every dimension."""
        return [column for each in self.dimensions for column in each.levels]

    @property
    def groupings(self) -> list[Grouping]:
        """Those of the inner cells, then those of the margins that are published."""
        inner = tuple(0 for _ in self.dimensions)
        found = [inner, *(each for each in self._margins() if each != inner)]
        return [self.grouping(number, levels) for number, levels in enumerate(dict.fromkeys(found))]

    def grouping(self, number: int, levels: tuple[int | None, ...]) -> Grouping:
        columns = [
            column
            for dimension, level in zip(self.dimensions, levels, strict=True)
            if level is not None
            for column in dimension.levels[level:]
        ]
        return Grouping(number, levels, columns)

    def _margins(self) -> Iterator[tuple[int | None, ...]]:
        margins = self.spec.margins
        if margins == "all":
            yield from product(*((*range(len(each.levels)), None) for each in self.dimensions))
        elif not isinstance(margins, str):
            for kept in margins:
                yield tuple(
                    0 if any(same_name(name, each.raw.name) for name in kept) else None
                    for each in self.dimensions
                )

    @property
    def relation(self) -> str:
        """The records, with the labels of every level."""
        own = [each.raw for each in self.dimensions]
        others = [self.value, self.bound.entity, self.bound.weight]
        levels = [column for each in self.dimensions for column in each.levels[1:]]
        return records(self.bound, [*own, *(each for each in others if each), *levels])

    @property
    def rank(self) -> list[int]:
        """The numbers of largest contributions that the checks add."""
        found = {1} if self.value else set()
        for model, _ in self.checks:
            if isinstance(model, Dominance):
                found.add(model.n)
            elif isinstance(model, PPercent):
                found |= {1, model.coalition + 1}
        return sorted(found)

    @property
    def has_largest(self) -> bool:
        """Whether the engine has an aggregate for the largest contributions."""
        return self.bound.table.embedded and max(self.rank, default=1) <= MOST_LARGEST


MOST_LARGEST = 1_000
"""Up to this rank DuckDB's aggregate for the largest values is used, which holds a list a cell."""


class Exactness(NamedTuple):
    """In which types the figures and weights are added; None is a float."""

    digits: int | None = None
    typed: bool = False
    """Whether the column itself is a whole number or a decimal."""
    weight_digits: int | None = 0
    narrow: bool = False
    """Whether 18 digits hold the sum of all figures."""

    @property
    def is_exact(self) -> bool:
        return self.digits is not None and self.weight_digits is not None


class CellTable(TableSpec):
    """A published table as one of records: its dimensions classify, its contributor counts."""

    marks: tuple[str, ...] = ()
    """What stands in place of suppressed figures."""


def table_of(spec: PublishedSpec) -> CellTable:
    return CellTable(
        source=spec.source,
        name=spec.name,
        connect=spec.connect,
        quasi_identifiers={
            name: next((each for key, each in spec.hierarchies.items() if same_name(key, name)), {})
            for name in spec.by
        },
        entity=spec.contributor,
        weight=spec.weight,
        where=spec.where,
        first=spec.first,
        null_strings=spec.null_strings,
        delimiter=spec.delimiter,
        decimal=spec.decimal,
        marks=tuple(mark.text for mark in spec.suppressed if mark.text),
        header=spec.header,
        hierarchy_faults=spec.hierarchy_faults,
    )


def cell_question(spec: PublishedSpec, bound: ResolvedQuestion) -> CellQuestion:
    """Resolve the dimensions with their levels, the value and the checks."""
    levels = column_levels(bound.roles, bound.facts)
    value = None
    if spec.value is not None:
        value = column_named(spec.value, bound.table, ("value",), alias="kanon_value")
        refuse_uncomparable(value, bound.table)
    dimensions = tuple(
        _dimension(
            place,
            column,
            levels[column.name] if _has_hierarchy(spec, column) else None,
            bound.table,
        )
        for place, column in enumerate(bound.quasi_identifiers, start=1)
    )
    return CellQuestion(spec, bound, dimensions, value, tuple(_checks(spec)))


def _has_hierarchy(spec: PublishedSpec, column: BoundColumn) -> bool:
    return any(same_name(name, column.name) for name in spec.hierarchies)


def _dimension(
    place: int, column: BoundColumn, levels: ColumnLevels | None, table: Table
) -> Dimension:
    if levels is None:
        return Dimension(column, (column,))
    height = levels.height
    while height and _is_total(levels, height):
        height -= 1
    at = tuple(
        AtLevel(column, levels, level, place, portable=not table.embedded)
        for level in range(1, height + 1)
    )
    labels = (
        BoundColumn(
            name=f"kanon_level_{each.level}_of_{place}",
            type="VARCHAR",
            alias=f"kanon_level_{each.level}_of_{place}",
            generalised=levels.sql(each.level, identifier(column.name)),
        )
        for each in at
    )
    return Dimension(column, (column, *labels), at, levels)


def _is_total(levels: ColumnLevels, level: int) -> bool:
    """Whether a level has a single node, so that it is the total."""
    if levels.table is not None and level <= levels.table.height:
        return len(set(levels.table.labels(level).values())) == 1
    return levels.label(level) == SUPPRESS


def _checks(spec: PublishedSpec) -> Iterator[CellCheck]:
    """The requested checks, gating ones first; then those measured by default."""
    asked = [
        CellCheck(check, asked=True)
        for check in spec.required_checks
        if isinstance(check, CellModel)
    ]
    yield from sorted(asked, key=lambda check: not check.gates)
    names = {check.model.name() for check in asked}
    if "min_contributors" not in names and (not spec.is_magnitude or spec.count or not spec.cells):
        yield CellCheck(MinContributors(), asked=False)
    if spec.is_magnitude and not spec.cells:
        ranks = {check.model.n for check in asked if isinstance(check.model, Dominance)}
        yield from (
            CellCheck(Dominance(n=rank), asked=False) for rank in (1, 2) if rank not in ranks
        )


# --- from records ---------------------------------------------------------------------------


def cell_preconditions(question: CellQuestion) -> Iterator[Precondition]:
    """What must hold of the records: readable conditions, weights, labels at every level."""
    bound = question.bound
    yield from preconditions(bound)
    for each in (at for dimension in question.dimensions for at in dimension.at):
        name = f"labels_{each.level}_{each.raw.name}"
        yield from without_label(bound, each, bound.table, records(bound, [each.raw]), name)


def facts_step(question: CellQuestion) -> Statement | None:
    """The statement on the values and contributors of the records, if there are any."""
    bound = question.bound
    columns = [each for each in (question.value, bound.entity, bound.weight) if each]
    if not columns:
        return None
    return step(
        bound,
        "figures",
        f"Are the values of {name_list(columns)} in {bound.table.name} numbers, and of somebody?",
        render(
            "figure_facts",
            relation=records(bound, columns),
            column=question.value,
            contributor=bound.entity,
            weight=bound.weight,
            # Elsewhere a column of numbers may hold NaN (Postgres) or text (SQLite).
            typed=bound.table.embedded
            and question.value is not None
            and _scale(question.value.type) is not None,
        ),
    )


def exactness(question: CellQuestion, facts: Row | None) -> Exactness:
    """The types in which sums are exact, and fit with every factor of a rule."""
    value, weight = question.value, question.bound.weight
    if value is None:
        return Exactness(0)
    has_decimals = question.bound.table.dialect != "sqlite"
    scale = _scale(value.type)
    digits: int | None
    if scale is not None:
        digits, typed = scale, True
    elif facts is None:
        digits, typed = None, False
    else:
        whole = not facts["kanon_not_whole"]
        digits = 0 if whole else 6 if not facts["kanon_not_decimal"] else None
        typed = False
    if digits and not has_decimals:
        digits = None
    weight_digits: int | None = 0
    highest = 1.0
    if weight is not None:
        weight_digits = 0 if facts and not facts["kanon_weights_not_whole"] else None
        highest = float(facts["kanon_highest_weight"] or 1) if facts else 1.0
    size = float(facts["kanon_size"] or 0) if facts else 0.0
    factors = [_factor(model) for model, _ in question.checks]
    if digits is not None and size * highest * 10**digits * max(factors, default=1) > MOST_DIGITS:
        digits = None
    narrow = facts is not None and digits is not None and size * 10**digits < MOST_NARROW
    narrow = narrow and weight is None and question.bound.table.embedded
    return Exactness(digits, typed, weight_digits, narrow)


def typed_exactness(question: CellQuestion) -> Exactness:
    """The types that the columns alone tell; figures of no exact type are taken for decimals."""
    if question.value is None:
        return Exactness(0)
    scale = _scale(question.value.type)
    return Exactness(6) if scale is None else Exactness(scale, typed=True)


def _scale(type: str) -> int | None:
    """The number of decimals of an exact type; None for floats and text."""
    if family(type) != "number" or type.startswith(("DOUBLE", "FLOAT", "REAL")):
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


def cells_step(question: CellQuestion, exact: Exactness) -> Statement:
    """The statement that judges every rule for single cells at once."""
    bound = question.bound
    rules = _rules(question, exact)
    names = name_list([each.raw for each in question.dimensions])
    return step(
        bound,
        "cells",
        f"What do the cells of {bound.table.name} by {names} hold of their "
        f"{'contributors' if bound.entity else 'records'}?",
        render("cell_rules", cells=_sums(question, exact), rules=rules, nodes=_nodes(question)),
        *dict.fromkeys(type(model) for model, _ in question.checks if model.is_primary),
    )


def violating_cells_step(question: CellQuestion, exact: Exactness) -> Statement | None:
    """The statement on the first cells that violate a rule by themselves, which shows values; None
    without such a rule."""
    if not any(check.gates and check.model.is_primary for check in question.checks):
        return None
    found = sensitive_cells_step(question, exact, "violating_cells", first=SHOWN)
    asked = f"Which cells of {question.bound.table.name} violate a rule by themselves?"
    return replace(found, question=asked)


def sensitive_cells_step(
    question: CellQuestion, exact: Exactness, name: str, first: int | None = None
) -> Statement:
    """The statement on each cell, its figure, and whether it violates a rule by itself; on the
    `first` that do, if given."""
    rules = [rule for rule in _rules(question, exact) if rule["violated"]]
    return step(
        question.bound,
        name,
        f"What would {question.bound.table.name} show if just its sensitive cells were suppressed?",
        render(
            "sensitive_cells",
            violated=" or ".join(f"({rule['violated']})" for rule in rules),
            first=first,
            cells=_sums(question, exact),
        ),
    )


def _sums(question: CellQuestion, exact: Exactness) -> dict[str, Any]:
    """The cells with the sum of their figures, for the macros."""
    figure, weighted = _figures(question, exact)
    return {
        **_counts(question, question.groupings),
        "counted": None,
        "figure": figure,
        "weighted": weighted,
        "ranks": question.rank,
        "repeated": list(_repeated(question)),
        "top": question.has_largest,
    }


def _counts(question: CellQuestion, groupings: Sequence[Grouping]) -> dict[str, Any]:
    """The cells with their numbers of contributors, for the macros."""
    return {
        "relation": question.relation,
        "columns": question.columns,
        "groupings": groupings,
        "contributor": question.bound.entity,
        "counted": question.value,
        "figure": None,
        "weighted": None,
        "ranks": [],
        "repeated": [],
        "top": False,
    }


def _figures(question: CellQuestion, exact: Exactness) -> tuple[str | None, str | None]:
    """The value of a record, and the value times its weight."""
    value, weight = question.value, question.bound.weight
    if value is None:
        return None, None
    digits = exact.digits if exact.is_exact else None
    typed = exact.typed and digits is not None
    figure = render("typed_figure", column=value, digits=digits, typed=typed, narrow=exact.narrow)
    if weight is None:
        return figure, None
    factor = render("typed_figure", column=weight, digits=None if digits is None else 0)
    return figure, f"{figure} * {factor}"


def _rules(question: CellQuestion, exact: Exactness) -> list[dict[str, Any]]:
    """The predicate of each rule for single cells, if it gates, and its figure for the worst."""
    rules = []
    for number, check in enumerate(question.checks, start=1):
        model = check.model
        if not model.is_primary:
            continue
        parameters = {**model.parameters, "exact": exact.is_exact}
        violated = render_known(f"{model.name()}_violated", **parameters) if check.gates else None
        measured = None
        if model.needs_value:
            worst = "max" if model.worst == "greatest" else "min"
            measured = f"{worst}({render_known(model.name(), **parameters)})"
        rules.append({"number": number, "violated": violated, "measured": measured})
    return rules


def _nodes(question: CellQuestion) -> list[dict[str, Any]]:
    """The levels of each dimension whose nodes are counted."""
    return [
        {
            "name": node_name(place, level),
            "column": column,
            "below": is_repeated(dimension, level),
        }
        for place, dimension in enumerate(question.dimensions, start=1)
        for level, column in enumerate(dimension.levels)
    ]


def node_names(question: CellQuestion) -> list[str]:
    """The names of all counts of nodes."""
    return [node["name"] for node in _nodes(question)]


def node_name(place: int, level: int) -> str:
    """Names the count of the nodes of a dimension at a level."""
    return f"{place}_{level}"


def is_repeated(dimension: Dimension, level: int) -> str | None:
    """Predicate: the label of a level repeats that of the level below."""
    return _is_one_of(dimension, level, dimension.repeated(level))


def _is_one_of(dimension: Dimension, level: int, labels: Sequence[str]) -> str | None:
    """Predicate: the label of a level is one of these; None without any."""
    if not labels:
        return None
    listed = ", ".join(literal(each) for each in labels)
    return f"{generated_or_quoted(dimension.levels[level].alias)} in ({listed})"


def _repeated(question: CellQuestion) -> Iterator[str]:
    """Predicates: a cell repeats one of a lower level."""
    for place, dimension in enumerate(question.dimensions):
        for level in range(1, len(dimension.levels)):
            predicate = is_repeated(dimension, level)
            numbers = [each.number for each in question.groupings if each.levels[place] == level]
            if predicate and numbers:
                yield f"kanon_grouping in ({', '.join(map(str, numbers))}) and {predicate}"


def first_empty_step(question: CellQuestion, row: Row) -> Statement | None:
    """The statement on the first combinations without a record, with their labels; None without
    such a combination, or a rule that they violate."""

    def nodes_at(dimension: Dimension, level: int) -> dict[str, Any]:
        below = is_repeated(dimension, level)
        repeated = f" and not coalesce({below}, false)" if below else ""
        return {
            "names": [generated_or_quoted(each.alias) for each in dimension.levels[level:]],
            "predicate": f"kanon_grouping = 0{repeated}",
        }

    def of_grouping(grouping: Grouping) -> dict[str, Any]:
        number = str(grouping.number)
        keyed = [generated_or_quoted(each.alias) for each in grouping.columns]
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

    labels = [generated_or_quoted(each.alias) for each in question.columns]
    empty = empty_cells(question, row)
    groupings = [of_grouping(each) for each in question.groupings if empty[each.number]]
    sets = render("sets_of_cells", cells=_counts(question, question.groupings))
    return empty_step(question, sets, "cells", ["kanon_grouping", *labels], groupings)


def empty_step(
    question: CellQuestion,
    sets: str,
    cells: str,
    labels: Sequence[str],
    groupings: Sequence[Mapping[str, Any]],
) -> Statement | None:
    """The statement on the first combinations without a cell, of groupings that have one."""
    asked = [each.model for each in question.checks if each.gates]
    if not groupings or not any(
        isinstance(model, MinContributors) and model.zeros == "disclosive" for model in asked
    ):
        return None
    return step(
        question.bound,
        "empty_cells",
        f"Which combinations of labels have no cell in {question.bound.table.name}?",
        render(
            "first_empty_cells",
            sets=sets,
            cells=cells,
            labels=labels,
            groupings=groupings,
            first=SHOWN,
        ),
    )


def empty_cells(question: CellQuestion, row: Row) -> dict[int, int]:
    """The combinations of nodes without a record, by grouping."""
    found = {}
    for grouping in question.groupings:
        combinations = 1
        for place, level in enumerate(grouping.levels, start=1):
            if level is not None:
                combinations *= int(row[f"kanon_nodes_{node_name(place, level)}"])
        found[grouping.number] = combinations - int(row[f"kanon_cells_{grouping.number}"])
    return found


# --- groups and second tables ---------------------------------------------------------------


def group_checks(question: CellQuestion, *, gating: bool = False) -> list[dict[str, Any]]:
    """The checks of groups, or those that gate, with the dimensions that each looks along."""
    return [
        {
            "number": number,
            "disclosed": render_known("group_disclosure", **check.model.parameters),
            "along": [
                place
                for place, dimension in enumerate(question.dimensions, start=1)
                if check.model.along is None
                or any(same_name(name, dimension.raw.name) for name in check.model.along)
            ],
        }
        for number, check in enumerate(question.checks, start=1)
        if isinstance(check.model, GroupDisclosure) and (check.gates or not gating)
    ]


def groups_step(question: CellQuestion, first: int | None = None) -> Statement | None:
    """The statement on the groups of which all members fall into one category. With `first`, its
    rows are the first groups that a rule forbids, with their labels."""
    checks = group_checks(question, gating=first is not None)
    if not checks:
        return None
    bound = question.bound
    groupings, families = _groups(question)
    return step(
        bound,
        "groups" if first is None else "disclosed_groups",
        f"In which groups of {bound.table.name} do all members fall into one category?",
        render(
            "group_counts",
            cells=_counts(question, groupings),
            families=families,
            nodes=_nodes(question),
            checks=checks,
            first=first,
        ),
        GroupDisclosure,
    )


def levels_of_groups(question: CellQuestion) -> list[tuple[int | None, ...]]:
    """The level of each dimension in the groupings that `groups_step` counts, in their order."""
    return [grouping.levels for grouping in _groups(question)[0]]


def _groups(question: CellQuestion) -> tuple[list[Grouping], list[dict[str, Any]]]:
    """The groupings, and which are children and parents of each other along a dimension."""
    numbers: dict[tuple[int | None, ...], int] = {
        each.levels: each.number for each in question.groupings
    }
    families = []
    for grouping in question.groupings:
        for place, level in enumerate(grouping.levels):
            if level is None:
                continue
            dimension = question.dimensions[place]
            is_top = level == len(dimension.levels) - 1
            above = None if is_top else level + 1
            parents = (*grouping.levels[:place], above, *grouping.levels[place + 1 :])
            number = numbers.setdefault(parents, len(numbers))
            families.append(
                {
                    "dimension": place + 1,
                    "parents": number,
                    "children": grouping.number,
                    "keyed_by": question.grouping(number, parents).columns,
                    "node": node_name(place + 1, level) if is_top else None,
                    "alone": None
                    if is_top
                    else _is_one_of(dimension, level + 1, dimension.only_children(level + 1)),
                }
            )
    return [question.grouping(number, levels) for levels, number in numbers.items()], families


def shared_levels(question: CellQuestion, shared: Sequence[str]) -> list[tuple[int | None, ...]]:
    """The level of each dimension in the cells that are compared with a second table: dimensions
    that it lacks are totals."""
    own = [dimension.raw.name for dimension in question.dimensions]
    rest = [place for place, name in enumerate(own) if name not in shared]
    return [
        grouping.levels
        for grouping in question.groupings
        if all(grouping.levels[place] is None for place in rest)
    ]


def differences_step(
    question: CellQuestion,
    name: str,
    other: CellQuestion,
    shared: Sequence[str],
    n: int | None,
    first: int | None = None,
) -> Statement:
    """The statement that compares the cells that this table and a second one have. With `first`,
    its rows are the first cells that violate, with their labels.

    `shared` are the dimensions of this table that the second one has, in its order.
    """
    own = [dimension.raw.name for dimension in question.dimensions]
    places = [own.index(each) for each in shared]
    compared = shared_levels(question, shared)
    if not compared:
        lacking = ", ".join(name for name in own if name not in shared)
        raise SpecError(
            f"differences: no cell of {question.bound.table.name} is a total over {lacking}, which "
            f"the second table lacks. Publish such margins: {option('margins')}."
        )
    levels = [tuple(each[place] for place in places) for each in compared]

    def side(asked: CellQuestion) -> dict[str, Any]:
        return _counts(asked, [asked.grouping(number, each) for number, each in enumerate(levels)])

    here = replace(question, dimensions=tuple(question.dimensions[place] for place in places))
    tables = frozenset(each.bound.table.sql for each in (question, other))
    return Statement(
        f"differences_{name}" if first is None else f"differing_cells_{name}",
        f"By how many contributors do the cells of {question.bound.table.name} differ from those "
        f"of {other.bound.table.name}?",
        render("differences_of_records", here=side(here), there=side(other), n=n, first=first),
        (Differences,),
        "",
        tables,
    )
