"""Audits tables that are published: judges their cells, from the records or as they go out."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kanon_sql.auditing.opening import opened, opening
from kanon_sql.auditing.result import AuditResult, read_facts, refuse_unmet
from kanon_sql.auditing.suppressed_cells import (
    FIGURES,
    derived_as_published,
    derived_from_records,
    undecided,
)
from kanon_sql.auditing.verdicts import with_policies
from kanon_sql.engines.base import Engine
from kanon_sql.engines.session import RunOptions, Session, refuse_no_time, run_within
from kanon_sql.errors import Faults, InputError, SpecError, option, plural, with_options
from kanon_sql.plan.cells import (
    CellCheck,
    CellQuestion,
    Exactness,
    cell_preconditions,
    cell_question,
    cells_step,
    differences_step,
    empty_cells,
    exactness,
    facts_step,
    groups_step,
    node_names,
    sensitive_cells_step,
    table_of,
    typed_exactness,
    violating_cells_step,
)
from kanon_sql.plan.preconditions import preconditions
from kanon_sql.plan.published_cells import (
    PublishedTable,
    missing_cells,
    published_cells_step,
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
from kanon_sql.plan.question import DataFacts, Roles, same_name
from kanon_sql.plan.resolve import bind
from kanon_sql.plan.resolve_roles import resolve
from kanon_sql.plan.steps import Precondition
from kanon_sql.results.cells import CellCheckResult, CellsResult, CellSummary
from kanon_sql.results.table import Lineage, Rows, Status, Summary, status_of, today
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.spec.models.cells import (
    Derivable,
    Differences,
    GroupDisclosure,
    MinContributors,
    Rounded,
)
from kanon_sql.spec.published import AgainstSpec, PublishedSpec
from kanon_sql.spec.question_parts import ReferenceSpec
from kanon_sql.spec.spec import AuditSpec, TableSpec
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row, Table

if TYPE_CHECKING:
    from kanon_sql.results.diff import ExpectedTable


class SecondTable(NamedTuple):
    """A table to compare with, and the dimensions of this table that it has, in its order."""

    question: CellQuestion
    shared: tuple[str, ...]


@dataclass(frozen=True)
class OpenCells:
    """A published table and its second tables, resolved on an engine."""

    question: CellQuestion
    others: Mapping[str, SecondTable]
    engine: Engine
    seconds: float


def audit_cells(
    spec: AuditSpec, run: RunOptions, *, show_values: bool = False, with_lineage: bool = False
) -> AuditResult:
    """Audit every published table of `spec` in place.

    Raises `SpecError` or `InputError` before the first query, with the errors of all tables, and
    `InputError` for a table of which nothing can be concluded. `with_lineage` adds the names of
    the datasets.
    """
    refuse_no_time(run.timeout)
    with opening(run) as engine_of:
        tables = []
        with Faults() as faults:
            for place, table in enumerate(spec.published):
                with faults.collected():
                    engine = engine_of(to_open(table))
                    tables.append(open_cells(spec, place, engine, show_values=show_values))
                    refuse_to_overwrite(run.writes, engine.files_read())
        results = [_audited(table, run, show_values) for table in tables]
        if with_lineage:
            results = [
                replace(result, lineage=_lineage(result, table, run.engine))
                for result, table in zip(results, tables, strict=True)
            ]
    return AuditResult(tuple(results), VERSION, audited=today())


def _lineage(result: CellsResult, table: OpenCells, connected: Any) -> Lineage:
    """The datasets of a published table; its checks share their statements, so none has its own."""
    from kanon_sql.auditing.lineage import lineage

    seconds = [each.question.bound for each in table.others.values()]
    found = lineage(table.question.bound, table.engine, connected, seconds)
    return replace(found, statements=(None,) * len(result.checks))


def fits(spec: AuditSpec, place: int, engine: Any = None, *, show_values: bool = False) -> str:
    """A summary of one published table, once its whole question is valid."""
    with opened(to_open(spec.published[place]), RunOptions(engine)) as hub:
        table = open_cells(spec, place, hub, show_values=show_values)
        question = table.question
        for precondition in preconditions(question.bound):
            precondition.step.check()
            fault = precondition.fault(hub.query(precondition.step.sql)[0])
            if fault is not None:
                raise InputError(fault)
        steps = list(cell_statements(table))
        for step in steps:
            step.check()
            hub.check(step.sql)
    gates = sum(check.gates for check in question.checks)
    return (
        f"{question.spec.name or question.bound.table.name}: "
        f"{plural(len(question.bound.table.columns), 'column')}, {len(question.dimensions)} of "
        f"them dimensions; {plural(gates, 'check')}, {plural(len(steps), 'statement')}."
    )


def dry_run_of_cells(spec: AuditSpec, *, writes: Sequence[Path] = ()) -> tuple[ExpectedTable, ...]:
    """The statements on each published table and the tables they read, without running them."""
    from kanon_sql.results.diff import ExpectedTable

    tables = []
    for place, asked in enumerate(spec.published):
        with opened(to_open(asked), RunOptions()) as hub:
            table = open_cells(spec, place, hub)
            refuse_to_overwrite(writes, hub.files_read())
            steps = tuple(cell_statements(table))
            for step in steps:
                step.check()
            read = (table.question, *(each.question for each in table.others.values()))
            names = tuple(each.bound.table.name for each in read)
            name = asked.name or table.question.bound.table.name
            tables.append(ExpectedTable(name, hub.name, names, steps))
    return tuple(tables)


def cell_statements(table: OpenCells, facts: Row | None = None) -> Iterator[Statement]:
    """The statements on a published table in order. `facts` are those of the first one; without
    them, figures of no exact type are taken for decimals."""
    question = table.question
    if question.spec.cells:
        published = published_table(question)
        yield published_facts_step(published)
        exact = published_exactness(published, facts) if facts else Exactness(6)
        yield repeated_step(published, exact)
        yield published_rules_step(published, exact)
        yield published_groupings_step(published, exact)
        nodes = {f"kanon_nodes_{node}": 2 for node in node_names(question)}
        if groups := published_groups_step(published, exact, nodes):
            yield groups
        for name, model in _comparisons(table):
            other = published_table(table.others[name].question)
            yield published_differences_step(
                published, exact, name, other, exact, table.others[name].shared, model.n
            )
        if question.spec.suppressed or question.spec.absent == "suppressed" or _derives(question):
            yield _fetching(published_cells_step(published, exact, FIGURES), "if one is suppressed")
        return
    first = facts_step(question)
    yield from (each.step for each in cell_preconditions(question))
    if first is not None:
        yield first
    yield cells_step(question, exactness(question, facts) if facts else typed_exactness(question))
    if groups := groups_step(question):
        yield groups
    for name, model in _comparisons(table):
        other_question, shared = table.others[name]
        yield differences_step(question, name, other_question, shared, model.n)
    if _derives(question):
        exact = exactness(question, facts) if facts else typed_exactness(question)
        yield _fetching(sensitive_cells_step(question, exact, FIGURES), "for derivable")


def _derives(question: CellQuestion) -> bool:
    return any(isinstance(check.model, Derivable) for check in question.checks)


def _fetching(step: Statement, when: str) -> Statement:
    """The statement whose cells are searched for what can be computed."""
    return replace(
        step,
        models=(Derivable,),
        only=f"{when}. What follows from these cells is computed in an embedded DuckDB, by "
        "subtraction in as many rounds as it takes, bounds and linear programming: no single "
        "statement does that, so none is compiled",
    )


def _comparisons(table: OpenCells) -> Iterator[tuple[str, Differences]]:
    """The comparisons with second tables, by the name of each."""
    for check in _with_differences(table):
        if isinstance(check.model, Differences) and check.model.against is not None:
            yield check.model.against, check.model


def to_open(spec: PublishedSpec) -> TableSpec:
    """The table with its second tables as references, so that their headers are known."""
    references = {
        name: ReferenceSpec(source=each.source, header=each.header)
        for name, each in spec.against.items()
    }
    return table_of(spec).model_copy(update={"references": references})


def open_cells(
    spec: AuditSpec, place: int, engine: Engine, *, show_values: bool = False
) -> OpenCells:
    """Open a published table with its second tables, and resolve their columns."""
    started = time.monotonic()
    asked = spec.published[place]
    table = engine.table(asked.source)
    seconds = {name: engine.table(each.source) for name, each in asked.against.items()}

    def facts_of(roles: Roles) -> DataFacts:
        return read_facts(engine, roles, show_values=show_values)

    try:
        question, others = resolved_cells(asked, table, seconds, facts_of)
    except (SpecError, InputError) as error:
        engine.renew()
        if isinstance(error, InputError):
            raise
        error.location = _own_location(error.location)
        raise spec.with_location(error, place, "published") from None
    return OpenCells(question, others, engine, time.monotonic() - started)


def resolved_cells(
    asked: PublishedSpec,
    table: Table,
    seconds: Mapping[str, Table],
    facts_of: Callable[[Roles], DataFacts],
) -> tuple[CellQuestion, dict[str, SecondTable]]:
    """The question on a published table and on those to compare with, resolved."""
    question = _resolved(asked, table, facts_of)
    others = {
        name: SecondTable(
            _second(asked, name, each, seconds[name], facts_of),
            tuple(_own_names(question, each.by or asked.by)),
        )
        for name, each in asked.against.items()
    }
    return question, others


_KEYS = {"quasi_identifiers": "by", "entity": "contributor"}
"""What a published table calls the roles of a table of records."""


def _own_location(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    return (_KEYS.get(str(location[0]), location[0]), *location[1:]) if location else location


def _own_names(question: CellQuestion, names: Sequence[str]) -> Iterator[str]:
    """The dimensions of these names, in the spelling of the table."""
    own = [dimension.raw.name for dimension in question.dimensions]
    yield from (each for name in names for each in own if same_name(each, name))


def _resolved(
    spec: PublishedSpec, table: Table, facts_of: Callable[[Roles], DataFacts]
) -> CellQuestion:
    roles = resolve(table_of(spec), table, {})
    return cell_question(spec, bind(roles, facts_of(roles)))


def _second(
    spec: PublishedSpec,
    name: str,
    other: AgainstSpec,
    table: Table,
    facts_of: Callable[[Roles], DataFacts],
) -> CellQuestion:
    """The question on a second table, whose columns may have other names."""
    called = {own.casefold(): there for own, there in other.columns.items()}

    def there(own: str | None) -> str | None:
        return None if own is None else called.get(own.casefold(), own)

    by = other.by or spec.by
    own = spec.model_copy(
        update={
            "source": other.source,
            "name": None,
            "by": [there(each) for each in by],
            "hierarchies": {
                there(each): hierarchy
                for each, hierarchy in spec.hierarchies.items()
                if each.casefold() in {column.casefold() for column in by}
            },
            "value": there(spec.value),
            "count": there(spec.count),
            "contributor": there(spec.contributor),
            "total_label": {
                there(each) if each != "*" else each: label
                for each, label in spec.total_label.items()
            },
            "total_flag": {there(each): there(flag) for each, flag in spec.total_flag.items()},
            "weight": None,
            "where": other.where,
            "first": None,
            "against": {},
            "checks": [],
            "policy": [],
        }
    )
    try:
        return _resolved(own, table, facts_of)
    except SpecError as error:
        raise SpecError(f"against {name}: {error.marked}") from None


def _audited(table: OpenCells, run: RunOptions, show_values: bool) -> CellsResult:
    return run_within(
        table.engine,
        run,
        lambda session: _answered(table, session, show_values),
        lambda session, error: _result(table.question, "error", session, error=error),
        spent=table.seconds,
    )


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


def _answered(table: OpenCells, session: Session, show_values: bool) -> CellsResult:
    question = table.question
    if question.spec.cells:
        judged = _as_published(table, session, show_values)
    else:
        judged = _of_records(table, session, show_values)
    if judged is None:
        return _result(question, "no_data", session)
    checks, policies = with_policies(question.spec, judged.checks)
    return _result(
        question,
        status_of(checks),
        session,
        cells=judged.summary,
        summary=Summary(records=judged.summary.records),
        checks=Rows(checks),
        policies=policies,
        warnings=tuple(with_options(each, _flag) for each in judged.warnings),
        shown=judged.shown,
    )


def _flag(parameter: str, value: str | None) -> str:
    """An option as the command line spells it, which is how a result words its warnings."""
    flag = f"--{parameter.replace('_', '-').replace('.', '-')}"
    return flag if value is None else f"{flag} {ast.literal_eval(value)}"


# --- from records ---------------------------------------------------------------------------


def _of_records(table: OpenCells, session: Session, show_values: bool) -> JudgedCells | None:
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
    differences = dict(_differences(table, session))
    derivable = _derivable(list(_with_differences(table)))
    derived = None
    if derivable:
        everyone = facts["kanon_everyone"] if facts and question.bound.entity else None
        derived = (
            undecided(derivable, int(row["kanon_sensitive_cells"] or 0))
            if everyone not in (None, row["kanon_whole"]) and question.value is None
            else derived_from_records(question, exact, derivable, session, summary.cells or 0)
        )
        summary = replace(summary, implied_cells=derived.implied_cells)
    checks = [
        derived.checks[number]
        if derived and number in derived.checks
        else _checked(number, check, row, group_row, differences, empty)
        for number, check in enumerate(_with_differences(table), start=1)
    ]
    warned = [*_warnings(question, row, checks), *(derived.warnings if derived else ())]
    step = violating_cells_step(question, exact) if show_values else None
    shown = [_named(question, each) for each in session.rows(step)] if step else None
    return JudgedCells(summary, checks, warned, violating=shown)


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
        "figure": _number(row["kanon_figure"]),
    }


def _number(figure: Any) -> int | float | None:
    """A figure as a number of JSON, whatever type the engine gives it."""
    if figure is None:
        return None
    return int(figure) if figure == int(figure) else float(figure)


def _derivable(checks: Sequence[CellCheck]) -> dict[int, CellCheck]:
    """The derivability checks, by number."""
    numbered = enumerate(checks, start=1)
    return {number: check for number, check in numbered if isinstance(check.model, Derivable)}


def _facts(question: CellQuestion, session: Session, suffix: str = "") -> Row | None:
    """The facts on values and contributors. Raises `InputError` for records that can't be judged,
    as for a value that is no number."""
    refuse_unmet(_suffixed(cell_preconditions(question), suffix), session)
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


def _suffixed(found: Iterable[Precondition], suffix: str) -> Iterator[Precondition]:
    """Preconditions whose statements have a suffix, which tells a second table's apart."""
    for each in found:
        yield each._replace(step=replace(each.step, name=f"{each.step.name}{suffix}"))


