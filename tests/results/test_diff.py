"""What changed from one result to the next, and what is refused as no result."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from audits import HOLDS, LINKED, MADE_FOR_PEOPLE, VIOLATED, audited, text, with_checks
from pages import as_markdown, as_text
from releases import FEASIBLE, IN_VAIN

import kanon_sql as kanon
from kanon_sql.auditing.result import AuditResult
from kanon_sql.cli.main import main
from kanon_sql.errors import InputError
from kanon_sql.models.catalogue import ALL_MODELS, MODELS
from kanon_sql.report.signed.inputs import file_of
from kanon_sql.report.words.numbers import KEPT_TOGETHER
from kanon_sql.results.baseline import Baseline
from kanon_sql.results.check import CheckResult
from kanon_sql.results.compared import threshold_change
from kanon_sql.results.diff import SEVERAL_RELEASES, Diff, diff
from kanon_sql.results.seal import sealed
from kanon_sql.results.stored import read_result
from kanon_sql.results.table import Summary, TableResult


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("KANON_SQL_")]:
        monkeypatch.delenv(variable)


def between(old: AuditResult, new: AuditResult) -> Diff:
    """What changed between two results. They are compared as they stand, since a figure that was
    changed by itself is refused where results are read."""
    for name, result in (("old.json", old), ("new.json", new)):
        Path(name).write_text(result.to_json(), encoding="utf-8")
    return diff(file_of(old, "old.json"), file_of(new, "new.json"))


CLOSER = CheckResult(
    "t_closeness", {"t": 0.2, "sensitive": "diagnosis", "distance": "equal"}, True, 0.1875, 0, 0
)
DIVERSE = CheckResult("l_diversity", {"l": 2, "sensitive": "diagnosis"}, True, 2, 0, 0)
RELEASE = dataclasses.replace(
    HOLDS, quasi_identifiers=("zip", "birth_date", "sex"), checks=(*HOLDS.checks, CLOSER)
)
NEXT = dataclasses.replace(
    VIOLATED,
    name="release.csv",
    checks=(VIOLATED.checks[0], dataclasses.replace(HOLDS.checks[1], achieved=0), DIVERSE),
)
GONE = dataclasses.replace(HOLDS, name="gone.csv")
CAME = dataclasses.replace(HOLDS, name="came.csv")
OLD, NEW = audited(RELEASE, GONE), audited(NEXT, CAME)


# What is said


def test_people_read_what_changed_and_in_which_direction():
    assert as_text(between(OLD, NEW)) == text("diff.txt")


def test_markdown():
    assert as_markdown(between(OLD, NEW)) == text("diff.md")


def test_two_releases_are_compared_by_how_they_were_made_too():
    assert as_text(between(FEASIBLE, IN_VAIN)) == text("diff_of_releases.txt")


@pytest.mark.parametrize("width", [80, 100, 133])
def test_no_line_is_wider_than_asked(width):
    lines = as_text(between(OLD, NEW), width=width).splitlines()
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("show", [as_text, as_markdown])
@pytest.mark.parametrize(("old", "new"), [(OLD, NEW), (NEW, OLD), (OLD, OLD)])
def test_it_says_what_no_model_measures(show, old, new):
    found = between(old, new)
    assert SEVERAL_RELEASES in " ".join(show(found).split())
    assert found.to_dict()["several_releases"] == SEVERAL_RELEASES


def test_colour_adds_nothing_but_colour():
    coloured = as_text(between(OLD, NEW), colour=True)
    assert "\x1b[1;31mworse" in coloured


def test_nothing_changed():
    found = between(OLD, OLD)
    assert not found.is_worse
    assert "Nothing that these models judge got worse." in as_text(found)
    assert {check.change for table in found.tables for check in table.checks} == {"same"}


# Better and worse


def of_size(records: int, violating: int, alone: int, k: int = 2) -> TableResult:
    """A table of so many records, some in classes that are too small, some alone."""
    check = dataclasses.replace(VIOLATED.checks[0], achieved=k, violating_records=violating)
    summary = dataclasses.replace(VIOLATED.summary, records=records, uniques=alone, k=k)
    return dataclasses.replace(VIOLATED, summary=summary, checks=(check,))


@pytest.mark.parametrize(
    ("now", "by_share", "by_count"),
    [
        (of_size(4_856, 765, 110), ("better", "better"), ("worse", "worse")),
        (of_size(3_000, 500, 90), ("worse", "worse"), ("better", "better")),
        (of_size(8_000, 1_294, 200), ("same", "same"), ("worse", "worse")),
        (of_size(8_000, 647, 100, k=1), ("worse", "better"), ("worse", "same")),
    ],
    ids=["grew", "shrank", "twice", "smaller k"],
)
def test_shares_are_compared_and_not_counts(now, by_share, by_count):
    before = audited(of_size(4_000, 647, 100))
    old, new = file_of(before, "old.json"), file_of(audited(now), "new.json")

    for by, expected in (("share", by_share), ("count", by_count)):
        found = diff(old, new, by)
        assert (found.tables[0].checks[0].change, figure(found, "uniques")) == expected


@pytest.mark.parametrize(
    ("then", "now", "by_share", "by_count"),
    [
        (100, 150, "changed", "worse"),
        (100, 80, "changed", "better"),
        (0, 3, "worse", "worse"),
        (3, 0, "better", "better"),
        (100, 100, "same", "same"),
    ],
)
def test_classes_that_were_only_measured_have_no_share(then, now, by_share, by_count):
    """A table of twice the size has more of them, whatever its share of records in them is."""

    def of_classes(number: int, records: int) -> AuditResult:
        check = CheckResult("homogeneity", {"sensitive": "diagnosis"}, None, number)
        summary = dataclasses.replace(VIOLATED.summary, records=records)
        return audited(dataclasses.replace(VIOLATED, summary=summary, checks=(check,)))

    old = file_of(of_classes(then, 1_000), "old.json")
    new = file_of(of_classes(now, 2_000), "new.json")

    for by, expected in (("share", by_share), ("count", by_count)):
        assert diff(old, new, by).tables[0].checks[0].change == expected


def test_a_share_is_told_with_its_counts():
    found = between(audited(of_size(4_000, 647, 100)), audited(of_size(4_856, 765, 110)))
    said = " ".join(as_text(found, width=120).replace(KEPT_TOGETHER, " ").split())

    assert "violating records 647 of 4,000, 16.2 % → 765 of 4,856, 15.8 %" in said
    assert "uniques 100, 2.5 % 110, 2.3 % better" in said
    assert found.to_dict()["tables"][0]["checks"][0]["figures"]["violating_records"] == {
        "old": 647,
        "new": 765,
        "of": {"old": 4_000, "new": 4_856},
        "change": "better",
    }


def figure(found: Diff, name: str) -> str:
    [table] = found.tables
    return {each.name: each.change for each in (*table.summary, *table.risks)}[name]


@pytest.mark.parametrize(
    ("name", "old", "new", "change"),
    [
        ("k", 5, 4, "worse"),
        ("k", 4, 5, "better"),
        ("uniques", 0, 1, "worse"),
        ("uniques", 1, 0, "better"),
        ("records", 10, 20, "changed"),
        ("classes", 10, 20, "changed"),
        ("largest_class", 10, 10, "same"),
        ("k", 5, None, "changed"),
    ],
)
def test_of_a_summary_k_and_uniques_get_better_or_worse(name, old, new, change):
    def with_figure(value: int | None) -> AuditResult:
        return audited(dataclasses.replace(HOLDS, summary=Summary(**{name: value})))

    found = between(with_figure(old), with_figure(new))
    assert figure(found, name) == change
    assert found.is_worse == (change == "worse")


@pytest.mark.parametrize(("old", "new", "change"), [(0.1, 0.2, "worse"), (0.2, 0.1, "better")])
def test_a_higher_risk_is_worse(old, new, change):
    def with_risk(average: float) -> AuditResult:
        risk = {"prosecutor": {"average": average, "threshold": 0.2}, "journalist": None}
        return audited(dataclasses.replace(HOLDS, risk=risk))

    assert figure(between(with_risk(old), with_risk(new)), "prosecutor.average") == change


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (True, False, "worse"),
        (False, True, "better"),
        (None, False, "worse"),
        (None, True, "changed"),
        (True, None, "changed"),
        (False, None, "changed"),
        (False, False, "same"),
    ],
)
def test_a_verdict_counts_before_any_figure(old, new, change):
    def with_verdict(holds: bool | None) -> AuditResult:
        return audited(with_checks(CheckResult("k_anonymity", {"k": 5}, holds, 3)))

    [table] = between(with_verdict(old), with_verdict(new)).tables
    assert table.checks[0].change == change


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (None, None, "same"),
        (None, False, "worse"),
        (None, True, "changed"),
        (True, None, "changed"),
    ],
)
def test_an_undecided_check_may_stay_what_it_is_and_get_worse(old, new, change):
    def with_verdict(holds: bool | None) -> AuditResult:
        check = CheckResult(
            "copied_records", {"max_share": 0.1}, holds, 0.05, details={"evidence": "exact"}
        )
        return audited(with_checks(check))

    [table] = between(with_verdict(old), with_verdict(new)).tables
    assert table.checks[0].change == change


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("holds", "violated", "worse"),
        ("measured", "no_data", "worse"),
        ("accepted", "violated", "worse"),
        ("violated", "holds", "better"),
        ("violated", "accepted", "changed"),
        ("violated", "measured", "changed"),
        ("violated", "no_data", "worse"),
        ("holds", "measured", "changed"),
    ],
)
def test_a_status_may_get_worse(old, new, change):
    def with_status(status: Any) -> AuditResult:
        return audited(dataclasses.replace(HOLDS, status=status, checks=()))

    [table] = between(with_status(old), with_status(new)).tables
    assert table.status_change == change


def test_an_infinite_figure_is_worse_than_any():
    def with_figure(achieved: float) -> AuditResult:
        parameters = {"delta": 1, "sensitive": "diagnosis"}
        return audited(with_checks(CheckResult("delta_disclosure", parameters, False, achieved)))

    [table] = between(with_figure(3.5), with_figure(math.inf)).tables
    assert table.to_dict()["checks"][0]["figures"]["achieved"] == {
        "old": 3.5,
        "new": math.inf,
        "change": "worse",
    }
    assert '"new": "Infinity"' in between(with_figure(3.5), with_figure(math.inf)).to_json()


# Which belongs to which


def presences(found: Diff) -> list[tuple[str | None, str | None, str]]:
    return [
        (
            each.old.name if each.old else None,
            each.new.name if each.new else None,
            each.presence,
        )
        for each in found.tables
    ]


def test_tables_appear_and_vanish():
    assert presences(between(OLD, NEW)) == [
        ("release.csv", "release.csv", "in_both"),
        (None, "came.csv", "appeared"),
        ("gone.csv", None, "vanished"),
    ]


def test_a_table_that_appears_is_worse_where_it_is_violated():
    assert not between(audited(HOLDS, HOLDS), audited(HOLDS, HOLDS)).is_worse
    assert not between(audited(HOLDS), audited(HOLDS, CAME)).is_worse
    assert between(audited(HOLDS), audited(HOLDS, VIOLATED)).is_worse
    empty = dataclasses.replace(HOLDS, name="empty.csv", status="no_data", checks=())
    assert between(audited(HOLDS), audited(HOLDS, empty)).is_worse


def test_the_only_tables_are_compared_whatever_they_are_called():
    found = between(audited(RELEASE), audited(dataclasses.replace(NEXT, name="2026.csv")))
    assert presences(found) == [("release.csv", "2026.csv", "in_both")]
    assert "release.csv → 2026.csv · holds → VIOLATED" in as_text(found)


def test_one_table_asked_two_questions_is_compared_question_by_question():
    by_zip = dataclasses.replace(HOLDS, quasi_identifiers=("zip",))
    by_sex = dataclasses.replace(HOLDS, quasi_identifiers=("sex",))
    found = between(audited(by_zip, by_sex), audited(by_sex, by_zip))
    assert [table.changed_questions for table in found.tables] == [(), ()]
    by_age = dataclasses.replace(HOLDS, quasi_identifiers=("age",))
    found = between(audited(by_zip, by_sex), audited(by_zip, by_age))
    assert [table.changed_questions for table in found.tables] == [(), ("quasi_identifiers",)]


def test_tables_that_can_not_be_told_apart_are_not_compared():
    twins = audited(HOLDS, HOLDS)
    assert [presence for *_, presence in presences(between(twins, audited(HOLDS, CAME)))] == [
        "appeared",
        "appeared",
        "vanished",
        "vanished",
    ]


def test_another_question_is_said_with_what_it_was():
    found = between(audited(HOLDS), audited(dataclasses.replace(HOLDS, where="sex = 'F'")))
    assert found.to_dict()["tables"][0]["question"] == {"where": {"old": None, "new": "sex = 'F'"}}
    assert "The question changed (filter), so" in as_text(found)


@pytest.mark.parametrize(
    ("old", "new", "in_both"),
    [
        ({"t": 0.2, "sensitive": "a"}, {"t": 0.3, "sensitive": "a"}, True),
        ({"t": 0.2, "sensitive": "a"}, {"sensitive": "a"}, True),
        ({"t": 0.2, "sensitive": "a"}, {"t": 0.2, "sensitive": "b"}, False),
        ({"t": 0.2, "sensitive": "a"}, {"t": 0.2, "sensitive": "a", "distance": "ordered"}, False),
    ],
)
def test_a_check_of_which_more_is_demanded_is_the_same_check(old, new, in_both):
    def asked(parameters: dict[str, Any]) -> AuditResult:
        return audited(with_checks(CheckResult("t_closeness", parameters, None, 0.1)))

    [table] = between(asked(old), asked(new)).tables
    assert [check.presence for check in table.checks] == (
        ["in_both"] if in_both else ["appeared", "vanished"]
    )


# From the command line


PATIENTS = "zip,sex,diagnosis\n02138,F,flu\n02138,F,flu\n02138,M,asthma\n02139,F,flu\n"


@pytest.fixture
def run(capsys):
    Path("patients.csv").write_text(PATIENTS)

    def typed(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments), prog_name="kanon-sql")
        return (ended.value.code, *capsys.readouterr())

    return typed


@pytest.fixture
def results(run):
    """The audit of a table, and of the same table with a record more."""
    asked = ("audit", "patients.csv", "--qi", "zip", "--k", "1", "--format", "json", "--output")
    run(*asked, "old.json")
    Path("patients.csv").write_text(f"{PATIENTS}02140,M,flu\n02141,M,flu\n")
    run(*asked, "new.json")


@pytest.mark.usefixtures("results")
def test_it_ends_with_1_only_where_that_is_asked(run, monkeypatch):
    assert run("diff", "old.json", "new.json")[0] == 0
    assert run("diff", "old.json", "new.json", "--fail-on-worse")[0] == 1
    assert run("diff", "new.json", "old.json", "--fail-on-worse")[0] == 0
    monkeypatch.setenv("KANON_SQL_FAIL_ON_WORSE", "1")
    assert run("diff", "old.json", "new.json")[0] == 1


@pytest.mark.usefixtures("results")
def test_each_format_is_written(run):
    code, out, err = run("diff", "old.json", "new.json", "--format", "json")
    assert (code, err, json.loads(out)["worse"]) == (0, "", True)
    assert run("diff", "old.json", "new.json")[1].startswith("old.json → new.json\n")
    assert run("diff", "old.json", "new.json", "--format", "markdown")[1].startswith("# old.json →")
    assert run("diff", "old.json", "new.json", "--output", "diff.txt") == (
        0,
        "",
        "diff.txt written.\n",
    )
    assert run("diff", "old.json", "new.json", "--output", "diff.json")[:2] == (0, "")
    assert json.loads(Path("diff.json").read_text("utf-8")) == json.loads(out)
    assert run("diff", "old.json", "new.json", "--output", "diff.md")[:2] == (0, "")
    assert Path("diff.md").read_text("utf-8").startswith("# old.json →")
    assert Path("diff.txt").read_text("utf-8") == run("diff", "old.json", "new.json")[1]
    assert "will not be written" in run("diff", "old.json", "new.json", "--output", "old.json")[2]


def test_a_release_is_compared_with_the_next(run):
    asked = ("anonymize", "patients.csv", "--qi", "zip,sex", "--k", "2", "--format", "json")
    run(*asked, "--result", "old.json")
    run(*asked, "--max-suppressed", "0", "--result", "new.json")
    code, out, err = run("diff", "old.json", "new.json")
    assert (code, err) == (0, "")
    assert "  How the release was made" in out


# What is no result


GOOD = audited(VIOLATED).to_dict()
ADVICE = "kanon-sql audit … --format json --output FILE writes one."


def changed(**parts: Any) -> str:
    """A result with other parts of its table, as JSON."""
    [table] = GOOD["tables"]
    return json.dumps({**GOOD, "tables": [{**table, **parts}]})


def checked(**parts: Any) -> str:
    return changed(checks=[{**GOOD["tables"][0]["checks"][0], **parts}])


CUT_OFF = f"Was it cut off, or edited? {ADVICE}"
EDITED = f"Is this file as kanon-sql wrote it? {ADVICE}"
IN_TABLE, IN_CHECK = "bad.json: tables[0]", "bad.json: tables[0].checks[0]"
NOT_OURS = "bad.json is nothing that kanon-sql wrote: it is"
STATUSES = "holds or violated or accepted or measured or no_data or error"


@pytest.mark.parametrize(
    ("content", "fact", "advice"),
    [
        ("", "bad.json:1:1: this is not JSON: Expecting value.", CUT_OFF),
        ('{"kanon_sql":\n  "0.1.0"', "bad.json:2:10: this is not JSON: Expecting ',' delimiter.",
         CUT_OFF),
        ("[1]", f'{NOT_OURS} a list without "kanon_sql" and "tables".', ADVICE),
        ("{}", f'{NOT_OURS} an object without "kanon_sql" and "tables".', ADVICE),
        ("[" * 100_000, "bad.json is not JSON that can be read.", ADVICE),
        ('{"kanon_sql": NaN}', "bad.json is not JSON that can be read.", ADVICE),
        (json.dumps({**GOOD, "tables": []}), "bad.json has no table.", ADVICE),
        (json.dumps({**GOOD, "tables": {}}),
         "bad.json: tables must be a list; found an object.", EDITED),
        (changed(name=None), f"{IN_TABLE}.name must be text; found null.", EDITED),
        (changed(status="fine"), f"{IN_TABLE}.status must be {STATUSES}; found text.", EDITED),
        (checked(holds="yes"), f"{IN_CHECK}.holds must be true or false; found text.", EDITED),
        (checked(achieved="one"), f"{IN_CHECK}.achieved must be a number; found text.", EDITED),
        (checked(model="k_anonimity"),
         f'{IN_CHECK}: there is no model "k_anonimity". Did you mean "k_anonymity"?',
         f"kanon-sql explain lists the {len(ALL_MODELS)} there are."),
        (checked(parameters={"n": 1}),
         f'{IN_CHECK}: k_anonymity has no parameter "n".', "Its parameters: k, columns."),
        (json.dumps({**GOOD, "baseline": 7}),
         "bad.json is a baseline of version 7, and this kanon-sql reads version 1.",
         "Write it again with kanon-sql baseline, or install the kanon-sql that wrote it."),
        (json.dumps({**GOOD, "old": "a.json", "new": "b.json"}),
         "bad.json is a comparison, and a result is needed: a comparison is made of two of them.",
         ADVICE),
        (changed(attacker_knows=[]), "bad.json is a profile, and an audit is needed.", ADVICE),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_what_is_wrong_where_and_what_to_do(run, content, fact, advice):
    Path("bad.json").write_text(content)
    Path("good.json").write_text(json.dumps(GOOD))
    assert run("diff", "good.json", "bad.json") == (2, "", f"error: {fact} {advice}\n")


def test_a_missing_check_figure_is_named():
    risk = {"model": "prosecutor_risk", "parameters": {"max_average": 0.1}, "achieved": 1.0}
    Path("bad.json").write_text(changed(checks=[risk]))
    with pytest.raises(InputError, match=r'tables\[0\]\.checks\[0\] has no "average"'):
        read_result(Path("bad.json"))


def test_no_word_of_a_file_that_may_be_data_is_repeated(run):
    Path("good.json").write_text(json.dumps(GOOD))
    for content in ('[{"name": "Ada"}]', '{"kanon_sql": "Ada", "tables": "Ada"}', "Ada", '"Ada"'):
        Path("people.json").write_text(content)
        code, out, err = run("diff", "good.json", "people.json")
        assert (code, out, "Ada" in err) == (2, "", False)


@pytest.mark.parametrize(
    "table",
    [
        with_checks(VIOLATED.checks[0], LINKED),
        dataclasses.replace(
            HOLDS,
            checks=HOLDS.checks[:1],
            levels={"zip": 2},
            where="a > 1",
            first=3,
            nulls="wildcard",
        ),
        dataclasses.replace(
            HOLDS,
            status="no_data",
            summary=Summary(records=0),
            histogram=(),
            checks=(CheckResult("k_anonymity", {"k": 5}, None, None),),
            risk=dict.fromkeys(HOLDS.risk),
        ),
        TableResult("big.parquet", "duckdb", "error", ("zip",), error="out of memory."),
    ],
)
def test_what_is_read_is_what_was_written(table):
    table = dataclasses.replace(table, sql={}, seconds=0.0)
    Path("result.json").write_text(audited(table).to_json(), encoding="utf-8")
    assert read_result(Path("result.json")).result.to_dict() == audited(table).to_dict()


def test_an_earlier_result_that_counts_no_people_is_read_and_compared():
    new = audited(dataclasses.replace(MADE_FOR_PEOPLE, sql={})).to_dict()
    old = json.loads(json.dumps(new))
    for size in old["tables"][0]["histogram"]:
        del size["people"]
    for check in old["tables"][0]["checks"]:
        del check["violating_people"]
        check.pop("several_valued_classes", None)
    for name, result in (("old.json", old), ("new.json", new)):
        Path(name).write_text(json.dumps(sealed(result)), encoding="utf-8")

    earlier = read_result(Path("old.json")).result

    [table] = earlier.tables
    assert {size.people for size in table.histogram} == {None}
    assert {check.violating_people for check in table.checks} == {None}
    assert (table.to_dict()["histogram"], "violating_people" in str(earlier.to_dict())) == (
        old["tables"][0]["histogram"],
        False,
    )
    said = " ".join(str(kanon.from_json("old.json")).split())
    assert "1 class with a diagnosis shared by the whole class" in said
    assert "People by the size of their class\n" in str(kanon.from_json("old.json"))
    found = diff(read_result(Path("old.json")), read_result(Path("new.json")))
    assert {figure.change for figure in found.tables[0].checks[0].figures} == {"same"}


def test_what_is_demanded_no_more_is_worse():
    dropped = dataclasses.replace(HOLDS, checks=HOLDS.checks[:0])

    found = between(audited(HOLDS), audited(dropped))
    assert (found.is_worse, found.tables[0].got_worse) == (True, False)
    assert "Less is required of release.csv than before." in " ".join(as_text(found).split())
    assert not between(audited(HOLDS), audited(HOLDS)).is_worse


def test_the_same_table_under_another_name_is_not_gone():
    renamed = between(audited(HOLDS), audited(dataclasses.replace(HOLDS, name="2026.csv")))
    assert not renamed.is_worse
    assert "Nothing that these models judge got worse." in as_text(renamed)


def test_a_table_that_vanished_is_said_where_it_counts():
    found = between(audited(HOLDS, GONE), audited(HOLDS))
    said = " ".join(as_text(found).split())
    assert found.is_worse
    assert "Nothing that these models judge got worse." not in said
    assert "Vanished, so nothing is known of it any more: gone.csv." in said


def test_one_question_of_two_that_is_asked_no_more_is_gone():
    by_zip = dataclasses.replace(HOLDS, quasi_identifiers=("zip",))
    by_sex = dataclasses.replace(HOLDS, quasi_identifiers=("sex",))
    assert between(audited(by_zip, by_sex), audited(by_zip)).is_worse


# Another demand, another question


def diverse(l_: int | None, achieved: int, holds: bool | None = True) -> AuditResult:
    demanded = {} if l_ is None else {"l": l_}
    check = CheckResult(
        "l_diversity", {**demanded, "sensitive": "diagnosis"}, holds, achieved, 0, 0
    )
    return audited(with_checks(check, table=HOLDS))


@pytest.mark.parametrize(
    ("new", "change", "demand", "is_worse"),
    [
        (diverse(2, 3), "worse", "weaker", True),
        (diverse(2, 8), "changed", "weaker", False),
        (diverse(2, 9), "changed", "weaker", False),
        (diverse(7, 9), "changed", "stricter", False),
        (diverse(7, 7), "worse", "stricter", True),
        (diverse(9, 8, False), "worse", "stricter", True),
        (diverse(6, 9), "better", "same", False),
        (diverse(None, 8, None), "changed", "weaker", True),
        (diverse(None, 3, None), "worse", "weaker", True),
    ],
)
def test_less_that_is_demanded_hides_no_figure_that_fell(new, change, demand, is_worse):
    found = between(diverse(6, 8), new)
    [check] = found.tables[0].checks
    assert (check.change, check.demand, found.is_worse) == (change, demand, is_worse)
    assert found.to_dict()["tables"][0]["checks"][0]["demand"] == demand
    said = " ".join(as_text(found).split())
    assert ("Less is required of" in said) == (demand == "weaker")


@pytest.mark.parametrize(
    ("model", "old", "new", "demand"),
    [
        ("k_anonymity", {"k": 5}, {"k": 2}, "weaker"),
        ("t_closeness", {"t": 0.2, "sensitive": "d"}, {"t": 0.3, "sensitive": "d"}, "weaker"),
        ("alpha_k_anonymity", {"alpha": 0.5, "k": 5, "sensitive": "d"},
         {"alpha": 0.4, "k": 2, "sensitive": "d"}, "changed"),
        ("delta_presence", {"min": 0.1, "max": 0.5}, {"min": 0.2, "max": 0.5}, "stricter"),
        ("prosecutor_risk", {"max_highest": 0.1}, {"max_highest": 0.1, "max_average": 0.1},
         "stricter"),
        ("recursive_cl_diversity", {"c": 2, "l": 3, "sensitive": "d"},
         {"c": 4, "l": 3, "sensitive": "d"}, "weaker"),
    ],
)  # fmt: skip
def test_the_models_say_which_demand_is_weaker(model, old, new, demand):
    def asked(parameters: dict[str, Any]) -> CheckResult:
        return CheckResult(model, MODELS[model](**parameters).parameters, True, 1)

    assert threshold_change(asked(old), asked(new)) == demand


def test_a_laxer_demand_makes_no_table_better():
    violated = dataclasses.replace(
        HOLDS, status="violated", checks=(CheckResult("k_anonymity", {"k": 9}, False, 7, 1, 7),)
    )
    holds = dataclasses.replace(
        HOLDS, checks=(CheckResult("k_anonymity", {"k": 5}, True, 7, 0, 0),)
    )
    [table] = between(audited(violated), audited(holds)).tables
    assert (table.status_change, table.checks[0].change) == ("changed", "changed")


NARROWER = dataclasses.replace(
    HOLDS,
    quasi_identifiers=("sex",),
    summary=Summary(records=1_030, classes=2, k=500, uniques=0),
    risk={"prosecutor": {"average": 0.001, "highest": 0.002}},
    checks=(dataclasses.replace(HOLDS.checks[0], achieved=500), *HOLDS.checks[1:]),
)
WIDER = dataclasses.replace(
    HOLDS, quasi_identifiers=("zip", "birth_date", "sex"), risk=NARROWER.risk
)


def test_a_narrower_question_makes_nothing_better():
    found = between(audited(WIDER), audited(NARROWER))
    [table] = found.tables
    changes = {each.change for each in (*table.summary, *table.risks, *table.checks)}
    changes |= {figure.change for check in table.checks for figure in check.figures}
    assert changes <= {"same", "changed"}
    assert {check.change for check in table.checks} == {"changed"}
    assert (table.is_comparable, table.left_out) == (False, ("zip", "birth_date"))
    assert found.is_worse
    said = " ".join(as_text(found).split())
    assert (
        "No longer a quasi-identifier or entity: zip, birth_date. Less is required than before."
        in said
    )
    assert "so no figures are compared." in said
    assert "so whether it got worse can't be seen." in said
    assert "Nothing that these models judge got worse." not in said


def test_what_is_newly_asked_and_violated_did_not_get_worse():
    asked = dataclasses.replace(CLOSER, holds=False, achieved=0.4, violating_records=30)
    more = dataclasses.replace(HOLDS, checks=(*HOLDS.checks, asked), status="violated")
    found = between(audited(HOLDS), audited(more))
    said = " ".join(as_text(found).split())
    assert "new t-closeness diagnosis VIOLATED" in said
    assert f"What is newly required of {HOLDS.name} is violated." in said
    assert "worse" not in said
    assert found.is_worse  # a pipeline that asks for it is told


def test_a_wider_question_is_worse_by_its_verdict_alone():
    found = between(audited(NARROWER), audited(WIDER))
    assert (found.is_worse, found.tables[0].left_out) == (False, ())
    failing = dataclasses.replace(WIDER, checks=VIOLATED.checks, status="violated")
    assert between(audited(NARROWER), audited(failing)).is_worse


def test_whom_records_are_about_is_not_left_out_unsaid():
    by_person = dataclasses.replace(HOLDS, entity="patient_id")
    [table] = between(audited(by_person), audited(HOLDS)).tables
    assert (table.left_out, table.is_worse, table.is_comparable) == (("patient_id",), True, False)


def test_another_filter_is_as_another_file_and_is_compared():
    fewer = dataclasses.replace(HOLDS, where="year = 2026", summary=Summary(records=9, k=2))
    [table] = between(audited(HOLDS), audited(fewer)).tables
    assert (table.is_comparable, table.is_worse) == (True, True)


def release_of(people: int, moved: int, newcomers: int) -> Any:
    """A release of people who were all released before, some of them elsewhere, and newcomers."""
    before = [("a", str(n)) for n in range(people)]
    after = [("b" if n < moved else "a", str(n)) for n in range(people)]
    after += [("a", f"new {n}") for n in range(newcomers)]
    then, now = (
        pyarrow.table({"zip": [zip for zip, _ in rows], "id": [person for _, person in rows]})
        for rows in (before, after)
    )
    return kanon.audit(
        now, ["zip"], entity="id", name="t", earlier_releases={"old": {"source": then}},
        checks=kanon.ComposedKAnonymity(k=5),
    )  # fmt: skip


def test_newcomers_make_two_releases_no_better():
    changed = release_of(20, 3, newcomers=80).diff(release_of(20, 2, newcomers=0))
    [check] = [each for each in changed.tables[0].checks if each.new.holds is not None]
    [people] = [each for each in check.figures if each.name == "violating_people"]
    assert (people.old, people.new, people.of, people.change) == (2, 3, (20, 20), "worse")


def test_a_larger_release_makes_presence_no_better():
    register = pyarrow.table({"zip": ["a"] * 8 + ["b"] * 4})

    def present(zips: str) -> Any:
        return kanon.audit(
            pyarrow.table({"zip": list(zips)}), ["zip"], name="t",
            references={"r": {"source": register}}, checks=kanon.DeltaPresence(max=0.5),
        )  # fmt: skip

    changed = present("aaaabbbbb"[:8]).diff(present("bbb"))
    [check] = [each for each in changed.tables[0].checks if each.new.holds is not None]
    [people] = [each for each in check.figures if each.name == "violating_records"]
    assert (people.old, people.new, people.of, people.change) == (4, 4, None, "same")


def test_a_row_names_what_its_figure_belongs_to():
    """A figure that is compared as a share, too."""
    rows = between(OLD, NEW).rows()
    wholes = {row["of"] for row in rows}

    assert {"summary", "risk", "k_anonymity"} <= wholes
    assert all(isinstance(each, str) for each in wholes)


def test_a_baseline_stands_on_either_side(run, tmp_path):
    people = {"zip": ["a", "a", "b"]}
    before = kanon.audit(pyarrow.table(people), "zip", k=2, name="people")
    after = kanon.audit(pyarrow.table({"zip": ["a", "a", "a"]}), "zip", k=2, name="people")
    Path("old.json").write_text(Baseline.of([before]).to_json())
    Path("new.json").write_text(after.to_json())
    Path("accepted.json").write_text(Baseline.of([after]).to_json())

    for new in ("new.json", "accepted.json"):
        code, shown, _ = run("diff", "old.json", new)
        assert (code, "k-anonymity" in shown, "better" in shown) == (0, True, True)
    assert run("diff", "new.json", "old.json", "--fail-on-worse")[0] == 1
    of_file, of_result = after.diff("old.json"), after.diff(before)
    assert [table.checks for table in of_file.tables] == [t.checks for t in of_result.tables]
