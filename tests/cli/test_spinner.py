"""What a terminal shows while statements run."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable

import pytest
from rich.console import Console

from kanon_sql.cli import spinner
from kanon_sql.cli.spinner import spinning


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setattr(spinner, "PAUSE", 0.01)
    return Console(file=io.StringIO(), force_terminal=True, width=40)


def shown(terminal: Console) -> str:
    """What was written, without the colours."""
    assert isinstance(terminal.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.file.getvalue())


def until(so: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not so():
        assert time.monotonic() < end, "it is not shown"
        time.sleep(0.01)


def test_a_statement_is_shown_with_how_far_it_is(terminal: Console) -> None:
    with spinning(terminal) as watch:
        watch("How many records?", lambda: "42 %")
        until(lambda: "How many records? (42 %)" in shown(terminal))
        watch("How many classes?", lambda: "")
        until(lambda: shown(terminal).count("How many classes?") > 2)

    assert "How many classes? (" not in shown(terminal)


def test_a_long_question_leaves_room_for_how_far_it_is(terminal: Console) -> None:
    with spinning(terminal) as watch:
        watch("How many records are in each class of all columns?", lambda: "3 of 20 tasks")
        until(lambda: "(3 of 20 tasks)" in shown(terminal))

    assert "⠋ How many records are … (3 of 20 tasks)" in shown(terminal)


def test_an_engine_that_fails_to_tell_is_asked_again(terminal: Console) -> None:
    asked = []

    def progress() -> str:
        asked.append("once more")
        if len(asked) < 3:
            raise RuntimeError("no answer")
        return "99 %"

    with spinning(terminal) as watch:
        watch("How many records?", progress)
        until(lambda: "(99 %)" in shown(terminal))


def test_nothing_is_shown_after_the_end(terminal: Console) -> None:
    with spinning(terminal) as watch:
        watch("How many records?", lambda: "42 %")
    before = shown(terminal)

    watch("How many classes?", lambda: "43 %")
    time.sleep(0.05)

    assert shown(terminal) == before
