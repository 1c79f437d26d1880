"""In a dbt project: what dbt compiles and what its tests say, held against the library and oracle.

The project of `dbt_project` is built once on each engine, in a folder of its own, by dbt as a
user runs it. A test there is named by how it must end: `…_fails`, `…_holds`, `…_warns`, or
`…_stops` where it can't tell.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import dbt_documents
import duckdb
import oracle
import pytest
import sqlglot
import yaml
from oracle_of_synthesis import Units
from places import ROOT, TESTS
from sqlglot import exp
from warehouses import postgres_server

from kanon_sql.auditing.auditor import audit
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.errors import percentage
from kanon_sql.models.catalogue import MODELS
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.question.dbt.manifest import read_manifest
from kanon_sql.question.hierarchy import parse_builder
from kanon_sql.sql import macros
from kanon_sql.sql import macros as templates

pytest.importorskip("dbt.cli.main", reason="dbt-core is not installed")

PROJECT = TESTS / "dbt_project"
PACKAGE = templates.folder()
DBT = Path(sys.executable).parent / "dbt"
Arguments = Mapping[str, Any]


# --- the project, built ---------------------------------------------------------------------


@dataclass(frozen=True)
class Built:
    """A project after `dbt build`: how each test ended, and what it was compiled to."""

    folder: Path
    engine: str
    ended: Mapping[str, Any]
    postgres: str = ""
    """Where Postgres listens, if that is the engine."""

    def status(self, name: str) -> str:
        return str(self.ended[name]["status"])

    def failures(self, name: str) -> int:
        return int(self.ended[name]["failures"] or 0)

    def told(self, name: str) -> str:
        """What the database or the package said of a test."""
        return str(self.ended[name]["message"])

    def compiled(self, name: str) -> str:
        return str(self.ended[name]["compiled_code"])

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What a query says of the database that dbt wrote into."""
        if self.postgres:
            return self._rows_of_postgres(sql)
        with duckdb.connect(str(self.folder / "clinic.duckdb"), read_only=True) as connection:
            answer = connection.sql(sql)
            return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]

    def _rows_of_postgres(self, sql: str) -> list[dict[str, Any]]:
        import psycopg2

        connection = psycopg2.connect(host=self.postgres, user="postgres", dbname="postgres")
        try:
            cursor = connection.cursor()
            cursor.execute("set search_path to clinic")
            cursor.execute(sql)
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        finally:
            connection.close()


def environment(folder: Path, **more: str) -> dict[str, str]:
    return os.environ | {
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_PROFILES_DIR": str(folder),
        "KANON_SQL_DBT_PACKAGE": str(PACKAGE),
        **more,
    }


def dbt(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(DBT), "--no-use-colors", *arguments],
        cwd=folder,
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        check=False,
    )


def built(folder: Path, engine: str, postgres: str = "") -> Built:
    """The project, copied into a folder and built there."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    (folder / "models" / "typed.sql").write_text(TYPED, encoding="utf-8")
    (folder / "models" / "levelled.sql").write_text(levelled(), encoding="utf-8")
    (folder / "models" / "examples.yml").write_text(yaml.safe_dump(examples()), encoding="utf-8")
    dbt(folder, "deps")
    run = dbt(folder, "build", "--target", engine, CLINIC_POSTGRES=postgres)
    file = folder / "target" / "run_results.json"
    assert file.is_file(), run.stdout + run.stderr
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    ended = {each["unique_id"].split(".")[2]: each for each in results}
    return Built(folder, engine, ended, postgres)


@pytest.fixture(scope="session")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built(tmp_path_factory.mktemp("duckdb"), "duckdb")


@pytest.fixture(scope="session")
def on_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    pytest.importorskip("dbt.adapters.postgres", reason="dbt-postgres is not installed")
    with postgres_server() as address:
        yield built(tmp_path_factory.mktemp("postgres"), "postgres", address.partition("host=")[2])


@pytest.fixture(params=["duckdb", "postgres"])
def project(request: pytest.FixtureRequest) -> Built:
    found: Built = request.getfixturevalue(f"on_{request.param}")
    return found


# --- what the project asks ------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One test of the project's YAML."""

    model: str
    test: str
    arguments: Arguments
    config: Arguments


def asked(file: str) -> dict[str, Asked]:
    """Every test of a file of the project by its name."""
    models = yaml.safe_load((PROJECT / "models" / file).read_text(encoding="utf-8"))
    found = {}
    for model in models["models"]:
        columns = [(column, column["name"]) for column in model.get("columns", ())]
        for place, column in [(model, None), *columns]:
            for each in place["data_tests"]:
                [(test, given)] = each.items()
                own = {"sensitive": column} if column else {}
                numbers = {
                    key: float(share)
                    for key, value in given["arguments"].items()
                    if (share := percentage(value))
                }
                found[given["name"]] = Asked(
                    model["name"],
                    test.removeprefix("kanon_sql."),
                    own | given["arguments"] | numbers,
                    given.get("config", {}),
                )
    return found


ASKED = asked("tests.yml")
OF_NO_COLUMN = asked("no_columns.yml")
MERGING = asked("merging.yml")
OF_RELEASE = [name for name, each in ASKED.items() if each.model in ("release", "visits")]
ENDS = {"fails": "fail", "holds": "pass", "warns": "warn", "stops": "error"}


def stops(name: str) -> bool:
    """Whether its question can't be answered, so that it must end in red whatever it tolerates."""
    return name.endswith("_stops")


def seed(name: str) -> list[dict[str, Any]]:
    with (PROJECT / "seeds" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            {column: _typed(column, value) for column, value in row.items()}
            for row in csv.DictReader(file)
        ]


def release_2024() -> list[dict[str, Any]]:
    """What the model of this name has of the patients."""
    return [
        {
            "person": row["patient"],
            "zip_code": row["zip"],
            "sex": row["sex"],
            "stage": row["stage"],
            "dx": row["diagnosis"] if row["cost"] is not None and row["cost"] > 50 else "flu",
        }
        for row in seed("patients")
        if row["patient"] != "p2"
    ]


def _typed(column: str, value: str) -> Any:
    types: dict[str, Any] = {
        "age": int,
        "people": int,
        "cost": float,
        "admitted": date.fromisoformat,
    }
    return types.get(column, str)(value) if value else None


