"""The family of checks on the sizes of classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from kanon_sql.auditing.findings import (
    CheckFinding,
    Violations,
    at_most,
    or_none,
    result_of,
    violations_below,
    within_bounds,
)
from kanon_sql.auditing.risks import average_risk, risk, share_at_risk
from kanon_sql.errors import plural
from kanon_sql.models.sizes.models import KAnonymity, ProsecutorRisk, SampleUniqueness
from kanon_sql.models.sizes.plan import COLUMN_SETS, is_of_set, step_of_set
from kanon_sql.plan.answers import (
    Answers,
    classes_by_size,
    everyone,
    people_in,
    people_of_profiles,
    smallest,
    total,
    uniques,
)
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import HistogramBin, Summary
from kanon_sql.results.tabular import Rows


def judge(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    """The result of a check on the sizes of classes."""
    match check.model:
        case KAnonymity() as model if is_of_set(check):
            return result_of(check, _of_set(check, model.k, plan, answers))
        case KAnonymity() as model:
            return result_of(check, _k_anonymity(model, plan, answers))
        case ProsecutorRisk() as model:
            return result_of(check, _prosecutor_risk(model, plan, answers))
        case SampleUniqueness() as model:
            return result_of(check, _sample_uniqueness(model, answers))
    raise AssertionError(f"{check.model.name()} is not read off the sizes of classes")


def _k_anonymity(model: KAnonymity, plan: Plan, answers: Answers) -> CheckFinding:
    achieved = smallest(answers.sizes)
    below = violations_below(model.violating_below, plan, answers)
    details: dict[str, Any] = {**profile(answers)}
    if plan.question.wildcard:
        details["achieved_nulls_as_value"] = min(
            int(row["kanon_size_as_value"]) for row in answers.sizes
        )
    return CheckFinding(achieved, not below.classes, details, below)


def _of_set(check: BoundCheck, k: int | None, plan: Plan, answers: Answers) -> CheckFinding:
    """The classes of a column set; with wildcards, from the sizes of its own statement."""
    number = 1 + [each for each in plan.question.checks if is_of_set(each)].index(check)
    if plan.question.wildcard:
        sizes = answers.rows(step_of_set(number))
        below = [row for row in sizes if row["kanon_size"] < (k or 0)]
        violations = Violations(total(below, "kanon_classes"), total(below, "kanon_records"))
        as_value = min(int(row["kanon_size_as_value"]) for row in sizes)
        details = {"achieved_nulls_as_value": as_value}
        return CheckFinding(smallest(sizes), not violations.classes, details, violations)
    row = next(row for row in answers.rows(COLUMN_SETS) if int(row["kanon_set"]) == number)
    violations = Violations(
        *(or_none(row[f"kanon_violating_{what}"]) for what in ("classes", "records", "people"))
    )
    return CheckFinding(int(row["kanon_size"]), not violations.classes, {}, violations)


def _prosecutor_risk(model: ProsecutorRisk, plan: Plan, answers: Answers) -> CheckFinding:
    highest = Fraction(1, smallest(answers.sizes))
    average, at_risk = (
        average_risk(plan.question, answers),
        share_at_risk(answers.counted, model.threshold),
    )
    holds = within_bounds(model, highest=highest, average=average, at_risk=at_risk)
    details = {"average": float(average), "at_risk": float(at_risk)}
    return CheckFinding(
        float(highest), holds, details, violations_below(model.violating_below, plan, answers)
    )


def _sample_uniqueness(model: SampleUniqueness, answers: Answers) -> CheckFinding:
    alone = sum(count for size, count in answers.counted if size == 1)
    share = Fraction(alone, everyone(answers.counted))
    return CheckFinding(float(share), at_most(share, model.max_share))


def fields(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The key figures of the classes, their sizes and the risks of the people in them."""
    return {
        "summary": summary(answers),
        "histogram": Rows(histogram(answers)),
        "risk": risk(plan, answers),
    }


def warnings(plan: Plan, answers: Answers, checks: Sequence[CheckResult]) -> Iterator[str]:
    """A warning where all records of a person say more than one of them."""
    if not answers.profiles:
        return
    k, alone = profile(answers).values()
    of_classes = smallest(answers.sizes)
    if alone > uniques(answers):
        yield (
            f"{plural(alone, 'person')} {'has' if alone == 1 else 'have'} a combination of classes "
            "that nobody else has: whoever knows all their classes finds them with certainty."
        )
    elif k < of_classes:
        yield (
            f"The rarest combination of classes is that of {plural(k, 'person')}, where the "
            f"smallest class has {plural(of_classes, 'person')}: whoever knows all their classes "
            "finds them among fewer."
        )


def summary(answers: Answers) -> Summary:
    """The key figures of a table."""
    sizes = answers.sizes
    if not sizes:
        return Summary(records=0)
    classes = total(sizes, "kanon_classes")
    return Summary(
        records=total(sizes, "kanon_records"),
        people=people_of_profiles(answers.profiles) if answers.profiles else None,
        classes=classes,
        k=smallest(sizes),
        average_class_size=people_in(sizes) / classes,
        largest_class=int(sizes[-1]["kanon_size"]),
        uniques=uniques(answers),
        records_with_null_qi=total(sizes, "kanon_with_null"),
        suppressed=total(sizes, "kanon_suppressed"),
    )


def histogram(answers: Answers) -> tuple[HistogramBin, ...]:
    """For each class size, the number of classes, of their records, and of people whose smallest
    class has this size."""
    people = dict(answers.counted) if answers.profiles else None
    return tuple(
        HistogramBin(size, classes, records, None if people is None else people.get(size, 0))
        for size, classes, records in classes_by_size(answers.sizes)
    )


def profile(answers: Answers) -> dict[str, int]:
    """The smallest number of people with the same set of classes, and the people whose set nobody
    else has; empty without an entity."""
    sizes = {int(row["kanon_size"]): int(row["kanon_profiles"]) for row in answers.profiles}
    return {"profile_k": min(sizes), "profile_uniques": sizes.get(1, 0)} if sizes else {}
