"""The calls of DuckDB's file readers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Number
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import unquote

from kanon_sql.errors import InputError, KanonError, printable
from kanon_sql.files import Decimal, file_kind, is_url_of_object
from kanon_sql.question.date_formats import Dates
from kanon_sql.question.figures import FigureOptions
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal


class Run(NamedTuple):
    """Runs an internal statement, letting DuckDB's errors through.

    `raise_if_cancelled` raises once the run is cancelled, for work outside DuckDB.
    """

    answer: Callable[[str], list[tuple[Any, ...]]]
    raise_if_cancelled: Callable[[], None]

    def __call__(self, sql: str) -> list[tuple[Any, ...]]:
        return self.answer(sql)


@dataclass(frozen=True)
class TextOptions:
    """How text files are read."""

    delimiter: str | None = None
    """Detected on the header line by default."""
    null_strings: tuple[str, ...] = ()
    header: bool | Mapping[str, bool] | None = None
    """Whether the first line names the columns: of all files, or of each by its path."""
    decimal: Decimal = "."
    marks: tuple[str, ...] = ()
    """Marks of suppressed figures, which may stand among numbers with a decimal comma."""
    encoding: str | Mapping[str, str] | None = None
    """The codec, UTF-8 by default: of all files, or of each by its path."""
    skip: int | Mapping[str, int] = 0
    """The number of lines above the header: of all files, or of each by its path."""
    dates: Mapping[str | int, Dates] = field(default_factory=dict)
    """The formats of dates, of each file by its path or of each data frame by its `id`."""
    figures: FigureOptions | None = None
    """How published figures are read, if the tables are published."""

    def of(self, path: str) -> TextOptions:
        """The options of one path."""
        by_path = {
            name: own.get(path, 0 if name == "skip" else None)
            for name in ("header", "encoding", "skip")
            if isinstance(own := getattr(self, name), Mapping)
        }
        return replace(self, **by_path)


NO_HIVE = MappingProxyType({"hive_partitioning": "false"})
"""The option that adds no column for a folder name like `year=2024`."""
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The value in the name of a folder that stands for NULL."""
GLOB_CHARACTERS = "*?["


def as_pattern(file: str) -> str:
    """The glob that matches exactly this file.

    DuckDB parses every path as a glob: `p[1].csv` reads `p1.csv` where there is one.

    >>> as_pattern("p[1].csv"), as_pattern("s3://b/p[1].csv"), as_pattern("https://host/p[1].csv?…")
    ('p[[]1].csv', 's3://b/p[[]1].csv', 'https://host/p[1].csv?…')
    """
    if is_url_of_object(file):  # in URLs, ? begins the query; those of the web are no globs
        return file if file.startswith("http") else re.sub(r"[*[]", r"[\g<0>]", file)
    return "".join(f"[{one}]" if one in GLOB_CHARACTERS else one for one in file)


def path_list(files: Sequence[str]) -> str:
    """Files as the first argument of a table function."""
    patterns = [literal(as_pattern(file)) for file in files]
    return patterns[0] if len(patterns) == 1 else f"[{', '.join(patterns)}]"


def call(reader: str, paths: str, options: Mapping[str, str]) -> str:
    """A call of a table function, options in the given order."""
    return (
        f"{reader}({', '.join([paths, *(f'{key} = {value}' for key, value in options.items())])})"
    )


def call_in_lines(
    reader: str, paths: str, options: Mapping[str, str], types: Mapping[str, str]
) -> str:
    """The call formatted over several lines, one per option and column.

    "" if an argument contains a line break, which indentation would change.

    >>> print(call_in_lines("read_csv", "'a.csv'", {"header": "true"}, {"age": "VARCHAR"}))
    read_csv(
        'a.csv',
        header = true,
        columns = {
            'age': 'VARCHAR'
        }
    )
    """
    columns = ",\n".join(f"        {literal(name)}: {literal(of)}" for name, of in types.items())
    written = {**options, "columns": f"{{\n{columns}\n    }}"}
    if any("\n" in text for text in (paths, *options.values(), *types)):
        return ""
    lines = [paths, *(f"{key} = {value}" for key, value in written.items())]
    return f"{reader}(\n    " + ",\n    ".join(lines) + "\n)"


def struct(types: Mapping[str, str]) -> str:
    """The `columns` option of a reader.

    >>> struct({"age": "BIGINT", "sex": "VARCHAR"})
    "{'age': 'BIGINT', 'sex': 'VARCHAR'}"
    """
    pairs = (f"{literal(name)}: {literal(type_)}" for name, type_ in types.items())
    return f"{{{', '.join(pairs)}}}"


TABLE_LOGS = ("_delta_log", ".hoodie", "metadata")
"""Folders in which Delta, Hudi and Iceberg list the valid files of a table."""


