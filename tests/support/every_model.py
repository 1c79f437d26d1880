"""Results in which every model is asked for, each with a requirement that is violated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa

import kanon_sql as kanon
from kanon_sql.models.base import Model
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import AuditFindings, TableResult

SIZES = (1, 2, 2, 3, 6, 9, 30)
PEOPLE = pa.table(
    {
        "zip": [str(place) for place, size in enumerate(SIZES) for _ in range(size)],
        "dx": ["ab"[each % 2] for size in SIZES for each in range(size)],
        "pay": [each * 10 for size in SIZES for each in range(size)],
        "who": list(range(sum(SIZES))),
    }
)
VOTERS = pa.table({"zip": [str(place) for place in range(6) for _ in range(8)]})
EARLIER = pa.table(
    {
        "zip": [str(each % 4) for each in range(40)],
        "dx": ["abc"[each % 3] for each in range(40)],
        "pay": list(range(40)),
        "who": list(range(10, 50)),
    }
)
VISITS = pa.table(
    {
        "who": [str(each % 9) for each in range(30)],
        "ward": ["xyzuv"[each * each % 5] for each in range(30)],
    }
)
OF_RECORDS: tuple[Model, ...] = (
    kanon.KAnonymity(k=3),
    kanon.ProsecutorRisk(max_highest=0.4, max_average=0.01, max_at_risk=0.1),
    kanon.SampleUniqueness(max_share=0.001),
    kanon.PopulationUniqueness(population=1_000, max_share=0.0001),
    kanon.KMapEstimate(k=5, population=1_000),
    kanon.LDiversity(l=3, sensitive="dx"),
    kanon.EntropyLDiversity(l=1.5, sensitive="dx"),
    kanon.RecursiveClDiversity(c=2, l=2, sensitive="dx"),
    kanon.AlphaKAnonymity(alpha=0.9, k=2, sensitive="dx"),
    kanon.PSensitiveKAnonymity(p=2, k=2, sensitive="dx"),
    kanon.KEAnonymity(k=2, e=20, sensitive="pay"),
    kanon.TCloseness(t=0.3, sensitive="dx"),
    kanon.DeltaDisclosure(delta=1, sensitive="dx"),
    kanon.BasicBetaLikeness(beta=0.5, sensitive="dx"),
    kanon.EnhancedBetaLikeness(beta=0.5, sensitive="dx"),
    kanon.Homogeneity(sensitive="dx"),
    kanon.KMap(k=4, reference="voters"),
    kanon.DeltaPresence(min=0.1, max=0.9, reference="voters"),
    kanon.JournalistRisk(max_highest=0.1, reference="voters"),
    kanon.MarketerRisk(max_average=0.01, reference="voters"),
)
OF_PEOPLE: tuple[Model, ...] = (
    kanon.KAnonymity(k=3),
    kanon.Homogeneity(sensitive="dx"),
    kanon.LDiversity(l=3, sensitive="dx"),
    kanon.ComposedKAnonymity(k=30),
    kanon.ComposedLDiversity(l=3, sensitive="dx"),
)
OF_EVENTS: tuple[Model, ...] = (
    kanon.KmAnonymity(k=8, m=2),
    kanon.KnownEvents(m=2, k=8, max_share=0.01),
    kanon.KnownEvents(m=4, max_share=0.01),
)
SYNTHETIC = PEOPLE.slice(0, 25).drop_columns(["who"])
"""Every record is a copy."""
OF_SYNTHESIS: tuple[Model, ...] = (
    kanon.CopiedRecords(max_share=0.001, max_excess=0.001),
    kanon.ReplicatedUniques(max_share=0.001),
    kanon.SinglingOut(m=2, max_share=0.001, max_rate=0.001),
    kanon.DisclosiveInSynthetic(sensitive="dx", max_share=0.001),
    kanon.CorrectAttribution(sensitive="dx", max_average=0.1, max_gain=0),
)
OF_CELLS: tuple[Model, ...] = (
    kanon.MinContributors(n=8),
    kanon.Dominance(n=1, k=20),
    kanon.PPercent(p=90),
    kanon.GroupDisclosure(max_share=0.5),
    kanon.Differences(n=20, against="earlier"),
    kanon.Derivable(),
)
SHOWN = pa.table(
    {
        "region": ["N", "N", "N", "S", "S", "S"],
        "sex": ["m", "f", "Total"] * 2,
        "n": ["12", "*", "17", "*", "*", "12"],
    }
)


def of_records(**asked: Any) -> AuditFindings:
    """Every model of one release and its reference."""
    return kanon.audit(
        PEOPLE, ["zip"], sensitive=["dx", "pay"], checks=list(OF_RECORDS),
        references={"voters": VOTERS}, name="people", **asked,
    )  # fmt: skip


@cache
def results() -> dict[str, AuditFindings]:
    """The results by what they are about."""
    twice = pa.concat_tables([PEOPLE, PEOPLE.slice(5, 40)])
    return {
        "records": of_records(),
        "unknown": of_records(sensitive_nulls="unknown"),
        "level": kanon.audit(
            PEOPLE, ["zip"], checks=[kanon.KMap(k=4)], levels={"zip": 1}, name="people",
            references={"voters": {"source": VOTERS, "levels": {"zip": 1}}},
        ),
        "wildcards": kanon.audit(
            PEOPLE, ["zip"], nulls="wildcard", checks=[kanon.KAnonymity(k=3)], name="people"
        ),
        "people": kanon.audit(
            twice, ["zip", "dx"], entity="who", name="visits",
            checks=[kanon.KAnonymity(k=3)],
        ),
        "releases": kanon.audit(
            PEOPLE, ["zip"], sensitive=["dx"], entity="who", checks=list(OF_PEOPLE),
            earlier_releases={"earlier": {"source": EARLIER}}, name="people",
        ),
        "events": kanon.audit(
            VISITS, entity="who", events=["ward"], checks=list(OF_EVENTS), name="visits"
        ),
        "synthetic": kanon.audit(
            SYNTHETIC, ["zip", "pay"], sensitive="dx", checks=list(OF_SYNTHESIS), name="synthetic",
            original=PEOPLE.slice(0, 30), holdout=PEOPLE.slice(30, 23),
        ),
        "cells": kanon.tables(
            PEOPLE, by=["zip", "dx"], value="pay", checks=list(OF_CELLS),
            against={"earlier": EARLIER}, name="cells",
        ),
        "counts": kanon.tables(
            PEOPLE, by=["zip"], checks=[kanon.MinContributors(n=8, zeros="disclosive")],
            name="counts",
        ),
        "shown": kanon.tables(
            SHOWN, by=["region", "sex"], value="n", published=True, suppressed={"*": (1, 9)},
            total_label="Total", checks=[kanon.Rounded(base=5), kanon.Derivable(remainder=50)],
            threshold=20, name="shown",
        ),
    }  # fmt: skip


def checks() -> Iterator[tuple[str, TableResult, CheckResult]]:
    """Every check of these results, with the result's name and its table."""
    for name, result in results().items():
        for table in result.tables:
            for check in table.checks:
                yield name, table, check