def refuse_no_figure(table: str, column: str, row: Row) -> None:
    """Raise `InputError` for values that are no number, NaN or infinite."""
    all_of, named = int(row["kanon_values"]), f'"{column}"'
    if lacking := row["kanon_no_number"]:
        raise InputError(
            f"{table}: {_some(lacking, all_of, named)} no number. Mend {_them(lacking)}, "
            f"or leave {_them(lacking)} out: {option('where')}."
        )
    if lacking := row["kanon_not_finite"]:
        where = option("where", f'"{column}" between -1e300 and 1e300')
        raise InputError(
            f"{table}: {_some(lacking, all_of, named)} NaN or infinite, so "
            f"without a share. Leave {_them(lacking)} out: {where}."
        )


def _some(count: int, all_of: int, column: str) -> str:
    """As in `3 of 120 values of n are`."""
    are = "is" if count == 1 else "are"
    return f"{count:,} of {plural(all_of, 'value')} of {column} {are}"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


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


def _with_differences(table: OpenCells) -> Iterator[CellCheck]:
    """The checks with a second table named in each comparison, and comparisons not asked for."""
    asked = set()
    for check in table.question.checks:
        model = check.model
        if isinstance(model, Differences):
            name = model.against or next(iter(table.others))
            asked.add(name)
            check = check._replace(model=model.model_copy(update={"against": name}))
        yield check
    for name in table.others:
        if name not in asked:
            yield CellCheck(Differences(against=name), asked=False)


