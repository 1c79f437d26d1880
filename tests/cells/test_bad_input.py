"""What bad input gets: exit 2, one sentence, nothing on stdout, no label and no figure."""

from __future__ import annotations

import csv
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import scipy.optimize
from commands import run
from warehouses import ENGINES

import kanon_sql as kanon
from kanon_sql.errors import InputError

PUBLISHED = ("--by", "region", "--value", "n", "--published")
RECORDS = ("--by", "region", "--value", "n")


def test_the_condition_that_is_advised_leaves_out_what_is_not_finite(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("region,n\na,NaN\nb,inf\nc,-inf\nd,5\ne,\n", encoding="utf-8")

    result = run("tables", str(file), *RECORDS, "--where", '"n" between -1e300 and 1e300')

    assert result.exit_code == 0
    assert "1 record" in result.stdout


def test_nan_in_a_decimal_of_postgres_is_no_figure(tmp_path: Path) -> None:
    with ENGINES["postgres"].started(tmp_path) as database:
        database.run("create table ledger (region text, n numeric(9, 2))")
        database.run("insert into ledger values ('N', 'NaN'), ('N', 5)")
        with pytest.raises(InputError, match='1 of 2 values of "n" is NaN or infinite'):
            kanon.tables("ledger", ["region"], value="n", engine=database.url)


@pytest.mark.parametrize("more", [(), ("--published",)])
def test_an_empty_table_holds_nothing(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "t.csv").write_text("region,n\n", encoding="utf-8")

    result = run("tables", str(tmp_path / "t.csv"), *RECORDS, *more, "--threshold", "3")

    assert result.exit_code == 4
    assert "no data" in result.stdout


WARNED = [
    (
        "region,n\nsecret-north,3\nTotal,3\n",
        PUBLISHED,
        "region has values that read like a total, and no total is declared: --total-label.",
    ),
    (
        "region,n\nsecret-north,-31337\nb,4\n",
        (*RECORDS, "--dominance", "1,50"),
        "2 cells have a negative contribution; dominance and p% take absolute values",
    ),
    (
        "region,n\nsecret-north,31337\nb,4\n",
        (*PUBLISHED, "--against", "before=u.csv"),
        "some cells are greater here and some in before",
    ),
]


@pytest.mark.parametrize(("text", "options", "sentence"), WARNED)
def test_what_is_doubtful_is_warned_of(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    options: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    Path("u.csv").write_text("region,n\nsecret-north,31339\nb,2\n", encoding="utf-8")

    result = run("tables", "t.csv", *options)

    assert result.exit_code in (0, 1)
    assert sentence in " ".join(result.stdout.split())
    assert "secret" not in result.stdout
    assert "ue000" not in result.stdout


def test_python_warns_in_its_own_words() -> None:
    table = pyarrow.table({"region": ["N", "Total"], "n": [3, 3]})

    result = kanon.tables(table, "region", value="n", published=True)

    [warning] = result.tables[0].warnings
    assert "no total is declared: total_label." in warning


# --- a linear program that does not end --------------------------------------------------------


@pytest.fixture
def cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
    """The question on a table that only linear programming decides, in an empty folder."""
    example = next(
        each
        for each in json.loads((Path(__file__).parent / "worked_examples.json").read_text("utf-8"))
        if each["id"] == "tables-sdctable-two-in-each-line"
    )
    folder = tmp_path / "work"
    folder.mkdir()
    with (tmp_path / "t.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(example["columns"])
        writer.writerows(["" if cell is None else cell for cell in row] for row in example["rows"])
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    words = [word.replace("@", f"{tmp_path}/") for word in example["arguments"]]
    yield ("tables", *words, "--output", str(folder / "r.json"))
    assert list(folder.iterdir()) == []


def test_a_linear_program_ends_with_the_time_limit(
    cells: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    solve = scipy.optimize.linprog

    def slow(*given: Any, **named: Any) -> Any:
        time.sleep(3)
        return solve(*given, **named)

    monkeypatch.setattr(scipy.optimize, "linprog", slow)
    result = run(*cells, "--timeout", "2")

    assert (result.exit_code, result.stdout) == (3, "")
    assert "time limit" in result.stderr
    assert result.stderr.count("\n") == 1


def test_an_interrupted_linear_program_leaves_nothing(
    cells: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any, **named: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    monkeypatch.setattr(scipy.optimize, "linprog", interrupted)
    result = run(*cells)

    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr.strip() == "Interrupted; nothing was written."
