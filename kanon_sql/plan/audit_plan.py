"""Plans one table's audit: from a resolved question to the SELECTs that answer it.

Knows the templates and touches no database. A plan is a short list of steps, each one SELECT over
the declared tables. Every measure is read off frequency sets: one over the quasi-identifiers, one
per sensitive attribute, one per reference. The text of a step is what runs and what `compile`
prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kanon_sql.plan.check_sql import (
    LabelledCheck,
    labelled,
    presence_violations,
    reference_measures,
)
from kanon_sql.plan.earlier_plan import EarlierStep, steps_with_earlier
from kanon_sql.plan.event_plan import EventPlan, plan_events
from kanon_sql.plan.join_columns import sides
from kanon_sql.plan.preconditions import preconditions
from kanon_sql.plan.question import BoundCheck, BoundColumn, ResolvedQuestion
from kanon_sql.plan.resolve import bound_column
from kanon_sql.plan.sensitive_plan import (
    DistanceStep,
    NamedValuesStep,
    SensitiveStep,
    SpellingLook,
    audited,
    class_conditions,
    distance_steps,
    name_at_levels,
    named_values_steps,
    people_conditions,
    required_size,
    sensitive_steps,
    size_conditions,
    spelling_look,
)
from kanon_sql.plan.steps import (
    Precondition,
    counted,
    name_list,
    records,
    step,
    with_entity,
)
from kanon_sql.question.models.base import AT_RISK, ReferenceModel
from kanon_sql.question.models.sizes import KAnonymity
from kanon_sql.question.spec import SHOWN
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column, family

SURVEY_CLASSES = 1_000_000
"""Maximum number of rows of the survey step: distinct pairs of class size and weight sum.

They are needed for the individual risk.
"""


_COUNTED = ("text", "number", "time", "boolean")
"""Type families whose values every database can count."""


class ReferenceStep(NamedTuple):
    """The step that joins the release with one reference, and the checks it answers."""

    reference: str
    step: Statement
    checks: tuple[LabelledCheck, ...]
    people: Statement | None = None
    """The same counts per person, for people with records in several classes."""


class ColumnsStep(NamedTuple):
    """A step that counts something of each of several columns, and these columns."""

    step: Statement
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Every step of one table's audit, in execution order."""

    bound: ResolvedQuestion
    preconditions: tuple[Precondition, ...]
    events: EventPlan | None = None
    """The steps on events; None unless event columns are named."""
    keys: Statement | None = None
    """Proves that grouping by hash is exact; None if nothing is hashed."""
    classes: Statement | None = None
    sensitive: tuple[SensitiveStep, ...] = ()
    distances: tuple[DistanceStep, ...] = ()
    looks: tuple[SpellingLook, ...] = ()
    named_values: tuple[NamedValuesStep, ...] = ()
    number_of_people: Statement | None = None
    """None without an entity, as are the next two."""
    profiles: Statement | None = None
    people: Statement | None = None
    """Counts people by the smallest of their classes."""
    survey: Statement | None = None
    generalised_cells: Statement | None = None
    """Looks for a cell that stands for several values; None if no reference is matched by text, or
    the generalisation is known."""
    references: tuple[ReferenceStep, ...] = ()
    earlier: tuple[EarlierStep, ...] = ()
    unassigned: ColumnsStep | None = None
    """Counts the distinct values of the unassigned columns approximately; None without such
    columns, or if the database has no approximate count."""
    insensitive: ColumnsStep | None = None
    """Counts who is alone in each insensitive column that the spec gives no reason for."""
    shown: tuple[Statement, ...] = ()

    @property
    def steps(self) -> tuple[Statement, ...]:
        """Every step in execution order, without the absent ones."""
        optional = (
            *(precondition.step for precondition in self.preconditions),
            self.keys,
            self.classes,
            *(sensitive.step for sensitive in self.sensitive),
            *(distance.step for distance in self.distances),
            *(
                step
                for look in self.looks
                for step in (look.at_all, look.spellings, look.by_spelling)
            ),
            *(named.step for named in self.named_values),
            self.number_of_people,
            self.profiles,
            self.people,
            *(sensitive.people for sensitive in self.sensitive),
            *(distance.people for distance in self.distances),
            self.survey,
            self.generalised_cells,
            *(step for reference in self.references for step in (reference.step, reference.people)),
            *(step for earlier in self.earlier for step in earlier.statements),
            self.unassigned and self.unassigned.step,
            self.insensitive and self.insensitive.step,
            *(self.events.steps if self.events else ()),
            *self.shown,
            *(self.events.shown if self.events else ()),
        )
        return tuple(step for step in optional if step is not None)


