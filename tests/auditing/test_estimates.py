"""Are the estimates those of the papers, and do they stay so on samples nobody thought of?"""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal, localcontext
from itertools import pairwise

import pytest
from generated import few
from hypothesis import example, given
from hypothesis import strategies as st

from kanon_sql.errors import InputError, SpecError
from kanon_sql.models.population import estimates
from kanon_sql.models.population.estimates import (
    SizeCounts,
    UniquenessEstimates,
    individual_risk,
    population_uniqueness,
    required_class_size,
)
from kanon_sql.models.population.plan import require_scipy

# fmt: off
ADULT = {
    1: 15512, 2: 2098, 3: 754, 4: 375, 5: 189, 6: 155, 7: 97, 8: 73, 9: 39, 10: 37, 11: 29, 12: 18,
    13: 23, 14: 14, 15: 15, 16: 9, 17: 11, 18: 10, 19: 10, 20: 5, 21: 3, 22: 4, 23: 3, 24: 2, 25: 1,
    26: 3, 27: 5, 29: 1, 30: 2, 32: 1, 34: 1, 35: 1, 36: 1, 45: 1,
}
"""The classes of ARX's adult.csv, 30,162 records, all nine columns being quasi-identifiers."""
SAMPLED_1_IN_20 = (
    {1: 1344, 2: 56, 3: 8, 4: 7},
    {1: 1321, 2: 73, 3: 9, 4: 1, 5: 2},
    {1: 1355, 2: 63, 3: 9},
)
SAMPLED_1_IN_5 = (
    {1: 4458, 2: 383, 3: 108, 4: 45, 5: 27, 6: 13, 7: 6, 8: 2, 9: 1, 12: 2},
    {1: 4462, 2: 412, 3: 96, 4: 43, 5: 19, 6: 9, 7: 11, 8: 4, 9: 2, 10: 1},
    {1: 4496, 2: 390, 3: 117, 4: 43, 5: 19, 6: 10, 7: 6, 8: 1, 9: 2, 10: 1},
)
"""Simple random samples of it."""
# fmt: on


def near(number: float) -> object:
    """Equal to 1e-9 of itself, or 1e-12."""
    return pytest.approx(number, rel=1e-9, abs=1e-12)


# --- worked examples: uniques of the population -----------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "population", "zayatz", "pitman", "snb", "dankar"),
    [
        # ARX TestRiskMetrics.java publishes Pitman's and Zayatz's; its slide negative binomial
        # does not converge, because its equation multiplies where the paper's divides.
        (ADULT, 3_016_200, 0.27171271996, 0.14460835312, 0.20467901530, "pitman"),
        (ADULT, 301_620, 0.32074023934, 0.27684993884, 0.24997693757, "pitman"),
        (ADULT, 150_810, 0.35770992348, 0.33662801702, 0.31945937540, "snb"),
        # The truth is 15,512 of 30,162 people, which is 0.514.
        (SAMPLED_1_IN_20[0], 30_160, 0.80065277034, 0.60792530355, 0.77384324708, "pitman"),
        (SAMPLED_1_IN_20[1], 30_160, 0.77370329804, 0.47894470576, 0.74877866853, "pitman"),
        (SAMPLED_1_IN_20[2], 30_160, 0.81218404647, 0.46810763556, 0.79267107922, "pitman"),
        (SAMPLED_1_IN_5[0], 30_160, 0.60241843853, 0.54418393136, 0.54348487993, "snb"),
        (SAMPLED_1_IN_5[1], 30_160, 0.60214184626, 0.53913324902, 0.54360690246, "snb"),
        (SAMPLED_1_IN_5[2], 30_160, 0.60837021845, 0.54264256195, 0.54854177365, "snb"),
    ],
)
def test_population_uniqueness(
    sizes: SizeCounts, population: int, zayatz: float, pitman: float, snb: float, dankar: str
) -> None:
    found = population_uniqueness(sizes, population)

    assert (found.zayatz, found.pitman, found.snb) == pytest.approx(
        (zayatz, pitman, snb), rel=0, abs=1e-9
    )
    assert found.dankar == found.estimate("dankar") == found.estimate(dankar)


def test_zayatz_by_hand() -> None:
    # h(1) = 1/2 and h(2) = 4/7, so that a unique is one in the population with chance 7/11:
    # 2 * 7/11 * 8/4 of 8 people.
    assert population_uniqueness({1: 2, 2: 1}, 8).zayatz == near(7 / 22)


def test_pitman_parameters() -> None:
    theta, alpha = estimates.pitman_parameters(ADULT)

    assert (theta, alpha) == (near(3176.2335179029515), near(0.7179489482476453))


