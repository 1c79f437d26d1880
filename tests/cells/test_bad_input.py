"""What bad input gets: exit 2, one sentence, nothing on stdout, no label and no figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

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
        '1 of 2 values of n are NaN or infinite. Leave them out: --where "n" between -1e300 and '
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
        '1 of 2 values of "n" are NaN or infinite, and have no share. Leave them out: --where "n" '
        "between -1e300 and 1e300.",
    ),
    (
        "region,n\nsecret-north,31337\nb,secret-mark\n",
        RECORDS,
        '1 of 2 values of "n" are no number. Mend them, or leave them out: --where.',
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
    tmp_path: Path, text: str, options: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")

    result = run("tables", str(tmp_path / "t.csv"), *options)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: t.csv: {sentence}\n"
    assert not {each for each in FIGURES if each in result.stderr}


def test_the_condition_that_is_advised_leaves_out_what_is_not_finite(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("region,n\na,NaN\nb,inf\nc,-inf\nd,5\ne,\n", encoding="utf-8")

    result = run("tables", str(file), *RECORDS, "--where", '"n" between -1e300 and 1e300')

    assert result.exit_code == 0
    assert "1 record" in result.stdout


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
