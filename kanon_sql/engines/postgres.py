"""Postgres, by psycopg: one read-only transaction, in which all questions see the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from kanon_sql.dialects import type_of_templates
from kanon_sql.engines.base import Column, Estimate
from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.errors import EngineError, InputError, KanonError, MissingDriverError, SpecError
from kanon_sql.templates import render

SETTINGS = (
    "set local time zone 'UTC'",
    "set local datestyle to 'ISO, YMD'",
    "set local standard_conforming_strings to on",
    "set local extra_float_digits to 1",
)
"""What a day, and the text of a date or a number, is: the same for everyone who asks."""

MERGING = ("citext", "bpchar", '"char"')
"""Types in which two texts that differ may be equal."""


class Postgres(DBAPI):
    """Asks a Postgres server, by URL or through a psycopg connection that is idle."""

    name = "postgres"
    dialect = "postgres"

    @classmethod
    def of_url(cls, url: str) -> Postgres:
        """Connect to `postgresql://…`; what it lacks is libpq's to find: PGPASSWORD, a passfile."""
        psycopg = _driver()
        try:
            return cls(psycopg.connect(url), owned=True)
        except psycopg.Error as error:
            raise EngineError(
                f"Postgres can't be reached: {_without_secrets(str(error), url)}"
            ) from None

    def __init__(self, connection: Any, *, owned: bool = False) -> None:
        psycopg = _driver()
        super().__init__(connection, owned=owned)
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            raise InputError(
                "the Postgres connection is closed or in a transaction, whose changes no one else "
                "sees. Commit or roll back first."
            )
        self._before = (connection.read_only, connection.isolation_level, connection.autocommit)
        connection.autocommit = False
        connection.read_only = True
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        for setting in SETTINGS:
            self._asked(setting)

    def estimate(self, sql: str) -> Estimate:
        _, [[[plan]]] = self._asked(f"explain (format json) {self.in_dialect(sql)}")
        cost = plan["Plan"]["Total Cost"]
        return Estimate(sum(_scanned(plan["Plan"])), f"a cost of {cost:,.0f}")

    def limit(self, seconds: float) -> None:
        self._asked(f"set local statement_timeout to {max(int(seconds * 1000), 1)}")

    def cancel(self) -> None:
        self._connection.cancel_safe()

    def close(self) -> None:
        if self._connection.closed:
            return
        self._connection.rollback()
        read_only, isolation_level, autocommit = self._before
        self._connection.read_only = read_only
        self._connection.isolation_level = isolation_level
        self._connection.autocommit = autocommit
        super().close()

    def _tables(self) -> Sequence[tuple[str, ...]]:
        return [tuple(row) for row in self._asked(render("postgres_tables"))[1]]

    def _place(self) -> tuple[str, str]:
        [place] = self._asked("select current_database(), current_schema()")[1]
        return place[0], place[1]

    def _columns(self, found: tuple[str, ...]) -> Sequence[Column]:
        _, schema, table = found
        return list(
            self._described(
                table, self._asked(render("postgres_columns", schema=schema, table=table))[1]
            )
        )

    def _described(self, table: str, rows: Sequence[Sequence[Any]]) -> Iterator[Column]:
        for name, type, is_enum, merges in rows:
            if merges or type.split(".")[-1] in MERGING:
                raise InputError(
                    f'{table}: "{name}" ({type}) takes different texts for one, which would make '
                    f'classes look larger. Audit a view with cast({name} as text) collate "C".'
                )
            yield Column(name, "ENUM" if is_enum else type_of_templates(type, self.dialect))

    def _explained(self, error: Exception) -> KanonError:
        psycopg = _driver()
        errors = psycopg.errors
        match error:
            case errors.QueryCanceled():
                return EngineError("the query was stopped before its end. Nothing was left behind.")
            case errors.ReadOnlySqlTransaction():
                return EngineError("refused to write: the audit's transaction is read-only.")
            case errors.InsufficientPrivilege():
                return InputError("the Postgres role may not read a table of the question.")
            case errors.SyntaxErrorOrAccessRuleViolation():
                return SpecError(
                    "Postgres can't read the question as it is asked: "
                    f"{error.diag.message_primary}. Look at the conditions and the types of their "
                    "columns."
                )
            case errors.DataError():
                return InputError(
                    "a value does not convert to the number, date or type that the question "
                    "needs. Look at the columns with a level, a clip, an order or a comparison."
                )
        return EngineError(
            f"Postgres failed with {type(error).__name__}. Its message is withheld, as it may hold "
            "values of the data."
        )


def _scanned(node: Mapping[str, Any]) -> Iterator[int]:
    """How many rows the planner expects of each scan of a table."""
    if "Relation Name" in node:
        yield int(node["Plan Rows"])
    for below in node.get("Plans", ()):
        yield from _scanned(below)


def _driver() -> Any:
    try:
        return import_module("psycopg")
    except ImportError:
        raise MissingDriverError(
            "Postgres needs psycopg. Install it: pip install 'kanon-sql[postgres]'"
        ) from None


def _without_secrets(message: str, url: str) -> str:
    """The first line of a driver's message, without the password of the URL."""
    password = import_module("urllib.parse").urlsplit(url).password
    line = message.strip().splitlines()[0]
    return line.replace(password, "…") if password else line
