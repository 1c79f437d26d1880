"""Properties of dialects that matter outside of their SQL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """How a dialect deviates; the defaults fit most databases."""

    embedded: bool = False
    """Whether the database is embedded.

    It reads templates untranspiled, text files and multi-line literals, and writes files.
    """
    executed: bool = False
    """Whether the tests execute its SQL on such a database."""
    collates: bool = False
    """Whether text is ordered by a locale unless a binary collation is requested."""
    bytewise: bool = False
    """Whether distinct texts are never equal, whatever the column."""
    hashes: bool = True
    """Whether it has md5()."""
    rereads: bool = False
    """Whether CTEs are inlined at each reference.

    Large plans then run out of temporary files or stages.
    """
    approximates: bool = True
    """Whether it has an approximate count of distinct values."""
    null_first: bool = False
    """Whether NULL sorts first, without a NULLS LAST clause."""
    nests_with: bool = True
    """Whether WITH can be nested."""
    orders_views: bool = True
    """Whether a view may have an ORDER BY."""
    create_view: str = "create or replace view"
    """The statement that creates a view."""
    replaces_views: bool = True
    """Whether that replaces any view of the name, whatever its columns; otherwise drop it first."""
    tracks_dependents: bool = False
    """Whether a view that others read can only be dropped with `cascade`."""
    begins: str = ""
    """The statement that begins a transaction for CREATE VIEW; empty where each statement
    commits."""
    client: str = ""
    """The client command that runs a file of statements and stops at the first error."""
    ends_batch: str = ""
    """The batch separator required between CREATE VIEW statements."""


TRAITS = {
    "duckdb": Traits(
        embedded=True,
        executed=True,
        bytewise=True,
        begins="begin transaction",
        client="duckdb -bail DATABASE <",
    ),
    "postgres": Traits(
        executed=True,
        collates=True,
        approximates=False,
        create_view="create view",
        replaces_views=False,
        tracks_dependents=True,
        begins="begin",
        client="psql -v ON_ERROR_STOP=1 -f",
    ),
    "spark": Traits(executed=True, client="spark-sql -f"),
    "clickhouse": Traits(executed=True, bytewise=True, client="clickhouse-client --queries-file"),
    "sqlite": Traits(
        executed=True,
        hashes=False,
        approximates=False,
        create_view="create view",
        replaces_views=False,
        begins="begin",
        client="sqlite3 -bail DATABASE <",
    ),
    "mariadb": Traits(
        executed=True,
        rereads=True,
        approximates=False,
        null_first=True,
        client="mariadb DATABASE <",
    ),
    "snowflake": Traits(),
    "bigquery": Traits(null_first=True),
    "redshift": Traits(
        create_view="create view", replaces_views=False, tracks_dependents=True, begins="begin"
    ),
    "databricks": Traits(),
    "trino": Traits(rereads=True),
    "tsql": Traits(
        approximates=False,
        nests_with=False,
        orders_views=False,
        create_view="create or alter view",
        ends_batch="go",
    ),
    "mysql": Traits(approximates=False, null_first=True, client="mysql DATABASE <"),
}
"""Every dialect, those executed by the tests first."""
