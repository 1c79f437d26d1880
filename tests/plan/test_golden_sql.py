"""Would I sign this query? The SQL of representative questions, as text to read and as it runs.

One file of `golden/duckdb` is one step of one audit. After a change on purpose, write them anew
with KANON_SQL_UPDATE_GOLDEN=1 and read the difference.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from golden import GOLDEN, TABLES
from places import TESTS
from sqlglot import exp
from unread import unread

import kanon_sql as kanon
from kanon_sql.plan import other_columns
from kanon_sql.sql import macros
from kanon_sql.sql.ctes import named_sets, scans, until

HERE = TESTS / "golden"


QI = {"quasi_identifiers": ["zip", "age"]}
VOTERS = {"source": "voters", "columns": {"zip": "zip_code"}}


def before(**columns: str) -> dict[str, kanon.EarlierReleaseSpec]:
    """What was released of the patients before, with what it calls their columns."""
    return {
        "before": kanon.EarlierReleaseSpec(
            source="patients_before",
            columns={"patient": "person", **columns},
            quasi_identifiers=["zip_code"] if "zip" not in columns else ["dx"],
        )
    }


@dataclass(frozen=True)
class Asked:
    """A question, the step of its plan to read, and what the rows of that step say, in part."""

    question: dict[str, Any]
    rows: list[dict[str, Any]]
    step: str = "classes"
    table: str = "patients"
    voters: dict[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        references = {"voters": kanon.ReferenceSpec(**VOTERS, **self.voters)}
        matched = {"references": references} if self.step.endswith("voters") else {}
        known = QI if self.table == "patients" else {"quasi_identifiers": ["zip_code", "age"]}
        return {**known, **self.question, **matched}


def class_sizes(*rows: tuple[int, ...], also: str = "") -> list[dict[str, int]]:
    """Rows of a classes step: size, classes, records, records with NULL, suppressed, and more."""
    names = f"size classes records with_null suppressed {also}".split()
    return [
        {f"kanon_{name}": number for name, number in zip(names, row, strict=True)} for row in rows
    ]


OF_EVENTS = {"quasi_identifiers": [], "events": ["zip", "diagnosis"], "entity": "patient"}
OF_PAIRS = {"people_in_pairs.kanon_entity", "pairs.kanon_size"}
"""What tells the rows of pairs of classes apart and how large they are, for who looks at them."""
SENSITIVE = "homogeneous_classes homogeneous_records diverse_by_null_classes single_value_classes"
ASKED = {
    "k_anonymity": Asked({}, class_sizes((1, 1, 1, 1, 0), (2, 1, 2, 0, 0), (3, 1, 3, 0, 0))),
    "k_anonymity_of_people": Asked(
        {"entity": "patient"},
        class_sizes((1, 2, 3, 1, 0, 0), (2, 1, 3, 0, 0, 0), also="without_entity"),
    ),
    "k_anonymity_where": Asked({"where": "age >= 50"}, class_sizes((2, 1, 2, 0, 0))),
    "k_anonymity_at_a_joined_level": Asked(
        {
            "quasi_identifiers": {
                "zip": {},
                "age": {"hierarchy": {age: f"from {age // 20 * 20}" for age in range(201)}},
            },
            "levels": {"age": 1},
            "where": "age < 60",
        },
        class_sizes((2, 1, 2, 0, 0), (3, 1, 3, 0, 0)),
    ),
    "other_columns": Asked({}, [{"kanon_alone": 6}], "other_columns"),
    "other_columns_of_people": Asked({"entity": "patient"}, [{"kanon_alone": 3}], "other_columns"),
    "other_columns_sample": Asked(
        {"where": "zip is not null"}, [{"kanon_alone": 0}], "other_columns_sample"
    ),
    "other_columns_sample_of_people": Asked(
        {"where": "zip is not null", "entity": "patient"},
        [{"kanon_alone": 0}],
        "other_columns_sample",
    ),
    "k_anonymity_with_wildcards": Asked(
        {"nulls": "wildcard"},
        class_sizes(
            (1, 1, 1, 1, 0, 1), (2, 1, 2, 0, 0, 2), (3, 1, 3, 0, 0, 3), also="size_as_value"
        ),
    ),
    "homogeneity": Asked(
        {"sensitive": ["diagnosis"], "checks": [kanon.KAnonymity(k=2)]},
        class_sizes(
            (1, 1, 1, 1, 0, 1, 1, 0, 1), (2, 1, 2, 0, 0, 0, 0, 0, 0),
            (3, 1, 3, 0, 0, 0, 0, 0, 0),
            also=SENSITIVE,
        ),
    ),
    "homogeneity_of_people": Asked(
        {"sensitive": ["diagnosis"], "entity": "patient", "checks": [kanon.KAnonymity(k=2)]},
        class_sizes(
            (1, 2, 3, 1, 0, 2, 3, 0, 1, 1, 0), (2, 1, 3, 0, 0, 1, 3, 0, 0, 1, 0),
            also=f"{SENSITIVE} certain_among_others_classes without_entity",
        ),
    ),
    "whole_family": Asked(
        {"sensitive": ["diagnosis"]},
        [
            {"kanon_size": 1, "kanon_l_diversity": 1, "kanon_t_closeness": 1 - 2 / 6},
            {"kanon_size": 2, "kanon_l_diversity": 2, "kanon_t_closeness": 1 / 2 - 1 / 6},
            {
                "kanon_size": 3,
                "kanon_l_diversity": 2,
                "kanon_entropy_l_diversity": (3 / 2) ** (2 / 3) * 3 ** (1 / 3),
                "kanon_alpha_k_anonymity": 2 / 3,
                "kanon_t_closeness": 2 / 3 - 3 / 6,
                "kanon_delta_disclosure": None,
                "kanon_delta_disclosure_present_only": math.log((2 / 3) / (3 / 6)),
                "kanon_basic_beta_likeness": (2 / 3) / (3 / 6) - 1,
                "kanon_enhanced_beta_likeness": (2 / 3) / (3 / 6) - 1,
            },
        ],
    ),
    "whole_family_of_people_where_null_is_unknown": Asked(
        {"sensitive": ["diagnosis"], "entity": "patient", "sensitive_nulls": "unknown"},
        [
            {"kanon_size": 1, "kanon_records": 3, "kanon_l_diversity": 1},
            {
                "kanon_size": 2,
                "kanon_records": 3,
                "kanon_l_diversity": 1,
                "kanon_entropy_l_diversity": 1.0,
                "kanon_alpha_k_anonymity": 1.0,
            },
        ],
    ),
    "thresholds": Asked(
        {
            "checks": [
                kanon.LDiversity(l=2, sensitive="diagnosis"),
                kanon.EntropyLDiversity(l=1.9, sensitive="diagnosis"),
                kanon.RecursiveClDiversity(
                    c=2.5, l=3, allowed=["cold", None], sensitive="diagnosis"
                ),
                kanon.AlphaKAnonymity(alpha=0.6, k=2, values=["flu"], sensitive="diagnosis"),
                kanon.TCloseness(t=0.17, sensitive="diagnosis"),
                kanon.DeltaDisclosure(delta=1, sensitive="diagnosis"),
                kanon.EnhancedBetaLikeness(beta=0.4, sensitive="diagnosis"),
            ]
        },
        [
            {"kanon_size": 1, "kanon_l_diversity_violated_classes": 1},
            {"kanon_size": 2, "kanon_l_diversity_violated_classes": 0},
            {
                "kanon_size": 3,
                "kanon_l_diversity_violated_records": 0,
                "kanon_entropy_l_diversity_violated_records": 3,
                "kanon_recursive_cl_diversity": None,
                "kanon_recursive_cl_diversity_infinite_classes": 1,
                "kanon_alpha_k_anonymity_violated_records": 3,
                "kanon_t_closeness_violated_records": 0,
                "kanon_delta_disclosure_violated_records": 3,
                "kanon_enhanced_beta_likeness_violated_records": 0,
            },
        ],
    ),
    "others_known": Asked(
        {
            "sensitive": ["diagnosis", "patient"],
            "checks": [
                kanon.LDiversity(l=2, sensitive="diagnosis", with_other_sensitive=True),
            ],
        },
        [
            {"kanon_size": 1, "kanon_l_diversity_violated_classes": 2},
            {"kanon_size": 2, "kanon_l_diversity_violated_classes": 0},
        ],
        step="classes_diagnosis_with_others",
    ),
    "ordered_distance": Asked(
        {"checks": [kanon.TCloseness(t=0.3, distance="ordered", sensitive="people")]},
        [{"kanon_classes": 4, "kanon_records": 4, "kanon_t_closeness": (1 + 2 + 3) / 4 / 3}],
        step="t_closeness_ordered_people",
        table="voters",
    ),
    "hierarchical_distance": Asked(
        {
            "checks": [
                kanon.TCloseness(
                    distance="hierarchical",
                    hierarchy=str(HERE / "diagnoses.csv"),
                    sensitive="diagnosis",
                )
            ]
        },
        [{"kanon_classes": 3, "kanon_records": 6, "kanon_t_closeness": (4 / 6 + 0) / 2}],
        step="t_closeness_hierarchical_diagnosis",
    ),
    "survey_classes": Asked(
        {"weight": "people"},
        [
            {"kanon_size": 1, "kanon_weight": 1.0, "kanon_people": 1},
            {"kanon_size": 1, "kanon_weight": 4.0, "kanon_people": 1},
            {"kanon_size": 1, "kanon_weight": 7.0, "kanon_people": 1},
            {"kanon_size": 1, "kanon_weight": 9.0, "kanon_people": 1},
        ],
        step="survey_classes",
        table="voters",
    ),
    "survey_classes_of_people": Asked(
        {"quasi_identifiers": ["diagnosis"], "weight": "age", "entity": "patient",
         "where": "age > 0"},
        [
            {"kanon_size": 1, "kanon_weight": 34.0, "kanon_people": 1},
            {"kanon_size": 1, "kanon_weight": 51.0, "kanon_people": 1},
            {"kanon_size": 3, "kanon_weight": 34 + 34 + 51, "kanon_people": 1},
        ],
        step="survey_classes",
    ),
    "column_sets": Asked(
        {"checks": [kanon.KAnonymity(k=4, columns=["zip"]), kanon.KAnonymity(columns=["age"])],
         "quasi_identifiers": ["zip", "age"], "where": "age > 0"},
        [
            {"kanon_set": 1, "kanon_size": 2, "kanon_violating_classes": 2,
             "kanon_violating_records": 5},
            {"kanon_set": 2, "kanon_size": 2},
        ],
        step="column_sets",
    ),
    "column_sets_of_people": Asked(
        {"checks": [kanon.KAnonymity(k=2, columns=["zip"])], "entity": "patient",
         "quasi_identifiers": ["zip", "age"], "where": "age > 0"},
        [{"kanon_set": 1, "kanon_size": 1, "kanon_violating_classes": 1,
          "kanon_violating_records": 2, "kanon_violating_people": 1}],
        step="column_sets",
    ),
    "households": Asked(
        {"quasi_identifiers": ["zip"], "household": "age", "where": "age > 0"},
        [{"kanon_households": 2, "kanon_people": 5, "kanon_highest": 3 / 4,
          "kanon_found": 3 * (1 - (2 / 3) ** 3) + 2 * 3 / 4, "kanon_at_risk": 5}],
        step="households",
    ),
    "households_of_people": Asked(
        {"quasi_identifiers": ["zip"], "household": "age", "entity": "patient",
         "where": "age > 0"},
        [{"kanon_households": 2, "kanon_people": 3, "kanon_highest": 1,
          "kanon_found": 2 * 3 / 4 + 1, "kanon_at_risk": 3}],
        step="households",
    ),
    "delta_presence": Asked(
        {"checks": [kanon.DeltaPresence(min=0.1, max=0.5)]},
        [
            {
                "kanon_classes": 3,
                "kanon_sizes": 6,
                "kanon_unmatched_classes": 0,
                "kanon_exceeding_classes": 1,
                "kanon_delta_presence_min": 0.0,
                "kanon_delta_presence_max": 2 / 1,
                "kanon_delta_presence_violated_classes": 2,
                "kanon_delta_presence_violated_population": 1 + 7,
            }
        ],
        step="delta_presence_voters",
        voters={"weight": "people"},
    ),
    "diverse_by_spelling": Asked(
        {"sensitive": ["diagnosis"]},
        [{"kanon_diverse_by_spelling_classes": 1}],
        step="diverse_by_spelling_diagnosis",
    ),
    "number_of_people": Asked(
        {"entity": "patient"}, [{"kanon_people": 4}], step="number_of_people"
    ),
    "profiles": Asked(
        {"quasi_identifiers": ["diagnosis"], "entity": "patient", "where": "diagnosis <> 'Flu'"},
        [
            {"kanon_size": 2, "kanon_people": 1, "kanon_profiles": 2},
            {"kanon_size": 3, "kanon_people": 2, "kanon_profiles": 1},
        ],
        step="profiles",
    ),
    "people_of_violating_classes": Asked(
        {
            "quasi_identifiers": ["diagnosis"],
            "entity": "patient",
            "checks": [
                kanon.Homogeneity(sensitive="age"),
                kanon.LDiversity(l=3, sensitive="age"),
            ],
        },
        [
            {
                "kanon_people": 4,
                "kanon_homogeneity_violated_people": 1,
                "kanon_l_diversity_violated_people": 4,
            }
        ],
        step="people_of_classes",
    ),
    "people_of_distant_classes": Asked(
        {
            "quasi_identifiers": ["diagnosis"],
            "entity": "patient",
            "where": "age > 0",
            "checks": [kanon.TCloseness(t=0.2, distance="ordered", sensitive="age")],
        },
        [{"kanon_people": 3, "kanon_t_closeness_violated_people": 2}],
        step="people_of_t_closeness_ordered_age",
    ),
    "small_classes": Asked(
        {"checks": [kanon.KAnonymity(k=3)]},
        [
            {"zip": "0213*", "age": None, "kanon_size": 1},
            {"zip": "02139", "age": 51, "kanon_size": 2},
        ],
        step="small_classes",
    ),
    "generalised_cells": Asked(
        {"checks": [kanon.KMap(k=2)], "references": {"voters": kanon.ReferenceSpec(**VOTERS)}},
        [{"kanon_generalised": 1}],
        step="generalised_cells",
    ),
    "k_map_exactly": Asked(
        {"checks": [kanon.KMap(k=2, match="exact")]},
        [
            {
                "kanon_classes": 3,
                "kanon_sizes": 6,
                "kanon_least_population": 0,
                "kanon_least_union": 1,
                "kanon_unions": 3 + 2 + 1,
                "kanon_reidentified": 3.0,
                "kanon_unmatched_classes": 1,
                "kanon_unmatched_records": 1,
                "kanon_exceeding_classes": 2,
                "kanon_at_risk_people": 6,
                "kanon_k_map_violated_classes": 3,
                "kanon_k_map_violated_records": 6,
            }
        ],
        step="exact_k_map_voters",
    ),
    "k_map_by_containment": Asked(
        {"checks": [kanon.KMap(k=5), kanon.KMap(k=5, missing="union")]},
        [
            {
                "kanon_classes": 3,
                "kanon_sizes": 6,
                "kanon_least_population": 1,
                "kanon_least_union": 2,
                "kanon_unions": 9 + 2 + 4,
                "kanon_reidentified": 3 / 9 + 2 / 2 + 1 / 4,
                "kanon_unmatched_classes": 0,
                "kanon_unmatched_records": 0,
                "kanon_exceeding_classes": 1,
                "kanon_at_risk_people": 2 + 1,
                "kanon_k_map_violated_classes": 2,
                "kanon_k_map_violated_records": 3,
                "kanon_k_map_2_violated_classes": 2,
                "kanon_k_map_2_violated_records": 3,
            }
        ],
        step="k_map_voters",
        voters={"weight": "people"},
    ),
    "k_map_with_wildcards": Asked(
        {"nulls": "wildcard", "checks": [kanon.KMap(k=2, match="exact", missing="union")]},
        [{"kanon_classes": 3, "kanon_least_union": 1, "kanon_exceeding_classes": 1}],
        step="exact_k_map_voters",
    ),
    "k_map_at_a_level": Asked(
        {
            "quasi_identifiers": {"zip": {"levels": [{"mask": "right"}]}, "age": {}},
            "levels": {"zip": 1},
            "checks": [kanon.KMap(k=5)],
        },
        [
            {
                "kanon_classes": 3,
                "kanon_sizes": 6,
                "kanon_least_population": 1,
                "kanon_unions": 9 + 2 + 4,
                "kanon_unmatched_classes": 0,
                "kanon_k_map_violated_classes": 2,
            }
        ],
        step="k_map_voters",
        voters={"weight": "people", "levels": {"zip": 1}},
    ),
    "composed_k_anonymity": Asked(
        {
            "entity": "patient",
            "earlier_releases": before(),
            "checks": [kanon.ComposedKAnonymity(k=2)],
        },
        [
            {
                "kanon_classes": 2,
                "kanon_in_both": 3,
                "kanon_least": 1,
                "kanon_composed_k_anonymity_violated_classes": 1,
                "kanon_composed_k_anonymity_violated_people": 1,
                "kanon_joiners": 1,
                "kanon_joiners_k": 1,
                "kanon_leavers": 1,
                "kanon_leavers_k": 1,
                "kanon_earlier_k": 1,
            }
        ],
        step="composed_before",
    ),
    "composed_l_diversity": Asked(
        {
            "entity": "patient",
            "earlier_releases": before(diagnosis="dx"),
            "checks": [kanon.ComposedLDiversity(l=2, sensitive="diagnosis")],
        },
        [
            {
                "kanon_classes": 2,
                "kanon_in_both": 3,
                "kanon_least": 1,
                "kanon_joiners": 1,
                "kanon_joiners_k": 1,
                "kanon_leavers": 1,
                "kanon_leavers_k": 1,
                "kanon_earlier_k": 1,
                "kanon_least_1": 1,
                "kanon_certain_1_classes": 1,
                "kanon_changed_1_classes": 0,
                "kanon_composed_l_diversity_violated_1_classes": 1,
                "kanon_certain_1_people": 1,
                "kanon_changed_1_people": 0,
                "kanon_composed_l_diversity_violated_1_people": 1,
            }
        ],
        step="composed_before",
    ),
    "km_anonymity": Asked(
        {**OF_EVENTS, "checks": [kanon.KmAnonymity(k=2)]},
        [
            {"kanon_size": 1, "kanon_combinations": 5, "kanon_violating": 4, "kanon_least": 1},
            {"kanon_size": 2, "kanon_combinations": 2, "kanon_violating": 2, "kanon_least": 1},
        ],
        step="km_anonymity_2",
    ),
    "one_known_event": Asked(
        {**OF_EVENTS, "checks": [kanon.KnownEvents(m=1)]},
        [
            {"kanon_crowd": 1, "kanon_people": 3, "kanon_distinct": 5},
            {"kanon_crowd": 2, "kanon_people": 1, "kanon_distinct": 5},
        ],
        step="known_events_1",
    ),
    "known_events": Asked(
        {**OF_EVENTS, "checks": [kanon.KnownEvents(m=2)]},
        [
            {"kanon_crowd": 1, "kanon_people": 3, "kanon_fewer": 1},
            {"kanon_crowd": 2, "kanon_people": 1, "kanon_fewer": 1},
        ],
        step="known_events_2",
    ),
    "known_events_as_often_as_they_occur": Asked(
        {**OF_EVENTS, "checks": [kanon.KnownEvents(m=2, times=True)]},
        [
            {"kanon_crowd": 1, "kanon_people": 3, "kanon_fewer": 1},
            {"kanon_crowd": 2, "kanon_people": 1, "kanon_fewer": 1},
        ],
        step="known_events_2",
    ),
    "drawn_known_events": Asked(
        {**OF_EVENTS, "checks": [kanon.KnownEvents(m=4, max_share=0.5)]},
        [{"kanon_crowd": 1, "kanon_people": 3}, {"kanon_crowd": 2, "kanon_people": 1}],
        step="known_events_4",
    ),
    "weights": Asked(
        {},
        [{"kanon_records": 4, "kanon_not_a_weight": 0}],
        step="weights_of_voters",
        voters={"weight": "people"},
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def clinic() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(TABLES)
    return connection


@pytest.mark.parametrize("name", ASKED)
def test_the_text_is_the_one_that_was_read(name: str, clinic: duckdb.DuckDBPyConnection) -> None:
    asked, file = ASKED[name], GOLDEN / f"{name}.sql"
    [table] = kanon.compile(asked.table, engine=clinic, **asked.arguments()).tables
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.write_text(f"{table.steps[asked.step]}\n", encoding="utf-8")

    assert f"{table.steps[asked.step]}\n" == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ASKED)
def test_it_runs_as_it_stands(name: str, clinic: duckdb.DuckDBPyConnection) -> None:
    answer = clinic.sql((GOLDEN / f"{name}.sql").read_text(encoding="utf-8"))

    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
    spoken = [
        {column: row[column] for column in expected}
        for row, expected in zip(rows, ASKED[name].rows, strict=True)
    ]

    assert spoken == [pytest.approx(row) for row in ASKED[name].rows]


@pytest.mark.parametrize("name", ASKED)
def test_its_sets_have_no_column_that_nothing_reads(name: str) -> None:
    columns = unread((GOLDEN / f"{name}.sql").read_text(encoding="utf-8"))

    assert not set(columns) - OF_PAIRS


@pytest.mark.parametrize("name", ASKED)
def test_each_of_its_sets_can_be_looked_at(name: str, clinic: duckdb.DuckDBPyConnection) -> None:
    text = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")
    tree = sqlglot.parse_one(text, read="duckdb")

    assert named_sets(text, "duckdb") == [cte.alias for cte in tree.ctes]
    for each in named_sets(text, "duckdb"):
        clinic.sql(until(text, each, "duckdb")).fetchall()


@pytest.mark.parametrize("name", ASKED)
def test_its_scans_are_those_of_its_tree(name: str) -> None:
    text = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")
    tree = sqlglot.parse_one(text, read="duckdb")
    weights: dict[str, int] = {}
    bodies = [(cte.alias, cte.this) for cte in tree.ctes]
    tree.set("with_", None)
    for each, body in [*bodies, ("", tree)]:
        weights[each] = sum(weights.get(table.name, 1) for table in body.find_all(exp.Table))

    assert scans(text, "duckdb") == weights[""]


@pytest.mark.parametrize("name", ASKED)
def test_it_is_one_select(name: str) -> None:
    [statement] = sqlglot.parse((GOLDEN / f"{name}.sql").read_text(encoding="utf-8"), "duckdb")

    assert isinstance(statement, sqlglot.exp.Select)


@pytest.mark.parametrize("file", sorted(GOLDEN.rglob("*.sql")), ids=lambda file: file.stem)
def test_no_set_only_hands_on_another(file: Path) -> None:
    statement = sqlglot.parse_one(file.read_text(encoding="utf-8"), "duckdb")

    assert [cte.alias for cte in statement.find_all(exp.CTE) if hands_on(cte.this)] == []


def hands_on(select: exp.Expr) -> bool:
    """Whether a SELECT says nothing but the columns of one set, as they are there."""
    if not isinstance(select, exp.Select):
        return False
    more = ("where", "group", "joins", "distinct", "having", "limit", "qualify")
    plain = (exp.Column, exp.Star)
    return not any(select.args.get(part) for part in more) and all(
        isinstance(each.unalias(), plain) for each in select.expressions
    )


def test_the_whole_family_is_read_in_a_sitting() -> None:
    text = (GOLDEN / "whole_family.sql").read_text(encoding="utf-8")

    assert len(text[text.index("\nwith\n") :].strip().splitlines()) <= 160


@pytest.mark.parametrize("name", ASKED)
def test_it_is_what_the_audit_ran(
    name: str, clinic: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ASKED[name]
    if asked.step == "other_columns_sample":
        monkeypatch.setattr(other_columns, "LEAST_SAMPLED", 1)
    # Some steps run only then, and what a hierarchy's file lists is withheld otherwise.
    [table] = kanon.audit(asked.table, engine=clinic, show_values=True, **asked.arguments()).tables

    text = (GOLDEN / f"{name}.sql").read_text(encoding="utf-8")

    assert text.endswith(f"\n\n{table.sql[asked.step]}\n")


def test_the_audit_gives_the_numbers_of_its_queries(clinic: duckdb.DuckDBPyConnection) -> None:
    asked = ASKED["k_map_by_containment"]
    [table] = kanon.audit("patients", engine=clinic, **asked.arguments()).tables

    [row] = asked.rows
    strict, union, _ = table.checks
    assert (strict.achieved, union.achieved) == (
        row["kanon_least_population"],
        row["kanon_least_union"],
    )
    assert [(size.size, size.classes, size.records) for size in table.histogram] == [
        (row["kanon_size"], row["kanon_classes"], row["kanon_records"])
        for row in ASKED["k_anonymity"].rows
    ]


@pytest.mark.parametrize(
    ("cells", "by_equality"), [("02139", True), ("0213*", False), ("a-b", False), ("[1,2)", False)]
)
def test_a_release_without_generalised_cells_is_matched_by_equality(
    clinic: duckdb.DuckDBPyConnection, cells: str, by_equality: bool
) -> None:
    released = "create or replace table released as select * replace (? as zip) from patients"
    clinic.execute(released, [cells])

    def ran(match: str) -> tuple[str, kanon.CheckResult]:
        asked = ASKED["k_map_exactly"].arguments() | {"checks": [kanon.KMap(k=2, match=match)]}
        [table] = kanon.audit("released", engine=clinic, **asked).tables
        [sql] = [sql for name, sql in table.sql.items() if name.endswith("k_map_voters")]
        return sql, table.checks[0]

    [contained, exactly] = ran("containment"), ran("exact")
    assert (contained[0] == exactly[0]) is by_equality
    assert (contained[1].achieved == exactly[1].achieved) is (cells != "0213*")


def test_every_file_is_asked_for() -> None:
    assert sorted(file.stem for file in GOLDEN.glob("*.sql")) == sorted(ASKED)


# --- the portable core ----------------------------------------------------------------------

MACROS = sorted((macros.folder() / "macros" / "shared").glob("*.sql"))
NOT_PORTABLE = {
    "filter": r"(?i)\bfilter\s*\(",
    "qualify": r"(?i)\bqualify\b",
    "group by all": r"(?i)\bgroup\s+by\s+all\b",
    "grouping sets": r"(?i)\bgrouping\s+sets\b",
    "integer division": r"//",
    "a hash of the engine's own": r"(?i)(?<!kanon_sql\.)\bhash\s*\(",
    "a quotient that may be of integers or by zero": (
        r"(?<!as \{\{ kanon_sql\.float_type\(\) \}\}\) )(?<!/)/(?!/)|(?<!/)/(?!/)(?! nullif\()"
    ),
}


def sql_of(macro_file: str) -> str:
    """The file without its comments."""
    return re.sub(r"\{#.*?#\}", "", macro_file, flags=re.DOTALL)


@pytest.mark.parametrize("file", MACROS, ids=lambda file: file.stem)
def test_macros_keep_to_what_every_engine_has(file: Path) -> None:
    sql = sql_of(file.read_text(encoding="utf-8"))

    assert [what for what, pattern in NOT_PORTABLE.items() if re.search(pattern, sql)] == []


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("count(*) FILTER (where x)", "filter"),
        ("qualify row_number() over () = 1", "qualify"),
        ("group  by ALL", "group by all"),
        ("group by grouping sets ((a), (b))", "grouping sets"),
        ("47 // 10", "integer division"),
        ("hash(zip)", "a hash of the engine's own"),
        ("{{ kanon_sql.hash(zip) }}", None),
        ("records/classes", "a quotient that may be of integers or by zero"),
        ("records / classes", "a quotient that may be of integers or by zero"),
        (
            "cast(records as {{ kanon_sql.float_type() }}) / classes",
            "a quotient that may be of integers or by zero",
        ),
        ("records / nullif(classes, 0)", "a quotient that may be of integers or by zero"),
        ("cast(records as {{ kanon_sql.float_type() }}) / nullif(classes, 0)", None),
        ("{# a / b #}", None),
    ],
)
def test_what_does_not_travel_is_found(sql: str, what: str | None) -> None:
    found = [name for name, each in NOT_PORTABLE.items() if re.search(each, sql_of(sql))]

    assert found == ([what] if what else [])
