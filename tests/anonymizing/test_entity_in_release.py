"""The entity in a release: kept, replaced by random numbers, or left out."""

from __future__ import annotations

import json
import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner

import kanon_sql as kanon
from kanon_sql.cli.main import main

ALGORITHMS = ["datafly", "optimal", "local"]
LADDER = {"zip": {"levels": [{"mask": "right"}]}, "sex": {}}
PEOPLE = 60


def visits() -> pa.Table:
    """One to three visits of sixty people, in the order of their numbers."""
    drawn = random.Random(49)
    rows = [
        (f"P{person:03}", drawn.choice(["02138", "02139", "02141"]), drawn.choice("FM"))
        for person in range(PEOPLE)
        for _ in range(drawn.choice([1, 1, 2, 3]))
    ]
    columns = dict(zip(["pid", "zip", "sex"], map(list, zip(*rows, strict=True)), strict=True))
    return pa.table({**columns, "visit": list(range(len(rows)))})


def released(path: Path | None = None, **asked: Any) -> tuple[kanon.AnonymizationResult, pa.Table]:
    """The result and the records of a release of the visits."""
    result = kanon.anonymize(
        visits(), LADDER, entity="pid", insensitive="visit", output=path, **{"k": 8, **asked}
    )
    assert result.status == "holds", result
    return result, result.release.to_arrow()


def numbers(records: pa.Table) -> dict[int, int]:
    """The number that each visit's person has."""
    return dict(zip(records["visit"].to_pylist(), records["pid"].to_pylist(), strict=True))


def people() -> dict[int, str]:
    table = visits()
    return dict(zip(table["visit"].to_pylist(), table["pid"].to_pylist(), strict=True))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("suppressed", ["remove", "star"])
def test_a_person_has_one_number_and_a_number_one_person(algorithm: Any, suppressed: Any) -> None:
    result, records = released(
        entity_in_release="renumber", algorithm=algorithm, suppressed=suppressed, max_suppressed=12
    )

    pairs = {(people()[visit], number) for visit, number in numbers(records).items()}
    assert len(pairs) == len({person for person, _ in pairs}) == len({n for _, n in pairs})
    assert {number for _, number in pairs} <= set(range(1, PEOPLE + 1))
    assert result.anonymization.entity_in_release == "renumber"
    assert result.anonymization.views == ()
    assert result.tables[0].summary.people == len(pairs)


def test_numbers_are_in_no_order_of_the_entity_and_new_each_time() -> None:
    """Of two random orders of 60 people more than 45 neighbours agree with one in 10^13."""
    first, second = (numbers(released(entity_in_release="renumber")[1]) for _ in range(2))

    assert first != second
    by_person = sorted({(people()[visit], number) for visit, number in first.items()})
    ordered = [number for _, number in by_person]
    ascending = sum(one < next_one for one, next_one in pairwise(ordered))
    assert 10 < ascending < 50


def test_a_seed_draws_the_same_numbers_again_and_says_so() -> None:
    (once, first), (_, again), (_, other) = (
        released(entity_in_release="renumber", seed=seed) for seed in (7, 7, 8)
    )

    assert numbers(first) == numbers(again) != numbers(other)
    assert any("the seed can compute the numbers" in each for each in once.tables[0].warnings)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_file_and_the_result_have_the_same_numbers(
    tmp_path: Path, algorithm: Any, ending: str
) -> None:
    path = tmp_path / f"release.{ending}"

    _, records = released(path, entity_in_release="renumber", algorithm=algorithm)

    with duckdb.connect() as connection:
        rows = connection.execute("select visit, pid from read_any(?)".replace(
            "read_any", "read_csv" if ending == "csv" else "read_parquet"
        ), [str(path)]).fetchall()  # fmt: skip
    assert dict(rows) == numbers(records)


