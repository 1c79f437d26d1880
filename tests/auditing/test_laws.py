"""What must be true of every table, whatever its figures are."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import asking
import duckdb
import oracle
import pandas
import polars
import pyarrow
import pytest
from generated import PERSON, Filled, Kind, asked_tables, fewer, filled
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import kanon_sql as kanon
from kanon_sql.sql import macros

Asked = tuple[Filled, oracle.Question]


def k(table: Filled, columns: list[str], **options: Any) -> int | None:
    """The k of a table; None where it has no records."""
    [audited] = kanon.audit(table.arrow, quasi_identifiers=columns, **options).tables
    return audited.summary.k


def k_map(release: Filled, reference: Filled, columns: list[str]) -> dict[str, Any]:
    """The figures of the release's k-map, beside its k."""
    [table] = kanon.audit(
        release.arrow, quasi_identifiers=columns, references={"reference": reference.arrow}
    ).tables
    k_anonymity, found = table.checks
    return {"k": k_anonymity.achieved, "k_map": found.achieved, **found.details}


@fewer
@given(asked_tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_columns_changes_nothing(asked: Asked, random: Any) -> None:
    table, question = asked
    columns = random.sample(range(len(table.names)), len(table.names))
    shuffled = Filled(
        tuple(table.names[place] for place in columns),
        tuple(table.types[place] for place in columns),
        tuple(
            tuple(row[place] for place in columns)
            for row in random.sample(table.rows, len(table.rows))
        ),
    )
    names = random.sample(question.quasi_identifiers, len(question.quasi_identifiers))

    found = asking.figures(asking.audit(shuffled.arrow, replace(question, quasi_identifiers=names)))

    assert found == asking.near(asking.figures(asking.audit(table.arrow, question)))


@fewer
@given(asked_tables(), asked_tables())
def test_k_anonymity_implies_k_map_where_the_reference_contains_the_release(
    asked: Asked, other: Asked
) -> None:
    table, question = asked
    more = replace(table, rows=table.rows + _of_types(other[0], table))

    found = k_map(table, more, list(question.quasi_identifiers))

    if table.rows:
        assert found["k_map"] >= found["k"]
        assert (found["unmatched_classes"], found["exceeding_classes"]) == (0, 0)
    else:
        assert (found["k_map"], found["k"]) == (None, None)


@fewer
@given(asked_tables(), asked_tables())
def test_a_larger_reference_never_lowers_k_map(asked: Asked, other: Asked) -> None:
    table, question = asked
    released = replace(table, rows=table.rows[:3] or table.rows)
    more = replace(table, rows=table.rows[1:] + _of_types(other[0], table))
    columns = list(question.quasi_identifiers)

    small = k_map(released, replace(table, rows=table.rows[1:]), columns)
    large = k_map(released, more, columns)

    if table.rows:
        assert large["k_map"] >= small["k_map"]
        assert large["unmatched_classes"] <= small["unmatched_classes"]


def _of_types(other: Filled, table: Filled) -> tuple[tuple[Any, ...], ...]:
    """The rows of another table, where a cell that has not the column's type is NULL."""
    return tuple(
        tuple(
            cell if type == other_type else None
            for cell, type, other_type in zip(row, table.types, other.types, strict=True)
        )
        for row in other.rows
    )


@fewer
@given(asked_tables(), st.data())
def test_merging_two_values_never_lowers_k(asked: Asked, data: st.DataObject) -> None:
    table, question = asked
    column = table.names.index(question.quasi_identifiers[0])
    values = [row[column] for row in table.rows] or [None]
    gone, kept = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))
    merged = tuple(
        (*row[:column], kept if row[column] == gone else row[column], *row[column + 1 :])
        for row in table.rows
    )
    columns = list(question.quasi_identifiers)

    if table.rows:
        assert k(replace(table, rows=merged), columns) >= k(table, columns)


