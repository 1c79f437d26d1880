"""The cells of drawn tables, against plain Python with fractions, on every engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import oracle_cells as oracle
import pyarrow
import pytest
from generated import Filled, few, fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from warehouses import Database

import kanon_sql as kanon

NAMES = ("region", "total", "firm", "value", "w")
TYPES = (pyarrow.string(), pyarrow.string(), pyarrow.int64(), pyarrow.int64(), pyarrow.int64())
BY = ("region", "total")
OF_HUNDREDTHS = {
    "whole": (pyarrow.int64(), int),
    "text": (pyarrow.string(), lambda n: str(Decimal(n) / 100)),
    "float": (pyarrow.float64(), lambda n: n / 100),
    "decimal": (pyarrow.decimal128(12, 2), lambda n: Decimal(n) / 100),
}
"""Types of a figure, and how it is made from hundredths."""


@st.composite
def tables(draw: st.DrawFn, kinds: Sequence[str] = tuple(OF_HUNDREDTHS)) -> Filled:
    """Records of two dimensions, with NULL in each, zeros, negatives and ties."""
    some = st.sampled_from
    (type, figure), (of_weights, weight) = (OF_HUNDREDTHS[draw(some(kinds))],) * 2
    record = st.tuples(
        some(["N", "S", None]),
        some(["a", "b", "Total", None]),
        st.integers(1, 4),
        some([None, 0, 0, 1, 2, 5, 10, 10, 29, 90, 100, -3]),
        some([100, 100, 150, 225, 500]),
    )
    records = draw(st.lists(record, min_size=1, max_size=14))
    without = draw(some([None, None, "N", "S"]))
    # A region whose values are all NULL is one of the table all the same.
    records = [(*r[:3], None if r[0] == without else r[3], r[4]) for r in records]
    figures = [(*r[:3], None if r[3] is None else figure(r[3]), weight(r[4])) for r in records]
    return Filled(NAMES, (*TYPES[:3], type, of_weights), tuple(figures))


SETTINGS = st.fixed_dictionaries(
    {
        "value": st.sampled_from([None, "value", "value"]),
        "contributor": st.sampled_from([None, "firm"]),
        "margins": st.sampled_from(["all", "none", [["region"]], [["total"], []]]),
        "weight": st.sampled_from([None, None, "w"]),
    }
)
MAGNITUDES = [
    kanon.Dominance(n=1, k=50),
    kanon.Dominance(n=2, k=90, inclusive=True),
    kanon.Dominance(n=3, k=66.6),
    kanon.PPercent(p=10),
    kanon.PPercent(p=60, q=80, coalition=2),
]
COUNTS = [
    kanon.MinContributors(n=2),
    kanon.MinContributors(n=3, zeros="disclosive"),
    kanon.GroupDisclosure(),
    kanon.GroupDisclosure(along=["total"], max_share=0.75),
    kanon.GroupDisclosure(insiders=1),
]


def expected(table: Filled, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each of the checks finds."""
    records = table.records
    found = oracle.cells(records, BY, **given)
    of_values = given["value"] is not None
    empties = len(oracle.empty(records, BY, given["margins"], found))
    everything = oracle.cells(records, BY, **{**given, "margins": "all"})
    published = {key: cell.counted(of_values=of_values) for key, cell in everything.items()}
    shown = set(found)
    groups = [{}, {"along": [1], "max_share": 0.75}, {"insiders": 1}]
    answers = [
        oracle.min_contributors(found, 2, of_values, None),
        oracle.min_contributors(found, 3, of_values, empties),
        *(
            oracle.group_disclosure(published, each.pop("along", [0, 1]), shown=shown, **each)
            for each in groups
        ),
    ]
    if of_values:
        answers += [
            oracle.dominance(found, 1, 50),
            oracle.dominance(found, 2, 90, inclusive=True),
            oracle.dominance(found, 3, 66.6),
            oracle.p_percent(found, 10),
            oracle.p_percent(found, 60, 80, 2),
        ]
    return answers


