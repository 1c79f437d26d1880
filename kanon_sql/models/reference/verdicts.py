"""The family of checks against a reference table."""

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
    within_bounds,
)
from kanon_sql.auditing.risks import journalist, marketer, row_of_people
from kanon_sql.errors import InputError, plural
from kanon_sql.models.base import ReferenceModel
from kanon_sql.models.reference.models import DeltaPresence, JournalistRisk, KMap, MarketerRisk
from kanon_sql.models.reference.plan import ReferenceStep
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.results.check import CheckResult
from kanon_sql.sql.tables import Row

ASSUMED_ATTACKER = (
    "someone who does not know whether the person is in the release, and looks for them in a "
    "table like the reference; against one who knows, only k-anonymity counts"
)


def judge(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    """The result of a check against a reference. Raises `InputError` for a class that nobody
    matches, where that is an error."""
    assert isinstance(check.model, ReferenceModel)
    return result_of(check, _reference_finding(check, check.model, plan, answers))


def warnings(plan: Plan, answers: Answers, checks: Sequence[CheckResult]) -> Iterator[str]:
    """Warnings about references that can't contain the release."""
    for step in plan.of(ReferenceStep):
        yield from _match_warnings(step, answers.rows(step.name)[0], plan.question.wildcard)


def _reference_finding(
    check: BoundCheck, model: ReferenceModel, plan: Plan, answers: Answers
) -> CheckFinding:
    step, label = next(
        (step, label)
        for step in plan.of(ReferenceStep)
        for other, label in step.checks
        if other is check
    )
    [row] = answers.rows(step.name)
    of_people = row_of_people(step, answers)
    unmatched, exceeding = (
        int(row[f"kanon_{fault}_classes"]) for fault in ("unmatched", "exceeding")
    )
    if model.missing == "error" and unmatched:
        raise InputError(
            f"{model.name()}: nobody in {REFERENCE.called(step.reference)} matches "
            f"{plural(unmatched, 'class')} of {plan.question.table.name} "
            f"({plural(int(row['kanon_unmatched_records']), 'record')}), and missing: error "
            "was asked."
        )
    contained = not (model.needs_containment and (unmatched or exceeding))
    details: dict[str, Any] = {
        "unmatched_classes": unmatched,
        "unmatched_records": int(row["kanon_unmatched_records"]),
        "exceeding_classes": exceeding,
    }
    levels = plan.question.spec.references[step.reference].levels
    if any(levels.values()):
        details["reference_levels"] = dict(levels)
    violating = (
        or_none(row.get(f"kanon_{label}_violated_classes")),
        or_none(row.get(f"kanon_{label}_violated_records")),
    )
    match model:
        case KMap():
            union = model.missing == "union"
            achieved: Any = int(row["kanon_least_union" if union else "kanon_least_population"])
            details |= {"assumes": ASSUMED_ATTACKER}
            holds = not violating[0]
        case DeltaPresence():
            achieved = {end: or_none(row[f"kanon_{label}_{end}"], float) for end in ("min", "max")}
            violating = (violating[0], or_none(row.get(f"kanon_{label}_violated_population")))
            # The people query is skipped where no class is out of bounds.
            if plan.question.references[step.reference].entity and not violating[0]:
                of_people = {f"kanon_{label}_violated_people": violating[0]}
            holds = contained and not violating[0]
        case JournalistRisk():
            by_person = plan.question.entity is not None
            risks = journalist(
                row, of_people, f"{label}_at_risk", model.threshold, by_person=by_person
            )
            achieved = risks["highest"]
            details |= {key: risks[key] for key in ("average", "at_risk")}
            holds = contained and within_bounds(
                model,
                highest=Fraction(1, int(row["kanon_least_union"])),
                average=risks["average"],
                at_risk=Fraction(
                    int(of_people[f"kanon_{label}_at_risk_people"]), int(of_people["kanon_sizes"])
                ),
            )
        case MarketerRisk():
            achieved = marketer(of_people)
            holds = contained and at_most(achieved, model.max_average)
        case _:
            raise AssertionError(f"{model.name()} is read off no reference")
    people = or_none(of_people.get(f"kanon_{label}_violated_people"))
    return CheckFinding(achieved, holds, details, Violations(*violating, people))


def _match_warnings(step: ReferenceStep, row: Row, wildcard: bool) -> Iterator[str]:
    unmatched = int(row["kanon_unmatched_classes"])
    exceeding = int(row["kanon_exceeding_classes"])
    reference = REFERENCE.called(step.reference)
    if unmatched:
        records = plural(int(row["kanon_unmatched_records"]), "record")
        yield (
            f"Nobody in {reference} matches {plural(unmatched, 'class')} ({records}) of the "
            "release, so it can't contain the release: check for another spelling, another time "
            "or another region."
        )
    if exceeding:
        yield (
            f"In {plural(exceeding, 'class')} {reference} has fewer people than the release, so it "
            "can't contain the release"
            f"{' with its NULLs, which match everything' if wildcard else ''}."
        )
