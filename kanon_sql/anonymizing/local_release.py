"""A release by local recoding: each class has its own levels. Recodes the records, builds the
release and audits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from kanon_sql.anonymizing.full_domain_release import passes_audit
from kanon_sql.anonymizing.recoding.local_recoding import RecodingRound, local_recoding
from kanon_sql.anonymizing.recoding.recoded_sets import RecodedSets
from kanon_sql.anonymizing.recoding.recoded_views import (
    RecodedChain,
    recoding_warnings,
)
from kanon_sql.anonymizing.recoding.split_tree import (
    MOST_PARTS,
    MOST_SEEDED,
    SplitTree,
    split_tree,
    too_many,
)
from kanon_sql.anonymizing.release.release_job import ReleaseJob, ReleaseOutcome, Written
from kanon_sql.anonymizing.release.suppression import (
    IN_ORDER,
    RELEASED,
    nothing_suppressed,
)
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.losses import associations, losses
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.search.optimal_search import OptimalSearch
from kanon_sql.errors import InputError, option
from kanon_sql.results.release import MinimalNode, Recoded
from kanon_sql.results.table import Rows, TableResult
from kanon_sql.spec.models.sizes import KAnonymity

MOST_NODES = 50_000
MOST_COMBINATIONS = 200_000
"""Limits, with `MOST_NODES`, up to which the best full-domain node is found in moments."""


def released_by_class(
    making: ReleaseJob, sets: FrequencySets, before: TableResult, allowed: int, new: Written | None
) -> ReleaseOutcome:
    """Recode, build and audit; the release's records are written to `new`."""
    starts = {
        each.name: making.preferred.highest(each.name, each.levels.height)
        for each in sets.quasi_identifiers
    }
    recoding = local_recoding(
        sets,
        starts=starts,
        records=before.summary.records or 0,
        max_suppressed=allowed,
        least_suppressed=making.k if making.options.suppressed == "star" else 0,
        weights={name: Fraction(str(weight)) for name, weight in making.preferred.weights.items()},
        tell=_refusing_views(making),
    )
    recoded = RecodedSets(sets, recoding)
    untouched = making.untouched
    chain: RecodedChain | None = None
    if recoding.fails:
        left_out = nothing_suppressed(sets, starts)
        after = making.audited_at(sets, starts)
        lost = list(losses(sets, starts))
        associated = tuple(associations(sets, making.bound, starts))
        reached = {name: {level: before.summary.records or 0} for name, level in starts.items()}
    else:
        left_out = recoded.suppression
        chain = _chain(making, recoded)
        _keep(making, recoded, chain)
        mixed = {
            each.name: (each.levels, None)
            for each in sets.quasi_identifiers
            if each.name in chain.published_as_text
        }
        after, untouched = making.judged(chain, new, before, left_out, mixed)
        lost = list(recoded.losses())
        associated = tuple(recoded.associations())
        reached = recoded.levels_by_records
    highest = {name: max(levels, default=0) for name, levels in reached.items()}
    return making.outcome(
        sets,
        before,
        after,
        left_out,
        chain,
        untouched,
        recoding_warnings(making.bound, chain) if chain else (),
        max_suppressed=allowed,
        highest=highest,
        metrics=making.cost(before, left_out, lost),
        levels=None,
        labels={},
        steps=Rows(),
        records_violating=recoding.records_violating,
        associations=associated,
        distributions=() if recoding.fails else tuple(recoded.distributions()),
        recoded=Recoded(
            len(recoding.rounds),
            reached,
            {
                each.name: {
                    level: each.levels.label(level) for level in range(starts[each.name] + 1)
                }
                for each in sets.quasi_identifiers
            },
            _one_level_for_all(making, sets, before.summary.classes or 0, allowed),
        ),
    )


def _one_level_for_all(
    making: ReleaseJob, sets: FrequencySets, combinations: int, allowed: int
) -> MinimalNode | None:
    """The node with the least loss under the same bounds, with its metrics. None if there is none,
    or if finding it might take longer than the recoding: for large tables, and for checks other
    than k-anonymity in records."""
    checked = [check.model for check in sets.bound.checks if check.gates]
    if sets.bound.entity or not all(isinstance(model, KAnonymity) for model in checked):
        return None
    nodes = LatticeStatistics(sets, making.preferred, [making.k], making.options.suppressed)
    if nodes.lattice.size > MOST_NODES or combinations > MOST_COMBINATIONS:
        return None
    search = OptimalSearch(
        nodes, "loss", making.preferred, lambda node, k: passes_audit(making, nodes, node)
    )
    chosen = search.best(making.k, allowed)
    if not chosen.satisfies:
        return None
    return MinimalNode(
        nodes.levels(chosen.node),
        nodes.suppressed([chosen.node], making.k)[chosen.node].records,
        nodes.counted(chosen.node, making.k).classes,
        nodes.metrics(chosen.node, making.k, making.preferred.weights),
    )


def _refusing_views(making: ReleaseJob) -> Callable[[RecodingRound], None]:
    """What raises `InputError` as soon as the rounds made more parts than what is written can
    hold."""
    is_model = making.options.emit == "dbt-model"
    most, parts = _most_parts(making), 0

    def report_progress(done: RecodingRound) -> None:
        nonlocal parts
        parts += done.parts
        if parts <= most or making.options.writes_records or making.options.output is None:
            return
        what, why = "a model" if is_model else "views", too_many(most)
        raise InputError(
            f"{making.options.output} would hold {what}. {why.why}. {why.help}, or "
            + (
                f"write the release itself, {option('output', 'release.parquet')}."
                if making.engine.materialises
                else "copy the table into a file and release that."
            )
        )

    return report_progress


def _most_parts(making: ReleaseJob) -> int:
    return MOST_SEEDED if making.options.emit == "dbt-model" else MOST_PARTS


def _chain(making: ReleaseJob, recoded: RecodedSets) -> RecodedChain:
    cuts = split_tree(recoded, _most_parts(making))
    no_views = too_many(MOST_PARTS) if isinstance(cuts, SplitTree) else cuts
    return making.chain(
        RecodedChain,
        recoded.sets,
        cuts=cuts if isinstance(cuts, SplitTree) else None,
        no_views=None if isinstance(cuts, SplitTree) and cuts.are_few else no_views,
        mixed=recoded.generalised,
    )


def _keep(making: ReleaseJob, recoded: RecodedSets, chain: RecodedChain) -> None:
    """Create the temporary views of the release in the run."""
    sets = recoded.sets
    if sets.hold_records:
        recoded.keep_recodings()
    elif chain.no_views:
        raise InputError(
            f"{chain.no_views.why}, and {making.engine.name} makes the release by views. "
            f"{chain.no_views.help}, or copy the table into a file and release that."
        )
    run = replace(chain, kept=sets.hold_records)
    for view in run.views_to_run:
        sets.create_view_of_records(view.name, " ".join(view.words), view.sql)
    if sets.hold_records:
        question = "Which records does the release have, in which order?"
        sets.create_view_of_records(IN_ORDER, question, run.in_order(RELEASED))
