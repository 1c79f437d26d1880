"""The family of checks on a release together with an earlier one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kanon_sql.auditing.findings import or_none
from kanon_sql.errors import plural
from kanon_sql.models.earlier.models import ComposedKAnonymity, ComposedLDiversity, ComposedModel
from kanon_sql.models.earlier.plan import EarlierStep
from kanon_sql.plan.answers import Answers, smallest
from kanon_sql.plan.join_columns import can_be_equal
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck
from kanon_sql.results.check import CheckResult
from kanon_sql.sql.tables import Row


def judge(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    """The result of a check on this release and an earlier one together."""
    assert isinstance(check.model, ComposedModel)
    return composed(check, check.model, plan, answers)


def warnings(plan: Plan, answers: Answers, checks: Sequence[CheckResult]) -> Iterator[str]:
    """Warnings about what a comparison with earlier releases leaves open."""
    for step in plan.of(EarlierStep):
        yield from _earlier_warnings(step, plan, answers)
    if len(plan.question.earlier) > 1:
        yield (
            f"Each of the {len(plan.question.earlier)} earlier releases is measured with this one "
            "by itself. What all of them disclose together is not measured, and may be more."
        )


def composed(check: BoundCheck, model: ComposedModel, plan: Plan, answers: Answers) -> CheckResult:
    """The verdict of a check on this release and an earlier one together.

    Violations are counted in people, so there are no records. A check that does not gate, or has no
    answer, has neither a verdict nor violations.
    """
    step = next(step for step in plan.of(EarlierStep) if step.earlier == model.earlier)
    row = step.row(answers)
    details: dict[str, Any] = {"in_both": int(row["kanon_in_both"])}
    match model:
        case ComposedKAnonymity():
            least, required, checks, place = "kanon_least", model.k, step.checks, ""
            alone = {"release": smallest(answers.sizes), "earlier": int(row["kanon_earlier_k"])}
            details |= {group: _one_sided_people(row, group) for group in ("joiners", "leavers")}
            details["alone"] = alone
            details["average"] = int(row["kanon_classes"]) / details["in_both"]
        case ComposedLDiversity():
            candidate = next(
                candidate for candidate in step.candidates if candidate.column == check.column
            )
            place = f"_{candidate.place}"
            least, required, checks = f"kanon_least{place}", model.l, candidate.checks
            for group in ("certain", "changed"):
                details[f"{group}_people"] = int(row[f"kanon_{group}{place}_people"])
        case _:
            raise AssertionError(f"{model.name()} is read off no earlier release")
    achieved = or_none(row[least])
    classes = people = None
    if check.gates and required is not None and achieved is not None:
        label = next(label for other, label in checks if other is check)
        classes, people = (
            int(row[f"kanon_{label}_violated{place}_{unit}"]) for unit in ("classes", "people")
        )
    return CheckResult(
        check.model.name(),
        check.model.parameters,
        None if classes is None else achieved >= required,
        achieved,
        violating_classes=classes,
        violating_people=people,
        details=details,
    )


def _one_sided_people(row: Row, group: str) -> dict[str, int | None]:
    """The number of people in only one release, and the smallest number of them in a class."""
    return {"people": int(row[f"kanon_{group}"]), "k": or_none(row[f"kanon_{group}_k"])}


def _earlier_warnings(step: EarlierStep, plan: Plan, answers: Answers) -> Iterator[str]:
    earlier, row = plan.question.earlier[step.earlier], step.row(answers)
    k, name = int(row["kanon_least"]), earlier.called
    for group, where in (("joiners", "this release"), ("leavers", name)):
        alone = row[f"kanon_{group}_k"]
        if alone is not None and alone < k:
            people = int(row[f"kanon_{group}"])
            yield (
                f"{plural(people, 'person')} {'is' if people == 1 else 'are'} only in {where}, and "
                f"the smallest crowd among them has {plural(int(alone), 'person')}, against "
                f"{plural(k, 'person')} among those in both: an attacker who knows that someone "
                f"{'joined' if group == 'joiners' else 'left'} searches among them alone."
            )
    for column in plan.question.sensitive:
        before = earlier.sensitive.get(column.name)
        if before and not can_be_equal(column, before):
            yield (
                f'"{before.name}" of {earlier.table.name} is {before.type}, and "{column.name}" of '
                f"this release is {column.type}, so they are not compared. Give both the same type."
            )
        elif not before:
            yield (
                f'{earlier.table.name} has no column "{column.name}", so the two '
                "releases are not compared on it. If it has another name there, give it under "
                f"columns of {name}."
            )
    for candidate in step.candidates:
        if row[f"kanon_least_{candidate.place}"] is None:
            yield (
                f"The classes of this release and of {name} have "
                f"no {candidate.column.name} in common "
                "for anyone who is in both, so composed l-diversity measures nothing: are the "
                "values spelled alike in both?"
            )
