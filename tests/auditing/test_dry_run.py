"""Does a dry run say what would run, and run none of it?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warehouses import Database, postgres

import kanon_sql as kanon
from kanon_sql.cli.main import main
from kanon_sql.engines.duckdb.engine import DuckDBEngine


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with postgres(tmp_path_factory.mktemp("postgres")) as running:
        running.run("create table ages as select n % 7 as age from generate_series(1, 999) as n")
        running.run("analyze ages")
        running.run("create sequence reads")
        running.run("create view people as select age, nextval('reads') as read from ages")
        running.run(
            "create view decades as "
            "select distinct age::text as age, nextval('reads')::text as read from ages"
        )
        yield running


def shown(
    capsys: pytest.CaptureFixture[str], *arguments: str, command: str = "audit"
) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([command, *arguments, "--qi", "age", "--k", "5", "--dry-run"], prog_name="kanon-sql")
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_of_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    people = tmp_path / "people.csv"
    people.write_text("age,sex\n34,F\n51,M\n", encoding="utf-8")

    def ran(*_: Any) -> None:
        raise AssertionError("a statement ran")

    monkeypatch.setattr(DuckDBEngine, "query", ran)
    code, out, err = shown(capsys, str(people))

    assert (code, err) == (0, "")
    assert out.startswith("people.csv · duckdb · reads people.csv\n\n  classes\n")
    assert "How many classes of people.csv by age have each size, in records?" in out
    assert "Nothing was run: 5 statements" in out


@pytest.mark.parametrize(
    ("algorithm", "said"),
    [
        (
            "optimal",
            "4 choices of levels for each level of zip, so {} if the longest value has 5 "
            "characters: zip a level for each character of its longest value, age 3 levels. A "
            "statement evaluates 16 of them at most; most choices",
        ),
        ("datafly", "At most 3 steps, and one for each character of a mask, so 8 if the longest"),
        ("local", "about 3 rounds, and one for each character of a mask, so 8 if the longest"),
    ],
)
def test_choices_of_a_mask_are_counted_for_a_length_that_is_named(
    algorithm: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = tmp_path / "people.csv"
    people.write_text("age,zip\n34,02138\n51,02139\n", encoding="utf-8")
    levels = "--qi zip --hierarchy zip=mask:right --hierarchy age=width:5,10,20"
    arguments = [str(people), *levels.split(), "--algorithm", algorithm]
    code, out, _ = shown(capsys, *arguments, command="anonymize")
    searched = kanon.anonymize(
        str(people),
        {
            "zip": {"levels": [{"mask": "right"}]},
            "age": {"levels": [{"width": each} for each in (5, 10, 20)]},
        },
        k=2,
        algorithm="optimal",
    ).anonymization.search

    assert (code, searched is not None) == (0, True)
    assert said.format(searched.nodes) in " ".join(out.split())


def test_choices_of_two_masks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = tmp_path / "people.csv"
    people.write_text("age,zip,phone\n34,02138,1\n51,02139,2\n", encoding="utf-8")
    levels = "--qi zip,phone --hierarchy zip=mask:right --hierarchy phone=mask:left,suppress"
    arguments = [str(people), *levels.split(), "--algorithm", "optimal"]
    code, out, _ = shown(capsys, *arguments, command="anonymize")

    assert code == 0
    said = "choices of levels for each level of phone and zip, so 84 if the longest values have 5"
    assert said in " ".join(out.split())


def test_of_a_table_in_postgres(server: Database, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shown(capsys, "people", "--connect", server.url)

    assert (code, err) == (0, "")
    assert "people · postgres · reads people" in out
    assert "Nothing was run: 4 statements" in out
    assert server.run("select is_called from reads") == [(False,)]


@pytest.mark.parametrize("command", ["audit", "compile"])
def test_a_hierarchy_of_which_no_level_is_asked_is_not_read(
    server: Database, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    looking = ["--dry-run"] if command == "audit" else []
    asked = ["people", "--connect", server.url, "--qi", "age", "--hierarchy", "age=decades"]

    with pytest.raises(SystemExit) as ended:
        main([command, *asked, "--k", "5", *looking])

    assert (ended.value.code or 0, capsys.readouterr().err) == (0, "")
    assert server.run("select is_called from reads") == [(False,)]


# --- a search for levels ----------------------------------------------------------------------


def test_a_search_says_what_is_certain_and_how_far_it_may_go(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    people = tmp_path / "people.csv"
    people.write_text("age,sex,zip\n34,F,02138\n51,M,02139\n", encoding="utf-8")

    def ran(*_: Any) -> None:
        raise AssertionError("a statement ran")

    monkeypatch.setattr(DuckDBEngine, "query", ran)
    release = tmp_path / "release.csv"
    code, out, err = shown(
        capsys, str(people), "--qi", "sex,zip", "--hierarchy", "age=width:10,20",
        "--hierarchy", "zip=mask:right,suppress", "--output", str(release), command="anonymize",
    )  # fmt: skip

    told = " ".join(out.split())
    assert (code, err, release.exists()) == (0, "", False)
    assert out.startswith("people.csv · duckdb · reads people.csv\n\n  classes\n")
    assert "  first_frequency_set\n    Which combinations of values occur in people.csv?\n" in out
    assert (
        "At most 4 steps, and one for each character of a mask, so 9 if the longest value has 5 "
        "characters: sex 1 level, zip a level for each character of its longest value and 1 more, "
        "age 2 levels."
    ) in told
    assert "which is kept on this machine, not the records." in told
    assert "--show-values" not in told
    assert told.endswith("Nothing was run: 2 statements for certain, and their follow-ups.")


@pytest.mark.parametrize(
    ("option", "reads"),
    [
        ([], "Each reads the records, as the first frequency set does."),
        (
            ["--pull-frequencies"],
            "They read the first frequency set, which is kept on this machine,",
        ),
    ],
)
def test_a_search_in_postgres(
    server: Database, capsys: pytest.CaptureFixture[str], option: list[str], reads: str
) -> None:
    code, out, err = shown(capsys, "people", "--connect", server.url, *option, command="anonymize")

    assert (code, err) == (0, "")
    assert "  first_frequency_set\n" in out
    assert reads in " ".join(out.split())
    assert server.run("select is_called from reads") == [(False,)]


# --- what is refused --------------------------------------------------------------------------


def test_what_does_not_fit_is_refused(server: Database, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shown(capsys, "nobody", "--connect", server.url)

    assert (code, out) == (2, "")
    assert "there is no table or view nobody" in err
