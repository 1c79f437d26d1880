"""What a search in Spark fetches to this machine by itself: announced, limited, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java import java_home
from sparks import local_spark

import kanon_sql as kanon
from kanon_sql.anonymizing import anonymizer, tradeoff
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.auditing import fetched_sets
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.spark.engine import Spark
from kanon_sql.profiling import profiler
from kanon_sql.profiling.profile_plan import Identifying
from kanon_sql.question.arguments import spec_from_arguments

if java_home() is None:
    pytest.skip("there is no Java 17 for Spark to run on", allow_module_level=True)

PEOPLE = pa.table(
    {
        "zip": [f"0213{n % 4}" for n in range(60)],
        "age": [20 + n % 5 for n in range(60)],
        "sex": ["FM"[n % 2] for n in range(60)],
        "person": [f"p{n}" for n in range(60)],
    }
)
LEVELS = {"zip": {"levels": [{"mask": "right"}]}, "age": {"levels": [{"width": 5}]}, "sex": {}}


@pytest.fixture
def session() -> Iterator[Any]:
    own = local_spark().newSession()
    own.createDataFrame(PEOPLE).createOrReplaceTempView("people")
    yield own
    own.catalog.clearCache()


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of rows of each batch that reaches the driver."""
    rows: list[int] = []
    answer, batches = Spark._answer, Spark._batches

    def _answer(self: Spark, sql: str, most: int) -> Any:
        names, found = answer(self, sql, most)
        rows.append(len(found))
        return names, found

    def _batches(self: Spark, sql: str, most: int) -> Any:
        for batch in batches(self, sql, most):
            rows.append(len(batch))
            yield batch

    monkeypatch.setattr(Spark, "_answer", _answer)
    monkeypatch.setattr(Spark, "_batches", _batches)
    return rows


def spec_of(quasi_identifiers: Any, **asked: Any) -> kanon.AuditSpec:
    checks = [kanon.KAnonymity(k=3)]
    return spec_from_arguments("people", quasi_identifiers, (), checks, None, None, {}, **asked)


@pytest.mark.parametrize("algorithm", ["optimal", "local"])
def test_a_search_is_that_of_duckdb_and_announced_before(
    session: Any, algorithm: Any, fetched: list[int]
) -> None:
    said: list[tuple[str, int]] = []
    run = RunOptions(session, announce=lambda text: said.append((text, max(fetched))))

    found = anonymizer.anonymize(spec_of(LEVELS), ReleaseOptions(algorithm=algorithm), run)

    here = kanon.anonymize(PEOPLE, LEVELS, k=3, algorithm=algorithm)
    assert found.anonymization.levels == here.anonymization.levels
    assert found.tables[0].summary == here.tables[0].summary
    [(text, rows_before)] = said
    assert text == (
        "20 combinations of values of zip, age and sex are fetched from spark, each once, and "
        "searched on this machine: values of quasi-identifiers leave the database."
    )
    assert rows_before < 20
    assert max(fetched) <= 20 < len(PEOPLE)
    assert any("were fetched from spark" in each for each in found.tables[0].warnings)


def test_a_trade_off_is_announced_too(session: Any, fetched: list[int]) -> None:
    said: list[str] = []
    run = RunOptions(session, announce=said.append)

    options = ReleaseOptions(algorithm="optimal")
    found = tradeoff.tradeoff(spec_of(LEVELS), options, [2, 5], run).tradeoff

    here = kanon.tradeoff(PEOPLE, LEVELS, k=[2, 5]).tradeoff
    assert [(each.k, each.levels) for each in found.points] == [
        (each.k, each.levels) for each in here.points
    ]
    assert len(said) == 1
    assert max(fetched) <= 20


@pytest.mark.parametrize("quasi_identifiers", [["zip", "age", "sex"], []])
def test_the_sets_of_a_profile_are_those_of_duckdb(
    session: Any, quasi_identifiers: list[str], fetched: list[int]
) -> None:
    asked: dict[str, Any] = {"subsets": 2, "suda": 2}
    named = {} if quasi_identifiers else {"columns": ["zip", "age", "sex"]}
    said: list[str] = []
    identifying = Identifying(**asked, columns=tuple(named.get("columns", ())))

    [found] = profiler.profile(
        spec_from_arguments("people", quasi_identifiers, (), (), None, None, {}),
        RunOptions(session, announce=said.append),
        identifying=identifying,
    ).tables

    [here] = kanon.profile(PEOPLE, quasi_identifiers, **asked, **named).tables
    assert (found.subsets, found.special_uniques) == (here.subsets, here.special_uniques)
    assert found.columns == here.columns
    assert [text.partition(" are fetched")[0] for text in said] == [
        "20 combinations of values of zip, age and sex"
    ]
    assert max(fetched) <= 20
    assert any("were fetched from spark" in each for each in found.warnings)


def test_datafly_people_and_given_levels_fetch_nothing(session: Any) -> None:
    said: list[str] = []
    run = RunOptions(session, announce=said.append)

    datafly = anonymizer.anonymize(spec_of(LEVELS), ReleaseOptions(), run)
    at_levels = anonymizer.anonymize(
        spec_of(LEVELS, levels={"zip": 1, "age": 1}), ReleaseOptions(), run
    )
    of_people = profiler.profile(
        spec_from_arguments("people", ["zip"], (), (), None, None, {}, entity="person"),
        run,
        identifying=Identifying(subsets=1),
    )

    assert said == []
    for found in (datafly.tables, at_levels.tables, of_people.tables):
        assert not any("were fetched" in each for each in found[0].warnings)


ABOVE = (
    r"there are 20 combinations of zip, age and sex, and no more than 19 are fetched from spark to "
    r'be searched on this machine\. Coarsen the columns with most values first, in a view: "age" '
    r'\(5 values\), "zip" \(4 values\), "sex" \(2 values\)\. Datafly'
)


def test_above_the_limit_it_says_what_to_coarsen_first(
    session: Any, fetched: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched_sets, "MOST_COMBINATIONS", 19)

    for algorithm in ("optimal", "local"):
        with pytest.raises(kanon.SpecError, match=ABOVE):
            kanon.anonymize("people", LEVELS, k=3, algorithm=algorithm, engine=session)
    with pytest.raises(kanon.SpecError, match=ABOVE):
        kanon.tradeoff("people", LEVELS, engine=session)
    with pytest.raises(kanon.SpecError, match=ABOVE):
        kanon.profile("people", ["zip", "age", "sex"], subsets=2, engine=session)

    assert max(fetched) < 20


def test_the_command_prints_it_on_stderr(
    session: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from commands import run

    from kanon_sql.engines.spark import sessions

    monkeypatch.setattr(sessions, "started", lambda url: sessions.Started(url, session))
    monkeypatch.setattr(sessions.Started, "close", lambda self: None)
    asked = ["people", "--connect", "spark:local[1]", "--qi", "zip,age"]

    found = run("anonymize", *asked, "--k", "3", "--algorithm", "optimal")
    quiet = run("profile", *asked, "--subsets", "1", "--quiet")
    monkeypatch.setattr(fetched_sets, "MOST_COMBINATIONS", 9)
    refused = run("tradeoff", *asked)

    assert found.exit_code == 0
    assert found.stderr.startswith("20 combinations of values of zip and age are fetched")
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Coarsen the columns with most values first" in refused.stderr
    assert "--algorithm datafly" in refused.stderr
