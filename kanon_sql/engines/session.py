"""A sequence of statements on one engine, within a time limit, with a log of their SQL."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from kanon_sql.engines.base import Engine, SetCache
from kanon_sql.engines.run_options import Progress, RunOptions, Watch
from kanon_sql.errors import EngineError, InputError, SpecError, option
from kanon_sql.sql.ctes import cut, scans
from kanon_sql.sql.quoting import DIALECT
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

CANCEL_INTERVAL = 0.05
"""Seconds between two cancels: one between two statements is lost."""


Answer = TypeVar("Answer")
GRACE = 1.0
"""Seconds by which the server-side timeout exceeds ours.

The server's limit is a fallback for a dead client; a live one reports its own.
"""


class TimeSpent(EngineError):
    """`max_seconds` is over: what is measured by then is the result."""


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
    run: RunOptions = field(default_factory=RunOptions)
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


class IfInTime(NamedTuple):
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