def in_table_format(folder: str, log: str) -> InputError:
    return InputError(
        f"{folder} is not a folder of Parquet files but a table ({log} is in it), and may "
        "hold old records. Name the table instead."
    )


def folder_of_files(folder: str) -> list[Path]:
    """The Parquet files of a folder, and of the partition folders below it.

    Raises `InputError` for a Delta, Hudi or Iceberg table, which keeps obsolete files, and for
    other folders and Parquet files of another suffix below it.
    """
    for log in TABLE_LOGS:
        if Path(folder, log).is_dir():
            raise in_table_format(folder, log)
    names = [str(path.relative_to(folder)) for path in sorted(Path(folder).rglob("*"))]
    return [Path(folder, name) for name in parquet_among(folder, names)]


def parquet_among(folder: str, names: Iterable[str]) -> list[str]:
    """The Parquet files of a folder among the names of all files below it.

    Raises `InputError` for Parquet files of another suffix, and for folders that are no columns.
    """
    parquet = [name for name in names if file_kind(name) == "parquet"]
    files = [name for name in parquet if name.endswith(".parquet")]
    if other := next((name for name in parquet if files and name not in files), None):
        path = without_partitions(f"{folder.rstrip('/')}/{other}", folder)
        raise InputError(
            f"{folder}: {path} in it is not read, as its name does not end with .parquet. Rename "
            "it, or name all files with a glob."
        )
    for file in files:
        below = [name for name in file.split("/")[:-1] if "=" not in name]
        if below:
            raise InputError(
                f"{folder}: the folder {below[0]} in it is not read, as its name is no column like "
                "year=2024. Name it by itself, or with a glob: people/*/*.parquet."
            )
    return files


def folder_values(file: str) -> list[tuple[str, str]]:
    """The columns that folder names give a value, with this value.

    >>> folder_values("visits/year=2024/sex=F/1.parquet")
    [('year', '2024'), ('sex', 'F')]
    """
    folders = file.replace("\\", "/").split("/")[:-1]
    split = (folder.partition("=") for folder in folders)
    return [(name, unquote(value)) for name, equals, value in split if equals]


def folder_columns(files: Sequence[str]) -> list[str]:
    """The columns that DuckDB would infer from folder names like `year=2024`.

    >>> folder_columns(["visits/year=2024/sex=F/1.parquet", "visits/year=2025/sex=F/1.parquet"])
    ['year', 'sex']
    """
    return list(dict.fromkeys(name for file in files for name, _ in folder_values(file)))


def without_partitions(file: str, pattern: str = "") -> str:
    """A path without the values of folder names like `dx=flu`, unless they are in the given path.

    >>> without_partitions("visits/dx=flu/year=2024/1.parquet", "visits/*/year=2024/*.parquet")
    'visits/dx=…/year=2024/1.parquet'
    """
    *folders, name = file.split("/")
    pattern_folders = pattern.split("/")
    shown = [
        folder if folder in pattern_folders else re.sub("=.*", "=…", folder) for folder in folders
    ]
    return "/".join([*shown, name])


@contextmanager
def partitions_withheld(path: str, files: Sequence[str]) -> Iterator[None]:
    """Withhold, in errors, the values that folder names give to columns; a file is then named by
    its place in the order of the paths."""
    try:
        yield
    except KanonError as error:
        message = error.marked
        for number, file in enumerate(files, start=1):
            if (shown := without_partitions(file, path)) != file:
                message = message.replace(file, f"{shown} (file {number} of {len(files)} by path)")
        raise type(error)(message) from None


def require_each_once(files: Iterable[str], pattern: str) -> None:
    """Raise `InputError` for a file that a glob matches twice, as through a link `latest`: its
    records would be counted twice, and their classes look larger."""
    paths: dict[tuple[int, int], str] = {}
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            continue  # Whoever reads it says why.
        first = paths.setdefault((status.st_dev, status.st_ino), file)
        if first is not file:
            first, file = (without_partitions(path, pattern) for path in (first, file))
            raise InputError(
                f"{file} is the same file as {first}, so its records would be counted twice. Name "
                "the files so that each is read once."
            )


ValuesByFile = Callable[[Sequence[str]], Iterable[Sequence[Any]]]
"""For each file, its path and three values of each column: the least, the greatest, and how many
are NULL."""


def values_by_file(
    reader: str, files: Sequence[str], options: Mapping[str, str], run: Run, columns: Sequence[str]
) -> Iterable[Sequence[Any]]:
    """`ValuesByFile` of a reader of DuckDB."""
    by_file = {**options, **NO_HIVE, "filename": "'kanon_file'"}
    source = call(reader, path_list(files), by_file)
    return run(render("values_by_file", source=source, columns=columns))


