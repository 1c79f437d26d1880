"""The two kinds of release: full-domain recoding with one level a column, local with one a class.

Each searches the levels or recodes the records, builds the release and audits it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from kanon_sql.anonymizing.recoding.local_recoding import RecodingRound, local_recoding
from kanon_sql.anonymizing.recoding.recoded_sets import RecodedSets
from kanon_sql.anonymizing.recoding.recoded_views import RecodedChain, recoding_warnings
from kanon_sql.anonymizing.recoding.split_tree import (
    MOST_SEEDED,
    MOST_SPLITS,
    SplitTree,
    split_tree,
    too_many,
)
from kanon_sql.anonymizing.release.release_job import ReleaseJob, ReleaseOutcome, ShownAt, Written
from kanon_sql.anonymizing.release.suppression import create_views, nothing_suppressed, suppress
from kanon_sql.anonymizing.release.views import ViewChain
from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.datafly import SearchPath, climb, datafly
from kanon_sql.anonymizing.search.datafly import Step as Taken
from kanon_sql.anonymizing.search.datafly_counts import violating_on
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import Levels, Node
from kanon_sql.anonymizing.search.losses import released_at
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.search.optimal_search import OptimalSearch
from kanon_sql.anonymizing.violating_classes import required_crowds
from kanon_sql.errors import InputError, option
from kanon_sql.results.release import GeneralizationStep, MinimalNode, NearestLevels, Recoded
from kanon_sql.results.table import TableResult
from kanon_sql.results.tabular import Rows

MOST_NODES = 50_000
MOST_COMBINATIONS = 200_000
"""Limits, with `MOST_NODES`, up to which the best full-domain node is found in moments."""


def released_by_class(
    job: ReleaseJob, sets: FrequencySets, before: TableResult, allowed: int, new: Written | None
) -> ReleaseOutcome:
    """Recode, build and audit; the release's records are written to `new`."""
    recoding = local_recoding(
        sets,
        job.preferred,
        records=before.summary.records or 0,
        max_suppressed=allowed,
        least_suppressed=job.k if job.options.suppressed == "star" else 0,
        on_round=_refusing_views(job),
    )
    recoded, starts = RecodedSets(sets, recoding), recoding.starts
    chain: RecodedChain | None = None
    if recoding.fails:
        left_out = nothing_suppressed(sets, starts)
        judged = job.judged_without_release(sets, starts)
        released = released_at(sets, starts, recoding.labels)
        reached = {name: {level: before.summary.records or 0} for name, level in starts.items()}
    else:
        left_out = recoded.suppression
        chain = _chain(job, recoded)
        _keep(job, recoded, chain)
        mixed = {
            column.name: (column.levels, None)
            for column in sets.quasi_identifiers
            if column.name in chain.published_as_text
        }
        judged = job.judged(chain, new, before, left_out, mixed)
        released = recoded.released
        reached = released.records_by_level
    highest = {name: max(levels, default=0) for name, levels in reached.items()}
    return job.outcome(
        sets,
        before,
        judged,
        left_out,
        chain,
        released,
        recoding_warnings(job.question, chain) if chain else (),
        max_suppressed=allowed,
        highest=highest,
        levels=None,
        labels={},
        steps=Rows(),
        records_violating=recoding.records_violating,
        recoded=Recoded(
            len(recoding.rounds),
            reached,
            {
                column.name: {
                    level: column.levels.label(level) for level in range(starts[column.name] + 1)
                }
                for column in sets.quasi_identifiers
            },
            one_level_for_all=_one_level_for_all(job, sets, before.summary.classes or 0, allowed),
        ),
    )


def _one_level_for_all(
    job: ReleaseJob, sets: FrequencySets, combinations: int, allowed: int
) -> MinimalNode | None:
    """The node with the least loss under the same bounds, with its metrics. None if there is none,
    or if finding it might take longer than the recoding: for large tables, and for checks other
    than k-anonymity in records."""
    checked = [check.model for check in sets.question.checks if check.gates]
    if sets.question.entity or not all(model.sets_k for model in checked):
        return None
    if not is_soon_searched(sets, job.preferred, combinations):
        return None
    nodes = _nodes(job, sets)
    search = OptimalSearch(
        nodes, "loss", job.preferred, lambda node, k: passes_audit(job, nodes, node)
    )
    chosen = search.best(job.k, allowed)
    if not chosen.satisfies:
        return None
    return MinimalNode(
        nodes.levels(chosen.node),
        nodes.suppressed([chosen.node], job.k)[chosen.node].records,
        nodes.counted(chosen.node, job.k).classes,
        nodes.metrics(chosen.node, job.k, job.preferred.weights),
    )


