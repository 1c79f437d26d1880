"""The page that one signs: its parts, its promises, and that a browser shows it."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections import Counter
from html import escape
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import kanon_sql as kanon
from kanon_sql.cli import main
from kanon_sql.errors import InputError, SpecError
from kanon_sql.report import charts, html
from kanon_sql.report.signed import figures
from kanon_sql.report.words.models import margins
from kanon_sql.results.check import CheckResult
from kanon_sql.results.release import Metrics, Point, Tradeoff

PEOPLE = 60
SPEC = """\
version: 1
tables:
  - name: patients
    source: patients.parquet
    identifiers: [person]
    quasi_identifiers:
      zip: {levels: [{mask: right}], why: "It stands on every letter."}
      born: {clip: [1920, 2010], levels: [{width: 10}, suppress]}
    sensitive: [diagnosis]
    references: {register: {source: register.parquet}}
    release: {recipient: "The <b>ministry</b>", purpose: a study, review_by: 2027-06-30}
    checks:
      - k_anonymity: {k: 3}
      - k_map: {k: 4, reference: register}
      - t_closeness: {t: 0.5}
"""
PLANTED = ("zeppelin", "1931", "02179")
"""What stands in the table, in cells that no report may show."""


@pytest.fixture
def clinic(tmp_path, monkeypatch) -> Path:
    """A table with planted values, a register, and a spec for both."""
    monkeypatch.chdir(tmp_path)
    zips = [f"0213{n % 3}" for n in range(PEOPLE - 1)] + ["02179"]
    born = [1950 + 10 * (n % 2) for n in range(PEOPLE - 1)] + [1931]
    patients = {
        "person": [f"zeppelin {n}" for n in range(PEOPLE)],
        "zip": zips,
        "born": born,
        "ward": ["north"] * PEOPLE,
        "diagnosis": ["flu" if n % 4 else "asthma" for n in range(PEOPLE - 1)] + ["zeppelin"],
    }
    pq.write_table(pa.table(patients), "patients.parquet")
    pq.write_table(pa.table({"zip": zips * 2, "born": born * 2}), "register.parquet")
    Path("kanon.yml").write_text(SPEC)
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments), prog_name="kanon-sql")
    told = capsys.readouterr()
    return int(ended.value.code), told.out, told.err


def parts(page: str) -> list[str]:
    return re.findall(r"<h2[^>]*>\d+\. ([^<]*)</h2>", page)


@pytest.fixture
def page(clinic, capsys) -> str:
    run(capsys, "audit", "kanon.yml", "--output", "result.json")
    assert run(capsys, "report", "result.json", "--output", "report.html")[0] == 0
    return Path("report.html").read_text(encoding="utf-8")


def test_its_parts_stand_in_their_order(page):
    assert parts(page) == [
        "What was audited",
        "The finding",
        "Decision",
        "The data audited",
        "Risk",
        "Class sizes",
        "Risk curve",
        "Sensitive attributes",
        "What this page does not show",
        "Evidence",
    ]


def test_it_says_what_was_asked_found_and_for_whom(page):
    text = html_as_text(page)
    assert "k-anonymity k ≥ 3 1 −2 1 record (1.7 %) in 1 class" in text
    assert (
        "Recipient The <b>ministry</b> Purpose a study How access is given to be filled in" in text
    )
    assert "Review by 2027-06-30" in text
    assert "It stands on every letter." in text
    assert "Unassigned columns ward" in text
    assert "It repeats the audit." in text
    assert "kanon-sql audit kanon.yml The spec; … stands for values and secrets." in text
    assert re.search(r"Audited \d{4}-\d\d-\d\d By kanon-sql", text)
    assert "use differential privacy" in text


def html_as_text(page: str) -> str:
    """What a person reads of a page."""
    import html as markup

    body = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    words = markup.unescape(re.sub(r"<[^>]+>", " ", body)).replace("\u00a0", " ")
    return " ".join(words.split())


def test_it_runs_nothing_and_asks_for_nothing(page):
    assert f'<meta http-equiv="Content-Security-Policy" content="{html.POLICY}">' in page
    assert re.findall(r"<script|<link|<img|<iframe|\bon\w+=|javascript:|@import|url\(", page) == []
    assert re.findall(r'(?:src|href)="', page) == []
    assert (page.count("<h1>"), '<html lang="en">' in page, "<main>" in page) == (1, True, True)
    assert len(re.findall("<table", page)) == len(re.findall("<caption", page))


def test_no_value_of_the_table_is_on_it(page, clinic, capsys):
    run(capsys, "audit", "kanon.yml", "--show-values", "--output", "shown.json")
    assert "02179" in Path("shown.json").read_text()
    for audience in ("internal", "external"):
        _, shown, _ = run(capsys, "report", "shown.json", "--audience", audience)
        for text in (page, shown):
            assert [value for value in PLANTED if value in text] == []


def test_the_same_result_gives_the_same_bytes(page, capsys):
    _, again, _ = run(capsys, "report", "result.json")
    assert again == page
    read = kanon.from_json("result.json")
    read.to_html("python.html")
    assert Path("python.html").read_text(encoding="utf-8") == page
    assert read.to_html() == page.removesuffix("\n")


def test_the_digest_is_that_of_the_file(page):
    digest = subprocess.run(["sha256sum", "result.json"], capture_output=True, text=True).stdout
    assert digest.split()[0] in page


def test_people_outside_are_told_no_small_count(page, capsys):
    code, outside, _ = run(capsys, "report", "result.json", "--audience", "external")
    assert code == 0
    assert {"Evidence", "What each column adds", "Class sizes"} & set(parts(outside)) == set()
    text = html_as_text(outside)
    assert "fewer than 30 classes" in text
    assert "1 record" not in text
    assert "select" not in outside
    _, all_told, _ = run(
        capsys, "report", "result.json", "--audience", "external", "--min-cell", "1"
    )
    assert "1 record (1.7 %) in 1 class" in html_as_text(all_told)


@pytest.mark.parametrize(("alone", "found"), [(3, "less than 4.9 %"), (12, "4.7 %"), (0, "0 %")])
def test_no_sentence_for_people_outside_is_false(alone, found):
    zips = [f"{n % 40}" for n in range(200)] + [f"c{n}" for n in range(alone)]
    table = pa.table({"zip": zips, "illness": [("flu", "cold")[n % 2] for n, _ in enumerate(zips)]})
    bound = [kanon.SampleUniqueness(max_share=0.9), kanon.ProsecutorRisk(max_at_risk=0.9)]
    result = kanon.audit(table, ["zip"], sensitive="illness", k=5, l=2, checks=bound)
    text = html_as_text(result.to_html(audience="external"))
    assert "Of the records:" not in text
    assert "1.5 %" not in text
    assert f"share ≤ 90 % {found}" in text
    assert f"at risk ≤ 90 % {found}" in text
    assert not re.search("fewer than 10 values", text)


def test_a_page_of_costs_alone_says_nothing_of_what_is_not_there(page, capsys):
    run(capsys, "tradeoff", "patients.parquet", "--qi", "zip", "--hierarchy", "zip=mask:right",
        "--output", "costs.json")  # fmt: skip
    _, of_costs, _ = run(capsys, "report", "costs.json")
    text = html_as_text(of_costs)
    assert "Table patients.parquet" in text
    assert "on not recorded" not in text
    assert "kanon-sql compile" not in text


def test_what_each_k_costs_is_a_page_of_its_own_from_python(page, capsys):
    costs = kanon.tradeoff("patients.parquet", {"zip": {"levels": [{"mask": "right"}]}}, k=[2, 3])
    Path("costs.json").write_text(f"{costs.to_json()}\n")
    _, of_file, _ = run(capsys, "report", "costs.json")
    assert costs.to_html() == of_file.removesuffix("\n")
    costs.to_html("costs.html")
    assert Path("costs.html").read_text() == of_file
    with pytest.raises(SpecError, match="exists; add overwrite=True to replace it"):
        costs.to_html("costs.html")
    with pytest.raises(SpecError, match=r"ends with \.html"):
        costs.to_html("costs.pdf")
    beside = kanon.audit("patients.parquet", ["zip"], k=2).to_html(tradeoff=costs)
    assert "What k costs" in parts(beside)


def test_few_that_each_k_suppresses_are_not_counted_outside(page):
    levels = {"zip": {"levels": [{"mask": "right"}]}}
    costs = kanon.tradeoff("patients.parquet", levels, k=[2, 3], max_suppressed=1)
    assert [each.suppressed for each in costs.tradeoff.points] == [1, 1]
    of_both = [html_as_text(costs.to_html(audience=each)) for each in ("internal", "external")]
    told = ["fewer than 10" in each.partition("What k costs")[2] for each in of_both]
    assert told == [False, True]


def test_a_local_recoding_has_the_average_before(clinic, capsys):
    run(capsys, "anonymize", "patients.parquet", "--qi", "zip,born", "--identifiers", "person",
        "--hierarchy", "zip=mask:right", "--hierarchy", "born=width:10", "--k", "3",
        "--algorithm", "local", "--max-suppressed", "5%", "--result", "local.json",
        "--untouched", "drop")  # fmt: skip
    made = json.loads(Path("local.json").read_text())["anonymization"]["before"]["summary"]
    _, page, _ = run(capsys, "report", "local.json")
    average = f"{made['classes'] / made['records']:.1%}".replace("%", " %")
    assert f"prosecutor average {average}" in html_as_text(page)


def test_people_outside_are_told_what_changed_in_words(page, capsys):
    arguments = ("--earlier-result", "result.json", "--audience", "external")
    _, outside, _ = run(capsys, "report", "result.json", *arguments)
    assert "Since the last release" in parts(outside)
    told = html_as_text(outside).partition("Since the last release")[2]
    told = told.partition("What this page does not show")[0]
    assert "same k-anonymity VIOLATED" in told
    assert not re.search(r"\d+ (records?|classes)|→ \d", told)


def test_a_release_says_what_became_of_each_column(clinic, capsys):
    code, _, _ = run(
        capsys, "anonymize", "kanon.yml", "--output", "release.csv", "--result", "release.json",
        "--untouched", "drop", "--max-suppressed", "3",
    )  # fmt: skip
    assert code == 0
    run(capsys, "audit", "kanon.yml", "--output", "before.json")
    run(capsys, "profile", "kanon.yml", "--output", "profile.json")
    code, page, _ = run(
        capsys, "report", "release.json", "--earlier-result", "before.json",
        "--profile", "profile.json",
    )  # fmt: skip
    text = html_as_text(page)
    assert code == 0
    assert parts(page)[4:5] == ["What was lost"]
    assert parts(page)[8:11] == [
        "What each column adds", "Sensitive attributes", "Since the last release",
    ]  # fmt: skip
    assert "Records before 60" in text
    assert "before threshold after" in text
    assert "prosecutor highest 100 % 33.33 %" in text
    assert [value for value in PLANTED if value in page] == []


def test_a_local_recoding_is_read_back_and_told(clinic, capsys):
    code, _, _ = run(
        capsys, "anonymize", "patients.parquet", "--qi", "zip,born", "--hierarchy",
        "zip=mask:right", "--hierarchy", "born=width:10,100", "--identifiers", "person", "--k", "5",
        "--algorithm", "local", "--untouched", "drop", "--result", "local.json",
    )  # fmt: skip
    assert code == 0
    read = kanon.from_json("local.json")
    assert read.to_dict() == json.loads(Path("local.json").read_text(encoding="utf-8"))
    code, page, _ = run(capsys, "report", "local.json")
    assert (code, "only as coarse as each class needs: levels " in html_as_text(page)) == (0, True)


def test_what_each_k_costs_marks_the_chosen_one(page, capsys):
    points = [
        Point(k, {"zip": 1}, {"zip": "mask 1"}, k, 9, Metrics(None, lost, *[None] * 5, {}), 0.0)
        for k, lost in ((2, 0.1), (3, 0.25), (5, 0.5))
    ]
    found = Tradeoff("people.csv", "duckdb", 100, "loss", 0, "optimal", tuple(points), None)
    costs = {"kanon_sql": "0.1.0", "status": "measured", "tradeoff": found.to_dict()}
    Path("costs.json").write_text(json.dumps(costs))
    code, alone, _ = run(capsys, "report", "costs.json")
    assert (code, "What k costs" in parts(alone)) == (0, True)
    _, beside, _ = run(capsys, "report", "result.json", "--tradeoff", "costs.json")
    assert "3 3 25.0 % chosen · zip 1" in html_as_text(beside)


def test_a_filled_worksheet_is_quoted_in_counts(page, capsys):
    rows = ["number,zip,class_size,tried_with,name_found,sure,correct,minutes"]
    rows += [f"{n},02179,1,a list,Zeppelin,yes,{'yes' if n == 1 else 'no'},3" for n in (1, 2)]
    Path("filled.csv").write_text("\n".join(rows) + "\n")
    code, told, _ = run(capsys, "report", "result.json", "--worksheet", "filled.csv")
    text = html_as_text(told)
    assert (code, "1 re-identified: 50.0 % of the records tried" in text) == (0, True)
    assert [value for value in (*PLANTED, "Zeppelin") if value in told] == []
    _, outside, _ = run(
        capsys, "report", "result.json", "--worksheet", "filled.csv", "--audience", "external"
    )
    assert "re-identified" not in outside
    code, _, err = run(capsys, "report", "result.json", "--worksheet", "result.json")
    assert (code, "is no worksheet" in err) == (2, True)


def test_a_page_to_sign_asks_for_no_library(page):
    assert "<svg" in page
    assert "pip install" not in page


@pytest.mark.parametrize(("known", "curves"), [((1,), 2), ((1, 2, 4), 2), ((4, 5), 1)])
def test_known_events_are_a_table_and_a_curve(known, curves, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"p{n},w{n % 5},{n % 3}\np{n},w{n % 7},{n % 4}" for n in range(40)]
    Path("visits.csv").write_text("\n".join(["person,ward,month", *rows]) + "\n")
    checks = [part for m in known for part in ("--check", f"known_events:m={m},sample=100")]
    asked = ["--entity", "person", "--events", "ward,month", *checks]
    assert run(capsys, "audit", "visits.csv", *asked, "--output", "r.json")[0] == 0
    code, told, err = run(capsys, "report", "r.json")
    [chart] = re.findall(r"<svg.*?</svg>", told, flags=re.DOTALL)
    drawn = [m for m in known if m > 3]
    assert (code, err) == (0, "")
    assert (chart.count("<path"), chart.count("<circle")) == (curves, 2 * len(known) - len(drawn))
    assert "Alone, by how many of a person's events are known" in html_as_text(told)
    assert ("40 people were attacked with the seed 1" in html_as_text(told)) is bool(drawn)
    _, outside, _ = run(capsys, "report", "r.json", "--audience", "external")
    assert "<svg" not in outside


def test_names_are_text_and_never_markup(page, capsys):
    hostile = "<script>alert(1)</script>\"'\u202e\u200f" + "x" * 10_000
    result = json.loads(Path("result.json").read_text(encoding="utf-8"))
    table = result["tables"][0]
    del result["seal"]
    table["name"] = hostile
    table["quasi_identifiers"] = [hostile, "born"]
    table["warnings"] = [hostile]
    table["sql"] = {hostile: hostile}
    Path("hostile.json").write_text(json.dumps(result), encoding="utf-8")
    code, page, err = run(capsys, "report", "hostile.json")
    assert (code, err) == (0, "")
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\u200f" not in page
    assert page.count("<h1>") == 1
    assert "x" * 1_000 not in re.sub("<pre.*?</pre>", "", page, flags=re.DOTALL)


WRONG = {
    "{": "this is not JSON",
    "[1, 2]": "is nothing that kanon-sql wrote",
    '{"a": 1}': "is nothing that kanon-sql wrote",
    '{"kanon_sql": "99.0.0", "format": 2, "tables": []}': "was written in format 2",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_result_is_refused(text, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("wrong.json").write_text(text)
    code, out, err = run(capsys, "report", "wrong.json", "--output", "report.html")
    assert (code, out, WRONG[text] in err) == (2, "", True)
    assert not Path("report.html").exists()


def test_a_value_where_a_count_belongs_is_refused_and_not_told(page, capsys):
    whole = json.loads(Path("result.json").read_text(encoding="utf-8"))
    for place in ("records", "k", "uniques"):
        table = {**whole["tables"][0], "summary": {**whole["tables"][0]["summary"]}}
        table["summary"][place] = "Zeppelin"
        Path("wrong.json").write_text(json.dumps({**whole, "tables": [table]}))
        code, out, err = run(capsys, "report", "wrong.json")
        assert (code, out, "Zeppelin" in err, f"summary.{place}" in err) == (2, "", False, True)
    check = {**whole["tables"][0]["checks"][1], "unmatched_classes": "Zeppelin", "achieved": 0}
    table = {**whole["tables"][0], "checks": [check]}
    Path("wrong.json").write_text(json.dumps({**whole, "tables": [table]}))
    code, out, err = run(capsys, "report", "wrong.json")
    assert "Zeppelin" not in out + err
    check = {**whole["tables"][0]["checks"][0], "parameters": {"k": "Zeppelin"}}
    table = {**whole["tables"][0], "checks": [check]}
    Path("wrong.json").write_text(json.dumps({**whole, "tables": [table]}))
    code, out, err = run(capsys, "report", "wrong.json")
    assert (code, out, "Zeppelin" in err, "parameters.k must be" in err) == (2, "", False, True)
    cut = Path("result.json").read_text(encoding="utf-8")[: len(json.dumps(whole)) // 2]
    Path("cut.json").write_text(cut)
    code, out, err = run(capsys, "report", "cut.json")
    assert (code, out, "Was it cut off" in err) == (2, "", True)


@pytest.mark.parametrize(
    ("count", "found"), [(-3, "a number below 0"), (1.5, "a fraction"), (None, ""), ("9", "text")]
)
def test_a_count_is_a_whole_number(count, found, page, capsys):
    whole = json.loads(Path("result.json").read_text(encoding="utf-8"))
    whole["tables"][0]["histogram"][0]["records"] = count
    Path("wrong.json").write_text(json.dumps(whole))
    code, out, err = run(capsys, "report", "wrong.json")
    said = f"must be a whole number, 0 or more; found {found}"
    assert (code, out, said in err) == (2, "", True)


@pytest.mark.parametrize("number", ["9" * 400, "1e999", "-1e999"])
@pytest.mark.parametrize("place", ["achieved", "violating_records", "matched"])
def test_a_number_to_which_nothing_counts_is_refused(number, place, page, capsys):
    whole = json.loads(Path("result.json").read_text(encoding="utf-8"))
    whole["tables"][0]["checks"][0][place] = "HERE"
    Path("wrong.json").write_text(json.dumps(whole).replace('"HERE"', number))
    code, out, err = run(capsys, "report", "wrong.json")
    assert (code, out) == (2, "")
    assert "wrong.json holds a number to which nothing can have been counted." in err


@pytest.mark.parametrize("claimed", ["holds", "measured", "accepted"])
def test_a_status_that_its_checks_deny_is_not_signed(claimed, page, capsys):
    whole = json.loads(Path("result.json").read_text(encoding="utf-8"))
    assert whole["tables"][0]["status"] == "violated"
    whole["tables"][0]["status"] = claimed
    Path("wrong.json").write_text(json.dumps(whole))
    code, out, err = run(capsys, "report", "wrong.json")
    said = "wrong.json: the seal contradicts the result. Was the file edited?"
    assert (code, out, said in err) == (2, "", True)


def test_what_a_baseline_accepted_is_signed_as_that_alone(page, capsys):
    run(capsys, "baseline", "result.json", "--output", "accepted.json")
    held = ("audit", "kanon.yml", "--baseline", "accepted.json", "--output", "held.json")
    assert run(capsys, *held)[0] == 0
    code, told, _ = run(capsys, "report", "held.json")
    assert (code, "accepted" in html_as_text(told)) == (0, True)
    whole = json.loads(Path("result.json").read_text(encoding="utf-8"))
    for check in whole["tables"][0]["checks"]:
        check["accepted"] = check["holds"] is False
        check["baseline"] = {"holds": False, "worse": [], "better": []}
    whole["tables"][0]["status"] = whole["status"] = "accepted"
    Path("claimed.json").write_text(json.dumps(whole))
    assert run(capsys, "report", "claimed.json", "--output", "claimed.html")[0] == 2


def test_a_result_of_another_command_is_called_so(page, capsys):
    commands = {
        "costs.json": ("tradeoff", "--k", "2,3", "--qi", "zip", "--hierarchy", "zip=mask:right"),
        "columns.json": ("profile",),
    }
    for name, (command, *options) in commands.items():
        run(capsys, command, "patients.parquet", *options, "--output", name)
    code, _, err = run(capsys, "report", "result.json", "--earlier-result", "costs.json")
    assert (code, "costs.json is a result of tradeoff" in err) == (2, True)
    code, _, err = run(capsys, "report", "columns.json")
    assert (code, "report RESULT.json --profile columns.json" in err) == (2, True)


def test_a_report_is_only_written_where_it_may_be(page, capsys):
    for arguments, said in (
        (["--output", "report.html"], "exists; add --overwrite to replace it"),
        (["--output", "report.pdf"], "ends with .html"),
        (["--output", "nowhere/report.html"], "there is no folder"),
        (["--output", "new.html", "--profile", "result.json"], "is no profile"),
        (["--output", "new.html", "--tradeoff", "result.json"], "is no result of tradeoff"),
    ):
        code, out, err = run(capsys, "report", "result.json", *arguments)
        assert (code, out, said in err) == (2, "", True), err
    assert not Path("new.html").exists()
    result = kanon.from_json("result.json")
    with pytest.raises(SpecError, match="exists; add overwrite=True to replace it"):
        result.to_html("report.html")
    with pytest.raises(SpecError, match=r'no parameter "force"\. Did you mean "overwr'):
        result.to_html("report.html", force=True)
    result.to_html("report.html", overwrite=True)
    with pytest.raises(SpecError, match=r"ends with \.html"):
        result.to_html("report.json")
    with pytest.raises(SpecError, match="internal or external"):
        result.to_html(audience="public")
    with pytest.raises(InputError, match="is no profile"):
        result.to_html(profile="result.json")


def test_a_folder_that_takes_nothing_is_an_error_and_not_tried_for_ever(page, capsys, monkeypatch):
    tried = []

    def fail(path, *_, **__):
        tried.append(path)
        assert len(tried) == 1
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(Path, "mkdir", fail)
    ended = run(capsys, "report", "result.json", "--output", "other.html")
    assert ended == (2, "", "error: other.html can't be written: No such file or directory.\n")


def test_a_page_of_twenty_checks_is_small(clinic, capsys):
    models = [
        "k_anonymity:k=2", "homogeneity", "l_diversity:l=2", "entropy_l_diversity:l=2",
        "recursive_cl_diversity:c=2,l=2", "alpha_k_anonymity:alpha=0.5,k=2",
        "p_sensitive_k_anonymity:p=2,k=2", "t_closeness:t=0.3", "delta_disclosure:delta=1",
        "basic_beta_likeness:beta=1", "enhanced_beta_likeness:beta=1", "k_map:k=2",
        "delta_presence:min=0.1,max=0.9", "prosecutor_risk:max_highest=0.5",
        "journalist_risk:max_highest=0.5", "marketer_risk:max_average=0.5",
        "sample_uniqueness:max_share=0.1", "k_anonymity:k=5", "l_diversity:l=3", "k_map:k=9",
    ]  # fmt: skip
    checks = [part for model in models for part in ("--check", model)]
    run(
        capsys, "audit", "patients.parquet", "--qi", "zip,born", "--sensitive", "diagnosis",
        "--reference", "register.parquet", *checks, "--output", "many.json",
    )  # fmt: skip
    code, page, _ = run(capsys, "report", "many.json")
    assert (code, len(page.encode()) < 150_000) == (0, True)
    assert page.count("VIOLATED") + page.count("holds<") >= len(models)


def test_several_tables_and_tables_without_records(clinic, capsys):
    pq.write_table(pa.table({"zip": pa.array([], pa.string())}), "empty.parquet")
    Path("two.yml").write_text(
        "version: 1\ntables:\n  - {source: patients.parquet, quasi_identifiers: [zip], "
        "checks: [{k_anonymity: {k: 2}}]}\n  - {source: empty.parquet, quasi_identifiers: [zip]}\n"
    )
    run(capsys, "audit", "two.yml", "--format", "json", "--output", "two.json")
    code, page, _ = run(capsys, "report", "two.json")
    text = html_as_text(page)
    assert code == 0
    assert "empty: no data. No record was found" in text or "empty.parquet: no data" in text
    assert page.count("<h3") >= 3


def test_the_command_that_was_given_is_kept_without_what_is_secret(clinic, capsys, monkeypatch):
    monkeypatch.setenv("KANON_SQL_WHERE", "zip <> '02179'")
    asked = [
        "audit", "patients.parquet", "--check", 'alpha_k_anonymity:alpha=1,values=["zeppelin,a=b"]',
        "--qi", "zip", "--sensitive", "diagnosis", "--qi=born", "--k", "3",
    ]  # fmt: skip
    _, first, _ = run(capsys, *asked, "--format", "json")
    run(capsys, *asked, "-q", "--output", "again.json")
    again_asked = kanon.from_json("again.json").asked
    assert "asked" not in json.loads(first)
    assert again_asked == (
        "kanon-sql audit patients.parquet --check 'alpha_k_anonymity:alpha=1,values=[…]' --qi zip "
        "--sensitive diagnosis --qi born --k 3 --where 'zip <> '\"'\"'02179'\"'\"''"
    )
    monkeypatch.delenv("KANON_SQL_WHERE")
    runnable = shlex.split(again_asked.replace(",values=[…]", ""))[1:]
    _, after, _ = run(capsys, *runnable, "--format", "json")
    assert json.loads(after)["tables"][0]["summary"] == json.loads(first)["tables"][0]["summary"]


def test_the_command_of_a_release_and_of_costs_is_on_their_pages(clinic, capsys):
    how = ["patients.parquet", "--qi", "zip,born", "--hierarchy", "zip=mask:right"]
    run(capsys, "anonymize", *how, "--k", "3", "--untouched", "drop", "--output", "release.csv",
        "--result", "made.json")  # fmt: skip
    run(capsys, "tradeoff", *how, "--k", "2,3", "--output", "costs.json")
    told = {name: run(capsys, "report", f"{name}.json")[1] for name in ("made", "costs")}
    assert (
        "kanon-sql anonymize patients.parquet \\ --qi zip,born \\ --hierarchy zip=mask:right \\ "
        "--k 3 \\ --unassigned drop \\ --output release.csv" in html_as_text(told["made"])
    )
    assert "kanon-sql tradeoff patients.parquet \\ --qi zip,born" in html_as_text(told["costs"])
    run(capsys, "anonymize", *how, "--k", "3", "--algorithm", "local", "--untouched", "drop",
        "--output", "local.csv", "--result", "local.json")  # fmt: skip
    _, beside, _ = run(capsys, "report", "local.json", "--tradeoff", "costs.json")
    assert "this k was required" in html_as_text(beside)
    assert "The release is none of these: local made it, and it lost" in html_as_text(beside)
    costs = kanon.from_json("costs.json")
    assert f"{costs.to_html()}\n" == told["costs"]
    assert re.search(r"Audited \d{4}-\d\d-\d\d By", html_as_text(told["costs"]))


def test_a_result_from_python_says_that_it_stores_no_command(clinic):
    result = kanon.audit("patients.parquet", ["zip", "born"], k=3)
    assert "asked" not in result.to_dict()
    text = html_as_text(result.to_html())
    assert "does not store the command that was run" in text
    assert "kanon-sql audit patients.parquet \\ --qi" not in text


def test_charts_are_vega_lite(clinic):
    result = kanon.audit("patients.parquet", ["zip", "born"], k=3)
    sizes = result.chart("class_sizes")
    assert sizes["$schema"] == charts.SCHEMA
    assert sum(each["records"] for each in sizes["data"]["values"]) == PEOPLE
    assert result.chart("risk")["data"]["values"][-1] == {"risk": 1.0, "share": 1 / PEOPLE}
    json.dumps(sizes)
    with pytest.raises(SpecError, match='Did you mean "class_sizes"'):
        result.chart("class_size")


def test_what_each_k_costs_is_a_chart_too(clinic):
    result = kanon.tradeoff("patients.parquet", {"zip": {}}, identifiers="person", k=[2, 60])
    chart = result.chart()
    assert [each["k"] for each in chart["data"]["values"]] == [2, 60]
    assert chart["data"]["values"][-1]["lost"] == 1


def test_the_curve_is_that_of_the_histogram(clinic):
    [table] = kanon.audit("patients.parquet", ["zip", "born"], k=3).tables
    sizes = [size.size for size in table.histogram for _ in range(size.records)]
    for point in figures.risk_points(table):
        above = sum(1 / size >= point.risk - 1e-12 for size in sizes)
        assert point.share == pytest.approx(above / PEOPLE)


MARGINS = [
    (CheckResult("k_anonymity", {"k": 5}, False, 1), [("k ≥ 5", "1", "−4")]),
    (CheckResult("k_anonymity", {"k": 5}, True, 5), [("k ≥ 5", "5", "0")]),
    (CheckResult("k_anonymity", {}, None, 7), [("", "7", "")]),
    (
        CheckResult("t_closeness", {"t": 0.3, "sensitive": "s"}, True, 0.25),
        [("t ≤ 0.3", "0.25", "+0.05")],
    ),
    (CheckResult("homogeneity", {"sensitive": "s"}, False, 3), [("none", "3", "−3")]),
    (
        CheckResult("recursive_cl_diversity", {"c": 2, "l": 3, "sensitive": "s"}, False, 2.0),
        [("c < 2", "2", "−0")],
    ),
    (
        CheckResult(
            "prosecutor_risk",
            {"max_highest": 0.09, "max_average": 0.05, "threshold": 0.2},
            False,
            1 / 11,
            details={"average": 0.04, "at_risk": 0.0},
        ),
        [("highest ≤ 9 %", "9.09 %", "−0.09 points"), ("average ≤ 5 %", "4 %", "+1 points")],
    ),
    (
        CheckResult("delta_presence", {"min": 0.1, "max": 0.5}, False, {"min": 0.0, "max": 0.4}),
        [("least ≥ 0.1", "0", "−0.1"), ("greatest ≤ 0.5", "0.4", "+0.1")],
    ),
]


@pytest.mark.parametrize(("check", "found"), MARGINS)
def test_a_margin_says_how_far_the_bound_is(check, found):
    plain = [tuple(part.replace("\u00a0", " ") for part in each[:3]) for each in margins(check)]
    assert plain == found


def test_people_of_two_releases_are_a_share_of_those_in_both():
    zips = ["a", "a", "b", "b", *"cdefgh"]
    now = pa.table({"zip": zips, "id": [str(n) for n in range(10)]})
    then = pa.table({"zip": ["a", "a", "b", "c"], "id": [str(n) for n in range(4)]})
    result = kanon.audit(
        now, ["zip"], entity="id", earlier_releases={"old": {"source": then}},
        checks=kanon.ComposedKAnonymity(k=2),
    )  # fmt: skip
    text = html_as_text(result.to_html())
    assert "2 people (50.0 %) of those in both in 2 classes of both" in text


def test_people_of_a_reference_are_no_share_of_the_release():
    release = pa.table({"zip": ["a", "a"]})
    register = pa.table({"zip": ["a", "a", "b", "b", "b"]})
    result = kanon.audit(
        release, ["zip"], references={"register": {"source": register}},
        checks=kanon.DeltaPresence(min=0.1, max=0.5),
    )  # fmt: skip
    text = html_as_text(result.to_html())
    assert "5 people of reference register in 2 classes" in text
    assert "%) in 2 classes" not in text


BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


def test_a_browser_shows_it_without_a_word(page, tmp_path):
    if BROWSER is None:
        if os.environ.get("KANON_SQL_NO_SKIPS"):
            pytest.fail("there is no Chromium")
        pytest.skip("there is no Chromium")
    shown = subprocess.run(
        [
            BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}",
            "--no-pdf-header-footer", f"--print-to-pdf={tmp_path / 'report.pdf'}",
            f"file://{tmp_path / 'report.html'}",
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    assert [line for line in shown.stderr.splitlines() if "CONSOLE" in line] == []
    printed = (tmp_path / "report.pdf").read_bytes()
    pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 4 < pages < 15  # with every statement


def test_a_result_without_a_date_says_so(clinic):
    result = kanon.audit("patients.parquet", ["zip"], k=3)
    unknown = dataclasses.replace(result, audited=None)
    assert "not recorded in this result" in str(unknown.to_html())


def test_it_is_tied_to_its_files_and_quotes_the_spec(clinic, capsys):
    check = "alpha_k_anonymity: {alpha: 0.9, sensitive: diagnosis, values: [flu, zeppelin]}"
    Path("kanon.yml").write_text(f"{SPEC}      - {check}\n")
    run(capsys, "audit", "kanon.yml", "--output", "result.json")
    _, told, _ = run(capsys, "report", "result.json")
    text = html_as_text(told)
    for role, path in (("source", "patients.parquet"), ("spec", "kanon.yml")):
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert f"SHA-256 of the {role} {digest} · {path}" in text
    assert "values: …}" in text
    assert "[flu" not in told
    digest = hashlib.sha256(Path("result.json").read_bytes()).hexdigest()
    assert f'@page {{ @bottom-left {{ content: "SHA-256 {digest}"; }} }}' in told
    assert f"SHA-256: {digest}" in text.partition("Decision")[2].partition("Signature")[0]


def test_the_sql_may_be_linked_instead_of_attached(clinic, capsys):
    """The command on the page prints the statements that have its codes."""
    run(capsys, "audit", "kanon.yml", "--output", "result.json")
    _, told, _ = run(capsys, "report", "result.json", "--sql", "linked")
    linked = html_as_text(told)
    [table] = json.loads(Path("result.json").read_text())["tables"]

    assert "kanon-sql report result.json --sql attached" in linked
    assert "select" not in linked.partition("Evidence")[2].replace("The spec", "")
    for name, sql in table["sql"].items():
        assert f"{name}: {hashlib.sha256(sql.encode()).hexdigest()}" in linked
    attached = run(capsys, *linked_command(linked))[1]
    for sql in table["sql"].values():
        assert escape(sql) in attached
    assert run(capsys, "report", "result.json")[1] == attached


def linked_command(text: str) -> list[str]:
    """The words of the command that a page gives, after kanon-sql."""
    [found] = re.findall(r"kanon-sql (report \S+ --sql attached)", text)
    return found.split()


def test_only_what_runs_in_a_shell_is_said_to_be_pasted(clinic, capsys):
    pasted = "Each statement can be pasted"
    run(capsys, "audit", "patients.parquet", "--qi", "zip", "--output", "result.json")
    assert pasted in html_as_text(run(capsys, "report", "result.json")[1])
    of_python = kanon.audit(pq.read_table("patients.parquet"), ["zip"]).to_html()
    assert pasted not in html_as_text(str(of_python))
    assert "classes (can't be pasted)" in html_as_text(str(of_python))


def test_a_release_says_what_was_lost(clinic, capsys):
    run(
        capsys, "anonymize", "kanon.yml", "--output", "release.csv", "--result", "release.json",
        "--untouched", "drop", "--max-suppressed", "3",
    )  # fmt: skip
    made = json.loads(Path("release.json").read_text(encoding="utf-8"))["anonymization"]
    by_name = {each["column"]: each for each in made["distributions"]}
    # Twenty records with one ZIP code, twenty with the second, nineteen with the third, and one.
    assert by_name["zip"]["before"] == [20, 20, 19, 1, 0, 0, 0]
    assert by_name["zip"]["values_before"] == 4
    assert sum(by_name["zip"]["after"]) == 60 - made["suppressed"]
    sizes = made["before"]["histogram"]
    assert sum(each["records"] for each in sizes) == 60

    _, page, _ = run(capsys, "report", "release.json")
    lost = html_as_text(page).partition("5. What was lost")[2].partition("6. Risk")[0]
    assert f"Information lost {made['metrics']['loss']:.1%}".replace("%", " %") in lost
    assert "zip before 4 33.3 % 33.3 % 31.7 % \u2013 \u2013 \u2013 \u2013" in lost
    assert "before</text>" in page
    assert "after</text>" in page
    _, outside, _ = run(capsys, "report", "release.json", "--audience", "external")
    lost = html_as_text(outside).partition("5. What was lost")[2].partition("6. Risk")[0]
    assert "What each quasi-identifier lost" in lost
    assert "Distributions" not in lost
    assert "Information lost" not in lost  # one record was suppressed


@pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])
@pytest.mark.parametrize("nulls", ["value", "unknown"])
def test_distributions_are_those_of_the_files(clinic, capsys, algorithm, nulls):
    spec = SPEC.replace("patients.parquet", "some.csv")
    of_ward = "    insensitive: {ward: {why: all are of one}}\n"
    spec = spec.replace("    sensitive:", f"{of_ward}    sensitive_nulls: {nulls}\n    sensitive:")
    Path("kanon.yml").write_text(spec)
    kept = pq.read_table("patients.parquet").to_pylist()
    kept = [each | {"diagnosis": each["diagnosis"] if place % 7 else None}
            for place, each in enumerate(kept)]  # fmt: skip
    csv.write_csv(pa.Table.from_pylist(kept), "some.csv")
    code, _, error = run(
        capsys, "anonymize", "kanon.yml", "--output", "release.csv", "--result", "release.json",
        "--max-suppressed", "3", "--algorithm", algorithm, "--force",
    )  # fmt: skip
    assert code == 0, error
    made = json.loads(Path("release.json").read_text(encoding="utf-8"))["anonymization"]
    told = {each["column"]: each for each in made["distributions"]}
    assert list(told) == ["zip", "born", "diagnosis", "ward"]
    for name, each in told.items():
        for when, path in (("before", "some.csv"), ("after", "release.csv")):
            values = csv.read_csv(path).column(name).to_pylist()
            counted = Counter(v for v in values if name != "diagnosis" or nulls == "value" or v)
            sizes = sorted(counted.values(), reverse=True)
            ends = [*each["ranks"][1:], None]
            bins = [
                sum(sizes[a - 1 : b and b - 1]) for a, b in zip(each["ranks"], ends, strict=True)
            ]
            assert each[when] == bins, (name, when)
            assert each[f"values_{when}"] == len(sizes)


def test_a_release_that_is_one_of_the_points_is_no_other(clinic, capsys):
    asked = ("patients.parquet", "--qi", "zip,born", "--hierarchy", "born=width:10,100",
             "--identifiers", "person", "--algorithm", "local")  # fmt: skip
    run(capsys, "anonymize", *asked, "--k", "5", "--untouched", "drop", "--result", "local.json")
    for ks, is_one in (("2,5", True), ("40", False)):
        how = ("--k", ks, "--output", "costs.json", "--overwrite")
        assert run(capsys, "tradeoff", *asked, *how)[0] == 0
        _, page, _ = run(capsys, "report", "local.json", "--tradeoff", "costs.json")
        assert ("The release is none of these" not in html_as_text(page)) is is_one


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        (["known_events:m=4,sample=100,max_share=0.99"], "the one check is undecided."),
        (["known_events:m=4,sample=100,max_share=0.99", "km_anonymity:k=1,m=1"],
         "1 of 2 checks is undecided."),
    ],
)  # fmt: skip
def test_what_a_draw_leaves_undecided_is_not_signed_as_held(
    checks, said, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    visits = [(f"p{person}", ward) for person in range(20) for ward in "abcde"]
    text = "\n".join(["person,ward", *(",".join(each) for each in visits)])
    Path("visits.csv").write_text(f"{text}\n", encoding="utf-8")
    gates = [part for check in checks for part in ("--check", check)]
    asked = ["--entity", "person", "--events", "ward", *gates]
    assert run(capsys, "audit", "visits.csv", *asked, "--output", "result.json")[0] == 0
    told = html_as_text(run(capsys, "report", "result.json")[1])

    assert told.count(f"What was required of visits.csv is not shown to hold: {said}") == 2
    assert "share ≤ 99 %" in told
    assert "Events ward (unchanged); NULL is a value of its own, which no record has" in told
