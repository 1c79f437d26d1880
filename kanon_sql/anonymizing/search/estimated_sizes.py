"""The sizes of classes that an estimate asks for, as a demand that a search can look for."""

from __future__ import annotations

from dataclasses import replace

from kanon_sql.auditing.estimates import required_class_size
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.results.table import TableResult
from kanon_sql.spec.models.estimates import KMapEstimate
from kanon_sql.spec.models.sizes import KAnonymity


def with_estimated_sizes(bound: ResolvedQuestion, before: TableResult) -> ResolvedQuestion:
    """The same question with the size that each gating estimate of k-map asks of a class, for as
    many as the whole table has. A release has no more, and asks for no larger one."""
    summary = before.summary
    everyone = summary.records if summary.people is None else summary.people
    sizes = [
        required_class_size(
            model.k, everyone or 0, model.population, float(model.alpha), model.test
        )
        for check in estimates_searched(bound)
        for model in [check.model]
        if isinstance(model, KMapEstimate) and model.k and model.population
    ]
    more = tuple(BoundCheck(KAnonymity(k=size), asked=True) for size in sizes)
    return replace(bound, checks=(*bound.checks, *more))


def estimates_searched(bound: ResolvedQuestion) -> list[BoundCheck]:
    """The estimates that ask for a size which is known beforehand."""
    return [
        check for check in bound.checks if check.gates and isinstance(check.model, KMapEstimate)
    ]
