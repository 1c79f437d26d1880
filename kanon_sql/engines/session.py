"""Asks an engine one statement after the other within a time limit, and keeps what was asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from kanon_sql.engines.base import Engine
from kanon_sql.errors import EngineError, InputError, SpecError, option
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

Found = TypeVar("Found")
Progress = Callable[[], str]
"""How far the running statement is, in a few words, or in none."""
Watch = Callable[[str, Progress], None]
"""Is told in words what each statement asks as it starts, and what tells how far it is."""
GRACE = 1.0
"""How many seconds later than here the server itself stops a statement, in case that nobody is left
here to do it: whoever waits is told of the time limit."""


@dataclass(frozen=True)
class Session:
    """Asks one step after the other, keeps what it asked, and tells who watches."""

    engine: Engine
    watch: Watch | None
    expired: threading.Event
    started: float
    asked: dict[str, str] = field(default_factory=dict)

    def rows(self, step: Statement) -> list[Row]:
        self.begin(step)
        return self.engine.query(step.sql)

    def row(self, step: Statement) -> Row:
        return self.rows(step)[0]

    def keep(self, step: Statement) -> None:
        """Keep the rows of a step under its name, or the step where no rows are kept."""
        self.begin(step)
        self.engine.keep(step.name, step.sql)

    def keep_view(self, step: Statement) -> None:
        """Let later steps read a step by its name."""
        self.begin(step)
        self.engine.keep_view(step.name, step.sql)

    def begin(self, step: Statement) -> None:
        """Refuse a step that does not only read what it declares; say that it starts now."""
        step.check()
        if self.watch:
            self.watch(step.question, self.engine.progress)
        if self.expired.is_set():
            raise EngineError("the time limit was reached between two statements.")
        self.asked[step.name] = self.engine.in_dialect(step.sql)


@contextmanager
def time_limit(
    engine: Engine, seconds: float | None, expired: threading.Event
) -> Iterator[Callable[[], None]]:
    """After so many seconds, set `expired` and cancel whatever runs; unless what comes back was
    called by then, which lifts the limit."""
    done = threading.Event()

    def cancel() -> None:
        if not done.wait(seconds):
            expired.set()
            # A cancel between two statements is lost, so it is said again.
            while not done.wait(0.05):
                with suppress(Exception):
                    engine.cancel()

    watchdog = threading.Thread(target=cancel, daemon=True)
    if seconds is not None:
        engine.limit(seconds + GRACE)
        watchdog.start()
    try:
        yield done.set
    except Exception:
        # Whatever it is taken for, a damaged file or a failing driver, it was stopped.
        if not expired.is_set():
            raise
    finally:
        done.set()
        if seconds is not None:
            # A word that comes late would stop what is asked next.
            watchdog.join(GRACE)
    if expired.is_set():
        raise EngineError(
            f"stopped, because the time limit was reached. Raise {option('timeout')}, or ask less."
        )


def within(seconds: float | None, connected: Callable[[], Engine]) -> Engine:
    """The engine that `connected` gives, waited for so many seconds; what comes later is closed.

    A server may take a connection and never answer, and few drivers can be told how long to wait.
    """
    refuse_no_time(seconds)
    if seconds is None:
        return connected()
    found: Future[Engine] = Future()

    def begin() -> None:
        try:
            found.set_result(connected())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=begin, daemon=True).start()
    try:
        wait([found], seconds)
    except BaseException:
        found.add_done_callback(_closed)
        raise
    if found.done():
        return found.result()
    found.add_done_callback(_closed)
    raise EngineError(
        "the server did not answer within the time limit. Is it the right one, and does it run? "
        f"Raise {option('timeout')}, or leave it out."
    )


def _closed(late: Future[Engine]) -> None:
    """Let go of an engine that nobody waits for any more."""
    if late.exception() is None:
        with suppress(Exception):
            late.result().close()


def refuse_no_time(seconds: float | None) -> None:
    """Raise `SpecError` for a limit within which nothing can be asked."""
    if seconds is not None and not seconds > 0:
        raise SpecError(f"timeout must be a number of seconds above 0; found {seconds!r}.")


def refuse_time_limit(engine: Engine, seconds: float | None) -> None:
    """Raise `SpecError` for a limit that is none, or that the engine can't keep."""
    refuse_no_time(seconds)
    if seconds is not None and not engine.can_cancel:
        raise SpecError(f"a time limit can't be kept {engine.why_no_limit}")


def asked_within(
    engine: Engine,
    timeout: float | None,
    watch: Watch | None,
    answer: Callable[[Session], Found],
    failed: Callable[[Session, str], Found],
    *,
    spent: float,
) -> Found:
    """What `answer` finds in a session that keeps the time limit, of which some seconds are
    `spent`, once the engine is sure that nothing changed meanwhile.

    Where the engine fails it is what `failed` makes of its words, and the engine is fit for the
    next question.
    """
    refuse_time_limit(engine, timeout)
    left = None if timeout is None else max(timeout - spent, 0.001)
    expired = threading.Event()
    session = Session(engine, watch, expired, started=time.monotonic() - spent)
    try:
        with time_limit(engine, left, expired):
            found = unless_changed(engine, lambda: answer(session))
            engine.verify_unchanged()
    except EngineError as error:
        engine.renew()
        return failed(session, str(error))
    return found


def unless_changed(engine: Engine, answer: Callable[[], Found]) -> Found:
    """What is found; of data at fault it is said first whether they changed since they were
    opened."""
    try:
        return answer()
    except InputError:
        engine.verify_unchanged()
        raise
