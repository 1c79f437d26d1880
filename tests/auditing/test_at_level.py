"""A table as it would be at levels of its hierarchies: the chapter's experiments, and the edges."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asking
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from real_data import DATA
from warehouses import ENGINES

import kanon_sql as kanon
from kanon_sql.cli.main import main

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


def test_values_that_the_level_has_no_place_for() -> None:
    words = asking.table(["age"], [("34",), ("old",), ("old",), (None,)])
    with pytest.raises(kanon.InputError) as refused:
        kanon.audit(
            words, quasi_identifiers={"age": {"levels": [{"width": 10}]}}, levels={"age": 1}
        )

    assert '1 value of "age", held by 2 records, is not a number' in str(refused.value)


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
    monkeypatch.setattr("kanon_sql.plan.levels.CASE_ROWS", 0)
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
        f"{file}. Add what is lacking, spelled as in the table. kanon-sql validate names it with "
        "--show-values."
    )


@pytest.mark.parametrize("decimal", [".", ","])
def test_a_decimal_comma_is_thought_of_only_where_it_could_be_read(
    tmp_path: Path, decimal: str
) -> None:
    (tmp_path / "people.csv").write_text("size\nlarge\nsmall\n")
    asked = {"quasi_identifiers": {"size": {"levels": [{"width": 5}]}}, "levels": {"size": 1}}
    advised = []
    for source in (tmp_path / "people.csv", asking.table(["size"], [("1,5",), ("large",)])):
        with pytest.raises(kanon.InputError, match="so width 5 can't group") as refused:
            kanon.audit(source, **asked, decimal=decimal)
        advised.append("decimal comma" in str(refused.value))

    assert advised == [decimal == ".", False]


def test_a_spec_file_names_levels_and_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("02138;0213*\n02139;0213*\n")
    (tmp_path / "people.csv").write_text("zip\n02138\n02139\n")
    (tmp_path / "kanon.yml").write_text(
        "tables:\n  - source: people.csv\n    quasi_identifiers: {zip: {hierarchy: zip.csv}}\n"
        "    levels: {zip: 1}\n    checks: [{k_anonymity: {k: 2}}]\n"
    )

    assert kanon.audit(kanon.AuditSpec.from_file(tmp_path / "kanon.yml")).holds


def test_a_table_of_which_no_level_is_asked_is_not_read_where_only_sql_is_made() -> None:
    asked = {"quasi_identifiers": {"zip": {"hierarchy": "zips"}}, "checks": [kanon.KAnonymity(k=2)]}

    assert "from patients" in str(kanon.compile("patients", dialect="postgres", **asked)).replace(
        '"', ""
    )


# --- what a user may get wrong ---------------------------------------------------------------

AS_MANY = "Give every value the same number of ancestors, and repeat one where it has fewer."
MEND = (
    "\nFix it, or continue with --hierarchy-faults warn: every level is then read from the raw "
    "value, and the first row of a value wins."
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "how.csv: the hierarchy is empty. Give each value a line."),
        (b"1\n2\n", "how.csv: the hierarchy has one column. Put each value's ancestors beside it, "
         "divided by a comma, a semicolon, a tab or |."),
        (b"1,a,*\n2,b\n", f"how.csv:2: this line has 2 columns, line 1 has 3. {AS_MANY}"),
        (b"1,a\n2\n", f"how.csv:2: this line has 1 column, line 1 has 2. {AS_MANY}"),
        (b"\x00\xff\xfe", "how.csv: the hierarchy can't be read: it is not UTF-8. Save it as "
         "CSV in UTF-8, or name a Parquet, JSON or Arrow file."),
        (b"1,a,x\n2,a,y\n", "how.csv:2: the label of level 1 in this line lies under another label "
         f"of level 2 than in line 1, so level 2 would publish a wrong label for 2 values.{MEND}"),
        (b"1,a\n", 'people.csv: 2 values of "size", held by 2 records, are not in the hierarchy '
         "how.csv. Add what is lacking, spelled as in the table. kanon-sql validate names them "
         "with --show-values."),
        (b"".join(b"%d,%d,%d,*\n" % (raw, raw % 977, raw % 31) for raw in range(100_000)),
         "how.csv:978: the label of level 1 in this line lies under another label of level 2 than "
         "in line 1, so level 2 would publish a wrong label for 103 values. In all 977 labels or "
         f"levels are not nested.{MEND}"),
    ],
    ids=["empty", "one column", "ragged", "short", "binary", "not nested", "lacking", "large"],
)  # fmt: skip
def test_a_bad_hierarchy_ends_with_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("how.csv").write_bytes(content)
    Path("people.csv").write_text("size\n1\n2\nold\n\n")

    asked = ["audit", "people.csv", "--qi", "size", "--level", "size=1"]
    with pytest.raises(SystemExit) as ended:
        main([*asked, "--hierarchy", "size=how.csv"])

    printed = capsys.readouterr()
    assert (ended.value.code, printed.out, printed.err) == (2, "", f"error: {message}\n")


def test_several_roots_and_levels_that_repeat_are_levels(tmp_path: Path) -> None:
    (tmp_path / "zip.csv").write_text("02138,0213*,0213*\n02139,0213*,0213*\n0214,0214*,0214*\n")
    known = {"zip": {"hierarchy": str(tmp_path / "zip.csv")}}

    def classes(level: int) -> int | None:
        asked = {"quasi_identifiers": known, "levels": {"zip": level}}
        return kanon.audit(PATIENTS, **asked).tables[0].summary.classes

    assert [classes(level) for level in (0, 1, 2)] == [4, 3, 3]


# --- a hierarchy in a table -----------------------------------------------------------------

ZIPS = asking.table(
    ["zip", "area", "state"],
    [("02138", "0213*", "MA"), ("02139", "0213*", "MA"), ("0214", "0214*", "MA")],
)


def written(folder: Path, kind: str, rows: pa.Table = ZIPS) -> str:
    """The rows as a file of this kind, or as a table of a database."""
    file = folder / f"zips.{kind}"
    if kind == "parquet":
        pq.write_table(rows, file)
    elif kind == "arrow":
        with pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
    elif kind == "json":
        file.write_text("\n".join(json.dumps(row) for row in rows.to_pylist()))
    else:
        with file.open("w", newline="") as opened:
            csv.writer(opened, delimiter="\t").writerows(map(dict.values, rows.to_pylist()))
    return str(file)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "json", "tsv"])
def test_a_hierarchy_may_lie_in_any_file(tmp_path: Path, kind: str) -> None:
    hierarchy = {"hierarchy": written(tmp_path, kind), "levels": ["suppress"]}

    [table] = kanon.audit(PATIENTS, quasi_identifiers={"zip": hierarchy}, levels={"zip": 1}).tables

    assert table.summary.classes == 3
    assert kanon.GeneralizationHierarchy.from_file(hierarchy["hierarchy"]).hierarchy


def test_a_hierarchy_may_lie_in_the_database(tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.register("zips_frame", ZIPS)
        connection.register("patients_frame", PATIENTS)
        connection.execute("create table zips as from zips_frame")
        connection.execute("create table patients as from patients_frame")
    (tmp_path / "kanon.yml").write_text(
        "tables:\n  - source: patients\n    connect: duckdb:clinic.duckdb\n"
        "    quasi_identifiers: {zip: {hierarchy: zips}}\n    levels: {zip: 2}\n"
    )
    url = f"duckdb:{database}"

    in_spec = kanon.audit(kanon.AuditSpec.from_file(tmp_path / "kanon.yml"))
    by_option = audited(
        "patients", "--connect", url, "--qi", "zip", "--hierarchy", "zip=main.zips",
        "--level", "zip=2",
    )  # fmt: skip
    in_python = kanon.compile(
        "patients", engine=url, quasi_identifiers={"zip": {"hierarchy": "zips"}}, levels={"zip": 2}
    )

    assert in_spec.tables[0].summary.classes == by_option["summary"]["classes"] == 2
    assert "at the level column state of zips?" in " ".join(str(in_python).split()).replace(
        "--", ""
    )
    assert (
        kanon.audit("patients", engine=url, quasi_identifiers={"zip": {"hierarchy": "zips"}})
        .tables[0]
        .levels
        is None
    )


@pytest.mark.parametrize(
    ("columns", "rows", "message"),
    [
        (["zip"], [("02138",)], "the hierarchy has one column. Put each value's ancestors beside "
         "it, in a column a level."),
        (["zip", "area"], [], "the hierarchy is empty. Give each value a row."),
        (["zip", "area"], [("02138", "a\nb")],
         "a value has a line break in it. Write it on one line."),
        (["zip", "area"], [("02138", "a"), ("02138", "b")],
         'a value lies under 2 parents in level 1 (column "area"), so nobody can tell which is '
         "meant."),
        (["zip", "area"], [("02138", None)],
         'level 1 (column "area") is empty. Give each value a label there.'),
        (["zip", "area"], [(None, "a"), ("02138", "a")],
         "a raw value is NULL. NULL keeps its place without a row: leave that out."),
    ],
)  # fmt: skip
def test_a_table_is_held_to_what_a_file_is(
    tmp_path: Path, columns: list[str], rows: list[Any], message: str
) -> None:
    types = [pa.string()] * len(columns)
    file = written(tmp_path, "parquet", asking.table(columns, rows, types))

    with pytest.raises(kanon.SpecError) as refused:
        kanon.audit(PATIENTS, quasi_identifiers={"zip": {"hierarchy": file}}, levels={"zip": 1})

    assert str(refused.value).splitlines()[0] == f"{file}: {message}"


@pytest.mark.parametrize("rows", [0, 300], ids=["by case", "by join"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "mapping"])
def test_the_empty_text_is_a_value_as_any_other(tmp_path: Path, kind: str, rows: int) -> None:
    """It is none of a CSV's, where an empty field is NULL, so the table is a frame."""
    people = asking.table(["zip"], [("",), ("02138",), ("02138",), (None,)])
    labels = {"": "none", "02138": "some", **{f"0{number}": "some" for number in range(rows)}}
    hierarchy: Any = {raw: [label] for raw, label in labels.items()}
    if kind == "csv":
        hierarchy = str(tmp_path / "zips.csv")
        lines = "".join(f'"{raw}",{label}\n' for raw, label in labels.items())
        Path(hierarchy).write_text(lines)
    elif kind != "mapping":
        table = asking.table(["zip", "label"], list(labels.items()))
        hierarchy = written(tmp_path, kind, table)

    [found] = kanon.audit(
        people, quasi_identifiers={"zip": {"hierarchy": hierarchy}}, levels={"zip": 1}
    ).tables

    assert [(each.size, each.classes) for each in found.histogram] == [(1, 2), (2, 1)]


