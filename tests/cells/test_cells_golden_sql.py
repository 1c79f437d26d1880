"""The SQL on published tables, as it is signed.

After a change on purpose, write the files anew with KANON_SQL_UPDATE_GOLDEN=1 and read the
difference.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import kanon_sql as kanon
from kanon_sql.sql.dialects import DIALECTS

GOLDEN = Path(__file__).parent / "golden"
KEPT = ("duckdb", "postgres", "spark", "clickhouse", "sqlite")
"""The dialects that are executed in tests, whose SQL is kept; the others are generated."""
FILES = {
    "ledger.csv": "region,sector,firm,turnover\nN,a,1,10\nS,b,2,20\n",
    "counts.csv": "region,age,n\nN,young,12\nN,Total,*\n",
    "males.csv": "region,age,n\nN,young,5\n",
    "nace.csv": "a,A\nb,A\nc,B\n",
}
QUESTIONS: dict[str, Mapping[str, Any]] = {
    "records": {
        "source": "ledger.csv",
        "by": ["region", "sector"],
        "value": "turnover",
        "checks": [
            {"min_contributors": {"n": 10}},
            {"dominance": {"n": 2, "k": 67}},
            {"p_percent": {"p": 10}},
        ],
    },
    "contributors": {
        "source": "ledger.csv",
        "by": ["sector"],
        "hierarchies": {"sector": "nace.csv"},
        "value": "turnover",
        "contributor": "firm",
        "checks": [{"dominance": {"n": 1, "k": 50, "inclusive": True}}, "group_disclosure"],
    },
    "published": {
        "source": "counts.csv",
        "cells": True,
        "by": ["region", "age"],
        "value": "n",
        "suppressed": {"*": [1, 9]},
        "total_label": {"age": "Total"},
        "against": {"males": {"source": "males.csv"}},
        "checks": [
            {"min_contributors": {"n": 10, "zeros": "disclosive"}},
            {"rounded": {"bands": [[15, 10], [100, 50]]}},
            {"group_disclosure": {"along": ["age"], "max_share": 0.9}},
            {"differences": {"n": 3}},
        ],
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_sql_is_as_it_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, dialect: str
) -> None:
    for file, text in FILES.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    spec = kanon.AuditSpec(published=[kanon.PublishedSpec(**QUESTIONS[name])])

    found = f"{kanon.compile(spec, dialect=dialect)}\n"

    if dialect not in KEPT:
        assert "kanon_" in found
        return
    file = GOLDEN / f"{name}_{dialect}.sql"
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")
