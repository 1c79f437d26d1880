"""Composition with earlier releases: queries and verdicts on two releases of the same people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kanon_sql.auditing.answers import Answers, smallest
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.check_sql import LabelledCheck
from kanon_sql.plan.earlier_plan import EarlierStep
from kanon_sql.plan.question import BoundCheck
from kanon_sql.results.table import CheckResult
from kanon_sql.spec.models.composition import ComposedKAnonymity, ComposedLDiversity, ComposedModel
from kanon_sql.sql.tables import Row


def rows_with_earlier(plan: Plan, session: Session) -> Iterator[tuple[str, Row]]:
    """The rows of all steps on earlier releases, by the step's name.

    Raises `InputError` if nobody is in both: a check on nobody must not hold.
    """
    for each in plan.earlier:
        crowds = {name: value for step in each.asked for name, value in session.row(step).items()}
        if not crowds["kanon_in_both"]:
            raise InputError(_nobody_in_both(plan, each, crowds))
        yield each.name, crowds


def _nobody_in_both(plan: Plan, each: EarlierStep, crowds: Row) -> str:
    release, earlier = plan.bound.table.name, plan.bound.earlier[each.earlier]
    if not crowds["kanon_leavers"]:
        return f"{earlier.table.name}: {earlier.called} has no record to compare with."
    entities = [f'"{each.name}"' for each in (plan.bound.entity, earlier.entity) if each]
    keys = " and ".join(dict.fromkeys(entities))
    return (
        f"nobody is in both {release} ({int(crowds['kanon_joiners']):,} people) and "
        f"{earlier.table.name} ({int(crowds['kanon_leavers']):,} people), so they can't be "
        f"compared. Are the keys in {keys} the same in both, or were they drawn anew for each "
        "release? The audit needs the original keys."
    )


def saw_the_same_people(plan: Plan, answers: Answers, people: int) -> bool:
    """Whether the steps on earlier releases counted the same people as all other steps."""
    for each in plan.earlier:
        if each.name not in answers.earlier:
            continue
        crowds = answers.earlier[each.name]
        if int(crowds["kanon_in_both"]) + int(crowds["kanon_joiners"]) != people:
            return False
    return True


def composed(check: BoundCheck, model: ComposedModel, plan: Plan, answers: Answers) -> CheckResult:
    """The verdict of a check on this release and an earlier one together."""
    step = next(each for each in plan.earlier if each.earlier == model.earlier)
    match model:
        case ComposedKAnonymity():
            return _crowds(check, step, answers)
        case ComposedLDiversity():
            return _candidates(check, step, answers)
    raise AssertionError(f"{model.name()} is read off no earlier release")


def _crowds(check: BoundCheck, step: EarlierStep, answers: Answers) -> CheckResult:
    row = answers.earlier[step.name]
    violated = f"{_label(check, step.checks)}_violated"
    return _verdict(
        check,
        int(row["kanon_least"]),
        required=check.model.parameters.get("k"),
        violating=(_violating(row, violated, "classes"), _violating(row, violated, "people"))
        if check.gates
        else None,
        details={
            "in_both": int(row["kanon_in_both"]),
            "joiners": _of_one(row, "joiners"),
            "leavers": _of_one(row, "leavers"),
            "alone": {"release": smallest(answers.sizes), "earlier": int(row["kanon_earlier_k"])},
        },
    )


def _of_one(row: Row, which: str) -> dict[str, int | None]:
    """The number of people in only one release, and the smallest number of them in a class."""
    k = row[f"kanon_{which}_k"]
    return {"people": int(row[f"kanon_{which}"]), "k": None if k is None else int(k)}


def _candidates(check: BoundCheck, step: EarlierStep, answers: Answers) -> CheckResult:
    asked = next(each for each in step.candidates if each.column == check.column)
    row = answers.earlier[step.name]
    violated = f"{_label(check, asked.checks)}_violated_{asked.place}"
    least = row[f"kanon_least_{asked.place}"]
    return _verdict(
        check,
        None if least is None else int(least),
        required=check.model.parameters.get("l"),
        violating=(_violating(row, violated, "classes"), _violating(row, violated, "people"))
        if check.gates
        else None,
        details={
            "in_both": int(row["kanon_in_both"]),
            "certain_people": int(row[f"kanon_certain_{asked.place}_people"]),
            "changed_people": int(row[f"kanon_changed_{asked.place}_people"]),
        },
    )


def _violating(row: Row, violated: str, what: str) -> int:
    return int(row[f"kanon_{violated}_{what}"])


def _label(check: BoundCheck, checks: tuple[LabelledCheck, ...]) -> str:
    return next(each.label for each in checks if each.check is check)


def _verdict(
    check: BoundCheck,
    achieved: int | None,
    *,
    required: int | None,
    violating: tuple[int, int] | None,
    details: Mapping[str, Any],
) -> CheckResult:
    """The result of a check. Violations are counted in people, so there are no records. A check
    that does not gate, or has no answer, has neither a verdict nor violations."""
    holds = None
    if violating is not None and required is not None and achieved is not None:
        holds = achieved >= required
    classes, people = violating if violating is not None and holds is not None else (None, None)
    return CheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=holds,
        achieved=achieved,
        violating_classes=classes,
        violating_records=None,
        violating_people=people,
        details=details,
    )
