"""DuckDB as the engine reads only what it is told to, changes nothing and tells no values."""

from __future__ import annotations

import datetime
import fcntl
import gzip
import hashlib
import os
import re
import tempfile
import threading
import time
import tracemalloc
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import kanon_sql as kanon
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.duckdb.files import FileEvidence
from kanon_sql.engines.duckdb.targets import Targets
from kanon_sql.engines.failures import LOOK
from kanon_sql.engines.readers import Run
from kanon_sql.errors import EngineError, InputError, KanonError, SpecError
from kanon_sql.sql.tables import Column, Table

MARKER = "Jane-Marker-7731"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database file with tables and views whose names need care."""
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table patients as select 1 as id, '02138' as zip")
        connection.execute("create view adults as select id from patients")
        connection.execute("create schema archive")
        connection.execute("create table archive.patients as select 2 as id")
        connection.execute('create table archive."old.List" as select 3 as id')
    return path


def records(engine: DuckDBEngine, target: Any) -> list[tuple[Any, ...]]:
    table = engine.table(target)
    return [tuple(row.values()) for row in engine.query(f"from {table.sql}")]


def refusal(engine: DuckDBEngine, sql: str) -> str:
    with pytest.raises(KanonError) as refused:
        engine.query(sql)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "sql", "ids"),
    [
        ("patients", '"main"."patients"', [1]),
        ("PATIENTS", '"main"."patients"', [1]),
        ("main.patients", '"main"."patients"', [1]),
        ("adults", '"main"."adults"', [1]),
        ("archive.patients", '"archive"."patients"', [2]),
        ('archive."old.List"', '"archive"."old.List"', [3]),
    ],
)
def test_a_table_is_found_by_what_a_user_writes(
    database: Path, name: str, sql: str, ids: list[int]
) -> None:
    with DuckDBEngine(database=database) as engine:
        assert engine.table(name).sql == sql
        assert engine.query(f"select id from {sql}") == [{"id": id_} for id_ in ids]


def test_an_unknown_table_names_the_nearest(database: Path) -> None:
    with DuckDBEngine(database=database) as engine, pytest.raises(InputError) as refused:
        engine.table("patient")
    assert str(refused.value) == (
        "there is no table or view patient in the database. Tables and views: patients, adults. "
        'Did you mean "patients"?'
    )


def test_a_database_stays_as_it_is_byte_for_byte(database: Path) -> None:
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    with DuckDBEngine(database=database) as engine:
        engine.query(f"select count(*) from {engine.table('patients').sql}")
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert os.listdir(database.parent) == ["clinic.duckdb"]


@pytest.mark.parametrize("content", [None, b"no database"])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.duckdb"
    if content:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"no such DuckDB file|not a DuckDB file"):
        DuckDBEngine(database=path)


def test_files_stand_beside_the_tables_of_a_database(database: Path, tmp_path: Path) -> None:
    voters = tmp_path / "voters.csv"
    voters.write_text("zip\n02138\n")
    frame = pd.DataFrame({"zip": ["02138", "02139"]})
    with DuckDBEngine(database=database) as engine:
        tables = [engine.table(target) for target in ("patients", voters, frame)]
        joined = " natural join ".join(table.sql for table in tables)
        assert engine.query(f"select id, zip from {joined}") == [{"id": 1, "zip": "02138"}]


@pytest.mark.parametrize(
    "sql",
    [
        "select 1; select 2",
        "create table t as select 1 as a",
        "copy (select 1) to 'stolen.csv'",
        "insert into patients values (2, 'x')",
        "set threads = 1",
        "attach 'other.duckdb'",
        "explain analyze delete from patients",
        "",
    ],
)
def test_anything_but_one_select_is_refused(database: Path, sql: str) -> None:
    with DuckDBEngine(database=database) as engine:
        assert refusal(engine, sql) == "refused to run anything but one SELECT statement."


def test_files_that_were_not_named_are_shut_off(tmp_path: Path) -> None:
    named, other = tmp_path / "named.csv", tmp_path / "other.csv"
    named.write_text("a\n1\n")
    other.write_text("a\n2\n")
    with DuckDBEngine() as engine:
        assert records(engine, named) == [("1",)]
        assert refusal(engine, f"select * from read_text('{other}')") == (
            "the query reads a file that the audit did not name. Name it, or audit a table "
            "instead of a view over files."
        )
        with pytest.raises(EngineError, match="name every file before the first query"):
            engine.table(other)


def test_python_variables_are_no_tables() -> None:
    secret = pd.DataFrame({"a": [1]})
    with DuckDBEngine() as engine:
        assert "secret does not exist" in refusal(engine, "select * from secret")
    assert len(secret) == 1


def test_spill_goes_to_a_private_folder_that_is_removed() -> None:
    engine = DuckDBEngine(memory_limit="100MB", threads=2)
    [row] = engine.query("select current_setting('temp_directory') as folder")
    folder = Path(row["folder"])
    assert folder.stat().st_mode & 0o777 == 0o700
    engine.close()
    engine.close()
    assert not folder.exists()


def test_an_engine_that_is_dropped_leaves_no_folder() -> None:
    engine = DuckDBEngine()
    [row] = engine.query("select current_setting('temp_directory') as folder")
    del engine
    assert not Path(row["folder"]).exists()


def spills() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("kanon-sql-*"))


def test_what_killed_runs_spilled_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killed, like_it = tmp_path / f"kanon-sql-spill-{'0' * 16}", tmp_path / "kanon-sql-spill-mine"
    for folder in (killed, like_it):
        folder.mkdir()
        (folder / "duckdb_temp_storage.tmp").write_text(MARKER)
    with DuckDBEngine() as living:
        [row] = living.query("select current_setting('temp_directory') as folder")
        with DuckDBEngine():
            assert Path(row["folder"]).exists()
        assert spills() == {like_it, Path(row["folder"])}
    assert spills() == {like_it}


@pytest.mark.parametrize("moment", ["mkdir", "flock", "connect", "_attach"])
def test_an_interrupt_while_a_hub_opens_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """It comes as soon as the call is over, before its answer is kept."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    owners = {"mkdir": Path, "flock": fcntl, "connect": duckdb, "_attach": DuckDBEngine}
    owner: Any = owners[moment]
    done = getattr(owner, moment)

    def interrupted(*arguments: Any, **named: Any) -> None:
        done(*arguments, **named)
        assert spills() != set()
        raise KeyboardInterrupt

    duckdb.connect(str(tmp_path / "clinic.duckdb")).close()
    monkeypatch.setattr(owner, moment, interrupted)
    with pytest.raises(KeyboardInterrupt):
        DuckDBEngine(database=tmp_path / "clinic.duckdb")
    assert spills() == set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory_limit": "much"}, "the memory limit must read like 4GB or 512MiB; found 'much'."),
        ({"memory_limit": "-1GB"}, "the memory limit must read like 4GB or 512MiB; found '-1GB'."),
        ({"threads": -1}, "DuckDB can't run with a memory limit of no size and -1 threads."),
    ],
)
def test_settings_that_duckdb_refuses_are_a_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        DuckDBEngine(**options)


