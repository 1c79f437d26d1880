"""Does every engine give the same answers? Each against plain Python, on hostile tables."""

from __future__ import annotations

from collections.abc import Iterator

import asking
import oracle
import pytest
from generated import (
    TREE,
    Filled,
    asked_tables,
    fewer,
    ranked_tables,
    released_and_referred,
    surveys,
    tables_with_a_tree,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from warehouses import EXAMPLES, STARTED, Database


@pytest.fixture(scope="module", params=STARTED)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with STARTED[request.param](tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of the tree that some attributes have."""
    file = tmp_path_factory.mktemp("trees") / "tree.csv"
    file.write_text(TREE, encoding="utf-8")
    return str(file)


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> settings:
    """How many tables an engine is asked about: fewer where each takes its time."""
    engine = request.node.callspec.params["database"]
    return settings(fewer, max_examples=EXAMPLES.get(engine, fewer.max_examples))


def test_a_table_alone(database: Database, examples: settings) -> None:
    @examples
    @given(asked_tables())
    def is_answered(asked: tuple[Filled, oracle.Question]) -> None:
        table, question = asked
        database.load("people", table)

        found = asking.figures(asking.audit("people", question, engine=database.url))

        assert found == asking.near(oracle.audit(table.records, question))

    is_answered()


def test_an_attribute_with_an_order(database: Database, examples: settings) -> None:
    @examples
    @given(ranked_tables())
    def is_answered(asked: tuple[Filled, oracle.Question]) -> None:
        table, question = asked
        database.load("people", table)

        found = asking.figures(asking.audit("people", question, engine=database.url))

        assert found == asking.near(oracle.audit(table.records, question))

    is_answered()


def test_an_attribute_with_a_tree(database: Database, tree: str, examples: settings) -> None:
    @examples
    @given(st.data())
    def is_answered(data: st.DataObject) -> None:
        table, question = data.draw(tables_with_a_tree(tree))
        database.load("people", table)

        found = asking.figures(asking.audit("people", question, engine=database.url))

        assert found == asking.near(oracle.audit(table.records, question))

    is_answered()


def test_a_survey(database: Database, examples: settings) -> None:
    @examples
    @given(surveys())
    def is_answered(asked: tuple[Filled, oracle.Question]) -> None:
        table, question = asked
        database.load("people", table)

        found = asking.figures(asking.audit("people", question, engine=database.url))

        assert found == asking.near(oracle.audit(table.records, question))

    is_answered()


def test_a_release_beside_a_reference(database: Database, examples: settings) -> None:
    @examples
    @given(released_and_referred())
    def is_answered(asked: tuple[Filled, Filled, oracle.Question]) -> None:
        table, reference, question = asked
        database.load("people", table)
        database.load("voters", reference)

        found = asking.figures(
            asking.audit("people", question, {"people": "voters"}, engine=database.url)
        )

        assert found == asking.near(oracle.audit(table.records, question))

    is_answered()
