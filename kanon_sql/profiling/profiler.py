"""The profile of a table: what an attacker's background knowledge does to its classes.

Three questions for one column at a time: if this column were known too, if this quasi-identifier
were not known, and how soon a sensitive value is certain once others are ruled out. Each is one
SELECT that returns only counts. Without quasi-identifiers, the profile instead finds the columns
that identify people.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kanon_sql.auditing.fetched_sets import FetchInto, fetch_hub
from kanon_sql.auditing.opening import OpenTable, naming, open_table, opening
from kanon_sql.auditing.running import run
from kanon_sql.auditing.warnings import left_out
from kanon_sql.engines import writes_folders
from kanon_sql.engines.base import Engine, FolderWriter
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session, run_within
from kanon_sql.errors import EngineError, InputError, SpecError, option
from kanon_sql.models.events.models import KnownEvents
from kanon_sql.models.events.plan import EventPlan, plan_events
from kanon_sql.models.events.verdicts import (
    attack,
    draw_warnings,
    events_of,
    people_with_events,
    records_with_events,
)
from kanon_sql.plan.answers import Answers, Counted, everyone, people_in
from kanon_sql.plan.named_columns import NamedColumn
from kanon_sql.plan.preconditions import without_entity
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import records, with_entity
from kanon_sql.profiling.identifying import (
    KEPT,
    Identified,
    Scores,
    counted_records,
    identified_by,
    keep_records,
    open_profile,
    refuse_unreadable,
    sets_of,
    stopped,
)
from kanon_sql.profiling.profile_plan import (
    DEFAULT_K,
    RULED_OUT,
    ColumnStep,
    Identifying,
    ProfilePlan,
    as_profiled,
    plan_profile,
    refuse_unsupported,
)
from kanon_sql.profiling.result import ProfileResult
from kanon_sql.profiling.subsets import Combinations
from kanon_sql.question.spec import AuditSpec, in_words_of_spec
from kanon_sql.results.profile import (
    Elimination,
    KnownColumn,
    KnownEventsCurve,
    KnownEventsPoint,
    LackedColumn,
    ProfileSummary,
    TableProfile,
)
from kanon_sql.results.table import Status
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import check_writable, refuse_to_overwrite, write_atomically
from kanon_sql.sql.quoting import positive_int
from kanon_sql.sql.tables import Row

KNOWN = range(1, 5)
"""The numbers of known events of a curve by default."""


@in_words_of_spec
def profile(
    spec: AuditSpec,
    run: RunOptions,
    *,
    attacker_knows: Sequence[str] = (),
    k: int | None = None,
    identifying: Identifying | None = None,
    known: Sequence[int] | None = None,
    times: bool = False,
) -> ProfileResult:
    """Profile every table of `spec` in place; its checks and references are ignored.

    `attacker_knows` are the columns to test, by default all without a role and the sensitive ones.
    `k` is the size below which a class is small (5), and a crowd of people with the same events
    (2). `known` are the numbers of events of a person that an attacker knows, for a table with
    events; with `times` an event counts as often as it occurs. For a table without quasi-
    identifiers the profile finds the columns that identify people; `identifying` are the options
    for sets of columns. The other parameters and the errors are those of an audit.
    """
    if k is not None:
        positive_int(k, "k")
    identifying = identifying or Identifying()
    _refuse_contradictions(spec, attacker_knows, identifying)
    curve = _curve(spec, known, k, times)
    k = k or DEFAULT_K
    with opening(
        run, fetches=lambda target: identifying.is_requested and writes_folders(target)
    ) as engine_of:
        planned = [
            _planned(
                spec, index, engine_of(table), attacker_knows, k, identifying, run.timeout, curve
            )
            for index, table in enumerate(spec.tables)
        ]
        scores = identifying.scores
        for plan in planned:
            refuse_to_overwrite(
                [*run.writes, *([scores] if scores else [])], plan.table.engine.files_read()
            )
        profiles = []
        for plan in planned:
            with naming(plan.question.spec.name or plan.question.table.name, planned):
                profiles.append(_profiled(plan, run))
    if scores and profiles[0].table.special_uniques is not None:
        write_atomically(scores, _lines(profiles[0].scores), private=True)
    return ProfileResult(tuple(profile.table for profile in profiles), VERSION)


def _curve(
    spec: AuditSpec, known: Sequence[int] | None, k: int | None, times: bool
) -> tuple[KnownEvents, ...]:
    """The points of the curve of known events."""
    if not any(table.events for table in spec.tables):
        for name, value in (("known", known), ("times", times)):
            if value:
                raise SpecError(
                    f"{option(name)} needs events: name the columns that make an event of a person "
                    f"with {option('events')}."
                )
        return ()
    if known is not None and not known:
        raise SpecError("known is empty: name how many events an attacker knows, as in 1-4.")
    return tuple(KnownEvents(m=m, k=k or 2, times=times) for m in known or KNOWN)


def _refuse_contradictions(
    spec: AuditSpec, attacker_knows: Sequence[str], identifying: Identifying
) -> None:
    for table in spec.tables:
        table.refuse_original("a profile is of people's records")
        identifying.refuse_invalid(has_quasi_identifiers=bool(table.quasi_identifiers))
        if table.events and not table.quasi_identifiers and identifying.is_requested:
            raise SpecError(
                f"{option('subsets')} and {option('suda')} measure columns, and with events people "
                f"are measured: leave {option('events')} out, or name columns with "
                f"{option('quasi_identifiers')}."
            )
        if attacker_knows and not table.quasi_identifiers:
            raise SpecError(
                f"{option('attacker_knows')} is what an attacker knows besides the "
                "quasi-identifiers, and there are none: name them with "
                f"{option('quasi_identifiers')}."
            )
    if identifying.scores and len(spec.tables) > 1:
        raise SpecError(
            f"{option('scores')}: one file holds those of one table. Profile one table at a time."
        )


def scores_file(
    path: Path | None, inputs: Iterable[str], *, show_values: bool, overwrite: bool
) -> Path | None:
    """The file for the scores. Raises `SpecError` if it may not be written, or without consent to
    personal data."""
    if path is None:
        return None
    if not show_values:
        raise SpecError(
            f"{option('scores')}: which records are special is personal data: anyone with the "
            f"table finds the people. Ask for it with {option('show_values')}."
        )
    check_writable(path, inputs=inputs, overwrite=overwrite)
    return path


def _lines(scores: Scores) -> str:
    """The scores as CSV."""
    return "".join(f"{number},{score}\n" for number, score in [("record", "score"), *scores])


@dataclass(frozen=True)
class _Planned:
    """An open table, its plan if it has quasi-identifiers, and the options of the profile."""

    table: OpenTable
    plan: ProfilePlan | None
    k: int
    identifying: Identifying
    events: EventPlan | None = None
    """The steps of the curve of known events, if event columns are named."""
    into: FetchInto | None = None
    """Where the combinations of values are fetched to, if they are."""

    @property
    def question(self) -> ResolvedQuestion:
        return self.table.question


@dataclass(frozen=True)
class _Profiled:
    """A profile, and the scores of special records, which are written to a separate file."""

    table: TableProfile
    scores: Scores = ()


def _planned(
    spec: AuditSpec,
    index: int,
    engine: Engine,
    attacker_knows: Sequence[str],
    k: int,
    identifying: Identifying,
    timeout: float | None,
    curve: Sequence[KnownEvents],
) -> _Planned:
    try:
        table_spec = as_profiled(spec.tables[index])
    except SpecError as error:
        raise spec.with_location(error, index) from None
    further = [NamedColumn(name, option="attacker_knows") for name in attacker_knows]
    further += [NamedColumn(name, option="columns") for name in identifying.columns]
    table = open_table(
        spec, index, engine, timeout, table_spec=table_spec, is_open=True, further=further
    )
    question = table.question
    try:
        named = bool(question.quasi_identifiers)
        read = _from_kept(question) if question.table.parsed and engine.materialises else question
        plan = plan_profile(read, attacker_knows=attacker_knows, k=k) if named else None
        refuse_unsupported(identifying, question)
        events = plan_events(question, curve) if question.events else None
    except SpecError as error:
        # An error without a location is in the options, not in the spec.
        raise spec.with_location(error, index) if error.location else error from None
    return _Planned(table, plan, k, identifying, events)


def _from_kept(question: ResolvedQuestion) -> ResolvedQuestion:
    """The question on the materialised records, which its condition has filtered already."""
    table = replace(question.table, sql=KEPT, parsed=False, in_lines="")
    spec = question.spec.model_copy(update={"where": None, "first": None})
    return replace(question, roles=replace(question.roles, table=table, spec=spec, where=None))


def _profiled(planned: _Planned, run: RunOptions) -> _Profiled:
    return run_within(
        planned.table.engine,
        run,
        lambda session: _with_hub(planned, session),
        lambda session, error: _Profiled(_result(planned, "error", session, error=error)),
        spent=planned.table.seconds,
    )


def _with_hub(planned: _Planned, session: Session) -> _Profiled:
    """The profile, with an engine to fetch into where each of dozens of statements would read the
    records again."""
    if not (planned.identifying.is_requested and isinstance(session.engine, FolderWriter)):
        return _measured(planned, session)
    run = session.run
    with fetch_hub(run, session.started, session.expired) as (hub, _):
        return _measured(replace(planned, into=FetchInto(hub, run.announce)), session)


def _measured(planned: _Planned, session: Session) -> _Profiled:
    try:
        plan, counts = planned.plan, None
        if planned.events:
            refuse_unreadable(planned.question, session)
            counts = Answers()
            run(planned.events.first, session, counts)
        if plan:
            return _table_profile(planned, plan, counts, session)
        return (
            _event_table_profile(planned, counts, session)
            if counts
            else _open_table_profile(planned, session)
        )
    finally:
        # A failed query may have dropped the temporary relations already.
        with suppress(EngineError):
            planned.table.engine.drop_all()


def _known_events(
    planned: _Planned, counts: Answers | None, session: Session
) -> KnownEventsCurve | None:
    """The people identified by each number of known events."""
    plan = planned.events
    if plan is None or counts is None or not records_with_events(counts):
        return None
    points = []
    with session.if_in_time("known_events"):
        run(plan.to_count, session, counts)
        for check in plan.checks:
            run(check.steps, session, counts)
            figures = attack(check, counts)
            points.append(KnownEventsPoint(m=figures.m, **figures.to_dict()))
    first = plan.checks[0].check.model.parameters
    curve = KnownEventsCurve(first["k"], first["times"], first["seed"], tuple(points))
    return curve if points else None


def _draw_warnings(planned: _Planned, curve: KnownEventsCurve | None) -> Iterator[str]:
    """Warnings about the draws of a curve."""
    if curve is not None and any(point.drawn for point in curve.points):
        yield from draw_warnings(planned.question)


def _event_table_profile(planned: _Planned, counts: Answers, session: Session) -> _Profiled:
    """The profile of an event table without quasi-identifiers."""
    curve = _known_events(planned, counts, session)
    events = events_of(planned.question, counts)
    people = people_with_events(counts) if events else None
    stop, stop_warnings = stopped(session, None, None)
    table = _result(
        planned,
        "measured" if events else "no_data",
        session,
        warnings=(*stop_warnings, *left_out(planned.question), *_draw_warnings(planned, curve)),
        stopped=stop,
        summary=ProfileSummary(records=records_with_events(counts), people=people, members=people),
        events=events,
        known_events=curve,
    )
    return _Profiled(table)


def _open_table_profile(planned: _Planned, session: Session) -> _Profiled:
    """The profile of a table without quasi-identifiers: the columns that identify people."""
    question = planned.question
    counted = counted_records(question, session)
    if not counted.records:
        return _Profiled(_result(planned, "no_data", session, summary=ProfileSummary(records=0)))
    measured = open_profile(
        question, planned.identifying, counted, planned.k, session, planned.into
    )
    stop, stop_warnings = stopped(session, measured.identified.subsets, measured.sets)
    table = _result(
        planned,
        "measured",
        session,
        warnings=(*stop_warnings, *left_out(question), *measured.identified.warnings),
        stopped=stop,
        summary=ProfileSummary(
            records=counted.records,
            people=counted.people,
            members=counted.members,
        ),
        columns=measured.columns,
        together=measured.together,
        subsets=measured.identified.subsets,
        special_uniques=measured.identified.special_uniques,
    )
    return _Profiled(table, measured.identified.scores)


def _set_statistics(
    planned: _Planned, read: ResolvedQuestion, total: int, session: Session
) -> Identified:
    """The statistics of sets of quasi-identifiers, if requested."""
    if not planned.identifying.is_requested:
        return Identified()
    question = planned.question
    columns = question.quasi_identifiers
    relation = records(read, with_entity(read, list(columns)))
    tables = frozenset([read.table.sql, question.table.sql])
    requested = planned.identifying.measures
    with session.if_in_time(requested[0]):
        combinations = Combinations(
            session, question, columns, relation, tables, total, planned.k, into=planned.into
        )
        return identified_by(combinations, planned.identifying)
    session.missed.extend(requested[1:])
    return Identified()


def _table_profile(
    planned: _Planned, plan: ProfilePlan, counts: Answers | None, session: Session
) -> _Profiled:
    if counts is None:
        refuse_unreadable(planned.question, session)
    if plan.question is not planned.question:
        keep_records(planned.question, plan.columns, session)
    sizes = session.rows(plan.classes)
    if not sizes:
        return _Profiled(_result(planned, "no_data", session, summary=ProfileSummary(records=0)))
    total = sum(int(row["kanon_records"]) for row in sizes)
    if (fault := without_entity(plan.question, sizes)) is not None:
        raise InputError(fault)
    looks = [(look, _same_table(session.row(look.step), total, plan)) for look in plan.looks]
    distinct = {
        column.name: int(row[f"kanon_distinct_{number}"])
        for look, row in looks
        for number, column in enumerate(look.columns, start=1)
    }
    people = next((int(row["kanon_people"]) for _, row in looks if "kanon_people" in row), None)
    in_several = people is not None and people_in(sizes) > people
    smallest = session.rows(plan.people) if plan.people and in_several else None
    counted = [
        (int(row["kanon_size"]), int(row["kanon_people"]) if smallest else people_in([row]))
        for row in smallest or sizes
    ]
    summary = _summary(sizes, counted, total, people, plan.k)
    known: list[KnownColumn] = []
    with session.if_in_time("attacker_knows"):
        for knows in plan.knows:
            distinct_here = distinct[knows.column.name]
            known.append(_known_column(knows, distinct_here, summary, plan, session))
    of_sets = _set_statistics(planned, plan.question, total, session)
    without: list[LackedColumn] = []
    with session.if_in_time("without"):
        session.materialise(plan.combinations)
        for lacks in plan.lacks:
            without.append(_lacked_column(lacks, total, in_several, plan, session))
    eliminations: list[Elimination] = []
    with session.if_in_time("elimination"):
        for elimination in plan.eliminations:
            eliminations.append(_eliminated(elimination.column, session.row(elimination.step)))
    curve = _known_events(planned, counts, session)
    requested = sets_of(planned.question.quasi_identifiers, planned.identifying)
    stop, stop_warnings = stopped(session, of_sets.subsets, requested)
    table = _result(
        planned,
        "measured",
        session,
        warnings=(
            *stop_warnings,
            *_warnings(plan),
            *of_sets.warnings,
            *_draw_warnings(planned, curve),
        ),
        stopped=stop,
        summary=summary,
        subsets=of_sets.subsets,
        special_uniques=of_sets.special_uniques,
        attacker_knows=tuple(sorted(known, key=_worst_first)),
        without=tuple(without),
        elimination=tuple(eliminations),
        events=events_of(planned.question, counts) if counts else None,
        known_events=curve,
    )
    return _Profiled(table, of_sets.scores)


def _same_table(row: Row, total: int, plan: ProfilePlan) -> Row:
    """The row, if its statement counted as many records as the first one."""
    if int(row["kanon_records"]) != total:
        raise EngineError(
            f"{plan.question.table.name} changed while it was being profiled; run it again."
        )
    return row


def _warnings(plan: ProfilePlan) -> Iterator[str]:
    yield from left_out(plan.question)
    if plan.passed_over:
        is_one = len(plan.passed_over) == 1
        yield (
            f"{', '.join(plan.passed_over)} can't be compared value by value (nested, an "
            "interval, texts of which the database treats some as equal, or not readable by this "
            f"role), so {'it is' if is_one else 'they are'} not measured."
        )


def _summary(
    sizes: Sequence[Row], counted: Counted, total: int, people: int | None, k: int
) -> ProfileSummary:
    return ProfileSummary(
        records=total,
        people=people,
        members=everyone(counted),
        classes=sum(int(row["kanon_classes"]) for row in sizes),
        k=min(int(row["kanon_size"]) for row in sizes),
        uniques=sum(count for size, count in counted if size == 1),
        records_below_k=sum(count for size, count in counted if size < k),
    )


def _known_column(
    known: ColumnStep, distinct: int, before: ProfileSummary, plan: ProfilePlan, session: Session
) -> KnownColumn:
    total = before.records or 0
    row = of_people = _same_table(session.row(known.step), total, plan)
    if known.people and before.people is not None and int(row["kanon_members"]) > before.people:
        of_people = _same_table(session.row(known.people), total, plan)
    uniques = int(of_people["kanon_uniques"])
    return KnownColumn(
        column=known.column.name,
        role="sensitive" if known.column.name in plan.sensitive else None,
        identifier_like=10 * distinct > 9 * total,
        distinct=distinct,
        k=int(row["kanon_k"]),
        uniques=uniques,
        newly_unique_records=uniques - (before.uniques or 0),
        records_below_k=int(of_people["kanon_below_k"]),
        classes=int(row["kanon_classes"]),
        members=int(of_people["kanon_members"]),
    )


def _worst_first(known: KnownColumn) -> tuple[int, ...]:
    """Sort key: identifier-like columns, then by newly unique records, then by records at risk."""
    return (
        not known.identifier_like,
        -(known.newly_unique_records or 0),
        -(known.records_below_k or 0),
        -known.distinct,
    )


def _lacked_column(
    lacked: ColumnStep, total: int, in_several: bool, plan: ProfilePlan, session: Session
) -> LackedColumn:
    column, row = lacked.column, _same_table(session.row(lacked.step), total, plan)
    of_people = (
        _same_table(session.row(lacked.people), total, plan)
        if lacked.people and in_several
        else row
    )
    leaving = int(of_people["kanon_leaving"])
    has_order = row.get("kanon_placed_records") and not (
        column.is_text and row["kanon_unplaced_values"]
    )
    share = int(of_people["kanon_leaving_outer"]) / leaving if leaving and has_order else None
    return LackedColumn(column.name, leaving, share)


def _eliminated(column: BoundColumn, row: Row) -> Elimination:
    confidence = (row[f"kanon_confidence_{index}"] for index in range(RULED_OUT + 1))
    eliminations = row["kanon_eliminations"]
    return Elimination(
        column.name,
        tuple(None if bound is None else float(bound) for bound in confidence),
        None if eliminations is None else int(eliminations),
    )


def _result(planned: _Planned, status: Status, session: Session, **fields: Any) -> TableProfile:
    question = planned.question
    return TableProfile(
        name=question.spec.name or question.table.name,
        engine=session.engine.name,
        status=status,
        **question.names_of_classes,
        k_threshold=planned.k,
        sql=session.sql_by_step,
        seconds=time.monotonic() - session.started,
        **fields,
    )
