"""Runs statements on an engine in sequence, within a time limit, and logs their SQL.

Where nothing may be created, named SELECTs take the place of temporary tables: each statement
carries those it references as CTEs. A lattice search thus runs the same statements on a warehouse
as on the embedded engine; each one recomputes what it reads.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from kanon_sql.engines.base import Engine, SetCache
from kanon_sql.errors import EngineError, InputError, SpecError, described_value, option
from kanon_sql.sql.ctes import cut, scans, split_ctes
from kanon_sql.sql.dialects import translated, with_renamed_ctes
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT, identifier
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

CANCEL_INTERVAL = 0.05
"""Seconds between two cancels: one between two statements is lost."""

_WITH = re.compile(r"\Awith\s+", re.IGNORECASE)
_WORD = re.compile(r"\w+")


class CteStore:
    """Stores SELECTs by name for an engine of any dialect."""

    dialect: str
    materialises = False
    allows_shadowed_ctes = True
    """Whether a nested CTE may have the name of an outer one."""
    nests_sets = True
    """Whether a CTE may contain CTEs of its own; otherwise they are hoisted before it."""

    def materialise(self, name: str, sql: str) -> None:
        """Store a SELECT under `name`, a single word, for later statements."""
        self._defined.pop(name, None)
        own = sql if self.nests_sets else with_renamed_ctes(sql, f"_of_{name}")
        self._defined[name] = self.transpile(own)

    def create_view(self, name: str, sql: str) -> None:
        """Like `materialise`: both store a definition."""
        self.materialise(name, sql)

    def materialise_rows(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Store literal rows of texts and integers."""
        quoted = [identifier(column) for column in columns]
        self.materialise(name, render("rows_at_hand", columns=quoted, rows=rows))

    def drop(self, name: str) -> None:
        """Drop a definition."""
        del self._defined[name]

    def drop_all(self) -> None:
        """Drop all definitions."""
        self._defined.clear()

    def transpile(self, sql: str) -> str:
        """Transpile a template's SELECT, without the CTEs it reads."""
        return self._translated(sql)

    def _translated(self, sql: str, *, materialized: bool = False) -> str:
        return translated(
            sql,
            self.dialect,
            tuple(self._stand_ins.items()),
            materialized=materialized,
        )

    def in_dialect(self, sql: str) -> str:
        """Transpile a template's SELECT and prepend the CTEs it reads."""
        statement = self.transpile(sql)
        if not self.allows_shadowed_ctes and any(self._read_by(statement)):
            statement = self.transpile(with_renamed_ctes(sql, "_asked"))
        read = [self._as_set(name) for name in self._read_by(statement)]
        if not read:
            return statement
        own = _WITH.sub("", statement)
        between = ",\n" if own != statement else "\n"
        return "with " + ",\n".join(read) + between + own

    def _as_set(self, name: str) -> str:
        """A definition as a CTE."""
        if self.nests_sets:
            return f"{name} as (\n{self._defined[name]}\n)"
        sets, select = split_ctes(self._defined[name], self.dialect)
        before = f"{sets},\n" if sets else ""
        return f"{before}{name} as (\n{select}\n)"

    @cached_property
    def _defined(self) -> dict[str, str]:
        """The definitions by name, transpiled, in order of definition."""
        return {}

    @cached_property
    def _stand_ins(self) -> dict[str, str]:
        """Stand-ins by table, as spelled in the templates: a SELECT in the dialect."""
        return {}

    def _read_by(self, statement: str) -> Iterator[str]:
        """Names of the definitions a statement reads, directly or not, in dependency order.

        A name that matches by coincidence adds an unused CTE, which changes no row.
        """
        wanted = set(_WORD.findall(statement))
        read = []
        for name in reversed(self._defined):
            if name in wanted:
                read.append(name)
                wanted.update(_WORD.findall(self._defined[name]))
        yield from reversed(read)