@pytest.mark.parametrize(
    ("population", "classes", "alpha", "beta"),
    [
        (301_620, 105499.47382907252, 0.15712638982928612, 0.1178990826956982),
        (150_810, 65149.9826011927, 0.17145436449583798, 0.17200798877011954),
    ],
)
def test_slide_negative_binomial(
    population: int, classes: float, alpha: float, beta: float
) -> None:
    found = estimates.population_classes(ADULT, population)
    parameters = estimates.snb_parameters(15512 / found, 2098 / found, 30162 / population)

    assert (found, *parameters) == (near(classes), near(alpha), near(beta))


def test_snb_equations_against_the_distribution() -> None:
    alpha, beta, fraction = 0.5, 0.2, 0.3
    # P(F = i+1) = C(i+alpha-1, i) beta^alpha (1-beta)^i, of whom j are sampled at random
    chance, once, twice = beta**alpha, 0.0, 0.0
    for i in range(400):
        people = i + 1
        once += chance * people * fraction * (1 - fraction) ** i
        twice += chance * math.comb(people, 2) * fraction**2 * (1 - fraction) ** (i - 1)
        chance *= (i + alpha) / (i + 1) * (1 - beta)

    assert (once, twice) == (near(0.3309708415728644), near(0.10781625899722101))
    assert estimates.snb_parameters(once, twice, fraction) == (near(alpha), near(beta))


def test_pitman_maximises_the_likelihood() -> None:
    sizes = SAMPLED_1_IN_20[1]
    records, classes = 1508, sum(sizes.values())
    theta, alpha = estimates.pitman_parameters(sizes)

    def log_likelihood(theta: float, alpha: float) -> float:
        return math.fsum(
            [
                *(math.log(theta + j * alpha) for j in range(1, classes)),
                *(-math.log(theta + j) for j in range(1, records)),
                *(
                    number * math.log(j - alpha)
                    for size, number in sizes.items()
                    for j in range(1, size)
                ),
            ]
        )

    highest = log_likelihood(theta, alpha)
    for step in (0.99, 1.01):
        assert log_likelihood(theta * step, alpha) < highest
        assert log_likelihood(theta, alpha * step) < highest


def test_shlosser_by_its_formula() -> None:
    fraction, sizes = 0.2, SAMPLED_1_IN_5[0]
    count = sizes.items()
    ratio = sum(
        i * fraction**2 * (1 - fraction**2) ** (i - 1) * classes for i, classes in count
    ) / sum((1 - fraction) ** i * ((1 + fraction) ** i - 1) * classes for i, classes in count)
    missed = sum((1 - fraction) ** i * classes for i, classes in count)
    met = sum(i * fraction * (1 - fraction) ** (i - 1) * classes for i, classes in count)

    found = estimates.population_classes(sizes, 30_160)

    assert found == near(sum(sizes.values()) + sizes[1] * ratio * (missed / met) ** 2)
    assert round(found) == 19_775


# --- the edges --------------------------------------------------------------------------------


@pytest.mark.parametrize("population", [4, 5, 40, 10**10])
def test_without_uniques_every_estimate_is_zero(population: int) -> None:
    found = population_uniqueness({2: 2}, population)

    assert [found.estimate(name) for name in ("dankar", "zayatz", "pitman", "snb")] == [0, 0, 0, 0]


def test_a_sample_of_all_has_its_own_share() -> None:
    found = population_uniqueness({1: 2, 2: 1}, 4)

    assert found == UniquenessEstimates(0.5, 0.5, 0.5, small_fraction=False)
    assert found.dankar == 0.5


@pytest.mark.parametrize("population", [30, 10**6])
def test_where_all_are_unique_zayatz_alone_answers(population: int) -> None:
    found = population_uniqueness({1: 20}, population)

    assert (found.zayatz, found.pitman, found.snb, found.dankar) == (1, None, None, 1)


def test_pitman_has_no_answer_where_the_likelihood_is_highest_at_alpha_zero() -> None:
    found = population_uniqueness({1: 1, 50: 40}, 10**6)

    assert found.pitman is None
    assert found.dankar == found.zayatz


def test_a_tenth_is_a_small_fraction() -> None:
    assert population_uniqueness(SAMPLED_1_IN_5[0], 60_320).small_fraction
    assert not population_uniqueness(SAMPLED_1_IN_5[0], 60_319).small_fraction


def test_the_order_of_the_sizes_changes_nothing() -> None:
    backwards = dict(reversed(ADULT.items()))

    found, same = (population_uniqueness(sizes, 301_620) for sizes in (ADULT, backwards))

    assert found.zayatz == near(same.zayatz or 0)
    assert (found.pitman, found.snb) == (near(same.pitman or 0), near(same.snb or 0))


