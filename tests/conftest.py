"""What holds for every test: where nothing is missing, nothing may be skipped."""

from __future__ import annotations

import os
import signal

import pytest


def pytest_sessionstart() -> None:
    """Have Ctrl-C again, which tests send, where the suite was started in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped a test where KANON_SQL_NO_SKIPS says that all of them can run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("KANON_SQL_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
