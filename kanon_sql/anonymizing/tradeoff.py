"""The loss of the best release for each of several values of k, from one search."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.anonymizing.algorithms import is_soon_searched, passes_audit
from kanon_sql.anonymizing.anonymizer import (
    job_within_limits,
    refuse_for_url,
    refuse_unsupported,
    the_table,
)
from kanon_sql.anonymizing.recoding.local_recoding import local_recoding
from kanon_sql.anonymizing.recoding.recoded_sets import RecodedSets
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.release_job import ReleaseJob, audited_before
from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.losses import metrics
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.search.optimal_search import OptimalSearch, SearchResult
from kanon_sql.anonymizing.search.table_constraints import with_estimated_sizes
from kanon_sql.anonymizing.violating_classes import is_judged_by_class
from kanon_sql.auditing.opening import opened
from kanon_sql.auditing.warnings import left_out
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import refuse_time_limit, unless_changed
from kanon_sql.errors import SpecError, described_value
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.question.arguments import suggests_parameters
from kanon_sql.question.spec import AuditSpec, in_words_of_spec
from kanon_sql.report.display import Chart, Displayed
from kanon_sql.results.json_part import IF_SET, UNWRITTEN
from kanon_sql.results.release import Curve, Point, Search, Tradeoff
from kanon_sql.results.table import Status, Written, today
from kanon_sql.results.tabular import Tabular
from kanon_sql.results.version import VERSION
from kanon_sql.results.writing import refuse_to_overwrite

if TYPE_CHECKING:
    from kanon_sql.report.document import Block

KS = (2, 3, 5, 8, 11, 15, 20, 50)
"""The default values of k."""


@dataclass(frozen=True, repr=False)
class TradeoffResult(Tabular, Displayed, Written):
    """The loss for each k. Its string form is the command's output."""

    tradeoff: Tradeoff
    version: str = field(metadata=UNWRITTEN)
    asked: str | None = field(default=None, kw_only=True, compare=False, metadata=IF_SET)
    """The command that wrote it to a file; None if none did."""
    sealed: bool = field(default=True, kw_only=True, compare=False, metadata=UNWRITTEN)

    @property
    def status(self) -> Status:
        return self.tradeoff.status

    def rows(self) -> list[dict[str, Any]]:
        """Each k, with its loss and levels."""
        points = [point.to_dict() for point in self.tradeoff.points]
        return [{"k": point["k"], **(point.pop("metrics") or {}), **point} for point in points]

    def page(self) -> Iterator[Block]:
        """The losses in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import tradeoff

        return tradeoff.page(self.tradeoff)

    def _in_a_line(self) -> str:
        points = [f"k {point.k}" for point in self.tradeoff.points]
        return f"{self.status}: {', '.join(points) or 'no table'}"

    @suggests_parameters
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        audience: Literal["internal", "external"] = "internal",
        min_cell: int = 10,
        overwrite: bool = False,
    ) -> str | None:
        """Write the page of the loss for each k; without a `path`, return it as text.

        It is the page that `kanon-sql report` writes from the result's JSON. Raises `SpecError` for
        a file that exists, unless `overwrite` is set, that cannot be written, or whose name does
        not end with .html.
        """
        from kanon_sql.report.signed.inputs import page_of_costs, returned_or_written

        def page() -> str:
            return page_of_costs(self, audience=audience, min_cell=min_cell)

        return returned_or_written(page, path, overwrite=overwrite)

    @suggests_parameters
    def chart(self, name: str = "cost") -> dict[str, Any]:
        """The loss for each k as a Vega-Lite dictionary. Raises `SpecError` for another name."""
        from kanon_sql.report.charts import cost_of_k

        if name != "cost":
            raise SpecError(f'there is no chart "{name}"; there is cost.')
        return Chart(cost_of_k(self.tradeoff))


@in_words_of_spec
def tradeoff(
    spec: AuditSpec,
    options: ReleaseOptions,
    ks: Sequence[int],
    run: RunOptions,
) -> TradeoffResult:
    """The best levels for each k, with their losses. Nothing is released.

    Raises `SpecError` or `InputError` for an invalid request, `EngineError` if the engine fails or
    time runs out before levels are found.
    """
    ks = _sizes(ks)
    if options.algorithm == "datafly":
        raise SpecError(
            "a trade-off takes the algorithms optimal and local; Datafly does not minimise the "
            "loss."
        )
    searched = _with_k(spec, max(ks))
    started = time.monotonic()
    table = the_table(searched)
    options = options.for_engine(run.engine if run.engine is not None else table.connect)
    refuse_for_url(table, run.engine, options)
    with opened(table, run, fetches=options.pull_frequencies) as database:
        refuse_time_limit(database, run.timeout)
        refuse_unsupported(database, options)
        with job_within_limits(searched, table, max(ks), options, run, database) as job:
            refuse_to_overwrite(run.writes, database.files_read())
            result = unless_changed(database, lambda: _losses_by_k(job, ks))
            database.verify_unchanged()
            database.drop_all()
    seconds = time.monotonic() - started
    return TradeoffResult(replace(result, seconds=seconds, audited=today()), VERSION)


def _losses_by_k(job: ReleaseJob, ks: Sequence[int]) -> Tradeoff:
    """The loss for each k, by one optimal search or by one local recoding each."""
    options, before = job.options, audited_before(job)
    records, metric = before.summary.records or 0, options.metric or "loss"
    is_optimal = options.algorithm == "optimal"
    outline = Tradeoff(job.name, job.engine.name, records, metric, 0, options.algorithm, (), None)
    if before.status == "no_data":
        return outline
    allowed = options.allowed(records=records, k=1)
    warnings = tuple(dict.fromkeys(_warnings(job.question, options)))
    outline = replace(outline, max_suppressed=allowed, warnings=warnings)
    if is_optimal:
        job = job.also_searched(with_estimated_sizes(job.question, before))
    job.announce_fetch()
    sets = job.sets()
    if is_optimal:
        best = _best_levels(job, sets, ks, allowed)
        return replace(outline, points=best.points, search=best.search)
    is_searched = is_soon_searched(sets, job.preferred, before.summary.classes or 0)
    optimal = _best_levels(job, sets, ks, allowed) if is_searched else None
    points = tuple(
        recoded_point(sets, job.preferred, k, records=records, max_suppressed=allowed) for k in ks
    )
    return replace(outline, points=points, optimal=optimal)


def _best_levels(job: ReleaseJob, sets: FrequencySets, ks: Sequence[int], allowed: int) -> Curve:
    """The best levels for each k, by one search."""
    options, preferred = job.options, job.preferred
    nodes = LatticeStatistics(sets, preferred, ks, options.suppressed)
    choice = OptimalSearch(
        nodes,
        options.metric or "loss",
        preferred,
        lambda node, k: passes_audit(job.for_k(k), nodes, node),
        gap=options.share_of_gap,
        deadline=job.deadline,
    )
    # A larger k rules out more nodes, and its counts serve the smaller ones.
    by_k = {k: choice.best(k, allowed) for k in sorted(ks, reverse=True)}
    return Curve(
        tuple(_point(nodes, k, by_k[k], preferred.weights) for k in ks),
        _search(list(by_k.values()), len(nodes.looked_at)),
    )


def _warnings(question: ResolvedQuestion, options: ReleaseOptions) -> Iterator[str]:
    yield from left_out(question)
    is_optimal = options.algorithm == "optimal"
    unsearched = [
        check.model.name()
        for check in question.checks
        if check.gates and not is_judged_by_class(check) and not is_optimal
    ]
    if unsearched:
        yield (
            f"The search ignores {' and '.join(unsearched)}, which no class alone can "
            "decide; only the audit of a release does."
        )


def _sizes(ks: Sequence[int]) -> tuple[int, ...]:
    """The values of k, ascending and distinct."""
    for k in ks:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise SpecError(f"k must be whole numbers, 1 or more; found {described_value(k)}.")
    if not ks:
        raise SpecError("name the values of k to compare, as in k=[2, 5, 10].")
    return tuple(sorted(set(ks)))


def _with_k(spec: AuditSpec, k: int) -> AuditSpec:
    """The spec with a check of this k in place of its own k-anonymity checks."""
    tables = [
        table.model_copy(
            update={
                "checks": [
                    KAnonymity(k=k),
                    *(check for check in table.checks if not check.sets_k),
                ]
            }
        )
        for table in spec.tables
    ]
    return spec.model_copy(update={"tables": tables})


def _point(nodes: LatticeStatistics, k: int, chosen: SearchResult, weights: Any) -> Point:
    if not chosen.satisfies:
        return Point(k, None, None, None, None, None, None)
    counted, levels = nodes.counted(chosen.node, k), nodes.levels(chosen.node)
    return Point(
        k,
        levels,
        nodes.sets.labels_at(levels),
        counted.violating,
        counted.classes,
        nodes.metrics(chosen.node, k, weights),
        chosen.search.gap,
    )


def _search(results: Sequence[SearchResult], looked_at: int) -> Search:
    """The searches for all k as one: optimal if all are proven, with the largest gap."""
    with_levels = [result.search for result in results if result.satisfies]
    gaps = [level.gap for level in with_levels]
    return Search(
        nodes=results[0].search.nodes,
        looked_at=looked_at,
        bound=with_levels[0].bound if len(results) == 1 and with_levels else None,
        gap=None if None in gaps or not gaps else max(gap for gap in gaps if gap is not None),
        optimal=bool(with_levels) and all(level.optimal for level in with_levels),
    )


def recoded_point(
    sets: FrequencySets, preferred: Preferences, k: int, *, records: int, max_suppressed: int
) -> Point:
    """The local recoding for one k with its metrics, or without if even the top levels fail."""
    with sets.with_k(k):
        recoding = local_recoding(sets, preferred, records=records, max_suppressed=max_suppressed)
        if recoding.fails:
            return Point(k, None, None, None, None, None, None)
        recoded = RecodedSets(sets, recoding)
        left_out = recoded.suppression
        return Point(
            k,
            None,
            None,
            left_out.records,
            int(left_out.classes["kanon_classes"]),
            metrics(
                recoded.released.losses,
                left_out.classes,
                records=records,
                suppressed=left_out.records,
                weights=preferred.weights,
            ),
            None,
            recoded.released.records_by_level,
        )
