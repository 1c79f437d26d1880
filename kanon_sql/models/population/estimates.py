"""Estimates about the population, from the class sizes of a sample.

Population uniqueness, the class size required for k-map without a reference, and the risk of a
survey record. Pure arithmetic. Each estimate assumes a model of how the records were sampled, and
must be labelled an estimate wherever it is shown.

SciPy is imported where it is used; `individual_risk` needs none.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kanon_sql.errors import InputError, SpecError
from kanon_sql.models.population.plan import require_scipy
from kanon_sql.sql.quoting import SLACK

COUNTABLE = 10**18
"""Upper bound of the world's population; no class needs to be larger."""
SizeCounts = Mapping[int, int]
"""Number of classes by size."""

Test = Literal["zero_truncated_poisson", "poisson"]

_ALMOST = 1e-9
"""Distance of Pitman's alpha from 0 and 1, where the likelihood has no interior maximum."""
_ADDED = 1000
"""Number of terms summed directly; the tail is integrated, accurate to 1e-14."""
_NOTHING = 745
"""exp(-745) is the smallest that does not underflow to 0."""


@dataclass(frozen=True)
class UniquenessEstimates:
    """The estimated share of the population that is unique in its class, by three estimators.

    Each is a share of the population, from 0 to 1, or None if the estimator has no solution.
    """

    zayatz: float | None
    pitman: float | None
    snb: float | None
    small_fraction: bool
    """Whether the sample is at most a tenth of the population."""

    @property
    def dankar(self) -> float | None:
        """The estimate selected by the decision rule.

        For a sample of at most a tenth of the population, Pitman's; otherwise the lower of the
        slide negative binomial and Zayatz's. Zayatz's if the other has no solution.

        Source: Dankar, El Emam, Neisa, Roffey, BMC Medical Informatics and Decision Making 12:66,
        2012, the decision rule.

        >>> UniquenessEstimates(0.36, 0.34, 0.32, small_fraction=True).dankar
        0.34
        >>> UniquenessEstimates(0.36, 0.34, 0.32, small_fraction=False).dankar
        0.32
        >>> UniquenessEstimates(0.36, None, None, small_fraction=False).dankar
        0.36
        """
        chosen = self.pitman if self.small_fraction else self.snb
        if chosen is None or self.zayatz is None:
            return self.zayatz if chosen is None else chosen
        return chosen if self.small_fraction else min(chosen, self.zayatz)

    def estimate(self, estimator: str) -> float | None:
        """The share by `estimator`: dankar, zayatz, pitman or snb; else raises `SpecError`."""
        if estimator not in ("dankar", "zayatz", "pitman", "snb"):
            raise SpecError("estimator must be dankar, zayatz, pitman or snb", "estimator")
        share: float | None = getattr(self, estimator)
        return share


def population_uniqueness(sizes: SizeCounts, population: int) -> UniquenessEstimates:
    """Estimate the share of `population` people who are unique in their class.

    `sizes` are those of a simple random sample of the population. A sample without uniques gives 0,
    and a sample of everyone its own share. An estimator gives None if its equations have no
    solution, or one that is not a share above 0.

    Raises `SpecError` if `population` is less than the sample, or without SciPy.

    Source: Dankar, El Emam, Neisa, Roffey, BMC Medical Informatics and Decision Making 12:66, 2012,
    methods and appendix; each estimator cites its own.
    """
    require_scipy("population_uniqueness")
    records = _records(sizes)
    _refuse_less_than(records, population)
    uniques = sizes.get(1, 0)
    small_fraction = 10 * records <= population
    if not uniques or records == population:
        share = uniques / population
        return UniquenessEstimates(share, share, share, small_fraction)
    return UniquenessEstimates(
        zayatz=_share(zayatz, sizes, population),
        pitman=_share(pitman, sizes, population),
        snb=_share(slide_negative_binomial, sizes, population),
        small_fraction=small_fraction,
    )


def _share(
    estimator: Callable[[SizeCounts, int], float], sizes: SizeCounts, population: int
) -> float | None:
    try:
        share = estimator(sizes, population)
    except ArithmeticError:
        return None
    return share if 0 < share <= 1 else None


