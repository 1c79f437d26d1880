"""What holds for every test: where nothing is missing, nothing may be skipped."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as tests send it: a suite that runs in the background has none, and packages that
    are imported in passing may have one of their own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if before is not None:
        signal.signal(signal.SIGINT, before)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped a test where KANON_SQL_NO_SKIPS says that all of them can run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("KANON_SQL_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
