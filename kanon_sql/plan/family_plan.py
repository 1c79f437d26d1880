"""What a family of models plans for one of its checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, cast

from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import family_name, family_part
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion


class FamilyPlan(Protocol):
    """What every family's module `plan` has."""

    def bound(self, model: Model, scope: CheckScope) -> BoundCheck:
        """The check with its column or its other table. Raises `SpecError`."""

    def own_arguments(
        self, question: ResolvedQuestion, check: BoundCheck
    ) -> Iterable[tuple[str, Any]]:
        """The arguments of its own statement that differ from those of checks on classes."""


def plan_of(model: Model) -> FamilyPlan:
    """The plan of a model's family."""
    return cast(FamilyPlan, family_part(family_name(type(model)), "plan"))
