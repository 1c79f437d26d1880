"""What a family of models plans for a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any, Protocol, cast

from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import family_part
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.steps import PlannedStep
from kanon_sql.question.other_tables import OtherTableKind
from kanon_sql.question.roles import columns_by_role


class FamilyPlan(Protocol):
    """What a family's module `plan` has; all but `bound` may be left out."""

    def bound(self, model: Model, scope: CheckScope) -> BoundCheck:
        """The check with its column or its other table. Raises `SpecError`."""

    def own_arguments(
        self, question: ResolvedQuestion, check: BoundCheck
    ) -> Iterable[tuple[str, Any]]:
        """The arguments of its own statement that differ from those of checks on classes."""

    def measured(self, scope: CheckScope, requested: Sequence[Model]) -> Iterable[BoundCheck]:
        """Its checks that are measured besides those that are requested."""

    def steps(self, question: ResolvedQuestion) -> Iterator[PlannedStep]:
        """Its statements besides those on classes, with the conditions under which they run."""


def requested_families(
    models: Iterable[Model], columns: Any, others: Iterable[OtherTableKind]
) -> set[str]:
    """The families of these models, of the columns of a spec or of resolved roles, and of other
    tables."""
    return {
        *(model.family for model in models),
        *(role.family for role, _ in columns_by_role(columns)),
        *(kind.family for kind in others),
    }


def families_of(question: ResolvedQuestion) -> set[str]:
    """The families that a question's checks, columns or other tables ask about."""
    models = (check.model for check in question.checks)
    return requested_families(models, question.roles, (other.kind for other in question.others))


def plan_of(model: Model) -> FamilyPlan:
    """The plan of a model's family."""
    return family_plan(model.family)


@cache
def family_plan(family: str) -> FamilyPlan:
    """The plan of a family."""
    nothing = dict.fromkeys(("own_arguments", "measured", "steps"), lambda *_: ())
    return cast(FamilyPlan, SimpleNamespace(**nothing | vars(family_part(family, "plan"))))
