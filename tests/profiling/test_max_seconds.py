"""A profile that may take so long: what is measured by then, said as such."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from commands import run

import kanon_sql as kanon
from kanon_sql.engines.duckdb import engine
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.results.stored import result_of

PARTS = ("columns", "together", "subsets", "special_uniques", "ranking")
ASKED: dict[str, Any] = {"columns": ["a", "b", "c", "d"], "subsets": 2, "suda": 2}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "people.parquet"
    duckdb.sql("select i % 3 as a, i % 4 as b, i % 5 as c, i as d from range(50) as t(i)")\
        .write_parquet(str(path))  # fmt: skip
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def stalled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Lets the statements that contain a text run until they are cancelled."""
    query, make, open_hub = DuckDBEngine.query, DuckDBEngine._make, engine.open_hub
    texts: list[str] = []
    endless = "select count(waited(i)) as kanon_n from range(10000000) t(i)"

    def opened(*asked: Any) -> Any:
        hub = open_hub(*asked)
        hub.create_function("waited", waited, ["BIGINT"], "BIGINT", side_effects=True)
        return hub

    def asked(self: DuckDBEngine, sql: str) -> Any:
        return query(self, endless if any(text in sql for text in texts) else sql)

    def made(self: DuckDBEngine, name: str, kind: Any, sql: str, parameters: Any = ()) -> None:
        sql = endless if any(text in f"{name} {sql}" for text in texts) else sql
        make(self, name, kind, sql, parameters)

    monkeypatch.setattr(engine, "open_hub", opened)
    monkeypatch.setattr(DuckDBEngine, "query", asked)
    monkeypatch.setattr(DuckDBEngine, "_make", made)
    return texts.append


def waited(number: int) -> int:
    """A number of a long range, after a pause now and then that leaves the processor to others."""
    if number % 1024 == 0:
        time.sleep(0.05)
    return number


def profiled(table: Path, **asked: Any) -> Any:
    started = time.monotonic()
    found = kanon.profile(table, **ASKED | asked).tables[0]
    assert time.monotonic() - started < 60
    return found


def test_a_profile_in_time_is_that_without_a_limit(table: Path) -> None:
    plain = {**kanon.profile(table, **ASKED).tables[0].to_dict(), "sql": None}

    limited = {**profiled(table, max_seconds=600).to_dict(), "sql": None}

    assert limited == plain
    assert "stopped" not in plain


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stalls", "missing"),
    [
        ("kanon_shortest", PARTS),
        ("raw_combinations", PARTS[1:]),
        ("codes_combinations", PARTS[1:]),
        ("10 as kanon_set", PARTS[2:]),
        ("uniques_1", PARTS[3:]),
        ("kanon_of_size", PARTS[3:]),
    ],
)
def test_what_comes_after_the_time_is_missing(
    table: Path, stalled: Any, stalls: str, missing: tuple[str, ...]
) -> None:
    whole = kanon.profile(table, **ASKED).tables[0]
    stalled(stalls)

    found = profiled(table, max_seconds=4)

    assert found.status == "measured"
    assert found.stopped.missing == missing
    assert found.stopped.max_seconds == 4
    assert found.summary == whole.summary
    assert found.warnings[0].startswith("Stopped after 4 seconds (max_seconds). Not measured: ")
    assert (found.together is None) == ("together" in missing)
    assert found.special_uniques is None
    assert all(each.rank is None for each in found.columns)
    known = {each.column: each.distinct for each in whole.columns}
    assert all(known[each.column] == each.distinct for each in found.columns)


@pytest.mark.slow
def test_the_sets_measured_by_then_are_told(table: Path, stalled: Any) -> None:
    """Batches of four: those of single columns, and the first of pairs."""
    whole = {each.columns: each for each in kanon.profile(table, **ASKED).tables[0].subsets}
    stalled("9 as kanon_set")

    found = profiled(table, max_seconds=4)

    measured = ["a", "b", "c", "d", "ab", "ac", "ad", "bc"]
    assert {each.columns: each for each in found.subsets} == {
        tuple(columns): whole[tuple(columns)] for columns in measured
    }
    assert (found.stopped.sets_measured, found.stopped.sets) == (8, 10)
    assert "2 of the 10 sets of columns; special uniques" in found.warnings[0]


