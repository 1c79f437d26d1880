"""The servers queried through DB-API drivers.

The tests execute MariaDB and DuckDB, and Postgres and SQLite, which have files of their own; the
others follow the documentation of database and driver. SQLAlchemy opens their URLs. It and a driver
are imported only when a URL needs them, never to inspect an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.engines.names import Url, name_parts
from kanon_sql.engines.postgres import Postgres
from kanon_sql.engines.sqlite import SQLite
from kanon_sql.errors import SpecError, option
from kanon_sql.sql.dialects import translated
from kanon_sql.sql.dialects.traits import BLANK_FIRST
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table

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
    has_collations = True

    @classmethod
    def _driver_arguments(cls, url: Url) -> dict[str, Any]:
        """The dialect turns autocommit off, and refuses private keys in a URL."""
        keys = {key: url.options[key] for key in _KEY_FILE if key in url.options}
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
    aliases = ("google bigquery",)
    explains = False
    has_precision = False
    has_collations = True
    _dataset: tuple[str, ...] = ()

    def table(self, target: Any) -> Table:
        self._dataset = name_parts(target)[:-1] if isinstance(target, str) else ()
        return super().table(target)

    def _read_as(self, qualified_name: tuple[str, ...]) -> tuple[str, ...]:
        return (*self._dataset[:-1], *super()._read_as(qualified_name))

    def _display_name(self, target: str, qualified_name: tuple[str, ...]) -> str:
        """A table's display name, without the dataset, which the catalogue implies."""
        return qualified_name[-1]

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
    has_precision = False

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
    aliases = ("databricks sql", "spark sql")
    session = ("set time zone 'UTC'", "set ansi_mode = true")
    limited_by = "set statement_timeout = {seconds}"
    place = ("current_catalog()", "current_schema()")
    full_type_column = "FULL_DATA_TYPE"

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
    aliases = ("amazon redshift",)
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
        if self._ended and self._open_connection is not None:
            self._ended = False
            # If that fails, the next statement raises.
            with suppress(Exception):
                ended, self._connection = self._connection, self._open_connection()
                with suppress(Exception):
                    ended.close()
                self._set_up()

    def close(self) -> None:
        self._ended = False
        super().close()


_NUMBER = re.compile(r"((?:tiny|small|medium|big)?int|float|double)\([\d,]+\)", re.IGNORECASE)


def _mysql_settings(bytewise: str) -> tuple[str, ...]:
    """Session settings.

    In other modes a backslash is literal, an ungrouped column is any of its values, or a joined
    text is truncated.
    """
    return (
        f"set names utf8mb4 collate {bytewise}",
        "set session sql_mode = 'only_full_group_by,strict_all_tables'",
        "set session group_concat_max_len = 1073741824",
        "set time_zone = '+00:00'",
        "set session transaction read only",
    )


def _own_limit(variable: str) -> str:
    """Store the server's own limit for this user in a session variable."""
    return f"set @kanon_own_limit = @@session.{variable}"


def _limited(variable: str, limit: str) -> str:
    """Set a statement timeout; the user's own limit takes precedence if stricter."""
    is_stricter = f"@kanon_own_limit > 0 and @kanon_own_limit < {limit}"
    return f"set session {variable} = if({is_stricter}, @kanon_own_limit, {limit})"


