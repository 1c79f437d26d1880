"""The spinner: the running statement's question, with its progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread

from rich.console import Console, OverflowMethod
from rich.status import Status
from rich.text import Text

from kanon_sql.engines.run_options import Progress, Watch
from kanon_sql.errors import without_control

PAUSE = 1.0
"""Seconds between progress updates; most statements finish before the first."""


@contextmanager
def spinning(console: Console) -> Iterator[Watch]:
    """A progress callback that displays the current statement."""
    # Only the encodings of Unicode have Braille patterns.
    kind = "dots" if console.encoding.startswith("utf") else "line"
    with console.status("Opening the data", spinner=kind) as status:
        spinner = Spinner(console, status)
        following = Thread(target=spinner.follow, daemon=True)
        following.start()
        try:
            yield spinner.watch
        finally:
            spinner.end()
            # The thread ends at once, unless an engine does not answer.
            following.join(PAUSE)


class Spinner:
    """Displays the running statement; a separate thread polls its progress."""

    def __init__(self, console: Console, status: Status) -> None:
        self._width = console.width - len("⠋ ")
        self._is_unicode = console.encoding.startswith("utf")
        self._status = status
        self._running: tuple[str, Progress] = ("", lambda: "")
        self._drawing = Lock()
        self._ended = Event()

    def watch(self, question: str, progress: Progress) -> None:
        """Show another statement."""
        question = without_control(question)
        self._running = (question, progress)
        self._draw(question, "")

    def follow(self) -> None:
        """Update the progress until the end."""
        while not self._ended.wait(PAUSE):
            with suppress(Exception):
                self._look()

    def end(self) -> None:
        """Stop updating."""
        with self._drawing:
            self._ended.set()

    def _look(self) -> None:
        question, progress = running = self._running
        done = progress()
        if done and self._running is running:
            self._draw(question, f" ({done})")

    def _draw(self, question: str, done: str) -> None:
        line = Text(question)
        overflow: OverflowMethod = "ellipsis" if self._is_unicode else "crop"
        line.truncate(max(self._width - len(done), 0), overflow=overflow)
        with self._drawing:
            if not self._ended.is_set():
                self._status.update(line.append(done))