@fewer
@given(asked_tables())
def test_knowing_one_column_more_never_raises_k(asked: Asked) -> None:
    table, question = asked
    columns = list(question.quasi_identifiers)
    more = [*columns, next(name for name in table.names if name not in columns)]

    if table.rows:
        assert k(table, more) <= k(table, columns)
        assert k(table, more, entity=_people(table, more)) <= k(table, more)


def _people(table: Filled, taken: list[str]) -> str | None:
    """The column of people, where it is not one that is known."""
    return table.names[-1] if table.names[-1] not in taken else None


@fewer
@given(asked_tables())
def test_people_are_no_more_than_their_records(asked: Asked) -> None:
    table, question = asked
    columns = [name for name in question.quasi_identifiers if name != table.names[-1]]

    if table.rows:
        assert k(table, columns, entity=table.names[-1]) <= k(table, columns)


@fewer
@given(asked_tables())
def test_a_wildcard_never_lowers_k(asked: Asked) -> None:
    table, question = asked
    columns = list(question.quasi_identifiers)

    if table.rows:
        assert k(table, columns, nulls="wildcard") >= k(table, columns)


@fewer
@given(asked_tables())
def test_rolling_up_is_recounting(asked: Asked) -> None:
    """The law that everything is read off frequency sets by."""
    table, _ = asked
    fine = [name for name in table.names[:3] if not name.startswith("kanon_")]
    coarse = fine[:1]
    finer = macros.render("frequency_set", relation="records", columns=fine)
    rolled_up = macros.render("roll_up", finer=f"({finer}) as finer", columns=coarse)
    recounted = macros.render("frequency_set", relation="records", columns=coarse)

    if fine:
        with duckdb.connect() as connection:
            connection.register("records", table.arrow)
            assert _multiset(connection, rolled_up) == _multiset(connection, recounted)


def _multiset(connection: duckdb.DuckDBPyConnection, sql: str) -> Counter[tuple[Any, ...]]:
    rows = connection.execute(sql).fetchall()
    return Counter(tuple(oracle.comparable(value) for value in row) for row in rows)


# --- what the records of a class share --------------------------------------------------------

ASKED_OF_VALUES: dict[str, Any] = {
    "distinct l": kanon.LDiversity(sensitive="s"),
    "entropy l": kanon.EntropyLDiversity(sensitive="s"),
    "p": kanon.PSensitiveKAnonymity(sensitive="s"),
    "range": kanon.KEAnonymity(sensitive="s"),
    "c for l = 1": kanon.RecursiveClDiversity(l=1, sensitive="s"),
    "c for l = 2": kanon.RecursiveClDiversity(l=2, sensitive="s"),
    "c for l = 3": kanon.RecursiveClDiversity(l=3, sensitive="s"),
    "c where 2 may become known": kanon.RecursiveClDiversity(l=2, allowed=[2], sensitive="s"),
    "alpha": kanon.AlphaKAnonymity(sensitive="s"),
    "alpha of two values": kanon.AlphaKAnonymity(values=[2, 50], sensitive="s"),
    "distance": kanon.TCloseness(sensitive="s"),
    "ordered distance": kanon.TCloseness(distance="ordered", sensitive="s"),
    "delta": kanon.DeltaDisclosure(sensitive="s"),
    "beta": kanon.BasicBetaLikeness(sensitive="s"),
    "enhanced beta": kanon.EnhancedBetaLikeness(sensitive="s"),
}
GROWING = ("distinct l", "entropy l", "p", "range")
"""The figures of which more is better."""
ROUNDING = 1e-9

VALUED = filled(
    ("q", "s", "who"),
    (
        Kind(pyarrow.string(), ("a", "b", "c")),
        Kind(pyarrow.int64(), (1, 2, 3, 50)),
        PERSON,
    ),
)
"""Tables with few classes and few numbers as sensitive values."""
NULLS = st.sampled_from(["value", "unknown"])


