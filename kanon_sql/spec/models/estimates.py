"""Models that estimate the population behind a sample."""

from __future__ import annotations

from typing import ClassVar, Literal

from kanon_sql.spec.models.base import FIGURES_OF_SIZES, Count, Model, Probability, Share
from kanon_sql.spec.models.examples import ALONE, SPREAD, Example

__all__ = ["KMapEstimate", "PopulationUniqueness"]


class PopulationUniqueness(Model):
    """An estimate of how many people are unique in the population (Dankar et al. 2012)."""

    title: ClassVar = "population uniqueness"
    promise: ClassVar = (
        "By estimate, only a bounded share of the population that the table is a sample of is "
        "unique in these columns."
    )
    formula: ClassVar = (
        "estimated uniques / population ≤ max_share; dankar: Pitman where at most a tenth was "
        "sampled, else the lesser of SNB and Zayatz"
    )
    silence: ClassVar = (
        "It is an estimate for simple random samples, often off by a tenth and more: look at all "
        "three. It does not say who is unique."
    )
    source: ClassVar = (
        "Dankar, El Emam, Neisa, Roffey 2012, Estimating the re-identification risk of clinical "
        "data sets, BMC Medical Informatics and Decision Making 12:66"
    )
    asked_as: ClassVar = "--check population_uniqueness:population=900000,max_share=0.01"
    holds_when: ClassVar = "by estimate, a bounded share of the population is unique"
    example: ClassVar = Example(
        {"population": 60, "max_share": 0.1},
        ALONE,
        SPREAD,
        "All six of the sample are alone, so many of the sixty people will be.",
    )
    thresholds: ClassVar = ("max_share",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    worst: ClassVar = "greatest"
    read_off_sizes: ClassVar = True
    answered_by: ClassVar = "estimate"

    population: Count
    """How many people the table is a sample of."""
    max_share: Share | None = None
    """The largest estimated share of unique people."""
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"
    """Which estimate is judged; all three are reported."""


class KMapEstimate(Model):
    """k-map in a population of which the table is a sample, by test (El Emam, Dankar 2008)."""

    title: ClassVar = "k-map estimate"
    promise: ClassVar = (
        "Every class is so large in the sample that, by a statistical test, at least k people of "
        "the population share its values."
    )
    formula: ClassVar = (
        "min f ≥ k′, the least k′ with P(f ≥ k′) ≤ alpha if f is Poisson with mean "
        "k · n / population"
    )
    silence: ClassVar = (
        "It is an estimate for simple random samples, and like k-map void for someone who knows "
        "that the target is in the table."
    )
    source: ClassVar = (
        "El Emam, Dankar 2008, Protecting privacy using k-anonymity, JAMIA 15(5), methods D3 and D4"
    )
    asked_as: ClassVar = "--check k_map_estimate:k=5,population=900000"
    holds_when: ClassVar = "by a test, k people of the population share the values of each class"
    example: ClassVar = Example(
        {"k": 2, "population": 60},
        ALONE,
        SPREAD,
        "A class of one in the sample may well be one of one among the sixty people.",
    )
    thresholds: ClassVar = ("k",)
    computed_bound: ClassVar = "required"
    worst: ClassVar = "least"
    read_off_sizes: ClassVar = True
    answered_by: ClassVar = "estimate"

    k: Count
    """The fewest people of the population that a class may match."""
    population: Count
    """How many people the table is a sample of."""
    alpha: Probability = 0.05
    """The chance of taking a class of k people for a larger one."""
    test: Literal["zero_truncated_poisson", "poisson"] = "zero_truncated_poisson"
    """Whether the test knows that a class it sees is not empty."""

    @property
    def table_figures(self) -> tuple[str, ...]:
        """Those of k-anonymity: it demands a class size too."""
        return FIGURES_OF_SIZES
