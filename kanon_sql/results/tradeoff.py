"""What each k would cost, as plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kanon_sql.results.release import Algorithm, MetricName, Metrics, Search


@dataclass(frozen=True)
class Point:
    """The best levels for one k, and what a release of them would lose.

    Where no levels satisfy, all but `k` are None.
    """

    k: int
    levels: Mapping[str, int] | None
    labels: Mapping[str, str] | None
    """What people call each quasi-identifier's level."""
    suppressed: int | None
    classes: int | None
    metrics: Metrics | None
    gap: float | None
    """Which share of what is lost might be saved, at most; 0 where these are proved the best."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "levels": dict(self.levels) if self.levels is not None else None,
            "labels": dict(self.labels) if self.labels is not None else None,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "metrics": self.metrics.to_dict() if self.metrics else None,
            "gap": self.gap,
        }


@dataclass(frozen=True)
class Tradeoff:
    """The best levels for each k, in ascending order of k, by one search for all."""

    name: str
    engine: str
    records: int
    metric: MetricName
    max_suppressed: int
    """How many records might be suppressed."""
    algorithm: Algorithm
    points: tuple[Point, ...]
    search: Search | None
    """None of a table without records."""
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    @property
    def status(self) -> Literal["measured", "no_data"]:
        """Nothing is demanded, so nothing is violated."""
        return "measured" if self.records else "no_data"

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "engine": self.engine,
            "records": self.records,
            "metric": self.metric,
            "max_suppressed": self.max_suppressed,
            "algorithm": self.algorithm,
            "points": [each.to_dict() for each in self.points],
            "search": self.search.to_dict() if self.search else None,
            "warnings": list(self.warnings),
        }
