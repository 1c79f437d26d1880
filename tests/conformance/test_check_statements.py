"""Does a check's own statement give the audit's verdict on every engine?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pyarrow
import pytest
from generated import Filled
from hypothesis.errors import UnsatisfiedAssumption
from own_figures import agrees, own_figures
from questions import EVERYTHING
from warehouses import ENGINES, Database

import kanon_sql as kanon
from kanon_sql.auditing.opening import planned
from kanon_sql.engines import connect
from kanon_sql.errors import KanonError
from kanon_sql.plan.check_statement import check_statement
from kanon_sql.spec.spec import AuditSpec

LACKING = (KanonError, UnsatisfiedAssumption)
"""How an engine says that it can't answer a question, or can't hold its table."""


@pytest.fixture(scope="module", params=ENGINES)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_figure_is_the_verdict(
    database: Database, request: pytest.FixtureRequest, name: str
) -> None:
    dialect = request.node.callspec.params["database"]
    asked = EVERYTHING[name].in_sql_of(dialect)
    lacks = name in ENGINES[dialect].lacks
    with own_figures() as compared, pytest.raises(LACKING) if lacks else nullcontext():
        database.load("people", asked.table)
        if asked.reference:
            database.load("voters", asked.reference)
        if asked.earlier:
            database.load("before", asked.earlier)
        asked.found("people", "voters", "before", engine=database.url)

    assert [each for each in compared if not agrees(*each)] == []


def test_an_empty_table_is_an_error_of_the_database(database: Database) -> None:
    database.load("people", Filled(("zip",), (pyarrow.string(),), (("1",), ("2",))))
    checks = [kanon.KAnonymity(k=1)]
    table = {"source": "people", "quasi_identifiers": ["zip"], "checks": checks}
    figures = []
    with connect(database.url) as engine:
        for where in (None, "zip = '1' and zip = '2'"):
            plan = planned(AuditSpec(tables=[table | {"where": where}]), 0, engine).plan
            [check] = plan.bound.checks
            statement = check_statement(plan.bound, check)
            assert statement is not None
            with pytest.raises(KanonError) if where else nullcontext():
                figures += engine.query(statement.sql)
            engine.renew()

    assert [int(row["failures"]) for row in figures] == [0]
