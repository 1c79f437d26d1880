"""The statements on a table as it is published, one row a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any, Literal, Self

from kanon_sql.errors import InputError, SpecError
from kanon_sql.models.base import CellModel
from kanon_sql.models.cells.cell_question import (
    FLOATING,
    MOST_DIGITS,
    UNKNOWN,
    CellQuestion,
    Dimension,
    Exactness,
    cell_question,
    decimals_of,
    exactness,
    table_of,
    typed_exactness,
)
from kanon_sql.models.cells.plan import (
    CellListing,
    CellStatements,
    RecordCells,
    node_name,
    two_of_each,
)
from kanon_sql.models.examples import CellExample
from kanon_sql.plan.binding import bind
from kanon_sql.plan.bound_columns import column_named
from kanon_sql.plan.question import BoundColumn, same_name
from kanon_sql.plan.resolve import resolve
from kanon_sql.plan.steps import records
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.spec import SHOWN
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, Row, Table


@dataclass(frozen=True)
class CellRelation:
    """The cells of one table, one row each, as a relation of the embedded DuckDB.

    Its columns: for each dimension i `kanon_d{i}`, the label as text, NULL for a total and for the
    value NULL, and `kanon_t{i}`, 1 where it is the total, else 0; `kanon_figure`, NULL where it is
    suppressed; `kanon_suppressed`, 1 or 0; `kanon_low` and `kanon_high`, the bounds of a suppressed
    figure, NULL for an open one.
    """

    relation: str
    """The FROM item."""
    dimensions: int
    parents: tuple[str | None, ...]
    """For each dimension with a hierarchy the relation of `kanon_node` and `kanon_parent`, which is
    NULL below the total; None where every label lies below the total."""
    whole: bool
    """Whether the figures are counts."""
    absent: Literal["zero", "suppressed"]
    low: Decimal | None
    """The lowest value that any figure can have, which everyone knows."""
    high: Decimal | None
    totals: str | None = "true"
    """What totals are. Where nobody says, None, they are true, unless each is the sum of what is
    shown."""
    doubtful: bool = False
    """Whether a row may be an undeclared total: a cell in no equation then stays undecided."""


LIKE_A_TOTAL = (
    *("total", "totals", "all", "sum", "overall", "grand total", "subtotal"),
    *("gesamt", "insgesamt", "summe", "alle", "ensemble", "tous", "totale", "totaal", "suma"),
)
NOWHERE = "1 = 0"


@dataclass(frozen=True)
class PublishedDimension:
    """How one dimension of a published table is read, as SQL over its row."""

    dimension: Dimension
    label: str
    """The label as text."""
    total: str
    """Predicate: the row is a total over the dimension."""
    doubtful: str
    """Predicate: NULL that could be a total or a value."""
    like_total: str
    """Predicate: the label reads like a total, and none is declared."""
    no_flag: str
    """Predicate: the flag is neither 0 nor 1."""
    unknown: str = NOWHERE
    """Predicate: the label is no node of the hierarchy."""
    level: str | None = None
    """The level of the label in the hierarchy."""
    parent: str | None = None
    """The label above it, NULL for the total."""


def nodes_of(dimension: Dimension) -> dict[str, tuple[int, str | None]]:
    """Each label of a hierarchy with its lowest level, and the label above it, None below the
    total; empty without a hierarchy of labels."""
    table = dimension.hierarchy.table if dimension.hierarchy else None
    if table is None:
        return {}
    height = len(dimension.levels) - 1
    nodes: dict[str, tuple[int, str | None]] = {}
    paths = [
        (raw, *(table.labels(level)[raw] for level in range(1, height + 1)))
        for raw in table.labels(1)
    ]
    for level in range(height + 1):
        for path in paths:
            parent = next((label for label in path[level + 1 :] if label != path[level]), None)
            nodes.setdefault(path[level], (level, parent))
    return nodes


def top_of(dimension: Dimension) -> list[str]:
    """The one label above all others of a hierarchy, which is the total."""
    table = dimension.hierarchy.table if dimension.hierarchy else None
    if table is None:
        return []
    above = range(len(dimension.levels), table.height + 1)
    labels = {label for level in above for label in table.labels(level).values()}
    return sorted(labels - set(nodes_of(dimension)))


def named_cell(names: Sequence[str], row: Row, **figures: Any) -> dict[str, Any]:
    """A published cell with its labels; `totals` tells a total from the value NULL."""
    return {
        **{name: row[f"kanon_d{number}"] for number, name in enumerate(names, start=1)},
        "totals": [name for number, name in enumerate(names, 1) if row[f"kanon_t{number}"]],
        **figures,
    }


@dataclass(frozen=True)
class PublishedCells(CellStatements):
    """The statements on a table as it is published, with its columns resolved."""

    value: BoundColumn
    count: BoundColumn | None
    flags: Mapping[str, BoundColumn]
    dimensions: tuple[PublishedDimension, ...]
    decimals: int | None = 6
    """In how many decimals totals are added up; None for floats."""

    def with_exactness(self, facts: Row) -> Self:
        """Raises `InputError` for figures that are too long to be added exactly."""
        spec = self.question.spec
        limits = [*spec.value_bounds, *(end for mark in spec.suppressed for end in mark[1:])]
        known = [limit for limit in limits if limit is not None]
        decimals = decimals_of(self.value, facts, "kanon_decimals", "kanon_largest")
        if decimals == UNKNOWN:
            return replace(self, exact=FLOATING, decimals=None)
        if spec.is_magnitude:
            decimals = max([decimals, *(-int(limit.as_tuple().exponent) for limit in known)])
        else:
            decimals = 0
        highest = max(map(abs, known), default=Decimal(0)) * int(facts["kanon_records"])
        size = Decimal(facts["kanon_size"] or 0) + highest
        if size * 10**decimals > MOST_DIGITS:
            raise InputError(
                f"{self.question.resolved.table.name}: the figures of {self.value.name} have "
                f"{size.adjusted() + 1} digits when added, and {decimals} decimals; up to "
                f"{len(str(MOST_DIGITS)) - 1} together are added exactly. Publish them rounded, or "
                "in a larger unit."
            )
        # Where there are no decimals, they would be so many of their smallest unit.
        is_exact = not decimals or TRAITS[self.question.resolved.table.dialect].adds_decimals
        exact = exactness(self.question, {**facts, "kanon_decimals": decimals})
        return replace(self, exact=exact if is_exact else FLOATING, decimals=decimals)

    @property
    def relation(self) -> str:
        return records(self.question.resolved, list(self.columns))

    @property
    def columns(self) -> Iterator[BoundColumn]:
        yield from (published.dimension.raw for published in self.dimensions)
        yield from self.flags.values()
        yield self.value
        if self.count:
            yield self.count

    @property
    def names(self) -> list[str]:
        """The names of its dimensions."""
        return [published.dimension.raw.name for published in self.dimensions]

    @property
    def places(self) -> list[int]:
        """The numbers of its dimensions, from 1."""
        return list(range(1, len(self.dimensions) + 1))

    @property
    def suppressed(self) -> str:
        """Predicate: a mark replaces the figure."""
        marks = [_is_mark(self.value, mark.text) for mark in self.question.spec.suppressed]
        return " or ".join(marks) or NOWHERE

    @property
    def has_totals(self) -> bool:
        """Whether a row may be a total."""
        return any(dimension.total != NOWHERE for dimension in self.dimensions)

    @property
    def counts(self) -> bool:
        """Whether the number of contributors is known."""
        return self.count is not None or not self.question.spec.is_magnitude

    def opening(self) -> Iterator[Statement]:
        """The facts on the rows, then the cells that have several."""
        yield self.facts()
        yield self.repeated()

    def facts(self) -> Statement:
        """The values that are neither a number nor a mark, and the labels in doubt too."""
        sql = render(
            "published_facts",
            relation=self.relation,
            columns=[column.name for column in self.columns],
            column=self.value,
            suppressed=self.suppressed,
            dimensions=self.dimensions,
            may_be_null=any(mark.text is None for mark in self.question.spec.suppressed),
            count=self.count,
            counts=self.counts,
        )
        description = "Which figures of {} are neither a number nor a declared mark?"
        return self._step("figures", description, sql)

    def repeated(self) -> Statement:
        """The statement that counts the cells with more than one row."""
        sql = render("repeated_cells", sets=self.sets(), dimensions=self.places)
        return self._step("repeated_cells", "Which cells of {} have more than one row?", sql)

    def rules(self) -> Statement:
        base = (self.question.spec.declared_totals or "").partition("rounded:")[2]
        exact = self.exact.is_exact
        off_the_grid = render("off_the_grid", step=base, exact=exact) if base else None
        sql = render(
            "published_rules",
            sets=self.sets(),
            margin=self._margin(),
            rules=[rule for rule in self._rules() if rule["violated"]],
            nodes=list(self._nodes()),
            contributors=self.counts,
            unrounded=off_the_grid,
        )
        description = "How many contributors do the cells of {} show?"
        return self._step("cells", description, sql, *self._rule_models())

    def groupings(self) -> Statement:
        keys = []
        for number, published in enumerate(self.dimensions, start=1):
            keys += [
                f"kanon_t{number}",
                *([f"kanon_l{number}"] if published.level is not None else []),
            ]
        sql = render("published_groupings", sets=self.sets(), keys=keys)
        return self._step("groupings", "Which margins of {} are published?", sql)

    def each_cell(self, name: str) -> Statement:
        """Each cell has the bounds of its suppressed figure."""
        sql = render("rows_of_published", sets=self.sets(ranges=True), dimensions=self.places)
        return self._step(name, "What does each cell of {} show?", sql)

    def listed(self, name: str) -> Statement:
        sql = render(
            "listed_published", sets=self.sets(), dimensions=self.places, rules=self._gating()
        )
        return self._step(name, "Which rules does each cell of {} violate?", sql)

    def missing(self, row: Row, groupings: Sequence[Row]) -> dict[bool, int]:
        missing = {False: 0, True: 0}
        for grouping in groupings:
            combinations, is_margin = 1, False
            for number, dimension in enumerate(self.dimensions, start=1):
                if grouping[f"kanon_t{number}"]:
                    is_margin = True
                    continue
                level = int(grouping[f"kanon_l{number}"]) if dimension.level is not None else 0
                is_margin = is_margin or level > 0
                combinations *= int(row[f"kanon_nodes_{node_name(number, level)}"])
            missing[is_margin] += combinations - int(grouping["kanon_cells"])
        return missing

    def labels(self, listing: CellListing, row: Row, shared: Sequence[str]) -> dict[str, Any]:
        compared = shared if listing == "differences" else self.names
        cell = named_cell(compared, row)
        totals = [name for name in self.names if name not in compared or name in cell["totals"]]
        return {**{name: cell.get(name) for name in self.names}, "totals": totals}

    def sets(self, set: str = "published_cells", *, ranges: bool = False) -> str:
        """The CTE with the cells, and the bounds of the suppressed ones if these are wanted."""
        exact, arguments = self.exact, dict[str, Any]()
        figure = render("typed_figure", column=self.value, digits=exact.digits, typed=exact.typed)
        if self.counts:
            arguments["contributors"] = render(
                "typed_figure", column=self.count or self.value, digits=0
            )
        if ranges:  # the figures are added up elsewhere, as they are written
            figure = render("written_figure", column=self.value)
            arguments |= {"low": self._bounds("low"), "high": self._bounds("high")}
        return render(
            "ctes_of_published",
            relation=self.relation,
            dimensions=self.dimensions,
            figure=figure,
            suppressed=self.suppressed,
            set=set,
            **arguments,
        )

    def _bounds(self, end: Literal["low", "high"]) -> str:
        """The lower or upper bound of a suppressed figure, by its mark."""
        spec = self.question.spec
        limit: Decimal | None = spec.value_bounds[0 if end == "low" else 1]
        branches = []
        for mark in spec.suppressed:
            declared: Decimal | None = getattr(mark, end)
            ends = [figure for figure in (declared, limit) if figure is not None]
            if ends:
                bound = inwards(max(ends) if end == "low" else min(ends), end, spec)
                branches.append(f"    when {_is_mark(self.value, mark.text)} then {bound:f}")
        return "\n".join(["case", *branches, "end"]) if branches else "cast(null as double)"

    def _margin(self) -> str:
        """Predicate: a cell is a total, or a subtotal, over some dimension."""
        predicates = []
        for number, dimension in enumerate(self.dimensions, start=1):
            predicates.append(f"kanon_t{number} = 1")
            if dimension.level is not None:
                predicates.append(f"kanon_l{number} > 0")
        return " or ".join(predicates)

    def _nodes(self) -> Iterator[dict[str, Any]]:
        for number, item in enumerate(self.dimensions, start=1):
            for level in range(len(item.dimension.levels) if item.level is not None else 1):
                of_level = f" and kanon_l{number} = {level}" if item.level is not None else ""
                yield {
                    "name": node_name(number, level),
                    "place": number,
                    "predicate": f"kanon_t{number} = 0{of_level}",
                }

    def _violating(self, violated: Sequence[str]) -> str:
        return render(
            "violating_published",
            sets=self.sets(),
            dimensions=self.places,
            violated=violated,
            first=SHOWN,
        )

    def _empty(self, row: Row, groupings: Sequence[Row]) -> dict[str, Any]:
        def of_grouping(grouping: Row) -> dict[str, Any]:
            keys = {
                name: str(int(value)) for name, value in grouping.items() if name != "kanon_cells"
            }
            nodes = []
            for index in self.places:
                names = (f"kanon_t{index}", f"kanon_l{index}")
                place_keys = {name: keys[name] for name in names if name in keys}
                if place_keys[f"kanon_t{index}"] == "0":
                    nodes.append({"names": [f"kanon_d{index}"], "predicate": _equal(place_keys)})
            totals = {f"kanon_d{p}": "null" for p in self.places if keys[f"kanon_t{p}"] == "1"}
            return {"own": _equal(keys), "fixed": keys | totals, "nodes": nodes}

        incomplete = [
            grouping for grouping in groupings if any(self.missing(row, [grouping]).values())
        ]
        return {
            "sets": self.sets(),
            "cells": "published_cells",
            "labels": [name for p in self.places for name in (f"kanon_t{p}", f"kanon_d{p}")],
            "groupings": list(map(of_grouping, incomplete)),
        }

    def _groups(
        self, checks: Sequence[Mapping[str, Any]], row: Row, first: int | None
    ) -> str | None:
        families = [
            family
            for number, dimension in enumerate(self.dimensions, start=1)
            if (family := self._family(number, dimension, row)) is not None
        ]
        if not families:
            return None
        return render(
            "published_groups",
            sets=self.sets(),
            families=families,
            checks=checks,
            dimensions=self.places,
            first=first,
        )

    def _family(self, index: int, published: PublishedDimension, row: Row) -> dict[str, Any] | None:
        """The groups along one dimension; None where it has a single node."""
        nodes = nodes_of(published.dimension)
        top = len(published.dimension.levels) - 1 if published.level is not None else 0
        below_total = int(row[f"kanon_nodes_{node_name(index, top)}"])
        if below_total <= 1 and not nodes:
            return None
        keys = []
        for other, dimension in enumerate(self.dimensions, start=1):
            if other != index:
                keys += [f"kanon_d{other}", f"kanon_t{other}"]
                keys += [f"kanon_l{other}"] if dimension.level is not None else []
        child_counts: dict[str | None, int] = {}
        for _, label in nodes.values():
            child_counts[label] = child_counts.get(label, 0) + 1
        parent = f"kanon_p{index}"
        keys += [parent] if nodes else []
        only_children = _listed(
            [label for label, count in child_counts.items() if label is not None and count == 1]
        )
        excluded = [f"{parent} in ({only_children})"] if only_children else []
        excluded += [f"{parent} is null"] if nodes and child_counts.get(None, 0) <= 1 else []
        children = None
        if self.question.spec.absent == "suppressed":
            counts = [
                (f"{parent} = {literal(a)}", str(n))
                for a, n in child_counts.items()
                if a is not None
            ]
            children = str(below_total)
            if nodes:
                whens = [f"    when {condition} then {count}" for condition, count in counts]
                children = "\n".join(
                    ["case", *whens, f"    else {child_counts.get(None, 0)}", "end"]
                )
        return {
            "dimension": index,
            "keyed_by": keys or ["kanon_t" + str(index)],
            "alone": " or ".join(f"coalesce({predicate}, false)" for predicate in excluded) or None,
            "parent": parent if nodes else None,
            "children": children,
            "several": render("has_several_values", place=index, parent=parent) if nodes else None,
        }

    def _differences(
        self, other: Self, shared: Sequence[str], n: int | None, first: int | None
    ) -> str:
        def side(cells: Self, places: Sequence[int], set: str) -> dict[str, Any]:
            totals = [index for index in cells.places if index not in places]
            return {"sets": cells.sets(set), "places": places, "totals": totals}

        own_places = [self.names.index(name) + 1 for name in shared]
        other_places = list(range(1, len(shared) + 1))
        return render(
            "differences_of_published",
            here=side(self, own_places, "published_here"),
            there=side(other, other_places, "published_there"),
            n=n,
            first=first,
        )


def inwards(
    bound: Decimal | None, end: Literal["low", "high"], spec: PublishedSpec
) -> Decimal | None:
    """A lower or upper bound of a figure; of a count, the whole number inside it."""
    if bound is None or spec.is_magnitude:
        return bound
    return bound.to_integral_value(ROUND_CEILING if end == "low" else ROUND_FLOOR)


def _equal(values: Mapping[str, str]) -> str:
    return " and ".join(f"{name} = {value}" for name, value in values.items())


def _text(column: BoundColumn) -> str:
    return render("text_of_label", column=column)


def _is_mark(value: BoundColumn, text: str | None) -> str:
    if text is None:
        return f"{_text(value)} is null"
    return f"coalesce({_text(value)}, '') = {literal(text)}" if text else NOWHERE


def statements_on(question: CellQuestion) -> CellStatements:
    """The statements on the cells of a table; figures of no exact type are taken for decimals."""
    if question.spec.cells:
        return published_cells(question)
    return RecordCells(question, typed_exactness(question))


def deciding(model: type[CellModel], example: CellExample) -> Statement | None:
    """The statement that decides a model for its example; None where none does."""
    if model.is_searched:
        return None
    figures = {
        column
        for index, column in enumerate(example.columns)
        if all(isinstance(row[index], int) for row in example.fails)
    }
    columns = tuple(
        Column(column, "INTEGER" if column in figures else "VARCHAR") for column in example.columns
    )
    spec = PublishedSpec(
        source="cells",
        checks=[model(**example.parameters)],
        against={"against": {"source": "before"}} if example.second else {},
        **example.settings,
    )

    def of_table(source: str) -> CellStatements:
        table_spec = table_of(spec).model_copy(update={"source": source})
        roles = resolve(table_spec, Table(source, f'"{source}"', columns), {})
        cells = statements_on(cell_question(spec, bind(roles)))
        return replace(cells, exact=Exactness(0, typed=True))

    cells = of_table("cells")
    if example.second:
        n = example.parameters["n"]
        return cells.differences("against", of_table("before"), list(spec.by), n)
    return (cells.groups(two_of_each(cells.question)) if spec.cells else None) or cells.rules()


def published_cells(question: CellQuestion) -> PublishedCells:
    """Resolve how a published table is read, its counts as whole numbers, other figures as floats.
    Raises `SpecError`."""
    spec, table = question.spec, question.resolved.table
    assert question.value is not None
    count = None
    if spec.count is not None:
        count = column_named(spec.count, table, ("count",), alias="kanon_count")
    flags = {
        dimension.raw.name: column_named(flag, table, ("total_flag", name))
        for dimension in question.dimensions
        for name, flag in spec.total_flag.items()
        if same_name(name, dimension.raw.name)
    }
    dimensions = tuple(
        _published(question, dimension, flags.get(dimension.raw.name))
        for dimension in question.dimensions
    )
    exact = FLOATING if spec.is_magnitude else Exactness(0)
    return PublishedCells(question, exact, question.value, count, flags, dimensions)


def _published(
    question: CellQuestion, dimension: Dimension, flag: BoundColumn | None
) -> PublishedDimension:
    text = _text(dimension.raw)
    declared, label = question.spec.total_label_of(dimension.raw.name)
    total, no_flag = NOWHERE, NOWHERE
    if flag is not None:
        total = f"coalesce({_text(flag)}, '') = '1'"
        no_flag = f"coalesce({_text(flag)}, '') not in ('0', '1')"
    else:
        predicates = [f"{text} is null"] if declared and label is None else []
        labels = [label] if declared and label is not None else []
        predicates += [
            f"coalesce({text}, '') = {literal(label)}" for label in [*labels, *top_of(dimension)]
        ]
        total = " or ".join(dict.fromkeys(predicates)) or NOWHERE
    is_declared = flag is not None or (declared and label is None)
    totals = _listed(LIKE_A_TOTAL)
    published = PublishedDimension(
        dimension,
        label=text,
        total=total,
        doubtful=NOWHERE if is_declared else f"{text} is null",
        like_total=NOWHERE if flag is not None or declared else f"lower({text}) in ({totals})",
        no_flag=no_flag,
    )
    nodes = nodes_of(dimension)
    if not nodes:
        if dimension.hierarchy is not None and len(dimension.levels) > 1:
            raise SpecError(
                f'hierarchies: "{dimension.raw.name}" of a published table needs a hierarchy of '
                "labels, as in a file; a builder makes labels from raw values only."
            )
        return published
    levels = range(len(dimension.levels))
    by_level = [
        [node for node, (lowest, _) in nodes.items() if lowest == level] for level in levels
    ]
    parents: dict[str, list[str]] = {}
    for node, (_, parent) in nodes.items():
        if parent is not None:
            parents.setdefault(parent, []).append(node)
    return replace(
        published,
        like_total=NOWHERE,
        unknown=f"not ({total}) and {text} is not null and {text} not in ({_listed(list(nodes))})",
        level=_case(
            [(f"{text} in ({_listed(group)})", str(level)) for level, group in enumerate(by_level)],
            total,
        ),
        parent=_case(
            [
                (f"{text} in ({_listed(group)})", literal(parent))
                for parent, group in parents.items()
            ],
            total,
        ),
    )


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(literal(label) for label in labels)


def _case(branches: Sequence[tuple[str, str]], total: str) -> str:
    whens = [f"    when {total} then null"]
    whens += [f"    when {condition} then {result}" for condition, result in branches]
    return "\n".join(["case", *whens, "end"])
