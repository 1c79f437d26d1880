"""The steps on the sizes of classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from kanon_sql.errors import SpecError, did_you_mean, read_each, refuse_repeated
from kanon_sql.models.base import AT_RISK, Model
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.named_columns import quasi_identifier_names
from kanon_sql.plan.preconditions import without_entity
from kanon_sql.plan.question import BoundCheck, BoundColumn, ResolvedQuestion, same_name
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

COLUMN_SETS = "column_sets"
"""The step on column sets that have a k of their own."""
HOUSEHOLDS = "households"
"""The step on the risk of households."""


def bound(model: Model, scope: CheckScope) -> BoundCheck:
    """A check on classes, with the columns of a set as the table spells them. Raises `SpecError`
    for a column that is no quasi-identifier."""
    if not isinstance(model, KAnonymity) or model.columns is None:
        return BoundCheck(model, requested=True)
    known = quasi_identifier_names(scope.spec, scope.table)
    columns = tuple(read_each(lambda name: _quasi_identifier(name, known), model.columns))
    refuse_repeated(columns, 'k_anonymity: columns names "{}" twice.')
    return BoundCheck(model.model_copy(update={"columns": columns}), requested=True)


def _quasi_identifier(name: str, known: Sequence[str]) -> str:
    """The quasi-identifier of a name, in the table's spelling."""
    named = [other for other in known if same_name(other, name)]
    if name in known or len(named) == 1:
        return name if name in known else named[0]
    raise SpecError(
        f'k_anonymity: columns: "{name}" is no quasi-identifier. Quasi-identifiers: '
        f"{', '.join(known)}.{did_you_mean(name, known)}"
    )


def measured(scope: CheckScope, requested: Sequence[Model]) -> Iterator[BoundCheck]:
    """k of all quasi-identifiers; in a synthetic table, whose records are nobody, if requested."""
    if not scope.spec.original and not any(
        isinstance(model, KAnonymity) and model.columns is None for model in requested
    ):
        yield BoundCheck(KAnonymity(), requested=False)


def steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps on column sets, on households and on small classes by their values."""
    yield from _column_sets(question)
    yield from _households(question)
    yield from _small_classes(question)


def own_arguments(question: ResolvedQuestion, check: BoundCheck) -> tuple[tuple[str, Any], ...]:
    """The columns of a set; none otherwise, where it reads the classes alone."""
    return (("columns", columns_of_set(question, check)),) if is_of_set(check) else ()


def is_of_set(check: BoundCheck) -> bool:
    """Whether a check is about the classes of some of the quasi-identifiers."""
    return isinstance(check.model, KAnonymity) and check.model.columns is not None


def columns_of_set(question: ResolvedQuestion, check: BoundCheck) -> list[BoundColumn]:
    """The quasi-identifiers of a column set, in the table's order."""
    names = getattr(check.model, "columns", None) or ()
    return [column for column in question.quasi_identifiers if column.name in names]


class _SetOfColumns(NamedTuple):
    """A column set with its k, as its statement reads it."""

    number: int
    columns: list[BoundColumn]
    k: int | None


