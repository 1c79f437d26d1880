"""Several tables at a time: results as one after the other, errors, limits and interrupts too."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run as command

import kanon_sql as kanon
from kanon_sql.auditing import auditor, opening
from kanon_sql.engines.run_options import RunOptions

ZIPS = {
    "one": ["02138", "02138", "02139"],
    "two": ["02138", "02138"],
    "three": ["02139"],
    "four": ["02138"] * 5,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec_of(*names: str, connect: str | None = None, **asked: Any) -> kanon.AuditSpec:
    """A spec of these tables, as files unless there is a database."""
    for name in names if connect is None else ():
        pq.write_table(
            pa.table({"zip": ZIPS[name], "id": [name] * len(ZIPS[name])}), f"{name}.parquet"
        )
    tables = [
        {
            "name": name,
            "source": f"{name}.parquet" if connect is None else name,
            "quasi_identifiers": ["zip"],
            "checks": [{"k_anonymity": {"k": 2}}],
        }
        | ({"connect": connect} if connect else {})
        | asked
        for name in names
    ]
    return kanon.AuditSpec.model_validate({"version": 1, "tables": tables})


def answers(result: kanon.AuditResult) -> list[dict[str, Any]]:
    return [
        {k: v for k, v in each.items() if k != "seconds"} for each in result.to_dict()["tables"]
    ]


def meeting(parties: int, seconds: float = 20) -> Callable[..., None]:
    """A watch whose first statements wait until so many tables run at once."""
    barrier = threading.Barrier(parties, timeout=seconds)
    met = threading.local()

    def watch(question: str, progress: Any) -> None:
        if not getattr(met, "so", False):
            met.so = True
            barrier.wait()

    return watch


@pytest.mark.parametrize("jobs", [2, 3, 4, 9])
def test_the_results_are_those_of_one_after_the_other(jobs: int) -> None:
    spec = spec_of(*ZIPS)

    found = kanon.audit(spec, jobs=jobs)

    assert [table.name for table in found.tables] == list(ZIPS)
    assert [table.summary.k for table in found.tables] == [1, 2, 1, 5]
    assert answers(found) == answers(kanon.audit(spec))


def test_so_many_tables_run_at_once() -> None:
    """Fewer would wait for each other in vain."""
    result = auditor.audit(spec_of(*ZIPS), RunOptions(jobs=4, watch=meeting(4)))

    assert result.status == "violated"
    alone = RunOptions(jobs=1, watch=meeting(2, seconds=0.2))
    with pytest.raises(threading.BrokenBarrierError):
        auditor.audit(spec_of(*ZIPS), alone)


def test_tables_of_a_connection_have_cursors_of_their_own() -> None:
    connection = duckdb.connect()
    for name, zips in ZIPS.items():
        connection.execute(f"create table {name} as select unnest(?) as zip", [zips])
    spec = spec_of(*ZIPS, connect="duckdb:unused")
    spec = spec.model_copy(update={"tables": [
        each.model_copy(update={"connect": None}) for each in spec.tables
    ]})  # fmt: skip

    result = auditor.audit(spec, RunOptions(connection, jobs=4, watch=meeting(4)))

    assert [table.summary.k for table in result.tables] == [1, 2, 1, 5]
    assert not any(table.warnings for table in result.tables)


def test_the_jobs_share_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def connect(*arguments: Any, **named: Any) -> Any:
        given.append((named["memory_limit"], named["threads"]))
        return kanon.connect(*arguments, **named)

    monkeypatch.setattr(opening, "connect", connect)
    kanon.audit(spec_of("one", "two"), jobs=8, memory_limit="1GB", threads=5)
    kanon.audit(spec_of("one", "two"), jobs=2)
    kanon.audit(spec_of("one"), jobs=8, memory_limit="1GB")

    assert given == [
        *[("0.500000GB", 2)] * 2, *[("40.000000%", None)] * 2, ("1GB", None),
    ]  # fmt: skip


def test_the_first_error_in_the_order_of_the_tables_is_raised() -> None:
    """As one after the other: a column is NULL where a person should be in the second and third."""
    spec = spec_of("one", "two", "three", "four", entity="id")
    for name in ("two", "three"):
        pq.write_table(
            pa.table({"zip": ["1"], "id": pa.array([None], pa.string())}), f"{name}.parquet"
        )

    said = []
    for jobs in (1, 4):
        with pytest.raises(kanon.InputError) as error:
            kanon.audit(spec, jobs=jobs)
        said.append(str(error.value))

    assert said[0] == said[1]
    assert "two.parquet" in said[0]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("where", ["cast(id as integer) > 0", "id > 0"])
def test_an_error_that_the_data_cause_names_the_table_among_several(jobs: int, where: str) -> None:
    several, alone = spec_of("one", "two", where=where), spec_of("one", where=where)

    for asked in (lambda spec: kanon.audit(spec, jobs=jobs), kanon.profile):
        with pytest.raises(kanon.InputError, match=r"^one: "):
            asked(several)
        with pytest.raises(kanon.InputError, match=r"^(where|a value)"):
            asked(alone)


def test_a_thread_that_dies_ends_the_audit() -> None:
    """What is no `Exception`, such as an engine's panic, is raised like any error."""

    class Panic(BaseException):
        pass

    def dies(question: str, progress: Any) -> None:
        raise Panic

    with pytest.raises(Panic):
        auditor.audit(spec_of("one", "two"), RunOptions(jobs=2, watch=dies))