def checks(table: Filled, **options: Any) -> dict[str, kanon.CheckResult]:
    """What each model of sensitive values finds in the table."""
    [found] = kanon.audit(
        table.arrow,
        quasi_identifiers=["q"],
        sensitive=["s"],
        checks=ASKED_OF_VALUES.values(),
        **options,
    ).tables
    return dict(zip(ASKED_OF_VALUES, found.checks, strict=False))


def merged(table: Filled, gone: Any, kept: Any) -> Filled:
    """The table with one value of its first column become another."""
    rows = tuple((kept if row[0] == gone else row[0], *row[1:]) for row in table.rows)
    return replace(table, rows=rows)


@fewer
@given(VALUED, NULLS, st.data())
def test_merging_two_classes_makes_no_sensitive_model_worse(
    table: Filled, nulls: Any, data: st.DataObject
) -> None:
    """Each is a least, a greatest or a convex figure of the classes of a table that stays."""
    values = [row[0] for row in table.rows] or [None]
    gone, kept = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))

    fine = checks(table, sensitive_nulls=nulls)
    coarse = checks(merged(table, gone, kept), sensitive_nulls=nulls)

    for name in ASKED_OF_VALUES:
        before, after = fine[name].achieved, coarse[name].achieved
        assert (before is None) == (after is None)
        if before is not None:
            worse = before - after if name in GROWING else after - before
            assert not worse > ROUNDING, name


def test_delta_over_the_values_of_a_class_alone_grows_in_a_merger() -> None:
    """Why the strict reading gates: A, which has few x, and B, which has none, become one class."""
    rows = [
        *[("A", "x")] * 2,
        *[("A", "y")] * 8,
        *[("B", "y")] * 10,
        *[("C", "x")] * 8,
        *[("C", "y")] * 12,
    ]
    table = Filled(("q", "s"), (pyarrow.string(), pyarrow.string()), tuple(rows))

    [before, after] = [
        kanon.audit(
            each.arrow, quasi_identifiers=["q"], checks=[kanon.DeltaDisclosure(sensitive="s")]
        )
        .tables[0]
        .checks[0]
        for each in (table, merged(table, "B", "A"))
    ]

    assert before.details == asking.near({"present_only": math.log(1.6)})
    assert after.details == asking.near({"present_only": math.log(2.5)})
    assert (before.achieved, after.achieved) == (math.inf, asking.near(math.log(2.5)))


@fewer
@given(VALUED, st.sampled_from([1, 2, 3]))
def test_recursive_diversity_is_confidence_after_elimination(table: Filled, l: int) -> None:
    """With l - 2 other values ruled out the first is believed with less than c / (c + 1)."""
    classes: dict[Any, Counter[Any]] = {}
    for q, s, _ in table.rows:
        classes.setdefault(q, Counter())[s] += 1
    confidences = []
    for counts in classes.values():
        most, *others = sorted(counts.values(), reverse=True)
        confidences.append(Fraction(most, most + sum(others[max(l - 2, 0) :])))

    found = checks(table)[f"c for l = {l}"]

    if table.rows:
        assert found.details["confidence"] == asking.near(float(max(confidences)))


@fewer
@given(VALUED, st.sampled_from([1, 2, 3]))
def test_allowing_a_value_never_raises_c(table: Filled, l: int) -> None:
    values = sorted({s for _, s, _ in table.rows if s is not None}) or ["never"]

    def achieved(**allowed: Any) -> float | None:
        check = kanon.RecursiveClDiversity(l=l, sensitive="s", **allowed)
        [found] = kanon.audit(table.arrow, quasi_identifiers=["q"], checks=[check]).tables
        return found.checks[0].achieved

    if table.rows:
        assert achieved(allowed=["never"]) == achieved()
        assert achieved(allowed=values[:1]) <= achieved()


