"""The models of the sizes of classes, in the release or in a reference."""

from __future__ import annotations

from typing import ClassVar

from pydantic import model_validator

from kanon_sql.question.models.base import Count, Model, Ratio, ReferenceModel, Share, Worst

__all__ = ["DeltaPresence", "KAnonymity", "KMap"]


class KAnonymity(Model):
    """Every class has at least k records, or k people where an entity is set (Sweeney 2002)."""

    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True
    only_grows: ClassVar = True
    size_threshold: ClassVar = "k"

    k: Count | None = None
    """Minimum size of a class, in records (people, with an entity)."""


class KMap(ReferenceModel):
    """Every class of the release has at least k matches in the reference (Sweeney 2002)."""

    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True
    predicate: ClassVar = "k_map_violated"
    only_grows: ClassVar = True

    k: Count | None = None
    """Minimum number of records (people) of the reference that a class of the release matches."""

    @property
    def needs_containment(self) -> bool:
        return False

    @property
    def described(self) -> dict[str, str]:
        """A class with more records than matches has no fewer matches for that."""
        return {**super().described, "exceeding_classes": "makes no match smaller"}


class DeltaPresence(ReferenceModel):
    """Bounds the chance that a person is in the release (Nergiz, Atzori, Clifton 2007)."""

    thresholds: ClassVar = ("min", "max")
    worst: ClassVar = "greatest"
    of_reference: ClassVar = True
    statement: ClassVar = "delta_presence"
    predicate: ClassVar = "delta_presence_violated"

    min: Share | None = None
    """Minimum chance that a person of the reference is in the release."""
    max: Ratio | None = None
    """Maximum of that chance."""

    @property
    def needs_containment(self) -> bool:
        return True

    @property
    def figures(self) -> dict[str, Worst]:
        """Both ends of the range of chances."""
        return {"min": "least", "max": "greatest"}

    @property
    def table_figures(self) -> tuple[str, ...]:
        """None: the risks are chances of being found, not of being in the release."""
        return ()

    @model_validator(mode="after")
    def _require_ordered_bounds(self) -> DeltaPresence:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min must not be above max")
        return self
