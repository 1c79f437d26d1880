"""An open table with its frequency set at all levels, of which any level is audited at once.

The set has a row for each combination of raw values, with the place of each quasi-identifier's
value at every level. An audit at some levels groups by those columns, by the plan of every audit.
Sensitive values are in the set as they are: codes would save 14 to 30 % of an audit's statement,
but each look would first join their dictionary, and ordered distances need the values.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kanon_sql.anonymizing.search.costs import Preferences, Suppressed
from kanon_sql.anonymizing.search.frequency_sets import (
    RAW,
    RECORDS,
    FrequencySets,
    first_set,
)
from kanon_sql.anonymizing.search.lattice import Levels, Node
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.violating_classes import sensitive_requirements
from kanon_sql.auditing.auditor import answered
from kanon_sql.auditing.fetched_sets import announce_fetch, fetch_hub
from kanon_sql.auditing.opening import open_table, opened
from kanon_sql.auditing.other_columns import other_columns_warnings
from kanon_sql.auditing.running import run as run_steps
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import Progress, RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import SpecError
from kanon_sql.models.base import Model
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import LDiversity
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.binding import bind, column_levels
from kanon_sql.plan.other_columns import OtherColumnsStep
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundColumn, DataFacts, ResolvedQuestion
from kanon_sql.plan.resolve import resolve
from kanon_sql.plan.steps import ShownStep
from kanon_sql.question.question_parts import ReviewedSpec
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.table import TableResult
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row, Table


class Lost(NamedTuple):
    """The information that some levels lose: alone, and with the violating records suppressed."""

    by_levels: float | None
    with_suppression: float | None
    suppressed: int
    """Number of records that violate any check."""
    by_column: Mapping[str, float]


class LevelOf(NamedTuple):
    """A level of a quasi-identifier: its words, and how many values it has in this table."""

    label: str
    values: int


@dataclass(frozen=True)
class _SessionOnSet(Session):
    """A session on what does not change while a look is open, so that each statement runs once."""

    rows_by_sql: dict[str, list[Row]] = field(default_factory=dict)

    def rows(self, step: Statement, progress: Progress | None = None) -> list[Row]:
        if step.sql not in self.rows_by_sql:
            self.rows_by_sql[step.sql] = super().rows(step, progress)
        return self.rows_by_sql[step.sql]


@dataclass
class Look:
    """A table, read once for a choice of columns and hierarchies. Close it at the end.

    Every check of k, l and t at any levels is answered by the frequency set. One thread at a time
    may use it.
    """

    spec: TableSpec
    table: Table
    engine: Engine
    """The engine with the records."""
    hub: Engine
    """The engine with the set: the same one, or that into which it was fetched."""
    sets: FrequencySets
    run: RunOptions
    _stack: ExitStack
    _places: list[Row]

    def __post_init__(self) -> None:
        self._rows: dict[str, list[Row]] = {}
        self._lost: dict[tuple[Node, tuple[Model, ...]], Lost] = {}
        self._below: dict[tuple[Node, int], int] = {}
        self._statistics = LatticeStatistics(self.sets, Preferences({}, {}), [1])
        self._statistics.queries = replace(self._statistics.queries, kept=RECORDS)
        levels = [column.levels for column in self.sets.quasi_identifiers]
        self._facts = DataFacts(
            longest={at.name: at.longest for at in levels if at.longest is not None},
            hierarchies={at.name: at.table for at in levels if at.table is not None},
            show_values=self.sets.question.facts.show_values,
        )

    @classmethod
    def open(cls, spec: AuditSpec, run: RunOptions) -> Look:
        """Read the single table of `spec`, whose checks and levels don't matter. Raises the errors
        of an audit, and `InputError` for a value that a hierarchy has no level for."""
        [table_spec] = spec.tables
        _refuse_names(table_spec)
        raw = table_spec.model_copy(
            update={"levels": {}, "checks": _on_every(table_spec.sensitive)}
        )
        with ExitStack() as stack:
            engine = stack.enter_context(opened(raw, run, fetches=True))
            question = open_table(spec, 0, engine, table_spec=raw).question
            hub, columns = engine, question.of_classes
            session = _session(engine, run)
            if not engine.materialises:
                started, expired = time.monotonic(), threading.Event()
                hub, _ = stack.enter_context(fetch_hub(run, started, expired))
                announce_fetch(session, first_set(question), columns, run.announce)
            levels = column_levels(question.roles, question.facts)
            fetched = None if hub is engine else session
            sets = FrequencySets(question, _session(hub, run), levels, fetched, of_all_levels=True)
            if sets.keeps(RAW):
                sets.drop(RAW)
            places = [_places_of(sets, column.values, column.levels.height, column.name)
                      for column in sets.quasi_identifiers]  # fmt: skip
            look = cls(table_spec, question.table, engine, hub, sets, run, stack, places)
            engine.verify_unchanged()
            look._stack = stack.pop_all()
            return look

    def close(self) -> None:
        """Close the engines with their sets."""
        self._stack.close()

    # --- what the set answers -----------------------------------------------------------------

    def levels(self) -> dict[str, list[LevelOf]]:
        """The levels of each quasi-identifier, the raw values first."""
        return {
            column.name: [
                LevelOf(column.levels.label(level), column.attribute.distinct[level])
                for level in range(column.levels.height + 1)
            ]
            for column in self.sets.quasi_identifiers
        }

    def audit(
        self,
        levels: Levels,
        checks: Sequence[Model],
        without: Sequence[str] = (),
        *,
        sensitive: bool = True,
        show_values: bool = False,
    ) -> TableResult:
        """The audit at these levels: that of the records, but for the warnings about columns that
        no check reads. Quasi-identifiers to do `without` are identifiers, which are never
        published. Without `sensitive`, of sizes alone. With `show_values` the smallest classes are
        read from the records."""
        question = self._question(levels, checks, without, sensitive=sensitive)
        on_set = self._on_set(question, levels)
        steps = [step for step in plan_audit(on_set).steps if not isinstance(step, ShownStep)]
        shown = [*plan_audit(question).of(ShownStep)] if show_values else []
        # Its columns are described as those of the records, and its checks are those of the steps.
        described = replace(
            question, sensitive=on_set.sensitive, entity=on_set.entity, checks=on_set.checks
        )
        counted = Plan(described, tuple(steps)).without(OtherColumnsStep)
        answers = Answers(shows_values=show_values)
        run_steps(counted.steps, self._session(self.hub), answers)
        run_steps(shown, self._session(self.engine), answers)
        plan = replace(counted, steps=(*counted.steps, *shown))
        result = answered(plan, self._session(self.hub), answers)
        return replace(result, engine=self.engine.name)

    def beside(
        self, insensitive: Mapping[str, ReviewedSpec], identifiers: Sequence[str]
    ) -> tuple[str, ...]:
        """The warnings about columns that no check reads, at raw values: who is alone in them and
        the quasi-identifiers together."""
        roles = {"identifiers": list(identifiers), "insensitive": dict(insensitive)}
        spec = self.spec.model_copy(update={**roles, "checks": [], "levels": {}})
        question = bind(resolve(spec, self.table, {}), self._facts)
        plan, answers = plan_audit(question), Answers()
        if others := plan.of(OtherColumnsStep):
            # Of sizes alone: what the classes share of sensitive values would be counted, too.
            on_set = plan_audit(replace(self._on_set(question, {}), sensitive=()))
            sizes = [step for step in on_set.steps if step.name in _OF_SIZES]
            run_steps(sizes, self._session(self.hub), answers)
            run_steps(others, self._session(self.engine), answers)
        return tuple(other_columns_warnings(plan, answers))

    def below(self, nodes: Sequence[Levels], size: int) -> list[int]:
        """For each choice of levels, the number of records in classes of fewer than `size`."""
        wanted = [self._node(levels) for levels in nodes]
        missing = [node for node in dict.fromkeys(wanted) if (node, size) not in self._below]
        at_once = 1 if (self.table.records or 0) > MANY else AT_ONCE
        for start in range(0, len(missing), at_once):
            batch = missing[start : start + at_once]
            for node, row in self._statistics.queries.sizes(batch, [size], "").items():
                self._below[node, size] = int(row[f"kanon_records_below_{size}"])
        return [self._below[node, size] for node in wanted]

    def lost(self, levels: Levels, checks: Sequence[Model]) -> Lost:
        """What a release at these levels loses: with k = 1, and with every violating record
        suppressed."""
        node = self._node(levels)
        key = node, tuple(checks)
        if key not in self._lost:
            suppressed = self._suppressed(node, checks)
            alone = self._statistics.losses(node, Suppressed(0, {}, {}))
            without = self._statistics.losses(node, suppressed)
            self._lost[key] = Lost(_mean(alone), _mean(without), suppressed.records, alone)
        return self._lost[key]

    # --- internal ---------------------------------------------------------------------------

    def _session(self, engine: Engine) -> Session:
        return _SessionOnSet(
            engine, self.run.watch, threading.Event(), time.monotonic(), rows_by_sql=self._rows
        )

    def _suppressed(self, node: Node, checks: Sequence[Model]) -> Suppressed:
        """What the violating records of a node lose."""
        found: dict[Node, Suppressed] = {}
        k = max((check.k or 1 for check in checks if isinstance(check, KAnonymity)), default=1)
        self.sets.ask(self._question({}, checks, (), sensitive=True))
        if sensitive_requirements(self.sets.question):
            found = self._statistics.queries.violating([node], k)
        elif checks:
            found = self._statistics.queries.small([node], k)
        return found.get(node, Suppressed(0, {}, {}))

    def _node(self, levels: Levels) -> Node:
        return tuple(levels.get(column.name, 0) for column in self.sets.quasi_identifiers)

    def _question(
        self, levels: Levels, checks: Sequence[Model], without: Sequence[str], *, sensitive: bool
    ) -> ResolvedQuestion:
        """The question on the records. Raises `SpecError`."""
        of_spec = self.spec.quasi_identifiers
        kept = {name: how for name, how in of_spec.items() if name not in without}
        update: dict[str, Any] = {
            "quasi_identifiers": kept,
            "identifiers": [*self.spec.identifiers, *without],
            "levels": {name: level for name, level in levels.items() if level and name in kept},
            "checks": list(checks),
            **({} if sensitive else {"sensitive": []}),
        }
        return bind(resolve(self.spec.model_copy(update=update), self.table, {}), self._facts)

    def _on_set(self, question: ResolvedQuestion, levels: Levels) -> ResolvedQuestion:
        """The same question on the set, in which a column is a place at its level."""
        of_set = {each.name: each for each in self.sets.quasi_identifiers}
        placed = tuple(
            _placed(column, of_set[column.name].key, levels.get(column.name, 0), places)
            for column in question.quasi_identifiers
            for places in [self._places[of_set[column.name].number - 1]]
        )
        table = Table(question.table.name, RECORDS, question.table.columns)
        roles = replace(question.roles, table=table, where=None)
        on_set = question.with_columns(placed, _carried)
        return replace(on_set, roles=roles, levels=(), rolled_up=True)


_OF_SIZES = ("classes", "number_of_people", "profiles")
"""The steps that tell how many records and people there are."""
AT_ONCE = 16
"""Number of nodes per statement."""
MANY = 10_000_000
"""Number of records above which each node has a statement and so the memory of its own."""


def _mean(losses: Mapping[str, float]) -> float | None:
    return math.fsum(losses.values()) / len(losses) if losses else None


def _session(engine: Engine, run: RunOptions) -> Session:
    return Session(engine, run.watch, threading.Event(), started=time.monotonic())


def _on_every(sensitive: Sequence[str]) -> list[Model]:
    """Checks that read every sensitive attribute, so that the sets carry it."""
    return [LDiversity(l=2, sensitive=name) for name in sensitive]


def _refuse_names(spec: TableSpec) -> None:
    for name in spec.sensitive:
        if name.casefold().startswith("kanon_"):
            raise SpecError(
                f'a sensitive column can\'t be called "{name}" here, as names that begin with '
                "kanon_ are used for counts. Rename it in a view."
            )


def _places_of(sets: FrequencySets, values: str, height: int, name: str) -> Row:
    """The places of NULL and of `*` at every level of a column, which differ from other places."""
    [row] = sets.fetch(
        "places_of_null_and_star",
        f"Which places do NULL and * have at each level of {name}?",
        render("places_of_null_and_star", values=values, height=height),
    )
    return row


def _placed(column: BoundColumn, key: str, level: int, places: Row) -> BoundColumn:
    """A quasi-identifier of the set at a level; its type is that of the values, not of places."""
    null, star = places[f"kanon_null_{level}"], places[f"kanon_star_{level}"]
    place = render("place_or_null", place=f"{key}_{level}", null=null)
    return replace(
        column, name=column.alias, generalised=place, joined=None, started=None, star=star or 0
    )


def _carried(column: BoundColumn) -> BoundColumn:
    """A sensitive attribute or entity of the set, whose values it has under their alias."""
    return replace(column, generalised=identifier(column.alias))
