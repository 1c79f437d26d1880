"""The FROM expression of a path or glob that reads every record unchanged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import partial
from glob import iglob
from importlib import import_module
from itertools import compress
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, NamedTuple

import duckdb

from kanon_sql.engines.duckdb.csv_files import csv_source
from kanon_sql.engines.duckdb.lakehouse import table_format
from kanon_sql.engines.failures import required
from kanon_sql.engines.readers import (
    GLOB_CHARACTERS,
    NO_HIVE,
    NULL_FOLDER,
    TABLE_LOGS,
    Run,
    TextOptions,
    call,
    call_in_lines,
    damaged,
    folder_values,
    hive_columns,
    in_table_format,
    path_list,
    require_each_once,
    require_usable_names,
    struct,
    values_by_file,
    without_partitions,
)
from kanon_sql.errors import EngineError, InputError, irregular_kind, nearest, printable
from kanon_sql.files import Kind, file_kind, first_bytes, office_file, without_credentials
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import is_one_line, literal


class FileEvidence(NamedTuple):
    """Path, size and modification time of a file when it was opened."""

    path: str
    size: int
    mtime_ns: int


class Evidence:
    """Records file fingerprints and verifies them."""

    def __init__(self) -> None:
        self._files: dict[str, FileEvidence] = {}

    def note(self, files: Iterable[str]) -> None:
        self._files |= {file: _evidence_of(file) for file in files}

    def __iter__(self) -> Iterator[FileEvidence]:
        return iter(self._files.values())

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if a file differs from its fingerprint."""
        for before in self:
            try:
                is_same = _evidence_of(before.path) == before
            except OSError:
                is_same = False
            if not is_same:
                raise EngineError(
                    f"{without_partitions(before.path)} changed while it was being audited; run "
                    "again."
                )


def _evidence_of(file: str) -> FileEvidence:
    status = os.stat(file)
    return FileEvidence(file, status.st_size, status.st_mtime_ns)


def is_database(path: str) -> bool:
    """Whether a file is a DuckDB database, by its magic bytes."""
    return first_bytes(path, 12)[8:] == b"DUCK"


