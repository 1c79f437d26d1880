"""The run of a plan: each step whose condition holds, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, InputError
from kanon_sql.plan.answers import (
    Answers,
    classes_by_size,
    people_in,
    people_of_profiles,
    total,
)
from kanon_sql.plan.audit_plan import Plan, ReferenceStep
from kanon_sql.plan.earlier_plan import EarlierStep
from kanon_sql.plan.sensitive_plan import DistanceStep, SensitiveStep
from kanon_sql.plan.steps import PlannedStep, Precondition


def run(steps: Iterable[PlannedStep], session: Session, answers: Answers) -> None:
    """Run each step whose condition holds, unless one of its name was run, and add its rows to the
    answers. Raises `InputError` for rows that a step refuses."""
    for step in steps:
        if step.name not in answers.by_step and step.when(answers):
            rows = session.rows(step.chosen(answers))
            if (fault := step.refuse(rows)) is not None:
                raise InputError(fault)
            if not isinstance(step, Precondition):
                answers.by_step[step.name] = rows


def refuse_unmet(preconditions: Iterable[Precondition], session: Session) -> None:
    """Raise `InputError` for the first precondition that fails."""
    run(preconditions, session, Answers())


def refuse_changed(plan: Plan, answers: Answers) -> None:
    """Raise `EngineError` if two steps did not see the same table; each is a statement of its
    own."""
    people = answers.number_of_people
    is_one = (
        people_of_profiles(answers.profiles) == people
        and all(count == people for count in _people_counted(plan, answers))
        and _have_same_classes(plan, answers)
    )
    if not is_one:
        raise EngineError(
            f"{plan.question.table.name} changed while it was being audited; run the audit again."
        )


def _people_counted(plan: Plan, answers: Answers) -> Iterator[int]:
    """The number of people, as each step that counts them has it."""
    if answers.people is not None:
        yield total(answers.people, "kanon_people")
    for kind in (SensitiveStep, DistanceStep, ReferenceStep):
        for step in plan.of(kind):
            row = answers.people_of(step.name)
            if row is not None and "kanon_people" in row:
                yield int(row["kanon_people"])
    for earlier in plan.of(EarlierStep):
        if crowds := earlier.row(answers):
            yield int(crowds["kanon_in_both"]) + int(crowds["kanon_joiners"])


def _have_same_classes(plan: Plan, answers: Answers) -> bool:
    sizes, records = classes_by_size(answers.sizes), total(answers.sizes, "kanon_records")
    for read in plan.of(SensitiveStep):
        rows = answers.rows(read.name)
        if total(rows, "kanon_records") != records:
            return False
        if not read.with_others and classes_by_size(rows) != sizes:
            return False
    distances = (row for step in plan.of(DistanceStep) for row in answers.rows(step.name))
    if any(int(row["kanon_records"] or 0) != records for row in distances):
        return False
    counted = {"kanon_classes": total(answers.sizes, "kanon_classes")}
    if not plan.question.wildcard:
        counted["kanon_sizes"] = people_in(answers.sizes)
    return all(
        int(row[column]) == count
        for step in plan.of(ReferenceStep)
        for row in answers.rows(step.name)
        for column, count in counted.items()
    )
