"""The DuckDB engine: an embedded hub for files, or a user's session.

The hub reads only what the audit names: once the tables are known, access to anything else is
disabled. In a user's session nothing is created and no setting changed: a cursor of our own runs
every statement in one read-only transaction.
"""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any, Literal, Self

import duckdb

from kanon_sql.engines.base import Batches
from kanon_sql.engines.cte_store import InlineCteStore
from kanon_sql.engines.duckdb.csv_files import checked_delimiter, require_null_strings
from kanon_sql.engines.duckdb.export_casts import EMPTY_IN_TEXT, as_files_have_them
from kanon_sql.engines.duckdb.files import FileEvidence, require_one_line
from kanon_sql.engines.duckdb.hub import (
    ABOUT_THE_STATEMENT,
    close_hub,
    ctrl_c,
    cursor_of,
    first_line,
    open_hub,
    own_name,
    texts_in,
    translated_error,
)
from kanon_sql.engines.duckdb.objects import Answer
from kanon_sql.engines.duckdb.released_frames import as_pandas
from kanon_sql.engines.duckdb.targets import RELATION, Targets, refuse_sqlite
from kanon_sql.engines.readers import TextOptions
from kanon_sql.errors import EngineError, InputError, SpecError, option, plural
from kanon_sql.files import file_kind, null_text, spill_folder
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT, identifier, literal
from kanon_sql.sql.tables import Column, Row, Table


