"""The plan of an audit of one table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.steps import PlannedStep
from kanon_sql.sql.statement import Statement

AnyStep = TypeVar("AnyStep", bound=PlannedStep)


@dataclass(frozen=True)
class Plan:
    """Every step of one table's audit, in execution order."""

    question: ResolvedQuestion
    steps: tuple[PlannedStep, ...]

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
