"""The cost of each k, as plain values of a trade-off result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CostOfK:
    """The release with the least loss for one k; without satisfying levels, only `k` is set."""

    k: int
    lost: float | None
    """The metric's value, higher is worse; for precision, 1 minus the value."""
    suppressed: int | None
    classes: int | None
    levels: Mapping[str, int] | None
    """None for a local recoding."""


@dataclass(frozen=True)
class Costs:
    """The cost of each k by one metric."""

    metric: str
    algorithm: str
    points: tuple[CostOfK, ...]
    table: str = ""
    optimal: tuple[CostOfK, ...] = ()
    """For a local recoding: the cost of full-domain levels."""

    @property
    def are_shares(self) -> bool:
        """Whether the loss is a share in [0, 1]."""
        return self.metric not in ("discernibility", "average_class_size")
