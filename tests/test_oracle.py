"""Is it right on tables nobody thought of? kanon-sql against plain Python, on generated tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import asking
import oracle
import pytest
from generated import TEXT, Filled, asked_tables, few, released_and_referred
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql import templates
from kanon_sql.engines.base import Table
from kanon_sql.engines.duckdb import DuckDBEngine


@few
@given(asked_tables())
def test_a_table_alone(asked: tuple[Filled, oracle.Question]) -> None:
    table, question = asked

    found = asking.figures(asking.audit(table.arrow, question))

    assert found == asking.near(oracle.audit(table.records, question))


@few
@given(released_and_referred())
def test_a_release_against_a_reference(asked: tuple[Filled, Filled, oracle.Question]) -> None:
    released, referred, question = asked

    found = asking.figures(asking.audit(released.arrow, question, {"people": referred.arrow}))

    assert found == asking.near(oracle.audit(released.records, question))


@few
@given(asked_tables(), st.integers(1, 5))
def test_the_first_records(asked: tuple[Filled, oracle.Question], first: int) -> None:
    table, question = asked
    shortened = replace(table, rows=table.rows[:first])

    found = asking.figures(asking.audit(table.arrow, question, first=first))

    assert found == asking.near(oracle.audit(shortened.records, question))


# --- short keys -----------------------------------------------------------------------------


def as_if_of_few_values(table: Table) -> Table:
    """The table as a large Parquet file would have it: every column a dictionary."""
    return replace(table, columns=tuple(replace(c, few_values=True) for c in table.columns))


@pytest.fixture(scope="module")
def few_values() -> Any:
    """Text is grouped by its hash, as in a large Parquet file of few values."""
    table = DuckDBEngine.table
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            DuckDBEngine, "table", lambda engine, target: as_if_of_few_values(table(engine, target))
        )
        yield


@few
@given(asked_tables(kinds=(TEXT,)))
def test_a_table_grouped_by_hash(few_values: None, asked: tuple[Filled, oracle.Question]) -> None:
    table, question = asked

    found = asking.figures(asking.audit(table.arrow, question))

    assert found == asking.near(oracle.audit(table.records, question))


def test_a_hash_that_merges_values_is_found_out_and_not_used(
    few_values: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a hash of two values, four classes of one record each would be one or two."""

    def weak(value: str) -> str:
        return f"hash({value}) % 2"

    monkeypatch.setattr(templates, "_hash", weak)
    monkeypatch.setitem(templates._macros(), "hash", weak)
    rows = [(first, second) for first in "ab" for second in "cd"]

    [table] = asking.audit(
        asking.table(["q", "r"], rows), oracle.Question(quasi_identifiers=["q", "r"])
    ).tables

    assert (table.summary.classes, table.summary.k) == (4, 1)
    assert "hash" not in table.sql["classes"]
