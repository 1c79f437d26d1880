"""The audit of every table of a spec: its plan run on an engine, its rows judged."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.auditing.estimates import risk
from kanon_sql.auditing.families.earlier import refuse_strangers
from kanon_sql.auditing.families.events import events_of, people_with_events, records_with_events
from kanon_sql.auditing.families.registry import families_asked, family_of
from kanon_sql.auditing.families.values import row_on
from kanon_sql.auditing.opening import (
    PlannedTable,
    expected,
    name_of,
    naming,
    opened,
    opening,
    planned,
)
from kanon_sql.auditing.policies import with_policies
from kanon_sql.auditing.result import AuditResult
from kanon_sql.auditing.running import refuse_changed
from kanon_sql.auditing.running import run as run_steps
from kanon_sql.auditing.summary import histogram, summary
from kanon_sql.auditing.table_jobs import audited_by_jobs
from kanon_sql.auditing.warnings import certain_values, warnings
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session, run_within
from kanon_sql.errors import Faults, InputError, SpecError, plural
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.preconditions import without_label
from kanon_sql.plan.question import AtLevel, BoundCheck, ResolvedQuestion
from kanon_sql.plan.sensitive_plan import SpellingsStep
from kanon_sql.plan.steps import ShownStep, records
from kanon_sql.question.spec import AuditSpec, in_words_of_spec
from kanon_sql.results.table import (
    CheckResult,
    Rows,
    Status,
    Summary,
    TableResult,
    status_of,
    today,
)
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.tables import family

if TYPE_CHECKING:
    from kanon_sql.report.dry_run import ExpectedTable


@in_words_of_spec
def audit(
    spec: AuditSpec, run: RunOptions, *, show_values: bool = False, with_lineage: bool = False
) -> AuditResult:
    """Audit every table of `spec` in place, `run.jobs` at a time.

    Raises `SpecError` or `InputError` before the first query, with the errors of all tables that
    cannot be opened or planned: an audit of the others alone would pass for a complete one. A table
    on which the engine fails has the status `error`; one that cannot be opened within the time
    limit raises `EngineError`. `with_lineage` adds the names of the datasets and the checks' own
    statements.
    """
    run = replace(run, jobs=min(run.jobs, max(len(spec.tables), 1)))
    with opening(run) as engine_of:
        tables = []
        with Faults() as faults:
            for index, table in enumerate(spec.tables):
                with faults.collected():
                    engine_here = engine_of(table)
                    tables.append(
                        planned(spec, index, engine_here, run.timeout, show_values=show_values)
                    )
                    refuse_to_overwrite(run.writes, engine_here.files_read())

        def answer(table: PlannedTable, options: RunOptions) -> TableResult:
            with naming(name_of(table.plan), tables):
                return _audited(table, show_values, options)

        results = audited_by_jobs(tables, run, answer)
        if with_lineage:
            from kanon_sql.auditing.datasets import lineage

            results = [
                replace(result, lineage=lineage(table.plan.question, table.engine, run.engine))
                for result, table in zip(results, tables, strict=True)
            ]
    return AuditResult(tuple(results), VERSION, audited=today())


def validate(spec: AuditSpec, *, engine: Any = None, show_values: bool = False) -> list[str]:
    """One sentence for each table of `spec`, once its columns and checks are valid. With
    `show_values` an error names the values that a hierarchy lacks."""
    sentences = []
    with Faults() as faults:
        for index in range(len(spec.tables)):
            with faults.collected():
                sentences.append(_validation_summary(spec, index, engine, show_values))
        for index in range(len(spec.published)):
            from kanon_sql.auditing.published_tables import validation_summary

            with faults.collected():
                sentences.append(validation_summary(spec, index, engine, show_values=show_values))
    return sentences


def _validation_summary(spec: AuditSpec, index: int, engine: Any, show_values: bool) -> str:
    """A summary of one table, once its whole question is valid."""
    with opened(spec.tables[index], RunOptions(engine)) as hub:
        plan = planned(spec, index, hub, show_values=show_values).plan
        try:
            _refuse_values_without_label(plan, hub)
        except SpecError as error:
            raise spec.with_location(error, index) from None
        for step in plan.statements:
            step.check()
            hub.check(step.sql)
    gates = sum(check.gates for check in plan.question.checks)
    return (
        f"{name_of(plan)}: {plural(len(plan.question.table.columns), 'column')}, "
        f"{len(plan.question.quasi_identifiers)} of them quasi-identifiers; "
        f"{plural(gates, 'check')}, {plural(len(plan.statements), 'statement')}."
    )


def dry_run(
    spec: AuditSpec, *, engine: Any = None, writes: Sequence[Path] = ()
) -> tuple[ExpectedTable, ...]:
    """The statements that `audit` would run, and the tables they read, without running them.

    Facts needed to write the statements are queried nevertheless: the columns, the longest value of
    a masked column, and the rows of a hierarchy in a table if one of its levels is requested.
    """
    tables = []
    for index, table in enumerate(spec.tables):
        with opened(table, RunOptions(engine)) as hub:
            plan = planned(spec, index, hub, hierarchies="opened").plan
            refuse_to_overwrite(writes, hub.files_read())
            tables.append(expected(name_of(plan), plan.question.tables, plan.statements, hub))
    return tuple(tables)


def _refuse_values_without_label(plan: Plan, hub: Engine) -> None:
    """Raise unless every hierarchy can be read, is a tree, and covers the table's values."""
    question = plan.question
    levels = column_levels(question.roles, question.facts)
    with Faults() as faults:
        for column in question.roles.generalisable:
            first = AtLevel(column, levels[column.name], 1)
            relation = records(question, [column])
            name = f"labels_{column.name}"
            for precondition in without_label(question, first, question.table, relation, name):
                precondition.statement.check()
                fault = precondition.refuse(hub.query(precondition.statement.sql))
                with faults.collected():
                    if fault is not None:
                        raise InputError(fault)


