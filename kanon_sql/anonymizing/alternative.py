"""Alternatives to compare a release with: the full-domain levels with the least loss, and the
levels at which Datafly would have stopped with a little more suppression."""

from __future__ import annotations

from kanon_sql.anonymizing.search.datafly import SearchPath
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import Node
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.search.optimal_search import OptimalSearch
from kanon_sql.anonymizing.search.preferences import Preferences
from kanon_sql.plan.violating_classes import crowds_demanded, reference_demands
from kanon_sql.results.release import MinimalNode, Suppressed
from kanon_sql.spec.models.sizes import KAnonymity

MOST_NODES = 50_000
MOST_COMBINATIONS = 200_000
"""Limits, with `MOST_NODES`, up to which the comparison takes moments."""


def one_level_for_all(
    sets: FrequencySets,
    preferred: Preferences,
    suppressed_as: Suppressed,
    *,
    k: int,
    max_suppressed: int,
    combinations: int,
) -> MinimalNode | None:
    """The node with the least loss under the same bounds, with its metrics. None if there is none,
    or if finding it might take longer than the recoding: for large tables, and for checks other
    than k-anonymity in records."""
    demanded = [check.model for check in sets.bound.checks if check.gates]
    if sets.bound.entity or not all(isinstance(model, KAnonymity) for model in demanded):
        return None
    nodes = LatticeStatistics(sets, preferred, [k], suppressed_as)
    if nodes.lattice.size > MOST_NODES or combinations > MOST_COMBINATIONS:
        return None
    chosen = OptimalSearch(nodes, "loss", preferred).best(k, max_suppressed)
    if not chosen.satisfies:
        return None
    return _told(nodes, chosen.node, k, preferred)


def stopped_earlier(
    sets: FrequencySets,
    preferred: Preferences,
    path: SearchPath,
    *,
    k: int,
    combinations: int,
) -> MinimalNode | None:
    """The levels at which Datafly would have stopped if all records that violate a check before its
    last step could have been suppressed. None without such a step, for large tables, where nothing
    is materialised to count it from, and for checks against another table."""
    if path.reached_top or not path.steps or not sets.are_rows or combinations > MOST_COMBINATIONS:
        return None
    if reference_demands(sets.bound) or crowds_demanded(sets.bound):
        return None
    levels = {each.name: 0 for each in sets.quasi_identifiers}
    for step in path.steps_without_last:
        levels[step.attribute] = step.to_level
    nodes = LatticeStatistics(sets, preferred, [k])
    return _told(nodes, tuple(levels.values()), k, preferred)


def _told(nodes: LatticeStatistics, node: Node, k: int, preferred: Preferences) -> MinimalNode:
    return MinimalNode(
        nodes.levels(node),
        nodes.suppressed([node], k)[node].records,
        nodes.counted(node, k).classes,
        nodes.metrics(node, k, preferred.weights),
    )
