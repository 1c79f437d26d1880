"""A database behind a Python driver of the usual kind (DB-API 2.0, PEP 249), in any dialect."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from importlib import import_module
from typing import Any

from kanon_sql.dialects import rules_of, translated, type_of_templates
from kanon_sql.engines.base import Batches, Column, Table
from kanon_sql.engines.failures import explained
from kanon_sql.engines.names import name_parts
from kanon_sql.engines.read_only import MANNERS, Manners
from kanon_sql.engines.warehouse import Warehouse
from kanon_sql.errors import EngineError, InputError, KanonError, SpecError
from kanon_sql.templates import identifier, render

TITLES = {
    "postgres": "Postgres",
    "snowflake": "Snowflake",
    "bigquery": "BigQuery",
    "redshift": "Redshift",
    "databricks": "Databricks",
    "trino": "Trino",
    "tsql": "SQL Server",
    "mysql": "MySQL",
    "sqlite": "SQLite",
    "duckdb": "DuckDB",
    "clickhouse": "ClickHouse",
    "spark": "Spark",
}

FULL_TYPES = {"mysql": "COLUMN_TYPE", "databricks": "FULL_DATA_TYPE"}
"""Where the catalogue has a column's whole type under another name."""
WHOLE_TYPES = ("mysql", "databricks", "bigquery", "trino", "duckdb")
"""The dialects whose catalogue writes the digits of a number into its type."""
TELL_COLLATIONS = ("mysql", "tsql", "snowflake", "bigquery")
"""The dialects whose catalogue tells the collation of a column."""

_BYTES = re.compile(r"binary|utf8mb4_0900_bin|.*_nopad_bin|utf8|UTF8_BINARY")
"""Collations in which texts are equal only if their bytes are: utf8mb4_bin and every one of SQL
Server's pad with spaces."""
_MERGING_IN_SQLITE = re.compile(
    r"\bcollate\b(?:\s|/\*.*?\*/|--[^\n]*\n)*[\"'`\[]?(?!binary\b)\w+", re.IGNORECASE | re.DOTALL
)
_OPAQUE_NUMERIC = "type_name=numeric"
"""How ADBC calls a number that it brings as text."""

BATCH = 50_000
"""How many rows are fetched at a time."""


