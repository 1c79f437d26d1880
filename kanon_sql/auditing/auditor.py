"""The audit of every table of a spec: its plan run on an engine, its rows judged."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from kanon_sql.auditing import subjects
from kanon_sql.auditing.families import families_of, family_of, fields_of
from kanon_sql.auditing.opening import name_of, planned
from kanon_sql.auditing.policies import with_policies
from kanon_sql.auditing.result import AuditResult
from kanon_sql.auditing.running import refuse_changed, refuse_if_unmet, refuse_unanswerable
from kanon_sql.auditing.running import run as run_steps
from kanon_sql.auditing.subjects import Opening, SubjectKind, audited, validated
from kanon_sql.auditing.unopened import TargetDatabase, UnopenedTable, unopened_records
from kanon_sql.auditing.warnings import certain_values, warnings
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import Faults, InputError, SpecError
from kanon_sql.models.catalogue import OF_CELLS, family_part
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.preconditions import without_label
from kanon_sql.plan.question import AtLevel, BoundCheck, ResolvedQuestion
from kanon_sql.plan.steps import Precondition, ShownStep, records
from kanon_sql.question.spec import AuditSpec, in_words_of_spec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import Lineage, Status, TableResult, status_of
from kanon_sql.results.tabular import Rows
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Table

if TYPE_CHECKING:
    from kanon_sql.report.dry_run import ExpectedTable


@in_words_of_spec
def audit(
    spec: AuditSpec,
    run: RunOptions,
    *,
    kind: SubjectKind | None = None,
    show_values: bool = False,
    with_lineage: bool = False,
) -> AuditResult:
    """Audit every table of `spec` in place, or those of another `kind`, `run.jobs` at a time.

    Raises `SpecError` or `InputError` before the first query, with the errors of all tables that
    cannot be opened or planned: an audit of the others alone would pass for a complete one. A table
    on which the engine fails has the status `error`; one that cannot be opened within the time
    limit raises `EngineError`. `with_lineage` adds the names of the datasets and the checks' own
    statements.
    """
    return audited(kind or RECORDS, spec, run, show_values, with_lineage)


def validate(spec: AuditSpec, *, engine: Any = None, show_values: bool = False) -> list[str]:
    """One sentence for each table of `spec`, once its columns and checks are valid. With
    `show_values` an error names the values that a hierarchy lacks."""
    with Faults() as faults:
        sentences = [
            validated(kind, spec, engine, faults, show_values=show_values)
            for kind in kinds_of(spec)
        ]
    return [*chain.from_iterable(sentences)]


def dry_run(
    spec: AuditSpec,
    *,
    engine: Any = None,
    writes: Sequence[Path] = (),
    kind: SubjectKind | None = None,
) -> tuple[ExpectedTable, ...]:
    """The statements that `audit` would run, and the tables they read, without running them.

    Facts needed to write the statements are queried nevertheless: the columns, the longest value of
    a masked column, and the rows of a hierarchy in a table if one of its levels is requested.
    """
    return subjects.dry_run(kind or RECORDS, spec, engine, writes)


def published_tables(*, list_cells: bool = False) -> SubjectKind:
    """The kind of the published tables of a spec; `list_cells` adds the verdict on each cell."""
    return cast(SubjectKind, family_part(OF_CELLS, "audit").PublishedTables(list_cells))


def kinds_of(spec: AuditSpec) -> list[SubjectKind]:
    """The kinds of tables that a spec has; records are always one."""
    return [RECORDS, *([published_tables()] if spec.published else [])]


@dataclass(frozen=True)
class RecordsSubject:
    """A table of records, with its plan."""

    spec: AuditSpec
    index: int
    plan: Plan
    engine: Engine
    seconds: float

    @property
    def name(self) -> str:
        return name_of(self.plan)

    @property
    def reads(self) -> Sequence[Table]:
        return self.plan.question.tables

    @property
    def gates(self) -> int:
        return sum(check.gates for check in self.plan.question.checks)

    @property
    def columns_in_words(self) -> str:
        return f"{len(self.plan.question.quasi_identifiers)} of them quasi-identifiers"

    def on(self, engine: Engine) -> RecordsSubject:
        return replace(self, engine=engine)

    def statements(self, *, reads_facts: bool = False) -> Sequence[Statement]:
        return self.plan.statements

    def refuse_unmet(self) -> None:
        """Raise unless every hierarchy can be read, is a tree, and covers the table's values."""
        try:
            with Faults() as faults:
                for precondition in _label_preconditions(self.plan.question):
                    with faults.collected():
                        refuse_if_unmet(precondition, self.engine)
        except SpecError as error:
            raise self.spec.with_location(error, self.index) from None

    def answered(self, session: Session, show_values: bool) -> TableResult:
        return answered(self.plan, session, Answers(shows_values=show_values))

    def failed(self, session: Session, error: str) -> TableResult:
        return _result(self.plan, "error", session, error=error)

    def lineage(self, connected: Any, checks: int) -> Lineage:
        from kanon_sql.auditing.datasets import lineage

        return lineage(self.plan.question, self.engine, connected)


