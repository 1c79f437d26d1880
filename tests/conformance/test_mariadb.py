"""MariaDB as an engine: what its collations and types would get wrong, its door, its brakes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import asking
import oracle_of_events
import pyarrow
import pymysql
import pytest
from generated import Filled
from warehouses import ENGINES, MariaDBServer

import kanon_sql as kanon
from kanon_sql.engines import connect
from kanon_sql.engines.failures import translated_error
from kanon_sql.errors import EngineError, InputError

SLOW = "select count(*) as kanon_n from seconds as a, seconds as b, seconds as c, seconds as d"


@pytest.fixture(scope="module")
def mariadb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariaDBServer]:
    with ENGINES["mariadb"].started(tmp_path_factory.mktemp("mariadb")) as running:
        assert isinstance(running, MariaDBServer)
        yield running


def classes(mariadb: MariaDBServer, name: str, *columns: str, **asked: Any) -> int:
    [table] = kanon.audit(name, quasi_identifiers=columns, engine=mariadb.url, **asked).tables
    assert table.summary is not None
    return table.summary.classes


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (3, "Error writing file '/tmp/#sql-1a' (Errcode: 28 \"No space left on device\")"),
        (5, "Out of memory (Needed 65536 bytes)"),
        (23, "Out of resources when opening file '/tmp/#sql-1a.MAD' (Errcode: 24)"),
        (1114, "The table '/tmp/#sql-1a' is full"),
    ],
)
def test_a_server_without_room_for_what_a_question_sets_aside_says_so(
    number: int, said: str
) -> None:
    error = translated_error(pymysql.err.InternalError(number, said), "MariaDB")

    assert isinstance(error, EngineError)
    assert "ran out of resources: disk space" in str(error)
    assert "#sql" not in str(error)


# --- searches -------------------------------------------------------------------------------


@pytest.mark.parametrize("pulled", [False, True], ids=["by queries", "pulled"])
def test_levels_are_chosen_as_the_embedded_engine_chooses_them(
    mariadb: MariaDBServer, pulled: bool, tmp_path: Path
) -> None:
    """By a hierarchy of many rows and a check of what is sensitive, whose sets name others."""
    wards = tmp_path / "wards.csv"
    wards.write_text("".join(f"{ward:03},{ward // 50},*\n" for ward in range(250)))
    text, whole, moment = pyarrow.string(), pyarrow.int64(), pyarrow.timestamp("us")
    people = Filled(
        ("ward", "age", "seen", "diagnosis"),
        (text, whole, moment, text),
        tuple(
            (
                f"{n * 7 % 250:03}",
                20 + n % 17,
                datetime(2025, 1 + n % 3, 2, 3, 4, 5, n),
                "abc"[n % 3],
            )
            for n in range(90)
        ),
    )
    asked = {
        "quasi_identifiers": {
            "ward": {"hierarchy": str(wards)},
            "age": {"levels": [{"width": 10}, "suppress"]},
            "seen": {"levels": ["month", "suppress"]},
        },
        "checks": [kanon.KAnonymity(k=3), kanon.LDiversity(l=2, sensitive="diagnosis")],
        "max_suppressed": 9,
    }
    mariadb.load("people", people)
    table = asking.table(people.names, people.rows, people.types)

    there = kanon.anonymize("people", engine=mariadb.url, pull_frequencies=pulled, **asked)
    here = kanon.anonymize(table, **asked)

    assert there.anonymization.levels == here.anonymization.levels
    assert there.anonymization.steps == here.anonymization.steps
    assert [each.achieved for each in there.tables[0].checks] == [
        each.achieved for each in here.tables[0].checks
    ]


# --- events ---------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [False, True], ids=["a set", "as often"])
@pytest.mark.parametrize("m", [2, 5, 20])
def test_events_are_drawn_in_seconds(mariadb: MariaDBServer, m: int, times: bool) -> None:
    """Each step of a chain doubles what the server reads, or the memory of its plan."""
    rows = tuple(
        (n * n % 13, f"w{n * 5 % 7 // 2}", None if n % 11 == 0 else f"m{n % 3}") for n in range(120)
    )
    names, types = ("person", "ward", "month"), (pyarrow.int64(), *[pyarrow.string()] * 2)
    mariadb.load("visits", Filled(names, types, rows))
    known = kanon.KnownEvents(m=m, k=3, times=times, max_combinations=0)
    people = oracle_of_events.People(asking.records(names, rows), names[0], names[1:], [])

    [found] = kanon.audit(
        "visits",
        entity="person",
        events=names[1:],
        checks=[known],
        engine=mariadb.url,
        timeout=60,
    ).checks

    expected = oracle_of_events.known_events(people, known.parameters)
    figures = ("drawn", "attacked", "fewer", "random")
    assert {name: found.details[name] for name in figures} == asking.near(
        {name: expected[name] for name in figures}
    )


# --- values ---------------------------------------------------------------------------------


TEXTS = ("a", "A", "a ", "á", "", None)
LETTERS = ("a", "A", "á", "", None)


@pytest.mark.parametrize(
    ("type", "texts"),
    [
        ("varchar(9) character set utf8mb4 collate utf8mb4_general_ci", TEXTS),
        ("text character set utf8mb4 collate utf8mb4_unicode_ci", TEXTS),
        ("varchar(9) character set utf8mb4 collate utf8mb4_bin", TEXTS),
        ("varchar(9) character set utf8mb4 collate utf8mb4_nopad_bin", TEXTS),
        ("varchar(9) character set latin1 collate latin1_swedish_ci", TEXTS),
        ("varchar(9) character set ucs2 collate ucs2_bin", TEXTS),
        # It keeps no blank at the end.
        ("char(9) character set utf8mb4 collate utf8mb4_general_ci", LETTERS),
        ("enum('a', 'A', 'á', '') character set utf8mb4 collate utf8mb4_bin", LETTERS),
    ],
)
def test_no_two_texts_are_one(
    mariadb: MariaDBServer, type: str, texts: tuple[str | None, ...]
) -> None:
    mariadb.run("drop table if exists texts")
    mariadb.run(f"create table texts (x {type})")
    for text in texts:
        mariadb.run(f"insert into texts values ({'null' if text is None else repr(text)})")

    assert classes(mariadb, "texts", "x") == len(texts)
    assert classes(mariadb, "texts", "x", where="x = 'a'") == 1
    assert classes(mariadb, "texts", "x", where="x like 'A'") == 1


def test_short_floats_keep_their_digits(mariadb: MariaDBServer) -> None:
    floats = Filled(("f",), (pyarrow.float32(),), ((16777215.0,), (16777216.0,), (0.1,)))
    mariadb.load("floats", floats)
    mariadb.load("known", floats)

    [table] = kanon.audit(
        "floats",
        quasi_identifiers="f",
        references={"known": "known"},
        checks=[kanon.KMap(k=1)],
        engine=mariadb.url,
    ).to_dict()["tables"]

    assert table["summary"]["classes"] == 3
    assert table["checks"][0]["unmatched_classes"] == 0


def test_types_are_those_of_the_values(mariadb: MariaDBServer) -> None:
    mariadb.run("drop table if exists typed")
    mariadb.run(
        "create table typed (a int(11), b bigint(20) unsigned, c tinyint(1), d tinyint(1), "
        "e decimal(10, 2), f float(7, 2), g char(3), h datetime(6), i enum('x', 'y'), j smallint)"
    )
    mariadb.run("insert into typed (a, c, d) values (1, 0, 7), (2, 1, null)")

    with connect(mariadb.url) as engine:
        types = {column.name: column.type for column in engine.table("typed").columns}

    assert (engine.name, engine.dialect) == ("mariadb", "mariadb")
    assert types == {
        "a": "INTEGER",
        "b": "UBIGINT",
        "c": "BOOLEAN",
        "d": "TINYINT",
        "e": "DECIMAL(10, 2)",
        "f": "DOUBLE",
        "g": "VARCHAR",
        "h": "TIMESTAMP(6)",
        "i": "ENUM",
        "j": "SMALLINT",
    }


def test_a_blank_before_a_name_is_kept(mariadb: MariaDBServer) -> None:
    rows = (("x", "u"), ("X", "u"), ("x", "v"), ("x ", "v"))
    mariadb.load("blanks", Filled((" a", "a"), (pyarrow.string(),) * 2, rows))

    assert classes(mariadb, "blanks", " a") == 3
    assert classes(mariadb, "blanks", "a") == 2
    assert classes(mariadb, "blanks", "a", " a") == 4
    with pytest.raises(kanon.SpecError, match='column " a" of blanks: views of mariadb lose that'):
        kanon.anonymize("blanks", {"a": {"levels": ["suppress"]}}, k=2, engine=mariadb.url)


# --- the session ----------------------------------------------------------------------------


def test_a_session_of_someone_else_is_asked_before_it_is_trusted(mariadb: MariaDBServer) -> None:
    import pymysql

    socket = mariadb.url.partition("unix_socket=")[2]
    theirs = pymysql.connect(unix_socket=socket, user="root", database="people", charset="utf8mb4")
    try:
        with pytest.raises(InputError, match="treats some of 'a', 'A' and 'a ' as equal"):
            connect(theirs)
        with theirs.cursor() as cursor:
            cursor.execute("set names utf8mb4 collate utf8mb4_nopad_bin")
        assert connect(theirs).dialect == "mariadb"
        with theirs.cursor() as cursor:
            cursor.execute("set sql_mode = 'no_backslash_escapes'")
        with pytest.raises(InputError, match="reads a backslash"):
            connect(theirs)
    finally:
        theirs.close()


def test_nothing_is_written(mariadb: MariaDBServer) -> None:
    mariadb.load("kept", Filled(("x",), (pyarrow.int64(),), ((1,),)))

    with connect(mariadb.url) as engine:
        engine.query("select 1 as kanon_one")
        with pytest.raises(EngineError, match="refused to write"):
            engine._fetch("insert into kept values (2)")  # type: ignore[attr-defined]

    assert mariadb.run("select * from kept") == ((1,),)


@pytest.fixture
def seconds(mariadb: MariaDBServer) -> None:
    rows = tuple((n,) for n in range(1000))
    mariadb.load("seconds", Filled(("n",), (pyarrow.int64(),), rows))
    mariadb.run("drop view if exists slow")
    mariadb.run(
        "create view slow as select a.n from seconds as a, seconds as b, seconds as c, seconds as d"
    )


@pytest.mark.usefixtures("seconds")
def test_a_query_that_takes_too_long_is_stopped(mariadb: MariaDBServer) -> None:
    started = time.monotonic()

    [table] = kanon.audit("slow", quasi_identifiers="n", engine=mariadb.url, timeout=1).tables

    assert table.status == "error"
    assert "time limit" in str(table.error)
    assert time.monotonic() - started < 20
    assert not running(mariadb)


def test_a_stricter_limit_of_the_users_own_stays(mariadb: MariaDBServer) -> None:
    before = mariadb.run("select @@global.max_statement_time")[0][0]
    mariadb.run("set global max_statement_time = 2")
    try:
        with connect(mariadb.url) as engine:
            limits = []
            for seconds in (30, 1.5, 30):
                engine.limit(seconds)
                limits.append(float(engine._fetch("select @@max_statement_time")[1][0][0]))
    finally:
        mariadb.run(f"set global max_statement_time = {before}")

    assert limits == [2, 1.5, 2]


@pytest.mark.usefixtures("seconds")
def test_the_server_stops_a_query_itself(mariadb: MariaDBServer) -> None:
    with connect(mariadb.url) as engine:
        engine.limit(0.5)
        with pytest.raises(EngineError, match="MariaDB stopped the query before its end"):
            engine.query(SLOW)


@pytest.mark.usefixtures("seconds")
def test_a_query_is_cancelled_beside_it(mariadb: MariaDBServer) -> None:
    with connect(mariadb.url) as engine:
        threading.Timer(1, engine.cancel).start()
        with pytest.raises(EngineError, match="stopped before its end"):
            engine.query(SLOW)

    assert not running(mariadb)


def running(mariadb: MariaDBServer) -> list[Any]:
    """What the server still does for us."""
    for _ in range(50):
        found = [row for row in mariadb.run("show full processlist") if "seconds" in str(row[7])]
        if not found:
            return []
        time.sleep(0.1)
    return found
