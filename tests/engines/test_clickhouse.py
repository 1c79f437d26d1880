"""ClickHouse as an engine: what its defaults would get wrong, its types, its door, its brakes."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import asking
import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES, ChDB

import kanon_sql as kanon
from kanon_sql.auditing.auditor import dry_run, validate
from kanon_sql.engines import connect
from kanon_sql.engines.clickhouse import SETTINGS, ClickHouse
from kanon_sql.errors import EngineError, InputError, MissingDriverError, SpecError
from kanon_sql.sql.gate import require_select

SLOW = "select count(*) from numbers(1000000000000) where cityHash64(number) % 7 = 9"


@pytest.fixture(scope="module")
def chdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChDB]:
    with ENGINES["clickhouse"].started(tmp_path_factory.mktemp("chdb")) as running:
        assert isinstance(running, ChDB)
        yield running


def opened(url: str) -> ClickHouse:
    engine = connect(url)
    assert isinstance(engine, ClickHouse)
    return engine


# --- levels ---------------------------------------------------------------------------------

PEOPLE = Filled(
    ("age", "weight", "price", "code", "born", "seen", "told", "big"),
    (
        pyarrow.int32(),
        pyarrow.float64(),
        pyarrow.decimal128(20, 2),
        pyarrow.string(),
        pyarrow.date32(),
        pyarrow.timestamp("us"),
        pyarrow.string(),
        pyarrow.int64(),
    ),
    tuple(
        (
            None if n % 13 == 0 else n * 7 - 40,
            None if n % 11 == 0 else (n * 0.1 - 2),
            None if n % 9 == 0 else Decimal(n * 35 - 300) / 100,
            None if n % 12 == 0 else ("é" * (n % 4)) + str(n * 37),
            date(1 + n * 300, 1 + n % 12, 1 + n % 28),
            datetime(1955 + n, 1 + n % 12, 1 + n % 28, n % 24),
            None if n % 8 == 0 else f"{n * 1.5}",
            2**62 + n * 10**15,
        )
        for n in range(32)
    ),
)
LISTED = {str(row[3]): [f"{row[3][:2]}…", "all"] for row in PEOPLE.rows if row[3] is not None}
LEVELS: list[tuple[str, dict[str, Any]]] = [
    *[("age", {"levels": [{"width": w, "origin": o}]}) for w, o in ((5, 0), (10, 3), (7, -2))],
    *[("weight", {"levels": [{"width": w}]}) for w in (0.3, 0.5, 2)],
    *[("price", {"levels": [{"width": w}]}) for w in (0.25, 0.5, 3)],
    *[("told", {"levels": [{"width": w}]}) for w in (0.3, 5)],
    ("big", {"levels": [{"width": 10**16}]}),
    *[(column, {"levels": [{"round": 10}]}) for column in ("age", "weight", "price", "told")],
    ("age", {"levels": [{"depths": [1]}]}),
    *[(c, {"levels": [{"cuts": [-10, 0.5, 40]}]}) for c in ("age", "weight", "price", "told")],
    *[(c, {"levels": [{"top": 1}]}) for c in ("age", "weight", "price", "told")],
    *[(c, {"levels": [{"bottom": 1}]}) for c in ("age", "weight", "price", "told")],
    *[(c, {"levels": [{"width": 4}], "clip": [-5, 20]}) for c in ("age", "weight", "price")],
    *[(c, {"levels": [{"prefix": 2}]}) for c in ("code", "age", "born")],
    *[(c, {"levels": [{"mask": side}]}) for c in ("code", "age") for side in ("left", "right")],
    *[(c, {"levels": [part]}) for c in ("born", "seen") for part in ("day", "month", "quarter")],
    *[(c, {"levels": ["year"]}) for c in ("born", "seen")],
    *[(c, {"levels": [{"years": 5}]}) for c in ("born", "seen")],
    ("code", {"hierarchy": LISTED}),
    ("code", {"levels": ["suppress"]}),
]


@pytest.mark.parametrize(("column", "hierarchy"), LEVELS, ids=[f"{c} {h}" for c, h in LEVELS])
def test_a_level_has_the_labels_that_duckdb_gives(
    chdb: ChDB, column: str, hierarchy: dict[str, Any]
) -> None:
    chdb.load("people", PEOPLE)

    assert labels("people", column, hierarchy, engine=chdb.url) == labels(
        PEOPLE.arrow, column, hierarchy
    )


def test_a_long_hierarchy_is_joined(chdb: ChDB, tmp_path: Path) -> None:
    chdb.load("people", PEOPLE)
    others = {f"nobody's {n}": ["…", "all"] for n in range(300)}
    lines = [",".join([raw, *above]) for raw, above in (LISTED | others).items()]
    file = tmp_path / "codes.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    hierarchy = {"hierarchy": str(file)}
    known = "code is not null"

    found = labels("people", "code", hierarchy, engine=chdb.url, where=known)

    assert found == labels(PEOPLE.arrow, "code", hierarchy, where=known)


def labels(data: Any, column: str, hierarchy: dict[str, Any], **options: Any) -> list[Any]:
    """The classes by their labels, each with its size."""
    result = kanon.audit(
        data,
        quasi_identifiers={column: hierarchy},
        levels={column: 1},
        checks=[kanon.KAnonymity(k=1000)],
        show_values=True,
        **options,
    )
    [table] = result.tables
    assert table.error is None
    assert table.shown is not None
    return sorted(map(str, table.shown["small_classes"]))


# --- what ClickHouse would say otherwise ----------------------------------------------------


def summary(target: str, engine: Any, *columns: str, **options: Any) -> dict[str, Any]:
    found = kanon.audit(target, quasi_identifiers=list(columns), engine=engine, **options)
    return asking.figures(found)["summary"]


def test_floats_that_are_equal_are_one_class(chdb: ChDB) -> None:
    chdb.run("create or replace table t (f Float64, g Nullable(Float32)) engine = Memory")
    chdb.run("insert into t values (0., -0.), (-0., 0.), (nan, nan), (0 / 0, 0 / 0)")

    for columns in (["f"], ["g"], ["f", "g"]):
        found = summary("t", chdb.url, *columns)
        assert (found["classes"], found["k"]) == (2, 2)


def test_a_row_that_is_replaced_counts_once(chdb: ChDB) -> None:
    chdb.run(
        "create or replace table r (id Int64, z String) engine = ReplacingMergeTree order by id"
    )
    chdb.run("insert into r values (1, 'a')")
    chdb.run("insert into r values (1, 'a')")

    assert summary("r", chdb.url, "z")["k"] == 1


def test_a_temporary_table_is_not_taken_for_the_one_behind_it(chdb: ChDB) -> None:
    chdb.run("create or replace table shadowed (zip String) engine = Memory")
    chdb.run("create temporary table shadowed as select '1' as zip")

    with pytest.raises(InputError, match="shadowed is temporary, and hides any other"):
        kanon.audit("shadowed", engine=chdb.client, quasi_identifiers="zip")

    result = kanon.audit("default.shadowed", engine=chdb.client, quasi_identifiers="zip")
    chdb.run("drop temporary table shadowed")
    assert result.status == "no_data"


def test_the_profile_of_the_user_changes_nothing(chdb: ChDB) -> None:
    """And is as it was afterwards."""
    chdb.load("people", PEOPLE)
    options: dict[str, Any] = {"sensitive": ["code"], "checks": [kanon.TCloseness(t=0.1)]}
    hostile = {
        "limit": 2,
        "extremes": 1,
        "join_use_nulls": 0,
        "transform_null_in": 1,
        "count_distinct_implementation": "uniq",
        "result_overflow_mode": "throw",
        "session_timezone": "Asia/Tokyo",
        "use_variant_as_common_type": 1,
    }
    client = import_module("clickhouse_connect").get_client(
        interface="chdb", path=str(chdb.client.path), settings=hostile
    )

    found = kanon.audit("people", quasi_identifiers=["age"], engine=client, **options)

    expected = kanon.audit("people", quasi_identifiers=["age"], engine=chdb.url, **options)
    assert asking.figures(found) == asking.figures(expected)
    assert client.query("select number from numbers(9)").row_count == 2
    assert client.query("select getSetting('readonly')").result_rows == [(0,)]
    client.close()


def test_every_setting_is_one_that_the_server_knows(chdb: ChDB) -> None:
    assert [name for name in SETTINGS if name not in chdb.client.server_settings] == []


def test_what_is_read_twice_is_kept_once_where_the_user_has_that(chdb: ChDB) -> None:
    chdb.load("people", PEOPLE)
    client = import_module("clickhouse_connect").get_client(
        interface="chdb",
        path=str(chdb.client.path),
        settings={"enable_materialized_cte": 1},
    )
    options: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": ["code"]}

    found = kanon.audit("people", engine=client, **options)

    assert asking.figures(found) == asking.figures(kanon.audit(PEOPLE.arrow, **options))
    assert "as materialized" in found.tables[0].sql["classes"].lower()
    client.close()


DATES = (
    *("2025-01-31", "0999-12-31", "2024-02-29", "2025-1-5", "2025-01-31 10:00:00"),
    *("2025-02-30", "2023-02-29", "2025-13-01", "2025-01-31 25:00:00", "20250131", "soon", ""),
)


def test_a_long_question_is_read(chdb: ChDB) -> None:
    chdb.load("people", PEOPLE)
    named = ", ".join(map(str, range(50_001)))

    [table] = kanon.audit(
        "people", engine=chdb.url, quasi_identifiers="age", where=f"age in ({named})"
    ).tables

    assert table.summary.records == sum(row[0] is not None and row[0] >= 0 for row in PEOPLE.rows)


def test_a_text_that_is_no_date_is_none(chdb: ChDB) -> None:
    """ClickHouse would take 30 February for 2 March."""
    texts = ", ".join(f"('{text}')" for text in DATES)
    chdb.run("create or replace table t (d String) engine = Memory")
    chdb.run(f"insert into t values {texts}")

    with pytest.raises(InputError, match='7 values of "d", held by 7 records, are not dates'):
        kanon.audit(
            "t", quasi_identifiers={"d": {"levels": ["year"]}}, levels={"d": 1}, engine=chdb.url
        )


def test_every_type_is_read(chdb: ChDB) -> None:
    types = {
        "LowCardinality(Nullable(String))": ("VARCHAR", "'a'"),
        "LowCardinality(String)": ("VARCHAR", "'a'"),
        "FixedString(4)": ("VARCHAR", "'ab'"),
        "Enum8('a' = 1, 'b' = 2)": ("VARCHAR", "'a'"),
        "UUID": ("UUID", "'550e8400-e29b-41d4-a716-446655440000'"),
        "IPv4": ("VARCHAR", "'127.0.0.1'"),
        "Bool": ("BOOLEAN", "true"),
        "Date": ("DATE", "'2025-01-31'"),
        "DateTime('Asia/Tokyo')": ("TIMESTAMP", "'2025-01-31 10:00:00'"),
        "DateTime64(3)": ("TIMESTAMP", "'2025-01-31 10:00:00.5'"),
        "Decimal(9, 2)": ("DECIMAL(9, 2)", "1.5"),
        "UInt64": ("UBIGINT", "18446744073709551615"),
        "Int128": ("HUGEINT", "-170141183460469231731687303715884105728"),
        "Float32": ("FLOAT", "0.1"),
        "SimpleAggregateFunction(max, Int64)": ("BIGINT", "1"),
    }
    columns = ", ".join(f'"{place}" {type}' for place, type in enumerate(types))
    values = ", ".join(value for _, value in types.values())
    chdb.run(f"create or replace table t ({columns}) engine = Memory")
    chdb.run(f"insert into t values ({values})")
    chdb.run(f"insert into t values ({values})")

    with opened(chdb.url) as engine:
        assert [column.type for column in engine.table("t").columns] == [
            type for type, _ in types.values()
        ]
    names = [str(place) for place in range(len(types))]
    for name in names:
        others = [other for other in names if other != name]
        found = kanon.audit(
            "t", quasi_identifiers=others[:3], sensitive=[name], engine=chdb.url
        ).tables[0]
        assert (found.error, found.summary.k, found.summary.classes) == (None, 2, 1), name
        assert summary("t", chdb.url, name)["k"] == 2


def test_a_reference_of_other_types_is_matched(chdb: ChDB) -> None:
    chdb.run(
        "create or replace table a (z LowCardinality(String), d Date, n Int32) engine = Memory"
    )
    chdb.run("insert into a values ('0213*', '2025-01-31', 1), ('x', '2025-01-31', 1)")
    chdb.run("create or replace table b (z FixedString(5), d Date32, n UInt64) engine = Memory")
    chdb.run("insert into b values ('02138', '2025-01-31', 1), ('02139', '2025-01-31', 1)")

    found = kanon.audit(
        "a",
        quasi_identifiers=["z", "d", "n"],
        references={"r": kanon.ReferenceSpec(source="b")},
        checks=[kanon.KMap(k=2)],
        engine=chdb.url,
    )

    check = asking.figures(found)["checks"][0]
    assert (check["achieved"], check["unmatched_classes"]) == (0, 1)


def test_weights_are_added_up_without_overflow(chdb: ChDB) -> None:
    """A sum of 64 bits would be negative."""
    chdb.run("create or replace table a (z String) engine = Memory")
    chdb.run("insert into a values ('x')")
    chdb.run("create or replace table b (z String, w Int64) engine = Memory")
    chdb.run("insert into b select 'x', 999999999999999 from numbers(10000)")

    found = kanon.audit(
        "a",
        quasi_identifiers=["z"],
        references={"r": kanon.ReferenceSpec(source="b", weight="w")},
        checks=[kanon.KMap(k=2)],
        engine=chdb.url,
    )

    assert asking.figures(found)["checks"][0]["achieved"] == 9999999999999990000


def ends(chdb: ChDB) -> bool:
    """Whether what was stopped is gone from the server, which takes a moment."""
    asked = (
        "select count(*) from system.processes where startsWith(query, 'select count(*) from n')"
    )
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if chdb.run(asked) == [(0,)]:
            return True
        time.sleep(0.05)
    return False


# --- it sees every row ----------------------------------------------------------------------

USERS = """
<clickhouse>
    <profiles><default/></profiles>
    <quotas><default/></quotas>
    <users><default>
        <password/>
        <networks><ip>::/0</ip></networks>
        <databases><default>
            <tree><filter>a &lt; 5</filter></tree>
            <memory><filter>a &lt; 5</filter></memory>
            <narrow><filter>a &lt; 5</filter></narrow>
        </default></databases>
    </default></users>
