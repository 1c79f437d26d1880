"""What each k would cost, as plain values of a result of `tradeoff`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CostOfK:
    """The release that loses least for one k; all but `k` is None where no levels will do."""

    k: int
    lost: float | None
    """What the metric of the search says, the more the worse: of precision what is missing to 1."""
    suppressed: int | None
    classes: int | None
    levels: Mapping[str, int] | None
    """None where each group is as coarse as it must be."""


@dataclass(frozen=True)
class Costs:
    """What each k would cost by one metric."""

    metric: str
    algorithm: str
    points: tuple[CostOfK, ...]
    table: str = ""
    optimal: tuple[CostOfK, ...] = ()
    """Beside a local recoding, what one level for all would cost."""

    @property
    def are_shares(self) -> bool:
        """Whether what is lost is a share of what could be."""
        return self.metric not in ("discernibility", "average_class_size")