JSON_TYPES = {"BOOLEAN", "BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "DOUBLE", "VARCHAR", "JSON"}


class FileSource(NamedTuple):
    """A FROM expression, with how the file is read."""

    sql: str
    text: bool = False
    in_lines: str = ""
    records: int | None = None
    """The number of records in the metadata of Parquet files."""
    bits: Mapping[str, float] = MappingProxyType({})
    """How many bits the first Parquet file stores of each value, by column."""
    unusable: Mapping[str, str] = MappingProxyType({})
    """Why a column can't be used, worded to follow its name."""
    has_index: bool = False
    """Whether the first column has no name in the header, and is called column_1."""


def list_files(path: str, run: Run) -> tuple[str, ...]:
    """The file at `path`, or the files matching it as a glob, sorted by name."""
    return matching_files(path, run)[0]


def matching_files(path: str, run: Run) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files of `path`, and the dot files that a glob leaves out as a shell does."""
    require_one_line(path)
    if not path.strip():
        raise InputError("the name of a table or file is empty. Is it a variable that is not set?")
    if os.path.isdir(path):
        folder = path.rstrip("/")
        raise InputError(
            f"{path} is a folder. Its Parquet files are named with a slash at the end, {folder}/, "
            f"others with a glob, {folder}/*.csv."
        )
    if os.path.exists(path):
        return (path,), ()
    if "://" in path:
        address = without_credentials(path)
        raise InputError(
            f"{address}: local files are read, and those at s3://, gs://, az:// and https://. "
            "Download it first."
        )
    if not any(character in path for character in GLOB_CHARACTERS):
        raise InputError(f"{path}: no such file.{_readable_neighbours(path)}")
    matches = [str(file) for (file,) in run(render("matching_files", pattern=literal(path)))]
    require_none_skipped(path, matches)
    for file in matches:
        require_one_line(file)
    left_out = tuple(file for file in matches if is_hidden(file, path))
    files = tuple(file for file in matches if file not in left_out)
    refuse_files_of_a_table(files)
    require_each_once(files, path)
    if not files:
        but = f" but dot files, which a * leaves out: {', '.join(left_out)}" if left_out else ""
        raise InputError(f"{path}: no file matches{but}.{_readable_neighbours(path)}")
    return files, left_out


def require_none_skipped(pattern: str, matches: Iterable[str]) -> None:
    """Raise `InputError` for what matches a glob and DuckDB skips without a word: folders that
    can't be read, broken links, and what lies below `**` in a linked folder."""
    for parent in PurePath(pattern).parents:
        for folder in iglob(str(parent), recursive=True):
            if os.path.isdir(folder) and not os.access(folder, os.R_OK | os.X_OK):
                raise InputError(
                    f"{without_partitions(f'{folder}/', pattern)} can't be read: permission "
                    "denied. Its records would be missing."
                )
    known = set(map(os.path.normpath, matches))
    for file in iglob(pattern, recursive=True):
        if os.path.normpath(file) not in known and not os.path.isdir(file):
            fault = (
                "lies in a linked folder, which ** leaves out. Name folders: people/*/*.parquet."
                if os.path.exists(file)
                else "is a broken link. Mend or remove it."
            )
            raise InputError(f"{without_partitions(file, pattern)} {fault}")


def refuse_files_of_a_table(files: Iterable[str]) -> None:
    """Raise `InputError` for files of a Delta, Hudi or Iceberg table, some of which may be old."""
    folders = {folder for file in files for folder in Path(file).absolute().parents}
    for folder in sorted(folders):
        for log in TABLE_LOGS:
            if (folder / log).is_dir() and (log != "metadata" or table_format(str(folder))):
                raise in_table_format(os.path.relpath(folder), log)


def require_one_line(path: str) -> None:
    """Refuse a path with a line break, as SQL is indented."""
    if not is_one_line(path):
        raise InputError(
            f"{printable(path)}: a path with a line break can't be named in SQL. Rename the "
            "file or its folder."
        )


def is_hidden(file: str, pattern: str) -> bool:
    """Whether a shell glob would skip the file: a leading dot must be matched explicitly.

    >>> is_hidden("g/.p.csv", "g/*.csv"), is_hidden("g/.p.csv", "g/.*.csv")
    (True, False)
    >>> is_hidden("g/.tmp/p.csv", "g/**/*.csv"), is_hidden(".cache/p.csv", ".cache/*.csv")
    (True, False)
    """
    dotted = iter([name for name in path_names(pattern) if name.startswith(".")])
    hidden = (name for name in path_names(file) if name.startswith("."))
    return not all(any(fnmatchcase(name, dotted_name) for dotted_name in dotted) for name in hidden)


def path_names(path: str) -> list[str]:
    """The names in a path, without `.` and `..`."""
    names = path.replace("\\", "/").split("/")
    return [name for name in names if name not in ("", ".", "..")]


def _readable_neighbours(path: str) -> str:
    """Advice listing the readable files of the folder, for a missing file."""
    folder, name = os.path.split(path)
    if any(character in folder for character in GLOB_CHARACTERS):
        return ""
    try:
        names = sorted(os.listdir(folder or "."))
    except OSError:
        return f" There is no folder {folder}."
    are_read = (name for name in names if file_kind(name) or office_file(name))
    readable = [name for name in are_read if not name.startswith(".")]
    where = f"in {folder}" if folder else "here"
    return f" Files {where}: {nearest(name, readable)}." if readable else ""


def file_source(
    path: str,
    files: tuple[str, ...],
    kind: Kind | None,
    run: Run,
    text: TextOptions,
    *,
    keep_glob: bool = True,
) -> FileSource:
    """The reader of the CSV, Parquet or JSON files of `path`.

    A glob may be kept where it matches no other file and later matches would be blocked by the
    lock. Raises `InputError` for unreadable files.
    """
    written = literal(path) if keep_glob and files != (path,) else path_list(files)
    if kind == "parquet":
        return parquet_source(written, files, run)
    if kind == "json":
        return json_source(path, written, files, run)
    source = csv_source(written, files, run, text)
    return FileSource(source.sql, text=True, in_lines=source.in_lines, has_index=source.has_index)


def require_readable(file: str) -> None:
    """Reject an empty or unreadable file, and non-files such as pipes, readable only once."""
    try:
        if irregular := irregular_kind(file):
            raise InputError(
                f"{file} is {irregular}, and a file is needed, as it is read more than once. Write "
                "its content to one first."
            )
        with open(file, "rb") as raw:
            start = raw.read(64)
    except OSError as error:
        raise InputError(f"{file} can't be read: {error.strerror}.") from None
    if not start:
        raise InputError(f"{file} is empty: it has no bytes. Was it written to the end?")
    if file_kind(file) == "json" and start.strip() in (b"[]", b"{}"):
        raise InputError(f"{file} holds no records, so its columns are unknown.")


def parquet_source(written: str, files: tuple[str, ...], run: Run) -> FileSource:
    """The reader of Parquet files, whose columns and types must agree."""
    shapes = parquet_shapes(files, run)
    for file in files:
        require_usable_names(file, [name for name, *_ in shapes[file]])
        require_same_columns(files[0], shapes[files[0]], file, shapes[file])
    shape = shapes[files[0]]
    values = partial(values_by_file, "read_parquet", files, {}, run)
    options = hive_columns(files, [name for name, *_ in shape], values)
    int96, unread = int96_columns(files, shape, run)
    options |= nan_beyond_bounds(shape) | int96
    [(records,)] = run(render("parquet_records", files=path_list(files)))
    return FileSource(
        call("read_parquet", written, options),
        records=int(records),
        bits=dict(run(render("bits_of_values", file=path_list(files[:1])))),
        unusable=unread | rounded_columns(shape),
    )


Shape = list[tuple[Any, ...]]


def nan_beyond_bounds(shape: Shape) -> dict[str, str]:
    """The option by which filters find NaN in float columns.

    Writers leave NaN out of the column statistics. From these, DuckDB would prune row groups, and
    conclude that a NaN is an ordinary number.
    """
    floats = {"FLOAT", "DOUBLE", "Float16Type()"}
    return {"can_have_nan": "true"} if any(floats & set(column) for column in shape) else {}


def rounded_columns(shape: Shape) -> dict[str, str]:
    """Why a column can't be used of which DuckDB reads rounded values."""
    rounded = {}
    for column in shape:
        for converted, logical, read_as in zip(
            column[4::9], column[7::9], column[8::9], strict=True
        ):
            if converted == "DECIMAL" and read_as == "DOUBLE":
                rounded[column[0]] = (
                    "holds decimals of more than 38 digits, which DuckDB rounds. Write them as "
                    "text, or with 38 digits at most."
                )
            elif "NANOS=Nano" in str(logical) and "_NS" not in read_as:
                rounded[column[0]] = (
                    f"holds nanoseconds, which DuckDB {duckdb.__version__} cuts off. "
                    f"Write microseconds{OR_INSTALL}."
                )
    return rounded


def int96_columns(
    files: Sequence[str], shape: Shape, run: Run
) -> tuple[dict[str, str], dict[str, str]]:
    """The option that reads timestamps of Parquet's deprecated type INT96 exactly, and why a column
    can't be used that none does.

    As TIMESTAMP they lose their nanoseconds; as TIMESTAMP_NS, dates before 1677 or after 2262
    become infinite.
    """
    columns = [column[0] for column in shape if column[1] == "INT96"]
    unread = dict.fromkeys(
        [column[0] for column in shape if "INT96" in column],
        "holds timestamps of Parquet's type INT96, whose nanoseconds or dates DuckDB "
        f"{duckdb.__version__} doesn't read exactly. Write them as INT64 timestamps{OR_INSTALL}.",
    )
    if not columns:
        return {}, unread
    source = call("read_parquet", path_list(files), NO_HIVE | {"int96_as": "'struct'"})
    try:
        [(are_far, *cut)] = run(render("int96_timestamps", source=source, columns=columns))
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        return {}, unread
    as_nanoseconds = any(cut) and not are_far
    for column, is_cut in zip(columns, cut, strict=True):
        if as_nanoseconds or not is_cut:
            del unread[column]
    return {"int96_as": "'timestamp_ns'"} if as_nanoseconds else {}, unread


OR_INSTALL = ", or install DuckDB 2.0 or later" if duckdb.__version__ < "2" else ""


def parquet_shapes(files: Sequence[str], run: Run) -> dict[str, Shape]:
    """The top-level columns of each file: name, then type with all nested fields."""
    rows: dict[str, list[tuple[Any, ...]]] = {os.path.normpath(file): [] for file in files}
    try:
        # DuckDB drops the `./` of a name containing glob characters.
        for file, *row in run(render("parquet_schemas", files=path_list(files))):
            rows[os.path.normpath(file)].append(tuple(row))
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        if len(files) > 1:
            return {file: parquet_shapes([file], run)[file] for file in files}
        raise damaged(files[0], "Parquet") from None
    return {file: top_columns(rows[os.path.normpath(file)]) for file in files}


def top_columns(rows: Sequence[tuple[Any, ...]]) -> Shape:
    """Group the schema rows, depth first without the root, into one tuple per top-level column."""
    columns: Shape = []
    pending = 0
    for name, *details in rows[1:]:
        if pending:
            columns[-1] += (name, *details)
            pending -= 1
        else:
            columns.append((name, *details))
        pending += details[2] or 0
    return columns


def require_same_columns(first_file: str, first: Shape, file: str, shape: Shape) -> None:
    """Reject a file of a glob whose columns differ from the first file's."""
    expected, actual = ({column[0]: column for column in one} for one in (first, shape))
    for name in [*expected, *actual]:
        if name not in actual:
            fault = f'has no column "{name}" that {first_file} has'
        elif name not in expected:
            fault = f'has a column "{name}" that {first_file} lacks'
        elif expected[name] != actual[name]:
            fault = f'has column "{name}" in another type than {first_file}'
        else:
            continue
        raise InputError(f"{file} {fault}. Files read as one table need the same columns.")


def json_source(path: str, written: str, files: tuple[str, ...], run: Run) -> FileSource:
    """The reader of JSON files: types from all records, text as text, numbers exact.

    By itself DuckDB would read `2020-1-1` as the date `2020-01-01`, and a wide integer as a DOUBLE.
    """
    options = {"records": "true"} | NO_HIVE
    detection = {
        "sample_size": "-1",
        "maximum_sample_files": str(len(files)),
        "union_by_name": "true",
        "map_inference_threshold": "-1",
    }
    try:
        described = run(f"describe from {call('read_json', written, options | detection)}")
        types = {name: json_type(type_) for name, type_, *_ in described}
        require_usable_names(path, list(types))
        if all(type_.startswith(("STRUCT", "MAP", "JSON")) for _, type_, *_ in described):
            require_records(path, written, run)
        require_distinct_keys(path, written, types, run)
        require_narrow_integers(path, written, types, options, run)
        require_numbers_as_written(path, written, run)
        typed = {"records": "true", "columns": struct(types)}
        values = partial(values_by_file, "read_json", files, typed, run)
        options = {"records": "true"} | hive_columns(files, [*types], values, constant=False)
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        raise damaged(path, "JSON objects, one a line or in one array") from None
    return FileSource(
        call("read_json", written, options | {"columns": struct(types)}),
        in_lines=call_in_lines("read_json", written, options, types),
    )


def require_records(path: str, written: str, run: Run) -> None:
    """Reject a single object of columns, each with the numbers of its rows, as pandas writes it."""
    [(by_column,)] = run(render("json_by_column", source=call("read_json_objects", written, {})))
    if by_column:
        raise InputError(
            f"{path} has a column after the other, as pandas' to_json writes them by default, and "
            'no records. Write it with to_json(…, orient="records").'
        )


def json_type(type_: str) -> str:
    """The type that reads a JSON column without merging distinct values.

    >>> [json_type(type_) for type_ in ("BIGINT", "DATE", "STRUCT(d DATE)")]
    ['BIGINT', 'VARCHAR', 'JSON']
    """
    if type_.endswith((")", "]")):
        return "JSON"
    return type_ if type_ in JSON_TYPES else "VARCHAR"


def require_distinct_keys(path: str, written: str, types: dict[str, str], run: Run) -> None:
    """Reject keys that differ only by case, one of which DuckDB renames to `key_1`."""
    folded = {name.casefold() for name in types}
    if any(name.casefold().rpartition("_")[0] in folded for name in types):
        keys = run(render("json_object_keys", source=call("read_json_objects", written, {})))
        require_usable_names(path, sorted(key for (key,) in keys))


def require_narrow_integers(
    path: str, written: str, types: dict[str, str], options: dict[str, str], run: Run
) -> None:
    """Reject integers that a DOUBLE column would merge."""
    doubles = [name for name, type_ in types.items() if type_ == "DOUBLE"]
    if not doubles:
        return
    as_text = {"columns": struct(dict.fromkeys(doubles, "VARCHAR"))}
    source = call("read_json", written, as_text | options)
    [wide] = run(render("json_wide_integers", source=source, columns=doubles))
    for name in compress(doubles, wide):
        raise InputError(
            f'{path}: column "{name}" has integers of more than 15 digits next to fractions, or '
            "beyond 38 digits, which would be rounded. Write its values as strings."
        )


def require_numbers_as_written(path: str, written: str, run: Run) -> None:
    """Reject a number, at any depth, whose digits a DOUBLE can't represent.

    DuckDB rounds it even when reading as text or JSON: `0.12345678901234567890` and `…891` would be
    one value. Only the raw record keeps the digits.
    """
    source = call("read_json_objects", written, {})
    for (record,) in run(render("json_record_with_a_rounded_number", source=source)):
        raise InputError(
            f"{path}: {rounded_column(record)} a fraction or an exponent whose digits a number of "
            "64 bits does not hold as they are written, and different values would become one. "
            "Write its values as strings."
        )


def rounded_column(record: str) -> str:
    """The column of a JSON record with a rounded number, as the subject of a sentence.

    >>> rounded_column('{"a": 0.1, "b": [{"c": 0.12345678901234567890}]}')
    'column "b" has'
    """
    try:
        columns = json.loads(record, parse_float=Decimal)
        rounded = next((name for name, value in columns.items() if has_rounded(value)), None)
    except (ValueError, ArithmeticError, RecursionError):
        rounded = None
    return "there is" if rounded is None else f'column "{rounded}" has'


def has_rounded(value: Any) -> bool:
    """Whether a JSON value, decoded as exact decimals, contains one that a double rounds."""
    match value:
        case dict():
            return any(map(has_rounded, value.values()))
        case list():
            return any(map(has_rounded, value))
        case Decimal():
            return Decimal(repr(float(value))) != value
    return False


def read_arrow(files: Sequence[str]) -> Any:
    """The pyarrow table of Arrow IPC or Feather files, memory-mapped.

    Raises `MissingDriverError` without pyarrow.
    """
    pyarrow = required("pyarrow", "Arrow and Feather files need pyarrow", extra="arrow")
    tables = [read_arrow_file(pyarrow, file) for file in files]
    for file, table in zip(files, tables, strict=True):
        require_usable_names(file, table.column_names)
        if not table.schema.equals(tables[0].schema):
            raise InputError(
                f"{file} has other columns or types than {files[0]}. "
                "Files read as one table need the same columns."
            )
    values = partial(arrow_values, files, tables)
    if hive_columns(files, tables[0].column_names, values, constant=False) not in ({}, NO_HIVE):
        for index, file in enumerate(files):
            for name, text in folder_values(file):
                value = pyarrow.scalar(None if text == NULL_FOLDER else text, pyarrow.string())
                column = pyarrow.repeat(value, len(tables[index]))
                tables[index] = tables[index].append_column(name, column)
    return pyarrow.concat_tables(tables)


def arrow_values(
    files: Sequence[str], tables: Sequence[Any], columns: Sequence[str]
) -> Iterator[list[Any]]:
    """`ValuesByFile` of Arrow tables."""
    for file, table in zip(files, tables, strict=True):
        row: list[Any] = [file]
        for column in map(table.column, columns):
            distinct = column.unique().drop_null().to_pylist() or [None]
            row += [distinct[0], distinct[-1], column.null_count]
        yield row


def read_arrow_file(pyarrow: Any, file: str) -> Any:
    """The table of one Arrow file, in the random-access or the streaming format.

    A stream must end with its mark, and be the only one: a reader stops there, or where it was cut
    off between two batches, without an error.
    """
    ipc: Any = import_module("pyarrow.ipc")
    for opened in (ipc.open_file, ipc.open_stream):
        try:
            source = pyarrow.memory_map(file)
            table = opened(source).read_all()
        except (pyarrow.ArrowException, OSError):
            continue
        end = source.tell()
        source.seek(max(end - len(_END_OF_STREAM), 0))
        if opened is ipc.open_file or source.read() == _END_OF_STREAM:
            return table
    raise damaged(file, "Arrow")


_END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"