</clickhouse>
"""
UNDER_POLICIES = """
import sys
import clickhouse_connect
import kanon_sql as kanon

client = clickhouse_connect.get_client(
    interface="chdb", path=":memory:?config-file=" + sys.argv[1]
)
for name, stored in (
    ("tree", "MergeTree order by a"),
    ("memory", "Memory"),
    ("free", "MergeTree order by a"),
    ("merged", "Merge('default', '^tree$')"),
):
    client.command(f"create table {name} (a Int64) engine = {stored}")
    if name != "merged":
        client.command(f"insert into {name} select number from numbers(10)")
client.command("create view of_tree as select a from tree")
client.command("create view narrow as select a from free")
client.command("create view chosen as select a from free where a < 7")
for name in ("tree", "memory", "merged", "of_tree", "narrow", "free", "chosen"):
    try:
        [table] = kanon.audit(name, engine=client, quasi_identifiers=["a"]).tables
        print(name, table.summary.records)
    except kanon.InputError as error:
        print(name, error)
with kanon.connect(client) as engine:
    table = engine.table("memory")
    try:
        print("fetched", list(engine.batches("select a from " + table.sql, 10)))
    except kanon.InputError as error:
        print("fetched", error)
"""


def test_rows_that_a_policy_hides_are_not_left_out(tmp_path: Path) -> None:
    """A process has one chDB, whose users are settled when it starts."""
    pytest.importorskip("chdb", reason="there is no ClickHouse to run")
    users = tmp_path / "users.xml"
    users.write_text(USERS, encoding="utf-8")
    config = tmp_path / "config.xml"
    config.write_text(
        f"<clickhouse><users_config>{users}</users_config><user_directories><users_xml>"
        f"<path>{users}</path></users_xml></user_directories></clickhouse>",
        encoding="utf-8",
    )

    ran = subprocess.run(
        [sys.executable, "-c", UNDER_POLICIES, str(config)],
        capture_output=True,
        text=True,
        timeout=120,
    )

    refused = 'a row policy hides records of "default"."{0}" from this ClickHouse user'
    said = dict(line.split(" ", 1) for line in ran.stdout.splitlines())
    for name in ("tree", "memory", "merged", "of_tree", "narrow"):
        assert said.pop(name, ran.stderr).startswith(refused.format(name))
    assert said.pop("fetched").startswith(refused.format("memory"))
    assert said == {"free": "10", "chosen": "7"}


# --- it only reads, and can be stopped ------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "insert into people (age) values (1)",
        "create table written (a Int8) engine = Memory",
        "drop table people",
        "alter table people delete where 1",
        "insert into function file('written.csv') select 1",
    ],
)
def test_nothing_can_be_written(chdb: ChDB, statement: str) -> None:
    chdb.load("people", PEOPLE)

    with opened(chdb.url) as engine, pytest.raises(EngineError, match="refused to write"):
        engine._fetch(statement)

    assert chdb.run("select count(*) from people") == [(len(PEOPLE.rows),)]


def test_an_outfile_is_refused_before_it_is_sent() -> None:
    """chDB would write it in spite of readonly."""
    with pytest.raises(EngineError, match=r"refused a statement that can.t be parsed"):
        require_select("select 1 into outfile 'written.csv'", frozenset())


@contextmanager
def stopping(engine: ClickHouse) -> Iterator[None]:
    """Cancel again and again, as a query that has not begun can't be stopped."""
    done = threading.Event()

    def cancel() -> None:
        while not done.wait(0.5):
            engine.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        yield
    finally:
        done.set()
        canceller.join()