@cache
def expected(name: str) -> tuple[bool, int]:
    """Whether the model holds, and how many records are at risk, from the definitions."""
    each = ASKED[name]
    given = dict(each.arguments)
    records = [
        {**r, "cohort": r["patient"][1:2]}
        for r in seed("patients")
        if not each.config.get("where") or r["sex"] == "F"
    ]
    model = MODELS[each.test]
    parameters = {key: value for key, value in given.items() if key in model.model_fields}
    references = {}
    if "reference" in given:
        parameters["reference"] = "voters"
        wanted = [
            r for r in seed("voters") if "reference_where" not in given or r["register"] == "new"
        ]
        references["voters"] = oracle.Reference(
            wanted,
            given.get("reference_columns"),
            given.get("reference_entity"),
            given.get("reference_weight"),
        )
    earlier = {}
    if "earlier" in given:
        parameters["earlier"] = "before"
        wanted = seed("patients") if given["earlier"] == "ref('patients')" else release_2024()
        named = given.get("earlier_columns", {})
        earlier["before"] = oracle.Earlier(
            [r for r in wanted if "earlier_where" not in given or r["stage"] == "early"],
            named,
            [named.get(name, name) for name in given.get("earlier_quasi_identifiers", [])],
            given.get("earlier_entity"),
        )
    original, holdout = (_made_from(given, argument) for argument in ("original", "holdout"))
    if original:
        records = [{key: r[key] for key in r if key != "cohort"} for r in records]
    question = oracle.Question(
        quasi_identifiers=given.get("quasi_identifiers", []),
        original=original,
        holdout=holdout,
        events=given.get("events", []),
        sensitive=[given["sensitive"]] if "sensitive" in given else [],
        entity=given.get("entity"),
        nulls=given.get("nulls", "value"),
        sensitive_nulls=given.get("sensitive_nulls", "value"),
        references=references,
        earlier_releases=earlier,
        checks=[{each.test: parameters}],
    )
    found = oracle.audit(records, question)
    return bool(found["checks"][0]["holds"]), _at_risk(found, each.test, question)


_CHOSEN: dict[str | None, Callable[[Mapping[str, Any]], bool]] = {
    None: lambda row: True,
    "sex = 'F'": lambda row: row["sex"] == "F",
    "sex = 'X'": lambda row: row["sex"] == "X",
    "age < 50": lambda row: row["age"] is not None and row["age"] < 50,
    "age >= 50": lambda row: row["age"] is not None and row["age"] >= 50,
}


def _made_from(given: Arguments, argument: str) -> Units | None:
    """The records of an original or a holdout."""
    if argument not in given:
        return None
    rows = seed("patients") if given[argument] == "ref('patients')" else release_2024()
    chosen = [row for row in rows if _CHOSEN[given.get(f"{argument}_where")](row)]
    return Units(chosen, given.get("original_entity"), given.get("original_columns"))


_HIT = {
    "copied_records": "unique_copied",
    "replicated_uniques": "replicated",
    "disclosive_in_synthetic": "correct",
    "correct_attribution": "matched",
}
"""What a test on a synthetic table counts."""


def _at_risk(found: Mapping[str, Any], test: str, question: oracle.Question) -> int:
    """Records in violating classes; where a model judges none, those concerned or expected."""
    check, summary = found["checks"][0], found["summary"]
    if test in _HIT:
        return max(int(check[_HIT[test]]), 1)
    if check["violating_records"]:
        return int(check["violating_records"])
    if test.startswith("composed_") or question.events:
        return int(check["violating_people"])
    if test == "sample_uniqueness":
        return int(summary["uniques"])
    if test == "marketer_risk":
        return math.ceil(check["achieved"] * (summary["people"] or summary["records"]) - 1e-9)
    if test == "prosecutor_risk" and question.nulls == "wildcard":
        return math.ceil(check["average"] * summary["records"] - 1e-9)
    if test == "prosecutor_risk":
        return math.ceil(check["average"] * (summary["people"] or summary["records"]) - 1e-9)
    if check.get("unmatched_records"):
        return int(check["unmatched_records"])
    counted = summary["people"] or summary["records"]
    return math.ceil(found["risk"]["marketer"]["average"] * counted - 1e-9) if (
        test == "journalist_risk"
    ) else 0  # fmt: skip


# --- how the tests end ------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ASKED, *MERGING])
def test_it_ends_as_its_name_says(name: str, project: Built) -> None:
    assert project.status(name) == ENDS[name.rsplit("_", 1)[1]], project.told(name)


@pytest.mark.parametrize("name", [name for name in OF_RELEASE if not stops(name)])
def test_it_says_what_the_oracle_says(name: str, project: Built) -> None:
    holds, at_risk = expected(name)

    assert (project.status(name) == "pass", project.failures(name)) == (
        holds, 0 if holds else at_risk,
    )  # fmt: skip


def test_an_audit_of_the_manifest_says_of_events_what_their_tests_say(on_duckdb: Built) -> None:
    chosen = read_manifest(
        on_duckdb.folder / "target" / "manifest.json",
        ["visits"],
        f"duckdb:{on_duckdb.folder / 'clinic.duckdb'}",
    )
    assert chosen.spec is not None
    found = {}
    for table, result in zip(
        chosen.spec.tables, audit(chosen.spec, RunOptions()).tables, strict=True
    ):
        for check in result.checks:
            key = (frozenset(table.events), frozenset(table.quasi_identifiers), check.model)
            found[(*key, json.dumps(check.parameters, sort_keys=True))] = check.holds

    verdicts = {}
    for name, each in ASKED.items():
        if each.model == "visits" and not stops(name):
            given = dict(each.arguments)
            events, known = given.pop("events"), given.pop("quasi_identifiers", ())
            model = MODELS[each.test](**{key: given[key] for key in given if key != "entity"})
            key = (frozenset(events), frozenset(known), each.test)
            parameters = json.dumps(model.parameters, sort_keys=True)
            verdicts[name] = found.get((*key, parameters), "not asked")
    assert verdicts == {name: name.endswith("_holds") for name in verdicts}
    assert len(verdicts) > 5


def test_every_model_is_seen_to_hold_and_to_fail() -> None:
    ends = {(ASKED[name].test, expected(name)[0]) for name in OF_RELEASE if not stops(name)}

    assert ends == {(name, holds) for name in GENERIC_TESTS for holds in (True, False)}


