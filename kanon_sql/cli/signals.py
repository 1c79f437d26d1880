"""Signal handling: clean shutdown with the right exit code."""

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
        self.interrupted = False
        self.code: int | None = None
        """The exit code of the process, once decided."""
        self._is_at_work = False
        """Whether a command runs; otherwise there is nothing to clean up."""

    def begin(self) -> None:
        """Install the SIGINT handler for the rest of the process."""
        signal.signal(signal.SIGINT, self._handle)

    @contextmanager
    def handling(self) -> Iterator[None]:
        """Handle signals within the context; outside it, a signal ends the process immediately."""
        self.interrupted, self.code = False, None
        if output := sys.modules.get("kanon_sql.results.writing"):
            output.placed.clear()
        before = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGTERM", "SIGHUP"):
                stop = getattr(signal, name, None)
                if stop is not None and signal.getsignal(stop) in (signal.SIG_DFL, self._handle):
                    signal.signal(stop, self._handle)
                    # At shutdown, Python resets handlers, so a late signal would kill the process.
                    atexit.register(signal.signal, stop, signal.SIG_IGN)
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._handle)
        try:
            self._is_at_work = True
            yield
        finally:
            self._is_at_work = False
            # An interrupt during `exec`, as in the creation of a dataclass, makes Python kill
            # itself at exit even if it was caught; another `exec` clears that state.
            exec("")
            if before is signal.default_int_handler:
                signal.signal(signal.SIGINT, before)

    def _handle(self, number: int, _: object) -> None:
        if not self._is_at_work:
            if self.code is None:
                os.write(2, b"Interrupted; nothing was written.\n")
            os._exit(INTERRUPTED if self.code is None else self.code)
        if self.has_written and self.code is None:
            return
        is_again, self.interrupted = self.interrupted, True
        # A supervisor may signal twice, which must not interrupt the cleanup.
        if not is_again or number == signal.SIGINT:
            raise KeyboardInterrupt

    @property
    def has_written(self) -> bool:
        """Whether a file is in place."""
        # Or is about to be.
        return bool(getattr(sys.modules.get("kanon_sql.results.writing"), "placed", None))


stops = _Stops()


def end_process(code: int) -> None:
    """End the process without freeing its objects, which takes longer than a small audit.

    Runs the exit handlers first. Returns instead if a thread is alive that Python waits for, or if
    output can't be flushed, so that Python reports it. Nobody waits for statements that wait for a
    server or take their time to be cancelled: DuckDB aborts a process that ends around one.
    """
    main = threading.main_thread()
    if any(not thread.daemon for thread in threading.enumerate() if thread is not main):
        return
    if objects := sys.modules.get("kanon_sql.engines.duckdb.objects"):
        atexit.unregister(objects.wait_for_left)
    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)
