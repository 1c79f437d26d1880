"""Runs an audit: executes a plan on an engine and computes the verdicts from its rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.auditing.answers import (
    Answers,
    has_same_classes,
    histogram,
    people_in,
    people_of_profiles,
    refuse_unmet,
    refuse_without_entity,
    summary,
)
from kanon_sql.auditing.estimates import risk
from kanon_sql.auditing.events import EventAnswers, answer_events, event_warnings
from kanon_sql.auditing.opening import (
    PlannedTable,
    expected,
    name_of,
    naming,
    opened,
    opening,
    planned,
)
from kanon_sql.auditing.result import AuditResult
from kanon_sql.auditing.table_jobs import audited_by_jobs
from kanon_sql.auditing.verdicts import has_same_people, rows_with_earlier, verdicts, with_policies
from kanon_sql.auditing.warnings import certain_values, warnings
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session, run_within
from kanon_sql.errors import EngineError, Faults, InputError, SpecError, plural
from kanon_sql.plan.audit_plan import Plan, for_ungeneralised_release, plan_audit
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.preconditions import without_label
from kanon_sql.plan.question import AtLevel, ResolvedQuestion
from kanon_sql.plan.steps import records
from kanon_sql.question.spec import AuditSpec, in_words_of_spec
from kanon_sql.results.table import Rows, Status, Summary, TableResult, status_of, today
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.tables import Row, family

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
            from kanon_sql.auditing.lineage import lineage

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
        for step in plan.steps:
            step.check()
            hub.check(step.sql)
    gates = sum(check.gates for check in plan.question.checks)
    return (
        f"{name_of(plan)}: {plural(len(plan.question.table.columns), 'column')}, "
        f"{len(plan.question.quasi_identifiers)} of them quasi-identifiers; "
        f"{plural(gates, 'check')}, {plural(len(plan.steps), 'statement')}."
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
            tables.append(expected(name_of(plan), plan.question.tables, plan.steps, hub))
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
                precondition.step.check()
                fault = precondition.fault(hub.query(precondition.step.sql)[0])
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
    refuse_unmet(plan.preconditions, session)
    events = answer_events(plan.question, plan.events, session) if plan.events else None
    if events and not plan.question.quasi_identifiers:
        return _event_table_result(plan, events, session, show_values)
    keys = session.rows(plan.keys) if plan.keys else []
    if not all(row["kanon_values"] == row["kanon_keys"] for row in keys):
        plan = plan_audit(plan.question, short_keys=False)
    generalised_step = plan.generalised_cells
    if generalised_step and not session.row(generalised_step)["kanon_generalised"]:
        plan = for_ungeneralised_release(plan)
    answers = _answers(plan, session)
    check_results = list(verdicts(plan, answers, events.checks if events else ()))
    judged, policies = with_policies(plan.question.spec, check_results)
    checks = Rows(judged)
    figures = summary(answers)
    return _result(
        plan,
        status_of(checks) if answers.sizes else "no_data",
        session,
        warnings=tuple(
            dict.fromkeys(
                (
                    *certain_values(checks, figures),
                    *warnings(plan, answers),
                    *event_warnings(plan.question, checks),
                )
            )
        ),
        events=events.events if events else None,
        numbers=tuple(_numbers(plan, answers.looks)),
        summary=figures,
        histogram=Rows(histogram(answers)),
        checks=checks,
        policies=policies,
        risk=risk(plan, answers),
        shown=_shown(plan, session, events) if show_values else None,
    )


def _event_table_result(
    plan: Plan, events: EventAnswers, session: Session, show_values: bool
) -> TableResult:
    """The result of an event table without quasi-identifiers, which has no classes."""
    return _result(
        plan,
        status_of(events.checks) if events.records else "no_data",
        session,
        warnings=tuple(event_warnings(plan.question, events.checks)),
        events=events.events,
        summary=Summary(records=events.records, people=events.people if events.records else None),
        checks=Rows(events.checks),
        shown=_shown(plan, session, events) if show_values else None,
    )


def _shown(
    plan: Plan, session: Session, events: EventAnswers | None
) -> dict[str, list[dict[str, Any]]]:
    """Values of the data, on request."""
    steps = (*plan.shown, *events.shown) if events else plan.shown
    return {step.name: [dict(row) for row in session.rows(step)] for step in steps}


def _answers(plan: Plan, session: Session) -> Answers:
    """Run every step, and raise if two of them did not see the same table."""
    sensitive = {read.step.name: session.rows(read.step) for read in plan.sensitive}
    sizes = session.rows(plan.classes) if plan.classes else next(iter(sensitive.values()))
    refuse_without_entity(plan.question, sizes)
    distances = {
        distance.step.name: session.row(distance.step) for distance in plan.distances if sizes
    }
    step_of_people = plan.number_of_people if sizes else None
    everyone = int(session.row(step_of_people)["kanon_people"]) if step_of_people else 0
    profiles = _profiles(plan, sizes, everyone, session) if sizes else ()
    matches = {step.step.name: session.row(step.step) for step in plan.references if sizes}
    in_several = plan.people is not None and people_in(sizes) > everyone
    answers = Answers(
        sizes=sizes,
        sensitive=sensitive,
        distances=distances,
        looks=dict(_looks(plan, sensitive, session)) if sizes else {},
        named_values=tuple(session.row(named.step) for named in plan.named_values),
        profiles=profiles,
        people=session.rows(plan.people) if plan.people and in_several else None,
        people_of=dict(
            _people_of(plan, sensitive, distances, matches, everyone, in_several, session)
        ),
        survey=session.rows(plan.survey) if plan.survey and sizes else None,
        matches=matches,
        earlier=dict(rows_with_earlier(plan, session)) if sizes else {},
        unassigned=session.row(plan.unassigned.step) if plan.unassigned and sizes else None,
        insensitive=session.rows(plan.insensitive.step) if plan.insensitive and sizes else (),
    )
    is_one = people_of_profiles(profiles) == everyone and has_same_classes(plan, answers)
    is_one = is_one and has_same_people(plan, answers, everyone)
    if not is_one:
        raise EngineError(
            f"{plan.question.table.name} changed while it was being audited; run the audit again."
        )
    return answers


def _profiles(plan: Plan, sizes: Sequence[Row], everyone: int, session: Session) -> Sequence[Row]:
    """Number of profiles by size: of classes, if everyone is in one; none without an entity."""
    if plan.profiles is None:
        return ()
    if everyone != people_in(sizes):
        return session.rows(plan.profiles)
    return [
        {"kanon_size": row["kanon_size"], "kanon_profiles": row["kanon_classes"]} for row in sizes
    ]


def _people_of(
    plan: Plan,
    sensitive: Mapping[str, list[Row]],
    distances: Mapping[str, Row],
    matches: Mapping[str, Row],
    everyone: int,
    in_several: bool,
    session: Session,
) -> Iterator[tuple[str, Row]]:
    """Run the steps counted in people where class counts do not suffice: some people are in more
    than one class, or the class sizes are unknown."""
    for read in plan.sensitive:
        rows = sensitive[read.step.name]
        if read.people and people_in(rows) > everyone and _any_fails(rows):
            yield read.step.name, session.row(read.people)
    for distance in plan.distances:
        if distance.people and distances and _any_fails([distances[distance.step.name]]):
            yield distance.step.name, session.row(distance.people)
    for reference in plan.references:
        is_of_presence = any(check.model.of_reference for check, _ in reference.checks)
        is_needed = (
            _any_fails([matches[reference.step.name]]) if is_of_presence and matches else in_several
        )
        if reference.people and is_needed:
            yield reference.step.name, session.row(reference.people)


def _any_fails(rows: Sequence[Row]) -> bool:
    """Whether any class fails a check, or is homogeneous."""
    return any(
        row[column]
        for row in rows
        for column in row
        if column == "kanon_homogeneous_classes" or column.endswith("_violated_classes")
    )


def _looks(
    plan: Plan, sensitive: Mapping[str, list[Row]], session: Session
) -> Iterator[tuple[str, Row]]:
    """Run each optional step whose precondition holds."""
    read = {step.column.name: sensitive[step.step.name] for step in reversed(plan.sensitive)}
    for look in plan.looks:
        rows = read[look.column.name]
        if all(row["kanon_single_value_classes"] == row["kanon_classes"] for row in rows):
            yield look.at_all.name, session.row(look.at_all)
        if look.spellings is None or look.by_spelling is None:
            continue
        values = session.row(look.spellings)
        yield look.spellings.name, values
        if values["kanon_spellings"] != values["kanon_known_values"]:
            yield look.by_spelling.name, session.row(look.by_spelling)


def _numbers(plan: Plan, looks: Mapping[str, Row]) -> Iterator[str]:
    """The sensitive attributes that are numbers or dates, by type or by all their texts."""
    spelled = {look.column.name: look.spellings for look in plan.looks if look.spellings}
    for column in plan.question.sensitive:
        step = spelled.get(column.name)
        values = looks.get(step.name) if step else None
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
