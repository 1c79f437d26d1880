"""Models that compare the sensitive values of a class with those of the table."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from kanon_sql.spec.models.base import Need, NotNegative, Positive, SensitiveModel, Share, Values
from kanon_sql.spec.models.examples import ALIKE, MORE_FREQUENT, SPREAD, Example
from kanon_sql.spec.models.words import ClassWords

__all__ = ["BasicBetaLikeness", "DeltaDisclosure", "EnhancedBetaLikeness", "TCloseness"]


class TCloseness(SensitiveModel):
    """Each class has nearly the distribution of the table (Li, Li, Venkatasubramanian 2007)."""

    title: ClassVar = "t-closeness"
    promise: ClassVar = (
        "In every class, the distribution of the sensitive values is at most t away from their "
        "distribution in the table, so the class adds little to what the table says."
    )
    formula: ClassVar = "EMD(q, p) ≤ t, over all classes (EMD: the earth mover's distance)"
    limitation: ClassVar = (
        "It does not hide what the whole table says about everyone. Even if t is small, a rare "
        "value may be many times more likely in a class than in the table; β-likeness bounds that."
    )
    source: ClassVar = (
        "Li, Li, Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and "
        "l-diversity, ICDE, sections 3 and 4"
    )
    asked_as: ClassVar = "--t 0.2"
    holds_when: ClassVar = (
        "every class has the distribution of the table, up to a distance of t; "
        "`distance=ordered` or `hierarchical` sets how far values are apart"
    )
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

    title: ClassVar = "δ-disclosure privacy"
    promise: ClassVar = (
        "In every class, the share of every sensitive value of the table differs from its share in "
        "the table by a factor below exp(δ), either way."
    )
    formula: ClassVar = "|ln(q / p)| < δ, over all classes and all values of the table"
    limitation: ClassVar = (
        "It does not hide what the whole table says about everyone. The figure over the values "
        "that a class has (present_only) may get worse when classes are merged."
    )
    source: ClassVar = (
        "Brickell, Shmatikov 2008, The cost of privacy: destruction of data-mining utility in "
        "anonymized data publishing, ACM KDD, section 4"
    )
    asked_as: ClassVar = "--check delta_disclosure:delta=1"
    holds_when: ClassVar = "every value is about as frequent in every class as in the table"
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

    title: ClassVar = "basic β-likeness"
    promise: ClassVar = (
        "In no class is the share of a sensitive value more than 1 + β times its share in the "
        "table."
    )
    formula: ClassVar = "(q − p) / p ≤ β, over all classes and the values with q > p"
    limitation: ClassVar = (
        "A common value may still become certain, because its relative gain stays small; enhanced "
        "β-likeness forbids that. It does not bound how much less likely a value becomes."
    )
    source: ClassVar = (
        "Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), "
        "definition 2"
    )
    asked_as: ClassVar = "--check basic_beta_likeness:beta=1"
    holds_when: ClassVar = (
        "in no class is the share of a value more than 1 + β times its share in the table"
    )
    example: ClassVar = Example({"beta": 0.4}, ALIKE, SPREAD, MORE_FREQUENT)
    words: ClassVar = ClassWords(
        found="β is {0}",
        violating="where the share of a value grows more",
        worst="the largest relative gain of a value over the table is {0}",
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)

    beta: NotNegative | None = None
    """Maximum relative gain of a value's share in a class over its share in the table."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares"})


class EnhancedBetaLikeness(SensitiveModel):
    """Basic β-likeness with a tighter bound for frequent values (Cao, Karras 2012)."""

    title: ClassVar = "enhanced β-likeness"
    promise: ClassVar = (
        "In no class is the share of a sensitive value more than 1 + β times its share p in the "
        "table, or 1 − ln p times where that is less."
    )
    formula: ClassVar = "(q − p) / p ≤ min(β, −ln p), over all classes and the values with q > p"
    limitation: ClassVar = (
        "It does not bound how much less likely a value becomes in a class, and does not hide what "
        "the whole table says about everyone."
    )
    source: ClassVar = (
        "Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), "
        "definition 3"
    )
    asked_as: ClassVar = "--check enhanced_beta_likeness:beta=1"
    holds_when: ClassVar = "as basic β-likeness, with a tighter bound for frequent values"
    example: ClassVar = Example({"beta": 0.4}, ALIKE, SPREAD, MORE_FREQUENT)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)
    may_be_infinite: ClassVar = True

    beta: NotNegative | None = None
    """Maximum relative gain of a value's share in a class over its share in the table."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares", "bounds"})
