"""Models that compare the sensitive values of a class with those of the table."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from kanon_sql.spec.models.base import Need, NotNegative, Positive, SensitiveModel, Share, Values
from kanon_sql.spec.models.examples import ALIKE, MORE_FREQUENT, SPREAD, Example

__all__ = ["BasicBetaLikeness", "DeltaDisclosure", "EnhancedBetaLikeness", "TCloseness"]


class TCloseness(SensitiveModel):
    """Each class has nearly the distribution of the table (Li, Li, Venkatasubramanian 2007)."""

    example: ClassVar = Example(
        {"t": 0.2},
        ALIKE,
        SPREAD,
        "In 0213* and 30-39 all three people have the flu, in the table four of six.",
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("t",)

    t: Share | None = None
    """Maximum distance between the distribution of a class and that of the table."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """Distance between two values: the same for all, by rank, or by their place in a tree."""
    order: Values | None = None
    """The values from least to greatest, unless they are numbers or dates."""
    hierarchy: str | None = None
    """A CSV file without header: the value, then its ancestors up to one root."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares"})

    @property
    def reads_values(self) -> bool:
        return self.has_own_distance

    @property
    def has_own_distance(self) -> bool:
        return self.distance != "equal"

    @model_validator(mode="after")
    def _distance_has_what_it_needs(self) -> TCloseness:
        if self.order is not None and self.distance != "ordered":
            raise ValueError("order is for distance: ordered")
        if self.hierarchy is not None and self.distance != "hierarchical":
            raise ValueError("hierarchy is for distance: hierarchical")
        if self.hierarchy is None and self.distance == "hierarchical":
            raise ValueError(
                "distance: hierarchical needs a hierarchy: a CSV file with the value and then "
                "its ancestors up to one root"
            )
        order = self.order or ()
        if len(set(map(str, order))) < len(order):
            raise ValueError("order names a value twice")
        if None in order:
            raise ValueError("order must not name NULL, which ranks last")
        return self


class DeltaDisclosure(SensitiveModel):
    """No value is much more or less frequent in a class than in the table."""

    example: ClassVar = Example(
        {"delta": 0.5}, ALIKE, SPREAD, "In 0213* and 30-39 nobody has asthma or HIV."
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("delta",)
    beside: ClassVar = "present_only"
    may_be_infinite: ClassVar = True
    is_strict: ClassVar = True

    delta: Positive | None = None
    """Exclusive upper bound of the natural logarithm of the factor."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares", "table_values"})


class BasicBetaLikeness(SensitiveModel):
    """No value is more than 1 + β times as likely in a class as in the table."""

    example: ClassVar = Example({"beta": 0.4}, ALIKE, SPREAD, MORE_FREQUENT)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)

    beta: NotNegative | None = None
    """Maximum relative gain of a value's share in a class over its share in the table."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares"})


class EnhancedBetaLikeness(SensitiveModel):
    """Basic β-likeness with a tighter bound for frequent values (Cao, Karras 2012)."""

    example: ClassVar = Example({"beta": 0.4}, ALIKE, SPREAD, MORE_FREQUENT)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)
    may_be_infinite: ClassVar = True

    beta: NotNegative | None = None
    """Maximum relative gain of a value's share in a class over its share in the table."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares", "bounds"})
