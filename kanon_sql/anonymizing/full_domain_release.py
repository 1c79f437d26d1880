"""A full-domain release: each quasi-identifier has one level for all records. Searches the levels,
builds the release and audits it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

from kanon_sql.anonymizing.release.release_job import (
    ReleaseJob,
    ReleaseOutcome,
    ShownAt,
    Written,
)
from kanon_sql.anonymizing.release.suppression import (
    nothing_suppressed,
    suppress,
)
from kanon_sql.anonymizing.release.views import ViewChain
from kanon_sql.anonymizing.search.datafly import SearchPath, climb, datafly
from kanon_sql.anonymizing.search.datafly import Step as Taken
from kanon_sql.anonymizing.search.datafly_counts import violating_on
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import Node
from kanon_sql.anonymizing.search.losses import associations, distributions, losses
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.search.optimal_search import OptimalSearch
from kanon_sql.anonymizing.search.preferences import Preferences
from kanon_sql.anonymizing.search.qi_levels import Levels
from kanon_sql.plan.violating_classes import required_crowds
from kanon_sql.results.release import GeneralizationStep, Metrics, NearestLevels, Search
from kanon_sql.results.table import Rows, TableResult

_MOST_JUDGED = 1_000
"""Maximum size of a lattice of which every node is judged after a search in vain."""


def released_at_levels(
    making: ReleaseJob, sets: FrequencySets, before: TableResult, allowed: int, new: Written | None
) -> ReleaseOutcome:
    """Search, build and audit; the release's records are written to `new`."""
    path, made, beside = _levels_found(making, sets, allowed)
    steps = tuple(_as_taken(sets, step) for step in path.steps or _straight(sets, path.levels))
    chain = making.chain(ViewChain, sets, steps)
    in_step4 = making.options.algorithm == "datafly" and allowed >= making.k
    untouched = making.untouched
    if path.reached_top:
        left_out = nothing_suppressed(sets, path.levels)
        after = making.audited_at(sets, path.levels)
    else:
        left_out, chain = suppress(sets, chain, path.levels, in_step4=in_step4, beside=beside)
        after, untouched = making.judged(chain, new, before, left_out, _shown(sets, path.levels))
    if after.status == "violated" and making.options.algorithm != "optimal":
        made |= _nearest_of_a_failure(_nodes(making, sets), making)
    cost = making.cost(before, left_out, losses(sets, path.levels))
    return making.outcome(
        sets,
        before,
        after,
        left_out,
        None if path.reached_top else chain,
        untouched,
        max_suppressed=allowed,
        highest=path.levels,
        metrics=cost,
        levels=path.levels,
        labels={
            each.name: each.levels.label(path.levels[each.name]) for each in sets.quasi_identifiers
        },
        steps=Rows(_as_taken(sets, step) for step in path.steps),
        records_violating=path.records_violating,
        associations=tuple(associations(sets, making.bound, path.levels)),
        distributions=() if path.reached_top else tuple(distributions(sets, path.levels)),
        **_at_best(made, cost),
    )


def _levels_found(
    making: ReleaseJob, sets: FrequencySets, allowed: int
) -> tuple[SearchPath, dict[str, Any], list[str]]:
    """The levels of the release, the result's fields on how they were found, and SELECTs of the
    classes at these levels that violate a check against another table."""
    if making.options.algorithm == "levels":
        given = making.options.levels
        heights = {each.name: each.levels.height for each in sets.quasi_identifiers}
        top = Preferences(given, {})
        levels = {name: top.highest(name, heights[name]) for name in given}
        levels = {name: levels.get(name, 0) for name in heights}
        violating = sets.records_violating(levels)
        return SearchPath((), levels, violating, reached_top=violating > allowed), {}, []
    if making.options.algorithm == "datafly":
        attributes = [making.preferred.bounded(each) for each in sets.attributes]
        path = datafly(
            attributes,
            violating_on(sets, climb(attributes)),
            allowed,
            lambda step: making.tell(_as_taken(sets, step)),
        )
        return path, {}, []
    metric = making.options.metric or "loss"
    nodes = _nodes(making, sets)
    choice = OptimalSearch(
        nodes,
        metric,
        making.preferred,
        lambda node, k: passes_audit(making, nodes, node),
        gap=making.options.share_of_gap,
        deadline=making.deadline,
    )
    chosen = choice.best(making.k, allowed)
    path = SearchPath(
        (),
        nodes.levels(chosen.node),
        nodes.counted(chosen.node, making.k).violating,
        reached_top=not chosen.satisfies,
    )
    found: dict[str, Any] = {"metric": metric, "search": chosen.search}
    if not chosen.satisfies:
        found |= _nearest_of_a_failure(nodes, making)
    if making.options.minimal_nodes:
        found["minimal_nodes"] = choice.minimal(making.k, allowed)
    return path, found, nodes.violating_beside(chosen.node)


