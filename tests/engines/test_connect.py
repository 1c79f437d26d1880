"""Whatever a user has, is it asked the same question, kept to reading, and are its secrets kept?"""

from __future__ import annotations

import os
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asking
import commands
import duckdb
import oracle
import pytest
from generated import Filled, asked_tables, few
from hypothesis import given, settings
from hypothesis import strategies as st
from places import HOUSE
from warehouses import Database, postgres

import kanon_sql as kanon
from kanon_sql.auditing import fetched_sets
from kanon_sql.engines import SCHEMES, connect, sqlite
from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.names import resolved_name, url_of
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.semantic_checks import canaries, require_trustworthy
from kanon_sql.engines.servers import SERVERS, DuckDB, MySQL
from kanon_sql.engines.session import time_limit, within
from kanon_sql.engines.sqlite import SQLite
from kanon_sql.profiling import profiler

PEOPLE = """
create table people as
select
    cast(number % 7 as varchar(9)) as zip,
    number % 3 as age,
    cast((number % 5) * 1.5 as decimal(9, 2)) as income,
    case when number % 4 = 0 then null else concat('d', number % 3) end as disease,
    number as id
from {series}
"""
QUESTION: dict[str, Any] = {
    "quasi_identifiers": ["zip", "age"],
    "sensitive": ["disease", "income"],
    "entity": "id",
    "where": "id <> 3",
    "checks": [
        kanon.KAnonymity(k=2),
        kanon.TCloseness(t=0.2, sensitive="income", distance="ordered"),
    ],
}
MARKER = "hunter2-m4rker"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with postgres(tmp_path_factory.mktemp("postgres")) as running:
        running.run(PEOPLE.format(series="generate_series(1, 200) as numbers(number)"))
        yield running


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    """The audit of the same table by the embedded engine."""
    with duckdb.connect() as connection:
        connection.execute(PEOPLE.format(series="generate_series(1, 200) as numbers(number)"))
        return asking.figures(kanon.audit("people", engine=connection, **QUESTION))


def figures(engine: Any) -> dict[str, Any]:
    return asking.figures(kanon.audit("people", engine=engine, **QUESTION))


def sqlalchemy_engine(url: str) -> Any:
    import sqlalchemy

    return sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))


# --- the same answer whatever is passed ------------------------------------------------------


def test_a_url(database: Database, expected: dict[str, Any]) -> None:
    assert figures(database.url) == asking.near(expected)


@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("rows", ["tuple_row", "dict_row", "namedtuple_row"])
def test_a_psycopg_connection(
    database: Database, expected: dict[str, Any], autocommit: bool, rows: str
) -> None:
    import psycopg

    factory = getattr(psycopg.rows, rows)
    with psycopg.connect(database.url, autocommit=autocommit, row_factory=factory) as connection:
        connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        before = connection.execute("select set_config('timezone', 'Asia/Tokyo', false)")
        before.close()
        connection.commit()

        found = figures(connection)

        assert found == asking.near(expected)
        assert not connection.closed
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
        assert connection.autocommit is autocommit
        assert connection.read_only is None
        assert connection.isolation_level == psycopg.IsolationLevel.SERIALIZABLE
        assert connection.row_factory is factory
        [zone] = list(
            connection.cursor(row_factory=psycopg.rows.tuple_row).execute("show timezone")
        )
        assert zone == ("Asia/Tokyo",)
        connection.execute("create table written as select 1 as one")
        connection.execute("drop table written")


def test_a_sqlalchemy_engine_gets_its_connection_back(
    database: Database, expected: dict[str, Any]
) -> None:
    engine = sqlalchemy_engine(database.url)

    assert figures(engine) == asking.near(expected)
    assert engine.pool.checkedout() == 0
    with engine.connect() as connection:
        assert figures(connection) == asking.near(expected)
        assert not connection.closed
    engine.dispose()


def test_a_sqlalchemy_connection_in_a_transaction_is_refused(database: Database) -> None:
    import sqlalchemy

    engine = sqlalchemy_engine(database.url)
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("select 1"))
        with pytest.raises(kanon.SpecError, match="in no transaction"):
            connect(connection)
    engine.dispose()


@pytest.mark.parametrize("autocommit", [False, True])
def test_an_adbc_connection_whose_numbers_arrive_as_text(
    database: Database, expected: dict[str, Any], autocommit: bool
) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(database.url, autocommit=autocommit) as connection:
        with connection.cursor() as cursor:
            cursor.execute("select sum(age) from people")
            [[as_it_comes]] = cursor.fetchall()
        connection.rollback() if not autocommit else None

        assert isinstance(as_it_comes, (str, int))
        assert figures(connection) == asking.near(expected)
        # It is open, and writes again.
        with connection.cursor() as cursor:
            cursor.execute("create table written (one integer)")
            cursor.execute("drop table written")


def test_sums_that_adbc_brings_as_text_are_numbers(database: Database) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(database.url) as connection, connect(connection) as engine:
        [row] = engine.query("select sum(cast(2 as bigint)) as whole, cast(1.5 as decimal) as part")

    assert (row["whole"], type(row["whole"])) == (2, int)
    assert float(row["part"]) == 1.5


def test_what_someone_wrote_and_has_not_committed_is_not_lost(database: Database) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(database.url) as connection:
        with connection.cursor() as cursor:
            cursor.execute("create table uncommitted (one integer)")
        with pytest.raises(kanon.InputError, match="in a transaction"):
            connect(connection)
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from uncommitted")
            assert cursor.fetchall() == [(0,)]
        connection.rollback()


def test_what_someone_writes_between_two_audits_is_not_lost(database: Database) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(database.url) as connection:
        engine = connect(connection)
        with connection.cursor() as cursor:
            cursor.execute("create table uncommitted (one integer)")
        with pytest.raises(kanon.InputError, match="in a transaction"):
            kanon.audit("people", quasi_identifiers="zip", engine=engine)
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from uncommitted")
            assert cursor.fetchall() == [(0,)]
        connection.rollback()


def test_a_name_is_looked_up_where_the_user_has_set(database: Database) -> None:
    from adbc_driver_postgresql import dbapi

    database.run("create schema clinic")
    database.run("create table clinic.people as select 1 as zip")
    with dbapi.connect(database.url) as connection:
        with connection.cursor() as cursor:
            cursor.execute("set search_path to clinic")
        found = kanon.audit("people", quasi_identifiers="zip", engine=connection)
        with connection.cursor() as cursor:
            cursor.execute("select current_schema()")
            assert cursor.fetchall() == [("clinic",)]
    database.run("drop schema clinic cascade")

    assert found.tables[0].summary.records == 1


@pytest.fixture
def namesakes(database: Database) -> Iterator[Database]:
    """Tables of names that differ by their schema or by case, each with its number of records."""
    tables = {
        "public.patients": 1,
        's2."Patients"': 2,
        "s1.people": 3,
        "s2.people": 4,
        's1."VISITS"': 5,
        's2."Visits"': 6,
    }
    database.run("alter table people rename to others")
    for schema in ("s1", "s2"):
        database.run(f"create schema {schema}")
    for name, records in tables.items():
        database.run(f"create table {name} as select 1 as zip from generate_series(1, {records})")
    yield database
    database.run("drop schema s1, s2 cascade")
    database.run("drop table patients")
    database.run("alter table others rename to people")