def _differences(table: OpenCells, session: Session) -> Iterator[tuple[int, Row]]:
    """The comparison with each second table, by the number of its check."""
    read = set()
    for number, check in enumerate(_with_differences(table), start=1):
        model = check.model
        if isinstance(model, Differences) and model.against is not None:
            name, (other, shared) = model.against, table.others[model.against]
            if name not in read:
                read.add(name)
                _facts(other, session, f"_{name}")
            step = differences_step(table.question, name, other, shared, model.n)
            yield number, session.row(step)


def _checked(
    number: int,
    check: CellCheck,
    row: Row,
    group_row: Row,
    differences: Mapping[int, Row],
    empty: Mapping[int, int],
) -> CellCheckResult:
    """The verdict of one check from the rows of the statements."""
    match check.model:
        case GroupDisclosure():
            return of_groups(check, group_row, number)
        case Differences():
            return of_differences(check, differences[number])
        case MinContributors(zeros="disclosive"):
            least = 0 if any(empty.values()) else row["kanon_least"]
            margins = sum(count for grouping, count in empty.items() if grouping)
            return _of_cells(check, row, number, least, sum(empty.values()), margins)
        case MinContributors():
            return _of_cells(check, row, number, row["kanon_least_above_zero"])
    achieved = row[f"kanon_achieved_{number}"]
    return _of_cells(
        check,
        row,
        number,
        None if achieved is None else float(achieved),
        details={
            "undefined_cells": int(row["kanon_zero_cells"] or 0),
            "cells_with_negatives": int(row["kanon_cells_with_negatives"] or 0),
        },
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
    whole = isinstance(check.model, MinContributors) and achieved is not None
    return CellCheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=None if violating is None else not violating,
        achieved=int(achieved) if whole and achieved is not None else achieved,
        details={"violating_cells": violating, "violating_margin_cells": margins, **details},
    )


