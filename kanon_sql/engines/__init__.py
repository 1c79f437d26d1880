"""The databases that a question can be put to. `connect` finds the one that a URL means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kanon_sql.engines.base import Engine
from kanon_sql.errors import SpecError


def connect(
    target: Any = None,
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
    delimiter: str | None = None,
    null_strings: Sequence[str] = (),
) -> Engine:
    """The engine for `target`: nothing for files, `duckdb:FILE`, or an open DuckDB connection.

    A DuckDB file is attached read-only. An open connection is used as it is, through a cursor of
    its own. `delimiter` and `null_strings` say how text files are read.

    Raises `SpecError` for anything else.
    """
    from kanon_sql.engines.duckdb import DuckDBEngine

    database = connection = None
    if isinstance(target, str):
        scheme, _, path = target.partition(":")
        if scheme in ("postgresql", "postgres"):
            from kanon_sql.engines.postgres import Postgres

            return Postgres.of_url(target)
        if scheme in ("clickhouse", "chdb"):
            from kanon_sql.engines.clickhouse import ClickHouse

            return ClickHouse.of_folder(path) if scheme == "chdb" else ClickHouse.of_url(target)
        if scheme != "duckdb" or not path:
            raise SpecError(
                f"can't connect to {scheme}:…; this release reads files and DuckDB databases "
                "(duckdb:FILE)."
            )
        database = path
    elif (package := type(target).__module__.partition(".")[0]) in ("clickhouse_connect", "chdb"):
        from kanon_sql.engines.clickhouse import ClickHouse

        return ClickHouse.of_session(target) if package == "chdb" else ClickHouse(target)
    elif target is not None:
        connection = target
    return DuckDBEngine(
        database=database,
        connection=connection,
        memory_limit=memory_limit,
        threads=threads,
        delimiter=delimiter,
        null_strings=null_strings,
    )