def test_a_query_beyond_the_memory_says_what_to_do() -> None:
    with DuckDBEngine(memory_limit="20MB", threads=1) as engine:
        message = refusal(engine, "select list(i::varchar) as l from range(10000000) as t(i)")
    assert message == (
        "DuckDB ran out of memory, or of disk to spill to. Raise memory_limit, free disk "
        "space, or use fewer columns at a time."
    )


def test_what_duckdb_says_of_a_value_as_of_a_statement_is_withheld() -> None:
    """The text of each record is taken for SQL, while the statement itself has no fault."""
    made = """json_deserialize_sql('{"statements": [{"node": "' || name || '"}]}')"""
    with duckdb.connect() as connection:
        connection.execute("create table people as select 'p0000' || i as name from range(9) t(i)")
        with pytest.raises(duckdb.ParserException):
            connection.execute(f"select {made} from people").fetchall()
        with DuckDBEngine(connection=connection) as engine:
            assert refusal(engine, f"select {made} as it from people") == (
                "DuckDB rejects the SQL of the audit, or a view or function in it fails on a value "
                "(ParserException). The message is withheld, as it may hold values of "
                f"the data. {LOOK}"
            )
            assert 'column "nothing" not found' in refusal(engine, "select nothing from people")


def test_cancel_stops_a_running_query_and_the_engine_lives_on() -> None:
    with DuckDBEngine() as engine:
        timer = threading.Timer(0.2, engine.cancel)
        timer.start()
        started = time.monotonic()
        message = refusal(engine, "select count(*) from range(1000000) a, range(10000000) b")
        assert message == "the query was stopped before its end. Nothing was left behind."
        assert time.monotonic() - started < 5
        assert engine.query("select 1 as one") == [{"one": 1}]


