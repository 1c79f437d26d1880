"""Judges the cells of a table that is published: made from its records, or as it goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple

from kanon_sql.auditing.open_cells import OpenCells, comparisons, with_differences
from kanon_sql.auditing.result import refuse_unmet
from kanon_sql.auditing.suppressed_cells import (
    NOTHING,
    derived_as_published,
    derived_from_records,
    named_cell,
    undecided,
)
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, option, plural
from kanon_sql.plan.cells import (
    CellCheck,
    CellQuestion,
    Exactness,
    cell_preconditions,
    cells_step,
    differences_step,
    empty_cells,
    exactness,
    facts_step,
    first_empty_step,
    groups_step,
    levels_of_groups,
    shared_levels,
    violating_cells_step,
)
from kanon_sql.plan.preconditions import preconditions
from kanon_sql.plan.published_cells import (
    PublishedTable,
    first_empty_published_step,
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
from kanon_sql.plan.steps import Precondition
from kanon_sql.results.cells import CellCheckResult, CellSummary
from kanon_sql.spec.models.cells import (
    Derivable,
    Differences,
    GroupDisclosure,
    MinContributors,
    Rounded,
)
from kanon_sql.spec.spec import SHOWN
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row


class JudgedCells(NamedTuple):
    """What the statements found of a table: its summary, its checks, its warnings."""

    summary: CellSummary
    checks: Sequence[CellCheckResult]
    warnings: Sequence[str] = ()
    shown: dict[str, list[dict[str, Any]]] | None = None
    """The first cells and groups that violate a rule, and what suppressed cells can be, if
    requested."""


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


# --- made from records ----------------------------------------------------------------------


def cells_of_records(table: OpenCells, session: Session, show_values: bool) -> JudgedCells | None:
    """Judge the cells made from records; None without records."""
    question = table.question
    facts = _facts_of_records(question, session)
    exact = exactness(question, facts)
    row = session.row(cells_step(question, exact))
    if not row["kanon_records"]:
        return None
    empty = empty_cells(question, row)
    summary = _summary(question, row, facts, sum(empty.values()))
    groups = groups_step(question)
    group_row = session.row(groups) if groups else {}
    read = cache(lambda name: _facts_of_records(table.others[name].question, session, f"_{name}"))
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
    listings = _listings_of_records(table, exact, row) if show_values else ()
    return JudgedCells(summary, results, warned, _shown(table, session, listings) or None)


class Listing(NamedTuple):
    """A statement on what violates a rule; None without such a rule."""

    kind: Literal["cells", "groups", "differences"]
    step: Statement | None
    labels: Callable[[Row], dict[str, Any]]
    """The labels of a cell; `totals` tells a total from the value NULL."""
    against: str = ""
    """The name of the second table."""


def _listings_of_records(table: OpenCells, exact: Exactness, row: Row) -> Iterator[Listing]:
    question = table.question

    def labels(levels: Sequence[Sequence[int | None]], row: Row) -> dict[str, Any]:
        at = list(zip(question.dimensions, levels[int(row["kanon_grouping"])], strict=True))
        found = {
            each.raw.name: None if level is None else row[each.levels[level].alias]
            for each, level in at
        }
        return {**found, "totals": [each.raw.name for each, level in at if level is None]}

    of_cells = partial(labels, [each.levels for each in question.groupings])
    yield Listing("cells", violating_cells_step(question, exact), of_cells)
    yield Listing("cells", first_empty_step(question, row), of_cells)
    of_groups = partial(labels, levels_of_groups(question))
    yield Listing("groups", groups_step(question, SHOWN), of_groups)
    for name, n in _least_differences(table):
        other, shared = table.others[name]
        step = differences_step(question, name, other, shared, n, SHOWN)
        yield Listing("differences", step, partial(labels, shared_levels(question, shared)), name)


def _least_differences(table: OpenCells) -> Iterable[tuple[str, int]]:
    """The largest difference that is required from each second table."""
    found: dict[str, int] = {}
    for _, name, n in comparisons(table):
        if n is not None:
            found[name] = max(n, found.get(name, n))
    return found.items()


def _shown(
    table: OpenCells, session: Session, listings: Iterable[Listing]
) -> dict[str, list[dict[str, Any]]]:
    """The first rows of each kind; no list of a kind without a rule."""
    names = [each.raw.name for each in table.question.dimensions]
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, step, labels, against in listings:
        if step is None:
            continue
        listed = found.setdefault(kind, [])
        for row in session.rows(step)[: SHOWN - len(listed)]:
            words = {"along": names[int(row["kanon_dimension"]) - 1]} if kind == "groups" else {}
            words |= {"against": against} if against else {}
            figures = {name: plain_number(row[column]) for name, column in _FIGURES[kind].items()}
            listed.append(labels(row) | words | figures)
    return found


_FIGURES = {
    "cells": {"figure": "kanon_figure"},
    "groups": {"members": "kanon_members", "largest": "kanon_most"},
    "differences": {"here": "kanon_here", "there": "kanon_there"},
}
"""What a row of a listing shows, with its columns."""


def _facts_of_records(question: CellQuestion, session: Session, suffix: str = "") -> Row | None:
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
    if lacking := row.get("kanon_no_number"):
        raise InputError(
            f"{table}: {some_values(lacking, all_of, named)} no number. Mend {them(lacking)}, "
            f"or leave {them(lacking)} out: {option('where')}."
        )
    if lacking := row.get("kanon_not_finite"):
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


# --- as they are published ------------------------------------------------------------------


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
    if not show_values:
        return JudgedCells(summary, checks, found)
    names = [each.raw.name for each in table.question.dimensions]

    def labels(shared: Sequence[str], row: Row) -> dict[str, Any]:
        """Those of a cell that is a total over all dimensions but the shared ones."""
        own = named_cell(shared, row)
        totals = [name for name in names if name not in shared or name in own["totals"]]
        return {**{name: own.get(name) for name in names}, "totals": totals}

    def listings() -> Iterator[Listing]:
        of_cells = partial(labels, names)
        yield Listing("cells", violating_published_step(published, exact), of_cells)
        if is_zero:
            step = first_empty_published_step(published, exact, row, groupings)
            yield Listing("cells", step, of_cells)
        yield Listing("groups", published_groups_step(published, exact, row, SHOWN), of_cells)
        for name, n in _least_differences(table):
            shared, other = table.others[name].shared, read(name)
            step = published_differences_step(published, exact, name, *other, shared, n, SHOWN)
            yield Listing("differences", step, partial(labels, shared), name)

    shown = _shown(table, session, listings())
    if derived.intervals is not None:
        shown["intervals"] = [*map(dict, derived.intervals)]
    return JudgedCells(summary, checks, found, shown or None)


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
