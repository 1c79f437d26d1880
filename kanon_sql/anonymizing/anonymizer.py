"""From a table that identifies people to one that may be published: searches the levels, builds
the release, audits it again, and only then puts it in place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from kanon_sql.anonymizing.alternative import one_level_for_all
from kanon_sql.anonymizing.choosing import Choice, Deadline
from kanon_sql.anonymizing.cuts import cuts_of
from kanon_sql.anonymizing.datafly import SearchPath, datafly
from kanon_sql.anonymizing.datafly import Step as Taken
from kanon_sql.anonymizing.dbt_model import name_of
from kanon_sql.anonymizing.delivery import delivered, new_file, refuse_described
from kanon_sql.anonymizing.exploring import Nodes, bounds_of
from kanon_sql.anonymizing.frequency_sets import FrequencySets, first_set
from kanon_sql.anonymizing.lattice import Levels
from kanon_sql.anonymizing.local_recoding import local_recoding
from kanon_sql.anonymizing.losses import associations, losses, metrics
from kanon_sql.anonymizing.optimal import AT_ONCE
from kanon_sql.anonymizing.options import ReleaseOptions
from kanon_sql.anonymizing.preferences import Preferences, preferences_of
from kanon_sql.anonymizing.recoded_release import RecodedSets
from kanon_sql.anonymizing.recoded_views import (
    RecodedChain,
    refuse_equality,
    said_of_recoding,
)
from kanon_sql.anonymizing.result import AnonymizationResult
from kanon_sql.anonymizing.suppression import (
    IN_ORDER,
    RELEASED,
    Suppression,
    nothing_suppressed,
    suppress,
)
from kanon_sql.anonymizing.untouched import refuse_untouched, said_of, what_becomes_of_untouched
from kanon_sql.anonymizing.views import ViewChain, dropped_columns, refuse_taken_names, view_name
from kanon_sql.auditing.auditor import answered, clips, expected
from kanon_sql.auditing.opening import opened, planned
from kanon_sql.auditing.warnings import left_out
from kanon_sql.engines import connect, is_embedded
from kanon_sql.engines.base import Engine, Hub
from kanon_sql.engines.session import Session, Watch, refuse_time_limit, time_limit, unless_changed
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.files import file_kind, remove_leftovers
from kanon_sql.plan.audit_plan import Plan, plan_audit
from kanon_sql.plan.bind import bind, column_levels
from kanon_sql.plan.bound import BoundCheck, BoundSpec
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.roles import resolve
from kanon_sql.plan.steps import counted, spoken
from kanon_sql.plan.violating_classes import class_size, is_judged_by_class
from kanon_sql.plan.withholding import texts_of_files
from kanon_sql.results.expected import ExpectedSearch, ExpectedTable
from kanon_sql.results.release import (
    Anonymization,
    Before,
    GeneralizationStep,
    Metrics,
    Recoded,
    Search,
    Untouched,
)
from kanon_sql.results.table import Rows, TableResult, today
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import check_writable, refuse_to_overwrite
from kanon_sql.spec.hierarchy_table import summary as summary_of_faults
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.spec.spec import AuditSpec, TableSpec, Unassigned
from kanon_sql.sql.dialects.spelling import without_texts
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, Table, find

Tell = Callable[[GeneralizationStep], None]
"""Is told each step as it is taken."""


def anonymize(
    spec: AuditSpec,
    wanted: ReleaseOptions,
    *,
    engine: Any = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    watch: Watch | None = None,
    tell: Tell | None = None,
    writes: Sequence[Path] = (),
) -> AnonymizationResult:
    """Generalise and suppress the one table of `spec` until its demands hold, and audit that.

    A release that fails its audit is not written, unless `wanted.force` is set. What is
    read is never written. `tell` is told each step as it is taken. `writes` are the files
    that are to be written beside the release.

    Raises `SpecError` or `InputError` for what can't be asked, `EngineError` where the engine
    fails; then nothing is written.
    """
    asked = the_table(spec)
    k = _demanded_k(asked)
    refuse_described(wanted)
    for path in wanted.files:
        check_writable(path, inputs=spec.files(engine), force=wanted.force)
    _refuse_before_connecting(asked, engine, wanted)
    with ExitStack() as stack:
        database = stack.enter_context(opened(asked, engine, memory_limit, threads))
        refuse_time_limit(database, timeout)
        _refuse_what_it_can_t(database, wanted)
        here = (
            connect(memory_limit=memory_limit, threads=threads) if wanted.pull_frequencies else None
        )
        if here:
            stack.callback(here.close)
        left_over = [said for path in wanted.files[:1] for said in remove_leftovers(path.parent)]
        new = stack.enter_context(new_file(wanted))
        if new is not None and isinstance(database, Hub):
            database.will_write(new, wanted.output or new)
        expired = threading.Event()
        with (
            time_limit(database, timeout, expired) as lift,
            cancelled_too(here, timeout, expired) as lift_here,
        ):
            deadline = deadline_of(wanted, timeout, lift, lift_here)
            run = _Run(spec, asked, k, wanted, database, here, expired, watch, tell, deadline)
            refuse_to_overwrite([*wanted.files, *writes], database.files_read())
            result = unless_changed(database, lambda: run.anonymized(new))
            database.verify_unchanged()
            database.forget_all()
        return delivered(_telling(result, left_over), run.chain, wanted, new)


def _telling(result: AnonymizationResult, warnings: Sequence[str]) -> AnonymizationResult:
    """The result with these warnings before its own."""
    [table] = result.tables
    return replace(result, tables=(replace(table, warnings=(*warnings, *table.warnings)),))


def dry_run(spec: AuditSpec, wanted: ReleaseOptions, *, engine: Any = None) -> ExpectedTable:
    """What `anonymize` would run for certain, and what is known of its search. Nothing runs.

    Raises what `anonymize` would before it asks anything.
    """
    asked = the_table(spec)
    _demanded_k(asked)
    _refuse_before_connecting(asked, engine, wanted)
    with opened(asked, engine) as database:
        _refuse_what_it_can_t(database, wanted)
        plan = planned(spec, 0, database).plan
        _refuse_names(plan.bound, wanted)
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
    """How many levels a search may raise a quasi-identifier by, those of a mask left out."""
    if masked:
        return levels.with_longest(1).height - 1
    if levels.needs_longest:
        return preferred.at_most[levels.name]
    return preferred.highest(levels.name, levels.height)


def _refuse_what_it_can_t(database: Engine, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for what is only for a warehouse, or only for the embedded engine."""
    if database.keeps_rows and wanted.pull_frequencies:
        raise SpecError(
            "pull_frequencies is for a table in a warehouse; this one is read by DuckDB, where "
            "nothing has to be fetched. Leave it out."
        )
    if wanted.algorithm == "local" and not (database.keeps_rows or wanted.pull_frequencies):
        raise SpecError(
            f"local recoding splits classes round by round, over rows that {database.name} may not "
            "keep for it. Let the combinations of values be fetched, each once: pull_frequencies."
        )
    if wanted.writes_records and not isinstance(database, Hub):
        raise _records_stay(wanted, database.name)


