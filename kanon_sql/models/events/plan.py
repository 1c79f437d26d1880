"""The steps on an event table: its counts, alone or with the attack by one event, then each model's
statements.

Whether combinations are counted or events are drawn depends on how many combinations there are, so
a check has a statement for each form that may run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kanon_sql.errors import SpecError, option, plural
from kanon_sql.models.base import Model
from kanon_sql.models.events.models import (
    MOST_COMBINATIONS,
    MOST_EXPANDED,
    EventModel,
    KmAnonymity,
    KnownEvents,
)
from kanon_sql.plan.answers import Answers, total
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.preconditions import without_entity
from kanon_sql.plan.question import BoundCheck, BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import (
    PlannedStep,
    ShownStep,
    audited,
    name_list,
    records,
    step,
    with_entity,
)
from kanon_sql.question.spec import SHOWN
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

EVENTS, TO_COUNT = "events", "combinations_to_count"
"""The steps that count the events, and the combinations of them to expand."""
ONE_EVENT = "known_events_1"
"""The step that attacks with one event; where nothing else is known it counts the events too."""


@dataclass(frozen=True, kw_only=True)
class EventStep(PlannedStep):
    """A step that may answer a check on events, exactly or by a draw."""

    check: BoundCheck
    draws: bool = False
    counts: bool = False
    """Whether it counts the events too, which costs little beside the attack by one event."""


@dataclass(frozen=True)
class EventCheck:
    """A check on events with the steps that may answer it."""

    check: BoundCheck
    exact: tuple[EventStep, ...] = ()
    """For k^m-anonymity one for each m up to the requested one; empty if events must be drawn."""
    drawn: EventStep | None = None

    @classmethod
    def planned(cls, check: BoundCheck, plan: Plan) -> EventCheck:
        """A check with its steps in the plan of a table."""
        steps = [step for step in plan.of(EventStep) if step.check is check]
        drawn = next((step for step in steps if step.draws), None)
        return cls(check, tuple(step for step in steps if not step.draws), drawn)

    @property
    def steps(self) -> tuple[EventStep, ...]:
        return (*self.exact, *([self.drawn] if self.drawn else []))


@dataclass(frozen=True)
class EventPlan:
    """The steps on the events of a table, in execution order."""

    first: tuple[PlannedStep, ...]
    """Count the events, and the people with several combinations of the quasi-identifiers."""
    to_count: tuple[PlannedStep, ...]
    """Counts the combinations to expand; empty if no check may expand any."""
    checks: tuple[EventCheck, ...]
    shown: tuple[PlannedStep, ...]
    """Lists of values, of one event and of two; only one of them is run, on request."""

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        """Every step but those that list values."""
        of_checks = (
            step
            for check in self.checks
            for step in check.steps
            if all(step is not each for each in self.first)
        )
        return (*self.first, *self.to_count, *of_checks)


def expanded(answers: Answers) -> dict[int, int]:
    """Number of combinations to expand, by number of events; of one event alone, if no check may
    expand more."""
    row = answers.row(TO_COUNT)
    if row is None:
        return {1: 0}
    pairs = round(row["kanon_ordered_pairs"]) // 2
    return {1: 0, 2: pairs, 3: pairs + round(row["kanon_ordered_triples"]) // 6}


def is_exact(model: KnownEvents, answers: Answers) -> bool:
    """Whether every combination of the events is tried: they are few enough."""
    if model.m > MOST_EXPANDED:
        return False
    return model.m == 1 or expanded(answers)[model.m] <= model.max_combinations


def most_counted(model: KmAnonymity, answers: Answers) -> int:
    """The largest number of events of which all combinations are few enough to count."""
    numbers = expanded(answers)
    sizes = range(1, model.m + 1)
    return max(m for m in sizes if m == 1 or numbers[m] <= model.max_combinations)


def event_figures(answers: Answers) -> Row | None:
    """The figures of the events; None without records. The attack by one event has a row for each
    crowd, with the figures of its people."""
    rows = answers.rows(EVENTS) or answers.rows(ONE_EVENT)
    if not total(rows, "kanon_records"):
        return None
    return {
        **{name: total(rows, name) for name in _SUMMED},
        **{name: rows[0][name] for name in ("kanon_distinct", "kanon_with_null")},
        "kanon_fewest": min(row["kanon_fewest"] for row in rows),
        "kanon_most": max(row["kanon_most"] for row in rows),
    }


_SUMMED = ("kanon_records", "kanon_people", "kanon_person_events")


def with_events(answers: Answers) -> bool:
    """The condition that the table has records."""
    return event_figures(answers) is not None


_MEASURED = (KnownEvents(m=1), KnownEvents(m=2), KmAnonymity())
"""What is measured by default."""


def bound(model: EventModel, scope: CheckScope) -> BoundCheck:
    """A check on events. Raises `SpecError` without any."""
    if not scope.spec.events:
        raise SpecError(
            f"{model.name()} needs events: name the columns that make an event of a person, as "
            f"in {option('events', 'ward,month')}."
        )
    return BoundCheck(model, requested=True)


def measured(scope: CheckScope, requested: Sequence[Model]) -> Iterator[BoundCheck]:
    """What is measured of events unless something is required, or asked of events."""
    if not any(model.gates or isinstance(model, EventModel) for model in requested):
        yield from (BoundCheck(model, requested=False) for model in _MEASURED)


def own_arguments(question: ResolvedQuestion, check: BoundCheck) -> Iterator[tuple[str, Any]]:
    """The arguments of a check's own statement that differ from those of checks on classes."""
    columns = _known_columns(question)
    yield "relation", records(question, with_entity(question, [*columns]))
    yield "columns", list(columns)
    yield "known", list(question.quasi_identifiers)


def steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """Every step on events; none unless event columns are named."""
    if question.events:
        plan = plan_events(question)
        yield from (*plan.steps, *plan.shown)


def plan_events(
    question: ResolvedQuestion, models: Sequence[EventModel] | None = None
) -> EventPlan:
    """The steps on the events of a table, for its checks or for these `models`."""
    requested = (
        [check for check in question.checks if isinstance(check.model, EventModel)]
        if models is None
        else [BoundCheck(model, requested=False) for model in models]
    )
    statements = _Statements(question)
    checks = tuple(statements.of(check) for check in requested)
    may_expand = any(_may_expand(check) for check in checks)
    return EventPlan(
        first=tuple(_first(question, checks)),
        to_count=(PlannedStep(statement=_to_count(question), when=with_events),)
        if may_expand
        else (),
        checks=checks,
        shown=tuple(_shown(question)),
    )


def _first(question: ResolvedQuestion, checks: Sequence[EventCheck]) -> Iterator[PlannedStep]:
    counting = [each for check in checks for each in check.exact if each.counts]
    if counting:
        yield counting[0]
    else:
        yield PlannedStep(statement=_counts(question), refuse=partial(without_entity, question))
    if question.quasi_identifiers:
        yield PlannedStep(
            statement=_quasi_identifiers(question),
            when=with_events,
            refuse=lambda rows: _several(question, rows[0]),
        )


def _several(question: ResolvedQuestion, row: Row) -> str | None:
    """Error message if the quasi-identifiers differ within a person."""
    several, people = int(row["kanon_in_several"]), int(row["kanon_people"])
    if not several:
        return None
    names = ", ".join(column.name for column in question.quasi_identifiers)
    it, has = (
        ("it", "has several values")
        if len(question.quasi_identifiers) == 1
        else ("them", "have several values")
    )
    return (
        f"{question.table.name}: {names} {has} for {several:,} of {plural(people, 'person')}: "
        f"name {it} among {option('events')}, or leave {it} out."
    )


