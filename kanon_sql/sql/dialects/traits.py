"""What databases of a dialect do otherwise than most, as far as it matters outside of its SQL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Traits:
    """How a dialect differs; what is not said of one is as most databases have it."""

    embedded: bool = False
    """Whether its database runs here: it reads the templates in their own words, text files and a
    text of many lines at once, and writes files."""
    executed: bool = False
    """Whether the tests run its SQL on a database of that name."""
    collates: bool = False
    """Whether texts are in the order of a language, unless one asks for that of their bytes."""
    bytewise: bool = False
    """Whether texts that differ are never equal, whatever the column."""
    rounds: bool = False
    """Whether 0.1 is a float, and what is reckoned with decimals is rounded to one."""
    hashes: bool = True
    """Whether it has md5()."""
    rereads: bool = False
    """Whether it works a set out anew wherever a statement names it, for which it needs files, or
    stages, and has but so many."""
    null_first: bool = False
    """Whether NULL comes first, without words for anything else."""
    nests_with: bool = True
    """Whether WITH can stand within WITH."""
    orders_views: bool = True
    """Whether a view can have an order."""
    create_view: str = "create or replace view"
    """What creates a view."""
    replaces_views: bool = True
    """Whether that replaces any view of the name, whatever its columns; else it must be dropped
    before."""
    tracks_dependents: bool = False
    """Whether a view that others read is dropped with `cascade` alone."""
    begins: str = ""
    """What begins a transaction that creates views or none; most commit each of them."""
    client: str = ""
    """What stands before the name of a file of statements to run it, up to the first error."""
    ends_batch: str = ""
    """The line that must stand between statements which create views."""


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
        create_view="create view",
        replaces_views=False,
        tracks_dependents=True,
        begins="begin",
        client="psql -v ON_ERROR_STOP=1 -f",
    ),
    "spark": Traits(executed=True, client="spark-sql -f"),
    "clickhouse": Traits(
        executed=True, bytewise=True, rounds=True, client="clickhouse-client --queries-file"
    ),
    "sqlite": Traits(
        executed=True,
        rounds=True,
        hashes=False,
        create_view="create view",
        replaces_views=False,
        begins="begin",
        client="sqlite3 -bail DATABASE <",
    ),
    "mariadb": Traits(executed=True, rereads=True, null_first=True, client="mariadb DATABASE <"),
    "snowflake": Traits(),
    "bigquery": Traits(rounds=True, null_first=True),
    "redshift": Traits(
        create_view="create view", replaces_views=False, tracks_dependents=True, begins="begin"
    ),
    "databricks": Traits(),
    "trino": Traits(rereads=True),
    "tsql": Traits(
        nests_with=False,
        orders_views=False,
        create_view="create or alter view",
        ends_batch="go",
    ),
    "mysql": Traits(null_first=True, client="mysql DATABASE <"),
}
"""Every dialect, those first whose SQL the tests run."""