NOBODY = [name for name in ASKED if stops(name) and "nobody" in name and "reference" not in name]
KEPT_FROM = {
    "k_without_entity_stops": "4 records without an entity",
    "t_not_listed_stops": "16 records with a value that the order does not list",
    "alpha_unheard_of_stops": "1 named values that never occur",
    "alpha_unheard_of_number_stops": "1 named values that never occur",
    "recursive_unheard_of_stops": "1 named values that never occur",
    "t_order_of_words_stops": "56 records with a value that is no number",
    "t_order_of_days_and_numbers_stops": "records with a value that is no number below 2.53, or",
    "k_e_of_words_stops": "56 records with a value that is no number",
    "k_e_of_long_numbers_stops": "60 records with a value that is no number below 2.53",
    "k_map_weighted_by_words_stops": "2 weights of the reference that are no number of people",
    "composed_k_of_strangers_stops": "people and none of them in the earlier release",
    "composed_k_without_entity_before_stops": "records of the earlier release without an entity",
    "attribution_of_nothing_in_common_stops": "columns without a value in common",
    "copied_of_an_empty_original_stops": "tables without a record to compare with",
    "copied_of_no_holdout_stops": "people of the holdout in the original",
    "km_of_several_stops": "people with several values of the quasi-identifiers",
    "composed_l_of_strangers_stops": "records and nobody of them in the earlier release",
    "k_map_of_nobody_in_the_reference_stops": "2 records of the reference without an entity",
    **{
        f"{model}_of_an_incomplete_reference_stops": "records in classes that the reference lacks"
        for model in ("k_map", "presence", "journalist", "marketer")
    },
}


@pytest.mark.parametrize("name", NOBODY)
def test_where_nothing_is_looked_at_no_threshold_lets_it_pass(name: str, project: Built) -> None:
    assert "kanon_sql: no_data, there is no record to look at" in project.told(name)


@pytest.mark.parametrize("name", KEPT_FROM)
def test_what_keeps_a_question_from_being_asked_is_counted(name: str, project: Built) -> None:
    """Of records, and without a value of theirs."""
    told = project.told(name)

    assert re.search(rf"kanon_sql: error, ([0-9]+ )?{KEPT_FROM[name]}\b", told), told
    assert not re.search("Secret|asthma|flu|middle|HIV", told)


def test_every_test_that_stops_says_why(project: Built) -> None:
    said = {*NOBODY, *KEPT_FROM, "k_limited_to_nothing_stops"}

    assert {name for name in ASKED if stops(name)} == said
    assert "limit: 0 throws away what the test finds" in project.told("k_limited_to_nothing_stops")


@pytest.mark.parametrize("name", [name for name in MERGING if stops(name)])
def test_a_column_that_merges_is_named_with_the_way_out(name: str, project: Built) -> None:
    """And not a value of it, whichever part it plays."""
    told = project.told(name)
    column = re.sub("^quoted_", "", name).partition("_")[0]

    assert re.search(rf"kanon_sql: .*the column \"?{column}\"? ", told), told
    assert re.search("Cast it|Take its fields apart", told)


def test_the_counts_are_those_of_the_records() -> None:
    records = seed("patients")
    stages = [record["stage"] for record in records]

    assert [record["diagnosis"] for record in records].count(None) == 4
    assert (stages.count("middle"), [voter["voter"] for voter in seed("voters")].count("v0")) == (
        16,
        2,
    )
    assert sum(record["diagnosis"] is not None for record in records) == 56


@pytest.mark.parametrize("test", ["alpha", "recursive", "t_order"])
def test_a_number_is_one_number_in_every_type(test: str, project: Built) -> None:
    found = {project.failures(f"{test}_of_{kind}_fails") for kind in ("text", "exact", "rough")}

    assert len(found) == 1, found


@pytest.mark.parametrize("name", OF_NO_COLUMN)
def test_a_name_of_no_column_is_an_error_that_says_so(name: str, project: Built) -> None:
    """Several engines take the name of a relation for its whole row: every one would differ."""
    each = OF_NO_COLUMN[name]
    relation = "voters" if "reference" in each.arguments else each.model
    [missing] = {relation, "dbt_subquery", "rowid", "ctid", "__dbt__cte__unbuilt"} & {
        *each.arguments["quasi_identifiers"],
        *each.arguments.get("reference_columns", {}).values(),
        *map(each.arguments.get, ("entity", "sensitive", "reference_entity", "reference_weight")),
    }

    message = project.ended[name]["message"]

    assert project.status(name) == "error"
    assert missing in message
    if each.model != "unbuilt":
        assert f"kanon_sql: {each.test}: no column {missing} in " in message
        assert re.search(rf"{relation}\W.*\. Columns: .*sex", message)


def test_a_file_is_read_as_a_table_is(on_duckdb: Built) -> None:
    assert on_duckdb.failures("k_of_a_file") == on_duckdb.failures("k_fails")
    assert on_duckdb.status("row_of_a_file_as_entity") == "error"
    told = on_duckdb.ended["row_of_a_file_as_entity"]["message"]
    assert "k_anonymity: no column patients_file in read_csv(" in told


def test_a_date_is_one_date_in_every_type(project: Built) -> None:
    kinds = ("t_ordered_dates", "t_order_of_written_dates", "t_order_of_moments")

    assert len({project.failures(f"{kind}_fails") for kind in kinds}) == 1


def test_a_weight_may_be_text(project: Built) -> None:
    assert project.failures("k_map_weighted_by_text_fails") == project.failures(
        "k_map_weighted_fails"
    )


def test_names_and_ephemeral_models_change_nothing(project: Built) -> None:
    assert project.failures("ephemeral_k_fails") == project.failures("k_fails")
    assert project.failures("odd_l_fails") == project.failures("l_fails")
    assert project.failures("odd_t_fails") == project.failures("t_fails")
    assert project.failures("reserved_word_t_fails") == project.failures("t_fails")


def test_a_column_is_no_word_of_sql(project: Built) -> None:
    """`user` and `current_date` are functions on Postgres unless they are quoted."""
    records = [(record["patient"], record["admitted"]) for record in seed("patients")]

    assert project.failures("named_as_functions_k_fails") == sum(
        records.count(each) < 5 for each in records
    )


@pytest.mark.parametrize("name", ["k_e_fails", "k_e_holds", "k_e_of_words_stops"])
def test_a_project_may_say_in_several_lines_what_an_adapter_does(
    name: str, on_postgres: Built
) -> None:
    """In its macros, for Postgres alone: every other test of the two engines compares the same."""
    column = ASKED[name].arguments["sensitive"]

    assert re.search(rf"case\n +when {column} is not null\n", on_postgres.compiled(name))


@pytest.mark.parametrize("name", ["k_stored_fails", "l_stored_fails"])
def test_what_is_stored_is_one_row_of_counts(name: str, on_duckdb: Built) -> None:
    [row] = on_duckdb.rows(f"select * from main_dbt_test__audit.{name}")

    assert row.pop("status") == "violated"
    test, asked = ("k_anonymity", "k = 5") if name == "k_stored_fails" else ("l_diversity", "l = 3")
    assert [row.pop(key) for key in ("model", "test", "asked")] == ["release", test, asked]
    assert row.pop("columns").startswith("zip, age, sex")
    assert row["failures"] == on_duckdb.failures(name)
    assert row["records"] == len(seed("patients"))
    assert all(isinstance(value, int | float) for value in row.values())