def test_a_running_query_tells_how_far_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    with DuckDBEngine() as engine, ThreadPoolExecutor() as other:
        engine.materialise("numbers", "select range as number from range(50000000)")
        assert engine.progress() == ""
        running = other.submit(
            refusal, engine, "select max(md5(md5(number::varchar))) from numbers"
        )
        while not (told := engine.progress()) and not running.done():
            time.sleep(0.05)
        while not running.done():
            engine.cancel()

    assert re.fullmatch(r"\d+ %", told)
    assert "stopped" in running.result()
    assert engine.progress() == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "expression",
    ["cast(a as integer)", "cast(a as date)", "strptime(a, '%Y')", "error(a)", "nothing(a)"],
)
def test_no_error_holds_a_value(expression: str) -> None:
    with DuckDBEngine() as engine:
        table = engine.table(pd.DataFrame({"a": [MARKER]}))
        assert MARKER not in refusal(engine, f"select {expression} from {table.sql}")


def test_evidence_shows_a_file_that_changed(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a\n1\n")
    with DuckDBEngine() as engine:
        engine.table(path)
        engine.verify_unchanged()
        assert engine.evidence() == [FileEvidence(str(path), 4, path.stat().st_mtime_ns)]
        path.write_text("a\n1\n2\n")
        with pytest.raises(EngineError) as changed:
            engine.verify_unchanged()
    assert str(changed.value) == f"{path} changed while it was being audited; run again."


def test_a_connection_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id\n1\n")
    with duckdb.connect() as connection:
        connection.execute("create table people as select 1 as id")
        settings = connection.execute("from duckdb_settings() order by name").fetchall()
        with DuckDBEngine(connection=connection) as engine:
            assert records(engine, "people") == [(1,)]
            assert records(engine, path) == [("1",)]
            assert records(engine, pd.DataFrame({"id": [2]})) == [(2,)]
        assert connection.execute("from duckdb_settings() order by name").fetchall() == settings
        assert connection.execute("show all tables").fetchall()[0][2] == "people"
        assert connection.execute(
            "select count(*) from duckdb_views() where not internal"
        ).fetchall() == [(0,)]


def test_a_connection_brings_its_own_settings() -> None:
    with pytest.raises(SpecError, match="brings its own database, memory limit and threads"):
        DuckDBEngine(connection=duckdb.connect(), threads=2)


NO_RELATIONS = r"from DuckDB 2\.0 on" if duckdb.__version__ < "2" else None
"""How every relation is refused by a DuckDB that can't have one audited."""


def test_a_relation_is_read_in_its_own_session_from_duckdb_2_on(tmp_path: Path) -> None:
    path = tmp_path / "voters.csv"
    path.write_text("zip\n02138\n")
    with duckdb.connect() as connection, DuckDBEngine() as engine:
        connection.execute("create temp table people as select 1 as id, '02138' as zip")
        relation = connection.table("people").filter("id = 1")
        if NO_RELATIONS:
            with pytest.raises(InputError, match=NO_RELATIONS):
                engine.table(relation)
            return
        table = engine.table(relation)
        assert table == Table(
            "duckdb relation",
            "kanon_relation",
            (Column("id", "INTEGER"), Column("zip", "VARCHAR")),
            ordered=False,
        )
        both = f"{table.sql} natural join {engine.table(path).sql}"
        assert engine.query(f"select id from {both}") == [{"id": 1}]
        assert "DuckDB rejects the SQL of the audit" in refusal(
            engine, f"select nothing from {table.sql}"
        )
        with pytest.raises(InputError, match="the other tables must be files"):
            engine.table(pd.DataFrame({"a": [1]}))
        views = connection.execute("select view_name from duckdb_views() where not internal")
        assert views.fetchall() == []


NOON = datetime.datetime(2020, 1, 1, 12)


@pytest.mark.parametrize(
    ("frame", "values"),
    [
        (pd.DataFrame({"a": ["x", None, ""]}), ["x", None, ""]),
        (
            pd.DataFrame({"a": pd.Series(["x", float("nan"), pd.NA], dtype=object)}),
            ["x", None, None],
        ),
        (pd.DataFrame({"a": [1.5, float("nan")]}), [1.5, None]),
        (pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}), [1, None]),
        (pd.DataFrame({"a": pd.Categorical(["x", None])}), ["x", None]),
        (pd.DataFrame({"a": pd.Categorical([2**53 + 1, 2**53, None])}), [2**53 + 1, 2**53, None]),
        (pd.DataFrame({"a": pd.Series([2**70, 2**70 + 1], dtype=object)}), [2**70, 2**70 + 1]),
        (pd.DataFrame({"a": [NOON]}), [NOON]),
        (pd.DataFrame({7: [1]}), [1]),
        (pl.DataFrame({"a": ["x", None]}), ["x", None]),
        (pl.LazyFrame({"a": [1]}), [1]),
        (pa.table({"a": [1, None]}), [1, None]),
    ],
)
def test_a_frame_is_read_value_for_value(frame: Any, values: list[Any]) -> None:
    with DuckDBEngine() as engine:
        assert records(engine, frame) == [(value,) for value in values]