def _may_expand(check: EventCheck) -> bool:
    model = check.check.model
    return isinstance(model, EventModel) and 1 < model.parameters["m"] <= MOST_EXPANDED


def _entity(question: ResolvedQuestion) -> BoundColumn:
    assert question.entity is not None
    return question.entity


def _of_events(question: ResolvedQuestion, columns: Sequence[BoundColumn]) -> dict[str, Any]:
    """The arguments that every macro on events takes."""
    entity = _entity(question)
    return {
        "relation": records(question, [entity, *columns]),
        "columns": list(columns),
        "entity": entity,
    }


def _counts(question: ResolvedQuestion) -> Statement:
    return step(
        question,
        EVENTS,
        f"How many events by {name_list(question.events)} are there in {audited(question)}, and "
        "how many has a person?",
        render("events", **_of_events(question, question.events)),
    )


def _quasi_identifiers(question: ResolvedQuestion) -> Statement:
    columns = question.quasi_identifiers
    return step(
        question,
        "quasi_identifiers_of_people",
        f"How many people in {question.table.name} have several values of {name_list(columns)}?",
        render("quasi_identifiers_of_people", **_of_events(question, columns)),
    )


def _to_count(question: ResolvedQuestion) -> Statement:
    return step(
        question,
        TO_COUNT,
        f"How many ordered pairs and triples of events do the people in {question.table.name} "
        "have, of events that somebody else has too?",
        render("combinations_to_count", **_of_events(question, _known_columns(question))),
        KmAnonymity,
        KnownEvents,
        only="before combinations are counted: 1/2 of the pairs and 1/6 of the triples",
    )


def _known_columns(question: ResolvedQuestion) -> tuple[BoundColumn, ...]:
    """The columns that an attacker knows with each event: the quasi-identifiers, and the event."""
    return (*question.quasi_identifiers, *question.events)


