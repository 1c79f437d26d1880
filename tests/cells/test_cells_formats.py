"""A published table in every format: what is counted, and what each of them says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from commands import run

LEDGER = "region,sector,firm,turnover\n" + "".join(
    f"{region},{sector},f{number % 7},{10 + number}\n"
    for region, sector, many in (("N", "a", 9), ("N", "b", 2), ("S", "a", 8), ("S", "b", 7))
    for number in range(many)
)
RULES = ("--threshold", "5", "--dominance", "2,40", "--p-percent", "10", "--derivable")
FORMATS = ("human", "json", "markdown", "junit", "sarif", "github", "openlineage")
KEYS = re.compile(r'min_contributors|"contributors?": null|\\"?kanon_contributors')


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("ledger.csv").write_text(LEDGER, encoding="utf-8")
    return "ledger.csv"


def of_ledger(ledger: str, *more: str) -> Any:
    return run("tables", ledger, "--by", "region,sector", "--value", "turnover", *RULES, *more)


@pytest.mark.parametrize("form", [each for each in FORMATS if each not in ("json", "sarif")])
def test_records_are_called_records_where_nobody_says_whose_they_are(
    ledger: str, form: str
) -> None:
    of_records = of_ledger(ledger, "--format", form)
    of_firms = of_ledger(ledger, "--contributor", "firm", "--format", form)

    assert (of_records.exit_code, of_firms.exit_code) == (1, 1)
    assert "contributor" not in KEYS.sub("", of_records.stdout)
    assert "has 2 records, asked for 5" in of_records.stdout or form == "openlineage"
    assert "has 2 contributors, asked for 5" in of_firms.stdout or form == "openlineage"


def test_a_measured_table_is_advised_in_its_own_words(ledger: str) -> None:
    of_records = run("tables", ledger, "--by", "region")
    of_firms = run("tables", ledger, "--by", "region", "--contributor", "firm")

    assert "fewer than 10 records" in " ".join(of_records.stdout.split())
    assert "fewer than 10 contributors" in " ".join(of_firms.stdout.split())


def test_the_outcomes_agree_in_every_format(ledger: str) -> None:
    found = {form: of_ledger(ledger, "--format", form) for form in FORMATS}

    assert {each.exit_code for each in found.values()} == {1}
    checks = json.loads(found["json"].stdout)["tables"][0]["checks"]
    violated = [each["model"] for each in checks if each["holds"] is False]
    suites = ElementTree.fromstring(found["junit"].stdout)
    assert [each.get("type") for each in suites.iter("failure")] == violated
    [sarif] = json.loads(found["sarif"].stdout)["runs"]
    assert [each["ruleId"] for each in sarif["results"]] == violated
    errors = [line for line in found["github"].stdout.split("\n") if line.startswith("::error")]
    assert len(errors) == len(violated)
    assert found["markdown"].stdout.count("VIOLATED") == len(violated)
    events = [json.loads(line) for line in found["openlineage"].stdout.splitlines()]
    assert [each["eventType"] for each in events] == ["START", "FAIL"]
    tests = events[1]["run"]["facets"]["test"]["tests"]
    assert [f"kanon_sql.{each}" for each in violated] == [
        each["type"] for each in tests if each["status"] == "fail"
    ]
    [dataset] = events[1]["inputs"]
    asserted = dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [each["success"] for each in asserted] == [
        each["holds"] for each in checks if each["holds"] is not None
    ]


def test_an_event_names_both_tables(ledger: str) -> None:
    Path("earlier.csv").write_text(LEDGER.replace("N,b,f1,11\n", ""), encoding="utf-8")

    result = of_ledger(ledger, "--against", "before=earlier.csv", "--format", "openlineage")

    [_, ended] = [json.loads(line) for line in result.stdout.splitlines()]
    assert [Path(each["name"]).name for each in ended["inputs"]] == ["ledger.csv", "earlier.csv"]


def test_a_decimal_comma_is_read(tmp_path: Path) -> None:
    file = tmp_path / "comma.csv"
    file.write_text("region;n\nN;1,5\nS;2,5\nTotal;4\n", encoding="utf-8")
    question = ("tables", str(file), "--by", "region", "--value", "n", "--decimal", ",")

    of_records = run(*question, "--dominance", "1,60", "--format", "json")
    of_cells = run(*question, "--published", "--magnitude", "--total-label", "Total")

    checks = json.loads(of_records.stdout)["tables"][0]["checks"]
    assert checks[0]["achieved"] == 100
    assert of_cells.exit_code == 0
    assert "3 cells: 2 inner, 1 margin" in of_cells.stdout


POINTS = """region;sex;n
N;F;12.5
N;M;7.5
N;Total;20
S;F;*
S;M;x,y
S;Total;10.25
Total;F;15.5
Total;M;<20,5
Total;Total;30.25
"""
"""Marks of which two have a comma, beside figures with decimals."""


def test_marks_stand_beside_decimal_commas(tmp_path: Path) -> None:
    points, commas, mixed = (tmp_path / f"{name}.csv" for name in ("points", "commas", "mixed"))
    points.write_text(POINTS, encoding="utf-8")
    commas.write_text(re.sub(r"(\d)\.(\d)", r"\1,\2", POINTS), encoding="utf-8")
    mixed.write_text(re.sub(r"([02])\.(\d)", r"\1,\2", POINTS), encoding="utf-8")
    question = ("--by", "region,sex", "--value", "n", "--published", "--magnitude", "--derivable")
    question += ("--suppressed", "*=1..9", "--suppressed", "x,y", "--suppressed", "<20,5=0..20.5")
    question += ("--total-label", "Total", "--show-values", "--format", "json")

    [of_points] = json.loads(run("tables", str(points), *question).stdout)["tables"]
    question += ("--decimal", ",")
    [of_commas] = json.loads(run("tables", str(commas), *question).stdout)["tables"]
    refused = run("tables", str(mixed), *question)

    assert [(row["region"], row["sex"], row["low"]) for row in of_points["intervals"]] == [
        ("S", "F", 3.0), ("S", "M", 7.25), (None, "M", 14.75),
    ]  # fmt: skip
    for part in ("summary", "checks", "intervals"):
        assert of_commas[part] == of_points[part]
    assert refused.exit_code == 2
    assert "values of n are neither a number nor a declared mark" in refused.stderr


def test_counts_stand_beside_marks_with_decimal_commas(tmp_path: Path) -> None:
    """In the table and in a second one."""
    file, other = tmp_path / "now.csv", tmp_path / "before.csv"
    file.write_text("region;n;firms\nN;12,5;12\nS;*;*\nW;7,5;3\n", encoding="utf-8")
    other.write_text("region;n;firms\nN;11,5;11\nS;*;*\nW;7,5;3\n", encoding="utf-8")
    question = ("tables", str(file), "--by", "region", "--value", "n", "--count", "firms")
    question += ("--published", "--suppressed", "*", "--decimal", ",", "--threshold", "5")

    result = run(*question, "--against", str(other), "--min-difference", "3", "--format", "json")

    [table] = json.loads(result.stdout)["tables"]
    found = {check["model"]: (check["achieved"], check["holds"]) for check in table["checks"]}
    assert found["min_contributors"] == (3, False)
    assert found["differences"] == (1, False)


def shown(*arguments: str) -> list[dict[str, Any]]:
    result = run("tables", *arguments, "--show-values", "--format", "json")
    [table] = json.loads(result.stdout)["tables"]
    assert table["holds_personal_data"] is True
    cells: list[dict[str, Any]] = table["cells"]
    return cells


def test_the_violating_cells_of_records_are_shown_to_who_asks(ledger: str) -> None:
    Path("h.csv").write_text("a,A\nb,B\n", encoding="utf-8")
    given = ("--by", "region,sector", "--hierarchy", "sector=h.csv", "--threshold", "3")

    of_counts = shown(ledger, *given)
    of_sums = shown(ledger, *given, "--value", "turnover")
    nothing = shown(ledger, *given[:-1], "1")

    small = {"region": "N", "sector": "b", "totals": [], "figure": 2}
    assert of_counts == [small, small | {"sector": "B"}]
    assert of_sums == [small | {"figure": 21}, small | {"sector": "B", "figure": 21}]
    assert nothing == []
    assert "cells" not in json.loads(of_ledger(ledger, "--format", "json").stdout)["tables"][0]


def test_the_violating_cells_as_published_are_shown_to_who_asks(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    file.write_text("region,n\nN,3\nS,12\nW,*\nTotal,27\n", encoding="utf-8")
    question = (str(file), "--by", "region", "--value", "n", "--published", "--suppressed", "*")

    found = shown(*question, "--total-label", "Total", "--threshold", "5",
                  "--check", "rounded:base=3")  # fmt: skip
    of_total = shown(*question, "--total-label", "Total", "--threshold", "30")

    assert found == [{"region": "N", "totals": [], "figure": 3}]
    assert of_total[-1] == {"region": None, "totals": ["region"], "figure": 27}
