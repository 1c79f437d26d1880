"""A check's own statement: is its figure the audit's verdict, and would one sign it?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import asking
import duckdb
import oracle
import pyarrow
import pytest
from generated import TREE, fewer
from golden import GOLDEN, TABLES
from hypothesis import given
from own_figures import Compared, agrees, own_figures
from questions import DRAWN, EVERYTHING, Asked

import kanon_sql as kanon
from kanon_sql.auditing.check_statement import check_statement
from kanon_sql.auditing.opening import planned
from kanon_sql.engines import connect
from kanon_sql.engines.base import Engine
from kanon_sql.errors import EngineError
from kanon_sql.models.catalogue import MODELS
from kanon_sql.models.events.models import EventModel
from kanon_sql.models.synthetic.models import SyntheticModel
from kanon_sql.question.spec import AuditSpec


def asked(question: Asked, **where: Any) -> Compared:
    with own_figures() as compared:
        if where:
            question.found("people", "voters", "before", **where)
        else:
            question.found_here()
    return compared


@cache
def figures(name: str) -> Compared:
    return asked(EVERYTHING[name])


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_figure_is_the_verdict(name: str) -> None:
    wrong = [(check, figure) for check, figure in figures(name) if not agrees(check, figure)]

    assert wrong == []


def test_every_model_that_is_no_estimate_is_among_these() -> None:
    found = {check.model for name in EVERYTHING for check, _ in figures(name)}

    exact = {name for name, model in MODELS.items() if model.in_one_statement}
    assert found == exact


def has_one(check: dict[str, Any]) -> bool:
    """Whether a check has a statement: no estimate, and no events that are drawn or are many."""
    model, asked = MODELS[check["model"]], check["parameters"]
    if issubclass(model, EventModel) and asked["m"] > 1:
        return bool(asked["m"] == 2 and asked.get("max_combinations") != 0)
    return model.in_one_statement


@pytest.mark.parametrize("name", DRAWN)
def test_the_figure_is_what_the_oracle_says(name: str) -> None:
    """By tables and questions that nobody thought of, against plain Python."""

    @fewer
    @given(DRAWN[name])
    def is_the_verdict(question: Asked) -> None:
        expected = oracle.audit(question.records, question.question)["checks"]
        compared = asked(question)
        exact = [each["holds"] for each in expected if each["holds"] is not None and has_one(each)]
        assert [check for check, figure in compared if not agrees(check, figure)] == []
        assert [figure == 0 for _, figure in compared] == exact

    is_the_verdict()


# --- its text -------------------------------------------------------------------------------

QUESTIONS: dict[str, dict[str, Any]] = {
    name: {name: dict(model.example.parameters)}
    for name, model in MODELS.items()
    if model.in_one_statement
}


def spec_of(name: str) -> AuditSpec:
    """A question on the golden tables, as the model's example asks it."""
    model = MODELS[name]
    parameters = {
        key: value for key, value in model.example.parameters.items() if key in model.model_fields
    }
    if name == "k_e_anonymity":
        parameters["sensitive"] = "age"
    elif "sensitive" in model.model_fields:
        parameters["sensitive"] = "diagnosis"
    for key in ("values", "allowed"):
        if key in parameters:
            parameters[key] = ["flu"]
    table: dict[str, Any] = {
        "source": "patients",
        "quasi_identifiers": ["zip"] if name == "k_e_anonymity" else ["zip", "age"],
        "sensitive": ["age"] if name == "k_e_anonymity" else ["diagnosis"],
        "checks": [{name: parameters}],
    }
    if issubclass(model, EventModel):
        table |= {"sensitive": [], "entity": "patient", "events": ["diagnosis"]}
    if issubclass(model, SyntheticModel):
        table["original"] = {
            "source": "patients_original",
            "columns": {"zip": "zip_code", "diagnosis": "dx"},
            "entity": "person",
        }
    if "reference" in model.model_fields:
        voters = {"source": "voters", "columns": {"zip": "zip_code"}, "entity": "voter"}
        table["references"] = {"voters": voters}
    if "earlier" in model.model_fields:
        before = {
            "source": "patients_before",
            "columns": {"zip": "zip_code", "diagnosis": "dx"},
            "quasi_identifiers": ["zip"],
            "entity": "person",
        }
        table |= {"entity": "patient", "earlier_releases": {"before": before}}
    return AuditSpec(tables=[table])


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with duckdb.connect() as connection:
        for statement in TABLES.split(";"):
            connection.execute(statement)
        yield connect(connection)


