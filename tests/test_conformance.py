"""Does every engine give the same answers? Each against plain Python, on hostile tables."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from generated import fewer
from hypothesis import assume, given, settings
from hypothesis.errors import UnsatisfiedAssumption
from questions import DRAWN, EVERYTHING, Asked
from warehouses import EXAMPLES, LACKING, NOTHING, REFUSALS, STARTED, Database

import kanon_sql as kanon
from kanon_sql.models import MODELS


@pytest.fixture(scope="module", params=STARTED)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with STARTED[request.param](tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.node.callspec.params["database"]
    return name


@pytest.fixture
def examples(engine: str) -> settings:
    """How many tables an engine is asked about: fewer where each takes its time."""
    return settings(fewer, max_examples=EXAMPLES.get(engine, fewer.max_examples))


def answers(database: Database, asked: Asked) -> None:
    database.load("people", asked.table)
    if asked.reference:
        database.load("voters", asked.reference)

    assert asked.found("people", "voters", engine=database.url) == asked.expected


@pytest.mark.parametrize("name", DRAWN)
def test_what_nobody_thought_of(
    database: Database, engine: str, examples: settings, name: str
) -> None:
    @examples
    @given(DRAWN[name])
    def is_answered(asked: Asked) -> None:
        try:
            answers(database, asked)
        except kanon.KanonError as refused:
            # Another is drawn; a test that is left with none fails.
            assume(not re.search(REFUSALS.get(engine, NOTHING), str(refused)))
            raise

    is_answered()


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything(database: Database, engine: str, name: str) -> None:
    asked = EVERYTHING[name]
    if name not in LACKING.get(engine, ()):
        return answers(database, asked)

    # What can't be held is as good as refused.
    with pytest.raises((kanon.KanonError, UnsatisfiedAssumption)):
        answers(database, asked)
    return None


def test_no_model_is_left_out() -> None:
    asked = {name for each in EVERYTHING.values() for name, _ in each.question.asked}

    assert asked == set(MODELS)