def test_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(kanon.InputError) as refused:
        kanon.audit(
            PATIENTS, quasi_identifiers={"zip": {"hierarchy": "no.parquet"}}, levels={"zip": 1}
        )

    assert str(refused.value).startswith("no.parquet: no such file.")


# --- a reference at the level of the release ------------------------------------------------

RELEASE = asking.table(
    ["zip", "age"],
    [("021**", "[30,40)"), ("021**", "[30,40)"), ("022**", "[50,60)"), (None, "[30,40)")],
)
VOTERS = asking.table(
    ["zip_code", "age"],
    [
        ("02138", 34), ("02139", 36), ("02141", 39), ("02251", 52), ("02251", 50), ("02251", 49),
        (None, 31), ("02199", None),
    ],
)  # fmt: skip
VOTERS_BY_HAND = asking.table(
    ["zip_code", "age"],
    [
        *[("021**", "[30,40)")] * 3, *[("022**", "[50,60)")] * 2, ("022**", "[40,50)"),
        (None, "[30,40)"), ("021**", None),
    ],
)  # fmt: skip
LISTED_ZIPS = {
    f"02{area}{rest}": [f"02{area}{rest}"[:4] + "*", f"02{area}**"]
    for area in (1, 2)
    for rest in ("38", "39", "41", "51", "99")
}
COLUMNS = {"zip": "zip_code"}


