"""The subjects of an audit: the tables of records of a spec, or its published tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kanon_sql.auditing.facts import HierarchyReading
from kanon_sql.auditing.opening import expected, naming, opened, opening
from kanon_sql.auditing.result import AuditResult
from kanon_sql.auditing.table_jobs import audited_by_jobs
from kanon_sql.auditing.unopened import TargetDatabase, UnopenedTable
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session, run_within
from kanon_sql.errors import Faults, plural
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.table import Lineage, TableResult, today
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Table

if TYPE_CHECKING:
    from kanon_sql.report.dry_run import ExpectedTable


class Subject(Protocol):
    """A table of a spec, opened on an engine, with its question resolved."""

    @property
    def engine(self) -> Engine:
        """The engine that its statements run on."""

    @property
    def seconds(self) -> float:
        """How long it took to open."""

    @property
    def name(self) -> str:
        """The name it is shown by."""

    @property
    def reads(self) -> Sequence[Table]:
        """The table and those that it is compared with."""

    @property
    def gates(self) -> int:
        """The number of checks that can fail."""

    @property
    def columns_in_words(self) -> str:
        """How many columns have the role that classes or cells are made of."""

    def on(self, engine: Engine) -> Subject:
        """The same table in another session of its database."""

    def statements(self, *, reads_facts: bool = False) -> Sequence[Statement]:
        """The statements that its audit may run, in order. Those that depend on facts about the
        data are as they run only with `reads_facts`, which queries these."""

    def refuse_unmet(self) -> None:
        """Raise `SpecError` or `InputError` for data by which its question can't be answered."""

    def answered(self, session: Session, show_values: bool) -> TableResult:
        """The verdicts on its checks."""

    def failed(self, session: Session, error: str) -> TableResult:
        """The result of an audit that the engine ended with an error."""

    def lineage(self, connected: Any, checks: int) -> Lineage:
        """Its datasets and the statements of so many checks."""


class Opening(NamedTuple):
    """How a table is opened."""

    timeout: float | None = None
    hierarchies: HierarchyReading = "read"
    show_values: bool = False


class SubjectKind(Protocol):
    """A kind of table in a spec."""

    @property
    def reads_names(self) -> bool:
        """Whether a table may be a name alone, whose columns are those that the question names."""

    def tables(self, spec: AuditSpec) -> Sequence[TableSpec]:
        """The tables of this kind."""

    def jobs(self, run: RunOptions, tables: int) -> int:
        """How many of these tables are audited at a time."""

    def open(self, spec: AuditSpec, index: int, engine: Engine, how: Opening) -> Subject:
        """Open one of them. Raises `SpecError` or `InputError` with its location in the spec."""

    def elsewhere(
        self, spec: AuditSpec, index: int, hub: Engine | None, there: TargetDatabase
    ) -> UnopenedTable:
        """One of them in a target database, by the columns that it has on `hub`; without one, it is
        a name alone. Raises `SpecError` or `InputError` with its location in the spec."""


def audited(
    kind: SubjectKind, spec: AuditSpec, run: RunOptions, show_values: bool, with_lineage: bool
) -> AuditResult:
    """The result of auditing every table of a kind."""
    tables = kind.tables(spec)
    run = replace(run, jobs=kind.jobs(run, len(tables)))
    with opening(run) as engine_of:
        subjects: list[Subject] = []
        with Faults() as faults:
            for index, table in enumerate(tables):
                with faults.collected():
                    engine = engine_of(table)
                    how = Opening(run.timeout, show_values=show_values)
                    subjects.append(kind.open(spec, index, engine, how))
                    refuse_to_overwrite(run.writes, engine.files_read())

        def answer(subject: Subject, options: RunOptions) -> TableResult:
            with naming(subject.name, subjects):
                return run_within(
                    subject.engine,
                    options,
                    lambda session: subject.answered(session, show_values),
                    lambda session, error: subject.failed(session, error),
                    spent=subject.seconds,
                )

        results = audited_by_jobs(subjects, run, answer)
        if with_lineage:
            results = [
                replace(result, lineage=subject.lineage(run.engine, len(result.checks)))
                for result, subject in zip(results, subjects, strict=True)
            ]
    return AuditResult(tuple(results), VERSION, audited=today())


def validated(
    kind: SubjectKind, spec: AuditSpec, engine: Any, faults: Faults, *, show_values: bool
) -> list[str]:
    """A sentence on each table of a kind whose whole question is valid; the errors of the others
    are collected in `faults`."""
    sentences = []
    for index, table in enumerate(kind.tables(spec)):
        with faults.collected(), opened(table, RunOptions(engine)) as hub:
            subject = kind.open(spec, index, hub, Opening(show_values=show_values))
            subject.refuse_unmet()
            statements = subject.statements()
            for statement in statements:
                statement.check()
                hub.check(statement.sql)
            sentences.append(
                f"{subject.name}: {plural(len(subject.reads[0].columns), 'column')}, "
                f"{subject.columns_in_words}; {plural(subject.gates, 'check')}, "
                f"{plural(len(statements), 'statement')}."
            )
    return sentences


def dry_run(
    kind: SubjectKind, spec: AuditSpec, engine: Any, writes: Sequence[Path]
) -> tuple[ExpectedTable, ...]:
    """The statements on each table of a kind and the tables they read, without running them."""
    tables = []
    for index, table in enumerate(kind.tables(spec)):
        with opened(table, RunOptions(engine)) as hub:
            subject = kind.open(spec, index, hub, Opening(hierarchies="opened"))
            refuse_to_overwrite(writes, hub.files_read())
            tables.append(expected(subject.name, subject.reads, subject.statements(), hub))
    return tuple(tables)
