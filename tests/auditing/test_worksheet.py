"""The riskiest records, tried by hand: which they are, and what came of it."""

from __future__ import annotations

import csv
import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kanon_sql.errors import InputError, SpecError
from kanon_sql.results.worksheet import FILLED_IN, clopper_pearson, read_worksheet

PEOPLE = [
    ["02138", "31"], ["02138", "31"], ["02138", "31"], ["02139", "40"], ["02139", "40"],
    ["02140", ""], ["02141", "52"],
]  # fmt: skip
REGISTER = [["02138", "31"]] * 9 + [["02139", "40"]] * 2 + [["02140", ""]] * 3


def written(path: Path, rows: list[list[str]], columns: str = "zip,age") -> Path:
    path.write_text("\n".join([columns, *map(",".join, rows)]) + "\n", encoding="utf-8")
    return path


def command(*arguments: Any) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "kanon_sql", "worksheet", *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def drawn(tmp_path: Path, *options: Any, rows: list[list[str]] = PEOPLE) -> list[dict[str, str]]:
    """The rows of a worksheet by their columns, below what it says of itself."""
    output = tmp_path / "worksheet.csv"
    table = written(tmp_path / "people.csv", rows)
    asked = ["--qi", "zip,age", "--show-values", "--overwrite", "--output", output]
    run = command(table, *asked, *options)
    assert run.returncode == 0, run.stderr
    note, *lines = output.read_text(encoding="utf-8").splitlines()
    assert note.startswith("# Personal data")
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    return list(csv.DictReader(lines))


def test_the_smallest_classes_come_first(tmp_path: Path) -> None:
    rows = drawn(tmp_path, "--sample", 4)

    assert [row["class_size"] for row in rows] == ["1", "1", "2", "2"]
    assert [row["number"] for row in rows] == ["1", "2", "3", "4"]
    assert {row["zip"] for row in rows[:2]} == {"02140", "02141"}
    assert all(row[column] == "" for row in rows for column in FILLED_IN)


def test_a_reference_says_who_is_riskiest(tmp_path: Path) -> None:
    register = written(tmp_path / "register.csv", REGISTER)

    rows = drawn(tmp_path, "--reference", register, "--sample", 4)

    assert [(row["zip"], row["age"], row["reference_count"]) for row in rows] == [
        ("02141", "52", "0"), ("02139", "40", "2"), ("02139", "40", "2"), ("02140", "", "3"),
    ]  # fmt: skip


def test_the_order_of_the_file_chooses_nothing_and_the_seed_does(tmp_path: Path) -> None:
    alone = [[f"{n:05}", "1"] for n in range(40)]

    first, again, backwards, other = (
        [row["zip"] for row in drawn(tmp_path, "--sample", 5, "--seed", seed, rows=rows)]
        for seed, rows in ((1, alone), (1, alone), (1, alone[::-1]), (2, alone))
    )

    assert first == again == backwards
    assert first != other


def test_it_is_written_only_where_values_may_be_shown(tmp_path: Path) -> None:
    table = written(tmp_path / "people.csv", PEOPLE)

    run = command(table, "--qi", "zip,age", "--output", tmp_path / "w.csv")

    assert (run.returncode, run.stdout) == (2, "")
    assert "personal data" in run.stderr
    assert not (tmp_path / "w.csv").exists()


def test_a_table_without_records_has_no_worksheet(tmp_path: Path) -> None:
    table = written(tmp_path / "people.csv", [])
    output = tmp_path / "w.csv"

    run = command(table, "--qi", "zip,age", "--show-values", "--output", output)

    assert run.returncode == 4
    assert not output.exists()


# --- read back ------------------------------------------------------------------------------


def filled(path: Path, *answers: str) -> Path:
    """A worksheet with `sure,correct,minutes` of each row."""
    lines = [f"{place},02138,1,public,,{answer}" for place, answer in enumerate(answers, start=1)]
    head = f"number,zip,class_size,{','.join(FILLED_IN)}"
    path.write_text("\n".join(["# Personal data,,,,,,,", head, *lines]), encoding="utf-8")
    return path


def test_what_came_of_it(tmp_path: Path) -> None:
    sheet = filled(tmp_path / "w.csv", "yes,yes,5", "yes,no,", "no,,7.5", "Maybe,,", ",,")

    found = read_worksheet(sheet)

    assert (found.rows, found.tried, found.claims, found.confirmed) == (5, 4, 2, 1)
    assert (found.share, found.false_claims, found.minutes) == (0.25, 0.5, 12.5)
    assert found.interval == pytest.approx((0.006309463, 0.80587958))
    run = command("--read", sheet, "--format", "json")
    assert list(json.loads(run.stdout)) == ["kanon_sql", "format", "worksheet"]
    assert json.loads(run.stdout)["worksheet"] == found.to_dict() | {
        "interval": list(found.interval or ())
    }
    told = command("--read", sheet).stdout
    assert "25.0 % of the records tried" in told
    assert "upper bound for the table only if the others are no riskier" in told


