"""The job of making one release with any algorithm."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.result import AnonymizationResult, KeptRecords
from kanon_sql.anonymizing.release.scripts import name_of
from kanon_sql.anonymizing.release.suppression import IN_ORDER, Suppression
from kanon_sql.anonymizing.release.unassigned import handling_of_unassigned, unassigned_warnings
from kanon_sql.anonymizing.release.views import (
    PEOPLE,
    RELEASE,
    ViewChain,
    dropped_columns,
    refuse_taken_names,
    view_name,
)
from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.datafly_counts import builders
from kanon_sql.anonymizing.search.frequency_sets import (
    FrequencySets,
    first_set,
)
from kanon_sql.anonymizing.search.lattice import PRIVATE, Levels
from kanon_sql.anonymizing.search.losses import ReleasedSet, distribution, metrics
from kanon_sql.anonymizing.search.optimal_search import Deadline
from kanon_sql.anonymizing.violating_classes import (
    class_size,
    is_judged_by_class,
    reference_requirements,
    with_k,
)
from kanon_sql.auditing.auditor import answered, clips
from kanon_sql.auditing.fetched_sets import announce_fetch
from kanon_sql.auditing.warnings import left_out, time_zones, zones_kept
from kanon_sql.engines.base import Engine, FolderWriter, Hub, NewFolder
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, InputError, SpecError, option, plural
from kanon_sql.models.base import ReferenceModel
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.binding import bind, column_levels
from kanon_sql.plan.bound_columns import bound_column
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.other_columns import OtherColumnsStep, TogetherStep
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.resolve import resolve
from kanon_sql.plan.steps import counted, name_list, records
from kanon_sql.question.hierarchy_table import summary as summary_of_faults
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import EntityInRelease, TableSpec, Unassigned
from kanon_sql.results.release import (
    RANKS,
    Anonymization,
    Before,
    Distribution,
    GeneralizationStep,
    Metrics,
    Search,
    Untouched,
)
from kanon_sql.results.table import TableResult, today
from kanon_sql.results.version import VERSION
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, Table, find

OnStep = Callable[[GeneralizationStep], None]
"""Callback for each generalisation step."""


ShownAt = Mapping[str, tuple[ColumnLevels, int | None]]
"""The generalised quasi-identifiers of a release with their levels; None if each class has its
own."""

Written = Path | NewFolder
"""Where a release is first written: the temporary file or folder next to its place."""
_NAMES_FOLDERS = re.compile(r"VARCHAR|(TINY|SMALL|BIG)INT|INTEGER|BOOLEAN|DATE|DECIMAL\(.*\)")
"""Types whose values are equal after they were the name of a folder."""

_SECRET = f"{PRIVATE}secret"

Chain = TypeVar("Chain", bound=ViewChain)


class Judged(NamedTuple):
    """The audit of a release, and its columns that are released unchanged."""

    after: TableResult
    unassigned: Untouched
    unchanged: tuple[Distribution, ...] = ()
    """The distributions of the insensitive columns."""


class ReleaseOutcome(NamedTuple):
    """The result of a release, and its views, if there is a release."""

    result: AnonymizationResult
    chain: ViewChain | None


@dataclass(frozen=True)
class ReleaseJob:
    """One table on its way to a release."""

    spec: AuditSpec
    table_spec: TableSpec
    k: int
    plan: Plan
    options: ReleaseOptions
    preferred: Preferences
    engine: Engine
    here: Engine | None
    """The embedded engine into which frequencies are fetched, if they are."""
    expired: threading.Event
    run: RunOptions
    on_step: OnStep
    deadline: Deadline
    started: float
    records: KeptRecords | None = None
    """Where the published records are kept for the result, if they are."""

    @property
    def question(self) -> ResolvedQuestion:
        return self.plan.question

    @property
    def partition(self) -> str | None:
        return partition_of(self.question, self.options)

    def also_searched(self, question: ResolvedQuestion) -> ReleaseJob:
        """The job with additional checks for the search; the release is audited against the
        original ones."""
        return replace(self, plan=replace(self.plan, question=question))

    def for_k(self, k: int) -> ReleaseJob:
        """The job with another k in place of its own."""
        checks = [check for check in self.table_spec.checks if not check.sets_k]
        table_spec = self.table_spec.model_copy(update={"checks": [KAnonymity(k=k), *checks]})
        plan = replace(self.plan, question=with_k(self.question, k))
        return replace(self, table_spec=table_spec, k=k, plan=plan)

    @property
    def unassigned_handling(self) -> Unassigned:
        return handling_of_unassigned(self.question, self.options)

    @property
    def entity_as(self) -> EntityInRelease:
        return self.options.handling_of_entity(self.table_spec)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that the release leaves out."""
        return dropped_columns(self.question, drops_unassigned=self.unassigned_handling == "drop")

    @property
    def released_unassigned(self) -> Untouched:
        """The columns released unchanged, before the records unique in them are counted."""
        return Untouched(tuple(column.name for column in self._unchanged_columns))

    @property
    def name(self) -> str:
        return self.question.spec.name or self.question.table.name

    def session(self, engine: Engine | None = None) -> Session:
        queried = engine or self.engine
        return Session(queried, self.run.watch, self.expired, started=time.monotonic())

    def announce_fetch(self) -> None:
        """Announce the frequency set that is fetched from a cluster. Raises `SpecError` if it is
        too large."""
        if self.here and isinstance(self.engine, FolderWriter):
            columns = self.question.of_classes
            announce_fetch(self.session(), first_set(self.question), columns, self.run.announce)

    def sets(self) -> FrequencySets:
        try:
            question = self.question
            levels = column_levels(question.roles, question.facts)
            fetch_session = self.session(self.here) if self.here else None
            return FrequencySets(
                question, fetch_session or self.session(), levels, fetch_session and self.session()
            )
        except SpecError as error:
            raise self.spec.with_location(error, 0) from None

    def number_people(self, sets: FrequencySets) -> None:
        """Draw the number of each person, if the release has numbers in place of the entity."""
        entity = self.question.entity
        if entity is None or self.entity_as != "renumber":
            return
        seed = self.options.seed
        secret = secrets.token_hex(32) if seed is None else str(seed)
        sql = render(
            "numbers_of_people",
            records=records(self.question, [entity]),
            entity=entity,
            secret=sets.materialise_rows(_SECRET, ["kanon_secret"], [[secret]]),
        )
        sets.materialise(PEOPLE, "Which number does each person have in the release?", sql)

    def refuse_large_k(self, before: TableResult) -> None:
        summary, people = before.summary, before.summary.people
        members_noun = counted(self.question)
        members = (summary.records if people is None else people) or 0
        if self.k > members:
            noun = members_noun if members != 1 else "record" if people is None else "person"
            raise InputError(
                f"{before.name} has {members:,} {noun}, so no class of it can have {self.k:,}. "
                "Choose a smaller k, or add data."
            )

    def chain(
        self,
        kind: type[Chain],
        sets: FrequencySets,
        steps: tuple[GeneralizationStep, ...] = (),
        **fields: Any,
    ) -> Chain:
        """The views of the release; `fields` are those that only this kind of views has."""
        return kind(
            self.question,
            sets.quasi_identifiers,
            steps,
            self.k,
            max(self.k, class_size(self.question.checks) or 0),
            self.options.suppressed,
            has_donors=False,
            name=name_of_release(self.question, self.options),
            dropped=self.dropped,
            is_single=self.options.single_view,
            entity_as=self.entity_as,
            first_in_order=self.partition,
            dialect=self.engine.dialect,
            algorithm=self.options.algorithm,
            **fields,
        )

    def judged_without_release(self, sets: FrequencySets, levels: Levels) -> Judged:
        """The audit of the table at these levels, where nothing can be released."""
        question = self.question
        levels_of = {column.name: column.levels for column in sets.quasi_identifiers}
        facts = replace(
            question.facts,
            longest={
                name: level.longest
                for name, level in levels_of.items()
                if level.longest is not None
            },
            hierarchies={name: level.table for name, level in levels_of.items() if level.table},
        )
        at_levels = bind(question.roles.at(levels), facts)
        return Judged(answered(plan_audit(at_levels), self.session()), self.released_unassigned)

    def judged(
        self,
        chain: ViewChain,
        new: Written | None,
        before: TableResult,
        left_out: Suppression,
        shown: ShownAt,
    ) -> Judged:
        """The audit of the release, which is written to `new`. Raises if the release differs from
        the counts of the search."""
        published = self._published(chain, new)
        linked = self._linked(chain)
        after = self._reading_the_output(self._audited_in(published, linked, shown), new)
        alone = self._alone(chain, linked or published)
        unassigned = replace(self.released_unassigned, alone=alone)
        self._refuse_changed(before, after, left_out)
        if self.records and isinstance(self.engine, Hub) and self.options.publishes(after.status):
            self.records.write(self.engine, IN_ORDER)
        return Judged(after, unassigned, tuple(self._unchanged(published)))

    def audited(self, chain: ViewChain, shown: ShownAt) -> TableResult:
        """The audit of the release of a chain, before it is written."""
        return self._audited_in(self._published(chain, None), self._linked(chain), shown)

    def warnings(
        self,
        sets: FrequencySets,
        generalised: Sequence[str],
        unassigned: Untouched,
        after: TableResult,
    ) -> Iterator[str]:
        yield from left_out(self.question)
        yield from time_zones(self.question, generalised)
        yield from zones_kept(self.question.table, {*self.dropped, *generalised})
        yield from unassigned_warnings(unassigned, self.question)
        for column in sets.quasi_identifiers:
            if column.name in generalised:
                yield from summary_of_faults(column.levels.faults).splitlines()
        failed = {check.model for check in after.checks if check.holds is False}
        unsearched = [
            check.model.name()
            for check in self.question.checks
            if not is_judged_by_class(check) and check.model.name() in failed
        ]
        unsearched = [] if self.options.algorithm == "optimal" else unsearched
        yield from self._warnings_of_entity(after)
        if self.question.household:
            yield (
                f'The household "{self.question.household.name}" is in the release and links the '
                "people of a household. If it is used anywhere else, replace it."
            )
        if self.question.weight:
            yield (
                f'The weight "{self.question.weight.name}" is in the release unchanged. If it was '
                "computed from generalised columns, it can reveal their raw values."
            )
        if self.here:
            yield (
                "The values of "
                f"{name_list([*self.question.quasi_identifiers, *sets.carried])} were fetched "
                f"from {self.engine.name}, each combination once, and held in this machine's "
                "memory or, if that was too small, in a private folder, which is deleted."
            )
        if unsearched:
            yield (
                f"The search ignores {' and '.join(unsearched)}, which no class alone can decide; "
                f"{'it was' if len(unsearched) == 1 else 'they were'} checked on the release."
            )

    def outcome(
        self,
        sets: FrequencySets,
        before: TableResult,
        judged: Judged,
        left_out: Suppression,
        chain: ViewChain | None,
        shown: ReleasedSet,
        warnings: Iterable[str] = (),
        *,
        highest: Levels,
        **fields: Any,
    ) -> ReleaseOutcome:
        """The result of the release and its views; without a chain, of levels that fail.

        `shown` is what the release shows of each quasi-identifier, and `highest` the highest level
        of each. `fields` are those of the `Anonymization` that depend on the algorithm.
        """
        after, unassigned, unchanged = judged
        generalised = [name for name, level in highest.items() if level]
        statements = chain.statements(self.engine.transpile) if chain else ()
        texts = (*self.warnings(sets, generalised, unassigned, after), *warnings, *after.warnings)
        released = replace(
            after,
            why=before.why,
            release=before.release,
            clip=clips(self.question, highest),
            insensitive=before.insensitive,
            unassigned=(),
            warnings=tuple(dict.fromkeys(texts)),
            seconds=time.monotonic() - self.started,
        )
        cost = metrics(
            shown.losses,
            left_out.classes,
            records=before.summary.records or 0,
            suppressed=left_out.records,
            weights=self.preferred.weights,
        )
        anonymization = Anonymization(
            algorithm=self.options.algorithm,
            metrics=cost,
            associations=tuple(shown.associations()),
            distributions=(*shown.distributions(), *unchanged) if chain else (),
            reached_top=chain is None,
            suppressed=left_out.records,
            step4=left_out.step4,
            suppressed_as=self.options.suppressed,
            k=after.summary.k,
            classes=after.summary.classes,
            views=statements,
            views_without_values=self._without_values(statements, chain),
            before=Before(
                before.name, before.summary, before.checks, before.risk, before.histogram
            ),
            untouched=unassigned,
            entity_in_release=self.entity_as,
            builders=builders(sets, highest),
            values_at_top={} if chain else sets.values_at(highest),
            **_with_proven_bound(fields, cost),
        )
        result = AnonymizationResult((released,), VERSION, anonymization, audited=today())
        return ReleaseOutcome(result, chain)

    # --- internal ---------------------------------------------------------------------------

    def _warnings_of_entity(self, after: TableResult) -> Iterator[str]:
        if self.question.entity is None:
            return
        entity = f'The entity "{self.question.entity.name}"'
        match self.entity_as:
            case "keep":
                yield (
                    f"{entity} is in the release and links the records of a person. If it is used "
                    "anywhere else, replace it (--entity-in-release renumber), or end the linking "
                    "(drop)."
                )
            case "renumber":
                yield (
                    f"{entity} is a random number in the release, which links the records of a "
                    "person and nothing else. No views make it: each reading would draw others."
                )
                if self.options.seed is not None:
                    yield (
                        "Whoever knows or guesses the seed can compute the numbers from the "
                        "entities: keep it as private as the table."
                    )
            case "drop":
                figures = (
                    "A check fails in people, so the figures are of people."
                    if after.entity
                    else "The checks hold in people as well; the figures are of records."
                )
                yield (
                    f"{entity} is not in the release, where nothing links the records of a person. "
                    f"{figures}"
                )

    def _linked(self, chain: ViewChain) -> Table | None:
        """The release with the entity that it drops, if it does."""
        if chain.entity_as != "drop":
            return None
        return replace(chain, kept=self.engine.materialises, is_linked=True).published

    def _audited_in(self, published: Table, linked: Table | None, shown: ShownAt) -> TableResult:
        """The audit of the release in records where it drops the entity, unless a check fails in
        people: who has several records in a class would make it look larger than it is."""
        if linked is not None:
            in_people = self._audited(linked, shown)
            if in_people.status != "holds":
                return in_people
        return self._audited(published, shown)

    def _without_values(
        self, statements: tuple[str, ...], chain: ViewChain | None
    ) -> tuple[str, ...]:
        withheld = self.question.hierarchy_texts | (chain.values if chain else frozenset())
        return tuple(without_texts(sql, self.engine.dialect, withheld) for sql in statements)

    @property
    def _unchanged_columns(self) -> tuple[Column, ...]:
        """The unassigned columns that are released unchanged."""
        return () if self.unassigned_handling == "drop" else self.question.roles.unassigned

    def _published(self, chain: ViewChain, new: Written | None) -> Table:
        """The release as a table: the written file or folder, if there is one."""
        if new is not None and not isinstance(new, Path):
            return self._written_folder(chain, new)
        if new is None or not isinstance(self.engine, Hub):
            return replace(chain, kept=self.engine.materialises).published
        self.engine.write(IN_ORDER, new)
        return self.engine.table(str(new))

    def _written_folder(self, chain: ViewChain, new: NewFolder) -> Table:
        """The release, once the engine's cluster has written it."""
        session, name = self.session(), self.partition
        column = None if name is None else find(name, chain.published)
        tables = frozenset([*(table.sql for table in self.question.tables), chain.named(RELEASE)])
        if column is not None and column.type == "VARCHAR":
            sql = render("empty_texts", relation=chain.named(RELEASE), column=column)
            question = f"How many records are empty texts in {column.name}?"
            count_step = Statement("empty_texts", question, sql, tables=tables)
            if empty := int(session.row(count_step)["kanon_total"]):
                raise InputError(
                    f"{plural(empty, 'record')} of the release with an empty text in "
                    f'"{column.name}" would be read as NULL from folders named by its values. '
                    f"Leave out {option('partition_by')}, or name another column."
                )
        question = "Which records does the release have, in which order?"
        sql = chain.in_order(chain.named(RELEASE))
        release_step = Statement("release", question, sql, tables=tables)
        session.begin(release_step)
        assert isinstance(self.engine, FolderWriter)
        return self.engine.write_folder(sql, new, name)

    def _reading_the_output(self, after: TableResult, new: Written | None) -> TableResult:
        """The audit with the release's final path in its SQL, so that its statements run again."""
        if not isinstance(new, Path) or self.options.output is None:
            return after
        read, put = literal(str(new)), literal(str(self.options.output))
        return replace(after, sql={name: sql.replace(read, put) for name, sql in after.sql.items()})

    def _alone(self, chain: ViewChain, table: Table) -> int:
        """Number of records (of people, with an entity) that are unique in the quasi-identifiers
        and unchanged columns together."""
        names = [column.name for column in self.question.quasi_identifiers]
        names += [column.name for column in self._unchanged_columns]
        columns = [find(name, table) for name in names]
        entity = self.question.entity
        sql = render(
            "records_alone",
            relation=table.sql,
            columns=columns,
            entity=find(entity.name, table) if entity else None,
            embedded=table.embedded,
        )
        question = (
            f"How many {counted(self.question)} are unique in the columns published unchanged?"
        )
        step = Statement("untouched", question, sql, tables=frozenset([table.sql]))
        return int(self.session().row(step)["kanon_alone"])

    def _unchanged(self, released: Table) -> Iterator[Distribution]:
        """The distributions of the insensitive columns, which only suppression changes. None where
        the release is not held here, and each of them would make it again."""
        if not (isinstance(self.engine, Hub) and self.engine.materialises):
            return
        for number, decided in enumerate(self.question.roles.insensitive, start=1):
            column = bound_column(decided, "kanon_column")
            relation = render(
                "unchanged_values",
                records=records(self.question, [column]),
                released=released.sql,
                column=column,
            )
            step = Statement(
                f"unchanged_{number}",
                f"How frequent are the values of {column.name}, before and after?",
                render("distribution", relation=relation, value=column, shown=column, firsts=RANKS),
                tables=frozenset([self.question.table.sql, released.sql]),
            )
            yield distribution(column.name, self.session().row(step))

    def _audited(self, table: Table, shown: ShownAt) -> TableResult:
        """The audit of the release. References are generalised to the same levels."""
        question = self.question
        writes = self.options.output is not None and self.options.writes_records
        release_name = self.options.output.name if writes and self.options.output else self.name
        if self.options.folder is not None:
            release_name = self.options.folder.rstrip("/").rpartition("/")[2]
        entity = question.entity
        is_linked = entity is not None and entity.name in table.column_names
        table_spec = self.table_spec.model_copy(
            update={
                "name": release_name,
                "quasi_identifiers": {
                    column.name: question.roles.hierarchy(column)
                    for column in question.quasi_identifiers
                },
                "identifiers": [],
                "entity": self.table_spec.entity if is_linked else None,
                "entity_in_release": "keep",
                "where": None,
                "first": None,
            }
        )
        others = {other.key: other.table for other in question.others}
        released = bind(resolve(table_spec, table, others), question.facts)
        if self.options.algorithm == "datafly":
            return answered(_plan_of_release(released), self.session())
        if any(
            isinstance(check.model, ReferenceModel) and check.model.match == "exact"
            for check in reference_requirements(question)
        ):
            # Only equal cells match, so the reference itself must be at the same levels.
            levels = {name: level for name, (_, level) in shown.items() if level is not None}
            return answered(
                _plan_of_release(self._with_reference_levels(released, levels)), self.session()
            )
        shown_at = {name: level for name, (_, level) in shown.items() if level is not None}
        recoded = {name: levels for name, (levels, _) in shown.items()}
        through = replace(released, recoded=recoded, shown_at=shown_at)
        return answered(_plan_of_release(through), self.session())

    @staticmethod
    def _with_reference_levels(released: ResolvedQuestion, levels: Levels) -> ResolvedQuestion:
        """The question with references at these levels, unless they have levels of their own."""
        others = tuple(
            replace(other, levels=levels) if other.kind is REFERENCE and not other.levels else other
            for other in released.roles.others
        )
        return bind(replace(released.roles, others=others), released.facts)

    def _refuse_changed(
        self, before: TableResult, after: TableResult, left_out: Suppression
    ) -> None:
        """Raise unless every record was released or suppressed, and the release has the counted
        classes, plus at most one of suppressed records."""
        is_starred = self.options.suppressed == "star"
        records = (before.summary.records or 0) - (0 if is_starred else left_out.records)
        fewest = int(left_out.classes["kanon_classes"])
        most = fewest + (is_starred and left_out.records > 0)
        if after.summary.records == records and fewest <= (after.summary.classes or 0) <= most:
            return
        raise EngineError(
            f"{before.name} changed while its release was being made; run again. Nothing was "
            "written."
        )