@pytest.mark.slow
def test_it_is_on_the_screen_in_the_json_and_in_what_is_stored(table: Path, stalled: Any) -> None:
    stalled("9 as kanon_set")
    arguments = ["profile", "people.parquet", "--columns", "a,b,c,d", "--subsets", "2"]

    shown = run(*arguments, "--max-seconds", "4")
    written = run(*arguments, "--max-seconds", "4", "--format", "json")

    assert (shown.exit_code, written.exit_code) == (0, 0)
    assert "Stopped after 4 seconds (--max-seconds)" in shown.stdout
    told = json.loads(written.stdout)["tables"][0]["stopped"]
    assert told == {
        "max_seconds": 4, "missing": ["subsets", "ranking"], "sets_measured": 8, "sets": 10,
    }  # fmt: skip
    assert result_of(written.stdout).tables[0].stopped.missing == ("subsets", "ranking")


@pytest.mark.slow
def test_of_quasi_identifiers_too(table: Path, stalled: Any) -> None:
    asked: dict[str, Any] = {"quasi_identifiers": ["a", "b"], "sensitive": "c"}
    whole = kanon.profile(table, **asked).tables[0]
    stalled("kanon_confidence_0")

    found = kanon.profile(table, **asked, subsets=1, max_seconds=4).tables[0]

    assert found.stopped.missing == ("elimination",)
    assert (found.attacker_knows, found.without) == (whole.attacker_knows, whole.without)
    assert len(found.subsets) == 2
    stalled("kanon_uniques")
    found = kanon.profile(table, **asked, subsets=1, max_seconds=4).tables[0]
    assert found.stopped.missing == ("subsets", "attacker_knows", "without", "elimination")
    assert found.summary == whole.summary


@pytest.mark.slow
@pytest.mark.parametrize("quasi_identifiers", [(), ("a",)], ids=["alone", "with a QI"])
@pytest.mark.parametrize(
    ("stalls", "points"), [("kanon_events < 3", 2), ("kanon_ordered_pairs", 0)]
)
def test_the_known_events_measured_by_then_are_told(
    table: Path,
    stalled: Any,
    tmp_path: Path,
    quasi_identifiers: tuple[str, ...],
    stalls: str,
    points: int,
) -> None:
    visits = tmp_path / "visits.parquet"
    duckdb.sql("select i % 9 as who, i % 9 % 2 as a, i % 5 as b from range(40) as t(i)")\
        .write_parquet(str(visits))  # fmt: skip
    asked: dict[str, Any] = {
        "quasi_identifiers": quasi_identifiers, "entity": "who", "events": ["b"],
        "known": [1, 2, 3],
    }  # fmt: skip
    whole = kanon.profile(visits, **asked).tables[0]
    stalled(stalls)

    found = kanon.profile(visits, **asked, max_seconds=4).tables[0]

    assert (found.status, found.stopped.missing) == ("measured", ("known_events",))
    assert found.warnings[0].endswith("Not measured: what more known events tell.")
    assert (found.events, found.summary) == (whole.events, whole.summary)
    measured = found.known_events.points if found.known_events else ()
    assert measured == whole.known_events.points[:points]
    assert (found.attacker_knows, found.without) == (whole.attacker_knows, whole.without)


def test_nothing_known_by_then_is_a_failure(table: Path, stalled: Any) -> None:
    stalled("from")

    failed = run("profile", "people.parquet", "--max-seconds", "1")

    assert (failed.exit_code, failed.stdout) == (3, "")
    assert "--max-seconds: nothing was known after 1 s. Allow more." in failed.stderr


@pytest.mark.slow
def test_scores_that_are_not_computed_are_not_written(table: Path, stalled: Any) -> None:
    stalled("uniques_1")

    profiled(table, max_seconds=4, scores="scores.csv", show_values=True)

    assert not Path("scores.csv").exists()


def test_the_limit_of_all_is_still_one(table: Path, stalled: Any) -> None:
    stalled("uniques_1")

    failed = kanon.profile(table, **ASKED, timeout=1, max_seconds=60)

    assert failed.exit_code == 3
    assert "time limit" in str(failed.tables[0].error)


def test_the_progress_is_the_sets_that_are_measured(table: Path) -> None:
    from kanon_sql.engines.run_options import RunOptions
    from kanon_sql.profiling.profile_plan import Identifying
    from kanon_sql.profiling.profiler import profile
    from kanon_sql.question.arguments import spec_from_arguments

    spec = spec_from_arguments(table, ["a", "b", "c", "d"], (), (), None, None, {})
    seen = []

    def watch(question: str, progress: Any) -> None:
        if "share the values of each set" in question:
            seen.append(progress())

    profile(spec, RunOptions(watch=watch, max_seconds=600), identifying=Identifying(subsets=2))

    assert seen == ["", "0 of 10 sets", "4 of 10 sets", "8 of 10 sets"]
