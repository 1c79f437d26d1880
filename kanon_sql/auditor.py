"""Asks the question: runs a plan on an engine and reads the verdicts off the rows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from kanon_sql.engines import connect
from kanon_sql.engines.base import Engine, Row
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.plan import Plan, plan_audit, without_short_keys
from kanon_sql.result import AuditResult, Status, TableResult
from kanon_sql.spec import AuditSpec, TableSpec
from kanon_sql.steps import Step
from kanon_sql.verdicts import (
    Answers,
    histogram,
    refuse_without_entity,
    risk,
    saw_one_table,
    status,
    summary,
    verdicts,
    warnings,
)
from kanon_sql.version import VERSION

Watch = Callable[[str], None]


@dataclass(frozen=True)
class CompiledTable:
    """The SQL of one table's audit: the text of each step by its name."""

    name: str
    steps: Mapping[str, str]

    def __str__(self) -> str:
        return "\n\n\n".join(f"{text};" for text in self.steps.values())


@dataclass(frozen=True)
class CompiledAudit:
    """The SQL that an audit would run, in the order in which it would. Prints itself whole."""

    tables: tuple[CompiledTable, ...]

    def __str__(self) -> str:
        return "\n\n\n".join(str(table) for table in self.tables)


def audit(
    spec: AuditSpec,
    *,
    engine: Any = None,
    show_values: bool = False,
    memory_limit: str | None = None,
    threads: int | None = None,
    timeout: float | None = None,
    watch: Watch | None = None,
) -> AuditResult:
    """Audit every table of `spec` where it lies.

    `engine` is what `connect` accepts and stands in for each table's own `connect`. `timeout` is
    in seconds, for each table. `watch` is told in words what each statement asks as it starts.

    Raises `SpecError` or `InputError` before anything of a table is asked that can't be answered.
    A table on which the engine fails has the status `error`; one that can't be opened within the
    time limit raises `EngineError`.
    """
    if timeout is not None and not timeout > 0:
        raise SpecError(f"timeout must be a number of seconds above 0; found {timeout!r}.")
    with ExitStack() as opened:
        planned = [
            _planned(spec, place, opened.enter_context(hub), timeout)
            for place, table in enumerate(spec.tables)
            for hub in [_opened(table, engine, memory_limit, threads)]
        ]
        results = [_audited(table, show_values, timeout, watch) for table in planned]
    return AuditResult(tuple(results), VERSION)


def compile(spec: AuditSpec, *, engine: Any = None) -> CompiledAudit:
    """The SQL that `audit` would run, without running it.

    The tables are opened; a text file is read once, to see that it can be.
    """
    tables = []
    for place, table in enumerate(spec.tables):
        with _opened(table, engine) as opened:
            plan = _planned(spec, place, opened).plan
            for step in plan.steps:
                step.check()
            dialect = f"{opened.dialect}, as executed"
            tables.append(
                CompiledTable(_name(plan), {step.name: step.text(dialect) for step in plan.steps})
            )
    return CompiledAudit(tuple(tables))


def validate(spec: AuditSpec, *, engine: Any = None) -> list[str]:
    """One sentence for each table of `spec`, once all its columns and checks are found to fit."""
    sentences = []
    for place, table in enumerate(spec.tables):
        with _opened(table, engine) as opened:
            plan = _planned(spec, place, opened).plan
            for step in plan.steps:
                step.check()
                opened.check(step.sql)
            gates = sum(check.gates for check in plan.bound.checks)
            sentences.append(
                f"{_name(plan)}: {len(plan.bound.table.columns)} columns, "
                f"{len(plan.bound.quasi_identifiers)} of them quasi-identifiers; "
                f"{gates} checks, {len(plan.steps)} statements."
            )
    return sentences


# --- opening --------------------------------------------------------------------------------


