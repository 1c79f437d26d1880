"""The Postgres engine, on psycopg or another driver: one read-only transaction, one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from sqlglot import exp

from kanon_sql.engines.dbapi import DBAPI, in_a_transaction
from kanon_sql.engines.failures import statement_message, translated_error
from kanon_sql.engines.names import Url
from kanon_sql.errors import InputError, KanonError
from kanon_sql.sql.dialects import type_of_templates
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal
from kanon_sql.sql.tables import Column, Table

READ_ONLY = "transaction isolation level repeatable read, read only"
SETTINGS = (
    "set local time zone 'UTC'",
    "set local datestyle to 'ISO, YMD'",
    "set local standard_conforming_strings to on",
    "set local extra_float_digits to 1",
    # A policy that hides rows raises an error instead of returning fewer.
    "set local row_security to off",
)
"""Make dates and text representations the same for every user."""

_KINDS = {"e": "ENUM", "c": "STRUCT"}
"""Kinds of user-defined types, by the catalogue's `typtype`."""
TEMPORARY = "pg_temp"
"""The schema name of a session's own temporary tables."""
ADVICE = {
    "pg_input_is_valid": "It needs Postgres 16: before, audit a view in which the column is cast "
    "to a number or a date.",
    "could not identify an": "Audit a view in which a column of this type is cast to text.",
}
"""Remedies, by a part of Postgres's message."""


