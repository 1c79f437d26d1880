"""The models of the sensitive values in a class."""

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from kanon_sql.models.base import (
    Count,
    Need,
    NotNegative,
    OneOrMore,
    Positive,
    PositiveShare,
    SensitiveModel,
    Share,
    Values,
)

__all__ = [
    "AlphaKAnonymity",
    "BasicBetaLikeness",
    "DeltaDisclosure",
    "EnhancedBetaLikeness",
    "EntropyLDiversity",
    "Homogeneity",
    "KEAnonymity",
    "LDiversity",
    "PSensitiveKAnonymity",
    "RecursiveClDiversity",
    "TCloseness",
]


class Homogeneity(SensitiveModel):
    """No class has a single value of the sensitive attribute (Machanavajjhala et al. 2007)."""

    worst: ClassVar = "greatest"
    thresholds: ClassVar = ()
    counts_violations: ClassVar = True

    @property
    def gates(self) -> bool:
        return True


class LDiversity(SensitiveModel):
    """Every class has at least l values of the sensitive attribute."""

    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)
    only_grows: ClassVar = True

    l: Count | None = None
    """Minimum number of different values in a class."""


class EntropyLDiversity(SensitiveModel):
    """The values of each class are as uncertain as l equally likely ones."""

    counts_values: ClassVar = True
    scale: ClassVar = "effective number"
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)

    l: OneOrMore | None = None
    """Minimum effective number of values, the exp of the entropy; it need not be whole."""


class RecursiveClDiversity(SensitiveModel):
    """The most frequent value of a class is not too frequent compared with the rarer ones."""

    scale: ClassVar = "factor"
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("c",)
    may_be_infinite: ClassVar = True
    is_strict: ClassVar = True
    value_list: ClassVar = "allowed"

    c: Positive | None = None
    """Exclusive upper bound of the most frequent value's count over that of the rarer ones."""
    l: Count
    """Rank of the first of the rarer values; the most frequent value has rank 1."""
    allowed: Values | None = None
    """Values that may become known."""

    @property
    def needs(self) -> frozenset[Need]:
        ranked = self.l > 2 or (self.l == 2 and self.allowed is not None)
        return frozenset({"ranks"}) if ranked else frozenset()


class AlphaKAnonymity(SensitiveModel):
    """No sensitive value has a share above α in a class, and k-anonymity holds."""

    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("alpha", "k")
    companion_figures: ClassVar = {"k": ("least", "k")}
    size_threshold: ClassVar = "k"
    value_list: ClassVar = "values"

    alpha: PositiveShare | None = None
    """Maximum share of a value in a class."""
    k: Count | None = None
    """Minimum size of a class, in records (people, with an entity)."""
    values: Values | None = None
    """The values to which alpha applies; by default all."""


class PSensitiveKAnonymity(SensitiveModel):
    """Every class has at least p sensitive values and k records (Truta, Vinay 2006)."""

    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("p", "k")
    companion_figures: ClassVar = {"k": ("least", "k")}
    size_threshold: ClassVar = "k"
    only_grows: ClassVar = True

    p: Count | None = None
    """Minimum number of different values in a class."""
    k: Count | None = None
    """Minimum size of a class, in records (people, with an entity)."""


class KEAnonymity(SensitiveModel):
    """Each class has at least k different numbers, which span e (Zhang et al. 2007)."""

    worst: ClassVar = "least"
    thresholds: ClassVar = ("k", "e")
    companion: ClassVar = "distinct"
    companion_figures: ClassVar = {"distinct": ("least", "k")}
    of_numbers: ClassVar = True

    k: Count | None = None
    """Minimum number of different values in a class; not the size of the class."""
    e: NotNegative | None = None
    """Minimum difference between the largest and the smallest number of a class."""

    @property
    def reads_values(self) -> bool:
        return True


class TCloseness(SensitiveModel):
    """Each class has nearly the distribution of the table (Li, Li, Venkatasubramanian 2007)."""

    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("t",)
    relations: ClassVar = frozenset({"shares", "class_shares"})

    t: Share | None = None
    """Maximum distance between the distribution of a class and that of the table."""
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    """Distance between two values: the same for all, by rank, or by their place in a tree."""
    order: Values | None = None
    """The values from least to greatest, unless they are numbers or dates."""
    hierarchy: str | None = None
    """A CSV file without header: the value, then its ancestors up to one root."""

    @property
    def reads_values(self) -> bool:
        return self.has_own_distance

    @property
    def has_own_distance(self) -> bool:
        return self.distance != "equal"

    @model_validator(mode="after")
    def _require_distance_parameters(self) -> Self:
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

    scale: ClassVar = "logarithm"
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("delta",)
    companion: ClassVar = "present_only"
    may_be_infinite: ClassVar = True
    is_strict: ClassVar = True
    relations: ClassVar = frozenset({"shares", "class_shares", "table_values"})

    delta: Positive | None = None
    """Exclusive upper bound of the natural logarithm of the factor."""


class BasicBetaLikeness(SensitiveModel):
    """No value is more than 1 + β times as likely in a class as in the table."""

    scale: ClassVar = "factor"
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)
    relations: ClassVar = frozenset({"shares", "class_shares"})

    beta: NotNegative | None = None
    """Maximum relative gain of a value's share in a class over its share in the table."""


class EnhancedBetaLikeness(SensitiveModel):
    """Basic β-likeness with a tighter bound for frequent values (Cao, Karras 2012)."""

    scale: ClassVar = "factor"
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("beta",)
    may_be_infinite: ClassVar = True
    relations: ClassVar = frozenset({"shares", "class_shares", "bounds"})

    beta: NotNegative | None = None
    """Maximum relative gain of a value's share in a class over its share in the table."""