def of_groups(check: CellCheck, row: Row, number: int) -> CellCheckResult:
    disclosed = int(row.get(f"kanon_disclosed_{number}") or 0)
    return CellCheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=not disclosed if check.gates else None,
        achieved=disclosed,
        details={
            "alone": int(row.get(f"kanon_alone_{number}") or 0),
            "groups": int(row.get("kanon_groups") or 0),
        },
    )


def of_differences(check: CellCheck, row: Row) -> CellCheckResult:
    """The verdict of a comparison. Raises `InputError` if no cell is in both tables."""
    compared = int(row["kanon_compared"] or 0)
    matched = int(row["kanon_cells_of_both"])
    if check.gates and not compared:
        raise InputError(
            f"differences: no cell is shown by both this table and the second one. Do their "
            f"labels agree, and {option('against.by')}?"
        )
    violating = int(row["kanon_violating"] or 0) if check.gates else None
    return CellCheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=None if violating is None else not violating,
        achieved=None if row["kanon_least"] is None else float(row["kanon_least"]),
        details={
            "compared_cells": compared,
            "equal_cells": int(row["kanon_equal"] or 0),
            "violating_cells": violating,
            "greater_here": int(row["kanon_greater"] or 0),
            "smaller_here": int(row["kanon_smaller"] or 0),
            "not_compared": int(row["kanon_cells_here"])
            + int(row["kanon_cells_there"])
            - matched
            - compared,
            "suppressed_here_shown_there": int(row["kanon_hidden_here"] or 0),
        },
    )


