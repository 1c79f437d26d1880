"""Validates in-memory data frames: DuckDB must read them without merging values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

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
    kind = type(target)
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


def readable_frame(target: Any) -> Any:
    """The frame in a form that DuckDB reads value for value. Raises `InputError`."""
    name = frame_name(target)
    if name not in FRAMES:
        raise InputError(f"can't audit {name}. {advice(name)}")
    if name == "pyarrow.Table":
        require_usable_names(name, target.column_names)
        return target
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


def readable_pandas(frame: Any) -> Any:
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
    readable = frame.set_axis(columns, axis=1)
    for column in columns:
        series = readable[column]
        values = series.cat.categories if series.dtype == "category" else series
        content = infer_dtype(values, skipna=True)
        if values.dtype == object and content not in ONE_TYPE:
            raise InputError(
                f'{name}: column "{column}" holds values of several or unknown types ({content}), '
                "and DuckDB may treat different ones as equal. Convert it to one type, for example "
                "with .astype(str)."
            )
        if values is not series and content != "string":
            # Numeric categories with a NULL among the values would become DOUBLE.
            readable = readable.assign(**{column: series.astype(object)})
    return readable


_SCANNED = re.compile(r"^.*?SCAN \[(.*?)(, \.\.\. \d+ other sources)?\]$", re.MULTILINE)


def scanned_files(frame: Any) -> Iterator[str]:
    """The files that a polars LazyFrame scans.

    Its plan lists only the first of more than two files, so all files of that suffix in the folder
    are returned.
    """
    if frame_name(frame) != "polars.LazyFrame":
        return
    for first, others in _SCANNED.findall(frame.explain(optimized=False)):
        apart = [each.span() for each in re.finditer(", ", first)]
        yield from (first, *(first[:end] for end, _ in apart), *(first[at:] for _, at in apart))
        if others:
            yield from (str(each) for each in Path(first).parent.glob(f"*{Path(first).suffix}"))


def readable_polars(frame: Any) -> Any:
    """A polars DataFrame; a LazyFrame is collected once."""
    try:
        eager = frame.collect() if hasattr(frame, "collect") else frame
    except Exception as error:
        raise InputError(
            f"polars can't collect the LazyFrame ({type(error).__name__}). Collect it first to see "
            "why; the message is withheld, as it may hold values."
        ) from None
    for column, dtype in eager.schema.items():
        if str(dtype).startswith("Object"):
            raise InputError(
                f'polars.DataFrame: column "{column}" holds Python objects, which SQL can\'t '
                "compare. Convert it to a polars type."
            )
    require_usable_names("polars.DataFrame", eager.columns)
    return eager