def test_a_frame_is_called_by_its_kind() -> None:
    with DuckDBEngine() as engine:
        tables = [
            replace(engine.table(pd.DataFrame({"a": [i]})), nearly_all=Table.nearly_all)
            for i in range(2)
        ]
        assert tables == [
            Table("pandas.DataFrame", '"pandas.DataFrame"', (Column("a", "BIGINT"),)),
            Table("pandas.DataFrame", '"pandas.DataFrame 2"', (Column("a", "BIGINT"),)),
        ]
        assert engine.query(f"from {tables[1].sql}") == [{"a": 1}]


def mixed(values: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(values, dtype=object)})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), 'has two columns named "a"'),
        (pd.DataFrame([[1, 2]], columns=["a", "A"]), "differ only by case"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), 'has two columns named "1"'),
        (pd.DataFrame(index=[1]), "pandas.DataFrame has no columns."),
        (pa.table([[1], [2]], names=["a", "a"]), 'has two columns named "a"'),
        (pa.table({"a": [1]}).to_reader(), "It can be read only once"),
        (pd.Series([1]), "can't audit pandas.Series. Pass a DataFrame: its to_frame()."),
        ([{"a": 1}], "can't audit builtins.list. Pass a path"),
    ],
)
def test_a_frame_that_would_merge_values_is_refused(frame: Any, message: str) -> None:
    with DuckDBEngine() as engine, pytest.raises(InputError) as refused:
        engine.table(frame)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("column", "content"),
    [
        (mixed([1, "1"]), "values of several types (int, str)"),
        (mixed([1] * 5000 + ["1"]), "values of several types (int, str)"),
        (mixed([2**53 + 1, 0.5, None]), "values of several types (int, float)"),
        (mixed([True, 1]), "values of several types (bool, int)"),
        (mixed([{"x": 1}]), "Python objects (dict)"),
        (mixed([uuid.UUID(int=1)]), "Python objects (UUID)"),
        (pd.DataFrame({"a": pd.Categorical([1, "1"])}), "values of several types (int, str)"),
        (pd.DataFrame({"a": pd.period_range("2020", periods=2)}), "values of the type period["),
        (pd.DataFrame({"a": [1j]}), "values of the type complex128"),
        (pd.DataFrame({"a": pd.interval_range(0, 2)}), "values of the type interval["),
        (pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}), "Python objects"),
    ],
)
def test_a_column_of_a_frame_that_would_merge_values_stops_nothing_else(
    column: Any, content: str
) -> None:
    zips = ["1"] * len(column)
    is_pandas = isinstance(column, pd.DataFrame)
    frame = column.assign(zip=zips) if is_pandas else column.with_columns(zip=pl.Series(zips))

    [table] = kanon.audit(frame, ["zip"]).tables
    assert table.warnings[0].startswith(f'"a" is not looked at: it holds {content}')
    for asked in ({"quasi_identifiers": "a"}, {"quasi_identifiers": "zip", "sensitive": "a"}):
        with pytest.raises(kanon.SpecError, match=r'column "a" of .* holds '):
            kanon.audit(frame, **asked)
    with pytest.raises(kanon.SpecError, match="leave it out of the release"):
        kanon.anonymize(frame, ["zip"], k=1)
    assert kanon.anonymize(frame, ["zip"], k=1, identifiers="a").holds


