"""Models of what two releases of the same people disclose together."""

from __future__ import annotations

from typing import ClassVar

from kanon_sql.spec.models.base import Count, Model, Worst
from kanon_sql.spec.models.examples import ACROSS, TOGETHER, Example

__all__ = ["ComposedKAnonymity", "ComposedLDiversity"]

_GANTA = (
    "Ganta, Kasiviswanathan, Smith 2008, Composition attacks and auxiliary information in data "
    "privacy, ACM KDD, section 2"
)


class ComposedModel(Model):
    """A model of this release together with an earlier one of the same people."""

    answered_by: ClassVar = "earlier"

    earlier: str | None = None
    """The name of the earlier release; optional if there is only one."""


class ComposedKAnonymity(ComposedModel):
    """Linking two releases leaves a crowd of at least k people (Ganta et al. 2008)."""

    title: ClassVar = "composed k-anonymity"
    promise: ClassVar = (
        "An attacker who links a person's records in this release and in an earlier one, and knows "
        "the quasi-identifiers of both, finds at least k people who are in both and share them."
    )
    formula: ClassVar = (
        "min |{q in both: C(q) = C(p), D(q) = D(p)}| ≥ k, over all people p in both; C(p) are the "
        "classes of p in this release, D(p) in the earlier one"
    )
    limitation: ClassVar = (
        "It does not cover people who are in one release only: joiners and leavers give their "
        "smallest crowds. What a crowd shares is for composed l-diversity, and three releases "
        "together may disclose more than any two."
    )
    source: ClassVar = _GANTA
    asked_as: ClassVar = "--earlier r2024.csv --check composed_k_anonymity:k=5"
    holds_when: ClassVar = (
        "linking a person's records in both releases still leaves at least k people"
    )
    example: ClassVar = Example(
        {"k": 3},
        ACROSS,
        TOGETHER,
        "Every class of both releases has three people. Of the three in 0213*, only a was in 0213* "
        "and 30-39 before: linking the two releases finds her record.",
        earlier=TOGETHER,
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"

    k: Count | None = None
    """Minimum number of people who share their classes in both releases."""


class ComposedLDiversity(ComposedModel):
    """Two releases leave at least l values that occur in both (Ganta et al. 2008)."""

    title: ClassVar = "composed l-diversity"
    promise: ClassVar = (
        "An attacker who looks for a person in both releases, and knows that the sensitive value "
        "is the same in both, is left with at least l values."
    )
    formula: ClassVar = (
        "min |V(c) ∩ V(d)| ≥ l, over all pairs of a class c of this release and a class d of the "
        "earlier one with a person in both and a value in common; V are the values of a class"
    )
    limitation: ClassVar = (
        "It counts values, not how often they occur, so 1 − 1/l is not a probability. It assumes "
        "that a person's value is the same in both: changed_people counts those for whom it can't "
        "be."
    )
    source: ClassVar = f"{_GANTA} (intersection attack)"
    asked_as: ClassVar = "--earlier r2024.csv --check composed_l_diversity:l=2"
    holds_when: ClassVar = "a person's classes in both releases have at least l values in common"
    example: ClassVar = Example(
        {"l": 2},
        ACROSS,
        TOGETHER,
        "0213* now has flu, cold and ulcer. Person a was in 0213* and 30-39 before, which had flu, "
        "asthma and HIV: only the flu is in both.",
        earlier=TOGETHER,
    )
    thresholds: ClassVar = ("l",)
    worst: ClassVar = "least"

    l: Count | None = None  # noqa: E741 - the name that the field uses
    """Minimum number of values that a person's two classes have in common."""
    sensitive: str | None = None
    """The sensitive attribute; optional if only one is declared."""

    @property
    def figures(self) -> dict[str, Worst]:
        """The smallest number of values left, and the number of people whose value is certain."""
        return {**super().figures, "certain_people": "greatest"}
