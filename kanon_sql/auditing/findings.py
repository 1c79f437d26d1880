"""The finding of a check against what it requires."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from kanon_sql.models.base import Number
from kanon_sql.models.risk import RiskModel
from kanon_sql.plan.answers import Answers, total
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck
from kanon_sql.results.check import CheckResult
from kanon_sql.sql.quoting import SLACK, exactly


class Violations(NamedTuple):
    """How many classes violate a check, with their records and people, as far as it is known."""

    classes: int | None = None
    records: int | None = None
    people: int | None = None


class CheckFinding(NamedTuple):
    """The achieved value of a check, its verdict and its violations."""

    achieved: Any
    holds: bool
    details: Mapping[str, Any] = {}
    violating: Violations = Violations()


def violations_below(than: float | None, plan: Plan, answers: Answers) -> Violations:
    """The classes below a size, and the people whose smallest class is one of them."""
    if than is None:
        return Violations()
    below = [row for row in answers.sizes if row["kanon_size"] < than]
    people = sum(count for size, count in answers.counted if size < than)
    return Violations(
        total(below, "kanon_classes"),
        total(below, "kanon_records"),
        people if plan.question.entity else None,
    )


def or_none(value: Any, kind: type = int) -> Any:
    return None if value is None else kind(value)


def within_bounds(
    model: RiskModel, *, highest: Fraction, average: Fraction | float, at_risk: Fraction
) -> bool:
    """Whether all given bounds hold."""
    return (
        at_most(highest, model.max_highest)
        and at_most(average, model.max_average)
        and at_most(at_risk, model.max_at_risk)
    )


def at_most(figure: Fraction | float, bound: Number | None) -> bool:
    """Whether a number is within a bound; a floating-point sum may exceed it by the slack."""
    if bound is None:
        return True
    if isinstance(figure, Fraction):
        return figure <= exactly(bound)
    return figure <= float(bound) + SLACK


def result_of(check: BoundCheck, finding: CheckFinding) -> CheckResult:
    """The result of a check; one that does not gate has neither a verdict nor violations."""
    counted = finding.violating if check.gates else Violations()
    return CheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=finding.holds if check.gates else None,
        achieved=finding.achieved,
        violating_classes=counted.classes,
        violating_records=counted.records,
        violating_people=counted.people,
        details=finding.details,
    )
