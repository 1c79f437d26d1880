"""Names of tables and columns in any script, with the warnings and the sets that come of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES

import kanon_sql as kanon

NAMES = ("😀", "Größe é", "列", "a\u0301", "дом.x", "k")
ROWS = tuple((f"{n % 2}", f"{n // 2 % 2}", "q", f"{n % 3}", f"{n}", "k") for n in range(24))
PEOPLE = Filled(NAMES, (pyarrow.string(),) * len(NAMES), ROWS)


def found(source: Any, **asked: Any) -> tuple[Any, ...]:
    [table] = kanon.audit(source, NAMES[:3], sensitive=NAMES[3], k=2, **asked).tables
    [profiled] = kanon.profile(source, subsets=3, columns=NAMES, **asked).tables
    checks = [(each.model, each.holds, each.achieved) for each in table.checks]
    return table.summary, checks, table.warnings, profiled.subsets


# MariaDB's names end with the basic plane. Spark lets a column be called anything, and a table only
# by letters and digits of ASCII, quoted or not (SPARK-14857, SPARK-18594).
@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("postgres", "пациенты 😀"),
        ("clickhouse", "пациенты 😀"),
        ("sqlite", "пациенты 😀"),
        ("spark", "people"),
    ],
)
def test_names_in_any_script(engine: str, name: str, tmp_path: Path) -> None:
    here = found(PEOPLE.arrow)

    with ENGINES[engine].started(tmp_path) as running:
        running.load(name, PEOPLE)

        there = found(name, engine=running.url)

    assert there == (*here[:2], there[2], here[3])
    # Engines without an approximate count say nothing of unassigned columns.
    assert there[2] == (() if engine in ("postgres", "sqlite") else here[2])
    assert any("дом.x" in warning for warning in here[2])
