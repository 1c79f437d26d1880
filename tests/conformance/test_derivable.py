"""Does every database give the same suppressed cells away?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES, Database

import kanon_sql as kanon

RECORDS = [
    (region, age, f"f{place % 17}", value)
    for place, (region, age, value) in enumerate(
        [
            *[("N", 21, 100), ("N", 24, -40), ("N", 35, 7), (None, 35, 9), (None, 21, 8)] * 3,
            *[("S", 21, 12), ("S", 24, 15), ("S", 35, 20), ("W", 24, 1000)] * 2,
        ]
    )
]
TABLE = Filled(
    ("region", "age", "firm", "turnover"),
    (pyarrow.string(), pyarrow.int64(), pyarrow.string(), pyarrow.int64()),
    tuple(RECORDS),
)
PUBLISHED = Filled(
    ("region", "n"),
    (pyarrow.string(), pyarrow.string()),
    (("N", "*"), ("S", "12"), ("W", "c"), ("Total", "25")),
)


@pytest.fixture(scope="module", params=list(ENGINES))
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        running.load("turnover", TABLE)
        running.load("published", PUBLISHED)
        yield running


def found(result: Any) -> dict[str, Any]:
    [table] = result.tables
    return {"summary": table.cells.to_dict(), "checks": [each.to_dict() for each in table.checks]}


def here(table: Filled) -> pyarrow.Table:
    columns = [list(column) for column in zip(*table.rows, strict=True)]
    return pyarrow.table(
        [pyarrow.array(each, type) for each, type in zip(columns, table.types, strict=True)],
        names=list(table.names),
    )


@pytest.mark.parametrize("value", [None, "turnover"])
def test_from_records(database: Database, value: str | None) -> None:
    asked: dict[str, Any] = {
        "by": ["region", "age"],
        "value": value,
        "contributor": "firm" if value else None,
        "hierarchies": {"age": "width:10"},
        "checks": [kanon.MinContributors(n=3), kanon.Derivable()],
    }

    assert found(kanon.tables("turnover", engine=database.url, **asked)) == found(
        kanon.tables(here(TABLE), **asked)
    )


def test_as_published(database: Database) -> None:
    asked: dict[str, Any] = {
        "by": "region",
        "value": "n",
        "published": True,
        "suppressed": {"*": [1, 2], "c": None},
        "total_label": "Total",
        "derivable": True,
    }

    assert found(kanon.tables("published", engine=database.url, **asked)) == found(
        kanon.tables(here(PUBLISHED), **asked)
    )
