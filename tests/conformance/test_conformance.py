"""Does every engine give the same answers? Each against plain Python, on hostile tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import pyarrow
import pytest
from generated import Filled, fewer
from hierarchies import HIERARCHIES
from hypothesis import assume, given, settings
from hypothesis.errors import UnsatisfiedAssumption
from own_figures import agrees, own_figures
from questions import DRAWN, EVERYTHING, Asked
from values_at_levels import column, labels
from warehouses import ENGINES, Database, EngineUnderTest

import kanon_sql as kanon
from kanon_sql.auditing.check_statement import check_statement
from kanon_sql.auditing.opening import planned
from kanon_sql.auditing.other_columns import alone_with_others
from kanon_sql.auditing.running import run as run_steps
from kanon_sql.engines import connect
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import run_within
from kanon_sql.models.catalogue import MODELS
from kanon_sql.plan import other_columns
from kanon_sql.plan.answers import Answers
from kanon_sql.question.spec import AuditSpec


@pytest.fixture(scope="module", params=ENGINES)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> EngineUnderTest:
    return ENGINES[request.node.callspec.params["database"]]


@pytest.fixture
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.node.callspec.params["database"])


def answers(database: Database, asked: Asked, dialect: str) -> None:
    database.load("people", asked.table)
    if asked.reference:
        database.load("voters", asked.reference)
    if asked.earlier:
        database.load("before", asked.earlier)
    if asked.original:
        database.load("original", asked.original)
    if asked.holdout:
        database.load("rest", asked.holdout)

    found = asked.in_sql_of(dialect).found("people", "voters", "before", engine=database.url)
    assert found == asked.expected


@pytest.mark.parametrize("name", DRAWN)
def test_what_nobody_thought_of(
    database: Database, engine: EngineUnderTest, dialect: str, name: str
) -> None:
    @settings(fewer, max_examples=engine.examples)
    @given(DRAWN[name])
    def is_answered(asked: Asked) -> None:
        if name in engine.lacks:
            with pytest.raises((kanon.KanonError, UnsatisfiedAssumption)):
                answers(database, asked, dialect)
            return
        try:
            answers(database, asked, dialect)
        except kanon.KanonError as refused:
            # Another is drawn; a test that is left with none fails.
            assume(not re.search(engine.refuses, str(refused)))
            raise

    is_answered()


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything(database: Database, engine: EngineUnderTest, dialect: str, name: str) -> None:
    """The audit gives the expected figures, and each check's own statement the audit's verdict."""
    # What can't be held is as good as refused.
    lacking = pytest.raises((kanon.KanonError, UnsatisfiedAssumption))
    with own_figures() as compared, lacking if name in engine.lacks else nullcontext():
        answers(database, EVERYTHING[name], dialect)

    assert [each for each in compared if not agrees(*each)] == []


def test_the_statement_of_a_check_fails_on_an_empty_table(database: Database) -> None:
    database.load("people", Filled(("zip",), (pyarrow.string(),), (("1",), ("2",))))
    checks = [kanon.KAnonymity(k=1)]
    table = {"source": "people", "quasi_identifiers": ["zip"], "checks": checks}
    figures = []
    with connect(database.url) as engine:
        for where in (None, "zip = '1' and zip = '2'"):
            plan = planned(AuditSpec(tables=[table | {"where": where}]), 0, engine).plan
            [check] = plan.question.checks
            statement = check_statement(plan.question, check)
            assert statement is not None
            with pytest.raises(kanon.KanonError) if where else nullcontext():
                figures += engine.query(statement.sql)
            engine.renew()

    assert [int(row["failures"]) for row in figures] == [0]


def test_no_model_is_left_out() -> None:
    asked = {name for each in EVERYTHING.values() for name, _ in each.question.asked}

    assert asked == set(MODELS)


def test_columns_without_a_role(database: Database) -> None:
    """It warns as DuckDB does; of each column by itself where a database counts approximately."""
    people = Filled(
        ("zip", "code", "ward"),
        (pyarrow.string(), pyarrow.int64(), pyarrow.string()),
        tuple(("1", 5 * at, f"w{at % 7}") for at in range(48)),
    )
    database.load("people", people)

    [there] = kanon.audit("people", ["zip"], engine=database.url).tables
    [here] = kanon.audit(people.arrow, ["zip"]).tables

    together, of_code = here.warnings
    assert there.warnings == ((together, of_code) if "unassigned" in there.sql else (together,))


@pytest.mark.parametrize("entity", [None, "who"])
def test_columns_without_a_role_are_sampled(
    database: Database, entity: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the database's own hash; where it has none, all records are counted."""
    monkeypatch.setattr(other_columns, "LEAST_SAMPLED", 1_000)
    monkeypatch.setattr(other_columns, "ONE_IN", 2)
    people = Filled(
        ("zip", "code", "ward", "who"),
        (pyarrow.string(), pyarrow.int64(), pyarrow.string(), pyarrow.int64()),
        tuple(
            (f"z{at // 3 % 3}", at if at % 2 else None, f"w{at % 7}" if at % 5 else None, at // 3)
            for at in range(3_000)
        ),
    )
    database.load("people", people)
    roles = {"entity": entity} if entity else {"identifiers": "who"}
    spec = AuditSpec(tables=[{"source": "people", "quasi_identifiers": ["zip"], **roles}])

    with connect(database.url) as engine:
        plan = planned(spec, 0, engine).plan
        found = Answers()
        run_within(
            engine,
            RunOptions(),
            lambda session: run_steps(plan.steps, session, found),
            lambda session, error: pytest.fail(error),
            spent=0,
        )
        known = alone_with_others(plan, found)

    # Half of the records have a code of their own; so has one record of each person, at least.
    truth, of = (1_000, 1_000) if entity else (1_500, 3_000)
    assert known is not None
    assert known.of == of
    assert known.is_exact == ("other_columns" in found.by_step)
    margin = known.most - known.least
    assert known.least - margin <= truth <= known.most + margin


# --- every hierarchy ------------------------------------------------------------------------

TYPES = {
    pyarrow.bool_(): "BOOLEAN",
    pyarrow.int64(): "BIGINT",
    pyarrow.float64(): "DOUBLE",
    pyarrow.decimal128(20, 2): "DECIMAL(20, 2)",
    pyarrow.string(): "VARCHAR",
    pyarrow.date32(): "DATE",
    pyarrow.timestamp("us"): "TIMESTAMP",
}
COLUMNS = {
    name: column(TYPES[type], part, longest=max(len(str(value)) for value in values))
    for name, (type, values, part) in HIERARCHIES.items()
}
LONGEST = max(len(values) for _, values, _ in HIERARCHIES.values())
VALUES = {
    name: [values[place % len(values)] for place in range(LONGEST)]
    for name, (_, values, _) in HIERARCHIES.items()
}


def table_of(columns: Mapping[str, Sequence[Any]], types: Sequence[pyarrow.DataType]) -> Filled:
    return Filled(tuple(columns), tuple(types), tuple(zip(*columns.values(), strict=True)))


@pytest.mark.parametrize("level", range(1, 1 + max(each.height for each in COLUMNS.values())))
def test_every_label(database: Database, engine: EngineUnderTest, level: int) -> None:
    """Each record is found, by all of its labels, in a table of those that DuckDB has for it."""
    asked = {
        name: part
        for name, (*_, part) in HIERARCHIES.items()
        if name not in engine.spells_otherwise
    }
    levels = {name: min(level, COLUMNS[name].height) for name in asked}
    labelled = {name: labels(COLUMNS[name], levels[name], VALUES[name]) for name in asked}
    database.load("people", table_of(VALUES, [type for type, *_ in HIERARCHIES.values()]))
    database.load("voters", table_of(labelled, [pyarrow.string()] * len(labelled)))

    found = kanon.audit(
        "people",
        engine=database.url,
        quasi_identifiers=asked,
        levels=levels,
        references={"labels": "voters"},
        checks=[kanon.KMap(k=1, match="exact")],
    )

    [table] = found.to_dict()["tables"]
    assert table["summary"]["classes"] == len(set(zip(*labelled.values(), strict=True)))
    assert table["checks"][0]["unmatched_classes"] == 0