def _records_stay(wanted: ReleaseOptions, database: str) -> SpecError:
    return SpecError(
        f"{wanted.output}: the records of a release stay in {database}, and no rows are "
        "fetched. Write the views that make it, --output release.sql, and run them there; or "
        "copy the table into a file, and release that."
    )


def _refuse_before_connecting(asked: TableSpec, engine: Any, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for what no driver could make possible, before one is asked for."""
    url = engine if engine is not None else asked.connect
    if wanted.writes_records and isinstance(url, str) and not is_embedded(url):
        raise _records_stay(wanted, url.partition(":")[0])


@contextmanager
def cancelled_too(
    engine: Engine | None, timeout: float | None, expired: threading.Event
) -> Iterator[Callable[[], None]]:
    """Hold the engine that frequencies are fetched into, if there is one, to the same limit."""
    if engine is None:
        yield lambda: None
        return
    with time_limit(engine, timeout, expired) as lift:
        yield lift


def deadline_of(
    wanted: ReleaseOptions, timeout: float | None, *lifts: Callable[[], None]
) -> Deadline:
    """When an optimal search ends with the best that it found: what comes after it may take its
    time then, and is not stopped."""
    if timeout is None or wanted.algorithm != "optimal":
        return Deadline()

    def lift() -> None:
        for each in lifts:
            each()

    return Deadline(time.monotonic() + timeout, lift)


def the_table(spec: AuditSpec) -> TableSpec:
    """The one table that a release is made of. Raises `SpecError`."""
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
        raise SpecError("say how many records each class of the release must have, as in --k 5.")
    return max(sizes)


class _Run:
    """One table on its way to a release."""

    def __init__(
        self,
        spec: AuditSpec,
        asked: TableSpec,
        k: int,
        wanted: ReleaseOptions,
        engine: Engine,
        here: Engine | None,
        expired: threading.Event,
        watch: Watch | None,
        tell: Tell | None,
        deadline: Deadline,
    ) -> None:
        self._spec, self._asked, self._k, self._wanted = spec, asked, k, wanted
        self._engine, self._here, self._expired, self._watch = engine, here, expired, watch
        self._tell = tell or (lambda step: None)
        self._deadline = deadline
        self._started = time.monotonic()
        self._plan = planned(spec, 0, engine).plan
        _refuse_names(self._plan.bound, wanted)
        refuse_untouched(self._plan.bound, wanted)
        self._preferred = preferences_of(wanted, self._plan.bound)
        if wanted.algorithm == "local":
            refuse_equality(self._plan.bound)
        self.chain: ViewChain | None = None
        """The views of the release, where there is one."""

    @property
    def statements(self) -> tuple[str, ...]:
        """What creates the views of the release, as they were run."""
        return self.chain.statements(self._engine.in_own_words) if self.chain else ()

    def anonymized(self, new: Path | None) -> AnonymizationResult:
        """Search, build and audit; the release's records are written to `new`."""
        before = answered(self._plan, self._session())
        if before.status == "no_data":
            return _without_data(before, self._wanted)
        self._refuse_large_k(before)
        sets = self._sets()
        allowed = self._wanted.allowed(records=before.summary.records or 0, k=self._k)
        if self._wanted.algorithm == "local":
            return self._recoded(before, sets, allowed, new)
        path, made = self._levels_found(sets, allowed)
        chain = ViewChain(
            self._plan.bound,
            sets.quasi_identifiers,
            tuple(_as_taken(sets, step) for step in path.steps or _straight(sets, path.levels)),
            self._k,
            max(self._k, class_size(self._plan.bound.checks) or 0),
            self._wanted.suppressed,
            has_donors=False,
            name=_view_name(self._plan.bound, self._wanted),
            dropped=dropped_columns(self._plan.bound, untouched=self._unassigned == "drop"),
            keeps_order=self._wanted.keep_order,
            is_single=self._wanted.single_view,
            dialect=self._engine.dialect,
            algorithm=self._wanted.algorithm,
        )
        in_step4 = self._wanted.algorithm == "datafly" and allowed >= self._k
        untouched = Untouched(tuple(each.name for each in self._untouched_columns))
        if path.reached_top:
            left_out = nothing_suppressed(sets, path.levels)
            after = self._audited_at(sets, path.levels)
        else:
            left_out, chain = suppress(sets, chain, path.levels, in_step4=in_step4)
            self.chain = chain
            published = self._published(chain, new)
            after = self._audited(published)
            untouched = replace(untouched, alone=self._alone(chain, published))
            self._refuse_another_count(before, after, left_out.records)
            self._refuse_other_classes(before, after, left_out)
        lost = metrics(
            list(losses(sets, path.levels)),
            left_out.classes,
            records=before.summary.records or 0,
            suppressed=left_out.records,
            weights=self._preferred.weights,
        )
        generalised = [name for name, level in path.levels.items() if level]
        return AnonymizationResult(
            (
                replace(
                    after,
                    why=before.why,
                    release=before.release,
                    clip=clips(self._plan.bound, path.levels),
                    insensitive=before.insensitive,
                    unassigned=(),
                    warnings=tuple(
                        dict.fromkeys(
                            (*self._warnings(sets, generalised, untouched), *after.warnings)
                        )
                    ),
                    seconds=time.monotonic() - self._started,
                ),
            ),
            VERSION,
            audited=today(),
            anonymization=Anonymization(
                algorithm=self._wanted.algorithm,
                levels=path.levels,
                labels={
                    each.name: each.levels.label(path.levels[each.name])
                    for each in sets.quasi_identifiers
                },
                steps=Rows(_as_taken(sets, step) for step in path.steps),
                reached_top=path.reached_top,
                max_suppressed=allowed,
                records_violating=path.records_violating,
                suppressed=left_out.records,
                step4=left_out.step4,
                suppressed_as=self._wanted.suppressed,
                k=after.summary.k,
                classes=after.summary.classes,
                metrics=lost,
                associations=tuple(associations(sets, self._plan.bound, path.levels)),
                views=self.statements,
                views_without_values=self._without_values(self.statements),
                before=Before(before.name, before.summary, before.checks, before.risk),
                untouched=untouched,
                **_at_best(made, lost),
            ),
        )

    def _levels_found(self, sets: FrequencySets, allowed: int) -> tuple[SearchPath, dict[str, Any]]:
        """The levels of the release, and what the result says of how they were found."""
        if self._wanted.algorithm == "datafly":
            path = datafly(
                [self._preferred.bounded(each) for each in sets.attributes],
                sets.records_violating,
                allowed,
                lambda step: self._tell(_as_taken(sets, step)),
            )
            return path, {}
        metric = self._wanted.metric or "loss"
        nodes = Nodes(sets, self._preferred, [self._k])
        choice = Choice(
            nodes,
            metric,
            self._preferred,
            self._wanted.suppressed,
            gap=self._wanted.share_of_gap,
            deadline=self._deadline,
        )
        chosen = choice.best(self._k, allowed)
        path = SearchPath(
            (),
            nodes.levels(chosen.node),
            nodes.counted(chosen.node, self._k).violating,
            reached_top=not chosen.satisfies,
        )
        found: dict[str, Any] = {"metric": metric, "search": chosen.search}
        if self._wanted.minimal_nodes:
            found["minimal_nodes"] = choice.minimal(self._k, allowed)
        return path, found

    def _recoded(
        self, before: TableResult, sets: FrequencySets, allowed: int, new: Path | None
    ) -> AnonymizationResult:
        """The release in which each class has levels of its own."""
        starts = {
            each.name: self._preferred.highest(each.name, each.levels.height)
            for each in sets.quasi_identifiers
        }
        recoding = local_recoding(
            sets,
            starts=starts,
            records=before.summary.records or 0,
            max_suppressed=allowed,
            least_suppressed=self._k if self._wanted.suppressed == "star" else 0,
            weights={
                name: Fraction(str(weight)) for name, weight in self._preferred.weights.items()
            },
        )
        recoded = RecodedSets(sets, recoding)
        untouched = Untouched(tuple(each.name for each in self._untouched_columns))
        if recoding.fails:
            left_out = nothing_suppressed(sets, starts)
            after = self._audited_at(sets, starts)
            lost = list(losses(sets, starts))
            associated = tuple(associations(sets, self._plan.bound, starts))
            reached = {name: {level: before.summary.records or 0} for name, level in starts.items()}
        else:
            left_out = recoded.suppression
            chain = self._recoded_chain(recoded)
            self.chain = chain
            self._keep_recoded(recoded, chain)
            published = self._published(chain, new)
            mixed = {
                each.name: each.levels
                for each in sets.quasi_identifiers
                if each.name in chain.published_as_text
            }
            after = self._audited(published, mixed)
            untouched = replace(untouched, alone=self._alone(chain, published))
            self._refuse_another_count(before, after, left_out.records)
            self._refuse_other_classes(before, after, left_out)
            lost = list(recoded.losses())
            associated = tuple(recoded.associations())
            reached = recoded.levels_by_records
        generalised = [name for name, levels in reached.items() if any(levels)]
        return AnonymizationResult(
            (
                replace(
                    after,
                    why=before.why,
                    release=before.release,
                    clip=clips(self._plan.bound, dict.fromkeys(generalised, 1)),
                    insensitive=before.insensitive,
                    unassigned=(),
                    warnings=tuple(
                        dict.fromkeys(
                            (
                                *self._warnings(sets, generalised, untouched),
                                *said_of_recoding(self._plan.bound, self.chain),
                                *after.warnings,
                            )
                        )
                    ),
                    seconds=time.monotonic() - self._started,
                ),
            ),
            VERSION,
            audited=today(),
            anonymization=Anonymization(
                algorithm=self._wanted.algorithm,
                levels=None,
                labels={},
                steps=Rows(),
                reached_top=recoding.fails,
                max_suppressed=allowed,
                records_violating=recoding.records_violating,
                suppressed=left_out.records,
                step4=0,
                suppressed_as=self._wanted.suppressed,
                k=after.summary.k,
                classes=after.summary.classes,
                metrics=metrics(
                    lost,
                    left_out.classes,
                    records=before.summary.records or 0,
                    suppressed=left_out.records,
                    weights=self._preferred.weights,
                ),
                associations=associated,
                views=self.statements,
                views_without_values=self._without_values(self.statements),
                before=Before(before.name, before.summary, before.checks),
                untouched=untouched,
                recoded=Recoded(
                    len(recoding.rounds),
                    reached,
                    {
                        each.name: {
                            level: each.levels.label(level)
                            for level in range(starts[each.name] + 1)
                        }
                        for each in sets.quasi_identifiers
                    },
                    one_level_for_all(
                        sets,
                        self._preferred,
                        self._wanted.suppressed,
                        k=self._k,
                        max_suppressed=allowed,
                        combinations=before.summary.classes or 0,
                    ),
                ),
            ),
        )

    def _recoded_chain(self, recoded: RecodedSets) -> RecodedChain:
        return RecodedChain(
            self._plan.bound,
            recoded.sets.quasi_identifiers,
            (),
            self._k,
            max(self._k, class_size(self._plan.bound.checks) or 0),
            self._wanted.suppressed,
            has_donors=False,
            name=_view_name(self._plan.bound, self._wanted),
            dropped=dropped_columns(self._plan.bound, untouched=self._unassigned == "drop"),
            keeps_order=self._wanted.keep_order,
            is_single=self._wanted.single_view,
            dialect=self._engine.dialect,
            algorithm="local",
            cuts=cuts_of(recoded),
            mixed=recoded.generalised,
        )

    def _keep_recoded(self, recoded: RecodedSets, chain: RecodedChain) -> None:
        """Let the release be read under the name that a run gives it."""
        sets = recoded.sets
        if sets.hold_records:
            recoded.keep_recodings()
        run = replace(chain, kept=sets.hold_records)
        for view in run.views_to_run:
            sets.keep_view_of_records(view.name, " ".join(view.words), view.sql)
        if sets.hold_records and not chain.keeps_order:
            question = "Which records are written, in which order?"
            sets.keep_view_of_records(IN_ORDER, question, run.in_order(RELEASED))

    @property
    def _unassigned(self) -> Unassigned:
        return what_becomes_of_untouched(self._plan.bound, self._wanted)

    @property
    def _untouched_columns(self) -> tuple[Column, ...]:
        """The columns without a part that go out as they are."""
        return () if self._unassigned == "drop" else self._plan.bound.roles.unassigned

    def _is_searched(self, check: BoundCheck) -> bool:
        """Whether an optimal search looks for what all classes together must hold."""
        return self._wanted.algorithm == "optimal" and bool(bounds_of(self._plan.bound, check))

    def _session(self, engine: Engine | None = None) -> Session:
        asked = engine or self._engine
        return Session(asked, self._watch, self._expired, started=time.monotonic())

    def _sets(self) -> FrequencySets:
        try:
            bound = self._plan.bound
            levels = column_levels(bound.roles, bound.facts)
            here = self._session(self._here) if self._here else None
            return FrequencySets(bound, here or self._session(), levels, here and self._session())
        except SpecError as error:
            raise self._spec.pointed(error, 0) from None

    def _refuse_large_k(self, before: TableResult) -> None:
        summary, people = before.summary, before.summary.people
        counted = summary.records if people is None else people
        if self._k > (counted or 0):
            noun = "records" if people is None else "people"
            raise InputError(
                f"{before.name} has {counted:,} {noun}, so no class of it can have {self._k:,}. "
                "Ask for a smaller k, or for more data."
            )

    def _refuse_another_count(
        self, before: TableResult, after: TableResult, suppressed: int
    ) -> None:
        """Raise unless every record is in the release or was suppressed."""
        kept = suppressed if self._wanted.suppressed == "star" else 0
        if (before.summary.records or 0) - suppressed + kept != after.summary.records:
            raise EngineError(
                f"{before.name} changed while its release was being made; run again. Nothing was "
                "written."
            )

    def _refuse_other_classes(
        self, before: TableResult, after: TableResult, left_out: Suppression
    ) -> None:
        """Raise unless the release has the classes that were counted: beside them there may be one
        of the suppressed records."""
        counted, found = int(left_out.classes["kanon_classes"]), after.summary.classes or 0
        starred = self._wanted.suppressed == "star" and left_out.records > 0
        if found in (counted, counted + starred):
            return
        output = self._wanted.output
        if output is not None and file_kind(output.name) == "csv":
            raise InputError(
                f"{output} can't hold the classes of the release apart: {counted:,} became "
                f"{found:,}. In a text file NULL is an empty field, and so are an empty text "
                "and whatever stands for NULL (null_strings). Write a .parquet, or give one of "
                "them another value. Nothing was written."
            )
        raise EngineError(
            f"{before.name} changed while its release was being made; run again. Nothing was "
            "written."
        )

    def _audited_at(self, sets: FrequencySets, levels: Levels) -> TableResult:
        """The audit of the table at some levels, none of its records left out."""
        bound = self._plan.bound
        found = {each.name: each.levels for each in sets.quasi_identifiers}
        facts = replace(
            bound.facts,
            longest={
                name: each.longest for name, each in found.items() if each.longest is not None
            },
            hierarchies={name: each.table for name, each in found.items() if each.table},
        )
        at_levels = bind(bound.roles.at(levels), facts)
        return answered(plan_audit(at_levels), self._session())

    def _published(self, chain: ViewChain, new: Path | None) -> Table:
        """The release as a table: the file that is written, where there is one."""
        if new is None or not isinstance(self._engine, Hub):
            return replace(chain, kept=self._engine.keeps_rows).published
        self._engine.write(RELEASED if chain.keeps_order else IN_ORDER, new)
        return self._engine.table(str(new))

    def _alone(self, chain: ViewChain, table: Table) -> int:
        """How many records (people, where there is an entity) are alone in the quasi-identifiers
        and what is untouched together."""
        names = [each.name for each in self._plan.bound.quasi_identifiers]
        names += [each.name for each in self._untouched_columns]
        columns = [find(name, table) for name in names]
        entity = self._plan.bound.entity
        sql = render(
            "records_alone",
            relation=table.sql,
            columns=columns,
            entity=find(entity.name, table) if entity else None,
            embedded=table.embedded,
        )
        question = f"How many {counted(self._plan.bound)} are alone in what is published untouched?"
        asked = Statement("untouched", question, sql, tables=frozenset([table.sql]))
        return int(self._session().row(asked)["kanon_alone"])

    def _audited(
        self, table: Table, recoded: Mapping[str, ColumnLevels] | None = None
    ) -> TableResult:
        """The audit of the release, of which each cell of some columns is `recoded` by itself."""
        bound = self._plan.bound
        writes = self._wanted.output is not None and self._wanted.writes_records
        named = self._wanted.output.name if writes and self._wanted.output else _name(self._plan)
        asked = self._asked.model_copy(
            update={
                "name": named,
                "quasi_identifiers": {
                    each.name: bound.roles.hierarchy(each) for each in bound.quasi_identifiers
                },
                "identifiers": [],
                "where": None,
                "first": None,
            }
        )
        references = {name: each.table for name, each in bound.references.items()}
        earlier = {name: each.table for name, each in bound.earlier.items()}
        released = bind(resolve(asked, table, references, earlier), bound.facts)
        return answered(plan_audit(replace(released, recoded=recoded or {})), self._session())

    def _without_values(self, statements: tuple[str, ...]) -> tuple[str, ...]:
        withheld = texts_of_files(self._plan.bound)
        return tuple(without_texts(each, self._engine.dialect, withheld) for each in statements)

    def _warnings(
        self, sets: FrequencySets, generalised: Sequence[str], untouched: Untouched
    ) -> Iterator[str]:
        yield from left_out(self._plan.bound)
        yield from said_of(untouched, self._plan.bound)
        if self._wanted.keep_order:
            yield (
                "The release keeps the order of its source: laid beside another release of it in "
                "that order, record for record, it shows which belong together. Have it sorted, "
                "as it is by default."
            )
        for each in sets.quasi_identifiers:
            if each.name in generalised:
                yield from summary_of_faults(each.levels.faults).splitlines()
        unsearched = [
            check.model.name()
            for check in self._plan.bound.checks
            if check.gates and not is_judged_by_class(check) and not self._is_searched(check)
        ]
        if self._plan.bound.entity:
            yield (
                f'The entity "{self._plan.bound.entity.name}" is in the release, where it tells '
                "which records are one person's. If it means anything outside of it, replace it."
            )
        if self._plan.bound.weight:
            yield (
                f'The weight "{self._plan.bound.weight.name}" is in the release as it is. Where it '
                "was made of what is generalised here, it tells that apart again."
            )
        if self._here:
            yield (
                "The values of "
                f"{spoken([*self._plan.bound.quasi_identifiers, *sets.carried])} were fetched "
                f"from {self._engine.name}, each combination once, and held in this machine's "
                "memory and, where that was too small, in a private folder, which is gone."
            )
        if unsearched:
            yield (
                f"{' and '.join(unsearched)}: no class alone can say whether this holds, so the "
                "search does not look for it. It is judged on the release."
            )


def _at_best(made: dict[str, Any], lost: Metrics) -> dict[str, Any]:
    """What is said of a search, where the bound of the best levels is what they lose: to the last
    digit, however it was added up."""
    search: Search | None = made.get("search")
    if search is None or not search.optimal:
        return made
    weighted = made["metric"] == "loss" and lost.loss_weighted is not None
    value = lost.loss_weighted if weighted else getattr(lost, made["metric"])
    return made if value is None else {**made, "search": replace(search, bound=value)}


def _straight(sets: FrequencySets, levels: Levels) -> list[Taken]:
    """The way from the raw values to some levels, one quasi-identifier at a time."""
    return [
        Taken(each.name, levels[each.name], each.attribute.distinct[0], 0)
        for each in sets.quasi_identifiers
        if levels[each.name]
    ]


def _as_taken(sets: FrequencySets, step: Taken) -> GeneralizationStep:
    levels = next(each.levels for each in sets.quasi_identifiers if each.name == step.attribute)
    return GeneralizationStep(
        step.attribute,
        step.to_level,
        levels.label(step.to_level),
        step.distinct_before,
        step.records_violating,
    )


def _view_name(bound: BoundSpec, wanted: ReleaseOptions) -> str:
    """What the release is called, and its views begin with."""
    return wanted.view_name or view_name(name_of(bound.spec.name or bound.table.name))


def _refuse_names(bound: BoundSpec, wanted: ReleaseOptions) -> None:
    shipped = wanted.writes_views and wanted.emit == "views"
    refuse_taken_names(bound, _view_name(bound, wanted), shipped=shipped)


def _name(plan: Plan) -> str:
    return plan.bound.spec.name or plan.bound.table.name


def _without_data(before: TableResult, wanted: ReleaseOptions) -> AnonymizationResult:
    """What is said of a table without records: nothing was searched."""
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