def _audited(table: PlannedTable, show_values: bool, run: RunOptions) -> TableResult:
    return run_within(
        table.engine,
        run,
        lambda session: answered(table.plan, session, show_values),
        lambda session, error: _result(table.plan, "error", session, error=error),
        spent=table.seconds,
    )


def answered(plan: Plan, session: Session, show_values: bool = False) -> TableResult:
    """Run a plan and compute the verdicts from its rows. Raises `InputError` or `EngineError`."""
    answers = Answers(shows_values=show_values)
    run_steps(plan.steps, session, answers)
    refuse_strangers(plan, answers)
    refuse_changed(plan, answers)
    has_records = bool(answers.sizes or records_with_events(answers))
    judged, policies = with_policies(
        plan.question.spec,
        [_judged(check, plan, answers, has_records) for check in plan.question.checks],
    )
    checks = Rows(judged)
    has_classes = bool(plan.question.quasi_identifiers)
    figures = (
        summary(answers)
        if has_classes
        else Summary(
            records=records_with_events(answers), people=people_with_events(answers) or None
        )
    )
    said = (
        *certain_values(checks, figures),
        *warnings(plan, answers),
        *(
            sentence
            for family in (families_asked(plan) if has_records else ())
            for sentence in family.warnings(plan, answers, checks)
        ),
    )
    return _result(
        plan,
        status_of(checks) if has_records else "no_data",
        session,
        warnings=tuple(dict.fromkeys(said)),
        events=events_of(plan.question, answers),
        summary=figures,
        checks=checks,
        policies=policies,
        shown=_shown(plan, answers) if show_values else None,
        **(_of_classes(plan, answers) if has_classes else {}),
    )


def _of_classes(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The fields of a result that a table with quasi-identifiers alone has."""
    return {
        "numbers": tuple(_numbers(plan, answers)),
        "histogram": Rows(histogram(answers)),
        "risk": risk(plan, answers),
    }


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


def _numbers(plan: Plan, answers: Answers) -> Iterator[str]:
    """The sensitive attributes that are numbers or dates, by type or by all their texts."""
    for column in plan.question.sensitive:
        values = row_on(SpellingsStep, column.name, plan, answers)
        is_read = values and 0 < values["kanon_known_values"] == values["kanon_numbers"]
        if is_read or family(column.type) in ("number", "time"):
            yield column.name


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
        quasi_identifiers=tuple(column.name for column in question.quasi_identifiers),
        sensitive=tuple(column.name for column in question.sensitive),
        entity=question.entity.name if question.entity else None,
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
