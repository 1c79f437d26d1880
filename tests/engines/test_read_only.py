"""Does an audit of a real Postgres write anything, take out more than it says, or leave something
running?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from places import HOUSE
from signals_reset import ended_by_signals
from warehouses import Database, postgres

import kanon_sql as kanon
from kanon_sql.auditing.auditor import audit
from kanon_sql.engines import connect, warehouse
from kanon_sql.engines.failures import LOOK
from kanon_sql.engines.postgres import Postgres
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.sql.macros import render

WRITES = (
    "drop table people",
    "delete from people",
    "insert into people values ('x', 1, 'x', 1, 1)",
    "update people set zip = ''",
    "create table more as select 1 as one",
    "create temporary table more as select 1 as one",
    "truncate people",
    "copy people to program 'true'",
    "select nextval('counter')",
    "select * into more from people",
    "select pg_catalog.set_config('transaction_read_only', 'off', false)",
)
CATALOGUE = """
select pg_class.oid, pg_class.relname, pg_class.relkind, pg_class.relfilenode, pg_class.xmin
from pg_class
where pg_class.relname not like 'pg_toast%'
order by pg_class.oid
"""
OPENING = "set transaction isolation level repeatable read, read only"
ALLOWED = re.compile(
    rf"(select|with|begin|rollback|explain|set local|{OPENING})\b",
    re.IGNORECASE,
)
STATEMENT = re.compile(
    r"^\d{4}-\d\d-\d\d .*? LOG:  (?:statement|execute [^:]*): (.*)$", re.MULTILINE
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with postgres(tmp_path_factory.mktemp("postgres")) as running:
        running.run(
            "create table people as select (i % 7)::text as zip, i % 3 as age, "
            "'d' || i % 4 as disease, i as id, 1.5 + i % 2 as weight "
            "from generate_series(1, 120) as numbers(i)"
        )
        running.run("create table voters as select * from people union all select * from people")
        running.run(
            "create table ages as select i::text as age, case when i < 2 then 'young' else 'old' "
            "end as level_1 from generate_series(0, 2) as numbers(i)"
        )
        running.run("create sequence counter")
        running.run(
            "create view endless as select i % 7 as zip from generate_series(1, 100000) "
            "as a(i), generate_series(1, 100000) as b(j)"
        )
        running.run("create view asleep as select zip from people, pg_sleep(60)")
        running.run("create role auditor login")
        running.run("grant usage on schema public to auditor")
        running.run("revoke create on schema public from public")
        running.run("grant select on people, voters, ages, endless, asleep to auditor")
        yield running
        running.run("drop owned by auditor")
        running.run("drop role auditor")


@pytest.fixture(scope="module")
def auditor(database: Database) -> str:
    """The URL of a role that may read, and nothing else."""
    return re.sub(r"//[^/]*/", "//auditor@/", str(database.url))


def state(database: Database) -> dict[str, Any]:
    """Everything that a write would change."""
    counted = {
        name: database.run(
            f"select count(*), md5(string_agg(t::text, ',' order by t::text)) from {name} as t"
        )
        for name in ("people", "voters", "ages")
    }
    return counted | {
        "catalogue": database.run(CATALOGUE),
        "sequence": database.run("select last_value, is_called from counter"),
    }


ASKED: dict[str, dict[str, Any]] = {
    "every model of sizes and values": {
        "quasi_identifiers": ["zip", "age"],
        "sensitive": ["disease"],
        "checks": [
            kanon.KAnonymity(k=2),
            kanon.Homogeneity(sensitive="disease"),
            kanon.LDiversity(l=2, sensitive="disease"),
            kanon.EntropyLDiversity(l=2, sensitive="disease"),
            kanon.RecursiveClDiversity(c=2, l=2, sensitive="disease"),
            kanon.AlphaKAnonymity(alpha=0.5, k=2, sensitive="disease"),
            kanon.PSensitiveKAnonymity(p=2, k=2, sensitive="disease"),
            kanon.TCloseness(t=0.2, sensitive="disease"),
            kanon.DeltaDisclosure(delta=1, sensitive="disease"),
            kanon.BasicBetaLikeness(beta=1, sensitive="disease"),
            kanon.EnhancedBetaLikeness(beta=1, sensitive="disease"),
            kanon.ProsecutorRisk(max_highest=0.5),
            kanon.SampleUniqueness(max_share=0.5),
        ],
    },
    "people, not records": {"quasi_identifiers": ["zip"], "sensitive": ["disease"], "entity": "id"},
    "a reference": {
        "quasi_identifiers": ["zip", "age"],
        "references": {"voters": "voters"},
        "checks": [
            kanon.KMap(k=2),
            kanon.DeltaPresence(min=0, max=1),
            kanon.JournalistRisk(max_highest=0.5),
            kanon.MarketerRisk(max_average=0.5),
        ],
    },
    "numbers with an order": {
        "quasi_identifiers": ["zip"],
        "sensitive": ["age"],
        "checks": [
            kanon.TCloseness(t=0.2, sensitive="age", distance="ordered"),
            kanon.KEAnonymity(k=2, e=1, sensitive="age"),
        ],
    },
    "NULL as a wildcard": {"quasi_identifiers": ["zip", "age"], "nulls": "wildcard"},
    "a survey": {"quasi_identifiers": ["zip"], "weight": "weight"},
    "levels, one of them of a table": {
        "quasi_identifiers": {
            "zip": {"levels": [{"mask": "right"}]},
            "age": {"hierarchy": "ages"},
        },
        "levels": {"zip": 1, "age": 1},
    },
    "values of small classes": {"quasi_identifiers": ["zip", "age"], "show_values": True},
}


@pytest.mark.parametrize("question", ASKED.values(), ids=ASKED)
def test_a_role_that_may_only_read_audits_and_nothing_changes(
    database: Database, auditor: str, question: dict[str, Any]
) -> None:
    before = state(database)

    result = kanon.audit("people", engine=auditor, **question)

    assert result.tables[0].error is None
    assert result.status in ("holds", "violated", "measured")
    assert state(database) == before


def test_a_profile_and_a_look_at_the_sql_change_nothing(database: Database, auditor: str) -> None:
    before = state(database)

    kanon.profile("people", quasi_identifiers=["zip", "age"], sensitive="disease", engine=auditor)
    kanon.compile("people", quasi_identifiers=["zip", "age"], engine=auditor)

    assert state(database) == before


@pytest.mark.parametrize("path", ["url", "sqlalchemy", "adbc"])
def test_the_server_hears_nothing_but_questions(
    database: Database, auditor: str, path: str
) -> None:
    """What the server itself writes down of an audit, statement by statement."""
    database.run("alter role auditor set log_statement to 'all'")
    log = Path(database.run("show data_directory")[0][0]) / "log"
    begins = log.stat().st_size
    if path == "url":
        kanon.audit("people", engine=auditor, **ASKED["a reference"])
    elif path == "sqlalchemy":
        import sqlalchemy

        lender = sqlalchemy.create_engine(auditor.replace("postgresql:", "postgresql+psycopg:"))
        kanon.audit("people", engine=lender, **ASKED["a reference"])
        lender.dispose()
    else:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(auditor) as connection:
            kanon.audit("people", engine=connection, **ASKED["a reference"])
    database.run("alter role auditor reset log_statement")

    heard = STATEMENT.findall(log.read_text(encoding="utf-8")[begins:])

    # SQLAlchemy and ADBC look at the server when they connect, before it is ours.
    ours = heard[[sql.lower().startswith(OPENING) for sql in heard].index(True) :]
    assert len(ours) > 10
    # What has written nothing is ended by a commit, which leaves the user's settings.
    others = [
        sql
        for before, sql in pairwise(ours)
        if not (sql == "COMMIT" and "pg_current_xact_id_if_assigned() is null" in before)
    ]
    assert [sql for sql in [ours[0], *others] if not ALLOWED.match(sql)] == []


# --- attempts to write ------------------------------------------------------------------------


@pytest.mark.parametrize("statement", WRITES)
def test_the_transaction_refuses_what_would_write(database: Database, statement: str) -> None:
    """Past every other guard, as the owner of the table."""
    before = state(database)

    def attempt(engine: Postgres) -> None:
        engine._fetch(statement)
        # What turns the guard off must not have worked.
        engine._fetch("insert into people values ('x', 1, 'x', 1, 1)")

    with Postgres.of_url(str(database.url)) as engine, pytest.raises(kanon.KanonError):
        attempt(engine)

    assert state(database) == before


HOSTILE = (
    "1 = 1; drop table people",
    "1 = 1; drop table people; --",
    "zip = '' or exists (delete from people)",
    "(select pg_sleep(1)) is null",
    "nextval('counter') > 0",
    "(with gone as (delete from people returning 1) select count(*) from gone) > 0",
    "set_config('transaction_read_only', 'off', false) = 'off'",
    "zip = '') union select 1 from (values (1)) x where (1 = 1",
    "pg_read_file('/etc/passwd') <> ''",
    "lo_import('/etc/passwd') > 0",
    "dblink_exec('drop table people') = ''",
)


@pytest.mark.parametrize("where", HOSTILE)
@pytest.mark.parametrize("of", ["table", "reference"])
def test_a_condition_that_would_write_is_refused(database: Database, where: str, of: str) -> None:
    before = state(database)
    reference = kanon.ReferenceSpec(source="voters", where=where)
    asked: dict[str, Any] = (
        {"where": where}
        if of == "table"
        else {"references": {"voters": reference}, "checks": [kanon.KMap(k=2)]}
    )
    with pytest.raises(kanon.SpecError):
        kanon.audit("people", quasi_identifiers="zip", engine=database.url, **asked)

    assert state(database) == before


@pytest.mark.parametrize(
    "name",
    [
        "people; drop table people",
        'people"; drop table people; --',
        "(delete from people returning zip)",
        "pg_sleep(1)",
        "generate_series(1, 10)",
        "people, voters",
    ],
)
def test_a_name_of_a_table_or_column_is_nothing_but_a_name(database: Database, name: str) -> None:
    before = state(database)
    with pytest.raises(kanon.InputError, match="there is no table or view"):
        kanon.audit(name, quasi_identifiers="zip", engine=database.url)
    reference = kanon.ReferenceSpec(source=name)
    with pytest.raises(kanon.InputError, match="there is no table or view"):
        kanon.audit(
            "people",
            quasi_identifiers="zip",
            references={"voters": reference},
            checks=[kanon.KMap(k=2)],
            engine=database.url,
        )
    with pytest.raises(kanon.SpecError, match="has no column"):
        kanon.audit("people", quasi_identifiers=[name], engine=database.url)

    assert state(database) == before


def test_a_hostile_name_that_there_is_is_read_as_a_name(database: Database) -> None:
    name = 'a"; drop table people; --'
    quoted = '"' + name.replace('"', '""') + '"'
    database.run(f"create table {quoted} as select 1 as {quoted}")
    before = state(database)

    result = kanon.audit(quoted, quasi_identifiers=[name], engine=database.url)

    assert result.tables[0].summary.records == 1
    assert state(database) == before
    database.run(f"drop table {quoted}")


INJECTED = "d1') union delete from people --\\"


def test_values_of_a_spec_are_nothing_but_values(database: Database, tmp_path: Path) -> None:
    before = state(database)
    tree = tmp_path / "tree.csv"
    tree.write_text(
        "\n".join([*(f"d{place},{INJECTED},*" for place in range(4))]) + "\n", encoding="utf-8"
    )
    zips = tmp_path / "zips.csv"
    zips.write_text("\n".join(f"{place},{INJECTED}" for place in range(7)) + "\n", encoding="utf-8")

    result = kanon.audit(
        "people",
        quasi_identifiers={"zip": {"hierarchy": str(zips)}},
        levels={"zip": 1},
        sensitive=["disease"],
        checks=[
            kanon.AlphaKAnonymity(alpha=0.5, values=[INJECTED], sensitive="disease"),
            kanon.TCloseness(
                t=0.2, sensitive="disease", distance="hierarchical", hierarchy=str(tree)
            ),
            kanon.TCloseness(
                t=0.2,
                sensitive="disease",
                distance="ordered",
                order=["d0", "d1", "d2", "d3", INJECTED],
            ),
        ],
        engine=database.url,
    )

    assert result.tables[0].error is None
    assert result.tables[0].summary.classes == 1
    assert state(database) == before


def test_values_of_the_command_line_are_nothing_but_values(database: Database) -> None:
    before = state(database)
    check = f'alpha_k_anonymity:alpha=0.5,k=2,values=["{INJECTED[:-1]}"]'

    run = command(
        "audit", "people", "--connect", str(database.url), "--qi", "zip", "--sensitive", "disease",
        "--check", check,
    )  # fmt: skip

    assert run.returncode in (0, 1), run.stderr
    assert state(database) == before


def test_a_release_is_not_written_back(database: Database, tmp_path: Path) -> None:
    before = state(database)
    run = command(
        "anonymize", "people", "--connect", str(database.url), "--qi", "zip", "--k", "2",
        "--output", str(tmp_path / "release.csv"),
    )  # fmt: skip

    assert run.returncode in (0, 1, 2)
    assert state(database) == before


# --- what comes back --------------------------------------------------------------------------


def test_more_rows_than_an_audit_takes_are_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warehouse, "MOST_ROWS", 100)
    with connect(database.url) as engine:
        assert len(engine.query("select id from people where id <= 100")) == 100
        with pytest.raises(kanon.EngineError, match="more than 100 rows"):
            engine.query("select id from people")


def test_no_more_rows_are_fetched_than_the_cap_and_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched: list[int] = []
    answer = Postgres._answer

    def noted(self: Postgres, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        names, rows = answer(self, sql, most)
        fetched.append(len(rows))
        return names, rows

    monkeypatch.setattr(warehouse, "MOST_ROWS", 100)
    monkeypatch.setattr(Postgres, "_answer", noted)
    with connect(database.url) as engine, pytest.raises(kanon.EngineError):
        engine.query("select id from voters")

    assert fetched[-1] == 101


# --- stopping ---------------------------------------------------------------------------------


def arguments(*words: str) -> list[str]:
    return [sys.executable, "-c", "from kanon_sql.cli import main; main()", *words]


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments(*words), capture_output=True, text=True, timeout=60, env=environment()
    )


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(HOUSE.parent)}


def running(database: Database) -> int:
    """How many statements of the auditor run in the server."""
    [[found]] = database.run(
        "select count(*) from pg_stat_activity where usename = 'auditor' and state = 'active'"
    )
    return int(found)


def wait_for(database: Database, statements: int, seconds: float) -> float:
    """How long it took until so many statements ran."""
    started = time.monotonic()
    while running(database) != statements:
        assert time.monotonic() - started < seconds, f"not {statements} after {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - started


@pytest.mark.parametrize("stopped_by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("view", ["endless", "asleep"])
def test_ctrl_c_stops_the_query_in_the_server(
    database: Database, auditor: str, view: str, stopped_by: signal.Signals
) -> None:
    with subprocess.Popen(
        ended_by_signals(arguments("audit", view, "--qi", "zip", "--connect", auditor)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            wait_for(database, 1, 30)
            time.sleep(0.3)
            process.send_signal(stopped_by)
            wait_for(database, 0, 5)
            out, said = process.communicate(timeout=10)
        finally:
            process.kill()

    assert process.returncode == 130
    assert out == ""
    assert "Interrupted; nothing was written." in said
    assert "Traceback" not in said


@pytest.fixture
def two_tables(tmp_path: Path, auditor: str) -> Path:
    """A spec of two tables that take their time."""
    spec = tmp_path / "kanon.yml"
    spec.write_text(
        "version: 1\ntables:\n"
        + "".join(
            f"  - {{name: {name}, source: {view}, connect: '{auditor}', "
            "quasi_identifiers: [zip]}\n"
            for name, view in (("first", "endless"), ("second", "asleep"))
        )
    )
    return spec


def test_ctrl_c_stops_every_job_in_the_server(database: Database, two_tables: Path) -> None:
    with subprocess.Popen(
        arguments("audit", str(two_tables), "--jobs", "2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            wait_for(database, 2, 30)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            wait_for(database, 0, 5)
            out, said = process.communicate(timeout=10)
        finally:
            process.kill()

    assert (process.returncode, out) == (130, "")
    assert "Interrupted; nothing was written." in said
    assert "Traceback" not in said


def test_a_time_limit_stops_every_job_in_the_server(database: Database, two_tables: Path) -> None:
    run = command("audit", str(two_tables), "--jobs", "2", "--timeout", "4")

    assert (run.returncode, run.stdout) == (3, "")
    assert run.stderr.count("stopped, because the time limit was reached") == 2
    wait_for(database, 0, 5)


def test_the_connections_of_the_jobs_read_one_snapshot(database: Database, auditor: str) -> None:
    """A table grows between two statements: each job still counts what the first one saw."""
    database.run("create table grows as select 'a' as zip")
    database.run("grant select on grows to auditor")
    spec = kanon.AuditSpec.model_validate(
        {
            "version": 1,
            "tables": [
                {"name": name, "source": "grows", "connect": auditor, "quasi_identifiers": ["zip"]}
                for name in ("first", "second", "third")
            ],
        }
    )
    connections = set()

    def grow(question: str, progress: Any) -> None:
        database.run("insert into grows values ('b')")
        found = database.run("select pid from pg_stat_activity where usename = 'auditor'")
        connections.update(number for (number,) in found)

    result = audit(spec, RunOptions(jobs=3, watch=grow))

    assert [table.summary.records for table in result.tables] == [1, 1, 1]
    assert len(connections) == 3
    assert not any(table.warnings for table in result.tables)
    database.run("drop table grows")


def connections(database: Database) -> int:
    """The auditor's sessions; the server ends a closed one a moment after the client."""
    for _ in range(100):
        [[found]] = database.run("select count(*) from pg_stat_activity where usename = 'auditor'")
        if found == 1:
            break
        time.sleep(0.02)
    return int(found)


