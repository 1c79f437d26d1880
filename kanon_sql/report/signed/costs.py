"""The section on the cost of each k, with the required k marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kanon_sql.report.document import Bars, Block, Drawing, Grid, Prose, named_row
from kanon_sql.report.plots import Chart, CostPoint, cost_of_k
from kanon_sql.report.signed.subject import Signed
from kanon_sql.report.words.numbers import NONE, number, percent, printable
from kanon_sql.report.words.tables import Bin, required_k
from kanon_sql.results.release import Anonymization, Point, Tradeoff


def costs(signed: Signed) -> Iterator[Block]:
    """The loss for each k, the chosen one marked."""
    for found in signed.costs:
        points = _known(found, found.points)
        if not points:
            continue
        chosen = chosen_k(signed)
        of_table = f" of {printable(found.name)}" if found.name else ""
        caption = (
            f"What each k{of_table} loses, by {found.metric.replace('_', ' ')} ({found.algorithm})."
        )
        from_to = " to ".join(
            f"{_lost(found, each.lost(found.metric))} at k = {number(each.k)}"
            for each in (points[0], points[-1])
        )
        marked = f" The diamond is the required k, {number(chosen)}." if chosen else ""
        if not signed.is_external:  # its labels hold exact figures
            drawing = Drawing(cost_chart(found, chosen), f"{caption} From {from_to}.{marked}")
            yield Grid("", named_row(""), (), drawing=drawing)
        yield Bars(
            caption,
            ("k", "suppressed", "lost"),
            [_cost(each, found, signed, _mark_of(each, chosen, found, signed)) for each in points],
        )
        yield from _made_otherwise(points, found, signed)
        if beside := _known(found, found.optimal.points if found.optimal else ()):
            yield Bars(
                f"What one level per column{of_table} would lose (optimal).",
                ("k", "suppressed", "lost"),
                [_cost(each, found, signed) for each in beside],
            )


def _known(found: Tradeoff, points: Sequence[Point]) -> list[Point]:
    """The points of the k that levels satisfy."""
    return [each for each in points if each.lost(found.metric) is not None]


def chosen_k(signed: Signed) -> int | None:
    """The k required of the release."""
    return next((k for k in map(required_k, signed.result.tables) if k), None)


def cost_chart(found: Tradeoff, chosen: int | None = None) -> Chart:
    """The loss for each k, as a Vega-Lite chart; of a local recoding also that of levels."""
    points = [
        CostPoint(
            each.k,
            each.lost(found.metric) or 0.0,
            each.suppressed or 0,
            each.classes or 0,
            each.k == chosen and points is found.points,
            algorithm,
        )
        for points, algorithm in (
            (found.points, found.algorithm if found.optimal else ""),
            (found.optimal.points if found.optimal else (), "optimal"),
        )
        for each in _known(found, points)
    ]
    return cost_of_k(points, found.metric.replace("_", " "), are_shares=found.are_shares)


def _lost(found: Tradeoff, lost: float | None) -> str:
    return percent(lost or 0.0) if found.are_shares else number(lost or 0.0)


def _mark_of(each: Point, chosen: int | None, found: Tradeoff, signed: Signed) -> str:
    """A note on the required k; the release may use other levels."""
    if each.k != chosen:
        return ""
    made = signed.made
    is_other = made is not None and not _is_made(each, found, made)
    return "this k was required" if is_other else "chosen"


def _is_made(each: Point, found: Tradeoff, made: Anonymization) -> bool:
    """Whether a point is the release; local recodings are told by their figures."""
    if each.levels is not None or made.levels is not None:
        return each.levels == made.levels
    figures = (found.algorithm, each.suppressed, each.classes)
    lost, there = _loss_of(made, found), each.lost(found.metric)
    is_alike = None not in (lost, there) and math.isclose(lost or 0, there or 0)
    return is_alike and figures == (made.algorithm, made.suppressed, made.classes)


def _loss_of(made: Anonymization, found: Tradeoff) -> float | None:
    """The loss of the release by the metric of a trade-off."""
    return Point(0, None, None, None, None, made.metrics, None).lost(found.metric)


def _made_otherwise(points: Sequence[Point], found: Tradeoff, signed: Signed) -> Iterator[Prose]:
    """The release's loss, if it is none of these points."""
    made = signed.made
    if made is None or signed.is_small(made.suppressed):
        return
    beside = found.optimal.points if found.optimal and made.algorithm != found.algorithm else ()
    lost = _loss_of(made, found)
    if lost is not None and not any(_is_made(each, found, made) for each in (*points, *beside)):
        yield Prose(
            [
                f"The release is none of these: {made.algorithm} made it, and it lost "
                f"{_lost(found, lost)}."
            ]
        )


def _cost(each: Point, found: Tradeoff, signed: Signed, mark: str = "") -> Bin:
    lost = each.lost(found.metric) or 0.0
    most = max(point.lost(found.metric) or 0.0 for point in found.points) or 1.0
    levels = ", ".join(f"{printable(name)} {level}" for name, level in (each.levels or {}).items())
    note = " · ".join(part for part in (mark, levels) if part)
    few, share = signed.cell(each.suppressed or 0), _lost(found, lost)
    if signed.is_small(each.suppressed or 0):
        # What few suppressed records add to a loss would tell their number.
        lost, share = 0.0, NONE
    return Bin(number(each.k), each.suppressed or 0, share, lost / most, False, note, few)
