"""Signal handling: clean shutdown, and the resulting exit code."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130


class _Stops:
    """Handles SIGINT, SIGTERM and SIGHUP, so that an audit cleans up as on Ctrl-C.

    Ignored signals stay ignored, as under nohup. Once a file is in place, the command ends with the
    exit code already decided.
    """

    def __init__(self) -> None:
        self.came = False
        self.code: int | None = None
        """The exit code, once decided."""
        self._is_over = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Install the handlers; after the block, a signal ends the process at once."""
        self.came, self.code, self._is_over = False, None, False
        if output := sys.modules.get("kanon_sql.results.writing"):
            output.placed.clear()
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                stop = getattr(signal, name, None)
                if stop is not None and signal.getsignal(stop) in (signal.SIG_DFL, self._hear):
                    signal.signal(stop, self._hear)
                    # At shutdown, Python resets handlers, so a late signal would kill the process.
                    atexit.register(signal.signal, stop, signal.SIG_IGN)
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._hear)
        try:
            yield
        finally:
            self._is_over = True
            # An interrupt during exec, as when a dataclass is built, would make Python kill itself
            # at exit, even if it was caught; another exec clears that state.
            exec("")
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, before)

    def _hear(self, number: int, _: object) -> None:
        if self._is_over:
            os._exit(INTERRUPTED if self.code is None else self.code)
        if self.wrote and self.code is None:
            return
        is_again, self.came = self.came, True
        # A supervisor may signal twice, which must not interrupt the cleanup.
        if not is_again or number == signal.SIGINT:
            raise KeyboardInterrupt

    @property
    def wrote(self) -> bool:
        """Whether a file is in place."""
        # Or is about to be.
        return bool(getattr(sys.modules.get("kanon_sql.results.writing"), "placed", None))


stops = _Stops()


def end_process(code: int) -> None:
    """End the process without freeing its objects, which takes longer than a small audit.

    Runs the exit handlers first. Returns instead if other threads are alive, or if output can't be
    flushed, so that Python reports it.
    """
    if threading.active_count() > 1:
        return
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)
