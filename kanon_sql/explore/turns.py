"""The turns of one thread that asks the database: one question at a time, each with its progress.

Some databases answer only the thread that opened them, so it opens and closes all of them.
"""

from __future__ import annotations

import queue
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import Progress
from kanon_sql.engines.session import CANCEL_INTERVAL

WAITING = "Another question is being answered; this one waits"


class ReaderLeft(Exception):
    """The reader of a page has left, so that its question has no use."""


class Turn:
    """A question with its answer, once it is there."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer
        self.done = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None
        self.has_left = False
        self._running: tuple[str, Progress] = (WAITING, str)
        self._since = time.monotonic()

    def watch(self, question: str, progress: Progress) -> None:
        """Note the statement that starts. Raises `ReaderLeft`."""
        if self.has_left:
            raise ReaderLeft
        self._running, self._since = (question, progress), time.monotonic()

    @property
    def progress(self) -> str:
        """The running statement, in words, with its progress."""
        question, progress = self._running
        parts = [question, f"{time.monotonic() - self._since:.0f} s"]
        with suppress(Exception):
            parts.append(progress())
        return " · ".join(filter(None, parts))

    def value(self) -> Any:
        """The answer, once it is there. Raises its error."""
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.result


class Turns:
    """The thread that answers, and the engines whose statements can be cancelled."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[Turn | None] = queue.SimpleQueue()
        self._current: Turn | None = None
        self._closing: Turn | None = None
        self._lock = threading.Lock()
        """Held where the current turn begins, ends or is cancelled."""
        self._engines: weakref.WeakSet[Engine] = weakref.WeakSet()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def ask(self, answer: Callable[[], Any]) -> Turn:
        """A turn for a question."""
        turn = Turn(answer)
        self._waiting.put(turn)
        return turn

    def watch(self, question: str, progress: Progress) -> None:
        """Tell the current turn which statement starts."""
        if self._current:
            self._current.watch(question, progress)

    def opens(self, engine: Engine) -> None:
        """Remember an engine, whose statements are cancelled if the reader leaves."""
        self._engines.add(engine)

    def leave(self, turn: Turn, seconds: float = 60) -> None:
        """Give up a turn, and cancel its statement until it has ended."""
        turn.has_left = True
        end = time.monotonic() + seconds
        while not turn.done.wait(CANCEL_INTERVAL) and time.monotonic() < end:
            # The next turn, whose statement is another reader's, can't begin in between.
            with self._lock:
                if self._current is turn:
                    for engine in list(self._engines):
                        with suppress(Exception):
                            engine.cancel()

    def end(self, last: Callable[[], Any], seconds: float) -> None:
        """Give up every turn and answer a last one, which closes what is open; in these seconds, as
        a statement may not end sooner."""
        end = time.monotonic() + seconds
        closing = self._closing = Turn(last)
        self._waiting.put(closing)
        self._waiting.put(None)
        if (current := self._current) is not None and current is not closing:
            self.leave(current, seconds)
        self._thread.join(max(0, end - time.monotonic()))

    def _work(self) -> None:
        while (turn := self._waiting.get()) is not None:
            if turn.has_left or (self._closing and turn is not self._closing):
                turn.error = ReaderLeft()
                turn.done.set()
                continue
            with self._lock:
                self._current = turn
            try:
                turn.result = turn.answer()
            except BaseException as error:
                turn.error = ReaderLeft() if turn.has_left else error
            finally:
                with self._lock:
                    self._current = None
                turn.done.set()
