"""A column of a frame is counted value for value or refused by name, and released unchanged."""

from __future__ import annotations

import contextlib
import datetime
import enum
import importlib
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kanon_sql as kanon
from kanon_sql.engines.duckdb import frames
from kanon_sql.engines.duckdb.engine import DuckDBEngine

NS_UNREAD = duckdb.__version__ < "2"
"""Whether DuckDB cuts the nanoseconds of points in time with a zone, and of times of day."""
UTC, VIENNA = datetime.UTC, ZoneInfo("Europe/Vienna")
NOON = pd.Timestamp("2020-01-01 12:00:00.000000001", tz=VIENNA)
NANOSECOND = pd.Timedelta(1)
LONG = Decimal("12345678901234567890123456789012345678901")


class Letter(enum.StrEnum):
    A = "a"


def objects(*values: Any) -> pd.DataFrame:
    return pd.DataFrame({"a": pd.Series(list(values), dtype=object)})


def arrow(values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({"a": pa.array(values, kind)})


def classes(frame: Any) -> int | str:
    """The number of classes by the column a, or what it is refused for."""
    try:
        [table] = kanon.audit(frame, "a").tables
    except kanon.SpecError as error:
        return str(error)
    assert table.summary.classes is not None
    return table.summary.classes


def told(value: Any) -> Any:
    """What a person can tell from other values: a missing one is one, a point in time a moment."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return None
    match value:
        case bool() | np.bool_():
            return "truth", bool(value)
        case int() | np.integer():
            return "whole", int(value)
        case float() | np.floating():
            return "float", float(value) + 0.0
        case Decimal():
            return "decimal", str(value)
        case str():
            return "text", str(value)
        case datetime.datetime() | np.datetime64():
            moment = pd.Timestamp(value)
            return (
                "moment",
                moment.tzinfo is None,
                str(moment.tz_convert(UTC) if moment.tzinfo else moment),
            )
        case datetime.timedelta() | np.timedelta64():
            return "span", pd.Timedelta(value)
    return type(value), repr(value)


def counted(frame: Any) -> int | str:
    """The number of values of the column a in DuckDB, or why it can't be used."""
    with DuckDBEngine() as engine:
        table = engine.table(frame)
        if because := table.columns[0].unusable_because:
            return because
        [row] = engine.query(f"select count(*) as n from (select distinct a from {table.sql})")
        return int(row["n"])


KINDS: dict[str, st.SearchStrategy[Any]] = {
    "truths": st.booleans() | st.booleans().map(np.bool_),
    "small numbers": st.integers(-3, 3) | st.just(np.int8(1)),
    "whole numbers": st.integers(-(10**40), 10**40)
    | st.integers(-3, 3)
    | st.just(np.uint64(2**64 - 1)),
    "floats": st.floats(allow_infinity=False)
    | st.sampled_from([0.1, np.float32(0.1), np.float16(0.1)]),
    "prices": st.decimals(0, 9, places=2),
    "decimals": st.decimals(allow_infinity=False, allow_nan=False)
    | st.sampled_from([Decimal("1"), Decimal("1.0")]),
    "texts": st.text(max_size=2)
    | st.sampled_from(["a", "A", "a ", "\ud800", Letter.A, np.str_("é")]),
    "bytes": st.binary(max_size=2),
    "days": st.dates(),
    "moments": st.datetimes() | st.integers(-2, 2).map(pd.Timestamp),
    "zoned moments": st.datetimes(
        datetime.datetime(1700, 1, 1),
        datetime.datetime(2200, 1, 1),
        timezones=st.sampled_from([UTC, VIENNA]),
    )
    | st.integers(-2, 2).map(lambda n: NOON + n * NANOSECOND),
    "times of day": st.times(),
    "zoned times of day": st.times(timezones=st.just(UTC)),
    "spans": st.timedeltas() | st.integers(-2, 2).map(pd.Timedelta),
    "numpy moments": st.integers(-2, 2).map(lambda n: np.datetime64(n, "ns")),
    "numpy spans": st.integers(-2, 2).map(lambda n: np.timedelta64(n, "ns")),
    "identifiers": st.integers(0, 2).map(lambda n: uuid.UUID(int=n)),
}
ALWAYS_READ = {"truths", "small numbers", "floats", "prices", "bytes", "days", "times of day"}
MISSING = st.sampled_from([None, float("nan"), pd.NA, pd.NaT])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_as_many_values_are_counted_as_a_person_can_tell_apart(data: st.DataObject) -> None:
    kinds = data.draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=2))
    value = st.one_of([KINDS[kind] for kind in kinds])
    values = data.draw(st.lists(st.one_of(value, value, MISSING), min_size=1, max_size=8))
    frame = objects(*values)
    if data.draw(st.booleans()):
        with contextlib.suppress(Exception):  # where pandas can't make categories of them
            frame = frame.astype("category")
    if data.draw(st.booleans()):
        # Beside a column that DuckDB reads by pyarrow, it reads all columns by pyarrow.
        frame = frame.assign(b=[Decimal("1.5")] * len(frame))

    found = counted(frame)

    if isinstance(found, str):
        assert not (len(set(kinds)) == 1 and set(kinds) <= ALWAYS_READ)
    else:
        assert found == len({told(each) for each in frame["a"]})


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (pd.DataFrame({"a": [NOON, NOON + NANOSECOND]}), NS_UNREAD or 2),
        (pd.DataFrame({"a": [NOON.floor("us"), NOON.ceil("us")]}), 2),
        (objects(NOON, NOON + NANOSECOND, None), NS_UNREAD or 3),
        (objects(NOON.tz_localize(None), (NOON + NANOSECOND).tz_localize(None)), 2),
        (objects(NOON.floor("us"), NOON.floor("us").tz_convert(UTC)), 1),
        (objects(Decimal("1.0"), Decimal("1.00"), Decimal("1")), "equal decimals in two spellings"),
        (objects(Decimal("1.5"), Decimal("2.25"), Decimal("1E+2")), 3),
        (objects(LONG, LONG + 1), "numbers of more than 38 digits in all"),
        (objects(Decimal("1E-20"), Decimal("1234567890123456789012")), "numbers of more than 38"),
        (objects(Decimal("Infinity"), Decimal("1")), "infinite decimals"),
        (objects(Decimal("sNaN"), Decimal("1")), "Python objects (Decimal)"),
        (objects(10**38, 10**38 + 1), "numbers of more than 38 digits in all"),
        (objects(*[1] * 5000, 2**70, 2**70 + 1), 3),
        (objects(datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1)), "(date, datetime)"),
        (objects(*[datetime.date(2020, 1, 1)] * 5000, pd.Timestamp(0)), "(date, Timestamp)"),
        (objects(0.1, np.float32(0.1)), 2),
        (objects(np.longdouble(1), np.longdouble(1) + np.finfo(np.longdouble).eps), "(longdouble)"),
        (objects(pd.Timestamp(1), datetime.datetime(9999, 1, 1)), "DuckDB has no type for"),
        (objects(NOON, NOON.tz_localize(None)), "times of which only some have a time zone"),
        (objects(datetime.time(1, tzinfo=UTC)), "times of day with a time zone"),
        (objects(*["a"] * 5000, "\ud800"), "text with lone surrogates"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2])}), "timedeltas with nanoseconds"),
        (pd.DataFrame({"a": pd.Series([1, 2]).astype("float16")}), 2),
        (pd.DataFrame({"a": pd.array([2**63, 2**63 + 1], dtype="UInt64")}), 2),
        (arrow([1, 2], pa.timestamp("ns", "Europe/Vienna")), NS_UNREAD or 2),
        (arrow([1, 2], pa.time64("ns")), NS_UNREAD or 2),
        (arrow([1000, 2000], pa.time64("ns")), 2),
        (arrow([1, 2], pa.duration("ns")), "nanoseconds, which DuckDB cuts off"),
        (arrow([Decimal(100), Decimal(200)], pa.decimal128(5, -2)), 2),
        (arrow([Decimal(1), Decimal(2)], pa.decimal256(76, 2)), 2),
        (arrow([LONG, LONG + 1], pa.decimal256(76, 2)), "numbers of more than 38 digits"),
        (pl.DataFrame({"a": pl.Series([1, 2]).cast(pl.Datetime("ns", "UTC"))}), NS_UNREAD or 2),
        (pl.DataFrame({"a": pl.Series([1, 2]).cast(pl.Time)}), NS_UNREAD or 2),
        (pl.DataFrame({"a": pl.Series([1, 2]).cast(pl.Duration("ns"))}), "nanoseconds"),
        (pl.DataFrame({"a": pl.Series([2**100], dtype=pl.Int128)}), "has the type Int128"),
    ],
)  # fmt: skip
def test_a_column_is_counted_exactly_or_refused_by_name(frame: Any, expected: Any) -> None:
    expected = "nanoseconds" if expected is True else expected
    for each in (frame, pyarrow_backed(frame)):
        found = classes(each)
        if isinstance(expected, int):
            assert found == expected
        else:
            assert f'column "a" of {type(each).__module__.partition(".")[0]}' in str(found)
            assert expected in str(found)