class InlineCteStore(CteStore):
    """Stores DuckDB SELECTs untranspiled, for a session in which nothing may be created."""

    dialect = "duckdb"

    def transpile(self, sql: str) -> str:
        """The SELECT, unchanged."""
        return sql

    def __contains__(self, name: str) -> bool:
        return name in self._defined


Answer = TypeVar("Answer")
Progress = Callable[[], str]
"""Returns the progress of the running statement in a few words, or ""."""
Watch = Callable[[str, Progress], None]
"""Callback at the start of each statement, with its question and a `Progress`."""
ALL_MEMORY = "80%"
"""DuckDB's memory unless it is limited."""
GRACE = 1.0
"""Seconds by which the server-side timeout exceeds ours.

The server's limit is a fallback for a dead client; a live one reports its own.
"""


class TimeSpent(EngineError):
    """`max_seconds` is over: what is measured by then is the result."""


class RunArguments(TypedDict, total=False):
    """The options of a run that every function of the API takes."""

    engine: Any
    memory_limit: str | None
    threads: int | None
    timeout: float | None


@dataclass(frozen=True)
class RunOptions:
    """The engine and the limits of a run. Raises `SpecError` for wrong types."""

    engine: Any = None
    """Anything that `connect` accepts; it replaces each table's own `connect`."""
    memory_limit: str | None = None
    """DuckDB's memory, as in 2GB; larger work spills to a private folder."""
    threads: int | None = None
    """DuckDB's threads, at most."""
    timeout: float | None = None
    """Stop after this many seconds for each table, with exit code 3."""
    watch: Watch | None = None
    """Callback that receives the question of each statement when it starts."""
    writes: Sequence[Path] = ()
    """Files to be written afterwards, which no table may be read from."""
    jobs: int = 1
    """Audit N tables of a spec or manifest at a time; they share the limits of memory and
    threads."""
    announce: Callable[[str], None] | None = None
    """Callback that receives what is about to be fetched from a database."""
    max_seconds: float | None = None
    """Stop after this many seconds for each table with what is measured by then; the result says
    what is missing."""

    def __post_init__(self) -> None:
        options: dict[str, Any] = vars(self)
        for name in ("timeout", "max_seconds"):
            number = 1 if options[name] is None else options[name]
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if not (is_number and 0 < number <= threading.TIMEOUT_MAX):
                raise SpecError(
                    f"{option(name)} must be a number of seconds above 0; found "
                    f"{described_value(number)}."
                )
        for name in ("jobs", *(["threads"] if self.threads is not None else [])):
            number = options[name]
            if isinstance(number, bool) or not isinstance(number, int) or number < 1:
                raise SpecError(
                    f"{option(name)} must be a whole number, 1 or more; found "
                    f"{described_value(number)}."
                )

    def of_each_job(self) -> RunOptions:
        """The options of one job: all of them share the memory and the threads.

        >>> RunOptions(memory_limit="3GB", threads=8, jobs=2).of_each_job().memory_limit
        '1.500000GB'
        """
        if self.jobs == 1:
            return self
        size = re.fullmatch(r"(\d+(?:\.\d+)?)(\D+)", self.memory_limit or ALL_MEMORY)
        return replace(
            self,
            memory_limit=f"{float(size[1]) / self.jobs:f}{size[2]}" if size else self.memory_limit,
            threads=self.threads and max(int(self.threads) // self.jobs, 1),
        )


@dataclass(frozen=True)
class Session:
    """Runs one step after the other, logs its SQL, and calls the progress callback."""

    engine: Engine
    watch: Watch | None
    expired: threading.Event
    started: float
    sql_by_step: dict[str, str] = field(default_factory=dict)
    max_seconds: float | None = None
    """Seconds from `started` after which no statement runs."""
    missed: list[str] = field(default_factory=list)
    """The parts of the answer that `max_seconds` left out."""
    run: RunOptions = RunOptions()
    """The limits of the run."""

    def rows(self, step: Statement, progress: Progress | None = None) -> list[Row]:
        with self._cut(step) as statement:
            self.begin(statement, progress)
            with self.in_time():
                return self.engine.query(statement.sql)

    def row(self, step: Statement) -> Row:
        return self.rows(step)[0]

    @contextmanager
    def _cut(self, step: Statement, *, stored: bool = False) -> Iterator[Statement]:
        """The step, or where CTEs are inlined at every mention, its final SELECT on temporary views
        of them. Each is a statement that is gated and logged.

        A stored step is always cut: Spark does not find a cached set if both its plan and the
        statement have CTEs.
        """
        engine = self.engine
        is_uncut = not keeps_sets(engine) if stored else not is_cut(engine, step.sql)
        if is_uncut or not isinstance(engine, SetCache):
            yield step
            return
        sets, select = cut(step.sql, DIALECT, _prefix(step.name))
        created: list[str] = []
        try:
            for named_set in sets:
                question = f"The set {named_set.name}, for: {step.words}"
                tables = step.tables | frozenset(created)
                statement = Statement(named_set.name, question, named_set.sql, tables=tables)
                self.begin(statement)
                with self.in_time():
                    engine.name_set(
                        statement.name, statement.sql, cached=named_set.is_shared and not stored
                    )
                created.append(named_set.name)
            yield replace(step, sql=select, tables=step.tables | frozenset(created))
        finally:
            for name in reversed(created):
                with suppress(EngineError):
                    engine.drop(name)

    def materialise(self, step: Statement) -> None:
        """Materialise a step under its name, or store its definition where rows can't be."""
        with self._cut(step, stored=True) as statement:
            self.begin(statement)
            with self.in_time():
                self.engine.materialise(statement.name, statement.sql)

    def create_view(self, step: Statement) -> None:
        """Make a step readable by its name in later steps."""
        self.begin(step)
        self.engine.create_view(step.name, step.sql)

    def if_in_time(self, part: str) -> IfInTime:
        """Skip the rest of the block when `max_seconds` is over, and note the part as missed."""
        return IfInTime(self.missed, part)

    @contextmanager
    def in_time(self) -> Iterator[None]:
        """Cancel the statement of the block when `max_seconds` is over."""
        if self.max_seconds is None:
            yield
            return
        spent = threading.Event()
        left = self.started + self.max_seconds - time.monotonic()
        try:
            with time_limit(self.engine, max(left, 0), spent, in_server=False):
                yield
        except EngineError:
            if spent.is_set():
                raise self._time_spent() from None
            raise

    def _time_spent(self) -> TimeSpent:
        return TimeSpent(
            f"{option('max_seconds')}: nothing was known after {self.max_seconds:g} s. Allow more."
        )

    def begin(self, step: Statement, progress: Progress | None = None) -> None:
        """Gate the step, report its start, and log its SQL."""
        step.check()
        if self.max_seconds is not None and time.monotonic() > self.started + self.max_seconds:
            raise self._time_spent()
        if self.watch:
            self.watch(step.words, progress or self.engine.progress)
        if self.expired.is_set():
            raise EngineError("the time limit was reached between two statements.")
        self.sql_by_step[step.name] = self.engine.in_dialect(step.sql)


def keeps_sets(engine: Engine) -> bool:
    """Whether `materialise` keeps rows, in private memory or in the cache of executors."""
    return engine.materialises or isinstance(engine, SetCache)


def is_cut(engine: Engine, sql: str) -> bool:
    """Whether a statement scans so many tables that it runs as one statement for each CTE."""
    return isinstance(engine, SetCache) and scans(sql, DIALECT) > engine.most_scans


def _prefix(name: str) -> str:
    """A prefix for the CTEs of a step.

    >>> _prefix("k-map"), _prefix("kanon_values")
    ('kanon_k_map_', 'kanon_values_')
    """
    return f"kanon_{re.sub(r'[^a-z0-9]', '_', name.removeprefix('kanon_'))}_"


@dataclass(frozen=True)
class IfInTime:
    """A block that ends early, with its part noted, when `max_seconds` is over."""

    missed: list[str]
    part: str

    def __enter__(self) -> None:
        """Nothing is prepared."""

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> bool:
        is_over = error_type is not None and issubclass(error_type, TimeSpent)
        if is_over:
            self.missed.append(self.part)
        return is_over


@contextmanager
def time_limit(
    engine: Engine, seconds: float | None, expired: threading.Event, *, in_server: bool = True
) -> Iterator[Callable[[], None]]:
    """Cancel the running statement after some seconds and set `expired`.

    Yields a function that lifts the limit. With `in_server` the server's timeout is set too, for
    the rest of the session.
    """
    done = threading.Event()

    def cancel() -> None:
        if not done.wait(seconds):
            expired.set()
            while not done.wait(CANCEL_INTERVAL):
                with suppress(Exception):
                    engine.cancel()

    watchdog = threading.Thread(target=cancel, daemon=True)
    if seconds is not None:
        if in_server:
            engine.limit(seconds + GRACE)
        watchdog.start()
    try:
        yield done.set
    except Exception:
        # Whatever the error looks like, a damaged file or a failing driver, the cause is the
        # cancel.
        if not expired.is_set():
            raise
    finally:
        done.set()
        if seconds is not None:
            # A late cancel would stop the next statement.
            watchdog.join(GRACE)
    if expired.is_set():
        raise EngineError(
            f"stopped, because the time limit was reached. Raise {option('timeout')}, or run fewer "
            "checks."
        )


def within(seconds: float | None, connected: Callable[[], Engine]) -> Engine:
    """Connect within a time limit; a connection that arrives later is closed.

    A server may accept a connection and never answer, and few drivers have a connect timeout.
    """
    if seconds is None:
        return connected()
    future: Future[Engine] = Future()

    def begin() -> None:
        try:
            future.set_result(connected())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=begin, daemon=True).start()
    try:
        wait([future], seconds)
    except BaseException:
        future.add_done_callback(_closed)
        raise
    if future.done():
        return future.result()
    future.add_done_callback(_closed)
    raise EngineError(
        "the server did not answer within the time limit. Is it the right one, and does it run? "
        f"Raise {option('timeout')}, or leave it out."
    )


