"""Datafly where the table lies in a warehouse: the same outcome as in DuckDB, whether each step is
a query there or the frequency set is fetched once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import asking
import oracle_datafly
import pyarrow
import pytest
from generated import Filled, fewer
from hypothesis import given
from test_datafly import Drawn, anonymize, cells, figures, questions
from test_oracle_datafly import DATAFLY, asked
from warehouses import STARTED, Database

import kanon_sql as kanon
from kanon_sql import fetching

BOTH_WAYS = pytest.mark.parametrize("pulled", [False, True], ids=["by queries", "pulled"])


@pytest.fixture(scope="module", params=STARTED)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with STARTED[request.param](tmp_path_factory.mktemp(request.param)) as running:
        yield running


def filled(table: pyarrow.Table) -> Filled:
    rows = tuple(tuple(row.values()) for row in table.to_pylist())
    return Filled(tuple(table.column_names), tuple(table.schema.types), rows)


def outcome(result: kanon.AnonymizationResult) -> dict[str, Any]:
    """What may be compared of two engines: all but the SQL."""
    found = {key: each for key, each in figures(result).items() if key not in ("views", "release")}
    del found["before"]["name"]
    [table] = result.to_dict()["tables"]
    parts = ("status", "summary", "histogram", "checks", "risk")
    return found | {part: table[part] for part in parts}


# --- the same outcome -----------------------------------------------------------------------


@BOTH_WAYS
@pytest.mark.parametrize("example", DATAFLY.values(), ids=DATAFLY)
def test_worked_example(database: Database, example: dict[str, Any], pulled: bool) -> None:
    table = asking.table(example["columns"], example["rows"])
    database.load("people", filled(table))

    result = anonymize("people", example["asked"], engine=database.url, pull_frequencies=pulled)

    found = asking.part_of(figures(result), example["expected"])
    assert found == asking.near(example["expected"])
    assert outcome(result) == asking.near(outcome(anonymize(table, example["asked"])))


@BOTH_WAYS
@fewer
@given(drawn=questions())
def test_a_table(database: Database, pulled: bool, drawn: Drawn) -> None:
    database.load("people", filled(drawn.table))
    expected = oracle_datafly.anonymize(drawn.records, drawn.asked)

    result = anonymize("people", drawn.question, engine=database.url, pull_frequencies=pulled)

    assert asking.part_of(figures(result), expected.figures) == asking.near(expected.figures)
    assert result.holds == expected.holds
    assert outcome(result) == asking.near(outcome(anonymize(drawn.table, drawn.question)))
