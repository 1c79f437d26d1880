"""The plan of one table's audit: the steps that answer a resolved question.

Knows the templates and touches no database. A plan is a short list of steps, each one SELECT over
the declared tables. Every measure is read off frequency sets: one over the quasi-identifiers, one
per sensitive attribute, one per reference. The text of a step is what runs and what `compile`
prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

from kanon_sql.errors import SpecError
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.check_sql import (
    LabelledCheck,
    labelled,
    presence_violations,
    reference_measures,
)
from kanon_sql.plan.earlier_plan import steps_with_earlier
from kanon_sql.plan.event_plan import EventPlan, plan_events
from kanon_sql.plan.join_columns import sides
from kanon_sql.plan.other_columns import other_columns_steps
from kanon_sql.plan.preconditions import preconditions, without_entity
from kanon_sql.plan.question import BoundCheck, BoundColumn, ResolvedQuestion
from kanon_sql.plan.sensitive_plan import (
    audited,
    class_conditions,
    distance_steps,
    fails,
    name_at_levels,
    named_values_steps,
    people_conditions,
    required_size,
    sensitive_steps,
    size_conditions,
    spelling_steps,
)
from kanon_sql.plan.steps import (
    PlannedStep,
    Precondition,
    ShownStep,
    counted,
    in_several_classes,
    name_list,
    records,
    step,
    with_entity,
    with_records,
)
from kanon_sql.question.models.base import AT_RISK, ReferenceModel
from kanon_sql.question.models.sizes import KAnonymity
from kanon_sql.question.spec import SHOWN
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import family

SURVEY = "survey_classes"
"""The step on survey weights."""
SURVEY_CLASSES = 1_000_000
"""Maximum number of rows of the survey step: distinct pairs of class size and weight sum.

They are needed for the individual risk.
"""


@dataclass(frozen=True, kw_only=True)
class ReferenceStep(PlannedStep):
    """The step that joins the release with one reference, and the checks it answers."""

    reference: str
    checks: tuple[LabelledCheck, ...]
    people: PlannedStep | None = None
    """The same counts per person, for people with records in several classes."""


AnyStep = TypeVar("AnyStep", bound=PlannedStep)


@dataclass(frozen=True)
class Plan:
    """Every step of one table's audit, in execution order."""

    question: ResolvedQuestion
    steps: tuple[PlannedStep, ...]
    events: EventPlan | None = None
    """The steps on events, by what they are for; None unless event columns are named."""

    def of(self, kind: type[AnyStep]) -> Iterator[AnyStep]:
        """The steps of a kind."""
        return (step for step in self.steps if isinstance(step, kind))

    def without(self, kind: type[PlannedStep]) -> Plan:
        """The same plan, without the steps of a kind."""
        steps = tuple(step for step in self.steps if not isinstance(step, kind))
        return replace(self, steps=steps)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statement of every step, once; those that may take their place are left out."""
        return tuple(dict.fromkeys(step.statement for step in self.steps))


def plan_audit(question: ResolvedQuestion) -> Plan:
    """The audit plan of a resolved question.

    Text columns are grouped by their hash where that pays, for a million records or more. A step
    checks that the hash is exact on this table; otherwise they are grouped by their values. Raises
    `SpecError` where two columns can never be equal.
    """
    events = plan_events(question) if question.events else None
    plan = Plan(question, tuple(_steps(question, events)), events)
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


def _steps(question: ResolvedQuestion, events: EventPlan | None) -> Iterator[PlannedStep]:
    """Every step in execution order."""
    yield from preconditions(question)
    if question.quasi_identifiers:
        yield from _steps_by_keys(question)
    yield from events.steps if events else ()
    yield from _shown(question) if question.quasi_identifiers else ()
    yield from events.shown if events else ()


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
            otherwise = partial(_of_name, planned.name, by_values)
            yield replace(planned, suits=_keys_tell_apart, otherwise=otherwise)


def _of_name(name: str, statements: Callable[[], Sequence[Statement]]) -> Statement:
    return next(statement for statement in statements() if statement.name == name)


def _steps_on_classes(question: ResolvedQuestion, keyed: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps on classes, which group by the keys of `keyed`."""
    reads_sensitive = question.sensitive and not question.wildcard
    sensitive = tuple(sensitive_steps(keyed)) if reads_sensitive else ()
    distances = tuple(distance_steps(question))
    yield from _proof_of_keys(keyed)
    if not reads_sensitive:
        yield PlannedStep(statement=_classes(keyed), refuse=partial(without_entity, question))
    yield from sensitive
    yield from distances
    for column in keyed.sensitive if reads_sensitive else ():
        yield from spelling_steps(question, column)
    yield from named_values_steps(question)
    if question.entity:
        number_of_people = _number_of_people(question, question.entity)
        yield PlannedStep(statement=number_of_people, when=with_records)
        yield PlannedStep(statement=_profiles(question), when=in_several_classes)
        yield PlannedStep(statement=smallest_classes(keyed), when=in_several_classes)
    of_people = (*(read.people for read in sensitive), *(read.people for read in distances))
    yield from (people for people in of_people if people)
    if question.weight:
        yield PlannedStep(statement=_survey(question), when=with_records)
    yield from _generalised_cells(question)
    for reference in _references(question):
        yield reference
        yield from [reference.people] if reference.people else ()
    for earlier in steps_with_earlier(question):
        yield from (earlier, *earlier.further)
    yield from other_columns_steps(question)


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
            k=size,
        )
    conditions = size_conditions(size)
    return step(question, "classes", words, sql, KAnonymity, pass_conditions=conditions)


