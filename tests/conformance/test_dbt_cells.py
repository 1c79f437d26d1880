"""In a dbt project: the tests of cells and the macro `published`, against `kanon.tables`.

The project of `dbt_cells`, with a seed for each worked example, is built once on each engine.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import dbt_documents
import pytest
import sqlglot
import yaml
from places import TESTS
from sqlglot import exp
from warehouses import postgres_server

import kanon_sql as kanon
from kanon_sql.models.catalogue import CELL_MODELS
from kanon_sql.sql import macros as templates

pytest.importorskip("dbt.cli.main", reason="dbt-core is not installed")

from test_dbt import ASK_ALL, Built, dbt, environment

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
    thirds = [["N", "0.3333333333"], ["N", "0.7"], ["S", "0.5"], ["S", "0.3"], ["S", "0.45"]]
    found["thirds"] = (["region", "n"], thirds)
    found["marked"] = (
        ["region", "n"],
        [["N", "12"], ["S", "*"], ["W", "55"], ["E", "0"], ["M", "203"]],
    )
    found["turnovers"] = (
        ["region", "turnover", "firms"],
        [["N", "812.5", 12], ["S", "*", None], ["W", "95", 7], ["E", "*", 2], ["M", "300", 40]],
    )
    found["turnovers_before"] = (
        ["region", "turnover", "firms"],
        [["N", "790", 10], ["S", "61", 3], ["W", "95", 7], ["E", "*", 2], ["M", "290", 30]],
    )
    found["weighed"] = (
        ["region", "firm", "v", "w"],
        [
            ["N", "a", "100", 4], ["N", "a", "10", 2], ["N", "b", "60", 1], ["N", "c", "-5", 3],
            ["S", "a", "7.5", 1], ["S", "d", "92.5", 2], ["S", "e", "11", 6], ["W", "f", None, 2],
        ],
    )  # fmt: skip
    found["weighed_in_parts"] = (
        found["weighed"][0],
        [[*row[:3], f"{row[3]}.5"] for row in found["weighed"][1]],
    )
    found["several_marks"] = (
        ["region", "sex", "n"],
        [
            ["N", "F", "c"], ["N", "M", "4"], ["N", "Total", "10"],
            ["S", "F", "*"], ["S", "M", None], ["S", "Total", "30"],
            ["Total", "F", "*"], ["Total", "M", "9"], ["Total", "Total", "40"],
        ],
    )  # fmt: skip
    found["fault_other_regions"] = (["region", "n"], [["N", "12"]])
    return found | {
        f"fault_{name}": (["region", "n", "firms"][: len(each[0][0]) if each[0] else 2], each[0])
        for name, each in FAULTS.items()
    }


def examples() -> Iterator[tuple[str, Asked]]:
    """Every check of the worked examples that a test of dbt can ask."""
    for example in EXAMPLES:
        given = dict(example["parameters"])
        if "hierarchy" in given:
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
        if "weight" in given:
            question["weight"] = given["weight"]
            own |= {"weight": given["weight"]} if model in ("dominance", "p_percent") else {}
    else:
        own["value" if model == "derivable" else "count"] = given["value"]
        if given.get("suppressed"):
            own |= {"suppressed": list(given["suppressed"]), "value": given["value"]}
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


def _of_mart(test: str, **parameters: Any) -> Asked:
    question = {"by": ["region"], "value": "n", "published": True, "suppressed": "*"}
    given = {"by": ["region"], "value": "n", "suppressed": "*", **parameters}
    return Asked("marked", test, given, question, {test: parameters})


def _of_turnovers(test: str, others: Mapping[str, str] = {}, **parameters: Any) -> Asked:
    own = {"by": ["region"], "value": "turnover", "count": "firms", "suppressed": "*"}
    against = {key: f"ref('{seed}')" for key, seed in others.items()}
    question = {**own, "published": True}
    return Asked(
        "turnovers", test, {**own, **parameters, **against}, question, {test: parameters}, others
    )


def _weighed(
    test: str, seed: str = "weighed", contributor: str | None = "firm", **parameters: Any
) -> Asked:
    question = {"by": ["region"], "value": "v", "weight": "w"}
    question |= {"contributor": contributor} if contributor else {}
    return Asked(seed, test, {**question, **parameters}, question, {test: parameters})


def _of_marks(test: str, **parameters: Any) -> Asked:
    marks = ["*", "c", None]
    own = {"by": ["region", "sex"], "value": "n", "suppressed": marks}
    question = {**own, "published": True, "total_label": "Total"}
    if test == "derivable":
        own |= {"total_label": "Total"}
    else:
        own |= {"count": "n"}
    return Asked("several_marks", test, {**own, **parameters}, question, {test: parameters})


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
    "dominance_of_floats_fails": Asked(
        "thirds", "dominance", {"by": ["region"], "value": "n", "n": 1, "k": 40},
        {"by": ["region"], "value": "n"}, {"dominance": {"n": 1, "k": 40}},
    ),
    "p_percent_holds": _of_ledger("p_percent", LEDGER, p=0.1),
    "groups_fail": _of_ledger("group_disclosure", OF_FIRMS, max_share=0.6),
    "groups_along_fail": _of_ledger(
        "group_disclosure", OF_FIRMS, along=["sector"], insiders=1, max_share=0.7
    ),
    "groups_hold": _of_ledger("group_disclosure", OF_FIRMS),
    "weights_fail": _weighed("dominance", n=1, k=20),
    "weights_hold": _weighed("dominance", n=2, k=60),
    "weights_of_records_fail": _weighed("dominance", contributor=None, n=2, k=30),
    "weights_of_p_fail": _weighed("p_percent", p=350),
    "weights_in_parts_fail": _weighed("dominance", "weighed_in_parts", n=1, k=20),
    "weights_in_parts_of_p_fail": _weighed("p_percent", "weighed_in_parts", p=350),
    "several_marks_derived_fail": _of_marks("derivable"),
    "several_marks_fail": _of_marks("min_contributors", n=5),
    "counts_beside_figures_fail": _of_turnovers("min_contributors", n=10),
    "counts_beside_figures_hold": _of_turnovers("min_contributors", n=7),
    "groups_beside_figures_hold": _of_turnovers("group_disclosure"),
    "differences_beside_figures_fail": _of_turnovers(
        "differences", {"against": "turnovers_before"}, n=3
    ),
    "rounded_fails": _of_mart("rounded", base=5),
    "rounded_holds": _of_mart("rounded", base=0.1),
    "rounded_in_bands_fails": _of_mart("rounded", bands=[[0, 5], [50, 10]]),
    "rounded_in_bands_holds": _of_mart("rounded", bands=[[0, 1], [50, 5], [200, 1]]),
}  # fmt: skip


OF_MART = {"by": ["region"], "total_label": "Total"}
FAULTS: dict[str, tuple[Rows, str, Mapping[str, Any], str]] = {
    "no_figure": (
        [["N", "secret"], ["S", "12"]], "min_contributors", {"count": "n", "n": 3},
        "1 figures that are neither a finite number nor suppressed",
    ),
    "negative": (
        [["N", "-4"], ["S", "12"]], "min_contributors", {"count": "n", "n": 3},
        "1 counts below zero",
    ),
    "mark_beside_null": (
        [["N", "*"], ["S", None], ["W", "12"]], "min_contributors",
        {"value": "n", "count": "n", "n": 3, "suppressed": "*"},
        "1 figures that are neither",
    ),
    "some_nulls": (
        [["N", "12"], ["S", None]], "min_contributors", {"count": "n", "n": 3},
        "1 figures that are neither a finite number nor suppressed: say suppressed",
    ),
    "some_nulls_of_groups": (
        [["N", "12"], ["S", None]], "group_disclosure", {"by": ["region"], "count": "n"},
        "1 figures that are neither a finite number nor suppressed: say suppressed",
    ),
    "some_nulls_there": (
        [["N", "12"], ["S", "7"]], "differences",
        {"by": ["region"], "count": "n", "against": "ref('fault_some_nulls')", "n": 3},
        "1 figures that are neither a finite number nor suppressed: say suppressed",
    ),
    "shown_without_count": (
        [["N", "812.5", None], ["S", "300", 40], ["W", None, None]], "min_contributors",
        {"count": "firms", "value": "n", "n": 3, "suppressed": None},
        "1 figures that are shown without a number of contributors",
    ),
    "shown_without_count_in_groups": (
        [["N", "812.5", "*"], ["S", "300", 40], ["W", "*", "*"]], "group_disclosure",
        {"by": ["region"], "count": "firms", "value": "n", "suppressed": "*"},
        "1 figures that are shown without a number of contributors",
    ),
    "shown_without_count_there": (
        [["N", "812.5", 9], ["S", "300", 40]], "differences",
        {
            "by": ["region"], "count": "firms", "value": "n", "n": 3, "suppressed": None,
            "against": "ref('fault_shown_without_count')",
        },
        "1 figures that are shown without a number of contributors",
    ),
    "no_weight": (
        [["N", "12", "0.5"], ["S", "7", "x"], ["S", "7", None], ["W", "9", "1"]], "dominance",
        {"by": ["region"], "value": "n", "weight": "firms", "n": 1, "k": 50},
        "3 weights that are no number from 1 to 10^15",
    ),
    "another_mark": (
        [["N", "*"], ["S", "c"], ["W", "12"], ["M", None], ["Total", "40"]], "derivable",
        {**OF_MART, "value": "n", "suppressed": ["*", "x"]},
        "2 figures that are neither a finite number nor suppressed: say suppressed",
    ),
    "rounded_nulls": (
        [["N", "10"], ["S", None]], "rounded", {"value": "n", "base": 5},
        "1 figures that are neither a finite number nor suppressed: say suppressed",
    ),
    "rounded_hidden": (
        [["N", None]], "rounded", {"value": "n", "base": 5, "suppressed": None},
        "1 tables in which every count is suppressed",
    ),
    "repeated": (
        [["N", "12"], ["N", "13"], ["Total", "25"]], "derivable", {**OF_MART, "value": "n"},
        "1 cells with more than one row, so that a dimension is missing from by",
    ),
    "null_or_total": (
        [["N", "12"], [None, "13"], ["Total", "25"]], "derivable", {**OF_MART, "value": "n"},
        "1 rows with NULL in a dimension, which may be a total or a value",
    ),
    "like_a_total": (
        [["N", "12"], ["S", "13"], ["Overall", "25"]], "group_disclosure",
        {"by": ["region"], "count": "n"},
        "1 rows with a label that reads like a total",
    ),
    "broken_total": (
        [["N", "12"], ["S", "13"], ["Total", "26"]], "derivable", {**OF_MART, "value": "n"},
        "1 totals that are not the sum of their parts, so nothing can be concluded",
    ),
    "below_zero": (
        [["N", None], ["S", "30"], ["Total", "25"]], "derivable", {**OF_MART, "value": "n"},
        "1 suppressed cells that would lie below zero",
    ),
    "no_total": (
        [["N", None], ["S", "30"], ["Total", "25"]], "derivable",
        {"by": ["region"], "total_label": "Totl", "value": "n"},
        "1 tables without a row that has total_label",
    ),
    "hidden_counts": (
        [["N", None], ["S", None]], "min_contributors",
        {"value": "n", "count": "n", "n": 3, "suppressed": None},
        "1 tables in which every count is suppressed",
    ),
    "hidden_groups": (
        [["N", None], ["Total", None]], "group_disclosure",
        {**OF_MART, "value": "n", "count": "n", "suppressed": None},
        "1 tables in which every count is suppressed",
    ),
    "no_records": ([], "min_contributors", {"by": ["region"], "n": 3}, "no_data"),
    "no_cells": ([], "derivable", {**OF_MART, "value": "n"}, "no_data"),
    "no_groups": ([], "group_disclosure", {"by": ["region"], "count": "n"}, "no_data"),
    "of_nobody": (
        [["N", None], ["S", "f1"]], "min_contributors",
        {"by": ["region"], "contributor": "n", "n": 3},
        "1 records without a contributor",
    ),
    "no_number": (
        [["N", "secret"], ["S", "12"]], "dominance",
        {"by": ["region"], "value": "n", "n": 1, "k": 50},
        "1 values that are no number",
    ),
    "not_finite": (
        [["N", "NaN"], ["S", "12"]], "p_percent", {"by": ["region"], "value": "n", "p": 10},
        "1 values that are NaN or infinite",
    ),
    "apart": (
        [["A", "12"], ["B", "12"]], "differences",
        {"by": ["region"], "count": "n", "against": "ref('fault_other_regions')", "n": 3},
        "1 second table shows no cell that this one shows",
    ),
}  # fmt: skip
"""A table of regions and figures, a test on it that must stop, and what it says."""


# --- the project, built ---------------------------------------------------------------------


def built(folder: Path, engine: str, postgres: str = "") -> Built:
    """The project with the tests of `ASKED`, built in a folder."""
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True)
    # A failing test of the ledger would keep the marts from being built.
    shutil.copy(folder / "seeds" / "ledger.csv", folder / "seeds" / "entries.csv")
    types: dict[str, Any] = {}
    for name, (columns, rows) in seeds().items():
        with (folder / "seeds" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
        own = columns if name.startswith("fault_") else columns[:-1]
        types[name] = {"+column_types": dict.fromkeys(own, "text")}
    project = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    project["seeds"] = {"clinic": types}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(project), encoding="utf-8")
    tested: dict[str, list[Any]] = {}
    for name, each in ASKED.items():
        test = {f"kanon_sql.{each.test}": {"name": name, "arguments": dict(each.arguments)}}
        tested.setdefault(each.table, []).append(test)
    for name, (_, test_, arguments, _) in FAULTS.items():
        given = {"arguments": dict(arguments), "config": {"severity": "warn"}}
        tested[f"fault_{name}"] = [{f"kanon_sql.{test_}": {"name": f"{name}_stops", **given}}]
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
    with postgres_server() as address:
        yield built(
            tmp_path_factory.mktemp("cells_on_postgres"), "postgres", address.partition("host=")[2]
        )


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


@pytest.mark.parametrize("name", FAULTS)
def test_what_can_not_be_concluded_stops_whatever_is_tolerated(name: str, project: Built) -> None:
    told = project.told(f"{name}_stops")

    assert project.status(f"{name}_stops") == "error", told
    assert FAULTS[name][3] in told
    assert "secret" not in told


# --- the macro `published` ------------------------------------------------------------------

MODELS = yaml.safe_load((PROJECT / "models" / "tests.yml").read_text(encoding="utf-8"))["models"]
OF_MODELS = [test["name"] for m in MODELS for each in m["data_tests"] for test in each.values()]
ENDS = {"fails": "fail", "holds": "pass", "stops": "error"}


@pytest.mark.parametrize("name", OF_MODELS)
def test_a_mart_ends_as_its_name_says(name: str, project: Built) -> None:
    assert project.status(name) == ENDS[name.rsplit("_", 1)[1]], project.told(name)


def ledger() -> list[dict[str, Any]]:
    with (PROJECT / "seeds" / "ledger.csv").open(encoding="utf-8", newline="") as file:
        return [
            {**row, "turnover": Fraction(row["turnover"]) if row["turnover"] else None}
            for row in csv.DictReader(file)
        ]


Cell = tuple[str | None, ...]


def cells(records: list[dict[str, Any]], by: tuple[str, ...]) -> dict[Cell, dict[str, Fraction]]:
    """The contributions of each firm to each cell."""
    found: dict[Cell, dict[str, Fraction]] = {}
    for row in records:
        key = tuple(row[name] for name in by)
        if row["turnover"] is not None:
            firms = found.setdefault(key, {})
            firms[row["firm"]] = firms.get(row["firm"], Fraction(0)) + row["turnover"]
    return found


def violates(firms: Mapping[str, Fraction], rules: Mapping[str, Any]) -> bool:
    sizes = sorted(map(abs, firms.values()), reverse=True)
    return (
        len(sizes) < rules.get("n", 0)
        or any(100 * sum(sizes[:n]) > k * sum(sizes) for n, k in rules.get("dominance", ()))
        or 100 * sum(sizes[2:]) < rules.get("p_percent", 0) * sizes[0]
    )


BY = ("region", "sector")
OF_REGION = {"n": 10, "dominance": [(2, 67)]}
OF_SECTOR = {"p_percent": 25, "dominance": [(1, 50), (2, 60)]}
PUBLISHED = {
    "by_region": (OF_REGION, [BY, ("region",), ("sector",), ()]),
    "by_sector": (OF_SECTOR, [BY, ("sector",), ()]),
}
"""The rules and the groupings of each model."""


@pytest.mark.parametrize("model", PUBLISHED)
def test_the_records_of_disclosive_cells_are_left_out(model: str, project: Built) -> None:
    rules, groupings = PUBLISHED[model]
    safe = {key for key, firms in cells(ledger(), BY).items() if not violates(firms, rules)}
    kept = [row for row in ledger() if tuple(row[name] for name in BY) in safe]
    expected = {
        tuple(str(key[by.index(name)]) if name in by else "Total" for name in BY): firms
        for by in groupings
        for key, firms in cells(kept, by).items()
    }

    found = project.rows(f"select * from {model}")

    assert 0 < len(safe) < len(cells(ledger(), BY))
    assert len(found) == len(expected)
    assert {
        (row["region"], row["sector"]): (float(row["turnover"]), row["contributors"])
        for row in found
    } == {
        key: (pytest.approx(float(sum(firms.values()))), len(firms))
        for key, firms in expected.items()
    }


def test_every_total_is_the_sum_of_what_is_shown(project: Built) -> None:
    for model, value, total in (
        ("by_region", "turnover", "Total"),
        ("counts_by_region", "n", None),
    ):
        shown = project.rows(f"select * from {model}")
        for place, name in enumerate(BY):
            other = BY[1 - place]
            for row in shown:
                if row[name] == total:
                    parts = [r for r in shown if r[name] != total and r[other] == row[other]]
                    assert sum(part[value] for part in parts) == row[value]


def test_the_command_agrees_on_the_mart(project: Built, tmp_path: Path) -> None:
    rows = project.rows("select * from by_region")
    file = tmp_path / "by_region.csv"
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)

    result = kanon.tables(
        str(file), by=BY, value="turnover", count="contributors", published=True,
        total_label="Total", checks=[kanon.MinContributors(n=10)],
    )  # fmt: skip

    assert result.status == "holds"


# --- what every test of a package must bear ------------------------------------------------------


def test_odd_names_and_ephemeral_models_change_nothing(project: Built) -> None:
    for test, figure in (("threshold", 12), ("dominance", 45), ("groups", 0.6)):
        of_ledger = {"threshold": "threshold_of_firms_fails"}.get(test, f"{test}_fails")
        of_ledger = {"groups": "groups_fail"}.get(test, of_ledger)
        found = project.failures(of_ledger)
        assert found > 0, (test, figure)
        assert project.failures(f"odd_{test}_fails") == found
        assert project.failures(f"ephemeral_{test}_fails") == found


def test_a_filter_leaves_records_out(project: Built) -> None:
    north = [row for row in ledger() if row["region"] == "N"]
    firms: dict[str, set[str]] = {"Total": {row["firm"] for row in north}}
    for row in north:
        firms.setdefault(row["sector"], set()).add(row["firm"])

    assert project.failures("filtered_threshold_fails") == sum(
        len(each) < 25 for each in firms.values()
    )


@pytest.mark.parametrize("name", [*ASKED, *OF_MODELS])
def test_compiled_sql_is_what_every_warehouse_takes(name: str, on_duckdb: Built) -> None:
    """SQL Server and Fabric refuse a WITH in a set, and an ORDER BY in one; no engine here needs
    GROUPING SETS or a recursion."""
    sql = on_duckdb.compiled(name)
    sets = [cte.this for cte in sqlglot.parse_one(sql, read="duckdb").find_all(exp.CTE)]

    assert [each.sql() for each in sets if each.args.get("with_") or each.args.get("order")] == []
    assert not re.search(r"grouping sets|grouping\(|cube|rollup|recursive|qualify|filter \(", sql)


REFUSED: dict[str, tuple[str, Mapping[str, Any], str]] = {
    "no by": ("dominance", {"value": "turnover", "n": 1, "k": 50}, "dominance needs by, a list"),
    "a text": ("min_contributors", {"by": "region", "n": 3}, "needs by, a list of columns"),
    "no n": ("min_contributors", {"by": ["region"]}, "min_contributors needs n"),
    "true": ("min_contributors", {"by": ["region"], "n": True}, "n must be a whole number"),
    "k of 100": (
        "dominance", {"by": ["region"], "value": "turnover", "n": 1, "k": 100},
        "k must be a percentage between 0 and 100, as in 67; found 100",
    ),
    "p of 0": (
        "p_percent", {"by": ["region"], "value": "turnover", "p": 0},
        "p must be a number above 0; found 0",
    ),
    "no value": ("p_percent", {"by": ["region"], "p": 10}, "p_percent needs value, the column"),
    "two parts": (
        "dominance", {"by": ["region"], "value": "Region", "n": 1, "k": 50},
        "the column region is named twice",
    ),
    "both kinds": (
        "min_contributors", {"by": ["region"], "count": "n", "contributor": "firm", "n": 3},
        "count is for a mart, where a row is a cell, and contributor for records",
    ),
    "a mark in no figure": (
        "min_contributors", {"count": "n", "n": 3, "suppressed": None},
        "suppressed needs value, the column with the figure of a cell, in whose place it stands. "
        "In a table of counts that is n itself",
    ),
    "a figure of groups": (
        "group_disclosure", {"by": ["region"], "value": "n"},
        "value is for a mart, where a row is a cell: name its count",
    ),
    "total of records": (
        "group_disclosure", {"by": ["region"], "total_label": "Total"},
        "total_label is for a mart, where a row is a cell: name its count",
    ),
    "along": (
        "group_disclosure", {"by": ["region"], "along": ["sector"]},
        "along names sector, which is not one of by: region",
    ),
    "max_share": (
        "group_disclosure", {"by": ["region"], "max_share": 2},
        "max_share must be a number above 0 to 1; found 2",
    ),
    "margins": (
        "dominance", {"by": ["region"], "value": "turnover", "n": 1, "k": 50, "margins": "some"},
        "margins must be all, none, or lists of dimensions",
    ),
    "no totals": (
        "derivable", {"by": ["region"], "value": "n"},
        "derivable needs total_label, which stands in a dimension for its total",
    ),
    "no rounds": (
        "derivable", {"by": ["region"], "value": "n", "total_label": "Total", "rounds": 0},
        "rounds must be a whole number, 1 or more; found 0",
    ),
    "a range": (
        "derivable",
        {"by": ["region"], "value": "n", "total_label": "Total", "suppressed": {"*": [1, 9]}},
        "suppressed must be a value, null, or a list of them, without a range",
    ),
    "no mark": (
        "rounded", {"value": "n", "base": 5, "suppressed": ["*", ""]},
        "suppressed must be a value, null, or a list of them",
    ),
    "a hierarchy": (
        "dominance",
        {"by": ["region"], "value": "v", "n": 1, "k": 50, "hierarchies": {"region": "a.csv"}},
        "dominance: a hierarchy is read by kanon-sql tables, not by a test",
    ),
    "totals of nothing": (
        "derivable", {"by": ["region"], "value": "n", "total_label": {"area": "Total"}},
        "total_label names area, which is not one of by: region",
    ),
    "a text for a table": (
        "differences", {"by": ["region"], "count": "n", "against": "other", "n": 3},
        "against must be a relation; found the text 'other'. Write ref('other')",
    ),
    "no count": (
        "differences", {"by": ["region"], "against": "ref('other')", "n": 3},
        "differences needs count, the column with the number of contributors",
    ),
    "misspelled": (
        "differences", {"by": ["region"], "cuont": "n", "n": 3},
        "takes no keyword argument 'cuont'",
    ),
    "zeros": (
        "min_contributors", {"by": ["region"], "n": 3, "zeros": "fine"},
        "zeros must be allowed or disclosive; found fine",
    ),
}  # fmt: skip


@pytest.fixture(scope="session")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What dbt says of each test that can't be asked, in one process."""
    folder = tmp_path_factory.mktemp("refused_cells")
    for name in ("dbt_project.yml", "packages.yml", "profiles.yml"):
        shutil.copy(PROJECT / name, folder)
    (folder / "models").mkdir()
    for model in ("mart", "other"):
        (folder / "models" / f"{model}.sql").write_text("select 1 as region")
    cases = {"": "version: 2"}
    for name, (test, given, _) in REFUSED.items():
        tests = [{f"kanon_sql.{test}": {"arguments": dict(given)}}]
        cases[name] = yaml.safe_dump({"models": [{"name": "mart", "data_tests": tests}]})
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


# --- the house --------------------------------------------------------------------------------

OF_CELLS = dbt_documents.tests_of_cells(templates.folder())


def test_there_is_a_test_for_every_model_of_cells() -> None:
    assert set(OF_CELLS) == set(CELL_MODELS)


@pytest.mark.parametrize("name", OF_CELLS)
def test_a_test_takes_what_its_model_takes(name: str) -> None:
    """Derivability by subtraction alone has no width, and leaves nothing undecided."""
    elsewhere = {"width", "remainder", "undecided"}

    assert set(CELL_MODELS[name].model_fields) - elsewhere <= set(OF_CELLS[name].arguments)


def test_what_the_tests_take_is_documented() -> None:
    file = templates.folder() / "macros" / "dbt_only" / "_macros.yml"
    macros = yaml.safe_load(file.read_text(encoding="utf-8"))["macros"]
    [told] = [each["description"] for each in macros if each["name"] == "cell_arguments"]
    shared = {name for each in OF_CELLS.values() for name in each.arguments} - {
        name for each in OF_CELLS.values() for name in each.parameters
    }

    assert set(re.findall(r"^- `(\w+)`", told, re.M)) == shared
