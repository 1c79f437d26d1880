"""The family of checks on events.

A draw proves violations and never that a bound is kept: the attack it makes is a possible one, and
a better one may exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from kanon_sql.auditing.intervals import wilson
from kanon_sql.errors import InputError
from kanon_sql.models.base import Number
from kanon_sql.models.events.models import KmAnonymity, KnownEvents
from kanon_sql.models.events.plan import (
    EventCheck,
    event_figures,
    expanded,
    is_exact,
    most_counted,
)
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import Events, Summary
from kanon_sql.sql.quoting import exactly

TAIL = 0.025
"""A chance below which a bound is rejected by what a draw finds."""


class Attack(NamedTuple):
    """The figures of one number of known events, exact or drawn."""

    m: int
    k: int
    people: int
    drawn: bool
    crowds: tuple[tuple[int, int], ...]
    """Number of attacked people by the size of their crowd."""
    fewer: int
    random_sums: tuple[float, float, float] = (0, 0, 0)
    """Exact form: sums over people of the chances at random."""

    @property
    def attacked(self) -> int:
        return sum(count for _, count in self.crowds)

    @property
    def below(self) -> int:
        """The attacked among fewer than k."""
        return sum(count for crowd, count in self.crowds if crowd < self.k)

    @property
    def alone(self) -> int:
        return sum(count for crowd, count in self.crowds if crowd == 1)

    @property
    def highest(self) -> Fraction:
        return Fraction(1, min(crowd for crowd, _ in self.crowds))

    @property
    def chances(self) -> Fraction:
        """Sum of 1 / crowd over the attacked."""
        return _sum([Fraction(count, crowd) for crowd, count in self.crowds])

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson(self.below, self.attacked) if self.drawn else None

    def to_dict(self) -> dict[str, Any]:
        """The figures as the result has them."""
        attacked = self.attacked
        share, average = self.below / attacked, float(self.chances / attacked)
        highest = float(self.highest)
        if self.drawn:
            worst = None
            random = {
                "share": share,
                "alone": self.alone / attacked,
                "average": average,
                "highest": highest,
            }
        else:
            names = ("share", "alone", "average")
            sums = zip(names, self.random_sums, strict=True)
            random = {name: total / attacked for name, total in sums}
            worst = {"share": share, "alone": self.alone, "highest": highest, "average": average}
        return {
            "drawn": self.drawn,
            "attacked": attacked,
            "fewer": self.fewer,
            "interval": self.interval,
            "worst": worst,
            "random": random,
        }


def _sum(terms: Sequence[Fraction]) -> Fraction:
    """The sum by halves, which keeps denominators short."""
    if len(terms) < 3:
        return sum(terms, Fraction(0))
    half = len(terms) // 2
    return _sum(terms[:half]) + _sum(terms[half:])


def upper_tail(successes: int, attacked: int, share: float) -> float:
    """Chance that `attacked` draws find `successes` or more, each with a chance of `share`.

    >>> round(upper_tail(2, 3, 0.5), 12)
    0.5
    """
    n, x = attacked, successes
    if x == 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    if x <= n * share:
        return 1 - sum(_binomial(hits, n, share) for hits in range(x)) if n < 1000 else 0.5
    term = total = _binomial(x, n, share)
    for number in range(x, n):
        term *= (n - number) / (number + 1) * share / (1 - share)
        total += term
        if term < total * 1e-17:
            break
    return total


def _binomial(x: int, n: int, share: float) -> float:
    choices = math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
    return math.exp(choices + x * math.log(share) + (n - x) * math.log1p(-share))


# --- reading the steps ----------------------------------------------------------------------


def events_of(question: ResolvedQuestion, answers: Answers) -> Events | None:
    """The figures of the events; None without records."""
    row = event_figures(answers)
    if row is None:
        return None
    return Events(
        columns=tuple(column.name for column in question.events),
        distinct=int(row["kanon_distinct"]),
        person_events=int(row["kanon_person_events"]),
        fewest=int(row["kanon_fewest"]),
        most=int(row["kanon_most"]),
        records_with_null_event=int(row["kanon_with_null"]),
    )


def people_with_events(answers: Answers) -> int:
    """The number of people in an event table; 0 without records."""
    row = event_figures(answers)
    return int(row["kanon_people"]) if row else 0


def records_with_events(answers: Answers) -> int:
    """The number of records of an event table."""
    row = event_figures(answers)
    return int(row["kanon_records"]) if row else 0


def attack(planned: EventCheck, answers: Answers) -> Attack:
    """The attack on everyone with every combination, if these are few enough, or on a draw."""
    model = planned.check.model
    assert isinstance(model, KnownEvents)
    people, exact = people_with_events(answers), is_exact(model, answers)
    step = planned.exact[0] if exact else planned.drawn
    assert step is not None
    rows = answers.rows(step.name)
    crowds = tuple((int(row["kanon_crowd"]), int(row["kanon_people"])) for row in rows)
    if not exact:
        fewer = int(rows[0]["kanon_fewer"])
        return Attack(model.m, model.k, people, True, crowds, fewer)
    below, alone, chance = (
        math.fsum(float(row[name]) for row in rows)
        for name in ("kanon_below", "kanon_alone", "kanon_chance")
    )
    fewer = sum(int(row["kanon_fewer"]) for row in rows)
    return Attack(model.m, model.k, people, False, crowds, fewer, (below, alone, chance))


def fields(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The figures of the events, and of the table if it has no classes."""
    records, people = records_with_events(answers), people_with_events(answers)
    return {
        "events": events_of(plan.question, answers),
        "summary": Summary(records=records, people=people or None),
    }


