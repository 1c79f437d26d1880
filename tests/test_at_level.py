"""A table as it would be at levels of its hierarchies: the chapter's experiments, and the edges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import asking
import pytest
from click.testing import CliRunner
from test_worked_examples import DATA

import kanon_sql as kanon
from kanon_sql.cli import main

ADULT = DATA / "adult" / "adult.csv"

CHAPTER = [
    *[(first, [], 1, classes) for first, classes in ((100, 12), (500, 16), (1000, 16))],
    (5000, [], 3, 18),
    (None, [], 21, 18),
    *[(500, ["--clip", "age=:60"], 7, 12), (1000, ["--clip", "age=:60"], 12, 12)],
    (None, ["--clip", "age=:60"], 455, 12),
]
"""Records of UCI Adult, what is clipped, k and classes; all truncated to tens."""


def audited(*arguments: str) -> dict[str, Any]:
    run = CliRunner().invoke(main, ["audit", *arguments, "--format", "json"])
    assert run.exit_code in (0, 1), run.output
    [table] = json.loads(run.stdout)["tables"]
    return table


@pytest.mark.parametrize(("first", "clip", "k", "classes"), CHAPTER)
def test_the_chapter_on_adult(first: int | None, clip: list[str], k: int, classes: int) -> None:
    if not ADULT.is_file():
        pytest.skip(f"{ADULT.name} is not here; name its folder in KANON_SQL_DATA")
    head = ["--first", str(first)] if first else []

    table = audited(
        str(ADULT), "--qi", "age,education-num", *head, *clip,
        "--hierarchy", "age=round:10", "--hierarchy", "education-num=depths:1",
        "--level", "age=1,education-num=1",
    )  # fmt: skip

    assert (table["summary"]["k"], table["summary"]["classes"]) == (k, classes)
    assert table["levels"] == {"age": 1, "education-num": 1}


PATIENTS = asking.table(
    ["zip", "age", "diagnosis"],
    [
        ("02138", 34, "flu"), ("02139", 36, "flu"), ("0214", 34, "cold"), (None, 51, "cold"),
        ("02138", None, "flu"),
    ],
)  # fmt: skip
KNOWN = {"zip": {"levels": [{"mask": "right"}]}, "age": {"levels": [{"width": 10}, "suppress"]}}


def classes_at(**levels: int) -> int | None:
    [table] = kanon.audit(PATIENTS, quasi_identifiers=KNOWN, levels=levels).tables
    return table.summary.classes


def test_each_level_is_read_from_the_raw_value() -> None:
    assert classes_at() == 5
    # 30 to 39 and 50 to 59 and NULL; 0213*, 0214* (padded), NULL.
    assert classes_at(age=1, zip=1) == 4
    assert classes_at(age=2, zip=1) == 3
    # NULL stays NULL below suppress.
    assert classes_at(age=2, zip=5) == 2


def test_a_printed_result_says_that_it_is_hypothetical() -> None:
    result = kanon.audit(PATIENTS, quasi_identifiers=KNOWN, levels={"age": 1})

    assert str(result).startswith("If the table were generalised to age 1 · ")
    assert kanon.audit(PATIENTS, quasi_identifiers=KNOWN).to_dict()["tables"][0]["levels"] is None


def test_every_model_looks_at_the_level() -> None:
    [table] = kanon.audit(
        PATIENTS,
        quasi_identifiers=KNOWN,
        levels={"age": 2, "zip": 5},
        sensitive=["diagnosis"],
        where="age > 0",
        checks=[
            kanon.LDiversity(l=2),
            kanon.TCloseness(t=0.9, distance="ordered", order=["flu", "cold"]),
        ],
    ).tables

    assert (table.summary.records, table.summary.classes) == (4, 2)
    assert [check.achieved for check in table.checks[:2]] == [1, pytest.approx(0.5)]


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({"age": 3}, 'levels: "age" has levels 0 to 2; found 3.'),
        ({"zip": 6}, '"zip" has levels 0 to 5'),
        ({"zup": 1}, 'levels: "zup" is no quasi-identifier. Quasi-identifiers: zip, age. Did'),
        ({"age": -1}, "levels.age"),
    ],
)
def test_levels_that_are_none(levels: dict[str, int], message: str) -> None:
    with pytest.raises(kanon.SpecError, match=None) as refused:
        kanon.audit(PATIENTS, quasi_identifiers=KNOWN, levels=levels)

    assert message in str(refused.value)


def test_values_that_the_level_has_no_place_for() -> None:
    words = asking.table(["age"], [("34",), ("old",), ("old",), (None,)])
    with pytest.raises(kanon.InputError) as refused:
        kanon.audit(
            words, quasi_identifiers={"age": {"levels": [{"width": 10}]}}, levels={"age": 1}
        )

    assert '1 value of "age", held by 2 records, is no number' in str(refused.value)


def test_a_file_with_faults_is_refused_or_warned_of(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("34,30s,*\n36,30s,*\n36,40s,*\n51,50s,*\n")
    asked = {"quasi_identifiers": {"age": {"hierarchy": str(tmp_path / "age.csv")}}}

    with pytest.raises(kanon.SpecError) as refused:
        kanon.audit(PATIENTS, **asked, levels={"age": 1}, where="age > 0")
    [warned] = kanon.audit(
        PATIENTS, **asked, levels={"age": 1}, where="age > 0", hierarchy_faults="warn"
    ).tables

    assert "age.csv:3" in str(refused.value)
    assert any("age.csv:3" in warning for warning in warned.warnings)
    assert warned.summary.classes == 2


def test_a_value_that_the_file_lacks(tmp_path: Path) -> None:
    (tmp_path / "age.csv").write_text("34,30s,*\n51,50s,*\n")
    asked = {"age": {"hierarchy": str(tmp_path / "age.csv")}}

    with pytest.raises(kanon.InputError) as refused:
        kanon.audit(PATIENTS, quasi_identifiers=asked, levels={"age": 1})

    assert '1 value of "age", held by 1 record, is not in the hierarchy' in str(refused.value)


MANY = asking.table(
    ["zip", "age", "kanon_value", "kanon_label", "diagnosis"],
    [
        ("02138", 34, 1, "a", "flu"), ("02139", 36, 1, "a", "cold"), (None, 34, 2, "b", "flu"),
        ("02138", 34, 1, "a", "flu"), ("02141", 52, 2, "b", "flu"), ("02139", 34, 2, "b", "cold"),
    ],
)  # fmt: skip
GENERALISED = asking.table(
    ["zip", "age", "kanon_value"],
    [("0213*", "30s", 1), ("0213*", "30s", 1), ("0214*", "50s", 2), (None, "30s", 2)],
)
LISTED = {
    "zip": {"hierarchy": {"02138": ["0213*"], "02139": ["0213*"], "02141": ["0214*"]}},
    "age": {"hierarchy": {34: ["30s"], 36: ["30s"], 52: ["50s"]}},
    "kanon_value": {},
}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"where": "kanon_label = 'a' or zip is null"},
        {"first": 4},
        {"first": 2, "where": "kanon_value = 1"},
        {"entity": "kanon_label"},
        {"checks": [kanon.LDiversity(l=2), kanon.TCloseness(t=0.2)], "sensitive": "diagnosis"},
        {"references": {"same": GENERALISED}, "checks": [kanon.KMap(k=2)]},
    ],
)
def test_labels_that_are_joined_are_those_of_a_case(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    question = {"quasi_identifiers": LISTED, "levels": {"zip": 1, "age": 1}, **asked}
    by_case = kanon.audit(MANY, **question).to_dict()["tables"][0]
    monkeypatch.setattr("kanon_sql.levels.CASE_ROWS", 0)
    by_join = kanon.audit(MANY, **question).to_dict()["tables"][0]

    assert "kanon_hierarchy_2" in by_join.pop("sql")["classes"]
    assert "kanon_hierarchy" not in by_case.pop("sql")["classes"]
    assert by_join == by_case


def test_a_large_hierarchy_is_joined_and_what_it_lacks_is_refused(tmp_path: Path) -> None:
    zips = [f"{zip:05d}" for zip in range(10_000)]
    file = tmp_path / "zip.csv"
    file.write_text("".join(f"{zip},{zip[:3]}**,*\n" for zip in zips))
    asked = {"quasi_identifiers": {"zip": {"hierarchy": str(file)}}, "levels": {"zip": 1}}
    people = [(zip,) for zip in zips * 2]

    [listed] = kanon.audit(asking.table(["zip"], [*people, (None,)]), **asked).tables
    with pytest.raises(kanon.InputError) as refused:
        kanon.audit(asking.table(["zip"], [*people, ("10000",), ("10000",), (None,)]), **asked)

    assert (listed.summary.classes, listed.summary.largest_class) == (101, 200)
    assert str(refused.value) == (
        'pyarrow.Table: 1 value of "zip", held by 2 records, is not in the hierarchy '
        f"{file}. Add what is lacking, spelled as in the table."
    )


def test_a_spec_file_names_levels_and_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("02138;0213*\n02139;0213*\n")
    (tmp_path / "people.csv").write_text("zip\n02138\n02139\n")
    (tmp_path / "kanon.yml").write_text(
        "tables:\n  - source: people.csv\n    quasi_identifiers: {zip: {hierarchy: zip.csv}}\n"
        "    levels: {zip: 1}\n    checks: [{k_anonymity: {k: 2}}]\n"
    )

    assert kanon.audit(kanon.AuditSpec.from_file(tmp_path / "kanon.yml")).holds


def test_validate_lints_every_hierarchy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zip.csv").write_text("02138,0213*\n02138,0214*\n")
    Path("people.csv").write_text("zip\n02138\n")
    Path("kanon.yml").write_text(
        "tables:\n  - source: people.csv\n    quasi_identifiers: {zip: {hierarchy: zip.csv}}\n"
    )

    with pytest.raises(SystemExit) as ended:
        main(["validate", "kanon.yml"])

    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("error: kanon.yml:3:")
    assert "zip.csv:2" in message
