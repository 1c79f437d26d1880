"""The report on a published table: what is signed, and what people outside are not told."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from commands import run

import kanon_sql as kanon
from kanon_sql.errors import SpecError
from kanon_sql.results.seal import sealed

LEDGER = "region,sector,firm,turnover\n" + "".join(
    f"{region},{sector},f{number % 9},{amount}\n"
    for region, sector, many in (("N", "a", 12), ("N", "b", 2), ("S", "a", 15), ("S", "b", 13))
    for number in range(many)
    for amount in [731 if (region, sector, number) == ("S", "b", 0) else 10 + number]
)
QUESTION = ("--by", "region,sector", "--value", "turnover", "--contributor", "firm")
POLICY = """\
policy: own-airlock
title: Our airlock
issuer: The clinic
document: Output rules
version: "2"
address: https://clinic.example/rules
read: {date: "2026-11-01", by: owner}
status: practice
concerns: cells
quotes:
  - {about: min_contributors, text: "No cell is made from fewer than 7 people."}
  - {about: dominance, text: "The two largest have at most 83.25 % of a cell."}
  - {about: p_percent, text: "Nobody is estimated to within 17.5 %."}
checks:
  - min_contributors: {n: 7}
  - dominance: {n: 2, k: 83.25}
  - p_percent: {p: 17.5}
asks_a_person: ["Is the recipient a researcher?"]
confidential: [dominance.k, min_contributors.n]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ledger.csv").write_text(LEDGER, encoding="utf-8")
    Path("airlock.yml").write_text(POLICY, encoding="utf-8")


def text_of(page: str) -> str:
    """The words of a page."""
    body = re.sub(r"<style.*?</style>", "", page, flags=re.S)
    words = html.unescape(re.sub(r"<[^>]+>", " ", body.replace("<wbr>", "")))
    return re.sub(r"\s+", " ", words.replace("\u00ad", "").replace("\u200b", ""))


def reported(*more: str, audience: str = "internal") -> str:
    run("tables", "ledger.csv", *QUESTION, *more, "--output", "r.json", "--overwrite")
    result = run("report", "r.json", "--audience", audience)
    assert (result.exit_code, result.stderr) == (0, "")
    return text_of(result.stdout)


def test_each_rule_stands_beside_the_sentence_that_it_rests_on() -> None:
    page = reported("--policy", "abs-datalab", "--derivable")

    assert "Privacy audit of the published table ledger.csv" in page
    assert "“Each cell/statistic should have at least 10 (unweighted) contributors”" in page
    assert "abs-datalab, https://www.abs.gov.au/" in page
    assert page.count("“(2,67) rule: the two largest contributors") == 1
    assert "the smallest cell has 2 contributors, asked for 10" in page
    assert "required by whoever ran it" in page
    assert "Are the unweighted counts provided with the output?" in page
    assert "One who adds and subtracts the figures that are shown." in page
    assert "9, identified by firm" in page
    assert "quasi-identifier" not in page
    assert "SHA-256 of the source" in page
    assert "kanon-sql tables ledger.csv" in page
    for heading in ("What was audited", "The finding", "The data audited", "Policies"):
        assert heading in page
    for blank in ("Conditions", "Signature", "Recipient"):
        assert blank in page


def test_what_was_not_asked_is_on_the_page() -> None:
    page = reported("--policy", "essnet-handbook")

    assert "Not checked here: p_percent, it gives no number: name yours" in page


def test_python_writes_the_same_page() -> None:
    result = kanon.tables(
        "ledger.csv",
        by=["region", "sector"],
        value="turnover",
        contributor="firm",
        policy="abs-datalab",
    )
    page = result.to_html()
    assert page is not None
    assert "the smallest cell has 2 contributors" in text_of(page)
    with pytest.raises(SpecError, match="is a published table, which has no classes"):
        result.chart("risk")