def pyarrow_backed(frame: Any) -> Any:
    """An Arrow table as a pandas DataFrame of its types; another frame as it is."""
    if not isinstance(frame, pa.Table):
        return frame
    columns = {
        name: pd.arrays.ArrowExtensionArray(column)
        for name, column in zip(frame.column_names, frame.columns, strict=True)
    }
    return pd.DataFrame(columns)


UNREAD: dict[str, Callable[[int], Any]] = {
    "pandas": lambda n: objects(*[Decimal("1.5")] * (n - 1), LONG),
    "arrow": lambda n: arrow([Decimal("1.5")] * (n - 1) + [LONG], pa.decimal256(50, 1)),
    "polars": lambda n: pl.DataFrame({"a": pl.Series(range(n)).cast(pl.Duration("ns"))}),
}


@pytest.mark.parametrize("kind", UNREAD)
def test_a_column_that_nobody_asks_about_stops_no_verb(kind: str, tmp_path: Path) -> None:
    frame, zips = UNREAD[kind](6000), ["02138", "02139"] * 3000
    match kind:
        case "pandas":
            frame = frame.assign(zip=zips)
        case "arrow":
            frame = frame.append_column("zip", [zips])
        case _:
            frame = frame.with_columns(zip=pl.Series(zips))

    [table] = kanon.audit(frame, "zip", k=3000).tables
    assert (table.status, table.summary.k) == ("holds", 3000)
    assert '"a" is not looked at: it holds' in table.warnings[0]
    [reference] = kanon.audit(
        pd.DataFrame({"zip": ["02138"]}), "zip", k_map=3000, references=frame
    ).tables
    assert reference.status == "holds"
    [column, _] = kanon.profile(frame).tables[0].columns
    assert (column.looks_like, column.why[:5]) == ("nested", "holds")
    with pytest.raises(kanon.SpecError, match="leave it out of the release"):
        kanon.anonymize(frame, ["zip"], k=2)
    assert kanon.anonymize(frame, ["zip"], k=2, identifiers="a").holds
    if kind == "arrow":
        pyarrow.feather.write_feather(frame, tmp_path / "people.arrow")
        assert kanon.audit(tmp_path / "people.arrow", "zip", k=3000).holds


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("1.50"), Decimal("12345678901234567890.25"), None],
        [10**30, 10**30 + 1],
        [datetime.date(2020, 1, 1), datetime.date(9999, 12, 31), None],
        [b"a", b"b"],
        [NOON, NOON + NANOSECOND],
        [datetime.datetime(2020, 1, 1, tzinfo=VIENNA), None],
        [2**53 + 1, None],
        [0.1, np.float32(0.1)],
    ],
    ids=repr,
)
@pytest.mark.parametrize("dtype", [object, "category"])
def test_objects_of_an_unchanged_column_are_given_back(values: list[Any], dtype: Any) -> None:
    frame = objects(*values).astype(dtype).assign(zip="a")
    if NS_UNREAD and values[0] is NOON:
        assert "nanoseconds" in str(classes(frame))
        return
    given_back = kanon.anonymize(frame, ["zip"], k=1).release.to_pandas()["a"].to_list()

    of = {told(value): value for value in values}
    back = {told(value): value for value in given_back}
    assert back.keys() == of.keys()
    for key, value in back.items():
        if key is not None and not isinstance(value, float):
            assert isinstance(value, type(of[key]))
            assert getattr(value, "tzinfo", None) == getattr(of[key], "tzinfo", None)


