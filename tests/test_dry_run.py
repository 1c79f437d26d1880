"""Does a dry run say what would run, and run none of it?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warehouses import Database, postgres

from kanon_sql.cli import main
from kanon_sql.engines.duckdb import DuckDBEngine
from kanon_sql.engines.warehouse import Warehouse


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with postgres(tmp_path_factory.mktemp("postgres")) as running:
        running.run("create table ages as select n % 7 as age from generate_series(1, 999) as n")
        running.run("analyze ages")
        running.run("create sequence reads")
        running.run("create view people as select age, nextval('reads') as read from ages")
        yield running


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["audit", *arguments, "--qi", "age", "--k", "5", "--dry-run"], prog_name="kanon-sql")
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
    assert "How many records in people.csv share each combination of age?" in out
    assert "to read" in out
    assert "Nothing was run: 3 statements" in out


def test_of_a_table_in_postgres(server: Database, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shown(capsys, "people", "--connect", server.url)

    assert (code, err) == (0, "")
    assert "people · postgres · reads people" in out
    assert "The engine expects about 999 records to read and a cost of" in out
    assert server.run("select is_called from reads") == [(False,)]


def test_an_engine_without_an_estimate(
    server: Database, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kanon_sql.engines.postgres.Postgres.estimate", Warehouse.estimate)

    code, out, _ = shown(capsys, "people", "--connect", server.url)

    assert code == 0
    assert "expects" not in out
    assert server.run("select is_called from reads") == [(False,)]


def test_there_is_no_result_to_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = tmp_path / "people.csv"
    people.write_text("age\n34\n", encoding="utf-8")

    code, out, err = shown(capsys, str(people), "--format", "json")

    assert (code, out) == (2, "")
    assert "--dry-run has no result yet" in err


def test_what_does_not_fit_is_refused(server: Database, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = shown(capsys, "nobody", "--connect", server.url)

    assert (code, out) == (2, "")
    assert "there is no table or view nobody" in err
