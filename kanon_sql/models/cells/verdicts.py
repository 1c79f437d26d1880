"""The verdicts on the cells of a published table: made from records, or as it goes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from kanon_sql.auditing.running import refuse_unmet
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, option, plural
from kanon_sql.models.cells.cell_list import CellList
from kanon_sql.models.cells.cell_question import CellCheck, CellQuestion, cell_preconditions
from kanon_sql.models.cells.models import (
    Derivable,
    Differences,
    GroupDisclosure,
    MinContributors,
    Rounded,
)
from kanon_sql.models.cells.open_cells import OpenCells, comparisons, with_differences
from kanon_sql.models.cells.plan import CellListing, CellStatements
from kanon_sql.models.cells.published_plan import PublishedCells, named_cell, statements_on
from kanon_sql.models.cells.suppressed_cells import (
    Derived,
    Listing,
    derived_cells,
    json_number,
    undecided,
)
from kanon_sql.plan.steps import Precondition
from kanon_sql.question.spec import SHOWN
from kanon_sql.results.cells import CellCheckResult, CellSummary, CellVerdicts
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row


class JudgedCells(NamedTuple):
    """The summary, the check results and the warnings of a table."""

    summary: CellSummary
    checks: Sequence[CellCheckResult]
    warnings: Sequence[str] = ()
    shown: dict[str, list[dict[str, Any]]] | None = None
    """The first cells and groups that violate a rule, and what suppressed cells can be, if
    requested."""
    listed: CellVerdicts | None = None
    """The verdict on each cell, if they are listed."""


MOST_UNASKED = 10_000
"""Maximum number of cells of a published table that are listed unasked."""


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
            return _groups_result(check, rows.groups, number)
        case Differences():
            return _differences_result(check, rows.differences[number])
        case Rounded():
            return _cells_result(
                check, row, number, int(row[f"kanon_violating_cells_{number}"] or 0)
            )
        case MinContributors(zeros="disclosive") if rows.empty:
            return _cells_result(check, row, number, 0, rows.empty, rows.empty_margins)
        case MinContributors(zeros=zeros):
            name = "kanon_least" if zeros == "disclosive" else "kanon_least_above_zero"
            least = row[name]
            return _cells_result(check, row, number, None if least is None else int(least))
    achieved = row[f"kanon_achieved_{number}"]
    details = {
        "undefined_cells": int(row["kanon_zero_cells"] or 0),
        "cells_with_negatives": int(row["kanon_cells_with_negatives"] or 0),
    }
    figure = None if achieved is None else float(achieved)
    return _cells_result(check, row, number, figure, details=details)


def _result(
    check: CellCheck, violating: int | None, achieved: Any, details: Mapping[str, Any]
) -> CellCheckResult:
    """A verdict; `violating` is None where nothing is required."""
    holds = None if violating is None else not violating
    return CellCheckResult(
        check.model.name(), check.model.parameters, holds, achieved, details=details
    )


def _cells_result(
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
    all_details = {"violating_cells": violating, "violating_margin_cells": margins, **details}
    if (shortfall := f"kanon_shortfall_{number}") in row:
        lacking = more * check.model.parameters["n"] if more else 0
        all_details["shortfall"] = json_number((row[shortfall] or 0) + lacking)
    return _result(check, violating, achieved, all_details)


def _groups_result(check: CellCheck, row: Row, number: int) -> CellCheckResult:
    disclosed = int(row.get(f"kanon_disclosed_{number}") or 0)
    alone = int(row.get(f"kanon_alone_{number}") or 0)
    details = {"alone": alone, "groups": int(row.get("kanon_groups") or 0)}
    return _result(check, disclosed if check.gates else None, disclosed, details)


def _differences_result(check: CellCheck, row: Row) -> CellCheckResult:
    """The verdict of a comparison of two tables."""
    names = {
        "compared_cells": "compared",
        "equal_cells": "equal",
        "violating_cells": "violating",
        "greater_here": "greater",
        "smaller_here": "smaller",
    }
    counts = {name: int(row.get(f"kanon_{suffix}") or 0) for name, suffix in names.items()}
    shown = int(row["kanon_compared"] or 0)
    if check.gates and not shown:
        raise InputError(
            f"differences: no cell is shown by both this table and the second one. Do their "
            f"labels agree, and {option('against.by')}?"
        )
    violating = counts["violating_cells"] if check.gates else None
    unshared = int(row["kanon_cells_here"]) + int(row["kanon_cells_there"])
    details: dict[str, Any] = counts | {
        "violating_cells": violating,
        "shortfall": json_number(row["kanon_shortfall"] or 0) if check.gates else None,
        "not_compared": unshared - int(row["kanon_cells_of_both"]) - shown,
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


def suffixed(preconditions: Iterable[Precondition], suffix: str) -> Iterator[Precondition]:
    """Preconditions of a second table, their statements' names with a suffix."""
    for precondition in preconditions:
        named = replace(precondition.statement, name=f"{precondition.name}{suffix}")
        yield replace(precondition, statement=named)


