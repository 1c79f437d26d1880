"""The opening of a question: its engine, its tables, its columns, the facts it needs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from kanon_sql.auditing.facts import HierarchyReading, read_facts
from kanon_sql.engines import connect, contacts_server, is_embedded
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Answer, Session, run_within, time_limit, within
from kanon_sql.errors import EngineError, InputError, SpecError, located, no_first_records, option
from kanon_sql.plan.audit_plan import plan_audit
from kanon_sql.plan.binding import bind
from kanon_sql.plan.named_columns import NamedColumn
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.resolve import resolve
from kanon_sql.question.other_tables import OtherTableKind
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Table

if TYPE_CHECKING:
    from kanon_sql.report.dry_run import ExpectedTable


class OpenTable(NamedTuple):
    """A table's resolved question, its engine, and the seconds it took to open."""

    question: ResolvedQuestion
    engine: Engine
    seconds: float


def open_table(
    spec: AuditSpec,
    index: int,
    engine: Engine,
    timeout: float | None = None,
    *,
    table_spec: TableSpec | None = None,
    hierarchies: HierarchyReading = "read",
    show_values: bool = False,
    is_open: bool = False,
    further: Sequence[NamedColumn] = (),
) -> OpenTable:
    """Open one table of `spec` with its other tables, and bind its question.

    `table_spec` replaces the table's own question. `hierarchies` is passed to `read_facts`,
    `is_open` and `further` to `resolve`. Raises `SpecError` with its location in the spec, or
    `InputError`.
    """
    started = time.monotonic()
    table_spec = table_spec or spec.tables[index]
    with time_limit(engine, timeout, threading.Event()):
        try:
            with located("source"):
                table = engine.table(table_spec.source)
            others = {}
            for kind, name, other in table_spec.other_tables():
                with located(*kind.place(name), "source"), about(kind):
                    others[kind, name] = engine.table(other.source)
            roles = resolve(table_spec, table, others, is_open=is_open, further=further)
            facts = read_facts(engine, roles, hierarchies=hierarchies, show_values=show_values)
            question = bind(roles, facts)
        except (SpecError, InputError) as error:
            # Errors of the next tables must not depend on this one.
            engine.renew()
            raise spec.with_location(error, index) from None
    return OpenTable(question, engine, time.monotonic() - started)


@contextmanager
def about(kind: OtherTableKind) -> Iterator[None]:
    """Let an error about how a file is read name the option of the table that it is."""
    try:
        yield
    except (InputError, SpecError) as error:
        marked = error.marked
        for name in ("header", "encoding", "skip", "dates"):
            marked = marked.replace(option(name)[:-1], option(f"{kind.key}.{name}")[:-1])
        raise type(error)(marked) from None


@contextmanager
def opened(table: TableSpec, run: RunOptions, *, fetches: bool = False) -> Iterator[Engine]:
    """The engine of a table, closed at the end unless the caller opened it. A server must connect
    within the time limit. If the run `fetches`, the limits are those of the hub it fetches into."""
    where = run.engine if run.engine is not None else table.connect
    if table.first and isinstance(where, str) and not is_embedded(where):
        # Before a driver is imported, which would not help.
        raise no_first_records(str(table.source))
    starts_duckdb = is_embedded(where) and (where is None or isinstance(where, str))
    limits = run.of_each_job() if starts_duckdb else run
    if fetches and not is_embedded(where):
        limits = RunOptions()
    hub = within(
        run.timeout if contacts_server(where) else None,
        lambda: connect(
            where,
            memory_limit=limits.memory_limit,
            threads=limits.threads,
            delimiter=table.delimiter,
            null_strings=table.null_strings,
            decimal=table.decimal,
            **table.figure_reading,
            header=of_each_path(table, "header"),
            encoding=of_each_path(table, "encoding"),
            skip=of_each_path(table, "skip"),
            dates=of_each_path(table, "dates"),
        ),
    )
    try:
        if run.opens:
            run.opens(hub)
        yield hub
    finally:
        if hub is run.engine:
            hub.renew()
        else:
            hub.close()


