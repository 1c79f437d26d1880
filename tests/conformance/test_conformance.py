"""Does every engine give the same answers? Each against plain Python, on hostile tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pyarrow
import pytest
from generated import Filled, fewer
from hierarchies import HIERARCHIES
from hypothesis import assume, given, settings
from hypothesis.errors import UnsatisfiedAssumption
from questions import DRAWN, EVERYTHING, Asked
from telling_apart import look_at_few
from values_at_levels import column, labels
from warehouses import ENGINES, Database, EngineUnderTest

import kanon_sql as kanon
from kanon_sql.spec.models.catalogue import MODELS


@pytest.fixture(scope="module", params=ENGINES)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> EngineUnderTest:
    return ENGINES[request.node.callspec.params["database"]]


def answers(database: Database, asked: Asked) -> None:
    database.load("people", asked.table)
    if asked.reference:
        database.load("voters", asked.reference)
    if asked.earlier:
        database.load("before", asked.earlier)

    assert asked.found("people", "voters", "before", engine=database.url) == asked.expected


@pytest.mark.parametrize("name", DRAWN)
def test_what_nobody_thought_of(database: Database, engine: EngineUnderTest, name: str) -> None:
    @settings(fewer, max_examples=engine.examples)
    @given(DRAWN[name])
    def is_answered(asked: Asked) -> None:
        if name in engine.lacks:
            with pytest.raises((kanon.KanonError, UnsatisfiedAssumption)):
                answers(database, asked)
            return
        try:
            answers(database, asked)
        except kanon.KanonError as refused:
            # Another is drawn; a test that is left with none fails.
            assume(not re.search(engine.refuses, str(refused)))
            raise

    is_answered()


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything(database: Database, engine: EngineUnderTest, name: str) -> None:
    asked = EVERYTHING[name]
    if name not in engine.lacks:
        return answers(database, asked)

    # What can't be held is as good as refused.
    with pytest.raises((kanon.KanonError, UnsatisfiedAssumption)):
        answers(database, asked)
    return None


def test_no_model_is_left_out() -> None:
    asked = {name for each in EVERYTHING.values() for name, _ in each.question.asked}

    assert asked == set(MODELS)


NOT_NAMED: list[dict[str, Any]] = [
    {"identifiers": ["code", "whose"]},
    {"identifiers": "whose"},
    {"identifiers": "code", "entity": "whose"},
    {"entity": "whose"},
]


@pytest.mark.parametrize("parts", NOT_NAMED, ids=str)
def test_columns_without_a_part(
    database: Database,
    engine: EngineUnderTest,
    monkeypatch: pytest.MonkeyPatch,
    parts: dict[str, Any],
) -> None:
    """Whom of the first records they leave alone among all, where these are too many to count."""
    if "entity" in parts and "people" in engine.lacks:
        return
    look_at_few(monkeypatch)
    first = ["Ada", "Ben", None, "Dua", "Eve", "Fox", "Gil", "Hal"]
    last = ["Abel", "Bohr", "Curie", None, "Euler", "Fermi"]
    people = Filled(
        ("zip", "first", "last", "code", "whose"),
        (*[pyarrow.string()] * 3, *[pyarrow.int64()] * 2),
        tuple(("1", *name, 5 * at, at) for at, name in enumerate(product(first, last))),
    )
    database.load("people", people)

    [there] = kanon.audit("people", ["zip"], engine=database.url, **parts).tables[0].warnings

    assert "each of the " in there
    assert [there] == list(kanon.audit(people.arrow, ["zip"], **parts).tables[0].warnings)


# --- every hierarchy ------------------------------------------------------------------------

TYPES = {
    pyarrow.bool_(): "BOOLEAN",
    pyarrow.int64(): "BIGINT",
    pyarrow.float64(): "DOUBLE",
    pyarrow.decimal128(20, 2): "DECIMAL(20, 2)",
    pyarrow.string(): "VARCHAR",
    pyarrow.date32(): "DATE",
    pyarrow.timestamp("us"): "TIMESTAMP",
}
COLUMNS = {
    name: column(TYPES[type], part, longest=max(len(str(value)) for value in values))
    for name, (type, values, part) in HIERARCHIES.items()
}
LONGEST = max(len(values) for _, values, _ in HIERARCHIES.values())
VALUES = {
    name: [values[place % len(values)] for place in range(LONGEST)]
    for name, (_, values, _) in HIERARCHIES.items()
}


def table_of(columns: Mapping[str, Sequence[Any]], types: Sequence[pyarrow.DataType]) -> Filled:
    return Filled(tuple(columns), tuple(types), tuple(zip(*columns.values(), strict=True)))


@pytest.mark.parametrize("level", range(1, 1 + max(each.height for each in COLUMNS.values())))
def test_every_label(database: Database, engine: EngineUnderTest, level: int) -> None:
    """Each record is found, by all of its labels, in a table of those that DuckDB has for it."""
    asked = {
        name: part
        for name, (*_, part) in HIERARCHIES.items()
        if name not in engine.spells_otherwise
    }
    levels = {name: min(level, COLUMNS[name].height) for name in asked}
    labelled = {name: labels(COLUMNS[name], levels[name], VALUES[name]) for name in asked}
    database.load("people", table_of(VALUES, [type for type, *_ in HIERARCHIES.values()]))
    database.load("voters", table_of(labelled, [pyarrow.string()] * len(labelled)))

    found = kanon.audit(
        "people",
        engine=database.url,
        quasi_identifiers=asked,
        levels=levels,
        references={"labels": "voters"},
        checks=[kanon.KMap(k=1, match="exact")],
    )

    [table] = found.to_dict()["tables"]
    assert table["summary"]["classes"] == len(set(zip(*labelled.values(), strict=True)))
    assert table["checks"][0]["unmatched_classes"] == 0
