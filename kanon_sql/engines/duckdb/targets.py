"""The targets of an audit in DuckDB: files, tables, views, data frames, relations."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from kanon_sql.engines.duckdb.files import (
    Evidence,
    FileSource,
    file_source,
    is_database,
    list_files,
    matching_files,
    read_arrow,
    require_one_line,
    require_readable,
)
from kanon_sql.engines.duckdb.frames import (
    Readable,
    frame_name,
    readable_arrow,
    readable_frame,
    scanned_files,
    without_unread,
)
from kanon_sql.engines.duckdb.hub import (
    ctrl_c,
    definitions_read,
    own_definition,
    paths_in,
    relation_only,
    stored_in,
    translated_error,
    without_values,
)
from kanon_sql.engines.duckdb.lakehouse import (
    LOCAL,
    Files,
    TableFormat,
    parquet_below,
    require_reader,
    snapshot_of,
    table_format,
)
from kanon_sql.engines.duckdb.objects import Objects, objects_at, renamed_in_errors
from kanon_sql.engines.duckdb.published_figures import with_figures
from kanon_sql.engines.duckdb.text_copies import TextCopies, in_originals
from kanon_sql.engines.duckdb.written_dates import with_dates
from kanon_sql.engines.failures import stopped
from kanon_sql.engines.names import display_name, name_parts, resolved_name, without_database
from kanon_sql.engines.readers import (
    Run,
    TextOptions,
    as_pattern,
    folder_of_files,
    partitions_withheld,
    require_usable_names,
)
from kanon_sql.errors import EngineError, InputError, KanonError, option
from kanon_sql.files import (
    KINDS,
    Kind,
    OfficeFile,
    file_kind,
    foreign_format,
    is_sqlite,
    is_url_of_object,
    office_file,
    path_of_url,
    shown_url,
)
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT, identifier, literal
from kanon_sql.sql.tables import Column, Table

PROBE = "kanon_probe"
"""Name of a frame while its types are looked at."""
RELATION = "kanon_relation"
"""Alias of a relation in its own statements."""


def _numbers(name: str, columns: Sequence[Column]) -> str:
    """The name by which DuckDB numbers records, unless a column has it."""
    return "" if any(column.name.casefold() == name for column in columns) else name


class Targets:
    """The targets resolved so far, with the files and objects they read."""

    def __init__(
        self,
        session: duckdb.DuckDBPyConnection,
        *,
        is_ours: bool,
        has_tables: bool,
        temporary: Sequence[str] = (),
        text: TextOptions,
    ) -> None:
        self._text = text
        self._session = session
        self._is_ours = is_ours
        self._has_tables = has_tables
        self._temporary = {name.casefold() for name in temporary}
        self._frames: dict[str, Any] = {}
        self._copies = TextCopies()
        self._unfinished: dict[str, str] = {}
        self.evidence = Evidence()
        self.paths: set[str] = set()
        """The paths that stay accessible after the lock."""
        self.folders: set[str] = set()
        """The folders that stay accessible after the lock."""
        self.scanned: set[str] = set()
        """The files that LazyFrames scan."""
        self.relation: duckdb.DuckDBPyRelation | None = None
        self.is_locked = False
        """Whether file access is locked."""
        self.stopping = threading.Event()
        """Set to cancel reads that happen in Python rather than in DuckDB."""
        self.objects = Objects(session, is_ours=is_ours, stopping=self.stopping)

    def table(self, target: Any) -> Table:
        """Resolve a target. Raises `InputError` if it can't be read completely."""
        named = isinstance(target, str | os.PathLike)
        dates = self._text.dates.get(os.fspath(target) if named else id(target))
        table = self._table(target)
        table = table if dates is None else with_dates(table, dates, self._reading)
        figures = self._text.figures
        return table if figures is None else with_figures(table, figures, self._reading)

    def _table(self, target: Any) -> Table:
        if isinstance(target, str | os.PathLike):
            text: str = shown_url(os.fspath(target))
            if is_url_of_object(text):
                return self._at_url(text)
            if (place := office_file(text)) and text not in self._unfinished:
                return self._of_office(text, place)
            if format_name := table_format(text):
                return self._snapshot(text, format_name)
            if text.endswith("/") and folder_of_files(text):
                table = self._file(f"{as_pattern(text)}**/*.parquet")
                return replace(table, name=os.path.basename(os.path.abspath(text)))
            return self._file(text) if self._is_file(text) else self._catalogued(text)
        if isinstance(target, duckdb.DuckDBPyRelation):
            return self._related(target)
        return self._framed(frame_name(target), target)

    def will_write(self, path: Path, final_name: Path) -> None:
        """Register an output file under the name it will get."""
        self.paths.add(str(path))
        self._unfinished[str(path)] = str(final_name)

    def final_name(self, path: Path) -> str:
        """The name that an output file will get."""
        return self._unfinished[str(path)]

    def release(self) -> None:
        """Release relations and data frames."""
        self.relation = None
        self._frames.clear()
        self.objects.release()
        self._copies.close()

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if a file or an object has changed since it was opened."""
        self.evidence.verify_unchanged()
        self.objects.verify_unchanged()

    def translated_error(self, error: duckdb.Error, *, before_rows: bool = True) -> KanonError:
        """Translate an error. Raises `EngineError` instead if a file has changed."""
        if not isinstance(error, duckdb.InterruptException):
            self.verify_unchanged()
        return translated_error(error, before_rows=before_rows)

    def delimiter_in(self, name: str) -> str:
        """The field delimiter of an output file."""
        return self._text.delimiter or ("\t" if name.lower().endswith(".tsv") else ",")

    def columns(self, sql: str) -> tuple[Column, ...]:
        """The columns of a FROM expression."""
        return tuple(
            Column(name, without_values(type_))
            for name, type_, *_ in self._run(f"describe from {sql}")
        )

    def _is_file(self, text: str) -> bool:
        if not self._has_tables or text in self._unfinished:
            return True
        try:
            return file_kind(text) is not None and bool(list_files(text, self._reading))
        except InputError:
            return False

    @property
    def _reading(self) -> Run:
        return Run(self._run, self._raise_if_cancelled)

    def _raise_if_cancelled(self) -> None:
        """Raise if a read in Python is to be cancelled."""
        if self.stopping.is_set():
            raise stopped()

    def _file(self, path: str) -> Table:
        files, left_out = matching_files(path, self._reading)
        self._require_open(path)
        with partitions_withheld(path, files):
            return replace(self._table_of(path, files, is_complete=not left_out), left_out=left_out)

    def _table_of(self, path: str, files: tuple[str, ...], *, is_complete: bool) -> Table:
        """The table of the files at a path, `is_complete` where its glob matches no others."""
        final_name, text = self._unfinished.get(path, path), self._text_options(path)
        kind = _file_format(path, final_name)
        is_local = not is_url_of_object(files[0])
        if is_local:
            for file in files:
                require_readable(file)
            self.evidence.note(files)
        name = os.path.basename(path_of_url(final_name))
        if kind == "arrow":
            return self._readable(name, path, readable_arrow(read_arrow(files)))
        try:
            source = self._source(path, files, kind, text, is_complete=is_complete)
            columns = self.columns(source.sql)
            if kind == "csv" and text.decimal == "," and final_name == path:
                source = self._with_points(source, columns)
        except duckdb.Error as error:
            raise self.translated_error(error) from None
        except InputError:
            self.verify_unchanged()
            raise
        if is_local:
            self.paths |= {path, *files, *map(as_pattern, files)}
        return Table(
            name,
            source.sql,
            with_unusable(columns, source.unusable),
            source.text,
            parsed=kind in ("csv", "json"),
            in_lines=source.in_lines,
            is_named=text.header is not None,
            records=source.records,
            numbered_by=_numbers("file_row_number", columns) if kind == "parquet" else "",
            parts=len(files),
            has_index=source.has_index,
            bits=source.bits,
        )

    def _at_url(self, url: str) -> Table:
        """The table of an object, of several, or of a Delta or Iceberg table in a store."""
        require_one_line(url)
        self._require_open(url)
        objects = self.objects
        with objects.opening(url):
            try:
                listing = objects_at(url, objects.listed)
                if listing.format_name:
                    in_store = Files(objects.listed, objects.content_of)
                    return self._snapshot(url, listing.format_name, in_store)
                with partitions_withheld(url, listing.files):
                    table = self._of_objects(listing.pattern, listing.files)
            except duckdb.Error as error:
                raise translated_error(error) from None
        name = url.split("/")[-2] if url.endswith("/") else table.name
        return replace(table, name=name, left_out=listing.left_out)

    def _of_objects(self, pattern: str, files: tuple[str, ...]) -> Table:
        """The table of Parquet objects, or of local copies of others."""
        kind = _file_format(pattern, pattern)
        self.objects.note(files)
        if kind == "parquet":
            return self._table_of(pattern, files, is_complete=False)
        copies = self.objects.copies_of(files)
        with renamed_in_errors({copy: file for file, copy in copies.items()}):
            table = self._table_of(pattern, tuple(copies.values()), is_complete=False)
        for file, copy in copies.items():
            shown, local = (literal(as_pattern(path)) for path in (file, copy))
            table = replace(
                table,
                sql=table.sql.replace(local, shown),
                in_lines=table.in_lines.replace(local, shown),
            )
        return table

    def _of_office(self, text: str, place: OfficeFile) -> Table:
        """The table of a workbook or of a data file of a statistics program."""
        from kanon_sql.engines.duckdb.office_files import read_office

        files, left_out = matching_files(place.path, self._reading)
        self._require_open(text)
        for file in files:
            require_readable(file)
        self.evidence.note(files)
        name = "#".join(filter(None, (os.path.basename(place.path), place.part)))
        read = read_office(place, files, self._text.of(text))
        self.paths.add(text)
        table = self._readable(name, text, readable_arrow(read.frame))
        return replace(table, has_index=read.has_index, left_out=left_out)

    def _source(
        self, path: str, files: tuple[str, ...], kind: Kind, text: TextOptions, *, is_complete: bool
    ) -> FileSource:
        """The reader of files, or a temporary view of copies of them, named as their path."""
        copies = self._copies.of(files, text, self._reading) if kind == "csv" else ()
        if not copies:
            keep_glob = self._is_ours and is_complete
            return file_source(path, files, kind, self._reading, text, keep_glob=keep_glob)
        found = {copy.delimiter for copy in copies}
        text = replace(text, delimiter=text.delimiter or (found.pop() if len(found) == 1 else None))
        paths = tuple(copy.path for copy in copies)
        with in_originals(copies):
            source = file_source(path, paths, kind, self._reading, text, keep_glob=False)
        self._run(render("view_of_copies", name=identifier(path), source=source.sql))
        self.paths |= {*paths, *map(as_pattern, paths)}
        return source._replace(sql=identifier(path), in_lines="")

    def _require_open(self, path: str) -> None:
        if self.is_locked and path not in self.paths:
            raise EngineError(f"{path}: name every file before the first query.")

    def _snapshot(self, path: str, format_name: TableFormat, files: Files = LOCAL) -> Table:
        """The current snapshot of a Delta or Iceberg table."""
        require_one_line(path)
        self._require_open(path)
        require_reader(self._session, path, format_name, is_ours=self._is_ours)
        snapshot = snapshot_of(path, format_name, files)
        (self.evidence if files is LOCAL else self.objects).note([snapshot.evidence])
        try:
            columns = self.columns(snapshot.from_item(has_floats=False))
        except duckdb.Error as error:
            raise self.translated_error(error) from None
        require_usable_names(path, [column.name for column in columns])
        self.paths.add(path)
        self.folders |= set(snapshot.folders)
        if files is LOCAL:
            below = (file for folder in snapshot.folders for file in parquet_below(folder))
            self.scanned |= set(map(str, below))
        sql = snapshot.from_item(has_floats=any(map(_holds_floats, columns)))
        return Table(snapshot.name, sql, columns, snapshot=snapshot.words)

    def _with_points(self, source: FileSource, columns: Sequence[Column]) -> FileSource:
        """The source with decimal points in numeric columns that have decimal commas; marks of
        suppressed figures may occur in them."""
        statement = render(
            "decimal_commas", relation=source.sql, columns=columns, marks=self._text.marks
        )
        [counts] = self._run(statement)
        of_column = zip(columns, counts[::3], counts[1::3], counts[2::3], strict=True)
        with_commas = [
            column for column, values, numbers, commas in of_column if commas and numbers == values
        ]
        if not with_commas:
            return source
        points = partial(render, "with_decimal_points", columns=with_commas, marks=self._text.marks)
        return source._replace(
            sql=points(relation=source.sql),
            in_lines=points(relation=source.in_lines) if source.in_lines else "",
        )

    def _text_options(self, path: str) -> TextOptions:
        """The reading options of a text file; one that is written here has a header and a
        delimiter."""
        if path in self._unfinished:
            delimiter = self.delimiter_in(self._unfinished[path])
            return replace(self._text, delimiter=delimiter, header=True, encoding=None, skip=0)
        return self._text.of(path)

    def _catalogued(self, name: str) -> Table:
        if name_parts(name)[-1].casefold() in self._temporary:
            raise InputError(
                f"{name} is temporary, so only its own session sees it. Pass it as a relation: "
                f"connection.table('{name}')."
            )
        database, schema = self._run(render("current_place"))[0]
        catalogue = [tuple(map(str, row)) for row in self._run(render("tables_and_views"))]
        qualified_name = resolved_name(
            name, catalogue, [(database, schema)], DIALECT, no_file=", and no such file"
        )
        sql = ".".join(map(identifier, without_database(qualified_name, database)))
        definitions = self._run(render("definitions"))
        read = definitions_read(qualified_name, definitions)
        self._open_files_in(read)
        self._open_objects_in(own_definition(qualified_name, definitions))
        counted = self._run(render("records_of_table", place=list(map(literal, qualified_name))))
        try:
            columns = self.columns(sql)
            return Table(
                display_name(name, qualified_name),
                sql,
                columns,
                ordered=False,
                replaceable=frozenset(stored_in(schema, definitions)),
                records=counted[0][0] if counted else None,
                numbered_by=_numbers("rowid", columns) if counted else "",
            )
        except duckdb.Error as error:
            raise translated_error(error) from None

    def _open_files_in(self, definitions: Sequence[str]) -> None:
        """Allow and fingerprint the files that a view reads."""
        for path in (path for definition in definitions for path in paths_in(definition)):
            if is_url_of_object(path):
                continue
            try:
                files = list_files(path, self._reading)
            except InputError:
                continue
            self.evidence.note(files)
            self.paths |= {path, *files}

    def _open_objects_in(self, definitions: Sequence[str]) -> None:
        """Allow the objects that a view itself reads. Other views may read others, which the audit
        does not ask for."""
        paths = (path for definition in definitions for path in paths_in(definition))
        for path in filter(is_url_of_object, paths if self._is_ours else ()):
            url = shown_url(path)
            with self.objects.opening(url):
                self.objects.note(objects_at(url, self.objects.listed).files)
            self.paths.add(path)

    def _framed(self, name: str, target: Any) -> Table:
        self.scanned |= set(scanned_files(target))
        return self._readable(name, name, readable_frame(target))

    def _readable(self, name: str, label: str, readable: Readable) -> Table:
        """Register a frame, without the columns that DuckDB doesn't read."""
        frame, unusable = readable
        try:
            table = self._registered(name, label, frame)
        except InputError:
            frame, unread = without_unread(frame, self._reads)
            unusable = {**unusable, **unread}
            table = self._registered(name, label, frame)
        return replace(table, columns=with_unusable(table.columns, unusable))

    def _reads(self, frame: Any) -> bool:
        """Whether DuckDB knows the types of a frame."""
        try:
            self._session.register(PROBE, frame)
            return bool(self.columns(identifier(PROBE)))
        except (duckdb.Error, RuntimeError, ValueError):
            return False
        finally:
            self._session.unregister(PROBE)

    def _registered(self, name: str, label: str, frame: Any) -> Table:
        """Register `frame` under `label` on our own session or cursor, invisible to others."""
        if self.relation is not None:
            raise relation_only()
        label = label if label not in self._frames else f"{label} {len(self._frames) + 1}"
        try:
            self._session.register(label, frame)
            columns = self.columns(identifier(label))
        except duckdb.OutOfMemoryException as error:
            raise translated_error(error) from None
        except (duckdb.Error, RuntimeError, ValueError) as error:
            raise InputError(
                f"{name} has a column that DuckDB can't read ({type(error).__name__}). "
                "Convert it to text, a number or a date."
            ) from None
        self._frames[label] = frame
        return Table(name, identifier(label), columns, records=len(frame))

    def _related(self, relation: duckdb.DuckDBPyRelation) -> Table:
        if self._frames or self._has_tables or self.relation not in (None, relation):
            raise relation_only()
        if duckdb.__version__.startswith("1."):
            raise InputError(
                "a relation can be audited in place from DuckDB 2.0 on; before, that takes a view "
                "in your database. Pass a table's name with engine=, or to_arrow_table()."
            )
        require_usable_names("duckdb relation", relation.columns)
        self.relation = relation
        columns = zip(relation.columns, relation.types, strict=True)
        return Table(
            "duckdb relation",
            RELATION,
            tuple(Column(name, without_values(str(type_))) for name, type_ in columns),
            ordered=False,
        )

    def _run(self, sql: str) -> list[tuple[Any, ...]]:
        with ctrl_c():
            return self.objects.run(sql)


