"""The traits of each dialect: how it deviates from most databases."""

from __future__ import annotations

import re
from typing import NamedTuple


class Traits(NamedTuple):
    """How a dialect deviates; the defaults fit most databases."""

    like: str = ""
    """The dialect in whose file its rules are: in `RULES`, or as in MariaDB's case in
    `RULES_OF_MARIADB`."""
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
    samples: bool = True
    """Whether it has a hash of a record that is cheap enough to sample by."""
    decimals: int = 6
    """How many decimals a product keeps; where there is no such type, figures are added as whole
    multiples of their smallest unit."""
    adds_decimals: bool = True
    """Whether a sum of decimals is exact; otherwise figures are added as 64-bit integers, or as
    floating-point numbers of 53 bits."""
    null_first: bool = False
    """Whether NULL sorts first, without a NULLS LAST clause."""
    loses: re.Pattern[str] | None = None
    """The names that the columns of its views can't have."""
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
    grants: bool = True
    """Whether privileges are granted on a view."""
    create_temporary_view: str = ""
    """The statement that creates a view on temporary ones; the same one by default."""
    raises_limits: str = ""
    """The statement before one that is longer than `longest_statement` bytes: of {length} bytes,
    {twice} bytes twice."""
    longest_statement: int = 256 * 1024
    """The longest statement in bytes that is parsed by default, where there is a limit."""
    seed_text: str = "varchar"
    """The type of a text column of a dbt seed."""
    seed_integer: str = "integer"
    """The type of a whole number of a dbt seed."""
    begins: str = ""
    """The statement that begins a transaction for CREATE VIEW; empty where each statement
    commits."""
    client: str = ""
    """The client command that runs a file of statements and stops at the first error."""
    ends_batch: str = ""
    """The batch separator required between CREATE VIEW statements."""


BLANK_FIRST = re.compile(r"[\x00-\x20\x7f]")
"""The start of a name that MySQL and MariaDB drop from an alias."""

TRAITS = {
    "duckdb": Traits(
        embedded=True,
        executed=True,
        bytewise=True,
        decimals=38,
        begins="begin transaction",
        client="duckdb -bail DATABASE <",
    ),
    "postgres": Traits(
        executed=True,
        collates=True,
        approximates=False,
        decimals=38,
        create_view="create view",
        replaces_views=False,
        tracks_dependents=True,
        begins="begin",
        client="psql -v ON_ERROR_STOP=1 -f",
    ),
    "spark": Traits(
        executed=True,
        create_temporary_view="create or replace temporary view",
        seed_text="string",
        client="spark-sql -f",
    ),
    "clickhouse": Traits(
        executed=True,
        bytewise=True,
        decimals=38,
        raises_limits="set max_query_size = {twice}, max_ast_elements = {length}",
        seed_text="String",
        seed_integer="Int32",
        client="clickhouse-client --queries-file",
    ),
    "sqlite": Traits(
        executed=True,
        hashes=False,
        approximates=False,
        adds_decimals=False,
        grants=False,
        samples=False,
        loses=re.compile("(true|false)$", re.IGNORECASE),
        create_view="create view",
        replaces_views=False,
        begins="begin",
        client="sqlite3 -bail DATABASE <",
    ),
    "mariadb": Traits(
        like="mysql",
        executed=True,
        rereads=True,
        approximates=False,
        decimals=38,
        loses=BLANK_FIRST,
        null_first=True,
        client="mariadb DATABASE <",
    ),
    "snowflake": Traits(),
    "bigquery": Traits(null_first=True, seed_text="string", seed_integer="int64"),
    "redshift": Traits(
        samples=False,
        create_view="create view",
        replaces_views=False,
        tracks_dependents=True,
        begins="begin",
    ),
    "databricks": Traits(like="spark", seed_text="string"),
    "trino": Traits(rereads=True, samples=False),
    "tsql": Traits(
        approximates=False,
        samples=False,
        nests_with=False,
        orders_views=False,
        create_view="create or alter view",
        ends_batch="go",
    ),
    "mysql": Traits(
        approximates=False,
        decimals=38,
        loses=BLANK_FIRST,
        null_first=True,
        client="mysql DATABASE <",
    ),
}
"""Every dialect, those executed by the tests first."""
