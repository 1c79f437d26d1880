"""Sentences that are understood when they are read once."""

from __future__ import annotations

from typing import Any

import pyarrow
import pytest

import kanon_sql as kanon
from kanon_sql.report import terminal


def words(result: Any) -> str:
    return " ".join(str(result).split())


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ("ab", "has 2 values of dx: who can rule out one of them knows the other."),
        ("abc", "has 3 values of dx: who can rule out two of them knows the third."),
        ("abcde", "has 5 values of dx: who can rule out all but one knows it."),
    ],
)
def test_what_is_left_when_values_are_ruled_out(values: str, said: str) -> None:
    people = pyarrow.table({"zip": ["x"] * len(values), "dx": list(values)})

    assert said in words(kanon.audit(people, "zip", sensitive="dx"))


def test_a_published_count_is_no_cell_of_contributors() -> None:
    table = pyarrow.table({"region": ["N", "S"], "n": [5, 9]})

    result = words(kanon.tables(table, "region", value="n", published=True, threshold=6))

    assert "the smallest count is 5, asked for 6" in result


@pytest.mark.parametrize(
    ("firms", "said"),
    [
        ([1, 2, 3], "3 records, one for each firm ·"),
        ([1, 2, 2], "3 records of 2 contributors (column firm) ·"),
    ],
)
def test_contributors_are_counted_beside_records(firms: list[int], said: str) -> None:
    table = pyarrow.table({"region": ["N", "N", "S"], "firm": firms})

    assert said in words(kanon.tables(table, "region", contributor="firm"))


def test_the_sizes_that_no_levels_reach_are_named() -> None:
    people = pyarrow.table({"zip": ["a", "a", "b", "b"]})

    result = words(kanon.tradeoff(people, "zip", k=[2, 5, 8]))

    assert (
        "Only k = 2 can be reached with these levels; 5 and 8 would need records to be suppressed"
    ) in result


def test_the_estimator_that_the_rule_takes_is_named() -> None:
    sample = pyarrow.table({"zip": [str(n) for n in range(30)] + ["a"] * 40 + ["b"] * 30})

    result = kanon.audit(sample, "zip", checks=[kanon.PopulationUniqueness(population=5000)])
    [check] = [check for check in result.checks if check.model == "population_uniqueness"]

    assert check.achieved == check.details["estimates"]["pitman"]
    most = max(filter(None, check.details["estimates"].values())) / check.achieved
    others = f", and others are up to {most:,.0f} times as high" if most >= 2 else ""
    assert f"; Dankar's rule takes Pitman{others}" in words(result)


NARROW = 58


@pytest.mark.parametrize("verb", ["audit", "people", "anonymize", "tradeoff", "profile", "tables"])
def test_a_narrow_terminal_breaks_no_word(verb: str) -> None:
    people = pyarrow.table(
        {
            "postcode_of_residence": [str(10_000 + n % 7) for n in range(60)],
            "main_diagnosis": [("influenza", "asthma", "bronchitis")[n % 3] for n in range(60)],
            "person": [n // 2 for n in range(60)],
        }
    )
    columns = {"postcode_of_residence": {"levels": [{"mask": "right"}]}}
    asked: dict[str, Any] = {"sensitive": "main_diagnosis", "k": 20}
    results = {
        "audit": lambda: kanon.audit(people, columns, l=4, t=0.1, **asked),
        "people": lambda: kanon.audit(people, columns, entity="person", **asked),
        "anonymize": lambda: kanon.anonymize(people, columns, algorithm="optimal", **asked),
        "tradeoff": lambda: kanon.tradeoff(people, columns, k=[2, 5, 50, 100]),
        "profile": lambda: kanon.profile(people),
        "tables": lambda: kanon.tables(
            people, [*columns, "main_diagnosis"], threshold=4, derivable=True, list_cells=True
        ),
    }

    page = list(results[verb]().page())
    lines = terminal.write(page, width=NARROW).split("\n")

    assert [line for line in lines if terminal.width_of(line) > NARROW] == []
    known = terminal.write(page, width=10_000).split()
    assert {word for line in lines for word in line.split() if "█" not in word} <= {*known, "…"}
