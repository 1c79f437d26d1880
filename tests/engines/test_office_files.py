"""Workbooks and data files of statistics programs, value for value."""

from __future__ import annotations

import sys
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest
from test_files import DATA
from workbooks import EMPTY_TEXT, FORMULA, NOT_AVAILABLE, UNCOMPUTED, Xml, styled, workbook

import kanon_sql as kanon
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.readers import TextOptions
from kanon_sql.errors import InputError, KanonError, MissingDriverError, SpecError

PEOPLE = [["zip", "age"], ["02138", 34], ["02139", 35]]


def read(target: Path | str, **options: Any) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """The types of a target's columns, and its records in order."""
    with DuckDBEngine(text=TextOptions(**options)) as engine:
        table = engine.table(str(target))
        rows = [tuple(row.values()) for row in engine.query(f"from {table.sql}")]
        return {column.name: column.type for column in table.columns}, rows


def refusal(target: Path | str, error: type[KanonError] = InputError, **options: Any) -> str:
    with pytest.raises(error) as refused:
        read(target, **options)
    return str(refused.value).replace(f"{Path(str(target).partition('#')[0]).parent}/", "")


@pytest.mark.parametrize(
    ("cells", "type", "values"),
    [
        (["02138", "2138"], "VARCHAR", ["02138", "2138"]),
        (["02138", 2138], "VARCHAR", ["02138", "2138"]),
        ([styled(2138, "padded"), 7], "BIGINT", [2138, 7]),
        ([1, 2.0, None], "BIGINT", [1, 2, None]),
        ([1, 0.1, -0.5], "DOUBLE", [1.0, 0.1, -0.5]),
        ([0.1, "n/a"], "VARCHAR", ["0.1", "n/a"]),
        ([9007199254740991, 1], "BIGINT", [9007199254740991, 1]),
        ([True, False, None], "BOOLEAN", [True, False, None]),
        ([True, "yes"], "VARCHAR", ["TRUE", "yes"]),
        (
            [styled(20813, "date"), styled(1, "date")],
            "DATE",
            [date(1956, 12, 24), date(1900, 1, 1)],
        ),
        (
            [styled(20813, "date"), styled(20813.25, "datetime")],
            "TIMESTAMP",
            [datetime(1956, 12, 24), datetime(1956, 12, 24, 6)],
        ),
        ([styled(0.5, "time")], "TIME", [time(12)]),
        ([styled(20813, "date"), "unknown"], "VARCHAR", ["1956-12-24", "unknown"]),
        ([FORMULA, 3], "BIGINT", [2, 3]),
        (["a", EMPTY_TEXT, NOT_AVAILABLE, None, " a "], "VARCHAR", ["a", None, None, None, " a "]),
        (["1", "1.0", "1,0"], "VARCHAR", ["1", "1.0", "1,0"]),
    ],
)
def test_a_column_has_the_type_of_all_its_cells(
    tmp_path: Path, cells: list[Any], type: str, values: list[Any]
) -> None:
    rows = [["id", "x"], *([f"r{n}", cell] for n, cell in enumerate(cells))]
    types, records = read(workbook(tmp_path / "book.xlsx", {"S": rows}))
    assert types == {"id": "VARCHAR", "x": type}
    assert records == [(f"r{n}", value) for n, value in enumerate(values)]


def test_a_sheet_and_a_range_are_named(tmp_path: Path) -> None:
    messy = [["Stays of 2024"], [], [None, *PEOPLE[0]], *([None, *row] for row in PEOPLE[1:]), [],
             ["Sum", None, 69]]  # fmt: skip
    path = workbook(tmp_path / "book.xlsx", {"It's 2024": messy, "Notes": [["x"], ["y"]]})
    records = [("02138", 34), ("02139", 35)]
    assert read(f"{path}#'It's 2024'!B3:C5")[1] == records
    assert read(f"{path}#It's 2024!B3:C5")[1] == records
    assert read(f"{path}#Notes")[1] == [("y",)]
    assert refusal(path) == (
        "book.xlsx has 2 sheets: It's 2024, Notes. Name one, as in 'book.xlsx#It's 2024'."
    )
    assert refusal(f"{path}#Nots") == (
        "book.xlsx has no sheet 'Nots'. Its sheets: It's 2024, Notes. Did you mean \"Notes\"?"
    )
    assert refusal(f"{path}#It's 2024", skip={f"{path}#It's 2024": 2}) == (
        "book.xlsx: row 6 of sheet It's 2024 is blank. Remove it, or name the range of the table, "
        "as in book.xlsx#Sheet1!A3:F900."
    )
    assert "is empty there" in refusal(f"{path}#Notes!F1:G9")
    assert "is not a range of cells" in refusal(f"{path}#Notes!F1", SpecError)
    assert "ends before it begins" in refusal(f"{path}#Notes!B9:A1", SpecError)


