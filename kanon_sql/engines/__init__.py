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
    """The engine for `target`: nothing for files, a URL, or an open connection or Spark session.

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
        if scheme in ("spark", "sc"):
            from kanon_sql.engines.spark import Spark

            return Spark.of_url(target)
        if scheme != "duckdb" or not path:
            raise SpecError(
                f"can't connect to {scheme}:…; this release reads files and DuckDB databases "
                "(duckdb:FILE)."
            )
        database = path
    elif target is not None:
        from kanon_sql.engines.spark import Spark, is_session

        if is_session(target):
            return Spark(target)
        connection = target
    return DuckDBEngine(
        database=database,
        connection=connection,
        memory_limit=memory_limit,
        threads=threads,
        delimiter=delimiter,
        null_strings=null_strings,
    )
