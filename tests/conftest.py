"""What holds for every test: where nothing is missing, nothing may be skipped."""

from __future__ import annotations

import gc
import os
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

# No machine is too slow to be right.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# The commands that the tests start, thousands of them, would each compile all that they import.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What is collected of ten thousand tests stays until the end: nothing of it is garbage, and each
# collection of garbage would go through all of it again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as tests send it: a suite that runs in the background has none, and packages that
    are imported in passing may have one of their own."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if before is not None:
        signal.signal(signal.SIGINT, before)


MARKS = {"postgres", "spark", "clickhouse", "mariadb", "dbt", "conformance"}
SLOW = {"spark", "clickhouse", "mariadb", "conformance", "oracle"}
"""Words in a test's file, name or engine that make it `slow`: it starts a cluster or a server, or
draws thousands of questions, as a test by Hypothesis does too."""
QUICK_SEEDS = 2
"""Of the tables that a test draws, the first ones are in the quick tests, and all in the slow."""


EVERY_CASE = ("tests/plan/", "tests/sql/test_dialects.py", "worked_examples.py")
"""Of these files, every case of a test is one by itself: SQL, a dialect, a published figure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--one-case", action="store_true", help="of most tests with parameters, the first case"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark a test by the words of its file, its name and its `database`: `-m "not spark"`."""
    if config.getoption("one_case"):
        tests = {item: item.nodeid.partition("[")[0] for item in items}
        first = {test: item for item, test in reversed(tests.items())}
        further = {
            item
            for item, test in tests.items()
            if first[test] is not item and not any(file in test for file in EVERY_CASE)
        }
        config.hook.pytest_deselected(items=[*further])
        items[:] = [item for item in items if item not in further]
    for item in items:
        assert isinstance(item, pytest.Function)
        callspec = getattr(item, "callspec", None)
        parameters = callspec.params if callspec else {}
        database = parameters.get("database") or parameters.get("engine")
        says = f"{item.location[0]} {item.originalname} {database}"
        words = set(re.split(r"[\W_]+", says))
        for mark in MARKS & words:
            item.add_marker(mark)
        is_late = callspec and callspec.indices.get("seed", 0) >= QUICK_SEEDS
        if words & SLOW or is_late or getattr(item.function, "is_hypothesis_test", False):
            item.add_marker("slow")


class OneSpark(LoadScopeScheduling):
    """Keeps modules together, and all tests that ask Spark, so that one is started and warms up."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if "spark" in re.split(r"[\W_]+", nodeid) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark | None:
    """What `--dist loadgroup` is here: pytest-xdist 3.8 finds no groups under pytest 9."""
    return OneSpark(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run that skipped a test where KANON_SQL_NO_SKIPS says that all of them can run."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("KANON_SQL_NO_SKIPS") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
