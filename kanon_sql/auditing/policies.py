"""The policies that a result is held against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from kanon_sql.models.base import Model
from kanon_sql.question.policy import NotAsked, Policy
from kanon_sql.question.published import PublishedSpec
from kanon_sql.question.table import TableSpec
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import PolicyOutcome

Result = TypeVar("Result", bound=CheckResult)


def with_policies(
    spec: TableSpec | PublishedSpec, checks: Sequence[Result]
) -> tuple[list[Result], tuple[PolicyOutcome, ...]]:
    """The results, each with the first policy that requires it, and the outcome of each policy."""
    results = list(checks)
    outcomes = []
    for policy, models, unchecked in _policy_models(spec):
        ran = [index for index, result in enumerate(results) if _is_of(result, models)]
        for index in ran:
            results[index] = replace(results[index], policy=results[index].policy or policy.policy)
        held = sum(bool(results[index].holds) for index in ran)
        of_records = isinstance(spec, TableSpec)
        outcomes.append(_outcome(policy, len(ran), held, unchecked, of_records))
    return results, tuple(outcomes)


def _policy_models(
    spec: TableSpec | PublishedSpec,
) -> Iterator[tuple[Policy, Sequence[Model], Sequence[NotAsked]]]:
    for policy in spec.policy:
        if isinstance(spec, TableSpec):
            yield policy, *policy.of_records(spec.quasi_identifiers, spec.references)
        else:
            yield policy, *spec.required_by(policy)


def _is_of(result: CheckResult, models: Sequence[Model]) -> bool:
    """Whether a result is that of one of the models; an audit fills in columns and tables."""
    return (result.holds is not None or result.undecided) and any(
        result.model == model.name() and model.parameters.items() <= dict(result.parameters).items()
        for model in models
    )


def _outcome(
    policy: Policy, checked: int, held: int, unchecked: Sequence[NotAsked], of_records: bool
) -> PolicyOutcome:
    return PolicyOutcome(
        id=policy.policy,
        asked=checked,
        held=held,
        not_asked=tuple(rule.model_dump() for rule in unchecked),
        asks_a_person=tuple(policy.asks_a_person),
        read=policy.read.model_dump(exclude={"how"}),
        address=policy.address,
        issuer=policy.issuer,
        title=policy.title,
        version=policy.version,
        status=policy.status,
        quotes=tuple(quote.model_dump(exclude_none=True) for quote in policy.quotes),
        reading=policy.reading,
        confidential=tuple(policy.confidential),
        for_cells=of_records and policy.concerns == "cells",
    )
