"""The database engines, of which `connect` returns the one for a URL or an open connection.

To add one:

1. its class, modelled on those in `servers` (a server with DB-API 2.0, listed in `SERVERS` there),
   on `postgres` if it needs more, or on `spark`; its capabilities are class attributes;
2. its URL scheme, in `SCHEMES` below and in the docstring of `connect`;
3. its dialect: a line in `sql/dialects/traits`, a file of its name beside it for what sqlglot
   transpiles wrongly (or the dialect that it is like), and in `tests/sql/test_dialects.LACKING`
   what the database lacks;
4. its driver, or its SQLAlchemy dialect, as an extra in `pyproject.toml`;
5. if the tests can start it, how, in `tests/support/warehouses.ENGINES`: the conformance tests then
   run against it; else a URL in `tests/engines/test_connect.URLS`, answered by a stand-in dialect;
6. its name in `report/pages/warehouses.md`, with how to connect and what was executed.

`tests/test_house` reports what is missing. `tests/sql/test_dialects` writes the golden SQL under
KANON_SQL_UPDATE_GOLDEN=1, also for a dialect whose RULES are empty. Driver-specific error codes
go into `failures`; semantics that would make an audit wrong are tested by `semantics_check` and
`templates/warehouses/canaries.sql`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from kanon_sql.engines.base import Engine
from kanon_sql.engines.readers import TextOptions
from kanon_sql.errors import EngineError, KanonError, SpecError, did_you_mean
from kanon_sql.files import Decimal, file_of_url, is_sqlite
from kanon_sql.question.arguments import column_list, suggests_parameters
from kanon_sql.question.date_formats import Dates
from kanon_sql.question.figures import FigureOptions

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
    "mysql": ("servers", "MySQL"),
    "mariadb": ("servers", "MySQL"),
    "sqlite": ("sqlite", "SQLite"),
}
"""Module and class of each URL scheme's engine."""


_DATABASE_FILES = (".duckdb", ".ddb", ".db")


@suggests_parameters
def connect(
    target: Any = None,
    *,
    dialect: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    delimiter: str | None = None,
    null_strings: Sequence[str] = (),
    header: bool | Mapping[str, bool] | None = None,
    decimal: Decimal = ".",
    marks: Sequence[str] = (),
    encoding: str | Mapping[str, str] | None = None,
    skip: int | Mapping[str, int] = 0,
    dates: Mapping[str | int, Dates] | None = None,
    figures: FigureOptions | None = None,
) -> Engine:
    """The engine for a URL, for an open connection, or without either for files.

    A URL is `duckdb:FILE` or `duckdb:///FILE`, `sqlite:FILE` or `sqlite:///FILE`, `postgresql://…`,
    `clickhouse://…`, `chdb:FOLDER`, `spark:local[2]`, `spark://…`, `sc://…` (Spark Connect),
    `snowflake://…`, `bigquery://…`, `redshift://…`, `databricks://…`, `trino://…`, `mysql://…` or
    `mariadb://…`. The last seven are opened by SQLAlchemy, with the options of its dialects. A
    password may be `env:NAME`, for what that environment variable holds.

    A connection is one of DuckDB, a SparkSession, a SQLAlchemy engine or connection, or one of any
    DB-API 2.0 driver, ADBC included; `dialect` names the database's dialect where the driver
    doesn't expose it. The connection must be outside a transaction; it stays open and keeps its
    settings. An `Engine` is returned as is.

    A file of DuckDB or SQLite is opened read-only. `memory_limit` and `threads` bound the DuckDB
    that is started here; `delimiter`, `null_strings` and `decimal` say how text files are read, and
    `header` whether their first line names the columns: of all, or of each by its path, as do
    `encoding` and `skip`, the number of lines above it. `dates` has the formats of dates, as in
    `{"people.csv": "dmy"}`, for the path of a file or the `id` of a data frame. `marks` of
    suppressed figures may stand among numbers with a decimal comma.

    Raises `SpecError` for any other target, `MissingDriverError` for a package that is not
    installed, `EngineError` for an unreachable database, and `InputError`, with the reason, for one
    whose semantics would make an audit wrong.

    >>> with connect() as engine:
    ...     engine.dialect
    'duckdb'
    """
    header, encoding, skip = header or None, encoding or None, skip or 0
    null_strings, marks = column_list("null_strings", null_strings), column_list("marks", marks)
    text = TextOptions(
        delimiter,
        tuple(null_strings),
        header,
        decimal,
        tuple(marks),
        encoding,
        skip,
        dates or {},
        figures,
    )
    scheme = _scheme(target) if isinstance(target, str) else None
    if scheme is not None and dialect is not None:
        raise SpecError(f"a URL implies the dialect: leave out dialect={dialect!r}.")
    if is_embedded(target):
        from kanon_sql.engines.duckdb.engine import DuckDBEngine

        where: dict[str, Any] = (
            {"database": file_of_url(target)} if scheme else {"connection": target}
        )
        return DuckDBEngine(
            **where,
            memory_limit=memory_limit,
            threads=threads,
            text=text,
        )
    if memory_limit is not None or threads is not None:
        raise SpecError(
            "a memory limit and a number of threads apply to the DuckDB that is started here; this "
            "database has its own settings. Set them there."
        )
    if text != TextOptions(marks=text.marks, figures=text.figures):
        raise SpecError(
            "a delimiter, an encoding, null strings, a header, skipped lines, decimals and date "
            "formats are for files, and this database reads none here. Leave them out."
        )
    if isinstance(target, Engine):
        return target
    return _checked_engine(_of_url(target, scheme) if scheme else _of_object(target, dialect))


