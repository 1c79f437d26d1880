"""Released records as data frames, with the types that their source had."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from importlib import import_module
from typing import Any

import duckdb

from kanon_sql.engines.duckdb.frames import frame_name
from kanon_sql.engines.failures import required
from kanon_sql.sql.quoting import identifier


def column_types(frame: Any) -> dict[str, Any]:
    """The type of each column of a frame, or what pandas infers of Python objects; none for another
    source."""
    match frame_name(frame):
        case "pandas.DataFrame":
            return {str(name): _series_type(values) for name, values in frame.items()}
        case "polars.DataFrame" | "polars.LazyFrame":
            return dict(frame.collect_schema())
        case "pyarrow.Table":
            return {field.name: field.type for field in frame.schema}
    return {}


def _series_type(series: Any) -> Any:
    """The type of a Series or of its categories, and of objects what pandas infers or their one
    time zone."""
    if series.dtype == "category" and series.cat.categories.inferred_type != "string":
        series = series.cat.categories.to_series()
    if str(series.dtype).startswith(("date32", "date64")):
        return "date"
    if series.dtype != object:
        return series.dtype
    kind = _inferred(series)
    zones = {each.tzinfo for each in series if isinstance(each, datetime) and each == each}
    return zones.pop() if kind == "datetime" and len(zones) == 1 else kind


def _inferred(series: Any) -> str:
    """What pandas infers of the objects of a Series."""
    return str(import_module("pandas.api.types").infer_dtype(series))


def with_types(frame: Any, types: Mapping[str, Any]) -> Any:
    """The frame with these types of columns that are unchanged, and time zones for points in time,
    which DuckDB returns in UTC."""
    if frame_name(frame) == "pandas.DataFrame":
        columns = [name for name in frame.columns if name in types]
        return frame.assign(**{name: _like(frame[name], types[name]) for name in columns})
    zones = {name: str(zone) for name, type in types.items() if (zone := _zone(type)) is not None}
    if frame_name(frame) == "polars.DataFrame":
        polars = import_module("polars")
        times = [name for name, type in frame.schema.items() if _zone(type) is not None]
        return frame.with_columns(
            polars.col(name).dt.convert_time_zone(zones[name]) for name in times if name in zones
        )
    arrow = import_module("pyarrow")
    for index, field in enumerate(frame.schema):
        if field.name in zones and _zone(field.type) is not None:
            there = arrow.timestamp(field.type.unit, zones[field.name])
            frame = frame.set_column(index, field.name, frame[field.name].cast(there))
    return frame


def _zone(type: Any) -> Any:
    if isinstance(type, tzinfo):
        return type
    return getattr(type, "tz", None) or getattr(type, "time_zone", None)


def _like(series: Any, type: Any) -> Any:
    """A pandas Series in the type of its source, if that has the same values."""
    missing = series.isna()
    if type == "date" and series.dtype.kind == "M":
        return series.dt.date.astype(object).where(~missing, None)
    if type == "integer" and _inferred(series) == "decimal":
        return series.map(int, na_action="ignore")
    if _zone(type) is not None and _zone(series.dtype) is not None:
        series = series.dt.tz_convert(_zone(type))
    if not hasattr(type, "kind") or type == series.dtype or type.kind != series.dtype.kind:
        return series
    try:
        typed = series.astype(type)
        is_same = typed.isna().equals(missing) and (typed == series)[~missing].all()
    except (ValueError, TypeError, ArithmeticError):
        return series
    return typed if is_same else series


def as_pandas(relation: duckdb.DuckDBPyRelation) -> Any:
    """The records of a relation as a pandas DataFrame, with decimals as Python's, bytes, and points
    in time and times of day to the nanosecond, all of which DuckDB would change."""
    frame = relation.df()
    for name, kind in zip(relation.columns, map(str, relation.types), strict=True):
        column = relation.project(identifier(name))
        if kind == "BLOB" or kind.startswith("DECIMAL"):
            values = [value for (value,) in column.fetchall()]
            frame[name] = import_module("pandas").Series(values, frame.index, dtype=object)
        elif kind == "TIMESTAMPTZ_NS" and _zone(frame[name].dtype) is None:
            frame[name] = frame[name].dt.tz_localize("UTC")
        elif kind == "TIME_NS":
            required("pyarrow", "times of day with nanoseconds need pyarrow", extra="arrow")
            array = column.to_arrow_table().column(0)
            frame[name] = import_module("pandas").arrays.ArrowExtensionArray(array)
    return frame
