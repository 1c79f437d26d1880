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

FIGURES = {"secret-north", "31337", "secret-mark"}
"""Labels and figures that no message may show."""

PUBLISHED = ("--by", "region", "--value", "n", "--published")
RECORDS = ("--by", "region", "--value", "n")
WRONG = [
    (
        "region,n\nsecret-north,3\nb,secret-mark\nc,4\n",
        PUBLISHED,
        "1 of 3 values of n is neither a number nor a declared mark: --suppressed MARK.",
    ),
    (
        "region,n\nsecret-north,31337\nb,\n",
        PUBLISHED,
        "1 of 2 values of n is NULL, which is neither a number nor a declared mark: "
        "--suppressed NULL.",
    ),
    (
        "region,n\nsecret-north,3\n,4\n,31337\n",
        PUBLISHED,
        "region is NULL in 2 rows: is that the total (--total-label region=NULL) or a value (name "
        "it in the source)?",
    ),
    (
        "region,n\nsecret-north,3\nsecret-north,31337\n",
        PUBLISHED,
        "1 cell has more than one row: a dimension is missing from --by, or a NULL value stands "
        "beside a NULL total.",
    ),
    (
        "region,n\nsecret-north,3\n,4\n,31337\n",
        (*PUBLISHED, "--total-label", "region=NULL"),
        "1 cell has more than one row: a dimension is missing from --by, or a NULL value stands "
        "beside a NULL total.",
    ),
    (
        "region,n\nsecret-north,NaN\nb,31337\n",
        PUBLISHED,
        '1 of 2 values of n is NaN or infinite. Leave it out: --where "n" between -1e300 and '
        "1e300.",
    ),
    (
        "region,n,flag\nsecret-north,31337,2\n",
        (*PUBLISHED, "--total-flag", "region=flag"),
        "the flag of region is neither 0 nor 1 in 1 row, so a total can't be told.",
    ),
    (
        "region,n\nsecret-north,31337\nb,inf\n",
        RECORDS,
        '1 of 2 values of "n" is NaN or infinite, so without a share. Leave it out: --where "n" '
        "between -1e300 and 1e300.",
    ),
    (
        "region,n\nsecret-north,31337\nb,secret-mark\n",
        RECORDS,
        '1 of 2 values of "n" is no number. Mend it, or leave it out: --where.',
    ),
    (
        "region,n\nsecret-north,31337\nb,4\nTotal,31342\n",
        (*PUBLISHED, "--total-label", "Total", "--derivable"),
        "1 of 1 total is not the sum of its parts, so nothing can be concluded: rows are missing "
        "(--absent suppressed), or totals are rounded each on its own (--totals rounded:BASE).",
    ),
    (
        "region,n\nsecret-north,secret-mark\nb,4\nTotal,31337\n",
        (*PUBLISHED, "--total-label", "Total", "--derivable", "--suppressed", "secret-mark=1..9"),
        "a suppressed cell would lie outside what its mark says, so no table fits these figures. "
        "Check the range of each mark, whether a total is less than its parts, and whether figures "
        "are rounded (--totals rounded:BASE).",
    ),
    (
        "region,n\nsecret-north,31337\nb,4\n",
        (*PUBLISHED, "--hierarchy", "region=h.csv"),
        "the label of region is not in its hierarchy in 1 row. Add what is lacking, spelled as in "
        "the table.",
    ),
    (
        "region,n,count\nsecret-north,31337,secret-mark\nb,4,1\n",
        (*PUBLISHED, "--count", "count"),
        "1 of 2 values of count is no number of contributors, beside a figure that is shown.",
    ),
    (
        "region,n,count\nsecret-north,31337,NaN\nb,4,inf\nc,5,-31337\n",
        (*PUBLISHED, "--count", "count", "--threshold", "3"),
        "3 of 3 values of count are no number of contributors, beside a figure that is shown.",
    ),
    (
        "region,n\nsecret-north,12\nb,-31337\n",
        (*PUBLISHED, "--threshold", "3"),
        "1 of 2 values of n is below zero, so the figure is no count. If it is a sum: --magnitude.",
    ),
    (
        "region,n,firm\nsecret-north,31337,\nb,1,x\n",
        (*RECORDS, "--contributor", "firm"),
        '1 of 2 records have no "firm", so nobody knows whose they are. Fill it in, or leave them '
        'out: --where "firm" is not null.',
    ),
]


