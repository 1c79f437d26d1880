"""Published figures with thousands, flags, or a column for each category, read as declared."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from workbooks import workbook

import kanon_sql as kanon
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.readers import TextOptions
from kanon_sql.errors import InputError
from kanon_sql.question.figures import FigureOptions


def written(folder: Path, rows: list[list[str]], name: str = "cells.csv") -> Path:
    with (folder / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    return folder / name


def read(path: Path, **figures: Any) -> list[tuple[Any, ...]]:
    options = FigureOptions(columns=("n",), by=("geo", "sex"), **figures)
    with DuckDBEngine(text=TextOptions(figures=options)) as engine:
        table = engine.table(str(path))
        return [tuple(row.values()) for row in engine.query(f"from {table.sql}")]


def grouped(number: int, mark: str) -> str:
    return f"{number:,}".replace(",", mark)


@pytest.mark.parametrize("mark", [".", ",", " ", "'", "\u00a0", "\u202f", "\u2019"])
@pytest.mark.parametrize("flag", ["", " b", "p", " (e)", " bp"])
def test_every_number_is_read_as_it_was(tmp_path: Path, mark: str, flag: str) -> None:
    chance = random.Random(3)
    numbers = [0, 1, 999, 1000, 1049, 999_999, 1_000_000]
    numbers += [chance.randrange(10 ** chance.randrange(1, 12)) for _ in range(60)]
    path = written(tmp_path, [["geo", "n"], *(["g", grouped(n, mark) + flag] for n in numbers)])
    declared = {"\u00a0": " ", "\u202f": " ", "\u2019": "'"}.get(mark, mark)
    found = read(path, thousands=declared, flags=bool(flag))
    assert found == [("g", str(number)) for number in numbers]


@pytest.mark.parametrize(
    ("text", "thousands", "number"),
    [
        ("1.049,5", ".", "1049.5"),
        ("1,049.5", ",", "1049.5"),
        ("-1 049", " ", "-1049"),
        ("+1.049", ".", "+1049"),
        ("12,25", ".", "12.25"),
    ],
)
def test_decimals_beside_thousands(tmp_path: Path, text: str, thousands: str, number: str) -> None:
    path = written(tmp_path, [["geo", "n"], ["g", text]])
    assert read(path, thousands=thousands, are_counts=False) == [("g", number)]


@pytest.mark.parametrize("text", ["1.5", "10.49", "1.0490", "1..049", ".049", "1,049,5", "1.049.5"])
def test_a_point_of_thousands_is_no_mark_of_decimals(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, [["geo", "n"], ["g", "1.049"], ["h", text]])
    with pytest.raises(InputError, match='1 of 2 figures of "n" are no numbers as declared'):
        read(path, thousands=".")


@pytest.mark.parametrize(
    ("figures", "way"),
    [
        (["11.000", "7"], "thousands='.'"),
        (["11,000", "1,000,000"], "thousands=','"),
        (["11 000", "7"], "thousands='space'"),
        (["11'000", "7"], 'thousands="\'"'),
        (["12 b", "7"], "flags"),
    ],
)
def test_what_nobody_declared_is_named(tmp_path: Path, figures: list[str], way: str) -> None:
    path = written(tmp_path, [["geo", "n"], *(["g", figure] for figure in figures)])
    with pytest.raises(InputError) as refused:
        read(path)
    assert way in str(refused.value)
    assert not any(figure in str(refused.value) for figure in figures)


def test_three_decimals_of_a_sum_and_plain_figures_are_left_alone(tmp_path: Path) -> None:
    sums = written(tmp_path, [["geo", "n"], ["g", "11.000"], ["h", "1.5"]])
    assert read(sums, are_counts=False) == [("g", "11.000"), ("h", "1.5")]
    marked = written(tmp_path, [["geo", "n"], ["g", "11.000"], ["h", "c"], ["i", ""]])
    assert read(marked, marks=("c",), thousands=".") == [("g", "11000"), ("h", "c"), ("i", None)]


CROSSTAB = [["geo", "m", "f", "T"], ["N", "1.049", "7 p", "1.056"], ["S", "c", "6", "11"],
            ["T", "1.054", "13", "1.067"]]  # fmt: skip


def test_a_crosstab_is_judged_as_its_cells_are(tmp_path: Path) -> None:
    wide = written(tmp_path, CROSSTAB, "wide.csv")
    cells = [
        [row[0], name, {"1.049": "1049", "1.056": "1056", "1.054": "1054", "1.067": "1067",
                        "7 p": "7"}.get(figure, figure)]
        for row in CROSSTAB[1:]
        for name, figure in zip(CROSSTAB[0][1:], row[1:], strict=True)
    ]  # fmt: skip
    long = written(tmp_path, [["geo", "sex", "n"], *cells], "long.csv")
    asked: dict[str, Any] = {
        "by": ["geo", "sex"], "value": "n", "published": True, "total_label": "T", "threshold": 6,
        "suppressed": {"c": [1, 5]}, "derivable": True,
    }  # fmt: skip
    expected = kanon.tables(long, **asked).tables[0]
    found = kanon.tables(wide, wide="sex", thousands=".", flags=True, **asked).tables[0]
    assert [check.holds for check in expected.checks] == [True, False]
    assert found.checks == expected.checks
    sheet = [
        [None if cell == "" else int(cell) if cell.isdecimal() else cell for cell in row]
        for row in ([cell.replace(".", "").removesuffix(" p") for cell in row] for row in CROSSTAB)
    ]
    book = workbook(tmp_path / "book.xlsx", {"S": [["Title"], [], *sheet]})
    of_sheet = kanon.tables(f"{book}#S!A3:D6", wide="sex", **asked).tables[0]
    assert of_sheet.checks == expected.checks
    frame = pd.DataFrame({"geo": ["N", "S"], "m": [1049, 7], "f": [9, 6]})
    typed = kanon.tables(
        frame, by=["geo", "sex"], value="n", published=True, wide="sex", threshold=7
    ).tables[0]
    assert (typed.checks[0].holds, typed.checks[0].achieved) == (False, 6)


def test_a_blank_cell_of_a_crosstab_is_not_lost(tmp_path: Path) -> None:
    path = written(tmp_path, [["geo", "m", "f"], ["N", "8", ""], ["S", "9", "7"]])
    assert len(read(path, wide="sex")) == 4
    asked: dict[str, Any] = {"by": ["geo", "sex"], "value": "n", "published": True, "wide": "sex"}
    with pytest.raises(InputError, match="NULL, which is neither a number nor a declared mark"):
        kanon.tables(path, threshold=6, **asked)
    assert kanon.tables(path, threshold=6, suppressed={None: None}, **asked).holds is not None
