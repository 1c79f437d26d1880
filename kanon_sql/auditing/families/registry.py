"""The families of models, each with the module that reads it off the rows of an audit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Protocol, cast

from kanon_sql.plan.answers import Answers
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.question import BoundCheck
from kanon_sql.question.models.base import Model, ReferenceModel, SensitiveModel
from kanon_sql.question.models.composition import ComposedModel
from kanon_sql.question.models.events import EventModel
from kanon_sql.question.models.risk import (
    KMapEstimate,
    PopulationUniqueness,
    ProsecutorRisk,
    SampleUniqueness,
)
from kanon_sql.question.models.sizes import KAnonymity
from kanon_sql.results.table import CheckResult


class Family(Protocol):
    """What a family makes of the rows of an audit."""

    def judge(self, check: BoundCheck, plan: Plan, answers: Answers) -> CheckResult:
        """The result of one of its checks."""

    def warnings(
        self, plan: Plan, answers: Answers, checks: Sequence[CheckResult]
    ) -> Iterator[str]:
        """What the results of its checks leave unsaid, a sentence or two each."""


FAMILIES: dict[str, tuple[type[Model], ...]] = {
    "sizes": (KAnonymity, ProsecutorRisk, SampleUniqueness),
    "values": (SensitiveModel,),
    "population": (PopulationUniqueness, KMapEstimate),
    "reference": (ReferenceModel,),
    "earlier": (ComposedModel,),
    "events": (EventModel,),
}
"""The models of each family, by the name of its module; its warnings come in this order."""


def family_of(model: Model) -> Family:
    """The family of a model."""
    return _loaded(_name_of(model))


def families_asked(plan: Plan) -> list[Family]:
    """The families of a question's checks and columns."""
    question = plan.question
    asked = {_name_of(check.model) for check in question.checks}
    if question.quasi_identifiers:
        asked |= {"sizes", *(["values"] if question.sensitive else [])}
        asked |= {"population"} if question.weight else set()
    return [_loaded(name) for name in FAMILIES if name in asked]


def _name_of(model: Model) -> str:
    return next(name for name, models in FAMILIES.items() if isinstance(model, models))


def _loaded(name: str) -> Family:
    """A family's module, loaded when one of its models is asked."""
    return cast(Family, import_module(f"kanon_sql.auditing.families.{name}"))
