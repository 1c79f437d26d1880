"""The plan of one table's audit: the steps that answer a resolved question.

Knows the templates and touches no database. A plan is a short list of steps, each one SELECT over
the declared tables. Every measure is read off frequency sets: one over the quasi-identifiers, one
per sensitive attribute, one per reference. The text of a step is what runs and what `compile`
prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

from kanon_sql.errors import SpecError
from kanon_sql.models.catalogue import as_planned, is_beside_classes
from kanon_sql.models.sizes.plan import classes, steps_on_people
from kanon_sql.models.values.plan import (
    distance_steps,
    named_values_steps,
    sensitive_steps,
    spelling_steps,
)
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.family_plan import families_of, family_plan
from kanon_sql.plan.other_columns import other_columns_steps
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.preconditions import preconditions
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion, reads_values
from kanon_sql.plan.steps import (
    PlannedStep,
    Precondition,
    ShownStep,
    name_list,
    statement_named,
    step,
)
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement


def plan_audit(question: ResolvedQuestion) -> Plan:
    """The audit plan of a resolved question.

    Text columns are grouped by their hash where that pays, for a million records or more. A step
    checks that the hash is exact on this table; otherwise they are grouped by their values. Raises
    `SpecError` where two columns can never be equal.
    """
    plan = Plan(question, tuple(_steps(question)))
    _refuse_shared_names(plan)
    return plan


def _refuse_shared_names(plan: Plan) -> None:
    """Raise `SpecError` for two statements of one name, by which their rows are kept."""
    statement_by_name: dict[str, Statement] = {}
    for planned in plan.steps:
        if isinstance(planned, Precondition):
            continue
        first = statement_by_name.setdefault(planned.name, planned.statement)
        if first.sql != planned.statement.sql:
            raise SpecError(
                f'two statements would be called "{planned.name}", after what they are about. '
                "Give the reference or earlier release another name; a column, in a view."
            )


def _steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """Every step in execution order; those whose rows are values come last."""
    yield from preconditions(question)
    steps = [*_steps_by_keys(question)] if question.quasi_identifiers else []
    steps += _steps_of_families(question, needs_classes=False)
    yield from sorted(steps, key=lambda planned: isinstance(planned, ShownStep))


def _steps_of_families(question: ResolvedQuestion, *, needs_classes: bool) -> Iterator[PlannedStep]:
    """The steps of the families that a question asks about, those with classes or the others."""
    for name in as_planned(families_of(question)):
        if needs_classes != is_beside_classes(name):
            yield from family_plan(name).steps(question)


def _steps_by_keys(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps on classes; where they group by hash, each with the statement that groups by values
    instead."""

    @cache
    def by_values() -> list[Statement]:
        return [planned.statement for planned in _steps_on_classes(question, question)]

    keyed = with_short_keys(question)
    for planned in _steps_on_classes(question, keyed):
        if keyed is question or planned.otherwise is not None or planned.name == _KEYS:
            yield planned
        else:
            otherwise = partial(statement_named, planned.name, by_values)
            yield replace(planned, suits=_keys_tell_apart, otherwise=otherwise)


def _steps_on_classes(question: ResolvedQuestion, keyed: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps on classes, which group by the keys of `keyed`."""
    reads_sensitive = reads_values(question)
    sensitive = tuple(sensitive_steps(keyed)) if reads_sensitive else ()
    distances = tuple(distance_steps(question))
    yield from _proof_of_keys(keyed)
    yield from () if reads_sensitive else [classes(keyed)]
    yield from sensitive
    yield from distances
    for column in keyed.sensitive if reads_sensitive else ():
        yield from spelling_steps(question, column)
    yield from named_values_steps(question)
    yield from steps_on_people(question, keyed) if question.entity else ()
    of_people = (*(read.people for read in sensitive), *(read.people for read in distances))
    yield from (people for people in of_people if people)
    yield from _steps_of_families(question, needs_classes=True)
    # The records of a synthetic table are nobody, whom no column singles out.
    yield from () if question.made_from else other_columns_steps(question)


LEAST_HASHED = 2
"""The minimum number of text quasi-identifiers for which hashed keys pay, provided that a sensitive
attribute is read too. The rule depends on the question, not on the file format. Processor time of
all models together falls by a factor of 1.4 for zip and sex with age, 1.3 for four texts including
a date of birth, 1.2 for a CSV file, and 1.6 to 1.9 for five texts with few values, proof included;
it rises by 1.1 if a text is nearly unique, such as a name. One text saves 1 %, and for k alone the
proof costs what the hash saves (DuckDB 2.0). Half of the hash suffices, as the proof is exact;
whole hashes take 1.3 times as long for five texts."""
MANY_RECORDS = 1_000_000
"""The minimum number of records, as known from metadata, for which text is hashed; below, the plain
GROUP BY is fast enough and easier to read."""


def with_short_keys(question: ResolvedQuestion) -> ResolvedQuestion:
    """The question with text columns grouped by their hash, if that pays."""

    def keyed(column: BoundColumn) -> BoundColumn:
        is_text = column.type == "VARCHAR" and column.generalised is None
        return replace(column, hashed=is_text)

    value_columns = {
        check.column.name for check in question.checks if check.column and check.model.reads_values
    }
    quasi_identifiers = tuple(keyed(column) for column in question.quasi_identifiers)
    sensitive = tuple(
        column if column.name in value_columns else keyed(column) for column in question.sensitive
    )
    pays = sum(column.hashed for column in quasi_identifiers) >= LEAST_HASHED and bool(sensitive)
    is_large = question.table.embedded and (question.table.records or 0) >= MANY_RECORDS
    if not is_large or question.wildcard or question.spec.first or question.made_from or not pays:
        return question
    return replace(question, keys=quasi_identifiers, sensitive=sensitive)


_KEYS = "keys"


def _proof_of_keys(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step that proves that grouping by hash is exact; none if nothing is hashed."""
    hashed = [column for column in (*question.keys, *question.sensitive) if column.hashed]
    if not hashed:
        return
    proof = step(
        question,
        _KEYS,
        f"Does the hash of {name_list(hashed)} tell all its values apart, so that classes may be "
        "grouped by it?",
        render("keys_tell_values_apart", relation=question.table.sql, columns=hashed),
        only="before the steps that group by hash(); if two counts differ, they group by the "
        "values instead",
    )
    yield PlannedStep(statement=proof)


def _keys_tell_apart(answers: Answers) -> bool:
    return all(row["kanon_values"] == row["kanon_keys"] for row in answers.rows(_KEYS))