@fewer
@given(VALUED)
def test_the_models_of_values_agree_where_they_must(table: Filled) -> None:
    found = {name: check.achieved for name, check in checks(table).items()}
    [plain] = kanon.audit(
        table.arrow, quasi_identifiers=["q"], checks=[kanon.Homogeneity(sensitive="s")]
    ).tables

    if table.rows:
        assert plain.checks[0].holds == (found["distinct l"] > 1)
        assert found["p"] == found["distinct l"]
        assert found["c for l = 1"] == asking.near(found["alpha"])
        assert 1 / found["alpha"] - ROUNDING <= found["entropy l"]
        assert found["entropy l"] <= found["distinct l"] + ROUNDING
        assert found["alpha of two values"] <= found["alpha"]
        assert found["beta"] <= found["enhanced beta"]
        assert found["ordered distance"] <= found["distance"] + ROUNDING
        assert found["distance"] <= 1


@fewer
@given(VALUED, NULLS)
def test_what_everyone_of_a_class_has_is_certain_for_every_model(table: Filled, nulls: str) -> None:
    checked = checks(table, entity="who", sensitive_nulls=nulls)
    found = {name: check.achieved for name, check in checked.items()}
    [plain] = kanon.audit(
        table.arrow,
        quasi_identifiers=["q"],
        entity="who",
        sensitive_nulls=nulls,
        checks=[kanon.Homogeneity(sensitive="s")],
    ).tables

    if table.rows:
        assert found["p"] == found["distinct l"]
        assert found["entropy l"] <= found["distinct l"] + ROUNDING
        if not plain.checks[0].holds:
            assert found["distinct l"] <= 1
            assert (found["c for l = 2"], found["c for l = 3"]) == (math.inf, math.inf)
            assert (found["alpha"], found["range"]) == (1, 0)
            assert found["c for l = 1"] >= 1


@fewer
@given(VALUED)
def test_people_are_counted_once(table: Filled) -> None:
    [found] = kanon.audit(
        table.arrow,
        quasi_identifiers=["q"],
        sensitive=["s"],
        entity="who",
        checks=[
            kanon.KAnonymity(k=2),
            kanon.ProsecutorRisk(max_highest=0.5),
            kanon.LDiversity(l=2, sensitive="s"),
            kanon.TCloseness(t=0.1, distance="ordered", sensitive="s"),
            kanon.SampleUniqueness(),
        ],
    ).tables

    if table.rows:
        people = len({who for _, _, who in table.rows})
        small, risky, alike, far, unique = found.checks[:5]
        assert found.summary.people == people
        assert sum(size.people or 0 for size in found.histogram) == people
        assert small.violating_people == risky.violating_people == found.summary.uniques
        assert unique.achieved == asking.near((found.summary.uniques or 0) / people)
        for check in (small, alike, far):
            assert (check.violating_people or 0) <= people
            assert (check.violating_people or 0) <= (check.violating_records or 0)
            assert check.holds == (check.violating_people == 0)


def test_records_of_nobody_in_several_classes_are_an_error_and_no_person() -> None:
    rows = [("a", "x"), (None, "x"), (None, "y"), ("b", "y")]

    with pytest.raises(kanon.KanonError, match="2 of 4 records have no"):
        kanon.audit(asking.table(["who", "q"], rows), quasi_identifiers="q", entity="who")


@fewer
@given(VALUED)
def test_one_class_of_all_is_like_the_table(table: Filled) -> None:
    found = checks(replace(table, rows=tuple(("a", *row[1:]) for row in table.rows)))
    distances = ("distance", "ordered distance", "delta", "beta", "enhanced beta")

    if table.rows:
        assert [found[name].achieved for name in distances] == asking.near([0.0] * 5)


# --- the three attackers ----------------------------------------------------------------------


ATTACKERS = (kanon.ProsecutorRisk, kanon.JournalistRisk, kanon.MarketerRisk)


