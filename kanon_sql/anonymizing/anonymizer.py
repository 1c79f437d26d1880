"""The making of a release: search, build, audit, then delivery."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.anonymizing.algorithms import released_at_levels, released_by_class
from kanon_sql.anonymizing.recoding.recoded_views import refuse_equality
from kanon_sql.anonymizing.release.delivery import delivered, new_file, refuse_described
from kanon_sql.anonymizing.release.options import ReleaseOptions, preferences_of
from kanon_sql.anonymizing.release.release_job import (
    OnStep,
    ReleaseJob,
    ReleaseOutcome,
    Written,
    audited_before,
    partition_of,
    refuse_names,
)
from kanon_sql.anonymizing.release.result import AnonymizationResult, KeptRecords
from kanon_sql.anonymizing.release.unassigned import refuse_unassigned
from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.frequency_sets import first_set
from kanon_sql.anonymizing.search.optimal import AT_ONCE
from kanon_sql.anonymizing.search.optimal_search import Deadline
from kanon_sql.anonymizing.search.table_constraints import with_estimated_sizes
from kanon_sql.auditing.fetched_sets import fetch_hub
from kanon_sql.auditing.opening import expected, name_of, opened, planned
from kanon_sql.engines import is_embedded
from kanon_sql.engines.base import Engine, Hub
from kanon_sql.engines.duckdb.frames import RELATION_KIND, frame_name
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import keeps_sets, refuse_time_limit, time_limit, unless_changed
from kanon_sql.errors import Faults, InputError, SpecError, option
from kanon_sql.files import remove_leftovers
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.steps import ShownStep
from kanon_sql.question.spec import AuditSpec, in_words_of_spec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.release import SEARCHES, Anonymization, Before, Compared, Metrics, Recoded
from kanon_sql.results.table import TableResult, today
from kanon_sql.results.tabular import Rows
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import check_writable, refuse_to_overwrite

if TYPE_CHECKING:
    from kanon_sql.report.dry_run import ExpectedTable


@in_words_of_spec
def anonymize(
    spec: AuditSpec,
    options: ReleaseOptions,
    run: RunOptions,
    *,
    on_step: OnStep | None = None,
    keep_records: bool = False,
) -> AnonymizationResult:
    """Generalise and suppress the single table of `spec` until its checks hold, and audit it.

    A release that fails its audit is not written, unless `options.force` is set. The input is never
    written to. `on_step` is a callback for each step. With `keep_records` the result of an embedded
    engine keeps its records.

    Raises `SpecError` or `InputError` for an invalid request, `EngineError` if the engine fails;
    nothing is written then.
    """
    spec, options = _with_levels_as_options(spec, options)
    table_spec = the_table(spec)
    options = options.for_engine(run.engine if run.engine is not None else table_spec.connect)
    k = _required_k(table_spec)
    refuse_described(options)
    for path in options.files:
        check_writable(path, inputs=spec.files(run.engine), overwrite=options.overwrite)
    _refuse_before_connecting(table_spec, run.engine, options)
    with ExitStack() as stack:
        database = stack.enter_context(opened(table_spec, run, fetches=options.pull_frequencies))
        refuse_time_limit(database, run.timeout)
        refuse_unsupported(database, options)
        _refuse_numbers_elsewhere(database, table_spec, options)
        folders = dict.fromkeys(path.parent for path in (*options.files, *options.seeds))
        left_over = [warning for folder in folders for warning in remove_leftovers(folder)]
        new = stack.enter_context(new_file(options, database))
        if isinstance(new, Path) and isinstance(database, Hub):
            database.will_write(new, options.output or new)
        records = None
        if keep_records and isinstance(database, Hub) and database is not run.engine:
            records = KeptRecords(options.output, database, table_spec.source)
        with job_within_limits(
            spec, table_spec, k, options, run, database, on_step=on_step, records=records
        ) as job:
            _refuse_unreleasable(job.plan, options, database.dialect)
            refuse_to_overwrite(
                [*options.files, *options.seeds, *run.writes], database.files_read()
            )
            result, chain = unless_changed(database, lambda: _released(job, new))
            database.verify_unchanged()
            database.drop_all()
        result = delivered(_with_warnings(result, left_over), chain, options, new)
        if records is None or chain is None or not result.is_publishable:
            return result
        records.take_fingerprint()
        return replace(result, kept_records=records)


def compared(
    result: AnonymizationResult, spec: AuditSpec, options: ReleaseOptions, run: RunOptions
) -> AnonymizationResult:
    """The result with what each algorithm loses; the others write nothing."""
    rows = []
    for algorithm in SEARCHES:
        if algorithm == options.algorithm:
            rows.append(_compared(result))
            continue
        try:
            rows.append(_compared(anonymize(spec, options.for_algorithm(algorithm), run)))
        except (SpecError, InputError):
            rows.append(Compared(algorithm, holds=False))
    anonymization = replace(result.anonymization, compared=tuple(rows))
    return replace(result, anonymization=anonymization)


def _compared(result: AnonymizationResult) -> Compared:
    anonymization, [table] = result.anonymization, result.tables
    if anonymization.reached_top:
        return Compared(anonymization.algorithm, holds=False, seconds=table.seconds)
    return Compared(
        anonymization.algorithm,
        bool(result.holds),
        anonymization.metrics.loss,
        anonymization.suppressed,
        table.summary.classes,
        table.seconds,
    )


def _with_warnings(result: AnonymizationResult, warnings: Sequence[str]) -> AnonymizationResult:
    """The result with these warnings before its own."""
    [table] = result.tables
    return replace(result, tables=(replace(table, warnings=(*warnings, *table.warnings)),))


def dry_run(spec: AuditSpec, options: ReleaseOptions, *, engine: Any = None) -> ExpectedTable:
    """The statements that `anonymize` would certainly run, and the size of its search.

    Runs nothing. Raises the errors that `anonymize` raises before its first query.
    """
    from kanon_sql.report.dry_run import ExpectedSearch

    spec, options = _with_levels_as_options(spec, options)
    table_spec = the_table(spec)
    options = options.for_engine(engine if engine is not None else table_spec.connect)
    _required_k(table_spec)
    _refuse_before_connecting(table_spec, engine, options)
    with opened(table_spec, RunOptions(engine)) as database:
        refuse_unsupported(database, options)
        _refuse_numbers_elsewhere(database, table_spec, options)
        plan = planned(spec, 0, database, further=options.named_columns).plan
        refuse_names(plan.question, options, database.dialect)
        refuse_unassigned(plan.question, options)
        levels = column_levels(plan.question.roles, plan.question.facts)
        preferred = preferences_of(options, plan.question)
        masked = frozenset(
            name
            for name, level in levels.items()
            if level.needs_longest and name not in preferred.at_most
        )
        search = ExpectedSearch(
            {
                name: _expected_height(level, preferred, masked=name in masked)
                for name, level in levels.items()
            },
            masked,
            materialises=database.materialises or options.pull_frequencies,
            by_class=options.algorithm == "local",
            at_once=AT_ONCE if options.algorithm == "optimal" else None,
        )
        if keeps_sets(database) and not search.materialises:
            condition = "once: the executors keep it"
        elif not search.materialises:
            condition = "as the beginning of every statement of the search"
        elif database.materialises and not plan.question.table.parsed:
            condition = (
                "in parts: what values each quasi-identifier has, then how they are combined"
            )
        else:
            condition = ""
        shown = {step.statement for step in plan.of(ShownStep)}
        audit_steps = [statement for statement in plan.statements if statement not in shown]
        steps = [*audit_steps, replace(first_set(plan.question), only=condition)]
        expected_table = expected(name_of(plan), plan.question.tables, steps, database)
        return replace(expected_table, search=search)


def _expected_height(levels: ColumnLevels, preferred: Preferences, *, masked: bool) -> int:
    """Upper bound of the steps a search may raise a quasi-identifier by, except those of a mask."""
    if masked:
        return levels.with_longest(1).height - 1
    if levels.needs_longest:
        return preferred.at_most[levels.name]
    return preferred.highest(levels.name, levels.height)


def refuse_unsupported(database: Engine, options: ReleaseOptions) -> None:
    """Raise `SpecError` for what is only for a warehouse, or only for the embedded engine."""
    if database.materialises and options.pull_frequencies:
        raise SpecError(
            f"{option('pull_frequencies')} is for a table in a warehouse; this one is read by "
            "DuckDB, where nothing has to be fetched. Leave it out."
        )
    if not database.materialises:
        _refuse_local_in_place(database.name, options)
    if options.writes_records and not isinstance(database, Hub):
        raise _records_not_local(options, database.name)


def _refuse_numbers_elsewhere(
    database: Engine, table_spec: TableSpec, options: ReleaseOptions
) -> None:
    """Raise `SpecError` for random numbers where nothing can be kept between two statements."""
    handling = options.handling_of_entity(table_spec)
    if handling == "renumber" and not (isinstance(database, Hub) and database.materialises):
        raise SpecError(
            f"{option('entity_in_release', handling)}: the numbers are drawn once and kept, which "
            f"{database.name} may not. Drop the entity, or copy the table into a file and release "
            "that."
        )


def _refuse_local_in_place(database: str, options: ReleaseOptions) -> None:
    """Raise `SpecError` for a local recoding where nothing can be materialised."""
    if options.algorithm == "local" and not options.pull_frequencies:
        raise SpecError(
            f"local recoding splits classes round by round, over rows that {database} may not "
            "keep for it. Fetch the combinations of values, each once: "
            f"{option('pull_frequencies', True)}."
        )


def _records_not_local(options: ReleaseOptions, database: str) -> SpecError:
    return SpecError(
        f"{options.output}: the records of a release stay in {database}, and no rows are "
        f"fetched. Write the views that make it, {option('output', 'release.sql')}, and run "
        "them there; or copy the table into a file, and release that."
    )


def _refuse_before_connecting(table_spec: TableSpec, engine: Any, options: ReleaseOptions) -> None:
    """Raise `SpecError` for what no driver supports, before one is imported, and
    `InputError` for a table in whose session nothing can be materialised."""
    if frame_name(table_spec.source) == RELATION_KIND:
        raise InputError(
            "a DuckDB relation is read in its own session, where nothing is kept. Pass its "
            "connection with engine= and the table's name, or to_arrow_table()."
        )
    options.handling_of_entity(table_spec)
    refuse_for_url(table_spec, engine, options)


def refuse_for_url(table_spec: TableSpec, engine: Any, options: ReleaseOptions) -> None:
    """Raise `SpecError` for what only DuckDB can do, before connecting to a server."""
    url = engine if engine is not None else table_spec.connect
    if isinstance(url, str) and not is_embedded(url):
        name = url.partition(":")[0]
        _refuse_local_in_place(name, options)
        if options.writes_records:
            raise _records_not_local(options, name)


@contextmanager
def job_within_limits(
    spec: AuditSpec,
    table_spec: TableSpec,
    k: int,
    options: ReleaseOptions,
    run: RunOptions,
    database: Engine,
    *,
    on_step: OnStep | None = None,
    records: KeptRecords | None = None,
) -> Iterator[ReleaseJob]:
    """The job for an open database, within the limits of the run.

    An optimal search with a time limit ends with its best node. Once it has one, the limits are
    lifted, so that the rest of the run is not cancelled.
    """
    expired, started = threading.Event(), time.monotonic()
    with ExitStack() as stack:
        lifts = [stack.enter_context(time_limit(database, run.timeout, expired))]
        fetch_engine = None
        if options.pull_frequencies:
            fetch_engine, lift = stack.enter_context(fetch_hub(run, started, expired))
            lifts.append(lift)

        def lift_all() -> None:
            for lift in lifts:
                lift()

        ends = options.algorithm == "optimal" and run.timeout is not None
        deadline = Deadline(time.monotonic() + (run.timeout or 0), lift_all) if ends else Deadline()
        plan = planned(spec, 0, database, further=options.named_columns).plan
        yield ReleaseJob(
            spec, table_spec, k, plan, options, preferences_of(options, plan.question), database,
            fetch_engine, expired, run, on_step or (lambda step: None), deadline, started, records,
        )  # fmt: skip


def _with_levels_as_options(
    spec: AuditSpec, options: ReleaseOptions
) -> tuple[AuditSpec, ReleaseOptions]:
    """The question on raw values, and the options with its levels as those of the release."""
    [*others, table_spec] = spec.tables
    if others or not table_spec.levels:
        return spec, options
    raw = table_spec.model_copy(update={"levels": {}})
    names = {column.casefold(): column for column in table_spec.quasi_identifiers}
    levels = {names.get(name.casefold(), name): level for name, level in table_spec.levels.items()}
    with Faults() as faults:
        for name in [name for name in levels if name not in table_spec.quasi_identifiers]:
            with faults.collected():
                raise SpecError(
                    f'{option("levels")}: "{name}" is no quasi-identifier. Quasi-identifiers: '
                    f"{', '.join(table_spec.quasi_identifiers)}."
                )
    return spec.model_copy(update={"tables": [raw]}), options.at_levels(levels)


def the_table(spec: AuditSpec) -> TableSpec:
    """The single table to release. Raises `SpecError`."""
    if len(spec.tables) > 1:
        raise SpecError(
            f"a release is made of one table, and the spec has {len(spec.tables)}. Give each its "
            "own file."
        )
    [table_spec] = spec.tables
    table_spec.refuse_events("a release is generalised by its classes")
    table_spec.refuse_original("a release is made of people's records")
    if table_spec.levels:
        raise SpecError("the levels are compared; leave them out, or audit at a level.")
    if table_spec.nulls == "wildcard":
        raise SpecError(
            "nulls: wildcard forms no classes that could be released. Leave it out: NULL is then "
            "a value of its own."
        )
    return table_spec


def _required_k(table_spec: TableSpec) -> int:
    sizes = [size for check in table_spec.checks if check.sets_k and (size := check.least_size)]
    if not sizes:
        raise SpecError(
            f"say how many records each class of the release must have, as in {option('k', 5)}."
        )
    return max(sizes)


def _refuse_unreleasable(plan: Plan, options: ReleaseOptions, dialect: str) -> None:
    refuse_names(plan.question, options, dialect)
    refuse_unassigned(plan.question, options)
    partition_of(plan.question, options)
    if options.algorithm == "local":
        refuse_equality(plan.question)


def _released(job: ReleaseJob, new: Written | None) -> ReleaseOutcome:
    """The release, with its records written to `new`."""
    before = audited_before(job)
    if before.status == "no_data":
        return ReleaseOutcome(_without_data(before, job.options), None)
    job.refuse_large_k(before)
    if job.options.algorithm == "optimal":
        job = job.also_searched(with_estimated_sizes(job.question, before))
    job.announce_fetch()
    sets = job.sets()
    job.number_people(sets)
    allowed = job.options.allowed(records=before.summary.records or 0, k=job.k)
    release = released_by_class if job.options.algorithm == "local" else released_at_levels
    return release(job, sets, before, allowed, new)


def _without_data(before: TableResult, options: ReleaseOptions) -> AnonymizationResult:
    """The result for a table without records: nothing was searched."""
    by_class = options.algorithm == "local"
    levels = dict.fromkeys(before.quasi_identifiers, 0)
    nothing = Metrics(None, None, None, None, None, None, None, {})
    return AnonymizationResult(
        (before,),
        VERSION,
        audited=today(),
        anonymization=Anonymization(
            algorithm=options.algorithm,
            levels=None if by_class else levels,
            labels={} if by_class else dict.fromkeys(levels, "raw value"),
            recoded=Recoded(0, {name: {} for name in levels}, {}) if by_class else None,
            steps=Rows(),
            reached_top=False,
            max_suppressed=0,
            records_violating=0,
            suppressed=0,
            step4=0,
            suppressed_as=options.suppressed,
            k=None,
            classes=None,
            metrics=nothing,
            associations=(),
            views=(),
            before=Before(before.name, before.summary, before.checks, before.risk),
        ),
    )