def test_every_engine_has_the_same_numbers(on_duckdb: Built, on_postgres: Built) -> None:
    assert {name: on_postgres.failures(name) for name in ASKED} == {
        name: on_duckdb.failures(name) for name in ASKED
    }


# --- the SQL is the library's -----------------------------------------------------------------


def tree(sql: str) -> exp.Expression:
    """The statement, without what is said differently of the same: quotes around names, how a
    cast that can't be done ends, which in dbt is an error, and casts to a column's own type."""

    def plain(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Identifier):
            return exp.to_identifier(node.name)
        if isinstance(node, exp.DataType) and node.this in exp.DataType.TEXT_TYPES:
            return exp.DataType.build("varchar")
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Column):
            own = TYPES.get(node.this.name)
            if own == node.to.sql("duckdb").replace(" ", ""):
                return node.this.transform(plain)
        return node

    spelled = sqlglot.parse_one(sql, read="duckdb").sql("duckdb").replace("TRY_CAST(", "CAST(")
    return sqlglot.parse_one(spelled, read="duckdb").transform(plain)


def without_its_question(statement: exp.Expression) -> exp.Expression:
    """The statement of a test without what its row says of the question, which dbt alone adds."""
    told = {"model", "test", "columns", "asked"}
    kept = [each for each in statement.selects if each.alias not in told]
    assert len(kept) == len(statement.selects) - len(told)
    return statement.select(*kept, append=False)


def rendered(name: str) -> str:
    """What the library renders for a test of the project."""
    each = ASKED[name]
    given = dict(each.arguments)
    model = MODELS[each.test]
    beside = {"match", "missing", "reference", "earlier"}
    takes = set(model.model_fields) - {"distance", "order", *beside}
    arguments = {key: value for key, value in given.items() if key in {*takes, "entity"}}
    relation = f'"clinic"."main"."{each.model}"'
    where = each.config.get("where")
    if where:
        relation = f"(select * from {relation} where {where}) dbt_subquery"
    arguments["relation"] = f"(select * from {relation}) as kanon_source"
    arguments["columns"] = given.get("quasi_identifiers", []) + given.get("events", [])
    if "events" in given:
        arguments["known"] = given.get("quasi_identifiers", [])
    if "sensitive" in given:
        arguments["unknown"] = given.get("sensitive_nulls") == "unknown"
    if each.test == "t_closeness":
        order = given.get("order")
        arguments["distance"] = given.get("distance", "equal")
        arguments["order"] = order and [[value, place] for place, value in enumerate(order, 1)]
    if "nulls" in given:
        arguments["wildcard"] = given["nulls"] == "wildcard"
    if "reference" in given:
        read = ("relation", "columns", "entity", "wildcard")
        arguments |= _reference(given, *(arguments.pop(name, None) for name in read))
    if "earlier" in given:
        del arguments["entity"]
        arguments.pop("sensitive", None)
        arguments |= _earlier(given)
    if "original" in given:
        arguments = {key: arguments[key] for key in arguments if key in {*takes, "unknown"}}
        arguments.pop("sensitive", None)
        arguments["stack"] = _stack(each)
    return templates.render(f"{each.test}_failures", **arguments)


def _stack(asked: Asked) -> dict[str, Any]:
    """The model of a test, its original and a holdout, as the package stacks them."""
    given, person = asked.arguments, asked.arguments.get("original_entity")
    named = given.get("original_columns", {})
    columns = [*given["quasi_identifiers"], *([given["sensitive"]] if "sensitive" in given else [])]
    there = [named.get(name, name) for name in columns]
    if asked.test == "copied_records":
        others = [name for name in seed("patients")[0] if name not in (*columns, person)]
        columns, there = [*columns, *others], [*there, *others]

    def table(letter: str, relation: str, names: list[str], person: str | None) -> dict[str, Any]:
        return {
            "letter": letter,
            "relation": relation,
            "cells": [{"column": name, "how": "as_is"} for name in names],
            "person": {"column": person, "how": "as_text"} if person else None,
        }

    tables = [
        table(
            "s", f'(select * from "clinic"."main"."{asked.model}") as kanon_source', columns, None
        )
    ]
    for letter, argument in zip("oh", ("original", "holdout"), strict=True):
        if argument in given:
            where = f" where {given[f'{argument}_where']}" if f"{argument}_where" in given else ""
            name = given[argument].removeprefix("ref('").rstrip("')")
            relation = f'(select * from "clinic"."main".{name}{where}) as kanon_{argument}'
            tables.append(table(letter, relation, there, person))
    return {"tables": tables, "columns": columns, "people": person is not None}


def _earlier(given: Arguments) -> dict[str, Any]:
    named = given.get("earlier_columns", {})
    where = f" where {given['earlier_where']}" if "earlier_where" in given else ""
    relation = '"clinic"."main".' + given["earlier"].removeprefix("ref('").rstrip("')")
    entity, sensitive = given["entity"], given.get("sensitive")
    own = given.get("earlier_quasi_identifiers", given["quasi_identifiers"])
    there = given.get("earlier_entity", named.get(entity, entity))
    found = {
        "earlier": f"(select * from {relation}{where}) as kanon_earlier",
        "earlier_columns": [named.get(name, name) for name in own],
        "entities": {"column": entity, "reference": there, "how": "as_is"},
    }
    if sensitive:
        found["values"] = {
            "column": sensitive, "reference": named.get(sensitive, sensitive), "how": "as_is",
        }  # fmt: skip
    return found


def _reference(
    given: Arguments, release: str, columns: list[str], entity: str | None, wildcard: bool | None
) -> dict[str, Any]:
    how = "as_is" if given.get("match") == "exact" else "by_pattern"
    named = given.get("reference_columns", {})
    where = f" where {given['reference_where']}" if "reference_where" in given else ""
    relation = '"clinic"."main".' + given["reference"].removeprefix("ref(").rstrip(")")
    pairs = [
        {"column": column, "reference": named.get(column, column), "how": how, "labels": ()}
        for column in given["quasi_identifiers"]
    ]
    people = given.get("reference_entity")
    return {
        "sides": {
            "release": release,
            "columns": columns,
            "entity": entity,
            "wildcard": bool(wildcard),
            "reference": f"(select * from {relation}{where}) as kanon_reference",
            "pairs": pairs,
            "matched": pairs if how == "by_pattern" else [],
            "referring": "reference_people" if people else "reference_classes",
            "reference_entity": people,
            "reference_weight": given.get("reference_weight"),
        },
        "union": given.get("missing") == "union",
        "complete": given.get("missing") == "error",
    }


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, each in ASKED.items()
        if each.model not in ("passing_through", "odd_names")
        and name != "k_limited_to_nothing_stops"
    ],
)
def test_what_dbt_compiles_is_what_the_library_renders(name: str, on_duckdb: Built) -> None:
    assert without_its_question(tree(on_duckdb.compiled(name))) == tree(rendered(name))


