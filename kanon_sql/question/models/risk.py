"""Models that bound the risk of re-identification, also by an estimate of the population."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar, Literal

from kanon_sql.question.models.base import (
    AT_RISK,
    FIGURES_OF_SIZES,
    Count,
    Model,
    Number,
    Probability,
    ReferenceModel,
    Share,
)

__all__ = [
    "JournalistRisk",
    "KMapEstimate",
    "MarketerRisk",
    "PopulationUniqueness",
    "ProsecutorRisk",
    "SampleUniqueness",
]


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
        return None if bound is None else _smallest_class(bound) if bound else math.inf


class ProsecutorRisk(RiskModel):
    """Risk of a person who is known to be in the table (El Emam 2013)."""

    read_off_sizes: ClassVar = True
    with_wildcards: ClassVar = True

    @property
    def least_size(self) -> int | None:
        return _smallest_class(self.max_highest) if self.max_highest else None


def _smallest_class(risk: Number) -> int:
    """Smallest class size with at most this risk."""
    return math.ceil(1 / Fraction(str(risk)))


class JournalistRisk(RiskModel, ReferenceModel):
    """Risk of a person who is found through a reference (El Emam 2013)."""

    predicate: ClassVar = "journalist_risk"

    @property
    def class_bounds(self) -> dict[str, Any]:
        return {} if self.class_bound is None else {"bound": self.class_bound}


class MarketerRisk(ReferenceModel):
    """Expected share of records linked correctly, if all are linked (El Emam 2013)."""

    thresholds: ClassVar = ("max_average",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"

    max_average: Share | None = None
    """Maximum share of records that are linked to the right person."""


class SampleUniqueness(Model):
    """The share of records that are alone in their class (Skinner, Elliot 2002)."""

    thresholds: ClassVar = ("max_share",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"
    with_wildcards: ClassVar = True

    max_share: Share | None = None
    """Maximum share of records that are alone in their class."""


class PopulationUniqueness(Model):
    """Estimated share of people who are unique in the population (Dankar et al. 2012)."""

    thresholds: ClassVar = ("max_share",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"
    read_off_sizes: ClassVar = True
    answered_by: ClassVar = "estimate"

    population: Count
    """Number of people in the population from which the table was sampled."""
    max_share: Share | None = None
    """Maximum estimated share of unique people."""
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"
    """The estimate that is compared with max_share; all three are reported."""


class KMapEstimate(Model):
    """k-map in the population of a sample, by a test (El Emam, Dankar 2008)."""

    thresholds: ClassVar = ("k",)
    computed_bound: ClassVar = "required"
    worst: ClassVar = "least"
    read_off_sizes: ClassVar = True
    answered_by: ClassVar = "estimate"

    k: Count
    """Minimum number of people of the population who share the values of a class."""
    population: Count
    """Number of people in the population from which the table was sampled."""
    alpha: Probability = 0.05
    """Significance level: the chance of taking a class of k people for a larger one."""
    test: Literal["zero_truncated_poisson", "poisson"] = "zero_truncated_poisson"
    """Distribution of a class's size in the sample; truncated, as no observed class is empty."""

    @property
    def table_figures(self) -> tuple[str, ...]:
        """Those of k-anonymity, because this model requires a class size too."""
        return FIGURES_OF_SIZES