@pytest.mark.parametrize(("text", "options", "sentence"), WRONG)
def test_data_that_can_be_read_in_two_ways_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    options: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    Path("h.csv").write_text("b,B\nc,C\n", encoding="utf-8")

    result = run("tables", "t.csv", *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: t.csv: {sentence}\n"
    assert not {each for each in FIGURES if each in result.stderr}


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


SECONDS = [
    ("secret-north,nan,a", '1 of 1 value of "n" is NaN or infinite'),
    ("secret-north,secret-mark,a", '1 of 1 value of "n" is no number'),
    ("secret-north,31337,", '1 of 1 records have no "firm"'),
]


@pytest.mark.parametrize(("row", "sentence"), SECONDS)
def test_records_to_compare_with_are_read_as_strictly(
    tmp_path: Path, row: str, sentence: str
) -> None:
    (tmp_path / "t.csv").write_text("region,n,firm\na,3,x\n", encoding="utf-8")
    (tmp_path / "u.csv").write_text(f"region,n,firm\n{row}\n", encoding="utf-8")
    against = ("--contributor", "firm", "--against", str(tmp_path / "u.csv"))

    result = run("tables", str(tmp_path / "t.csv"), *RECORDS, *against)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: u.csv: {sentence}")
    assert not {each for each in FIGURES if each in result.stderr}


CONTRADICTIONS = [
    (("--value", "n", "--published", "--dominance", "2,60"), "dominance needs the records"),
    (("--value", "n", "--published", "--p-percent", "5"), "p_percent needs the records"),
    (("--dominance", "2,60"), "dominance needs the magnitude that is summed: --value."),
    (("--check", "differences:n=3"), "differences needs a second table: --against."),
    (("--min-difference", "3"), "--min-difference needs a second table: --against SRC."),
    (("--check", "rounded:base=5"), "rounded is for a table that is published"),
    (("--suppressed", "x"), "--suppressed is for a table that is published"),
    (("--total-label", "Total"), "--total-label is for a table that is published"),
    (("--total-flag", "region=n"), "--total-flag is for a table that is published"),
    (("--count", "n"), "--count is for a table that is published"),
    (("--magnitude",), "--magnitude is for a table that is published"),
    (("--absent", "zero"), "--absent is for a table that is published"),
    (("--absent", "suppressed"), "--absent is for a table that is published"),
    (("--value", "n", "--published", "--margins", "all"), "--margins is for the records"),
    (("--value", "n", "--published", "--contributor", "f"), "--contributor is for the records"),
    (("--value", "n", "--published", "--weight", "f"), "--weight is for the records"),
    (("--published",), "needs the column with the figure of a cell: --value."),
    (("--value", "n", "--check", "dominance:n=1,k=100"), "k must be a percentage between 0 and"),
    (("--value", "n", "--check", "dominance:n=1,k=0"), "k must be a percentage between 0 and 100"),
    (("--value", "n", "--check", "dominance:n=0,k=5"), "n must be a whole number, 1 or more"),
    (("--value", "n", "--check", "p_percent:p=0"), "p must be a number above 0"),
    (("--check", "min_contributors:n=0"), "n must be a whole number, 1 or more"),
    (("--check", "min_contributors:m=3"), 'has no parameter "m"'),
    (("--check", "min_contributor:n=3"), 'Did you mean "min_contributors"?'),
    (("--check", "k_anonymity:k=3"), "k_anonymity is a model of records"),
    (("--value", "n", "--dominance", "2"), "is not N,K, as in --dominance 2,67."),
    (("--margins", "all", "--margins", "none"), "--margins all and none stand alone."),
    (("--margins", "regions"), '"regions" is no dimension.'),
    (("--check", "group_disclosure:along=[reg]"), '"reg" is no dimension.'),
    (("--value", "region"), 'column "region" is both a dimension and the value'),
    (("--value", "nn"), 'has no column "nn"'),
    (
        ("--value", "n", "--published", "--magnitude", "--threshold", "3"),
        "min_contributors needs the numbers of contributors beside a magnitude: --count.",
    ),
    (("--value", "n", "--check", "p_percent:p=-1"), "p must be a number above 0"),
    (("--check", "derivable:width=-1"), "width must be a number, 0 or more"),
    (("--check", "derivable:undecided=maybe"), "undecided must be 'fail' or 'pass'"),
    (("--check", "group_disclosure:max_share=2"), "max_share must be a number above 0"),
    (("--policy", "cms-cell-12"), 'Did you mean "cms-cell-11"?'),
    (("--policy", "none.yml"), "none.yml"),
    (("--value", "n", "--published", "--total-label", "f=x", "--total-label", "f=y"), "f"),
    (("--total-label", "Total", "--threshold", "3"), "--total-label is for a table"),
    (("--value", "n", "--published", "--check", "differences:n=3,against=x"), "--against"),
    (("--hierarchy", "f=h.csv"), "f"),
    (("--value", "n", "--published", "--total-flag", "f=n"), "f"),
    (("--value", "n", "--published", "--value-bounds", "0-9"), "is not LOW..HIGH, as in 0..100."),
    (("--value", "n", "--published", "--suppressed", "x=9..1"), "a range goes from 9 down to 1."),
]


@pytest.mark.parametrize(("options", "sentence"), CONTRADICTIONS)
def test_a_question_that_can_not_be_asked_is_refused(
    tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "t.csv").write_text("region,n,f\na,3,x\n", encoding="utf-8")

    result = run("tables", str(tmp_path / "t.csv"), "--by", "region", *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr


@pytest.mark.parametrize("more", [(), ("--published",)])
def test_an_empty_table_holds_nothing(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "t.csv").write_text("region,n\n", encoding="utf-8")

    result = run("tables", str(tmp_path / "t.csv"), *RECORDS, *more, "--threshold", "3")

    assert result.exit_code == 4
    assert "no data" in result.stdout


def test_an_audit_refuses_a_model_of_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("region,n\na,1\n", encoding="utf-8")

    result = run(
        "audit", str(tmp_path / "t.csv"), "--qi", "region", "--check", "min_contributors:n=3"
    )

    assert (result.exit_code, result.stdout) == (2, "")
    assert "kanon-sql tables" in result.stderr


def test_a_value_that_the_hierarchy_of_records_lacks_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("region,n\nsecret-north,31337\nb,4\n", encoding="utf-8")
    Path("h.csv").write_text("b,B\nc,C\n", encoding="utf-8")

    result = run("tables", "t.csv", *RECORDS, "--hierarchy", "region=h.csv")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "1 of 2 values" in result.stderr or "1 value" in result.stderr
    assert "secret" not in result.stderr


def test_a_policy_file_with_an_unknown_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.yml"
    file.write_text("policy: own\ntitel: x\n", encoding="utf-8")
    (tmp_path / "t.csv").write_text("region,n\na,3\n", encoding="utf-8")

    result = run("tables", str(tmp_path / "t.csv"), "--by", "region", "--policy", str(file))

    assert (result.exit_code, result.stdout) == (2, "")
    assert 'Did you mean "title"?' in result.stderr


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