def with_unusable(columns: Iterable[Column], unusable: Mapping[str, str]) -> tuple[Column, ...]:
    """The columns, with the reason for each that can't be used."""
    return tuple(replace(column, unusable_because=unusable.get(column.name)) for column in columns)


def _holds_floats(column: Column) -> bool:
    """Whether values of the column, at any depth, may be NaN."""
    return "DOUBLE" in column.type or "FLOAT" in column.type


def _file_format(path: str, final_name: str) -> Kind:
    """The file format. Raises `InputError` where the name doesn't determine it."""
    if file_format := file_kind(final_name):
        return file_format
    refuse_sqlite(path)
    if is_database(path):
        raise InputError(
            f"{path} is a database; name one of its tables, and "
            f"{option('engine', f'duckdb:{path}')}."
        )
    if path.lower().endswith((".yml", ".yaml")):
        raise InputError(
            f"{path} is a spec, and a table is needed. In Python, AuditSpec.from_file({path!r}) "
            "reads it."
        )
    foreign = foreign_format(final_name)
    raise InputError(
        f"{path} is a file of {foreign.program}, which DuckDB doesn't read. {foreign.way_out}"
        if foreign
        else f"{path}: the name does not give the format of the file. Its suffix should be one of "
        f"{' '.join(KINDS)}."
    )


def refuse_sqlite(path: str) -> None:
    """Raise `InputError` for a SQLite database file, with how to connect to it."""
    if is_sqlite(path):
        raise InputError(
            f"{path} is a SQLite database; name one of its tables, and "
            f"{option('engine', f'sqlite:{path}')}."
        )