def is_soon_searched(sets: FrequencySets, preferred: Preferences, combinations: int) -> bool:
    """Whether the optimal search to compare with takes no longer than the recoding."""
    highest = preferred.highest_of(sets.quasi_identifiers)
    nodes = math.prod(level + 1 for level in highest.values())
    return nodes <= MOST_NODES and combinations <= MOST_COMBINATIONS


def _refusing_views(job: ReleaseJob) -> Callable[[RecodingRound], None]:
    """What raises `InputError` as soon as the rounds made more splits than what is written can
    hold."""
    is_model = job.options.emit == "dbt-model"
    most, splits = _most_splits(job), 0

    def report_progress(done: RecodingRound) -> None:
        nonlocal splits
        splits += done.parts
        if splits <= most or job.options.writes_records or job.options.output is None:
            return
        output_kind, why = "a model" if is_model else "views", too_many(most)
        raise InputError(
            f"{job.options.output} would hold {output_kind}. {why.why}. {why.help}, or "
            + (
                f"write the release itself, {option('output', 'release.parquet')}."
                if job.engine.materialises
                else "copy the table into a file and release that."
            )
        )

    return report_progress


def _most_splits(job: ReleaseJob) -> int:
    return MOST_SEEDED if job.options.emit == "dbt-model" else MOST_SPLITS


def _chain(job: ReleaseJob, recoded: RecodedSets) -> RecodedChain:
    tree = split_tree(recoded, _most_splits(job))
    no_views = too_many(MOST_SPLITS) if isinstance(tree, SplitTree) else tree
    return job.chain(
        RecodedChain,
        recoded.sets,
        tree=tree if isinstance(tree, SplitTree) else None,
        no_views=None if isinstance(tree, SplitTree) and tree.are_few else no_views,
        mixed=recoded.generalised,
    )


def _keep(job: ReleaseJob, recoded: RecodedSets, chain: RecodedChain) -> None:
    """Create the temporary views of the release in the run."""
    if recoded.sets.hold_records:
        recoded.keep_recodings()
    elif chain.no_views:
        raise InputError(
            f"{chain.no_views.why}, and {job.engine.name} makes the release by views. "
            f"{chain.no_views.help}, or copy the table into a file and release that."
        )
    create_views(recoded.sets, chain)


_MOST_JUDGED = 1_000
"""Maximum size of a lattice whose nodes are all judged after a failed search."""


def released_at_levels(
    job: ReleaseJob, sets: FrequencySets, before: TableResult, allowed: int, new: Written | None
) -> ReleaseOutcome:
    """Search, build and audit; the release's records are written to `new`."""
    path, search_fields, other_violations = _searched_levels(job, sets, allowed)
    steps = tuple(
        _reported_step(sets, step) for step in path.steps or _direct_steps(sets, path.levels)
    )
    chain = job.chain(ViewChain, sets, steps)
    in_step4 = job.options.algorithm == "datafly" and allowed >= job.k
    if path.reached_top:
        left_out = nothing_suppressed(sets, path.levels)
        judged = job.judged_without_release(sets, path.levels)
    else:
        left_out, chain = suppress(
            sets, chain, path.levels, in_step4=in_step4, other_violations=other_violations
        )
        judged = job.judged(chain, new, before, left_out, _shown(sets, path.levels))
    if judged.after.status == "violated" and job.options.algorithm != "optimal":
        search_fields |= _nearest_of_a_failure(_nodes(job, sets), job)
    return job.outcome(
        sets,
        before,
        judged,
        left_out,
        None if path.reached_top else chain,
        released_at(sets, path.levels),
        max_suppressed=allowed,
        highest=path.levels,
        levels=path.levels,
        labels=sets.labels_at(path.levels),
        steps=Rows(_reported_step(sets, step) for step in path.steps),
        records_violating=path.records_violating,
        **search_fields,
    )


