"""Several tables audited at a time, each in a database session of its own."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Generic, Protocol, Self, TypeVar

from kanon_sql.engines.base import Engine, Sessions
from kanon_sql.engines.run_options import Progress, RunOptions
from kanon_sql.engines.session import CANCEL_INTERVAL
from kanon_sql.errors import EngineError, KanonError
from kanon_sql.results.table import TableResult


class HasEngine(Protocol):
    """A table that is opened on an engine."""

    @property
    def engine(self) -> Engine: ...

    def on(self, engine: Engine) -> Self:
        """The same table in another session of its database."""


Opened = TypeVar("Opened", bound=HasEngine)
Answer = Callable[[Opened, RunOptions], TableResult]
"""Audits an opened table."""


def audited_by_jobs(
    tables: Sequence[Opened], run: RunOptions, answer: Answer[Opened]
) -> list[TableResult]:
    """The results of `run.jobs` tables at a time, in the order of the tables.

    After an error the tables that follow are given up and their statements cancelled; those before
    it go on, so that the first error in the order of the tables is raised. An interrupt ends all.
    """
    if run.jobs == 1:
        return [answer(table, run) for table in tables]
    engines = {id(table.engine): table.engine for table in tables}
    counts = Counter(id(table.engine) for table in tables)
    with ExitStack() as stack:
        sessions = {
            key: stack.enter_context(_sessions(engine, min(counts[key], run.jobs)))
            for key, engine in engines.items()
        }
        results = TableJobs(tables, sessions, run, answer).results()
    in_turn = {
        key for key, engine_sessions in sessions.items() if len(engine_sessions) == 1 < counts[key]
    }
    return [
        _one_at_a_time(result) if id(table.engine) in in_turn else result
        for table, result in zip(tables, results, strict=True)
    ]


@contextmanager
def _sessions(engine: Engine, most: int) -> Iterator[list[Engine]]:
    """The engine with further sessions, `most` in all or as many as the database opens."""
    with ExitStack() as stack:
        sessions = [engine]
        with suppress(KanonError):
            while (
                isinstance(engine, Sessions)
                and len(sessions) < most
                and (other := engine.another_session())
            ):
                stack.callback(other.close)
                sessions.append(other)
        yield sessions


def _one_at_a_time(result: TableResult) -> TableResult:
    if result.status == "error":
        return result
    warning = f"--jobs: {result.engine} has one session here, so its tables were audited in turn."
    return replace(result, warnings=(*result.warnings, warning))


class TableJobs(Generic[Opened]):
    """Threads that take the next table whose database has a free session.

    The tables of an engine that belongs to this thread, or can't be cancelled from another one, are
    audited by this thread.
    """

    def __init__(
        self,
        tables: Sequence[Opened],
        sessions: dict[int, list[Engine]],
        run: RunOptions,
        answer: Answer[Opened],
    ) -> None:
        self._tables = tables
        self._free = {key: list(engine_sessions) for key, engine_sessions in sessions.items()}
        self._run = run
        self._answer = answer
        movable = [
            isinstance(table.engine, Sessions) and table.engine.can_cancel for table in tables
        ]
        self._waiting = [index for index, is_movable in enumerate(movable) if is_movable]
        self._own = [index for index, is_movable in enumerate(movable) if not is_movable]
        self._busy: dict[int, Engine] = {}
        self._results: dict[int, TableResult] = {}
        self._errors: dict[int, BaseException] = {}
        self._end = len(tables)
        """Tables from this one on are given up."""
        self._at_work = 0
        self._change = threading.Condition()

    def results(self) -> list[TableResult]:
        """The result of each table. Raises the error of the first table that has one."""
        threads = self._run.jobs - bool(self._own)
        try:
            for _ in range(min(threads, len(self._waiting))):
                self._start()
            for index in self._own:
                if index < self._end:
                    self._audit(index, self._tables[index].engine)
            self._await_all()
        except BaseException:
            self._give_up(0)
            self._await_all()
            raise
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._results[index] for index in range(len(self._tables))]

    def _start(self) -> None:
        """Start a thread, which counts as at work until it ends."""
        with self._change:
            self._at_work += 1
        try:
            threading.Thread(target=self._work, daemon=True).start()
        except BaseException:
            self._leave()
            raise

    def _leave(self) -> None:
        with self._change:
            self._at_work -= 1
            self._change.notify_all()

    def _work(self) -> None:
        try:
            while (index := self._next()) is not None:
                try:
                    self._audit(index, self._busy[index])
                finally:
                    with self._change:
                        engine = self._busy.pop(index)
                        self._free[id(self._tables[index].engine)].append(engine)
                        self._change.notify_all()
        except BaseException as error:
            # Raised by `results` before the error of any table, as no caller sees this thread's.
            self._errors[-1] = error
            self._give_up(0)
        finally:
            self._leave()

    def _next(self) -> int | None:
        """The next table, once a session is free for it; None when none is left."""
        with self._change:
            while self._waiting:
                for index in self._waiting:
                    if free := self._free[id(self._tables[index].engine)]:
                        self._waiting.remove(index)
                        self._busy[index] = free.pop(0)
                        return index
                self._change.wait()
            return None

    def _audit(self, index: int, engine: Engine) -> None:
        """Audit one table; its error is kept, but for an interrupt."""
        table = self._tables[index].on(engine)
        try:
            self._results[index] = self._answer(table, self._watched(index))
        except Exception as error:
            self._errors[index] = error
            self._give_up(index + 1)

    def _watched(self, index: int) -> RunOptions:
        """The options of a table that starts no statement once it is given up."""
        watch = self._run.watch

        def begin(question: str, progress: Progress) -> None:
            if index >= self._end:
                raise EngineError("given up.")
            if watch:
                watch(question, progress)

        return replace(self._run, watch=begin)

    def _give_up(self, index: int) -> None:
        """Give up the tables from this one on."""
        with self._change:
            self._end = min(self._end, index)
            self._waiting = [waiting for waiting in self._waiting if waiting < self._end]
            self._change.notify_all()

    def _await_all(self) -> None:
        """Wait for the threads, and cancel what runs for a table that is given up."""
        while self._at_work:
            with self._change:
                self._change.wait_for(lambda: not self._at_work, CANCEL_INTERVAL)
                running = [engine for index, engine in self._busy.items() if index >= self._end]
            for engine in running:
                with suppress(Exception):
                    engine.cancel()
