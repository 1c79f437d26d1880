"""The statements on the cells of a table made from records."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from kanon_sql.errors import SpecError, option
from kanon_sql.models.base import CellModel
from kanon_sql.models.cells.cell_question import (
    CellQuestion,
    Dimension,
    Exactness,
    Grouping,
    Levels,
    cell_preconditions,
    exactness,
    scale_of,
)
from kanon_sql.models.cells.models import (
    Differences,
    GroupDisclosure,
    MinContributors,
)
from kanon_sql.plan.question import same_name
from kanon_sql.plan.steps import name_list, records, step
from kanon_sql.question.spec import SHOWN
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import macro_names, render, render_known
from kanon_sql.sql.quoting import generated_or_quoted, literal
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

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
            and scale_of(question.value.type) is not None,
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
        typed = exact.is_exact and scale_of(weight.type) is not None
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


def two_of_each(question: CellQuestion) -> dict[str, int]:
    """Counts of nodes as a row of `rules` has them, where every dimension has several."""
    return {f"kanon_nodes_{node['name']}": 2 for node in _nodes(question)}


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