def of_each_path(table: TableSpec, key: str) -> dict[Any, Any]:
    """How the file at each path, or the data frame of each `id`, is read, by the table's spec and
    those of its other tables."""
    specs = (*(other for _, _, other in table.other_tables()), table)
    return {
        os.fspath(source) if isinstance(source, str | os.PathLike) else id(source): value
        for source, value in ((spec.source, getattr(spec, key)) for spec in specs)
        if value is not None
    }


@contextmanager
def opening(
    run: RunOptions, *, fetches: Callable[[Any], bool] = lambda target: False
) -> Iterator[Callable[[TableSpec], Engine]]:
    """A callback that opens the engine of each table; all are closed at the end. `fetches` says
    whether the run fetches from a target.

    Tables in one database share a connection and a snapshot. The embedded engine is opened once per
    table, because it reads text files with one set of options.
    """
    shared: dict[Any, Engine] = {}
    with ExitStack() as stack:

        def engine_of(table: TableSpec) -> Engine:
            target = run.engine if run.engine is not None else table.connect
            place = target if isinstance(target, str) else id(target)
            if is_embedded(target) or place not in shared:
                shared[place] = stack.enter_context(opened(table, run, fetches=fetches(target)))
            return shared[place]

        yield engine_of


def answer_of_one_table(
    spec: AuditSpec,
    run: RunOptions,
    answer: Callable[[Session, OpenTable], Answer],
    *,
    writes: Sequence[Path],
    table_spec: TableSpec | None = None,
    is_open: bool = False,
) -> tuple[ResolvedQuestion, Answer]:
    """The question of the single table of `spec`, and its answer, to be written to `writes`.

    `table_spec` and `is_open` are passed to `open_table`. Raises `EngineError`, which names the
    table.
    """
    with opening(run) as engine_of:
        engine = engine_of(spec.tables[0])
        table = open_table(spec, 0, engine, run.timeout, table_spec=table_spec, is_open=is_open)
        refuse_to_overwrite(writes, engine.files_read())

        def failed(_: Session, error: str) -> NoReturn:
            raise EngineError(f"{table.question.table.name}: {error}") from None

        answered = run_within(
            engine, run, lambda session: answer(session, table), failed, spent=table.seconds
        )
    return table.question, answered


class PlannedTable(NamedTuple):
    """A table's plan, its engine, and the seconds it took to open."""

    plan: Plan
    engine: Engine
    seconds: float


def planned(
    spec: AuditSpec,
    index: int,
    engine: Engine,
    timeout: float | None = None,
    **how: Any,
) -> PlannedTable:
    """The plan of one table of `spec`, which is opened as `open_table` opens it."""
    table = open_table(spec, index, engine, timeout, **how)
    try:
        plan = plan_audit(table.question)
    except SpecError as error:
        raise spec.with_location(error, index) from None
    return PlannedTable(plan, engine, table.seconds)


def name_of(plan: Plan) -> str:
    """Display name of a plan's table."""
    return plan.question.spec.name or plan.question.table.name


@contextmanager
def naming(name: str, tables: Sequence[Any]) -> Iterator[None]:
    """Name the table, of several, in an error that arises when its statements run."""
    try:
        yield
    except (SpecError, InputError) as error:
        if len(tables) == 1 or error.marked.startswith(f"{name}:"):
            raise
        raise type(error)(f"{name}: {error.marked}") from None


def expected(
    name: str, reads: Iterable[Table], steps: Sequence[Statement], engine: Engine
) -> ExpectedTable:
    """The statements on one table and the tables they read, without running them."""
    from kanon_sql.report.dry_run import ExpectedTable

    for step in steps:
        step.check()
    return ExpectedTable(name, engine.name, tuple(table.name for table in reads), tuple(steps))
