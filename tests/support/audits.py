"""Results of audits, made up for reports."""

from __future__ import annotations

import dataclasses
import math

from places import TESTS

from kanon_sql.auditing.result import AuditResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import HistogramBin, Summary, TableResult

TEXTS = TESTS / "reports"
"""The whole texts, as files that can be looked at."""


VIOLATED = TableResult(
    name="patients.parquet",
    engine="duckdb",
    status="violated",
    quasi_identifiers=("zip", "birth_date", "sex"),
    sensitive=("diagnosis",),
    summary=Summary(
        records=2_000,
        classes=700,
        k=1,
        average_class_size=2_000 / 700,
        largest_class=122,
        uniques=300,
        records_with_null_qi=0,
        suppressed=0,
    ),
    histogram=(
        HistogramBin(1, classes=300, records=300),
        HistogramBin(3, classes=300, records=900),
        HistogramBin(6, classes=85, records=510),
        HistogramBin(12, classes=14, records=168),
        HistogramBin(122, classes=1, records=122),
    ),
    checks=(
        CheckResult(
            "k_anonymity", {"k": 5}, False, 1, violating_classes=600, violating_records=1_200
        ),
        CheckResult(
            "homogeneity",
            {"sensitive": "diagnosis"},
            None,
            310,
            details={"singleton_classes": 300},
        ),
    ),
    risk={
        "prosecutor": {"highest": 1.0, "average": 0.35, "at_risk": 0.6, "threshold": 0.2},
        "journalist": None,
        "marketer": None,
    },
    sql={"classes": "select 1", "classes_diagnosis": "select 2", "first_records": "select 3"},
    seconds=0.94,
)


HOLDS = dataclasses.replace(
    VIOLATED,
    name="release.csv",
    status="holds",
    quasi_identifiers=("zip",),
    summary=Summary(
        records=1_030,
        classes=12,
        k=7,
        average_class_size=1_030 / 12,
        largest_class=480,
        uniques=0,
        records_with_null_qi=0,
        suppressed=0,
    ),
    histogram=(
        HistogramBin(7, classes=10, records=70),
        HistogramBin(480, classes=2, records=960),
    ),
    checks=(
        CheckResult("k_anonymity", {"k": 5}, True, 7, violating_classes=0, violating_records=0),
        CheckResult(
            "homogeneity",
            {"sensitive": "diagnosis"},
            True,
            0,
            violating_classes=0,
            violating_records=0,
            details={"singleton_classes": 0},
        ),
    ),
    risk={
        "prosecutor": {"highest": 1 / 7, "average": 12 / 1_030, "at_risk": 0.0, "threshold": 0.2},
        "journalist": None,
        "marketer": None,
    },
    sql={"classes": "select 1"},
    seconds=0.1,
)


LINKED = CheckResult(
    "k_map",
    {"k": 10, "reference": "voters", "match": "containment", "missing": "strict"},
    False,
    0,
    violating_classes=2,
    violating_records=8,
    details={
        "unmatched_classes": 1,
        "unmatched_records": 3,
        "exceeding_classes": 0,
        "assumes": "someone who looks for a person in a list of voters",
    },
)


MADE_FOR_PEOPLE = dataclasses.replace(
    VIOLATED,
    entity="patient_id",
    sensitive=(),
    summary=dataclasses.replace(
        VIOLATED.summary,
        people=590,
        records=900,
        classes=3,
        average_class_size=601 / 3,
        largest_class=300,
        uniques=1,
    ),
    histogram=(
        HistogramBin(1, classes=1, records=400, people=1),
        HistogramBin(300, classes=2, records=500, people=589),
    ),
    checks=(
        CheckResult(
            "k_anonymity",
            {"k": 2},
            False,
            1,
            violating_classes=1,
            violating_records=400,
            violating_people=1,
            details={"profile_k": 1, "profile_uniques": 1},
        ),
        CheckResult(
            "homogeneity",
            {"sensitive": "diagnosis"},
            False,
            1,
            violating_classes=1,
            violating_records=400,
            violating_people=1,
            details={"singleton_classes": 1, "several_valued_classes": 1},
        ),
        CheckResult(
            "recursive_cl_diversity",
            {"c": 2, "l": 2, "sensitive": "diagnosis"},
            False,
            math.inf,
            violating_classes=1,
            violating_records=400,
            violating_people=1,
            details={"confidence": 1.0},
        ),
        CheckResult(
            "l_diversity",
            {"l": 2, "sensitive": "diagnosis"},
            False,
            1,
            violating_classes=1,
            violating_records=400,
            violating_people=1,
        ),
    ),
    risk={
        "prosecutor": {
            "highest": 1.0,
            "average": (1 + 589 / 300) / 590,
            "at_risk": 1 / 590,
            "threshold": 0.2,
        },
        "journalist": None,
        "marketer": None,
    },
)


def audited(*tables: TableResult) -> AuditResult:
    return AuditResult(tables, version="0.1.0")


def text(name: str) -> str:
    return (TEXTS / name).read_text(encoding="utf-8").removesuffix("\n")


def with_checks(*checks: CheckResult, table: TableResult = VIOLATED) -> TableResult:
    return dataclasses.replace(table, checks=checks)