def found(data: Any, given: Mapping[str, Any], engine: Any = None) -> list[dict[str, Any]]:
    checks = [*COUNTS, *(MAGNITUDES if given["value"] else [])]
    result = kanon.tables(data, BY, checks=checks, engine=engine, **given)
    table = result.tables[0]
    assert table.error is None, table.error
    return [check.to_dict() for check in table.checks]


def agree(answers: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> None:
    for check, each in zip(answers, wanted, strict=False):
        rest = {key: check[key] for key in each}
        assert rest == {
            key: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            for key, value in each.items()
        }, check


def drawn(given: dict[str, Any]) -> dict[str, Any]:
    return given if given["value"] else {**given, "weight": None}


@settings(few, max_examples=120)
@given(tables(), SETTINGS)
def test_a_drawn_table_has_the_cells_that_python_finds(table: Filled, given: Any) -> None:
    given = drawn(given)
    agree(found(table.arrow, given), expected(table, given))


def test_every_engine_finds_the_same(database: Database) -> None:
    @settings(fewer, max_examples=6)
    @given(tables(), SETTINGS)
    def is_found(table: Filled, given: Any) -> None:
        given = drawn(given)
        database.load("ledger", table)
        agree(found("ledger", given, database.url), expected(table, given))

    is_found()


@settings(few, max_examples=60)
@given(tables(), tables(), SETTINGS, st.integers(1, 4))
def test_a_second_table_differs_where_python_finds_it(
    table: Filled, other: Filled, given: Any, n: int
) -> None:
    """A cell whose values are all NULL has no contributor, and differs from one that has some."""
    given = {**given, "margins": "all", "weight": None}
    of_values = given["value"] is not None
    here, there = (
        {
            key: cell.counted(of_values=of_values)
            for key, cell in oracle.cells(each.records, BY, **given).items()
        }
        for each in (table, other)
    )

    checks = [kanon.Differences(n=n)]
    result = kanon.tables(table.arrow, BY, against=other.arrow, checks=checks, **given)

    agree([result.tables[0].checks[0].to_dict()], [oracle.differences(here, there, n)])


MARKS = st.sampled_from(["*", "*", None, "0", "1", "2", "3", "7"])


@settings(few, max_examples=60)
@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["N", "S", None]), st.sampled_from(["a", "b", None])),
        MARKS,
        min_size=1,
    )
)
def test_a_published_table_has_the_cells_that_python_finds(
    shown: dict[tuple[str | None, str | None], str | None],
) -> None:
    """NULL is a mark beside another, and a label; a group with a suppressed child is left out."""
    rows = [(*key, figure, "0", "0") for key, figure in shown.items()]
    names = ("region", "total", "n", "f1", "f2")
    data = pyarrow.table(
        {
            name: pyarrow.array(cells, pyarrow.string())
            for name, cells in zip(names, zip(*rows, strict=True), strict=True)
        }
    )
    counts = {key: int(n) for key, n in shown.items() if n not in ("*", None)}
    checks = [
        kanon.MinContributors(n=3),
        kanon.MinContributors(n=3, zeros="disclosive"),
        kanon.GroupDisclosure(),
        kanon.Rounded(base=2),
    ]

    [table] = kanon.tables(
        data,
        BY,
        value="n",
        published=True,
        suppressed=["*", None],
        total_flag={"region": "f1", "total": "f2"},
        checks=checks,
    ).tables

    empty = len({key[0] for key in shown}) * len({key[1] for key in shown}) - len(shown)
    zero = sum(not n for n in counts.values()) + empty
    small = sum(0 < n < 3 for n in counts.values())
    groups = 0
    for place in (0, 1):
        if len({key[place] for key in shown}) < 2:
            continue
        for other in {key[1 - place] for key in shown}:
            own = [counts.get(key) for key in shown if key[1 - place] == other]
            known = [each for each in own if each is not None]
            groups += len(known) == len(own) and sum(known) > 0 and max(known) == sum(known)
    found = [
        check.achieved if check.model == "rounded" else check.details for check in table.checks
    ]
    assert found[0]["violating_cells"] == small
    assert found[1]["violating_cells"] == small + zero
    assert table.checks[2].achieved == groups
    assert found[3] == sum(n % 2 for n in counts.values())
    assert table.cells.suppressed == len(shown) - len(counts)


