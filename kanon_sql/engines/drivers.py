"""The drivers of other databases: how each is connected to by URL, and whose connection an object
is. A driver is imported when a URL asks for it, and never to look at an object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kanon_sql.engines.urls import Url, said_of, url_of
from kanon_sql.errors import EngineError, KanonError, MissingDriverError

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Driver:
    """A database by what its URLs begin with."""

    title: str
    dialect: str
    package: str
    connected: Callable[[Any, Url], Any]
    """The connection, made with the imported package."""

    def connect(self, text: str) -> Any:
        """A connection to what the URL says.

        Raises `SpecError`, `MissingDriverError` or `EngineError`, none of which holds a secret.
        """
        url = url_of(text)
        package = self._imported(url.scheme)
        try:
            return self.connected(package, url)
        except KanonError:
            raise
        except Exception as error:
            raise EngineError(
                f"{self.title} can't be reached: {said_of(error, url.secrets)}"
            ) from None

    def _imported(self, extra: str) -> Any:
        try:
            return import_module(self.package)
        except ImportError:
            raise MissingDriverError(
                f"{self.title} needs {self.package}. Install it: pip install 'kanon-sql[{extra}]'"
            ) from None


def _known(**parameters: Any) -> Parameters:
    """What is known of the parameters; a driver finds the others in its own configuration."""
    return {name: value for name, value in parameters.items() if value is not None}


def _part(url: Url, place: int) -> str | None:
    return url.path[place] if place < len(url.path) else None


def _snowflake(package: Any, url: Url) -> Any:
    url.with_path("snowflake://user:password@account/database/schema?warehouse=…", 1, 2)
    options = ("warehouse", "role", "authenticator", "private_key_file", "private_key_file_pwd")
    url.with_options(*options)
    return package.connect(
        account=url.host,
        database=url.path[0],
        **_known(user=url.user, password=url.password, schema=_part(url, 1)),
        **url.options,
    )


def _bigquery(package: Any, url: Url) -> Any:
    url.with_path("bigquery://project/dataset", 0, 1).with_options("location")
    bigquery = import_module("google.cloud.bigquery")
    dataset = _part(url, 0)
    usual = bigquery.QueryJobConfig(
        **_known(default_dataset=f"{url.host}.{dataset}" if dataset else None)
    )
    client = bigquery.Client(project=url.host, default_query_job_config=usual, **url.options)
    return package.connect(client)


def _trino(package: Any, url: Url) -> Any:
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
        **_known(schema=_part(url, 1)),
        **signed_in,
    )


def _databricks(package: Any, url: Url) -> Any:
    url.with_path("databricks://token:…@host/catalog/schema?http_path=…", 0, 2)
    url.with_options("http_path")
    return package.connect(
        server_hostname=url.host,
        **_known(
            http_path=url.option("http_path"),
            access_token=url.password,
            catalog=_part(url, 0),
            schema=_part(url, 1),
        ),
    )


def _redshift(package: Any, url: Url) -> Any:
    url.with_path("redshift://user:password@host:5439/database", 1, 1).with_options("sslmode")
    connection = package.connect(
        host=url.host,
        port=url.port or 5439,
        database=url.path[0],
        **_known(user=url.user, password=url.password),
        **url.options,
    )
    connection.autocommit = True
    return connection


def _mssql(package: Any, url: Url) -> Any:
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
    return package.connect(
        ";".join(f"{name}={_braced(value)}" for name, value in parts.items() if value is not None)
    )


def _braced(value: str) -> str:
    """A value of a connection string, in which a brace is written twice.

    >>> _braced("a;b}c")
    '{a;b}}c}'
    """
    return "{" + value.replace("}", "}}") + "}"


def _mysql(package: Any, url: Url) -> Any:
    url.with_path("mysql://user:password@host:3306/database", 1, 1).with_options()
    return package.connect(
        host=url.host,
        port=url.port or 3306,
        database=url.path[0],
        charset="utf8mb4",
        **_known(user=url.user, password=url.password),
    )


DRIVERS = {
    "snowflake": Driver("Snowflake", "snowflake", "snowflake.connector", _snowflake),
    "bigquery": Driver("BigQuery", "bigquery", "google.cloud.bigquery.dbapi", _bigquery),
    "trino": Driver("Trino", "trino", "trino.dbapi", _trino),
    "databricks": Driver("Databricks", "databricks", "databricks.sql", _databricks),
    "redshift": Driver("Redshift", "redshift", "redshift_connector", _redshift),
    "mssql": Driver("SQL Server", "tsql", "mssql_python", _mssql),
    "mysql": Driver("MySQL", "mysql", "pymysql", _mysql),
}
"""By the scheme of a URL, which is the name of the extra too. Not one of them was executed against
a server by the tests of this package, which have none."""

DIALECTS_OF_PACKAGES = {
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "pg8000": "postgres",
    "sqlite3": "sqlite",
    "snowflake": "snowflake",
    "google": "bigquery",
    "trino": "trino",
    "databricks": "databricks",
    "redshift_connector": "redshift",
    "pymysql": "mysql",
    "mysql": "mysql",
    "MySQLdb": "mysql",
    "mssql_python": "tsql",
    "pymssql": "tsql",
    "duckdb": "duckdb",
    "_duckdb": "duckdb",
    "clickhouse_connect": "clickhouse",
    "clickhouse_driver": "clickhouse",
    "chdb": "clickhouse",
}
"""Whose dialect the connections of a package speak, by its first name."""

DIALECTS_OF_SERVERS = {
    "postgresql": "postgres",
    "mssql": "tsql",
    "microsoft sql server": "tsql",
    "mariadb": "mysql",
    "databricks sql": "databricks",
    "spark sql": "databricks",
    "amazon redshift": "redshift",
    "google bigquery": "bigquery",
}
"""What a driver calls some servers, in lower case; it calls the others as their dialect."""

_NAME_OF_THE_SERVER = 17
"""What ODBC calls SQL_DBMS_NAME."""


def dialect_of(connection: Any) -> str | None:
    """The dialect that a connection speaks, as far as it or its package tells."""
    package = type(connection).__module__.partition(".")[0]
    if package in DIALECTS_OF_PACKAGES:
        return DIALECTS_OF_PACKAGES[package]
    try:
        if hasattr(connection, "adbc_get_info"):
            return dialect_of_server(connection.adbc_get_info()["vendor_name"])
        if package == "pyodbc":
            return dialect_of_server(connection.getinfo(_NAME_OF_THE_SERVER))
    except Exception:
        # It does not tell, and is asked no further.
        return None
    return None


def dialect_of_server(name: str) -> str:
    """The dialect of a server as SQLAlchemy, ADBC or ODBC call it.

    >>> dialect_of_server("PostgreSQL"), dialect_of_server("Snowflake")
    ('postgres', 'snowflake')
    """
    name = name.casefold()
    return DIALECTS_OF_SERVERS.get(name, name)