def test_an_open_connection_is_seen_as_it_was_when_the_audit_began():
    connection = duckdb.connect()
    connection.sql("create table patients as select 1 as zip")
    with DuckDBEngine(connection=connection) as engine:
        before = engine.query(f"select count(*) as records from {engine.table('patients').sql}")
        connection.sql("insert into patients values (2)")
        after = engine.query(f"select count(*) as records from {engine.table('patients').sql}")
    assert (before, after) == ([{"records": 1}], [{"records": 1}])


def test_the_values_of_an_enum_are_in_no_type_and_no_message(tmp_path: Path) -> None:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(file) as connection:
        connection.sql(f"create type diagnosis as enum ('{MARKER}', 'flu')")
        connection.sql(
            "create table visits as select 'flu'::diagnosis as seen, ['flu'::diagnosis] as l"
        )
    with DuckDBEngine(database=file) as engine:
        table = engine.table("visits")
        said = refusal(engine, f"select abs(seen) from {table.sql}")
    assert table.columns == (Column("seen", "ENUM"), Column("l", "ENUM[]"))
    assert "'abs(ENUM)'" in said


@pytest.mark.parametrize("collation", ["nocase", "noaccent", "nfc"])
def test_text_with_a_collation_is_refused(tmp_path: Path, collation: str) -> None:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(file) as connection:
        connection.sql(f"create table visits (id integer, zip varchar collate {collation})")
        connection.sql("create view seen as select * from visits")
    with DuckDBEngine(database=file) as engine:
        for name in ("visits", "seen"):
            with pytest.raises(InputError, match=f'{name} has text with a collation in "zip",'):
                engine.table(name)


def test_a_view_that_only_looks_up_by_a_collation_is_read(tmp_path: Path) -> None:
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(file) as connection:
        connection.sql("create table visits as select 'A' as zip")
        connection.sql("create view seen as from visits where zip collate nocase = 'a'")
    with DuckDBEngine(database=file) as engine:
        assert records(engine, "seen") == [("A",)]


