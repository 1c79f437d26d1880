"""The families of models, each with what it reads off the rows of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import FAMILIES, family_name, family_part
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion, reads_values
from kanon_sql.results.table import CheckResult


class Family(Protocol):
    """What a family makes of the rows of an audit: its module `verdicts`."""

    def judge(self, check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
        """The result of one of its checks."""

    def warnings(
        self, plan: Plan, answers: Answers, checks: Sequence[CheckResult]
    ) -> Iterator[str]:
        """What the results of its checks leave unsaid, a sentence or two each."""

    def fields(self, plan: Plan, answers: Answers) -> dict[str, Any]:
        """What a table's result has of it besides its checks."""


def family_of(model: Model) -> Family:
    """The family of a model."""
    return _family(family_name(type(model)))


def families_of(question: ResolvedQuestion) -> list[Family]:
    """The families that a question's checks or columns ask about, in the order of warnings."""
    requested = {family_name(type(check.model)) for check in question.checks}
    return [_family(name) for name in FAMILIES if name in requested | _of_columns(question)]


def _of_columns(question: ResolvedQuestion) -> set[str]:
    """The families that measure the columns of a question, whatever its checks."""
    by_family = {
        "sizes": question.quasi_identifiers,
        "values": question.quasi_identifiers and question.sensitive and reads_values(question),
        "population": question.quasi_identifiers and question.weight,
        "events": question.events,
        "synthetic": question.made_from,
    }
    return {name for name, columns in by_family.items() if columns}


def fields_of(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The fields of a table's result that its families measure besides their checks; the first
    family has the last word."""
    measured: dict[str, Any] = {}
    for family in reversed(families_of(plan.question)):
        measured |= family.fields(plan, answers)
    return measured


def _family(name: str) -> Family:
    return cast(Family, family_part(name, "verdicts"))
