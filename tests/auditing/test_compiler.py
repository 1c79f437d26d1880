"""Where does the SQL for another database take its tables from, and where is it written to?"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.errors import SpecError

PEOPLE = pyarrow.table({"zip": ["02138", "02139"], "age": [30, 41], "illness": ["flu", "flu"]})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pyarrow.parquet.write_table(PEOPLE, tmp_path / "people.parquet")
    (tmp_path / "people.csv").write_text("zip,age,illness\n02138,30,flu\n")
    (tmp_path / "others.csv").write_text("zip,age\n02138,30\n02138,30\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def steps(data: str = "people.parquet", **asked: object) -> dict[str, str]:
    question = {"quasi_identifiers": ["zip", "age"], "dialect": "snowflake", **asked}
    [table] = kanon.compile(data, **question).tables
    return dict(table.steps)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


# --- the table ------------------------------------------------------------------------------


def test_a_file_stands_for_the_table_that_is_called_after_it() -> None:
    text = steps()["classes"]

    assert 'from "people"' in text
    assert '-- Table      "people" stands for people.parquet; its columns are assumed' in text
    assert "-- Dialect    snowflake, generated and not executed" in text


def test_the_table_may_be_called_otherwise() -> None:
    assert 'from "analytics"."patients"' in steps(table="analytics.patients")["classes"]


def test_what_runs_here_says_so() -> None:
    assert "-- Dialect    duckdb, as executed\n" in steps(dialect="duckdb")["classes"]
    assert (
        "-- Dialect    sqlite, generated; not executed here, " in steps(dialect="sqlite")["classes"]
    )


def test_a_name_is_enough() -> None:
    found = steps("analytics.patients", sensitive="illness", where="height > 180")

    assert 'from "analytics"."patients"\n' in found["classes"]
    assert "the types of its columns are" in found["classes"]
    assert 'where\n            ("height" > 180)' in found["classes"]
    assert "cast(\"zip\" as varchar) = '*'" in found["classes"]


def test_a_name_is_enough_for_duckdb() -> None:
    found = steps("analytics.patients", dialect="duckdb", sensitive="illness")

    with duckdb.connect() as connection:
        connection.execute("create schema analytics")
        connection.from_arrow(PEOPLE).create("analytics.patients")
        sizes = connection.execute(found["classes"]).fetchall()
    assert sum(records for _, _, records, *_ in sizes) == len(PEOPLE)


def test_a_text_file_has_no_types_to_go_by() -> None:
    assert 'cast("age" as double) > 18' in steps("people.csv", where="age > 18")["classes"]
    assert '"age" > 18' in steps("people.parquet", where="age > 18")["classes"]


def test_a_reference_needs_no_more_than_a_name() -> None:
    reference = kanon.ReferenceSpec(source="public.voters", columns={"zip": "post code"})
    found = steps("analytics.patients", references={"voters": reference})

    assert 'from "public"."voters"' in found["k_map_voters"]
    assert '"post code"' in found["k_map_voters"]


def test_a_number_is_cast_for_its_level() -> None:
    levels = {"age": {"levels": [{"width": 10}]}}
    text = steps("patients", quasi_identifiers=levels, levels={"age": 1})["classes"]

    assert 'try_cast(cast(cast("age" as varchar) as varchar) as double)' in text


def test_unknown_types_are_never_taken_for_different_ones() -> None:
    found = steps("patients", references={"voters": "people.parquet"})

    assert "k_map_voters" in found


@pytest.mark.parametrize(
    ("data", "asked", "message"),
    [
        ("patients", {"quasi_identifiers": "*"}, "'*' is every column of a table that nobody"),
        ("classes", {}, "the statements have a CTE named classes"),
        ("*.parquet", {}, r"name the table of \*.parquet in that database: table='NAME'"),
        ("people.parquet", {"dialect": "duckdb", "table": "a"}, "of another dialect"),
        ("people.parquet", {"quote": "never"}, "quote is always or needed; found 'never'"),
        ("people.parquet", {"first": 1}, "has no first records"),
        (
            "patients",
            {"quasi_identifiers": {"zip": {"levels": [{"mask": "right"}]}}, "levels": {"zip": 1}},
            "a mask is as long as the longest value",
        ),
    ],
)
def test_what_can_not_be_written_is_refused(
    data: str, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        steps(data, **asked)


def test_texts_are_proved_to_be_told_apart() -> None:
    text = steps("patients", dialect="mysql")["texts"]

    assert "count(distinct cast(kanon_value as binary)) as kanon_spellings" in text
    assert "texts" not in steps(dialect="duckdb")


# --- the files ------------------------------------------------------------------------------


ASKED = ("compile", "people.parquet", "--qi", "zip,age", "--dialect", "trino")


def test_a_file_a_step(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*ASKED, "--output-dir", "sql") == 0

    written = sorted(file.name for file in (here / "sql").iterdir())
    assert capsys.readouterr() == ("", f"sql written: {len(written)} statements.\n")
    assert written[:2] == ["01_texts.sql", "02_classes.sql"]
    assert (here / "sql" / "02_classes.sql").read_text().endswith("order by\n    kanon_size;\n")


def test_several_tables_have_a_folder_each(here: Path) -> None:
    tables = "".join(
        f"  - {{name: {name}, source: people.parquet, quasi_identifiers: [zip]}}\n"
        for name in ("a b", "a/b")
    )
    Path("kanon.yml").write_text(f"version: 1\ntables:\n{tables}")

    assert run("compile", "kanon.yml", "--output-dir", "sql") == 0
    assert sorted(folder.name for folder in (here / "sql").iterdir()) == ["01_a_b", "02_a_b"]


def test_nothing_is_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "sql").mkdir()
    (here / "sql" / "02_classes.sql").write_text("mine")
    (here / "sql" / "notes.txt").write_text("mine")

    assert run(*ASKED, "--output-dir", "sql") == 2
    assert "sql/02_classes.sql exists; add --overwrite to replace it." in capsys.readouterr().err
    assert sorted(file.name for file in (here / "sql").iterdir()) == ["02_classes.sql", "notes.txt"]

    assert run(*ASKED, "--output-dir", "sql", "--overwrite") == 0
    assert (here / "sql" / "02_classes.sql").read_text() != "mine"
    assert (here / "sql" / "notes.txt").read_text() == "mine"


def test_two_questions_are_not_mixed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*ASKED, "--sensitive", "illness", "--l", "2", "--output-dir", "sql") == 0
    before = sorted((here / "sql").iterdir())
    capsys.readouterr()

    assert run(*ASKED, "--output-dir", "sql", "--overwrite") == 2

    assert "would be taken for one. Remove it" in capsys.readouterr().err
    assert sorted((here / "sql").iterdir()) == before


def test_all_files_are_written_or_none(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kanon_sql.results import writing

    put = writing.put_in_place

    def fail(new: Path, path: Path, **how: bool) -> None:
        if path.name == "02_classes.sql":
            raise OSError(28, "No space left on device")
        put(new, path, **how)

    monkeypatch.setattr(writing, "put_in_place", fail)

    assert run(*ASKED, "--output-dir", "deep/sql") == 2
    assert not (here / "deep").exists()


def test_one_step_is_one_file(here: Path) -> None:
    assert run(*ASKED, "--output-dir", "sql", "--step", "classes") == 0
    assert [file.name for file in (here / "sql").iterdir()] == ["01_classes.sql"]


# --- text files -----------------------------------------------------------------------------


def test_a_text_file_is_read_once_in_a_set_that_says_how() -> None:
    compiled = kanon.compile(
        "people.csv",
        quasi_identifiers=["zip", "age"],
        sensitive="illness",
        references={"voters": kanon.ReferenceSpec(source="others.csv")},
    )
    for text in compiled.statements:
        reads = [file for file in ("people.csv", "others.csv") if f"'{file}'" in text]

        assert text.count("read_csv(") == len(reads)
        assert max(map(len, text.splitlines())) <= 110
        duckdb.sql(text).fetchall()
    assert compiled.only("classes").until("records").statements[0].endswith("from records")


def test_only_what_a_statement_reads_is_in_that_set() -> None:
    [text] = kanon.compile("people.csv", quasi_identifiers="age").only("classes").statements

    assert 'records as (\n    select\n        "age"\n    from read_csv(\n        \'pe' in text
    assert "        columns = {\n            'zip': 'VARCHAR',\n" in text


# --- up to a set ----------------------------------------------------------------------------


def test_a_statement_ends_with_the_rows_of_a_set() -> None:
    compiled = kanon.compile("people.csv", quasi_identifiers="age", sensitive="illness")
    [text] = compiled.only("classes").until("class_values").statements

    assert text.endswith("\n)\n\nselect *\nfrom class_values")
    assert "-- Until      class_values: its rows are shown, not the answer." in text
    assert duckdb.sql(text).fetchall() == [("30", "flu", 1)]


def test_only_the_statements_that_name_a_set_are_left() -> None:
    compiled = kanon.compile("people.csv", quasi_identifiers="age", sensitive="illness")

    [all_of_them], [left] = compiled.tables, compiled.until("class_values").tables

    assert list(left.steps) == [
        name for name, text in all_of_them.steps.items() if "\nclass_values as (" in text
    ]
    assert 0 < len(left.steps) < len(all_of_them.steps)


def test_a_set_that_is_not_there_is_refused() -> None:
    compiled = kanon.compile("people.csv", quasi_identifiers="age", sensitive="illness")

    with pytest.raises(SpecError, match=r'no set "class_value"\. Sets of .*Did you mean "class_v'):
        compiled.only("classes").until("class_value")


def test_the_command_writes_up_to_a_set(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("compile", "people.csv", "--qi", "age", "--sensitive", "illness", "--t", "0.2")

    assert run(*asked, "--step", "classes", "--until", "value_totals") == 0
    assert duckdb.sql(capsys.readouterr().out).fetchall() == [("flu", 1)]
    assert run(*asked, "--until", "values_total") == 2
    assert capsys.readouterr().err.endswith('Did you mean "value_totals"?\n')