def test_a_thread_that_does_not_start_ends_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = threading.Thread.start

    def second_fails(thread: threading.Thread, seen: list[int] = []) -> None:  # noqa: B006
        seen.append(1)
        if len(seen) == 2:
            raise RuntimeError("can't start new thread")
        starts(thread)

    spec = spec_of(*ZIPS)
    monkeypatch.setattr(threading.Thread, "start", second_fails)
    with pytest.raises(RuntimeError, match="can't start"):
        auditor.audit(spec, RunOptions(jobs=4))


ENDLESS = "create view {} as select i % 7 as zip from range(10000000) a(i), range(10000000) b(j)"


@pytest.fixture
def endless() -> str:
    with duckdb.connect("clinic.duckdb") as connection:
        for name in ("first", "second"):
            connection.execute(ENDLESS.format(name))
        connection.execute("create table short as select 1 as zip")
    return "duckdb:clinic.duckdb"


def test_an_error_ends_what_runs_after_it(endless: str, folder: Path) -> None:
    short = spec_of("one", entity="id")
    pq.write_table(pa.table({"zip": ["1"], "id": pa.array([None], pa.string())}), "one.parquet")
    long = spec_of("first", connect=endless)
    spec = short.model_copy(update={"tables": [*short.tables, *long.tables]})
    started = time.monotonic()

    with pytest.raises(kanon.InputError, match=r"one\.parquet"):
        kanon.audit(spec, jobs=2)

    assert time.monotonic() - started < 20


def test_a_table_at_its_time_limit_leaves_the_others_their_results(endless: str) -> None:
    spec = spec_of("first", "short", "second", connect=endless)

    result = kanon.audit(spec, jobs=2, timeout=2)

    assert [table.status for table in result.tables] == ["error", "violated", "error"]
    assert "time limit" in str(result.tables[0].error)


def test_an_interrupt_ends_them_all(endless: str) -> None:
    before = threading.active_count()
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        kanon.audit(spec_of("first", "second", connect=endless), jobs=2)

    deadline = time.monotonic() + 5
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_one_session_answers_in_turn_and_says_so() -> None:
    import sqlite3

    with sqlite3.connect("clinic.db") as connection:
        for name, zips in ZIPS.items():
            connection.execute(f"create table {name} (zip text)")
            connection.executemany(f"insert into {name} values (?)", [[each] for each in zips])
    connection.close()

    result = kanon.audit(spec_of(*ZIPS, connect="sqlite:clinic.db"), jobs=4)

    assert [table.summary.k for table in result.tables] == [1, 2, 1, 5]
    assert {warning for table in result.tables for warning in table.warnings} == {
        "jobs: sqlite has one session here, so its tables were audited in turn."
    }
    own, files = spec_of("one", connect="sqlite:clinic.db"), spec_of("two", "four")
    mixed = own.model_copy(update={"tables": [*files.tables, *own.tables]})
    found = auditor.audit(mixed, RunOptions(jobs=3, watch=meeting(3)))
    assert [table.summary.k for table in found.tables] == [2, 5, 1]
    assert not any(table.warnings for table in found.tables)


def test_the_command_prints_them_in_their_order() -> None:
    spec_of(*ZIPS)
    Path("kanon.yml").write_text(
        "version: 1\ntables:\n"
        + "".join(
            f"  - {{name: {name}, source: {name}.parquet, quasi_identifiers: [zip]}}\n"
            for name in ZIPS
        )
    )

    found = command("audit", "kanon.yml", "--jobs", "3")

    assert (found.exit_code, found.stderr) == (0, "")
    assert re.findall(r"^(\w+) ·", found.stdout, re.MULTILINE) == list(ZIPS)
    assert not re.search(r"-\d+\.\d s ", found.stdout)


@pytest.mark.parametrize(("jobs", "said"), [(0, "found 0"), (1.5, "found 1.5"), (True, "True")])
def test_no_number_of_jobs_is_refused(jobs: Any, said: str) -> None:
    with pytest.raises(kanon.SpecError, match=said):
        kanon.audit(spec_of("one"), jobs=jobs)
    refused = command("audit", "one.parquet", "--qi", "zip", "--jobs", "none")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "--jobs must be a whole number, 1 or more" in refused.stderr


def test_the_seconds_of_tables_audited_at_once_are_theirs() -> None:
    from kanon_sql.cli.main import CLOCK

    result = kanon.audit(spec_of("one", "two"), jobs=2)
    slow = replace(result, tables=tuple(replace(each, seconds=1e9) for each in result.tables))

    assert CLOCK.timed(slow).tables[0].seconds == 1e9