def against(release: Filled, reference: Filled, *models: Any) -> dict[str, kanon.CheckResult]:
    """What these models find of the release beside the reference."""
    [table] = kanon.audit(
        release.arrow,
        quasi_identifiers=["q", "s"],
        references={"reference": reference.arrow},
        checks=[model() for model in models],
    ).tables
    return {check.model: check for check in table.checks}


@fewer
@given(VALUED, VALUED)
def test_who_knows_less_has_the_lower_chance(release: Filled, others: Filled) -> None:
    """Where the reference contains the release, everybody in it is one of at least as many."""
    reference = replace(release, rows=release.rows + others.rows)

    found = against(release, reference, *ATTACKERS, kanon.DeltaPresence)

    if release.rows:
        prosecutor, journalist = found["prosecutor_risk"], found["journalist_risk"]
        marketer = found["marketer_risk"].achieved
        assert journalist.achieved <= prosecutor.achieved
        assert journalist.details["at_risk"] <= prosecutor.details["at_risk"]
        assert marketer <= journalist.details["average"] <= journalist.achieved + ROUNDING
        assert journalist.details["average"] <= prosecutor.details["average"] + ROUNDING
        assert found["delta_presence"].achieved["max"] <= 1


@fewer
@given(VALUED)
def test_the_release_is_its_own_reference(release: Filled) -> None:
    found = against(release, release, *ATTACKERS, kanon.DeltaPresence)

    if release.rows:
        prosecutor, journalist = found["prosecutor_risk"], found["journalist_risk"]
        assert journalist.achieved == prosecutor.achieved
        assert journalist.details["average"] == asking.near(prosecutor.details["average"])
        assert found["marketer_risk"].achieved == asking.near(prosecutor.details["average"])
        assert found["delta_presence"].achieved == {"min": 1.0, "max": 1.0}


@fewer
@given(VALUED, VALUED, st.data())
def test_merging_two_values_narrows_delta_presence(
    release: Filled, others: Filled, data: st.DataObject
) -> None:
    """The chance of a merged class is a mean of the two, weighted by people of the reference."""
    reference = replace(release, rows=release.rows + others.rows)
    values = [row[0] for row in reference.rows] or [None]
    gone, kept = data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))

    fine, coarse = (
        against(*tables, kanon.DeltaPresence)["delta_presence"].achieved
        for tables in (
            (release, reference),
            (merged(release, gone, kept), merged(reference, gone, kept)),
        )
    )

    if release.rows:
        assert coarse["min"] >= fine["min"] - ROUNDING
        assert coarse["max"] <= fine["max"] + ROUNDING


@fewer
@given(
    VALUED, st.sampled_from([1, 2, 5, 40]), st.sampled_from(["poisson", "zero_truncated_poisson"])
)
def test_an_estimate_demands_no_more_than_k(table: Filled, k: int, test: Any) -> None:
    """El Emam and Dankar 2008: k itself is enough, and less is where more people were not asked."""
    if table.rows:
        required = [
            kanon.audit(
                table.arrow,
                quasi_identifiers=["q"],
                checks=[kanon.KMapEstimate(k=k, population=population, test=test)],
            )
            .tables[0]
            .checks[0]
            .details["required"]
            for population in (len(table.rows), 100, 10_000)
        ]

        assert k >= required[0] >= required[1] >= required[2] >= 1


# --- the same table, wherever it lies -------------------------------------------------------

PATIENTS = pyarrow.table(
    {
        "zip": ["02138", "02138", "2138", None, "*"],
        "born": pyarrow.array([0, 0, 1, 1, 20_000], pyarrow.date32()),
        "patient": [1, 2, 3, 3, 4],
        "income": [1.5, 1.5, 0.0, -0.0, 9.25],
        "diagnosis": ["flu", "flu", "Flu", "cold", None],
    }
)
QUESTION = oracle.Question(
    quasi_identifiers=["zip", "born", "income"],
    sensitive=["diagnosis"],
    entity="patient",
    checks=[{"k_anonymity": {"k": 2}}, {"homogeneity": {"sensitive": "diagnosis"}}],
)


