"""Levels as SQL, held against plain Python and the published examples."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from places import TESTS
from values_at_levels import CITIES, ENGINE, MASKS, VALUES_AT_LEVELS, column, labels

import kanon_sql as kanon
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import BoundColumn
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.sql.macros import render

HERE = TESTS
DATA = Path(os.environ.get("KANON_SQL_DATA", HERE.parents[1] / "shared" / "data"))


@pytest.mark.parametrize(("type", "builder", "level", "expected"), VALUES_AT_LEVELS)
def test_a_value_at_a_level(type: str, builder: str, level: int, expected: dict[Any, Any]) -> None:
    assert dict(zip(expected, labels(column(type, builder), level, expected), strict=True)) == (
        expected
    )


OF_NUMBERS = [
    "width:5", "width:0.5", "round:10", "depths:1", "cuts:1,5", "top:5", "bottom:5", "prefix:1",
    "mask:right", "mask:left",
]  # fmt: skip
OF_DATES = ["date:day", "date:month", "date:quarter", "date:year", "date:5y", "prefix:1"]
TYPES = ["VARCHAR", "BIGINT", "HUGEINT", "DECIMAL(9,2)", "DOUBLE"]


@pytest.mark.parametrize(
    ("type", "builder"),
    [
        *((type, builder) for type in TYPES for builder in OF_NUMBERS),
        *((type, builder) for type in ("VARCHAR", "DATE", "TIMESTAMP") for builder in OF_DATES),
    ],
)
def test_null_stays_null_below_suppress(type: str, builder: str) -> None:
    levels = column(type, f"{builder},suppress", longest=1)

    assert labels(levels, 1, [None]) == [None]
    assert labels(levels, levels.height, [None]) == ["*"]


@pytest.mark.parametrize(("builder", "level", "expected"), MASKS)
def test_a_mask_is_as_long_as_the_longest_value(
    builder: str, level: int, expected: dict[Any, Any]
) -> None:
    levels = column("VARCHAR", builder, longest=5)

    assert dict(zip(expected, labels(levels, level, expected), strict=True)) == expected


@pytest.mark.parametrize(
    ("type", "builder", "clip", "expected"),
    [
        ("INTEGER", "width:5", [10, 90], {-3: "[10,15)", 50: "[50,55)", 99: "[90,95)",
                                          None: None}),
        ("INTEGER", "round:1", [3, None], {-3: "3", 99: "99"}),
        ("INTEGER", "round:1", [None, 60], {-3: "-3", 99: "60"}),
        ("INTEGER", "width:0.5", [None, 60.5], {99: "[60.5,61.0)", 7: "[7.0,7.5)"}),
        ("DOUBLE", "cuts:18", [0, 100], {"nan": None, "inf": None, 17.9: "<18", 1e9: ">=18"}),
        ("VARCHAR", "width:10", [10, 90], {"7": "[10,20)", "x": None, "nan": None, None: None}),
        ("VARCHAR", "prefix:2", [10, 90], {"7": "10", "85.5": "85", "x": None}),
        ("ENUM('7', '50')", "round:1", [10, 90], {"7": "10", "50": "50", None: None}),
        ("BIGINT", "top:80", [10, 90], {5: "10", 79: "79", 99: ">=80"}),
    ],
)  # fmt: skip
def test_a_clip_comes_before_every_level(
    type: str, builder: str, clip: list[float | None], expected: dict[Any, Any]
) -> None:
    levels = column(type, builder, clip=clip)

    assert dict(zip(expected, labels(levels, 1, expected), strict=True)) == expected
    assert levels.sql(0, '"v"') == '"v"'


def test_an_origin_shifts_every_interval() -> None:
    shifted = {"levels": [{"width": 0.5, "origin": 7.2}, {"width": 5, "origin": 2}]}
    levels = column("DOUBLE", shifted, faults="warn")

    assert labels(levels, 2, [-4, 1.9, 2, 6.999999999999999, 7]) == [
        "[-8,-3)", "[-3,2)", "[2,7)", "[2,7)", "[7,12)",
    ]  # fmt: skip
    assert labels(levels, 1, [0.2, 0.69, 0.7, -0.1]) == [
        "[0.2,0.7)", "[0.2,0.7)", "[0.7,1.2)", "[-0.3,0.2)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("type", "level", "expected"),
    [
        ("VARCHAR", 1, {"Rome": "Italy", "L'Aquila": "Italy", "東京": "日本", "007": "Bond",
                        "7": None, "rome": None, None: None}),
        ("VARCHAR", 2, {"Rome": "Europe", "東京": "Asia", "Paris": None}),
        ("VARCHAR", 3, {"Rome": "*", "Paris": "*", None: "*"}),
    ],
)  # fmt: skip
def test_a_hierarchy_looks_a_value_up(type: str, level: int, expected: dict[Any, Any]) -> None:
    levels = column(type, {"hierarchy": CITIES, "levels": ["suppress"]})

    assert levels.height == 3
    assert dict(zip(expected, labels(levels, level, expected), strict=True)) == expected


def test_numbers_are_looked_up_by_their_text() -> None:
    hierarchy = {"hierarchy": {1: "odd", 2.0: "even", 2.5: "half"}}

    assert labels(column("INTEGER", hierarchy), 1, [1, 2, 3]) == ["odd", "even", None]
    assert labels(column("DOUBLE", hierarchy), 1, [1, 2, 2.5]) == ["odd", "even", "half"]
    assert labels(column("VARCHAR", hierarchy), 1, ["1", "01"]) == ["odd", None]


def test_a_mapping_gives_the_rows_of_a_join() -> None:
    levels = column("VARCHAR", {"hierarchy": CITIES, "levels": ["suppress"]})

    assert levels.mapping(2) == [
        ("Rome", "Europe"), ("L'Aquila", "Europe"), ("東京", "Asia"), ("007", "Europe"),
    ]  # fmt: skip
    assert (levels.mapping(0), levels.mapping(3)) == ([], [])
    assert levels.values() == [["Rome"], ["L'Aquila"], ["東京"], ["007"]]
    assert levels.key('"city"') == '"city"'


# --- against plain Python -------------------------------------------------------------------

WHOLE = st.integers(-(2**31), 2**31 - 1)
FLOATS = st.floats(-1e12, 1e12, allow_nan=False, allow_subnormal=False) | st.integers(
    -300, 300
).map(lambda n: n / 10)
WIDTHS = st.integers(1, 10**4) | st.sampled_from([0.1, 0.25, 0.5, 2.5, 0.05, 12.75])


TABLE_OF_LABELS = """\
(
    select
        split_part(kanon_line, '|', 2) as kanon_value,
        split_part(kanon_line, '|', 3) as kanon_label
    from (
        select unnest(string_split(
            '|Rome|Italy
             |L''Aquila|Italy
             |東京|日本
             |007|Bond',
            chr(10)
        )) as kanon_line
    ) as kanon_lines
)"""


def test_a_table_of_labels_is_the_lines_of_one_text() -> None:
    levels = column("VARCHAR", {"hierarchy": CITIES})

    assert levels.labels_sql(1) == TABLE_OF_LABELS
    assert ENGINE.execute(f"from {TABLE_OF_LABELS}").fetchall() == levels.mapping(1)


@given(st.dictionaries(st.text("a|;~' \t*\ue000", min_size=1), st.text("|;~' \\-/"), min_size=1))
def test_a_table_of_labels_holds_any_value(labels: dict[str, str]) -> None:
    levels = column(
        "VARCHAR", {"hierarchy": {raw: [label or "-"] for raw, label in labels.items()}}
    )

    assert ENGINE.execute(f"from {levels.labels_sql(1)}").fetchall() == levels.mapping(1)


@pytest.mark.parametrize(("rows", "joined"), [(200, False), (201, True)])
def test_a_hierarchy_of_many_rows_is_joined(rows: int, joined: bool) -> None:
    mapping = {str(row): [str(row // 10)] for row in range(rows)}
    levels = column("VARCHAR", {"hierarchy": mapping, "levels": ["suppress"]})

    assert [levels.is_joined(level) for level in (0, 1, 2)] == [False, joined, False]


def interval(value: Any, width: float, origin: float) -> str:
    """Of a float, its shortest decimal spelling is what counts."""
    exact, step, start = (Decimal(str(number)) for number in (value, width, origin))
    low = math.floor((Fraction(exact) - Fraction(start)) / Fraction(step)) * step + start
    digits = max(0, *(-int(number.as_tuple().exponent) for number in (step, start)))
    return f"[{low:.{digits}f},{low + step:.{digits}f})"


@given(st.lists(WHOLE, min_size=1), st.integers(1, 10**4), st.integers(-100, 100))
def test_width_is_floor(values: list[int], width: int, origin: int) -> None:
    levels = column("INTEGER", {"levels": [{"width": width, "origin": origin}]})
    low = [(value - origin) // width * width + origin for value in values]

    assert labels(levels, 1, values) == [f"[{each},{each + width})" for each in low]


@given(st.lists(FLOATS, min_size=1), WIDTHS, st.sampled_from([0, 1, -0.5, 0.25]))
def test_width_is_the_floor_of_the_number_that_is_written(
    values: list[float], width: float, origin: float
) -> None:
    hierarchy = {"levels": [{"width": width, "origin": origin}]}
    expected = [interval(value, width, origin) for value in values]

    assert labels(column("DOUBLE", hierarchy), 1, values) == expected
    assert labels(column("VARCHAR", hierarchy), 1, values) == expected


@given(st.lists(st.decimals(-(10**6), 10**6, places=3), min_size=1), WIDTHS)
def test_width_of_decimals_is_exact(values: list[Decimal], width: float) -> None:
    levels = column("DECIMAL(18,3)", {"levels": [{"width": width}]})

    assert labels(levels, 1, values) == [interval(value, width, 0) for value in values]


@given(st.lists(FLOATS, min_size=1), st.integers(1, 10**6))
def test_round_is_truncation_toward_zero(values: list[float], step: int) -> None:
    expected = [
        str(int(math.copysign(1, value)) * (abs(int(value)) // step * step)) for value in values
    ]

    assert labels(column("DOUBLE", {"levels": [{"round": step}]}), 1, values) == expected


@given(st.lists(FLOATS, min_size=1), st.sets(st.integers(-100, 100), min_size=1))
def test_cuts_divide_the_numbers(values: list[float], cuts: set[int]) -> None:
    ends = sorted(cuts)

    def between(value: float) -> str:
        below = [cut for cut in ends if cut <= value]
        above = [cut for cut in ends if cut > value]
        if not below:
            return f"<{above[0]}"
        return f"[{below[-1]},{above[0]})" if above else f">={below[-1]}"

    assert labels(column("DOUBLE", {"levels": [{"cuts": ends}]}), 1, values) == [
        between(value) for value in values
    ]


TEXTS = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8),
                 min_size=1)  # fmt: skip


@given(TEXTS, st.integers(0, 8), st.sampled_from(["left", "right"]))
def test_a_mask_hides_one_end(values: list[str], masked: int, side: str) -> None:
    longest = max(1, *map(len, values), 1)
    masked = max(1, min(masked, longest))
    levels = column("VARCHAR", f"mask:{side}", longest=longest)
    kept = longest - masked

    def hidden(value: str) -> str:
        if side == "right":
            return value[:kept].ljust(longest, "*")
        return value[max(0, len(value) - kept) :].rjust(longest, "*")

    assert levels.height == longest
    assert labels(levels, masked, values) == [hidden(value) for value in values]


@given(TEXTS, st.integers(1, 9))
def test_a_prefix_is_how_a_text_begins(values: list[str], length: int) -> None:
    levels = column("VARCHAR", f"prefix:{length}")

    assert labels(levels, 1, values) == [value[:length] for value in values]


DATES = st.dates(date(1, 1, 1), date(9999, 12, 31))


@given(st.lists(DATES, min_size=1), st.integers(1, 200))
def test_a_date_lies_in_its_periods(values: list[date], years: int) -> None:
    levels = column("DATE", {"levels": ["day", "month", "quarter", "year", {"years": years}]})
    first = [value.year // years * years for value in values]

    assert [labels(levels, level, values) for level in range(1, 6)] == [
        [value.isoformat() for value in values],
        [value.isoformat()[:7] for value in values],
        [f"{value.year:04}-Q{(value.month + 2) // 3}" for value in values],
        [f"{value.year:04}" for value in values],
        [f"[{year},{year + years})" for year in first],
    ]


# --- what follows from what -----------------------------------------------------------------

CHAINS = [
    ("INTEGER", {"levels": [{"width": 5}, {"width": 10}, {"width": 15}, {"width": 30}, "suppress"]},
     [1, 2, 4, 5]),
    ("INTEGER", {"levels": [{"width": 5}, {"width": 10, "origin": 5}, {"width": 20, "origin": 2}]},
     [1, 2]),
    ("DOUBLE", {"levels": [{"width": 0.1}, {"width": 0.3}, {"width": 0.6, "origin": 0.3}]},
     [1, 2, 3]),
    ("INTEGER", {"levels": [{"round": 2}, {"round": 10}, {"round": 15}, {"width": 30}]}, [1, 2]),
    ("INTEGER", {"levels": [{"width": 10}, {"round": 10}]}, [1]),
    ("INTEGER", {"levels": [{"width": 5}, {"cuts": [-10, 5, 20]}, {"cuts": [5]}, {"cuts": [6]}]},
     [1, 2, 3]),
    ("INTEGER", {"levels": [{"width": 5}, {"cuts": [7]}]}, [1]),
    ("INTEGER", {"levels": [{"top": 90}, {"top": 80}, {"bottom": 10}, {"bottom": 20}]}, [1, 2, 4]),
    ("INTEGER", {"clip": [-20, 20], "levels": [{"width": 5}, {"width": 10}]}, [1, 2]),
    ("INTEGER", {"levels": [{"top": 90}, {"cuts": [18, 90]}, {"cuts": [91]}]}, [1, 2]),
    ("INTEGER", {"levels": [{"bottom": 18}, {"cuts": [18, 65]}]}, [1, 2]),
    ("INTEGER", {"levels": [{"bottom": 18}, {"cuts": [17]}]}, [1]),
    ("INTEGER", {"levels": [{"round": 10}, {"cuts": [20, 90]}]}, [1, 2]),
    ("INTEGER", {"levels": [{"round": 10}, {"cuts": [-20]}]}, [1]),
    ("INTEGER", {"levels": [{"top": 90}, {"width": 10}]}, [1]),
    ("INTEGER", {"levels": [{"width": 10}, {"top": 90}]}, [1]),
    ("INTEGER", {"levels": [{"prefix": 3}, {"prefix": 1}, {"mask": "right"}]}, [1, 2, 4, 5]),
    ("INTEGER", {"levels": [{"mask": "left"}, "suppress"]}, [1, 2, 3, 4]),
]  # fmt: skip


@pytest.mark.parametrize(("type", "hierarchy", "nested"), CHAINS)
def test_what_is_nested_follows_from_the_level_below(
    type: str, hierarchy: dict[str, Any], nested: list[int]
) -> None:
    levels = column(type, hierarchy, longest=3, faults="warn")
    values: list[Any] = [*range(-99, 151), None]
    if type == "DOUBLE":
        values = [None if value is None else value / 20 for value in values]

    assert [level for level in range(1, levels.height + 1) if levels.nested(level)] == nested
    assert bool(levels.faults) == (len(nested) < levels.height)
    for level in nested:
        assert follows(labels(levels, level - 1, values), labels(levels, level, values))


@given(st.lists(DATES, min_size=2))
def test_periods_follow_from_shorter_ones(values: list[date]) -> None:
    levels = column("DATE", "date:day,month,quarter,year,5y,20y")
    near = [value + timedelta(days) for value in values[:9] for days in (0, 1, 40, 400)
            if value < date(9990, 1, 1)]  # fmt: skip

    for level in range(1, levels.height + 1):
        assert levels.nested(level)
        assert follows(labels(levels, level - 1, near), labels(levels, level, near))


def follows(finer: Sequence[Any], coarser: Sequence[Any]) -> bool:
    """Whether the coarser label can be told from the finer one."""
    above = dict(zip(finer, coarser, strict=True))
    return [above[label] for label in finer] == list(coarser)


@pytest.mark.parametrize(
    ("type", "hierarchy", "said"),
    [
        ("INTEGER", "width:10,15",
         '"v": level 2 (width 15) doesn\'t follow from level 1 (width 10): values that are one at '
         "level 1 would be told apart again. Take a width that is a multiple of 10."),
        ("INTEGER", {"levels": [{"width": 10, "origin": 5}, {"width": 20}]},
         "Take a width that is a multiple of 10, with intervals that begin at 5."),
        ("INTEGER", {"levels": [{"width": 10}, {"cuts": [18]}]},
         "Cut where intervals of width 10 begin."),
        ("VARCHAR", "round:10,25", "Take a multiple of 10."),
        ("INTEGER", {"levels": [{"round": 10}, {"width": 20}]},
         "Of numbers below 0 they differ; take two of width, or two of round."),
        ("INTEGER", {"levels": [{"cuts": [18, 40]}, {"cuts": [30]}]},
         "Take some of its cuts and no other: cuts 18, 40."),
        ("INTEGER", {"levels": [{"top": 90}, {"cuts": [18, 95]}]},
         "Cut on the side that top 90 leaves as it is."),
        ("INTEGER", {"levels": [{"width": 10}, {"top": 90}]},
         "top 90 leaves other values as they are: put it first, or clip."),
        ("DATE", "date:5y,7y", "Take a multiple of 5 years."),
        ("VARCHAR", {"levels": [{"prefix": 3}, {"mask": "right"}]},
         "Take levels of one kind, or list the values with their labels in a hierarchy file."),
    ],
)  # fmt: skip
def test_levels_that_do_not_nest_are_refused_with_the_way_out(
    type: str, hierarchy: str | dict[str, Any], said: str
) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        column(type, hierarchy)

    fault, way_out = str(refused.value).splitlines()
    assert fault.endswith(said)
    assert way_out == (
        "Fix it, or continue with hierarchy_faults='warn': every level is then read from the raw "
        "value."
    )


def test_the_way_out_of_levels_that_do_not_nest_leads_out() -> None:
    column("INTEGER", "width:10,30")
    column("INTEGER", {"levels": [{"width": 10, "origin": 5}, {"width": 20, "origin": 5}]})
    column("INTEGER", {"levels": [{"width": 10}, {"cuts": [20]}]})
    column("INTEGER", {"levels": [{"top": 90}, {"cuts": [18]}]})
    column("DATE", {"levels": [{"years": 1}, "year", {"years": 5}, {"years": 20}]})


def test_periods_that_overlap_are_not_nested() -> None:
    levels = column("DATE", "date:5y,7y,suppress", faults="warn")

    assert [levels.nested(level) for level in (1, 2, 3)] == [True, False, True]


def test_a_hierarchy_is_nested_where_its_rows_are(tmp_path: Path) -> None:
    file = tmp_path / "age.csv"
    file.write_text("1,a,x\n2,a,y\n2,a,x\n", encoding="utf-8")

    with pytest.raises(kanon.SpecError, match="lies under another"):
        ColumnLevels.of("age", "INTEGER", GeneralizationHierarchy.from_file(file))
    levels = ColumnLevels.of(
        "age", "INTEGER", GeneralizationHierarchy.from_file(file), faults="warn"
    )

    assert [fault.kind for fault in levels.faults] == ["two parents", "not nested"]
    assert [levels.nested(level) for level in (1, 2)] == [True, False]
    assert labels(levels, 2, [1, 2]) == ["x", "y"]


# --- the published examples -----------------------------------------------------------------


def worked_examples() -> dict[str, Any]:
    file = DATA.parent / "worked_examples.json"
    if not file.exists():
        pytest.skip(f"{file.name} is not here; put it above the folder of KANON_SQL_DATA")
    examples = json.loads(file.read_text(encoding="utf-8"))["examples"]
    return {example["id"]: example for example in examples}


@pytest.mark.parametrize("level", ["round: 10", "width: 10"])
def test_truncation_merges_both_sides_of_zero(level: str) -> None:
    example = worked_examples()["kanon-trunc-negative"]
    levels = column("INTEGER", level.replace(" ", ""))

    assert labels(levels, 1, [value for [value] in example["rows"]]) == [
        str(label) for label in example["expected"][level]
    ]


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_five_rows_of_the_chapter(depth: int) -> None:
    example = worked_examples()[f"kanon-seed5-depth{depth}"]
    levels = column("INTEGER", "depths:1,2")
    columns = [
        [int(label) for label in labels(levels, depth, values)]
        for values in zip(*example["parameters"]["raw_rows"], strict=True)
    ]

    rows = [list(row) for row in zip(*columns, strict=True)]
    assert rows == example["rows"]
    assert min(rows.count(row) for row in rows) == example["expected"]["k"]


# --- what people are told -------------------------------------------------------------------


def test_levels_have_words(tmp_path: Path) -> None:
    file = tmp_path / "education.csv"
    file.write_text("9th,school\n", encoding="utf-8")

    def words(levels: ColumnLevels) -> list[str]:
        return [levels.label(level) for level in range(levels.height + 1)]

    assert words(column("VARCHAR", {})) == ["raw value", "suppress"]
    assert words(column("VARCHAR", str(file))) == ["raw value", "column 1 of education.csv"]
    assert words(column("VARCHAR", {"hierarchy": {"a": ["x"]}, "levels": ["suppress"]})) == [
        "raw value", "ancestor 1", "suppress",
    ]  # fmt: skip
    assert words(column("VARCHAR", "mask:right", longest=2)) == [
        "raw value", "mask 1 from the right", "mask 2 from the right",
    ]  # fmt: skip
    assert words(column("INTEGER", "depths:1,2")) == ["raw value", "round 10", "round 100"]


@pytest.mark.parametrize(
    ("type", "hierarchy", "needs"),
    [
        ("INTEGER", "width:5", None),
        ("DECIMAL(5,2)", "width:5", None),
        ("DOUBLE", "width:5", "number"),
        ("HUGEINT", "width:5", "number"),
        ("VARCHAR", "width:5,suppress", "number"),
        ("VARCHAR", "date:month", "date"),
        ("DATE", "date:month", None),
        ("VARCHAR", "mask:right", None),
        ("VARCHAR", "suppress", None),
        ("VARCHAR", {"hierarchy": CITIES}, "listed"),
    ],
)
def test_a_level_says_what_it_needs(
    type: str, hierarchy: str | dict[str, Any], needs: str | None
) -> None:
    assert column(type, hierarchy).needs == needs


@pytest.mark.parametrize(
    ("type", "builder", "message"),
    [
        ("DATE", "width:5",
         '"v" is DATE, and the level width 5 is for numbers. Choose another level.'),
        ("INTEGER", "date:month",
         '"v" is INTEGER, and the level month is for dates. Choose another level.'),
        ("BOOLEAN", "cuts:1",
         '"v" is BOOLEAN, and the level cuts 1 is for numbers. Choose another level.'),
    ],
)  # fmt: skip
def test_levels_of_another_type_are_refused(type: str, builder: str, message: str) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        column(type, builder)

    assert str(refused.value) == message


def test_a_level_beyond_the_top_is_refused() -> None:
    with pytest.raises(kanon.SpecError) as refused:
        column("INTEGER", "width:5,10").sql(3, '"v"')

    assert str(refused.value) == '"v" has levels 0 to 2, so there is no level 3.'


def test_a_mask_waits_for_the_longest_value() -> None:
    levels = column("VARCHAR", "mask:right")

    assert (levels.needs_longest, levels.with_longest(5).needs_longest) == (True, False)
    assert (levels.with_longest(5).height, levels.with_longest(0).height) == (5, 1)
    with pytest.raises(ValueError, match="not known yet"):
        _ = levels.height


# --- the SQL --------------------------------------------------------------------------------

TEXTS_OF_LEVELS = {
    "int": (
        "INTEGER", "width:5", """\
