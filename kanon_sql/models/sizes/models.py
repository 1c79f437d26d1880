"""The models of the sizes of classes."""

from typing import Any, ClassVar

from kanon_sql.models.base import ColumnSet, Count, Model, Share
from kanon_sql.models.risk import RiskModel, smallest_class

__all__ = ["KAnonymity", "ProsecutorRisk", "SampleUniqueness"]


class KAnonymity(Model):
    """Every class has at least k records, or k people where an entity is set (Sweeney 2002)."""

    thresholds: ClassVar = ("k",)
    attacker: ClassVar = "prosecutor"
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True
    only_grows: ClassVar = True
    size_threshold: ClassVar = "k"

    k: Count | None = None
    """Minimum size of a class, in records (people, with an entity)."""
    columns: ColumnSet | None = None
    """The quasi-identifiers that an attacker knows; by default all of them."""

    @property
    def least_size(self) -> int | None:
        """None where it is about larger classes, those of fewer columns."""
        return self.k if self.columns is None else None

    @property
    def sets_k(self) -> bool:
        return self.columns is None

    @property
    def judged_by_class(self) -> bool:
        return self.columns is None

    @property
    def class_thresholds(self) -> dict[str, Any]:
        return super().class_thresholds if self.columns is None else {}

    @property
    def table_figures(self) -> tuple[str, ...]:
        return super().table_figures if self.columns is None else ()


class ProsecutorRisk(RiskModel):
    """Risk of a person who is known to be in the table (El Emam 2013)."""

    read_off_sizes: ClassVar = True
    with_wildcards: ClassVar = True

    @property
    def least_size(self) -> int | None:
        return smallest_class(self.max_highest) if self.max_highest else None


class SampleUniqueness(Model):
    """The share of records that are alone in their class (Skinner, Elliot 2002)."""

    thresholds: ClassVar = ("max_share",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    share_of: ClassVar = "members"
    worst: ClassVar = "greatest"
    with_wildcards: ClassVar = True

    max_share: Share | None = None
    """Maximum share of records that are alone in their class."""
