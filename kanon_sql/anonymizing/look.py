"""An open table with its frequency set at all levels, of which any level is audited at once.

The set has a row for each combination of raw values, with the place of each quasi-identifier's
value at every level. An audit at some levels groups by those columns, by the plan of every audit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.frequency_sets import (
    FrequencySets,
    columns_of_first_set,
    first_set,
)
from kanon_sql.anonymizing.search.lattice import Levels, Node
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.auditing.auditor import answered
from kanon_sql.auditing.fetched_sets import announce_fetch, fetch_hub
from kanon_sql.auditing.opening import open_table, opened
from kanon_sql.auditing.other_columns import other_columns_warnings
from kanon_sql.auditing.running import run as run_steps
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, SpecError
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
from kanon_sql.question.spec import AuditSpec, TableSpec, table_spec
from kanon_sql.results.table import TableResult
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
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
        self._beside: dict[Any, tuple[str, ...]] = {}
        self._below: dict[tuple[Node, int], int] = {}
        self._statistics: dict[tuple[Model, ...], LatticeStatistics] = {}
        self._highest = {
            column.name: column.levels.height for column in self.sets.quasi_identifiers
        }
        self._set = self.sets.at_all_levels(SET, self._highest, self.sets.carried)
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
            hub, columns = engine, columns_of_first_set(question)
            session = _session(engine, run)
            if not engine.materialises:
                started, expired = time.monotonic(), threading.Event()
                hub, _ = stack.enter_context(fetch_hub(run, started, expired))
                announce_fetch(session, first_set(question), columns, run.announce)
            levels = column_levels(question.roles, question.facts)
            fetched = None if hub is engine else session
            sets = FrequencySets(question, _session(hub, run), levels, fetched)
            places = [_places_of(sets, column.values, column.levels.height, column.name)
                      for column in sets.quasi_identifiers]  # fmt: skip
            look = cls(table_spec, question.table, engine, hub, sets, run, stack, places)
            engine.verify_unchanged()
            look._stack = stack.pop_all()
            return look

    def close(self) -> None:
        """Close the engines with their sets."""
        self._stack.close()

    @property
    def is_outdated(self) -> bool:
        """Whether a file has changed since it was read."""
        try:
            self.engine.verify_unchanged()
        except EngineError:
            return True
        return False

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
        keep: Sequence[str] | None = None,
        *,
        sensitive: bool = True,
        show_values: bool = False,
    ) -> TableResult:
        """The audit at these levels: that of the records, but for the warnings about columns that
        no check reads. If some quasi-identifiers are to `keep`, the others are identifiers, which
        are never published. Without `sensitive`, of sizes alone. With `show_values` the smallest
        classes are read from the records."""
        question = self._question(levels, checks, keep, sensitive=sensitive)
        on_set = self._on_set(question, levels)
        steps = [step for step in plan_audit(on_set).steps if not isinstance(step, ShownStep)]
        if show_values:
            steps += plan_audit(question).of(ShownStep)
        # Its columns are described as those of the records, and its checks are those of the steps.
        described = replace(
            question, sensitive=on_set.sensitive, entity=on_set.entity, checks=on_set.checks
        )
        plan = Plan(described, tuple(steps)).without(OtherColumnsStep)
        result = answered(plan, _session(self.hub, self.run), show_values)
        return replace(result, engine=self.engine.name)

    def beside(self, insensitive: Sequence[str], identifiers: Sequence[str]) -> tuple[str, ...]:
        """The warnings about columns that no check reads, at raw values: who is alone in them and
        the quasi-identifiers together. They are read once for each choice of roles."""
        key = (tuple(insensitive), tuple(identifiers))
        if key not in self._beside:
            reviewed = table_spec(source="", insensitive=list(insensitive)).insensitive
            update = {"identifiers": list(identifiers), "insensitive": reviewed, "checks": []}
            spec = self.spec.model_copy(update={**update, "levels": {}})
            question = bind(resolve(spec, self.table, {}), self._facts)
            on_set, answers = plan_audit(self._on_set(question, {})), Answers()
            sizes = [step for step in on_set.steps if step.name in _OF_SIZES]
            run_steps(sizes, _session(self.hub, self.run), answers)
            plan = plan_audit(question)
            run_steps(plan.of(OtherColumnsStep), _session(self.engine, self.run), answers)
            self._beside[key] = tuple(other_columns_warnings(plan, answers))
        return self._beside[key]

    def below(self, nodes: Sequence[Levels], size: int) -> list[int]:
        """For each choice of levels, the number of records in classes of fewer than `size`."""
        wanted = [self._node(levels) for levels in nodes]
        missing = [node for node in dict.fromkeys(wanted) if (node, size) not in self._below]
        queries = self._asked(())
        for start in range(0, len(missing), AT_ONCE):
            batch = missing[start : start + AT_ONCE]
            for node, row in queries.queries.sizes(batch, [size], "").items():
                self._below[node, size] = int(row[f"kanon_records_below_{size}"])
        return [self._below[node, size] for node in wanted]

    def lost(self, levels: Levels, checks: Sequence[Model]) -> Lost:
        """What a release at these levels loses: with k = 1, and with every violating record
        suppressed."""
        node = self._node(levels)
        alone = self._asked(()).metrics(node, 1, {})
        k = max((check.k or 1 for check in checks if isinstance(check, KAnonymity)), default=1)
        if not checks:
            return Lost(alone.loss, alone.loss, 0, alone.loss_by_quasi_identifier)
        statistics = self._asked(tuple(checks))
        suppressed = statistics.counted(node, k).violating
        with_suppression = statistics.metrics(node, k, {}).loss if suppressed else alone.loss
        return Lost(alone.loss, with_suppression, suppressed, alone.loss_by_quasi_identifier)

    # --- internal ---------------------------------------------------------------------------

    def _asked(self, checks: tuple[Model, ...]) -> LatticeStatistics:
        """The statistics of nodes by these checks, which the set answers from here on."""
        self.sets.question = self._question({}, checks, None)
        self.sets.__dict__.pop("_keyed", None)
        if checks not in self._statistics:
            k = max((check.k or 1 for check in checks if isinstance(check, KAnonymity)), default=1)
            statistics = LatticeStatistics(self.sets, Preferences({}, {}), [1, k])
            statistics.queries = replace(statistics.queries, kept=self._set)
            if len(self._statistics) == MOST_CHECKS:
                self._statistics.pop(next(iter(self._statistics)))
            self._statistics[checks] = statistics
        return self._statistics[checks]

    def _node(self, levels: Levels) -> Node:
        return tuple(levels.get(column.name, 0) for column in self.sets.quasi_identifiers)

    def _question(
        self,
        levels: Levels,
        checks: Sequence[Model],
        keep: Sequence[str] | None,
        *,
        sensitive: bool = True,
    ) -> ResolvedQuestion:
        """The question on the records. Raises `SpecError`."""
        update: dict[str, Any] = {"levels": {name: at for name, at in levels.items() if at}}
        update["checks"] = list(checks)
        if keep is not None:
            of_spec = self.spec.quasi_identifiers
            update["quasi_identifiers"] = {name: of_spec[name] for name in keep}
            left_out = [name for name in of_spec if name not in keep]
            update["identifiers"] = [*self.spec.identifiers, *left_out]
            update["levels"] = {name: at for name, at in update["levels"].items() if name in keep}
        if not sensitive:
            update["sensitive"] = []
        return bind(resolve(self.spec.model_copy(update=update), self.table, {}), self._facts)

    def _on_set(self, question: ResolvedQuestion, levels: Levels) -> ResolvedQuestion:
        """The same question on the set, in which a column is a place at its level."""
        by_name = {column.name: column for column in self.sets.quasi_identifiers}
        placed = tuple(
            _placed(
                column,
                by_name[column.name].key,
                levels.get(column.name, 0),
                self._places[by_name[column.name].number - 1],
            )
            for column in question.quasi_identifiers
        )
        table = Table(question.table.name, self._set, question.table.columns)
        roles = replace(question.roles, table=table, where=None)
        return replace(
            question,
            roles=roles,
            quasi_identifiers=placed,
            keys=placed,
            sensitive=tuple(map(_carried, question.sensitive)),
            entity=_carried(question.entity) if question.entity else None,
            checks=tuple(
                replace(check, column=_carried(check.column)) if check.column else check
                for check in question.checks
            ),
            levels=(),
            rolled_up=True,
        )


_OF_SIZES = ("classes", "number_of_people", "people")
"""The steps that tell how many records and people there are."""
SET = "kanon_private_look"
AT_ONCE = 16
"""Number of nodes per statement."""
MOST_CHECKS = 8
"""Number of choices of checks whose counts of nodes are kept."""


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