ZEROS = Filled(
    NAMES,
    TYPES,
    (("N", "a", 1, 0, 1), ("N", "a", 2, 0, 1), ("S", "b", 3, 90, 1), ("S", "b", 4, 10, 1)),
)


def test_a_cell_of_zeros_has_no_share(database: Database) -> None:
    """0 / 0 is NaN in some engines, and NaN is more than any bound."""
    database.load("ledger", ZEROS)
    given = {"value": "value", "contributor": None, "margins": "none", "weight": None}
    answers = found("ledger", given, database.url)
    agree(answers, expected(ZEROS, given))
    assert [each["undefined_cells"] for each in answers[5:10]] == [1] * 5


@pytest.mark.parametrize("size", [1, 10**14, 10**16, 9 * 10**17])
def test_figures_of_any_size_are_compared_exactly(size: int) -> None:
    """90 % holds and a little more violates, whatever number of digits the sum has."""
    data = {
        "cell": ["a"] * 3 + ["b"] * 3,
        "v": [8 * size, size, size, 8 * size, size + 1, size - 1],
    }

    result = kanon.tables(
        pyarrow.table(data), "cell", value="v", dominance=[(2, 90)], margins="none"
    )

    [check] = [each for each in result.tables[0].checks if each.holds is not None]
    assert (check.holds, check.details["violating_cells"]) == (False, 1)


@pytest.mark.parametrize("contributor", [None, "firm"])
def test_a_rank_above_every_number_of_contributors_is_asked_too(contributor: str | None) -> None:
    given = {"value": "value", "contributor": contributor, "margins": "all"}
    checks = [kanon.Dominance(n=2_000_000, k=50)]

    [table] = kanon.tables(ZEROS.arrow, BY, checks=checks, **given).tables

    cells = oracle.cells(ZEROS.records, BY, **given)
    agree([table.checks[0].to_dict()], [oracle.dominance(cells, 2_000_000, 50)])


# --- a million cells ------------------------------------------------------------------------

BY_THREE = ("a", "b", "c")
MILLION = """
select
    case when grouping(i) = 1 then 'Total' else 'a' || i end as a,
    case when grouping(j) = 1 then 'Total' else 'b' || j end as b,
    case when grouping(k) = 1 then 'Total' else 'c' || k end as c,
    case when grouping(i, j, k) > 0 or i <> j or j <> k then sum(n) end as n
from (
    select i, j, k, 10 + (i * 7 + j * 3 + k) % 90 as n
    from range(100) as x(i), range(100) as y(j), range(100) as z(k)
)
group by cube(i, j, k)
"""


@pytest.mark.slow
def test_a_diagonal_of_a_million_cells_is_derived(tmp_path: Path) -> None:
    file = tmp_path / "cells.parquet"
    duckdb.sql(MILLION).write_parquet(str(file))
    asked: dict[str, Any] = {"value": "n", "published": True, "total_label": "Total"}

    [table] = kanon.tables(file, BY_THREE, **asked, suppressed=[None], derivable=True).tables

    [check] = [each for each in table.checks if each.model == "derivable"]
    assert table.cells.cells == 101**3
    assert (check.details["suppressed"], check.details["by_subtraction"]) == (100, 100)


@pytest.mark.slow
def test_a_million_cells_are_counted_from_their_records(tmp_path: Path) -> None:
    """Every tenth cell has one record, the others have two."""
    file = tmp_path / "records.parquet"
    duckdb.sql(
        "select i // 10000 as a, i // 100 % 100 as b, i % 100 as c from range(1000000) as t(i) "
        "union all select i // 10000, i // 100 % 100, i % 100 from range(1000000) as t(i) "
        "where i % 10 > 0"
    ).write_parquet(str(file))

    [table] = kanon.tables(file, BY_THREE, threshold=2).tables

    violating = table.checks[0].details["violating_cells"]
    assert (table.cells.cells, violating) == (101**3, 100_000)
