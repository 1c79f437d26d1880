"""The servers queried through DB-API drivers: how each connects, is set up and cancelled.

The tests execute Postgres, SQLite and MariaDB, which have files of their own, and DuckDB; the
others follow the documentation of database and driver. A driver is imported only when a URL needs
it, never to inspect an object.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from kanon_sql.engines.dbapi import DBAPI, known
from kanon_sql.engines.mysql import MariaDB, MySQL
from kanon_sql.engines.names import name_parts
from kanon_sql.engines.postgres import Postgres
from kanon_sql.engines.sqlite import SQLite
from kanon_sql.engines.urls import Url
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Table


class Snowflake(DBAPI):
    """Queries Snowflake, whose sessions run several statements at once."""

    name = dialect = "snowflake"
    title = "Snowflake"
    driver = "snowflake.connector"
    packages = ("snowflake",)
    session = (
        "alter session set timezone = 'UTC'",
        "alter session set date_output_format = 'YYYY-MM-DD'",
        "alter session set query_tag = 'kanon-sql'",
    )
    limited_by = "alter session set statement_timeout_in_seconds = {seconds}"
    session_number = "current_session()"
    stopped_by = "system$cancel_all_queries({session})"
    tells_collations = True

    @staticmethod
    def _connected(package: Any, url: Url) -> Any:
        url.with_path("snowflake://user:password@account/database/schema?warehouse=…", 1, 2)
        options = ("warehouse", "role", "authenticator", "private_key_file", "private_key_file_pwd")
        url.with_options(*options)
        return package.connect(
            account=url.host,
            database=url.path[0],
            **known(user=url.user, password=url.password, schema=_part(url, 1)),
            **url.options,
        )

    def _stop_session(self) -> None:
        self._connection.cursor().execute(self._stop())

    def _own_name(self, name: str) -> str:
        """Restore lower-case names, which Snowflake folds to upper case."""
        return name.lower() if name.startswith("KANON_") else name


class BigQuery(DBAPI):
    """Queries BigQuery, whose driver can't cancel.

    Each dataset has its own catalogue, so table names include the dataset unless the connection has
    a default one.
    """

    name = dialect = "bigquery"
    title = "BigQuery"
    driver = "google.cloud.bigquery.dbapi"
    packages = ("google",)
    also_called = ("google bigquery",)
    explains = False
    tells_digits = False
    tells_collations = True
    _dataset: tuple[str, ...] = ()

    @staticmethod
    def _connected(package: Any, url: Url) -> Any:
        url.with_path("bigquery://project/dataset", 0, 1).with_options("location")
        bigquery = import_module("google.cloud.bigquery")
        dataset = _part(url, 0)
        usual = bigquery.QueryJobConfig(
            **known(default_dataset=f"{url.host}.{dataset}" if dataset else None)
        )
        client = bigquery.Client(project=url.host, default_query_job_config=usual, **url.options)
        return package.connect(client)

    def table(self, target: Any) -> Table:
        self._dataset = name_parts(target)[:-1] if isinstance(target, str) else ()
        return super().table(target)

    def _read_as(self, found: tuple[str, ...]) -> tuple[str, ...]:
        return (*self._dataset[:-1], *super()._read_as(found))

    def _called(self, target: str, found: tuple[str, ...]) -> str:
        """A table's display name, without the dataset, which the catalogue implies."""
        return found[-1]

    @property
    def _catalogue(self) -> str:
        return ".".join([*map(identifier, self._dataset), super()._catalogue])

    def _place(self) -> tuple[str, str]:
        return "", self._dataset[-1] if self._dataset else ""


class Trino(DBAPI):
    """Queries Trino, whose cursor can cancel its statement."""

    name = dialect = "trino"
    title = "Trino"
    driver = "trino.dbapi"
    packages = ("trino",)
    limited_by = "set session query_max_execution_time = '{seconds}s'"
    place = ("current_catalog", "current_schema")
    tells_digits = False

    @staticmethod
    def _connected(package: Any, url: Url) -> Any:
        url.with_path("trino://user:password@host:port/catalog/schema", 1, 2)
        url.with_options("http_scheme")
        secure = url.password is not None or url.port == 443
        scheme = url.option("http_scheme") or ("https" if secure else "http")
        signed_in = (
            {"auth": import_module("trino.auth").BasicAuthentication(url.user, url.password)}
            if url.password is not None
            else {}
        )
        return package.connect(
            host=url.host,
            port=url.port or (443 if scheme == "https" else 8080),
            user=url.user,
            catalog=url.path[0],
            http_scheme=scheme,
            source="kanon-sql",
            timezone="UTC",
            **known(schema=_part(url, 1)),
            **signed_in,
        )


class Databricks(DBAPI):
    """Queries a Databricks SQL warehouse, whose cursor can cancel its statement."""

    name = dialect = "databricks"
    title = "Databricks"
    driver = "databricks.sql"
    packages = ("databricks",)
    also_called = ("databricks sql", "spark sql")
    session = ("set time zone 'UTC'", "set ansi_mode = true")
    limited_by = "set statement_timeout = {seconds}"
    place = ("current_catalog()", "current_schema()")
    whole_type = "FULL_DATA_TYPE"

    @staticmethod
    def _connected(package: Any, url: Url) -> Any:
        url.with_path("databricks://token:…@host/catalog/schema?http_path=…", 0, 2)
        url.with_options("http_path")
        return package.connect(
            server_hostname=url.host,
            **known(
                http_path=url.option("http_path"),
                access_token=url.password,
                catalog=_part(url, 0),
                schema=_part(url, 1),
            ),
        )