def test_only_people_whose_records_are_read_have_numbers() -> None:
    table = pa.table({"pid": ["a", "a", "b", "c"], "zip": ["1"] * 4, "keep": [1, 1, 1, 0]})

    result = kanon.anonymize(
        table, "zip", k=2, entity="pid", where="keep = 1", entity_in_release="renumber"
    )

    drawn = result.release.to_arrow()["pid"].to_pylist()
    assert sorted(drawn) in ([1, 1, 2], [1, 2, 2])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_dropped_entity_is_in_no_file_and_no_figure(
    tmp_path: Path, algorithm: Any, ending: str
) -> None:
    path = tmp_path / f"release.{ending}"

    result, records = released(path, entity_in_release="drop", algorithm=algorithm)

    [table], release = result.tables, result.anonymization.release
    assert records.schema.names == ["zip", "sex", "visit"]
    assert release is not None
    assert release.columns == 3
    assert (table.entity, table.summary.people) == (None, None)
    assert table.summary.records == records.num_rows
    assert "P0" not in path.read_bytes().decode("latin-1")
    assert "pid" not in path.read_bytes().decode("latin-1")
    assert result.anonymization.before.summary.people == PEOPLE
    if ending == "parquet":
        same = kanon.audit(str(path), ["zip", "sex"], k=8)
        assert same.tables[0].summary.k == table.summary.k


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_classes_have_k_people_also_without_their_column(algorithm: Any) -> None:
    _, records = released(entity_in_release="drop", algorithm=algorithm, max_suppressed="20%")

    members: dict[tuple[str, str], set[str]] = {}
    for row in records.to_pylist():
        members.setdefault((row["zip"], row["sex"]), set()).add(people()[row["visit"]])
    assert min(map(len, members.values())) >= 8


def of_one_person() -> pa.Table:
    """A class of five records, of which four are one person's."""
    return pa.table({"pid": ["a", "a", "a", "a", "b"], "zip": ["1"] * 5})


@pytest.mark.parametrize("algorithm", ["datafly", "optimal"])
def test_a_check_that_only_records_pass_does_not_hold(algorithm: Any, tmp_path: Path) -> None:
    """The highest risk is one fifth of the records, and one half of the people."""
    path = tmp_path / "release.csv"
    asked: dict[str, Any] = {
        "k": 2,
        "checks": [kanon.ProsecutorRisk(max_average=0.3)],
        "algorithm": algorithm,
    }

    failed = kanon.anonymize(
        of_one_person(), "zip", entity="pid", entity_in_release="drop", output=path, **asked
    )

    assert failed.status == "violated"
    assert not path.exists()
    of_records = kanon.anonymize(of_one_person(), "zip", identifiers="pid", **asked)
    assert of_records.status == "holds"


def run(*words: str) -> Any:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect() as connection:
        connection.register("visits", visits())
        connection.execute("copy visits to 'visits.csv'")
    return tmp_path


ASKED = ("visits.csv", "--qi", "zip,sex", "--entity", "pid", "--hierarchy", "zip=mask:right",
         "--k", "8")  # fmt: skip


def test_the_seed_is_not_in_the_recorded_command(files: Path) -> None:
    done = run(
        "anonymize", *ASKED, "--entity-in-release", "renumber", "--seed", "918273",
        "--output", "release.csv", "--result", "result.json",
    )  # fmt: skip

    assert done.exit_code == 0
    result = json.loads((files / "result.json").read_text())
    assert "--entity-in-release renumber" in result["asked"]
    assert "918273" not in (files / "result.json").read_text()


def test_a_spec_says_what_becomes_of_the_entity(files: Path) -> None:
    (files / "kanon.yml").write_text(
        "version: 1\n"
        "tables:\n"
        "  - source: visits.csv\n"
        "    entity: pid\n"
        "    entity_in_release: drop\n"
        "    quasi_identifiers: {zip: {levels: [{mask: right}]}, sex: {}}\n"
        "    checks: [k_anonymity: {k: 8}]\n"
    )

    run("anonymize", "kanon.yml", "--output", "dropped.csv")
    run("anonymize", "kanon.yml", "--output", "kept.csv", "--entity-in-release", "keep")

    headers = [
        (files / name).read_text().partition("\n")[0] for name in ("dropped.csv", "kept.csv")
    ]
    assert headers == ["zip,sex,visit", "pid,zip,sex,visit"]


def test_the_page_and_the_report_say_what_became_of_it(files: Path) -> None:
    asked = ("anonymize", *ASKED, "--output", "release.csv", "--result", "result.json")

    shown = {}
    for handling in ("keep", "renumber", "drop"):
        page = run(*asked, "--entity-in-release", handling, "--overwrite").output
        run("report", "result.json", "--output", "report.html", "--overwrite")
        report = re.sub("<[^>]*>", " ", (files / "report.html").read_text())
        shown[handling] = (" ".join(page.split()), " ".join(report.split()))

    assert "replace it (--entity-in-release renumber), or end the linking" in shown["keep"][0]
    assert "is a random number in the release" in shown["renumber"][0]
    assert "identified by pid, a random number" in shown["renumber"][1]
    assert "nothing links the records of a person" in shown["drop"][0]
    assert "the release lacks the column by which its checks also hold" in shown["drop"][1]
