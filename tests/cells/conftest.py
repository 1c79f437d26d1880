"""The databases that check published tables."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from warehouses import ENGINES, Database


@pytest.fixture(scope="module", params=["postgres", "sqlite", "clickhouse", "mariadb", "spark"])
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        yield running
