"""The auditor is not the leak: no output and no error holds a value of the data, unless asked."""

from __future__ import annotations

import csv
import re
import sqlite3
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from commands import run
from generated import few, fewer
from hypothesis import given
from hypothesis import strategies as st
from pages import as_markdown
from planted import BIRTHS, DIAGNOSES, INCOMES, NAMES, ROW, ZIPS, people, traces

import kanon_sql as kanon
from kanon_sql.auditing.auditor import audit
from kanon_sql.auditing.contract import compile_contract
from kanon_sql.engines.duckdb.hub import without_values
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.question.spec import AuditSpec
from kanon_sql.report.pipelines import github, junit, openlineage, sarif


def outputs(result: kanon.AuditResult) -> str:
    """Everything that a result can be turned into, as one text; how long it took is chance."""
    timeless = tuple(replace(table, seconds=0.0) for table in result.tables)
    result = replace(result, tables=timeless)
    forms = (str(result), repr(result), result.to_json(), as_markdown(result))
    return "\n".join([*forms, result._repr_html_()])


def events(data: Any, connect: Any = None, **asked: Any) -> str:
    """The lineage events of an audit, with its checks' own statements."""
    spec = AuditSpec(tables=[{"source": data, **asked}])
    result = audit(spec, RunOptions(connect), with_lineage=True)
    return openlineage.render(result)


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
    references = {"voters": kanon.ReferenceSpec(source=people(referred))}
    asked = question(entity="person" if by_person else None, references=references)
    if result.status != "error":
        assert traces(events(people(released), **asked | {"sensitive": ["diagnosis"]})) == []


OF_A_SYNTHESIS = [
    kanon.CopiedRecords(max_share=0.1),
    kanon.ReplicatedUniques(max_excess=0.1),
    kanon.SinglingOut(m=3, max_rate=0.5),
    kanon.DisclosiveInSynthetic(sensitive="diagnosis", max_share=0.2),
    kanon.CorrectAttribution(sensitive="diagnosis", max_gain=0.1),
]


