"""DuckDB: an embedded hub over files, data frames and a database file, or the user's own session.

The hub reads only what the audit names: once the tables are known, everything outside of them is
shut off. In a session of the user's nothing is created and no setting is changed: a cursor of our
own asks everything in one read-only transaction.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import duckdb

from kanon_sql.engines.base import Batches
from kanon_sql.engines.definitions import Carried
from kanon_sql.engines.duckdb.csv_files import checked_delimiter
from kanon_sql.engines.duckdb.errors import ABOUT_THE_STATEMENT, explained, first_line
from kanon_sql.engines.duckdb.evidence import FileEvidence
from kanon_sql.engines.duckdb.hub import ctrl_c, cursor_of, let_go, open_hub, own_name
from kanon_sql.engines.duckdb.sessions import require_plain_comparison, require_plain_session
from kanon_sql.engines.duckdb.targets import RELATION, Targets, refuse_sqlite
from kanon_sql.engines.duckdb.views import texts_in
from kanon_sql.engines.duckdb.written import as_files_have_them
from kanon_sql.errors import EngineError, InputError, SpecError
from kanon_sql.files import file_kind, spill_folder
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT, identifier, literal
from kanon_sql.sql.statement import Estimate
from kanon_sql.sql.tables import Column, Row, Table


class DuckDBEngine:
    """Answers SELECT statements on files, data frames and DuckDB tables.

    `database` is a DuckDB file, attached read-only. `connection` is an open one, used through a
    cursor of its own, which sees neither its temporary tables nor its registered data frames.
    `delimiter` and `null_strings` say how text files are read.

    Raises `SpecError` for options that don't fit, `InputError` for a database that can't be read.
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
        delimiter: str | None = None,
        null_strings: Sequence[str] = (),
    ) -> None:
        if connection is not None and (database or memory_limit or threads):
            raise SpecError(
                "an open DuckDB connection brings its own database, memory limit and threads. "
                "Set them there."
            )
        delimiter = checked_delimiter(delimiter)
        self._has_tables = database is not None or connection is not None
        self._owned = connection is None
        self._carried = Carried()
        self._kept: dict[str, str] = {}
        self._closing = threading.Lock()
        temporary: list[str] = []
        if connection is not None:
            self._session = cursor_of(connection)
            self._let_go = weakref.finalize(self, let_go, self._session, None)
            names = connection.execute(render("temporary_names")).fetchall()
            temporary = [str(name) for (name,) in names]
            # One snapshot for all questions, in which nothing can be written.
            self._session.execute("begin transaction read only")
        else:
            spill = spill_folder()
            self._session = open_hub(memory_limit, threads, spill)
            self._let_go = weakref.finalize(self, let_go, self._session, spill)
        self._targets = Targets(
            self._session,
            is_ours=self._owned,
            has_tables=self._has_tables,
            temporary=temporary,
            delimiter=delimiter,
            null_strings=null_strings,
        )
        if database is not None:
            self._attach(str(database))

    @property
    def keeps_rows(self) -> bool:
        """In a relation's session nothing is kept: its questions carry along what they read."""
        return self._targets.relation is None

    @property
    def version(self) -> str:
        """DuckDB's version, for example `2.0.0`."""
        return duckdb.__version__

    def table(self, target: Any) -> Table:
        """The table that `target` names: a path, a glob, a table or view, a frame or a relation.

        A relation is read in its own session, and files beside it too.
        """
        self._targets.stopping.clear()
        if self._has_tables:
            require_plain_session(self._asked)
        table = self._targets.table(target)
        if self._is_plain_hub:
            return table
        if not self._has_tables:
            require_plain_session(self._asked)
        require_plain_comparison(self._asked, table)
        [[keeps_order]] = self._asked(render("keeps_order"))
        return replace(table, ordered=table.ordered and bool(keeps_order))

    def lock(self) -> None:
        """Shut off everything but the files named so far. Needs no call: `query` does it first."""
        if self._owned and not self._targets.is_shut:
            paths = ", ".join(map(literal, sorted(self._targets.paths)))
            self._session.execute(f"set allowed_paths = [{paths}]")
            self._session.execute("set enable_external_access = false")
            self._session.execute("set lock_configuration = true")
            self._targets.is_shut = True

    def limit(self, seconds: float) -> None:
        """DuckDB has no limit of its own: who waits cancels."""

    def in_own_words(self, sql: str) -> str:
        """The statement itself."""
        return sql

    def in_dialect(self, sql: str) -> str:
        """The statement itself."""
        return sql

    def query(self, sql: str) -> list[Row]:
        """The rows of one SELECT.

        Raises `EngineError`, or `InputError` where the data is at fault; neither holds a value.
        """
        try:
            self.lock()
            statement = self._one_select(sql)
            with ctrl_c():
                names, rows = self._answer(sql, statement)
        except duckdb.Error as error:
            raise self._targets.explained(error, told=self._fails_alike(error, sql)) from None
        return [dict(zip(names, row, strict=True)) for row in rows]

    def keep(self, name: str, sql: str) -> None:
        """Keep the rows of one SELECT in a temporary table, which is this session's alone."""
        self._make(name, "table", sql)

    def keep_view(self, name: str, sql: str) -> None:
        """Call one SELECT `name` in this session."""
        self._make(name, "view", sql)

    def keep_rows(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Keep rows that are at hand, every column of one type."""
        if not self.keeps_rows:
            self._carried.keep_rows(name, columns, rows)
            return
        lists = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
        named = (f"unnest(?) as {identifier(column)}" for column in columns)
        self._make(name, "table", f"select {', '.join(named)}", lists)

    def keep_batches(self, name: str, columns: Sequence[Column], batches: Batches) -> None:
        """Keep rows that another database gives, each column in its own type.

        Raises `InputError` for a value that its type does not hold.
        """
        typed = ", ".join(f"{identifier(each.name)} {each.type}" for each in columns)
        lists = ", ".join(f"unnest(cast(? as {each.type}[]))" for each in columns)
        try:
            self.lock()
            self._run(f"create temp table {identifier(name)} ({typed})")
            self._kept[name] = "table"
            for batch in batches:
                cells = [nan_in_words(column) for column in zip(*batch, strict=True)]
                with ctrl_c():
                    self._session.execute(f"insert into {identifier(name)} select {lists}", cells)
        except duckdb.Error as error:
            raise explained(error) from None

    def forget(self, name: str) -> None:
        """Drop a temporary table or view."""
        if name in self._carried:
            self._carried.forget(name)
            return
        try:
            self._run(f"drop {self._kept.pop(name)} temp.{identifier(name)}")
        except duckdb.Error as error:
            raise explained(error) from None

    def forget_all(self) -> None:
        """Drop every temporary table and view that was made here, the last one first."""
        for name in reversed(list(self._kept)):
            self.forget(name)
        self._carried.forget_all()

    def will_write(self, path: Path, becomes: Path) -> None:
        """Leave a file open that is to be written once the others are shut off, and take it for
        what it becomes."""
        self._targets.will_write(path, becomes)

    def write(self, name: str, path: Path) -> None:
        """Write what is kept under `name` to a Parquet or CSV file.

        Raises `EngineError`, for example where the disk is full.
        """
        becomes = self._targets.becomes(path)
        is_text = file_kind(becomes) == "csv"
        delimiter = literal(self._targets.delimiter_in(becomes))
        form = f"format csv, header true, delimiter {delimiter}" if is_text else "format parquet"
        written = self._targets.columns(identifier(name))
        columns = ", ".join(as_files_have_them(written, parquet=not is_text))
        try:
            with ctrl_c():
                self._session.execute(
                    f"copy (select {columns} from {identifier(name)}) to {literal(str(path))} "
                    f"({form}, use_tmp_file false)"
                )
        except (duckdb.IOException, duckdb.PermissionException):
            raise EngineError(
                f"{becomes} can't be written: is there room, and may you write "
                "there? Nothing was left behind."
            ) from None
        except duckdb.Error as error:
            raise explained(error) from None

    def records(self, table: Table, form: str) -> Any:
        """All records of a table, as pandas, polars or pyarrow has them."""
        self.lock()
        found = self._session.sql(f"from {table.sql}")
        given: dict[str, Callable[[], Any]] = {
            "pandas": found.df,
            "polars": found.pl,
            "pyarrow": found.to_arrow_table,
        }
        return given[form]()

    def check(self, sql: str) -> None:
        """Raise `SpecError` if DuckDB can't read the statement; nothing of it runs."""
        try:
            self._run(f"explain {sql}")
        except duckdb.Error as error:
            raise explained(error) from None

    def estimate(self, sql: str) -> Estimate:
        """How many records DuckDB expects to read; it reckons no cost."""
        try:
            [[_, plans]] = self._run(f"explain (format json) {sql}")
        except duckdb.Error as error:
            raise explained(error) from None
        return Estimate(sum(scanned(json.loads(plans))))

    @property
    def can_cancel(self) -> bool:
        """A relation's query can't be stopped: its session is not ours."""
        return self._targets.relation is None

    def cancel(self) -> None:
        """Stop what runs, unless it runs in a relation's session."""
        self._targets.stopping.set()
        self._session.interrupt()

    def progress(self) -> str:
        """How much of the running statement is done, in a session of our own."""
        with self._closing:
            told = self._owned and self._let_go.alive
            percent = self._session.query_progress() if told else 0
        return f"{percent:.0f} %" if percent > 0 else ""

    def renew(self) -> None:
        """In a user's session, end the snapshot and begin the next one."""
        if not self._owned:
            self._session.execute("rollback")
            self._session.execute("begin transaction read only")

    def close(self) -> None:
        """Close the session and remove what spilled to disk."""
        self._targets.let_go()
        with self._closing:
            self._let_go()

    def evidence(self) -> list[FileEvidence]:
        """The files read, as they were at the start."""
        return list(self._targets.evidence)

    def files_read(self) -> Iterator[str]:
        """What was named, or is scanned by a LazyFrame; the files of the databases that are open,
        and what any view or macro in them, or a relation, may read."""
        yield from (each.path for each in self._targets.evidence)
        yield from self._targets.scanned
        if self._is_plain_hub:
            return
        for (path,) in self._asked(render("database_files")):
            yield from (path, f"{path}.wal")
        definitions = [sql for (sql,) in self._asked(render("definitions_of_all"))]
        if self._targets.relation is not None:
            definitions.append(self._targets.relation.sql_query())
        [[search_path]] = self._asked(render("file_search_path"))
        folders = ["", *filter(None, str(search_path or "").split(","))]
        for text in {text for sql in definitions for text in texts_in(sql)}:
            yield from (os.path.join(folder, text) for folder in folders)

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if a file is not what it was at the start."""
        self._targets.evidence.verify_unchanged()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _attach(self, database: str) -> None:
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
                f"{database} can't be opened for reading: it is no DuckDB file, is from a newer "
                "DuckDB, or is open for writing elsewhere. In this process, pass the open "
                "connection instead."
            ) from None

    @property
    def _is_plain_hub(self) -> bool:
        """Whether nobody but us had a hand in the session that answers."""
        return not self._has_tables and self._targets.relation is None

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        with ctrl_c():
            return self._session.execute(sql).fetchall()

    def _asked(self, sql: str) -> list[tuple[Any, ...]]:
        """The answer of the session in which the tables lie."""
        with ctrl_c():
            return self._answer(sql)[1]

    def _one_select(self, sql: str) -> duckdb.Statement:
        """The statement as DuckDB has parsed it, which must be one SELECT."""
        statements = self._session.extract_statements(sql)
        if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
            raise EngineError("refused to run anything but one SELECT statement.")
        return statements[0]

    def _make(
        self, name: str, kind: Literal["table", "view"], sql: str, parameters: Sequence[Any] = ()
    ) -> None:
        """Make something temporary of one SELECT."""
        if not self.keeps_rows:
            self._carried.keep(name, sql)
            return
        try:
            self.lock()
            self._one_select(sql)
            with ctrl_c():
                self._session.execute(f"create temp {kind} {identifier(name)} as {sql}", parameters)
        except duckdb.Error as error:
            raise self._targets.explained(error, told=self._fails_alike(error, sql)) from None
        self._kept[name] = kind

    def _fails_alike(self, error: duckdb.Error, sql: str) -> bool:
        """Whether the SELECT fails in the same words where it is planned, and no row is read."""
        if not isinstance(error, ABOUT_THE_STATEMENT):
            return False
        try:
            self._asked(f"explain {sql}")
        except duckdb.Error as planned:
            return first_line(planned) == first_line(error)
        return False

    def _answer(
        self, sql: str, parsed: duckdb.Statement | None = None
    ) -> tuple[list[str], list[tuple[Any, ...]]]:
        """The rows of a statement, which need not be parsed again."""
        if self._targets.relation is None:
            answer = self._session.execute(sql if parsed is None else parsed)
            return [column[0] for column in answer.description or []], answer.fetchall()
        found = self._targets.relation.query(RELATION, self._carried.in_dialect(sql))
        return (found.columns, found.fetchall()) if found else ([], [])


def scanned(plans: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    """How many rows the planner expects of each leaf."""
    for plan in plans:
        if not plan["children"]:
            yield int(plan["extra_info"].get("Estimated Cardinality", 0))
        yield from scanned(plan["children"])


def nan_in_words(column: Iterable[Any]) -> list[Any]:
    """The same cells, of which DuckDB 1 would take a NaN for NULL.

    >>> nan_in_words([0.5, float("nan"), None])
    [0.5, 'nan', None]
    """
    return ["nan" if cell != cell else cell for cell in column]