def some_values(count: int, all_of: int, column: str) -> str:
    """As in `3 of 120 values of n are`."""
    verb = "is" if count == 1 else "are"
    return f"{count:,} of {plural(all_of, 'value')} of {column} {verb}"


def them(count: int) -> str:
    return "it" if count == 1 else "them"


# --- the whole table ------------------------------------------------------------------------


def judged_cells(
    table: OpenCells, session: Session, show_values: bool, list_cells: bool = False
) -> JudgedCells | None:
    """Judge the cells of a table; None without records. `list_cells` adds a verdict on each; a
    small table that is published has them anyway, without intervals."""
    question, spec = table.question, table.question.spec
    cells, facts = _statements_and_facts(question, session)
    if spec.cells and not facts["kanon_records"]:
        return None
    row = session.row(cells.rules())
    if unrounded := int(row.get("kanon_unrounded") or 0):
        raise InputError(
            f"{question.resolved.table.name}: {plural(unrounded, 'total')} "
            f"{'is no multiple' if unrounded == 1 else 'are no multiples'} of the base in "
            f"{option('totals', spec.declared_totals)}. Say what they are."
        )
    if not spec.cells and not row["kanon_records"]:
        return None
    counting = cells.groupings()
    groupings = session.rows(counting) if counting else []
    groups = cells.groups(row)
    group_row = session.row(groups) if groups else {}
    second = cache(
        lambda name: _statements_and_facts(table.others[name].question, session, f"_{name}")[0]
    )
    differences = {
        number: session.row(cells.differences(name, second(name), table.others[name].shared, n))
        for number, name, n in comparisons(table)
    }
    missing = cells.missing(row, groupings)
    hides_absent = spec.absent == "suppressed"
    hides = row.get("kanon_suppressed") or hides_absent
    if hides_absent:
        missing = {False: 0, True: 0}
    checks = list(with_differences(table))
    if hides and not derivability_checks(checks):
        checks.append(CellCheck(Derivable(), requested=False))
    derivable = derivability_checks(checks)
    doubts = (
        list(_label_warnings(cells, facts, groupings)) if isinstance(cells, PublishedCells) else []
    )
    is_listed = list_cells or (spec.cells and int(row["kanon_cells"]) <= MOST_UNASKED)
    listing: Listing = "steps" if is_listed else "no"
    if list_cells or (spec.cells and show_values):
        listing = "intervals"
    if derivable and _spans_cells(question, row, facts):
        derived = undecided(derivable, int(row["kanon_sensitive_cells"] or 0))
    else:
        size, doubtful = int(row["kanon_cells"]), bool(doubts)
        derived = derived_cells(cells, derivable, session, size, listing=listing, doubtful=doubtful)
    places = range(1, len(question.dimensions) + 1)
    has_total = any(grouping[f"kanon_t{index}"] for grouping in groupings for index in places)
    if hides and not has_total and not doubts:
        doubts.append(
            f"no row is a total ({option('total_label')}), so a suppressed cell follows from "
            "nothing but its mark."
        )
    rows = CellRows(
        row, group_row, differences, derived.checks, sum(missing.values()), missing[True]
    )
    results = judged(checks, rows)
    summary = _summary(question, rows, facts, derived)
    of_differences = list(difference_warnings(results))
    warned = [*doubts, *_negatives(question, row)]
    if spec.cells:
        warned += [*derived.warnings, *of_differences]
    else:
        warned += [*of_differences, *derived.warnings]
    listed = None
    if is_listed:
        cell_list = CellList(table, cells, second, checks, results, derived, show_values)
        unlogged = replace(session, sql_by_step={})  # beside the statements that judge
        listed = CellVerdicts(cell_list.verdicts(unlogged, row, groupings))
    if not show_values:
        return JudgedCells(summary, results, warned, listed=listed)
    listings = _listings(table, cells, second, row, groupings)
    shown = _shown(table, cells, session, listings)
    if spec.cells and derived.intervals is not None:
        names = [dimension.raw.name for dimension in question.dimensions]
        shown["intervals"] = [
            named_cell(
                names, each, **{end: json_number(each[f"kanon_{end}"]) for end in ("low", "high")}
            )
            for each in derived.intervals
        ]
    return JudgedCells(summary, results, warned, shown or None, listed)


