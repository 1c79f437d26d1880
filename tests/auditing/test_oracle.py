"""Is it right on tables nobody thought of? kanon-sql against plain Python, on generated tables."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import asking
import duckdb
import oracle
import pyarrow.csv
import pyarrow.parquet
import pytest
from generated import TEXT, Filled, asked_tables, few, fewer
from hypothesis import given
from hypothesis import strategies as st
from questions import DRAWN, EVERYTHING, Asked

import kanon_sql as kanon
from kanon_sql.models.population import estimates
from kanon_sql.plan import audit_plan
from kanon_sql.sql import macros


@pytest.mark.parametrize("name", DRAWN)
def test_what_nobody_thought_of(name: str) -> None:
    @few
    @given(DRAWN[name])
    def is_answered(asked: Asked) -> None:
        assert asked.found_here() == asked.expected

    is_answered()


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything(name: str) -> None:
    asked = EVERYTHING[name]

    assert asked.found_here() == asked.expected


@few
@given(asked_tables(), st.integers(1, 5))
def test_the_first_records(asked: tuple[Filled, oracle.Question], first: int) -> None:
    table, question = asked
    shortened = replace(table, rows=table.rows[:first])

    found = asking.figures(asking.audit(table.arrow, question, first=first))

    assert found == asking.near(oracle.audit(shortened.records, question))


# --- estimates ------------------------------------------------------------------------------


@fewer
@given(
    st.integers(1, 500),
    st.dictionaries(st.integers(2, 30), st.integers(1, 100), max_size=6),
    st.sampled_from([1, 2, 3, 10, 20, 1000]),
)
def test_the_uniques_of_a_population(uniques: int, others: dict[int, int], times: int) -> None:
    sizes = {1: uniques} | others
    population = times * sum(size * classes for size, classes in sizes.items())

    found = estimates.population_uniqueness(sizes, population)

    names = ("zayatz", "pitman", "snb", "dankar")
    expected = oracle.estimated_shares(Counter(sizes), population)
    assert {name: found.estimate(name) for name in names} == asking.near(expected, 1e-6)


def test_the_equations_of_the_slide_negative_binomial() -> None:
    """Chen and Keller-McNulty 1998, with their sums added up term by term.

    ARX (ModelSNB.java) multiplies in the second equation where it should divide.
    """
    alpha, beta, pi = 0.5, 0.2, 0.3

    def seen(times: int) -> float:
        """The share of classes that have so many people in the sample."""
        drawn = [math.comb(F, times) * pi**times * (1 - pi) ** (F - times) for F in range(400)]
        chances, chance = [0.0], beta**alpha
        for others in range(399):
            chances.append(chance)
            chance *= (1 - beta) * (alpha + others) / (others + 1)
        return math.fsum(share * p for share, p in zip(chances, drawn, strict=True))

    once, twice = seen(1), seen(2)

    assert [once, twice] == asking.near([0.3309708415728644, 0.10781625899722101])
    assert list(estimates.snb_parameters(once, twice, pi)) == asking.near([alpha, beta])
    assert list(oracle.slide_negative_binomial(once, twice, pi) or ()) == asking.near([alpha, beta])


# --- short keys -----------------------------------------------------------------------------


@pytest.mark.parametrize("least", [audit_plan.LEAST_HASHED, 99])
@fewer
@given(asked=asked_tables(kinds=(TEXT,)))
def test_texts_grouped_by_their_hashes_and_by_themselves(
    least: int, asked: tuple[Filled, oracle.Question]
) -> None:
    table, question = asked

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit_plan, "MANY_RECORDS", 0)
        patch.setattr(audit_plan, "LEAST_HASHED", least)
        found = asking.figures(asking.audit(table.arrow, question))

    assert found == asking.near(oracle.audit(table.records, question))


ROWS = [(first, second, f"s{first}{second}", 1) for first in "ab" for second in "cd"]


@pytest.mark.parametrize(
    ("quasi_identifiers", "sensitive", "hashed"),
    [
        (["q", "r"], ["s"], True),
        (["q", "r"], ["n"], True),
        (["q", "r"], [], False),
        (["q", "n"], ["s"], False),
    ],
)
def test_texts_are_hashed_as_the_question_and_the_types_say(
    quasi_identifiers: list[str],
    sensitive: list[str],
    hashed: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However a file is written: two quasi-identifiers of text, and a sensitive attribute."""
    monkeypatch.setattr(audit_plan, "MANY_RECORDS", len(ROWS))
    table = asking.table(["q", "r", "s", "n"], ROWS)
    pyarrow.parquet.write_table(table, tmp_path / "plain.parquet", use_dictionary=False)
    pyarrow.parquet.write_table(table, tmp_path / "repeats.parquet")
    pyarrow.csv.write_csv(table.drop(["n"]), tmp_path / "text.csv")
    question = oracle.Question(quasi_identifiers=quasi_identifiers, sensitive=sensitive)
    readable = [str(tmp_path / "plain.parquet"), str(tmp_path / "repeats.parquet"), table]
    csv = str(tmp_path / "text.csv")
    if "n" not in (*quasi_identifiers, *sensitive):
        readable.append(csv)

    for source in readable:
        [found] = asking.audit(source, question).tables

        is_hashed = hashed and source != csv
        assert ("keys" in found.sql, "hash(" in found.sql["classes"]) == (is_hashed, is_hashed)
        assert (found.summary.classes, found.summary.k) == (
            (4, 1) if "r" in quasi_identifiers else (2, 2)
        )


def test_texts_of_few_records_are_grouped_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number is what the footers, the catalogue or the frame say; a view's is unknown."""
    table = asking.table(["q", "r", "s", "n"], ROWS)
    for name in ("a", "b"):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(f"create table people as from '{tmp_path}/a.parquet'")
        connection.execute("create view seen as from people")
    engine = f"duckdb:{tmp_path}/clinic.duckdb"
    sources = {
        "one file": (str(tmp_path / "a.parquet"), None, len(ROWS)),
        "two files": (str(tmp_path / "*.parquet"), None, 2 * len(ROWS)),
        "a frame": (table, None, len(ROWS)),
        "a table": ("people", engine, len(ROWS)),
        "a view": ("seen", engine, None),
    }

    for what, (source, engine, records) in sources.items():
        for least in (1_000_000, records or 1, (records or 0) + 1):
            monkeypatch.setattr(audit_plan, "MANY_RECORDS", least)
            compiled = kanon.compile(
                source, ["q", "r"], sensitive="s", identifiers="n", engine=engine
            )
            assert ("hash(" in str(compiled)) is (least == records), (what, least)


def test_a_hash_that_merges_values_is_found_out_and_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a hash of two values, four classes of one record each would be one or two."""

    def weak(value: str) -> str:
        return f"hash({value}) % 2"

    monkeypatch.setattr(audit_plan, "MANY_RECORDS", 0)
    monkeypatch.setattr(macros, "_hash", weak)
    monkeypatch.setitem(macros._macros(), "hash", weak)
    question = oracle.Question(quasi_identifiers=["q", "r"], sensitive=["s"])

    [table] = asking.audit(asking.table(["q", "r", "s", "n"], ROWS), question).tables

    assert (table.summary.classes, table.summary.k) == (4, 1)
    assert "keys" in table.sql
    assert "hash" not in table.sql["classes"]