@pytest.mark.parametrize("name", QUESTIONS)
def test_its_text(name: str, engine: Engine) -> None:
    """KANON_SQL_UPDATE_GOLDEN=1 writes it anew."""
    plan = planned(spec_of(name), 0, engine).plan
    [check] = [each for each in plan.question.checks if each.model.name() == name]
    statement = check_statement(plan.question, check)
    assert statement is not None
    statement.check()
    file = GOLDEN / "own_statements" / f"{name}.sql"
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"{statement.sql}\n", encoding="utf-8")

    assert statement.sql == file.read_text(encoding="utf-8").removesuffix("\n")
    assert statement.sql.startswith("select coalesce(sum(failures), 0) as failures\nfrom (\n")
    assert statement.sql.endswith("\n) as kanon_test")
    assert engine.query(statement.sql)[0].keys() == {"failures"}


# --- what it can't judge --------------------------------------------------------------------


def statement_of(spec: AuditSpec, engine: Engine) -> str:
    plan = planned(spec, 0, engine).plan
    statements = [
        check_statement(plan.question, check) for check in plan.question.checks if check.gates
    ]
    [statement] = statements
    assert statement is not None
    return statement.sql


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_empty_table_is_an_error_of_the_database(name: str) -> None:
    with duckdb.connect() as connection:
        for statement in TABLES.split(";"):
            connection.execute(statement)
        connection.execute("delete from patients")
        engine = connect(connection)
        with pytest.raises(EngineError):
            engine.query(statement_of(spec_of(name), engine))


def test_a_record_of_nobody_is_an_error_of_the_database() -> None:
    with connect() as engine:
        source = pyarrow.table({"zip": ["1", "1"], "person": ["a", None]})
        checks = [kanon.KAnonymity(k=1)]
        table = {"source": source, "quasi_identifiers": ["zip"], "entity": "person",
                 "checks": checks}  # fmt: skip
        with pytest.raises(EngineError):
            engine.query(statement_of(AuditSpec(tables=[table]), engine))


def test_a_value_outside_of_a_hierarchy_is_an_error_of_the_database() -> None:
    with connect() as engine:
        source = pyarrow.table({"zip": ["1", "1"], "dx": ["a", "Zeppelin"]})
        model = kanon.TCloseness(t=1, distance="hierarchical", hierarchy=TREE, sensitive="dx")
        table = {"source": source, "quasi_identifiers": ["zip"], "sensitive": ["dx"],
                 "checks": [model]}  # fmt: skip
        with pytest.raises(EngineError):
            engine.query(statement_of(AuditSpec(tables=[table]), engine))


def test_estimates_and_what_is_only_measured_have_none() -> None:
    checks = [
        kanon.KMapEstimate(k=1, population=9),
        kanon.PopulationUniqueness(population=9, max_share=1),
        kanon.KAnonymity(),
    ]
    with connect() as engine:
        source = asking.table(["zip"], [["1"]])
        spec = AuditSpec(
            tables=[{"source": source, "quasi_identifiers": ["zip"], "checks": checks}]
        )
        plan = planned(spec, 0, engine).plan
        assert {check_statement(plan.question, each) for each in plan.question.checks} == {None}


@pytest.mark.parametrize(
    "check",
    [
        kanon.KmAnonymity(k=2, m=3),
        kanon.KnownEvents(m=3, max_share=0.5),
        kanon.KnownEvents(m=4, max_share=0.5),
        kanon.KnownEvents(m=2, max_share=0.5, max_combinations=0),
        kanon.KnownEvents(m=1),
    ],
)
def test_events_that_are_drawn_or_are_many_have_none(check: Any, engine: Engine) -> None:
    table = {"source": "patients", "entity": "patient", "events": ["diagnosis"], "checks": [check]}
    plan = planned(AuditSpec(tables=[table]), 0, engine).plan

    assert {check_statement(plan.question, each) for each in plan.question.checks} == {None}


def test_a_person_with_several_quasi_identifiers_is_an_error_of_the_database() -> None:
    with connect() as engine:
        source = pyarrow.table({"zip": ["1", "2"], "person": ["a", "a"], "ward": ["x", "y"]})
        table = {"source": source, "quasi_identifiers": ["zip"], "entity": "person",
                 "events": ["ward"], "checks": [kanon.KmAnonymity(k=1)]}  # fmt: skip
        with pytest.raises(EngineError):
            engine.query(statement_of(AuditSpec(tables=[table]), engine))
