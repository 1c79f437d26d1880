"""How often a plan in Spark scans its tables, read off the plans, and what is left behind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from java import java_home
from sparks import local_spark

import kanon_sql as kanon
from kanon_sql.engines.spark.engine import Spark
from kanon_sql.sql.ctes import scans
from kanon_sql.sql.gate import require_select

if java_home() is None:
    pytest.skip("there is no Java 17 for Spark to run on", allow_module_level=True)

MOST = 20
PEOPLE = pa.table(
    {
        "zip": [f"0213{'012*'[n % 4]}" for n in range(60)],
        "age": [20 + n % 5 for n in range(60)],
        "sex": ["FM"[n % 2] for n in range(60)],
        "person": [f"p{n % 40}" for n in range(60)],
    }
)
COLUMNS = ["zip", "age", "sex"]


@pytest.fixture
def session() -> Iterator[Any]:
    own = local_spark().newSession()
    for name in ("people", "register"):
        own.createDataFrame(PEOPLE).createOrReplaceTempView(name)
    yield own
    own.catalog.clearCache()


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Each statement that reaches Spark, with the leaves of its plan."""
    found: list[tuple[str, int]] = []
    reading = Spark._reading

    @contextmanager
    def read(self: Spark, sql: str) -> Iterator[Any]:
        with reading(self, sql) as frame:
            plan = frame._jdf.queryExecution().optimizedPlan()
            found.append((sql, plan.collectLeaves().size()))
            yield frame

    monkeypatch.setattr(Spark, "_reading", read)
    return found


def names_in(session: Any) -> list[str]:
    return sorted(each.name for each in session.catalog.listTables())


ASKED: dict[str, dict[str, Any]] = {
    "people": {"k": 5, "entity": "person"},
    "k-map": {"k_map": 5, "references": {"register": "register"}},
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_no_plan_scans_its_tables_more_than_twenty_times(
    asked: dict[str, Any], session: Any, plans: list[tuple[str, int]]
) -> None:
    [found] = kanon.audit("people", COLUMNS, engine=session, **asked).tables

    assert max(leaves for _, leaves in plans) <= MOST
    here = dict(asked)
    if "references" in here:
        here["references"] = {"register": PEOPLE}
    [expected] = kanon.audit(PEOPLE, COLUMNS, **here).tables
    assert found.summary == expected.summary
    assert [(each.model, each.holds, each.achieved) for each in found.checks] == [
        (each.model, each.holds, each.achieved) for each in expected.checks
    ]
    assert names_in(session) == ["people", "register"]


def test_what_is_printed_is_what_ran(session: Any, plans: list[tuple[str, int]]) -> None:
    """Every statement, in its order, those of the sets too; each has passed the gate by itself."""
    asked = ASKED["k-map"]

    [found] = kanon.audit("people", COLUMNS, engine=session, **asked).tables

    ran = [sql for sql, _ in plans if "kanon_k_map" in sql]
    assert len(ran) > 3
    assert set(ran) <= set(found.sql.values())
    sets = [name for name in found.sql if name.startswith("kanon_k_map")]
    assert all(re.search(rf"\b{name}\b", "\n".join(ran)) for name in sets)
    assert max(scans(sql, "spark") for sql in ran) <= MOST
    [compiled] = kanon.compile("people", COLUMNS, engine=session, **asked).tables
    assert "-- Dialect    spark, as executed\n" in compiled.steps["classes"]
    assert "executed as one statement for each CTE" in compiled.steps["k_map_register"]


def test_no_plan_of_a_search_scans_more_than_a_set_for_each_column(
    session: Any, plans: list[tuple[str, int]]
) -> None:
    """The sets of Datafly, of its release and of what it loses are read from the cache."""
    levels = {"zip": {"levels": [{"mask": "right"}]}, "age": {"levels": [{"width": 5}]}, "sex": {}}

    found = kanon.anonymize("people", levels, k=12, sensitive="person", engine=session)

    assert max(leaves for _, leaves in plans) <= 1 + len(levels)
    assert any("kanon_private_marked_records" in sql for sql, _ in plans)
    expected = kanon.anonymize(PEOPLE, levels, k=12, sensitive="person")
    assert found.anonymization.levels == expected.anonymization.levels
    assert found.anonymization.metrics == expected.anonymization.metrics
    assert found.tables[0].summary == expected.tables[0].summary
    assert names_in(session) == ["people", "register"]


def test_a_view_that_was_not_dropped_is_dropped_later(session: Any) -> None:
    engine = Spark(session)
    engine.materialise("kanon_kept", 'select "zip" from "people"')
    catalog = engine._session.catalog

    class Failing:
        def dropTempView(self, name: str) -> None:
            raise RuntimeError

    engine._session.__dict__["catalog"] = Failing()
    with pytest.raises(kanon.EngineError):
        engine.drop("kanon_kept")
    engine.drop_all()
    engine._session.__dict__["catalog"] = catalog
    assert "kanon_kept" in names_in(session)
    engine.close()
    assert names_in(session) == ["people", "register"]


def test_a_failure_and_an_interrupt_leave_no_view(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Spark._answer

    for error in (KeyboardInterrupt, RuntimeError):

        def fails(self: Spark, sql: str, most: int, error: Any = error) -> Any:
            if "kanon_k_map" in sql:
                assert any("kanon_k_map" in name for name in names_in(session))
                raise error
            return answer(self, sql, most)

        monkeypatch.setattr(Spark, "_answer", fails)
        if error is KeyboardInterrupt:
            with pytest.raises(KeyboardInterrupt):
                kanon.audit("people", COLUMNS, engine=session, **ASKED["k-map"])
        else:
            result = kanon.audit("people", COLUMNS, engine=session, **ASKED["k-map"])
            assert result.status == "error"
        assert names_in(session) == ["people", "register"]


def test_a_name_that_is_taken_becomes_a_cte(session: Any) -> None:
    engine = Spark(session)
    session.createDataFrame(pa.table({"x": [7]})).createTempView("kanon_taken")

    engine.name_set(
        "kanon_taken", cached=True, sql='select "zip" from "people" where "zip" is not null'
    )

    sql = "select count(*) as n from kanon_taken"
    require_select(sql, frozenset(["kanon_taken"]))
    assert engine.query(sql) == [{"n": 60}]
    engine.close()
    assert session.table("kanon_taken").collect()[0][0] == 7
