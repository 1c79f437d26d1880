"""Loss of the best release for each of several values of k, from one search of the lattice."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.anonymizing.algorithms import MOST_COMBINATIONS, MOST_NODES, passes_audit
from kanon_sql.anonymizing.anonymizer import (
    deadline_of,
    hub_to_fetch_into,
    refuse_for_url,
    refuse_what_it_can_t,
    the_table,
)
from kanon_sql.anonymizing.recoding.local_recoding import local_recoding
from kanon_sql.anonymizing.recoding.recoded_sets import RecodedSets
from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.release.release_job import ReleaseJob
from kanon_sql.anonymizing.search.costs import Preferences, preferences_of
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.losses import metrics
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.search.optimal_search import OptimalSearch, SearchResult
from kanon_sql.anonymizing.search.table_constraints import with_estimated_sizes
from kanon_sql.auditing.auditor import answered
from kanon_sql.auditing.opening import opened, planned
from kanon_sql.auditing.warnings import left_out
from kanon_sql.engines.session import (
    RunOptions,
    Session,
    refuse_time_limit,
    time_limit,
    unless_changed,
)
from kanon_sql.errors import SpecError, described_value
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.violating_classes import is_judged_by_class
from kanon_sql.results.release import Curve, Point, Search, Tradeoff
from kanon_sql.results.table import EXIT_CODES, TableResult, Tabular, in_a_line, today
from kanon_sql.results.version import FORMAT, VERSION
from kanon_sql.results.writing import refuse_to_overwrite
from kanon_sql.spec.arguments import suggests_parameters
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.spec.spec import AuditSpec

if TYPE_CHECKING:
    from kanon_sql.report.document import Block

KS = (2, 3, 5, 8, 11, 15, 20, 50)
"""The default values of k."""


@dataclass(frozen=True, repr=False)
class TradeoffResult(Tabular):
    """The loss for each k. Its string form is the command's output."""

    tradeoff: Tradeoff
    version: str
    asked: str | None = field(default=None, kw_only=True, compare=False)
    """The command that wrote it to a file; None if none did."""

    @property
    def status(self) -> str:
        return self.tradeoff.status

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.tradeoff.status]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, as in the JSON."""
        return {
            "kanon_sql": self.version,
            "format": FORMAT,
            "status": self.status,
            "tradeoff": self.tradeoff.to_dict(),
            **({"asked": self.asked} if self.asked else {}),
        }

    def rows(self) -> list[dict[str, Any]]:
        """Each k, with its loss and levels."""
        points = [each.to_dict() for each in self.tradeoff.points]
        return [{"k": each["k"], **(each.pop("metrics") or {}), **each} for each in points]

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def page(self) -> Iterator[Block]:
        """The losses in words and figures, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import tradeoff

        return tradeoff.page(self.tradeoff)

    def __str__(self) -> str:
        from kanon_sql.report import terminal
        from kanon_sql.report.words.numbers import in_python

        return terminal.write(in_python(self.page()))

    def __repr__(self) -> str:
        """One line; `print` and notebooks show everything."""
        return in_a_line(self, self.status, [f"k {each.k}" for each in self.tradeoff.points])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Terminal output in IPython."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from kanon_sql.report import html
        from kanon_sql.report.words.numbers import in_python

        return html.write(in_python(self.page()))

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
        from kanon_sql.report.signed.inputs import given, page_of_costs

        def page() -> str:
            return page_of_costs(self, audience=audience, min_cell=min_cell)

        return given(page, path, overwrite=overwrite)

    def chart(self, name: str = "cost") -> dict[str, Any]:
        """The loss for each k as a Vega-Lite dictionary. Raises `SpecError` for another name."""
        from kanon_sql.report.display import Chart
        from kanon_sql.report.signed.costs import cost_chart

        if name != "cost":
            raise SpecError(f'there is no chart "{name}"; there is cost.')
        return Chart(cost_chart(self.tradeoff))


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
    asked = _asking(spec, max(ks))
    started = time.monotonic()
    table = the_table(asked)
    options = options.for_engine(run.engine if run.engine is not None else table.connect)
    refuse_for_url(table, run.engine, options)
    with ExitStack() as stack:
        database = stack.enter_context(opened(table, run, fetches=options.pull_frequencies))
        refuse_time_limit(database, run.timeout)
        refuse_what_it_can_t(database, options)
        expired = threading.Event()
        with (
            time_limit(database, run.timeout, expired) as lift,
            hub_to_fetch_into(options, run, time.monotonic(), expired) as (here, lift_here),
        ):
            deadline = deadline_of(options, run.timeout, lift, lift_here)
            plan = planned(asked, 0, database).plan
            preferred = preferences_of(options, plan.bound)
            refuse_to_overwrite(run.writes, database.files_read())

            def found() -> Tradeoff:
                session = Session(database, run.watch, expired, started=started)
                before = answered(plan, session)
                name = plan.bound.spec.name or plan.bound.table.name
                metric = options.metric or "loss"
                if before.status == "no_data":
                    return Tradeoff(
                        name, database.name, 0, metric, 0, options.algorithm, (), None,
                        time.monotonic() - started,
                    )  # fmt: skip
                allowed = options.allowed(records=before.summary.records or 0, k=1)
                bound = plan.bound
                if options.algorithm == "optimal":
                    bound = with_estimated_sizes(bound, before)
                job = ReleaseJob(
                    spec, table, max(ks), replace(plan, bound=bound), options, preferred, database,
                    here, expired, run.watch, lambda step: None, deadline, started,
                    announce=run.announce,
                )  # fmt: skip
                job.announce_fetch()
                warnings = tuple(dict.fromkeys(_warnings(plan.bound, options)))
                weighed = _weigh(job, job.sets(), ks, allowed, before)
                return replace(
                    weighed,
                    name=name,
                    engine=database.name,
                    seconds=time.monotonic() - started,
                    warnings=warnings,
                )

            result = unless_changed(database, found)
            database.verify_unchanged()
            database.drop_all()
    return TradeoffResult(replace(result, audited=today()), VERSION)


