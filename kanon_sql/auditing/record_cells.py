"""Judges the cells of a table that are made from its records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from kanon_sql.auditing.cell_verdicts import (
    CellRows,
    JudgedCells,
    derivability_checks,
    difference_warnings,
    judged,
    plain_number,
    some_values,
    suffixed,
    them,
)
from kanon_sql.auditing.open_cells import OpenCells, comparisons, with_differences
from kanon_sql.auditing.result import refuse_unmet
from kanon_sql.auditing.suppressed_cells import NOTHING, derived_from_records, undecided
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, option
from kanon_sql.plan.cells import (
    CellQuestion,
    cell_preconditions,
    cells_step,
    differences_step,
    empty_cells,
    exactness,
    facts_step,
    groups_step,
    violating_cells_step,
)
from kanon_sql.results.cells import CellCheckResult, CellSummary
from kanon_sql.sql.tables import Row


def cells_of_records(table: OpenCells, session: Session, show_values: bool) -> JudgedCells | None:
    """Judge the cells made from records; None without records."""
    question = table.question
    facts = _facts(question, session)
    exact = exactness(question, facts)
    row = session.row(cells_step(question, exact))
    if not row["kanon_records"]:
        return None
    empty = empty_cells(question, row)
    summary = _summary(question, row, facts, sum(empty.values()))
    groups = groups_step(question)
    group_row = session.row(groups) if groups else {}
    read = cache(lambda name: _facts(table.others[name].question, session, f"_{name}"))
    differences = {}
    for number, name, n in comparisons(table):
        other = table.others[name]
        read(name)
        step = differences_step(question, name, other.question, other.shared, n)
        differences[number] = session.row(step)
    checks = list(with_differences(table))
    derivable = derivability_checks(checks)
    derived = NOTHING
    if derivable:
        everyone = facts["kanon_everyone"] if facts and question.bound.entity else None
        derived = (
            undecided(derivable, int(row["kanon_sensitive_cells"] or 0))
            if everyone not in (None, row["kanon_whole"]) and question.value is None
            else derived_from_records(question, exact, derivable, session, summary.cells or 0)
        )
        summary = replace(summary, implied_cells=derived.implied_cells)
    margins = sum(count for grouping, count in empty.items() if grouping)
    rows = CellRows(row, group_row, differences, derived.checks, sum(empty.values()), margins)
    results = judged(checks, rows)
    warned = [*_warnings(question, row, results), *derived.warnings]
    shown = violating_cells_step(question, exact) if show_values else None
    violating = [_named(question, each) for each in session.rows(shown)] if shown else None
    return JudgedCells(summary, results, warned, violating=violating)


def _named(question: CellQuestion, row: Row) -> dict[str, Any]:
    """A cell with its labels; `totals` tells a total from the value NULL."""
    [grouping] = [g for g in question.groupings if g.number == int(row["kanon_grouping"])]
    at = list(zip(question.dimensions, grouping.levels, strict=True))
    return {
        **{
            each.raw.name: None if level is None else row[each.levels[level].alias]
            for each, level in at
        },
        "totals": [each.raw.name for each, level in at if level is None],
        "figure": plain_number(row["kanon_figure"]),
    }


def _facts(question: CellQuestion, session: Session, suffix: str = "") -> Row | None:
    """The facts on values and contributors. Raises `InputError` for records that can't be judged,
    as for a value that is no number."""
    refuse_unmet(suffixed(cell_preconditions(question), suffix), session)
    step = facts_step(question)
    if step is None:
        return None
    row = session.row(replace(step, name=f"{step.name}{suffix}"))
    table, value, entity = question.bound.table.name, question.value, question.bound.entity
    if value is not None:
        refuse_no_figure(table, value.name, row)
    if entity is not None and row["kanon_of_nobody"]:
        where = option("where", f'"{entity.name}" is not null')
        raise InputError(
            f"{table}: {row['kanon_of_nobody']:,} of {row['kanon_records']:,} records have no "
            f'"{entity.name}", so nobody knows whose they are. Fill it in, or leave them out: '
            f"{where}."
        )
    return row


def refuse_no_figure(table: str, column: str, row: Row) -> None:
    """Raise `InputError` for values that are no number, NaN or infinite."""
    all_of, named = int(row["kanon_values"]), f'"{column}"'
    if lacking := row["kanon_no_number"]:
        raise InputError(
            f"{table}: {some_values(lacking, all_of, named)} no number. Mend {them(lacking)}, "
            f"or leave {them(lacking)} out: {option('where')}."
        )
    if lacking := row["kanon_not_finite"]:
        where = option("where", f'"{column}" between -1e300 and 1e300')
        raise InputError(
            f"{table}: {some_values(lacking, all_of, named)} NaN or infinite, so "
            f"without a share. Leave {them(lacking)} out: {where}."
        )


def _summary(question: CellQuestion, row: Row, facts: Row | None, empty: int) -> CellSummary:
    cells, margins = int(row["kanon_cells"]), int(row["kanon_margin_cells"])
    is_judged = any(check.gates and check.model.is_primary for check in question.checks)
    whole = float(row["kanon_whole"] or 0)
    return CellSummary(
        records=int(row["kanon_records"]),
        contributors=int(facts["kanon_everyone"]) if facts and question.bound.entity else None,
        cells=cells,
        inner_cells=cells - margins,
        margin_cells=margins,
        empty_cells=empty,
        zero_cells=int(row["kanon_zero_cells"]) if question.value else 0,
        suppressed=0,
        implied_cells=0,
        absent_cells=0,
        sensitive_cells=int(row["kanon_sensitive_cells"]) if is_judged else None,
        sensitive_inner_cells=int(row["kanon_sensitive_inner_cells"]) if is_judged else None,
        sensitive_records=int(row["kanon_sensitive_records"] or 0) if is_judged else None,
        share_of_total=float(row["kanon_hidden"] or 0) / whole if is_judged and whole else None,
    )


def _warnings(question: CellQuestion, row: Row, checks: Sequence[CellCheckResult]) -> Iterator[str]:
    negatives = int(row.get("kanon_cells_with_negatives") or 0)
    if negatives:
        are = "cell has" if negatives == 1 else "cells have"
        added = " after a contributor's records are added" if question.bound.entity else ""
        yield (
            f"{negatives:,} {are} a negative contribution; dominance and p% take absolute values"
            f"{added}, and are made for contributions of 0 or more."
        )
    yield from difference_warnings(checks)
