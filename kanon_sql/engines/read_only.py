"""What a session is told before it is asked anything: that it only reads, in one snapshot where
there is one, and that a day and its text are the same for everyone who asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Manners:
    """How a dialect is told. Of these, Postgres' and SQLite's are executed by the tests; the
    others are from the documentation of the database."""

    session: tuple[str, ...] = ()
    """Said once, on a connection that was opened here: a user's keeps its own settings."""
    transaction: tuple[str, ...] = ()
    """Begins the transaction of an audit, which is rolled back; said on an idle connection."""
    limit: str | None = None
    """Has the server stop each statement, on a connection that was opened here."""
    explains: bool = True
    """Whether EXPLAIN reads a statement and runs nothing of it."""


MANNERS = {
    "snowflake": Manners(
        session=(
            "alter session set timezone = 'UTC'",
            "alter session set date_output_format = 'YYYY-MM-DD'",
            "alter session set query_tag = 'kanon-sql'",
        ),
        limit="alter session set statement_timeout_in_seconds = {seconds}",
    ),
    "redshift": Manners(
        session=("set timezone to 'UTC'", "set datestyle to 'ISO, YMD'"),
        transaction=("begin read only",),
        limit="set statement_timeout to {milliseconds}",
    ),
    "mysql": Manners(
        session=(
            "set names utf8mb4 collate utf8mb4_0900_bin",
            "set time_zone = '+00:00'",
            "set session transaction read only",
        ),
        transaction=("start transaction with consistent snapshot, read only",),
        limit="set session max_execution_time = {milliseconds}",
    ),
    "databricks": Manners(
        session=("set time zone 'UTC'", "set ansi_mode = true"),
        limit="set statement_timeout = {seconds}",
    ),
    "trino": Manners(limit="set session query_max_execution_time = '{seconds}s'"),
    "bigquery": Manners(explains=False),
    "tsql": Manners(
        session=("set ansi_nulls on", "set quoted_identifier on", "set language us_english"),
        explains=False,
    ),
    "sqlite": Manners(transaction=("begin",)),
    "duckdb": Manners(transaction=("begin transaction read only",)),
}
"""By dialect. Postgres has more to say, in its own file."""
