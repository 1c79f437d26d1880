"""OpenLineage events: hand-made results in, events out, by the standard's own schemas."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import jsonschema
import pyarrow
import pytest
from audits import HOLDS, LINKED, TEXTS, VIOLATED, audited, with_checks
from places import TESTS
from referencing import Registry, Resource
from test_pipelines import ACCEPTED, BROKEN, EMPTY

import kanon_sql as kanon
from kanon_sql.auditing.auditor import audit
from kanon_sql.auditing.datasets import dataset, result_unopened
from kanon_sql.cli.main import main
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.models.catalogue import MODELS
from kanon_sql.question.spec import AuditSpec
from kanon_sql.report.pipelines import openlineage
from kanon_sql.report.pipelines.openlineage import Emission, emission
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import Dataset, Lineage
from kanon_sql.sql.tables import Column, Table

SCHEMAS = [json.loads(file.read_text("utf-8")) for file in (TESTS / "openlineage").glob("*.json")]
REGISTRY: Registry[Any] = Registry().with_resources(
    (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS
)
FIXED = Emission(
    "clinic", ("airflow", "nightly.audit", str(uuid.UUID(int=7))), datetime(2026, 1, 1, tzinfo=UTC)
)


def lineage_of(table: Any, *, version: str | None = "2.0.0") -> Any:
    """The table with a dataset, a reference and a statement for each check."""
    datasets = (Dataset("file", f"/data/{table.name}"), Dataset("file", "/data/voters.parquet"))
    statements = tuple(
        f"select {place} as failures" if check.holds is not None else None
        for place, check in enumerate(table.checks)
    )
    return dataclasses.replace(table, lineage=Lineage(datasets, statements, version))


BOUNDED = with_checks(
    *VIOLATED.checks,
    LINKED,
    CheckResult(
        "prosecutor_risk",
        {"max_highest": 0.2, "max_at_risk": 0.05, "threshold": 0.2},
        False, 1.0, 600, 1_200, {"average": 0.35, "at_risk": 0.6},
    ),
    CheckResult(
        "alpha_k_anonymity", {"alpha": 0.5, "sensitive": "diagnosis", "values": ("HIV", "flu")},
        False, 1.0, 3, 9, {"k": 1},
    ),
    CheckResult(
        "recursive_cl_diversity", {"c": 2, "l": 2, "sensitive": "diagnosis"},
        False, float("inf"), 1, 4, {"confidence": 1.0},
    ),
    CheckResult(
        "delta_presence", {"min": 0.1, "max": 0.5, "reference": "voters"},
        True, {"min": 0.2, "max": 0.4}, 0, 0,
    ),
)  # fmt: skip
RESULT = audited(
    *(lineage_of(each) for each in (BOUNDED, HOLDS, ACCEPTED, EMPTY)),
    lineage_of(BROKEN, version=None),
)


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def validate(event: dict[str, Any]) -> None:
    """By the schema of run events, and each facet by the one that it names."""
    found = [event["schemaURL"], *_schemas_of(event)]
    for place, url in enumerate(found):
        facet = event if place == 0 else list(_facets(event))[place - 1]
        jsonschema.Draft202012Validator(
            {"$ref": url}, registry=REGISTRY, format_checker=jsonschema.FormatChecker()
        ).validate(facet)


def _facets(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "_schemaURL" in value:
            yield value
        for each in value.values():
            yield from _facets(each)
    if isinstance(value, list):
        for each in value:
            yield from _facets(each)


def _schemas_of(event: dict[str, Any]) -> list[str]:
    return [facet["_schemaURL"] for facet in _facets(event)]


def test_the_whole_text() -> None:
    """KANON_SQL_UPDATE_GOLDEN=1 writes it anew."""
    file = TEXTS / "pipeline.openlineage.jsonl"
    written = openlineage.render(RESULT, (), FIXED)
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.write_text(written + "\n", encoding="utf-8")

    assert written == file.read_text(encoding="utf-8").removesuffix("\n")


@pytest.mark.parametrize("emitted", [FIXED, Emission()])
def test_every_event_is_valid_by_the_schemas_of_the_standard(emitted: Emission) -> None:
    for event in events(openlineage.render(RESULT, (), emitted)):
        validate(event)


def test_a_fault_would_be_found_by_these_schemas() -> None:
    [_, ended, *_] = events(openlineage.render(RESULT, (), FIXED))
    asserted = ended["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"][0]
    tests = ended["run"]["facets"]["test"]["tests"][0]
    for faulty, key, value in ((asserted, "success", "no"), (tests, "status", 1)):
        before, faulty[key] = faulty[key], value
        with pytest.raises(jsonschema.ValidationError):
            validate(ended)
        faulty[key] = before
    validate(ended)


def test_a_run_begins_and_ends() -> None:
    written = events(openlineage.render(RESULT, (), Emission()))
    pairs = list(zip(written[::2], written[1::2], strict=True))

    assert [(one["eventType"], other["eventType"]) for one, other in pairs] == [
        ("START", "FAIL"),
        ("START", "COMPLETE"),
        ("START", "COMPLETE"),
        ("START", "FAIL"),
        ("START", "FAIL"),
    ]
    assert all(one["run"]["runId"] == other["run"]["runId"] for one, other in pairs)
    assert len({one["run"]["runId"] for one, _ in pairs}) == 5
    assert all(one["eventTime"] <= other["eventTime"] for one, other in pairs)
    assert [one["job"]["name"] for one, _ in pairs] == [
        f"kanon-sql.audit.{table.name}" for table in RESULT.tables
    ]
    assert "inputFacets" not in json.dumps([one for one, _ in pairs])


def ended(place: int) -> dict[str, Any]:
    return events(openlineage.render(RESULT, (), FIXED))[2 * place + 1]


def assertions(event: dict[str, Any]) -> list[dict[str, Any]]:
    facets = event["inputs"][0].get("inputFacets", {})
    found: list[dict[str, Any]] = facets.get("dataQualityAssertions", {}).get("assertions", [])
    return found


def told(place: int) -> list[tuple[str, str, str]]:
    tests = ended(place)["run"]["facets"]["test"]["tests"]
    return [(each["name"], each["status"], each["severity"]) for each in tests]


def test_the_states() -> None:
    """The table of states on the page on pipelines, row by row."""
    violated, holds, accepted, no_data, failed = (ended(place) for place in range(5))

    assert [(each["success"], each["severity"]) for each in assertions(violated)] == [
        *[(False, "error")] * 5,
        (True, "error"),
    ]
    assert told(0)[:2] == [
        ("k_anonymity(k=5)", "fail", "error"),
        ("homogeneity(sensitive=diagnosis)", "skip", "error"),
    ]
    assert [each["success"] for each in assertions(holds)] == [True, True]
    assert told(1)[0] == ("k_anonymity(k=5)", "pass", "error")
    assert [(each["success"], each["severity"]) for each in assertions(accepted)] == [
        (False, "warn")
    ]
    assert told(2) == [("k_anonymity(k=9)", "fail", "warn")]
    assert assertions(no_data) == []
    assert told(3) == [("audit", "fail", "error"), ("k_anonymity(k=5)", "skip", "error")]
    assert assertions(failed) == []
    assert told(4) == [("audit", "skip", "error")]
    assert failed["run"]["facets"]["errorMessage"]["message"] == (
        "big.parquet: the audit failed: the memory limit was reached."
    )
    assert "errorMessage" not in violated["run"]["facets"]


def test_what_is_expected_and_found_is_text() -> None:
    found = {
        each["assertion"]: (each.get("expected"), each.get("actual"))
        for each in [*assertions(ended(0)), *assertions(ended(1))]
    }

    assert found == {
        "kanon_sql.k_anonymity": ("5", "7"),
        "kanon_sql.k_map": ("10", "0"),
        "kanon_sql.prosecutor_risk": (
            '{"max_highest": 0.2, "max_at_risk": 0.05}',
            '{"max_highest": 1.0, "max_at_risk": 0.6}',
        ),
        "kanon_sql.alpha_k_anonymity": ("0.5", "1.0"),
        "kanon_sql.recursive_cl_diversity": ("2", "Infinity"),
        "kanon_sql.delta_presence": ('{"min": 0.1, "max": 0.5}', '{"min": 0.2, "max": 0.4}'),
        "kanon_sql.homogeneity": ("0", "0"),
    }


def test_an_assertion_has_its_promise_statement_and_parameters() -> None:
    first, *_, named, _, _ = assertions(ended(0))

    assert first["description"] == MODELS["k_anonymity"].promise
    assert (first["contentType"], first["content"]) == ("sql", "select 0 as failures")
    assert first["params"] == {
        "parameters": {"k": 5},
        "quasi_identifiers": ["zip", "birth_date", "sex"],
        "entity": None,
        "nulls": "value",
        "violating_classes": 600,
        "violating_records": 1_200,
    }
    assert "column" not in first
    assert named["column"] == "diagnosis"
    assert named["params"]["parameters"] == {"alpha": 0.5, "sensitive": "diagnosis", "values": 2}
    assert "HIV" not in openlineage.render(RESULT, (), FIXED)


def test_a_fixed_time_gives_the_same_bytes_and_another_result_other_ids() -> None:
    once, again = (openlineage.render(RESULT, (), FIXED) for _ in range(2))
    other = openlineage.render(audited(lineage_of(VIOLATED)), (), FIXED)

    assert once == again
    assert events(once)[0]["run"]["runId"] != events(other)[0]["run"]["runId"]
    assert events(once)[0]["eventTime"] == events(once)[1]["eventTime"] == "2026-01-01T00:00:00Z"
    assert openlineage.render(RESULT, (), Emission()) != openlineage.render(RESULT, (), Emission())


def test_an_audit_of_nothing_fails() -> None:
    [began, failed] = events(openlineage.render(audited(), (), FIXED))

    validate(began)
    validate(failed)
    assert (failed["eventType"], failed["inputs"]) == ("FAIL", [])
    assert [each["status"] for each in failed["run"]["facets"]["test"]["tests"]] == ["fail"]


# --- the environment ------------------------------------------------------------------------


def test_the_environment_names_namespace_parent_and_time() -> None:
    parent = str(uuid.UUID(int=9))
    given = {
        "OPENLINEAGE_NAMESPACE": "clinic",
        "OPENLINEAGE_PARENT_ID": f"my/space/nightly/{parent}",
        "SOURCE_DATE_EPOCH": "1767225600",
    }

    found = emission(given)

    assert found == Emission(
        "clinic", ("my/space", "nightly", parent), datetime(2026, 1, 1, tzinfo=UTC)
    )
    assert emission({}) == emission(dict.fromkeys(given, "")) == Emission()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENLINEAGE_PARENT_ID", "nightly"),
        ("OPENLINEAGE_PARENT_ID", "default/nightly/7"),
        ("OPENLINEAGE_PARENT_ID", f"nightly/{uuid.UUID(int=7)}"),
        ("OPENLINEAGE_PARENT_ID", f"//{uuid.UUID(int=7)}"),
        ("SOURCE_DATE_EPOCH", "yesterday"),
        ("SOURCE_DATE_EPOCH", "-1"),
        ("SOURCE_DATE_EPOCH", "9" * 30),
    ],
)
def test_a_wrong_environment_is_refused_before_anything_runs(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as end:
        main(["audit", str(TESTS / "tree.csv"), "--qi", "column_1", "--format", "openlineage",
              "--header", "no"])  # fmt: skip

    out, err = capsys.readouterr()
    assert (end.value.code, out) == (2, "")
    assert f"{name} must be " in err


# --- names ----------------------------------------------------------------------------------


def table(sql: str, *, embedded: bool = False) -> Table:
    return Table("patients", sql, (Column("zip", "VARCHAR"),), embedded=embedded)


SERVED = table('"clinic"."patients"')


@pytest.mark.parametrize(
    ("source", "where", "found", "namespace", "name"),
    [
        ("/data/p.parquet", None, table("read_parquet('x')", embedded=True), "file",
         "/data/p.parquet"),
        ("s3://bucket/a/p.parquet", None, table("read_parquet('x')", embedded=True), "s3://bucket",
         "a/p.parquet"),
        ("https://ann:pw@host/p.csv?sig=secret", None, table("read_csv('x')", embedded=True),
         "https://host", "p.csv"),
        ("patients", "duckdb:/data/c.duckdb", table('"main"."patients"', embedded=True),
         "duckdb:///data/c.duckdb", "c.main.patients"),
        ("/data/p.csv", "duckdb:/data/c.duckdb", table("read_csv('x')", embedded=True), "file",
         "/data/p.csv"),
        ("patients", "sqlite:////data/c.db", SERVED, "sqlite:///data/c.db", "clinic.patients"),
        ("patients", "postgresql://ann:pw@host/db", SERVED, "postgres://host:5432",
         "db.clinic.patients"),
        ("patients", "postgres://host:99/db", table('"a"."b"."c"'), "postgres://host:99", "a.b.c"),
        ("patients", "mysql://ann@host/db", SERVED, "mysql://host:3306", "clinic.patients"),
        ("patients", "mariadb://ann@host/db", table('"patients"'), "mysql://host:3306",
         "db.patients"),
        ("patients", "trino://ann@host/cat/s", SERVED, "trino://host:8080", "cat.clinic.patients"),
        ("patients", "redshift://host/db", SERVED, "redshift://host:5439", "db.clinic.patients"),
        ("patients", "snowflake://ann:pw@account/DB/S", SERVED, "snowflake://account",
         "DB.clinic.patients"),
        ("patients", "bigquery://project/dataset", table('"dataset"."patients"'), "bigquery",
         "project.dataset.patients"),
        ("patients", "clickhouse://ann:pw@host/db", SERVED, "clickhouse://host:8123",
         "clinic.patients"),
        ("patients", "databricks://token:pw@host?catalog=main", SERVED, "databricks://host:443",
         "main.clinic.patients"),
        ("patients", "spark:local[2]", SERVED, "spark", "clinic.patients"),
        (pyarrow.table({"zip": []}), None, table('"x"', embedded=True), "inmemory://", "patients"),
        ("patients", object(), SERVED, "inmemory://", "patients"),
        ("patients", "duckdb::memory:", table('"main"."patients"', embedded=True), "inmemory://",
         "main.patients"),
    ],
)  # fmt: skip
def test_datasets_have_the_names_of_the_standard(
    source: Any, where: Any, found: Table, namespace: str, name: str
) -> None:
    assert dataset(source, where, found) == Dataset(namespace, name)


def test_a_quoted_name_is_whole() -> None:
    where = "postgresql://host/db"

    assert dataset("x", where, table('"a""b"."c.d"')).name == 'db.a"b.c.d'


# --- audits ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "voters.csv").write_text("zip,voter\n02138,a\n02138,b\n02139,c\n")
    (tmp_path / "patients.csv").write_text("zip,sex,dx\n02138,f,flu\n02138,f,flu\n02139,m,flu\n")
    (tmp_path / "kanon.yml").write_text(
        """\
