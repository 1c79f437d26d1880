"""Results of searches, made up for reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kanon_sql.anonymizing.release.result import AnonymizationResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.release import (
    Anonymization,
    Association,
    Before,
    GeneralizationStep,
    Metrics,
    Release,
)
from kanon_sql.results.table import Summary, TableResult


def k_anonymity(k: int, holds: bool, achieved: int, classes: int = 0, records: int = 0) -> Any:
    return CheckResult("k_anonymity", {"k": k}, holds, achieved, classes, records)


def homogeneity(classes: int, alone: int = 0) -> CheckResult:
    return CheckResult(
        "homogeneity",
        {"sensitive": "diagnosis"},
        None,
        classes,
        details={"singleton_classes": alone},
    )


STEPS = (
    GeneralizationStep("birth_date", 1, "month", 61_204, 812_340),
    GeneralizationStep("birth_date", 2, "year", 9_310, 300_811),
    GeneralizationStep("zip", 1, "mask 1 from the right", 1_022, 80_114),
)


TABLE = TableResult(
    name="patients.parquet",
    engine="duckdb",
    status="holds",
    quasi_identifiers=("zip", "birth_date", "sex"),
    sensitive=("diagnosis",),
    levels={"zip": 1, "birth_date": 2, "sex": 0},
    summary=Summary(1_202_334, classes=44_120, k=5, suppressed=0),
    checks=(k_anonymity(5, True, 5), homogeneity(310)),
    sql={"classes": "select 1", "classes_diagnosis": "select 2"},
    seconds=2.13,
)


MADE = Anonymization(
    algorithm="datafly",
    levels={"zip": 1, "birth_date": 2, "sex": 0},
    labels={"zip": "mask 1 from the right", "birth_date": "year", "sex": "raw value"},
    steps=STEPS,
    reached_top=False,
    max_suppressed=12_043,
    records_violating=1_977,
    suppressed=1_977,
    step4=0,
    suppressed_as="remove",
    k=5,
    classes=44_120,
    metrics=Metrics(
        precision=0.67,
        loss=0.3125,
        loss_geometric=0.2987,
        discernibility=2_412_870_331,
        average_class_size=1_202_334 / 44_120,
        non_uniform_entropy=0.4168,
        non_uniform_entropy_bits=7_094_737.5,
        loss_by_quasi_identifier={"zip": 0.0004, "birth_date": 0.9371, "sex": 0},
    ),
    associations=(
        Association("zip", "diagnosis", before=0.31, after=0.274),
        Association("birth_date", "diagnosis", before=0.978, after=0.12),
        Association("sex", "diagnosis", before=None, after=None),
    ),
    views=("create view one", "create view two", "create view three"),
    before=Before(
        "patients.parquet",
        Summary(1_204_311, classes=812_001, k=1),
        (k_anonymity(5, False, 1, 640_112, 812_340), homogeneity(433_334, alone=412_330)),
    ),
    release=Release("release.parquet", 1_202_334, 14),
)


def released(made: Anonymization = MADE, **table: Any) -> AnonymizationResult:
    return AnonymizationResult((replace(TABLE, **table),), "0.1.0", made)


FEASIBLE = released()


IN_VAIN = released(
    replace(
        MADE,
        levels={"zip": 5, "birth_date": 2, "sex": 1},
        labels={"zip": "suppress", "birth_date": "year", "sex": "suppress"},
        reached_top=True,
        values_at_top={"zip": 1, "birth_date": 92, "sex": 1},
        max_suppressed=5,
        records_violating=7,
        suppressed=0,
        k=1,
        metrics=replace(
            MADE.metrics,
            precision=0.0,
            loss=0.98,
            loss_geometric=0.98,
            discernibility=1_204_311**2,
            loss_by_quasi_identifier={"zip": 1.0, "birth_date": 0.94, "sex": 1.0},
        ),
        associations=(),
        release=None,
    ),
    status="violated",
    sensitive=(),
    summary=Summary(1_204_311, classes=92, k=1),
    checks=(k_anonymity(5, False, 1, 4, 7),),
)
