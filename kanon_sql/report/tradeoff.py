"""The page of a trade-off: a bar per k, its levels, where a larger k costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from kanon_sql.errors import no_records
from kanon_sql.report.document import Block, Grid, GridRow, Heading, Points, Prose, Verbatim
from kanon_sql.report.release_tables import distance, is_informative
from kanon_sql.report.signed.evidence import folded
from kanon_sql.report.words.numbers import (
    NONE,
    bar,
    counted,
    number,
    number_or_none,
    printable,
    short_percent,
)
from kanon_sql.results.release import METRICS, Point, Tradeoff
from kanon_sql.sql.dialects.traits import TRAITS

_WIDEST_BAR = 20
_TOLERANCE = 0.02
"""Relative increase of loss that counts as "hardly more"."""


def page(tradeoff: Tradeoff, command: Callable[..., str] | None = None) -> Iterator[Block]:
    """The best levels for each k, with their loss. `command` gives the command that makes a
    release, with further options."""
    if tradeoff.status == "no_data":
        empty = no_records(printable(tradeoff.name), "there is nothing to compare")
        yield Prose([str(empty)], "strong")
        return
    search = tradeoff.search or (tradeoff.optimal and tradeoff.optimal.search)
    nodes = (
        f"{counted(search.nodes, 'choice')} of levels, {number(search.looked_at)} evaluated"
        if search
        else None
    )
    title = METRICS[tradeoff.metric].title.lower()
    yield Heading(
        [
            printable(tradeoff.name),
            counted(tradeoff.records, "record"),
            *([nodes] if nodes else []),
            f"best by {title}" if tradeoff.algorithm == "optimal" else "local recoding",
            f"at most {counted(tradeoff.max_suppressed, 'record')} suppressed",
        ]
    )
    if tradeoff.algorithm == "optimal":
        yield _costs(tradeoff, tradeoff.points)
        yield _levels(tradeoff.points)
    else:
        yield _costs(tradeoff, tradeoff.points, "Each class only as coarse as it needs (local):")
        if tradeoff.optimal:
            yield _costs(tradeoff, tradeoff.optimal.points, "One level per column (optimal):")
            yield _levels(tradeoff.optimal.points)
    if tradeoff.warnings:
        yield Points(tradeoff.warnings, "warning")
    yield Prose(
        [*_remarks(tradeoff), _proof(tradeoff), "Which k to choose: kanon-sql explain thresholds."]
    )
    if any(point.metrics for point in tradeoff.points):
        yield from _next(tradeoff, command)
    yield Prose([f"{tradeoff.seconds:.1f} s · {tradeoff.engine}"], "footer")


def _costs(tradeoff: Tradeoff, points: Sequence[Point], above: str = "") -> Grid:
    values = {point.k: _cost(tradeoff, point) for point in points}
    most = max([value for value in values.values() if value is not None], default=0.0)
    scale = 1.0 if tradeoff.are_shares else most
    return Grid(
        above,
        GridRow(
            ("   k", ""),
            ("lost" if tradeoff.are_shares else tradeoff.metric, "suppressed", "", "classes"),
        ),
        tuple(
            GridRow(
                (f"{point.k:>4}", _bar(values[point.k], scale)),
                (
                    _loss_text(values[point.k], in_shares=tradeoff.are_shares),
                    number_or_none(point.suppressed),
                    short_percent(
                        None if point.suppressed is None else point.suppressed / tradeoff.records
                    ),
                    number_or_none(point.classes),
                ),
            )
            for point in points
        ),
    )


def _levels(points: Sequence[Point]) -> Grid:
    rows, before = [], None
    for point in points:
        words = levels_in_words(point)
        precision = short_percent(point.metrics.precision if point.metrics else None)
        rows.append(
            GridRow((f"{point.k:>4}", "the same" if words == before else words), (precision,))
        )
        before = words
    return Grid("At these levels:", GridRow(("   k", "levels"), ("precision",)), tuple(rows))


def levels_in_words(point: Point) -> str:
    """The levels of a k above the raw values."""
    if point.levels is None or point.labels is None:
        return "no levels hold"
    raised = [
        f"{printable(name)} {level}{_label(point.labels[name])}"
        for name, level in point.levels.items()
        if level
    ]
    return ", ".join(raised) or "all raw"


def _label(label: str) -> str:
    """A level's label in parentheses, unless it is only a column number."""
    return "" if label.startswith("column ") else f" ({printable(label)})"


