"""Is the oracle's Datafly the published one? The worked examples in `tests/datafly/`, by the oracle
alone."""

from __future__ import annotations

from typing import Any

import asking
import oracle_datafly
import pytest
from published_datafly import AT_NODES, DATAFLY, asked, frequencies, levels


@pytest.mark.parametrize("example", DATAFLY.values(), ids=DATAFLY)
def test_worked_example(example: dict[str, Any]) -> None:
    records = asking.records(example["columns"], example["rows"])

    found = oracle_datafly.anonymize(records, asked(example))

    figures = asking.part_of(found.figures, example["expected"])
    assert figures == asking.near(example["expected"])
    assert found.removed == example["removed"]
    assert found.holds
    if "released" in example:
        assert [list(row.values()) for row in found.rows] == example["released"]


def test_the_slide_table_by_table() -> None:
    example = DATAFLY["slide"]
    question = asked(example)
    records = asking.records(example["columns"], example["rows"])
    nodes = [dict.fromkeys(question.hierarchies, 0), example["expected"]["levels"]]

    found = [oracle_datafly.frequencies(records, levels, question) for levels in nodes]

    assert found == [frequencies(each) for each in example["frequencies"]]


@pytest.mark.parametrize(("example", "node"), AT_NODES.values(), ids=AT_NODES)
def test_node_of_a_lattice(example: dict[str, Any], node: str) -> None:
    question = asked(example | {"asked": {"quasi_identifiers": example["quasi_identifiers"]}})
    records = asking.records(example["columns"], example["rows"])

    found = oracle_datafly.frequencies(records, levels(example, node), question)
    cost = oracle_datafly.metrics(records, set(), levels(example, node), question)

    assert min(found.values()) == example["k"][node]
    if "precision" in example:
        assert cost["precision"] == example["precision"][node]


def test_a_star_for_each_suppressed_record() -> None:
    example = DATAFLY["slide"]
    records = asking.records(example["columns"], example["rows"])
    stars = example | {"asked": example["asked"] | {"suppressed": "star"}}

    found = oracle_datafly.anonymize(records, asked(stars))

    cells = [[row[name] for name in ("Race", "BirthDate", "Gender", "ZIP")] for row in found.rows]
    assert [place for place, row in enumerate(cells, 1) if row == ["*"] * 4] == [7, 8]
    assert len(cells) == 12


def test_a_share_is_floored() -> None:
    half = oracle_datafly.Asked({"q": {"x": ["*"]}}, k=5, max_suppressed="12.5%")

    assert [oracle_datafly.max_suppressed(half, n) for n in (7, 8, 15, 16)] == [0, 1, 1, 2]


def test_the_top_in_vain() -> None:
    records = [{"q": value} for value in ("x", "x", "y")]
    kept = oracle_datafly.Asked({"q": {"x": ["x"], "y": ["y"]}}, k=2, max_suppressed=0)

    found = oracle_datafly.anonymize(records, kept)

    assert (found.rows, found.holds, found.figures["reached_top"]) == ([], False, True)
    assert [found.figures[key] for key in ("suppressed", "step4", "k", "classes")] == [0, 0, 1, 2]
    assert found.figures["records_violating"] == 1


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("ax ax by by", 1.0),
        ("ax ay bx by", 0.0),
        # Two thirds of each agree: chi-squared is 6 · (1/3)².
        ("ax ax ay bx by by", 1 / 3),
        ("ax ay", None),
        ("ax bx cy", None),
        ("ax ay bz", None),
        ("", None),
    ],
)
def test_cramers_v(pairs: str, expected: float | None) -> None:
    found = oracle_datafly.cramers_v([(pair[0], pair[1]) for pair in pairs.split()])

    assert found == asking.near(expected)
