"""Models that look at sizes of classes only."""

from __future__ import annotations

from typing import ClassVar

from kanon_sql.spec.models.base import Count, Model, Share


class KAnonymity(Model):
    """Every class has at least k records, or k people where an entity is set (Sweeney 2002)."""

    title: ClassVar = "k-anonymity"
    promise: ClassVar = (
        "Every combination of quasi-identifier values occurs in at least k records, so these "
        "columns never point at fewer than k of them."
    )
    formula: ClassVar = "min f ≥ k, over all classes"
    silence: ClassVar = (
        "It says nothing of what the records of a class share: if all have the same diagnosis, "
        "knowing the class is knowing the diagnosis."
    )
    source: ClassVar = (
        "Sweeney 2002, k-anonymity: a model for protecting privacy, IJUFKS 10(5), definition 3"
    )
    thresholds: ClassVar = ("k",)
    worst: ClassVar = "least"
    with_wildcards: ClassVar = True

    k: Count | None = None
    """The fewest records (people, where an entity is set) that a class may have."""


class SampleUniqueness(Model):
    """The share of records that are alone in their class (Skinner, Elliot 2002)."""

    title: ClassVar = "sample uniqueness"
    promise: ClassVar = "Only a bounded share of the records is alone in its class."
    formula: ClassVar = "Σ f over classes with f = 1, divided by Σ f, ≤ max_share"
    silence: ClassVar = (
        "A class of two is no safer than its other member is discreet; k-anonymity bounds the "
        "smallest class."
    )
    source: ClassVar = (
        "Skinner, Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4), section 2"
    )
    thresholds: ClassVar = ("max_share",)
    worst: ClassVar = "greatest"
    with_wildcards: ClassVar = True

    max_share: Share | None = None
    """The largest share of records that may be alone."""
