"""Models that bound the risk of re-identification."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from kanon_sql.spec.models.base import AT_RISK, Model, Number, ReferenceModel, Share
from kanon_sql.spec.models.examples import ALONE, REGISTER, SPREAD, Example

__all__ = ["JournalistRisk", "MarketerRisk", "ProsecutorRisk", "SampleUniqueness"]

_EL_EMAM = "El Emam 2013, Guide to the de-identification of personal health information, chapter 16"


class RiskModel(Model):
    """A bound on the chance of being re-identified."""

    thresholds: ClassVar = ("max_highest", "max_average", "max_at_risk")
    table_thresholds: ClassVar = ("max_average", "max_at_risk")
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"
    beside_worst: ClassVar = {
        "average": ("greatest", "max_average"),
        "at_risk": ("greatest", "max_at_risk"),
    }

    max_highest: Share | None = None
    """The highest chance that anyone may have."""
    max_average: Share | None = None
    """The highest average chance."""
    max_at_risk: Share | None = None
    """The largest share of records (people) with a chance above the threshold."""
    threshold: Share = AT_RISK
    """Above which chance a record is at risk."""

    @property
    def class_bound(self) -> Number | None:
        """The chance above which a class violates the model; None where only an average does."""
        if self.max_highest is not None:
            return self.max_highest
        return self.threshold if self.max_at_risk is not None else None


class ProsecutorRisk(RiskModel):
    """The chance to be found by someone who knows that one is in the table (El Emam 2013)."""

    title: ClassVar = "prosecutor risk"
    promise: ClassVar = (
        "Someone who knows that a person is in the table, and knows their quasi-identifiers, "
        "finds their record with a bounded chance."
    )
    formula: ClassVar = (
        "highest 1 / min f, average classes / Σ f, at risk: share with 1 / f > threshold"
    )
    silence: ClassVar = (
        "Finding the record is not needed to learn from it: what a class shares is known of all "
        "its members."
    )
    source: ClassVar = _EL_EMAM
    asked_as: ClassVar = "--check prosecutor_risk:max_highest=0.2"
    holds_when: ClassVar = (
        "whoever knows that someone is in the table finds them with a bounded chance; also "
        "`max_average`, `max_at_risk`"
    )
    example: ClassVar = Example(
        {"max_highest": 0.34}, ALONE, SPREAD, "Every record can be found with certainty."
    )
    read_off_sizes: ClassVar = True
    with_wildcards: ClassVar = True

    @property
    def least_size(self) -> int | None:
        return _smallest_class(self.max_highest) if self.max_highest else None

    @property
    def violating_below(self) -> float | None:
        bound = self.class_bound
        return None if bound is None else _smallest_class(bound) if bound else math.inf


def _smallest_class(risk: Number) -> int:
    """The smallest class whose members have no higher risk."""
    return math.ceil(1 / Fraction(str(risk)))


class JournalistRisk(RiskModel, ReferenceModel):
    """The chance to be found by someone who looks in a reference first (El Emam 2013)."""

    title: ClassVar = "journalist risk"
    promise: ClassVar = (
        "Someone who does not know who is in the table, and links it with the reference, finds a "
        "person with a bounded chance."
    )
    formula: ClassVar = (
        "highest 1 / min F, average max(classes / Σ F, Σ (f / F) / Σ f) (with an entity: mean of "
        "1 / F over people), at risk: share with 1 / F > threshold"
    )
    silence: ClassVar = (
        "Whoever knows that the target is in the table has the prosecutor's chance, which is "
        "higher."
    )
    source: ClassVar = _EL_EMAM
    asked_as: ClassVar = "--check journalist_risk:max_highest=0.1"
    holds_when: ClassVar = "whoever looks in the reference first finds them with a bounded chance"
    example: ClassVar = Example(
        {"max_highest": 0.2},
        ALONE,
        SPREAD,
        "Nobody else in the register has these values.",
        reference=REGISTER,
    )
    predicate: ClassVar = "journalist_risk"

    @property
    def class_bounds(self) -> dict[str, Any]:
        return {} if self.class_bound is None else {"bound": self.class_bound}


class MarketerRisk(ReferenceModel):
    """The share of people that linking everyone finds (El Emam 2013)."""

    title: ClassVar = "marketer risk"
    promise: ClassVar = (
        "Linking every record with the reference finds the right person for a bounded share."
    )
    formula: ClassVar = "Σ (f / F) / Σ f ≤ max_average"
    silence: ClassVar = "It is an average: single people may be found with certainty."
    source: ClassVar = _EL_EMAM
    asked_as: ClassVar = "--check marketer_risk:max_average=0.05"
    holds_when: ClassVar = "linking everyone finds a bounded share"
    example: ClassVar = Example(
        {"max_average": 0.5},
        ALONE,
        SPREAD,
        "Linking finds every one of them.",
        reference=REGISTER,
    )
    share_words: ClassVar = "of the {0} are linked to the right person"
    thresholds: ClassVar = ("max_average",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"

    max_average: Share | None = None
    """The largest share of records that may be linked to the right person."""


class SampleUniqueness(Model):
    """The share of records that are alone in their class (Skinner, Elliot 2002)."""

    title: ClassVar = "sample uniqueness"
    promise: ClassVar = "Only a bounded share of the records is alone in its class."
    formula: ClassVar = "Σ f over classes with f = 1, divided by Σ f, ≤ max_share"
    silence: ClassVar = (
        "A class of two is no safer than its other member is discreet; k-anonymity bounds the "
        "smallest class."
    )
    source: ClassVar = (
        "Skinner, Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4), section 2"
    )
    asked_as: ClassVar = "--check sample_uniqueness:max_share=0.01"
    holds_when: ClassVar = "a bounded share of the records is alone in its class"
    example: ClassVar = Example(
        {"max_share": 0.1}, ALONE, SPREAD, "All six records are alone with their values."
    )
    share_words: ClassVar = "of the {0} are alone in their class"
    thresholds: ClassVar = ("max_share",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"
    with_wildcards: ClassVar = True

    max_share: Share | None = None
    """The largest share of records that may be alone."""