@contextmanager
def _opened(
    table: TableSpec,
    engine: Any,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Iterator[Engine]:
    opened = connect(
        engine if engine is not None else table.connect,
        memory_limit=memory_limit,
        threads=threads,
        delimiter=table.delimiter,
        null_strings=table.null_strings,
    )
    try:
        yield opened
    finally:
        opened.close()


@dataclass(frozen=True)
class _Planned:
    """A table's plan, the engine that answers it, and the seconds it took to open them."""

    plan: Plan
    engine: Engine
    seconds: float


def _planned(spec: AuditSpec, place: int, engine: Engine, timeout: float | None = None) -> _Planned:
    started = time.monotonic()
    asked = spec.tables[place]
    with _time_limit(engine, timeout, threading.Event()):
        table = engine.table(asked.source)
        references = {
            name: engine.table(reference.source) for name, reference in asked.references.items()
        }
    try:
        plan = plan_audit(asked, table, references)
    except SpecError as error:
        raise spec.pointed(error, place) from None
    return _Planned(plan, engine, time.monotonic() - started)


def _name(plan: Plan) -> str:
    return plan.bound.spec.name or plan.bound.table.name


# --- asking ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Asker:
    """Asks one step after the other, keeps what it asked, and tells who watches."""

    engine: Engine
    watch: Watch | None
    expired: threading.Event
    started: float
    asked: dict[str, str] = field(default_factory=dict)

    def rows(self, step: Step) -> list[Row]:
        step.check()
        if self.watch:
            self.watch(step.question)
        if self.expired.is_set():
            raise EngineError("the time limit was reached between two statements.")
        self.asked[step.name] = step.sql
        return self.engine.query(step.sql)

    def row(self, step: Step) -> Row:
        return self.rows(step)[0]


@contextmanager
def _time_limit(engine: Engine, seconds: float | None, expired: threading.Event) -> Iterator[None]:
    """After so many seconds, set `expired` and cancel whatever runs."""
    done = threading.Event()

    def cancel() -> None:
        if not done.wait(seconds):
            expired.set()
            # A cancel between two statements is lost, so it is said again.
            while not done.wait(0.05):
                engine.cancel()

    watchdog = threading.Thread(target=cancel, daemon=True)
    if seconds is not None:
        watchdog.start()
    try:
        yield
    except EngineError:
        if not expired.is_set():
            raise
    finally:
        done.set()
    if expired.is_set():
        raise EngineError(
            "stopped, because the time limit was reached. Raise --timeout, or ask less."
        )


def _audited(
    table: _Planned, show_values: bool, timeout: float | None, watch: Watch | None
) -> TableResult:
    if timeout is not None and not table.engine.can_cancel:
        raise SpecError(
            "a time limit can't be kept for a DuckDB relation. Pass its connection and the name "
            "of a table, or leave out timeout."
        )
    left = None if timeout is None else max(timeout - table.seconds, 0.001)
    expired = threading.Event()
    ask = _Asker(table.engine, watch, expired, started=time.monotonic() - table.seconds)
    try:
        with _time_limit(table.engine, left, expired):
            result = _answered(table.plan, ask, show_values)
            table.engine.verify_unchanged()
    except EngineError as error:
        return _result(table.plan, "error", ask, error=str(error))
    return result


def _answered(plan: Plan, ask: _Asker, show_values: bool) -> TableResult:
    for precaution in plan.precautions:
        fault = precaution.fault(ask.row(precaution.step))
        if fault is not None:
            raise InputError(fault)
    keys = ask.rows(plan.keys) if plan.keys else []
    if not all(row["kanon_values"] == row["kanon_keys"] for row in keys):
        plan, keys = without_short_keys(plan), []
    answers = _answers(plan, ask, {row["kanon_column"]: row for row in keys})
    refuse_without_entity(plan, answers.sizes)
    checks = tuple(verdicts(plan, answers))
    return _result(
        plan,
        status(checks) if answers.sizes else "no_data",
        ask,
        warnings=tuple(warnings(plan, answers)),
        summary=summary(answers),
        histogram=histogram(answers.sizes),
        checks=checks,
        risk=risk(plan, answers),
        shown={step.name: [dict(row) for row in ask.rows(step)] for step in plan.shown}
        if show_values
        else None,
    )


def _answers(plan: Plan, ask: _Asker, keys: Mapping[str, Row]) -> Answers:
    """Run every step, and refuse the answers if two of them did not see the same table."""
    sensitive = {read.step.name: ask.rows(read.step) for read in plan.sensitive}
    sizes = ask.rows(plan.classes) if plan.classes else next(iter(sensitive.values()))
    answers = Answers(
        sizes=sizes,
        sensitive=sensitive,
        distances={each.step.name: ask.row(each.step) for each in plan.distances if sizes},
        looks=dict(_looks(plan, sensitive, keys, ask)) if sizes else {},
        named_values=tuple(ask.row(each.step) for each in plan.named_values),
        profiles=ask.row(plan.profiles) if plan.profiles and sizes else None,
        survey=ask.rows(plan.survey) if plan.survey and sizes else None,
        matches={step.step.name: ask.row(step.step) for step in plan.references if sizes},
        first_records=tuple(ask.row(step) for step, _ in plan.first_records),
    )
    if not saw_one_table(plan, answers):
        raise EngineError(
            f"{plan.bound.table.name} changed while it was being audited; run the audit again."
        )
    return answers


def _looks(
    plan: Plan, sensitive: Mapping[str, list[Row]], keys: Mapping[str, Row], ask: _Asker
) -> Iterator[tuple[str, Row]]:
    """Take each look that there is a reason to take."""
    read = {each.column.name: sensitive[each.step.name] for each in reversed(plan.sensitive)}
    for look in plan.looks:
        rows = read[look.column.name]
        if all(row["kanon_homogeneous_classes"] == row["kanon_classes"] for row in rows):
            yield look.at_all.name, ask.row(look.at_all)
        if look.by_spelling is None:
            continue
        values = ask.row(look.spellings) if look.spellings else keys[look.column.name]
        if values["kanon_spellings"] != values["kanon_known_values"]:
            yield look.by_spelling.name, ask.row(look.by_spelling)


def _result(plan: Plan, status: Status, ask: _Asker, **found: Any) -> TableResult:
    bound = plan.bound
    return TableResult(
        name=_name(plan),
        engine=ask.engine.name,
        status=status,
        quasi_identifiers=tuple(column.name for column in bound.quasi_identifiers),
        sensitive=tuple(column.name for column in bound.sensitive),
        entity=bound.entity.name if bound.entity else None,
        nulls=bound.spec.nulls,
        sql=ask.asked,
        seconds=time.monotonic() - ask.started,
        **found,
    )