def _closed(late: Future[Engine]) -> None:
    """Close an engine that arrived after its timeout."""
    if late.exception() is None:
        with suppress(Exception):
            late.result().close()


def refuse_time_limit(engine: Engine, seconds: float | None) -> None:
    """Raise `SpecError` for a limit that the engine can't enforce."""
    if seconds is not None and not engine.can_cancel:
        raise SpecError(f"a time limit is not possible {engine.why_no_limit}")


def run_within(
    engine: Engine,
    run: RunOptions,
    answer: Callable[[Session], Answer],
    failed: Callable[[Session, str], Answer],
    *,
    spent: float,
) -> Answer:
    """Run `answer` in a session with a time limit, and verify that the data hasn't changed.

    `spent` seconds count against the limit. If the engine fails, returns `failed` of its message,
    and leaves the engine ready for the next question.
    """
    refuse_time_limit(engine, run.timeout)
    left = None if run.timeout is None else max(run.timeout - spent, 0.001)
    expired = threading.Event()
    session = Session(
        engine,
        run.watch,
        expired,
        started=time.monotonic() - spent,
        max_seconds=run.max_seconds,
        run=run,
    )
    try:
        with time_limit(engine, left, expired):
            result = unless_changed(engine, lambda: answer(session))
            engine.verify_unchanged()
    except EngineError as error:
        engine.renew()
        return failed(session, str(error))
    return result


def unless_changed(engine: Engine, answer: Callable[[], Answer]) -> Answer:
    """Call `answer`; on an `InputError`, first report data that changed since it was opened."""
    try:
        return answer()
    except InputError:
        engine.verify_unchanged()
        raise