def test_a_claim_that_nobody_checked_is_no_wrong_one(tmp_path: Path) -> None:
    sheet = filled(tmp_path / "w.csv", "yes,,5", "yes,no,", "no,,")

    found = read_worksheet(sheet)
    told = " ".join(command("--read", sheet).stdout.split())

    assert (found.claims, found.unchecked, found.false_claims) == (2, 1, 1.0)
    assert "Not checked yet: 1 claim of being sure, counted as wrong until then." in told
    assert "Wrong: 1 of 1 claim of being sure, 100 %" in told


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("1,02138,1,public,,yes,yes,5", "w.csv:4: number must be the whole number that was"),
        ("two,02138,1,public,,yes,yes,5", "w.csv:4: number must be the whole number"),
    ],
)
def test_a_row_that_was_copied_or_shifted_is_refused(tmp_path: Path, row: str, words: str) -> None:
    sheet = filled(tmp_path / "w.csv", "yes,yes,5")
    sheet.write_text(f"{sheet.read_text(encoding='utf-8')}\n{row}", encoding="utf-8")

    with pytest.raises(InputError) as refused:
        read_worksheet(sheet)

    assert words in str(refused.value)
    assert all(found not in str(refused.value) for found in ("two", "02138"))


def test_quasi_identifiers_may_be_called_as_its_own_columns(tmp_path: Path) -> None:
    columns = "number,class_size,sure"
    people = written(tmp_path / "p.csv", [["a", "b", "c"], ["a", "b", ""]], columns)
    sheet = tmp_path / "w.csv"
    run = command(people, "--qi", columns, "--show-values", "--output", sheet)

    assert (run.returncode, read_worksheet(sheet).rows) == (0, 2)


@pytest.mark.parametrize("tried", [1, 5, 20, 300])
def test_of_nobody_found_the_bound_is_the_closed_form(tried: int) -> None:
    assert clopper_pearson(0, tried) == pytest.approx((0, 1 - 0.025 ** (1 / tried)))
    assert clopper_pearson(tried, tried) == pytest.approx((0.025 ** (1 / tried), 1))


@pytest.mark.parametrize(("confirmed", "tried"), [(1, 4), (3, 20), (7, 150)])
def test_the_interval_is_where_either_tail_is_a_fortieth(confirmed: int, tried: int) -> None:
    from scipy.stats import binom

    low, high = clopper_pearson(confirmed, tried)

    assert binom.sf(confirmed - 1, tried, low) == pytest.approx(0.025)
    assert binom.cdf(confirmed, tried, high) == pytest.approx(0.025)


def test_without_scipy_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    found = read_worksheet(filled(tmp_path / "w.csv", "yes,yes,5"))

    with pytest.raises(SpecError, match=r"needs SciPy: pip install 'kanon-sql\[estimates\]'"):
        found.to_dict()


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["yes,yes,", "surely,,"], "w.csv:4: sure must be yes, no or maybe, or empty"),
        (["yes,perhaps,"], "w.csv:3: correct must be yes or no, or empty"),
        ([",yes,"], "w.csv:3: correct is filled in, but sure is empty"),
        ([",,3"], "w.csv:3: minutes is filled in, but sure is empty"),
        (["yes,yes,soon"], "w.csv:3: minutes must be a number"),
        (["yes,yes,5,more"], "w.csv:3: the row has 9 columns, and the head has 8"),
        ([], "has no row to read"),
    ],
)
def test_a_worksheet_out_of_shape_is_refused_with_row_and_column(
    tmp_path: Path, answers: list[str], words: str
) -> None:
    with pytest.raises(InputError) as refused:
        read_worksheet(filled(tmp_path / "w.csv", *answers))

    assert words in str(refused.value)
    assert all(found not in str(refused.value) for found in ("surely", "perhaps", "soon", "02138"))


def test_another_file_is_no_worksheet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no worksheet: its columns must end with tried_with"):
        read_worksheet(written(tmp_path / "people.csv", PEOPLE))
    with pytest.raises(InputError, match=r"nothing\.csv can't be read: No such file"):
        read_worksheet(tmp_path / "nothing.csv")