@fewer
@given(
    st.lists(ROW, min_size=2, max_size=8),
    st.lists(ROW, min_size=1, max_size=4),
    st.lists(ROW, min_size=1, max_size=4),
    st.booleans(),
)
def test_no_output_of_a_synthetic_table_holds_a_value(
    rows: list[tuple[Any, ...]],
    made_up: list[tuple[Any, ...]],
    others: list[tuple[Any, ...]],
    shows: bool,
) -> None:
    """Half of it are copies; --show-values shows nothing of them either."""
    original = [(*row[:4], f"o{place}") for place, row in enumerate(rows)]
    holdout = [(*row[:4], f"h{place}") for place, row in enumerate(others)]
    synthetic = people([*rows[: len(rows) // 2 + 1], *made_up]).drop_columns(["person"])
    asked = question(checks=OF_A_SYNTHESIS)
    beside = {
        "original": {"source": people(original), "entity": "person"},
        "holdout": people(holdout),
    }
    told: list[str] = []
    try:
        result = kanon.audit(synthetic, **asked, **beside, show_values=shows)
        forms = [junit.render(result), sarif.render(result), github.render(result)]
        told += [outputs(result), *forms, str(kanon.compile(synthetic, **asked, **beside))]
        told.append(result.to_html())
    except kanon.KanonError as refused:
        told.append("".join(traceback.format_exception(refused)))

    assert traces("\n".join(told)) == []


EVENTS_OF_PEOPLE = [
    kanon.KmAnonymity(k=3),
    kanon.KnownEvents(m=2, max_share=0.1, times=True),
    kanon.KnownEvents(m=3, max_share=0.9, max_combinations=0),
]


@fewer
@given(st.lists(ROW, min_size=1, max_size=8), st.booleans())
def test_no_output_of_an_event_table_holds_a_value(
    rows: list[tuple[Any, ...]], known: bool
) -> None:
    table = people(rows)
    asked: dict[str, Any] = {
        "entity": "person",
        "events": {"zip": {"levels": [{"prefix": 1}]}, "born": {}, "diagnosis": {}},
        "checks": EVENTS_OF_PEOPLE,
    }
    levels = {"zip": 1} if known else {}

    result = kanon.audit(table, levels=levels, **asked)
    curve = kanon.profile(table, entity="person", events=["zip", "income"], known=range(1, 5))
    forms = [junit.render(result), sarif.render(result), github.render(result)]
    told = [outputs(result), str(curve), curve.to_json(), curve._repr_html_(), *forms]
    told += [events(table, **asked, levels=levels), str(kanon.compile(table, **asked))]

    assert traces("\n".join(told)) == []
    shown = kanon.audit(table, levels=levels, show_values=True, **asked)
    if not known and any(row[0] or row[3] for row in rows):
        assert traces(shown.to_json()) != []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"quasi_identifiers": ["income"]}, "income has several values for 1 of 1 person"),
        ({"checks": [kanon.KmAnonymity(k=1, max_combinations=0)]}, "m = 2 has"),
        ({"where": "cast(zip as double) > 5"}, "Check the casts and comparisons in where"),
        (
            {"events": {"diagnosis": {"levels": [{"width": 5}]}}, "levels": {"diagnosis": 1}},
            "width",
        ),
    ],
)
def test_no_error_of_an_event_table_holds_a_value(more: dict[str, Any], message: str) -> None:
    rows = [
        (ZIPS[place], INCOMES[place], BIRTHS[0], DIAGNOSES[place], name)
        for name in NAMES[: 1 if "quasi_identifiers" in more else 2]
        for place in (0, 1)
    ]
    asked = {"entity": "person", "events": ["zip", "diagnosis"]} | more

    with pytest.raises(kanon.KanonError, match=message) as refused:
        kanon.audit(people(rows), **asked)

    assert traces("".join(traceback.format_exception(refused.value))) == []


def test_no_error_says_whose_event_is_nobodys() -> None:
    with pytest.raises(kanon.InputError, match="1 of 1 records") as refused:
        kanon.audit(NOBODYS, entity="person", events=["zip", "diagnosis"])

    assert traces("".join(traceback.format_exception(refused.value))) == []


PLACES = ("Zeppelin-1", "it's Zeppelin", "Zeppelin, 3")


def hierarchy_of_places(folder: Path, kind: str, more: int, faulty: bool = False) -> str:
    """A hierarchy of places, as a file of this kind."""
    rows = [(place, f"region of {place}", "Rumpel") for place in PLACES]
    rows += [(f"Xenophon {number}", "xanthippe", "Rumpel") for number in range(more)]
    rows += [(PLACES[0], "region of Rumpel", "Rumpel")] if faulty else []
    file = folder / f"places.{kind}"
    if kind == "csv":
        with file.open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
    else:
        names = ("place", "region", "country")
        table = pyarrow.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
        pyarrow.parquet.write_table(table, file)
    return str(file)


def patients() -> pyarrow.Table:
    seen = ["Rumpelstilz", "flu", "rash"] * 2
    return pyarrow.table({"place": list(PLACES) * 2, "seen": seen})