SPELLED: dict[str, tuple[Any, ...]] = {
    "same": ("a", "b"),
    "only_value": ("a",),
    "texts_in_order": ("a", "b"),
    "matches": ("a", "[0-9]+"),
    "cast_or_null": ("a", "date"),
    "weight_of": ("a",),
    "as_text": ("a", "DOUBLE"),
    "date_text": ("a", "month"),
    "pad_right": ("a", 5),
    "pad_left": ("a", 5),
    "suffix": ("a", 5),
    "spelled_number": ("a",),
    "finite_number": ("a",),
    "least_difference": ("a", 0.5),
    "is_value": ("a", "it's"),
    "literal": ("it's",),
    "number": (0.1,),
    "numerator": (0.125,),
    "denominator": (0.125,),
    "widest_type": (2,),
}
"""What each host says of the same, for names whose answer is SQL."""


def test_both_hosts_say_the_same_on_duckdb(on_duckdb: Built) -> None:
    asked = "\n---\n".join(
        f"{{{{ kanon_sql.{name}({', '.join(map(json.dumps, given))}) }}}}"
        for name, given in SPELLED.items()
    )

    run = dbt(on_duckdb.folder, "--quiet", "compile", "--inline", f"---\n{asked}\n---")

    said = [each.strip() for each in run.stdout.split("---")[1:-1]]
    assert dict(zip(SPELLED, map(as_type_or_value, said), strict=True)) == {
        name: as_type_or_value(str(macros.HOST[name](*given))) for name, given in SPELLED.items()
    }


def as_type_or_value(sql: str) -> exp.Expression:
    """The tree of an expression, or of a type, which is only one where something is cast to it."""
    return tree(f"select cast(a as {sql})" if sql.startswith("decimal(") else f"select {sql}")


@pytest.mark.parametrize("name", ASKED)
def test_compiled_sql_is_what_every_warehouse_takes(name: str, on_duckdb: Built) -> None:
    """SQL Server and Fabric refuse a WITH in a set, and an ORDER BY in one."""
    sql = on_duckdb.compiled(name)
    sets = [cte.this for cte in sqlglot.parse_one(sql, read="duckdb").find_all(exp.CTE)]

    assert not sql.startswith("\n\n")
    assert [each.sql() for each in sets if each.args.get("with_") or each.args.get("order")] == []


def test_compiled_sql_has_no_ragged_lines(on_duckdb: Built) -> None:
    sql = on_duckdb.compiled("k_of_people_fails").strip()

    assert "\n\n\n" not in sql
    assert [line for line in sql.splitlines() if line != line.rstrip()] == []


# --- models at given levels -------------------------------------------------------------------

TYPED = """
select
    cast(value as integer) as whole,
    cast(value as bigint) as wide,
    cast(value as decimal(9, 2)) as exact,
    cast(value as double precision) as rough,
    cast(value as varchar) as written,
    cast(case when value is not null then '2025-03-09' end as date) as day,
    cast(case when value is not null then '1969-12-31 23:59:59' end as timestamp) as moment,
    case when value is not null then '1931-03-05' end as written_day,
    case value
        when -7 then '2025-02-30'
        when 0 then 'Mr Secret'
        when 23 then '1932-2-29 09:05'
        when 90 then ' 1e2 '
    end as words
from (
    select cast(-7 as integer) as value
    union all select 0
    union all select 23
    union all select 90
    union all select null
) as samples
"""
TYPES = {
    "whole": "INTEGER", "wide": "BIGINT", "exact": "DECIMAL(9,2)", "rough": "DOUBLE",
    "written": "VARCHAR", "day": "DATE", "moment": "TIMESTAMP", "written_day": "VARCHAR",
    "words": "VARCHAR",
}  # fmt: skip
NUMBERS = ("whole", "wide", "exact", "rough", "written")
DBT_TYPES = {
    "whole": "integer", "wide": "bigint", "exact": "decimal", "rough": "double",
    "written": "text", "day": "date", "moment": "timestamp", "written_day": "text",
    "words": "text",
}  # fmt: skip
OF_NUMBERS = [
    ("width:5,10", 2), ("width:2.5", 1), ("round:10", 1), ("depths:1,2", 2),
    ("cuts:-0.5,18,65", 1), ("top:65", 1), ("bottom:18", 1), ("prefix:1", 1),
    ("mask:right", 1), ("mask:left,suppress", 10), ("suppress", 1), ("width:5", 0),
]  # fmt: skip
OF_DATES = [("date:day,month,quarter,year,5y", level) for level in range(1, 6)]
LEVELS = [
    *((name, *each) for name in (*NUMBERS, "words") for each in OF_NUMBERS),
    *((name, *each) for name in ("day", "moment", "written_day", "words") for each in OF_DATES),
]
LONGEST = 9


def levelled() -> str:
    """Every column at every level, once with its type and once without."""
    cells = [
        f"select {place} as place, {typed} as typed, cast({{{{ kanon_sql.generalize("
        f"'{name}', '{builder}', {level}, longest={LONGEST}{type}) }}}} as varchar) as label "
        'from {{ ref("typed") }}'
        for place, (name, builder, level) in enumerate(LEVELS)
        for typed, type in enumerate(("", f", type='{DBT_TYPES[name]}'"))
    ]
    return "\nunion all\n".join(cells)


def of_library(name: str, builder: str, level: int) -> str:
    """The expression that the library writes for a column at a level."""
    levels = ColumnLevels.of(name, TYPES[name], parse_builder(builder), longest=LONGEST)
    return levels.sql(level, name)


@pytest.fixture(scope="session")
def labels(on_duckdb: Built) -> dict[int, exp.Expression]:
    """What dbt compiled each column at a level to, with its type."""
    parts = on_duckdb.compiled("levelled").split("\nunion all\n")[1::2]
    return dict(
        enumerate(sqlglot.parse_one(each, read="duckdb").selects[2].this.this for each in parts)
    )


