"""Hierarchies in words: what a spec and the command line may say, and what is wrong with a file."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from places import TESTS

import kanon_sql as kanon
from kanon_sql.question.hierarchy import (
    GeneralizationHierarchy,
    expanded,
    level_label,
    parse_builder,
    parse_clip,
)
from kanon_sql.question.hierarchy_table import (
    HierarchyRow,
    HierarchyTable,
    hierarchy_table,
    read_hierarchy,
    read_tree,
    refuse,
    summary,
    table_of_rows,
)

HERE = TESTS
DATA = Path(os.environ.get("KANON_SQL_DATA", HERE.parents[1] / "shared" / "data"))

LEVELS = (
    "this is not a level. Levels: {width: 5}, {round: 10}, {depths: [1]}, {mask: right}, "
    "{prefix: 3}, {cuts: [18, 65]}, {top: 90}, {bottom: 18}, {years: 5}, day, month, quarter, "
    "year, suppress."
)
WIDTH = "width must be a number above 0, 10^18 at most, as in {width: 5} or {width: 5, origin: 2}"
BUILDERS = (
    "Builders: width:5,10,20 · round:10,100 · depths:1,2 · mask:right · date:month,year,5y · "
    "prefix:3,2 · cuts:18,40,65 · top:90 · bottom:18 · suppress."
)


def spoken_levels(hierarchy: GeneralizationHierarchy) -> list[str]:
    return [level_label(level) for level in expanded(hierarchy.levels or ())]


# --- what a spec may say --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([{"width": 5}, {"width": 10.0}], ["width 5", "width 10"]),
        ([{"width": 0.5, "origin": -2}], ["width 0.5 from -2"]),
        ([{"round": 10}, {"depths": [1, 3]}], ["round 10", "round 10", "round 1000"]),
        ([{"mask": "left"}, "suppress"], ["mask from the left", "suppress"]),
        ([{"prefix": 3}, {"prefix": 2}], ["prefix 3", "prefix 2"]),
        ([{"cuts": [-1, 0.5, 65]}], ["cuts -1, 0.5, 65"]),
        (["day", "month", "quarter", "year", {"years": 5}], None),
        ([{"top": 90}, {"bottom": 18}], ["top 90", "bottom 18"]),
        ([{"years": 1}, {"years": 5}], ["1 year", "5 years"]),
    ],
)
def test_levels_are_called_what_they_are(levels: list[Any], words: list[str] | None) -> None:
    expected = words or ["day", "month", "quarter", "year", "5 years"]

    assert spoken_levels(GeneralizationHierarchy(levels=levels)) == expected


def test_an_error_of_a_level_points_at_it(tmp_path: Path) -> None:
    file = tmp_path / "kanon.yml"
    file.write_text(
        "tables:\n  - source: a.csv\n    quasi_identifiers:\n      age: {levels: [{width: 0}]}\n",
        encoding="utf-8",
    )

    with pytest.raises(kanon.SpecError) as refused:
        kanon.AuditSpec.from_file(file)

    assert str(refused.value).splitlines() == [
        f"{file}:4:22: {WIDTH}; found 0.",
        "    3 |     quasi_identifiers:",
        "    4 |       age: {levels: [{width: 0}]}",
        "      |                      ^^^^^^^^^^",
    ]


def test_a_hierarchy_may_stand_in_the_spec_or_in_a_file_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "kanon.yml"
    file.write_text(
        "tables:\n  - source: a.csv\n    quasi_identifiers:\n"
        "      city: {hierarchy: {Rome: [Italy, Europe], 7: South, 2.0: [true, no]}}\n"
        "      zip: {hierarchy: zip.csv}\n",
        encoding="utf-8",
    )

    [table] = kanon.AuditSpec.from_file(file).tables

    assert {name: each.hierarchy for name, each in table.quasi_identifiers.items()} == {
        "city": {"Rome": ["Italy", "Europe"], "7": ["South"], "2": ["true", "no"]},
        "zip": str(tmp_path / "zip.csv"),
    }


# --- what the command line says -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("width:5,10,20", ["width 5", "width 10", "width 20"]),
        ("width:0.5, 2.50", ["width 0.5", "width 2.5"]),
        ("width:5,10,suppress", ["width 5", "width 10", "suppress"]),
        ("round:10,100", ["round 10", "round 100"]),
        ("depths:1,2", ["round 10", "round 100"]),
        ("mask", ["mask from the right"]),
        ("mask:left", ["mask from the left"]),
        ("mask:right,suppress", ["mask from the right", "suppress"]),
        ("date", ["month", "year"]),
        ("date:day,quarter,5y", ["day", "quarter", "5 years"]),
        ("prefix:3,2", ["prefix 3", "prefix 2"]),
        ("cuts:-18,40,65.5", ["cuts -18, 40, 65.5"]),
        ("top:90", ["top 90"]),
        ("bottom:18,suppress", ["bottom 18", "suppress"]),
        ("suppress", ["suppress"]),
    ],
)
def test_a_builder_is_read(text: str, words: list[str]) -> None:
    assert spoken_levels(parse_builder(text)) == words


def test_an_existing_path_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("suppress").write_text("a,b\n", encoding="utf-8")

    assert parse_builder("suppress") == GeneralizationHierarchy.from_file("suppress")
    assert parse_builder("suppress").hierarchy == "suppress"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zip.csv", f"zip.csv: there is no such file, and no builder of that name. {BUILDERS}"),
        ("widht:5", "widht:5: there is no such file, and no builder of that name. "
         f'{BUILDERS} Did you mean "width"?'),
        ("width", "width: width lacks an argument. Write it as width:5,10,20."),
        ("width:", "width:: width lacks an argument. Write it as width:5,10,20."),
        ("width:5,,10", "width:5,,10: width lacks an argument. Write it as width:5,10,20."),
        ("width:suppress",
         "width:suppress: width lacks an argument. Write it as width:5,10,20."),
        ("width:five", f"width:five: {WIDTH}; found 'five'."),
        ("width:10,5", "width:10,5: width 5 comes after width 10 and is finer. Order the levels "
         "from the finest to the coarsest."),
        ("cuts:65,18", "cuts:65,18: cuts must be numbers in ascending order, as in "
         "{cuts: [18, 40, 65]}; found [65, 18]."),
        ("date:weekly", f"date:weekly: {LEVELS}"),
        ("suppress:5", "suppress:5: suppress takes no arguments."),
    ],
)  # fmt: skip
def test_what_is_no_builder_is_refused(text: str, message: str) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        parse_builder(text)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "bounds"), [("10:90", [10, 90]), ("3:", [3, None]), (":-0.5", [None, -0.5])]
)
def test_a_clip_is_read(text: str, bounds: list[float | None]) -> None:
    assert parse_clip(text) == bounds


CLIP = "write the lowest and the highest value as 10:90, or dates as 1935-01-01:."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", f"'10' is not a clip; {CLIP}"),
        ("a:b", f"'a:b' is not a clip; {CLIP}"),
        (":", "clip leaves both sides open. Give a lowest or a highest value."),
        ("90:10", "clip goes from 90 down to 10. Give the lowest value first."),
    ],
)
def test_what_is_no_clip_is_refused(text: str, message: str) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        parse_clip(text)

    assert str(refused.value) == message


# --- files ----------------------------------------------------------------------------------


def table(folder: Path, text: str) -> HierarchyTable:
    file = folder / "age.csv"
    file.write_text(text, encoding="utf-8")
    return read_hierarchy(file)


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a,x,*\nb,y,*\n", {"a": "x", "b": "y"}),
        ("a;x, or y;*\nb;y, or z;*\n", {"a": "x, or y", "b": "y, or z"}),
        ("\ufeffa\tx\r\n\r\nb\ty\r\n", {"a": "x", "b": "y"}),
        ('17,"[15, 20[",*\n18,"[15, 20[",*\n', {"17": "[15, 20[", "18": "[15, 20["}),
        ("a|x\n", {"a": "x"}),
        ('"é";"日""本"\n', {"é": '日"本'}),
    ],
)
def test_a_file_is_read_whole(tmp_path: Path, text: str, labels: dict[str, str]) -> None:
    read = table(tmp_path, text)

    assert (read.labels(1), read.faults) == (labels, ())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "age.csv: the hierarchy is empty. Give each value a line."),
        (b"\n\n", "age.csv: the hierarchy is empty. Give each value a line."),
        (b"a\nb\n", "age.csv: the hierarchy has one column. Put each value's ancestors beside it, "
         "divided by a comma, a semicolon, a tab or |."),
        (b"PAR1\x00\xff\xfe", "age.csv: the hierarchy can't be read: it is not UTF-8. Save it as "
         "CSV in UTF-8, or name a Parquet, JSON or Arrow file."),
        (b'a,x\nb,"y\nz"\n',
         "age.csv:3: a value has a line break in it. Write it on one line."),
        (b'"a\nb",x\nc,y\n',
         "age.csv:2: a value has a line break in it. Write it on one line."),
        ("a,x\nb,y\u2028z\n".encode(),
         "age.csv:2: a value has a line break in it. Write it on one line."),
        (b'a,x\n"b,y\n',
         "age.csv:2: this line is not CSV: unexpected end of data. Close its quotes."),
    ],
)  # fmt: skip
def test_what_holds_no_levels_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "age.csv"
    file.write_bytes(content)

    with pytest.raises(kanon.SpecError) as refused:
        GeneralizationHierarchy.from_file(file)

    assert str(refused.value) == f"{tmp_path}/{message}"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        read_hierarchy(tmp_path / "age.csv")

    assert str(refused.value).endswith(
        "age.csv: the hierarchy can't be read: No such file or directory. Name a file that exists "
        "and is readable."
    )


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "age.csv")

    with pytest.raises(kanon.SpecError, match=r"is a pipe\. A hierarchy is read more than once"):
        read_hierarchy(tmp_path / "age.csv")
    assert parse_builder(str(tmp_path / "age.csv")).hierarchy == str(tmp_path / "age.csv")


NOT_NESTED = "39,30-40,0-50\n40,40-60,0-50\n50,40-60,50-100\n51,40-60,50-100\n"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a,x,*\nb,y,*\na,y,*\n",
         ["age.csv:3: the value of this line lies under another parent (level 1) than in line 1, "
          "so nobody can tell which is meant."]),
        ("a,x,n\na,x,m\n",
         ["age.csv:2: the value of this line lies under another parent (level 2) than in line 1, "
          "so nobody can tell which is meant.",
          "age.csv:2: the label of level 1 in this line lies under another label of level 2 than "
          "in line 1, so level 2 would publish a wrong label for 1 value."]),
        ("a,x\na,y\na,z\n",
         ["age.csv:2: the value of this line lies under another parent (level 1) than in line 1, "
          "so nobody can tell which is meant."]),
        ("a,x\nb,y\na,x\n", []),
        (NOT_NESTED,
         ["age.csv:3: the label of level 1 in this line lies under another label of level 2 than "
          "in line 2, so level 2 would publish a wrong label for 3 values."]),
        ('"",x\n"a,",x\n', []),
    ],
)  # fmt: skip
def test_faults_say_where_and_how_much_and_no_value(
    tmp_path: Path, text: str, faults: list[str]
) -> None:
    found = [str(fault).removeprefix(f"{tmp_path}/") for fault in table(tmp_path, text).faults]

    assert found == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("a,x,n\na,x,m\n",
         ['age.csv:2: "a" lies under both "n" (line 1) and "m" (level 2), so nobody can tell which '
          "is meant.",
          'age.csv:2: "x" lies under both "n" (line 1) and "m" (level 1 to 2), so level 2 would '
          "publish a wrong label for 1 value."]),
        ("a,x\na,y\na,z\n",
         ['age.csv:2: "a" lies under both "x" (line 1) and "y" and 1 more (level 1), so nobody can '
          "tell which is meant."]),
    ],
)  # fmt: skip
def test_faults_show_values_to_who_asks(tmp_path: Path, text: str, faults: list[str]) -> None:
    said = summary(table(tmp_path, text).faults, show_values=True)

    assert said.replace(f"{tmp_path}/", "").splitlines() == faults


def test_faults_of_a_table_say_which_column() -> None:
    rows = [("a", "x", "n"), ("b", "x", "m"), ("b", "y", "m"), ("c", "z", "m"), ("c", "z", "m")]
    faults = table_of_rows("zips", ("zip", "area", "state"), rows).faults

    assert summary(faults).splitlines() == [
        'zips: a value lies under 2 parents in level 1 (column "area"), so nobody can tell which '
        "is meant.",
        'zips: a label of level 1 (column "area") lies under 2 of level 2 (column "state"), so '
        "level 2 would publish a wrong label for 2 values.",
    ]
    assert summary(faults, show_values=True).splitlines()[0] == (
        'zips: "b" lies under both "x" and "y" (level 1), so nobody can tell which is meant.'
    )


def test_a_mapping_is_held_to_the_same() -> None:
    mapping = hierarchy_table({"a": ["x", "n"], "b": ["x", "m"]}, "the hierarchy of q")

    assert [str(fault) for fault in mapping.faults] == [
        'the hierarchy of q: "x" lies under both "n" and "m" (level 1 to 2), so level 2 would '
        "publish a wrong label for 2 values.",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (",x\n", '1: column 1 is empty. If the empty text is meant, write it as "".'),
        ("a,x\nb,\n", '2: column 2 is empty. If the empty text is meant, write it as "".'),
        ('a,x\nb,""\n', "2: level 1 is empty. Give each value a label there."),
        (
            "a,x,*\nb,y\n",
            "2: this line has 2 columns, line 1 has 3. Give every value the same number of "
            "ancestors, and repeat one where it has fewer.",
        ),
        ("a,x\nb\n", "2: this line has 1 column, line 1 has 2. Give every value the same"),
    ],
)
def test_a_hierarchy_has_all_its_fields(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        table(tmp_path, text)

    assert f"age.csv:{fault}" in str(refused.value)


def test_so_have_a_mapping_and_a_table() -> None:
    with pytest.raises(kanon.SpecError, match=r'the height of "c" is 1, of "a" 2\. Give each'):
        hierarchy_table({"a": ["x", "n"], "c": ["y"]}, "the hierarchy of q")
    with pytest.raises(kanon.SpecError, match="the hierarchy of q: level 1 is empty"):
        hierarchy_table({"a": [""]}, "the hierarchy of q")
    with pytest.raises(kanon.SpecError, match=r'level 1 \(column "area"\) is empty'):
        table_of_rows("zips", ("zip", "area"), [("a", "x"), ("c", None)])
    with pytest.raises(kanon.SpecError, match="zips: a raw value is NULL"):
        table_of_rows("zips", ("zip", "area"), [("a", "x"), (None, "x")])


def test_a_row_that_is_there_twice_counts_once(tmp_path: Path) -> None:
    rows = (HierarchyRow(1, "a", ("x",)), HierarchyRow(2, "b", ("x",)))

    assert table(tmp_path, "a,x\nb,x\na,x\n").rows == rows
    assert (
        table_of_rows("ages", ["raw", "group"], [("a", "x"), ("b", "x"), ("a", "x")]).rows == rows
    )
    (tmp_path / "tree.csv").write_text("flu,any\nhiv,any\nflu,any\n")
    assert read_tree(tmp_path / "tree.csv") == (("flu",), ("hiv",))


def test_a_refusal_names_each_kind_once_and_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        refuse(table(tmp_path, f"{NOT_NESTED}39,30-40,0-50\n51,40-60,50-100\n").faults)

    assert str(refused.value).replace(f"{tmp_path}/", "").splitlines() == [
        "age.csv:3: the label of level 1 in this line lies under another label of level 2 than in "
        "line 2, so level 2 would publish a wrong label for 3 values.",
        "Fix it, or continue with hierarchy_faults='warn': every level is then read from the raw "
        "value, and the first row of a value wins.",
    ]


def test_without_faults_nothing_is_refused(tmp_path: Path) -> None:
    refuse(table(tmp_path, "a,x\n").faults)


def test_who_goes_on_takes_the_first_row(tmp_path: Path) -> None:
    read = table(tmp_path, "a,x,n\na,y,m\nb,z,z\n")

    assert [read.labels(level) for level in (1, 2)] == [
        {"a": "x", "b": "z"},
        {"a": "n", "b": "z"},
    ]
    assert read.height == 2


# --- the published ones ---------------------------------------------------------------------


def published(name: str) -> HierarchyTable:
    file = DATA / name
    if not file.exists():
        pytest.skip(f"{name} is not here; name its folder in KANON_SQL_DATA")
    return read_hierarchy(file)


@pytest.mark.parametrize(
    ("name", "kinds", "sentences"),
    [
        (
            "age_generalization.csv",
            {"not nested": 1},
            ':51: "40-60" lies under both "0-50" (line 40) and "50-100" (level 2 to 3), so level 3 '
            "would publish a wrong label for 20 values.",
        ),
        (
            "city_birth_generalization.csv",
            {"two parents": 686},
            ':382: "San Giovanni" lies under both "L\'Aquila" (line 3) and "Chieti" and 14 more '
            "(level 1), so nobody can tell which is meant. In all 686 values have two parents.",
        ),
        ("zip_code_generalization.csv", {}, ""),
    ],
)
def test_the_faults_of_the_datafly_exercise(
    name: str, kinds: dict[str, int], sentences: str
) -> None:
    read = published(f"datafly/{name}")

    assert Counter(fault.kind for fault in read.faults) == kinds
    assert summary(read.faults, show_values=True).replace(read.name, "") == sentences


@pytest.mark.parametrize(
    ("name", "height"),
    [("age", 4), ("education", 3), ("marital-status", 2), ("native-country", 2), ("occupation", 2),
     ("race", 1), ("salary-class", 1), ("sex", 1), ("workclass", 2)],
)  # fmt: skip
def test_the_hierarchies_of_arx_are_clean(name: str, height: int) -> None:
    read = published(f"arx_adult/adult_hierarchy_{name}.csv")

    assert (read.faults, read.height) == ((), height)
    assert all(read.nested(level) for level in range(1, height + 1))


# --- the tree of a hierarchical distance ------------------------------------------------------


def test_a_tree_may_have_the_empty_text_for_a_leaf(tmp_path: Path) -> None:
    file = tmp_path / "tree.csv"
    file.write_text('"",unknown,any\nflu,lung,any\n')

    assert read_tree(file) == (("", "unknown"), ("flu", "lung"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",unknown,any\n",
         'tree.csv:1: column 1 is empty. If the empty text is meant, write it as "".'),
        ("flu,,any\n",
         'tree.csv:1: column 2 is empty. If the empty text is meant, write it as "".'),
        ("flu,lung,any\ncold,any\n",
         "tree.csv:2: this line has 2 columns, line 1 has 3. Give every value the same number of "
         "ancestors, and repeat one where it has fewer."),
        ("flu,x,any\nflu,y,any\n", "tree.csv:2: line 1 has the same value already."),
        ("flu,lung,any\ncold,lung,all\n",
         "tree.csv:2: column 2 of this line lies under another parent (column 3) than in line 1, "
         "so it is no tree. Give it one parent."),
        ("flu,lung\nrash,skin\n",
         "tree.csv: the last column has 2 different values. The last column must be the root, the "
         "same in every line, so that any two values have an ancestor in common."),
    ],
)  # fmt: skip
def test_what_is_no_tree_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "tree.csv"
    file.write_text(text)

    with pytest.raises(kanon.SpecError) as refused:
        read_tree(file)

    assert str(refused.value).removeprefix(f"{tmp_path}/") == message
