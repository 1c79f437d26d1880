"""Does every engine give the same answers? Each against plain Python, on hostile tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from generated import fewer
from hypothesis import assume, given, settings
from questions import DRAWN, EVERYTHING, Asked
from warehouses import EXAMPLES, STARTED, Database, unless_refused

from kanon_sql.models import MODELS


@pytest.fixture(scope="module", params=STARTED)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with STARTED[request.param](tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> settings:
    """How many tables an engine is asked about: fewer where each takes its time."""
    engine = request.node.callspec.params["database"]
    return settings(fewer, max_examples=EXAMPLES.get(engine, fewer.max_examples))


def answers(database: Database, asked: Asked) -> None:
    database.load("people", asked.table)
    if asked.reference:
        database.load("voters", asked.reference)

    with unless_refused(database):
        assert asked.found("people", "voters", engine=database.url) == asked.expected


@pytest.mark.parametrize("name", DRAWN)
def test_what_nobody_thought_of(database: Database, examples: settings, name: str) -> None:
    @examples
    @given(DRAWN[name])
    def is_answered(asked: Asked) -> None:
        assume(asked.are_kept(database.keeps))
        answers(database, asked)

    is_answered()


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything(database: Database, name: str) -> None:
    answers(database, EVERYTHING[name].only(database.keeps))


def test_no_model_is_left_out() -> None:
    asked = {name for each in EVERYTHING.values() for name, _ in each.question.asked}

    assert asked == set(MODELS)
