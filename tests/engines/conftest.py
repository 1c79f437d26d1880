"""What engines' tests share: a cluster of Spark, and a server, which are started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sparks import Cluster, cluster_in, connect_server_in


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_in(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its URL."""
    with connect_server_in(tmp_path_factory.mktemp("connect")) as url:
        yield url