@pytest.mark.parametrize(
    ("path", "name", "called", "records"),
    [
        ("public", "patients", "patients", 1),
        ("public", "Patients", "patients", 1),
        ("public", 's2."Patients"', "s2.Patients", 2),
        ("public", "s2.patients", "s2.Patients", 2),
        ("s2, public", "patients", "public.patients", 1),
        ("s2, public", '"Patients"', "Patients", 2),
        ("public, s1", "people", "s1.people", 3),
        ("public, s2, s1", "People", "s2.people", 4),
        ("public, s1", "s2.people", "s2.people", 4),
        ("public, s1", '"postgres"."s2"."people"', "postgres.s2.people", 4),
        ("public, s1", '"VISITS"', "s1.VISITS", 5),
        ("nowhere", "patients", "public.patients", 1),
    ],
)
def test_a_name_is_what_the_session_takes_it_for(
    namesakes: Database, path: str, name: str, called: str, records: int
) -> None:
    assert read_by(namesakes, f"set search_path to {path}", name) == (called, records)


@pytest.mark.parametrize(
    ("path", "name", "any_of"),
    [
        ("s2, public", "Patients", "postgres.public.patients, postgres.s2.Patients"),
        ("public", '"Patients"', "postgres.public.patients, postgres.s2.Patients"),
        ("public", "people", "postgres.s1.people, postgres.s2.people"),
        ("s1, s2", "visits", "postgres.s1.VISITS, postgres.s2.Visits"),
        ("s1, public", "Visits", "postgres.s1.VISITS, postgres.s2.Visits"),
    ],
)
def test_a_name_that_two_tables_may_have_is_refused(
    namesakes: Database, path: str, name: str, any_of: str
) -> None:
    with pytest.raises(kanon.InputError, match=f"is ambiguous: {any_of}. Write the one you mean"):
        read_by(namesakes, f"set search_path to {path}", name)


def test_a_name_that_is_no_plain_word_is_shown_as_it_has_to_be_written() -> None:
    with duckdb.connect() as database:
        database.execute("""create schema "my s"; create table "my s"."t'x" as select 1 as a""")

        with pytest.raises(kanon.InputError, match="in double quotes") as refused:
            kanon.audit("my s.t'x", "a", engine=database)

        written = str(refused.value).split("quotes, '")[1].removesuffix("'.")
        assert kanon.audit(written, "a", engine=database).tables[0].summary.records == 1


def read_by(database: Database, setting: str, *names: str) -> tuple[Any, ...]:
    """What tables are called, and how many records they have, on a connection with a setting."""
    import psycopg

    found: list[Any] = []
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(setting)
        for name in names:
            [table] = kanon.audit(name, quasi_identifiers="zip", engine=connection).tables
            found += [table.name, table.summary.records]
    return tuple(found)


def test_a_temporary_table_stands_before_the_one_of_the_same_name(database: Database) -> None:
    temporary = "create temp table people as select 1 as zip"

    assert read_by(database, temporary, "people", "pg_temp.people", "public.people") == (
        *("pg_temp.people", 1),
        *("pg_temp.people", 1),
        *("public.people", 200),
    )
    last = f"{temporary}; set search_path to public, pg_temp"
    assert read_by(database, last, "people") == ("people", 200)


def test_no_session_reads_the_temporary_table_of_another(database: Database) -> None:
    import psycopg

    with psycopg.connect(database.url, autocommit=True) as other:
        other.execute("create temp table people as select 1 as zip")
        other.execute("create temp table fleeting as select 1 as zip")

        assert read_by(database, "select 1", "people") == ("people", 200)
        for name in ("fleeting", "pg_temp.people"):
            with pytest.raises(kanon.InputError, match=f"there is no table or view {name}"):
                read_by(database, "select 1", name)


def test_a_psycopg_connection_in_a_transaction_is_refused(database: Database) -> None:
    import psycopg

    with psycopg.connect(database.url) as connection:
        connection.execute("select 1")
        with pytest.raises(kanon.InputError, match="Commit or roll back first"):
            connect(connection)
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        connection.close()
        with pytest.raises(kanon.InputError, match="the Postgres connection is closed"):
            connect(connection)


def test_an_engine_is_left_open_and_sees_the_data_anew(database: Database) -> None:
    with connect(database.url) as engine:
        database.run("create table fresh as select 1 as zip")
        first = kanon.audit("fresh", quasi_identifiers="zip", engine=engine)
        database.run("insert into fresh values (1)")
        second = kanon.audit("fresh", quasi_identifiers="zip", engine=engine)
        database.run("drop table fresh")

    assert [result.tables[0].summary.records for result in (first, second)] == [1, 2]


def test_an_engine_over_a_users_duckdb_sees_the_data_anew() -> None:
    with duckdb.connect() as connection, connect(connection) as engine:
        connection.execute("create table fresh as select 1 as zip")
        found = []
        for _ in range(2):
            result = kanon.audit("fresh", quasi_identifiers="zip", engine=engine)
            found.append(result.tables[0].summary.records)
            connection.execute("insert into fresh values (1)")

    assert found == [1, 2]


def test_sqlite_is_asked_through_its_own_module() -> None:
    connection = sqlite3.connect(":memory:")
    series = (
        "(with recursive numbers(number) as (select 1 union all select number + 1 from numbers "
        "where number < 200) select number from numbers)"
    )
    connection.execute(PEOPLE.format(series=series).replace("concat('d', ", "('d' || ").lower())

    # Profiles of people need an order in group_concat, which SQLite has from 3.44 on.
    question = QUESTION | {"entity": None}
    with duckdb.connect() as other:
        other.execute(PEOPLE.format(series="generate_series(1, 200) as numbers(number)"))
        expected = asking.figures(kanon.audit("people", engine=other, **question))

    found = asking.figures(kanon.audit("people", engine=connection, **question))

    assert found == asking.near(expected)
    assert not connection.in_transaction
    connection.execute("drop table people")
    connection.close()


def test_rows_that_can_not_be_kept_here_let_go_of_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.execute("create table people as select 1 as age union all select 2")
    refused: list[BaseException] = []

    def without_room(hub: DuckDBEngine, name: str, columns: Any, batches: Iterator[Any]) -> None:
        next(batches)
        raise kanon.InputError("there is no room")

    monkeypatch.setattr(DuckDBEngine, "materialise_batches", without_room)

    def pull() -> None:
        try:
            kanon.anonymize(
                "people", quasi_identifiers="age", k=2, pull_frequencies=True, engine=connection
            )
        except kanon.InputError as error:
            refused.append(error)

    pulling = threading.Thread(target=pull, daemon=True)
    pulling.start()
    pulling.join(10)

    assert not pulling.is_alive()
    assert len(refused) == 1
    assert not connection.in_transaction
    connection.close()


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of SQLite, with a name that a URL would spell otherwise, in the working directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a clinic?#%41.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create table people (zip text, birth_year integer)")
        rows = [(f"{n % 3:03d}", 1950 + n % 2) for n in range(60)]
        connection.executemany("insert into people values (?, ?)", rows)
        connection.commit()
    return file


@pytest.mark.parametrize("form", ["sqlite:{name}", "sqlite:{file}", "sqlite:///{name}"])
def test_a_file_of_sqlite_is_asked_by_url(clinic: Path, form: str) -> None:
    url = form.format(name=clinic.name, file=clinic)
    before = clinic.read_bytes()

    found = kanon.audit("people", ["zip", "birth_year"], engine=url)

    assert found.tables[0].summary.k == 10
    with connect(url) as engine, pytest.raises(kanon.EngineError, match="refused to write"):
        engine._run_in_session("insert into people values ('9', 9)")  # type: ignore[attr-defined]
    assert (list(clinic.parent.iterdir()), clinic.read_bytes()) == ([clinic], before)


@pytest.mark.parametrize("form", ["duckdb:{name}", "duckdb:///{name}", "duckdb:///{file}"])
def test_a_file_of_duckdb_is_asked_by_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("clinic.db") as database:
        database.execute("create table people as select '02138' as zip from range(3)")
    url = form.format(name="clinic.db", file=tmp_path / "clinic.db")
    assert kanon.audit("people", ["zip"], engine=url).tables[0].summary.k == 3