HOSTILE_SESSIONS = {
    "create macro sum(a) as 99": "macros that replace DuckDB's functions: sum",
    "set default_order = 'desc'": "the DuckDB session has default_order = DESC",
    "set default_collation = 'nocase'": "has text with a collation",
}


@pytest.mark.parametrize("statement", HOSTILE_SESSIONS)
@pytest.mark.parametrize("what", ["a table", "a file", "a frame"])
def test_a_session_that_answers_otherwise_is_refused(
    tmp_path: Path, statement: str, what: str
) -> None:
    """The macro would make every class 99, the order the largest class the smallest."""
    path = tmp_path / "people.csv"
    path.write_text("zip\na\nA\n")
    target = {"a table": "people", "a file": path, "a frame": pa.table({"zip": ["a", "A"]})}[what]
    with duckdb.connect() as connection:
        connection.execute("create table people as select 'a' as zip")
        connection.execute(statement)
        with (
            DuckDBEngine(connection=connection) as engine,
            pytest.raises(InputError, match=HOSTILE_SESSIONS[statement]),
        ):
            engine.table(target)


@pytest.mark.parametrize("statement", [*HOSTILE_SESSIONS, "create temp macro sum(a) as 99"])
def test_a_relation_of_such_a_session_is_refused(statement: str) -> None:
    with duckdb.connect() as connection, DuckDBEngine() as engine:
        connection.execute(statement)
        message = HOSTILE_SESSIONS[statement.replace("temp ", "")]
        with pytest.raises(InputError, match=NO_RELATIONS or message):
            engine.table(connection.sql("select 'a' as zip"))


def test_a_relation_with_a_collation_is_refused() -> None:
    with duckdb.connect() as connection, DuckDBEngine() as engine:
        relation = connection.sql("select 'a' collate nocase as zip")
        refused = NO_RELATIONS or "duckdb relation has text with a collation"
        with pytest.raises(InputError, match=refused):
            engine.table(relation)


def test_a_session_that_keeps_no_order_has_no_first_records(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("zip\n02138\n")
    with duckdb.connect() as connection:
        connection.execute("set preserve_insertion_order = false")
        with pytest.raises(SpecError, match="has no first records"):
            kanon.audit(path, quasi_identifiers="zip", first=1, engine=connection)


def test_a_connection_in_a_transaction_is_refused() -> None:
    connection = duckdb.connect()
    connection.begin()
    with pytest.raises(InputError, match="Commit or roll back first"):
        DuckDBEngine(connection=connection)
    connection.rollback()
    connection.close()
    with pytest.raises(InputError, match="the DuckDB connection is closed"):
        DuckDBEngine(connection=connection)


@pytest.mark.parametrize("name", ["clinic", "main", "temp", "we ird-1"])
def test_a_database_has_the_name_that_its_views_know_it_by(tmp_path: Path, name: str) -> None:
    """A view may name its own database, as those that dbt makes do."""
    path = tmp_path / f"{name}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table visits as select range % 3 as zip from range(30)")
        if name not in ("main", "temp"):
            connection.execute(f'create view seen as from "{name}"."main"."visits"')
        else:
            connection.execute("create view seen as from visits")

    result = kanon.audit("seen", quasi_identifiers="zip", engine=f"duckdb:{path}")

    assert result.tables[0].summary.k == 10


# What happens meanwhile


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
@pytest.mark.parametrize("becomes", ["other columns", "damaged", "gone", "another type"])
def test_a_file_that_is_replaced_while_it_is_read_has_changed(
    tmp_path: Path, kind: str, becomes: str
) -> None:
    def written(select: str) -> Path:
        new = tmp_path / f"new.{kind}"
        duckdb.sql(f"copy ({select}) to '{new}'")
        return new

    path = written("select 1 as a from range(9)").rename(tmp_path / f"people.{kind}")
    with DuckDBEngine() as engine:
        table = engine.table(path)
        if becomes == "gone":
            path.unlink()
        elif becomes == "damaged":
            path.write_bytes(b'{"PAR1')
        else:
            other = "2 as b" if becomes == "other columns" else "'a long word' as a"
            os.replace(written(f"select {other} from range(99)"), path)
        with pytest.raises(EngineError) as changed:
            total_of(engine, table)
    assert str(changed.value) == f"{path} changed while it was being audited; run again."