'[' || cast(try_cast("v" as bigint) - mod(mod(try_cast("v" as bigint), 5) + 5, 5) as varchar)
|| ',' || cast(try_cast("v" as bigint) - mod(mod(try_cast("v" as bigint), 5) + 5, 5) + 5 as varchar)
|| ')'"""),
    "text": (
        "VARCHAR", "width:5", """\
'[' || cast(try_cast(floor(cast(try_cast("v" as double) as double) / nullif(5, 0)) * 5 as bigint) \
as varchar)
|| ',' || cast(try_cast(floor(cast(try_cast("v" as double) as double) / nullif(5, 0)) * 5 + 5 \
as bigint) as varchar)
|| ')'"""),
    "cuts": (
        "INTEGER", "cuts:18,40,65", """\
case
    when "v" < 18 then '<18'
    when "v" < 40 then '[18,40)'
    when "v" < 65 then '[40,65)'
    when "v" >= 65 then '>=65'
end"""),
    "months": ("DATE", "date:month", """strftime("v", '%Y-%m')"""),
    "cities": (
        "VARCHAR", {"hierarchy": CITIES}, """\
case
    when "v" in ('Rome', 'L''Aquila') then 'Italy'
    when "v" = '東京' then '日本'
    when "v" = '007' then 'Bond'
