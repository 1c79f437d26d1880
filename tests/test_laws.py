"""What must be true of every table, whatever its figures are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import asking
import duckdb
import oracle
import pandas
import polars
import pyarrow
import pytest
from generated import Filled, asked_tables, fewer
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import kanon_sql as kanon
from kanon_sql import templates

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
    finer = templates.render("frequency_set", relation="records", columns=fine)
    rolled_up = templates.render("roll_up", finer=f"({finer}) as finer", columns=coarse)
    recounted = templates.render("frequency_set", relation="records", columns=coarse)

    if fine:
        with duckdb.connect() as connection:
            connection.register("records", table.arrow)
            assert _multiset(connection, rolled_up) == _multiset(connection, recounted)


def _multiset(connection: duckdb.DuckDBPyConnection, sql: str) -> Counter[tuple[Any, ...]]:
    rows = connection.execute(sql).fetchall()
    return Counter(tuple(oracle.comparable(value) for value in row) for row in rows)


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
