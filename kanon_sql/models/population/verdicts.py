"""The family of estimates about the population that a table was sampled from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.auditing.findings import CheckFinding, at_most, result_of, violations_below
from kanon_sql.errors import InputError
from kanon_sql.models.population.estimates import population_uniqueness, required_class_size
from kanon_sql.models.population.models import KMapEstimate, PopulationUniqueness
from kanon_sql.models.population.plan import SURVEY, SURVEY_CLASSES
from kanon_sql.plan.answers import Answers, everyone, smallest
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck
from kanon_sql.results.check import CheckResult


def judge(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    """The result of an estimate. Raises `InputError` for a population smaller than the table."""
    match check.model:
        case PopulationUniqueness() as model:
            return result_of(check, _population_uniqueness(check, model, plan, answers))
        case KMapEstimate() as model:
            return result_of(check, _k_map_estimate(model, plan, answers))
    raise AssertionError(f"{check.model.name()} is no estimate about the population")


def warnings(plan: Plan, answers: Answers, checks: Sequence[CheckResult]) -> Iterator[str]:
    """A warning where survey weights are too many to estimate individual risk."""
    if len(answers.rows(SURVEY)) > SURVEY_CLASSES:
        yield (
            f"The individual risk is not computed: more than {SURVEY_CLASSES:,} classes differ in "
            "their size or the sum of their weights. Round the weights."
        )


def _population_uniqueness(
    check: BoundCheck, model: PopulationUniqueness, plan: Plan, answers: Answers
) -> CheckFinding:
    """Estimated population uniqueness. With an entity, estimated from profiles (the set of classes
    a person is in): each person has exactly one, so a sample of people is a sample of profiles, as
    the estimators assume. It is no sample of classes, because classes share people."""
    _refuse_small_population(model, plan, answers)
    estimates = population_uniqueness(_profile_sizes(answers), model.population)
    achieved = estimates.estimate(model.estimator)
    if achieved is None and check.gates:
        raise InputError(
            f"population_uniqueness: the estimator {model.estimator} has no estimate "
            f"for {plan.question.table.name}, so the check can't be judged. Choose another one, or "
            "measure without max_share to see all three."
        )
    shares = {name: estimates.estimate(name) for name in ("zayatz", "pitman", "snb")}
    holds = achieved is None or at_most(float(achieved), model.max_share)
    return CheckFinding(achieved, holds, {"estimate": True, "estimates": shares})


def _k_map_estimate(model: KMapEstimate, plan: Plan, answers: Answers) -> CheckFinding:
    """The k-map estimate from class sizes. A person of a class is in the sample with a probability
    that does not depend on their other classes, so only the size of the sample is counted in
    people."""
    _refuse_small_population(model, plan, answers)
    required = required_class_size(
        model.k, everyone(answers.counted), model.population, float(model.alpha), model.test
    )
    below = violations_below(required, plan, answers)
    details = {"required": required, "estimate": True}
    return CheckFinding(smallest(answers.sizes), not below.classes, details, below)


def _refuse_small_population(
    model: PopulationUniqueness | KMapEstimate, plan: Plan, answers: Answers
) -> None:
    counted = everyone(answers.counted)
    if model.population < counted:
        raise InputError(
            f"{model.name()}: a population of {model.population:,} is smaller than "
            f"{plan.question.table.name}, which has {counted:,} "
            f"{'people' if plan.question.entity else 'records'}. It is the number of people from "
            "which the table was sampled."
        )


def _profile_sizes(answers: Answers) -> dict[int, int]:
    """Number of profiles by size; of classes, without an entity."""
    rows, counted = (
        (answers.profiles, "kanon_profiles")
        if answers.profiles
        else (answers.sizes, "kanon_classes")
    )
    return {int(row["kanon_size"]): int(row[counted]) for row in rows}
