"""The datasets of a question by their names in OpenLineage, with the checks' own statements."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from kanon_sql.auditing.check_statement import check_statement
from kanon_sql.auditing.result import AuditResult
from kanon_sql.engines.base import Engine
from kanon_sql.engines.names import url_of
from kanon_sql.errors import SpecError
from kanon_sql.files import file_of_url, path_of_url, stem
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import Dataset, Lineage, TableResult, today
from kanon_sql.results.version import VERSION
from kanon_sql.sql.redaction import without_texts
from kanon_sql.sql.tables import Table

IN_MEMORY = "inmemory://"
NAMESPACES = {
    "postgresql": ("postgres", 5432),
    "postgres": ("postgres", 5432),
    "mysql": ("mysql", 3306),
    "mariadb": ("mysql", 3306),
    "trino": ("trino", 8080),
    "redshift": ("redshift", 5439),
    "clickhouse": ("clickhouse", 8123),
    "databricks": ("databricks", 443),
    "spark": ("spark", 7077),
    "sc": ("sc", 15002),
}
"""OpenLineage's scheme and the default port, by the scheme of a URL."""
_OF_DATABASES = ("mysql", "mariadb", "clickhouse")
"""Servers whose tables have a database, and no schema in it."""


def lineage(
    question: ResolvedQuestion,
    engine: Engine,
    connected: Any,
    seconds: Sequence[ResolvedQuestion] = (),
) -> Lineage:
    """The datasets and statements of a question; `connected` is what its engine was opened with,
    `seconds` are the tables that a published one is compared with."""
    where = connected if connected is not None else question.spec.connect
    own = _named(dataset(question.spec.source, where, question.table), question.spec)
    others = [dataset(other.spec.source, where, other.table) for other in question.others]
    others += [dataset(question.spec.source, where, question.table) for question in seconds]
    return Lineage(
        (own, *others),
        tuple(_statement(question, check, engine) for check in question.checks),
        _version(engine),
    )


def _named(own: Dataset, spec: TableSpec) -> Dataset:
    """A dataset under the name that the spec gives it."""
    return Dataset(spec.lineage.namespace or own.namespace, spec.lineage.name or own.name)


def result_unopened(tables: Sequence[TableSpec | PublishedSpec], error: str) -> AuditResult:
    """The result of tables of which one could not be opened, so that none was audited."""
    return AuditResult(tuple(_unopened(table, error) for table in tables), VERSION, audited=today())


def _unopened(table: TableSpec | PublishedSpec, error: str) -> TableResult:
    source, where = str(table.source), table.connect
    own = dataset(source, where, Table(source, "", (), embedded=where is None))
    kind: type[TableResult] = CellsResult
    if isinstance(table, TableSpec):
        own, kind = _named(own, table), TableResult
    return kind(
        name=table.name or (source if where else os.path.basename(path_of_url(source))),
        engine="",
        status="error",
        quasi_identifiers=(),
        error=error,
        lineage=Lineage((own,), ()),
    )


def _statement(question: ResolvedQuestion, check: BoundCheck, engine: Engine) -> str | None:
    """The check's own statement in the engine's dialect; None where it would hold texts of a
    hierarchy file, which are values of the data."""
    statement = check_statement(question, check)
    if statement is None:
        return None
    statement.check()
    withheld = frozenset() if question.facts.show_values else question.hierarchy_texts
    sql = engine.in_dialect(statement.sql)
    return sql if without_texts(sql, engine.dialect, withheld) == sql else None


def _version(engine: Engine) -> str | None:
    if engine.name == "sqlite":
        return sqlite3.sqlite_version
    return version("duckdb") if engine.name == "duckdb" else None


def dataset(source: Any, where: Any, table: Table) -> Dataset:
    """A table's dataset: of a file, a database's table, or data in memory."""
    if not isinstance(source, str | os.PathLike):
        return Dataset(IN_MEMORY, table.name)
    if table.embedded and (where is None or not table.sql.startswith('"')):
        return _file_dataset(os.fspath(source))
    if not isinstance(where, str):
        return Dataset(IN_MEMORY, table.name)
    scheme, _, rest = where.partition(":")
    name_parts = identifiers(table) or [str(source)]
    if scheme in ("duckdb", "sqlite", "chdb"):
        return _database_file_dataset(scheme, rest, name_parts)
    return Dataset(*_server_dataset(where, scheme, name_parts))


def identifiers(table: Table) -> list[str]:
    """The identifiers in a table's name in its database; none for a file."""
    quoted = re.findall(r'"((?:[^"]|"")*)"', table.sql)
    return [name.replace('""', '"') for name in quoted]


def _file_dataset(path: str) -> Dataset:
    """A local file by its absolute path, or an object in a bucket by its key.

    >>> _file_dataset("s3://clinic/2025/patients.parquet?versionId=3")
    Dataset(namespace='s3://clinic', name='2025/patients.parquet')
    """
    if not re.match(r"[a-z][a-z0-9+.-]+://", path, re.IGNORECASE):
        return Dataset("file", os.path.abspath(os.path.expanduser(path)))
    url = urlsplit(path)
    if url.scheme == "file":
        return Dataset("file", url.path)
    host = url.netloc.rpartition("@")[2]
    return Dataset(f"{url.scheme}://{host}", url.path.lstrip("/"))


def _database_file_dataset(scheme: str, rest: str, name_parts: list[str]) -> Dataset:
    path = (file_of_url(f"{scheme}:{rest}") or rest.removeprefix("//")).partition("?")[0]
    if not path or path == ":memory:":
        return Dataset(IN_MEMORY, ".".join(name_parts))
    database = os.path.splitext(os.path.basename(stem(path)))[0]
    names = [database, *name_parts] if scheme == "duckdb" and len(name_parts) < 3 else name_parts
    return Dataset(f"{scheme}://{os.path.abspath(path)}", ".".join(names))


def _server_dataset(where: str, scheme: str, name_parts: list[str]) -> Iterator[str]:
    """The namespace of a server, and the table's qualified name there."""
    try:
        url = url_of(where)
    except SpecError:  # spark:local[2]
        yield scheme
        yield ".".join(name_parts)
        return
    if scheme == "bigquery":
        yield "bigquery"
        outer = [url.host, *url.path]
    elif scheme == "snowflake":
        yield f"snowflake://{url.host}"
        outer = list(url.path)
    else:
        name, port = NAMESPACES[scheme]
        yield f"{name}://{url.host}:{url.port or port}"
        outer = [*url.path, *(url.options[key] for key in ("catalog",) if key in url.options)]
    lacking = (2 if scheme in _OF_DATABASES else 3) - len(name_parts)
    yield ".".join([*outer[: max(lacking, 0)], *name_parts])
