"""Are texts in Postgres the same, whatever collation their column has?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import asking
import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES, Database

import kanon_sql as kanon
from kanon_sql.engines import connect

PATIENTS = Filled(
    ("zip", "sex"),
    (pyarrow.string(), pyarrow.string()),
    (("0213*", "F"), ("é", "f"), ("b", "M"), (None, "M")),
)
VOTERS = Filled(
    ("zip", "sex"),
    (pyarrow.string(), pyarrow.string()),
    (("02138", "F"), ("02139", "F"), ("é", "f"), ("É", "f"), ("b", "M"), (None, "M")),
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with ENGINES["postgres"].started(tmp_path_factory.mktemp("postgres")) as running:
        for name, table in (("patients", PATIENTS), ("voters", VOTERS)):
            running.load(name, table)
        running.run('alter table patients alter zip type text collate "POSIX"')
        running.run('alter table voters alter zip type varchar(9) collate "ucs_basic"')
        yield running


@pytest.mark.parametrize(
    ("model", "options"),
    [
        (kanon.KMap(k=2), {}),
        (kanon.KMap(k=2, match="exact"), {}),
        (kanon.KMap(k=2), {"nulls": "wildcard"}),
        (kanon.JournalistRisk(max_highest=0.2), {"where": "zip > 'a'"}),
    ],
)
def test_two_collations_are_matched(server: Database, model: Any, options: Any) -> None:
    """Postgres would say that it could not determine which one to use."""

    def figures(data: Any, reference: Any, engine: Any = None) -> Any:
        found = kanon.audit(
            data,
            engine=engine,
            quasi_identifiers=["zip", "sex"],
            references={"voters": kanon.ReferenceSpec(source=reference)},
            checks=[model],
            **options,
        )
        return asking.figures(found)

    assert figures("patients", "voters", server.url) == figures(PATIENTS.arrow, VOTERS.arrow)


def test_only_a_table_with_a_collation_of_its_own_is_read_otherwise(server: Database) -> None:
    server.load("others", VOTERS)
    with connect(server.url) as engine:
        for name, own in (("patients", True), ("others", False)):
            sql = engine.in_dialect(f"select zip from {engine.table(name).sql}")
            assert ('collate "default"' in sql) is own


def test_a_column_that_may_not_be_read_stays_unread(server: Database) -> None:
    server.run("create role clerk login")
    server.run("grant select (zip) on patients to clerk")

    with connect(re.sub(r"//[^/]*/", "//clerk@/", server.url)) as engine:
        table = engine.table("patients")
        assert len(engine.query(f'select "zip" from {table.sql}')) == len(PATIENTS.rows)