end"""),
    "many": (
        "VARCHAR", {"hierarchy": {str(age): "all" for age in range(10)}}, """\
case
    when "v" in (
        '0', '1', '2', '3', '4', '5', '6', '7',
        '8', '9'
    ) then 'all'
end"""),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS_OF_LEVELS)
def test_the_text_is_the_one_that_was_read(name: str) -> None:
    type, hierarchy, text = TEXTS_OF_LEVELS[name]

    assert column(type, hierarchy).sql(1, '"v"') == text


@pytest.mark.parametrize("name", TEXTS_OF_LEVELS)
def test_it_is_one_expression(name: str) -> None:
    type, hierarchy, _ = TEXTS_OF_LEVELS[name]

    parsed = sqlglot.parse_one(f"select {column(type, hierarchy).sql(1, chr(34) + 'v' + chr(34))}")

    assert len(parsed.selects) == 1


@pytest.mark.parametrize(
    ("hierarchy", "values", "row"),
    [
        ("width:5", ["1", "x", "x", "nan", None, "7"], (4, 2, 3)),
        ("date:month", ["2025-01-31", "x", None], (2, 1, 1)),
        ({"hierarchy": CITIES}, ["Rome", "Paris", "Paris", None], (2, 1, 2)),
        ("width:5", [None], (0, 0, 0)),
    ],
)
def test_values_without_a_label_are_counted(
    hierarchy: str | dict[str, Any], values: list[Any], row: tuple[int, int, int]
) -> None:
    levels = column("VARCHAR", hierarchy)
    sql = render(
        "values_without_label",
        relation="held",
        column=BoundColumn("v", "VARCHAR", "v"),
        label=levels.sql(1, '"v"'),
    )
    ENGINE.execute("create or replace table held (v varchar)")
    ENGINE.executemany("insert into held values (?)", [[value] for value in values])

    assert ENGINE.execute(sql).fetchone() == row


def test_the_longest_value_is_counted_in_characters() -> None:
    sql = render("longest_value", relation="held", column=BoundColumn("v", "VARCHAR", "v"))
    ENGINE.execute("create or replace table held as select unnest(['é', '日本語', null, '']) as v")

    assert ENGINE.execute(sql).fetchone() == (3,)


def test_a_day_begins_at_the_same_moment_whoever_reads() -> None:
    """Views that are shipped are read in any time zone."""
    with duckdb.connect() as connection:
        connection.execute(
            "create table visits as select timestamptz '2025-02-01 04:30:00+00' + "
            "interval 1 hour * n as seen from range(2) as numbers(n)"
        )
        compiled = kanon.compile(
            "visits",
            engine=connection,
            quasi_identifiers={"seen": {"levels": ["month"]}},
            levels={"seen": 1},
        )
        [classes] = [table.steps["classes"] for table in compiled.tables]
        connection.execute("set TimeZone = 'America/New_York'")

        assert len(connection.execute(classes).fetchall()) == 1