def test_two_published_tables_have_their_names() -> None:
    first = kanon.tables("ledger.csv", by=["region"], threshold=3, name="by region")
    second = kanon.tables("ledger.csv", by=["sector"], threshold=3, name="by sector")
    both = first.to_dict() | {"tables": [*first.to_dict()["tables"], *second.to_dict()["tables"]]}

    page = text_of(kanon.from_json(sealed(both)).to_html() or "")

    assert "Privacy audit of the published table by region, by sector" in page
    assert "not counted: every record is assumed to be of another contributor" in page


# --- for people outside ----------------------------------------------------------------------

TOLD = re.compile(r"83\.25|17\.5|(?<![\d.,])7(?![\d.,])|fewer than 7")
"""The confidential parameters, however they are written."""


def of_outsiders(*more: str) -> list[str]:
    """Everything that an external audience gets: each format, and the report."""
    question = ("tables", "ledger.csv", *QUESTION, *more, "--audience", "external")
    formats = ("human", "json", "markdown", "junit", "sarif", "github", "openlineage")
    return [
        *(run(*question, "--format", form).stdout for form in formats),
        reported(*more, audience="external"),
    ]


def without_hashes(text: str) -> str:
    """The text without what holds digits by chance: hashes, times, and the folder of the test."""
    text = text.replace(str(Path.cwd()), "")
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}|\d{4}-\d\d-\d\d\S*", "", text)
    return re.sub(r'time="[^"]*"|[\d.]+ s ·|seconds|/v0\.1\.0|\d-\d-\d', "", text)


def test_confidential_parameters_and_what_bounds_them_are_told_to_nobody_outside() -> None:
    internal = json.loads(
        run("tables", "ledger.csv", *QUESTION, "--policy", "airlock.yml", "--format", "json").stdout
    )
    found = [each["achieved"] for each in internal["tables"][0]["checks"]]
    assert [each is not None for each in found] == [True] * 4

    for told in of_outsiders("--policy", "airlock.yml"):
        text = without_hashes(told)
        assert not TOLD.findall(text), TOLD.findall(text)
        assert "select" not in text
        assert "No cell is made from" not in text
        assert "The two largest" not in text
    assert TOLD.search(reported("--policy", "airlock.yml"))


def test_of_a_concentration_rule_the_others_are_hidden_too() -> None:
    result = run(
        *("tables", "ledger.csv", *QUESTION, "--policy", "airlock.yml", "--dominance", "1,50"),
        *("--audience", "external", "--format", "json"),
    )

    for check in json.loads(result.stdout)["tables"][0]["checks"]:
        if check["model"] in ("dominance", "p_percent", "min_contributors"):
            assert check["achieved"] is None
            assert "confidential" in check["parameters"].values()


def test_the_parameters_that_a_spec_calls_confidential_are_hidden_in_its_report() -> None:
    Path("kanon.yml").write_text(
        "version: 1\npublished:\n  - source: ledger.csv\n    by: [region, sector]\n"
        "    value: turnover\n    confidential: [dominance.k]\n"
        "    checks: [{dominance: {n: 2, k: 83.25}}]\n",
        encoding="utf-8",
    )
    run("tables", "kanon.yml", "--output", "r.json")

    inside = text_of(run("report", "r.json").stdout)
    outside = text_of(run("report", "r.json", "--audience", "external").stdout)

    assert "83.25" in inside
    assert "83.25" not in outside
    assert "what is allowed is confidential" in outside


def test_a_size_below_any_threshold_is_pooled() -> None:
    rules = ("--threshold", "3", "--check", "min_contributors:n=10")

    told = of_outsiders(*rules)

    assert "fewer than 10 contributors" in " ".join(told[0].split())
    assert not any("has 2 contributors" in " ".join(each.split()) for each in told)
    summary = json.loads(told[1])["tables"][0]["summary"]
    assert (summary["sensitive_records"], summary["share_of_total"]) == (None, None)


