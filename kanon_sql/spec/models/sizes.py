"""Models of class sizes alone."""

from __future__ import annotations

from typing import ClassVar

from kanon_sql.spec.models.base import Count, Model
from kanon_sql.spec.models.examples import ALONE, SPREAD, Example

__all__ = ["KAnonymity"]


class KAnonymity(Model):
    """Every class has at least k records, or k people where an entity is set (Sweeney 2002)."""

    title: ClassVar = "k-anonymity"
    promise: ClassVar = (
        "Every combination of quasi-identifier values occurs in at least k records, so these "
        "columns never point at fewer than k of them."
    )
    formula: ClassVar = "min f ≥ k, over all classes"
    limitation: ClassVar = (
        "It does not bound what the records of a class share: if all have the same sensitive "
        "value, anyone who finds the class knows that value."
    )
    source: ClassVar = (
        "Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3"
    )
    asked_as: ClassVar = "--k 5"
    holds_when: ClassVar = (
        "every combination of quasi-identifier values occurs in at least k records (people, "
        "with `--entity`)"
    )
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
