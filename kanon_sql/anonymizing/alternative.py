"""What a local recoding is compared with: the levels for the whole table that lose least."""

from __future__ import annotations

from kanon_sql.anonymizing.choosing import Choice
from kanon_sql.anonymizing.exploring import Nodes
from kanon_sql.anonymizing.frequency_sets import FrequencySets
from kanon_sql.anonymizing.preferences import Preferences
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
    nodes = Nodes(sets, preferred, [k])
    if nodes.lattice.size > MOST_NODES or combinations > MOST_COMBINATIONS:
        return None
    chosen = Choice(nodes, "loss", preferred, suppressed_as).best(k, max_suppressed)
    if not chosen.satisfies:
        return None
    return MinimalNode(
        nodes.levels(chosen.node),
        nodes.suppressed([chosen.node], k)[chosen.node].records,
        nodes.counted(chosen.node, k).classes,
        nodes.metrics(chosen.node, k, preferred.weights),
    )
