"""Makes a release of a table: searches the levels, builds, audits, and only then writes it in
place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from kanon_sql.anonymizing.full_domain_release import released_at_levels
from kanon_sql.anonymizing.local_release import released_by_class
from kanon_sql.anonymizing.recoding.recoded_views import (
    refuse_equality,
)
from kanon_sql.anonymizing.release.delivery import delivered, new_file, refuse_described
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.release_job import ReleaseJob, ReleaseOutcome, Tell, refuse_names
from kanon_sql.anonymizing.release.result import AnonymizationResult, KeptRecords
from kanon_sql.anonymizing.release.untouched import refuse_untouched
from kanon_sql.anonymizing.search.estimated_sizes import with_estimated_sizes
from kanon_sql.anonymizing.search.first_set import first_set
from kanon_sql.anonymizing.search.optimal import AT_ONCE
from kanon_sql.anonymizing.search.optimal_search import Deadline
from kanon_sql.anonymizing.search.preferences import Preferences, preferences_of
from kanon_sql.auditing.auditor import answered, expected
from kanon_sql.auditing.opening import opened, planned
from kanon_sql.engines import connect, is_embedded
from kanon_sql.engines.base import Engine, Hub
from kanon_sql.engines.duckdb.frames import RELATION_KIND, frame_name
from kanon_sql.engines.session import RunOptions, refuse_time_limit, time_limit, unless_changed
from kanon_sql.errors import InputError, SpecError, option
from kanon_sql.files import remove_leftovers
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.resolve import column_levels
from kanon_sql.results.expected import ExpectedSearch, ExpectedTable
from kanon_sql.results.release import (
    Anonymization,
    Before,
    Metrics,
    Recoded,
)
from kanon_sql.results.table import Rows, TableResult, today
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import check_writable, refuse_to_overwrite
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.spec.spec import AuditSpec, TableSpec


def anonymize(
    spec: AuditSpec,
    wanted: ReleaseOptions,
    run: RunOptions,
    *,
    tell: Tell | None = None,
    keep_records: bool = False,
) -> AnonymizationResult:
    """Generalise and suppress the single table of `spec` until its checks hold, and audit it.

    A release that fails its audit is not written, unless `wanted.force` is set. The input is never
    written to. `tell` is a callback for each step. With `keep_records` the result of an embedded
    engine keeps its records.

    Raises `SpecError` or `InputError` for an invalid request, `EngineError` if the engine fails;
    nothing is written then.
    """
    asked = the_table(spec)
    k = _demanded_k(asked)
    refuse_described(wanted)
    for path in wanted.files:
        check_writable(path, inputs=spec.files(run.engine), force=wanted.force)
    _refuse_before_connecting(asked, run.engine, wanted)
    with ExitStack() as stack:
        database = stack.enter_context(opened(asked, run))
        refuse_time_limit(database, run.timeout)
        refuse_what_it_can_t(database, wanted)
        here = connected_here(wanted, run, stack)
        folders = dict.fromkeys(path.parent for path in (*wanted.files, *wanted.seeds))
        left_over = [said for folder in folders for said in remove_leftovers(folder)]
        new = stack.enter_context(new_file(wanted))
        if new is not None and isinstance(database, Hub):
            database.will_write(new, wanted.output or new)
        records = None
        if keep_records and isinstance(database, Hub) and database is not run.engine:
            records = KeptRecords(wanted.output, database)
        expired = threading.Event()
        with (
            time_limit(database, run.timeout, expired) as lift,
            cancelled_too(here, run.timeout, expired) as lift_here,
        ):
            deadline = deadline_of(wanted, run.timeout, lift, lift_here)
            plan = planned(spec, 0, database).plan
            _refuse_what_cannot_be_released(plan, wanted)
            making = ReleaseJob(
                spec, asked, k, plan, wanted, preferences_of(wanted, plan.bound), database, here,
                expired, run.watch, tell or (lambda step: None), deadline, time.monotonic(),
                records,
            )  # fmt: skip
            refuse_to_overwrite([*wanted.files, *wanted.seeds, *run.writes], database.files_read())
            result, chain = unless_changed(database, lambda: _made(making, new))
            database.verify_unchanged()
            database.forget_all()
        result = delivered(_telling(result, left_over), chain, wanted, new)
        if records is None or chain is None or not result.is_publishable:
            return result
        records.take_fingerprint()
        return replace(result, kept_records=records)


def _telling(result: AnonymizationResult, warnings: Sequence[str]) -> AnonymizationResult:
    """The result with these warnings before its own."""
    [table] = result.tables
    return replace(result, tables=(replace(table, warnings=(*warnings, *table.warnings)),))


def dry_run(spec: AuditSpec, wanted: ReleaseOptions, *, engine: Any = None) -> ExpectedTable:
    """The statements that `anonymize` would certainly run, and the size of its search.

    Runs nothing. Raises the errors that `anonymize` raises before its first query.
    """
    asked = the_table(spec)
    _demanded_k(asked)
    _refuse_before_connecting(asked, engine, wanted)
    with opened(asked, RunOptions(engine)) as database:
        refuse_what_it_can_t(database, wanted)
        plan = planned(spec, 0, database).plan
        refuse_names(plan.bound, wanted)
        refuse_untouched(plan.bound, wanted)
        levels = column_levels(plan.bound.roles, plan.bound.facts)
        preferred = preferences_of(wanted, plan.bound)
        masked = frozenset(
            name
            for name, each in levels.items()
            if each.needs_longest and name not in preferred.at_most
        )
        search = ExpectedSearch(
            {
                name: _expected_height(each, preferred, masked=name in masked)
                for name, each in levels.items()
            },
            masked,
            keeps_rows=database.keeps_rows or wanted.pull_frequencies,
            by_class=wanted.algorithm == "local",
            at_once=AT_ONCE if wanted.algorithm == "optimal" else None,
        )
        if not search.keeps_rows:
            when = "as the beginning of every statement of the search"
        elif database.keeps_rows and not plan.bound.table.parsed:
            when = "in parts: what values each quasi-identifier has, then how they are combined"
        else:
            when = ""
        asked_before = [step for step in plan.steps if step not in plan.shown]
        steps = [*asked_before, replace(first_set(plan.bound), only=when)]
        return replace(expected(plan, steps, database), search=search)


def _expected_height(levels: ColumnLevels, preferred: Preferences, *, masked: bool) -> int:
    """Upper bound of the steps a search may raise a quasi-identifier by, except those of a mask."""
    if masked:
        return levels.with_longest(1).height - 1
    if levels.needs_longest:
        return preferred.at_most[levels.name]
    return preferred.highest(levels.name, levels.height)


def refuse_what_it_can_t(database: Engine, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for what is only for a warehouse, or only for the embedded engine."""
    if database.keeps_rows and wanted.pull_frequencies:
        raise SpecError(
            f"{option('pull_frequencies')} is for a table in a warehouse; this one is read by "
            "DuckDB, where nothing has to be fetched. Leave it out."
        )
    if not database.keeps_rows:
        _refuse_local_in_place(database.name, wanted)
    if wanted.writes_records and not isinstance(database, Hub):
        raise _records_stay(wanted, database.name)


