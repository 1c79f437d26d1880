"""The audit of published tables, from their records or as they go out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kanon_sql.auditing.facts import facts_unread
from kanon_sql.auditing.policies import with_policies
from kanon_sql.auditing.running import refuse_if_unmet
from kanon_sql.auditing.subjects import Opening
from kanon_sql.auditing.unopened import TargetDatabase, UnopenedTable
from kanon_sql.engines.base import Engine
from kanon_sql.engines.names import offline_table
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import SpecError, with_flags
from kanon_sql.models.cells.cell_question import CellQuestion
from kanon_sql.models.cells.models import Derivable
from kanon_sql.models.cells.open_cells import (
    OpenCells,
    comparisons,
    open_cells,
    resolved_cells,
    to_open,
)
from kanon_sql.models.cells.plan import two_of_each
from kanon_sql.models.cells.published_plan import statements_on
from kanon_sql.models.cells.suppressed_cells import FIGURES
from kanon_sql.models.cells.verdicts import judged_cells
from kanon_sql.plan.preconditions import preconditions
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import Lineage, Status, Summary, status_of
from kanon_sql.results.tabular import Rows
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row, Table

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class CellsSubject:
    """A published table, with those that it is compared with."""

    table: OpenCells
    engine: Engine
    list_cells: bool = False

    @property
    def seconds(self) -> float:
        return self.table.seconds

    @property
    def name(self) -> str:
        return _name_of(self.table.question)

    @property
    def reads(self) -> Sequence[Table]:
        others = (other.question.resolved.table for other in self.table.others.values())
        return (self.table.question.resolved.table, *others)

    @property
    def gates(self) -> int:
        return sum(check.gates for check in self.table.question.checks)

    @property
    def columns_in_words(self) -> str:
        return f"{len(self.table.question.dimensions)} of them dimensions"

    def on(self, engine: Engine) -> CellsSubject:
        return replace(self, engine=engine, table=replace(self.table, engine=engine))

    def statements(self, *, reads_facts: bool = False) -> Sequence[Statement]:
        facts = None
        first = next(cell_statements(self.table))
        if reads_facts and self.table.question.value is not None and first.name == "figures":
            first.check()
            [facts] = self.engine.query(first.sql)
        return list(cell_statements(self.table, facts))

    def refuse_unmet(self) -> None:
        """Raise `InputError` for the first precondition that the data fail."""
        for precondition in preconditions(self.table.question.resolved):
            refuse_if_unmet(precondition, self.engine)

    def answered(self, session: Session, show_values: bool) -> CellsResult:
        return _answered(self.table, session, show_values, self.list_cells)

    def failed(self, session: Session, error: str) -> CellsResult:
        return _result(self.table.question, "error", session, error=error)

    def lineage(self, connected: Any, checks: int) -> Lineage:
        """The datasets; its checks share their statements, so none has its own."""
        from kanon_sql.auditing.datasets import lineage

        question, others = self.table.question, self.table.others.values()
        seconds = [other.question.resolved for other in others]
        shared = lineage(question.resolved, self.engine, connected, seconds)
        return replace(shared, statements=(None,) * checks)


@dataclass(frozen=True)
class PublishedTables:
    """The published tables of a spec; `list_cells` adds the verdict on each cell."""

    list_cells: bool = False
    reads_names = False

    def tables(self, spec: AuditSpec) -> Sequence[TableSpec]:
        return [to_open(published) for published in spec.published]

    def jobs(self, run: RunOptions, tables: int) -> int:
        """One: what is computed from the cells takes all processors."""
        return 1

    def open(self, spec: AuditSpec, index: int, engine: Engine, how: Opening) -> CellsSubject:
        table = open_cells(spec, index, engine, show_values=how.show_values)
        return CellsSubject(table, engine, self.list_cells)

    def elsewhere(
        self, spec: AuditSpec, index: int, hub: Engine | None, there: TargetDatabase
    ) -> UnopenedTable:
        assert hub is not None
        published = spec.published[index]
        own = offline_table(hub.table(published.source), there.called)
        seconds = {
            name: offline_table(hub.table(other.source))
            for name, other in published.against.items()
        }
        try:
            question, others = resolved_cells(published, own, seconds, facts_unread)
        except SpecError as error:
            raise spec.with_location(error, index, "published") from None
        statements = cell_statements(OpenCells(question, others, hub, 0.0))
        return UnopenedTable(_name_of(question), question.resolved, list(statements))


def _name_of(question: CellQuestion) -> str:
    return question.spec.name or question.resolved.table.name


def _answered(
    table: OpenCells, session: Session, show_values: bool, list_cells: bool
) -> CellsResult:
    question = table.question
    judged = judged_cells(table, session, show_values, list_cells)
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
        listed=judged.listed,
    )


def _result(question: CellQuestion, status: Status, session: Session, **fields: Any) -> CellsResult:
    spec, resolved = question.spec, question.resolved
    withheld = frozenset() if resolved.facts.show_values else resolved.hierarchy_texts
    return CellsResult(
        name=_name_of(question),
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


def cell_statements(table: OpenCells, facts: Row | None = None) -> Iterator[Statement]:
    """The statements on a published table in order. `facts` are those of the first one; without
    them, figures of no exact type are taken for decimals."""
    question, spec = table.question, table.question.spec
    cells = statements_on(question)
    if facts:
        cells = cells.with_exactness(facts)
    yield from cells.opening()
    yield cells.rules()
    yield from filter(None, [cells.groupings(), cells.groups(two_of_each(question))])
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
