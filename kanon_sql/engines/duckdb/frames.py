"""Validates in-memory data frames: DuckDB must read them without merging values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from kanon_sql.engines.readers import require_usable_names
from kanon_sql.errors import InputError

RELATION_KIND = "duckdb.DuckDBPyRelation"
FRAMES = ("pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame", "pyarrow.Table")

# pandas' inferred dtypes for an object column of a single type, NULLs aside.
ONE_TYPE = {
    "boolean",
    "bytes",
    "date",
    "datetime",
    "datetime64",
    "decimal",
    "empty",
    "floating",
    "integer",
    "string",
    "time",
    "timedelta",
    "timedelta64",
}


def frame_name(target: Any) -> str:
    """Display name of an object's type, for example `pandas.DataFrame`."""
    frame_type = type(target)
    return f"{frame_type.__module__.partition('.')[0]}.{frame_type.__qualname__}"


class Readable(NamedTuple):
    """A frame that DuckDB reads value for value, except for its unusable columns."""

    frame: Any
    unusable: Mapping[str, str] = {}
    """Why a column, which is text here, can't be used, worded to follow its name."""


def without_unread(frame: Any, reads: Callable[[Any], bool]) -> Readable:
    """The frame with the columns that DuckDB doesn't read as text; `reads` tries a frame."""
    unread = {}
    for column in frame.column_names if hasattr(frame, "column_names") else list(frame.columns):
        if reads(frame.select([column]) if hasattr(frame, "select") else frame[[column]]):
            continue
        values = frame[column]
        unread[column] = (
            f"has the type {getattr(values, 'type', None) or values.dtype}, which DuckDB doesn't "
            "read. Convert it to text, a number or a date."
        )
        cells = values.to_pylist() if hasattr(values, "to_pylist") else values.to_list()
        texts = [str(cell) for cell in cells]
        match frame_name(frame):
            case "pandas.DataFrame":
                frame = frame.assign(**{column: texts})
            case "pyarrow.Table":
                array = import_module("pyarrow").array(texts)
                frame = frame.set_column(frame.column_names.index(column), column, array)
            case _:
                frame = frame.with_columns(import_module("polars").Series(column, texts))
    return Readable(frame, unread)


def readable_frame(target: Any) -> Readable:
    """The frame in a form that DuckDB reads. Raises `InputError`."""
    name = frame_name(target)
    if name not in FRAMES:
        raise InputError(f"can't audit {name}. {advice(name)}")
    if name == "pyarrow.Table":
        require_usable_names(name, target.column_names)
        return Readable(target)
    if name == "pandas.DataFrame":
        return readable_pandas(target)
    return readable_polars(target)


def advice(name: str) -> str:
    if name == "pyarrow.RecordBatchReader":
        return "It can be read only once, and an audit reads more often: pass its read_all()."
    if name == "pandas.Series":
        return "Pass a DataFrame: its to_frame()."
    return (
        "Pass a path, a DuckDB relation, a pandas or polars DataFrame, or a pyarrow Table "
        "(other Arrow data: pyarrow.table(data))."
    )


def readable_pandas(frame: Any) -> Readable:
    """A pandas DataFrame with text column names and one type per column.

    DuckDB converts a column of `1` and `'1'` to text, merging the two. It ignores the index, so a
    named one, which holds data, is rejected.
    """
    infer_dtype = import_module("pandas.api.types").infer_dtype
    name = "pandas.DataFrame"
    columns = [str(column) for column in frame.columns]
    require_usable_names(name, columns)
    if not columns:
        raise InputError(f"{name} has no columns.")
    if index := [str(level) for level in frame.index.names if level is not None]:
        raise InputError(
            f"{name} has an index ({', '.join(index)}), which is not a column, so an audit would "
            "ignore it. Turn it into columns with reset_index(), or drop it with "
            "reset_index(drop=True)."
        )
    readable, unusable = frame.set_axis(columns, axis=1), {}
    for column in columns:
        series = readable[column]
        values = series.cat.categories if series.dtype == "category" else series
        content = infer_dtype(values, skipna=True)
        is_object = values.dtype == object
        is_mixed = is_object and (content not in ONE_TYPE or _mixes_zones(content, values))
        if is_mixed or values.dtype.kind == "c" or type(values.dtype).__name__ in _UNREAD:
            unusable[column] = (
                f"holds {_content(values, is_mixed)}, which DuckDB can't compare. Convert it, for "
                "example with .astype(str)."
            )
            readable = readable.assign(**{column: series.astype(str).astype(object)})
        elif values is not series and content != "string":
            # Numeric categories with a NULL among the values would become DOUBLE.
            readable = readable.assign(**{column: series.astype(object)})
    return Readable(readable, unusable)


def _mixes_zones(content: str, values: Any) -> bool:
    """Whether some points in time have a time zone and others none."""
    if not content.startswith("datetime"):
        return False
    return len({getattr(value, "tzinfo", None) is None for value in values.dropna()}) > 1


_UNREAD = ("PeriodDtype", "IntervalDtype", "SparseDtype")
"""pandas' own types that DuckDB doesn't read."""


def _content(values: Any, is_mixed: bool) -> str:
    """The type of a column's values, or the first of several."""
    if not is_mixed:
        return f"values of the type {values.dtype}"
    kinds = list(dict.fromkeys(type(value).__name__ for value in values.dropna()))
    if len(kinds) == 1:
        return f"Python objects ({kinds[0]})"
    return f"values of several types ({', '.join(kinds[:3])}{', …' if kinds[3:] else ''})"


_SCANNED = re.compile(r"^.*?SCAN \[(.*?)(, \.\.\. \d+ other sources)?\]$", re.MULTILINE)


def scanned_files(frame: Any) -> Iterator[str]:
    """The files that a polars LazyFrame scans.

    Its plan lists only the first of more than two files, so all files of that suffix in the folder
    are returned.
    """
    if frame_name(frame) != "polars.LazyFrame":
        return
    for first, further in _SCANNED.findall(frame.explain(optimized=False)):
        apart = [match.span() for match in re.finditer(", ", first)]
        yield from (first, *(first[:end] for end, _ in apart), *(first[at:] for _, at in apart))
        if further:
            yield from (str(path) for path in Path(first).parent.glob(f"*{Path(first).suffix}"))


def readable_polars(frame: Any) -> Readable:
    """A polars DataFrame; a LazyFrame is collected once."""
    try:
        eager = frame.collect() if hasattr(frame, "collect") else frame
    except Exception as error:
        raise InputError(
            f"polars can't collect the LazyFrame ({type(error).__name__}). Collect it first to see "
            "why; the message is withheld, as it may hold values."
        ) from None
    require_usable_names("polars.DataFrame", eager.columns)
    unusable = {
        column: "holds Python objects, which DuckDB can't compare. Convert it to a polars type."
        for column, dtype in eager.schema.items()
        if str(dtype).startswith("Object")
    }
    series = import_module("polars").Series
    texts = [series(column, [str(value) for value in eager[column]]) for column in unusable]
    return Readable(eager.with_columns(texts), unusable)
