"""Models of several releases about the same people: what both together give away."""

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
    """A model of what this release and an earlier one of the same people say together."""

    answered_by: ClassVar = "earlier"

    earlier: str | None = None
    """The name of the earlier release; may be left out where there is only one."""


class ComposedKAnonymity(ComposedModel):
    """Linking two releases leaves a crowd of at least k people (Ganta et al. 2008)."""

    title: ClassVar = "composed k-anonymity"
    promise: ClassVar = (
        "Whoever links the records of a person in this release and in an earlier one, and knows "
        "the quasi-identifiers of both, finds at least k people who are in both and share them."
    )
    formula: ClassVar = (
        "min |{q in both: C(q) = C(p), D(q) = D(p)}| ≥ k, over all people p in both; C(p) are the "
        "classes of p in this release, D(p) in the earlier one"
    )
    silence: ClassVar = (
        "Who is in one of the two only is in no such crowd: joiners and leavers say how small "
        "theirs are. What a crowd shares is for composed l-diversity, and three releases together "
        "may say more than any two."
    )
    source: ClassVar = _GANTA
    asked_as: ClassVar = "--earlier r2024.csv --check composed_k_anonymity:k=5"
    holds_when: ClassVar = "whoever links a person in both releases still finds k people"
    example: ClassVar = Example(
        {"k": 3},
        ACROSS,
        TOGETHER,
        "Three people share every class of both releases, and of the three in 0213* only a was in "
        "0213* and 30-39 before: whoever links the two knows which record is hers.",
        earlier=TOGETHER,
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"

    k: Count | None = None
    """The fewest people who are in both and may share their classes in either."""


class ComposedLDiversity(ComposedModel):
    """Two releases leave at least l values that fit both (Ganta et al. 2008)."""

    title: ClassVar = "composed l-diversity"
    promise: ClassVar = (
        "Whoever looks for a person in both releases, and knows that the sensitive value is the "
        "same in both, is left with at least l values."
    )
    formula: ClassVar = (
        "min |V(c) ∩ V(d)| ≥ l, over all pairs of a class c of this release and a class d of the "
        "earlier one with a person in both and a value in common; V are the values of a class"
    )
    silence: ClassVar = (
        "It counts values and not how often they occur, so that 1 − 1/l is not a chance. It counts "
        "on the value being the same: changed_people says for how many it can't be."
    )
    source: ClassVar = f"{_GANTA} (intersection attack)"
    asked_as: ClassVar = "--earlier r2024.csv --check composed_l_diversity:l=2"
    holds_when: ClassVar = "the classes of both releases have l values in common"
    example: ClassVar = Example(
        {"l": 2},
        ACROSS,
        TOGETHER,
        "In 0213* there are flu, cold and ulcer now. Whoever knows that a was in 0213* and 30-39 "
        "before, where there were flu, asthma and HIV, knows that a has the flu.",
        earlier=TOGETHER,
    )
    thresholds: ClassVar = ("l",)
    worst: ClassVar = "least"

    l: Count | None = None  # noqa: E741 - the name that the field uses
    """The fewest values that may be left of what two classes have."""
    sensitive: str | None = None
    """The sensitive attribute; may be left out where only one is declared."""

    @property
    def figures(self) -> dict[str, Worst]:
        """What it achieves, and how many people's value is certain."""
        return {**super().figures, "certain_people": "greatest"}