@dataclass
class _Statements:
    """The statements of the checks of a table; equal ones are shared."""

    question: ResolvedQuestion
    by_name: dict[str, Statement] = field(default_factory=dict)

    def of(self, check: BoundCheck) -> EventCheck:
        match check.model:
            case KmAnonymity() as model:
                sizes = range(1, model.m + 1)
                return EventCheck(check, tuple(self._km_step(check, model, m) for m in sizes))
            case KnownEvents() as model:
                exact = tuple(self._exact_step(check, model))
                return EventCheck(check, exact, self._drawn_step(check, model))
        raise AssertionError(f"{check.model.name()} is no model of events")

    def _km_step(self, check: BoundCheck, model: KmAnonymity, m: int) -> EventStep:
        return EventStep(
            check=check,
            statement=self._km_anonymity(model, m),
            when=lambda answers: with_events(answers) and most_counted(model, answers) == m,
        )

    def _exact_step(self, check: BoundCheck, model: KnownEvents) -> Iterator[EventStep]:
        if self._counts_events(model):
            yield EventStep(
                check=check,
                counts=True,
                statement=self._exact(model),
                refuse=partial(without_entity, self.question),
            )
        elif model.m <= MOST_EXPANDED:
            yield EventStep(
                check=check,
                statement=self._exact(model),
                when=lambda answers: with_events(answers) and is_exact(model, answers),
            )

    def _drawn_step(self, check: BoundCheck, model: KnownEvents) -> EventStep | None:
        if model.m == 1:
            return None
        return EventStep(
            check=check,
            draws=True,
            statement=self._drawn(model),
            when=lambda answers: with_events(answers) and not is_exact(model, answers),
        )

    def _counts_events(self, model: KnownEvents) -> bool:
        """Whether its statement counts the events too: one is known, and nothing else."""
        return model.m == 1 and not self.question.quasi_identifiers

    def _rendered(self, macro: str, **arguments: Any) -> str:
        return render(
            macro, **_of_events(self.question, _known_columns(self.question)), **arguments
        )

    def _known_text(self, times: bool) -> str:
        names = (
            name_list(self.question.quasi_identifiers) if self.question.quasi_identifiers else ""
        )
        suffix = f" and {names}" if names else ""
        return f"{suffix}{', each as often as it occurs,' if times else ''}"

    def _km_anonymity(self, model: KmAnonymity, m: int) -> Statement:
        rare_clause = f" and how many are shared by fewer than {model.k} people" if model.k else ""
        events = "one event" if m == 1 else f"at most {m} events"
        return self._stored(
            f"km_anonymity_{m}",
            f"How many combinations of {events}{self._known_text(model.times)} occur in "
            f"{audited(self.question)}{rare_clause}, and which is the smallest number who share "
            "one?",
            self._rendered("km_anonymity", m=m, k=model.k, times=model.times),
            KmAnonymity,
            only=(
                f"if there are no more than {model.max_combinations:,} combinations to count"
                if m == model.m
                else f"if combinations of {m + 1} events are too many to count"
            )
            if model.m > 1
            else "",
        )

    def _exact(self, model: KnownEvents) -> Statement:
        is_single = model.m == 1
        return self._stored(
            ONE_EVENT if is_single else f"known_events_{model.m}",
            f"How many people of {audited(self.question)} are found among each number of people, "
            f"by the {'one' if is_single else model.m} of their events"
            f"{self._known_text(model.times)} that {'tells' if is_single else 'tell'} most?"
            + (" And how many events are there?" if self._counts_events(model) else ""),
            self._rendered(
                "known_events",
                m=model.m,
                k=model.k,
                times=model.times,
                counted=self._counts_events(model),
            ),
            KnownEvents,
            only=f"if there are no more than {model.max_combinations:,} combinations to count"
            if model.m > 1
            else "",
        )

    def _drawn(self, model: KnownEvents) -> Statement:
        is_only_statement = model.m > MOST_EXPANDED
        return self._stored(
            f"known_events_{model.m}" if is_only_statement else f"drawn_known_events_{model.m}",
            f"How many of {model.sample:,} people of {audited(self.question)} are found among each "
            f"number of people, by {model.m} of their events{self._known_text(model.times)} drawn "
            "at random?",
            self._rendered(
                "drawn_events",
                m=model.m,
                times=model.times,
                sample=model.sample,
                seed=model.seed,
                qi=len(self.question.quasi_identifiers),
                rereads=self.question.table.rereads,
            ),
            KnownEvents,
            only=""
            if is_only_statement
            else f"if there are more than {model.max_combinations:,} combinations to count",
        )

    def _stored(self, name: str, question: str, sql: str, *models: Any, only: str) -> Statement:
        """The statement under its name, or under a numbered one if another has it."""
        for number in range(1, 1 + len(self.by_name) + 1):
            numbered_name = name if number == 1 else f"{name}_{number}"
            statement = step(self.question, numbered_name, question, sql, *models, only=only)
            if self.by_name.setdefault(numbered_name, statement).sql == statement.sql:
                return self.by_name[numbered_name]
        raise AssertionError("one of the names is free")


def _shown(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps that list the combinations of fewest people, of one event and of two: personal
    data, run on demand only."""
    for m in (1, 2):
        events = "one event" if m == 1 else "two events"
        listing = step(
            question,
            f"rare_combinations_{m}",
            f"Which {SHOWN} combinations of at most {events} in {audited(question)} do the fewest "
            "people share?",
            render(
                "rare_combinations",
                **_of_events(question, _known_columns(question)),
                m=m,
                first=SHOWN,
            ),
            KmAnonymity,
            only="when values are shown: its rows are personal data",
        )
        yield ShownStep(statement=listing, when=partial(_lists, m))


def _lists(m: int, answers: Answers) -> bool:
    """Whether values are listed by combinations of m events: of two, if all are few enough."""
    lists_pairs = expanded(answers).get(2, math.inf) <= MOST_COMBINATIONS
    return answers.shows_values and with_events(answers) and lists_pairs == (m == 2)
