"""The models of the matches of a release in a reference."""

from typing import Any, ClassVar, Self

from pydantic import model_validator

from kanon_sql.models.base import Count, Ratio, ReferenceModel, Share, Worst
from kanon_sql.models.risk import RiskModel

__all__ = ["DeltaPresence", "JournalistRisk", "KMap", "MarketerRisk"]


class KMap(ReferenceModel):
    """Every class of the release has at least k matches in the reference (Sweeney 2002)."""

    thresholds: ClassVar = ("k",)
    attacker: ClassVar = "journalist"
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
    def _require_ordered_bounds(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min must not be above max")
        return self


class JournalistRisk(RiskModel, ReferenceModel):
    """Risk of a person who is found through a reference (El Emam 2013)."""

    predicate: ClassVar = "journalist_risk"

    @property
    def class_bounds(self) -> dict[str, Any]:
        return {} if self.class_bound is None else {"bound": self.class_bound}


class MarketerRisk(ReferenceModel):
    """Expected share of records linked correctly, if all are linked (El Emam 2013)."""

    thresholds: ClassVar = ("max_average",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    share_of: ClassVar = "members"
    is_average: ClassVar = True
    worst: ClassVar = "greatest"

    max_average: Share | None = None
    """Maximum share of records that are linked to the right person."""