def judge(check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
    """The result of a check on events. Raises `InputError` for combinations that are too many."""
    planned = EventCheck.planned(check, plan)
    match check.model:
        case KmAnonymity() as model:
            return _km_anonymity(model, planned, answers)
        case KnownEvents() as model:
            return _known_events(model, planned, attack(planned, answers))
    raise AssertionError(f"{check.model.name()} is no model of events")


# --- known events ---------------------------------------------------------------------------


def _known_events(model: KnownEvents, planned: EventCheck, outcome: Attack) -> CheckResult:
    holds, evidence = (
        _draw_verdict(model, outcome) if outcome.drawn else (_holds(model, outcome), "exact")
    )
    figures = outcome.to_dict()
    judged = figures["random"] if outcome.drawn else figures["worst"]
    return CheckResult(
        model=model.name(),
        parameters=model.parameters,
        holds=holds if planned.check.gates else None,
        achieved=judged["share"],
        violating_people=outcome.below,
        details={
            "drawn": outcome.drawn,
            "evidence": evidence,
            **{name: figure for name, figure in figures.items() if name != "drawn"},
            "highest": judged["highest"],
            "average": judged["average"],
        },
    )


def _exceeds(model: KnownEvents, outcome: Attack) -> Iterator[bool]:
    """Whether each figure of the attacked, taken of everyone, exceeds its bound."""
    everyone = outcome.people
    yield _is_above(Fraction(outcome.below, everyone), model.max_share)
    yield _is_above(outcome.highest, model.max_highest)
    if model.max_average is not None:
        yield _is_above(outcome.chances / everyone, model.max_average)


def _is_above(figure: Fraction, bound: Number | None) -> bool:
    return bound is not None and figure > exactly(bound)


def _holds(model: KnownEvents, outcome: Attack) -> bool:
    return not any(_exceeds(model, outcome))


def _draw_verdict(model: KnownEvents, outcome: Attack) -> tuple[bool | None, str]:
    """The verdict of a draw and its evidence: a bound is exceeded by the people found, or so many
    would hardly be found if it were kept; otherwise the check is undecided."""
    if any(_exceeds(model, outcome)):
        return False, "witnesses"
    if model.max_share is not None and (
        Fraction(outcome.below, outcome.attacked) > exactly(model.max_share)
        and upper_tail(outcome.below, outcome.attacked, float(model.max_share)) < TAIL
    ):
        return False, "interval"
    return None, "draw"


# --- k^m-anonymity --------------------------------------------------------------------------


def _km_anonymity(model: KmAnonymity, planned: EventCheck, answers: Answers) -> CheckResult:
    """The combinations of each size, or of the smaller ones if all are too many."""
    most = most_counted(model, answers)
    complete = most == model.m
    rows = answers.rows(planned.exact[most - 1].name)
    counted = [row for row in rows if row["kanon_combinations"]]
    violating = sum(round(row["kanon_violating"]) for row in rows) if model.k else None
    if not complete and not violating and planned.check.requested:
        raise InputError(
            f"m = {most + 1} has {expanded(answers)[most + 1]:,} combinations to count: raise "
            f"max_combinations, ask m = {most}, or coarsen the events."
        )
    shortfall = {
        str(int(row["kanon_size"])): round(row["kanon_shortfall"]) for row in rows if model.k
    }
    by_size: list[dict[str, int | None]] = [
        {
            "size": int(row["kanon_size"]),
            "combinations": round(row["kanon_combinations"]),
            "violating": round(row["kanon_violating"]) if model.k else None,
        }
        for row in rows
    ]
    by_size += [
        {"size": m, "combinations": None, "violating": None} for m in range(most + 1, model.m + 1)
    ]
    return CheckResult(
        model=model.name(),
        parameters=model.parameters,
        holds=not violating if model.k else None,
        achieved=min(int(row["kanon_least"]) for row in counted),
        violating_people=int(rows[0]["kanon_violating_people"]) if model.k else None,
        details={
            "violating_combinations": violating,
            "complete": complete,
            "by_size": by_size,
            "shortfall_by_size": shortfall,
        },
    )


def warnings(plan: Plan, answers: Answers, checks: Sequence[CheckResult]) -> Iterator[str]:
    """Warnings about undecided checks, and about a draw that other databases may not repeat."""
    is_violated = any(check.holds is False for check in checks)
    of_table = "is not shown to hold" if is_violated else "is measured and nothing is shown to hold"
    for check in checks:
        if check.undecided:
            bounds, k = _bounds(check), check.parameters["k"]
            few = "alone" if k == 2 else f"among fewer than {k} people"
            yield (
                f"known_events m={check.parameters['m']} is undecided: a draw found "
                f"{100 * check.achieved:.1f} % {few}, "
                f"and {bounds} required. A draw can't show that no choice of events does worse, so "
                f"the table {of_table}."
            )
    if any(check.details.get("drawn") for check in checks):
        yield from draw_warnings(plan.question)


def draw_warnings(question: ResolvedQuestion) -> Iterator[str]:
    """A warning about a draw by numbers whose text depends on the database."""
    hashed = (*question.events, *([question.entity] if question.entity else []))
    columns = [column for column in hashed if column.generalised is None]
    numbers_by_type = {
        "floating-point": [column for column in columns if column.type.startswith(_FLOATS)],
        "decimal": [column for column in columns if _has_decimals(column.type)],
    }
    for kind, numbers in numbers_by_type.items():
        if numbers:
            names = ", ".join(f'"{column.name}"' for column in numbers)
            predicate = f"is a {kind} number" if len(numbers) == 1 else f"are {kind} numbers"
            yield (
                f"{names} {predicate}, which databases write differently: another one may draw "
                "other events."
            )


_FLOATS = ("DOUBLE", "FLOAT", "REAL")


def _has_decimals(type: str) -> bool:
    """Whether numbers of a type are written as 1.50 or 1.5, by the database."""
    return type.startswith(("DECIMAL", "NUMERIC")) and not type.endswith((",0)", ", 0)"))


def _bounds(check: CheckResult) -> str:
    bounds = [
        f"{name.removeprefix('max_')} at most {check.parameters[name]}"
        for name in KnownEvents.thresholds
        if check.parameters.get(name) is not None
    ]
    return f"{', '.join(bounds)} {'is' if len(bounds) == 1 else 'are'}"
