"""Dates that are not written as in 1956-12-24 are read exactly as declared, or refused."""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from test_files import written

import kanon_sql as kanon
from kanon_sql.engines.duckdb.engine import DuckDBEngine
from kanon_sql.engines.readers import TextOptions
from kanon_sql.errors import InputError, SpecError
from kanon_sql.question.date_formats import date_format

ANYTIME = [
    date(1, 1, 1) + timedelta(days=n) for n in random.Random(7).sample(range(3_652_058), 300)
]


def read(path: Path, dates: Any) -> list[tuple[Any, ...]]:
    with DuckDBEngine(text=TextOptions(dates={str(path): dates})) as engine:
        table = engine.table(str(path))
        return [tuple(row.values()) for row in engine.query(f"from {table.sql}")]


@pytest.mark.parametrize(
    ("format", "spelling"),
    [
        ("dmy", "{0.day:02}.{0.month:02}.{0.year:04}"),
        ("dmy", "{0.day}/{0.month}/{0.year:04}"),
        ("dmy", "{0.day}-{0.month}-{0.year:04}"),
        ("dmy", "{0.day:02}{0.month:02}{0.year:04}"),
        ("mdy", "{0.month}/{0.day}/{0.year:04}"),
        ("mdy", "{0.month:02} {0.day:02} {0.year:04}"),
        ("ymd", "{0.year:04}{0.month:02}{0.day:02}"),
        ("ymd", "{0.year:04}.{0.month}.{0.day}"),
        ("ymd", "{0.year:04}-{0.month:02}-{0.day:02}"),
        ("%d %b %Y", "{0.day} {0:%b} {0.year:04}"),
        ("%B %d, %Y", "{0:%B} {0.day}, {0.year:04}"),
        ("%Y%m%d", "{0.year:04}{0.month:02}{0.day:02}"),
        ("(%d.%m.%Y)", "({0.day}.{0.month}.{0.year:04})"),
    ],
)
def test_every_day_of_the_calendar_is_read(tmp_path: Path, format: str, spelling: str) -> None:
    lines = [f'"{spelling.format(day)}"' for day in ANYTIME]
    path = written(tmp_path, "\n".join(["day", *lines, ""]))
    assert read(path, format) == [(day.isoformat(),) for day in ANYTIME]


@pytest.mark.parametrize("format", ["dmy", "%d.%m.%Y"])
@pytest.mark.parametrize(
    "text",
    [
        "31.02.1980", "29.02.1900", "24.12.56", " 24.12.1956", "24.12.1956 ", "24.12.19560",
        "24.12", "0.12.1956", "24.13.1956", "24.12/1956x", "241256", "2412195", "32.1.1980",
        "24.12.1956 25:00", "unknown", "24.12.1956T00",
    ],
)  # fmt: skip
def test_what_is_no_date_is_refused(tmp_path: Path, format: str, text: str) -> None:
    path = written(tmp_path, f"day\n24.12.1956\n{text}\n")
    with pytest.raises(InputError, match='1 of 2 values of "day" are no dates as'):
        read(path, {"day": format})


def test_two_spellings_of_a_day_are_one_date_and_a_time_stays(tmp_path: Path) -> None:
    path = written(tmp_path, "day;at\n1.2.1980;1.2.1980 7:30\n01.02.1980;01.02.1980 07:31:59\n;\n")
    assert read(path, "dmy") == [
        ("1980-02-01", "1980-02-01 07:30:00"),
        ("1980-02-01", "1980-02-01 07:31:59"),
        (None, None),
    ]


def test_only_columns_of_dates_are_read_and_others_stay(tmp_path: Path) -> None:
    path = written(tmp_path, "day;code;n\n24.12.1956;0101;1.5\n31.01.1980;0202;2.5\n")
    assert read(path, "dmy") == [("1956-12-24", "0101", "1.5"), ("1980-01-31", "0202", "2.5")]
    assert read(path, {"DAY": "dmy"})[0] == ("1956-12-24", "0101", "1.5")


@pytest.mark.parametrize(
    "name", ["%d.%m.%y", "%d.%m", "%Y-%j", "dmx", "", "%d%d%Y%m", "%Y %m %d %p"]
)
def test_a_format_without_day_month_and_a_whole_year_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="a date format must be dmy, mdy, ymd or a pattern"):
        date_format(name)