def is_embedded(target: Any) -> bool:
    """Whether the target is run by the embedded DuckDB, which reads files besides its tables."""
    if isinstance(target, str):
        return target.startswith("duckdb:") and target != "duckdb:"
    return target is None or (_is_from_package("duckdb", target) and hasattr(target, "cursor"))


def writes_folders(target: Any) -> bool:
    """Whether the target is a cluster that writes folders."""
    if isinstance(target, str):
        return target.partition(":")[0] in ("spark", "sc")
    return _is_from_package("pyspark", target) or hasattr(target, "write_folder")


def contacts_server(target: Any) -> bool:
    """Whether connecting contacts a server that may never answer. Spark and chDB start within this
    process and thread, and SQLite is a file."""
    if not isinstance(target, str) or is_embedded(target):
        return False
    return target.partition(":")[0] not in ("spark", "sc", "chdb", "sqlite")


def _scheme(url: str) -> str:
    scheme, colon, address = url.partition(":")
    if not colon and is_sqlite(url):
        raise SpecError(f"a SQLite file is connected to as sqlite:{url}.")
    if not colon and url.lower().endswith(_DATABASE_FILES):
        raise SpecError(f"a DuckDB file is connected to as duckdb:{url}.")
    if not colon:
        raise SpecError(
            "a database is named by a URL, as in duckdb:clinic.duckdb or "
            f"postgresql://user@host/database. It begins with one of {_schemes()}."
        )
    if scheme == "mssql":
        from kanon_sql.engines.servers import SQL_SERVER

        raise SpecError(SQL_SERVER)
    if scheme not in SCHEMES or not (address or scheme in ("chdb", "spark")):
        raise SpecError(
            f"can't connect to {scheme}:…; a URL begins with one of {_schemes()}."
            f"{did_you_mean(scheme.partition('+')[0], SCHEMES) if scheme not in SCHEMES else ''}"
        )
    return scheme


def _schemes() -> str:
    return ", ".join(SCHEMES)


def _checked_engine(engine: Engine) -> Engine:
    """The engine, if it passes the semantics check; else it is closed and the error raised."""
    from kanon_sql.engines.semantic_checks import require_trustworthy

    try:
        require_trustworthy(engine)
        # Start the audit's snapshot with its own first query.
        engine.renew()
    except BaseException:
        engine.close()
        raise
    return engine


def _engine_class(scheme: str) -> Any:
    """Import the engine class of a scheme."""
    module, name = SCHEMES[scheme]
    return getattr(import_module(f"kanon_sql.engines.{module}"), name)


def _of_url(url: str, scheme: str) -> Engine:
    engine_class = _engine_class(scheme)
    opener = engine_class.of_folder if scheme == "chdb" else engine_class.of_url
    try:
        engine: Engine = opener(url.removeprefix("chdb:"))
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
    if _is_from_package("sqlalchemy", target) and hasattr(target, "dialect"):
        if _awaits(target, "execute") or target.in_transaction():
            raise _unsupported_target(target, "It must be synchronous, and in no transaction.")
        dialect = dialect or dialect_of_server(target.dialect.name)
        return engine_of(target.connection.driver_connection, dialect)
    if not callable(getattr(target, "cursor", None)) or _awaits(target, "commit"):
        raise _unsupported_target(
            target,
            "Pass a URL, a DuckDB connection, a SparkSession, a SQLAlchemy engine, or a "
            "synchronous DB-API connection.",
        )
    dialect = dialect or dialect_of(target)
    if dialect is None:
        raise _unsupported_target(
            target, "Name its dialect, as in kanon.connect(connection, dialect='snowflake')."
        )
    return engine_of(target, dialect)


def _of_own_client(target: Any) -> Engine | None:
    """The engine for a driver-specific client without DB-API, or None."""
    engine: Engine | None = None
    if _is_from_package("pyspark", target):
        engine = _engine_class("spark")(target)
    elif _is_from_package("clickhouse_connect", target):
        # Its DB-API 2.0 connection wraps a client.
        engine = _engine_class("clickhouse")(getattr(target, "client", target))
    elif _is_from_package("chdb", target):
        engine = _engine_class("clickhouse").of_session(target)
    return engine


def _of_pool(pool: Any, dialect: str) -> Engine:
    """The engine on a connection borrowed from a SQLAlchemy pool and returned on close."""
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
        raise _unsupported_target(pool, "It must be a synchronous one, of SQLAlchemy 2.")
    try:
        return engine_of(connection, dialect, on_close=lent.close)
    except BaseException:
        lent.close()
        raise


def _is_from_package(package: str, target: Any) -> bool:
    """Whether an object's class comes from a package, by module name, without importing it."""
    names = {cls.__module__.partition(".")[0].lstrip("_") for cls in type(target).__mro__}
    return package in names


def _awaits(target: Any, method: str) -> bool:
    return inspect.iscoroutinefunction(getattr(target, method, None))


def _unsupported_target(target: Any, instead: str) -> SpecError:
    target_type = type(target)
    return SpecError(
        f"can't query a {target_type.__module__}.{target_type.__qualname__}. {instead}"
    )