def hive_columns(
    files: Sequence[str], own: Sequence[str], values: ValuesByFile, *, constant: bool = True
) -> dict[str, str]:
    """Options that add folder names as columns, or ignore them where the files have all of these.

    With `constant`, folder names that all files share are added too. Raises `InputError` where a
    reader would leave out folder names or take them for a column of the files, unless their values
    are those of the files.
    """
    folders = folder_columns(files)
    if not folders:
        return {}
    if {folder.casefold() for folder in folders} <= {name.casefold() for name in own}:
        require_values_of_folders(files, own, values)
        return dict(NO_HIVE)
    require_no_folder_instead(files[0], folders, own)
    if not constant and len({tuple(folder_values(file)) for file in files}) == 1:
        return dict(NO_HIVE)
    require_same_folders(files)
    # Keep folder names as text: year=02 and year=2 differ.
    return {"hive_types_autocast": "false"}


def require_values_of_folders(
    files: Sequence[str], own: Sequence[str], values: ValuesByFile
) -> None:
    """Reject a file with another value in a column than a folder above it has in its name, and two
    spellings of a value, as 02 and 2 of a number."""
    folders = {folder.casefold() for folder in folder_columns(files)}
    columns = [name for name in own if name.casefold() in folders]
    by_path = {os.path.normpath(file): file for file in files}
    spellings: dict[tuple[str, str], str] = {}
    for path, *cells in values(columns):
        file = by_path[os.path.normpath(path)]
        for name, text in folder_values(file):
            [index] = (
                n for n, column in enumerate(columns) if column.casefold() == name.casefold()
            )
            least, greatest, nulls = cells[3 * index : 3 * index + 3]
            spelling = spellings.setdefault((columns[index], str(least)), text)
            if spelling != text or not is_value_of_folder(text, least, greatest, nulls):
                raise InputError(
                    f'{file} has a column "{columns[index]}", and a folder above it gives that '
                    "column another value, which other readers would read in its place. Rename the "
                    "folder or the column."
                )


def is_value_of_folder(folder: str, least: Any, greatest: Any, nulls: int) -> bool:
    """Whether a column has no other value than the one in the name of a folder.

    >>> is_value_of_folder("02", 2, 2, 0), is_value_of_folder("02", "2", "2", 0)
    (True, False)
    """
    if least is None:
        return folder == NULL_FOLDER
    if nulls or least != greatest:
        return False
    if isinstance(least, Number):
        with suppress(ValueError):
            return Fraction(folder) == Fraction(str(least))
    return folder == str(least)


def require_same_folders(files: Sequence[str]) -> None:
    """Reject files in folders of different names, or of one name twice, which DuckDB ignores."""
    first = [name for name, _ in folder_values(files[0])]
    for file in files:
        names = [name for name, _ in folder_values(file)]
        if names != first or len({name.casefold() for name in names}) < len(names):
            raise InputError(
                f"{file}: each file must lie in folders that give the same columns a value, each "
                f"one once, as year=2024 does; {files[0]} and this one don't. Name them apart."
            )


def require_no_folder_instead(table: str, folders: Sequence[str], own: Sequence[str]) -> None:
    """Reject a folder name that would shadow a column of the files."""
    folded = {name.casefold() for name in folders}
    shadowed = next((name for name in own if name.casefold() in folded), None)
    if shadowed is not None:
        raise InputError(
            f'{table} has a column "{shadowed}", and a folder above it gives that column a value '
            "too, which would be read in its place. Rename the folder or the column."
        )


def require_usable_names(table: str, names: Sequence[str]) -> None:
    """Reject names with line breaks, and names that DuckDB can't distinguish (equal up to case)."""
    by_folded_name: dict[str, str] = {}
    for number, name in enumerate(names, start=1):
        if len(name.splitlines()) > 1 or name.endswith(("\n", "\r")):
            breaks = next(character for character in name if character.splitlines() != [character])
            raise InputError(
                f"{table}: the name of column {number} has a line break ({printable(breaks)}). "
                "Rename it."
            )
        folded = name.casefold()
        if folded not in by_folded_name:
            by_folded_name[folded] = name
        elif by_folded_name[folded] == name:
            raise InputError(f'{table} has two columns named "{name}". Rename one.')
        else:
            raise InputError(
                f'{table} has the columns "{by_folded_name[folded]}" and "{name}", which differ '
                "only by case. Rename one."
            )


def damaged(file: str, expected: str) -> InputError:
    """The error for a file whose content doesn't match its suffix."""
    return InputError(
        f"{file} can't be read as {expected}: it is truncated, damaged or of another format. Write "
        "it again."
    )