def test_levels_and_clips_of_dates_give_what_python_gives(tmp_path: Path) -> None:
    days = [date(1900, 1, 1) + timedelta(days=97 * n) for n in range(400)]
    path = written(tmp_path, "\n".join(["day", *(f"{day:%d.%m.%Y}" for day in days), ""]))
    hierarchy = {
        "levels": ["month", "year", {"years": 5}],
        "clip": [date(1935, 1, 1), "1990-06-30"],
    }
    clipped = [min(max(day, date(1935, 1, 1)), date(1990, 6, 30)) for day in days]
    for level, label in enumerate(("%Y-%m", "%Y"), start=1):
        result = kanon.audit(path, {"day": hierarchy}, levels={"day": level}, dates="dmy")
        table = result.tables[0]
        assert table.summary.classes == len({day.strftime(label) for day in clipped})
        assert table.clip == {"day": ["1935-01-01", "1990-06-30"]}
    assert kanon.audit(path, {"day": hierarchy}, dates="dmy").tables[0].summary.classes == 400
    typed = pd.DataFrame({"day": pd.to_datetime(days).astype("datetime64[us]")})
    by_year = kanon.audit(typed, {"day": hierarchy}, levels={"day": 2}).tables[0].summary
    assert (
        by_year
        == kanon.audit(path, {"day": hierarchy}, levels={"day": 2}, dates={"day": "dmy"})
        .tables[0]
        .summary
    )


@pytest.mark.parametrize(
    ("clip", "levels", "message"),
    [
        (["1990-01-01", "1980-01-01"], None, "clip goes from 1990-01-01 down to 1980-01-01"),
        (["1990-01-01", 7], None, "clip has a number and a date"),
        (["1990-01-01", None], [{"width": 5}], "clip is for dates, and its levels are of numbers"),
        ([5, None], ["year"], "clip is for numbers, and its levels are of dates"),
        (["1990-02-30", None], None, "must be a number, or a date as in 1935-01-01"),
    ],
)
def test_a_clip_that_fits_nothing_is_refused(clip: Any, levels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kanon.GeneralizationHierarchy(clip=clip, levels=levels)


def test_a_clip_of_dates_is_for_dates() -> None:
    numbers = pd.DataFrame({"age": [1, 2]})
    with pytest.raises(SpecError, match='"age" is BIGINT, and clip is for dates'):
        kanon.audit(numbers, {"age": {"clip": ["1935-01-01", None]}}, levels={"age": 1})


def test_dates_of_a_frame_and_of_another_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"born": ["24.12.1956", "24.12.1956"]})
    register = written(tmp_path, "birth\n12/24/1956\n12/24/1956\n12/24/1956\n")
    reference = {"source": register, "columns": {"born": "birth"}, "dates": "mdy"}
    result = kanon.audit(
        frame, ["born"], checks=[kanon.KMap(k=3)], references={"register": reference}, dates="dmy"
    )
    assert result.holds


def test_a_release_has_the_dates_as_they_are_read(tmp_path: Path) -> None:
    lines = [f"{day}.3.1980;flu" for day in (1, 1, 2, 2)]
    path = written(tmp_path, "\n".join(["day;ill", *lines, ""]))
    release = tmp_path / "release.csv"
    days = {"day": {"levels": ["month"]}}
    kanon.anonymize(path, days, k=2, dates="dmy", output=release)
    assert release.read_text().splitlines()[1:] == [f"1980-03-0{day},flu" for day in (1, 1, 2, 2)]


def test_a_table_of_a_database_has_dates_of_its_own(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute("create table people as select '24.12.1956' as born")
    with pytest.raises(SpecError, match="dates is for files and data frames"):
        kanon.audit("people", ["born"], engine=connection, dates="dmy")


def test_a_proposal_says_what_it_assumes_and_asks_where_no_day_tells(tmp_path: Path) -> None:
    days = [date(1930, 1, 13) + timedelta(days=61 * n) for n in range(200)]
    lines = [f"{day:%d.%m.%Y};{day.month}/{day.month}/{day.year}" for day in days]
    path = written(tmp_path, "\n".join(["birth_date;death_date", *lines, ""]))
    proposal = kanon.init(path).text
    assert "    dates: {birth_date: dmy}\n" in proposal
    assert (
        "dates, assumed to be day.month.year\n        levels: [month, year, {years: 5}" in proposal
    )
    assert (
        "day.month.year or month/day/year? No day is above 12. Decide and write dates: "
        "{death_date: dmy} or {death_date: mdy}\n        levels: [suppress]"
    ) in proposal