def _searched_levels(
    job: ReleaseJob, sets: FrequencySets, allowed: int
) -> tuple[SearchPath, dict[str, Any], list[str]]:
    """The levels of the release, the result's fields on how they were found, and SELECTs of the
    classes at these levels that violate a check against another table."""
    if job.options.algorithm == "levels":
        requested = job.options.levels
        highest = Preferences(requested, {}).highest_of(sets.quasi_identifiers)
        levels = {name: level if name in requested else 0 for name, level in highest.items()}
        violating = sets.records_violating(levels)
        return SearchPath((), levels, violating, reached_top=violating > allowed), {}, []
    if job.options.algorithm == "datafly":
        attributes = [job.preferred.bounded(attribute) for attribute in sets.attributes]
        path = datafly(
            attributes,
            violating_on(sets, climb(attributes)),
            allowed,
            lambda step: job.on_step(_reported_step(sets, step)),
        )
        return path, {}, []
    metric = job.options.metric or "loss"
    nodes = _nodes(job, sets)
    choice = OptimalSearch(
        nodes,
        metric,
        job.preferred,
        lambda node, k: passes_audit(job, nodes, node),
        gap=job.options.share_of_gap,
        deadline=job.deadline,
    )
    chosen = choice.best(job.k, allowed)
    path = SearchPath(
        (),
        nodes.levels(chosen.node),
        nodes.counted(chosen.node, job.k).violating,
        reached_top=not chosen.satisfies,
    )
    fields: dict[str, Any] = {"metric": metric, "search": chosen.search}
    if not chosen.satisfies:
        fields |= _nearest_of_a_failure(nodes, job)
    if job.options.minimal_nodes:
        fields["minimal_nodes"] = choice.minimal(job.k, allowed)
    return path, fields, nodes.queries.violating_against_others(chosen.node)


def _nodes(job: ReleaseJob, sets: FrequencySets) -> LatticeStatistics:
    return LatticeStatistics(sets, job.preferred, [job.k], job.options.suppressed)


def _nearest_of_a_failure(nodes: LatticeStatistics, job: ReleaseJob) -> dict[str, Any]:
    """With an earlier release, the levels with the fewest records in violating classes, of all
    nodes or, in a large lattice, of those evaluated; the finest of several."""
    if not required_crowds(job.question):
        return {}
    k = job.k
    ladders = [range(ladder.highest + 1) for ladder in nodes.lattice.ladders]
    all_of_them = nodes.lattice.size <= _MOST_JUDGED
    judged = list(product(*ladders)) if all_of_them else list(nodes.looked_at)
    nodes.judge(judged, k)
    released = [node for node in judged if nodes.counted(node, k).kept]
    if not released:
        return {}
    node = min(released, key=lambda node: (nodes.counted(node, k).violating, sum(node), node))
    levels = nodes.levels(node)
    labels = nodes.sets.labels_at(levels)
    return {"nearest": NearestLevels(levels, labels, nodes.counted(node, k).violating)}


def passes_audit(job: ReleaseJob, nodes: LatticeStatistics, node: Node) -> bool:
    """Whether the release at a node passes every check, by its audit."""
    sets, levels = nodes.sets, nodes.levels(node)
    other_violations = nodes.queries.violating_against_others(node)
    steps = tuple(_reported_step(sets, step) for step in _direct_steps(sets, levels))
    with sets.with_k(job.k):
        chain = job.chain(ViewChain, sets, steps)
        _, chain = suppress(sets, chain, levels, in_step4=False, other_violations=other_violations)
        return job.audited(chain, _shown(sets, levels)).status == "holds"


def _shown(sets: FrequencySets, levels: Levels) -> ShownAt:
    """The generalised quasi-identifiers with their levels."""
    return {
        column.name: (column.levels, level)
        for column in sets.quasi_identifiers
        if (level := levels[column.name])
    }


def _direct_steps(sets: FrequencySets, levels: Levels) -> list[Taken]:
    """The steps from the raw values to these levels, one quasi-identifier at a time."""
    return [
        Taken(column.name, levels[column.name], column.attribute.distinct[0], 0)
        for column in sets.quasi_identifiers
        if levels[column.name]
    ]


def _reported_step(sets: FrequencySets, step: Taken) -> GeneralizationStep:
    levels = next(qi.levels for qi in sets.quasi_identifiers if qi.name == step.attribute)
    return GeneralizationStep(
        step.attribute,
        step.to_level,
        levels.label(step.to_level),
        step.distinct_before,
        step.records_violating,
    )
