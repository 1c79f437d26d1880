"""What a release is compared with: the levels for the whole table that lose least, and those at
which Datafly would have stopped if a little more were suppressed."""

from __future__ import annotations

from kanon_sql.anonymizing.choosing import Choice
from kanon_sql.anonymizing.datafly import SearchPath
from kanon_sql.anonymizing.exploring import Nodes
from kanon_sql.anonymizing.frequency_sets import FrequencySets
from kanon_sql.anonymizing.nodes import Node
from kanon_sql.anonymizing.preferences import Preferences
from kanon_sql.plan.violating_classes import crowds_demanded, reference_demands
from kanon_sql.results.release import MinimalNode, Suppressed
from kanon_sql.spec.models.sizes import KAnonymity

MOST_NODES = 50_000
MOST_COMBINATIONS = 200_000
"""Up to so many nodes, of so many combinations of values, the comparison takes moments."""


def one_level_for_all(
    sets: FrequencySets,
    preferred: Preferences,
    suppressed_as: Suppressed,
    *,
    k: int,
    max_suppressed: int,
    combinations: int,
) -> MinimalNode | None:
    """The node of least loss under the same bounds, with what it loses. None where there is none,
    or where finding it may take longer than the recoding: of large tables, and of demands on more
    than the number of records."""
    demanded = [check.model for check in sets.bound.checks if check.gates]
    if sets.bound.entity or not all(isinstance(model, KAnonymity) for model in demanded):
        return None
    nodes = Nodes(sets, preferred, [k], suppressed_as)
    if nodes.lattice.size > MOST_NODES or combinations > MOST_COMBINATIONS:
        return None
    chosen = Choice(nodes, "loss", preferred).best(k, max_suppressed)
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
    """The levels at which Datafly would have stopped, had all been allowed to be suppressed that
    violate a demand before its last step. None where there is no such step, of large tables, where
    no rows are kept to count it from, and where something beside the table is demanded."""
    if path.reached_top or not path.steps or not sets.are_rows or combinations > MOST_COMBINATIONS:
        return None
    if reference_demands(sets.bound) or crowds_demanded(sets.bound):
        return None
    levels = {each.name: 0 for each in sets.quasi_identifiers}
    for step in path.steps_without_last:
        levels[step.attribute] = step.to_level
    nodes = Nodes(sets, preferred, [k])
    return _told(nodes, tuple(levels.values()), k, preferred)


def _told(nodes: Nodes, node: Node, k: int, preferred: Preferences) -> MinimalNode:
    return MinimalNode(
        nodes.levels(node),
        nodes.suppressed([node], k)[node].records,
        nodes.counted(node, k).classes,
        nodes.metrics(node, k, preferred.weights),
    )
