"""The auditor is not the leak: no output and no error holds a value of the data, unless asked."""

from __future__ import annotations

import traceback
from dataclasses import replace
from datetime import date
from typing import Any

import duckdb
import pyarrow
import pytest
from generated import few
from hypothesis import given
from hypothesis import strategies as st
from pages import as_markdown

import kanon_sql as kanon

ZIPS = ("Zeppelin-4711", "Zeppelin-0815", "<b>Zeppelin</b>", "*Zeppelin*")
NAMES = ("Xanthippe", "Xenophon", "Xanthippe ")
DIAGNOSES = ("Rumpelstilz", "rumpelstilz", "Rumpel|stilz", "Rumpel\nstilz")
INCOMES = (918_273.5, 918_274.0, -918_275.25)
BIRTHS = (date(1931, 7, 19), date(1931, 7, 20))

TRACES = ("zeppelin", "xanthippe", "xenophon", "rumpel", "91827", "918,27", "1931-07", "1931, 7")
"""What a value leaves of itself in a text, whatever its spelling."""

ROW = st.tuples(
    *(st.sampled_from((None, *values)) for values in (ZIPS, INCOMES, BIRTHS, DIAGNOSES)),
    st.sampled_from(NAMES),
)
COLUMNS = ("zip", "income", "born", "diagnosis", "person")
TYPES = (pyarrow.string(), pyarrow.float64(), pyarrow.date32(), pyarrow.string(), pyarrow.string())


def people(rows: list[tuple[Any, ...]]) -> pyarrow.Table:
    return pyarrow.Table.from_pylist(
        [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        schema=pyarrow.schema(list(zip(COLUMNS, TYPES, strict=True))),
    )


def traces(text: str) -> list[str]:
    """The values that a text tells something of."""
    return [trace for trace in TRACES if trace in text.casefold()]


def outputs(result: kanon.AuditResult) -> str:
    """Everything that a result can be turned into, as one text; how long it took is chance."""
    timeless = tuple(replace(table, seconds=0.0) for table in result.tables)
    result = replace(result, tables=timeless)
    forms = (str(result), repr(result), result.to_json(), as_markdown(result))
    return "\n".join([*forms, result._repr_html_()])


def question(**more: Any) -> dict[str, Any]:
    return {
        "quasi_identifiers": ["zip", "income", "born"],
        "sensitive": "diagnosis",
        "checks": [kanon.KAnonymity(k=3), kanon.Homogeneity(sensitive="diagnosis")],
        **more,
    }


@few
@given(st.lists(ROW, max_size=6), st.lists(ROW, max_size=6), st.booleans())
def test_no_output_holds_a_value(
    released: list[tuple[Any, ...]], referred: list[tuple[Any, ...]], by_person: bool
) -> None:
    result = kanon.audit(
        people(released),
        **question(
            entity="person" if by_person else None,
            references={"voters": people(referred)},
        ),
    )

    assert traces(outputs(result)) == []


def test_values_are_shown_to_who_asks() -> None:
    table = people([(ZIPS[0], INCOMES[0], BIRTHS[0], DIAGNOSES[0], NAMES[0])])

    result = kanon.audit(table, show_values=True, **question())

    assert traces(str(result)) == traces(result.to_json()) == ["zeppelin", "91827", "1931-07"]


ALONE = people([(ZIPS[0], INCOMES[0], BIRTHS[0], DIAGNOSES[0], NAMES[0])])
NOBODYS = people([(ZIPS[0], INCOMES[0], BIRTHS[0], DIAGNOSES[0], None)])


def voters(**parts: Any) -> dict[str, Any]:
    return {"references": {"voters": kanon.ReferenceSpec(source=ALONE, **parts)}}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (question(where="zip > 5"), "1 of 1 values"),
        (question(where="zip > date '2025-01-01'"), "1 of 1 values"),
        (question(where="cast(zip as double) > 5"), "1 of 1 values"),
        (question(**voters(weight="zip")), "1 of 1 values"),
        (question(**voters(weight="income")), "1 of 1 values"),
        (question(**voters(columns={"income": "zip"})), "no value of the text is a number"),
        (question(**voters(columns={"income": "born"})), "they can never be equal"),
        (question(**voters(columns={"zip": "postcode"})), 'no column "postcode"'),
        (
            question(
                **voters(where="income < 0"),
                checks=[kanon.KMap(reference="voters", missing="error")],
            ),
            "1 class of pyarrow.Table",
        ),
    ],
)
def test_no_error_holds_a_value(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(kanon.KanonError, match=message) as refused:
        kanon.audit(ALONE, **asked)

    assert traces("".join(traceback.format_exception(refused.value))) == []


@pytest.mark.parametrize("parts", [question(entity="person"), voters(entity="person")])
def test_no_error_says_whose_record_is_nobodys(parts: dict[str, Any]) -> None:
    references = {"voters": kanon.ReferenceSpec(source=NOBODYS, entity="person")}
    asked = question() | parts | ({"references": references} if "references" in parts else {})

    with pytest.raises(kanon.InputError, match="1 of 1 records") as refused:
        kanon.audit(NOBODYS, **asked)

    assert traces("".join(traceback.format_exception(refused.value))) == []


@pytest.mark.parametrize(
    "view",
    [
        "select cast(zip as integer) as zip, income, born, diagnosis, person from people",
        "select error(zip) as zip, income, born, diagnosis, person from people",
        "select zip, income, born, strptime(diagnosis, '%Y') as diagnosis, person from people",
    ],
)
def test_a_view_that_fails_on_a_value_does_not_tell_it(view: str) -> None:
    connection = duckdb.connect()
    connection.register("arrow", ALONE)
    connection.execute("create table people as from arrow")
    connection.execute(f"create view broken as {view}")

    assert traces(_what_is_said(connection)) == []


def _what_is_said(connection: duckdb.DuckDBPyConnection) -> str:
    """The outputs of the audit of a broken view, or the error that it ends with."""
    try:
        result = kanon.audit("broken", engine=connection, **question())
    except kanon.KanonError as error:
        return "".join(traceback.format_exception(error))
    assert result.status == "error"
    return outputs(result)