def test_every_verb_asks_a_file_of_sqlite(clinic: Path) -> None:
    url = f"sqlite:{clinic.name}"
    asked = ["people", "--connect", url, "--qi", "zip,birth_year"]
    hierarchy = ["--hierarchy", "birth_year=width:10"]
    Path("specs").mkdir()
    lines = [
        ["audit", *asked, "--k", "5"],
        ["audit", *asked, "--k", "5", "--dry-run"],
        ["profile", "people", "--connect", url],
        ["init", "people", "--connect", url, "--output", "specs/kanon.yml"],
        ["validate", "specs/kanon.yml"],
        ["tradeoff", *asked, *hierarchy, "--k", "5,10"],
        ["compile", *asked, "--k", "5"],
        ["anonymize", *asked, *hierarchy, "--k", "20", "--output", "release.sql"],
    ]

    ended = {line[0]: commands.run(*line) for line in lines}

    failed = {name: each.stderr for name, each in ended.items() if each.exit_code}
    assert failed == {}
    assert f"sqlite:../{clinic.name}" in Path("specs/kanon.yml").read_text(encoding="utf-8")


def test_what_is_fetched_is_held_to_the_limits_of_the_run(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into an engine of this machine, whichever verb it is; elsewhere they are refused."""
    given: list[tuple[Any, ...]] = []

    def connected(**limits: Any) -> Any:
        given.append((limits["memory_limit"], limits["threads"]))
        return connect(**limits)

    monkeypatch.setattr(fetched_sets, "connect", connected)
    # As a cluster, from which a profile fetches sets of columns.
    monkeypatch.setattr(profiler, "FolderWriter", SQLite)
    monkeypatch.setattr(profiler, "writes_folders", lambda target: True)
    asked = ["people", "--connect", f"sqlite:{clinic.name}", "--qi", "zip,birth_year"]
    limits = ["--memory-limit", "1GB", "--threads", "1"]
    pulled = ["--hierarchy", "birth_year=width:10", "--k", "5", "--pull-frequencies"]

    for verb, *options in (
        ["anonymize", *pulled, "--algorithm", "optimal"],
        ["tradeoff", *pulled],
        ["profile", "--subsets", "2"],
    ):
        assert commands.run(verb, *asked, *options, *limits).exit_code == 0
    refused = commands.run("audit", *asked, *limits)

    assert given == [("1GB", 1)] * 3
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "Set them there" in refused.stderr


def test_what_is_fetched_has_the_clock_of_the_run() -> None:
    expired, started = threading.Event(), time.monotonic()
    run = RunOptions(timeout=60)

    with (
        pytest.raises(kanon.EngineError, match="time limit was reached"),
        fetched_sets.fetch_hub(run, started - 59, expired) as (hub, _),
    ):
        hub.query("select count(*) from range(10000000) a(i), range(10000000) b(j)")

    assert expired.is_set()
    assert time.monotonic() - started < 30


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:none.db", r"there is no file none\.db to connect to\.$"),
        ("sqlite:.", r"there is no file \. to connect to\.$"),
        ("sqlite:///", r"there is no file"),
        ("sqlite::memory:", r"there is no file :memory: to connect to\.$"),
        ("sqlite://{file}", r"Did you mean sqlite:{file}\?$"),
        ("sqlite:notes.txt", r"notes\.txt is not a SQLite database"),
    ],
)
def test_no_file_of_sqlite_is_made_or_guessed(
    tmp_path: Path, monkeypatch: Any, url: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("no database", encoding="utf-8")
    file = tmp_path / "there.db"
    file.touch()

    with pytest.raises(kanon.InputError, match=said.format(file=file)):
        connect(url.format(file=file))

    assert sorted(each.name for each in tmp_path.iterdir()) == ["notes.txt", "there.db"]


def test_a_sqlite_connection_with_uncommitted_rows_is_refused() -> None:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table people (zip text)")
    connection.execute("insert into people values ('1')")
    with pytest.raises(kanon.InputError, match="in a transaction"):
        connect(connection)
    connection.rollback()
    connection.close()
    with pytest.raises(kanon.InputError, match="the SQLite connection is closed"):
        connect(connection)


def test_what_sqlite_can_not_join_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "ORDERED", (99, 0))
    connection = sqlite3.connect(":memory:")
    connection.execute("create table people as select 1 as zip, 2 as id")
    question = {"quasi_identifiers": "zip", "entity": "id", "engine": connection}

    assert kanon.audit("people", **question).tables[0].summary.people == 1
    assert "group_concat" in str(kanon.compile("people", **question)).lower()
    connection.execute("insert into people values (3, 2)")
    connection.commit()
    with pytest.raises(kanon.SpecError, match=r"joins texts in no defined order.* 99\.0 or later"):
        kanon.audit("people", **question)
    connection.close()


def test_tables_of_one_connection_are_asked_in_one_snapshot(database: Database) -> None:
    import psycopg

    database.run("create table other as select zip from people")
    spec = kanon.AuditSpec(
        tables=[
            {"source": name, "quasi_identifiers": ["zip"], "checks": [kanon.KAnonymity(k=2)]}
            for name in ("people", "other")
        ]
    )
    with psycopg.connect(database.url) as connection:
        results = [
            kanon.audit(spec, engine=connection),
            kanon.audit(spec, engine=database.url),
            kanon.profile(spec, engine=connection),
        ]
        texts = [str(kanon.compile(spec, engine=connection))]
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    database.run("drop table other")

    assert [[table.summary.records for table in each.tables] for each in results] == [
        [200, 200]
    ] * 3
    assert texts[0].count("-- Question") >= 2


def test_a_table_on_which_the_database_fails_spoils_no_other(database: Database) -> None:
    database.run("create view asleep as select 1 as zip from pg_sleep(60)")
    spec = kanon.AuditSpec(
        tables=[
            {"source": name, "quasi_identifiers": ["zip"], "connect": database.url}
            for name in ("asleep", "people")
        ]
    )

    first, second = kanon.audit(spec, timeout=2).tables
    database.run("drop view asleep")

    assert (first.status, second.status) == ("error", "measured")
    assert second.summary.records == 200


def test_sqlalchemy_over_another_driver(tmp_path: Path) -> None:
    import sqlalchemy

    lender = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'people.sqlite'}")
    with lender.begin() as connection:
        connection.execute(sqlalchemy.text("create table people (zip text)"))
        connection.execute(sqlalchemy.text("insert into people values ('a'), ('A'), ('a ')"))

    result = kanon.audit("people", quasi_identifiers="zip", engine=lender)

    assert result.tables[0].summary.classes == 3
    assert lender.pool.checkedout() == 0
    lender.dispose()


# --- any DB-API driver, on hostile tables -----------------------------------------------------


@settings(few, max_examples=30)
@given(asked_tables())
def test_duckdb_as_any_other_driver(asked: tuple[Filled, oracle.Question]) -> None:
    table, question = asked
    with duckdb.connect() as connection:
        connection.register("people_here", table.arrow)
        connection.execute("create table people as from people_here")
        connection.unregister("people_here")
        engine = DBAPI(connection, dialect="duckdb")
        require_trustworthy(engine)

        found = asking.figures(asking.audit("people", question, engine=engine))

    assert found == asking.near(oracle.audit(table.records, question))


def test_duckdb_through_adbc(expected: dict[str, Any]) -> None:
    from adbc_driver_duckdb import dbapi

    with dbapi.connect() as connection:
        with connection.cursor() as cursor:
            cursor.execute(PEOPLE.format(series="generate_series(1, 200) as numbers(number)"))
        connection.commit()
        with connect(connection) as engine:
            assert isinstance(engine, DuckDB)
            assert figures(engine) == asking.near(expected)


@settings(few, max_examples=15)
@given(data=st.data())
def test_postgres_through_adbc(database: Database, data: st.DataObject) -> None:
    from adbc_driver_postgresql import dbapi

    table, question = data.draw(asked_tables())
    database.load("hostile", table)
    with dbapi.connect(database.url) as connection:
        found = asking.figures(asking.audit("hostile", question, engine=connection))

    assert found == asking.near(oracle.audit(table.records, question))


# --- what can't be asked ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgress://h/d", 'Did you mean "postgres"?'),
        ("snowflak://a/d", 'Did you mean "snowflake"?'),
        ("postgresql+psycopg://h/d", 'Did you mean "postgresql"?'),
        ("oracle://h/d", ", ".join(SCHEMES)),
        ("patients", "begins with one of duckdb, postgresql"),
        ("duckdb:", "can't connect to duckdb:…"),
        ("spark:", "which Spark? Connect to spark:local[2]"),
    ],
)
def test_an_unknown_scheme_is_told_the_known_ones(url: str, said: str) -> None:
    with pytest.raises(kanon.SpecError, match=re.escape(said)):
        connect(url)


@pytest.mark.parametrize(
    ("scheme", "driver"),
    [("postgresql", "psycopg"), ("mysql", "pymysql"), ("clickhouse", "clickhouse_connect")],
)
def test_a_server_that_never_answers_is_given_up_at_the_time_limit(
    scheme: str, driver: str
) -> None:
    pytest.importorskip(driver)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"{scheme}://ann:{MARKER}@127.0.0.1:{mute.getsockname()[1]}/db"
        for ask in (kanon.audit, kanon.profile, kanon.tradeoff, kanon.anonymize):
            demands = {"k": 2} if ask is kanon.anonymize else {}
            with pytest.raises(
                kanon.EngineError, match="did not answer within the time limit"
            ) as told:
                ask("people", ["zip"], engine=url, timeout=0.1, **demands)
            assert MARKER not in str(told.value)


def test_an_engine_that_comes_too_late_is_closed() -> None:
    closed, begun = threading.Event(), threading.Event()

    def connected() -> Any:
        begun.wait(5)
        return SimpleNamespace(close=closed.set)

    with pytest.raises(kanon.EngineError, match="did not answer within the time limit"):
        within(0.01, connected)
    begun.set()
    assert closed.wait(5)


def test_what_fails_within_the_time_limit_fails_as_it_does() -> None:
    def refused() -> Any:
        raise kanon.InputError("no such place")

    with pytest.raises(kanon.InputError, match="no such place"):
        within(5, refused)
    with pytest.raises(kanon.SpecError, match="must be a number of seconds above 0"):
        RunOptions(timeout=0)


def test_a_url_with_a_dialect_and_limits_of_duckdb_elsewhere_are_refused() -> None:
    with pytest.raises(kanon.SpecError, match="leave out dialect='mysql'"):
        connect("postgresql://h/d", dialect="mysql")
    with pytest.raises(kanon.SpecError, match="its own settings\\. Set them there"):
        connect("postgresql://h/d", memory_limit="1GB")


class Awaited:
    async def commit(self) -> None: ...
    def cursor(self) -> None: ...


class Unheard:
    def commit(self) -> None: ...
    def cursor(self) -> None: ...


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (object(), "Pass a URL"),
        (Awaited(), "synchronous DB-API connection"),
        (Unheard(), "Name its dialect"),
        (duckdb.sql("select 1 as a"), "can't query a"),
    ],
)
def test_what_is_no_connection_is_refused_by_its_kind(target: Any, said: str) -> None:
    with pytest.raises(kanon.SpecError, match=re.escape(said)):
        connect(target)


def test_a_table_of_another_project_of_bigquery_is_read_there() -> None:
    connection = Recorded(
        {
            "TABLE_CATALOG": [("other-project", "health", "people")],
            "COLUMN_NAME": [("zip", "STRING", None, None, None)],
        }
    )

    engine = connect(connection, dialect="bigquery")
    found = engine.table('"other-project".health.people')

    assert found.sql == '"other-project"."health"."people"'
    assert [(each.name, each.type) for each in found.columns] == [("zip", "VARCHAR")]
    asked = "`other-project`.`health`.`INFORMATION_SCHEMA`.`TABLES`"
    assert any(asked in sql for sql in connection.said)


@pytest.mark.parametrize(
    ("called", "dialect"), [("mariadb", "mariadb"), ("Snowflake", "snowflake")]
)
def test_a_dialect_may_be_called_as_sqlalchemy_calls_it(called: str, dialect: str) -> None:
    assert connect(Recorded(), dialect=called).dialect == dialect


def test_an_unknown_dialect_is_told_the_known_ones() -> None:
    with pytest.raises(kanon.SpecError, match='Did you mean "snowflake"'):
        connect(Unheard(), dialect="snowflak")


def test_nothing_is_imported_to_look_at_a_connection() -> None:
    code = """
import sqlite3, sys
import kanon_sql as kanon
with kanon.connect(sqlite3.connect(":memory:")): pass
optional = ["psycopg", "sqlalchemy", "pyspark", "pyarrow", "clickhouse_connect", "duckdb"]
print([name for name in optional if name in sys.modules])
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert run.stdout == "[]\n"


# --- drivers that no server stands behind here ------------------------------------------------


BY_SCHEME = {server.name: server for server in SERVERS} | {"mariadb": MySQL}
NUMBERS = {
    server.session_number: [["7"]] for server in SERVERS if server.session_number is not None
}
"""What a session is told of its number."""


class Recorded:
    """A stand-in for a driver's connection: it notes what is said, and answers by the first
    pattern that a statement has in it."""

    def __init__(self, answers: dict[str, Sequence[Sequence[Any]]] | None = None) -> None:
        self.said: list[str] = []
        self.answers = {**NUMBERS, **(answers or {})}
        self.wrong: frozenset[str] = frozenset()
        self.closed = False
        self.autocommit = False

    @property
    def asked(self) -> list[str]:
        """What was said beside the canaries."""
        return [sql for sql in self.said if "kanon_texts_differ" not in sql]

    def cursor(self) -> RecordedCursor:
        return RecordedCursor(self)

    def rollback(self) -> None: ...

    def commit(self) -> None: ...

    def close(self) -> None:
        self.closed = True


class RecordedCursor:
    def __init__(self, connection: Recorded) -> None:
        self._connection = connection
        self._rows: list[Sequence[Any]] = []
        self.description: list[tuple[str, None]] | None = None

    def execute(self, sql: str) -> None:
        self._connection.said.append(sql)
        if "kanon_texts_differ" in sql:
            asked = canaries("spark")
            self._rows = [[int(name not in self._connection.wrong) for name in asked]]
            self.description = [(name, None) for name in asked]
            return
        answers = self._connection.answers.items()
        self._rows = list(next((rows for text, rows in answers if text in sql), []))
        width = len(self._rows[0]) if self._rows else 0
        self.description = [(f"kanon_{place}", None) for place in range(width)] or None

    def fetchmany(self, most: int) -> list[Sequence[Any]]:
        return self._rows[:most]

    def close(self) -> None: ...


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Puts a stand-in in the place of a scheme's SQLAlchemy dialect, with the driver's connection;
    what the driver was given is returned."""
    import sqlalchemy
    from sqlalchemy.dialects import registry
    from sqlalchemy.engine.default import DefaultDialect

    def install(scheme: str, *connections: Any) -> dict[str, Any]:
        given: dict[str, Any] = {}
        opened = iter(connections)

        class Dialect(DefaultDialect):
            @classmethod
            def import_dbapi(cls) -> Any:
                return SimpleNamespace(paramstyle="pyformat", Error=sqlalchemy.exc.DBAPIError)

            def connect(self, *arguments: Any, **options: Any) -> Any:
                given.update(options)
                connection = next(opened)
                if isinstance(connection, Exception):
                    raise connection
                return connection

            def initialize(self, connection: Any) -> None: ...

        name = BY_SCHEME[scheme].sqlalchemy_name.replace("+", ".")
        monkeypatch.setitem(registry.impls, name, lambda: Dialect)
        return given

    return install


@pytest.mark.parametrize(
    ("url", "given"),
    [
        (
            f"snowflake://ann:{MARKER}@org-acc/DB/S?warehouse=wh&private_key_file=/k.p8",
            {
                "host": "org-acc",
                "database": "DB/S",
                "username": "ann",
                "password": MARKER,
                "warehouse": "wh",
                "private_key_file": "/k.p8",
                "autocommit": True,
            },
        ),
        (
            f"trino://ann:{MARKER}@host:8443/hive",
            {
                "host": "host",
                "port": 8443,
                "database": "hive",
                "username": "ann",
                "password": MARKER,
                "source": "kanon-sql",
                "timezone": "UTC",
                "http_scheme": "https",
            },
        ),
        (
            "trino://ann@host/hive?source=x",
            {
                "host": "host",
                "database": "hive",
                "username": "ann",
                "source": "kanon-sql",
                "timezone": "UTC",
            },
        ),
        (
            "mysql://ann:p%40%2Bw@host/db?charset=latin1&ssl_ca=/ca.pem",
            {
                "host": "host",
                "database": "db",
                "username": "ann",
                "password": "p@+w",
                "charset": "utf8mb4",
                "ssl_ca": "/ca.pem",
            },
        ),
    ],
)
def test_the_dialect_gets_the_url_and_the_driver_what_we_need(
    stub: Any, url: str, given: dict[str, Any]
) -> None:
    found = stub(url.partition(":")[0], Recorded())

    BY_SCHEME[url.partition(":")[0]].of_url(url).close()

    assert found == given


def test_a_path_that_the_dialect_of_databricks_would_ignore_is_refused() -> None:
    with pytest.raises(kanon.SpecError, match="names catalog and schema as options"):
        connect(f"databricks://token:{MARKER}@host/main/health?http_path=/sql")


URLS = {
    "snowflake": f"snowflake://ann:{MARKER}@acc/DB/S",
    "bigquery": "bigquery://project/dataset",
    "trino": f"trino://ann:{MARKER}@host/hive/default",
    "databricks": f"databricks://token:{MARKER}@host?http_path=/sql&catalog=main",
    "redshift": f"redshift://ann:{MARKER}@host/db",
    "mysql": f"mysql://ann:{MARKER}@host/db",
    "mariadb": f"mariadb://ann:{MARKER}@host/db",
}


@pytest.mark.parametrize("missing", ["sqlalchemy", "dialect", "driver"])
@pytest.mark.parametrize("scheme", URLS)
def test_a_missing_driver_names_the_extra(
    stub: Any, monkeypatch: pytest.MonkeyPatch, scheme: str, missing: str
) -> None:
    from sqlalchemy.dialects import registry

    def absent(*_: Any) -> None:
        raise sqlalchemy_error if missing == "dialect" else ImportError

    sqlalchemy_error = __import__("sqlalchemy").exc.NoSuchModuleError("no such dialect")
    server = BY_SCHEME[scheme]
    if missing == "sqlalchemy":
        # None is what Python takes for a package that can't be imported.
        monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    else:
        monkeypatch.setitem(registry.impls, server.sqlalchemy_name.replace("+", "."), absent)

    said = rf"needs sqlalchemy and {server.driver}\..* pip install 'kanon-sql\[{server.name}\]'"
    with pytest.raises(kanon.MissingDriverError, match=said):
        connect(URLS[scheme])

    project = tomllib.loads((HOUSE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    extra = " ".join(project["project"]["optional-dependencies"][server.name])
    assert "sqlalchemy" in extra
    assert server.driver in extra


@pytest.mark.parametrize("scheme", URLS)
def test_a_session_opened_here_is_told_to_read_only(stub: Any, scheme: str) -> None:
    server, connection = BY_SCHEME[scheme], Recorded()
    stub(scheme, connection)

    with connect(URLS[scheme]) as engine:
        engine.limit(1.5)

    number = [f"select {server.session_number}"] if server.session_number else []
    opened = [*server.session, *number]
    begun = [*server.transaction, "rollback"] if server.transaction else []
    limit = [server.limited_by.format(seconds=2, milliseconds=1500)] if server.limited_by else []
    assert connection.said[: len(opened)] == opened
    assert connection.asked == [*opened, *begun, *limit]
    assert connection.closed


def test_a_users_session_is_told_nothing(stub: Any) -> None:
    connection = Recorded()

    with connect(connection, dialect="snowflake") as engine:
        engine.limit(5)

    assert connection.asked == []
    assert not connection.closed


# --- the catalogue ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "name", "tables", "columns", "sql", "types"),
    [
        (
            "snowflake",
            "people",
            [("DB", "S", "PEOPLE"), ("DB", "OTHER", "PEOPLE")],
            [("ZIP", "TEXT", None, None, None), ("AGE", "NUMBER", 38, 0, None)],
            '"S"."PEOPLE"',
            ["VARCHAR", "DECIMAL(38, 0)"],
        ),
        (
            "redshift",
            "people",
            [("DB", "S", "people"), ("DB", "S", "People")],
            [("zip", "character varying", None, None, None), ("pay", "numeric", 9, 2, None)],
            '"S"."people"',
            ["VARCHAR", "DECIMAL(9, 2)"],
        ),
        (
            "mysql",
            "people",
            [("def", "S", "people")],
            [
                ("zip", "varchar(9)", None, None, "utf8mb4_0900_bin"),
                ("sex", "enum('f','m')", None, None, "binary"),
            ],
            '"S"."people"',
            ["VARCHAR", "ENUM"],
        ),
        (
            "trino",
            "S.people",
            [("DB", "S", "people")],
            [("zip", "varchar(9)", None, None, None), ("pay", "decimal(9,2)", None, None, None)],
            '"S"."people"',
            ["VARCHAR", "DECIMAL(9, 2)"],
        ),
        (
            "databricks",
            "people",
            [("DB", "S", "people")],
            [("zip", "string", None, None, None)],
            '"S"."people"',
            ["VARCHAR"],
        ),
        (
            "bigquery",
            "S.people",
            [("project", "S", "people")],
            [("zip", "STRING(9)", None, None, None), ("pay", "NUMERIC(9, 2)", None, None, None)],
            '"S"."people"',
            ["VARCHAR", "DECIMAL(9, 2)"],
        ),
    ],
)
def test_a_table_is_found_in_the_catalogue_of_the_standard(
    dialect: str, name: str, tables: Any, columns: Any, sql: str, types: list[str]
) -> None:
    place = [("def" if dialect == "mysql" else "DB", "S")]
    connection = Recorded({"TABLE_CATALOG": tables, "COLUMN_NAME": columns, "select ": place})

    found = connect(connection, dialect=dialect).table(name)

    assert found.sql == sql
    assert [(column.name, column.type) for column in found.columns] == [
        (column[0], type) for column, type in zip(columns, types, strict=True)
    ]
    asked = "\n".join(connection.said)
    assert re.search(r"INFORMATION_SCHEMA[`\"\]]\.[`\"\[]TABLES", asked)
    assert ("`S`.`INFORMATION_SCHEMA`" in asked) is (dialect == "bigquery")


@pytest.mark.parametrize(
    ("dialect", "name", "found"),
    [
        ("snowflake", "People", ["PEOPLE"]),
        ("snowflake", "people", ["PEOPLE", "people"]),
        ("snowflake", '"people"', ["people"]),
        ("postgres", "people", ["people"]),
        ("postgres", "People", ["people"]),
        ("postgres", "PEOPLE", ["people", "PEOPLE"]),
        ("mysql", "PEOPLE", ["PEOPLE"]),
        ("mysql", "People", ["people", "PEOPLE"]),
        ("tsql", "people", ["people"]),
        ("tsql", "S.People", ["people", "PEOPLE"]),
    ],
)
def test_a_name_without_quotes_is_spelled_as_the_server_does(
    dialect: str, name: str, found: list[str]
) -> None:
    known = [("DB", "S", "people"), ("DB", "S", "PEOPLE")]
    try:
        seen = [resolved_name(name, known, [("DB", "S")], dialect)[-1]]
    except kanon.InputError as error:
        seen = re.findall(r"DB\.S\.(\w+)", str(error).partition(". Write")[0])

    assert seen == found


def test_the_tables_that_are_listed_are_the_users() -> None:
    known = [("db", "pg_catalog", "pg_type"), ("db", "public", "people")]

    with pytest.raises(kanon.InputError, match=r"Tables and views: people\.$"):
        resolved_name("voters", known, [("db", "public"), ("db", "pg_catalog")], "postgres")
    with pytest.raises(kanon.InputError, match=r"It has no tables\.$"):
        resolved_name("voters", known[:1], [("db", "public"), ("db", "pg_catalog")], "postgres")


@pytest.mark.parametrize(
    ("dialect", "collation"),
    [
        ("snowflake", "en-ci"),
        ("bigquery", "und:ci"),
    ],
)
def test_a_column_whose_collation_merges_texts_is_refused(dialect: str, collation: str) -> None:
    connection = Recorded(
        {
            "TABLE_CATALOG": [("DB", "S", "people")],
            "COLUMN_NAME": [("zip", "varchar(9)", None, None, collation)],
            "select ": [("DB", "S")],
        }
    )
    with pytest.raises(kanon.SpecError, match=f'"zip" of people has the collation {collation}'):
        kanon.audit("people", quasi_identifiers="zip", engine=connect(connection, dialect=dialect))


@pytest.mark.parametrize(
    ("dialect", "collation", "bytewise"),
    [
        ("mysql", "utf8mb4_0900_ai_ci", "utf8mb4_0900_bin"),
        ("mysql", "utf8mb4_bin", "utf8mb4_0900_bin"),
        ("mariadb", "utf8mb4_general_ci", "utf8mb4_nopad_bin"),
    ],
)
def test_a_column_of_mysql_is_read_through_another_collation(
    dialect: str, collation: str, bytewise: str
) -> None:
    connection = Recorded(
        {
            "TABLE_CATALOG": [("def", "S", "people")],
            "COLUMN_NAME": [("zip", "varchar(9)", None, None, collation)],
            "select ": [("def", "S")],
        }
    )
    engine = connect(connection, dialect=dialect)
    table = engine.table("people")

    assert f"cast(`zip` as char character set utf8mb4) collate {bytewise} as `zip`" in " ".join(
        engine.in_dialect(f'select "zip" from {table.sql}').split()
    )
    assert [column.unusable_because for column in table.columns] == [None]


def test_a_collation_that_databricks_writes_behind_the_type_is_refused() -> None:
    connection = Recorded(
        {
            "TABLE_CATALOG": [("DB", "S", "people")],
            "COLUMN_NAME": [("zip", "string collate UTF8_LCASE", None, None, None)],
            "select ": [("DB", "S")],
        }
    )
    [column] = connect(connection, dialect="databricks").table("people").columns

    assert column.type == "VARCHAR"
    assert str(column.unusable_because).startswith("has the collation UTF8_LCASE")


def test_the_names_of_snowflakes_answers_are_those_of_the_question() -> None:
    class Capitals(RecordedCursor):
        def execute(self, sql: str) -> None:
            super().execute(sql)
            self.description = [(name.upper(), None) for name, _ in self.description or ()]

    class Snowflake(Recorded):
        def cursor(self) -> RecordedCursor:
            return Capitals(self)

    engine = connect(Snowflake({"kanon_one": [[1, 2]]}), dialect="snowflake")

    assert engine.query("select 1 as kanon_one")[0] == {"kanon_0": 1, "kanon_1": 2}


def test_no_schema_is_called_none() -> None:
    connection = Recorded(
        {
            "current_schema": [("DB", None)],
            "TABLE_CATALOG": [("DB", "None", "people"), ("DB", "S", "people")],
        }
    )

    with pytest.raises(kanon.InputError, match=r"is ambiguous: DB\.None\.people, DB\.S\.people"):
        connect(connection, dialect="snowflake").table("people")


def test_where_there_is_no_explain_a_question_is_not_looked_at() -> None:
    with pytest.raises(kanon.SpecError, match="no EXPLAIN"):
        connect(Recorded(), dialect="bigquery").check("select 1 as one")


# --- canaries ---------------------------------------------------------------------------------

SENTENCES = {
    "kanon_texts_differ": ("as equal", "classes would look larger", "utf8mb4_0900_bin"),
    "kanon_backslash_is_itself": ("backslash", "not be found", "NO_BACKSLASH_ESCAPES"),
    "kanon_quote_is_itself": ("quote", "not be found", "dialect"),
    "kanon_empty_is_a_value": ("empty text as NULL", "count as one", "audit a copy"),
    "kanon_texts_join": ("does not join", "level says", "PIPES_AS_CONCAT"),
    "kanon_parts_of_text": ("characters of a text from 1", "level says", "dialect"),
    "kanon_nulls_are_a_group": ("group all NULLs", "wrong classes", "standard SQL"),
    "kanon_miss_is_null": ("left join", "count as found", "join_use_nulls=1"),
    "kanon_old_dates": ("1901-01-01", "dates of birth", "Date32"),
    "kanon_quotients": ("quotient", "risks and distances", "double"),
    "kanon_logarithms": ("ln and exp", "entropies", "dialect"),
}


def test_every_canary_has_a_sentence_to_be_tested() -> None:
    assert list(SENTENCES) == list(canaries("mysql"))


@pytest.mark.parametrize("wrong", SENTENCES)
def test_an_engine_that_is_wrong_in_one_thing_is_refused(wrong: str) -> None:
    connection = Recorded()
    connection.wrong = frozenset([wrong])

    with pytest.raises(kanon.InputError) as refused:
        connect(connection, dialect="mysql")

    sentence = str(refused.value)
    assert sentence.startswith("mysql ")
    assert [part for part in SENTENCES[wrong] if part not in sentence] == []
    assert not connection.closed


def test_an_engine_of_ours_that_is_refused_is_closed(stub: Any) -> None:
    connection = Recorded()
    connection.wrong = frozenset(["kanon_texts_differ"])
    stub("mysql", connection)

    with pytest.raises(kanon.InputError, match="as equal"):
        connect(URLS["mysql"])

    assert connection.closed


WRONGS = {
    "kanon_texts_differ": ("'A'", "'a'"),
    "kanon_backslash_is_itself": (r"'a\b'", r"'a\\b'"),
    "kanon_quote_is_itself": ("'it''s'", r"'it\''s'"),
    "kanon_empty_is_a_value": ("'' is null", "nullif('', '') is null"),
    "kanon_texts_join": ("'a' || 'b'", "concat_ws(' ', 'a', 'b')"),
    "kanon_parts_of_text": ("substring('abc', 1, 2)", "substring('abc', 2, 2)"),
    "kanon_miss_is_null": ("right_side.kanon_found as", "coalesce(right_side.kanon_found, 0) as"),
    "kanon_old_dates": ("cast('1901-01-01' as date)", "cast('1970-01-01' as date)"),
    "kanon_quotients": ("cast(7 as double) / 2", "7 // 2"),
    "kanon_logarithms": ("ln(", "log10("),
    "kanon_nulls_are_a_group": ("group by kanon_unknown", "group by kanon_unknown, random()"),
}


@pytest.mark.parametrize("wrong", WRONGS)
def test_a_canary_sings_where_a_database_does_otherwise(wrong: str) -> None:
    """DuckDB stands in for the other database: it is asked what that one would understand."""
    right, otherwise = WRONGS[wrong]

    class Otherwise(DBAPI):
        def in_dialect(self, sql: str) -> str:
            assert right in sql
            return sql.replace(right, otherwise)

    with (
        duckdb.connect() as connection,
        pytest.raises(kanon.InputError, match=re.escape(canaries("duckdb")[wrong].does)),
    ):
        require_trustworthy(Otherwise(connection, dialect="duckdb"))


def test_canaries_are_one_statement_and_asked_once() -> None:
    connection = Recorded()
    with connect(connection, dialect="trino") as engine:
        assert connect(engine) is engine

    assert len([sql for sql in connection.said if "kanon_texts_differ" in sql]) == 1


def test_a_database_that_cannot_answer_the_canaries_is_refused() -> None:
    class Deaf(Recorded):
        def cursor(self) -> RecordedCursor:
            raise RuntimeError("no such function, ann@example.org")

    with pytest.raises(kanon.EngineError, match="can't run the statement that tests") as refused:
        connect(Deaf(), dialect="trino")
    assert "example.org" not in str(refused.value)


# --- stopping ---------------------------------------------------------------------------------


def test_a_query_of_sqlite_is_stopped_by_its_driver() -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(
        "create view people as with recursive n(zip) as "
        "(select 1 union all select zip + 1 from n) select zip from n"
    )
    started = time.monotonic()

    # Its values are looked at when it is opened, to know what the column is.
    with pytest.raises(kanon.EngineError, match="time limit"):
        kanon.audit("people", quasi_identifiers="zip", engine=connection, timeout=1)

    assert time.monotonic() - started < 5
    connection.close()


def test_a_cursor_is_cancelled_where_the_connection_cannot_be() -> None:
    stopped = threading.Event()

    class Stoppable(RecordedCursor):
        def cancel(self) -> None:
            stopped.set()

    class Trino(Recorded):
        def cursor(self) -> RecordedCursor:
            return Stoppable(self)

    engine = connect(Trino(), dialect="trino")
    engine.cancel()

    assert engine.can_cancel
    assert stopped.is_set()


class Session(Recorded):
    """A session that is busy until someone stops it, or Ctrl-C is pressed."""

    def __init__(self) -> None:
        super().__init__({"busy": []})
        self.busy, self.stopped = threading.Event(), threading.Event()
        self.is_interrupted = False

    def cursor(self) -> RecordedCursor:
        return SessionCursor(self)


class SessionCursor(RecordedCursor):
    _connection: Session

    def execute(self, sql: str) -> None:
        super().execute(sql)
        if "busy" not in sql:
            return
        if self._connection.is_interrupted:
            raise KeyboardInterrupt
        self._connection.busy.set()
        assert self._connection.stopped.wait(10)
        raise RuntimeError("the server stopped it")


STOPPED = {
    "mysql": ("kill query 7", "select connection_id()"),
    "redshift": ("select pg_terminate_backend(7)", "select pg_backend_pid()"),
    "snowflake": ("select system$cancel_all_queries(7)", "select current_session()"),
}


def opened_twice(stub: Any, scheme: str) -> tuple[Session, Any]:
    """A busy session, and the one that the next connection of the same URL has."""
    busy, beside = Session(), Session()
    stub(scheme, busy, beside)
    return busy, busy if scheme == "snowflake" else beside


@pytest.mark.parametrize("scheme", STOPPED)
def test_a_query_is_stopped_by_a_word_beside_it(stub: Any, scheme: str) -> None:
    busy, beside = opened_twice(stub, scheme)
    stop, number = STOPPED[scheme]
    engine = connect(URLS[scheme])
    failed: list[BaseException] = []

    def ask() -> None:
        try:
            engine.query("select busy")
        except kanon.KanonError as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert busy.busy.wait(10)
    engine.cancel()
    busy.stopped.set()
    asking.join(10)

    assert engine.can_cancel
    assert number in busy.said
    assert beside.said[-1] == stop
    assert beside.closed is (beside is not busy)
    assert not busy.closed
    assert len(failed) == 1


def test_a_session_that_was_ended_is_followed_by_another(stub: Any) -> None:
    first, beside, second = Session(), Session(), Session()
    stub("redshift", first, beside, second)
    engine = connect(URLS["redshift"])

    engine.cancel()
    engine.renew()
    engine.query("select 1 as one")
    engine.close()

    assert beside.said[-1] == "select pg_terminate_backend(7)"
    assert first.closed
    assert second.said[:3] == [*BY_SCHEME["redshift"].session, "select pg_backend_pid()"]
    assert "begin read only" in second.said
    assert second.closed


def test_no_word_to_stop_comes_after_the_time_limit() -> None:
    class Slow:
        stopping = False

        def limit(self, seconds: float) -> None: ...

        def cancel(self) -> None:
            self.stopping = True
            time.sleep(0.3)
            self.stopping = False

    engine: Any = Slow()
    with (
        pytest.raises(kanon.EngineError, match="time limit"),
        time_limit(engine, 0.05, threading.Event()),
    ):
        time.sleep(0.2)

    assert not engine.stopping


@pytest.mark.parametrize("scheme", STOPPED)
def test_ctrl_c_is_told_to_the_server(stub: Any, scheme: str) -> None:
    busy, beside = opened_twice(stub, scheme)
    busy.is_interrupted = True
    with pytest.raises(KeyboardInterrupt) as interrupted:
        connect(URLS[scheme]).query("select busy")

    assert beside.said[-1] == STOPPED[scheme][0]
    assert not hasattr(interrupted.value, "__notes__")


@pytest.mark.parametrize("scheme", [*STOPPED, "bigquery"])
def test_who_lends_a_connection_that_can_stop_nothing_is_told(scheme: str) -> None:
    connection = Session()
    connection.is_interrupted = True
    engine = connect(connection, dialect=scheme)

    assert not engine.can_cancel
    with pytest.raises(KeyboardInterrupt) as interrupted:
        engine.query("select busy")

    assert interrupted.value.__notes__ == [
        f"The last query may go on in {scheme}, where this connection can't stop one."
    ]
    assert STOPPED.get(scheme, ("",))[0] not in connection.said


def test_a_time_limit_that_no_one_can_keep_is_refused() -> None:
    connection = Recorded(
        {
            "TABLE_CATALOG": [("DB", "S", "people")],
            "COLUMN_NAME": [("zip", "TEXT", None, None, None)],
            "select ": [("DB", "S")],
        }
    )
    with pytest.raises(kanon.SpecError, match="whose driver can't stop a query"):
        kanon.audit(
            "people",
            quasi_identifiers="zip",
            engine=connect(connection, dialect="snowflake"),
            timeout=3,
        )


# --- secrets ----------------------------------------------------------------------------------

SPOILT = [
    f"postgresql://ann:{MARKER}@127.0.0.1:1/db",
    f"postgresql://ann:x@{MARKER}@127.0.0.1:1/db",
    f"postgresql://ann:1/{MARKER}@127.0.0.1:1/db",
    f"postgresql://ann:1?{MARKER}@127.0.0.1:1/db",
    f"postgresql://ann:1#{MARKER}@127.0.0.1:1/db",
    f"postgresql://ann:{MARKER}",
    f"postgresql://ann:{MARKER}@[::1/db",
    f"postgresql://ann:{MARKER}@127.0.0.1:x/db",
    f"postgresql://127.0.0.1:1/db?password={MARKER}",
    f"postgresql://ann:{MARKER}@127.0.0.1:1/db?nonsense=1",
    f"postgresql://ann:{MARKER}@127.0.0.1:1/db?connect_timeout={MARKER}",
    f"snowflake://ann:{MARKER}@acc/db?warehous=1",
    f"snowflake://ann:{MARKER}@acc",
    f"mysql://ann:{MARKER}@host:x/db",
    f"mysql://ann:x@{MARKER}@host/db",
    f"mysql://ann:1?{MARKER}@host/db",
    f"mysql://ann:1#{MARKER}@host/db",
    f"mysql://ann:{MARKER}",
    f"mysql://ann@127.0.0.1:1/db?{MARKER}=1&passwd={MARKER}",
    f"databricks://token:{MARKER}@host/main",
    f"ann:{MARKER}@host/db",
    f"postgres:{MARKER}",
]


def everything_said(error: BaseException) -> str:
    """What a person, a log or a debugger would be shown of an error."""
    return "".join([str(error), repr(error), *traceback.format_exception(error)])


@pytest.mark.parametrize("url", SPOILT)
def test_no_error_repeats_a_password(url: str) -> None:
    with pytest.raises(kanon.KanonError) as failed:
        connect(url)

    assert MARKER not in everything_said(failed.value)


@pytest.mark.parametrize("spelled", [MARKER, "p%40ss%2Fw0rd", "p w"])
@pytest.mark.parametrize("scheme", [scheme for scheme in URLS if scheme != "bigquery"])
def test_a_driver_that_repeats_the_password_is_not_quoted(
    stub: Any, scheme: str, spelled: str
) -> None:
    from urllib.parse import unquote

    url = URLS[scheme].replace(MARKER, spelled)
    error = ValueError(f"can't connect with {unquote(spelled)} as {spelled}")
    stub(scheme, error)

    with pytest.raises(kanon.EngineError, match="repeats a secret and is withheld") as failed:
        connect(url)

    said = everything_said(failed.value)
    assert spelled not in said.replace("repeats", "")
    assert unquote(spelled) not in said


def test_a_driver_that_repeats_no_secret_is_quoted(stub: Any) -> None:
    stub("mysql", OSError("Can't connect to MySQL server on 'host'"))

    with pytest.raises(kanon.EngineError, match="MySQL can't be reached: Can't connect to MySQL"):
        connect(URLS["mysql"])


def test_a_password_may_come_from_the_environment(
    stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", "p/w@1")
    found = stub("mysql", Recorded())

    connect("mysql://ann:env:DB_PASSWORD@host/db")

    assert found["password"] == "p/w@1"
    monkeypatch.delenv("DB_PASSWORD")
    with pytest.raises(kanon.SpecError, match="takes its password from DB_PASSWORD"):
        connect("mysql://ann:env:DB_PASSWORD@host/db")
    with pytest.raises(kanon.SpecError, match="names an environment variable"):
        connect("mysql://ann:env:not-a-name@host/db")


def test_postgres_takes_a_password_from_the_environment_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import psycopg

    given: list[Any] = []

    def refused(url: str, **options: Any) -> None:
        given.append(options)
        raise psycopg.OperationalError(f"no entry for {url} with {options}")

    monkeypatch.setattr(psycopg, "connect", refused)
    monkeypatch.setenv("DB_PASSWORD", MARKER)

    with pytest.raises(kanon.EngineError, match="withheld") as failed:
        connect("postgresql://ann:env:DB_PASSWORD@host/db")

    assert given == [{"password": MARKER}]
    assert MARKER not in everything_said(failed.value)


def test_a_password_in_the_environment_is_not_repeated_either(
    stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB_PASSWORD", MARKER)
    stub("mysql", ValueError(f"denied: {MARKER}"))

    with pytest.raises(kanon.EngineError, match="withheld") as failed:
        connect("mysql://ann:env:DB_PASSWORD@host/db")

    assert MARKER not in everything_said(failed.value)


def test_a_sqlalchemy_engine_that_cannot_connect_keeps_its_password() -> None:
    lender = sqlalchemy_engine(f"postgresql://ann:{MARKER}@127.0.0.1:1/db")

    with pytest.raises(kanon.EngineError, match="can't connect") as failed:
        connect(lender)

    assert MARKER not in everything_said(failed.value)
    lender.dispose()


def test_no_repr_holds_a_password() -> None:
    url = f"postgresql://ann:{MARKER}@host/db?sslpassword={MARKER}"
    spec = kanon.AuditSpec(tables=[{"source": "people", "connect": url}], defaults={"connect": url})

    assert MARKER not in repr(url_of(url))
    assert MARKER not in repr(spec) + str(spec)
    assert url not in list(spec.files())


@pytest.fixture
def password(database: Database) -> Iterator[str]:
    """The URL of a role with a password, which the server asks for."""
    database.run(f"create role marked login password '{MARKER}'")
    database.run("grant select on people to marked")
    yield re.sub(r"//[^/]*/", f"//marked:{MARKER}@/", str(database.url))
    database.run("revoke all on people from marked")
    database.run("drop role marked")


@pytest.mark.slow
def test_no_output_of_the_command_line_holds_a_password(
    database: Database, password: str, tmp_path: Path
) -> None:
    spec = tmp_path / "kanon.yml"
    spec.write_text(
        f"version: 1\ntables:\n  - source: people\n    connect: '{password}'\n"
        "    quasi_identifiers: [zip]\n    checks: [{k_anonymity: {k: 2}}]\n",
        encoding="utf-8",
    )
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(spec.read_text().replace("[zip]", "[zipp]"), encoding="utf-8")
    unreachable = re.sub(r"\?host=.*", "?host=/nowhere", password)
    runs = [
        ["audit", "people", "--qi", "zip", "--connect", password],
        ["audit", "people", "--qi", "zip", "--connect", password, "-vv"],
        ["audit", "people", "--qi", "zip", "--connect", password, "--format", "json"],
        ["audit", "people", "--qi", "zipp", "--connect", password, "-vv"],
        ["audit", "peple", "--qi", "zip", "--connect", password, "-vv"],
        ["audit", "people", "--qi", "zip", "--connect", unreachable, "-vv"],
        ["audit", "people", "--qi", "zip", "--connect", f"postgresql://a:{MARKER}", "-vv"],
        ["audit", "people", "--qi", "zip", "--where", "zip < '1'", "--connect", password, "-vv"],
        ["anonymize", "people", "--qi", "zip", "--k", "2", "--connect", password, "-vv"],
        ["compile", "people", "--qi", "zip", "--connect", password, "-vv"],
        ["validate", "people", "--qi", "zip", "--connect", password, "-vv"],
        ["profile", "people", "--qi", "zip", "--connect", password, "-vv"],
        ["audit", str(spec), "-vv"],
        ["audit", str(wrong), "-vv"],
        ["validate", str(spec), "-vv"],
    ]
    codes = []
    for run in runs:
        found = subprocess.run(
            [sys.executable, "-m", "kanon_sql", *run],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(HOUSE.parent)},
        )
        codes.append(found.returncode)
        assert MARKER not in found.stdout + found.stderr, run

    assert codes == [0, 0, 0, 2, 2, 3, 2, 0, 0, 0, 0, 0, 0, 2, 0]


def test_sql_server_is_refused_and_its_sql_is_offered() -> None:
    class Lent(Recorded):
        __module__ = "mssql_python.connection"

    for target, dialect in (
        ("mssql://ann@host/db", None),
        (Recorded(), "tsql"),
        (Recorded(), "mssql"),
        (Lent(), None),
    ):
        with pytest.raises(kanon.SpecError, match="compile with dialect='tsql'"):
            connect(target, dialect=dialect)
