"""The verdicts of rules for cells, from the rows of their statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kanon_sql.errors import InputError, option, plural
from kanon_sql.plan.cells import CellCheck
from kanon_sql.plan.steps import Precondition
from kanon_sql.results.cells import CellCheckResult, CellSummary
from kanon_sql.spec.models.cells import (
    Derivable,
    Differences,
    GroupDisclosure,
    MinContributors,
    Rounded,
)
from kanon_sql.sql.tables import Row


class JudgedCells(NamedTuple):
    """What the statements found of a table: its summary, its checks, its warnings."""

    summary: CellSummary
    checks: Sequence[CellCheckResult]
    warnings: Sequence[str] = ()
    intervals: Sequence[Mapping[str, Any]] | None = None
    """The figures that each suppressed cell can have, if requested."""
    violating: Sequence[Mapping[str, Any]] | None = None
    """The first cells that violate a rule by themselves, if requested."""

    @property
    def shown(self) -> dict[str, list[dict[str, Any]]] | None:
        found = {"cells": self.violating, "intervals": self.intervals}
        return {
            name: [*map(dict, rows)] for name, rows in found.items() if rows is not None
        } or None


class CellRows(NamedTuple):
    """The rows of the statements on a table, of which each rule reads its own."""

    cells: Row
    groups: Row
    differences: Mapping[int, Row]
    """The comparison with each second table, by the number of its check."""
    derived: Mapping[int, CellCheckResult]
    """The results of the derivability checks, by their numbers."""
    empty: int
    """Number of combinations of nodes without a record, which count as zero."""
    empty_margins: int


def judged(checks: Sequence[CellCheck], rows: CellRows) -> list[CellCheckResult]:
    """The verdict of each check. Raises `InputError` if no cell is in both of two tables."""
    return [_judged(number, check, rows) for number, check in enumerate(checks, start=1)]


def _judged(number: int, check: CellCheck, rows: CellRows) -> CellCheckResult:
    row = rows.cells
    match check.model:
        case Derivable():
            return rows.derived[number]
        case GroupDisclosure():
            return _of_groups(check, rows.groups, number)
        case Differences():
            return _of_differences(check, rows.differences[number])
        case Rounded():
            return _of_cells(check, row, number, int(row[f"kanon_violating_cells_{number}"] or 0))
        case MinContributors(zeros="disclosive") if rows.empty:
            return _of_cells(check, row, number, 0, rows.empty, rows.empty_margins)
        case MinContributors(zeros=zeros):
            name = "kanon_least" if zeros == "disclosive" else "kanon_least_above_zero"
            least = row[name]
            return _of_cells(check, row, number, None if least is None else int(least))
    achieved = row[f"kanon_achieved_{number}"]
    details = {
        "undefined_cells": int(row["kanon_zero_cells"] or 0),
        "cells_with_negatives": int(row["kanon_cells_with_negatives"] or 0),
    }
    found = None if achieved is None else float(achieved)
    return _of_cells(check, row, number, found, details=details)


def _result(
    check: CellCheck, violating: int | None, achieved: Any, details: Mapping[str, Any]
) -> CellCheckResult:
    """A verdict; `violating` is None where nothing is required."""
    holds = None if violating is None else not violating
    return CellCheckResult(
        check.model.name(), check.model.parameters, holds, achieved, details=details
    )


def _of_cells(
    check: CellCheck,
    row: Row,
    number: int,
    achieved: float | None,
    more: int = 0,
    more_margins: int = 0,
    details: Mapping[str, Any] = {},
) -> CellCheckResult:
    """The verdict of a rule for single cells; `more` are combinations without a record."""
    violating = margins = None
    if check.gates:
        violating = int(row[f"kanon_violating_cells_{number}"] or 0) + more
        margins = int(row[f"kanon_violating_margin_cells_{number}"] or 0) + more_margins
    found = {"violating_cells": violating, "violating_margin_cells": margins, **details}
    return _result(check, violating, achieved, found)


def _of_groups(check: CellCheck, row: Row, number: int) -> CellCheckResult:
    disclosed = int(row.get(f"kanon_disclosed_{number}") or 0)
    alone = int(row.get(f"kanon_alone_{number}") or 0)
    details = {"alone": alone, "groups": int(row.get("kanon_groups") or 0)}
    return _result(check, disclosed if check.gates else None, disclosed, details)


def _of_differences(check: CellCheck, row: Row) -> CellCheckResult:
    """The verdict of a comparison of two tables."""
    names = {
        "compared_cells": "compared",
        "equal_cells": "equal",
        "violating_cells": "violating",
        "greater_here": "greater",
        "smaller_here": "smaller",
    }
    details: dict[str, int | None] = {
        name: int(row.get(f"kanon_{each}") or 0) for name, each in names.items()
    }
    shown = int(row["kanon_compared"] or 0)
    if check.gates and not shown:
        raise InputError(
            f"differences: no cell is shown by both this table and the second one. Do their "
            f"labels agree, and {option('against.by')}?"
        )
    violating = details["violating_cells"] if check.gates else None
    apart = int(row["kanon_cells_here"]) + int(row["kanon_cells_there"])
    details |= {
        "violating_cells": violating,
        "not_compared": apart - int(row["kanon_cells_of_both"]) - shown,
        "suppressed_here_shown_there": int(row["kanon_hidden_here"] or 0),
    }
    least = row["kanon_least"]
    return _result(check, violating, None if least is None else float(least), details)


def difference_warnings(checks: Sequence[CellCheckResult]) -> Iterator[str]:
    for check in checks:
        if check.model != "differences":
            continue
        name = check.parameters["against"]
        if check.details["greater_here"] and check.details["smaller_here"]:
            yield (
                f"some cells are greater here and some in {name}: then neither population lies "
                "within the other, and a difference is no number of people."
            )
        shown = check.details["suppressed_here_shown_there"]
        if shown:
            yield (
                f"{plural(shown, 'cell')} {'is' if shown == 1 else 'are'} suppressed here and "
                f"shown in {name}."
            )


def derivability_checks(checks: Sequence[CellCheck]) -> dict[int, CellCheck]:
    """The derivability checks, by number."""
    numbered = enumerate(checks, start=1)
    return {number: check for number, check in numbered if isinstance(check.model, Derivable)}


def named_cell(names: Sequence[str], row: Row, **figures: Any) -> dict[str, Any]:
    """A published cell with its labels; `totals` tells a total from the value NULL."""
    return {
        **{name: row[f"kanon_d{place}"] for place, name in enumerate(names, start=1)},
        "totals": [name for place, name in enumerate(names, 1) if row[f"kanon_t{place}"]],
        **figures,
    }


def plain_number(figure: Any) -> int | float | None:
    """A figure as a number of JSON, whatever type the engine gives it."""
    if figure is None:
        return None
    return int(figure) if figure == int(figure) else float(figure)


def suffixed(found: Iterable[Precondition], suffix: str) -> Iterator[Precondition]:
    """Preconditions whose statements have a suffix, which tells a second table's apart."""
    for each in found:
        yield each._replace(step=replace(each.step, name=f"{each.step.name}{suffix}"))


def some_values(count: int, all_of: int, column: str) -> str:
    """As in `3 of 120 values of n are`."""
    are = "is" if count == 1 else "are"
    return f"{count:,} of {plural(all_of, 'value')} of {column} {are}"


def them(count: int) -> str:
    return "it" if count == 1 else "them"
