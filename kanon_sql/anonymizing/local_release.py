"""A release by local recoding: each class has its own levels. Recodes the records, builds the
release and audits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from kanon_sql.anonymizing.alternative import one_level_for_all
from kanon_sql.anonymizing.recoding.local_recoding import RecodingRound, local_recoding
from kanon_sql.anonymizing.recoding.recoded_sets import RecodedSets
from kanon_sql.anonymizing.recoding.recoded_views import (
    RecodedChain,
    said_of_recoding,
)
from kanon_sql.anonymizing.recoding.split_tree import (
    MOST_PARTS,
    MOST_SEEDED,
    SplitTree,
    split_tree,
    too_many,
)
from kanon_sql.anonymizing.release.release_job import ReleaseJob, ReleaseOutcome
from kanon_sql.anonymizing.release.suppression import (
    IN_ORDER,
    RELEASED,
    nothing_suppressed,
)
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.losses import associations, losses
from kanon_sql.errors import InputError, option
from kanon_sql.results.release import Recoded
from kanon_sql.results.table import Rows, TableResult


def released_by_class(
    making: ReleaseJob, sets: FrequencySets, before: TableResult, allowed: int, new: Path | None
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
        least_suppressed=making.k if making.wanted.suppressed == "star" else 0,
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
        said_of_recoding(making.bound, chain) if chain else (),
        max_suppressed=allowed,
        highest=highest,
        metrics=making.cost(before, left_out, lost),
        levels=None,
        labels={},
        steps=Rows(),
        records_violating=recoding.records_violating,
        associations=associated,
        recoded=Recoded(
            len(recoding.rounds),
            reached,
            {
                each.name: {
                    level: each.levels.label(level) for level in range(starts[each.name] + 1)
                }
                for each in sets.quasi_identifiers
            },
            one_level_for_all(
                sets,
                making.preferred,
                making.wanted.suppressed,
                k=making.k,
                max_suppressed=allowed,
                combinations=before.summary.classes or 0,
            ),
        ),
    )


def _refusing_views(making: ReleaseJob) -> Callable[[RecodingRound], None]:
    """What raises `InputError` as soon as the rounds made more parts than what is written can
    hold."""
    is_model = making.wanted.emit == "dbt-model"
    most, parts = _most_parts(making), 0

    def told(done: RecodingRound) -> None:
        nonlocal parts
        parts += done.parts
        if parts <= most or making.wanted.writes_records or making.wanted.output is None:
            return
        what, why = "a model" if is_model else "views", too_many(most)
        raise InputError(
            f"{making.wanted.output} would hold {what}. {why.why}. {why.help}, or "
            + (
                f"write the release itself, {option('output', 'release.parquet')}."
                if making.engine.keeps_rows
                else "copy the table into a file and release that."
            )
        )

    return told


def _most_parts(making: ReleaseJob) -> int:
    return MOST_SEEDED if making.wanted.emit == "dbt-model" else MOST_PARTS


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
        sets.keep_view_of_records(view.name, " ".join(view.words), view.sql)
    if sets.hold_records and not chain.keeps_order:
        question = "Which records are written, in which order?"
        sets.keep_view_of_records(IN_ORDER, question, run.in_order(RELEASED))