def test_what_runs_can_be_stopped(chdb: ChDB) -> None:
    with opened(chdb.url) as engine:
        assert engine.can_cancel
        started = time.monotonic()
        with stopping(engine), pytest.raises(EngineError, match="stopped before its end"):
            engine._fetch(SLOW)
        assert time.monotonic() - started < 30
        assert ends(chdb)


def test_an_interrupt_stops_it_too(chdb: ChDB) -> None:
    with opened(chdb.url) as engine:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            engine._fetch(SLOW)
        assert ends(chdb)


def test_a_limit_is_kept_by_the_server(chdb: ChDB) -> None:
    with opened(chdb.url) as engine:
        engine.limit(0.5)
        with pytest.raises(EngineError, match="stopped before its end"):
            engine._fetch(SLOW)


def test_a_stricter_limit_of_the_users_own_stays(chdb: ChDB) -> None:
    with opened(chdb.url) as engine:
        own = {"max_execution_time": 1}
        run = engine._run
        engine._run = lambda sql, settings: run(sql, own | settings)  # type: ignore[method-assign]
        limits = []
        for seconds in (30, 0.5, 30):
            engine.limit(seconds)
            limits.append(engine._seconds)

    assert limits == [1, 0.5, 1]


def test_a_statement_is_checked_without_running(chdb: ChDB) -> None:
    chdb.load("people", PEOPLE)
    with opened(chdb.url) as engine:
        engine.check('select "age" from "default"."people"')
        with pytest.raises(SpecError, match="UNKNOWN_IDENTIFIER"):
            engine.check('select "nobody" from "default"."people"')