def _column_sets(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step on the classes of column sets; with wildcards, where counts can't be rolled up, one
    for each set."""
    checks = [check for check in question.checks if is_of_set(check)]
    sets = [
        _SetOfColumns(number, columns_of_set(question, check), getattr(check.model, "k", None))
        for number, check in enumerate(checks, start=1)
    ]
    for each in sets if question.wildcard else ():
        statement = step(
            question,
            step_of_set(each.number),
            f"How many combinations of {name_list(each.columns)} in {audited(question)} are "
            "compatible with each number of records, if NULL matches everything?",
            render(
                "k_anonymity_with_wildcards",
                relation=records(question, each.columns),
                columns=each.columns,
                k=each.k,
            ),
            KAnonymity,
            pass_conditions=size_conditions(each.k),
        )
        yield PlannedStep(statement=statement, when=with_records)
    if not sets or question.wildcard:
        return
    columns = list(question.quasi_identifiers)
    names = "; ".join(name_list(each.columns) for each in sets)
    statement = step(
        question,
        COLUMN_SETS,
        f"How large is the smallest class of {audited(question)} by each of these sets of "
        f"columns, in {counted(question)}: {names}?",
        render(
            "k_anonymity_of_sets",
            relation=records(question, with_entity(question, columns)),
            columns=columns,
            sets=sets,
            entity=question.entity,
        ),
        KAnonymity,
        pass_conditions=["kanon_violating_classes is 0 or NULL in every row."]
        if any(each.k for each in sets)
        else [],
    )
    yield PlannedStep(statement=statement, when=with_records)


def step_of_set(number: int) -> str:
    """Name of the statement of one column set, with wildcards."""
    return f"column_set_{number}"


def required_size(question: ResolvedQuestion) -> int | None:
    """The largest k among gating k-anonymity checks; None without one."""
    sizes = (
        check.model.least_size
        for check in question.checks
        if check.gates and isinstance(check.model, KAnonymity)
    )
    return max((size for size in sizes if size is not None), default=None)


def size_conditions(size: int | None) -> Iterator[str]:
    """Pass condition on the rows per class size."""
    if size is not None:
        yield (
            f"kanon_size >= {size} in every row; kanon_too_small is 1 in those that fail. "
            "k is kanon_size of the first row."
        )


def classes(question: ResolvedQuestion) -> PlannedStep:
    """The step that counts the classes of each size."""
    return PlannedStep(statement=_classes(question), refuse=partial(without_entity, question))


def steps_on_people(question: ResolvedQuestion, keyed: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps that count people, whose records may lie in several classes."""
    yield PlannedStep(statement=_number_of_people(question), when=with_records)
    yield PlannedStep(statement=_profiles(keyed), when=in_several_classes)


def _households(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step that measures the risk of households, where their column is named."""
    household, columns = question.household, list(question.quasi_identifiers)
    if household is None:
        return
    statement = step(
        question,
        HOUSEHOLDS,
        f"How likely is it that at least one person of a household ({household.name}) in "
        f"{audited(question)} is found?",
        render(
            "household_risk",
            relation=records(question, with_entity(question, [*columns, household])),
            columns=columns,
            household=household,
            threshold=AT_RISK,
            entity=question.entity,
        ),
    )
    yield PlannedStep(statement=statement, when=with_records)


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
    return step(
        question,
        "profiles",
        f"How many people in {question.table.name} have records in exactly the same classes, and "
        "how large is the smallest of these?",
        _on_people("profiles", question, embedded=question.table.embedded),
        KAnonymity,
        only="where people have records in several classes: each counts once, with the smallest",
    )


def smallest_classes(question: ResolvedQuestion) -> Statement:
    """The statement that counts people by the smallest of their classes."""
    return step(
        question,
        "people",
        f"How many people in {question.table.name} have each size of the smallest of their "
        "classes?",
        _on_people("smallest_classes", question),
        KAnonymity,
        only="where people have records in several classes: each counts once, with the smallest",
    )


def _on_people(macro: str, question: ResolvedQuestion, **how: Any) -> str:
    return render(
        macro,
        relation=records(question, with_entity(question, list(question.quasi_identifiers))),
        columns=list(question.keys),
        entity=question.entity,
        **how,
    )


def _small_classes(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step that lists small classes by their values: personal data, run on demand only. A
    record of a synthetic table may be a copy, which nothing shows."""
    if question.wildcard or question.made_from:
        return
    required = [
        (columns_of_set(question, check) if is_of_set(check) else question.quasi_identifiers, k)
        for check in question.checks
        if isinstance(check.model, KAnonymity) and (k := check.model.k)
    ]
    # The classes of all columns are the smallest.
    every = (question.quasi_identifiers, 2)
    columns, k = max(required, key=lambda each: len(each[0]), default=every)
    listing = step(
        question,
        "small_classes",
        f"Which are the smallest classes of {audited(question)} that have fewer than {k} "
        f"{counted(question)}, {SHOWN} of them at most?",
        render(
            "small_classes",
            relation=records(question, with_entity(question, [*columns])),
            columns=[*columns],
            k=k,
            entity=question.entity,
            first=SHOWN,
        ),
        KAnonymity,
        only="when values are shown: its rows are personal data",
    )
    yield ShownStep(statement=listing, when=lambda answers: answers.shows_values)