def in_a_file(folder: Path) -> tuple[Any, Any]:
    parquet.write_table(PATIENTS, folder / "patients.parquet")
    return folder / "patients.parquet", None


def in_many_files(folder: Path) -> tuple[Any, Any]:
    for place in range(PATIENTS.num_rows):
        parquet.write_table(PATIENTS.slice(place, 1), folder / f"{place}.parquet")
    return str(folder / "*.parquet"), None


def in_an_arrow_file(folder: Path) -> tuple[Any, Any]:
    feather.write_feather(PATIENTS, folder / "patients.feather")
    return folder / "patients.feather", None


def in_a_database(folder: Path) -> tuple[Any, Any]:
    with duckdb.connect(folder / "clinic.duckdb") as connection:
        connection.register("arrow", PATIENTS)
        connection.execute("create table patients as from arrow")
    return "patients", f"duckdb:{folder / 'clinic.duckdb'}"


def in_an_open_database(folder: Path) -> tuple[Any, Any]:
    connection = duckdb.connect()
    connection.register("arrow", PATIENTS)
    connection.execute("create table patients as from arrow")
    return "patients", connection


def as_a_relation(folder: Path) -> tuple[Any, Any]:
    return duckdb.connect().from_arrow(PATIENTS), None


@pytest.mark.parametrize(
    "lying",
    [
        lambda folder: (PATIENTS, None),
        lambda folder: (PATIENTS.to_pandas(), None),
        lambda folder: (polars.from_arrow(PATIENTS), None),
        in_a_file,
        in_many_files,
        in_an_arrow_file,
        in_a_database,
        in_an_open_database,
        *([as_a_relation] if duckdb.__version__ >= "2" else []),
    ],
)
def test_a_table_is_the_same_wherever_it_lies(lying: Any, tmp_path: Path) -> None:
    data, engine = lying(tmp_path)

    found = asking.figures(asking.audit(data, QUESTION, engine=engine))

    assert found == asking.near(oracle.audit(PATIENTS.to_pylist(), QUESTION))


def test_pandas_and_polars_are_what_they_say() -> None:
    assert isinstance(PATIENTS.to_pandas(), pandas.DataFrame)
    assert isinstance(polars.from_arrow(PATIENTS), polars.DataFrame)


@pytest.mark.parametrize("seed", range(6))
def test_who_is_looked_for_in_a_reference_counts_once(seed):
    """People of the release by the class with the fewest people there; classes as they are."""
    random = Random(seed)
    people = [(f"p{random.randrange(9)}", random.choice("abc")) for _ in range(25)]
    others = {(person, cell) for person, cell in people}
    others |= {(f"q{random.randrange(12)}", random.choice("abcd")) for _ in range(40)}
    reference = sorted(others)
    found = {cell: len({who for who, at in reference if at == cell}) for cell in "abcd"}
    classes = {cell for _, cell in people}
    least = [min(found[cell] for who, cell in people if who == person) for person in dict(people)]
    marketer = sum(1 / size for size in least) / len(least)

    def table(records):
        return pyarrow.table(
            {"person": [who for who, _ in records], "cell": [at for _, at in records]}
        )

    risk = kanon.audit(
        table(people),
        ["cell"],
        entity="person",
        references={"r": {"source": table(reference), "entity": "person"}},
        checks=[kanon.JournalistRisk(max_average=1), kanon.MarketerRisk(max_average=1)],
    ).tables[0].risk  # fmt: skip
    assert risk["marketer"]["average"] == pytest.approx(marketer)
    of_classes = len(classes) / sum(found[cell] for cell in classes)
    assert risk["journalist"]["average"] == pytest.approx(max(of_classes, marketer))
    assert risk["journalist"]["highest"] == pytest.approx(1 / min(least))
