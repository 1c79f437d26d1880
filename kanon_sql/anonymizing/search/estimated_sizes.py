"""Class sizes required by k-map estimates, as k-anonymity checks for the search."""

from __future__ import annotations

from dataclasses import replace

from kanon_sql.auditing.estimates import required_class_size
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.results.table import TableResult
from kanon_sql.spec.models.estimates import KMapEstimate
from kanon_sql.spec.models.sizes import KAnonymity


def with_estimated_sizes(bound: ResolvedQuestion, before: TableResult) -> ResolvedQuestion:
    """The question with one more k-anonymity check for each gating k-map estimate: the class size
    that the estimate requires, computed for the size of the whole table. A release has no more
    records or people and so requires no larger size."""
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
    """The gating estimates whose required class size is known before the search."""
    return [
        check for check in bound.checks if check.gates and isinstance(check.model, KMapEstimate)
    ]
