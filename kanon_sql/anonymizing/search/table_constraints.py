"""Checks on all classes of a node together that the number of classes and of records decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from kanon_sql.anonymizing.search.costs import Sizes
from kanon_sql.auditing.estimates import required_class_size
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.violating_classes import (
    is_about_crowds,
    is_judged_by_class,
    least_presence,
    reference_requirements,
)
from kanon_sql.results.table import TableResult
from kanon_sql.spec.models.estimates import KMapEstimate
from kanon_sql.spec.models.risk import ProsecutorRisk, SampleUniqueness
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.sql.thresholds import exactly

_ENDLESS = 2**62


@dataclass(frozen=True)
class AtMost:
    """Upper bound on the kept classes: on classes per record, or on the share of records in classes
    below a size."""

    most: Fraction
    below: int | None = None

    def holds(self, counted: ClassCounts) -> bool:
        """Whether the bound holds; it does if no record is kept."""
        found = counted.classes if self.below is None else counted.below[self.below]
        return found <= self.most * counted.kept


@dataclass(frozen=True)
class ClassCounts:
    """Counts of a node's classes after all checks."""

    violating: int
    """Records in violating classes."""
    kept: int
    """Records in passing classes."""
    classes: int
    """Number of passing classes."""
    squares: int
    all_squares: int
    below: Mapping[int, int]
    """Number of kept records in classes below each size."""

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.classes, self.squares, self.all_squares, self.violating)


def bounds_of_all(bound: ResolvedQuestion) -> list[AtMost]:
    """The bounds of all gating checks on all classes together."""
    return [each for check in bound.checks if check.gates for each in bounds_of(bound, check)]


def audited_checks(bound: ResolvedQuestion) -> list[BoundCheck]:
    """The gating checks that the search decides by auditing the release at a node: neither classes
    by themselves nor their number decide them."""
    return [
        check
        for check in bound.checks
        if check.gates
        and not (is_judged_by_class(check) or is_about_crowds(check) or bounds_of(bound, check))
        and check not in estimates_searched(bound)
        and (check not in reference_requirements(bound) or least_presence(check))
    ]


def bounds_of(bound: ResolvedQuestion, check: BoundCheck) -> list[AtMost]:
    """The bounds that a check sets on all classes together, if class sizes decide it."""
    if bound.entity:
        # People are counted once, in the smallest of their classes.
        return []
    found = []
    match check.model:
        case ProsecutorRisk(max_average=average, max_at_risk=share, threshold=threshold):
            if average is not None:
                found.append(AtMost(exactly(average)))
            if share is not None:
                found.append(AtMost(exactly(share), _first_size_not_above(exactly(threshold))))
        case SampleUniqueness(max_share=share) if share is not None:
            found.append(AtMost(exactly(share), 2))
    return found


def _first_size_not_above(threshold: Fraction) -> int:
    """The smallest class size whose risk 1/size is at most the threshold."""
    return -(-threshold.denominator // threshold.numerator) if threshold else _ENDLESS


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