def _refuse_local_in_place(database: str, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for a local recoding where nothing may be kept."""
    if wanted.algorithm == "local" and not wanted.pull_frequencies:
        raise SpecError(
            f"local recoding splits classes round by round, over rows that {database} may not "
            "keep for it. Let the combinations of values be fetched, each once: "
            f"{option('pull_frequencies', True)}."
        )


def _records_stay(wanted: ReleaseOptions, database: str) -> SpecError:
    return SpecError(
        f"{wanted.output}: the records of a release stay in {database}, and no rows are "
        f"fetched. Write the views that make it, {option('output', 'release.sql')}, and run "
        "them there; or copy the table into a file, and release that."
    )


def _refuse_before_connecting(asked: TableSpec, engine: Any, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for what no driver could make possible, before one is asked for, and
    `InputError` for a table whose records can't be put together anew."""
    if frame_name(asked.source) == RELATION_KIND:
        raise InputError(
            "a DuckDB relation is read in its own session, where nothing is kept. Pass its "
            "connection with engine= and the table's name, or to_arrow_table()."
        )
    refuse_for_url(asked, engine, wanted)


def refuse_for_url(asked: TableSpec, engine: Any, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for what no database beside DuckDB can do, before one is connected to."""
    url = engine if engine is not None else asked.connect
    if isinstance(url, str) and not is_embedded(url):
        name = url.partition(":")[0]
        _refuse_local_in_place(name, wanted)
        if wanted.writes_records:
            raise _records_stay(wanted, name)


def connected_here(wanted: ReleaseOptions, run: RunOptions, stack: ExitStack) -> Engine | None:
    """The embedded engine into which frequencies are fetched, if they are; closed with `stack`."""
    if not wanted.pull_frequencies:
        return None
    here = connect(memory_limit=run.memory_limit, threads=run.threads)
    stack.callback(here.close)
    return here


@contextmanager
def cancelled_too(
    engine: Engine | None, timeout: float | None, expired: threading.Event
) -> Iterator[Callable[[], None]]:
    """Apply the same time limit to the engine that frequencies are fetched into, if any."""
    if engine is None:
        yield lambda: None
        return
    with time_limit(engine, timeout, expired) as lift:
        yield lift


def deadline_of(
    wanted: ReleaseOptions, timeout: float | None, *lifts: Callable[[], None]
) -> Deadline:
    """The deadline at which an optimal search ends with its best node. Once it has one, the time
    limits are lifted, so that the rest of the run is not cancelled."""
    if timeout is None or wanted.algorithm != "optimal":
        return Deadline()

    def lift() -> None:
        for each in lifts:
            each()

    return Deadline(time.monotonic() + timeout, lift)


def the_table(spec: AuditSpec) -> TableSpec:
    """The single table to release. Raises `SpecError`."""
    if len(spec.tables) > 1:
        raise SpecError(
            f"a release is made of one table, and the spec has {len(spec.tables)}. Give each its "
            "own file."
        )
    [asked] = spec.tables
    if asked.levels:
        raise SpecError("levels are what anonymize finds; leave them out, or audit at a level.")
    if asked.nulls == "wildcard":
        raise SpecError(
            "nulls: wildcard forms no classes that could be released. Leave it out: NULL is then "
            "a value of its own."
        )
    return asked


def _demanded_k(asked: TableSpec) -> int:
    sizes = [check.k for check in asked.checks if isinstance(check, KAnonymity) and check.k]
    if not sizes:
        raise SpecError(
            f"say how many records each class of the release must have, as in {option('k', 5)}."
        )
    return max(sizes)


def _refuse_what_cannot_be_released(plan: Plan, wanted: ReleaseOptions) -> None:
    refuse_names(plan.bound, wanted)
    refuse_untouched(plan.bound, wanted)
    if wanted.algorithm == "local":
        refuse_equality(plan.bound)


def _made(making: ReleaseJob, new: Path | None) -> ReleaseOutcome:
    """The release, with its records written to `new`."""
    before = answered(making.plan, making.session())
    if before.status == "no_data":
        return ReleaseOutcome(_without_data(before, making.wanted), None)
    making.refuse_large_k(before)
    if making.wanted.algorithm == "optimal":
        making = making.also_searched(with_estimated_sizes(making.bound, before))
    sets = making.sets()
    allowed = making.wanted.allowed(records=before.summary.records or 0, k=making.k)
    release = released_by_class if making.wanted.algorithm == "local" else released_at_levels
    return release(making, sets, before, allowed, new)


def _without_data(before: TableResult, wanted: ReleaseOptions) -> AnonymizationResult:
    """The result for a table without records: nothing was searched."""
    by_class = wanted.algorithm == "local"
    levels = dict.fromkeys(before.quasi_identifiers, 0)
    nothing = Metrics(None, None, None, None, None, None, None, {})
    return AnonymizationResult(
        (before,),
        VERSION,
        audited=today(),
        anonymization=Anonymization(
            algorithm=wanted.algorithm,
            levels=None if by_class else levels,
            labels={} if by_class else dict.fromkeys(levels, "raw value"),
            recoded=Recoded(0, {name: {} for name in levels}, {}) if by_class else None,
            steps=Rows(),
            reached_top=False,
            max_suppressed=0,
            records_violating=0,
            suppressed=0,
            step4=0,
            suppressed_as=wanted.suppressed,
            k=None,
            classes=None,
            metrics=nothing,
            associations=(),
            views=(),
            before=Before(before.name, before.summary, before.checks, before.risk),
        ),
    )
