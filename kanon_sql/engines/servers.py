"""The servers queried through DB-API drivers: how each connects, is set up and cancelled.

The tests execute Postgres, SQLite and MariaDB, which have files of their own, and DuckDB; the
others follow the documentation of database and driver. SQLAlchemy opens their URLs. It and a driver
are imported only when a URL needs them, never to inspect an object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.engines.mysql import MariaDB, MySQL
from kanon_sql.engines.names import Url, name_parts
from kanon_sql.engines.postgres import Postgres
from kanon_sql.engines.sqlite import SQLite
from kanon_sql.errors import SpecError, option
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Table

_KEY_FILE = ("private_key_file", "private_key_file_pwd")


class Snowflake(DBAPI):
    """Queries Snowflake, whose sessions run several statements at once."""

    name = dialect = "snowflake"
    title = "Snowflake"
    driver = "snowflake-sqlalchemy"
    sqlalchemy_name = "snowflake"
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

    @classmethod
    def _driver_arguments(cls, url: Url) -> dict[str, Any]:
        """The dialect turns autocommit off, and refuses private keys in a URL."""
        keys = {each: url.options[each] for each in _KEY_FILE if each in url.options}
        return {"autocommit": True, **keys}

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
    driver = "sqlalchemy-bigquery"
    sqlalchemy_name = "bigquery"
    packages = ("google",)
    also_called = ("google bigquery",)
    explains = False
    tells_digits = False
    tells_collations = True
    _dataset: tuple[str, ...] = ()

    def table(self, target: Any) -> Table:
        self._dataset = name_parts(target)[:-1] if isinstance(target, str) else ()
        return super().table(target)

    def _read_as(self, found: tuple[str, ...]) -> tuple[str, ...]:
        return (*self._dataset[:-1], *super()._read_as(found))

    def _display_name(self, target: str, found: tuple[str, ...]) -> str:
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
    driver = "trino"
    sqlalchemy_name = "trino"
    packages = ("trino",)
    limited_by = "set session query_max_execution_time = '{seconds}s'"
    place = ("current_catalog", "current_schema")
    tells_digits = False

    @classmethod
    def _driver_arguments(cls, url: Url) -> dict[str, Any]:
        """A password or a token goes over HTTPS on any port; 443 is HTTPS to the driver."""
        signed_in = url.password is not None or "access_token" in url.options
        scheme = url.options.get("http_scheme") or ("https" if signed_in else None)
        return {"source": "kanon-sql", "timezone": "UTC"} | (
            {"http_scheme": scheme} if scheme else {}
        )


class Databricks(DBAPI):
    """Queries a Databricks SQL warehouse, whose cursor can cancel its statement."""

    name = dialect = "databricks"
    title = "Databricks"
    driver = "databricks-sqlalchemy"
    sqlalchemy_name = "databricks"
    packages = ("databricks",)
    also_called = ("databricks sql", "spark sql")
    session = ("set time zone 'UTC'", "set ansi_mode = true")
    limited_by = "set statement_timeout = {seconds}"
    place = ("current_catalog()", "current_schema()")
    whole_type = "FULL_DATA_TYPE"

    @classmethod
    def _driver_arguments(cls, url: Url) -> dict[str, Any]:
        """None. The dialect ignores a path, so one is refused."""
        if url.path:
            raise SpecError(
                "a databricks URL names catalog and schema as options: "
                "databricks://token:…@host?http_path=…&catalog=…&schema=…."
            )
        return {}


class Redshift(DBAPI):
    """Queries Redshift.

    A cancelled query may outlive its transaction, so the session is terminated.
    """

    name = dialect = "redshift"
    title = "Redshift"
    driver = "sqlalchemy-redshift"
    sqlalchemy_name = "redshift+redshift_connector"
    packages = ("redshift_connector",)
    also_called = ("amazon redshift",)
    session = ("set timezone to 'UTC'", "set datestyle to 'ISO, YMD'")
    transaction = ("begin read only",)
    limited_by = "set statement_timeout to {milliseconds}"
    session_number = "pg_backend_pid()"
    stopped_by = "pg_terminate_backend({session})"
    _ended = False

    @classmethod
    def _opener(cls, url: Url) -> Callable[[], Any]:
        opener = super()._opener(url)

        def opened() -> Any:
            connection = opener()
            connection.autocommit = True
            return connection

        return opened

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


SQL_SERVER = (
    "SQL Server takes 'a' and 'a ' for one text, whatever the collation, so classes would look "
    "larger than they are. Its SQL can be written to be read and run by hand: compile with "
    f"{option('dialect', 'tsql')}."
)
"""Why nothing is queried on SQL Server."""
_OF_SQL_SERVER = ("mssql", "tsql", "microsoft sql server", "mssql_python", "pymssql")
"""The names of the server, and of packages that connect to no other."""


class DuckDB(DBAPI):
    """Queries DuckDB through a driver other than its own, such as ADBC's."""

    name = dialect = "duckdb"
    title = "DuckDB"
    transaction = ("begin transaction read only",)


SERVERS: Sequence[type[DBAPI]] = (
    *(Postgres, Snowflake, BigQuery, Trino, Databricks, Redshift, MySQL, MariaDB),
    *(SQLite, DuckDB),
)


def engine_of(connection: Any, dialect: str, let_go: Any = None) -> DBAPI:
    """The engine for a user's connection to a server of this dialect.

    Raises `SpecError` for SQL Server.
    """
    if dialect in _OF_SQL_SERVER:
        raise SpecError(SQL_SERVER)
    for each in SERVERS:
        if each.dialect == dialect:
            return each.of_server(connection)(connection, let_go=let_go)
    return DBAPI(connection, dialect=dialect, let_go=let_go)


def dialect_of(connection: Any) -> str | None:
    """The dialect of a connection, as far as it or its package reveals."""
    package = type(connection).__module__.partition(".")[0]
    if package in _OF_SQL_SERVER:
        return package
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