def plan_audit(bound: ResolvedQuestion, *, short_keys: bool = True) -> Plan:
    """The audit plan of a resolved question.

    With `short_keys`, text columns are grouped by their hash where that pays, for a million records
    or more; the plan's `keys` step checks that the hash is exact on this table. Raises `SpecError`
    where two columns can never be equal.
    """
    events = plan_events(bound) if bound.events else None
    tested = tuple(preconditions(bound))
    if events and not bound.quasi_identifiers:
        return Plan(bound, tested, events)
    keyed = with_short_keys(bound) if short_keys else bound
    reads_sensitive = bound.sensitive and not bound.wildcard
    looked = keyed.sensitive if reads_sensitive else ()
    return Plan(
        bound,
        tested,
        events,
        keys=proof_of_keys(keyed),
        classes=None if reads_sensitive else _classes(keyed),
        sensitive=tuple(sensitive_steps(keyed)) if reads_sensitive else (),
        distances=tuple(distance_steps(bound)),
        looks=tuple(spelling_look(bound, column) for column in looked),
        named_values=tuple(named_values_steps(bound)),
        number_of_people=_number_of_people(bound, bound.entity) if bound.entity else None,
        profiles=_profiles(bound) if bound.entity else None,
        people=smallest_classes(keyed) if bound.entity else None,
        survey=_survey(bound) if bound.weight else None,
        generalised_cells=_generalised_cells(bound),
        references=tuple(_references(bound)),
        earlier=tuple(steps_with_earlier(bound)),
        unassigned=_unassigned(bound),
        insensitive=_insensitive(bound),
        shown=tuple(_shown(bound)),
    )


def _classes(bound: ResolvedQuestion) -> Statement:
    columns = list(bound.quasi_identifiers)
    size = required_size(bound)
    if bound.wildcard:
        question = (
            f"How many combinations of {name_list(columns)} in {audited(bound)} are compatible "
            "with each number of records, if NULL matches everything?"
        )
        relation = records(bound, columns)
        sql = render("k_anonymity_with_wildcards", relation=relation, columns=columns, k=size)
    else:
        question = (
            f"How many classes of {audited(bound)} by {name_list(columns)} have each size, in "
            f"{counted(bound)}?"
        )
        sql = render(
            "k_anonymity",
            relation=records(bound, with_entity(bound, columns)),
            columns=list(bound.keys),
            entity=bound.entity,
            k=size,
        )
    conditions = size_conditions(size)
    return step(bound, "classes", question, sql, KAnonymity, pass_conditions=conditions)


def _survey(bound: ResolvedQuestion) -> Statement:
    columns = list(bound.quasi_identifiers)
    assert bound.weight is not None
    return step(
        bound,
        "survey_classes",
        f"How many classes of {bound.table.name} have each size and each sum of "
        f"{bound.weight.name}? More than {SURVEY_CLASSES:,} rows are not answered.",
        render(
            "survey_classes",
            relation=records(bound, with_entity(bound, [*columns, bound.weight])),
            columns=columns,
            weight=bound.weight,
            entity=bound.entity,
            first=SURVEY_CLASSES + 1,
        ),
    )


def _number_of_people(bound: ResolvedQuestion, entity: BoundColumn) -> Statement:
    return step(
        bound,
        "number_of_people",
        f"How many people are in {bound.table.name}?",
        render("number_of_people", relation=records(bound, [entity]), entity=entity),
        KAnonymity,
    )