def _with_proven_bound(fields: dict[str, Any], lost: Metrics) -> dict[str, Any]:
    """The search's fields with the bound set to the reported loss if the levels are proven optimal,
    so that both agree to the last digit whatever the order of summation."""
    search: Search | None = fields.get("search")
    if search is None or not search.optimal:
        return fields
    weighted = fields["metric"] == "loss" and lost.loss_weighted is not None
    value = lost.loss_weighted if weighted else getattr(lost, fields["metric"])
    return fields if value is None else {**fields, "search": replace(search, bound=value)}


def name_of_release(question: ResolvedQuestion, options: ReleaseOptions) -> str:
    """Name of the release, and prefix of its views."""
    return options.view_name or view_name(name_of(question.spec.name or question.table.name))


def refuse_names(question: ResolvedQuestion, options: ReleaseOptions, dialect: str) -> None:
    """Raise `SpecError` for view names that the database already uses, and for a column whose name
    its views lose."""
    loses = TRAITS[dialect].loses
    for name in question.table.column_names if loses else ():
        if loses and loses.match(name):
            raise SpecError(
                f'column "{name}" of {question.table.name}: views of {dialect} lose that name, so '
                "no release can be made. Rename the column."
            )
    shipped = options.writes_views and options.emit == "views"
    refuse_taken_names(question, name_of_release(question, options), shipped=shipped)


