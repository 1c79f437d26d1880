"""The section on the cost of each k, with the required k marked."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kanon_sql.report.document import Bars, Block, Drawing, Grid, Prose, named_row
from kanon_sql.report.plots import Chart, CostPoint, cost_of_k
from kanon_sql.report.signed.subject import Signed
from kanon_sql.report.words.numbers import NONE, number, percent, printable
from kanon_sql.report.words.tables import Bin, required_k
from kanon_sql.results.release import Anonymization, CostOfK, Costs


def costs(signed: Signed) -> Iterator[Block]:
    """The loss for each k, the chosen one marked."""
    for found in signed.costs:
        points = [each for each in found.points if each.lost is not None]
        if not points:
            continue
        chosen = chosen_k(signed)
        of_table = f" of {printable(found.table)}" if found.table else ""
        caption = (
            f"What each k{of_table} loses, by {found.metric.replace('_', ' ')} ({found.algorithm})."
        )
        drawing = Drawing(
            cost_chart(found, chosen),
            f"{caption} {_cheapest(points, found)}"
            + (f" The diamond is the required k, {number(chosen)}." if chosen else ""),
        )
        if not signed.is_external:  # its labels hold exact figures
            yield Grid("", named_row(""), (), drawing=drawing)
        yield Bars(
            caption,
            ("k", "suppressed", "lost"),
            [_cost(each, found, signed, _mark_of(each, chosen, found, signed)) for each in points],
        )
        yield from _made_otherwise(points, found, signed)
        beside = [each for each in found.optimal if each.lost is not None]
        if beside:
            yield Bars(
                f"What one level per column{of_table} would lose (optimal).",
                ("k", "suppressed", "lost"),
                [_cost(each, found, signed) for each in beside],
            )


def chosen_k(signed: Signed) -> int | None:
    """The k required of the release."""
    return next((k for k in map(required_k, signed.result.tables) if k), None)


def cost_chart(found: Costs, chosen: int | None = None) -> Chart:
    """The loss for each k, as a Vega-Lite chart."""
    points = [
        CostPoint(each.k, each.lost, each.suppressed or 0, each.classes or 0, each.k == chosen)
        for each in found.points
        if each.lost is not None
    ]
    if found.optimal:
        own = [point._replace(algorithm=found.algorithm) for point in points]
        points = [*own, *_beside(found)]
    return cost_of_k(points, found.metric.replace("_", " "), are_shares=found.are_shares)


def _beside(found: Costs) -> Iterator[CostPoint]:
    for each in found.optimal:
        if each.lost is not None:
            yield CostPoint(
                each.k, each.lost, each.suppressed or 0, each.classes or 0, algorithm="optimal"
            )


def _lost(each: CostOfK, found: Costs) -> str:
    return percent(each.lost or 0.0) if found.are_shares else number(each.lost or 0.0)


def _mark_of(each: CostOfK, chosen: int | None, found: Costs, signed: Signed) -> str:
    """A note on the required k; the release may use other levels."""
    if each.k != chosen:
        return ""
    made = signed.made
    is_other = made is not None and not _is_made(each, found, made)
    return "this k was required" if is_other else "chosen"


def _is_made(each: CostOfK, found: Costs, made: Anonymization) -> bool:
    """Whether a point is the release; local recodings are told by their figures."""
    if each.levels is not None or made.levels is not None:
        return each.levels == made.levels
    figures = (found.algorithm, each.suppressed, each.classes)
    lost = _loss_of(made, found)
    is_alike = None not in (lost, each.lost) and math.isclose(lost or 0, each.lost or 0)
    return is_alike and figures == (made.algorithm, made.suppressed, made.classes)


def _loss_of(made: Anonymization, found: Costs) -> float | None:
    """The loss of the release by the metric of a trade-off."""
    lost = made.metrics.to_dict().get(found.metric)
    return 1 - lost if lost is not None and found.metric == "precision" else lost


def _made_otherwise(points: Sequence[CostOfK], found: Costs, signed: Signed) -> Iterator[Prose]:
    """The release's loss, if it is none of these points."""
    made = signed.made
    beside = found.optimal if made and made.algorithm != found.algorithm else ()
    if made is None or any(_is_made(each, found, made) for each in (*points, *beside)):
        return
    if signed.is_small(made.suppressed):
        return
    lost = _loss_of(made, found)
    if lost is not None:
        own = CostOfK(made.k or 0, lost, 0, 0, None)
        yield Prose(
            [
                f"The release is none of these: {made.algorithm} made it, and it lost "
                f"{_lost(own, found)}."
            ]
        )


def _cost(each: CostOfK, found: Costs, signed: Signed, mark: str = "") -> Bin:
    lost = each.lost or 0.0
    most = max(point.lost or 0.0 for point in found.points) or 1.0
    levels = ", ".join(f"{printable(name)} {level}" for name, level in (each.levels or {}).items())
    note = " · ".join(part for part in (mark, levels) if part)
    few, share = signed.cell(each.suppressed or 0), _lost(each, found)
    if signed.is_small(each.suppressed or 0):
        # What few suppressed records add to a loss would tell their number.
        lost, share = 0.0, NONE
    return Bin(number(each.k), each.suppressed or 0, share, lost / most, False, note, few)


def _cheapest(points: Sequence[CostOfK], found: Costs) -> str:
    first, last = points[0], points[-1]
    return (
        f"From {_lost(first, found)} at k = {number(first.k)} to {_lost(last, found)} at "
        f"k = {number(last.k)}."
    )
