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
from kanon_sql.spec.models.words import ClassWords

__all__ = [
    "AlphaKAnonymity",
    "EntropyLDiversity",
    "Homogeneity",
    "KEAnonymity",
    "LDiversity",
    "PSensitiveKAnonymity",
    "RecursiveClDiversity",
]

_MACHANAVAJJHALA = (
    "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity: privacy beyond "
    "k-anonymity, ACM TKDD 1(1)"
)


class Homogeneity(SensitiveModel):
    """No class has a single value of the sensitive attribute (Machanavajjhala et al. 2007)."""

    title: ClassVar = "homogeneity"
    promise: ClassVar = (
        "No class has a single value of the sensitive attribute, so knowing the class alone never "
        "gives the value away."
    )
    formula: ClassVar = "no class has one distinct sensitive value"
    limitation: ClassVar = (
        "Two values are enough, however rare the second is; l-diversity and t-closeness require "
        "more."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, section 2.1 (homogeneity attack)"
    asked_as: ClassVar = "--check homogeneity:sensitive=diagnosis"
    holds_when: ClassVar = "no class has a single sensitive value"
    example: ClassVar = Example({}, ALIKE, SPREAD, SHARED)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ()
    counts_violations: ClassVar = True

    @property
    def gates(self) -> bool:
        return True


class LDiversity(SensitiveModel):
    """Every class has at least l values of the sensitive attribute."""

    title: ClassVar = "l-diversity"
    promise: ClassVar = (
        "Every class has at least l different values of the sensitive attribute, so an attacker "
        "who rules out l − 2 of them is still left with two."
    )
    formula: ClassVar = "|distinct sensitive values of a class| ≥ l, over all classes"
    limitation: ClassVar = (
        "It counts values, not how often they occur: a class with one value 99 times and "
        "another once has l = 2. Values that mean nearly the same count as different."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, section 3 (distinct l-diversity)"
    asked_as: ClassVar = "--l 3"
    holds_when: ClassVar = "every class has at least l different sensitive values"
    example: ClassVar = Example({"l": 2}, ALIKE, SPREAD, SHARED)
    words: ClassVar = ClassWords(
        found="l is {0}",
        violating="with fewer than {0} values",
        worst="the least diverse class has l = {0}",
        certain=True,
    )
    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)
    only_grows: ClassVar = True

    l: Count | None = None  # noqa: E741 - the name that the field uses
    """Minimum number of different values in a class."""


class EntropyLDiversity(SensitiveModel):
    """The values of each class are as uncertain as l equally likely ones."""

    title: ClassVar = "entropy l-diversity"
    promise: ClassVar = (
        "The sensitive value of a person in a class is at least as uncertain, by its entropy, as "
        "one of l equally likely values."
    )
    formula: ClassVar = "−Σ q ln q ≥ ln l, over all classes"
    limitation: ClassVar = (
        "It can't hold if one value is common in the whole table, and values that mean nearly the "
        "same count as different."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, definition 4.1"
    asked_as: ClassVar = "--check entropy_l_diversity:l=2.5"
    holds_when: ClassVar = (
        "the values of a class are at least as uncertain as l equally likely ones"
    )
    example: ClassVar = Example({"l": 2}, ALIKE, SPREAD, SHARED)
    words: ClassVar = ClassWords(
        found="l is {0}",
        violating="less uncertain than {0} equally likely values",
        worst="the least uncertain class is like {0} equally likely values",
        sentence="Guessing the {sensitive} of someone in the worst class is like guessing one of "
        "{0} equally likely values.",
    )
    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)

    l: OneOrMore | None = None  # noqa: E741 - the name that the field uses
    """Minimum effective number of values, the exp of the entropy; it need not be whole."""


class RecursiveClDiversity(SensitiveModel):
    """The most frequent value of a class is not too frequent compared with the rarer ones."""

    title: ClassVar = "recursive (c,l)-diversity"
    promise: ClassVar = (
        "Even if l − 2 other values are ruled out, the most frequent value of a class occurs less "
        "than c times as often as all the remaining ones together."
    )
    formula: ClassVar = "r₁ < c · (rₗ + … + rₘ), where r₁ ≥ … ≥ rₘ count the values of a class"
    limitation: ClassVar = (
        "It judges each class by itself: a value that is rare everywhere else may still be likely "
        "in it. Values named in allowed may become known."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, definitions 4.2 and 4.5 (positive disclosure)"
    asked_as: ClassVar = "--check recursive_cl_diversity:c=2,l=3"
    holds_when: ClassVar = (
        "the most frequent value of a class occurs less than c times as often as the l-th and all "
        "rarer ones together; `allowed=[flu]` may become known"
    )
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

    title: ClassVar = "(α,k)-anonymity"
    promise: ClassVar = (
        "No sensitive value has a share above α in any class, and every class has at least k "
        "records."
    )
    formula: ClassVar = "max q ≤ α and f ≥ k, over all classes"
    limitation: ClassVar = (
        "A value that is rare in the table may have a share of α in a class, which says much about "
        "its members; δ-disclosure and β-likeness bound that."
    )
    source: ClassVar = (
        "Wong, Li, Fu, Wang 2006, (α,k)-anonymity: an enhanced k-anonymity model for privacy "
        "preserving data publishing, ACM KDD"
    )
    asked_as: ClassVar = "--check alpha_k_anonymity:alpha=0.5,k=5"
    holds_when: ClassVar = (
        "no value has a share above α in a class, and a class has at least k records; "
        "`values=[HIV]` limits α to these values"
    )
    example: ClassVar = Example({"alpha": 0.5, "k": 3}, ALIKE, SPREAD, SHARED)
    words: ClassVar = ClassWords(
        found="α is {0}, k is {k}",
        violating="where a value is more frequent, or with too few members",
        worst="the largest share of a value in a class is {0}",
        sentence="In the worst class {share} have the same {sensitive}: an attacker can be that "
        "sure of it.",
    )
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

    title: ClassVar = "p-sensitive k-anonymity"
    promise: ClassVar = (
        "Every class has at least p different values of the sensitive attribute, and at least k "
        "records."
    )
    formula: ClassVar = "|distinct sensitive values of a class| ≥ p and f ≥ k, over all classes"
    limitation: ClassVar = (
        "As with l-diversity, one value may be far more frequent than the others, and values that "
        "mean nearly the same count as different."
    )
    source: ClassVar = (
        "Truta, Vinay 2006, Privacy protection: p-sensitive k-anonymity property, ICDE Workshops"
    )
    asked_as: ClassVar = "--check p_sensitive_k_anonymity:p=2,k=5"
    holds_when: ClassVar = "every class has at least p different sensitive values and k records"
    example: ClassVar = Example({"p": 2, "k": 3}, ALIKE, SPREAD, SHARED)
    words: ClassVar = ClassWords(
        found="p is {0}, k is {k}",
        violating="with fewer values, or with too few members",
        worst="the least diverse class has p = {0}",
        certain=True,
    )
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

    title: ClassVar = "(k,e)-anonymity"
    promise: ClassVar = (
        "Every class has at least k different values, and its largest and smallest number are at "
        "least e apart, so knowing the class alone never gives an amount away."
    )
    formula: ClassVar = "|distinct values| ≥ k and max − min ≥ e, over all classes"
    limitation: ClassVar = (
        "All numbers of a class but one may lie close together: only the largest and the smallest "
        "are compared."
    )
    source: ClassVar = (
        "Zhang, Koudas, Srivastava, Yu 2007, Aggregate query answering on anonymized tables, ICDE"
    )
    asked_as: ClassVar = "--check k_e_anonymity:k=3,e=10000"
    holds_when: ClassVar = "every class has at least k different numbers, which span at least e"
    example: ClassVar = Example(
        {"k": 2, "e": 20},
        CLOSE_PAY,
        SPREAD_PAY,
        "Everyone in 0213* and 30-39 earns 30 or 31.",
        sensitive="income",
    )
    words: ClassVar = ClassWords(
        found="range {0}, {distinct} values",
        violating="with a smaller range, or fewer values",
        worst="the numbers of every class span {0} or more",
        thresholds=("e", "k"),
        certain=True,
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