def partition_of(question: ResolvedQuestion, options: ReleaseOptions) -> str | None:
    """The published column whose values name the folders of a release. Raises `SpecError`."""
    if options.partition_by is None:
        return None
    prefix = option("partition_by")
    drops_unassigned = handling_of_unassigned(question, options) == "drop"
    dropped = dropped_columns(question, drops_unassigned=drops_unassigned)
    if question.entity and options.handling_of_entity(question.spec) == "drop":
        dropped = (*dropped, question.entity.name)
    column = find(options.partition_by, question.table)
    if column.name in dropped:
        raise SpecError(
            f'{prefix}: "{column.name}" is not in the release. Name a column that is published.'
        )
    if len(question.table.columns) - len(dropped) == 1:
        raise SpecError(
            f'{prefix}: "{column.name}" is the only column of the release, and its files need '
            "another one. Leave it out."
        )
    if not _NAMES_FOLDERS.fullmatch(column.type):
        raise SpecError(
            f'{prefix}: values of "{column.name}" ({column.type}) can\'t name folders. Name a '
            "column of text, whole numbers, decimals or dates."
        )
    return column.name


def audited_before(job: ReleaseJob) -> TableResult:
    """The audit of the table, whose warnings are those of its release."""
    return answered(job.plan.without(OtherColumnsStep), job.session())


def _plan_of_release(released: ResolvedQuestion) -> Plan:
    """The audit of a release; who is alone in unassigned columns is counted with the release."""
    plan = plan_audit(released)
    return plan if released.roles.insensitive else plan.without(TogetherStep)