THROWS = "throwIf(n >= 0, 'it ran')"


@pytest.mark.parametrize(
    "view",
    [
        f"select n, z from counted where {THROWS} = 0",
        f"select n, (select any({THROWS}) from counted) as z from counted",
        f"select n, z from counted where n in (select {THROWS} from counted)",
    ],
)
def test_nothing_of_a_view_runs_before_the_audit(chdb: ChDB, view: str) -> None:
    """ClickHouse' EXPLAIN would run subqueries."""
    chdb.run("create or replace table counted (n Int64, z String) engine = MergeTree order by n")
    chdb.run("insert into counted select number, '0213*' from numbers(10)")
    chdb.run(f"create or replace view throwing as {view}")
    people = {
        "quasi_identifiers": ["n", "z"],
        "references": {"r": kanon.ReferenceSpec(source="throwing")},
        "checks": [kanon.KMap(k=2)],
    }

    for name in ("throwing", "counted"):
        spec = kanon.AuditSpec(tables=[kanon.TableSpec(source=name, **people)])
        [planned] = dry_run(spec, engine=chdb.url)

        assert len(planned.steps) > 1
        assert len(validate(spec, engine=chdb.url)) == 1
    assert "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO" in str(
        kanon.audit("throwing", engine=chdb.url, **people).tables[0].error
    )


