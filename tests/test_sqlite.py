"""Does SQLite give the oracle's answers to the SQL that is made for it?

No URL leads to SQLite; what `compile --dialect sqlite` writes is run here on the same hostile
tables as any engine. What it can't say is left out of them: it has no NaN, no decimals and no
times, and before 3.44 no texts in order, which the profiles of people need.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import asking
import oracle
import pyarrow
import pytest
from generated import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    TEXT,
    Filled,
    asked_tables,
    fewer,
    ranked_tables,
    released_and_referred,
    surveys,
    tables_with_a_tree,
)
from hypothesis import assume, given

from kanon_sql.engines.base import Column
from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.errors import EngineError, KanonError

KINDS = (TEXT, INTEGER, FLOAT, DATE, BOOLEAN)
ORDERS_TEXTS = sqlite3.sqlite_version_info >= (3, 44)
TYPES = {
    pyarrow.string(): ("text", "VARCHAR"),
    pyarrow.int32(): ("integer", "INTEGER"),
    pyarrow.int64(): ("integer", "BIGINT"),
    pyarrow.float64(): ("real", "DOUBLE"),
    pyarrow.date32(): ("text", "DATE"),
    pyarrow.bool_(): ("integer", "BOOLEAN"),
    pyarrow.timestamp("us"): ("text", "TIMESTAMP"),
    pyarrow.null(): ("text", "VARCHAR"),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def stored(value: Any) -> Any:
    match value:
        case bool():
            return int(value)
        case Decimal():
            return float(value)
        case datetime():
            return value.isoformat(" ")
        case date():
            return value.isoformat()
    return value


class SQLite(DBAPI):
    """A database in memory, of which the test itself is the catalogue."""

    name = "sqlite"
    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection, owned=False)
        self._found: dict[str, list[Column]] = {}

    def load(self, name: str, table: Filled) -> None:
        types = [TYPES.get(type, ("real", "DOUBLE")) for type in table.types]
        self._found[name] = [
            Column(column, type) for column, (_, type) in zip(table.names, types, strict=True)
        ]
        columns = ", ".join(
            f"{quoted(column)} {type}" for column, (type, _) in zip(table.names, types, strict=True)
        )
        self._connection.execute(f"drop table if exists {name}")
        self._connection.execute(f"create table {name} ({columns})")
        places = ", ".join("?" * len(types))
        rows = [tuple(map(stored, row)) for row in table.rows]
        self._connection.executemany(f"insert into {name} values ({places})", rows)

    def cancel(self) -> None:
        self._connection.interrupt()

    def _tables(self) -> Sequence[tuple[str, ...]]:
        return [("", "main", name) for name in self._found]

    def _place(self) -> tuple[str, str]:
        return "", "main"

    def _columns(self, found: tuple[str, ...]) -> Sequence[Column]:
        return self._found[found[-1]]

    def _explained(self, error: Exception) -> KanonError:
        return EngineError(str(error))


@pytest.fixture(scope="module")
def database() -> Iterator[SQLite]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield SQLite(connection)


def figures(database: SQLite, question: oracle.Question, **references: str) -> dict[str, Any]:
    with patch("kanon_sql.asking.connect", lambda *_, **__: database):
        return asking.figures(asking.audit("people", question, references))


def can_say(table: Filled, question: oracle.Question) -> bool:
    """Whether SQLite has the values of a table, and the words for what is asked of it."""
    values = [value for row in table.rows for value in row]
    odd = any(isinstance(value, float) and math.isnan(value) for value in values)
    return not odd and (question.entity is None or ORDERS_TEXTS)


@fewer
@given(asked_tables(KINDS))
def test_a_table_alone(database: SQLite, asked: tuple[Filled, oracle.Question]) -> None:
    table, question = asked
    assume(can_say(table, question))
    database.load("people", table)

    assert figures(database, question) == asking.near(oracle.audit(table.records, question))


@fewer
@given(ranked_tables())
def test_an_attribute_with_an_order(
    database: SQLite, asked: tuple[Filled, oracle.Question]
) -> None:
    table, question = asked
    assume(can_say(table, question))
    database.load("people", table)

    assert figures(database, question) == asking.near(oracle.audit(table.records, question))


@fewer
@given(tables_with_a_tree())
def test_an_attribute_with_a_tree(database: SQLite, asked: tuple[Filled, oracle.Question]) -> None:
    table, question = asked
    assume(can_say(table, question))
    database.load("people", table)

    assert figures(database, question) == asking.near(oracle.audit(table.records, question))


@fewer
@given(surveys())
def test_a_survey(database: SQLite, asked: tuple[Filled, oracle.Question]) -> None:
    table, question = asked
    assume(can_say(table, question))
    database.load("people", table)

    assert figures(database, question) == asking.near(oracle.audit(table.records, question))


@fewer
@given(released_and_referred())
def test_a_release_beside_a_reference(
    database: SQLite, asked: tuple[Filled, Filled, oracle.Question]
) -> None:
    table, reference, question = asked
    assume(can_say(table, question) and can_say(reference, question))
    database.load("people", table)
    database.load("voters", reference)

    found = figures(database, question, people="voters")

    assert found == asking.near(oracle.audit(table.records, question))
