"""A session that outlives a table: each audit looks at the table as it is."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES

import kanon_sql as kanon

TEXT, WHOLE, FLOAT = pyarrow.string(), pyarrow.int64(), pyarrow.float32()
TABLES = (
    Filled(("a", "b"), (TEXT, FLOAT), tuple((f"v{n % 3}", n % 3 / 2) for n in range(12))),
    Filled(("c",), (WHOLE,), tuple((n % 2,) for n in range(12))),
    Filled(("a", "b"), (WHOLE, TEXT), tuple((n % 4, f"{n % 4}") for n in range(12))),
    Filled(("b", "c"), (FLOAT, WHOLE), tuple((n % 6 / 2, n % 6) for n in range(12))),
)
SMALLEST = (4, 6, 3, 2)
READ_OTHERWISE = {
    "postgres": 'alter table people alter a type text collate "C"',
    "sqlite": "update people set a = case when a = 'v0' then 0 else a end",
}
"""What else makes an engine read a column of the first table otherwise than it is stored."""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_rebuilt_between_two_audits_is_read_anew(engine: str, tmp_path: Path) -> None:
    found = []
    with ENGINES[engine].started(tmp_path) as running:
        running.load("people", TABLES[0])
        if engine in READ_OTHERWISE:
            running.run(READ_OTHERWISE[engine])
        with kanon.connect(running.url) as session:
            for place, table in enumerate(TABLES):
                if place:
                    running.load("people", table)
                audited = kanon.audit("people", table.names, engine=session)
                found.append(audited.tables[0].summary.k)
                levels = {name: {"levels": ["suppress"]} for name in table.names}
                released = kanon.anonymize("people", levels, k=found[-1], engine=session)
                assert released.anonymization.levels == dict.fromkeys(table.names, 0)

    assert tuple(found) == SMALLEST


@pytest.mark.parametrize("kind", ["csv", "parquet", "table"])
def test_a_file_or_a_table_of_duckdb_is_read_anew_too(kind: str, tmp_path: Path) -> None:
    found = []
    connection = duckdb.connect()
    source = "people" if kind == "table" else str(tmp_path / f"people.{kind}")
    with kanon.connect(connection if kind == "table" else None) as session:
        for table in TABLES:
            records = table.arrow  # noqa: F841 - DuckDB reads it by its name
            if kind == "table":
                connection.execute("create or replace table people as from records")
            else:
                connection.execute(f"copy (from records) to '{source}'")
            [audited] = kanon.audit(source, table.names, engine=session).tables
            found.append(audited.summary.k)

    assert tuple(found) == SMALLEST