def test_empty_sheets_are_no_choice_and_title_rows_are_skipped(tmp_path: Path) -> None:
    rows = [["Stays of 2024"], ["Ward 7"], *PEOPLE, [], []]
    path = workbook(tmp_path / "book.xlsx", {"Sheet1": [], "Sheet2": rows})
    assert read(path, skip=2) == (
        {"zip": "VARCHAR", "age": "BIGINT"},
        [("02138", 34), ("02139", 35)],
    )


@pytest.mark.parametrize(
    ("rows", "merged", "message"),
    [
        ([*PEOPLE, [], ["02138", 1]], [], "row 4 of sheet S is blank"),
        (PEOPLE, ["A2:A3"], "row 2 of sheet S has merged cells"),
        (PEOPLE, ["A1:B1"], "row 1 of sheet S has merged cells"),
        ([["zip", "age"], ["02138", UNCOMPUTED]], [], "sheet S has formulas whose values are not"),
        ([["id"], [9007199254740993]], [], 'column "id" has numbers above 2^53'),
        ([["Ann", 33], ["Bob", 44]], [], "the first line looks like a record"),
        ([["zip", None], ["02138", 1]], [], "field 2 is empty"),
        ([["zip", "ZIP"], ["02138", 1]], [], "field 2 is there twice"),
        ([[]], [], "sheet S is empty there"),
    ],
)
def test_what_a_sheet_would_lose_is_refused(
    tmp_path: Path, rows: Any, merged: list[str], message: str
) -> None:
    path = workbook(tmp_path / "book.xlsx", {"S": rows}, merged)
    said = refusal(path)
    assert said.startswith("book.xlsx: ")
    assert message in said
    assert not {"Ann", "33", "02138"} & {*said.split()}


def test_headers_of_sheets_are_as_those_of_text_files(tmp_path: Path) -> None:
    index = workbook(tmp_path / "a.xlsx", {"S": [[None, "zip"], [0, "1"], [1, "1"]]})
    with DuckDBEngine() as engine:
        table = engine.table(str(index))
        assert (table.column_names, table.has_index) == (("column_1", "zip"), True)
    nameless = workbook(tmp_path / "b.xlsx", {"S": [["Ann", 33], ["Bob", 44]]})
    assert read(nameless, header=False)[1] == [("Ann", 33), ("Bob", 44)]
    years = workbook(tmp_path / "c.xlsx", {"S": [["zip", 2019], ["1", 44]]})
    assert read(years, header=True)[0] == {"zip": "VARCHAR", "2019": "BIGINT"}
    assert read(years, header=True, null_strings=("1",))[1] == [(None, 44)]


def test_files_of_a_glob_have_one_type(tmp_path: Path) -> None:
    workbook(tmp_path / "1.xlsx", {"S": [["x"], [1]]})
    workbook(tmp_path / "2.xlsx", {"S": [["x"], ["01"]]})
    assert read(tmp_path / "*.xlsx") == ({"x": "VARCHAR"}, [("1",), ("01",)])
    workbook(tmp_path / "3.xlsx", {"S": [["y"], ["01"]]})
    assert "has other columns than" in refusal(tmp_path / "*.xlsx")


def test_an_audit_of_a_workbook_and_of_its_csv_are_one(tmp_path: Path) -> None:
    rows = [["zip", "birth"], *([f"0213{n % 3}", styled(20000 + n % 4, "date")] for n in range(24))]
    path = workbook(tmp_path / "book.xlsx", {"S": rows})
    days = [date(1954, 10, 3 + n % 4).isoformat() for n in range(24)]
    lines = [f"0213{n % 3},{day}" for n, day in enumerate(days)]
    text = tmp_path / "book.csv"
    text.write_text("\n".join(["zip,birth", *lines, ""]))
    columns = {"zip": {}, "birth": {"levels": ["month"]}}
    for levels in ({}, {"birth": 1}):
        one, other = (
            kanon.audit(file, columns, checks=[kanon.KAnonymity(k=2)], levels=levels).tables[0]
            for file in (path, text)
        )
        assert one.summary == other.summary
    release = tmp_path / "release.csv"
    kanon.anonymize(path, columns, k=6, output=release)
    assert release.exists()


