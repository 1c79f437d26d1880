"""The outcome of each policy, from the checks that it expands to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from kanon_sql.results.table import CheckResult, PolicyOutcome
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.policy import NotAsked, Policy
from kanon_sql.spec.published import PublishedSpec
from kanon_sql.spec.spec import TableSpec

Result = TypeVar("Result", bound=CheckResult)


def with_policies(
    spec: TableSpec | PublishedSpec, checks: Sequence[Result]
) -> tuple[list[Result], tuple[PolicyOutcome, ...]]:
    """The results, each with the first policy that requires it, and the outcome of each policy."""
    found = list(checks)
    outcomes = []
    for policy, models, not_asked in _expanded(spec):
        ran = [place for place, each in enumerate(found) if _is_of(each, models)]
        for place in ran:
            found[place] = replace(found[place], policy=found[place].policy or policy.policy)
        held = sum(bool(found[place].holds) for place in ran)
        of_records = isinstance(spec, TableSpec)
        outcomes.append(_outcome(policy, len(ran), held, not_asked, of_records))
    return found, tuple(outcomes)


def _expanded(
    spec: TableSpec | PublishedSpec,
) -> Iterator[tuple[Policy, Sequence[Model], Sequence[NotAsked]]]:
    for policy in spec.policy:
        if isinstance(spec, TableSpec):
            yield policy, *policy.of_records()
        else:
            yield policy, *spec.asked_by(policy)


def _is_of(result: CheckResult, models: Sequence[Model]) -> bool:
    """Whether a result is that of one of the models; an audit fills in columns and tables."""
    return result.holds is not None and any(
        result.model == each.name() and each.parameters.items() <= dict(result.parameters).items()
        for each in models
    )


def _outcome(
    policy: Policy, asked: int, held: int, not_asked: Sequence[NotAsked], of_records: bool
) -> PolicyOutcome:
    return PolicyOutcome(
        id=policy.policy,
        asked=asked,
        held=held,
        not_asked=tuple(each.model_dump() for each in not_asked),
        asks_a_person=tuple(policy.asks_a_person),
        read=policy.read.model_dump(exclude={"how"}),
        address=policy.address,
        issuer=policy.issuer,
        title=policy.title,
        version=policy.version,
        status=policy.status,
        quotes=tuple(each.model_dump(exclude_none=True) for each in policy.quotes),
        reading=policy.reading,
        confidential=tuple(policy.confidential),
        for_cells=of_records and policy.concerns == "cells",
    )