def _profiles(bound: ResolvedQuestion) -> Statement:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        "profiles",
        f"How many people in {bound.table.name} have records in exactly the same classes?",
        render(
            "profiles",
            relation=records(bound, with_entity(bound, columns)),
            columns=columns,
            entity=bound.entity,
        ),
        KAnonymity,
        only="where people have records in several classes; else their class is their profile",
    )


def smallest_classes(bound: ResolvedQuestion) -> Statement:
    """The step that counts people by the smallest of their classes."""
    return step(
        bound,
        "people",
        f"How many people in {bound.table.name} have each size of the smallest of their classes?",
        render(
            "smallest_classes",
            relation=records(bound, with_entity(bound, list(bound.quasi_identifiers))),
            columns=list(bound.keys),
            entity=bound.entity,
        ),
        KAnonymity,
        only="where people have records in several classes: each counts once, with the smallest",
    )


def for_ungeneralised_release(plan: Plan) -> Plan:
    """The plan for a release without generalised cells, where containment is equality of texts."""
    return replace(plan, references=tuple(_references(plan.bound, ungeneralised=True)))


def _generalised_cells(bound: ResolvedQuestion) -> Statement | None:
    """The step that looks for a generalised cell; None if matching by equality never suffices, or
    if every check matches so."""
    texts = [column for column in bound.quasi_identifiers if family(column.type) in ("", "text")]
    is_matched = any(
        isinstance(check.model, ReferenceModel)
        and check.model.reference is not None
        and check.model.match == "containment"
        for check in bound.checks
    )
    are_generalised = any(column.generalised for column in texts) or bound.recoded
    if not texts or not is_matched or are_generalised or bound.wildcard:
        return None
    return step(
        bound,
        "generalised_cells",
        f"How many records of {bound.table.name} may have a generalised cell in "
        f"{name_list(texts)}: *, a mask, an interval or a range?",
        render("generalised_cells", relation=records(bound, texts), columns=texts),
        only="before a reference is matched; without such a cell, texts are compared by equality",
    )


def _references(bound: ResolvedQuestion, *, ungeneralised: bool = False) -> Iterator[ReferenceStep]:
    """One step per reference, match mode and macro, shared by the checks that use it.

    With `ungeneralised`, the release has no generalised cells, so that a text matches itself alone.
    δ-presence is measured on the reference's classes, so it has a step of its own.
    """
    checks_by_key: dict[tuple[str, str, str], list[BoundCheck]] = {}
    for check in bound.checks:
        if isinstance(check.model, ReferenceModel) and check.model.reference is not None:
            key = (check.model.reference, check.model.match, check.model.statement)
            checks_by_key.setdefault(key, []).append(check)
    for (name, match, macro), requested in checks_by_key.items():
        reference = bound.references[name]
        reference_name = name_at_levels(reference.table.name, reference.generalised)
        checks = labelled(requested)
        risky = render("journalist_risk", bound=AT_RISK)
        risk_measure = render("people_where", predicate=risky, name="at_risk")
        measures = [
            *([risk_measure] if macro == "k_map" else []),
            *reference_measures(bound, checks),
        ]
        at_risk = f" At risk is whoever has a chance above {AT_RISK:g}." if macro == "k_map" else ""
        arguments: dict[str, Any] = {
            "sides": sides(bound, reference, "exact" if ungeneralised else match),
            "measures": measures,
            "union": any(check.model.parameters["missing"] == "union" for check in requested),
        }
        models = dict.fromkeys(type(check.model) for check in requested)
        step_name = f"{macro}_{name}" if match == "containment" else f"exact_{macro}_{name}"
        classes = step(
            bound,
            step_name,
            f"How many {'people' if reference.entity or reference.weight else 'records'} in "
            f"{reference_name} match each combination of "
            f"{name_list(bound.quasi_identifiers)} in {audited(bound)}, at least and in "
            f"all?{at_risk}",
            render_known(macro, **arguments),
            *models,
            pass_conditions=class_conditions(checks),
        )
        flags = list(presence_violations(checks)) if reference.entity else []
        people = (
            step(
                bound,
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
                bound,
                f"people_of_{step_name}",
                f"How many in {reference_name} match each person "
                f"of {bound.table.name} at least, in any of the person's classes?",
                render_known(macro, **arguments, each_person=True),
                *models,
                only="where people have records in several classes",
            )
            if bound.entity and macro == "k_map"
            else None
        )
        yield ReferenceStep(name, classes, checks, people)


