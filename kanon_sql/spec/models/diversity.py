"""Models of the diversity of the sensitive values in a class."""

from __future__ import annotations

from typing import Any, ClassVar

from kanon_sql.spec.models.base import (
    Count,
    Need,
    NotNegative,
    OneOrMore,
    Positive,
    PositiveShare,
    SensitiveModel,
    Values,
)
from kanon_sql.spec.models.examples import ALIKE, CLOSE_PAY, SHARED, SPREAD, SPREAD_PAY, Example

__all__ = [
    "AlphaKAnonymity",
    "EntropyLDiversity",
    "Homogeneity",
    "KEAnonymity",
    "LDiversity",
    "PSensitiveKAnonymity",
    "RecursiveClDiversity",
]


class Homogeneity(SensitiveModel):
    """No class has a single value of the sensitive attribute (Machanavajjhala et al. 2007)."""

    example: ClassVar = Example({}, ALIKE, SPREAD, SHARED)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ()
    counts_violations: ClassVar = True

    @property
    def gates(self) -> bool:
        return True


class LDiversity(SensitiveModel):
    """Every class has at least l values of the sensitive attribute."""

    example: ClassVar = Example({"l": 2}, ALIKE, SPREAD, SHARED)
    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)
    only_grows: ClassVar = True

    l: Count | None = None  # noqa: E741 - the name that the field uses
    """Minimum number of different values in a class."""


class EntropyLDiversity(SensitiveModel):
    """The values of each class are as uncertain as l equally likely ones."""

    example: ClassVar = Example({"l": 2}, ALIKE, SPREAD, SHARED)
    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)

    l: OneOrMore | None = None  # noqa: E741 - the name that the field uses
    """Minimum effective number of values, the exp of the entropy; it need not be whole."""


class RecursiveClDiversity(SensitiveModel):
    """The most frequent value of a class is not too frequent compared with the rarer ones."""

    example: ClassVar = Example({"c": 2, "l": 2}, ALIKE, SPREAD, SHARED)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("c",)
    may_be_infinite: ClassVar = True
    is_strict: ClassVar = True

    c: Positive | None = None
    """Exclusive upper bound of the most frequent value's count over that of the rarer ones."""
    l: Count  # noqa: E741 - the name that the field uses
    """Rank of the first of the rarer values; the most frequent value has rank 1."""
    allowed: Values | None = None
    """Values that may become known."""

    @property
    def needs(self) -> frozenset[Need]:
        ranked = self.l > 2 or (self.l == 2 and self.allowed is not None)
        return frozenset({"ranks"}) if ranked else frozenset()

    @property
    def named_values(self) -> tuple[Any, ...]:
        return self.allowed or ()


class AlphaKAnonymity(SensitiveModel):
    """No sensitive value has a share above α in a class, and k-anonymity holds."""

    example: ClassVar = Example({"alpha": 0.5, "k": 3}, ALIKE, SPREAD, SHARED)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("alpha", "k")
    companion_figures: ClassVar = {"k": ("least", "k")}

    alpha: PositiveShare | None = None
    """Maximum share of a value in a class."""
    k: Count | None = None
    """Minimum size of a class, in records (people, with an entity)."""
    values: Values | None = None
    """The values to which alpha applies; by default all."""

    @property
    def least_size(self) -> int | None:
        return self.k

    @property
    def named_values(self) -> tuple[Any, ...]:
        return self.values or ()


class PSensitiveKAnonymity(SensitiveModel):
    """Every class has at least p sensitive values and k records (Truta, Vinay 2006)."""

    example: ClassVar = Example({"p": 2, "k": 3}, ALIKE, SPREAD, SHARED)
    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("p", "k")
    companion_figures: ClassVar = {"k": ("least", "k")}
    only_grows: ClassVar = True

    p: Count | None = None
    """Minimum number of different values in a class."""
    k: Count | None = None
    """Minimum size of a class, in records (people, with an entity)."""

    @property
    def least_size(self) -> int | None:
        return self.k


class KEAnonymity(SensitiveModel):
    """Each class has at least k different numbers, which span e (Zhang et al. 2007)."""

    example: ClassVar = Example(
        {"k": 2, "e": 20},
        CLOSE_PAY,
        SPREAD_PAY,
        "Everyone in 0213* and 30-39 earns 30 or 31.",
        sensitive="income",
    )
    worst: ClassVar = "least"
    thresholds: ClassVar = ("k", "e")
    beside: ClassVar = "distinct"
    companion_figures: ClassVar = {"distinct": ("least", "k")}
    of_numbers: ClassVar = True

    k: Count | None = None
    """Minimum number of different values in a class; not the size of the class."""
    e: NotNegative | None = None
    """Minimum difference between the largest and the smallest number of a class."""

    @property
    def reads_values(self) -> bool:
        return True