def _spans_cells(question: CellQuestion, row: Row, facts: Row) -> bool:
    """Whether contributors are counted, and some lie in several cells."""
    if question.resolved.entity is None or question.value is not None:
        return False
    return facts["kanon_everyone"] not in (None, row["kanon_whole"])


class ListingStep(NamedTuple):
    """A statement on what violates a rule; None without such a rule."""

    kind: CellListing
    step: Statement | None
    against: str = ""
    """The name of the second table."""


def _listings(
    table: OpenCells,
    cells: CellStatements,
    second: Callable[[str], CellStatements],
    row: Row,
    groupings: Sequence[Row],
) -> Iterator[ListingStep]:
    yield ListingStep("cells", cells.violating())
    yield ListingStep("cells", cells.first_empty(row, groupings))
    yield ListingStep("groups", cells.groups(row, SHOWN))
    for name, n in _least_differences(table):
        step = cells.differences(name, second(name), table.others[name].shared, n, SHOWN)
        yield ListingStep("differences", step, name)


def _least_differences(table: OpenCells) -> Iterable[tuple[str, int]]:
    """The largest difference that is required from each second table."""
    required: dict[str, int] = {}
    for _, name, n in comparisons(table):
        if n is not None:
            required[name] = max(n, required.get(name, n))
    return required.items()


def _shown(
    table: OpenCells, cells: CellStatements, session: Session, listings: Iterable[ListingStep]
) -> dict[str, list[dict[str, Any]]]:
    """The first rows of each kind; no list of a kind without a rule."""
    names = [dimension.raw.name for dimension in table.question.dimensions]
    lists: dict[str, list[dict[str, Any]]] = {}
    for kind, step, against in listings:
        if step is None:
            continue
        listed = lists.setdefault(kind, [])
        shared = table.others[against].shared if against else ()
        for row in session.rows(step)[: SHOWN - len(listed)]:
            words = {"along": names[int(row["kanon_dimension"]) - 1]} if kind == "groups" else {}
            words |= {"against": against} if against else {}
            figures = {name: json_number(row[column]) for name, column in _FIGURES[kind].items()}
            listed.append(cells.labels(kind, row, shared) | words | figures)
    return lists


_FIGURES: Mapping[CellListing, Mapping[str, str]] = {
    "cells": {"figure": "kanon_figure"},
    "groups": {"members": "kanon_members", "largest": "kanon_most"},
    "differences": {"here": "kanon_here", "there": "kanon_there"},
}
"""What a row of a listing shows, with its columns."""


def _summary(question: CellQuestion, rows: CellRows, facts: Row, derived: Derived) -> CellSummary:
    row, checks = rows.cells, question.checks
    cells, margins = int(row["kanon_cells"]), int(row["kanon_margin_cells"] or 0)
    summary = CellSummary(
        cells=cells,
        inner_cells=cells - margins,
        margin_cells=margins,
        empty_cells=rows.empty,
        zero_cells=int(row.get("kanon_zero_cells") or 0),
        suppressed=int(row.get("kanon_suppressed") or 0),
        implied_cells=derived.implied_cells,
        absent_cells=derived.absent_cells,
    )
    if question.spec.cells:
        return summary
    is_judged = any(check.gates and check.model.is_primary for check in checks)
    total = float(row["kanon_whole"] or 0)
    return replace(
        summary,
        records=int(row["kanon_records"]),
        contributors=int(facts["kanon_everyone"]) if question.resolved.entity else None,
        sensitive_cells=int(row["kanon_sensitive_cells"]) if is_judged else None,
        sensitive_inner_cells=int(row["kanon_sensitive_inner_cells"]) if is_judged else None,
        sensitive_records=int(row["kanon_sensitive_records"] or 0) if is_judged else None,
        share_of_total=float(row["kanon_hidden"] or 0) / total if is_judged and total else None,
    )