# --- as published ---------------------------------------------------------------------------


def _as_published(table: OpenCells, session: Session, show_values: bool) -> JudgedCells | None:
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
    differences = dict(_published_differences(table, published, exact, session))
    is_hidden = row["kanon_suppressed"] or (not is_zero and any(missing.values()))
    asked = list(_with_differences(table))
    if is_hidden and not any(isinstance(each.model, Derivable) for each in asked):
        asked.append(CellCheck(Derivable(), asked=False))
    warned = list(_doubts(published, facts, groupings))
    derived = derived_as_published(
        published,
        exact,
        _derivable(asked),
        session,
        int(row["kanon_cells"]),
        show_values,
        doubtful=bool(warned),
    )
    checks = []
    for number, check in enumerate(asked, start=1):
        match check.model:
            case Derivable():
                checks.append(derived.checks[number])
            case GroupDisclosure():
                checks.append(of_groups(check, group_row, number))
            case Differences():
                checks.append(of_differences(check, differences[number]))
            case Rounded():
                checks.append(_of_grid(check, row, number))
            case MinContributors(zeros="disclosive") if is_zero and any(missing.values()):
                empty = sum(missing.values())
                checks.append(_of_cells(check, row, number, 0, empty, missing[True]))
            case MinContributors(zeros=zeros):
                least = "kanon_least" if zeros == "disclosive" else "kanon_least_above_zero"
                checks.append(_of_cells(check, row, number, row[least]))
    cells, margins = int(row["kanon_cells"]), int(row["kanon_margin_cells"] or 0)
    summary = CellSummary(
        cells=cells,
        inner_cells=cells - margins,
        margin_cells=margins,
        empty_cells=sum(missing.values()) if is_zero else 0,
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
    step = violating_published_step(published, exact) if show_values else None
    names = [each.raw.name for each in table.question.dimensions]
    shown = [_named_cell(names, each) for each in session.rows(step)] if step else None
    return JudgedCells(summary, checks, found, derived.intervals, shown)


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


def _named_cell(names: Sequence[str], row: Row) -> dict[str, Any]:
    """A published cell with its labels."""
    return {
        **{name: row[f"kanon_d{place}"] for place, name in enumerate(names, start=1)},
        "totals": [name for place, name in enumerate(names, 1) if row[f"kanon_t{place}"]],
        "figure": _number(row["kanon_figure"]),
    }


def _of_grid(check: CellCheck, row: Row, number: int) -> CellCheckResult:
    """The verdict on rounding."""
    violating = int(row[f"kanon_violating_cells_{number}"] or 0)
    margins = int(row[f"kanon_violating_margin_cells_{number}"] or 0)
    return CellCheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=not violating,
        achieved=violating,
        details={"violating_cells": violating, "violating_margin_cells": margins},
    )