def test_many_large_classes_of_a_large_population() -> None:
    sizes = {size: 1 + 3_000_000 // size**2 for size in range(1, 3_000)} | {10**6: 1}

    found = population_uniqueness(sizes, 10**10)

    assert None not in (found.zayatz, found.pitman, found.snb)


def test_a_population_below_the_sample_is_refused() -> None:
    expected = (
        "population is 29, fewer than the 30 people of the table. "
        "It is the number of people from which the table was sampled."
    )

    with pytest.raises(SpecError) as uniqueness:
        population_uniqueness({1: 10, 2: 10}, 29)
    with pytest.raises(SpecError) as k_map:
        required_class_size(5, 30, 29, 0.05, "poisson")

    assert [str(uniqueness.value), str(k_map.value)] == [expected, expected]
    assert uniqueness.value.key == "population"


def test_an_unknown_estimator_is_refused() -> None:
    with pytest.raises(SpecError, match="must be dankar, zayatz, pitman or snb"):
        UniquenessEstimates(0, 0, 0, small_fraction=True).estimate("hoshino")


samples = st.dictionaries(
    st.one_of(st.integers(1, 5), st.integers(1, 10**6)), st.integers(1, 10**5), min_size=1
)


@few
@given(samples, st.integers(0, 10**10))
@example({1: 1}, 1)
@example({1: 1, 2: 1}, 1)
@example({1: 1, 10**7: 1}, 0)
@example({1: 10**7 - 2, 2: 1}, 10**10)
@example({1: 1, 2: 10**6}, 10**10)
def test_an_estimate_is_a_share_or_none(sizes: dict[int, int], others: int) -> None:
    population = sum(size * classes for size, classes in sizes.items()) + others

    found = population_uniqueness(sizes, population)

    shares = [found.estimate(name) for name in ("dankar", "zayatz", "pitman", "snb")]
    assert all(share is None or 0 <= share <= 1 for share in shares)
    assert found.zayatz is not None
    assert all((share == 0) == (1 not in sizes) for share in shares if share is not None)


# --- k-map without a reference ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "population", "alpha", "poisson", "zero_truncated"),
    [
        # El Emam & Dankar 2008, D3 and D4; ARX's Poisson test asks for one more.
        (5, 10_000, 0.1, 2, 3),
        (5, 100_000, 0.1, 1, 2),
        (50, 100_000, 0.1, 2, 3),
        (5, 5_000, 0.05, 4, 4),
        (20, 10_000, 0.05, 6, 6),
        (3, 2_000, 0.05, 3, 3),
        (100, 20_000, 0.01, 12, 12),
    ],
)
def test_required_class_size(
    k: int, population: int, alpha: float, poisson: int, zero_truncated: int
) -> None:
    assert required_class_size(k, 1000, population, alpha, "poisson") == poisson
    assert (
        required_class_size(k, 1000, population, alpha, "zero_truncated_poisson") == zero_truncated
    )


@pytest.mark.parametrize(
    ("alpha", "poisson", "zero_truncated"),
    # P(f >= 2) = .0902 and P(f >= 3) = .0144 at 5 * 12 / 120; by .3935: .2293 and .0366.
    [(0.1, 2, 3), (0.05, 3, 3)],
)
def test_required_class_size_by_hand(alpha: float, poisson: int, zero_truncated: int) -> None:
    assert required_class_size(5, 12, 120, alpha, "poisson") == poisson
    assert required_class_size(5, 12, 120, alpha, "zero_truncated_poisson") == zero_truncated


@few
@given(
    k=st.integers(1, 10**6),
    records=st.integers(1, 10**7),
    others=st.integers(0, 10**10),
    alpha=st.floats(1e-6, 1, exclude_max=True),
)
def test_required_class_size_never_exceeds_k(
    k: int, records: int, others: int, alpha: float
) -> None:
    population = records + others
    poisson = required_class_size(k, records, population, alpha, "poisson")
    zero_truncated = required_class_size(k, records, population, alpha, "zero_truncated_poisson")

    assert 1 <= poisson <= zero_truncated <= k


@few
@given(st.integers(1, 60), st.integers(1, 500), st.integers(0, 500), st.floats(0.001, 0.999))
def test_required_class_size_is_the_first_that_is_enough(
    k: int, records: int, others: int, alpha: float
) -> None:
    expected = k * records / (records + others)
    below = [math.exp(-expected + i * math.log(expected) - math.lgamma(i + 1)) for i in range(k)]
    enough = (size for size in range(1, k) if 1 - math.fsum(below[:size]) <= alpha + 1e-12)

    assert required_class_size(k, records, records + others, alpha, "poisson") == next(enough, k)


