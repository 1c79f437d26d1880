"""The databases that a question can be put to. `connect` finds the one that a URL means, or to
which an object is a connection.

To add one:

1. its class, made after those in `servers` (a server with DB-API 2.0, which goes into `SERVERS`
   there), after `postgres` where it needs more, or after `spark`; what it can is said in it;
2. what its URL begins with, in `SCHEMES` below and in what `connect` says of itself;
3. its dialect: a line in `sql/dialects/traits`, a file beside it for what sqlglot leaves wrong, and
   in `tests/sql/test_dialects.LACKING` the words that the database does not know;
4. its driver as an extra in `pyproject.toml`;
5. where the tests can start it, how, in `tests/support/warehouses.ENGINES`: the conformance tests
   then ask it everything; else a URL of it in `tests/engines/test_connect.URLS`, which a stand-in
   for its driver answers;
6. its name in `report/pages/warehouses.md`, with how it is connected to and what was executed.

`tests/test_house` says what is missing. Golden SQL is written by `tests/sql/test_dialects` under
KANON_SQL_UPDATE_GOLDEN=1; a dialect without rules of its own has its file all the same. Where
its errors have codes of their own `failures` is told them, and what it alone may do that would make
an audit wrong is asked in `trust` and `templates/warehouses/canaries.sql`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from kanon_sql.engines.base import Engine
from kanon_sql.errors import EngineError, KanonError, SpecError, did_you_mean
from kanon_sql.files import is_sqlite

SCHEMES = {
    "duckdb": ("duckdb.engine", "DuckDBEngine"),
    "postgresql": ("postgres", "Postgres"),
    "postgres": ("postgres", "Postgres"),
    "spark": ("spark.engine", "Spark"),
    "sc": ("spark.engine", "Spark"),
    "clickhouse": ("clickhouse", "ClickHouse"),
    "chdb": ("clickhouse", "ClickHouse"),
    "snowflake": ("servers", "Snowflake"),
    "bigquery": ("servers", "BigQuery"),
    "trino": ("servers", "Trino"),
    "databricks": ("servers", "Databricks"),
    "redshift": ("servers", "Redshift"),
    "mssql": ("servers", "SQLServer"),
    "mysql": ("mysql", "MySQL"),
    "sqlite": ("sqlite", "SQLite"),
}
"""By what a URL begins with: where in this package its engine is."""


_DATABASE_FILES = (".duckdb", ".ddb", ".db")


def connect(
    target: Any = None,
    *,
    dialect: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    delimiter: str | None = None,
    null_strings: Sequence[str] = (),
) -> Engine:
    """The engine for a URL, for a connection that is open, or without either for files.

    A URL is `duckdb:FILE`, `sqlite:FILE` (or `sqlite:///FILE`), `postgresql://…`, `clickhouse://…`,
    `chdb:FOLDER`, `spark:local[2]`, `spark://…`, `sc://…` (Spark Connect), `snowflake://…`,
    `bigquery://…`, `redshift://…`, `databricks://…`, `trino://…`, `mssql://…` or `mysql://…`. A
    password in it may be `env:NAME`, for what that environment variable holds.

    A connection is one of DuckDB, a SparkSession, a SQLAlchemy engine or connection, or one of
    any driver that follows DB-API 2.0, ADBC included; `dialect` is the database's, where the
    driver does not tell. It must be in no transaction, and stays open with its own settings. An
    engine is itself.

    A file of DuckDB or SQLite is opened read-only. `memory_limit` and `threads` bound the DuckDB
    that is started here; `delimiter` and `null_strings` say how text files are read.

    Raises `SpecError` for what is neither, `MissingDriverError` for a package that is not
    installed, `EngineError` for a database that can't be reached, and `InputError` for one in
    which an audit would be wrong, saying why.

    >>> with connect() as engine:
    ...     engine.dialect
    'duckdb'
    """
    scheme = _scheme(target) if isinstance(target, str) else None
    if scheme is not None and dialect is not None:
        raise SpecError(f"a URL tells the dialect: leave out dialect={dialect!r}.")
    if is_embedded(target):
        from kanon_sql.engines.duckdb.engine import DuckDBEngine

        where = {"database": target.partition(":")[2]} if scheme else {"connection": target}
        return DuckDBEngine(
            **where,
            memory_limit=memory_limit,
            threads=threads,
            delimiter=delimiter,
            null_strings=null_strings,
        )
    if memory_limit is not None or threads is not None:
        raise SpecError(
            "a memory limit and a number of threads are for the DuckDB that is started here; this "
            "database has its own. Set them there."
        )
    if delimiter is not None or null_strings:
        raise SpecError(
            "a delimiter and null strings say how text files are read, and this database reads "
            "none here. Leave them out."
        )
    if isinstance(target, Engine):
        return target
    return _trusted(_of_url(target, scheme) if scheme else _of_object(target, dialect))


def is_embedded(target: Any) -> bool:
    """Whether DuckDB is asked, which reads files beside its tables."""
    if isinstance(target, str):
        return target.startswith("duckdb:") and target != "duckdb:"
    return target is None or (_is_of("duckdb", target) and hasattr(target, "cursor"))


def is_elsewhere(target: Any) -> bool:
    """Whether connecting is a talk with a server that may never answer; Spark and chDB begin in
    this process, in the thread that asks them, and SQLite is a file."""
    if not isinstance(target, str) or is_embedded(target):
        return False
    return target.partition(":")[0] not in ("spark", "sc", "chdb", "sqlite")


def _scheme(url: str) -> str:
    scheme, colon, rest = url.partition(":")
    if not colon and is_sqlite(url):
        raise SpecError(f"a SQLite file is connected to as sqlite:{url}.")
    if not colon and url.lower().endswith(_DATABASE_FILES):
        raise SpecError(f"a DuckDB file is connected to as duckdb:{url}.")
    if not colon:
        raise SpecError(
            "a database is named by a URL, as in duckdb:clinic.duckdb or "
            f"postgresql://user@host/database. It begins with one of {_schemes()}."
        )
    if scheme not in SCHEMES or not (rest or scheme in ("chdb", "spark")):
        raise SpecError(
            f"can't connect to {scheme}:…; a URL begins with one of {_schemes()}."
            f"{did_you_mean(scheme.partition('+')[0], SCHEMES) if scheme not in SCHEMES else ''}"
        )
    return scheme


def _schemes() -> str:
    return ", ".join(SCHEMES)


def _trusted(engine: Engine) -> Engine:
    """The engine, if it does what every question relies on; else it is closed."""
    from kanon_sql.engines.trust import require_trustworthy

    try:
        require_trustworthy(engine)
        # An audit's snapshot begins with its own first question.
        engine.renew()
    except BaseException:
        engine.close()
        raise
    return engine


def _found(scheme: str) -> Any:
    """The engine's class."""
    room, name = SCHEMES[scheme]
    return getattr(import_module(f"kanon_sql.engines.{room}"), name)