@pytest.mark.parametrize(
    "dtype",
    ["Int8", "UInt64", "boolean", "float16", "Float32", "string", "category", "datetime64[s]",
     "datetime64[ns]", "datetime64[ms, Europe/Vienna]", "datetime64[ns, Europe/Vienna]",
     pd.ArrowDtype(pa.decimal128(38, 3)), pd.ArrowDtype(pa.time64("ns"))],
    ids=str,
)  # fmt: skip
def test_an_unchanged_column_keeps_its_type(dtype: Any) -> None:
    values = pd.Series([1, 0, 1])
    match str(dtype):
        case "boolean":
            values = values.astype(bool)
        case "string" | "category":
            values = values.astype(str)
        case "time64[ns][pyarrow]":
            values = pd.Series(pd.arrays.ArrowExtensionArray(pa.array([1, 0, 1], pa.time64("ns"))))
    frame = pd.DataFrame({"a": values.astype(dtype), "zip": "a"})
    if NS_UNREAD and "ns" in str(dtype) and str(dtype) != "datetime64[ns]":
        assert "nanoseconds" in str(classes(frame))
        return
    back = kanon.anonymize(frame, ["zip"], k=1).release.to_pandas()["a"]

    assert back.dtype == frame["a"].dtype
    assert sorted(back) == sorted(frame["a"])


