"""The cost of each k, as plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kanon_sql.results.release import Algorithm, MetricName, Metrics, Search


@dataclass(frozen=True)
class Point:
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
    levels_by_records: Mapping[str, Mapping[int, int]] | None = None
    """For a local recoding: number of records, by quasi-identifier and final level."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "k": self.k,
            "levels": dict(self.levels) if self.levels is not None else None,
            "labels": dict(self.labels) if self.labels is not None else None,
            "suppressed": self.suppressed,
            "classes": self.classes,
            "metrics": self.metrics.to_dict() if self.metrics else None,
            "gap": self.gap,
            **(
                {}
                if self.levels_by_records is None
                else {
                    "levels_by_records": {
                        name: {str(level): records for level, records in levels.items()}
                        for name, levels in self.levels_by_records.items()
                    }
                }
            ),
        }


@dataclass(frozen=True)
class Curve:
    """The cost of each k by another algorithm, and the course of its search."""

    points: tuple[Point, ...]
    search: Search | None

    def to_dict(self) -> dict[str, Any]:
        return {
            "points": [each.to_dict() for each in self.points],
            "search": self.search.to_dict() if self.search else None,
        }


@dataclass(frozen=True)
class Tradeoff:
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
    seconds: float = field(default=0.0, compare=False)
    warnings: tuple[str, ...] = ()
    optimal: Curve | None = None
    """For a local recoding: the cost of the best full-domain levels."""
    audited: str | None = field(default=None, compare=False)
    """UTC date of the result; None if unknown."""

    @property
    def status(self) -> Literal["measured", "no_data"]:
        """Never violated, as nothing is required."""
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
            **({"optimal": self.optimal.to_dict()} if self.optimal else {}),
            **({"audited": self.audited} if self.audited else {}),
        }
