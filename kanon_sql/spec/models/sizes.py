"""Models of class sizes alone."""

from __future__ import annotations

from typing import ClassVar

from kanon_sql.spec.models.base import Count, Model
from kanon_sql.spec.models.examples import ALONE, SPREAD, Example

__all__ = ["KAnonymity"]


class KAnonymity(Model):
    """Every class has at least k records, or k people where an entity is set (Sweeney 2002)."""

    example: ClassVar = Example(
        {"k": 3}, ALONE, SPREAD, "Every record is the only one of its class."
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True
    only_grows: ClassVar = True

    k: Count | None = None
    """Minimum size of a class, in records (people, with an entity)."""

    @property
    def least_size(self) -> int | None:
        return self.k
