"""SQLite, by its own module: a file, or a connection that someone has open."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from kanon_sql.engines.dbapi import DBAPI
from kanon_sql.engines.failures import unreadable
from kanon_sql.errors import EngineError, InputError, KanonError, SpecError
from kanon_sql.files import file_of_url, is_sqlite
from kanon_sql.sql.dialects.sqlite import joins_texts
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Column, Row, Table

_MERGING = re.compile(
    r"\bcollate\b(?:\s|/\*.*?\*/|--[^\n]*\n)*[\"'`\[]?(?!binary\b)\w+", re.IGNORECASE | re.DOTALL
)
_DECLARED = {
    "^bool": "BOOLEAN",
    "^date$": "DATE",
    "int": "BIGINT",
    "char|clob|text": "VARCHAR",
    "real|floa|doub|^num|^dec": "DOUBLE",
    "blob": "BLOB",
}
"""DuckDB types by a pattern on the declared type; the first match wins."""
_MIXED = "VARCHAR OR BIGINT"
"""Integers and text that is not spelled as an integer: read as text, which merges no two values."""
_CANDIDATE_TYPES = ("VARCHAR", _MIXED, "DOUBLE", "BLOB")
"""Candidate types, tested in order, for a column whose values don't match its declared type."""
_OF_SEVERAL_KINDS = (
    "holds values of several types (text, numbers, bytes). SQLite treats some different ones as "
    "equal, and others that look the same as different. Audit a view with cast({} as text), or of "
    "one type."
)
_OF_THE_FILE = {
    "database is locked": "Another program writes to it. Run again once it has ended.",
    "database disk image is malformed": "Restore or repair it: pragma integrity_check.",
    "unable to open database file": (
        "In WAL mode it is read only where its folder can be written. Copy it with its -wal file, "
        "or end that mode: pragma journal_mode = delete."
    ),
}
"""Messages about the file itself, which hold no value, with advice."""
FILE = "main"
"""Pseudo-database above all schemas."""
ORDERED = (3, 44)
"""First version with ordered string aggregation."""


def _md5(text: str | None) -> str | None:
    """The hash by which events are drawn, as hexadecimal digits."""
    return None if text is None else hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


