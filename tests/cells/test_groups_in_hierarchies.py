"""Groups along a hierarchy, against their definition in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from generated import Filled, few
from hypothesis import given
from hypothesis import strategies as st
from warehouses import Database

import kanon_sql as kanon

TOTAL = "Total"
TREES = {
    "balanced": {"p": "P", "r": "P", "q": "Q", "s": "Q", "P": TOTAL, "Q": TOTAL},
    "unbalanced": {"p": "P", "r": "P", "P": TOTAL, "q": TOTAL},
}
FILES = {"balanced": "p,P\nr,P\nq,Q\ns,Q\n", "unbalanced": "p,P\nr,P\nq,q\n"}
"""The hierarchies as they are written, where a label without a parent of its own is repeated."""
WARDS = {"a": TOTAL, "b": TOTAL}
Key = tuple[str, str]


def lines(tree: Mapping[str, str], label: str) -> list[str]:
    """A label and its ancestors."""
    return [label] if label == TOTAL else [label, *lines(tree, tree[label])]


def disclosed(
    cells: Mapping[Key, int], trees: Sequence[Mapping[str, str]], share: float = 1
) -> int:
    """The groups of which a child has nearly all members, by definition: each parent of a shown
    cell, unless its dimension has one value in the table, or the hierarchy one child below it."""
    found = 0
    for place, tree in enumerate(trees):
        shown = {key[place] for key in cells} - {TOTAL}
        values = [node for node in shown if not any(tree[other] == node for other in shown)]
        groups: dict[Key, list[int]] = {}
        for key, figure in cells.items():
            if key[place] != TOTAL:
                parent = (*key[:place], tree[key[place]], *key[place + 1 :])
                groups.setdefault(parent, []).append(figure)  # type: ignore[arg-type]
        for parent, figures in groups.items():
            several = sum(above == parent[place] for above in tree.values()) > 1
            if len(values) > 1 and several and max(figures) >= share * sum(figures) > 0:
                found += 1
    return found


def all_cells(records: Sequence[Key], trees: Sequence[Mapping[str, str]]) -> Counter[Key]:
    """Every cell of some records, margins included."""
    return Counter(
        (sector, ward)
        for record in records
        for sector in lines(trees[0], record[0])
        for ward in lines(trees[1], record[1])
    )


def found(data: Any, share: float = 1, **asked: Any) -> int:
    checks = [kanon.GroupDisclosure(max_share=share)]
    [table] = kanon.tables(data, ["sector", "ward"], checks=checks, **asked).tables
    assert table.error is None, table.error
    return next(int(each.achieved) for each in table.checks if each.model == "group_disclosure")


def filled(cells: Mapping[Key, int]) -> Filled:
    types = (pyarrow.string(), pyarrow.string(), pyarrow.int64())
    return Filled(("sector", "ward", "n"), types, tuple((*key, n) for key, n in cells.items()))


PUBLISHED: dict[str, Any] = {"value": "n", "published": True, "total_label": TOTAL}


@pytest.fixture(scope="module", params=list(TREES))
def hierarchy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A tree, and the file of its hierarchy."""
    file: Path = tmp_path_factory.mktemp("tree") / "sectors.csv"
    file.write_text(FILES[request.param], encoding="utf-8")
    return TREES[request.param], {"sector": str(file)}


RECORDS = st.lists(
    st.tuples(st.sampled_from(["p", "p", "p", "r", "q"]), st.sampled_from(["a", "a", "b"])),
    min_size=1,
    max_size=6,
)


@few
@given(RECORDS, st.sampled_from([1, 0.75]))
def test_groups_of_records_are_those_of_the_definition(
    hierarchy: Any, records: list[Key], share: float
) -> None:
    """Where everyone has one sector, or one ward, it gives nothing away along that dimension."""
    tree, hierarchies = hierarchy
    cells = all_cells(records, [tree, WARDS])
    sectors, wards = zip(*records, strict=True)
    table = pyarrow.table({"sector": list(sectors), "ward": list(wards)})

    expected = disclosed(cells, [tree, WARDS], share)

    assert found(table, share, hierarchies=hierarchies) == expected


@few
@given(RECORDS, st.sampled_from([1, 0.75]), st.data())
def test_groups_of_a_published_table_are_those_of_its_rows(
    hierarchy: Any, records: list[Key], share: float, data: st.DataObject
) -> None:
    """Some rows are not published, and some show a zero."""
    tree, hierarchies = hierarchy
    cells = dict(all_cells(records, [tree, WARDS]))
    cells |= data.draw(st.sampled_from([{}, {("r", "a"): 0}, {("P", "b"): 0}, {("q", TOTAL): 0}]))
    kept = data.draw(st.lists(st.sampled_from(sorted(cells)), min_size=1, unique=True))
    shown = {key: cells[key] for key in kept}

    expected = disclosed(shown, [tree, WARDS], share)

    table = filled(shown).arrow
    assert found(table, share, hierarchies=hierarchies, **PUBLISHED) == expected


def test_every_engine_finds_the_same_groups(hierarchy: Any, database: Database) -> None:
    """One sector in two wards, then two sectors."""
    tree, hierarchies = hierarchy
    for records in ([("p", "a"), ("p", "b")], [("p", "a"), ("p", "b"), ("r", "a")]):
        cells = all_cells(records, [tree, WARDS])
        database.load("visits", filled(dict(Counter(records))))
        database.load("published", filled(cells))
        expected = disclosed(cells, [tree, WARDS])
        asked = {"hierarchies": hierarchies, "engine": database.url}

        assert found("visits", **asked) == expected
        assert found("published", **asked, **PUBLISHED) == expected


@pytest.mark.parametrize(
    ("ages", "share", "expected"),
    [
        ([21, 21, 21], 1, 0),
        ([21, 21, 22], 1, 0),
        ([21, 21, 22], 0.5, 1),
        ([21, 21, 31], 1, 2),
    ],
)
def test_a_builder_has_the_nodes_of_the_table(ages: list[int], share: float, expected: int) -> None:
    """Ages in tens: of one value nothing is given away, of one ten nothing along the total."""
    checks = [kanon.GroupDisclosure(max_share=share)]

    [table] = kanon.tables(
        pyarrow.table({"age": ages}), "age", hierarchies={"age": "width:10"}, checks=checks
    ).tables

    assert table.checks[0].achieved == expected


def test_null_beside_one_label_makes_two_values() -> None:
    rows = {"sector": ["p", None, None], "f": [0, 0, 1], "n": [4, 0, 4]}

    [table] = kanon.tables(
        pyarrow.table(rows),
        "sector",
        value="n",
        published=True,
        total_flag={"sector": "f"},
        checks=[kanon.GroupDisclosure()],
    ).tables

    assert table.checks[0].achieved == 1