@pytest.mark.parametrize(
    ("place", "name", "builder", "level"),
    [(place, *each) for place, each in enumerate(LEVELS)],
    ids=[f"{name}-{builder}-{level}" for name, builder, level in LEVELS],
)
def test_a_level_in_dbt_is_a_level_in_python(
    place: int, name: str, builder: str, level: int, labels: Mapping[int, exp.Expression]
) -> None:
    assert tree(labels[place].sql("duckdb")) == tree(of_library(name, builder, level))


def labels_of(project: Built, typed: int) -> list[tuple[int, str]]:
    """The labels by level. Without a type there are none of levels that show the text of a value,
    which is 90 of some numbers and 90.0 of others."""
    rows = project.rows(f"select place, label from levelled where typed = {typed}")
    shows_text = [
        builder.startswith(("prefix", "mask", "top", "bottom")) or not level
        for _, builder, level in LEVELS
    ]
    return sorted(
        (row["place"], re.sub(r"\.0+$", "", row["label"] or ""))
        for row in rows
        if typed or not shows_text[row["place"]]
    )


@pytest.mark.parametrize("typed", [0, 1])
def test_levels_give_the_same_labels_on_every_engine(
    typed: int, on_duckdb: Built, on_postgres: Built
) -> None:
    assert labels_of(on_postgres, typed) == labels_of(on_duckdb, typed)


def test_numbers_and_dates_have_the_same_labels_without_a_type(project: Built) -> None:
    untyped = labels_of(project, 0)

    assert [each for each in untyped if each not in labels_of(project, 1)] == []


DAYS = """
select
    sum(case when pg_input_is_valid(a, 'date') then 1 else 0 end) as dates,
    sum(case when pg_input_is_valid(a, 'date') <> (({cast}) is not null) then 1 else 0 end) as wrong
from (
    select lpad(cast(year as text), 4, '0') || '-' || month || '-' || day as a
    from unnest(array[0, 1, 4, 100, 400, 1900, 1930, 2000, 2023, 2024, 2100, 9999]) as year
    cross join generate_series(0, 13) as month
    cross join generate_series(0, 32) as day
) as days
"""


def test_what_is_no_day_is_no_date_on_postgres(on_postgres: Built) -> None:
    """Nor is it an error, which would show it."""
    run = dbt(
        on_postgres.folder, "--quiet", "compile", "--target", "postgres",
        "--inline", "{{ kanon_sql.cast_or_null('a', 'date') }}",
        CLINIC_POSTGRES=on_postgres.postgres,
    )  # fmt: skip

    [found] = on_postgres.rows(DAYS.format(cast=run.stdout[run.stdout.index("case when") :]))

    assert found["wrong"] == 0
    assert found["dates"] == sum(
        366 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 365
        for year in (1, 4, 100, 400, 1900, 1930, 2000, 2023, 2024, 2100, 9999)
    )


def test_a_model_at_given_levels(project: Built) -> None:
    records = project.rows("select * from generalised")

    assert len(records) == len(seed("patients"))
    assert {record["zip"] for record in records} == {"021**", None}
    assert {record["age"] for record in records} == {"[40,50)", "[50,60)"}
    assert {record["sex"] for record in records} == {"*"}
    assert {record["area"] for record in records} == {"MA", None}


def _interval(number: int | None) -> str | None:
    return None if number is None else f"[{number // 10 * 10},{number // 10 * 10 + 10})"