def zayatz(sizes: SizeCounts, population: int) -> float:
    """Estimate the share of uniques, with the sample's class sizes taken for the population's.

    A class of i people has exactly one of them in the sample with the hypergeometric probability
    h(i) = i C(N-i, n-1) / C(N, n). The share is s_1^2 h(1) / (n sum of s_i h(i)) for s_i classes of
    i people in a sample of n people out of N. `sizes` must have uniques.

    Source: Zayatz, Estimation of the percent of unique population elements on a microdata file
    using the sample, US Census Bureau, 1991.
    """
    import numpy as np

    records, uniques = _records(sizes), sizes[1]
    # A larger class cannot have exactly one in the sample, or its probability underflows.
    largest = min(max(sizes), population - records + 1, 2 + _NOTHING * population // records)
    # h(i) / h(1) is i times the product of 1 - (n-1)/(N-j) over j < i, which avoids large
    # logarithms.
    one_more = np.log1p(-(records - 1) / (population - np.arange(1.0, largest)))
    chance = np.exp(np.concatenate(([0.0], np.cumsum(one_more))))
    expected_uniques = sum(
        size * classes * chance[size - 1] for size, classes in sizes.items() if size <= largest
    )
    return float(uniques / records * (uniques / expected_uniques))


def pitman(sizes: SizeCounts, population: int) -> float:
    """Estimate the share of uniques by Pitman's sampling formula, in its asymptotic form.

    The share is Gamma(theta+1) / Gamma(theta+alpha) N^(alpha-1) at the maximum-likelihood
    parameters. Raises `ArithmeticError` as `pitman_parameters` does.

    Source: Hoshino, Applying Pitman's sampling formula to microdata disclosure risk assessment,
    Journal of Official Statistics 17(4), 2001.
    """
    from scipy.special import poch

    theta, alpha = pitman_parameters(sizes)
    return float(poch(theta + alpha, 1 - alpha)) * math.pow(population, alpha - 1)


def pitman_parameters(sizes: SizeCounts) -> tuple[float, float]:
    """The maximum-likelihood theta and alpha of Pitman's formula: 0 < alpha < 1, theta > -alpha.

    Raises `ArithmeticError` if the likelihood has no interior maximum: if all are unique, or if it
    decreases in alpha from 0 on.

    Source: Hoshino 2001 (see `pitman`), the likelihood equations.
    """
    import numpy as np
    from scipy.special import digamma

    size = np.array(list(sizes), dtype=float)
    classes_of = np.array(list(sizes.values()), dtype=float)
    records, classes = _records(sizes), sum(sizes.values())
    if classes == records:
        raise ArithmeticError("the likelihood grows with theta without end")

    def likeliest_shift(alpha: float) -> float:
        """The theta + alpha with the highest likelihood, given alpha."""

        def slope(log_shift: float) -> float:
            shift = math.exp(log_shift)
            by_class, _ = _reciprocals(shift / alpha, classes - 1)
            by_record, _ = _reciprocals(shift + 1 - alpha, records - 1)
            return by_class / alpha - by_record

        # The slope has one root: the two sums are Laplace transforms of functions of t, of which
        # the first gains on the second. The bounds follow from a termwise comparison.
        lowest = 1 / (1 / (1 - alpha) + 2 + math.log(records))
        highest = (classes - 1) * (records - 1) / (records - classes) + 2
        return math.exp(_root(slope, math.log(lowest), math.log(highest)))

    def slope(alpha: float) -> float:
        _, by_class = _reciprocals(likeliest_shift(alpha) / alpha, classes - 1)
        by_size = classes_of * (digamma(size - alpha) - digamma(1 - alpha))
        return by_class / alpha - float(by_size.sum())

    alpha = _root(slope, _ALMOST, 1 - _ALMOST)
    return likeliest_shift(alpha) - alpha, alpha


def slide_negative_binomial(sizes: SizeCounts, population: int) -> float:
    """Estimate the share of uniques by a negative binomial, shifted so that no class is empty.

    Of K classes, each with F - 1 distributed as NB(alpha, beta), K beta^alpha are unique. Raises
    `ArithmeticError` as `snb_parameters` does.

    Source: Chen & Keller-McNulty, Estimation of identification disclosure risk in microdata,
    Journal of Official Statistics 14(1), 1998.
    """
    classes = population_classes(sizes, population)
    alpha, beta = snb_parameters(
        sizes[1] / classes, sizes.get(2, 0) / classes, _records(sizes) / population
    )
    return classes / population * math.pow(beta, alpha)


def snb_parameters(once: float, twice: float, fraction: float) -> tuple[float, float]:
    """The alpha and beta for these shares of classes with one and two people in the sample.

    `once` and `twice` are these shares of the population's classes; `fraction`, below 1, is the
    sampling fraction. With q = 1 - fraction, d = q (1 - beta):

        once  = fraction (beta / (1-d))^alpha (1 + alpha d / (1-d))
        twice = alpha beta^alpha fraction^2 (1-beta) (2 - (1-alpha) d) / (2 (1-d)^(alpha+2))

    Raises `ArithmeticError` if no alpha > 0 and 0 < beta < 1 solve them.

    Source: Chen & Keller-McNulty 1998 (see `slide_negative_binomial`), the moment equations.
    """
    if not twice:
        raise ArithmeticError("no pairs: alpha would be 0")
    ratio = 2 * twice / (once * fraction)

    def solution(logit: float) -> tuple[float, float, float]:
        """Alpha, beta and the logarithm of once / fraction, for the logit of beta."""
        beta, rest = 1 / (1 + math.exp(-logit)), 1 / (1 + math.exp(logit))
        d, kept = (1 - fraction) * rest, fraction + (1 - fraction) * beta
        # twice / once gives a quadratic equation for alpha with one positive root.
        linear, constant = 2 - d - ratio * kept * (1 - fraction), ratio * kept * kept / rest
        square_root = math.sqrt(linear * linear + 4 * d * constant)
        alpha = (
            2 * constant / (linear + square_root)
            if linear > 0
            else (square_root - linear) / (2 * d)
        )
        log_odds = math.log1p(-fraction * rest / kept) if beta > 0.5 else math.log(beta / kept)
        return alpha, beta, alpha * log_odds + math.log1p(alpha * d / kept)

    # Monotone in beta, so that there is at most one root.
    logit = _root(lambda logit: solution(logit)[2] - math.log(once / fraction), -700, 20)
    alpha, beta, _ = solution(logit)
    return alpha, beta


def population_classes(sizes: SizeCounts, population: int) -> float:
    """Estimate the number of classes of the population: Shlosser's third estimator.

    `sizes` must have uniques, and `population` must exceed the sample.

    Source: Haas & Stokes, Estimating the number of classes in a finite population, Journal of the
    American Statistical Association 93, 1998 (Shlosser's estimator, modified).
    """
    import numpy as np

    size = np.array(list(sizes), dtype=float)
    classes_of = np.array(list(sizes.values()), dtype=float)
    fraction = _records(sizes) / population
    log_missed, log_both = math.log1p(-fraction), math.log1p(-fraction * fraction)

    def total(of_a_class: Any) -> float:
        return float((of_a_class * classes_of).sum())

    ratio = total(size * fraction**2 * np.exp((size - 1) * log_both)) / total(
        # (1-f)^i ((1+f)^i - 1), where the second factor alone would overflow
        -np.exp(size * log_both) * np.expm1(-size * math.log1p(fraction))
    )
    missed = total(np.exp(size * log_missed))
    met_once = total(size * fraction * np.exp((size - 1) * log_missed))
    return sum(sizes.values()) + sizes[1] * ratio * (missed / met_once) ** 2


# --- k-map without a reference ----------------------------------------------------------------


def required_class_size(k: int, records: int, population: int, alpha: float, test: Test) -> int:
    """The minimum sample size of a class to conclude that it has k people in `population`.

    A class with k people in the population has about Poisson(k n / N) of them in a sample of
    `records` people. The size is sufficient if this many or more have a probability of at most
    `alpha` (plus the slack); `zero_truncated_poisson` conditions on classes that occur in the
    sample, as those of a table do. From 1 to `k`: a class of k needs no test.

    Raises `SpecError` if `population` is less than `records`, or without SciPy.

    Source: El Emam & Dankar, Protecting privacy using k-anonymity, Journal of the American Medical
    Informatics Association 15(5), 2008, hypothesis tests D3 and D4.
    """
    require_scipy("k_map_estimate")
    from scipy.special import pdtrc

    _refuse_less_than(records, population)
    expected = k * records / population
    tested = -math.expm1(-expected) if test == "zero_truncated_poisson" else 1.0

    def is_enough(size: int) -> bool:
        return bool(pdtrc(size - 1, expected) <= (alpha + SLACK) * tested)

    return 1 + bisect_left(range(1, min(k, COUNTABLE)), True, key=is_enough)


# --- risk of a survey -------------------------------------------------------------------------


def individual_risk(size: int, weight: float) -> float:
    """Re-identification risk of a survey record: the mean of 1 / F, given its class.

    `size` records of the class are in the survey and represent `weight` people, the sum of their
    weights. F, the people of the class in the population, is negative binomial with the sampling
    fraction p = size / weight, which gives the risk (p / size) 2F1(1, 1; size + 1; 1 - p): between
    1 / weight and 1 / size, and 1 / size if all were sampled. Accurate to a relative 1e-13.

    Raises `InputError` if `weight` is less than `size`, or is not a number.

    Source: Benedetti & Franconi, Statistical and technological solutions for controlled data
    dissemination, New Techniques and Technologies for Statistics, 1998; the form above is Euler's
    transformation of theirs.

    >>> round(individual_risk(1, 215), 9)
    0.025096439
    >>> individual_risk(4, 4)
    0.25
    """
    if not size * (1 - SLACK) <= weight < math.inf:
        raise InputError(
            "The weights of a class add up to fewer people than it has records, or to no number. "
            "A weight is the number of people that a record stands for, 1 or more."
        )
    weight = max(weight, size)
    sampled, rest = size / weight, (weight - size) / weight
    if size < 32 and sampled < 0.5:
        # Recursion from one size to the next, by parts: the odds are below 1, so errors decay.
        odds = sampled / rest
        risk = -odds * math.log(sampled)
        for smaller in range(1, size):
            risk = odds * (1 / smaller - risk)
        return risk
    # The hypergeometric series: positive terms, and few of them if size or p is large.
    risk = term = 1 / weight
    step = 0
    while term > 1e-17 * risk:
        step += 1
        term *= rest * step / (size + step)
        risk += term
    return risk


# --- arithmetic -------------------------------------------------------------------------------


def _records(sizes: SizeCounts) -> int:
    return sum(size * classes for size, classes in sizes.items())


def _refuse_less_than(records: int, population: int) -> None:
    if population < records:
        raise SpecError(
            f"population is {population:,}, fewer than the {records:,} people of the table. "
            "It is the number of people from which the table was sampled.",
            "population",
        )


def _reciprocals(first: float, terms: int) -> tuple[float, float]:
    """The sums over j = 1 .. terms of 1 / (x+j) and of j / (x+j), where `first` is x + 1 > 0.

    Their tails by Euler and Maclaurin, in forms that avoid cancellation for large x.
    """
    import numpy as np
    from scipy.special import hyp2f1

    added = min(terms, _ADDED)
    j = np.arange(1.0, added + 1)
    x_plus_j = first + (j - 1)
    unweighted, weighted = float((1 / x_plus_j).sum()), float((j / x_plus_j).sum())
    if terms > added:
        begin, end = first + added, first + (terms - 1)
        growth = (terms - added - 1) / begin
        log_growth = math.log1p(growth)
        # growth - log(1 + growth), about growth^2 / 2 for small growth
        excess = growth**2 / 2 * float(hyp2f1(1, 2, 3, -growth))
        bend = (begin**-2 - end**-2) / 12
        unweighted += log_growth + (1 / begin + 1 / end) / 2 + bend
        weighted += begin * excess + (added + 1) * log_growth
        weighted += ((added + 1) / begin + terms / end) / 2 - (first - 1) * bend
    return unweighted, weighted


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of `function`, which must change its sign; raises `ArithmeticError` otherwise."""
    from scipy.optimize import brentq

    if (function(low) > 0) == (function(high) > 0):
        raise ArithmeticError("no root between the bounds")
    root, report = brentq(
        function, low, high, xtol=1e-14, rtol=1e-14, maxiter=1000, full_output=True, disp=False
    )
    if not report.converged:
        raise ArithmeticError("no root found")
    return float(root)
