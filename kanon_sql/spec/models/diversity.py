"""Models that ask how varied the sensitive values of a class are."""

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
        "No class has a single value of the sensitive attribute, so belonging to a class never "
        "gives the value away."
    )
    formula: ClassVar = "no class has one distinct sensitive value"
    silence: ClassVar = (
        "Two values are enough to pass, however rare the second is; l-diversity and t-closeness "
        "ask for more."
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
        "Every class has at least l different values of the sensitive attribute, so whoever can "
        "rule out l − 2 of them is still unsure."
    )
    formula: ClassVar = "|distinct sensitive values of a class| ≥ l, over all classes"
    silence: ClassVar = (
        "It counts values and not how often they occur: a class with one value 99 times and "
        "another once has l = 2. Values that mean nearly the same count as different."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, section 3 (distinct l-diversity)"
    asked_as: ClassVar = "--l 3"
    holds_when: ClassVar = "every class has at least l sensitive values"
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
    """The fewest different values that a class may have."""


class EntropyLDiversity(SensitiveModel):
    """The values of each class are as uncertain as l equally likely ones."""

    title: ClassVar = "entropy l-diversity"
    promise: ClassVar = (
        "Guessing the sensitive value of someone in a class is at least as uncertain as drawing "
        "one of l equally likely values."
    )
    formula: ClassVar = "−Σ q ln q ≥ ln l, over all classes"
    silence: ClassVar = (
        "It can't hold where one value is common in the whole table, and it takes values that "
        "mean nearly the same for different ones."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, definition 4.1"
    asked_as: ClassVar = "--check entropy_l_diversity:l=2.5"
    holds_when: ClassVar = "they are as uncertain as l equally likely ones"
    example: ClassVar = Example({"l": 2}, ALIKE, SPREAD, SHARED)
    words: ClassVar = ClassWords(
        found="l is {0}",
        violating="less uncertain than {0} equally likely values",
        worst="the least uncertain class is like {0} equally likely values",
        told="Guessing the {sensitive} of someone in the worst class is like guessing one of {0} "
        "equally likely values.",
    )
    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("l",)

    l: OneOrMore | None = None  # noqa: E741 - the name that the field uses
    """The least effective number of values, exp of the entropy; it need not be whole."""


class RecursiveClDiversity(SensitiveModel):
    """The most frequent value of a class is not too frequent, nor are the rest too rare."""

    title: ClassVar = "recursive (c,l)-diversity"
    promise: ClassVar = (
        "Even when l − 2 other values are ruled out, the most frequent value of a class is less "
        "than c times as frequent as all that remain."
    )
    formula: ClassVar = "r₁ < c · (rₗ + … + rₘ), where r₁ ≥ … ≥ rₘ count the values of a class"
    silence: ClassVar = (
        "It looks at one class alone: a value that is rare everywhere else may still be likely "
        "in it. Values named in allowed may become known."
    )
    source: ClassVar = f"{_MACHANAVAJJHALA}, definitions 4.2 and 4.5 (positive disclosure)"
    asked_as: ClassVar = "--check recursive_cl_diversity:c=2,l=3"
    holds_when: ClassVar = (
        "the most frequent one is less than c times as frequent as those from the l-th on; "
        "`allowed=[flu]` may become known"
    )
    example: ClassVar = Example({"c": 2, "l": 2}, ALIKE, SPREAD, SHARED)
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("c",)
    may_be_infinite: ClassVar = True
    is_strict: ClassVar = True

    c: Positive | None = None
    """How many times as frequent as the rest the most frequent value must stay below."""
    l: Count  # noqa: E741 - the name that the field uses
    """From which value on, counted from the most frequent, the rest begins."""
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
    """No sensitive value is held by more than a share α of a class, and k-anonymity."""

    title: ClassVar = "(α,k)-anonymity"
    promise: ClassVar = (
        "No sensitive value is held by more than a share α of a class, and every class has at "
        "least k records."
    )
    formula: ClassVar = "max q ≤ α and f ≥ k, over all classes"
    silence: ClassVar = (
        "A value that is rare in the table may be as frequent in a class as α allows, which "
        "tells much of its members; δ-disclosure and β-likeness look at that."
    )
    source: ClassVar = (
        "Wong, Li, Fu, Wang 2006, (α,k)-anonymity: an enhanced k-anonymity model for privacy "
        "preserving data publishing, ACM KDD"
    )
    asked_as: ClassVar = "--check alpha_k_anonymity:alpha=0.5,k=5"
    holds_when: ClassVar = (
        "none is held by more than a share α of a class; `values=[HIV]` are those it is about"
    )
    example: ClassVar = Example({"alpha": 0.5, "k": 3}, ALIKE, SPREAD, SHARED)
    words: ClassVar = ClassWords(
        found="α is {0}, k is {k}",
        violating="where a value is more frequent, or that are too small",
        worst="a value is held by a share of {0} of a class at most",
        told="In the worst class {share} have one {sensitive}: so sure one can be of it.",
    )
    worst: ClassVar = "greatest"
    thresholds: ClassVar = ("alpha", "k")
    beside_worst: ClassVar = {"k": ("least", "k")}

    alpha: PositiveShare | None = None
    """The largest share of a class that may hold one value."""
    k: Count | None = None
    """The fewest records (people) that a class may have."""
    values: Values | None = None
    """The values that it is about; all of them where none are named."""

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
    silence: ClassVar = (
        "As with l-diversity, the values may be as unequally frequent, or mean as nearly the "
        "same, as they like."
    )
    source: ClassVar = (
        "Truta, Vinay 2006, Privacy protection: p-sensitive k-anonymity property, ICDE Workshops"
    )
    asked_as: ClassVar = "--check p_sensitive_k_anonymity:p=2,k=5"
    holds_when: ClassVar = "a class has at least p values and k records"
    example: ClassVar = Example({"p": 2, "k": 3}, ALIKE, SPREAD, SHARED)
    words: ClassVar = ClassWords(
        found="p is {0}, k is {k}",
        violating="with fewer values, or that are too small",
        worst="the least diverse class has p = {0}",
        certain=True,
    )
    counts_values: ClassVar = True
    worst: ClassVar = "least"
    thresholds: ClassVar = ("p", "k")
    beside_worst: ClassVar = {"k": ("least", "k")}
    only_grows: ClassVar = True

    p: Count | None = None
    """The fewest different values that a class may have."""
    k: Count | None = None
    """The fewest records (people) that a class may have."""

    @property
    def least_size(self) -> int | None:
        return self.k


class KEAnonymity(SensitiveModel):
    """The numbers of each class differ, and span at least e (Zhang et al. 2007)."""

    title: ClassVar = "(k,e)-anonymity"
    promise: ClassVar = (
        "Every class has at least k different values, and its largest and smallest number are at "
        "least e apart, so belonging to a class never gives an amount away."
    )
    formula: ClassVar = "|distinct values| ≥ k and max − min ≥ e, over all classes"
    silence: ClassVar = (
        "All numbers of a class but one may lie close together: only the two ends are looked at."
    )
    source: ClassVar = (
        "Zhang, Koudas, Srivastava, Yu 2007, Aggregate query answering on anonymized tables, ICDE"
    )
    asked_as: ClassVar = "--check k_e_anonymity:k=3,e=10000"
    holds_when: ClassVar = "a class has at least k different numbers, which span e"
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
        worst="the numbers of a class span {0} or more",
        thresholds=("e", "k"),
        certain=True,
    )
    worst: ClassVar = "least"
    thresholds: ClassVar = ("k", "e")
    beside: ClassVar = "distinct"
    beside_worst: ClassVar = {"distinct": ("least", "k")}
    of_numbers: ClassVar = True

    k: Count | None = None
    """The fewest different values that a class may have. It is not the size of the class."""
    e: NotNegative | None = None
    """The least difference of a class's largest and smallest number."""

    @property
    def reads_values(self) -> bool:
        return True