class Postgres(DBAPI):
    """Queries a Postgres server, by URL or through an idle connection.

    Settings are local to the transaction, so a user's connection keeps its own.
    """

    name = dialect = "postgres"
    title = "Postgres"
    driver = "psycopg"
    packages = ("psycopg", "psycopg2", "pg8000")
    aliases = ("postgresql",)
    password_variable = "PGPASSWORD"
    _snapshot = ""
    """The exported snapshot that the transaction reads."""
    _own_limit = 0
    """The statement timeout of role or session in milliseconds; 0 for none."""

    @classmethod
    def _opener(cls, url: Url) -> Callable[[], Any]:
        """Connect with psycopg; libpq adds what the URL lacks, from PGPASSWORD or a passfile."""
        password = {} if url.password is None else {"password": url.password}
        try:
            return partial(import_module(cls.driver).connect, url.text, **password)
        except ImportError:
            raise cls._missing_driver() from None

    def table(self, target: Any) -> Table:
        """Resolve a table or view. Raises `InputError` unless the name is unique."""
        table = super().table(target)
        schema, name = (part.name for part in exp.to_table(table.sql, dialect="duckdb").parts)
        stored = self._stored(schema)
        columns = self._fetch(render("postgres_collations", schema=stored, table=name))[1]
        if not columns:
            raise InputError(
                f"{target} is {schema}.{name}, which this role may not read. Have it granted, or "
                "name another table with its schema."
            )
        table = _as_readable(table, {name for name, _ in columns})
        if any(is_own for _, is_own in columns):
            self._stand_ins[table.sql] = render(
                "postgres_view", relation=table.sql, columns=columns
            )
        return table

    def another_session(self) -> Postgres | None:
        """Another connection to the URL, whose transaction reads the same snapshot.

        None if the server exports no snapshot; the transaction then begins again in a newer one.
        """
        if self._open_connection is None:
            return None
        try:
            [[snapshot]] = self._fetch(render("postgres_exported_snapshot"))[1]
        except KanonError:
            # The failed statement has aborted the transaction.
            self.renew()
            return None
        with self._guarded():
            connection = self._open_connection()
            try:
                other = type(self)(connection, open_connection=self._open_connection)
                other._snapshot = snapshot
                other._stand_ins.update(self._stand_ins)
                other._begin_once()
            except BaseException:
                connection.close()
                raise
        return other

    def limit(self, seconds: float) -> None:
        """Set the statement timeout; a stricter one of the role or session takes precedence."""
        self._begin_once()
        milliseconds = max(int(seconds * 1000), 1)
        if not 0 < self._own_limit <= milliseconds:
            self._fetch(f"set local statement_timeout to {milliseconds}")

    def _new_cursor(self) -> Any:
        cursor = super()._new_cursor()
        if hasattr(cursor, "adbc_statement"):
            # Otherwise the driver uses COPY, which can't run EXPLAIN.
            cursor.adbc_statement.set_options(**{"adbc.postgresql.use_copy": "false"})
        return cursor

    def _require_idle(self) -> None:
        super()._require_idle()
        if self._idle is None:
            self._end_read_only_transaction()

    def _begin(self) -> None:
        if getattr(self._connection, "autocommit", False) is not True:
            # The driver begins a transaction, which this configures.
            self._execute(f"set {READ_ONLY}")
        if self._snapshot:
            # Its own first statement, as any query would take a new one.
            snapshot, self._snapshot = self._snapshot, ""
            self._execute(f"set transaction snapshot {literal(snapshot)}")
        self._began_explicitly = not self._reads_only()
        if self._began_explicitly:
            self._execute(f"begin {READ_ONLY}")
        if not self._reads_only():
            raise InputError("the Postgres connection can't be set to read only.")
        for setting in SETTINGS:
            self._execute(setting)
        [[self._own_limit]] = self._execute(render("postgres_statement_timeout"))[1]

    def _end_read_only_transaction(self) -> None:
        """End a read-only transaction that the driver has begun.

        Raises `InputError` if it has written anything.
        """
        if self._execute(render("postgres_has_written_nothing"))[1][0][0] is not True:
            raise in_a_transaction(self.title)
        # A rollback would also revert the user's settings, such as search_path.
        self._connection.commit()

    def _reads_only(self) -> bool:
        [state] = self._execute(render("postgres_transaction"))[1]
        return list(state) == ["on", "repeatable read"]

    def _end(self) -> None:
        if self._began_explicitly:
            self._execute("rollback")
        else:
            self._connection.rollback()

    def _cursor_of_batches(self) -> Any:
        """A server-side cursor, which lives no longer than the transaction."""
        if type(self._connection).__module__.partition(".")[0] != "psycopg":
            return super()._cursor_of_batches()
        tuples = import_module("psycopg.rows").tuple_row
        return self._connection.cursor(name="kanon_rows", row_factory=tuples)

    def _tables(self) -> Sequence[tuple[str, ...]]:
        return [tuple(row) for row in self._fetch(render("postgres_tables"))[1]]

    def _path(self) -> Sequence[tuple[str, str]]:
        return [(database, schema) for database, schema in self._fetch(render("postgres_path"))[1]]

    def _stored(self, schema: str) -> str:
        """The stored name of a schema."""
        if schema != TEMPORARY:
            return schema
        [[stored]] = self._fetch(render("postgres_temporary"))[1]
        return str(stored)

    def _columns(self, qualified_name: tuple[str, ...]) -> Sequence[Column]:
        _, schema, table = qualified_name
        sql = render("postgres_columns", schema=self._stored(schema), table=table)
        rows = self._fetch(sql)[1]
        unscaled = [name for name, *_, is_unscaled in rows if is_unscaled]
        several_spellings = self._with_several_spellings(schema, table, unscaled)
        return [
            self._described_as(*row[:4], has_several_spellings=row[0] in several_spellings)
            for row in rows
        ]

    def _with_several_spellings(self, schema: str, table: str, columns: Sequence[str]) -> set[str]:
        """The columns in which equal numbers have several spellings, as 1.0 and 1.00."""
        if not columns:
            return set()
        sql = render("postgres_written_apart", schema=schema, table=table, columns=columns)
        [flags] = self._fetch(sql)[1]
        return {name for name, is_so in zip(columns, flags, strict=True) if is_so}

    def _described_as(
        self, name: str, type: str, kind: str, merges: bool, *, has_several_spellings: bool
    ) -> Column:
        fault = None
        if has_several_spellings:
            fault = (
                f"({type}) holds numbers with several spellings that compare as equal, such as 1.0 "
                "and 1.00, which would make classes look larger. Audit a view with "
                f"cast({name} as numeric(p, s)), or as text."
            )
        elif merges:
            fault = (
                f"({type}) treats different texts as equal, or may, which would make classes look "
                f'larger. Audit a view with cast({name} as text) collate "C".'
            )
        return Column(
            name, _KINDS.get(kind) or type_of_templates(type, self.dialect), unusable_because=fault
        )

    def _explained(self, error: Exception) -> KanonError:
        message = statement_message(error)
        fitting = [advice for text, advice in ADVICE.items() if text in (message or "")]
        return translated_error(error, self.title, message, *fitting[:1])


def _as_readable(table: Table, readable: Collection[str]) -> Table:
    """The table, with unreadable columns marked."""
    fault = "may not be read by this role. Have it granted, or leave it out."
    columns = (
        column
        if column.name in readable
        else replace(column, unusable_because=fault, may_be_read=False)
        for column in table.columns
    )
    return replace(table, columns=tuple(columns))
