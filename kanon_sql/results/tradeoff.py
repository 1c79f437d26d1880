"""What each k would cost, as plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    levels_by_records: Mapping[str, Mapping[int, int]] | None = None
    """Of a local recoding, which has no levels for all: how many records end at which level."""

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
    """What each k costs by another algorithm, and how that was searched."""

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
    """How many records might be suppressed."""
    algorithm: Algorithm
    points: tuple[Point, ...]
    search: Search | None
    """None of a table without records, and of a local recoding, which searches no levels."""
    seconds: float = field(default=0.0, compare=False)
    warnings: tuple[str, ...] = ()
    optimal: Curve | None = None
    """Beside a local recoding what the best levels for the whole table would cost."""
    audited: str | None = field(default=None, compare=False)
    """The date on which it came about, by universal time; None where that is not known."""

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
            **({"optimal": self.optimal.to_dict()} if self.optimal else {}),
            **({"audited": self.audited} if self.audited else {}),
        }