class Redshift(DBAPI):
    """Queries Redshift.

    A cancelled query may outlive its transaction, so the session is terminated.
    """

    name = dialect = "redshift"
    title = "Redshift"
    driver = "redshift_connector"
    packages = ("redshift_connector",)
    also_called = ("amazon redshift",)
    session = ("set timezone to 'UTC'", "set datestyle to 'ISO, YMD'")
    transaction = ("begin read only",)
    limited_by = "set statement_timeout to {milliseconds}"
    session_number = "pg_backend_pid()"
    stopped_by = "pg_terminate_backend({session})"
    _ended = False

    @staticmethod
    def _connected(package: Any, url: Url) -> Any:
        url.with_path("redshift://user:password@host:5439/database", 1, 1).with_options("sslmode")
        connection = package.connect(
            host=url.host,
            port=url.port or 5439,
            database=url.path[0],
            **known(user=url.user, password=url.password),
            **url.options,
        )
        connection.autocommit = True
        return connection

    def _stop_session(self) -> None:
        self._ended = True
        super()._stop_session()

    def renew(self) -> None:
        """End the transaction, and reconnect if the session was terminated."""
        super().renew()
        if self._ended and self._again is not None:
            self._ended = False
            # If that fails, the next statement raises.
            with suppress(Exception):
                ended, self._connection = self._connection, self._again()
                with suppress(Exception):
                    ended.close()
                self._set_up()

    def close(self) -> None:
        self._ended = False
        super().close()


class SQLServer(DBAPI):
    """Queries SQL Server, whose driver can't cancel."""

    name = "mssql"
    dialect = "tsql"
    title = "SQL Server"
    driver = "mssql_python"
    packages = ("mssql_python", "pymssql")
    also_called = ("mssql", "microsoft sql server")
    session = ("set ansi_nulls on", "set quoted_identifier on", "set language us_english")
    explains = False
    place = ("db_name()", "schema_name()")
    tells_collations = True
    never_trusted = (
        "SQL Server takes 'a' and 'a ' for one text, whatever the collation, so classes would look "
        "larger than they are. Its SQL can be written to be read and run by hand: kanon-sql "
        "compile --dialect tsql."
    )

    @staticmethod
    def _connected(package: Any, url: Url) -> Any:
        url.with_path("mssql://user:password@host:1433/database", 1, 1)
        url.with_options("encrypt", "trust_server_certificate", "authentication")
        parts = {
            "Server": f"tcp:{url.host},{url.port or 1433}",
            "Database": url.path[0],
            "ApplicationIntent": "ReadOnly",
            "Encrypt": url.option("encrypt") or "yes",
            "TrustServerCertificate": url.option("trust_server_certificate"),
            "Authentication": url.option("authentication"),
            "UID": url.user,
            "PWD": url.password,
        }
        said = (f"{name}={_braced(value)}" for name, value in known(**parts).items())
        return package.connect(";".join(said))


class DuckDB(DBAPI):
    """Queries DuckDB through a driver other than its own, such as ADBC's."""

    name = dialect = "duckdb"
    title = "DuckDB"
    transaction = ("begin transaction read only",)


SERVERS: Sequence[type[DBAPI]] = (
    *(Postgres, Snowflake, BigQuery, Trino, Databricks, Redshift, SQLServer, MySQL, MariaDB),
    *(SQLite, DuckDB),
)


def engine_of(connection: Any, dialect: str, let_go: Any = None) -> DBAPI:
    """The engine for a user's connection to a server of this dialect."""
    for each in SERVERS:
        if each.dialect == dialect:
            return each.of_server(connection)(connection, let_go=let_go)
    return DBAPI(connection, dialect=dialect, let_go=let_go)


def dialect_of(connection: Any) -> str | None:
    """The dialect of a connection, as far as it or its package reveals."""
    package = type(connection).__module__.partition(".")[0]
    for each in SERVERS:
        if package in each.packages:
            return each.dialect
    try:
        if hasattr(connection, "adbc_get_info"):
            return dialect_of_server(connection.adbc_get_info()["vendor_name"])
        if package == "pyodbc":
            return dialect_of_server(connection.getinfo(_NAME_OF_THE_SERVER))
    except Exception:
        # An undetectable dialect is not an error.
        return None
    return None


_NAME_OF_THE_SERVER = 17
"""ODBC's SQL_DBMS_NAME."""


def dialect_of_server(name: str) -> str:
    """The dialect of a server by its name in SQLAlchemy, ADBC or ODBC.

    >>> dialect_of_server("PostgreSQL"), dialect_of_server("Snowflake")
    ('postgres', 'snowflake')
    """
    name = name.casefold()
    return next((each.dialect for each in SERVERS if name in each.also_called), name)


def _part(url: Url, place: int) -> str | None:
    return url.path[place] if place < len(url.path) else None


def _braced(value: str) -> str:
    """A value of a connection string, with closing braces escaped.

    >>> _braced("a;b}c")
    '{a;b}}c}'
    """
    return "{" + value.replace("}", "}}") + "}"
