"""The run of a plan: each step whose condition holds, in order."""

from __future__ import annotations

from collections.abc import Iterable

from kanon_sql.engines.base import Engine
from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, InputError
from kanon_sql.plan.answers import Answers, people_of_profiles
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.steps import PlannedStep, Precondition


def run(steps: Iterable[PlannedStep], session: Session, answers: Answers) -> None:
    """Run each step whose condition holds, unless one of its name was run, and add its rows to the
    answers. Raises `InputError` for rows that a step refuses."""
    for step in steps:
        if step.name not in answers.by_step and step.when(answers):
            rows = step.accepted(session.rows(step.chosen(answers)))
            if not isinstance(step, Precondition):
                answers.by_step[step.name] = rows


def refuse_if_unmet(precondition: Precondition, engine: Engine) -> None:
    """Raise `InputError` if it fails, without a session."""
    precondition.statement.check()
    precondition.accepted(engine.query(precondition.statement.sql))


def refuse_unmet(preconditions: Iterable[Precondition], session: Session) -> None:
    """Raise `InputError` for the first precondition that fails."""
    run(preconditions, session, Answers())


def refuse_unanswerable(plan: Plan, answers: Answers) -> None:
    """Raise `InputError` for the first step whose checks can't be answered."""
    for step in plan.steps:
        if (fault := step.fault(plan.question, answers)) is not None:
            raise InputError(fault)


def refuse_changed(plan: Plan, answers: Answers) -> None:
    """Raise `EngineError` if two steps did not see the same table; each is a statement of its
    own."""
    people = answers.number_of_people
    is_one = people_of_profiles(answers.profiles) == people and all(
        step.agrees(plan.question, answers) for step in plan.steps
    )
    if not is_one:
        raise EngineError(
            f"{plan.question.table.name} changed while it was being audited; run the audit again."
        )
