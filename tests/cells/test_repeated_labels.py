"""A label that is repeated on the next level, as NULL is on every one, is one cell."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import kanon_sql as kanon

BALANCED = "p,P\nr,P\nq,Q\ns,Q\n"
UNBALANCED = "p,P\nr,P\nq,q\n"
DEEP = "p,P,PP\nr,P,PP\nq,q,q\n"


@pytest.fixture
def tables(tmp_path: Path) -> Any:
    """Returns the table made from records of a sector, by its hierarchy."""

    def made(hierarchy: str, sectors: Sequence[str | None], **asked: Any) -> Any:
        file = tmp_path / "sectors.csv"
        file.write_text(hierarchy, encoding="utf-8")
        records = pyarrow.table({"sector": pyarrow.array(sectors, pyarrow.string())})
        return kanon.tables(records, "sector", hierarchies={"sector": str(file)}, **asked).tables[0]

    return made


def groups_of(table: Any, **parameters: Any) -> tuple[int, int]:
    """The disclosed groups, and those of a single member."""
    [found] = [each for each in table.checks if each.model == "group_disclosure"]
    return found.achieved, found.details["alone"]


@pytest.mark.parametrize("hierarchy", [UNBALANCED, DEEP])
@pytest.mark.parametrize("margins", ["all", "none"])
def test_a_repeated_label_is_a_category_of_the_total(
    tables: Any, hierarchy: str, margins: str
) -> None:
    checks = [kanon.GroupDisclosure(max_share=0.75)]

    found = tables(hierarchy, ["q"] * 9 + ["p", "r"], checks=checks, margins=margins)

    assert groups_of(found) == (1, 0)


@pytest.mark.parametrize("hierarchy", [BALANCED, UNBALANCED])
def test_a_label_without_siblings_in_the_table_has_some_in_its_hierarchy(
    tables: Any, hierarchy: str
) -> None:
    """Everyone is in P and nobody in its sibling, so that the total gives P away."""
    found = tables(hierarchy, ["p", "p", "r"], checks=[kanon.GroupDisclosure()])

    assert groups_of(found) == (1, 0)


@pytest.mark.parametrize("hierarchy", [BALANCED, UNBALANCED])
@pytest.mark.parametrize("zeros", ["allowed", "disclosive"])
def test_null_is_one_cell(tables: Any, hierarchy: str, zeros: Any) -> None:
    checks = [kanon.MinContributors(n=3, zeros=zeros), kanon.GroupDisclosure()]

    found = tables(hierarchy, ["p"] * 4 + ["r"] * 3 + ["q"] * 3 + [None] * 2, checks=checks)

    assert found.checks[0].details["violating_cells"] == 1
    assert found.checks[0].details["violating_margin_cells"] == 0
    # Where only q is below Q, the hierarchy has s besides, which nobody is in.
    assert groups_of(found) == (int(hierarchy == BALANCED), 0)


def test_null_is_a_category_beside_the_labels_of_a_builder() -> None:
    records = pyarrow.table({"seen": [date(2020, 1, day) for day in range(1, 9)] + [None]})
    checks = [kanon.GroupDisclosure(max_share=0.8)]

    [found] = kanon.tables(records, "seen", hierarchies={"seen": "date:year"}, checks=checks).tables

    assert groups_of(found) == (1, 0)


def test_a_repeated_label_is_compared_once_with_a_second_table(tables: Any) -> None:
    second = pyarrow.table({"sector": ["p", "p", "q", "q", None]})
    checks = [kanon.Differences(n=2)]

    found = tables(UNBALANCED, ["p", "p", "q", None, None], checks=checks, against=second)

    # p, P, q, NULL and the total, of which q and NULL differ.
    [check] = [each for each in found.checks if each.model == "differences"]
    assert check.details["compared_cells"] == 5
    assert check.details["violating_cells"] == 2


def test_a_group_is_counted_once_along_the_other_dimension(tmp_path: Path) -> None:
    """The sectors q and NULL are also labels of the level above."""
    file = tmp_path / "sectors.csv"
    file.write_text(UNBALANCED, encoding="utf-8")
    records = pyarrow.table(
        {
            "sector": ["q", "q", None, None, "p", "p", "r", "r"],
            "sex": ["f", "f", "m", "m", "f", "m", "f", "m"],
        }
    )
    checks = [kanon.GroupDisclosure(along=["sex"])]

    [found] = kanon.tables(
        records, ["sector", "sex"], hierarchies={"sector": str(file)}, checks=checks
    ).tables

    assert groups_of(found) == (2, 0)
