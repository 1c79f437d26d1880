"""The verdict on each cell of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kanon_sql.engines.session import Session
from kanon_sql.models.base import CellModel
from kanon_sql.models.cells.cell_question import CellCheck
from kanon_sql.models.cells.models import (
    Derivable,
    Differences,
    GroupDisclosure,
    MinContributors,
)
from kanon_sql.models.cells.open_cells import OpenCells
from kanon_sql.models.cells.plan import CellListing, CellStatements
from kanon_sql.models.cells.published_plan import PublishedCells, top_of
from kanon_sql.models.cells.suppressed_cells import MOST_CELLS, Derived, json_number
from kanon_sql.results.cells import NOT_DERIVED, UNDECIDED, CellCheckResult, CellVerdict
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

Labels = Mapping[str, Any]
"""The label of a cell in each dimension, and the names of its `totals`."""


@dataclass
class _Marked:
    """A cell that breaks rules together with others, or as a combination without a record."""

    labels: Labels
    figure: int | None
    rules: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CellList:
    """The cells of a judged table, with what its checks say of each.

    A group that is disclosed breaks its rule at its own total, a difference at its cell.
    """

    table: OpenCells
    cells: CellStatements
    second: Callable[[str], CellStatements]
    """The statements on a table to compare with."""
    checks: Sequence[CellCheck]
    results: Sequence[CellCheckResult]
    derived: Derived
    show_values: bool

    def verdicts(
        self, session: Session, row: Row, groupings: Sequence[Row]
    ) -> Iterator[CellVerdict]:
        """One verdict a cell, by the rows of the statements on the table."""
        marked = self._marked(session, row, groupings)
        hidden = {_key_of_row(each): each for each in self.derived.intervals or ()}
        figures = self.derived.figures
        if figures is None:
            figures = session.rows(self.cells.listed("listed_cells"))
        for figure in figures:
            labels = self.cells.labels("cells", figure, ())
            interval = hidden.pop(_key_of_row(figure), None)
            marks = marked.pop(_key(labels), None)
            yield self._verdict(labels, figure, interval, marks.rules if marks else ())
        for absent in hidden.values():
            labels = self.cells.labels("cells", absent, ())
            marks = marked.pop(_key(labels), None)
            yield self._verdict(labels, {}, absent, marks.rules if marks else ())
        for other in marked.values():
            yield self._verdict(other.labels, {"kanon_figure": other.figure}, None, other.rules)

    def _verdict(
        self, labels: Labels, figure: Row, interval: Row | None, marks: Sequence[str]
    ) -> CellVerdict:
        rules = [
            rule_in_short(check.model)
            for number, check in enumerate(self.checks, start=1)
            if int(figure.get(f"kanon_violates_{number}") or 0)
        ]
        primary, step = (*rules, *marks), self._step(figure, interval)
        low, high = (interval[f"kanon_{end}"] if interval else None for end in ("low", "high"))
        return CellVerdict(
            labels={name: self._label(name, labels) for name in labels if name != "totals"},
            totals=tuple(labels["totals"]),
            primary=primary,
            derivable=step,
            interval=json_number(_width(low, high)) if self.derived.is_exact else None,
            ok=self._is_ok(primary, step),
            figures={
                "figure": json_number(figure.get("kanon_figure")),
                "low": json_number(low),
                "high": json_number(high),
            }
            if self.show_values
            else None,
        )

    def _label(self, name: str, labels: Labels) -> Any:
        """The label as the table has it, where it is known for a total."""
        if name not in labels["totals"] or not isinstance(self.cells, PublishedCells):
            return labels[name]
        declared, label = self.cells.question.spec.total_label_of(name)
        tops = [
            top
            for dimension in self.cells.question.dimensions
            if dimension.raw.name == name
            for top in top_of(dimension)
        ]
        return label if declared else next(iter(tops), None)

    def _step(self, figure: Row, interval: Row | None) -> str | None:
        """The step that derives a cell; None for one that is shown, or where none was sought."""
        if interval is not None:
            return str(interval["kanon_step"])
        is_hidden = int(figure.get("kanon_suppressed") or 0)
        is_sought = any(isinstance(check.model, Derivable) for check in self.checks)
        return UNDECIDED if is_hidden and is_sought else None

    def _is_ok(self, primary: Sequence[str], step: str | None) -> bool | None:
        """Whether nothing is found against a cell; None where that isn't known, or nothing is
        required. Hidden cells that add up to too little are none by themselves."""
        if primary or step not in (None, NOT_DERIVED, UNDECIDED):
            return False
        remainders = any(result.details.get("small_remainders") for result in self.results)
        is_unknown = step == UNDECIDED or (step is not None and remainders)
        return None if is_unknown or not any(check.gates for check in self.checks) else True

    def _marked(
        self, session: Session, row: Row, groupings: Sequence[Row]
    ) -> dict[tuple[Any, ...], _Marked]:
        """What breaks a rule together with other cells, or as a combination without a record."""
        marked: dict[tuple[Any, ...], _Marked] = {}
        for kind, step, rules, shared in self._steps(row, groupings):
            for found in session.rows(step) if step else ():
                labels = self.cells.labels(kind, found, shared)
                one = _Marked(labels, 0 if kind == "cells" else None)
                cell = marked.setdefault(_key(labels), one)
                cell.rules += [rule for rule in rules if rule not in cell.rules]
        return marked

    def _steps(
        self, row: Row, groupings: Sequence[Row]
    ) -> Iterator[tuple[CellListing, Statement | None, list[str], Sequence[str]]]:
        """The statements on such cells, with the rules that they break and shared dimensions."""
        gating = [check.model for check in self.checks if check.gates]
        empty = [m for m in gating if isinstance(m, MinContributors) and m.zeros == "disclosive"]
        step = self.cells.first_empty(row, groupings, MOST_CELLS)
        yield "cells", step, [rule_in_short(model) for model in empty], ()
        groups = [model for model in gating if isinstance(model, GroupDisclosure)]
        of_groups = [rule_in_short(*groups)] if len(groups) == 1 else ["group_disclosure"]
        yield "groups", self.cells.groups(row, MOST_CELLS) if groups else None, of_groups, ()
        for model in gating:
            if isinstance(model, Differences) and (name := model.against) is not None:
                shared = self.table.others[name].shared
                other = self.second(name)
                step = self.cells.differences(name, other, shared, model.n, MOST_CELLS)
                yield "differences", step, [rule_in_short(model)], shared


def rule_in_short(model: CellModel) -> str:
    """A rule with the parameters that it was given, as `--check` takes them.

    >>> rule_in_short(MinContributors(n=10))
    'min_contributors:n=10'
    """
    fields = type(model).model_fields
    given = ",".join(
        f"{name}={_in_short(value)}"
        for name, value in model.parameters.items()
        if value != fields[name].default
    )
    return f"{model.name()}:{given}" if given else model.name()


def _in_short(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_in_short, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _width(low: Any, high: Any) -> Any:
    """The width of an interval; None without two ends."""
    return None if low is None or high is None else high - low


def _key(labels: Labels) -> tuple[Any, ...]:
    """The labels as texts, in which a total is no value."""
    return tuple(
        (name in labels["totals"], None if label is None else str(label))
        for name, label in labels.items()
        if name != "totals"
    )


def _key_of_row(row: Row) -> tuple[Any, ...]:
    """The labels in the columns of a cell; nothing where a row has none of them."""
    names = [name for name in row if name.startswith("kanon_d") and name[7:].isdigit()]
    return tuple(
        (bool(int(row[f"kanon_t{name[7:]}"])), None if row[name] is None else str(row[name]))
        for name in names
    )