@pytest.mark.parametrize("more", [0, 300], ids=["by case", "by join"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_sql_of_a_result_holds_no_value_of_a_hierarchy_that_lies_in_a_file(
    tmp_path: Path, kind: str, more: int
) -> None:
    file = hierarchy_of_places(tmp_path, kind, more)
    asked: dict[str, Any] = {"quasi_identifiers": {"place": {"hierarchy": file}}}

    audited = kanon.audit(patients(), levels={"place": 1}, **asked)
    pyarrow.parquet.write_table(patients(), tmp_path / "patients.parquet")
    released = kanon.anonymize(
        tmp_path / "patients.parquet", k=3, output=tmp_path / "views.sql", **asked
    )
    compiled = str(kanon.compile(patients(), levels={"place": 1}, **asked))
    shown = kanon.audit(patients(), levels={"place": 1}, show_values=True, **asked)

    assert (audited.tables[0].summary.classes, released.holds) == (3, True)
    for result in (audited, released):
        assert "…" in result.to_json()
        assert traces(outputs(result)) == []
    for told in (shown.to_json(), compiled, "\n".join(released.anonymization.views)):
        assert "zeppelin" in traces(told)
        assert "…" not in told
    assert "zeppelin" in traces((tmp_path / "views.sql").read_text())


def test_the_sql_of_a_result_holds_no_value_of_a_hierarchy_in_a_database() -> None:
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.execute("create table patients (place text)")
    database.execute("create table places (place text, region text)")
    database.executemany("insert into patients values (?)", [(place,) for place in PLACES * 2])
    database.executemany("insert into places values (?, 'Rumpel')", [(place,) for place in PLACES])
    asked: dict[str, Any] = {
        "engine": database,
        "quasi_identifiers": {"place": {"hierarchy": "places"}},
    }

    audited = kanon.audit("patients", levels={"place": 1}, **asked)
    released = kanon.anonymize("patients", k=6, max_suppressed=0, **asked)

    assert (audited.tables[0].summary.k, released.holds) == (6, True)
    assert traces(outputs(audited) + outputs(released)) == []
    database.close()


def test_the_sql_of_a_result_holds_no_value_of_a_tree_that_lies_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "seen.csv"
    file.write_text("Rumpelstilz,Rumpel,any\nflu,lung,any\nrash,skin,any\n")
    near = kanon.TCloseness(t=0.1, sensitive="seen", distance="hierarchical", hierarchy=str(file))

    result = kanon.audit(patients(), quasi_identifiers=["place"], checks=[near])

    assert result.status == "violated"
    assert traces(outputs(result)) == []


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_faults_of_a_hierarchy_hold_no_value(tmp_path: Path, kind: str) -> None:
    file = hierarchy_of_places(tmp_path, kind, more=0, faulty=True)
    asked: dict[str, Any] = {
        "quasi_identifiers": {"place": {"hierarchy": file}},
        "levels": {"place": 1},
    }

    with pytest.raises(kanon.SpecError, match="parent") as refused:
        kanon.audit(patients(), **asked)
    with pytest.raises(kanon.SpecError, match="Zeppelin-1") as shown:
        kanon.audit(patients(), show_values=True, **asked)
    warned = kanon.audit(patients(), hierarchy_faults="warn", **asked)

    assert traces("".join(traceback.format_exception(refused.value))) == []
    assert traces(str(shown.value)) == ["zeppelin", "rumpel"]
    assert "parent" in warned.tables[0].warnings[0]
    assert traces(outputs(warned)) == []


def test_a_fault_is_told_once_by_the_search_and_the_audit_that_it_ends_with(tmp_path: Path) -> None:
    file = hierarchy_of_places(tmp_path, "csv", more=0, faulty=True)

    [found] = kanon.anonymize(
        patients(),
        quasi_identifiers={"place": {"hierarchy": file}, "seen": {"levels": [{"prefix": 1}]}},
        k=6,
        max_suppressed=0,
        hierarchy_faults="warn",
    ).tables

    told = [warning for warning in found.warnings if warning.startswith(file)]
    assert found.status == "violated"
    assert len(told) == len(set(told)) == 1


def test_the_literals_of_a_spec_are_its_own() -> None:
    places = {place: ["somewhere"] for place in PLACES}

    result = kanon.audit(
        patients(), quasi_identifiers={"place": {"hierarchy": places}}, levels={"place": 1}
    )

    assert traces(str(result)) == []
    assert traces(result.to_json()) == ["zeppelin"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_no_event_and_no_contract_holds_a_text_of_a_hierarchy_file(
    kind: str, tmp_path: Path
) -> None:
    file = hierarchy_of_places(tmp_path, kind, more=0)
    pyarrow.parquet.write_table(patients(), tmp_path / "patients.parquet")
    asked: dict[str, Any] = {
        "quasi_identifiers": {"place": {"hierarchy": file}},
        "levels": {"place": 1},
        "checks": [kanon.KAnonymity(k=2)],
    }
    source = str(tmp_path / "patients.parquet")

    assert traces(events(patients(), **asked)) == []
    spec = AuditSpec(tables=[{"source": source, **asked}])
    assert traces(compile_contract(spec, folder=tmp_path).text) == []


def test_no_event_tells_the_value_of_a_failed_view() -> None:
    connection = duckdb.connect()
    connection.register("arrow", ALONE)
    connection.execute("create table people as from arrow")
    connection.execute(
        "create view broken as select error(zip) as zip, income, born, diagnosis, person "
        "from people"
    )
    asked = question() | {"sensitive": ["diagnosis"]}

    told = events("broken", connection, **asked)

    assert '"errorMessage"' in told
    assert traces(told) == []


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
        (question(where="cast(zip as double) > 5"), "Check the casts and comparisons in where"),
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


@pytest.mark.parametrize("where", ["zip > 5", "zip + 1 = 2", "sum(zip) > 1", "zip[1] + zip > 2"])
@pytest.mark.parametrize(
    "categories",
    [
        ["Zeppelin\n4711", "0815"],
        ["0815", "Zepp'elin\n'', 4711)", "Rumpel"],
        ["JSON Zeppelin", "CSV Error on Line: 91827"],
        ["\n", "\r\n) Zeppelin", "Rumpel ENUM('Zeppelin"],
    ],
)
def test_no_error_holds_a_category(categories: list[str], where: str) -> None:
    frame = pandas.DataFrame({"zip": pandas.Categorical(categories)})

    with pytest.raises(kanon.KanonError) as refused:
        kanon.audit(frame, quasi_identifiers=["zip"], where=where)

    said = "".join(traceback.format_exception(refused.value))
    assert traces(said) == []
    assert re.search("JSON|CSV", said) is None
    assert re.search(r"[a-z] [A-Z][a-z]+ (at|the)\b", str(refused.value)) is None


def test_categories_without_end_are_told_apart_at_once() -> None:
    listed = ", ".join(f"'it''s {place}'" for place in range(10_000))

    assert without_values(f"a {listed} ENUM({listed} b") == f"a {listed} ENUM"
    assert without_values(f"ENUM({listed})[] and more") == "ENUM[] and more"


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


# --- published tables -----------------------------------------------------------------------

FORMATS = ("human", "json", "markdown", "junit", "sarif", "github", "openlineage")
LEDGER = people(
    [
        (ZIPS[place], INCOMES[number % 2], BIRTHS[number % 2], DIAGNOSES[place], NAMES[number % 2])
        for place in (0, 1, 2)
        for number in range(place + 1)
    ]
)
CELLS = (
    ("zip", "sex", "n"),
    ("Zeppelin-4711", "m", "918273"),
    ("Zeppelin-4711", "Xanthippe", "Rumpel"),
    ("Zeppelin-4711", "Total", "1836547"),
    ("Zeppelin-0815", "m", "918275"),
    ("Zeppelin-0815", "Xanthippe", "918276"),
    ("Zeppelin-0815", "Total", "1836551"),
    ("elsewhere", "m", "12"),
    ("elsewhere", "Xanthippe", "13"),
    ("elsewhere", "Total", "25"),
)
"""The figure that is suppressed is 918274. The least one is what the threshold finds, and told."""
OF_CELLS = ("--by", "zip,sex", "--value", "n", "--published", "--total-label", "Total")
OF_LEDGER = ("--by", "zip,diagnosis", "--value", "income", "--contributor", "person")


def figures(text: str) -> list[str]:
    """What a text tells of values, of totals, and of the figure that can be computed."""
    return [*traces(text), *(each for each in ("183654", "1,836,54", "183655") if each in text)]


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(LEDGER, "ledger.parquet")
    with open("cells.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(CELLS)
    with open("earlier.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [each if each[2] != "918276" else (*each[:2], "918274") for each in CELLS]
        )
    hierarchy_of_places(tmp_path, "csv", more=0)
    return tmp_path


LABELS = {"xanthippe", "zeppelin"}
SAID: list[tuple[str, ...]] = [
    ("ledger.parquet", *OF_LEDGER, "--threshold", "3", "--dominance", "1,50", "--derivable"),
    ("ledger.parquet", *OF_LEDGER, "--policy", "abs-datalab", "--check", "group_disclosure"),
    ("ledger.parquet", "--by", "born,zip", "--against", "ledger.parquet", "--min-difference", "3"),
    ("cells.csv", *OF_CELLS, "--suppressed", "Rumpel", "--derivable", "--threshold", "10"),
    (
        *("cells.csv", *OF_CELLS, "--suppressed", "Rumpel=1..999999", "--against", "earlier.csv"),
        *("--check", "rounded:base=5", "--check", "group_disclosure", "--policy", "cms-cell-11"),
    ),
]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("asked", SAID)
def test_no_format_of_a_published_table_holds_a_figure_or_to_machines_a_label(
    published: Path, asked: tuple[str, ...], form: str
) -> None:
    """Labels of a table that goes out as it is are no secret, and people read which cells fail."""
    for more in ((), ("--audience", "external"), ("-v",)):
        result = run("tables", *asked, *more, "--format", form)

        assert result.exit_code in (0, 1), result.stderr
        own = {"rumpel"} if "--suppressed" in asked else set()
        is_read = form in ("human", "markdown") and "external" not in more
        labels = LABELS if "--published" in asked and is_read else set()
        assert set(figures(result.stdout + result.stderr)) <= own | labels


@pytest.mark.parametrize("asked", SAID[3:])
def test_no_list_of_cells_holds_a_figure(published: Path, asked: tuple[str, ...]) -> None:
    run("tables", *asked, "--cells", "list.csv")

    listed = Path("list.csv").read_text(encoding="utf-8")
    assert "Zeppelin-4711" in listed
    assert set(figures(listed)) <= LABELS


@pytest.mark.parametrize("asked", SAID)
def test_no_report_comparison_or_baseline_of_a_published_table_holds_one(
    published: Path, asked: tuple[str, ...]
) -> None:
    own = {"rumpel"} if "--suppressed" in asked else set()
    run("tables", *asked, "--output", "r.json")
    told = [
        run("report", "r.json"),
        run("report", "r.json", "--audience", "external"),
        run("diff", "r.json", "r.json"),
        run("baseline", "r.json"),
        run("tables", *asked, "--dry-run"),
        run("validate", *asked),
    ]

    for each in told:
        assert each.exit_code == 0, each.stderr
        assert set(figures(each.stdout + each.stderr)) <= own


def test_the_labels_of_a_hierarchy_file_are_in_no_result_of_a_published_table(
    published: Path,
) -> None:
    by_place = {"by": ["place"], "hierarchies": {"place": "places.csv"}}
    counts = [(place, number) for number, place in enumerate(PLACES, start=3)]
    rows = [*counts, *((f"region of {place}", number) for place, number in counts)]
    table = pyarrow.Table.from_pylist(
        [{"place": place, "n": number} for place, number in [*rows, ("Rumpel", 12)]]
    )

    of_records = kanon.tables(patients(), threshold=3, derivable=True, **by_place)
    of_cells = kanon.tables(table, value="n", published=True, derivable=True, **by_place)
    compiled = run("compile", "cells.csv", *OF_CELLS, "--hierarchy", "zip=places.csv")

    assert (of_records.status, of_cells.status) == ("violated", "holds")
    for result in (of_records, of_cells):
        assert "…" in result.to_json()
        assert traces(outputs(result)) == []
    assert traces(compiled.stdout) != []


def test_what_can_be_computed_is_shown_to_who_asks(published: Path) -> None:
    asked = SAID[3]

    shown = run("tables", *asked, "--show-values", "--format", "json")

    assert "918274" in shown.stdout
    assert '"holds_personal_data": true' in shown.stdout


REFUSED: list[tuple[tuple[str, ...], str]] = [
    (("cells.csv", *OF_CELLS), "1 of 9 values of n is neither a number nor a declared mark"),
    (("cells.csv", *OF_CELLS[:4], "--published", "--suppressed", "Rumpel", "--by", "zip"), ""),
    (("cells.csv", *OF_CELLS, "--suppressed", "Rumpel=1..9", "--derivable"), "its mark says"),
    (("cells.csv", *OF_CELLS, "--suppressed", "Rumpel", "--hierarchy", "zip=places.csv"), "in its"),
    (("cells.csv", *OF_CELLS, "--suppressed", "Rumpel", "--absent", "no"), "no"),
    (("cells.csv", "--by", "zip", "--value", "n", "--threshold", "3"), "1 of 9 values of"),
    (("cells.csv", "--by", "zip", "--value", "sex", "--published"), "9 of 9 values of sex"),
    (("cells.csv", *OF_CELLS, "--suppressed", "Rumpel", "--where", "zip > 5"), "zip"),
    (("cells.csv", *OF_CELLS, "--suppressed", "Rumpel", "--total-flag", "zip=sex"), "flag of zip"),
    (("broken.csv", *OF_CELLS, "--suppressed", "Rumpel", "--derivable"), "is not the sum"),
    (("twice.csv", *OF_CELLS, "--suppressed", "Rumpel"), "more than one row"),
    (("nulls.csv", *OF_CELLS, "--suppressed", "Rumpel"), "is NULL in 1 row"),
    (("ledger.parquet", "--by", "zip", "--value", "person", "--threshold", "3"), " no number"),
    (("ledger.parquet", "--by", "zip", "--policy", "Zeppelin.yml"), ""),
]


@pytest.mark.parametrize(("asked", "sentence"), REFUSED)
def test_no_error_on_a_published_table_holds_a_label_or_a_figure(
    published: Path, asked: tuple[str, ...], sentence: str
) -> None:
    lines = Path("cells.csv").read_text(encoding="utf-8").splitlines()
    for name, changed in {
        "broken.csv": [line.replace("918275", "918279") for line in lines],
        "twice.csv": [*lines, lines[1]],
        "nulls.csv": [*lines, ",m,918279"],
    }.items():
        Path(name).write_text("\n".join([*changed, ""]), encoding="utf-8")

    for form in FORMATS:
        result = run("tables", *asked, "--format", form)

        assert (result.exit_code, result.stdout) == (2, "")
        assert sentence in result.stderr
        said = [word for word in figures(result.stderr) if word not in " ".join(asked).casefold()]
        assert said == []


def test_a_policy_file_that_is_none_is_refused_without_its_values(published: Path) -> None:
    Path("rules.yml").write_text("policy: Zeppelin 91827\ntitle: [1931-07]\n", encoding="utf-8")

    for words in (("policy", "rules.yml"), ("policy", "rules.yml", "--format", "json")):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "rules.yml:1:" in result.stderr


@pytest.mark.parametrize("form", ["human", "json"])
def test_a_policy_tells_nothing_of_tables(published: Path, form: str) -> None:
    for words in ((), ("cms-cell-11",)):
        result = run("policy", *words, "--format", form)

        assert result.exit_code == 0
        assert figures(result.stdout) == []