class DBAPI(Warehouse):
    """Asks through the cursors of one connection.

    `owned` says that the connection was opened here: then it is closed here, and its session may
    be set up. `let_go` is called in the end with a connection that is borrowed from a pool.

    Raises `InputError` for a connection in a transaction, as far as it tells.
    """

    dialect = ""

    def __init__(
        self,
        connection: Any,
        *,
        owned: bool = False,
        dialect: str | None = None,
        let_go: Callable[[], object] | None = None,
    ) -> None:
        self._connection = connection
        self._owned = owned
        self._let_go = connection.close if owned else let_go
        self._cursor: Any = None
        self._asking = threading.Lock()
        self._begun = False
        if dialect is not None:
            if dialect != "duckdb":
                rules_of(dialect)
            self.dialect = dialect
            self.name = "mssql" if dialect == "tsql" else dialect
        self._idle = owned or is_idle(connection)
        if self._idle is False:
            raise in_a_transaction(self.title)
        for setting in self._manners.session if owned else ():
            self._say(setting)

    @property
    def title(self) -> str:
        """What people call the database."""
        return TITLES.get(self.dialect, self.dialect)

    @property
    def can_cancel(self) -> bool:  # type: ignore[override]
        """Whether the driver or the server stops what runs."""
        return bool(self._ways_to_cancel() or (self._owned and self._manners.limit))

    def limit(self, seconds: float) -> None:
        if self._owned and self._manners.limit:
            whole = max(int(seconds + 0.999), 1)
            milliseconds = max(int(seconds * 1000), 1)
            self._say(self._manners.limit.format(seconds=whole, milliseconds=milliseconds))

    def cancel(self) -> None:
        for stop in self._ways_to_cancel():
            with suppress(Exception):
                stop()

    def check(self, sql: str) -> None:
        """Raise `SpecError` if the database can't read the statement; nothing of it runs."""
        if not self._manners.explains:
            raise SpecError(
                f"{self.title} has no EXPLAIN, so a question can't be looked at there without "
                "being asked. An audit asks it."
            )
        super().check(sql)

    def renew(self) -> None:
        """End the transaction: what is asked next sees the data as they then are."""
        if self._begun:
            self._begun = False
            # What is lost with its connection has ended.
            with suppress(Exception):
                self._end()

    def close(self) -> None:
        self.renew()
        if self._let_go is not None:
            self._let_go()

    def table(self, target: Any) -> Table:
        """The table or view of this name. In BigQuery a dataset has its own catalogue, so that it
        stands in the name unless the connection has a usual one."""
        if self.dialect != "bigquery" or not isinstance(target, str):
            return super().table(target)
        self._dataset = name_parts(target)[:-1]
        found = super().table(target)
        in_project = self._dataset[:-1]
        return replace(found, sql=".".join([*map(identifier, in_project), found.sql]))

    # --- the transaction ------------------------------------------------------------------------

    @property
    def _manners(self) -> Manners:
        return MANNERS.get(self.dialect, Manners())

    def _begin(self) -> None:
        """Begin what `_end` rolls back, where that takes back nothing of the user's."""
        if self._idle:
            for statement in self._manners.transaction:
                self._execute(statement)

    def _end(self) -> None:
        if not self._idle:
            return
        if self._manners.transaction:
            self._execute("rollback")
        # Where the driver began one of its own.
        with suppress(Exception):
            self._connection.rollback()

    # --- asking ---------------------------------------------------------------------------------

    def _answer(self, sql: str, most: int) -> tuple[list[str], Sequence[Sequence[Any]]]:
        self._begin_once()
        return self._execute(sql, most)

    def _begin_once(self) -> None:
        if not self._begun:
            if not self._owned and is_idle(self._connection) is False:
                raise in_a_transaction(self.title)
            self._begun = True
            self._begin()

    def _say(self, setting: str) -> None:
        """Set something for the session, outside of the audit's transaction."""
        try:
            self._execute(setting)
        except Exception as error:
            raise self._explained(error) from None

    def _execute(self, sql: str, most: int = 1) -> tuple[list[str], Sequence[Sequence[Any]]]:
        with self._asking:
            cursor = self._cursor = self._new_cursor()
            try:
                # Without parameters: a driver that is given some reads % as theirs.
                cursor.execute(sql)
                described = list(cursor.description or ())
                rows = cursor.fetchmany(most) if described else []
                return [self._own_name(str(each[0])) for each in described], list(
                    with_numbers(described, rows)
                )
            finally:
                with suppress(Exception):
                    cursor.close()

    def _batches(self, sql: str, most: int) -> Batches:
        self._begin_once()
        with self._asking:
            cursor = self._cursor = self._cursor_of_batches()
            try:
                cursor.execute(sql)
                while most > 0 and (batch := cursor.fetchmany(min(most, BATCH))):
                    most -= len(batch)
                    yield list(with_numbers(list(cursor.description), batch))
            finally:
                with suppress(Exception):
                    cursor.close()

    def _cursor_of_batches(self) -> Any:
        """A cursor that leaves in the server what is not fetched yet, if the driver has one."""
        return self._new_cursor()

    def _new_cursor(self) -> Any:
        return plain_cursor(self._connection)

    def _own_name(self, name: str) -> str:
        """A column's name as the question has it: Snowflake spells ours in capitals."""
        ours = self.dialect == "snowflake" and name.startswith("KANON_")
        return name.lower() if ours else name

    def _ways_to_cancel(self) -> list[Callable[[], object]]:
        for name in ("cancel_safe", "adbc_cancel", "cancel", "interrupt"):
            if callable(stop := getattr(self._connection, name, None)):
                return [stop]
        cursor = self._cursor
        for owner in (cursor, getattr(cursor, "query_job", None)):
            if callable(stop := getattr(owner, "cancel", None)):
                return [stop]
        return []

    def _explained(self, error: Exception) -> KanonError:
        return explained(error, self.title)

    # --- the catalogue --------------------------------------------------------------------------

    _dataset: tuple[str, ...] = ()

    @property
    def _catalogue(self) -> str:
        """The standard's catalogue, as the templates spell it."""
        return ".".join(map(identifier, [*self._dataset, "INFORMATION_SCHEMA"]))

    def _catalogued(self, macro: str, **arguments: Any) -> Sequence[Sequence[Any]]:
        sql = render(macro, **arguments)
        return self._asked(sql if self.dialect == "sqlite" else translated(sql, self.dialect))[1]

    def _tables(self) -> Sequence[tuple[str, ...]]:
        rows = (
            self._catalogued("sqlite_tables")
            if self.dialect == "sqlite"
            else self._catalogued("catalogued_tables", catalogue=self._catalogue)
        )
        return [tuple(map(str, row)) for row in rows]

    def _place(self) -> tuple[str, str]:
        if self.dialect == "bigquery":
            return ("", self._dataset[-1] if self._dataset else "")
        [place] = self._asked(render("first_place", dialect=self.dialect))[1]
        return str(place[0]), str(place[1])

    def _columns(self, found: tuple[str, ...]) -> Sequence[Column]:
        _, schema, table = found
        if self.dialect == "sqlite":
            rows = self._catalogued("sqlite_columns", table=table)
            self._refuse_collations_of_sqlite(table)
        else:
            rows = self._catalogued(
                "catalogued_columns",
                catalogue=self._catalogue,
                schema=schema,
                table=table,
                type=FULL_TYPES.get(self.dialect, "DATA_TYPE"),
                digits=self.dialect not in WHOLE_TYPES,
                collation=self.dialect in TELL_COLLATIONS,
            )
        return list(self._described(rows))

    def _described(self, rows: Sequence[Sequence[Any]]) -> Iterator[Column]:
        for name, type, digits, decimals, collation in rows:
            collation = collation or _collation_in(str(type))
            fault = (
                f"has the collation {collation}, which may take different texts for one and would "
                "make classes look larger. Audit a view in which it has one that compares bytes "
                "and pads nothing, or a copy in a file."
            )
            yield Column(
                str(name),
                _type(str(type), digits, decimals, self.dialect),
                merges=fault if collation and not _BYTES.fullmatch(str(collation)) else None,
            )

    def _refuse_collations_of_sqlite(self, table: str) -> None:
        """A view may read any table, and no catalogue tells what a column is compared by."""
        for (definition,) in self._catalogued("sqlite_definitions"):
            if _MERGING_IN_SQLITE.search(str(definition)):
                raise InputError(
                    f"{table} lies in a database with a collation other than binary, which takes "
                    "different texts for one and would make classes look larger. Audit a copy "
                    "without it."
                )


