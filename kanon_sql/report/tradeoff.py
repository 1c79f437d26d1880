"""The page of a trade-off: a bar per k, its levels, and where a larger k costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from kanon_sql.report.document import Block, Grid, GridRow, Heading, Points, Prose, Verbatim
from kanon_sql.report.release import distance, is_near
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

_WIDEST_BAR = 20
_HARDLY = 0.02
"""Relative increase of loss that counts as "hardly more"."""


def page(found: Tradeoff, command: Callable[..., str] | None = None) -> Iterator[Block]:
    """The best levels for each k, with their loss. `command` gives the command that makes a
    release, with further options."""
    if found.status == "no_data":
        yield Prose(
            [f"{printable(found.name)} has no records, so there is nothing to compare."], "strong"
        )
        return
    search = found.search or (found.optimal and found.optimal.search)
    looked = (
        f"{counted(search.nodes, 'choice')} of levels, {number(search.looked_at)} evaluated"
        if search
        else None
    )
    title = METRICS[found.metric].title.lower()
    yield Heading(
        [
            printable(found.name),
            counted(found.records, "record"),
            *([looked] if looked else []),
            f"best by {title}" if found.algorithm == "optimal" else "local recoding",
            f"at most {counted(found.max_suppressed, 'record')} suppressed",
        ]
    )
    if found.algorithm == "optimal":
        yield _costs(found, found.points)
        yield _levels(found.points)
    else:
        yield _costs(found, found.points, "Each class only as coarse as it needs (local):")
        if found.optimal:
            yield _costs(found, found.optimal.points, "One level per column (optimal):")
            yield _levels(found.optimal.points)
    if found.warnings:
        yield Points(found.warnings, "warning")
    yield Prose(
        [*_remarks(found), _proof(found), "Which k to choose: kanon-sql explain thresholds."]
    )
    if any(each.metrics for each in found.points):
        yield from _next(found, command)
    yield Prose([f"{found.seconds:.1f} s · {found.engine}"], "footer")


def _costs(found: Tradeoff, points: Sequence[Point], above: str = "") -> Grid:
    values = {each.k: _cost(found, each) for each in points}
    most = max([each for each in values.values() if each is not None], default=0.0)
    whole = 1.0 if found.are_shares else most
    return Grid(
        above,
        GridRow(
            ("   k", ""),
            ("lost" if found.are_shares else found.metric, "suppressed", "", "classes"),
        ),
        tuple(
            GridRow(
                (f"{each.k:>4}", _bar(values[each.k], whole)),
                (
                    _loss_text(values[each.k], in_shares=found.are_shares),
                    number_or_none(each.suppressed),
                    short_percent(
                        None if each.suppressed is None else each.suppressed / found.records
                    ),
                    number_or_none(each.classes),
                ),
            )
            for each in points
        ),
    )


def _levels(points: Sequence[Point]) -> Grid:
    rows, before = [], None
    for each in points:
        words = _levels_in_words(each)
        precision = short_percent(each.metrics.precision if each.metrics else None)
        rows.append(
            GridRow((f"{each.k:>4}", "the same" if words == before else words), (precision,))
        )
        before = words
    return Grid("At these levels:", GridRow(("   k", "levels"), ("precision",)), tuple(rows))


def _levels_in_words(point: Point) -> str:
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


def _cost(found: Tradeoff, point: Point) -> float | None:
    """The loss by the metric that was minimised."""
    if point.metrics and found.metric == "loss" and point.metrics.loss_weighted is not None:
        return point.metrics.loss_weighted
    return point.lost(found.metric)


def _loss_text(value: float | None, *, in_shares: bool) -> str:
    if value is None:
        return NONE
    return short_percent(value) if in_shares else f"{value:,.1f}"


def _bar(value: float | None, whole: float) -> str:
    if not value or not whole:
        return ""
    return bar(min(value / whole, 1), _WIDEST_BAR, least=0)


def _remarks(found: Tradeoff) -> Iterator[str]:
    """Ranges of k over which the loss hardly grows."""
    first: Point | None = None
    last: Point | None = None
    for point in [*found.points, None]:
        cost = _cost(found, point) if point else None
        start = _cost(found, first) if first else None
        if point and cost is not None and start is not None and cost <= start * (1 + _HARDLY):
            last = point
            continue
        if first and last and start is not None:
            end = _cost(found, last)
            much = "nothing more" if end is not None and end <= start + 1e-12 else "hardly more"
            yield f"k = {number(last.k)} costs {much} than k = {number(first.k)}."
        first, last = point, None


def _proof(found: Tradeoff) -> str:
    if not any(each.metrics for each in found.points):
        return (
            "No levels meet the checks. Allow more suppression (--max-suppressed), or let the "
            "levels of each quasi-identifier end with suppress."
        )
    if found.search is None:
        return (
            "Local recoding is greedy: no row is proved to be the least possible. Its columns have "
            "values of several levels, which plain grouping keeps apart (explain local)."
        )
    if found.search.optimal:
        return "For each k, no other choice of these levels loses less (proved)."
    if is_near(found.search):
        return f"The search was ended early: each row is {distance(found.search)}."
    return "Not every row is proved to be the least possible: the search was ended early."


def _next(found: Tradeoff, command: Callable[..., str] | None) -> Iterator[Block]:
    """The command for the k after which the loss jumps most."""
    k, why = _before_the_jump(found)
    output = "release.parquet" if found.engine == "duckdb" else "release.sql"
    options = ("--k", str(k), "--algorithm", found.algorithm)
    if command is None:
        more = ("--metric", found.metric, "--max-suppressed", str(found.max_suppressed))
        words = " ".join((*options, *more, "--output", output))
        yield Prose([f"{why} To make a release with k = {k}: kanon-sql anonymize … {words}"])
        return
    yield Prose([f"{why} To make a release with k = {k}:"])
    yield Verbatim(folded(command(*options, "--output", output)))


def _before_the_jump(found: Tradeoff) -> tuple[int, str]:
    """The k after which the loss rises most, with the reason in words."""
    # Where no column can lose anything, as where each has a single value, no loss is defined.
    costs = [(each.k, _cost(found, each) or 0.0) for each in found.points if each.metrics]
    rises = [(after - before, k) for (k, before), (_, after) in pairwise(costs)]
    most, k = max(rises, default=(0.0, 0), key=lambda rise: rise[0])
    if most <= 0:
        return costs[-1][0], "" if len(costs) == 1 else "No k costs more than a smaller one."
    place = [each for each, _ in costs].index(k)
    (_, before), (larger, after) = costs[place : place + 2]
    from_to = " to ".join(_loss_text(each, in_shares=found.are_shares) for each in (before, after))
    return k, f"The loss jumps most after k = {k}: from {from_to} at k = {number(larger)}."