def _survey(question: ResolvedQuestion) -> Statement:
    columns = list(question.quasi_identifiers)
    assert question.weight is not None
    return step(
        question,
        SURVEY,
        f"How many classes of {question.table.name} have each size and each sum of "
        f"{question.weight.name}? More than {SURVEY_CLASSES:,} rows are not answered.",
        render(
            "survey_classes",
            relation=records(question, with_entity(question, [*columns, question.weight])),
            columns=columns,
            weight=question.weight,
            entity=question.entity,
            first=SURVEY_CLASSES + 1,
        ),
    )


def _number_of_people(question: ResolvedQuestion, entity: BoundColumn) -> Statement:
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
    """The step that counts people by the smallest of their classes."""
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


def _generalised_cells(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step that looks for a generalised cell; none if matching by equality never suffices, or
    if every check matches so."""
    texts = [column for column in question.quasi_identifiers if family(column.type) in ("", "text")]
    is_matched = any(
        isinstance(check.model, ReferenceModel)
        and check.model.reference is not None
        and check.model.match == "containment"
        for check in question.checks
    )
    are_generalised = any(column.generalised for column in texts) or question.recoded
    if not texts or not is_matched or are_generalised or question.wildcard:
        return
    looking = step(
        question,
        "generalised_cells",
        f"How many records of {question.table.name} may have a generalised cell in "
        f"{name_list(texts)}: *, a mask, an interval or a range?",
        render("generalised_cells", relation=records(question, texts), columns=texts),
        only="before a reference is matched; without such a cell, texts are compared by equality",
    )
    yield PlannedStep(statement=looking)


def _may_be_generalised(answers: Answers) -> bool:
    """Whether a cell of the release may stand for several values."""
    row = answers.row("generalised_cells")
    return row is None or bool(row["kanon_generalised"])


def _references(question: ResolvedQuestion) -> Iterator[ReferenceStep]:
    """One step per reference, match mode and macro, shared by the checks that use it.

    δ-presence is measured on the reference's classes, so it has a step of its own.
    """
    checks_by_key: dict[tuple[str, str, str], list[BoundCheck]] = {}
    for check in question.checks:
        if isinstance(check.model, ReferenceModel) and check.model.reference is not None:
            key = (check.model.reference, check.model.match, check.model.statement)
            checks_by_key.setdefault(key, []).append(check)
    for (name, match, macro), requested in checks_by_key.items():
        statements = partial(_with_reference, question, name, match, macro, requested)
        ungeneralised = cache(partial(statements, ungeneralised=True))
        classes, *of_people = statements()
        of_presence = any(check.model.of_reference for check in requested)
        steps = [
            PlannedStep(
                statement=people,
                when=partial(fails, classes.name) if of_presence else in_several_classes,
                suits=_may_be_generalised,
                otherwise=partial(_of_name, people.name, ungeneralised),
            )
            for people in of_people
        ]
        yield ReferenceStep(
            statement=classes,
            when=with_records,
            suits=_may_be_generalised,
            otherwise=partial(_of_name, classes.name, ungeneralised),
            reference=name,
            checks=labelled(requested),
            people=next(iter(steps), None),
        )


def _with_reference(
    question: ResolvedQuestion,
    name: str,
    match: str,
    macro: str,
    requested: Sequence[BoundCheck],
    *,
    ungeneralised: bool = False,
) -> list[Statement]:
    """The statement on the classes, and the one on people if some may be in several of them.

    With `ungeneralised`, the release has no generalised cells, so that a text matches itself alone.
    """
    reference = question.references[name]
    reference_name = name_at_levels(reference.table.name, reference.generalised)
    checks = labelled(requested)
    risky = render("journalist_risk", bound=AT_RISK)
    risk_measure = render("people_where", predicate=risky, name="at_risk")
    measures = [
        *([risk_measure] if macro == "k_map" else []),
        *reference_measures(question, checks),
    ]
    at_risk = f" At risk is whoever has a chance above {AT_RISK:g}." if macro == "k_map" else ""
    arguments: dict[str, Any] = {
        "sides": sides(question, reference, "exact" if ungeneralised else match),
        "measures": measures,
        "union": any(check.model.parameters["missing"] == "union" for check in requested),
    }
    models = dict.fromkeys(type(check.model) for check in requested)
    step_name = f"{macro}_{name}" if match == "containment" else f"exact_{macro}_{name}"
    classes = step(
        question,
        step_name,
        f"How many {'people' if reference.entity or reference.weight else 'records'} in "
        f"{reference_name} match each combination of "
        f"{name_list(question.quasi_identifiers)} in {audited(question)}, at least and in "
        f"all?{at_risk}",
        render_known(macro, **arguments),
        *models,
        pass_conditions=class_conditions(checks),
    )
    flags = list(presence_violations(checks)) if reference.entity else []
    people = (
        step(
            question,
            f"people_of_{step_name}",
            f"How many people of {reference_name} are in a class that is out of bounds?",
            render_known(
                macro,
                **arguments | {"measures": []},
                flags=flags,
            ),
            *models,
            only="where any class is",
            pass_conditions=people_conditions(checks),
        )
        if flags
        else step(
            question,
            f"people_of_{step_name}",
            f"How many in {reference_name} match each person "
            f"of {question.table.name} at least, in any of the person's classes?",
            render_known(macro, **arguments, each_person=True),
            *models,
            only="where people have records in several classes",
        )
        if question.entity and macro == "k_map"
        else None
    )
    return [classes] if people is None else [classes, people]


def _shown(question: ResolvedQuestion) -> Iterator[PlannedStep]:
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
    if not is_large or question.wildcard or question.spec.first or not pays:
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