def test_a_name_is_the_column_and_an_expression_is_as_it_stands(project: Built) -> None:
    """Whatever SQL takes the name for: `user` by itself is the role of the database."""
    zips = {row["zip"] for row in seed("patients")}
    masked = {value: value and f"{value[:3]}**" for value in zips}
    expected = [
        {
            "patient": row["patient"],
            "of_user": row["patient"][:2],
            "of_current_date": str(row["admitted"].year) if row["admitted"] else None,
            "of_order": _interval(row["age"]),
            "of_2020": _interval(row["age"]),
            "of_post_code": masked[row["zip"]],
            "of_quoted": masked[row["zip"]],
            "of_post_dash_code": masked[row["zip"]],
            "of_say_it": row["diagnosis"] and row["diagnosis"][:3],
            "of_records": row["sex"],
            "of_aerztin": row["patient"][:2],
            "of_expression": _interval((row["age"] or 0) + 10),
            "of_predicate": "true" if row["age"] is None else "false",
            "of_case": "f" if row["sex"] == "F" else None,
            "of_qualified": row["sex"],
            "of_true": {"F": "woman", "M": "man"}.get(row["sex"]),
        }
        for row in seed("patients")
    ]

    found = project.rows("select * from odd_generalised")

    def in_order(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(json.dumps(row, sort_keys=True) for row in rows)

    assert in_order(found) == in_order(expected)
    assert len({row["of_user"] for row in found}) > 1


# --- what is refused --------------------------------------------------------------------------

QI = {"quasi_identifiers": ["zip", "age"]}
REFUSED: dict[str, tuple[str, Arguments, str]] = {
    "nothing": ("k_anonymity", {}, "k_anonymity needs k"),
    "no columns": (
        "k_anonymity",
        {"k": 5},
        "k_anonymity needs quasi_identifiers, a list of columns",
    ),
    "a text": (
        "k_anonymity",
        {"k": 5, "quasi_identifiers": "zip"},
        "must be a list, as in [zip, age]; found zip",
    ),
    "an empty list": (
        "k_anonymity",
        {"k": 5, "quasi_identifiers": []},
        "quasi_identifiers is empty",
    ),
    "twice": (
        "k_anonymity",
        {"k": 5, "quasi_identifiers": ["zip", "ZIP"]},
        "the column zip is named twice",
    ),
    "two parts": (
        "l_diversity",
        {**QI, "l": 2, "sensitive": "age"},
        "the column age is named twice",
    ),
    "a name of the test's own": (
        "k_anonymity",
        {"k": 5, "quasi_identifiers": ["zip", "Kanon_Size"]},
        "the column Kanon_Size has a name that the test needs itself; give it one that does not",
    ),
    "a name of two lines": (
        "l_diversity",
        {**QI, "l": 2, "sensitive": "what\nit cost"},
        "the name of a column in sensitive has a line break. Rename it",
    ),
    "no sensitive": ("l_diversity", {**QI, "l": 2}, "l_diversity needs sensitive"),
    "SQL": (
        "k_anonymity",
        {**QI, "k": "5; drop table x"},
        "k must be a whole number, 1 or more; found 5; drop table x",
    ),
    "null": (
        "k_anonymity",
        {"k": 5, "quasi_identifiers": ["zip", None]},
        "each of quasi_identifiers must be the name of a column; found null",
    ),
    "a number in quotes": (
        "k_anonymity",
        {**QI, "k": "3"},
        "k must be a whole number, 1 or more; found the text '3'. Write it without quotes",
    ),
    "a share in quotes": (
        "t_closeness",
        {**QI, "sensitive": "sex", "t": "0.1"},
        "t must be a number from 0 to 1; found the text '0.1'. Write it without quotes",
    ),
    "a percentage above 100": (
        "t_closeness",
        {**QI, "sensitive": "sex", "t": "120%"},
        "t must be a number from 0 to 1; found 1.2",
    ),
    "a percentage that is no share": (
        "delta_disclosure",
        {**QI, "sensitive": "sex", "delta": "20%"},
        "delta must be a number above 0; found 20%",
    ),
    "not a number": (
        "t_closeness",
        {**QI, "sensitive": "sex", "t": math.nan},
        "t_closeness: t must be a number from 0 to 1; found nan",
    ),
    "infinity": (
        "basic_beta_likeness",
        {**QI, "sensitive": "sex", "beta": math.inf},
        "basic_beta_likeness: beta must be a number from 0 on; found inf",
    ),
    "a reference's name": (
        "k_map",
        {**QI, "k": 5, "reference": "voters"},
        "reference must be a relation; found the text 'voters'. Write ref('voters')",
    ),
    "true": ("k_anonymity", {**QI, "k": True}, "k must be a whole number, 1 or more; found True"),
    "zero": ("k_anonymity", {**QI, "k": 0}, "k must be a whole number, 1 or more; found 0"),
    "a share above 1": (
        "t_closeness",
        {**QI, "sensitive": "sex", "t": 2},
        "t_closeness: t must be a number from 0 to 1; found 2",
    ),
    "no distance": (
        "t_closeness",
        {**QI, "sensitive": "sex", "t": 0.1, "distance": "hierarchical"},
        "distance must be equal or ordered; found hierarchical",
    ),
    "order of equals": (
        "t_closeness",
        {**QI, "sensitive": "sex", "t": 0.1, "order": ["F"]},
        "order is for distance: ordered",
    ),
    "no reference": (
        "k_map",
        {**QI, "k": 5},
        "k_map needs reference, as in reference: ref('voters')",
    ),
    "reference's name": (
        "k_map",
        {**QI, "k": 5, "reference": "ref('voters')", "reference_columns": {"zap": "zip"}},
        "reference_columns names zap, which is not one of quasi_identifiers: zip, age",
    ),
    "wildcard people": (
        "k_anonymity",
        {**QI, "k": 5, "nulls": "wildcard", "entity": "patient"},
        "nulls: wildcard has no meaning with an entity",
    ),
    "misspelled": ("k_anonymity", {**QI, "kk": 5}, "takes no keyword argument 'kk'"),
    "bounds": (
        "delta_presence",
        {**QI, "reference": "ref('voters')", "min": 0.5, "max": 0.1},
        "min must not be above max",
    ),
    "no threshold": (
        "prosecutor_risk",
        QI,
        "prosecutor_risk needs max_highest or max_average or max_at_risk",
    ),
}
ASK_ALL = """
import json, sys
from dbt.cli.main import dbtRunner

cases, found = json.load(open("cases.json")), {}
for name, text in cases.items():
    open("models/refused.yml", "w").write(text)
    result = dbtRunner().invoke(["--quiet", "--log-level", "none", "parse"])
    found[name] = str(result.exception) if result.exception else ""
json.dump(found, open("found.json", "w"))
"""


@pytest.fixture(scope="session")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What dbt says of each test that can't be asked, in one process."""
    folder = tmp_path_factory.mktemp("refused")
    for name in ("dbt_project.yml", "packages.yml", "profiles.yml"):
        shutil.copy(PROJECT / name, folder)
    (folder / "models").mkdir()
    for model in ("release", "voters"):
        (folder / "models" / f"{model}.sql").write_text("select 1 as zip")
    cases = {"": "version: 2"}
    for name, (test, given, _) in REFUSED.items():
        tests = [{f"kanon_sql.{test}": {"arguments": given}}]
        cases[name] = yaml.safe_dump({"models": [{"name": "release", "data_tests": tests}]})
    (folder / "cases.json").write_text(json.dumps(cases))
    dbt(folder, "deps")
    subprocess.run(
        [sys.executable, "-c", ASK_ALL], cwd=folder, env=environment(folder), check=True,
        capture_output=True,
    )  # fmt: skip
    found: dict[str, str] = json.loads((folder / "found.json").read_text())
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_asked_is_refused_in_words(name: str, refusals: Mapping[str, str]) -> None:
    assert REFUSED[name][2] in refusals[name]


NO_BUILDERS: dict[str, str] = {
    "'age', 'weeks:2'": "weeks:2 is no builder. Builders: width:5,10, round:10",
    "'age', 'suppress:1'": "suppress:1 is no builder",
    "'age', 'width:0'": "width can't be 0 in width:0",
    "'age', 'width:5,x'": "width can't be x in width:5,x",
    "'age', 'width'": "width is no builder",
    "'age', 'suppress,width:5'": "is no builder",
    "'age', 'round:2.5'": "round can't be 2.5",
    "'age', 'depths:19'": "depths can't be 19",
    "'age', 'cuts:65,18'": "cuts must be in ascending order",
    "'age', 'mask:middle', longest=3": "mask can't be middle",
    "'age', 'mask:right'": "longest, the characters of the longest value, must be a whole number",
    "'age', 'date:week'": "date can't be week",
    "'age', 'width:5,10', 3": "has levels 0 to 2 in width:5,10, so there is no level 3",
    "none, 'width:5'": "the column must be a text, its name or another expression",
    "' ', 'suppress'": "the column must be a text, its name or another expression",
    "'age', 'width:5', '1'": "level must be a whole number, 0 for the raw value; found the text",
    "'age', 'width:5', type='int'": "type must be None or text or integer",
    "'age', {'width': 5}": "the builder must be a text, as in 'width:10', or a relation",
    "'zip', ref('areas'), 3": "has levels 1 to 2, so there is no level 3",
    "'zip', ref('nowhere')": "has no columns yet. Build it first",
}
"""What `generalize` is given, and the sentence that refuses it."""
ASK_EACH = """
import json
from dbt.cli.main import dbtRunner

found = {}
for asked in json.load(open("asked.json")):
    model = "select " + asked + " as label from {{ ref('patients') }}"
    open("models/refused.sql", "w").write(model)
    ended = dbtRunner().invoke(["--quiet", "--log-level", "none", "run", "--select", "refused"])
    found[asked] = str(ended.exception or ended.result.results[0].message)
json.dump(found, open("found.json", "w"))
"""


def test_what_is_no_builder_is_refused_in_words(on_duckdb: Built, tmp_path: Path) -> None:
    folder = tmp_path / "asked"
    shutil.copytree(on_duckdb.folder, folder)
    (folder / "models" / "nowhere.sql").write_text("select 1 as zip")
    asked = {f"{{{{ kanon_sql.generalize({each}) }}}}": said for each, said in NO_BUILDERS.items()}
    asked['{{ kanon_sql.generalized(ref("patients"), {"age": "suppress"}) }}'] = (
        "generalized has gone. Write a SELECT with kanon_sql.generalize(column, builder, level)"
    )
    (folder / "asked.json").write_text(json.dumps(list(asked)))

    subprocess.run(
        [sys.executable, "-c", ASK_EACH], cwd=folder, env=environment(folder), check=True,
        capture_output=True,
    )  # fmt: skip

    found = json.loads((folder / "found.json").read_text())
    assert {each: found[each] for each, said in asked.items() if said not in found[each]} == {}


# --- the README -------------------------------------------------------------------------------

README = (ROOT / "templates" / "README.md").read_text(encoding="utf-8")
ON_A_FILE = """
clinic:
  target: dev
  outputs:
    dev: {type: duckdb, path: clinic.duckdb}
"""


def test_the_five_minutes_of_the_readme(tmp_path: Path) -> None:
    """Its files are written in the order in which they stand there; dbt says what it says."""
    section = README
    files = {"csv": "seeds/patients.csv"}
    (tmp_path / "profiles.yml").write_text(ON_A_FILE)
    (tmp_path / "dbt_project.yml").write_text("name: clinic\nprofile: clinic\n")
    said = ""
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S):
        if language == "text":
            run = dbt(tmp_path, "build")
            said = run.stdout
            assert [line for line in block.splitlines() if line.strip() not in said] == []
            audit = audited(tmp_path)
            assert (audit.returncode, audit.stderr) == (int("Failure" in block), "")
            assert "k-anonymity" in audit.stdout
        elif language == "bash" and "dbt deps" in block:
            dbt(tmp_path, "deps")
        elif language == "bash":
            audited_by_manifest(tmp_path, block)
        else:
            name = files.get(language) or block.splitlines()[0].split()[1]
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(block)

    assert "PASS=4 WARN=0 ERROR=0" in said