class _Records:
    """The tables of records of a spec."""

    reads_names = True

    def tables(self, spec: AuditSpec) -> Sequence[TableSpec]:
        return spec.tables

    def jobs(self, run: RunOptions, tables: int) -> int:
        return min(run.jobs, max(tables, 1))

    def open(self, spec: AuditSpec, index: int, engine: Engine, how: Opening) -> RecordsSubject:
        table = planned(spec, index, engine, **how._asdict())
        return RecordsSubject(spec, index, table.plan, table.engine, table.seconds)

    def elsewhere(
        self, spec: AuditSpec, index: int, hub: Engine | None, there: TargetDatabase
    ) -> UnopenedTable:
        try:
            return unopened_records(spec.tables[index], hub, there)
        except (SpecError, InputError) as error:
            raise spec.with_location(error, index) from None


RECORDS = _Records()


def _label_preconditions(question: ResolvedQuestion) -> Iterator[Precondition]:
    """What a hierarchy must give to the values of each column that has one."""
    levels = column_levels(question.roles, question.facts)
    for column in question.roles.generalisable:
        first = AtLevel(column, levels[column.name], 1)
        relation, name = records(question, [column]), f"labels_{column.name}"
        yield from without_label(question, first, question.table, relation, name)


def answered(plan: Plan, session: Session, answers: Answers | None = None) -> TableResult:
    """Run the steps of a plan that have no answer yet, and compute the verdicts from their rows.
    Raises `InputError` or `EngineError`."""
    answers = answers or Answers()
    run_steps(plan.steps, session, answers)
    refuse_unanswerable(plan, answers)
    refuse_changed(plan, answers)
    measured = fields_of(plan, answers)
    has_records = bool(measured["summary"].records)
    judged, policies = with_policies(
        plan.question.spec,
        [_judged(check, plan, answers, has_records) for check in plan.question.checks],
    )
    checks = Rows(judged)
    sentences = (
        *certain_values(checks, measured["summary"]),
        *warnings(plan, answers),
        *(
            sentence
            for family in (families_of(plan.question) if has_records else ())
            for sentence in family.warnings(plan, answers, checks)
        ),
    )
    return _result(
        plan,
        status_of(checks) if has_records else "no_data",
        session,
        warnings=tuple(dict.fromkeys(sentences)),
        checks=checks,
        policies=policies,
        shown=_shown(plan, answers) if answers.shows_values and [*plan.of(ShownStep)] else None,
        **measured,
    )


def _judged(check: BoundCheck, plan: Plan, answers: Answers, has_records: bool) -> CheckResult:
    """The result of a check; without records it has no verdict."""
    if has_records:
        return family_of(check.model).judge(check, plan, answers)
    return CheckResult(check.model.name(), check.model.parameters, None, None)


def _shown(plan: Plan, answers: Answers) -> dict[str, list[dict[str, Any]]]:
    """Values of the data, on request."""
    return {
        step.name: [dict(row) for row in answers.rows(step.name)]
        for step in plan.of(ShownStep)
        if step.name in answers.by_step
    }


def _reasons(question: ResolvedQuestion) -> dict[str, str]:
    """The reasons given in the spec for its quasi-identifiers and insensitive columns."""
    reasons = {
        column.name: question.roles.hierarchy(column).why for column in question.roles.generalisable
    }
    reviewed = zip(question.roles.insensitive, question.spec.insensitive.values(), strict=True)
    reasons |= {column.name: entry.why for column, entry in reviewed}
    return {name: why for name, why in reasons.items() if why}


def clips(question: ResolvedQuestion, levels: Mapping[str, int]) -> dict[str, list[Any]]:
    """The clip bounds of the quasi-identifiers above level 0."""
    hierarchies = {
        column.name: question.roles.hierarchy(column) for column in question.roles.generalisable
    }
    return {
        name: list(hierarchy.clip)
        for name, hierarchy in hierarchies.items()
        if hierarchy.clip and levels.get(name)
    }


def _result(plan: Plan, status: Status, session: Session, **fields: Any) -> TableResult:
    question = plan.question
    withheld = frozenset() if question.facts.show_values else question.hierarchy_texts
    return TableResult(
        name=name_of(plan),
        engine=session.engine.name,
        status=status,
        **question.names_of_classes,
        nulls=question.spec.nulls,
        sensitive_nulls=question.spec.sensitive_nulls,
        where=question.spec.where,
        first=question.spec.first,
        sources=question.spec.sources,
        snapshots=question.snapshots,
        levels=dict(question.spec.levels) or None,
        insensitive=tuple(column.name for column in question.roles.insensitive),
        unassigned=tuple(column.name for column in question.roles.unassigned),
        why=_reasons(question),
        clip=clips(question, question.spec.levels),
        release=question.spec.release.model_dump(exclude_none=True),
        sql={
            name: without_texts(sql, session.engine.dialect, withheld)
            for name, sql in session.sql_by_step.items()
        },
        seconds=time.monotonic() - session.started,
        **fields,
    )