def _weigh(
    job: ReleaseJob, sets: FrequencySets, ks: Sequence[int], allowed: int, before: TableResult
) -> Tradeoff:
    """The loss for each k, by one optimal search or by one local recoding each."""
    options, preferred = job.options, job.preferred
    records, metric = before.summary.records or 0, options.metric or "loss"
    found = Tradeoff("", "", records, metric, allowed, options.algorithm, (), None)
    if options.algorithm == "optimal":
        best = _best_levels(job, sets, ks, allowed)
        return replace(found, points=best.points, search=best.search)
    is_searched = _is_soon_searched(sets, preferred, before.summary.classes or 0)
    optimal = _best_levels(job, sets, ks, allowed) if is_searched else None
    points = tuple(
        recoded_point(sets, preferred, k, records=records, max_suppressed=allowed) for k in ks
    )
    return replace(found, points=points, optimal=optimal)


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


def _is_soon_searched(sets: FrequencySets, preferred: Preferences, combinations: int) -> bool:
    """Whether the optimal search to compare with takes no longer than the recoding."""
    choices = math.prod(
        preferred.highest(each.name, each.levels.height) + 1 for each in sets.quasi_identifiers
    )
    return choices <= MOST_NODES and combinations <= MOST_COMBINATIONS


def _warnings(bound: ResolvedQuestion, options: ReleaseOptions) -> Iterator[str]:
    yield from left_out(bound)
    is_optimal = options.algorithm == "optimal"
    unsearched = [
        check.model.name()
        for check in bound.checks
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


def _asking(spec: AuditSpec, k: int) -> AuditSpec:
    """The spec with a check of this k in place of its own k-anonymity checks."""

    def other(check: Any) -> bool:
        return not isinstance(check, KAnonymity)

    tables = [
        each.model_copy(update={"checks": [KAnonymity(k=k), *filter(other, each.checks)]})
        for each in spec.tables
    ]
    return spec.model_copy(update={"tables": tables})


def _point(nodes: LatticeStatistics, k: int, chosen: SearchResult, weights: Any) -> Point:
    if not chosen.satisfies:
        return Point(k, None, None, None, None, None, None)
    counted, levels = nodes.counted(chosen.node, k), nodes.levels(chosen.node)
    labels = {
        each.name: each.levels.label(levels[each.name]) for each in nodes.sets.quasi_identifiers
    }
    return Point(
        k,
        levels,
        labels,
        counted.violating,
        counted.classes,
        nodes.metrics(chosen.node, k, weights),
        chosen.search.gap,
    )


def _search(found: Sequence[SearchResult], looked_at: int) -> Search:
    """The searches for all k as one: optimal if all are proven, with the largest gap."""
    with_levels = [each.search for each in found if each.satisfies]
    gaps = [each.gap for each in with_levels]
    return Search(
        nodes=found[0].search.nodes,
        looked_at=looked_at,
        bound=with_levels[0].bound if len(found) == 1 and with_levels else None,
        gap=None if None in gaps or not gaps else max(each for each in gaps if each is not None),
        optimal=bool(with_levels) and all(each.optimal for each in with_levels),
    )


def recoded_point(
    sets: FrequencySets, preferred: Preferences, k: int, *, records: int, max_suppressed: int
) -> Point:
    """The local recoding for one k with its metrics, or without if even the top levels fail."""
    with sets.with_k(k):
        recoding = local_recoding(
            sets,
            starts={
                each.name: preferred.highest(each.name, each.levels.height)
                for each in sets.quasi_identifiers
            },
            records=records,
            max_suppressed=max_suppressed,
            weights={name: Fraction(str(each)) for name, each in preferred.weights.items()},
        )
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
                list(recoded.losses()),
                left_out.classes,
                records=records,
                suppressed=left_out.records,
                weights=preferred.weights,
            ),
            None,
            recoded.levels_by_records,
        )