def in_a_transaction(title: str) -> InputError:
    return InputError(
        f"the {title} connection is closed or in a transaction, whose changes no one else sees. "
        "Commit or roll back first."
    )


def is_idle(connection: Any) -> bool | None:
    """Whether a connection is open and in no transaction; None where it does not tell."""
    info = getattr(connection, "info", None)
    status = getattr(info, "transaction_status", None)
    if isinstance(status, int):
        return status == 0
    within = getattr(connection, "in_transaction", None)
    return not within if isinstance(within, bool) else None


def plain_cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, whatever the user has set on the connection."""
    package = type(connection).__module__.partition(".")[0]
    if package == "psycopg":
        return connection.cursor(row_factory=import_module("psycopg.rows").tuple_row)
    if package == "psycopg2":
        return connection.cursor(cursor_factory=import_module("psycopg2.extensions").cursor)
    return connection.cursor()


def with_numbers(
    described: Sequence[Sequence[Any]], rows: Sequence[Any]
) -> Iterator[Sequence[Any]]:
    """The rows as sequences, with the numbers in them that a driver brings as text."""
    texts = [place for place, each in enumerate(described) if _OPAQUE_NUMERIC in str(each[1])]
    for row in rows:
        cells = list(row.values()) if isinstance(row, Mapping) else row
        if texts:
            cells = list(cells)
            for place in texts:
                cells[place] = _number(cells[place])
        yield cells


def _number(text: Any) -> Any:
    try:
        return Decimal(text) if isinstance(text, str) else text
    except InvalidOperation:
        raise EngineError("the driver brings a number in a form that is none.") from None


def _collation_in(type: str) -> str | None:
    """The collation that Databricks writes behind a type.

    >>> _collation_in("string collate UTF8_LCASE")
    'UTF8_LCASE'
    """
    found = re.search(r"\bcollate\s+(\S+)", type, re.IGNORECASE)
    return found[1] if found else None


def _type(type: str, digits: Any, decimals: Any, dialect: str) -> str:
    """A type by DuckDB's name for it, with its digits.

    >>> _type("numeric", 10, 2, "redshift"), _type("enum('a','b')", None, None, "mysql")
    ('DECIMAL(10, 2)', 'ENUM')
    """
    if re.match(r"enum\b", type, re.IGNORECASE):
        return "ENUM"
    if not type:
        # SQLite needs no type, and keeps what comes.
        return "VARCHAR"
    named = type_of_templates(type, dialect)
    if dialect == "sqlite" and re.match(r"num|dec", type, re.IGNORECASE):
        # Whatever digits it was declared with.
        return "DOUBLE"
    if named.startswith("DECIMAL") and "(" not in type and digits is not None:
        return f"DECIMAL({digits}, {decimals or 0})"
    return named
