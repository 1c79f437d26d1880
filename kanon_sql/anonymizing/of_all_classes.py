"""What is demanded of all classes of a node together, and what decides it: how many they are, and
how many records they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from kanon_sql.anonymizing.costs import Sizes
from kanon_sql.anonymizing.estimated_sizes import estimates_searched
from kanon_sql.plan.bound import BoundCheck, BoundSpec
from kanon_sql.plan.violating_classes import is_about_crowds, reference_demands
from kanon_sql.spec.models.risk import ProsecutorRisk, SampleUniqueness
from kanon_sql.sql.thresholds import exactly

_ENDLESS = 2**62


@dataclass(frozen=True)
class AtMost:
    """What may be of all classes that are kept: so many classes a record, or such a share of the
    records in classes below some size."""

    most: Fraction
    below: int | None = None

    def holds(self, counted: Counted) -> bool:
        """Whether it does; where nothing is kept there is nothing to be found."""
        found = counted.classes if self.below is None else counted.below[self.below]
        return found <= self.most * counted.kept


@dataclass(frozen=True)
class Counted:
    """The classes of a node by what is demanded."""

    violating: int
    """How many records lie in violating classes."""
    kept: int
    """How many records lie in the others."""
    classes: int
    """How many others there are."""
    squares: int
    all_squares: int
    below: Mapping[int, int]
    """How many kept records lie in classes below some sizes."""
    lacks: bool = False
    """Whether too few of some class of a reference are kept, where that is demanded."""
    star_fails: bool = False
    """Whether the violating classes as one, all `*`, fail a demand; False where that is not
    asked."""

    def with_star(self) -> Counted:
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


def bounds_of_all(bound: BoundSpec) -> list[AtMost]:
    """The demands on all classes together that their sizes decide."""
    return [each for check in bound.checks if check.gates for each in bounds_of(bound, check)]


def searched_beside(bound: BoundSpec) -> list[BoundCheck]:
    """The demands that an optimal search looks for beside those that any class fails or not by
    itself: of all classes together, of what a reference has of each, and of who shares the
    classes of two releases."""
    of_all = [check for check in bound.checks if check.gates and bounds_of(bound, check)]
    crowds = [check for check in bound.checks if check.gates and is_about_crowds(check)]
    return [*of_all, *reference_demands(bound), *crowds, *estimates_searched(bound)]


def bounds_of(bound: BoundSpec, check: BoundCheck) -> list[AtMost]:
    """What a check demands of all classes together, if their sizes decide that."""
    if bound.entity:
        # People are counted once, with the smallest of their classes.
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
    """The smallest class whose members' chance is no more than a threshold."""
    return -(-threshold.denominator // threshold.numerator) if threshold else _ENDLESS