def _nodes(making: ReleaseJob, sets: FrequencySets) -> LatticeStatistics:
    return LatticeStatistics(sets, making.preferred, [making.k], making.options.suppressed)


def _nearest_of_a_failure(nodes: LatticeStatistics, making: ReleaseJob) -> dict[str, Any]:
    """With an earlier release, the levels with the fewest records in violating classes, of all
    nodes or, in a large lattice, of those evaluated; the finest of several."""
    if not required_crowds(making.bound):
        return {}
    k = making.k
    ladders = [range(each.highest + 1) for each in nodes.lattice.ladders]
    all_of_them = nodes.lattice.size <= _MOST_JUDGED
    judged = list(product(*ladders)) if all_of_them else list(nodes.looked_at)
    nodes.judge(judged, k)
    released = [node for node in judged if nodes.counted(node, k).kept]
    if not released:
        return {}
    node = min(released, key=lambda each: (nodes.counted(each, k).violating, sum(each), each))
    levels = nodes.levels(node)
    labels = {
        each.name: each.levels.label(levels[each.name]) for each in nodes.sets.quasi_identifiers
    }
    return {"nearest": NearestLevels(levels, labels, nodes.counted(node, k).violating)}


def passes_audit(making: ReleaseJob, nodes: LatticeStatistics, node: Node) -> bool:
    """Whether the release at a node passes every check, by its audit."""
    sets, levels = nodes.sets, nodes.levels(node)
    beside = nodes.violating_beside(node)
    steps = tuple(_as_taken(sets, step) for step in _straight(sets, levels))
    with sets.with_k(making.k):
        chain = making.chain(ViewChain, sets, steps)
        _, chain = suppress(sets, chain, levels, in_step4=False, beside=beside)
        return making.audited(chain, _shown(sets, levels)).status == "holds"


def _shown(sets: FrequencySets, levels: Levels) -> ShownAt:
    """The generalised quasi-identifiers with their levels."""
    return {
        each.name: (each.levels, level)
        for each in sets.quasi_identifiers
        if (level := levels[each.name])
    }


def _at_best(made: dict[str, Any], lost: Metrics) -> dict[str, Any]:
    """The search's fields with the bound set to the reported loss if the levels are proven optimal,
    so that both agree to the last digit whatever the order of summation."""
    search: Search | None = made.get("search")
    if search is None or not search.optimal:
        return made
    weighted = made["metric"] == "loss" and lost.loss_weighted is not None
    value = lost.loss_weighted if weighted else getattr(lost, made["metric"])
    return made if value is None else {**made, "search": replace(search, bound=value)}


def _straight(sets: FrequencySets, levels: Levels) -> list[Taken]:
    """The steps from the raw values to these levels, one quasi-identifier at a time."""
    return [
        Taken(each.name, levels[each.name], each.attribute.distinct[0], 0)
        for each in sets.quasi_identifiers
        if levels[each.name]
    ]


def _as_taken(sets: FrequencySets, step: Taken) -> GeneralizationStep:
    levels = next(each.levels for each in sets.quasi_identifiers if each.name == step.attribute)
    return GeneralizationStep(
        step.attribute,
        step.to_level,
        levels.label(step.to_level),
        step.distinct_before,
        step.records_violating,
    )
