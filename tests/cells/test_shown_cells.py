"""Which cells, groups and differences violate, to who asks for values, against plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import oracle_cells as oracle
import pyarrow
from commands import run
from generated import Filled, few, fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle_cells import TOTAL, Key
from test_cells_oracle import BY, NAMES, TYPES, tables
from warehouses import Database

import kanon_sql as kanon

GIVEN = st.fixed_dictionaries(
    {
        "contributor": st.sampled_from([None, "firm"]),
        "margins": st.sampled_from(["all", "none", [["region"]], [["total"], []]]),
    }
)
CHECKS = [
    kanon.MinContributors(n=3, zeros="disclosive"),
    kanon.GroupDisclosure(max_share=0.75),
    kanon.Differences(n=3),
]
ONE = ("N", "a", 1, 5, 1)
"""A record of both tables, as a comparison needs a cell of both."""
DRAWN = tables(["whole"]).map(lambda table: Filled(NAMES, TYPES, (*table.rows, ONE)))
Listed = dict[tuple[Any, ...], tuple[int, ...]]


def key_of(row: Mapping[str, Any]) -> Key:
    return tuple(TOTAL if name in row["totals"] else row[name] for name in BY)


def listed(data: Any, other: Any, given: Mapping[str, Any], engine: Any = None) -> list[Listed]:
    """The listed cells, groups and differences, with their figures."""
    result = kanon.tables(
        data, BY, against=other, checks=CHECKS, engine=engine, show_values=True, **given
    )
    [table] = result.tables
    shown = table.shown or {}
    return [
        {key_of(row): (row["figure"],) for row in shown["cells"]},
        {
            (key_of(row), BY.index(row["along"])): (row["members"], row["largest"])
            for row in shown["groups"]
        },
        {key_of(row): (row["here"], row["there"]) for row in shown["differences"]},
    ]


def expected(table: Filled, other: Filled, given: Mapping[str, Any]) -> list[Listed]:
    own = oracle.cells(table.records, BY, **given)
    counts = {key: cell.counted(of_values=False) for key, cell in own.items()}
    counts |= dict.fromkeys(oracle.empty(table.records, BY, given["margins"], own), 0)
    everything = oracle.cells(table.records, BY, **{**given, "margins": "all"})
    members = {key: cell.counted(of_values=False) for key, cell in everything.items()}
    groups: Listed = {}
    for place in (0, 1):
        if len({key[place] for key in members if key[place] is not TOTAL}) < 2:
            continue
        for key in own:
            if key[place] is not TOTAL:
                parent = (*key[:place], TOTAL, *key[place + 1 :])
                most = max(members[key], groups.get((parent, place), (0, 0))[1])
                groups[parent, place] = (members[parent], most)
    there = {
        key: cell.counted(of_values=False)
        for key, cell in oracle.cells(other.records, BY, **given).items()
    }
    return [
        {key: (count,) for key, count in counts.items() if count < 3},
        {key: (n, most) for key, (n, most) in groups.items() if 4 * most >= 3 * n},
        {
            key: (counts[key], there[key])
            for key in own
            if key in there and 0 < abs(counts[key] - there[key]) < 3
        },
    ]


@settings(few, max_examples=60)
@given(DRAWN, DRAWN, GIVEN)
def test_what_violates_is_listed(table: Filled, other: Filled, given: Any) -> None:
    assert listed(table.arrow, other.arrow, given) == expected(table, other, given)


def test_every_engine_lists_the_same(database: Database) -> None:
    @settings(fewer, max_examples=3)
    @given(DRAWN, DRAWN, GIVEN)
    def is_listed(table: Filled, other: Filled, given: Any) -> None:
        database.load("ledger", table)
        database.load("before", other)
        found = listed("ledger", "before", given, database.url)
        assert found == expected(table, other, given)

    is_listed()


def test_a_level_of_a_hierarchy_is_listed_by_its_label(tmp_path: Path) -> None:
    hierarchy = tmp_path / "h.csv"
    hierarchy.write_text("N,north\nS,south\nW,south\n", encoding="utf-8")
    records = [("N", "a"), ("N", "a"), ("S", "a"), ("W", "b"), ("W", "b")]
    data = {name: [row[place] for row in records] for place, name in enumerate(("r", "s"))}

    [table] = kanon.tables(
        pyarrow.table(data),
        ["r", "s"],
        hierarchies={"r": str(hierarchy)},
        checks=[kanon.MinContributors(n=1, zeros="disclosive"), kanon.GroupDisclosure(along=["r"])],
        show_values=True,
    ).tables

    shown = table.shown or {}
    assert [(row["r"], row["s"], row["figure"]) for row in shown["cells"]] == [
        ("N", "b", 0), ("S", "b", 0), ("W", "a", 0), ("north", "b", 0),
    ]  # fmt: skip
    assert [(row["r"], row["s"], row["totals"], row["members"]) for row in shown["groups"]] == [
        ("south", "a", [], 1), ("south", "b", [], 2), (None, "b", ["r"], 2),
    ]  # fmt: skip


PUBLISHED = """region,sex,n
N,F,12
N,M,0
N,Total,12
S,F,*
S,M,7
S,Total,10
W,F,5
W,Total,5
Total,F,20
Total,M,7
Total,Total,27
"""


def test_what_violates_as_published_is_listed(tmp_path: Path) -> None:
    """W,M has no row and is zero; S has a suppressed child and is no group."""
    file, other = tmp_path / "published.csv", tmp_path / "before.csv"
    file.write_text(PUBLISHED, encoding="utf-8")
    other.write_text("area,n\nN,14\nS,10\nW,3\nTotal,27\n", encoding="utf-8")

    [table] = kanon.tables(
        str(file),
        ["region", "sex"],
        value="n",
        published=True,
        suppressed="*",
        total_label="Total",
        against={"before": {"source": str(other), "by": ["region"], "columns": {"region": "area"}}},
        checks=CHECKS,
        show_values=True,
    ).tables

    shown = table.shown or {}
    assert shown["cells"] == [
        {"region": "N", "sex": "M", "totals": [], "figure": 0},
        {"region": "W", "sex": "M", "totals": [], "figure": 0},
    ]
    assert [(row["region"], row["sex"], row["along"], row["members"], row["largest"])
            for row in shown["groups"]] == [
        (None, "M", "region", 7, 7), ("N", None, "sex", 12, 12), ("W", None, "sex", 5, 5),
    ]  # fmt: skip
    assert shown["differences"] == [
        {"region": region, "sex": None, "totals": ["sex"], "against": "before", "here": here,
         "there": there}
        for region, here, there in (("N", 12, 14), ("W", 5, 3))
    ]  # fmt: skip


def test_twenty_differences_are_listed_of_all_second_tables() -> None:
    here, there = (pyarrow.table({"r": [*range(15)] * count}) for count in (1, 2))

    [table] = kanon.tables(
        here,
        ["r"],
        against={"before": there, "later": there},
        checks=[kanon.Differences(n=2, against=name) for name in ("before", "later")],
        show_values=True,
    ).tables

    assert [row["against"] for row in (table.shown or {})["differences"]] == (
        ["before"] * 15 + ["later"] * 5
    )


def test_nothing_is_listed_unasked(tmp_path: Path) -> None:
    file = tmp_path / "published.csv"
    file.write_text(PUBLISHED, encoding="utf-8")
    question = ("tables", str(file), "--by", "region,sex", "--value", "n", "--published")
    question += ("--suppressed", "*", "--total-label", "Total", "--check", "group_disclosure")

    unasked = run(*question, "--format", "json").stdout
    asked = run(*question, "--show-values").stdout

    assert '"groups": [' not in unasked
    assert "Groups of which nearly all members fall into one category" in asked
    assert "NULL   · M    · region · region · 7       · 7" in asked