def matched(voters: Any, hierarchies: dict[str, Any], **levels: int) -> list[dict[str, Any]]:
    reference = kanon.ReferenceSpec(source=voters, columns=COLUMNS, levels=levels)
    result = kanon.audit(
        RELEASE,
        quasi_identifiers=hierarchies,
        references={"voters": reference},
        checks=[
            kanon.KMap(k=2), kanon.KMap(k=2, match="exact"), kanon.JournalistRisk(),
            kanon.DeltaPresence(max=0.7),
        ],
    )  # fmt: skip
    checks = result.to_dict()["tables"][0]["checks"]
    assert checks[0]["achieved"] == 1
    return checks


@pytest.mark.parametrize(
    "zip", [{"levels": [{"mask": "right"}]}, {"hierarchy": LISTED_ZIPS}], ids=["mask", "listed"]
)
@pytest.mark.parametrize("case_rows", [200, 0])
def test_a_reference_at_a_level_is_one_generalised_by_hand(
    zip: dict[str, Any], case_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kanon_sql.plan.levels.CASE_ROWS", case_rows)
    hierarchies = {"zip": zip, "age": {"levels": [{"width": 10}]}}

    by_level = matched(VOTERS, hierarchies, zip=2, age=1)

    assert [check.pop("reference_levels", None) for check in by_level] == [
        *[{"zip": 2, "age": 1}] * 4, None,
    ]  # fmt: skip
    assert by_level == matched(VOTERS_BY_HAND, {"zip": {}, "age": {}})


def test_a_printed_result_says_how_the_reference_was_looked_at() -> None:
    reference = kanon.ReferenceSpec(source=VOTERS, columns=COLUMNS, levels={"zip": 2, "age": 1})
    hierarchies = {"zip": {"levels": [{"mask": "right"}]}, "age": {"levels": [{"width": 10}]}}

    result = kanon.audit(
        RELEASE, quasi_identifiers=hierarchies, references={"voters": reference},
        checks=[kanon.KMap(k=2)],
    )  # fmt: skip

    assert (
        "The records of reference voters were compared as if generalised to zip 2, age 1."
        in " ".join(str(result).split())
    )


def test_both_sides_at_a_level(tmp_path: Path) -> None:
    """Each side joins its own table of labels."""
    file = tmp_path / "zip.csv"
    file.write_text("".join(f"{zip:05d},{zip // 100:03d}**\n" for zip in range(1_000)))
    raw = asking.table(["zip"], [(f"{zip:05d}",) for zip in (1, 2, 3, 101, 102)])
    reference = kanon.ReferenceSpec(source=raw, levels={"zip": 1})

    [table] = kanon.audit(
        raw,
        quasi_identifiers={"zip": {"hierarchy": str(file)}},
        levels={"zip": 1},
        references={"same": reference},
        checks=[kanon.KMap(k=3)],
    ).tables

    assert [(check.model, check.achieved) for check in table.checks] == [
        ("k_map", 2), ("k_anonymity", 2),
    ]  # fmt: skip


def test_a_mask_of_a_reference_is_as_long_as_the_longest_of_both_sides() -> None:
    """`0213*` stands for five characters, so neither a longer nor a shorter value is meant."""
    release = asking.table(["zip"], [("0213*",)])
    voters = asking.table(["zip"], [("02138",), ("02138-1234",)])
    mask = {"zip": {"levels": [{"mask": "right"}]}}

    def achieved(source: Any) -> Any:
        reference = kanon.ReferenceSpec(source=source, levels={"zip": 1})
        asked = {"references": {"voters": reference}, "checks": [kanon.KMap(k=1)]}
        return kanon.audit(release, quasi_identifiers=mask, **asked).tables[0].checks[0].achieved

    assert (achieved(voters), achieved(voters.slice(0, 1))) == (0, 1)


def test_a_value_of_the_reference_that_the_hierarchy_lacks() -> None:
    reference = kanon.ReferenceSpec(source=VOTERS, columns=COLUMNS, levels={"zip": 1})
    lacking = {zip: above for zip, above in LISTED_ZIPS.items() if zip != "02251"}

    with pytest.raises(kanon.InputError) as refused:
        kanon.audit(
            RELEASE.rename_columns(["zip", "a"]),
            quasi_identifiers={"zip": {"hierarchy": lacking}},
            references={"voters": reference},
        )

    assert str(refused.value) == (
        'pyarrow.Table: 1 value of "zip_code", held by 3 records, is not in the hierarchy of zip. '
        "Add what is lacking, spelled as in the table."
    )


def test_the_command_line_says_the_level_of_a_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(RELEASE, "release.parquet")
    pq.write_table(VOTERS, "voters.parquet")
    pq.write_table(VOTERS_BY_HAND, "by_hand.parquet")
    (tmp_path / "kanon.yml").write_text(
        "tables:\n  - source: release.parquet\n"
        "    quasi_identifiers: {zip: {levels: [{mask: right}]}, age: {levels: [{width: 10}]}}\n"
        "    references:\n      voters: {source: voters.parquet, columns: {zip: zip_code}, "
        "levels: {zip: 2, age: 1}}\n"
        "    checks: [{k_map: {k: 2, reference: voters}}]\n"
    )

    by_option = audited(
        "release.parquet", "--qi", "zip,age", "--hierarchy", "zip=mask:right",
        "--hierarchy", "age=width:10", "--reference", "voters=voters.parquet",
        "--reference", "by_hand=by_hand.parquet", "--reference-columns", "voters:zip=zip_code",
        "--reference-columns", "by_hand:zip=zip_code", "--reference-level", "voters:zip=2,age=1",
        "--check", "k_map:k=2,reference=voters", "--check", "k_map:k=2,reference=by_hand",
    )  # fmt: skip
    in_spec = audited("kanon.yml")

    voters, by_hand, *_ = by_option["checks"]
    in_file, *_ = in_spec["checks"]
    assert voters.pop("reference_levels") == in_file.pop("reference_levels")
    assert voters["parameters"].pop("reference") == in_file["parameters"].pop("reference")
    by_hand["parameters"].pop("reference")
    assert voters == by_hand == in_file


# --- dates without an end -----------------------------------------------------------------------

ENDLESS = (
    "create table stays (born date, seen timestamp)",
    "insert into stays values ('infinity', 'infinity'), ('-infinity', '-infinity'), "
    "(null, null), ('2025-01-31', '2025-01-31 10:00:00'), ('2025-01-31', '2025-01-31 10:00:00')",
)


@pytest.fixture(scope="module", params=["postgres", "duckdb"])
def endless(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    if request.param == "duckdb":
        with duckdb.connect() as connection:
            for statement in ENDLESS:
                connection.execute(statement)
            yield connection
        return
    with ENGINES["postgres"].started(tmp_path_factory.mktemp("postgres")) as running:
        for statement in ENDLESS:
            running.run(statement)
        yield running.url


@pytest.mark.parametrize("column", ["born", "seen"])
@pytest.mark.parametrize("level", ["day", "month", "quarter", "year", {"years": 5}])
def test_an_infinite_date_is_a_period_by_itself_and_not_null(
    endless: Any, column: str, level: Any
) -> None:
    [table] = kanon.audit(
        "stays",
        quasi_identifiers={column: {"levels": [level]}},
        levels={column: 1},
        engine=endless,
    ).tables

    assert table.summary.classes == 4
    assert table.summary.largest_class == 2
    assert table.summary.records_with_null_qi == 1


def test_a_condition_reads_an_infinite_date_as_its_database_does(endless: Any) -> None:
    """Its year is infinite in Postgres and NULL in DuckDB."""
    [table] = kanon.audit(
        "stays", quasi_identifiers="born", where="extract(year from born) > 2000", engine=endless
    ).tables

    assert table.summary.records == (3 if isinstance(endless, str) else 2)


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("zip,prefix,all", True),
        ("ZIP,a,b", True),
        ("value,a,b", True),
        ("x,Level 1,Level 2", True),
        ("02140,0214*,*", False),
        ("unknown,unknown,*", False),
        (",none,*", False),
    ],
)
def test_a_header_of_a_hierarchy_is_noticed(tmp_path: Path, first: str, is_header: bool) -> None:
    file = tmp_path / "zips.csv"
    first = first.replace(",none", '"",none')
    file.write_text(f"{first}\n02138,0213*,*\n02139,0213*,*\n", encoding="utf-8")
    table = pa.table({"zip": ["02138", "02139"] * 3})
    asked = {"zip": {"hierarchy": str(file)}}

    if is_header:
        with pytest.raises(kanon.SpecError, match=r"csv:1: the first line looks like a header"):
            kanon.anonymize(table, asked, k=6)
    faults = "warn" if is_header else "error"
    found = kanon.anonymize(table, asked, k=6, max_suppressed=0, hierarchy_faults=faults)
    assert found.anonymization.levels == {"zip": 1}


def test_which_value_a_hierarchy_lacks_is_told_on_demand_only(tmp_path: Path) -> None:
    (tmp_path / "zips.csv").write_text("02138,0213*\n", encoding="utf-8")
    table = pa.table({"zip": ["02138", "02141", "02139"]})
    asked = {"zip": {"hierarchy": str(tmp_path / "zips.csv")}}
    told = '2 values of "zip"{}, held by 2 records, are not in the hierarchy'

    for show_values, which in ((True, r" \(02139,02141\)"), (False, "")):
        with pytest.raises(kanon.InputError, match=told.format(which)):
            kanon.audit(table, asked, levels={"zip": 1}, show_values=show_values)