SURVEY = pd.DataFrame(
    {
        "zip": ["02138", "", "2138"],
        "n": [1, 2, None],
        "x": [1.5, 0.1, 3.0],
        "d": [date(1956, 12, 24), date(1900, 1, 1), None],
        "ts": [datetime(2020, 1, 1, 5, 6, 7), datetime(1600, 1, 1), None],
        "sex": [1, 2, 1],
    }
)
LABELS = {"sex": {1: "male", 2: "male"}}


@pytest.mark.parametrize("suffix", ["dta", "sav", "zsav", "xpt"])
def test_data_files_of_statistics_programs_are_read_by_code(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"survey.{suffix}"
    match suffix:
        case "dta":
            pyreadstat.write_dta(SURVEY, path, variable_value_labels=LABELS)
        case "xpt":
            pyreadstat.write_xport(SURVEY, path)
        case _:
            pyreadstat.write_sav(
                SURVEY,
                path,
                variable_value_labels=LABELS,
                missing_ranges={"n": [2]},
                compress=suffix == "zsav",
            )
    types, records = read(path)
    assert types == {
        "zip": "VARCHAR", "n": "BIGINT", "x": "DOUBLE", "d": "DATE", "ts": "TIMESTAMP",
        "sex": "BIGINT",
    }  # fmt: skip
    assert records == [
        ("02138", 1, 1.5, date(1956, 12, 24), datetime(2020, 1, 1, 5, 6, 7), 1),
        (None, 2, 0.1, date(1900, 1, 1), datetime(1600, 1, 1), 2),
        ("2138", None, 3.0, None, None, 1),
    ]


def test_missing_values_of_stata_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "survey.dta"
    frame = pd.DataFrame({"n": pd.Series([1, "a", "b", None, 2], dtype=object)})
    pyreadstat.write_dta(frame, path, missing_user_values={"n": ["a", "b"]})
    assert read(path) == ({"n": "VARCHAR"}, [("1",), ("a",), ("b",), (None,), ("2",)])
    types = {"n": "BIGINT"}
    assert read(path, null_strings=("a", "b")) == (types, [(1,), (None,), (None,), (None,), (2,)])


def test_a_public_file_of_stata_has_the_figures_of_pandas() -> None:
    path = DATA / "public" / "acro_test.dta"
    if not path.exists():
        pytest.skip(f"there is no {path}")
    frame = pd.read_stata(path, convert_categoricals=False)
    types, records = read(path)
    assert list(types) == list(frame.columns)
    expected = [
        tuple(None if pd.isna(cell) or cell == "" else cell for cell in row)
        for row in frame.astype(object).itertuples(index=False)
    ]
    assert records == expected


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("book.xlsx", b"PK no", "book.xlsx can't be read as a workbook"),
        ("book.xlsx", b"", "book.xlsx is empty: it has no bytes."),
        ("survey.sav", b"$FL2", "survey.sav can't be read as SPSS"),
        ("survey.dta", b"xx", "survey.dta can't be read as Stata"),
        ("survey.sas7bdat", b"xx", "survey.sas7bdat can't be read as SAS"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert refusal(path).startswith(message)


def test_a_data_file_has_no_sheets_and_no_header(tmp_path: Path) -> None:
    path = tmp_path / "survey.dta"
    pyreadstat.write_dta(SURVEY, path)
    for target, options in ((f"{path}#a", {}), (path, {"skip": 2}), (path, {"header": False})):
        assert "names its columns and has no sheets" in refusal(target, SpecError, **options)


@pytest.mark.parametrize(
    ("name", "module", "program"),
    [
        ("survey.xlsx", "python_calamine", "Excel, which python-calamine reads"),
        ("survey.sav", "pyreadstat", "SPSS, which pyreadstat reads"),
    ],
)
def test_without_the_extra_it_is_named_with_other_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, module: str, program: str
) -> None:
    (tmp_path / name).write_bytes(b"PK")
    monkeypatch.setitem(sys.modules, module, None)
    said = refusal(tmp_path / name, MissingDriverError)
    assert said.startswith(
        f"{name} is a file of {program}. Install it: pip install 'kanon-sql[files]'. Or save it as "
        "CSV UTF-8. Convert it, for example with pandas: pd.read_"
    )


def test_a_cell_of_xml_is_what_a_program_writes() -> None:
    assert Xml('<c r="{}"/>').format("A1") == '<c r="A1"/>'
