"""Least cells and least differences for people outside, with a threshold and without."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from commands import run

CELLS = (("N", "a", 12), ("N", "b", 2), ("S", "a", 15), ("S", "b", 13))
BY = ("--by", "region,sector")
FORMATS = ("human", "json", "markdown", "junit", "sarif", "github", "openlineage")


POLICY = """\
policy: {name}
title: Output rules
issuer: A research centre
document: Handbook
version: "1"
address: https://rules.example
status: practice
concerns: cells
read: {{by: owner, date: 2026-01-02}}
quotes:
  - {{about: min_contributors, text: At least {n} people in every cell.}}
checks:
  - min_contributors: {{n: {n}}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger with one cell of two firms, and an earlier one that lacks three of the firms."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{region},{sector},f{region}{sector}{firm},{10 + firm}"
        for region, sector, many in CELLS
        for firm in range(many)
    ]
    head = "region,sector,firm,turnover"
    Path("now.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    Path("then.csv").write_text("\n".join([head, *rows[3:]]) + "\n", encoding="utf-8")
    for name, n in (("two", 2), ("three", 3)):
        Path(f"{name}.yml").write_text(POLICY.format(name=name, n=n), encoding="utf-8")


def words(page: str) -> str:
    body = unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.S))
    return " ".join(body.replace("\u00a0", " ").split())


def outside(*more: str, report: tuple[str, ...] = ()) -> dict[str, str]:
    """What people outside get in each format, and as a page of a stored result."""
    question = ("tables", "now.csv", *BY, *more)
    told = {
        form: run(*question, "--audience", "external", "--format", form).stdout for form in FORMATS
    }
    run(*question, "--output", "r.json", "--overwrite")
    page = run("report", "r.json", "--audience", "external", *report)
    assert page.exit_code == 0, page.stderr
    return {form: words(text) for form, text in told.items()} | {"report": words(page.stdout)}


def checks(told: dict[str, str]) -> dict[str, object]:
    found = json.loads(told["json"])["tables"][0]["checks"]
    return {f"{check['model']}{check['parameters'].get('n') or ''}": check for check in found}


def test_without_a_threshold_ten_is_the_least() -> None:
    told = outside("--against", "then.csv")

    for form in ("human", "markdown", "report"):
        assert "the smallest cell has fewer than 10 records" in told[form]
        assert "the least difference is fewer than 10" in told[form]
    for form, text in told.items():
        assert not re.search(r"has 2 records|difference is 3|achieved\W+[23]\b", text), form
    assert [check["achieved"] for check in checks(told).values()] == ["fewer than 10"] * 2
    inside = run("tables", "now.csv", *BY, "--against", "then.csv").stdout
    assert "the smallest cell has 2 records" in words(inside)
    assert "the least difference is 3" in words(inside)


@pytest.mark.parametrize(
    ("rules", "least", "difference"),
    [
        (("--threshold", "3"), "fewer than 10", "fewer than 10"),
        (("--threshold", "20", "--min-difference", "4"), "fewer than 20", "fewer than 20"),
        (("--min-difference", "30"), "fewer than 10", "fewer than 30"),
        (("--policy", "two.yml"), "2", "3"),
        (("--policy", "three.yml"), "fewer than 3", "3"),
        (("--policy", "three.yml", "--threshold", "20"), "fewer than 20", "fewer than 20"),
    ],
)
def test_a_policy_or_ten_is_the_least(rules: tuple[str, ...], least: str, difference: str) -> None:
    told = outside("--against", "then.csv", *rules)

    assert (
        f"a least count or difference below {least.removeprefix('fewer than ')} is" in told["human"]
    )
    found = {check["model"]: check["achieved"] for check in checks(told).values()}
    assert {name: str(figure).removesuffix(".0") for name, figure in found.items()} == {
        "min_contributors": least,
        "differences": difference,
    }
    assert f"the least difference is {difference}" in told["report"]


def test_the_least_of_a_report_is_min_cell() -> None:
    for least, said in (("20", "fewer than 20"), ("1", "2 records")):
        told = outside(report=("--min-cell", least))
        assert f"the smallest cell has {said}" in told["report"]


def test_a_small_cell_does_not_follow_from_shares_or_groups() -> None:
    """The two largest have all of a cell of two, of which the larger is estimated exactly; a group
    of a single member is a cell of one."""
    rules = ("--value", "turnover", "--contributor", "firm")
    told = outside(*rules, "--check", "p_percent", "--check", "dominance:n=1")

    for form in ("human", "markdown", "report"):
        assert "the two largest have more than 99 % of a cell" in told[form]
        assert "can be estimated to within less than 1 %" in told[form]
        assert "the largest contributor has 52 % of a cell at most" in told[form]
    found = [check["achieved"] for check in json.loads(told["json"])["tables"][0]["checks"]]
    assert {"more than 99", "less than 1", "fewer than 10"} <= set(found)
    Path("now.csv").write_text(
        "region,sector\n" + "N,a\n" * 20 + "S,b\n" + "W,a\nW,b\n" * 9, "utf-8"
    )
    of_groups = outside("--check", "group_disclosure")
    assert "of a single member" not in "".join(of_groups.values())
    assert checks(of_groups)["group_disclosure"]["alone"] is None
    assert "of a single member" in words(run("tables", "now.csv", *BY, "--check",
                                             "group_disclosure").stdout)  # fmt: skip


@pytest.mark.parametrize(("more", "records"), [(3, None), (12, 54), (0, 42)])
def test_records_beside_contributors_tell_no_few(more: int, records: int | None) -> None:
    with Path("now.csv").open("a", encoding="utf-8") as ledger:
        ledger.write("S,b,fSb0,7\n" * more)
    told = outside("--value", "turnover", "--contributor", "firm")

    assert json.loads(told["json"])["tables"][0]["summary"]["records"] == records
    if records is None:
        assert "now.csv · 42 contributors (column firm) · sum of turnover" in told["human"]
        assert "Read its records Contributors 42, identified by firm" in told["report"]


def test_the_page_lists_what_is_left_out() -> None:
    told = outside("--against", "then.csv")["report"]

    listed = told.partition("Left out for external readers: ")[2]
    assert listed == (
        "A smallest cell and a least difference below the threshold of a policy, or below 10 "
        "without one; what only a few contributors give; the records and the share of sensitive "
        "cells. These parts: Evidence."
    )


def test_a_stored_result_for_outsiders_is_not_signed() -> None:
    for rules in ((), ("--threshold", "2", "--value", "turnover", "--check", "p_percent")):
        run("tables", "now.csv", *BY, *rules, "--audience", "external", "--output", "x.json",
            "--overwrite")  # fmt: skip
        result = run("report", "x.json")
        assert (result.exit_code, "written for external readers" in result.stderr) == (2, True)