# --- risk of a survey -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "weight", "risk"),
    [
        # SDC Practice Guide, table 4.1
        (2, 360, 0.00542451993224649),
        (1, 215, 0.025096439383774122),
        (2, 152, 0.012563425183949095),
        (1, 186, 0.028247279317368656),
        (1, 180, 0.02901093212787827),
        (2, 262, 0.007403834477917091),
        # sdcMicro, tests/testthat/test_indivRisk.R
        (3, 108.0, 0.0135529683717424),
        (1, 45.5, 0.08579128822375054),
        (1, 17.0, 0.17707583400351318),
        (2, 100.0, 0.018778832567501798),
        (1, 123.5, 0.03931625433524926),
    ],
)
def test_individual_risk(size: int, weight: float, risk: float) -> None:
    assert individual_risk(size, weight) == near(risk)


def published_risk(size: int, weight: float) -> Decimal:
    """The mean of 1 / F by its recurrence over the sizes, at odds of 10^9 or less."""
    with localcontext() as context:
        context.prec = 60 + 10 * size  # each step may lose as many digits as the odds have
        people = Decimal(weight)
        odds = size / (people - size)
        risk = odds * (people / size).ln()
        for smaller in range(1, size):
            risk = odds * (1 / Decimal(smaller) - risk)
        return risk


@pytest.mark.parametrize("size", [1, 2, 3, 5, 12, 31, 32, 33, 60, 150])
@pytest.mark.parametrize("times", [1e9, 1e6, 1e3, 30, 3, 2 + 1e-9, 2, 1.9, 1.1, 1.001, 1 + 1e-9])
def test_individual_risk_keeps_its_digits(size: int, times: float) -> None:
    weight = size * times

    found = Decimal(individual_risk(size, weight))

    assert abs(found / published_risk(size, weight) - 1) < Decimal("1e-13")


@pytest.mark.parametrize("size", [10**4, 10**7])
def test_individual_risk_of_a_large_class_is_nearly_that_of_its_expected_size(size: int) -> None:
    # E[1/F] = 1/E[F] (1 + var(F) / E[F]^2 + ...), with E[F] = size / p, var(F) = size q / p^2
    assert individual_risk(size, size * 10) * size * 10 == pytest.approx(
        1 + 0.9 / size, abs=10 / size**2
    )


def test_individual_risk_is_the_mean_of_one_over_the_people() -> None:
    size, weight = 4, 20
    chance, mean = (size / weight) ** size, 0.0
    for people in range(size, 600):
        mean += chance / people
        chance *= (1 - size / weight) * people / (people + 1 - size)

    assert individual_risk(size, weight) == near(mean)


@pytest.mark.parametrize("size", [1, 3, 31, 32, 1000])
def test_individual_risk_where_all_are_sampled(size: int) -> None:
    by_rounding = size * (1 - 1e-13)

    assert individual_risk(size, size) == individual_risk(size, by_rounding) == near(1 / size)


@few
@given(
    st.integers(1, 10**7),
    st.lists(st.floats(1, 1e9), min_size=2, max_size=6),
)
def test_individual_risk_falls_with_the_weight(size: int, times: list[float]) -> None:
    weights = [size * each for each in sorted(times)]

    risks = [individual_risk(size, weight) for weight in weights]

    lax = 1 + 1e-13
    assert all(lower <= higher * lax for higher, lower in pairwise(risks))
    assert all(
        1 / weight / lax <= risk <= 1 / size * lax
        for weight, risk in zip(weights, risks, strict=True)
    )


@few
@given(st.integers(1, 100), st.floats(101, 1e9))
def test_individual_risk_falls_with_the_size(size: int, weight: float) -> None:
    assert individual_risk(size + 1, weight) <= individual_risk(size, weight) * (1 + 1e-13)


@pytest.mark.parametrize("weight", [2.9, 0, -3, math.nan, math.inf])
def test_weights_that_stand_for_fewer_people_than_there_are_records(weight: float) -> None:
    with pytest.raises(
        InputError, match="A weight is the number of people that a record stands for"
    ):
        individual_risk(3, weight)


# --- SciPy ------------------------------------------------------------------------------------


def test_without_scipy_the_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("scipy", "scipy.special"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(SpecError) as both:
        require_scipy("k_map_estimate")
    with pytest.raises(SpecError) as uniqueness:
        population_uniqueness({1: 1}, 10)
    with pytest.raises(SpecError) as k_map:
        required_class_size(5, 10, 100, 0.05, "poisson")

    command = "SciPy: pip install 'kanon-sql[estimates]'"
    assert [str(fault.value) for fault in (both, uniqueness, k_map)] == [
        f"k_map_estimate needs {command}",
        f"population_uniqueness needs {command}",
        f"k_map_estimate needs {command}",
    ]
    assert individual_risk(1, 1) == 1


def test_importing_the_module_imports_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys, kanon_sql.models.population.estimates as e; e.individual_risk(2, 9); "
        "print({'numpy', 'scipy'} & set(sys.modules))"
    )

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "set()\n"
