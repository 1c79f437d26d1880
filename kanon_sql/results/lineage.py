"""What a lineage event says of a table besides its result: its datasets and its checks' SQL."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dataset:
    """A dataset by OpenLineage's naming convention. Holds neither user nor password."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Lineage:
    """The datasets that an audit of a table read, and each check's own statement."""

    datasets: tuple[Dataset, ...]
    """The table, then its references and earlier releases."""
    statements: tuple[str | None, ...]
    """In the order of the checks; None where a check has none."""
    engine_version: str | None = None
    """The version of the database, where it is known without asking it."""
