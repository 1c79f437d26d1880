"""The families of models, each with what it reads off the rows of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Protocol, cast

from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import as_planned, family_part
from kanon_sql.plan import family_plan
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.plan import Plan
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.results.check import CheckResult


class Family(Protocol):
    """What a family's module `verdicts` makes of the rows of an audit; `fields` may be left out."""

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
    return _family(model.family)


def families_of(question: ResolvedQuestion) -> list[Family]:
    """The families that a question asks about, in the order of warnings."""
    return [_family(name) for name in as_planned(family_plan.families_of(question))]


def fields_of(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The fields of a table's result that its families measure besides their checks; the first
    family has the last word."""
    measured: dict[str, Any] = {}
    for family in reversed(families_of(plan.question)):
        measured |= family.fields(plan, answers)
    return measured


def _family(name: str) -> Family:
    nothing: dict[str, Any] = {"fields": lambda *_: {}}
    return cast(Family, SimpleNamespace(**nothing | vars(family_part(name, "verdicts"))))