def test_what_changed_hides_the_confidential_parameters_too() -> None:
    run("tables", "ledger.csv", *QUESTION, "--policy", "airlock.yml", "--output", "old.json")
    run("tables", "ledger.csv", *QUESTION, "--policy", "airlock.yml", "--output", "r.json")

    page = run("report", "r.json", "--earlier-result", "old.json", "--audience", "external")

    assert "Since the last release" in page.stdout
    assert not TOLD.findall(without_hashes(text_of(page.stdout)))


def test_what_a_baseline_says_is_hidden_too() -> None:
    run("tables", "ledger.csv", *QUESTION, "--policy", "airlock.yml", "--output", "r.json")
    run("baseline", "r.json", "--output", "base.json")
    Path("ledger.csv").write_text(LEDGER + "S,b,f1,9999\n" * 3, encoding="utf-8")

    for told in of_outsiders("--policy", "airlock.yml", "--baseline", "base.json"):
        assert not TOLD.findall(without_hashes(told))


def audited(audience: str, *more: str) -> str:
    run(
        *("audit", "ledger.csv", "--qi", "region,sector", "--policy", "airlock.yml"),
        *("--sensitive", "firm", "--l", "2", "--output", "a.json", "--overwrite"),
    )
    result = run("report", "a.json", "--audience", audience, *more)
    assert (result.exit_code, result.stderr) == (0, "")
    return text_of(result.stdout)


@pytest.mark.parametrize("more", [(), ("--min-cell", "1")])
def test_an_audit_by_a_confidential_policy_leaves_the_verdicts_alone(more: tuple[str, ...]) -> None:
    page = without_hashes(audited("external", *more))

    assert "✗ VIOLATED k-anonymity confidential" in page
    assert "so the verdicts stand alone" in page
    assert not TOLD.findall(re.sub(r"\b\d+\. [A-Z]", "", page))
    assert "k = 7 was required" in audited("internal")
    assert not re.search(r"\d\. Class sizes", page)


@pytest.mark.parametrize("more", [(), ("--min-cell", "1")])
def test_a_release_by_a_confidential_policy_tells_no_size(more: tuple[str, ...]) -> None:
    Path("kanon.yml").write_text(
        "version: 1\ntables:\n  - source: ledger.csv\n    policy: [./airlock.yml]\n"
        "    quasi_identifiers:\n      region: {hierarchy: {N: [all], S: [all]}}\n"
        "      sector: {hierarchy: {a: [all], b: [all]}}\n",
        encoding="utf-8",
    )
    run("anonymize", "kanon.yml", "--output", "rel.csv", "--result", "rel.json")

    inside = text_of(run("report", "rel.json").stdout)
    outside = text_of(run("report", "rel.json", "--audience", "external", *more).stdout)

    assert "What was lost" in inside
    assert not re.search(r"\d\. What was lost", outside)
    assert "These parts: What was lost, Risk, Class sizes, Risk curve, Evidence." in outside
    assert "Suppressed not shown" in outside
    sections = re.sub(r"\b\d+\. [A-Z]", "", without_hashes(outside))
    assert not TOLD.findall(sections)


def test_an_audit_by_a_policy_that_hides_nothing_shows_its_figures(tmp_path: Path) -> None:
    open_ = POLICY.replace("confidential: [dominance.k, min_contributors.n]\n", "")
    Path("airlock.yml").write_text(open_, encoding="utf-8")

    assert "k ≥ 7" in audited("external", "--min-cell", "1")


def test_every_string_of_a_page_is_text(tmp_path: Path) -> None:
    Path("odd.csv").write_text('"<b>x</b>",n\na,3\nb,4\n', encoding="utf-8")
    run("tables", "odd.csv", "--by", '"<b>x</b>"', "--threshold", "3", "--output", "o.json")

    page = run("report", "o.json").stdout

    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x" in page
