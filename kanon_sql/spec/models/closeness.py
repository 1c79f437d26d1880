"""Models that hold the values of a class against those of the table."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import model_validator

from kanon_sql.spec.models.base import Need, NotNegative, Positive, SensitiveModel, Share, Values
from kanon_sql.spec.models.examples import ALIKE, MORE_FREQUENT, SPREAD, Example
from kanon_sql.spec.models.words import ClassWords

__all__ = ["BasicBetaLikeness", "DeltaDisclosure", "EnhancedBetaLikeness", "TCloseness"]


class TCloseness(SensitiveModel):
    """The values of each class are spread as those of the table are (Li, Li, V. 2007)."""

    title: ClassVar = "t-closeness"
    promise: ClassVar = (
        "How the sensitive values are spread in a class differs from how they are spread in the "
        "table by t at most, so belonging to a class tells little."
    )
    formula: ClassVar = "EMD(q, p) ≤ t, over all classes (EMD: the earth mover's distance)"
    silence: ClassVar = (
        "What the whole table tells of everyone it does not hide, and a rare value may become "
        "many times more likely in a class within a small t; β-likeness looks at that."
    )
    source: ClassVar = (
        "Li, Li, Venkatasubramanian 2007, t-closeness: privacy beyond k-anonymity and "
        "l-diversity, ICDE, sections 3 and 4"
    )
    asked_as: ClassVar = "--t 0.2"
    holds_when: ClassVar = (
        "a class is spread as the table is, but for t; `distance=ordered` or `hierarchical` "
        "says how far values are apart"
    )
    example: ClassVar = Example(
        {"t": 0.2},
        ALIKE,
        SPREAD,
        "In 0213* and 30-39 everyone has the flu, in the table four of six.",
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("t",)

    t: Share | None = None
    """The largest distance from the table that a class may have."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """How far two values are apart: all alike, by rank, or by their place in a tree."""
    order: Values | None = None
    """The values in their order, where they are no numbers and no dates."""
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
        "Every sensitive value of the table is in every class about as frequent as in the table, "
        "by a factor below exp(δ) either way."
    )
    formula: ClassVar = "|ln(q / p)| < δ, over all classes and all values of the table"
    silence: ClassVar = (
        "What the whole table tells of everyone it does not hide. Read over the values that a "
        "class has only (present_only) it may get worse when classes are merged."
    )
    source: ClassVar = (
        "Brickell, Shmatikov 2008, The cost of privacy: destruction of data-mining utility in "
        "anonymized data publishing, ACM KDD, section 4"
    )
    asked_as: ClassVar = "--check delta_disclosure:delta=1"
    holds_when: ClassVar = "every value is in every class about as frequent as in the table"
    example: ClassVar = Example(
        {"delta": 0.5}, ALIKE, SPREAD, "In 0213* and 30-39 nobody has asthma or HIV."
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("delta",)
    beside: ClassVar = "present_only"
    may_be_infinite: ClassVar = True
    is_strict: ClassVar = True

    delta: Positive | None = None
    """What the natural logarithm of the factor must stay below."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares", "table_values"})


class BasicBetaLikeness(SensitiveModel):
    """No value becomes more likely in a class by a factor of more than 1 + β."""

    title: ClassVar = "basic β-likeness"
    promise: ClassVar = (
        "No sensitive value is more frequent in a class than in the table by more than β times "
        "its share there."
    )
    formula: ClassVar = "(q − p) / p ≤ β, over all classes and the values with q > p"
    silence: ClassVar = (
        "A common value may still become certain, as its relative gain stays small; enhanced "
        "β-likeness forbids that. That a value becomes less likely is not looked at."
    )
    source: ClassVar = (
        "Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), "
        "definition 2"
    )
    asked_as: ClassVar = "--check basic_beta_likeness:beta=1"
    holds_when: ClassVar = (
        "no value is more frequent in a class than in the table by more than β times its "
        "share there"
    )
    example: ClassVar = Example({"beta": 0.4}, ALIKE, SPREAD, MORE_FREQUENT)
    words: ClassVar = ClassWords(
        found="β is {0}",
        violating="where a value gains more",
        worst="a value is more frequent than in the table by {0} of its share",
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)

    beta: NotNegative | None = None
    """The largest relative gain that a value may have."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares"})


class EnhancedBetaLikeness(SensitiveModel):
    """As basic β-likeness, with a lower bound for frequent values (Cao, Karras 2012)."""

    title: ClassVar = "enhanced β-likeness"
    promise: ClassVar = (
        "No sensitive value is more frequent in a class than in the table by more than β, or "
        "−ln p where that is less, times its share there."
    )
    formula: ClassVar = "(q − p) / p ≤ min(β, −ln p), over all classes and the values with q > p"
    silence: ClassVar = (
        "That a value becomes less likely in a class is not looked at, nor what the whole table "
        "tells of everyone."
    )
    source: ClassVar = (
        "Cao, Karras 2012, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), "
        "definition 3"
    )
    asked_as: ClassVar = "--check enhanced_beta_likeness:beta=1"
    holds_when: ClassVar = "as the basic one, and frequent values are bounded too"
    example: ClassVar = Example({"beta": 0.4}, ALIKE, SPREAD, MORE_FREQUENT)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)
    may_be_infinite: ClassVar = True

    beta: NotNegative | None = None
    """The largest relative gain that a value may have."""

    @property
    def needs(self) -> frozenset[Need]:
        return frozenset({"shares", "class_shares", "bounds"})
