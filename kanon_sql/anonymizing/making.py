"""What it takes to make a release, whichever way its levels are found: what was asked, what is
audited, and what is said of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from kanon_sql.anonymizing.choosing import Deadline
from kanon_sql.anonymizing.dbt_model import name_of
from kanon_sql.anonymizing.frequency_sets import FrequencySets
from kanon_sql.anonymizing.lattice import Levels
from kanon_sql.anonymizing.of_all_classes import searched_beside
from kanon_sql.anonymizing.options import ReleaseOptions
from kanon_sql.anonymizing.preferences import Preferences
from kanon_sql.anonymizing.result import AnonymizationResult
from kanon_sql.anonymizing.suppression import (
    IN_ORDER,
    RELEASED,
    Suppression,
)
from kanon_sql.anonymizing.untouched import said_of, what_becomes_of_untouched
from kanon_sql.anonymizing.view_names import refuse_taken_names, view_name
from kanon_sql.anonymizing.views import ViewChain, dropped_columns
from kanon_sql.auditing.auditor import answered
from kanon_sql.auditing.warnings import left_out
from kanon_sql.engines.base import Engine, Hub
from kanon_sql.engines.session import Session, Watch
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.files import file_kind
from kanon_sql.plan.audit_plan import Plan, plan_audit
from kanon_sql.plan.bind import bind, column_levels
from kanon_sql.plan.bound import BoundSpec
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.roles import resolve
from kanon_sql.plan.steps import counted, spoken
from kanon_sql.plan.violating_classes import (
    is_judged_by_class,
    reference_demands,
)
from kanon_sql.plan.withholding import texts_of_files
from kanon_sql.results.release import (
    GeneralizationStep,
    Untouched,
)
from kanon_sql.results.table import TableResult
from kanon_sql.spec.hierarchy_table import summary as summary_of_faults
from kanon_sql.spec.models.base import ReferenceModel
from kanon_sql.spec.spec import AuditSpec, TableSpec, Unassigned
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, Table, find
from kanon_sql.sql.withheld import without_texts

Tell = Callable[[GeneralizationStep], None]
"""Is told each step as it is taken."""


ShownAt = Mapping[str, tuple[ColumnLevels, int | None]]
"""The quasi-identifiers that a release shows labels of, each with its level, unless every class has
its own."""


class Made(NamedTuple):
    """A release that was made: what is said of it, and its views, where there is one."""

    result: AnonymizationResult
    chain: ViewChain | None


@dataclass(frozen=True)
class Making:
    """One table on its way to a release."""

    spec: AuditSpec
    asked: TableSpec
    k: int
    plan: Plan
    wanted: ReleaseOptions
    preferred: Preferences
    engine: Engine
    here: Engine | None
    """What frequencies are fetched into, where they are."""
    expired: threading.Event
    watch: Watch | None
    tell: Tell
    deadline: Deadline
    started: float

    @property
    def bound(self) -> BoundSpec:
        return self.plan.bound

    def also_searched(self, bound: BoundSpec) -> Making:
        """The same with more demands, which levels are searched by; the release is judged by what
        was asked."""
        return replace(self, plan=replace(self.plan, bound=bound))

    @property
    def unassigned(self) -> Unassigned:
        return what_becomes_of_untouched(self.bound, self.wanted)

    @property
    def untouched(self) -> Untouched:
        """The columns that go out as they are, before it is known who is alone in them."""
        return Untouched(tuple(each.name for each in self._untouched_columns))

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that no release has."""
        return dropped_columns(self.bound, untouched=self.unassigned == "drop")

    @property
    def name(self) -> str:
        return self.bound.spec.name or self.bound.table.name

    def session(self, engine: Engine | None = None) -> Session:
        asked = engine or self.engine
        return Session(asked, self.watch, self.expired, started=time.monotonic())

    def sets(self) -> FrequencySets:
        try:
            bound = self.bound
            levels = column_levels(bound.roles, bound.facts)
            here = self.session(self.here) if self.here else None
            return FrequencySets(bound, here or self.session(), levels, here and self.session())
        except SpecError as error:
            raise self.spec.pointed(error, 0) from None

    def refuse_large_k(self, before: TableResult) -> None:
        summary, people = before.summary, before.summary.people
        counted = summary.records if people is None else people
        if self.k > (counted or 0):
            noun = "records" if people is None else "people"
            raise InputError(
                f"{before.name} has {counted:,} {noun}, so no class of it can have {self.k:,}. "
                "Ask for a smaller k, or for more data."
            )

    def audited_at(self, sets: FrequencySets, levels: Levels) -> TableResult:
        """The audit of the table at some levels, none of its records left out."""
        bound = self.bound
        found = {each.name: each.levels for each in sets.quasi_identifiers}
        facts = replace(
            bound.facts,
            longest={
                name: each.longest for name, each in found.items() if each.longest is not None
            },
            hierarchies={name: each.table for name, each in found.items() if each.table},
        )
        at_levels = bind(bound.roles.at(levels), facts)
        return answered(plan_audit(at_levels), self.session())

    def judged(
        self,
        chain: ViewChain,
        new: Path | None,
        before: TableResult,
        left_out: Suppression,
        shown: ShownAt,
    ) -> tuple[TableResult, Untouched]:
        """The audit of the release, which is written to `new`, and what goes out as it is beside
        its quasi-identifiers. Raises unless the release has what was counted."""
        published = self._published(chain, new)
        after = self._reading_the_output(self._audited(published, shown), new)
        untouched = replace(self.untouched, alone=self._alone(chain, published))
        self._refuse_another_count(before, after, left_out.records)
        self._refuse_other_classes(before, after, left_out)
        return after, untouched

    def statements(self, chain: ViewChain | None) -> tuple[str, ...]:
        """What creates the views of the release, as they were run."""
        return chain.statements(self.engine.in_own_words) if chain else ()

    def without_values(
        self, statements: tuple[str, ...], chain: ViewChain | None
    ) -> tuple[str, ...]:
        withheld = texts_of_files(self.bound) | (chain.values if chain else frozenset())
        return tuple(without_texts(each, self.engine.dialect, withheld) for each in statements)

    def warnings(
        self, sets: FrequencySets, generalised: Sequence[str], untouched: Untouched
    ) -> Iterator[str]:
        yield from left_out(self.bound)
        yield from said_of(untouched, self.bound)
        if self.wanted.keep_order:
            yield (
                "The release keeps the order of its source: laid beside another release of it in "
                "that order, record for record, it shows which belong together. Have it sorted, "
                "as it is by default."
            )
        for each in sets.quasi_identifiers:
            if each.name in generalised:
                yield from summary_of_faults(each.levels.faults).splitlines()
        searched = searched_beside(self.bound) if self.wanted.algorithm == "optimal" else []
        unsearched = [
            check.model.name()
            for check in self.bound.checks
            if check.gates and not is_judged_by_class(check) and check not in searched
        ]
        if self.bound.entity:
            yield (
                f'The entity "{self.bound.entity.name}" is in the release, where it tells '
                "which records are one person's. If it means anything outside of it, replace it."
            )
        if self.bound.weight:
            yield (
                f'The weight "{self.bound.weight.name}" is in the release as it is. Where it '
                "was made of what is generalised here, it tells that apart again."
            )
        if self.here:
            yield (
                "The values of "
                f"{spoken([*self.bound.quasi_identifiers, *sets.carried])} were fetched "
                f"from {self.engine.name}, each combination once, and held in this machine's "
                "memory and, where that was too small, in a private folder, which is gone."
            )
        if unsearched:
            yield (
                f"{' and '.join(unsearched)}: no class alone can say whether this holds, so the "
                "search does not look for it. It is judged on the release."
            )

    # --- within -----------------------------------------------------------------------------

    @property
    def _untouched_columns(self) -> tuple[Column, ...]:
        """The columns without a part that go out as they are."""
        return () if self.unassigned == "drop" else self.bound.roles.unassigned

    def _published(self, chain: ViewChain, new: Path | None) -> Table:
        """The release as a table: the file that is written, where there is one."""
        if new is None or not isinstance(self.engine, Hub):
            return replace(chain, kept=self.engine.keeps_rows).published
        self.engine.write(RELEASED if chain.keeps_order else IN_ORDER, new)
        return self.engine.table(str(new))

    def _reading_the_output(self, after: TableResult, new: Path | None) -> TableResult:
        """The audit with the release under the name that it is put in place by, so that whoever
        runs its statements finds it."""
        if new is None or self.wanted.output is None:
            return after
        read, put = literal(str(new)), literal(str(self.wanted.output))
        return replace(after, sql={name: sql.replace(read, put) for name, sql in after.sql.items()})

    def _alone(self, chain: ViewChain, table: Table) -> int:
        """How many records (people, where there is an entity) are alone in the quasi-identifiers
        and what is untouched together."""
        names = [each.name for each in self.bound.quasi_identifiers]
        names += [each.name for each in self._untouched_columns]
        columns = [find(name, table) for name in names]
        entity = self.bound.entity
        sql = render(
            "records_alone",
            relation=table.sql,
            columns=columns,
            entity=find(entity.name, table) if entity else None,
            embedded=table.embedded,
        )
        question = f"How many {counted(self.bound)} are alone in what is published untouched?"
        asked = Statement("untouched", question, sql, tables=frozenset([table.sql]))
        return int(self.session().row(asked)["kanon_alone"])

    def _audited(self, table: Table, shown: ShownAt) -> TableResult:
        """The audit of the release. A reference is looked at through the same levels."""
        bound = self.bound
        writes = self.wanted.output is not None and self.wanted.writes_records
        named = self.wanted.output.name if writes and self.wanted.output else self.name
        asked = self.asked.model_copy(
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
        if self.wanted.algorithm == "datafly":
            return answered(plan_audit(released), self.session())
        if any(
            isinstance(check.model, ReferenceModel) and check.model.match == "exact"
            for check in reference_demands(bound)
        ):
            # Nothing but equal cells match, so the reference has to be at the same levels itself.
            levels = {name: level for name, (_, level) in shown.items() if level is not None}
            return answered(plan_audit(self._beside_levels(released, levels)), self.session())
        shown_at = {name: level for name, (_, level) in shown.items() if level is not None}
        recoded = {name: levels for name, (levels, _) in shown.items()}
        through = replace(released, recoded=recoded, shown_at=shown_at)
        return answered(plan_audit(through), self.session())

    @staticmethod
    def _beside_levels(released: BoundSpec, levels: Levels) -> BoundSpec:
        """The question of a release with its references at some levels, where they have none."""
        references = {
            name: each if each.levels else replace(each, levels=levels)
            for name, each in released.roles.references.items()
        }
        return bind(replace(released.roles, references=references), released.facts)

    def _refuse_another_count(
        self, before: TableResult, after: TableResult, suppressed: int
    ) -> None:
        """Raise unless every record is in the release or was suppressed."""
        kept = suppressed if self.wanted.suppressed == "star" else 0
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
        starred = self.wanted.suppressed == "star" and left_out.records > 0
        if found in (counted, counted + starred):
            return
        output = self.wanted.output
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


def name_of_release(bound: BoundSpec, wanted: ReleaseOptions) -> str:
    """What the release is called, and its views begin with."""
    return wanted.view_name or view_name(name_of(bound.spec.name or bound.table.name))


def refuse_names(bound: BoundSpec, wanted: ReleaseOptions) -> None:
    """Raise `SpecError` for views whose names the table has taken."""
    shipped = wanted.writes_views and wanted.emit == "views"
    refuse_taken_names(bound, name_of_release(bound, wanted), shipped=shipped)