def _published_differences(
    table: OpenCells, published: PublishedTable, exact: Exactness, session: Session
) -> Iterator[tuple[int, Row]]:
    """The comparison with each second table, by the number of its check."""
    read: dict[str, tuple[PublishedTable, Exactness]] = {}
    for number, check in enumerate(_with_differences(table), start=1):
        model = check.model
        if not isinstance(model, Differences) or model.against is None:
            continue
        name = model.against
        if name not in read:
            other = published_table(table.others[name].question)
            read[name] = other, _read(other, session, f"_{name}")[1]
        step = published_differences_step(
            published, exact, name, *read[name], table.others[name].shared, model.n
        )
        yield number, session.row(step)


def _read(table: PublishedTable, session: Session, suffix: str = "") -> tuple[Row, Exactness]:
    """The facts on the rows of a published table. Raises `InputError` for what is neither a number
    nor a mark, or could be read in two ways."""
    refuse_unmet(_suffixed(preconditions(table.question.bound), suffix), session)
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
    if lacking := row["kanon_no_number"]:
        return (
            f"{_some(lacking, all_of, value)} neither a number nor a declared mark: "
            f"{option('suppressed', 'MARK')}."
        )
    if lacking := row["kanon_unmarked_null"]:
        return (
            f"{_some(lacking, all_of, value)} NULL, which is neither a number nor a declared mark: "
            f"{option('suppressed', 'NULL')}."
        )
    if lacking := row["kanon_not_finite"]:
        where = option("where", f'"{value}" between -1e300 and 1e300')
        return (
            f"{_some(lacking, all_of, value)} NaN or infinite. Leave {_them(lacking)} out: {where}."
        )
    if table.count and (lacking := row["kanon_no_count"]):
        return (
            f"{_some(lacking, all_of, table.count.name)} no number of contributors, beside a "
            "figure that is shown."
        )
    if lacking := row.get("kanon_below_zero"):
        return (
            f"{_some(lacking, all_of, value)} below zero, so the figure is no count. If it is a "
            f"sum: {option('magnitude')}."
        )
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


def _result(question: CellQuestion, status: Status, session: Session, **found: Any) -> CellsResult:
    spec, bound = question.spec, question.bound
    withheld = frozenset() if bound.facts.show_values else bound.hierarchy_texts
    return CellsResult(
        name=spec.name or bound.table.name,
        engine=session.engine.name,
        status=status,
        quasi_identifiers=tuple(each.raw.name for each in question.dimensions),
        by=tuple(each.raw.name for each in question.dimensions),
        value=question.value.name if question.value else None,
        contributor=bound.entity.name if bound.entity else None,
        weight=bound.weight.name if bound.weight else None,
        published=spec.cells,
        margins=None if spec.cells else spec.margins,
        figure="magnitude" if spec.is_magnitude else "count",
        where=spec.where,
        first=spec.first,
        against={name: str(each.source) for name, each in spec.against.items()},
        confidential=tuple(spec.confidential),
        sql={
            name: without_texts(sql, session.engine.dialect, withheld)
            for name, sql in session.asked.items()
        },
        seconds=time.monotonic() - session.started,
        **found,
    )
