"""What each k costs: for each the same levels as a search of its own, and told as they are."""

from __future__ import annotations

import json
import random
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from commands import run

import kanon_sql as kanon
from kanon_sql.report import terminal
from kanon_sql.report import tradeoff as report
from kanon_sql.results.release import Metrics, Point, Search, Tradeoff

LEVELS: dict[str, Any] = {
    "zip": {"levels": [{"prefix": 4}, {"prefix": 3}, "suppress"]},
    "age": {"levels": [{"width": 10}, {"width": 20}, "suppress"]},
}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = random.Random(11)
    rows = [
        f"02{rng.choice('13')}{rng.randrange(30):02},{rng.randrange(20, 60)},{rng.choice('ab')}"
        for _ in range(120)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["zip,age,ill", *rows]) + "\n")
    return tmp_path / "people.csv"


def tradeoff(people: Path, *more: str) -> Result:
    asked = [
        "tradeoff", str(people), "--qi", "zip,age", "--hierarchy", "zip=prefix:4,3,suppress",
        "--hierarchy", "age=width:10,20,suppress", *more,
    ]  # fmt: skip
    return run(*asked)


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"max_suppressed": "5%", "metric": "precision"},
        {"max_suppressed": 6, "sensitive": "ill", "l": 2},
        {"keep": "age", "max_suppressed": "50%"},
    ],
    ids=str,
)
def test_each_point_is_what_a_search_of_its_own_finds(people: Path, asked: dict[str, Any]) -> None:
    found = kanon.tradeoff(people, LEVELS, k=[9, 2, 4, 4], **asked).tradeoff

    assert [each.k for each in found.points] == [2, 4, 9]
    for each in found.points:
        alone = kanon.anonymize(people, LEVELS, k=each.k, algorithm="optimal", **asked)
        made = alone.anonymization
        if made.reached_top:
            assert each.levels is None
            continue
        assert each.levels == made.levels
        assert (each.suppressed, each.classes) == (made.suppressed, made.classes)
        assert each.metrics is not None
        for name, value in made.metrics.to_dict().items():
            assert each.metrics.to_dict()[name] == pytest.approx(value), name


def test_the_json_has_the_points(people: Path) -> None:
    done = tradeoff(people, "--k", "2,5", "--format", "json")
    found = json.loads(done.stdout)

    assert done.exit_code == 0
    assert list(found) == ["kanon_sql", "format", "status", "tradeoff", "seal"]
    assert found["status"] == "measured"
    assert {"metric", "max_suppressed", "algorithm", "points", "search"} <= set(found["tradeoff"])
    assert [each["k"] for each in found["tradeoff"]["points"]] == [2, 5]
    assert found["tradeoff"]["search"]["optimal"]


def test_one_search_answers_all(people: Path) -> None:
    many = kanon.tradeoff(people, LEVELS).tradeoff

    assert [each.k for each in many.points] == [2, 3, 5, 8, 11, 15, 20, 50]
    assert many.search is not None
    assert many.search.looked_at <= many.search.nodes == 16


def test_people_see_a_bar_for_each(people: Path) -> None:
    done = tradeoff(people, "--k", "2,5,20,500")

    assert done.exit_code == 0
    assert "█" in done.stdout
    assert "no levels hold" in done.stdout
    assert "--algorithm optimal" in done.stdout
    command = done.stdout.index("  kanon-sql anonymize")  # as long as the paths in it
    assert not any(len(line) > 80 for line in done.stdout[:command].splitlines())


@pytest.mark.parametrize(
    ("engine", "output"), [("duckdb", "release.parquet"), ("spark", "release.sql")]
)
def test_the_next_command_writes_what_the_engine_can(
    people: Path, engine: str, output: str
) -> None:
    found = kanon.tradeoff(people, LEVELS, k=[2])
    told = str(replace(found, tradeoff=replace(found.tradeoff, engine=engine)))
    assert f'output="{output}")' in " ".join(told.split())