def _unassigned(bound: ResolvedQuestion) -> ColumnsStep | None:
    columns = list(_countable(bound.roles.unassigned, bound))
    if not columns or not bound.table.approximates:
        return None
    counting = step(
        bound,
        "unassigned",
        f"About how many different values has each column of {bound.table.name} that has no role?",
        render("approximate_distinct", relation=records(bound, columns), columns=columns),
    )
    return ColumnsStep(counting, tuple(column.name for column in columns))


def _insensitive(bound: ResolvedQuestion) -> ColumnsStep | None:
    unexplained = [
        column
        for column, reviewed in zip(
            bound.roles.insensitive, bound.spec.insensitive.values(), strict=True
        )
        if reviewed.why is None
    ]
    columns = list(_countable(unexplained, bound))
    if not columns:
        return None
    people = "people" if bound.entity else "records"
    counting = step(
        bound,
        "insensitive",
        f"How many {people} of {bound.table.name} have a value of an insensitive column that no "
        "other has?",
        render(
            "alone_by_column",
            relation=records(bound, [*columns, *([bound.entity] if bound.entity else [])]),
            columns=columns,
            entity=bound.entity,
        ),
    )
    return ColumnsStep(counting, tuple(column.name for column in columns))


def _countable(columns: Iterable[Column], bound: ResolvedQuestion) -> Iterator[BoundColumn]:
    """The columns whose values the database can group."""
    for column in columns:
        if not column.unusable_because and (
            bound.table.embedded or family(column.type) in _COUNTED
        ):
            yield bound_column(column)


def _shown(bound: ResolvedQuestion) -> Iterator[Statement]:
    """The step that lists small classes by their values: personal data, run on demand only."""
    if bound.wildcard:
        return
    columns = list(bound.quasi_identifiers)
    k = next((c.model.k for c in bound.checks if isinstance(c.model, KAnonymity) and c.model.k), 2)
    yield step(
        bound,
        "small_classes",
        f"Which are the smallest classes of {audited(bound)} that have fewer than {k} "
        f"{counted(bound)}, {SHOWN} of them at most?",
        render(
            "small_classes",
            relation=records(bound, with_entity(bound, columns)),
            columns=columns,
            k=k,
            entity=bound.entity,
            first=SHOWN,
        ),
        KAnonymity,
        only="when values are shown: its rows are personal data",
    )


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


def with_short_keys(bound: ResolvedQuestion) -> ResolvedQuestion:
    """The question with text columns grouped by their hash, if that pays."""

    def keyed(column: BoundColumn) -> BoundColumn:
        is_text = column.type == "VARCHAR" and column.generalised is None
        return replace(column, hashed=is_text)

    value_columns = {
        check.column.name for check in bound.checks if check.column and check.model.reads_values
    }
    quasi_identifiers = tuple(keyed(column) for column in bound.quasi_identifiers)
    sensitive = tuple(
        column if column.name in value_columns else keyed(column) for column in bound.sensitive
    )
    pays = sum(column.hashed for column in quasi_identifiers) >= LEAST_HASHED and bool(sensitive)
    is_large = bound.table.embedded and (bound.table.records or 0) >= MANY_RECORDS
    if not is_large or bound.wildcard or bound.spec.first or not pays:
        return bound
    return replace(bound, keys=quasi_identifiers, sensitive=sensitive)


def proof_of_keys(bound: ResolvedQuestion) -> Statement | None:
    hashed = [column for column in (*bound.keys, *bound.sensitive) if column.hashed]
    if not hashed:
        return None
    return step(
        bound,
        "keys",
        f"Does the hash of {name_list(hashed)} tell all its values apart, so that classes may be "
        "grouped by it?",
        render("keys_tell_values_apart", relation=bound.table.sql, columns=hashed),
        only="before the steps that group by hash(); if two counts differ, they group by the "
        "values instead",
    )
