"""Is zero one value, whichever sign it has, wherever a table lies and however it is written?"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pyarrow.parquet
import pytest
from generated import Filled
from warehouses import ENGINES

import kanon_sql as kanon

ZEROS = Filled(
    ("pay", "zip"), (pyarrow.float64(), pyarrow.string()), tuple((x, "a") for x in (0.0, -0.0) * 3)
)
CHECKS = [kanon.KAnonymity(k=6), kanon.LDiversity(l=2, sensitive="zip")]


def k_of(source: Any, **asked: Any) -> int | None:
    [table] = kanon.audit(source, quasi_identifiers="pay", checks=CHECKS, **asked).tables
    assert table.summary is not None, table.error
    return table.summary.k


def test_in_frames_and_files_with_types(tmp_path: Path) -> None:
    frame, path = pandas.DataFrame(ZEROS.arrow.to_pydict()), tmp_path / "zeros.parquet"
    pyarrow.parquet.write_table(ZEROS.arrow, path)

    assert [k_of(source) for source in (ZEROS.arrow, frame, path)] == [6, 6, 6]


@pytest.mark.parametrize("engine", ENGINES)
def test_in_every_database(engine: str, tmp_path: Path) -> None:
    with ENGINES[engine].started(tmp_path) as running:
        running.load("zeros", ZEROS)

        assert k_of("zeros", engine=running.url) == 6


def test_at_every_level() -> None:
    levels = [{"width": 10}, {"round": 10}, {"top": 5}, {"cuts": [-5, 0, 5]}, {"mask": "right"}]

    for level in levels:
        result = kanon.audit(
            ZEROS.arrow,
            quasi_identifiers={"pay": {"levels": [level]}},
            levels={"pay": 1},
            checks=[kanon.KAnonymity(k=6)],
        )
        assert (level, result.holds) == (level, True)


def test_a_release_as_text_spells_it_in_one_way(tmp_path: Path) -> None:
    path = tmp_path / "zeros.csv"

    result = kanon.anonymize(
        ZEROS.arrow,
        quasi_identifiers={"pay": {"levels": [{"width": 10}]}},
        k=6,
        output=path,
    )

    assert (result.holds, result.anonymization.levels) == (True, {"pay": 0})
    with path.open(newline="") as file:
        assert {row["pay"] for row in csv.DictReader(file)} == {"0.0"}
    assert k_of(path) == 6