def test_a_generalised_column_has_the_type_of_its_level() -> None:
    ages = pd.DataFrame({"a": pd.Series([20, 21, 30, 31], dtype=object)})
    days = pd.DataFrame({"a": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)]})
    codes = pd.DataFrame({"a": pd.Categorical(["02138", "02139"] * 2)})

    for frame, levels, expected in (
        (ages, [{"width": 10}], ["[20,30)", "[20,30)", "[30,40)", "[30,40)"]),
        (days, "month", ["2020-01"] * 4),
        (codes, "mask:right", ["02138"] * 2 + ["02139"] * 2),
    ):
        asked = {"a": {"levels": levels} if isinstance(levels, list) else levels}
        release = kanon.anonymize(frame, asked, k=2).release.to_pandas()
        assert sorted(release["a"].astype(object)) == expected


def test_decimals_of_a_file_are_decimals_in_pandas(tmp_path: Path) -> None:
    file = tmp_path / "p.parquet"
    duckdb.sql("select 'a' as zip, 123456789012345678.25 as a from range(2)").write_parquet(
        str(file)
    )
    release = kanon.anonymize(file, ["zip"], k=2).release
    assert release.to_pandas()["a"].to_list() == [Decimal("123456789012345678.25")] * 2


@pytest.mark.parametrize(
    ("frame", "content"),
    [
        (objects(Decimal("1.5")), "holds decimals, which DuckDB reads exactly with pyarrow only"),
        (objects(2**70), "holds decimals, which"),
        (pd.DataFrame({"a": [NOON]}), "holds points in time with a zone and nanoseconds, which"),
    ],
)
def test_what_takes_pyarrow_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, frame: pd.DataFrame, content: str
) -> None:
    """DuckDB has imported pyarrow by then, so that only the package misses it here."""

    def missing(name: str) -> Any:
        if name == "pyarrow":
            raise ImportError(name)
        return importlib.import_module(name)

    monkeypatch.setattr(frames, "import_module", missing)
    assert content in str(classes(frame))
    assert "pip install 'kanon-sql[arrow]'" in str(classes(frame))
    assert classes(objects(1, None, 3)) == 3
    assert classes(pd.DataFrame({"a": [NOON.floor("us"), NOON.ceil("us")]})) == 2


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
def test_the_last_nanosecond_of_a_day_is_of_that_day(zone: str | None) -> None:
    last = pd.Timestamp("2020-12-31 23:59:59.999999999", tz=zone and "UTC")
    times = pd.DataFrame({"a": [last, last - NANOSECOND, last - pd.Timedelta("1h")]})
    if zone:
        times["a"] = times["a"].dt.tz_convert(zone)
    if zone and NS_UNREAD:
        assert "nanoseconds" in str(classes(times))
        return
    [table] = kanon.audit(times, {"a": "day"}, levels={"a": 1}).tables
    assert (table.summary.classes, len(table.warnings)) == (1, 1 if zone else 0)