class DuckDBEngine:
    """Runs SELECT statements on files, data frames and DuckDB tables.

    `database` is a DuckDB file, attached read-only. `connection` is an open one, used through a
    cursor of its own, which sees neither its temporary tables nor its registered data frames.
    Raises `SpecError` for incompatible options, `InputError` for an unreadable database.
    """

    name = "duckdb"
    dialect = DIALECT
    why_no_limit = (
        "for a DuckDB relation. Pass its connection and the name of a table, or leave out timeout."
    )

    def __init__(
        self,
        *,
        database: str | Path | None = None,
        connection: duckdb.DuckDBPyConnection | None = None,
        memory_limit: str | None = None,
        threads: int | None = None,
        text: TextOptions | None = None,
    ) -> None:
        if connection is not None and (database or memory_limit or threads):
            raise SpecError(
                "an open DuckDB connection brings its own database, memory limit and threads. "
                "Set them there."
            )
        text = text or TextOptions()
        text = replace(text, delimiter=checked_delimiter(text.delimiter))
        self._has_tables = database is not None or connection is not None
        self._owned = connection is None
        self._null_strings = text.null_strings
        self._ctes = InlineCteStore()
        self._temp_relations: dict[str, str] = {}
        self._closing = threading.Lock()
        temporary: list[str] = []
        if connection is not None:
            self._session = cursor_of(connection)
            self._finalizer = weakref.finalize(self, close_hub, self._session, None)
            names = connection.execute(render("temporary_names")).fetchall()
            temporary = [str(name) for (name,) in names]
            # A single read-only snapshot for every statement.
            self._session.execute("begin transaction read only")
        else:
            spill = spill_folder()
            self._session = open_hub(memory_limit, threads, spill)
            self._finalizer = weakref.finalize(self, close_hub, self._session, spill)
        self._targets = Targets(
            self._session,
            is_ours=self._owned,
            has_tables=self._has_tables,
            temporary=temporary,
            text=text,
        )
        if database is not None:
            self._attach(str(database))

    @property
    def materialises(self) -> bool:
        """False for a relation: nothing is created in its session; statements carry CTEs."""
        return self._targets.relation is None

    @property
    def version(self) -> str:
        """DuckDB's version, for example `2.0.0`."""
        return duckdb.__version__

    def table(self, target: Any) -> Table:
        """Resolve a path, glob, table, view, data frame or relation.

        A relation is read in its own session, and so are files next to it.
        """
        self._targets.stopping.clear()
        if self._has_tables:
            require_default_session(self._fetch)
        table = self._targets.table(target)
        if self.version.startswith("1."):  # its HyperLogLog has 64 registers: 13 % standard error
            table = replace(table, nearly_all=0.7)
        if self._is_own_hub:
            return table
        if not self._has_tables:
            require_default_session(self._fetch)
        require_binary_comparison(self._fetch, table)
        [[keeps_order]] = self._fetch(render("keeps_order"))
        return replace(table, ordered=table.ordered and bool(keeps_order))

    def lock(self) -> None:
        """Restrict file access to the files named so far. `query` calls this first."""
        if self._owned and not self._targets.is_locked:
            allowed = self._targets.paths.union(self._targets.objects.allowed_paths())
            paths = ", ".join(map(literal, sorted(allowed)))
            self._session.execute(f"set allowed_paths = [{paths}]")
            folders = ", ".join(map(literal, sorted(self._targets.folders)))
            self._session.execute(f"set allowed_directories = [{folders}]")
            self._session.execute("set enable_external_access = false")
            self._session.execute("set lock_configuration = true")
            self._targets.is_locked = True

    def another_session(self) -> None:
        """None: each table has a hub or a cursor of its own, unless the caller passes an engine."""

    def limit(self, seconds: float) -> None:
        """Do nothing: DuckDB has no statement timeout, so the caller cancels."""

    def transpile(self, sql: str) -> str:
        """The statement, unchanged."""
        return sql

    def in_dialect(self, sql: str) -> str:
        """The statement, unchanged."""
        return sql

    def query(self, sql: str) -> list[Row]:
        """Run one SELECT and return its rows.

        Raises `EngineError`, or `InputError` where the data is at fault; neither contains a value.
        """
        with self._explained(sql):
            self.lock()
            names, rows = self._answer(sql, self._one_select(sql))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def materialise(self, name: str, sql: str) -> None:
        """Materialise one SELECT as a temporary table, private to this session."""
        self._make(name, "table", sql)

    def create_view(self, name: str, sql: str) -> None:
        """Create a temporary view of one SELECT."""
        self._make(name, "view", sql)

    def materialise_rows(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Materialise rows held in Python, each column of one type."""
        if not self.materialises:
            self._ctes.materialise_rows(name, columns, rows)
            return
        lists = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
        self._make(name, "table", render("rows_of_lists", columns=columns), lists)

    def materialise_batches(self, name: str, columns: Sequence[Column], batches: Batches) -> None:
        """Materialise rows from another database, each column in its own type.

        Raises `InputError` for a value outside its type.
        """
        typed = ", ".join(f"{identifier(column.name)} {column.type}" for column in columns)
        types = {column.name: column.type for column in columns}
        rows = render("rows_of_lists", columns=types, types=types)
        with self._explained():
            self.lock()
            self._run(f"create temp table {identifier(name)} ({typed})")
            self._temp_relations[name] = "table"
            for batch in batches:
                cells = [nan_as_text(column) for column in zip(*batch, strict=True)]
                self._session.execute(f"insert into {identifier(name)} {rows}", cells)

    def drop(self, name: str) -> None:
        """Drop a temporary table or view."""
        if name in self._ctes:
            self._ctes.drop(name)
            return
        with self._explained():
            self._run(f"drop {self._temp_relations.pop(name)} temp.{identifier(name)}")

    def drop_all(self) -> None:
        """Drop every temporary table and view made here, latest first."""
        for name in reversed(list(self._temp_relations)):
            self.drop(name)
        self._ctes.drop_all()

    def will_write(self, path: Path, final_name: Path) -> None:
        """Keep a file writable after file access is locked, under the name that it will get."""
        require_one_line(str(final_name))
        self._targets.will_write(path, final_name)

    def write(self, name: str, path: Path) -> None:
        """Write a temporary relation to a Parquet or CSV file.

        Raises `EngineError`, for example where the disk is full, and `InputError` for a text that a
        text file would give back as NULL.
        """
        final_name = self._targets.final_name(path)
        is_text = file_kind(final_name) == "csv"
        written = self._targets.columns(identifier(name))
        columns = list(as_files_have_them(written, parquet=not is_text))
        form = "format parquet"
        if is_text:
            delimiter, null_strings = self._targets.delimiter_in(final_name), self._null_strings
            require_null_strings(final_name, delimiter, null_strings)
            null = literal(null_text(null_strings))
            form = f"format csv, header true, delimiter {literal(delimiter)}, nullstr {null}"
        with self._explained():
            try:
                if is_text:
                    self._refuse_texts_for_null(final_name, name, written)
                self._run(
                    f"copy (select {', '.join(columns)} from {identifier(name)}) "
                    f"to {literal(str(path))} "
                    f"({form}, use_tmp_file false)"
                )
            except (duckdb.IOException, duckdb.PermissionException):
                raise EngineError(
                    f"{final_name} can't be written. Check the free space and the permissions of "
                    "its folder. Nothing was left behind."
                ) from None

    def _refuse_texts_for_null(self, file: str, name: str, columns: Sequence[Column]) -> None:
        """Raise `InputError` for values that a reader of the file would parse as NULL."""
        text_columns = [
            column.name for column in columns if self._null_strings or column.type in EMPTY_IN_TEXT
        ]
        if not text_columns:
            return
        texts = [literal(text) for text in ("", *self._null_strings)]
        sql = render("read_as_null", relation=identifier(name), columns=text_columns, texts=texts)
        [counts] = self._run(sql)
        for column, records in zip(text_columns, counts, strict=True):
            if records:
                or_else = f" or one of {option('null_strings')}" if self._null_strings else ""
                raise InputError(
                    f'{file}: "{column}" is an empty text{or_else} in {plural(records, "record")}, '
                    "which a text file reads back as NULL. Write a .parquet, or replace that text "
                    "in the table. Nothing was written."
                )

    def records(self, table: Table, form: str) -> Any:
        """All records of a table as a pandas, polars or pyarrow object."""
        self.lock()
        relation = self._session.sql(self._in_place(f"from {table.sql}"))
        converters: dict[str, Callable[[], Any]] = {
            "pandas": partial(as_pandas, relation),
            "polars": relation.pl,
            "pyarrow": relation.to_arrow_table,
        }
        with warnings.catch_warnings():  # DuckDB drops columns in a way that pandas deprecates
            warnings.simplefilter("ignore", DeprecationWarning)
            return converters[form]()

    def check(self, sql: str) -> None:
        """Raise `SpecError` if DuckDB can't prepare the statement; nothing is executed."""
        with self._explained():
            self._run(f"explain {sql}")

    @property
    def can_cancel(self) -> bool:
        """False for a relation, whose session can't be interrupted."""
        return self._targets.relation is None

    def cancel(self) -> None:
        """Cancel the running statement, except in a relation's session."""
        self._targets.stopping.set()
        self._session.interrupt()

    def progress(self) -> str:
        """Percentage done of the running statement, in a session opened here."""
        with self._closing:
            is_open = self._owned and self._finalizer.alive
            percent = self._session.query_progress() if is_open else 0
        return f"{percent:.0f} %" if percent > 0 else ""

    def renew(self) -> None:
        """In a user's session, end the snapshot and begin the next one."""
        if not self._owned and not self._targets.objects.is_stuck:
            self._session.execute("rollback")
            self._session.execute("begin transaction read only")

    def close(self) -> None:
        """Close the session and remove its spill files."""
        self._targets.release()
        with self._closing:
            if self._targets.objects.is_stuck and (left := self._finalizer.detach()):
                # Closing would wait for the statement that waits for a server.
                _, _, (_, spill), _ = left
                if spill:
                    spill.remove()
            self._finalizer()

    def evidence(self) -> list[FileEvidence]:
        """Fingerprints of the files read, taken when they were opened."""
        return list(self._targets.evidence)

    def files_read(self) -> Iterator[str]:
        """Files that were named or scanned, database files, and any that definitions may read."""
        yield from (evidence.path for evidence in self._targets.evidence)
        yield from self._targets.scanned
        if self._is_own_hub:
            return
        for (path,) in self._fetch(render("database_files")):
            yield from (path, f"{path}.wal")
        definitions = [sql for (sql,) in self._fetch(render("definitions_of_all"))]
        if self._targets.relation is not None:
            definitions.append(self._targets.relation.sql_query())
        [[search_path]] = self._fetch(render("file_search_path"))
        folders = ["", *filter(None, str(search_path or "").split(","))]
        for text in {text for sql in definitions for text in texts_in(sql)}:
            yield from (os.path.join(folder, text) for folder in folders)

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if a file has changed since it was opened."""
        self._targets.verify_unchanged()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _attach(self, database: str) -> None:
        require_one_line(database)
        if not Path(database).is_file():
            self.close()
            raise InputError(f"{database}: no such DuckDB file.")
        self._targets.evidence.note([database])
        try:
            name = identifier(own_name(database))
            self._session.execute(f"attach {literal(database)} as {name} (read_only)")
            self._session.execute(f"use {name}")
        except duckdb.Error:
            self.close()
            refuse_sqlite(database)
            raise InputError(
                f"{database} can't be opened for reading: it is not a DuckDB file, is from a newer "
                "DuckDB, or is open for writing elsewhere. In this process, pass the open "
                "connection instead."
            ) from None

    def _in_place(self, sql: str) -> str:
        """The statement as it is executed: with whole URLs, and local copies of text objects."""
        return self._targets.objects.in_place(sql)

    def _waited(self, call: Callable[[], Answer]) -> Answer:
        return self._targets.objects.waited(call)

    @property
    def _is_own_hub(self) -> bool:
        """Whether the session that answers was opened here and holds no user objects."""
        return not self._has_tables and self._targets.relation is None

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        with ctrl_c():
            return self._targets.objects.run(sql)

    def _fetch(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement in the session that holds the tables."""
        with ctrl_c():
            return self._answer(sql)[1]

    def _one_select(self, sql: str) -> duckdb.Statement:
        """DuckDB's parsed statement, which must be a single SELECT."""
        statements = self._session.extract_statements(self._in_place(sql))
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise EngineError("refused to run anything but one SELECT statement.")
        return statements[0]

    def _make(
        self, name: str, kind: Literal["table", "view"], sql: str, parameters: Sequence[Any] = ()
    ) -> None:
        """Create a temporary table or view of one SELECT."""
        if not self.materialises:
            self._ctes.materialise(name, sql)
            return
        with self._explained(sql):
            self.lock()
            self._one_select(sql)
            statement = f"create temp {kind} {identifier(name)} as {self._in_place(sql)}"
            self._waited(lambda: self._session.execute(statement, parameters))
        self._temp_relations[name] = kind

    @contextmanager
    def _explained(self, sql: str = "") -> Iterator[None]:
        """Translate DuckDB's errors. With `sql`, check first that no file has changed, and withhold
        a message that may quote a row."""
        try:
            with ctrl_c():
                yield
        except duckdb.Error as error:
            if not sql:
                raise translated_error(error) from None
            before_rows = self._fails_alike(error, sql)
            raise self._targets.translated_error(error, before_rows=before_rows) from None

    def _fails_alike(self, error: duckdb.Error, sql: str) -> bool:
        """Whether planning alone fails with the same message, which then quotes no row."""
        if not isinstance(error, ABOUT_THE_STATEMENT):
            return False
        try:
            self._fetch(f"explain {sql}")
        except duckdb.Error as planned:
            return first_line(planned) == first_line(error)
        return False

    def _answer(
        self, sql: str, parsed: duckdb.Statement | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The rows of a statement, using its parsed form if given."""
        if self._targets.relation is None:
            statement = self._in_place(sql) if parsed is None else parsed
            return self._waited(lambda: _fetched(self._session.execute(statement)))
        result = self._targets.relation.query(RELATION, self._ctes.in_dialect(sql))
        return (result.columns, result.fetchall()) if result else ([], [])


def _fetched(answer: duckdb.DuckDBPyConnection) -> tuple[list[str], list[tuple[Any, ...]]]:
    return [column[0] for column in answer.description or []], answer.fetchall()


def nan_as_text(column: Iterable[Any]) -> list[Any]:
    """The cells with NaN as text, as DuckDB 1 would read a NaN as NULL.

    >>> nan_as_text([0.5, float("nan"), None])
    [0.5, 'nan', None]
    """
    return ["nan" if cell != cell else cell for cell in column]


Run = Callable[[str], list[tuple[Any, ...]]]
"""A function that runs a query in the session."""


def require_default_session(run: Run) -> None:
    """Raise `InputError` if the session has macros or an ordering that change results."""
    if macros := [str(macro) for (macro,) in run(render("shadowing_macros"))]:
        raise InputError(
            "the database has macros that replace DuckDB's functions: "
            f"{', '.join(sorted(macros))}. No count would be reliable. Rename them."
        )
    [[order]] = run(render("default_order"))
    if str(order).upper().startswith("DESC"):
        raise InputError(
            f"the DuckDB session has default_order = {order}, which reverses the order on which "
            "distances and risks rely. Reset it: reset default_order."
        )


def require_binary_comparison(run: Run, table: Table) -> None:
    """Raise `InputError` if the table compares different texts as equal."""
    [[collation]] = run(render("default_collation"))
    texts = [column for column in table.columns if column.type == "VARCHAR"]
    merged = run(render("texts_merged", relation=table.sql, columns=texts))[0] if texts else ()
    if collation or any(merged):
        names = ", ".join(f'"{column.name}"' for column in compress(texts, merged))
        raise InputError(
            f"{table.name} has text with a collation{names and f' in {names}'}, "
            "which treats different values as equal and would make classes look larger. Audit a "
            "copy without it."
        )