def audited(project: Path) -> subprocess.CompletedProcess[str]:
    """The audit that the tests of a project ask, on the connection of its profile."""
    return subprocess.run(
        [str(DBT.with_name("kanon-sql")), "audit", "--manifest", "target/manifest.json"],
        cwd=project,
        env=environment(project),
        capture_output=True,
        text=True,
        check=False,
    )


def audited_by_manifest(project: Path, block: str) -> None:
    """The README's audit of a manifest finds the model that the steps before have built."""
    assert dbt(project, "parse").returncode == 0
    [command] = [line for line in block.splitlines() if line.startswith("kanon-sql ")]
    run = subprocess.run(
        [str(Path(sys.executable).parent / "kanon-sql"), *command.split()[1:]],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert "holds     l-diversity diagnosis" in run.stdout


# --- the house --------------------------------------------------------------------------------


GENERIC_TESTS = dbt_documents.tests(PACKAGE)


def examples() -> dict[str, Any]:
    """The example of every test, as tests of a model of the project."""
    found = [
        {f"kanon_sql.{name}": {"name": f"example_of_{name}", "arguments": each.example}}
        for name, each in GENERIC_TESTS.items()
    ]
    return {"version": 2, "models": [{"name": "patients_release", "data_tests": found}]}


def test_there_is_a_test_for_every_model_that_one_select_decides() -> None:
    assert set(GENERIC_TESTS) == {name for name, model in MODELS.items() if model.in_one_statement}


@pytest.mark.parametrize("name", GENERIC_TESTS)
def test_a_test_takes_what_its_model_takes(name: str) -> None:
    elsewhere = {"with_other_sensitive", "hierarchy", "sample", "seed", "max_combinations"}
    elsewhere |= {"columns"}  # a test of a set of columns names them as its quasi_identifiers

    assert set(MODELS[name].model_fields) - elsewhere <= set(GENERIC_TESTS[name].arguments)


def test_the_package_documents_what_its_tests_take() -> None:
    """KANON_SQL_UPDATE_GOLDEN=1 writes it anew."""
    file = PACKAGE / "macros" / "_macros.yml"
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.write_text(dbt_documents.documents(PACKAGE), encoding="utf-8")

    assert file.read_text(encoding="utf-8") == dbt_documents.documents(PACKAGE)


def test_what_all_tests_take_is_documented() -> None:
    file = PACKAGE / "macros" / "dbt_only" / "_macros.yml"
    macros = yaml.safe_load(file.read_text(encoding="utf-8"))["macros"]
    told = {each["name"]: each["description"] for each in macros}
    shared = {name for each in GENERIC_TESTS.values() for name in each.arguments} - {
        name for each in GENERIC_TESTS.values() for name in each.parameters
    }

    assert set(told) == {
        "test_arguments", "cell_arguments", "published", "test_share_left_out", "generalize",
    }  # fmt: skip
    assert set(re.findall(r"^- `(\w+)`", told["test_arguments"], re.M)) == shared


@pytest.mark.parametrize("name", GENERIC_TESTS)
def test_the_example_of_a_test_runs(name: str, project: Built) -> None:
    assert project.status(f"example_of_{name}") in ("pass", "fail")


def test_both_hosts_have_the_same_names() -> None:
    of_dbt = (PACKAGE / "macros" / "dbt_only" / "host.sql").read_text(encoding="utf-8")
    names = re.findall(r"\{% macro (\w+)\(", of_dbt)

    assert {name for name in names if "__" not in name} == set(macros.HOST)


def test_every_dispatched_name_has_a_default() -> None:
    files = (PACKAGE / "macros" / "dbt_only").glob("*.sql")
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)

    dispatched = re.findall(r'adapter\.dispatch\("(\w+)", "kanon_sql"\)', text)

    assert dispatched
    assert [name for name in dispatched if f"macro default__{name}(" not in text] == []


def test_the_package_has_the_version_of_the_library() -> None:
    project = yaml.safe_load((PACKAGE / "dbt_project.yml").read_text(encoding="utf-8"))
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")

    assert f'\nversion = "{project["version"]}"\n' in pyproject
