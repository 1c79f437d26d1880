"""The cost of each k, as plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kanon_sql.results.release import Algorithm, MetricName, Metrics, Search
from kanon_sql.results.table import IF_SET, UNWRITTEN, JsonPart


@dataclass(frozen=True)
class Point(JsonPart):
    """The best levels for one k, and the loss of a release at them.

    If no levels satisfy, every field but `k` is None.
    """

    k: int
    levels: Mapping[str, int] | None
    labels: Mapping[str, str] | None
    """Display name of each quasi-identifier's level."""
    suppressed: int | None
    classes: int | None
    metrics: Metrics | None
    gap: float | None
    """Upper bound of the loss that could be saved, as a share; 0 for proved optimal levels."""
    levels_by_records: Mapping[str, Mapping[int, int]] | None = field(default=None, metadata=IF_SET)
    """For a local recoding: number of records, by quasi-identifier and final level."""


@dataclass(frozen=True)
class Curve(JsonPart):
    """The cost of each k by another algorithm, and the course of its search."""

    points: tuple[Point, ...]
    search: Search | None


@dataclass(frozen=True, repr=False)
class Tradeoff(JsonPart):
    """The best levels for each k, in ascending order of k, by one search for all."""

    name: str
    engine: str
    records: int
    metric: MetricName
    max_suppressed: int
    """Maximum number of records that could be suppressed."""
    algorithm: Algorithm
    points: tuple[Point, ...]
    search: Search | None
    """None for a table without records, and for a local recoding, which searches no lattice."""
    seconds: float = field(default=0.0, compare=False, metadata=UNWRITTEN)
    warnings: tuple[str, ...] = ()
    optimal: Curve | None = field(default=None, metadata=IF_SET)
    """For a local recoding: the cost of the best full-domain levels."""
    audited: str | None = field(default=None, compare=False, metadata=IF_SET)
    """UTC date of the result; None if unknown."""

    def __repr__(self) -> str:
        """One line; the result shows everything."""
        return f"<Tradeoff {self.name} {self.status}: k {', '.join(str(p.k) for p in self.points)}>"

    @property
    def status(self) -> Literal["measured", "no_data"]:
        """Never violated, as nothing is required."""
        return "measured" if self.records else "no_data"
