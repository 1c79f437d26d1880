"""In-memory data frames that DuckDB reads without merging values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from kanon_sql.engines.readers import require_usable_names
from kanon_sql.errors import InputError

RELATION_KIND = "duckdb.DuckDBPyRelation"
FRAMES = ("pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame", "pyarrow.Table")


def frame_name(target: Any) -> str:
    """Display name of an object's type, for example `pandas.DataFrame`."""
    frame_type = type(target)
    return f"{frame_type.__module__.partition('.')[0]}.{frame_type.__qualname__}"


class Readable(NamedTuple):
    """A frame that DuckDB reads value for value, except for its unusable columns."""

    frame: Any
    unusable: Mapping[str, str] = {}
    """Why a column, which is text here, can't be used, worded to follow its name."""


class Unread(ValueError):
    """What a column holds that DuckDB would change, worded to follow "holds"."""

    def __init__(self, content: str, fault: str = "can't compare") -> None:
        super().__init__(f"{content}, which DuckDB {fault}")


def without_unread(frame: Any, reads: Callable[[Any], bool]) -> Readable:
    """The frame without the columns that DuckDB doesn't read; `reads` tries a frame."""
    unread = {}
    for column in frame.column_names if hasattr(frame, "column_names") else list(frame.columns):
        if reads(frame.select([column]) if hasattr(frame, "select") else frame[[column]]):
            continue
        values = frame[column]
        unread[column] = (
            f"has the type {getattr(values, 'type', None) or values.dtype}, which DuckDB doesn't "
            "read. Convert it to text, a number or a date."
        )
    return Readable(without(frame, unread), unread)


def without(frame: Any, columns: Iterable[str]) -> Any:
    """The frame with empty texts in these columns."""
    match frame_name(frame):
        case "pandas.DataFrame":
            return frame.assign(**dict.fromkeys(columns, ""))
        case "pyarrow.Table":
            empty = import_module("pyarrow").repeat("", len(frame))
            for column in columns:
                frame = frame.set_column(frame.column_names.index(column), column, empty)
            return frame
    polars = import_module("polars")
    return frame.with_columns(polars.lit("").alias(column) for column in columns)


def readable_frame(target: Any) -> Readable:
    """The frame in a form that DuckDB reads. Raises `InputError`."""
    name = frame_name(target)
    if name not in FRAMES:
        raise InputError(f"can't audit {name}. {advice(name)}")
    if name == "pyarrow.Table":
        require_usable_names(name, target.column_names)
        return readable_arrow(target)
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
    named = frame.set_axis(columns, axis=1)
    changed, unusable = {}, {}
    for column, series in named.items():
        try:
            if (exact := exact_series(series)) is not series:
                changed[column] = exact
        except Unread as error:
            unusable[column] = f"holds {error}. Convert it, for example with .astype(str)."
    return Readable(without(named.assign(**changed), unusable), unusable)


def exact_series(series: Any) -> Any:
    """A pandas Series in a type that DuckDB reads value for value: `series` itself if its type is
    one. Raises `Unread`."""
    dtype = series.dtype
    if hasattr(dtype, "pyarrow_dtype"):
        array = series.array.__arrow_array__()
        exact = exact_arrow(array)
        return series if exact is array else _arrow_series(exact, series)
    if dtype == "category":
        if dtype.categories.inferred_type != "string":
            # Numeric categories with a NULL among the values would become DOUBLE.
            return exact_objects(series.astype(object))
        _require_unicode(dtype.categories)
    elif series.dtype == object:
        return exact_objects(series)
    elif dtype.kind == "c" or type(dtype).__name__ in _UNREAD:
        raise Unread(f"values of the type {dtype}")
    elif dtype.kind == "m" and _has_nanoseconds(series):
        raise Unread("timedeltas with nanoseconds", "cuts off")
    elif hasattr(dtype, "tz") and _has_nanoseconds(series):
        return _with_pyarrow(series, "points in time with a zone and nanoseconds")
    elif dtype.kind == "f" and dtype.itemsize == 2:
        return series.astype("float32")  # which pyarrow converts for DuckDB
    elif str(dtype) in ("Float32", "Float64") and _holds_nan_beside_na(series):
        return _with_pyarrow(series, "NaN beside NA")
    elif getattr(dtype, "storage", "") == "python":
        _require_unicode(series.dropna())
    return series


