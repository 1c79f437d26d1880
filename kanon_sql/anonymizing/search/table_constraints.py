"""Checks on all classes of a node together that the number of classes and of records decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from kanon_sql.anonymizing.search.costs import Sizes
from kanon_sql.anonymizing.search.estimated_sizes import estimates_searched
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.violating_classes import is_about_crowds, reference_demands
from kanon_sql.spec.models.risk import ProsecutorRisk, SampleUniqueness
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
    lacks: bool = False
    """Whether too few of some class of a reference are kept, where that is demanded."""
    star_fails: bool = False
    """Whether the violating classes as one, all `*`, fail a demand; False where that is not
    asked."""

    def with_star(self) -> ClassCounts:
        """The same where the suppressed records stay, as one class more."""
        return replace(
            self,
            kept=self.kept + self.violating,
            classes=self.classes + 1,
            below={
                size: records + (self.violating if self.violating < size else 0)
                for size, records in self.below.items()
            },
        )

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.classes, self.squares, self.all_squares, self.violating)


def bounds_of_all(bound: ResolvedQuestion) -> list[AtMost]:
    """The bounds of all gating checks on all classes together."""
    return [each for check in bound.checks if check.gates for each in bounds_of(bound, check)]


def searched_beside(bound: ResolvedQuestion) -> list[BoundCheck]:
    """The gating checks of an optimal search that are not decided class by class: those on all
    classes together, on presence in a reference, on crowds across two releases, and estimates."""
    of_all = [check for check in bound.checks if check.gates and bounds_of(bound, check)]
    crowds = [check for check in bound.checks if check.gates and is_about_crowds(check)]
    return [*of_all, *reference_demands(bound), *crowds, *estimates_searched(bound)]


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
