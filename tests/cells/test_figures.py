"""In which numbers cells are added: as many digits as are written, on every engine."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from generated import Filled, few
from hypothesis import given, settings
from hypothesis import strategies as st
from warehouses import Database

import kanon_sql as kanon

DOUBLE, TEXT = pyarrow.float64(), pyarrow.string()


def table_of(figures: Sequence[Any], type: Any = TEXT) -> Filled:
    """Regions a, b, … and their total, in a column n."""
    labels = [*"abcdefgh"[: len(figures) - 1], "Total"]
    return Filled(("region", "n"), (TEXT, type), tuple(zip(labels, figures, strict=True)))


def asked(data: Any, **more: Any) -> Any:
    arguments = {"by": "region", "value": "n", "published": True, "total_label": "Total"}
    [table] = kanon.tables(data, **{**arguments, **more}).tables
    return table


def derivable(table: Any) -> Any:
    return next(check for check in table.checks if check.model == "derivable")


LONG = ["*", "*", "12345678901234567", "12345678901234569"]


def intervals(data: Any, **more: Any) -> list[tuple[Any, Any]]:
    table = asked(data, derivable=True, show_values=True, **more)
    return [(each["low"], each["high"]) for each in table.shown["intervals"]]


def test_the_last_digit_of_a_long_count_counts() -> None:
    whole = [None if text == "*" else int(text) for text in LONG]

    for data, mark in (
        (table_of(LONG).arrow, "*"),
        (table_of(whole, pyarrow.int64()).arrow, None),
        (table_of(whole, pyarrow.decimal128(38, 0)).arrow, None),
    ):
        assert intervals(data, suppressed=[mark]) == [(0, 2)] * 2
        table = asked(data, suppressed=[mark], derivable=True)
        assert (derivable(table).holds, derivable(table).achieved) == (True, 0)
        assert table.checks[1].achieved == 12345678901234567


def test_so_do_those_after_a_comma(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("region;n\na;*\nb;*\nc;12345678901234567,25\nTotal;12345678901234569,50\n")

    assert intervals(str(file), suppressed="*", magnitude=True, decimal=",") == [(0, 2.25)] * 2


def test_every_engine_reads_each_digit(database: Database) -> None:
    more: dict[str, Any] = {"suppressed": ["*"], "magnitude": True, "derivable": True}
    for figures in (
        LONG,
        ["*", "*", "12345678901234567.25", "12345678901234567.75"],
        ["*", "0.00000000000000000001", "1.5e3", "1500.00000000000000000003"],
    ):
        database.load("cells", table_of(figures))
        found = asked("cells", engine=database.url, show_values=True, **more)
        here = asked(table_of(figures).arrow, show_values=True, **more)
        assert derivable(found).to_dict() == derivable(here).to_dict()
        assert found.shown["intervals"] == here.shown["intervals"]


OFF = ["500000000000.25", "500000000000.25", "1000000000893.50"]


@pytest.mark.parametrize("type", [TEXT, DOUBLE, pyarrow.decimal128(18, 2)], ids=str)
@pytest.mark.parametrize("decimals", [2, 7])
def test_a_total_that_is_off_does_not_add_up(type: Any, decimals: int) -> None:
    scale = Decimal(10) ** (2 - decimals)
    figures = [Decimal(text) * scale for text in OFF]
    if pyarrow.types.is_decimal(type):
        type = pyarrow.decimal128(18, decimals)
    spelled = [str(n) if type == TEXT else float(n) if type == DOUBLE else n for n in figures]

    with pytest.raises(kanon.InputError, match="1 of 1 total is not the sum of its parts"):
        asked(table_of(spelled, type).arrow, magnitude=True, derivable=True)


def test_the_rounding_of_floats_is_no_fault() -> None:
    """0.1 + 0.2 is 0.30000000000000004, and a third has no last digit."""
    for figures in ([0.1, 0.2, 0.1 + 0.2], [1 / 3, 1e9 / 3, 1 / 3 + 1e9 / 3]):
        assert asked(table_of(figures, DOUBLE).arrow, magnitude=True, derivable=True).status == (
            "holds"
        )


@settings(few, max_examples=20)
@given(
    st.lists(st.integers(0, 40), min_size=4, max_size=4),
    st.sets(st.integers(0, 7), min_size=2, max_size=5),
    st.integers(1, 30),
)
def test_moving_the_point_moves_nothing(counts: list[int], hidden: set[int], places: int) -> None:
    a, b, c, d = counts
    whole = [a, b, a + b, c, d, c + d, a + c, b + d, a + b + c + d]
    labels = [(x, y) for x in ("a", "b", "Total") for y in ("x", "y", "Total")]
    labels = [labels[place] for place in (0, 1, 2, 3, 4, 5, 6, 7, 8)]

    def found(figures: list[str]) -> Any:
        cells = ["*" if place in hidden else text for place, text in enumerate(figures)]
        columns = [*zip(*labels, strict=True), cells]
        data = pyarrow.table(dict(zip(("r", "s", "n"), map(pyarrow.array, columns), strict=True)))
        table = asked(
            data, by=["r", "s"], suppressed="*", magnitude=True, totals="true", derivable=True
        )
        return derivable(table).details

    assert found([f"{Decimal(n).scaleb(-places):f}" for n in whole]) == found(list(map(str, whole)))


# --- counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figures", "type", "refused"),
    [
        (["1.5", "2.5", "4"], TEXT, 2),
        (["11.000", "0.000", "11.007"], TEXT, 2),
        (["999999999999999.01", "0", "999999999999999.01"], TEXT, 2),
        (["1e-3", "0", "1e-3"], TEXT, 2),
        ([1.5, 2.5, 4.0], DOUBLE, 2),
        ([1e16, 0.0, 1e16], DOUBLE, 2),
        ([Decimal("1.500"), Decimal("2.500"), Decimal("4.000")], pyarrow.decimal128(9, 3), 2),
        (["11.0", "18.0", "29.00"], TEXT, 0),
        (["0.000", "12e2", "1200"], TEXT, 0),
        ([11.0, 18.0, 29.0], DOUBLE, 0),
        ([Decimal("11.000"), Decimal("18.000"), Decimal("29.000")], pyarrow.decimal128(9, 3), 0),
    ],
)
def test_a_count_is_written_as_a_whole_number(
    figures: list[Any], type: Any, refused: int, tmp_path: Path
) -> None:
    data = table_of(figures, type).arrow
    if not refused:
        assert asked(data, threshold=1).status == "holds"
        return
    verb = "is" if refused == 1 else "are"
    for more in ({}, {"magnitude": False, "threshold": 1}):
        with pytest.raises(
            kanon.InputError, match=f"{refused} of 3 values of n {verb} not written"
        ):
            asked(data, **more)
    assert asked(data, magnitude=True).status == "measured"


def test_a_range_between_whole_numbers_holds_those_inside() -> None:
    figures = ["*", "*", "5", "15"]

    assert intervals(table_of(figures).arrow, suppressed={"*": (0.5, 9.5)}) == [(1, 9)] * 2
    assert intervals(
        table_of(figures).arrow, suppressed={"*": (Decimal("0.5"), Decimal("9.75"))}, magnitude=True
    ) == ([(0.5, 9.5)] * 2)


def test_long_counts_differ_by_their_last_digit(database: Database) -> None:
    names, types = ("region", "n"), (TEXT, TEXT)
    database.load("here", Filled(names, types, (("a", "12345678901234567"),)))
    database.load("there", Filled(names, types, (("a", "12345678901234565"),)))

    table = asked("here", engine=database.url, against="there", min_difference=3, total_label={})

    [check] = [each for each in table.checks if each.model == "differences"]
    assert (check.holds, check.achieved) == (False, 2)


def test_long_figures_are_multiples_of_a_base(database: Database) -> None:
    figures = ["12345678901234565", "12345678901234567", "24691357802469132"]
    database.load("cells", table_of(figures))

    table = asked("cells", engine=database.url, checks=[kanon.Rounded(base=5)])

    assert [each.achieved for each in table.checks if each.model == "rounded"] == [2]


# --- weights ---------------------------------------------------------------------------------

OF = {
    "text": (TEXT, str),
    "float": (DOUBLE, float),
    "decimal": (pyarrow.decimal128(12, 2), Decimal),
}


@pytest.mark.parametrize("kind", OF)
def test_a_share_of_exactly_the_limit_is_no_more(database: Database, kind: str) -> None:
    """In N the largest has 0.60 of 0.60 + 0.29 · 1.5 + 0.11 · 1.5 = 1.20, in S a little more."""
    type, figure = OF[kind]
    rows = [("N", "0.60", "1"), ("N", "0.29", "1.5"), ("N", "0.11", "1.5")]
    rows += [("S", "0.61", "1"), ("S", "0.29", "1.5"), ("S", "0.11", "1.5")]
    table = Filled(
        ("region", "v", "w"),
        (TEXT, type, type),
        tuple((region, figure(v), figure(w)) for region, v, w in rows),
    )
    database.load("ledger", table)
    checks = [
        kanon.Dominance(n=1, k=50),
        kanon.Dominance(n=1, k=50, inclusive=True),
        # What is left without the two largest is 0.31 of N, and 0.6 · 31 / 60.
        kanon.PPercent(p=Decimal("51.666"), q=100),
    ]
    asking: dict[str, Any] = {"by": "region", "value": "v", "weight": "w", "margins": "none"}

    for data, engine in ((table.arrow, None), ("ledger", database.url)):
        [found] = kanon.tables(data, engine=engine, checks=checks, **asking).tables
        judged = [
            check.details["violating_cells"] for check in found.checks if check.holds is not None
        ]
        assert judged == [1, 2, 1]
        assert found.checks[0].achieved == pytest.approx(100 * 0.61 / 1.21)