_UNREAD = ("PeriodDtype", "IntervalDtype", "SparseDtype")
"""pandas' own types that DuckDB doesn't read."""


def _has_nanoseconds(times: Any) -> bool:
    """Whether times of pandas differ from their microseconds."""
    return times.dt.unit == "ns" and bool((times.dropna().astype("int64") % 1000).any())


def _holds_nan_beside_na(numbers: Any) -> bool:
    """Whether nullable numbers of pandas hold NaN, which DuckDB reads as NULL."""
    known = numbers.to_numpy("float64", na_value=0)
    return bool((known != known).any())


def _require_unicode(texts: Iterable[str]) -> None:
    """Raise `Unread` for lone surrogates, which no text of a database has."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise Unread("text with lone surrogates") from None


def _with_pyarrow(series: Any, content: str, *decimal: int) -> Any:
    """The series as an Arrow array, of decimals if their digits and scale are given. Raises
    `Unread`."""
    try:
        arrow = import_module("pyarrow")
    except ImportError:
        only = "reads exactly with pyarrow only (pip install 'kanon-sql[arrow]')"
        raise Unread(content, only) from None
    kind = arrow.decimal128(*decimal) if decimal else None
    return _arrow_series(exact_arrow(arrow.array(series, kind, from_pandas=True)), series)


def _arrow_series(array: Any, series: Any) -> Any:
    """An Arrow array as a pandas Series with the index of another."""
    pandas = import_module("pandas")
    return pandas.Series(pandas.arrays.ArrowExtensionArray(array), series.index)


def exact_objects(series: Any) -> Any:
    """Python objects of one kind in a type that DuckDB reads value for value. Raises `Unread`.

    DuckDB would choose a type by a sample of them, which rounds a rare long decimal, reads dates as
    points in time, and numbers of numpy as text.
    """
    try:
        missing = series.isna()
        values = series[~missing]
        content = import_module("pandas.api.types").infer_dtype(values)
        _require_one_kind(values, content)
        if content in _OF_OBJECTS:
            return _OF_OBJECTS[content](series.where(~missing, None), values)
    except Unread:
        raise
    except (ValueError, TypeError, ArithmeticError):
        raise Unread(_kinds(series), "has no type for") from None
    return series


def _require_one_kind(values: Any, content: str) -> None:
    """Raise `Unread` for values of several kinds, or of one that DuckDB doesn't compare."""
    if content == "string":
        _require_unicode(values)
    elif content == "date":
        if any(issubclass(kind, datetime) for kind in set(map(type, values))):
            raise Unread(_kinds(values))
    elif content in ("datetime", "time"):
        have_zones = {value.tzinfo is not None for value in values}
        if len(have_zones) > 1:
            raise Unread("times of which only some have a time zone")
        if content == "time" and True in have_zones:
            raise Unread("times of day with a time zone")
    elif content not in ("bytes", "empty", *_OF_OBJECTS):
        raise Unread(_kinds(values))


def _kinds(values: Any) -> str:
    """The types of some Python objects."""
    kinds = list(dict.fromkeys(type(value).__name__ for value in values))
    if len(kinds) == 1:
        return f"Python objects ({kinds[0]})"
    return f"values of several types ({', '.join(kinds[:3])}{', …' if kinds[3:] else ''})"


def _integers(series: Any, values: Any) -> Any:
    numbers = [int(value) for value in values]
    for dtype, least, greatest in (("Int64", -(2**63), 2**63 - 1), ("UInt64", 0, 2**64 - 1)):
        if least <= min(numbers) and max(numbers) <= greatest:
            return series.astype(dtype)
    decimals = series.map(lambda number: Decimal(int(number)), na_action="ignore")
    return _decimals(decimals, decimals.dropna())


def _floats(series: Any, values: Any) -> Any:
    if import_module("numpy").longdouble in set(map(type, values)):
        raise Unread(_kinds(values))
    return series.astype("float64")


