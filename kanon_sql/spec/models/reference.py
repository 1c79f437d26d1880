"""Models that hold a table against a reference table."""

from __future__ import annotations

from typing import ClassVar

from pydantic import model_validator

from kanon_sql.spec.models.base import LACKED, Count, NotNegative, ReferenceModel, Share, Worst
from kanon_sql.spec.models.examples import ALONE, ONE_CLASS, REGISTER, SPREAD, Example

__all__ = ["DeltaPresence", "KMap"]


class KMap(ReferenceModel):
    """Every class of the release has at least k matches in the reference (Sweeney 2002)."""

    title: ClassVar = "k-map"
    promise: ClassVar = (
        "Every combination of quasi-identifier values in the release occurs at least k times in "
        "the reidentification dataset, so linking the two never leaves fewer than k candidates."
    )
    formula: ClassVar = "min F ≥ k, over the classes of the release"
    silence: ClassVar = (
        "It is void for someone who knows that the target is in the release; k-anonymity is the "
        "model against them."
    )
    source: ClassVar = (
        "Sweeney 2002, Achieving k-anonymity privacy protection using generalization and "
        "suppression, IJUFKS 10(5), section 2"
    )
    asked_as: ClassVar = "--k-map 10"
    holds_when: ClassVar = (
        "every combination in the release occurs at least k times in the reference"
    )
    example: ClassVar = Example(
        {"k": 6},
        ALONE,
        SPREAD,
        "Each is the only one in the register with these values.",
        reference=REGISTER,
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True
    predicate: ClassVar = "k_map_violated"
    only_grows: ClassVar = True

    k: Count | None = None
    """The fewest records (people) of the reference that a class of the release may match."""

    @property
    def needs_containment(self) -> bool:
        return False


class DeltaPresence(ReferenceModel):
    """Whether someone is in the release stays uncertain (Nergiz, Atzori, Clifton 2007)."""

    title: ClassVar = "δ-presence"
    promise: ClassVar = (
        "For every person of the reference, the chance of being in the release stays within two "
        "bounds, so nobody learns that someone is in it, or is not."
    )
    formula: ClassVar = "min ≤ f / F ≤ max, over all classes of the reference (f = 0 included)"
    silence: ClassVar = (
        "It hides membership only; what the release says of its members is for the models of "
        "sensitive values. It counts on the reference having everyone."
    )
    source: ClassVar = (
        "Nergiz, Atzori, Clifton 2007, Hiding the presence of individuals from shared databases, "
        "ACM SIGMOD, definition of (δmin, δmax)-presence"
    )
    asked_as: ClassVar = "--check delta_presence:min=0.1,max=0.5"
    holds_when: ClassVar = (
        "the chance that someone of the reference is in the release is within two bounds"
    )
    example: ClassVar = Example(
        {"min": 0.1, "max": 0.5},
        ONE_CLASS,
        SPREAD,
        "All six people of the register in 0213* and 30-39 are in the table, and none in 0214*.",
        reference=REGISTER,
    )
    thresholds: ClassVar = ("min", "max")
    worst: ClassVar = "greatest"
    of_reference: ClassVar = True
    statement: ClassVar = "delta_presence"
    predicate: ClassVar = "delta_presence_violated"

    min: Share | None = None
    """The least chance that a person of the reference is in the release."""
    max: NotNegative | None = None
    """The greatest chance."""

    @property
    def needs_containment(self) -> bool:
        return True

    @property
    def figures(self) -> dict[str, Worst]:
        """Either end of what it achieves, and how much of the release the reference lacks."""
        return {"min": "least", "max": "greatest", **LACKED}

    @property
    def table_figures(self) -> tuple[str, ...]:
        """None: the risks say who is found in the reference, not who is in the release."""
        return ()

    @model_validator(mode="after")
    def _bounds_in_order(self) -> DeltaPresence:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min must not be above max")
        return self