def test_the_next_command_runs_as_it_stands(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(people.parent)
    spec = {"tables": [{"source": "people.csv", "quasi_identifiers": LEVELS,
                        "checks": [{"k_anonymity": {"k": 3}}]}]}  # fmt: skip
    Path("asked.yml").write_text(json.dumps(spec))

    for asked in (
        ("people.csv", "--qi", "zip,age", "--hierarchy", "zip=prefix:4,3"),
        ("asked.yml",),
    ):
        done = run("tradeoff", *asked, "--k", "2,4,9", "--max-suppressed", "5%")
        text = done.stdout[done.stdout.index("  kanon-sql anonymize") :]
        _, *command = shlex.split(text[: text.index("release.parquet")].replace("\\\n", ""))
        words = " ".join(done.stdout.split())
        k = command[command.index("--k") + 1]

        assert f"To make a release with k = {k}: kanon-sql anonymize {asked[0]}" in words
        assert "--max-suppressed 5%" in words
        made = run(*command, "release.parquet", "--format", "json", "--overwrite")
        assert made.exit_code == 0, made.stderr
        assert json.loads(made.stdout)["tables"][0]["checks"][0]["parameters"] == {"k": int(k)}


@pytest.mark.parametrize(
    ("lost", "k"), [([0.1, 0.2, 0.5], 3), ([0.1, 0.4, 0.5], 2), ([0.2, 0.2, 0.2], 9)], ids=str
)
def test_the_next_command_is_for_the_k_before_the_greatest_rise(lost: list[float], k: int) -> None:
    metrics = Metrics(None, None, None, None, None, None, None, {})
    points = tuple(
        Point(each, {}, {}, 0, 1, replace(metrics, loss=cost), 0)
        for each, cost in zip((2, 3, 9), lost, strict=True)
    )
    search = Search(1, 1, None, None, True)
    found = Tradeoff("people", "duckdb", 9, "loss", 0, "optimal", points, search)
    text = " ".join(terminal.write(report.page(found)).split())

    assert f"To make a release with k = {k}: kanon-sql anonymize … --k {k} " in text


def test_where_no_levels_will_do_none_are_made(people: Path) -> None:
    done = tradeoff(people, "--k", "500")

    assert done.exit_code == 0
    assert "No levels meet the checks" in done.stdout
    assert "To make a release" not in done.stdout


def test_a_gap_that_will_do_is_told(people: Path) -> None:
    found = kanon.tradeoff(people, LEVELS, k=[3, 5], gap="50%")
    search = found.tradeoff.search

    assert search is not None
    assert search.gap is not None
    assert 0 < search.gap <= 0.5
    assert "above the least possible" in " ".join(str(found).split())


def test_where_a_larger_k_costs_nothing_more_it_is_said(people: Path) -> None:
    found = kanon.tradeoff(people, {"zip": {}, "age": {}}, k=[2, 30])

    assert "k = 30 costs nothing more than k = 2." in str(found)


def test_columns_that_can_lose_nothing_have_a_next_command(tmp_path: Path) -> None:
    (tmp_path / "alike.csv").write_text("zip,age\n" + "1,20\n" * 6)
    done = tradeoff(tmp_path / "alike.csv", "--k", "2,3")

    assert done.exit_code == 0
    assert "No k costs more than a smaller one. To make a release with k = 3:" in " ".join(
        done.stdout.split()
    )


def test_one_k_is_one_point(people: Path) -> None:
    assert len(kanon.tradeoff(people, LEVELS, k=5).tradeoff.points) == 1
    assert tradeoff(people, "--k", "5").exit_code == 0


def test_a_table_without_records_has_no_data(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("zip,age\n")
    done = tradeoff(tmp_path / "none.csv", "--format", "json")

    assert (done.exit_code, json.loads(done.stdout)["status"]) == (4, "no_data")


def test_the_result_is_written_whole(people: Path, tmp_path: Path) -> None:
    done = tradeoff(people, "--k", "2", "--output", str(tmp_path / "t.json"))

    assert (done.exit_code, done.stdout) == (0, "")
    assert json.loads((tmp_path / "t.json").read_text())["tradeoff"]["points"]


# --- by local recoding ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"max_suppressed": 6, "sensitive": "ill", "l": 2},
        {"keep": "age", "max_suppressed": "50%"},
        {"weights": {"zip": 2.5}},
    ],
    ids=str,
)
def test_each_point_is_what_a_recoding_of_its_own_loses(
    people: Path, asked: dict[str, Any]
) -> None:
    found = kanon.tradeoff(people, LEVELS, k=[9, 2, 4], algorithm="local", **asked).tradeoff
    best = kanon.tradeoff(people, LEVELS, k=[9, 2, 4], **asked).tradeoff

    assert [each.k for each in found.points] == [2, 4, 9]
    for each in found.points:
        made = kanon.anonymize(people, LEVELS, k=each.k, algorithm="local", **asked).anonymization
        assert each.levels is None
        if each.metrics is None:
            assert made.reached_top
            continue
        assert made.recoded is not None
        lost = asdict(each.metrics)
        assert lost.pop("loss_by_quasi_identifier") == made.metrics.loss_by_quasi_identifier
        assert lost == pytest.approx(
            {name: value for name, value in asdict(made.metrics).items() if name in lost}
        )
        assert (each.suppressed, each.classes) == (made.suppressed, made.classes)
        assert each.levels_by_records == made.recoded.levels_by_records
    assert found.search is None
    assert found.optimal is not None
    assert found.optimal.points == best.points


def test_both_curves_are_told_drawn_and_read_back(people: Path) -> None:
    told = tradeoff(people, "--k", "2,5", "--algorithm", "local")
    done = json.loads(
        tradeoff(people, "--k", "2,5", "--algorithm", "local", "--format", "json").stdout
    )
    read = kanon.from_json(done)

    assert told.exit_code == 0
    assert told.stdout.index("(local)") < told.stdout.index("(optimal)")
    assert done["tradeoff"]["algorithm"] == "local"
    assert done["tradeoff"]["search"] is None
    assert done["tradeoff"]["points"][0]["levels"] is None
    assert [each["k"] for each in done["tradeoff"]["optimal"]["points"]] == [2, 5]
    assert isinstance(read, kanon.TradeoffResult)
    assert read.to_dict() == done
    drawn = read.chart()["data"]["values"]
    assert [(each["algorithm"], each["k"]) for each in drawn] == [
        ("local", 2), ("local", 5), ("optimal", 2), ("optimal", 5),
    ]  # fmt: skip
