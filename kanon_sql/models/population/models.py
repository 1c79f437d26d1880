"""The models of a population that a table was sampled from."""

from typing import ClassVar, Literal

from kanon_sql.models.base import FIGURES_OF_SIZES, Count, Model, Probability, Share

__all__ = ["KMapEstimate", "PopulationUniqueness"]


class PopulationUniqueness(Model):
    """Estimated share of people who are unique in the population (Dankar et al. 2012)."""

    thresholds: ClassVar = ("max_share",)
    table_thresholds: ClassVar = thresholds
    in_percent: ClassVar = True
    share_of: ClassVar = "population"
    worst: ClassVar = "greatest"
    read_off_sizes: ClassVar = True
    in_one_statement: ClassVar = False

    population: Count
    """Number of people in the population from which the table was sampled."""
    max_share: Share | None = None
    """Maximum estimated share of unique people."""
    estimator: Literal["dankar", "zayatz", "pitman", "snb"] = "dankar"
    """The estimate that is compared with max_share; all three are reported."""


class KMapEstimate(Model):
    """k-map in the population of a sample, by a test (El Emam, Dankar 2008)."""

    thresholds: ClassVar = ("k",)
    computed_bound: ClassVar = "required"
    worst: ClassVar = "least"
    read_off_sizes: ClassVar = True
    in_one_statement: ClassVar = False

    k: Count
    """Minimum number of people of the population who share the values of a class."""
    population: Count
    """Number of people in the population from which the table was sampled."""
    alpha: Probability = 0.05
    """Significance level: the chance of taking a class of k people for a larger one."""
    test: Literal["zero_truncated_poisson", "poisson"] = "zero_truncated_poisson"
    """Distribution of a class's size in the sample; truncated, as no observed class is empty."""

    @property
    def table_figures(self) -> tuple[str, ...]:
        """Those of k-anonymity, because this model requires a class size too."""
        return FIGURES_OF_SIZES
