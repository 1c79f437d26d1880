"""Datafly: generalise the attribute with most values until few enough records violate a check.

Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS
10(5), section 4 (figure 6). This module only decides the steps; a callback counts the violating
records of a node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kanon_sql.anonymizing.search.lattice import Attribute, Levels


@dataclass(frozen=True)
class Step:
    """One attribute goes up one level; both counts are from before the step."""

    attribute: str
    to_level: int
    distinct_before: int
    records_violating: int


@dataclass(frozen=True)
class SearchPath:
    """The steps to the final node, and the number of records that violate a check there."""

    steps: tuple[Step, ...]
    levels: dict[str, int]
    records_violating: int
    reached_top: bool
    """Whether every attribute is at its top level and still too many records violate."""


def climb(attributes: Sequence[Attribute]) -> list[Levels]:
    """The nodes that Datafly visits in order, up to the top; they do not depend on the violations.

    The attribute with most distinct values goes up, the first in order if tied; attributes at their
    top level are left out.
    """
    nodes: list[Levels] = [{attribute.name: 0 for attribute in attributes}]
    while lower := [
        attribute for attribute in attributes if nodes[-1][attribute.name] < attribute.height
    ]:
        levels = nodes[-1]
        chosen = max(lower, key=lambda attribute: attribute.distinct[levels[attribute.name]])
        nodes.append({**levels, chosen.name: levels[chosen.name] + 1})
    return nodes


def datafly(
    attributes: Sequence[Attribute],
    records_violating: Callable[[Levels], int],
    max_suppressed: int,
    on_step: Callable[[Step], None] = lambda step: None,
) -> SearchPath:
    """The search path of Datafly. `records_violating` counts the violating records of a node and is
    called at most once for each."""
    nodes = climb(attributes)
    steps: list[Step] = []
    for levels, higher in pairwise(nodes):
        violating = records_violating(levels)
        if violating <= max_suppressed:
            return SearchPath(tuple(steps), dict(levels), violating, reached_top=False)
        [chosen] = [
            attribute for attribute in attributes if levels[attribute.name] < higher[attribute.name]
        ]
        step = Step(
            chosen.name,
            higher[chosen.name],
            chosen.distinct[levels[chosen.name]],
            violating,
        )
        on_step(step)
        steps.append(step)
    violating = records_violating(nodes[-1])
    return SearchPath(tuple(steps), dict(nodes[-1]), violating, violating > max_suppressed)