def _cost(tradeoff: Tradeoff, point: Point) -> float | None:
    """The loss by the metric that was minimised."""
    if point.metrics and tradeoff.metric == "loss" and point.metrics.loss_weighted is not None:
        return point.metrics.loss_weighted
    return point.lost(tradeoff.metric)


def _loss_text(value: float | None, *, in_shares: bool) -> str:
    if value is None:
        return NONE
    return short_percent(value) if in_shares else f"{value:,.1f}"


def _bar(value: float | None, scale: float) -> str:
    if not value or not scale:
        return ""
    return bar(min(value / scale, 1), _WIDEST_BAR, least=0)


def _remarks(tradeoff: Tradeoff) -> Iterator[str]:
    """Ranges of k over which the loss hardly grows."""
    first: Point | None = None
    last: Point | None = None
    for point in [*tradeoff.points, None]:
        cost = _cost(tradeoff, point) if point else None
        start = _cost(tradeoff, first) if first else None
        if point and cost is not None and start is not None and cost <= start * (1 + _TOLERANCE):
            last = point
            continue
        if first and last and start is not None:
            end = _cost(tradeoff, last)
            much = "nothing more" if end is not None and end <= start + 1e-12 else "hardly more"
            yield f"k = {number(last.k)} costs {much} than k = {number(first.k)}."
        first, last = point, None


def _proof(tradeoff: Tradeoff) -> str:
    if not any(point.metrics for point in tradeoff.points):
        return (
            "No levels meet the checks. Allow more suppression (--max-suppressed), or let the "
            "levels of each quasi-identifier end with suppress."
        )
    if tradeoff.search is None:
        return (
            "Local recoding is greedy: no row is proved to be the least possible. Its columns have "
            "values of several levels, which plain grouping keeps apart (explain local)."
        )
    if tradeoff.search.optimal:
        return "For each k, no other choice of these levels loses less (proved)."
    if is_informative(tradeoff.search):
        return f"The search was ended early: each row is {distance(tradeoff.search)}."
    return "Not every row is proved to be the least possible: the search was ended early."


def _next(tradeoff: Tradeoff, command: Callable[..., str] | None) -> Iterator[Block]:
    """The command for the k after which the loss jumps most."""
    k, why = _before_the_jump(tradeoff)
    why = _unreachable(tradeoff) or why
    is_embedded = TRAITS[tradeoff.engine].embedded if tradeoff.engine in TRAITS else False
    output = "release.parquet" if is_embedded else "release.sql"
    options = ("--k", str(k), "--algorithm", tradeoff.algorithm)
    if command is None:
        more = ("--metric", tradeoff.metric, "--max-suppressed", str(tradeoff.max_suppressed))
        words = " ".join((*options, *more, "--output", output))
        yield Prose([f"{why} To make a release with k = {k}: kanon-sql anonymize … {words}"])
        return
    yield Prose([f"{why} To make a release with k = {k}:"])
    yield Verbatim(folded(command(*options, "--output", output)))


def _unreachable(tradeoff: Tradeoff) -> str:
    """The k that no levels reach, if there are any."""
    reached = [number(point.k) for point in tradeoff.points if point.metrics]
    missed = [number(point.k) for point in tradeoff.points if not point.metrics]
    if not missed:
        return ""
    most = tradeoff.max_suppressed
    would = (
        f"would suppress more than {counted(most, 'record')}"
        f" ({short_percent(most / tradeoff.records)})"
        if most
        else "would need records to be suppressed (--max-suppressed)"
    )
    return f"Only k = {_and(reached)} can be reached with these levels; {_and(missed)} {would}."


def _and(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _before_the_jump(tradeoff: Tradeoff) -> tuple[int, str]:
    """The k after which the loss rises most, with the reason in words."""
    # Where no column can lose anything, as where each has a single value, no loss is defined.
    costs = [(point.k, _cost(tradeoff, point) or 0.0) for point in tradeoff.points if point.metrics]
    rises = [(after - before, k) for (k, before), (_, after) in pairwise(costs)]
    most, k = max(rises, default=(0.0, 0), key=lambda rise: rise[0])
    if most <= 0:
        return costs[-1][0], "" if len(costs) == 1 else "No k costs more than a smaller one."
    index = [size for size, _ in costs].index(k)
    (_, before), (larger, after) = costs[index : index + 2]
    from_to = " to ".join(
        _loss_text(loss, in_shares=tradeoff.are_shares) for loss in (before, after)
    )
    return k, f"The loss jumps most after k = {k}: from {from_to} at k = {number(larger)}."
