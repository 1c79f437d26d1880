"""Several sets of columns, each with its k: specs, options, comparisons, releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from commands import run

import kanon_sql as kanon
from kanon_sql.results.baseline import Baseline

PEOPLE = "zip,sex,age\n" + "\n".join(
    f"0213{n % 3},{'FM'[n // 3 % 2]},{30 + n % 5}" for n in range(60)
)
ZIP_SEX, AGE = {"k": 10, "columns": ["zip", "sex"]}, {"k": 13, "columns": ["age"]}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "kanon.yml").write_text(
        "version: 1\n"
        "tables:\n"
        "  - source: people.csv\n"
        "    quasi_identifiers: [zip, sex, age]\n"
        "    checks:\n"
        "      - k_anonymity: {k: 2}\n"
        "      - k_anonymity: {k: 10, columns: [zip, sex]}\n"
        "      - k_anonymity: {k: 13, columns: [age]}\n"
    )
    return tmp_path


def checks_of(text: str) -> list[tuple[Any, ...]]:
    [table] = json.loads(text)["tables"]
    return [(each["parameters"], each["holds"], each["achieved"]) for each in table["checks"]]


def test_a_spec_and_the_options_ask_the_same(files: Path) -> None:
    asked = (
        *("--qi", "zip,sex,age", "--k", "2", "--format", "json"),
        *("--check", "k_anonymity:k=10,columns=zip+sex"),
        *("--check", "k_anonymity:k=13,columns=[age]"),
    )

    of_spec = run("audit", "kanon.yml", "--format", "json").stdout
    of_options = run("audit", "people.csv", *asked).stdout

    assert checks_of(of_spec) == [({"k": 2}, True, 2), (ZIP_SEX, True, 10), (AGE, False, 12)]
    assert checks_of(of_options) == checks_of(of_spec)


def test_the_short_k_replaces_the_one_of_all_columns_alone(files: Path) -> None:
    found = run("audit", "kanon.yml", "--k", "3", "--format", "json").stdout

    assert [parameters for parameters, *_ in checks_of(found)] == [{"k": 3}, ZIP_SEX, AGE]


def test_a_baseline_and_a_comparison_tell_the_sets_apart(files: Path) -> None:
    before = kanon.audit(kanon.AuditSpec.from_file(files / "kanon.yml"))
    fewer = "\n".join(PEOPLE.splitlines()[:-1])
    (files / "people.csv").write_text(fewer)
    after = kanon.audit(kanon.AuditSpec.from_file(files / "kanon.yml"))

    judged = Baseline.of([before]).applied_to(after, "count")

    by_columns = {check.parameters.get("columns"): check for check in judged.tables[0].checks}
    assert by_columns[("age",)].accepted is not True
    assert by_columns[("zip", "sex")].holds is False
    (files / "before.json").write_text(before.to_json())
    (files / "after.json").write_text(after.to_json())
    shown = run("diff", "before.json", "after.json").stdout
    assert "k-anonymity zip + sex" in shown
    assert "k-anonymity age" in shown


def test_the_statement_reads_the_records_once(files: Path) -> None:
    [table] = kanon.audit(kanon.AuditSpec.from_file(files / "kanon.yml")).tables

    assert table.sql["column_sets"].count("read_csv") == 1


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
def test_a_release_is_audited_for_the_sets(algorithm: Any, tmp_path: Path) -> None:
    """Each zip has three people, so that k holds at once; only coarser zips reach 4."""
    table = pa.table({"zip": [f"0213{n // 3}" for n in range(12)], "sex": ["F"] * 12})
    path = tmp_path / "release.csv"

    made = kanon.anonymize(
        table,
        {"zip": {"levels": [{"mask": "right"}]}, "sex": {}},
        checks=[kanon.KAnonymity(k=3), kanon.KAnonymity(k=4, columns=["zip"])],
        algorithm=algorithm,
        output=path,
    )

    of_set = next(each for each in made.checks if each.parameters.get("columns"))
    if algorithm == "optimal":
        assert (made.status, of_set.achieved) == ("holds", 12)
    else:
        assert (made.status, of_set.achieved) == ("violated", 3)
    assert path.exists() == (algorithm == "optimal")


def test_a_dbt_model_is_tested_for_the_set(files: Path) -> None:
    done = run(
        "anonymize", "people.csv", "--qi", "zip,sex,age", "--k", "2", "--emit", "dbt-model",
        "--check", "k_anonymity:k=10,columns=zip+sex", "--output", "people_released.sql",
    )  # fmt: skip
    [model] = yaml.safe_load((files / "people_released.yml").read_text())["models"]

    assert done.exit_code == 0
    asked = [
        (test["arguments"]["quasi_identifiers"], test["arguments"]["k"])
        for each in model["data_tests"]
        for name, test in each.items()
        if name == "kanon_sql.k_anonymity"
    ]
    assert asked == [(["zip", "sex", "age"], 2), (["zip", "sex"], 10)]


def test_tools_for_pipelines_name_the_set(files: Path) -> None:
    shown = run("audit", "kanon.yml", "--format", "junit").stdout

    assert "k_anonymity(k=10, columns=zip+sex)" in shown
    assert "k_anonymity(k=13, columns=age)" in shown


def test_the_classes_of_a_set_are_listed_where_it_alone_is_required() -> None:
    table = pa.table({"zip": [*"aab"], "age": [1, 1, 2]})
    of_zip = kanon.KAnonymity(k=2, columns=["zip"])

    [alone] = kanon.audit(table, ["zip", "age"], checks=[of_zip], show_values=True).tables
    [both] = kanon.audit(
        table, ["zip", "age"], checks=[of_zip, kanon.KAnonymity(k=3)], show_values=True
    ).tables

    assert alone.shown == {"small_classes": [{"zip": "b", "kanon_size": 1}]}
    assert both.shown is not None
    assert [each["age"] for each in both.shown["small_classes"]] == [2, 1]


def test_a_baseline_knows_a_set_in_any_order_and_names_its_columns(files: Path) -> None:
    asked = ("people.csv", "--qi", "zip,sex,age", "--check")
    kept = run("baseline", *asked, "k_anonymity:k=60,columns=zip+sex", "--output", "b.json")
    same = run("audit", *asked, "k_anonymity:k=60,columns=sex+zip", "--baseline", "b.json")
    other = run("audit", *asked, "k_anonymity:k=2,columns=age", "--baseline", "b.json")

    assert (kept.exit_code, same.exit_code) == (0, 0), same.stdout
    assert "k_anonymity(k=60, columns=zip+sex), which is no longer checked" in " ".join(
        other.stdout.split()
    )


def test_a_name_in_a_list_keeps_its_blanks() -> None:
    table = pa.table({"é ": [*"aab"], "n": [1, 1, 2]})
    required = kanon.KAnonymity(k=2, columns=["é "])

    [found] = kanon.audit(table, ["é ", "n"], checks=[required]).tables

    assert found.checks[0].violating_records == 1