def test_an_error_holds_no_value(chdb: ChDB) -> None:
    chdb.run("create or replace table t (secret String) engine = Memory")
    chdb.run("insert into t values ('Ann Smith')")
    chdb.run("create or replace view parsed as select toFloat64(secret) as age from t")
    with opened(chdb.url) as engine:
        with pytest.raises(InputError) as raised:
            engine.query('select max("age") as kanon_x from "default"."parsed"')
        assert "Ann" not in str(raised.value)


# --- the door -------------------------------------------------------------------------------


def test_a_chdb_session_is_asked(chdb: ChDB) -> None:
    chdb.load("people", PEOPLE)
    session = import_module("chdb.session").Session(str(chdb.client.path))

    assert summary("people", session, "age")["records"] == len(PEOPLE.rows)
    session.close()


def test_another_folder_is_refused_while_one_is_open(chdb: ChDB, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="a process has one chDB folder at a time"):
        connect(f"chdb:{tmp_path}")
    with pytest.raises(InputError, match="there is no chDB folder"):
        connect(f"chdb:{tmp_path / 'none'}")


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch, chdb: ChDB) -> None:
    def lacking(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("kanon_sql.engines.failures.import_module", lacking)
    with pytest.raises(MissingDriverError, match=r"pip install 'kanon-sql\[clickhouse\]'"):
        connect("clickhouse://localhost/db")
    with pytest.raises(MissingDriverError, match=r"pip install 'kanon-sql\[chdb\]'"):
        connect("chdb:")


@pytest.mark.parametrize("options", ["", "?secure=true", "?nobody=1", "?port=x"])
def test_a_password_is_in_no_error(options: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(EngineError) as raised:
        connect(f"clickhouse://ann:s3cret@127.0.0.1:1/db{options}")

    assert [each for each in caplog.records if each.name.startswith("clickhouse_connect")] == []

    assert str(raised.value).startswith("ClickHouse at 127.0.0.1 can't be reached.")
    assert "s3cret" not in repr(raised.value) + str(raised.value.__cause__)


def test_a_client_that_cuts_answers_is_refused(chdb: ChDB) -> None:
    client = import_module("clickhouse_connect").get_client(
        interface="chdb", path=str(chdb.client.path), query_limit=5
    )
    with pytest.raises(InputError, match="cuts answers to 5 rows"):
        connect(client)
    client.close()


TRANSPORT = {"database", "query_id", "session_id", "compress", "decompress", "wait_end_of_query"}


class Server(ThreadingHTTPServer):
    """ClickHouse' HTTP interface, as far as a client of it goes, in front of chDB.

    Each request has a session of its own, with the settings of the request in their order.
    """

    daemon_threads = True

    def __init__(self, folder: str) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.folder = folder


class Answering(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = dict(parse_qsl(urlsplit(self.path).query))
        user = base64.b64encode(b"ann:s3 cret/").decode()
        if self.headers.get("Authorization") != f"Basic {user}":
            return self._send(403, b"Code: 516. DB::Exception: ann: wrong (AUTHENTICATION_FAILED)")
        connection = import_module("chdb").connect(self.server.folder)
        try:
            connection.query(f"use {asked.get('database', 'default')}", "Native")
            settings = {name: value for name, value in asked.items() if name not in TRANSPORT}
            said = ", ".join(f"{name} = '{value}'" for name, value in settings.items())
            if said:
                connection.query(f"set {said}", "Native")
            return self._send(200, connection.query(text, "TabSeparated").bytes())
        except Exception as error:
            return self._send(500, str(error).encode())
        finally:
            connection.close()

    do_GET = do_POST

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status != 200:
            code = body.partition(b"Code: ")[2].partition(b".")[0].decode()
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.send_header("X-ClickHouse-Format", "TabSeparated")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server(chdb: ChDB) -> Iterator[str]:
    with Server(str(chdb.client.path)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{running.server_port}"
        running.shutdown()


def test_a_server_is_asked_over_http(
    chdb: ChDB, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chdb.load("people", PEOPLE)
    options: dict[str, Any] = {"sensitive": ["code"], "checks": [kanon.TCloseness(t=0.1)]}
    expected = asking.figures(kanon.audit(PEOPLE.arrow, quasi_identifiers=["age"], **options))

    url = f"clickhouse://ann:s3%20cret%2F@{server}/default?enable_materialized_cte=1"
    found = kanon.audit("people", quasi_identifiers=["age"], engine=url, **options)
    assert asking.figures(found) == asking.near(expected)
    assert "s3" not in str(found.to_dict()) + str(found)

    monkeypatch.setenv("CLICKHOUSE_USER", "ann")
    monkeypatch.setenv("CLICKHOUSE_PASSWORD", "s3 cret/")
    by_environment = f"clickhouse://{server}/default"
    found = kanon.audit("people", quasi_identifiers=["age"], engine=by_environment, **options)
    assert asking.figures(found) == asking.near(expected)


def test_a_server_neither_writes_nor_goes_on(server: str, chdb: ChDB) -> None:
    with opened(f"clickhouse://ann:s3%20cret%2F@{server}/default") as engine:
        with pytest.raises(EngineError, match="refused to write"):
            engine._fetch("insert into people (age) select 1")
        threading.Timer(0.5, engine.cancel).start()
        with pytest.raises(EngineError, match="stopped before its end"):
            engine._fetch(SLOW)
        assert ends(chdb)


def test_a_wrong_password_is_said_to_be(server: str) -> None:
    with pytest.raises(EngineError, match="knows no such user with this password") as raised:
        connect(f"clickhouse://ann:nope@{server}/default")
    assert "nope" not in str(raised.value)


@pytest.mark.parametrize(
    "setting",
    [
        {"additional_table_filters": "{'people': 'age > 40'}"},
        {"additional_result_filter": "1 = 0"},
        {"max_result_bytes": 1},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_a_profile_hides_nothing(chdb: ChDB, setting: dict[str, Any]) -> None:
    chdb.load("people", PEOPLE)
    expected = asking.figures(kanon.audit("people", engine=chdb.url, quasi_identifiers="age"))
    with opened(chdb.url) as engine:
        engine._client.set_client_setting(*next(iter(setting.items())))

        found = kanon.audit("people", engine=engine, quasi_identifiers="age")

    assert asking.figures(found) == expected


def test_a_password_may_be_named(chdb: ChDB, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLICKHOUSE_HERE", "no such password")
    with pytest.raises(kanon.KanonError) as refused:
        connect(f"clickhouse://ann:env:CLICKHOUSE_HERE@{server}/default")

    assert "no such password" not in str(refused.value)
    assert "env:" not in str(refused.value)