@pytest.mark.parametrize(
    "fails",
    ["postgres_exported_snapshot", "set transaction snapshot"],
)
def test_a_server_without_a_second_session_answers_in_turn_and_says_so(
    database: Database, auditor: str, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    """Neither an aborted transaction nor an open connection is left of what failed."""
    rendered, execute = render, Postgres._execute
    if fails.startswith("postgres"):
        missing = "select kanon_no_such_function()"
        monkeypatch.setattr(
            "kanon_sql.engines.postgres.render",
            lambda name, **given: missing if name == fails else rendered(name, **given),
        )

    left = []

    def executed(self: Postgres, sql: str, most: int = 1) -> Any:
        if sql.startswith(fails):
            left.append(self)
            sql = f"{fails} 'none'"
        return execute(self, sql, most)

    monkeypatch.setattr(Postgres, "_execute", executed)
    table = {"source": "people", "connect": auditor, "quasi_identifiers": ["zip"]}
    spec = kanon.AuditSpec.model_validate(
        {"version": 1, "tables": [{"name": name, **table} for name in ("first", "second")]}
    )
    seen = set()

    result = audit(spec, RunOptions(jobs=2, watch=lambda *_: seen.add(connections(database))))

    assert [table.summary.records for table in result.tables] == [120, 120]
    assert all("one session here" in str(table.warnings) for table in result.tables)
    assert seen == {1}
    assert all(each._connection.closed for each in left)


def test_a_users_connection_answers_in_turn_and_says_so(database: Database, auditor: str) -> None:
    import psycopg

    table = {"source": "people", "quasi_identifiers": ["zip"]}
    spec = kanon.AuditSpec.model_validate(
        {"version": 1, "tables": [{"name": "first", **table}, {"name": "second", **table}]}
    )
    with psycopg.connect(auditor) as connection:
        result = kanon.audit(spec, engine=connection, jobs=2)

    assert [table.summary.records for table in result.tables] == [120, 120]
    assert all("one session here" in str(table.warnings) for table in result.tables)


@pytest.mark.parametrize("view", ["endless", "asleep"])
def test_a_time_limit_leaves_nothing_running(database: Database, auditor: str, view: str) -> None:
    started = time.monotonic()

    run = command("audit", view, "--qi", "zip", "--connect", auditor, "--timeout", "4")

    assert time.monotonic() - started < 20
    assert run.returncode == 3
    assert run.stdout == ""
    assert "stopped, because the time limit was reached" in run.stderr
    wait_for(database, 0, 5)


@pytest.mark.parametrize("path", ["psycopg", "adbc"])
@pytest.mark.parametrize("by", ["driver", "server"])
def test_a_time_limit_on_a_users_connection_leaves_it_usable(
    database: Database, auditor: str, path: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of the two means alone stops the query."""
    if path == "psycopg":
        import psycopg as driver
    else:
        from adbc_driver_postgresql import dbapi as driver
    idle = {"driver": "limit", "server": "cancel"}[by]
    monkeypatch.setattr(Postgres, idle, lambda *_: None)
    with driver.connect(auditor) as connection:
        result = kanon.audit("asleep", quasi_identifiers="zip", engine=connection, timeout=1)

        assert result.exit_code == 3
        assert "time limit" in str(result.tables[0].error)
        wait_for(database, 0, 5)
        with connection.cursor() as cursor:
            cursor.execute(
                "select current_setting('transaction_read_only'), "
                "current_setting('statement_timeout')"
            )
            assert cursor.fetchall() == [("off", "0")]
        connection.rollback()


# --- what would hide records or take texts for one --------------------------------------------


@pytest.fixture
def hidden(database: Database) -> Iterator[None]:
    """A table of which a policy shows the auditor a part, and one of types that merge texts."""
    database.run("create table visits as select zip from (values ('a'), ('a'), ('b')) as v(zip)")
    database.run("alter table visits enable row level security")
    database.run("create policy part on visits using (zip = 'a')")
    database.run("create domain padded as bpchar")
    database.run("create domain code as padded")
    database.run("create type pair as (zip bpchar, age int)")
    database.run("create table codes (zip code)")
    database.run("create table pairs (zip pair)")
    database.run("create type spot as (zip text, age int)")
    database.run("create table spots (zip spot)")
    database.run("grant select on visits, codes, pairs, spots to auditor")
    yield
    database.run("drop table visits, codes, pairs, spots")
    database.run("drop type pair, spot")
    database.run("drop domain code, padded")


def test_a_policy_that_hides_rows_is_no_smaller_table(hidden: None, auditor: str) -> None:
    with pytest.raises(kanon.KanonError, match="row-level security"):
        kanon.audit("visits", engine=auditor, quasi_identifiers="zip")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("codes", "different texts as equal"),
        ("pairs", "different texts as equal"),
        ("spots", "is nested"),
    ],
)
def test_a_type_that_merges_texts_is_refused(
    hidden: None, auditor: str, table: str, says: str
) -> None:
    with pytest.raises(kanon.KanonError, match=says):
        kanon.audit(table, engine=auditor, quasi_identifiers="zip")


@pytest.fixture
def granted(database: Database) -> Iterator[None]:
    """Tables of which the auditor may read some columns, or none."""
    database.run("create schema closed")
    database.run("create table closed.people as select * from people")
    database.run("create table parts as select * from people")
    database.run("grant usage on schema closed to auditor")
    database.run("grant select (zip, age) on parts to auditor")
    yield
    database.run("drop schema closed cascade")
    database.run("drop table parts")


def test_a_role_audits_the_columns_that_it_may_read(granted: None, auditor: str) -> None:
    result = kanon.audit(
        "parts",
        engine=auditor,
        quasi_identifiers="*",
        identifiers=["disease", "id", "weight"],
        where="age < 9",
        checks=[kanon.KAnonymity(k=2)],
    )

    assert result.tables[0].summary.records == 120
    assert kanon.audit("parts", engine=auditor, quasi_identifiers="zip").tables[0].summary


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"quasi_identifiers": ["zip", "disease"]}, '"disease" of parts may not be read'),
        ({"quasi_identifiers": "*"}, '"disease" of parts may not be read'),
        ({"sensitive": ["disease"]}, '"disease" of parts may not be read'),
        ({"entity": "id"}, '"id" of parts may not be read'),
        ({"where": "weight > 1"}, '"weight" of parts may not be read'),
        ({"sensitive": ["diseases"]}, 'parts has no column "diseases"'),
    ],
)
def test_a_column_that_may_not_be_read_is_named(
    granted: None, auditor: str, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(kanon.SpecError, match=said):
        kanon.audit("parts", engine=auditor, **{"quasi_identifiers": "zip"} | asked)


@pytest.mark.parametrize("asked", [{}, {"insensitive": ["id"]}, {"pull_frequencies": True}])
def test_a_column_that_may_not_be_released_is_named(
    granted: None, auditor: str, asked: dict[str, Any]
) -> None:
    levels = {"zip": {"levels": ["suppress"]}}
    named = "id" if "insensitive" in asked else "disease|id|weight"

    with pytest.raises(kanon.SpecError, match=f'column "({named})" of parts may not be read'):
        kanon.anonymize("parts", levels, k=2, engine=auditor, **asked)

    released = kanon.anonymize("parts", levels, k=2, unassigned="drop", engine=auditor)
    assert released.tables[0].summary.records == 120


def test_tables_and_profile_keep_to_the_columns_that_may_be_read(
    granted: None, auditor: str
) -> None:
    for asked in (
        {"by": "disease"},
        {"by": "zip", "value": "id"},
        {"by": "zip", "contributor": "id"},
    ):
        with pytest.raises(kanon.SpecError, match=r'"(disease|id)" of parts may not be read'):
            kanon.tables("parts", engine=auditor, **asked)
    [profiled] = kanon.profile("parts", engine=auditor).tables
    [counted] = kanon.tables("parts", by="zip", engine=auditor).tables

    assert profiled.status == counted.status == "measured"


def test_a_table_that_may_not_be_read_is_no_other_of_its_name(granted: None, auditor: str) -> None:
    import psycopg

    with psycopg.connect(auditor, autocommit=True) as connection:
        connection.execute("set search_path to closed, public")
        with pytest.raises(kanon.InputError, match=r"closed\.people, which this role may not read"):
            kanon.audit("people", engine=connection, quasi_identifiers="zip")


def test_a_column_of_no_part_may_be_of_any_type(database: Database) -> None:
    database.run("create table notes as select zip, '{}'::json as note from people")

    assert kanon.audit("notes", engine=database.url, quasi_identifiers="zip").tables[0].summary

    database.run("drop table notes")


def test_an_engine_that_is_asked_again_takes_nothing_back(database: Database) -> None:
    import psycopg

    with psycopg.connect(database.url) as connection:
        connection.execute("create table kept (zip text)")
        connection.commit()
        engine = connect(connection)
        kanon.audit("people", engine=engine, quasi_identifiers="zip")
        connection.execute("insert into kept values ('a')")

        with pytest.raises(kanon.KanonError, match="in a transaction"):
            kanon.audit("people", engine=engine, quasi_identifiers="zip")

        connection.commit()
        engine.close()
    assert database.run("select zip from kept") == [("a",)]
    database.run("drop table kept")


# --- what is said of a failure ----------------------------------------------------------------

FUNCTIONS = {
    "made(text)": "execute 'select ' || $1 || '_smith'; return $1;",
    "raised(text)": "raise exception 'it is %', $1 using errcode = '42704';",
    "never_so(text)": "raise exception '%', (select min(name) from patients) "
    "using errcode = '42P01';",
}
FAIL_ON_A_VALUE = {
    "a table by its name": ("name::regclass", "42P01"),
    "a type by its name": ("name::regtype", "42704"),
    "a setting": ("current_setting(name)", "42704"),
    "a query of texts": ("to_tsquery(name || ' !')", "42601"),
    "a path of JSON": ("(name || ' -')::jsonpath", "42601"),
    "a statement of a function's": ("made(name)", "42703"),
    "an error of a function's": ("raised(name)", "42704"),
    "a function that says it reads nothing": ("never_so('')", "42P01"),
    "a statement in a text": ("query_to_xml('select ' || name, true, true, '')", "42703"),
}


@pytest.fixture(scope="module")
def patients(database: Database) -> Iterator[None]:
    database.run(
        "create table patients as select 'p0000' || i as name from generate_series(0, 9) i"
    )
    for function, body in FUNCTIONS.items():
        kind = "immutable" if function.startswith("never") else "stable"
        database.run(
            f"create function {function} returns text language plpgsql {kind} "
            f"as $body$ begin {body} end $body$"
        )
    for place, (expression, _) in enumerate(FAIL_ON_A_VALUE.values()):
        database.run(
            f"create view failing_{place} as select {expression}::text as it from patients"
        )
    yield
    database.run("drop table patients cascade")
    for function in FUNCTIONS:
        database.run(f"drop function {function}")


@pytest.mark.parametrize("place", range(len(FAIL_ON_A_VALUE)), ids=FAIL_ON_A_VALUE)
def test_an_error_that_came_of_a_value_is_withheld(
    database: Database, patients: None, place: int
) -> None:
    """Its SQLSTATE speaks of names and SQL, its message of a patient."""
    _, state = list(FAIL_ON_A_VALUE.values())[place]

    with pytest.raises(kanon.KanonError) as failed:
        kanon.audit(f"failing_{place}", quasi_identifiers="it", engine=database.url)

    said = str(failed.value)
    assert f"(SQLSTATE {state}). The message is withheld" in said
    assert "p0000" not in said
    assert failed.value.__cause__ is None


def test_an_error_of_the_statement_is_told(database: Database) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        kanon.audit("people", quasi_identifiers="zip", where="not age", engine=database.url)

    assert str(refused.value) == (
        "Postgres rejects the SQL of the audit: argument of NOT must be type boolean, "
        f"not type integer. {LOOK}"
    )


@pytest.mark.parametrize("type", ["json", "point", "box", "xml"])
def test_a_type_that_is_never_equal_is_to_be_cast(database: Database, type: str) -> None:
    database.run(f"create table spots as select zip, null::{type} as spot from people")

    with pytest.raises(kanon.SpecError, match=f"for type {type}. Audit a view in which .* cast"):
        kanon.audit("spots", quasi_identifiers="spot", engine=database.url)

    database.run("drop table spots")


@pytest.fixture
def as_before_16(database: Database) -> Iterator[None]:
    """What tells whether a text is a number or a date has come with Postgres 16."""
    called, away = "pg_catalog.pg_input_is_valid", "pg_input_is_valid_later"
    database.run(f"alter function {called}(text, text) rename to {away}")
    yield
    database.run(f"alter function pg_catalog.{away}(text, text) rename to pg_input_is_valid")


def test_what_needs_a_later_postgres_says_so(database: Database, as_before_16: None) -> None:
    with pytest.raises(kanon.SpecError, match=r"It needs Postgres 16: before, audit a view"):
        kanon.audit(
            "people",
            quasi_identifiers={"zip": {"levels": ["year"]}},
            levels={"zip": 1},
            engine=database.url,
        )


@pytest.mark.parametrize(
    ("does", "says"),
    [
        ("pg_cancel_backend", "stopped the query before its end: a time limit"),
        ("pg_terminate_backend", "ended the session before the result: an administrator"),
    ],
)
def test_it_is_told_who_stopped_the_query(
    database: Database, auditor: str, does: str, says: str
) -> None:
    def stop() -> None:
        wait_for(database, 1, 30)
        database.run(
            f"select {does}(pid) from pg_stat_activity "
            "where usename = 'auditor' and state = 'active'"
        )

    with ThreadPoolExecutor() as other:
        stopping = other.submit(stop)
        with (
            Postgres.of_url(auditor) as engine,
            pytest.raises(kanon.EngineError, match=f"Postgres {says}"),
        ):
            engine.query("select zip from asleep")
        stopping.result()


def test_a_limit_of_the_role_is_told_as_one(database: Database, auditor: str) -> None:
    database.run("alter role auditor set statement_timeout to 300")

    result = kanon.audit("asleep", quasi_identifiers="zip", engine=auditor)

    database.run("alter role auditor reset statement_timeout")
    assert "such as statement_timeout" in str(result.tables[0].error)


@pytest.mark.parametrize(("own", "asked", "kept"), [("300", 30, 300), ("0", 30, 31_000)])
def test_a_stricter_limit_of_the_role_stays(
    database: Database, auditor: str, own: str, asked: float, kept: int
) -> None:
    """Also where it is asked for again in the same transaction, and less is still less."""
    database.run(f"alter role auditor set statement_timeout to {own}")
    try:
        with Postgres.of_url(auditor) as engine:
            for seconds in (asked, asked + 1):
                engine.limit(seconds)
            assert _setting(engine) == str(kept)
            engine.limit(0.2)
            assert _setting(engine) == "200"
    finally:
        database.run("alter role auditor reset statement_timeout")


def _setting(engine: Postgres) -> str:
    sql = "select cast(setting as text) as ms from pg_settings where name = 'statement_timeout'"
    return str(engine._fetch(sql)[1][0][0])


def test_a_lock_is_told_as_one(database: Database, auditor: str) -> None:
    import psycopg

    database.run("alter role auditor set lock_timeout to 100")
    try:
        with psycopg.connect(database.url) as other, Postgres.of_url(auditor) as engine:
            other.execute("lock table people in access exclusive mode")
            with pytest.raises(kanon.EngineError, match="another session is changing it"):
                engine.query("select count(*) as n from people")
            other.rollback()
    finally:
        database.run("alter role auditor reset lock_timeout")
