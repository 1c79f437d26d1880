"""The engines for MySQL and MariaDB, on PyMySQL or another driver; the server reports which it is.

Text is read under a collation that keeps all distinct values distinct.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any

from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.engines.names import Url
from kanon_sql.sql.dialects import translated
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Column, Table

_NUMBER = re.compile(r"((?:tiny|small|medium|big)?int|float|double)\([\d,]+\)", re.IGNORECASE)


def _settings(bytewise: str) -> tuple[str, ...]:
    """Session settings.

    In other modes a backslash is literal, an ungrouped column is any of its values, or a joined
    text is truncated.
    """
    return (
        f"set names utf8mb4 collate {bytewise}",
        "set session sql_mode = 'only_full_group_by,strict_all_tables'",
        "set session group_concat_max_len = 1073741824",
        "set time_zone = '+00:00'",
        "set session transaction read only",
    )


def _own_limit(variable: str) -> str:
    """Store the server's own limit for this user in a session variable."""
    return f"set @kanon_own_limit = @@session.{variable}"


def _limited(variable: str, limit: str) -> str:
    """Set a statement timeout; the user's own limit takes precedence if stricter."""
    is_stricter = f"@kanon_own_limit > 0 and @kanon_own_limit < {limit}"
    return f"set session {variable} = if({is_stricter}, @kanon_own_limit, {limit})"


class MySQL(DBAPI):
    """Queries MySQL, from 8.0.17 on."""

    name = dialect = "mysql"
    title = "MySQL"
    driver = "pymysql"
    sqlalchemy_name = "mysql+pymysql"
    packages: tuple[str, ...] = ("pymysql", "mysql", "MySQLdb")
    session = (*_settings("utf8mb4_0900_bin"), _own_limit("max_execution_time"))
    transaction = ("start transaction with consistent snapshot, read only",)
    limited_by = _limited("max_execution_time", "{milliseconds}")
    session_number = "connection_id()"
    place = ("'def'", "database()")
    whole_type = "COLUMN_TYPE"
    tells_collations = True

    @classmethod
    def of_server(cls, connection: Any) -> type[DBAPI]:
        """MariaDB's class if the server reports itself as such."""
        with suppress(Exception):
            if "mariadb" in str(connection.get_server_info()).casefold():
                return MariaDB
        return cls

    @classmethod
    def _driver_arguments(cls, url: Url) -> dict[str, Any]:
        return {"charset": "utf8mb4"}

    def table(self, target: Any) -> Table:
        """Resolve a table or view. Raises `InputError` unless the name is unique."""
        table = super().table(target)
        columns = tuple(self._as_they_are(table))
        casts = {
            stored.name: "varchar" if stored.unusable_because else "double"
            for stored in columns
            if stored.unusable_because or stored.type == "FLOAT"
        }
        if casts:
            view = render("mysql_view", relation=table.sql, columns=table.column_names, casts=casts)
            self._stand_ins[table.sql] = translated(view, self.dialect)
        return replace(table, columns=tuple(map(self._as_read, columns)))

    def _as_they_are(self, table: Table) -> Iterator[Column]:
        """The columns with actual types: tinyint(1), declared boolean, may hold other integers."""
        flags = [column.name for column in table.columns if column.type == "BOOLEAN"]
        numbers = set()
        if flags:
            sql = render("mysql_flags", relation=table.sql, columns=flags)
            [held] = self._fetch(translated(sql, self.dialect))[1]
            numbers = {name for name, holds in zip(flags, held, strict=True) if not holds}
        for column in table.columns:
            yield replace(column, type="TINYINT") if column.name in numbers else column

    @staticmethod
    def _as_read(column: Column) -> Column:
        """A column of the stand-in view: text by bytes, floats in full precision."""
        return replace(
            column, unusable_because=None, type="DOUBLE" if column.type == "FLOAT" else column.type
        )

    def _described(self, rows: Sequence[Sequence[Any]]) -> Iterator[Column]:
        """The columns, without display widths in their types."""
        for name, type, *more in rows:
            said = "boolean" if type == "tinyint(1)" else _NUMBER.sub(r"\1", str(type))
            yield from super()._described([(name, said, *more)])

    def _cursor_of_batches(self) -> Any:
        """A server-side cursor."""
        if type(self._connection).__module__.partition(".")[0] != "pymysql":
            return super()._cursor_of_batches()
        return self._connection.cursor(import_module("pymysql.cursors").SSCursor)

    def _stop(self) -> str:
        return f"kill query {self._session}"


class MariaDB(MySQL):
    """Queries MariaDB, from 10.6 on."""

    name = dialect = "mariadb"
    nests_sets = False
    title = "MariaDB"
    packages = ()
    session = (*_settings("utf8mb4_nopad_bin"), _own_limit("max_statement_time"))
    limited_by = _limited("max_statement_time", "{milliseconds} / 1000")
