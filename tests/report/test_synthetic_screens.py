"""The screens on a synthetic table: small tables in, whole texts out."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from audits import audited, text
from pages import as_text

import kanon_sql as kanon
from kanon_sql.models.synthetic.words import comparisons
from kanon_sql.report.charts import excesses, is_drawn
from kanon_sql.results.table import TableResult

COLUMNS = ("age", "zip", "dx")
TABLES = {
    "synthetic": "30Bhiv 30Aflu 40Aflu 50Bhiv 50Bflu 60Ahiv 60Acold 60Bflu",
    "train": "30Aflu 30Aflu 30Bhiv 40Acold 40Bflu 50Bhiv 50Bcold 60Ahiv",
    "rest": "30Aflu 30Bflu 40Bflu 60Acold",
}
"""The tables of the example in the definitions, §19.8."""
CHECKS = [
    kanon.CopiedRecords(max_share=0.25),
    kanon.ReplicatedUniques(max_share=0.5, max_excess=0.1),
    kanon.SinglingOut(max_rate=0.5),
    kanon.DisclosiveInSynthetic(),
    kanon.CorrectAttribution(max_average=0.5, max_gain=0.3),
]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, records in TABLES.items():
        rows = [(record[:2], record[2], record[3:]) for record in records.split()]
        columns = [pa.array(cells) for cells in zip(*rows, strict=True)]
        pq.write_table(pa.table(columns, names=COLUMNS), tmp_path / f"{name}.parquet")
    monkeypatch.chdir(tmp_path)


def shown(**how: object) -> TableResult:
    result = kanon.audit(
        "synthetic.parquet", COLUMNS[:2], sensitive="dx", original="train.parquet", **how
    )  # fmt: skip
    return dataclasses.replace(result.tables[0], seconds=0.25)


@pytest.mark.usefixtures("asked")
def test_what_is_measured_unasked_says_that_there_is_no_holdout() -> None:
    assert as_text(audited(shown())) == text("synthetic.txt")


@pytest.mark.usefixtures("asked")
def test_bounds_are_told_beside_the_holdout() -> None:
    table = shown(holdout="rest.parquet", checks=CHECKS)

    assert as_text(audited(table)) == text("synthetic_beside_holdout.txt")


@pytest.mark.usefixtures("asked")
def test_the_comparison_is_drawn_with_its_intervals() -> None:
    compared = comparisons(shown(holdout="rest.parquet", checks=CHECKS))
    chart = excesses(compared)

    assert is_drawn(chart)
    assert [each["excess"] for each in chart["data"]["values"]] == [
        pytest.approx(each.shares[0] - each.shares[1]) for each in compared
    ]
    assert all(each["low"] <= each["excess"] <= each["high"] for each in chart["data"]["values"])