class MySQL(DBAPI):
    """Queries MySQL, from 8.0.17 on. Text is read under a collation that keeps all distinct values
    distinct."""

    name = dialect = "mysql"
    title = "MySQL"
    driver = "pymysql"
    sqlalchemy_name = "mysql+pymysql"
    packages: tuple[str, ...] = ("pymysql", "mysql", "MySQLdb")
    session = (*_mysql_settings("utf8mb4_0900_bin"), _own_limit("max_execution_time"))
    transaction = ("start transaction with consistent snapshot, read only",)
    limited_by = _limited("max_execution_time", "{milliseconds}")
    session_number = "connection_id()"
    place = ("'def'", "database()")
    full_type_column = "COLUMN_TYPE"
    has_collations = True

    @classmethod
    def of_server(cls, connection: Any) -> type[DBAPI]:
        """MariaDB's class if the server reports itself as such."""
        with suppress(Exception):
            if "mariadb" in str(connection.get_server_info()).casefold():
                return MariaDB
        return cls

    @classmethod
    def _driver_arguments(cls, url: Url) -> dict[str, Any]:
        return {"charset": "utf8mb4"}

    def table(self, target: Any) -> Table:
        """Resolve a table or view. Raises `InputError` unless the name is unique."""
        table = super().table(target)
        columns = tuple(self._with_actual_types(table))
        casts = {
            stored.name: "varchar" if stored.unusable_because else "double"
            for stored in columns
            if stored.unusable_because or stored.type == "FLOAT"
        }
        if casts:
            names = table.column_names
            listed = any(map(BLANK_FIRST.match, names))
            view = render(
                "mysql_view", relation=table.sql, columns=names, casts=casts, listed=listed
            )
            self._stand_ins[table.sql] = translated(view, self.dialect)
        return replace(table, columns=tuple(map(self._as_read, columns)))

    def _with_actual_types(self, table: Table) -> Iterator[Column]:
        """The columns with actual types: tinyint(1), declared boolean, may hold other integers."""
        flags = [column.name for column in table.columns if column.type == "BOOLEAN"]
        numbers = set()
        if flags:
            sql = render("mysql_flags", relation=table.sql, columns=flags)
            [are_flags] = self._fetch(translated(sql, self.dialect))[1]
            numbers = {name for name, is_flag in zip(flags, are_flags, strict=True) if not is_flag}
        for column in table.columns:
            yield replace(column, type="TINYINT") if column.name in numbers else column

    @staticmethod
    def _as_read(column: Column) -> Column:
        """A column of the stand-in view: text by bytes, floats in full precision."""
        return replace(
            column, unusable_because=None, type="DOUBLE" if column.type == "FLOAT" else column.type
        )

    def _described(self, rows: Sequence[Sequence[Any]]) -> Iterator[Column]:
        """The columns, without display widths in their types."""
        for name, type, *more in rows:
            cleaned_type = "boolean" if type == "tinyint(1)" else _NUMBER.sub(r"\1", str(type))
            yield from super()._described([(name, cleaned_type, *more)])

    def _cursor_of_batches(self) -> Any:
        """A server-side cursor."""
        if type(self._connection).__module__.partition(".")[0] != "pymysql":
            return super()._cursor_of_batches()
        return self._connection.cursor(import_module("pymysql.cursors").SSCursor)

    def _stop(self) -> str:
        return f"kill query {self._session}"


class MariaDB(MySQL):
    """Queries MariaDB, from 10.6 on."""

    name = dialect = "mariadb"
    nests_sets = False
    title = "MariaDB"
    packages = ()
    session = (*_mysql_settings("utf8mb4_nopad_bin"), _own_limit("max_statement_time"))
    limited_by = _limited("max_statement_time", "{milliseconds} / 1000")


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


def engine_of(connection: Any, dialect: str, on_close: Any = None) -> DBAPI:
    """The engine for a user's connection to a server of this dialect.

    Raises `SpecError` for SQL Server.
    """
    if dialect in _OF_SQL_SERVER:
        raise SpecError(SQL_SERVER)
    for server in SERVERS:
        if server.dialect == dialect:
            return server.of_server(connection)(connection, on_close=on_close)
    return DBAPI(connection, dialect=dialect, on_close=on_close)


def dialect_of(connection: Any) -> str | None:
    """The dialect of a connection, as far as it or its package reveals."""
    package = type(connection).__module__.partition(".")[0]
    if package in _OF_SQL_SERVER:
        return package
    for server in SERVERS:
        if package in server.packages:
            return server.dialect
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
    return next((server.dialect for server in SERVERS if name in server.aliases), name)
