"""Judges the cells of a table as it goes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from kanon_sql.auditing.cell_verdicts import (
    CellRows,
    JudgedCells,
    derivability_checks,
    difference_warnings,
    judged,
    named_cell,
    plain_number,
    some_values,
    suffixed,
    them,
)
from kanon_sql.auditing.open_cells import OpenCells, comparisons, with_differences
from kanon_sql.auditing.result import refuse_unmet
from kanon_sql.auditing.suppressed_cells import derived_as_published
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, option, plural
from kanon_sql.plan.cells import CellCheck, Exactness
from kanon_sql.plan.preconditions import preconditions
from kanon_sql.plan.published_cells import (
    PublishedTable,
    missing_cells,
    published_differences_step,
    published_exactness,
    published_facts_step,
    published_groupings_step,
    published_groups_step,
    published_rules_step,
    published_table,
    repeated_step,
    violating_published_step,
)
from kanon_sql.results.cells import CellSummary
from kanon_sql.spec.models.cells import Derivable
from kanon_sql.sql.tables import Row


def cells_as_published(table: OpenCells, session: Session, show_values: bool) -> JudgedCells | None:
    """Judge the cells of a table as it goes out; None without rows."""
    published = published_table(table.question)
    facts, exact = _read(published, session)
    if not facts["kanon_records"]:
        return None
    row = session.row(published_rules_step(published, exact))
    groupings = session.rows(published_groupings_step(published, exact))
    missing = missing_cells(published, row, groupings)
    is_zero = table.question.spec.absent == "zero"
    groups = published_groups_step(published, exact, row)
    group_row = session.row(groups) if groups else {}

    def read_other(name: str) -> tuple[PublishedTable, Exactness]:
        other = published_table(table.others[name].question)
        return other, _read(other, session, f"_{name}")[1]

    read = cache(read_other)
    differences = {}
    for number, name, n in comparisons(table):
        shared = table.others[name].shared
        step = published_differences_step(published, exact, name, *read(name), shared, n)
        differences[number] = session.row(step)
    is_hidden = row["kanon_suppressed"] or (not is_zero and any(missing.values()))
    asked = list(with_differences(table))
    if is_hidden and not any(isinstance(each.model, Derivable) for each in asked):
        asked.append(CellCheck(Derivable(), asked=False))
    warned = list(_doubts(published, facts, groupings))
    derived = derived_as_published(
        published,
        exact,
        derivability_checks(asked),
        session,
        int(row["kanon_cells"]),
        show_values,
        doubtful=bool(warned),
    )
    empty, empty_margins = (sum(missing.values()), missing[True]) if is_zero else (0, 0)
    rows = CellRows(row, group_row, differences, derived.checks, empty, empty_margins)
    checks = judged(asked, rows)
    cells, margins = int(row["kanon_cells"]), int(row["kanon_margin_cells"] or 0)
    summary = CellSummary(
        cells=cells,
        inner_cells=cells - margins,
        margin_cells=margins,
        empty_cells=empty,
        zero_cells=int(row["kanon_zero_cells"] or 0),
        suppressed=int(row["kanon_suppressed"] or 0),
        implied_cells=derived.implied_cells,
        absent_cells=derived.absent_cells,
    )
    places = range(1, len(published.dimensions) + 1)
    has_total = any(each[f"kanon_t{place}"] for each in groupings for place in places)
    if is_hidden and not has_total and not warned:
        warned.append(
            f"no row is a total ({option('total_label')}), so a suppressed cell follows from "
            "nothing but its mark."
        )
    warned += derived.warnings
    found = [*warned, *difference_warnings(checks)]
    shown = violating_published_step(published, exact) if show_values else None
    names = [each.raw.name for each in table.question.dimensions]
    violating = [
        named_cell(names, each, figure=plain_number(each["kanon_figure"]))
        for each in (session.rows(shown) if shown else ())
    ]
    return JudgedCells(summary, checks, found, derived.intervals, violating if shown else None)


def _doubts(table: PublishedTable, facts: Row, groupings: Sequence[Row]) -> Iterator[str]:
    """Warnings on labels that read like an undeclared total, and on declared ones in no row."""
    for place, each in enumerate(table.dimensions, start=1):
        if facts[f"kanon_like_total_{place}"]:
            yield (
                f"{each.dimension.raw.name} has values that read like a total, and no total is "
                f"declared: {option('total_label')}. Without it they are taken for categories."
            )
    names, unused = [], []
    for place, each in enumerate(table.dimensions, start=1):
        name = each.dimension.raw.name
        names.append(name)
        is_declared, _ = table.question.spec.total_label_of(name)
        if is_declared and not any(row[f"kanon_t{place}"] for row in groupings):
            unused.append(name)
    own = {name.casefold() for name in table.question.spec.total_label}
    # A label for all dimensions may stand in some of them only.
    if len(unused) < len(names):
        unused = [name for name in unused if name.casefold() in own]
    if unused:
        yield (
            f"no row has the total that {option('total_label')} declares of {', '.join(unused)}, "
            "so no cell is taken for one. Is it spelled as in the table?"
        )


def _read(table: PublishedTable, session: Session, suffix: str = "") -> tuple[Row, Exactness]:
    """The facts on the rows of a published table. Raises `InputError` for what is neither a number
    nor a mark, or could be read in two ways."""
    refuse_unmet(suffixed(preconditions(table.question.bound), suffix), session)
    step = published_facts_step(table)
    row = session.row(replace(step, name=f"{step.name}{suffix}"))
    fault = _fault(table, row)
    if fault is not None:
        raise InputError(f"{table.question.bound.table.name}: {fault}")
    exact = published_exactness(table, row)
    step = repeated_step(table, exact)
    repeated = int(session.row(replace(step, name=f"{step.name}{suffix}"))["kanon_repeated"])
    if repeated:
        have = "cell has" if repeated == 1 else "cells have"
        raise InputError(
            f"{table.question.bound.table.name}: {repeated:,} {have} more than one row: a "
            f"dimension is missing from {option('by')}, or a NULL value stands beside a NULL "
            "total."
        )
    return row, exact


def _fault(table: PublishedTable, row: Row) -> str | None:
    """What is wrong with the rows of a published table, if anything."""
    value, all_of = table.value.name, int(row["kanon_records"])
    where = option("where", f'"{value}" between -1e300 and 1e300')
    faults = {
        "kanon_no_number": f"neither a number nor a declared mark: {option('suppressed', 'MARK')}",
        "kanon_unmarked_null": "NULL, which is neither a number nor a declared mark: "
        f"{option('suppressed', 'NULL')}",
        "kanon_not_finite": f"NaN or infinite. Leave {{them}} out: {where}",
        "kanon_no_count": "no number of contributors, beside a figure that is shown",
        "kanon_below_zero": "below zero, so the figure is no count. If it is a sum: "
        f"{option('magnitude')}",
    }
    for fault, what in faults.items():
        if lacking := row.get(fault):
            counts = table.count if fault == "kanon_no_count" else None
            some = some_values(lacking, all_of, counts.name if counts else value)
            return f"{some} {what.replace('{them}', them(lacking))}."
    for place, each in enumerate(table.dimensions, start=1):
        name = each.dimension.raw.name
        if row[f"kanon_null_{place}"]:
            rows = plural(int(row[f"kanon_null_{place}"]), "row")
            total = option("total_label", f"{name}=NULL")
            return (
                f"{name} is NULL in {rows}: is that the total ({total}) or a value (name it in "
                "the source)?"
            )
        if row[f"kanon_no_flag_{place}"]:
            rows = plural(int(row[f"kanon_no_flag_{place}"]), "row")
            return f"the flag of {name} is neither 0 nor 1 in {rows}, so a total can't be told."
        if row[f"kanon_unknown_{place}"]:
            rows = plural(int(row[f"kanon_unknown_{place}"]), "row")
            return (
                f"the label of {name} is not in its hierarchy in {rows}. Add what is lacking, "
                "spelled as in the table."
            )
    return None