def _decimals(series: Any, values: Any) -> Any:
    """Decimals of one scale. Raises `Unread` where they have too many digits, two are equal and
    written differently, or one is infinite."""
    distinct = set(values)
    if not all(map(Decimal.is_finite, distinct)):
        raise Unread("infinite decimals", "has no type for")
    if len(distinct) < len(set(map(str, values))):
        raise Unread("equal decimals in two spellings, like 1.0 and 1.00", "can't tell apart")
    scale = max(0, *(-value.as_tuple().exponent for value in distinct))
    digits = max(1, scale, *(value.adjusted() + 1 + scale for value in distinct))
    if digits > 38:
        raise Unread("numbers of more than 38 digits in all", "has no type for")
    return _with_pyarrow(series, "decimals", digits, scale)


def _times(series: Any, values: Any) -> Any:
    """Points in time in their zone, or in UTC if they have several."""
    pandas = import_module("pandas")
    if not all(isinstance(value, datetime) for value in values):  # but numpy.datetime64
        series, values = (
            each.map(pandas.Timestamp, na_action="ignore") for each in (series, values)
        )
    unit = "ns" if any(getattr(value, "nanosecond", 0) for value in values) else "us"
    zones = {value.tzinfo for value in values}
    if zones == {None}:
        return series.astype(f"datetime64[{unit}]")
    zone = zones.pop() if len(zones) == 1 else "UTC"
    return exact_series(series.astype(pandas.DatetimeTZDtype(unit, zone)))


def _timedeltas(series: Any, _: Any) -> Any:
    return exact_series(series.astype("timedelta64[ns]"))


_OF_OBJECTS: dict[str, Callable[[Any, Any], Any]] = {
    "boolean": lambda series, _: series.astype("boolean"),
    "datetime": _times,
    "datetime64": _times,
    "decimal": _decimals,
    "floating": _floats,
    "integer": _integers,
    "timedelta": _timedeltas,
    "timedelta64": _timedeltas,
}
"""How a Series of objects becomes one of a type, by pandas' word for their kind; also given is the
Series without missing values."""


def readable_arrow(table: Any) -> Readable:
    """A pyarrow Table of types that DuckDB reads value for value."""
    unusable = {}
    for index, name in enumerate(table.column_names):
        try:
            table = table.set_column(index, name, exact_arrow(table.column(index)))
        except Unread as error:
            unusable[name] = f"holds {error}. Convert it, for example to text."
    return Readable(without(table, unusable), unusable)


def exact_arrow(array: Any) -> Any:
    """An Arrow array in a type that DuckDB reads value for value: `array` itself if its type is
    one. Raises `Unread`."""
    arrow, kind = import_module("pyarrow"), array.type
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    zone = getattr(kind, "tz", None)
    in_microseconds = (arrow.duration("us"), arrow.timestamp("us", zone), arrow.time64("us"))
    if any(name in str(kind) for name in _CUT):
        exact = next((type for type in in_microseconds if type.id == kind.id), arrow.null())
        fault = Unread("nanoseconds", "cuts off")
    elif arrow.types.is_decimal(kind) and (kind.bit_width > 128 or kind.scale < 0):
        exact = arrow.decimal128(38, max(kind.scale, 0))
        fault = Unread("numbers of more than 38 digits in all", "has no type for")
    else:
        return array
    try:
        return array.cast(kind).cast(exact)
    except arrow.ArrowException:
        raise fault from None


_CUT = (
    "duration[ns]",
    "month_day_nano",
    *(("timestamp[ns, tz=", "time64[ns]") if duckdb.__version__ < "2" else ()),
)
"""Types of Arrow whose nanoseconds DuckDB cuts off."""


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
    unusable = {}
    for column, dtype in eager.schema.items():
        if str(dtype).startswith("Object"):
            unusable[column] = (
                "holds Python objects, which DuckDB can't compare. Convert it to a polars type."
            )
        elif "'ns'" in str(dtype) or "Time" in str(dtype):
            try:
                exact_arrow(eager[column].to_arrow())
            except Unread as error:
                unusable[column] = f"holds {error}. Convert it, for example to pl.String."
    return Readable(without(eager, unusable), unusable)
