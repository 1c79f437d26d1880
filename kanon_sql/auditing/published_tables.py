"""The audit of published tables, from their records or as they go out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.auditing.cell_verdicts import judged_cells
from kanon_sql.auditing.open_cells import OpenCells, comparisons, open_cells, to_open
from kanon_sql.auditing.opening import expected, naming, opened, opening
from kanon_sql.auditing.policies import with_policies
from kanon_sql.auditing.result import AuditResult
from kanon_sql.auditing.suppressed_cells import FIGURES
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session, run_within
from kanon_sql.errors import Faults, InputError, plural, with_flags
from kanon_sql.plan.cells import CellQuestion, node_names
from kanon_sql.plan.preconditions import preconditions
from kanon_sql.plan.published_cells import statements_on
from kanon_sql.question.models.cells import Derivable
from kanon_sql.question.spec import AuditSpec, in_words_of_spec
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import Lineage, Rows, Status, Summary, status_of, today
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

if TYPE_CHECKING:
    from kanon_sql.report.dry_run import ExpectedTable


@in_words_of_spec
def audit_cells(
    spec: AuditSpec, run: RunOptions, *, show_values: bool = False, with_lineage: bool = False
) -> AuditResult:
    """Audit every published table of `spec` in place.

    Raises `SpecError` or `InputError` before the first query, with the errors of all tables, and
    `InputError` for a table of which nothing can be concluded. `with_lineage` adds the names of
    the datasets.
    """
    with opening(run) as engine_of:
        tables = []
        with Faults() as faults:
            for index, table in enumerate(spec.published):
                with faults.collected():
                    engine = engine_of(to_open(table))
                    tables.append(open_cells(spec, index, engine, show_values=show_values))
                    refuse_to_overwrite(run.writes, engine.files_read())
        results = []
        for opened_table in tables:
            question = opened_table.question
            with naming(question.spec.name or question.resolved.table.name, tables):
                results.append(_audited(opened_table, run, show_values))
        if with_lineage:
            results = [
                replace(result, lineage=_lineage(result, table, run.engine))
                for result, table in zip(results, tables, strict=True)
            ]
    return AuditResult(tuple(results), VERSION, audited=today())


def _audited(table: OpenCells, run: RunOptions, show_values: bool) -> CellsResult:
    return run_within(
        table.engine,
        run,
        lambda session: _answered(table, session, show_values),
        lambda session, error: _result(table.question, "error", session, error=error),
        spent=table.seconds,
    )


def _answered(table: OpenCells, session: Session, show_values: bool) -> CellsResult:
    question = table.question
    judged = judged_cells(table, session, show_values)
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
        warnings=tuple(map(with_flags, judged.warnings)),
        shown=judged.shown,
    )


def _result(question: CellQuestion, status: Status, session: Session, **fields: Any) -> CellsResult:
    spec, resolved = question.spec, question.resolved
    withheld = frozenset() if resolved.facts.show_values else resolved.hierarchy_texts
    return CellsResult(
        name=spec.name or resolved.table.name,
        engine=session.engine.name,
        status=status,
        quasi_identifiers=tuple(dimension.raw.name for dimension in question.dimensions),
        by=tuple(dimension.raw.name for dimension in question.dimensions),
        value=question.value.name if question.value else None,
        contributor=resolved.entity.name if resolved.entity else None,
        weight=resolved.weight.name if resolved.weight else None,
        published=spec.cells,
        margins=None if spec.cells else spec.margins,
        totals=(spec.declared_totals or "true") if spec.cells else None,
        figure="magnitude" if spec.is_magnitude else "count",
        where=spec.where,
        snapshots=resolved.snapshots,
        first=spec.first,
        against={name: str(other.source) for name, other in spec.against.items()},
        confidential=tuple(spec.confidential),
        sql={
            name: without_texts(sql, session.engine.dialect, withheld)
            for name, sql in session.sql_by_step.items()
        },
        seconds=time.monotonic() - session.started,
        **fields,
    )


def _lineage(result: CellsResult, table: OpenCells, connected: Any) -> Lineage:
    """The datasets of a published table; its checks share their statements, so none has its own."""
    from kanon_sql.auditing.datasets import lineage

    seconds = [other.question.resolved for other in table.others.values()]
    shared = lineage(table.question.resolved, table.engine, connected, seconds)
    return replace(shared, statements=(None,) * len(result.checks))


def validation_summary(
    spec: AuditSpec, index: int, engine: Any = None, *, show_values: bool = False
) -> str:
    """A summary of one published table, once its whole question is valid."""
    with opened(to_open(spec.published[index]), RunOptions(engine)) as hub:
        table = open_cells(spec, index, hub, show_values=show_values)
        question = table.question
        for precondition in preconditions(question.resolved):
            precondition.statement.check()
            fault = precondition.refuse(hub.query(precondition.statement.sql))
            if fault is not None:
                raise InputError(fault)
        steps = list(cell_statements(table))
        for step in steps:
            step.check()
            hub.check(step.sql)
    gates = sum(check.gates for check in question.checks)
    return (
        f"{question.spec.name or question.resolved.table.name}: "
        f"{plural(len(question.resolved.table.columns), 'column')}, {len(question.dimensions)} of "
        f"them dimensions; {plural(gates, 'check')}, {plural(len(steps), 'statement')}."
    )


def dry_run_of_cells(spec: AuditSpec, *, writes: Sequence[Path] = ()) -> tuple[ExpectedTable, ...]:
    """The statements on each published table and the tables they read, without running them."""
    tables = []
    for index, published in enumerate(spec.published):
        with opened(to_open(published), RunOptions()) as hub:
            table = open_cells(spec, index, hub)
            refuse_to_overwrite(writes, hub.files_read())
            own = table.question.resolved.table
            read = [own, *(other.question.resolved.table for other in table.others.values())]
            steps = list(cell_statements(table))
            tables.append(expected(published.name or own.name, read, steps, hub))
    return tuple(tables)


def cell_statements(table: OpenCells, facts: Row | None = None) -> Iterator[Statement]:
    """The statements on a published table in order. `facts` are those of the first one; without
    them, figures of no exact type are taken for decimals."""
    question, spec = table.question, table.question.spec
    cells = statements_on(question)
    if facts:
        cells = cells.with_exactness(facts)
    yield from cells.opening()
    yield cells.rules()
    two_of_each = {f"kanon_nodes_{node}": 2 for node in node_names(question)}
    yield from filter(None, [cells.groupings(), cells.groups(two_of_each)])
    for _, name, n in comparisons(table):
        other = replace(statements_on(table.others[name].question), exact=cells.exact)
        yield cells.differences(name, other, table.others[name].shared, n)
    if spec.suppressed or spec.absent == "suppressed" or _derives(question):
        condition = "if one is suppressed" if spec.cells else "for derivable"
        yield _fetching(cells.each_cell(FIGURES), condition)


def _derives(question: CellQuestion) -> bool:
    return any(isinstance(check.model, Derivable) for check in question.checks)


def _fetching(step: Statement, condition: str) -> Statement:
    """The statement whose cells are searched for what can be computed."""
    return replace(
        step,
        models=(Derivable,),
        only=f"{condition}. What follows from these cells is computed in an embedded DuckDB, by "
        "subtraction in as many rounds as it takes, bounds and linear programming: no single "
        "statement does that, so none is compiled",
    )