def _of_url(url: str, scheme: str) -> Engine:
    found = _found(scheme)
    way_in = found.of_folder if scheme == "chdb" else found.of_url
    try:
        engine: Engine = way_in(url.removeprefix("chdb:"))
    except KanonError:
        raise
    except Exception as error:
        raise EngineError(
            f"{scheme}:… can't be connected to ({type(error).__name__}). The message is withheld, "
            "as it may repeat a password."
        ) from None
    return engine


def _of_object(target: Any, dialect: str | None) -> Engine:
    from kanon_sql.engines.servers import dialect_of, dialect_of_server, engine_of

    if dialect is not None:
        dialect = dialect_of_server(dialect)
    if (own := _of_own_client(target)) is not None:
        return own
    if hasattr(target, "raw_connection") and hasattr(target, "dialect"):
        return _of_pool(target, dialect or dialect_of_server(target.dialect.name))
    if _is_of("sqlalchemy", target) and hasattr(target, "dialect"):
        if _awaits(target, "execute") or target.in_transaction():
            raise _not_ours(target, "It must be synchronous, and in no transaction.")
        dialect = dialect or dialect_of_server(target.dialect.name)
        return engine_of(target.connection.driver_connection, dialect)
    if not callable(getattr(target, "cursor", None)) or _awaits(target, "commit"):
        raise _not_ours(
            target,
            "Pass a URL, a DuckDB connection, a SparkSession, a SQLAlchemy engine, or a "
            "synchronous DB-API connection.",
        )
    dialect = dialect or dialect_of(target)
    if dialect is None:
        raise _not_ours(
            target, "Say its dialect, as in kanon.connect(connection, dialect='snowflake')."
        )
    return engine_of(target, dialect)


def _of_own_client(target: Any) -> Engine | None:
    """The engine that knows a client of no common kind, if there is one."""
    engine: Engine | None = None
    if _is_of("pyspark", target):
        engine = _found("spark")(target)
    elif _is_of("clickhouse_connect", target):
        # Its connection of DB-API 2.0 is around a client.
        engine = _found("clickhouse")(getattr(target, "client", target))
    elif _is_of("chdb", target):
        engine = _found("clickhouse").of_session(target)
    return engine


def _of_pool(pool: Any, dialect: str) -> Engine:
    """What a SQLAlchemy engine lends, given back in the end."""
    from kanon_sql.engines.servers import engine_of

    try:
        lent = pool.raw_connection()
    except Exception as error:
        raise EngineError(
            f"the SQLAlchemy engine can't connect ({type(error).__name__}). Its message is "
            "withheld, as it may repeat a password."
        ) from None
    connection = getattr(lent, "driver_connection", None)
    if connection is None or _awaits(connection, "commit") or inspect.isawaitable(lent):
        raise _not_ours(pool, "It must be a synchronous one, of SQLAlchemy 2.")
    try:
        return engine_of(connection, dialect, let_go=lent.close)
    except BaseException:
        lent.close()
        raise


def _is_of(package: str, target: Any) -> bool:
    """Whether an object is of a package, told by its name: nothing is imported to find out."""
    names = {each.__module__.partition(".")[0].lstrip("_") for each in type(target).__mro__}
    return package in names


def _awaits(target: Any, method: str) -> bool:
    return inspect.iscoroutinefunction(getattr(target, method, None))


def _not_ours(target: Any, instead: str) -> SpecError:
    kind = type(target)
    return SpecError(f"can't ask a {kind.__module__}.{kind.__qualname__}. {instead}")
