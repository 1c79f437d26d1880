"""The steps on the sizes of classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from kanon_sql.models.base import Model
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.pass_conditions import required_size, size_conditions
from kanon_sql.plan.preconditions import without_entity
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.steps import (
    PlannedStep,
    ShownStep,
    audited,
    counted,
    in_several_classes,
    name_list,
    records,
    step,
    with_entity,
    with_records,
)
from kanon_sql.question.spec import SHOWN
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement


def bound(model: Model, scope: CheckScope) -> BoundCheck:
    """A check on classes, which needs nothing else."""
    return BoundCheck(model, requested=True)


def own_arguments(question: ResolvedQuestion, check: BoundCheck) -> tuple[tuple[str, Any], ...]:
    """None: it reads the classes alone."""
    return ()


def classes(question: ResolvedQuestion) -> PlannedStep:
    """The step that counts the classes of each size."""
    return PlannedStep(statement=_classes(question), refuse=partial(without_entity, question))


def steps_on_people(question: ResolvedQuestion, keyed: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps that count people, whose records may lie in several classes."""
    yield PlannedStep(statement=_number_of_people(question), when=with_records)
    yield PlannedStep(statement=_profiles(question), when=in_several_classes)
    yield PlannedStep(statement=smallest_classes(keyed), when=in_several_classes)


def _classes(question: ResolvedQuestion) -> Statement:
    columns = list(question.quasi_identifiers)
    size = required_size(question)
    if question.wildcard:
        words = (
            f"How many combinations of {name_list(columns)} in {audited(question)} are compatible "
            "with each number of records, if NULL matches everything?"
        )
        relation = records(question, columns)
        sql = render("k_anonymity_with_wildcards", relation=relation, columns=columns, k=size)
    else:
        words = (
            f"How many classes of {audited(question)} by {name_list(columns)} have each size, in "
            f"{counted(question)}?"
        )
        sql = render(
            "k_anonymity",
            relation=records(question, with_entity(question, columns)),
            columns=list(question.keys),
            entity=question.entity,
            rolled_up=question.rolled_up,
            k=size,
        )
    conditions = size_conditions(size)
    return step(question, "classes", words, sql, KAnonymity, pass_conditions=conditions)


def _number_of_people(question: ResolvedQuestion) -> Statement:
    entity = question.entity
    assert entity is not None
    return step(
        question,
        "number_of_people",
        f"How many people are in {question.table.name}?",
        render("number_of_people", relation=records(question, [entity]), entity=entity),
        KAnonymity,
    )


def _profiles(question: ResolvedQuestion) -> Statement:
    columns = list(question.quasi_identifiers)
    return step(
        question,
        "profiles",
        f"How many people in {question.table.name} have records in exactly the same classes?",
        render(
            "profiles",
            relation=records(question, with_entity(question, columns)),
            columns=columns,
            entity=question.entity,
        ),
        KAnonymity,
        only="where people have records in several classes; else their class is their profile",
    )


def smallest_classes(question: ResolvedQuestion) -> Statement:
    """The statement that counts people by the smallest of their classes."""
    return step(
        question,
        "people",
        f"How many people in {question.table.name} have each size of the smallest of their "
        "classes?",
        render(
            "smallest_classes",
            relation=records(question, with_entity(question, list(question.quasi_identifiers))),
            columns=list(question.keys),
            entity=question.entity,
        ),
        KAnonymity,
        only="where people have records in several classes: each counts once, with the smallest",
    )


def small_classes(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step that lists small classes by their values: personal data, run on demand only."""
    if question.wildcard:
        return
    columns = list(question.quasi_identifiers)
    k = next(
        (c.model.k for c in question.checks if isinstance(c.model, KAnonymity) and c.model.k), 2
    )
    listing = step(
        question,
        "small_classes",
        f"Which are the smallest classes of {audited(question)} that have fewer than {k} "
        f"{counted(question)}, {SHOWN} of them at most?",
        render(
            "small_classes",
            relation=records(question, with_entity(question, columns)),
            columns=columns,
            k=k,
            entity=question.entity,
            first=SHOWN,
        ),
        KAnonymity,
        only="when values are shown: its rows are personal data",
    )
    yield ShownStep(statement=listing, when=lambda answers: answers.shows_values)