def _negatives(question: CellQuestion, row: Row) -> Iterator[str]:
    """A warning on negative contributions."""
    negatives = int(row.get("kanon_cells_with_negatives") or 0)
    if negatives:
        words = "cell has" if negatives == 1 else "cells have"
        added = " after a contributor's records are added" if question.resolved.entity else ""
        yield (
            f"{negatives:,} {words} a negative contribution; dominance and p% take absolute values"
            f"{added}, and are made for contributions of 0 or more."
        )


# --- what is read ---------------------------------------------------------------------------


def _statements_and_facts(
    question: CellQuestion, session: Session, suffix: str = ""
) -> tuple[CellStatements, Row]:
    """The statements on a table, in the types of its figures, with the facts on these.

    Raises `InputError` for what can't be judged, as a value that is no number, or could be read in
    two ways.
    """
    cells = statements_on(question)
    refuse_unmet(suffixed(cell_preconditions(question), suffix), session)
    step = cells.facts()
    if step is None:
        return cells, {}
    row = session.row(replace(step, name=f"{step.name}{suffix}"))
    name = question.resolved.table.name
    if not isinstance(cells, PublishedCells):
        _refuse_records(question, row)
        return cells.with_exactness(row), row
    fault = _fault(cells, row)
    if fault is not None:
        raise InputError(f"{name}: {fault}")
    cells = cells.with_exactness(row)
    step = cells.repeated()
    repeated = int(session.row(replace(step, name=f"{step.name}{suffix}"))["kanon_repeated"])
    if repeated:
        have = "cell has" if repeated == 1 else "cells have"
        raise InputError(
            f"{name}: {repeated:,} {have} more than one row: a dimension is missing from "
            f"{option('by')}, or a NULL value stands beside a NULL total."
        )
    return cells, row


def _refuse_records(question: CellQuestion, row: Row) -> None:
    """Raise `InputError` for values that are no finite number, and records of nobody."""
    table, value, entity = question.resolved.table.name, question.value, question.resolved.entity
    if value is not None:
        refuse_no_figure(table, value.name, row)
    if entity is not None and row["kanon_of_nobody"]:
        where = option("where", f'"{entity.name}" is not null')
        raise InputError(
            f"{table}: {row['kanon_of_nobody']:,} of {row['kanon_records']:,} records have no "
            f'"{entity.name}", so nobody knows whose they are. Fill it in, or leave them out: '
            f"{where}."
        )


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


def _label_warnings(table: PublishedCells, facts: Row, groupings: Sequence[Row]) -> Iterator[str]:
    """Warnings on labels that read like an undeclared total, and on declared ones in no row."""
    for number, shown in enumerate(table.dimensions, start=1):
        if facts[f"kanon_like_total_{number}"]:
            yield (
                f"{shown.dimension.raw.name} has values that read like a total, and no total is "
                f"declared: {option('total_label')}. Without it they are taken for categories."
            )
    names, unused = [], []
    for number, published in enumerate(table.dimensions, start=1):
        name = published.dimension.raw.name
        names.append(name)
        is_declared, _ = table.question.spec.total_label_of(name)
        if is_declared and not any(row[f"kanon_t{number}"] for row in groupings):
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


def _fault(table: PublishedCells, row: Row) -> str | None:
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
        "kanon_not_whole": "not written as a whole number, which a count is; a point or a comma is "
        "read as the mark of decimals. If it separates thousands, name it with "
        f"{option('thousands')}; if the figures are sums: {option('magnitude')}",
    }
    for fault, description in faults.items():
        if lacking := row.get(fault):
            counts = table.count if fault in ("kanon_no_count", "kanon_not_whole") else None
            subject = some_values(lacking, all_of, counts.name if counts else value)
            return f"{subject} {description.replace('{them}', them(lacking))}."
    for number, published in enumerate(table.dimensions, start=1):
        name = published.dimension.raw.name
        if row[f"kanon_null_{number}"]:
            rows = plural(int(row[f"kanon_null_{number}"]), "row")
            total = option("total_label", f"{name}=NULL")
            return (
                f"{name} is NULL in {rows}: is that the total ({total}) or a value (name it in "
                "the source)?"
            )
        if row[f"kanon_no_flag_{number}"]:
            rows = plural(int(row[f"kanon_no_flag_{number}"]), "row")
            return f"the flag of {name} is neither 0 nor 1 in {rows}, so a total can't be told."
        if row[f"kanon_unknown_{number}"]:
            rows = plural(int(row[f"kanon_unknown_{number}"]), "row")
            return (
                f"the label of {name} is not in its hierarchy in {rows}. Add what is lacking, "
                "spelled as in the table."
            )
    return None
