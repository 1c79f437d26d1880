"""Models that look at sizes of classes only."""

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
    silence: ClassVar = (
        "It says nothing of what the records of a class share: if all have the same sensitive "
        "value, knowing the class is knowing that value."
    )
    source: ClassVar = (
        "Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3"
    )
    asked_as: ClassVar = "--k 5"
    holds_when: ClassVar = (
        "every combination of quasi-identifier values occurs in at least k records (people, "
        "with `--entity`)"
    )
    example: ClassVar = Example({"k": 3}, ALONE, SPREAD, "Every record is alone with its values.")
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True
    only_grows: ClassVar = True

    k: Count | None = None
    """The fewest records (people, where an entity is set) that a class may have."""

    @property
    def least_size(self) -> int | None:
        return self.k