version: 1
tables:
  - name: patients
    source: patients.csv
    quasi_identifiers: [zip]
    sensitive: [dx]
    references: {voters: {source: voters.csv, entity: voter}}
    checks:
      - k_anonymity: {k: 2}
      - k_map: {k: 1, reference: voters}
      - l_diversity: {l: 2, sensitive: dx}
      - k_map_estimate: {k: 2, population: 90}
  - name: other
    source: patients.csv
    quasi_identifiers: [sex]
    lineage: {namespace: "postgres://host:5432", name: clinic.public.patients}
"""
    )
    return tmp_path


def test_a_table_that_can_not_be_opened_keeps_its_name(folder: Path) -> None:
    _, other = result_unopened(AuditSpec.from_file("kanon.yml").tables, "stopped.").tables

    named = Dataset("postgres://host:5432", "clinic.public.patients")
    assert other.lineage
    assert other.lineage.datasets == (named,)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def typed(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments), prog_name="kanon-sql")
        return (int(end.value.code or 0), *capsys.readouterr())

    return typed


def test_the_command_line_writes_events(run: Run, folder: Path) -> None:
    code, out, err = run("audit", "kanon.yml", "--format", "openlineage")
    written = events(out)
    for event in written:
        validate(event)
    [_, first, _, second] = written

    assert (code, err) == (1, "")
    assert [(each["namespace"], each["name"]) for each in first["inputs"]] == [
        ("file", str(folder / "patients.csv")),
        ("file", str(folder / "voters.csv")),
    ]
    assert [(each["namespace"], each["name"]) for each in second["inputs"]] == [
        ("postgres://host:5432", "clinic.public.patients")
    ]
    assert [each["name"] for each in assertions(first)] == [
        "k_anonymity(k=2)",
        "k_map(reference=voters, k=1)",
        "l_diversity(sensitive=dx, l=2)",
        "k_map_estimate(k=2, population=90)",
    ]
    assert second["eventType"] == "COMPLETE"


def test_each_statement_gives_the_verdict_and_the_records_at_risk(run: Run) -> None:
    """The text of the assertion, run as it stands."""
    found = assertions(events(run("audit", "kanon.yml", "--format", "openlineage")[1])[1])
    figures = [duckdb.sql(each["content"]).fetchall() for each in found[:3]]

    assert not {"content", "contentType"} & set(found[3])
    assert figures == [[(1,)], [(0,)], [(3,)]]


def test_checks_of_events(folder: Path) -> None:
    """What a draw leaves open is no success; what it disproves has no statement."""
    visits = pyarrow.table({"who": [*"aabbcc"], "ward": [*"xyxyxy"]})
    checks = [
        kanon.KmAnonymity(k=3, m=2),
        kanon.KnownEvents(m=2, max_share=0.1),
        kanon.KnownEvents(m=4, max_share=0.5),
        kanon.KnownEvents(m=4, k=4, max_share=0.5),
    ]
    table = {"source": visits, "name": "visits", "entity": "who", "events": ["ward"],
             "checks": checks}  # fmt: skip
    result = audit(AuditSpec(tables=[table]), RunOptions(), with_lineage=True)
    written = events(openlineage.render(result, (), FIXED))
    for event in written:
        validate(event)

    tests = written[-1]["run"]["facets"]["test"]["tests"]
    assert [each["status"] for each in tests] == ["pass", "pass", "skip", "fail"]
    assert [(each["success"], "content" in each) for each in assertions(written[-1])] == [
        (True, True),
        (True, True),
        (False, False),
    ]


def test_a_file_name_means_the_format_and_the_same_time_gives_the_same_bytes(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    for name in ("a.jsonl", "b.jsonl"):
        assert run("audit", "kanon.yml", "--output", name)[:2] == (1, "")
    run("audit", "kanon.yml", "--output", "c.json", "--also", "c.jsonl")

    once = (folder / "a.jsonl").read_bytes()
    assert once == (folder / "b.jsonl").read_bytes() == (folder / "c.jsonl").read_bytes()
    assert b'"2026-01-01T00:00:00Z"' in once


def test_a_table_of_a_database_has_a_statement_in_its_dialect(folder: Path) -> None:
    connection = sqlite3.connect(folder / "clinic.db", isolation_level=None)
    connection.execute("create table patients (zip text, sex text)")
    connection.executemany("insert into patients values (?, ?)", [("1", "f"), ("2", "f")])
    spec = AuditSpec(
        tables=[
            {
                "source": "patients",
                "connect": f"sqlite:{folder}/clinic.db",
                "quasi_identifiers": ["zip"],
                "checks": [{"k_anonymity": {"k": 2}}],
            }
        ]
    )

    result = audit(spec, RunOptions(), with_lineage=True)

    [found] = result.tables
    assert found.lineage
    assert found.lineage.datasets == (Dataset(f"sqlite://{folder}/clinic.db", "main.patients"),)
    assert found.lineage.engine_version == sqlite3.sqlite_version
    [statement, *_] = found.lineage.statements
    assert connection.execute(str(statement)).fetchall() == [(2,)]
    connection.close()


def test_a_statement_with_values_of_a_hierarchy_file_is_left_out(folder: Path) -> None:
    (folder / "zips.csv").write_text("02138,Zeppelin\n02139,Zeppelin\n")
    asked = {
        "source": str(folder / "patients.csv"),
        "quasi_identifiers": {"zip": {"hierarchy": str(folder / "zips.csv")}},
        "levels": {"zip": 1},
        "checks": [{"k_anonymity": {"k": 2}}],
    }

    [found] = audit(AuditSpec(tables=[asked]), RunOptions(), with_lineage=True).tables

    assert found.lineage
    assert found.lineage.statements[0] is None
    assert not re.search("zeppelin", openlineage.render(audited(found)), re.IGNORECASE)


def test_nothing_of_it_is_in_the_result() -> None:
    result = kanon.audit(pyarrow.table({"zip": ["a"]}), ["zip"], k=1)

    assert result.tables[0].lineage is None
    assert "lineage" not in result.to_dict()["tables"][0]
