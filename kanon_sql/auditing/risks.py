"""The risks of re-identification, by type of attacker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from kanon_sql.models.base import AT_RISK, Number
from kanon_sql.models.population.plan import SURVEY, SURVEY_CLASSES
from kanon_sql.models.sizes.plan import HOUSEHOLDS
from kanon_sql.plan.answers import Answers, Counted, everyone, smallest, total
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.results.table import ATTACKERS
from kanon_sql.results.tabular import Risk
from kanon_sql.sql.quoting import exactly
from kanon_sql.sql.tables import Row

if TYPE_CHECKING:
    from kanon_sql.models.reference.plan import ReferenceStep


def risk(plan: Plan, answers: Answers) -> Risk:
    """Re-identification risk by type of attacker (El Emam 2013, chapter 16).

    Journalist and marketer risk refer to the first reference; a class with fewer people in it than
    in the release counts with its size in the release.
    """
    if not answers.sizes:
        attackers = [*ATTACKERS]
        attackers += ["individual"] if plan.question.weight else []
        attackers += ["household"] if plan.question.household else []
        return Risk(dict.fromkeys(attackers))
    linked, of_people = _linked(plan, answers)
    figures = {
        "prosecutor": _prosecutor(plan, answers),
        "journalist": journalist(
            linked, of_people, "at_risk", AT_RISK, by_person=plan.question.entity is not None
        )
        if linked and of_people
        else None,
        "marketer": {"average": marketer(of_people)} if of_people else None,
        **({"individual": _individual(answers.rows(SURVEY))} if plan.question.weight else {}),
        **({"household": _household(answers)} if plan.question.household else {}),
    }
    return Risk(figures)


def _linked(plan: Plan, answers: Answers) -> tuple[Row, Row] | tuple[None, None]:
    """What the first reference tells of the classes, and of their people; None without one."""
    if not plan.question.references:
        return None, None
    from kanon_sql.models.reference.plan import ReferenceStep

    name = next(iter(plan.question.references))
    return next(
        (
            (row, row_of_people(step, answers))
            for step in plan.of(ReferenceStep)
            for row in answers.rows(step.name)
            if step.reference == name and "kanon_unions" in row
        ),
        (None, None),
    )


def row_of_people(step: ReferenceStep, answers: Answers) -> Row:
    """A reference step's figures counted in people, each once: the row of the classes, if nobody is
    in more than one."""
    row = answers.people_of(step.name) or answers.row(step.name)
    assert row is not None
    return row


def _prosecutor(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The attacker knows that the person is in the table: the risk is 1 / class size."""
    return {
        "highest": 1 / smallest(answers.sizes),
        "average": float(average_risk(plan.question, answers)),
        "at_risk": float(share_at_risk(answers.counted, AT_RISK)),
        "threshold": AT_RISK,
    }


def _household(answers: Answers) -> dict[str, Any] | None:
    """The chance that at least one person of a household is found, if the attacker knows that they
    are in the table (Templ, Kowarik, Meindl 2015)."""
    row = answers.row(HOUSEHOLDS)
    if row is None:
        return None
    people = int(row["kanon_people"])
    return {
        "households": int(row["kanon_households"]),
        "highest": float(row["kanon_highest"]),
        "average": float(row["kanon_found"]) / people,
        "at_risk": int(row["kanon_at_risk"]) / people,
        "threshold": AT_RISK,
    }


def average_risk(question: ResolvedQuestion, answers: Answers) -> Fraction | float:
    """Mean risk: classes / people, which is exact if nobody is in more than one class."""
    counted = answers.counted
    if question.wildcard or answers.in_several:
        return math.fsum(count / size for size, count in counted) / everyone(counted)
    return Fraction(total(answers.sizes, "kanon_classes"), everyone(counted))


def share_at_risk(counted: Counted, threshold: Number) -> Fraction:
    """Share of people (records) whose risk is above a threshold."""
    above = sum(count for size, count in counted if Fraction(1, size) > exactly(threshold))
    return Fraction(above, everyone(counted))


def journalist(
    row: Row, of_people: Row, at_risk: str, threshold: Number, *, by_person: bool
) -> dict[str, Any]:
    """The attacker does not know who is in the table: the risk is 1 / people in the reference.

    With an entity the average is the mean over people, each in the class with the fewest people in
    the reference; without, it is the larger of the averages over the reference and the release.
    """
    average = marketer(of_people)
    if not by_person:
        average = max(int(row["kanon_classes"]) / int(row["kanon_unions"]), average)
    return {
        "highest": 1 / int(row["kanon_least_union"]),
        "average": average,
        "at_risk": int(of_people[f"kanon_{at_risk}_people"]) / int(of_people["kanon_sizes"]),
        "threshold": float(threshold),
    }


def marketer(row: Row) -> float:
    """The attacker links everyone: the expected share of correct links."""
    return float(row["kanon_reidentified"]) / int(row["kanon_sizes"])


def _individual(survey: Sequence[Row]) -> dict[str, Any] | None:
    """Risk of each record if survey weights give the number of people that it represents."""
    from kanon_sql.models.population.estimates import individual_risk

    if len(survey) > SURVEY_CLASSES:
        return None
    risks = [
        (individual_risk(int(row["kanon_size"]), float(row["kanon_weight"])), row) for row in survey
    ]
    expected = math.fsum(risk * int(row["kanon_people"]) for risk, row in risks)
    return {
        "expected_reidentifications": expected,
        "highest": max(risk for risk, _ in risks),
        "average": expected / total(survey, "kanon_people"),
    }