class SQLite(DBAPI):
    """Queries a SQLite database."""

    name = dialect = "sqlite"
    title = "SQLite"
    driver = "sqlite3"
    packages = ("sqlite3",)
    transaction = ("begin",)

    @classmethod
    def of_url(cls, text: str) -> SQLite:
        """Open the file of `sqlite:FILE` or `sqlite:///FILE`, read-only. Raises `InputError` unless
        there is one."""
        file = Path(file_of_url(text) or "")
        if not file.is_file():
            absolute = Path("/", file)
            hint = f" Did you mean sqlite:{absolute}?" if absolute.is_file() else ""
            raise InputError(f"there is no file {file} to connect to.{hint}")
        if file.stat().st_size and not is_sqlite(str(file)):
            raise InputError(
                f"{file} is not a SQLite database, or is encrypted, or may not be read."
            )
        # Another thread may stop a query.
        open_connection = partial(
            import_module(cls.driver).connect,
            f"{file.absolute().as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        return cls(open_connection(), open_connection=open_connection)

    def __init__(self, connection: Any, **settings: Any) -> None:
        always_in_one = False
        with suppress(Exception):
            # A closed connection fails even on this.
            always_in_one = connection.autocommit is False and connection.in_transaction
        if always_in_one:
            raise InputError(
                "the SQLite connection was opened with autocommit=False, and so is always in a "
                "transaction. Commit or roll back, and set its autocommit to True, or pass another."
            )
        if getattr(connection, "text_factory", str) is not str:
            raise InputError(
                "the SQLite connection has its own text_factory, which converts texts to another "
                "type. Set it to str, or pass another connection."
            )
        super().__init__(connection, **settings)
        # SQLite has no md5 of its own.
        connection.create_function("md5", 1, _md5, deterministic=True)
        self._mixed: set[str] = set()

    def _new_cursor(self) -> Any:
        cursor = super()._new_cursor()
        if hasattr(cursor, "row_factory"):
            cursor.row_factory = None
        return cursor

    def _explained(self, error: Exception) -> KanonError:
        if re.fullmatch(r"no such function: \w+", str(error)):
            return unreadable(self.title, f": {error}.")
        if advice := _OF_THE_FILE.get(str(error)):
            return EngineError(f"SQLite: {error}. {advice}")
        return super()._explained(error)

    def query(self, sql: str) -> list[Row]:
        """The rows. Raises `SpecError` for what this version can't compute."""
        self._require_order(sql)
        return super().query(sql)

    def materialise(self, name: str, sql: str) -> None:
        """Store a SELECT. Raises `SpecError` for what this version can't compute."""
        self._require_order(sql)
        super().materialise(name, sql)

    def check(self, sql: str) -> None:
        """Prepare a statement; whether one that joins texts is needed depends on the data."""
        if not self._lacks_order(sql):
            super().check(sql)

    def _lacks_order(self, sql: str) -> bool:
        return self._version < ORDERED and joins_texts(sql)

    def _require_order(self, sql: str) -> None:
        if self._lacks_order(sql):
            raise SpecError(
                f"SQLite {'.'.join(map(str, self._version))} joins texts in no defined order, so "
                "it can't compare people who are in several classes. Open the database with SQLite "
                f"{'.'.join(map(str, ORDERED))} or later, or leave out the entity."
            )

    def files_read(self) -> Iterable[str]:
        """The connection's database files, with their journal files."""
        for (file,) in self._fetch(render("sqlite_files"))[1]:
            yield from (f"{file}{suffix}" for suffix in ("", "-wal", "-shm", "-journal"))

    @cached_property
    def _version(self) -> tuple[int, ...]:
        [[version]] = self._fetch(render("session_values", functions=["sqlite_version()"]))[1]
        return tuple(map(int, version.split(".")))

    def _tables(self) -> Sequence[tuple[str, ...]]:
        sql = render("sqlite_tables", schemas=self._schemas())
        return [(FILE, *row) for row in self._fetch(sql)[1]]

    def _place(self) -> tuple[str, str]:
        return FILE, "main"

    def _path(self) -> Sequence[tuple[str, str]]:
        return [(FILE, schema) for schema in self._schemas()]

    def _schemas(self) -> Sequence[str]:
        """The schemas searched for a name, in order: temporary, the file, attached databases."""
        return [schema for (schema,) in self._fetch(render("sqlite_schemas"))[1]]

    def _columns(self, qualified_name: tuple[str, ...]) -> Sequence[Column]:
        _, schema, table = qualified_name
        self._refuse_collations(schema, table)
        rows = self._fetch(render("sqlite_columns", schema=schema, table=table))[1]
        return self._with_actual_types(
            schema, table, [Column(name, _type(type)) for name, type in rows]
        )

    def table(self, target: Any) -> Table:
        """Resolve a table or view. Raises `InputError` unless the name is unique."""
        table = super().table(target)
        columns = [(column.name, column.name in self._mixed) for column in table.columns]
        if self._mixed:
            self._stand_ins[table.sql] = render("sqlite_view", relation=table.sql, columns=columns)
        return table

    def _with_actual_types(
        self, schema: str, table: str, columns: Sequence[Column]
    ) -> Sequence[Column]:
        """The columns with their declared types, or with the actual type where values differ.

        This scans the table.
        """
        candidates = [(column.name, (column.type, *_CANDIDATE_TYPES)) for column in columns]
        sql = render("sqlite_types_that_hold", schema=schema, table=table, columns=candidates)
        [type_bits] = self._fetch(sql)[1]
        actual_types = {
            name: next((type for bit, type in enumerate(types) if bits >> bit & 1), None)
            for (name, types), bits in zip(candidates, type_bits, strict=True)
        }
        self._mixed = {name for name, type in actual_types.items() if type == _MIXED}
        return [_column(name, type) for name, type in actual_types.items()]

    def _refuse_collations(self, schema: str, table: str) -> None:
        """Raise for a non-binary collation in any definition, as no catalogue has a column's."""
        # A temporary view may read any schema, other views only their own.
        read = self._schemas() if schema == "temp" else [schema]
        sql = render("sqlite_definitions", schema=schema, table=table, read=read)
        for (definition,) in self._fetch(sql)[1]:
            if _MERGING.search(definition):
                raise InputError(
                    f"{table} is defined, or may read what is defined, with a collation other than "
                    "binary, which treats different texts as equal and would make classes look "
                    "larger. Audit a copy without it."
                )


def _column(name: str, type: str | None) -> Column:
    """A column whose values all have this type; None means they have several."""
    if type is None:
        return Column(name, "VARCHAR", unusable_because=_OF_SEVERAL_KINDS.format(name))
    return Column(name, "VARCHAR", is_read_as_text=True) if type == _MIXED else Column(name, type)


def _type(declared: str) -> str:
    """DuckDB's name of a declared type.

    Numbers are 64-bit integers or floats whatever their declaration. Times are stored as text;
    undeclared columns are treated as such.

    >>> _type("varchar(9)"), _type("decimal(9, 2)"), _type("int2"), _type("datetime"), _type("")
    ('VARCHAR', 'DOUBLE', 'BIGINT', 'VARCHAR', 'VARCHAR')
    """
    types = (type for pattern, type in _DECLARED.items() if re.search(pattern, declared, re.I))
    return next(types, "VARCHAR")