def total_of(engine: DuckDBEngine, table: Table) -> None:
    engine.query(f"select sum(cast(a as integer)) from {table.sql}")
    engine.verify_unchanged()


def test_data_at_fault_that_changed_since_they_were_opened_say_so(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("zip,age\na,1\n")
    result = kanon.audit(
        path,
        quasi_identifiers={"age": {"levels": [{"width": 5}]}},
        levels={"age": 1},
        engine=Replaced(path, "zip,age\nb,old\n"),
    )
    [table] = result.tables
    assert (table.status, table.error) == (
        "error",
        f"{path} changed while it was being audited; run again.",
    )


class Replaced(DuckDBEngine):
    """Has a file replaced once it is opened, by somebody else."""

    def __init__(self, path: Path, text: str) -> None:
        super().__init__()
        self._path, self._text = path, text

    def lock(self) -> None:
        if not self._targets.is_locked:
            self._path.write_text(self._text)
        super().lock()


@pytest.mark.parametrize(
    "name", ["header.csv.gz", "wide.csv", "numbers.json", "many.csv.gz", "people.parquet"]
)
def test_a_time_limit_that_is_reached_while_a_file_opens_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever is just looked at, and whatever a reader takes the interrupt for."""
    path = tmp_path / name
    if name.endswith("parquet"):
        duckdb.sql("select 1 as a").write_parquet(str(path))
    elif name.endswith("json"):
        path.write_text('{"a": 0.12345678901234567, "b": "1e5 2e5"}\n' * 400_000)
    elif name.endswith("csv"):
        path.write_text("a,b\n" + "one,two\n" * 1_000_000 + "three\n")
    else:
        line = b"a,b\n" + (b"one,two\n" * 9_000_000 if name == "many.csv.gz" else b"x" * 9)
        path.write_bytes(gzip.compress(line, 1))
    if name in ("header.csv.gz", "people.parquet"):
        # The reader is stopped in its first statement, or in its first look.
        monkeypatch.setattr(Targets, "_run", stopped_statement)
        monkeypatch.setattr(Targets, "_reading", Run(stopped_statement, stopped_look))
    with pytest.raises(EngineError) as stopped:
        kanon.audit(path, quasi_identifiers="a", timeout=0.05)
    assert str(stopped.value) == (
        "stopped, because the time limit was reached. Raise timeout, or run fewer checks."
    )


def stopped_statement(*_: object) -> None:
    time.sleep(0.2)
    raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")


def stopped_look() -> None:
    time.sleep(0.2)
    raise EngineError("the query was stopped before its end. Nothing was left behind.")


@pytest.mark.slow
@pytest.mark.parametrize("content", ["one line", "spaces", "a record that never closes"])
def test_a_small_file_that_unpacks_to_a_large_one_takes_no_memory(
    tmp_path: Path, content: str
) -> None:
    """Sixty megabytes in as many kilobytes; what is held is the buffer that a line may fill."""
    million = {"one line": b"x", "spaces": b" "}.get(content, b"x\n")
    path = tmp_path / "people.csv.gz"
    start = b"a,b\n" + (b'1,"' if content != "one line" else b"")
    path.write_bytes(gzip.compress(start + million * (60_000_000 // len(million)), 1))
    tracemalloc.start()
    with DuckDBEngine(memory_limit="300MB") as engine, pytest.raises(InputError):
        engine.table(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 250_000_000
