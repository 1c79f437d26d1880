"""Datafly: generalise the attribute of most values until few enough records violate a demand.

Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
IJUFKS 10(5), section 4 (figure 6). Only the steps are decided here; what a node of the lattice
holds is asked of whoever calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from kanon_sql.anonymizing.search.qi_levels import Attribute, Levels


@dataclass(frozen=True)
class Step:
    """One attribute goes up one level; both counts are those before it does."""

    attribute: str
    to_level: int
    distinct_before: int
    records_violating: int


@dataclass(frozen=True)
class SearchPath:
    """The steps to the last node, and how many records violate a demand there."""

    steps: tuple[Step, ...]
    levels: dict[str, int]
    records_violating: int
    reached_top: bool
    """Whether every attribute is at its top and still too many records violate."""

    @property
    def steps_without_last(self) -> tuple[Step, ...]:
        """The steps there would have been, had all been allowed to be suppressed that violated
        before the last one: as many may have violated before steps that only seemed to help."""
        allowed = self.steps[-1].records_violating
        return tuple(takewhile(lambda step: step.records_violating > allowed, self.steps))


def climb(attributes: Sequence[Attribute]) -> list[Levels]:
    """The nodes that Datafly comes to one after the other, if it doesn't stop before the top: they
    are known before any record is counted.

    The attribute with most different values goes up, the first one where several have as many;
    one at its top is left out.
    """
    nodes: list[Levels] = [{attribute.name: 0 for attribute in attributes}]
    while lower := [each for each in attributes if nodes[-1][each.name] < each.height]:
        levels = nodes[-1]
        chosen = max(lower, key=lambda each: each.distinct[levels[each.name]])
        nodes.append({**levels, chosen.name: levels[chosen.name] + 1})
    return nodes


def datafly(
    attributes: Sequence[Attribute],
    records_violating: Callable[[Levels], int],
    max_suppressed: int,
    tell: Callable[[Step], None] = lambda step: None,
) -> SearchPath:
    """The steps of Datafly. `records_violating` counts at a node; each is asked for once."""
    nodes = climb(attributes)
    steps: list[Step] = []
    for levels, higher in pairwise(nodes):
        violating = records_violating(levels)
        if violating <= max_suppressed:
            return SearchPath(tuple(steps), dict(levels), violating, reached_top=False)
        [chosen] = [each for each in attributes if levels[each.name] < higher[each.name]]
        step = Step(
            chosen.name,
            higher[chosen.name],
            chosen.distinct[levels[chosen.name]],
            violating,
        )
        tell(step)
        steps.append(step)
    violating = records_violating(nodes[-1])
    return SearchPath(tuple(steps), dict(nodes[-1]), violating, violating > max_suppressed)
