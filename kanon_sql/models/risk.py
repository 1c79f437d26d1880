"""Bounds on the chance of re-identification."""

import math
from fractions import Fraction
from typing import ClassVar

from kanon_sql.models.base import AT_RISK, Model, Number, Share


class RiskModel(Model):
    """A bound on the chance of re-identification."""

    thresholds: ClassVar = ("max_highest", "max_average", "max_at_risk")
    table_thresholds: ClassVar = ("max_average", "max_at_risk")
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"
    companion_figures: ClassVar = {
        "average": ("greatest", "max_average"),
        "at_risk": ("greatest", "max_at_risk"),
    }

    max_highest: Share | None = None
    """Maximum chance of any record (person)."""
    max_average: Share | None = None
    """Maximum average chance."""
    max_at_risk: Share | None = None
    """Maximum share of records (people) with a chance above the threshold."""
    threshold: Share = AT_RISK
    """Chance above which a record (person) is at risk."""

    @property
    def class_bound(self) -> Number | None:
        """The chance above which a class violates the model; None where only an average does."""
        if self.max_highest is not None:
            return self.max_highest
        return self.threshold if self.max_at_risk is not None else None

    @property
    def table_figures(self) -> tuple[str, ...]:
        """Those that its own average and share at risk do not repeat."""
        attacker = self.name().removesuffix("_risk")
        return tuple(name for name in super().table_figures if not name.startswith(f"{attacker}."))

    @property
    def violating_below(self) -> float | None:
        bound = self.class_bound
        return None if bound is None else smallest_class(bound) if bound else math.inf


def smallest_class(risk: Number) -> int:
    """Smallest class size with at most this risk."""
    return math.ceil(1 / Fraction(str(risk)))
