"""The sections on what a release lost, and on the cost of each k."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kanon_sql.report.charts import cost_of_k
from kanon_sql.report.document import Bars, Block, Drawing, Facts, Grid, GridRow, Prose, named_row
from kanon_sql.report.release import associations
from kanon_sql.report.signed.subject import Signed
from kanon_sql.report.words.numbers import (
    NONE,
    TO,
    number,
    percent,
    printable,
    sentence,
    short_percent,
)
from kanon_sql.report.words.tables import Bin, required_k
from kanon_sql.results.release import METRICS, Anonymization, Distribution, Point, Tradeoff

_METRICS = ("loss", "precision", "non_uniform_entropy", "average_class_size")


def losses(signed: Signed) -> Iterator[Block]:
    """The metrics of a release, the loss and levels of each column, and distributions.

    External readers get no figure that tells the number of few suppressed records, no distribution,
    and nothing at all where a threshold is confidential.
    """
    made = signed.made
    if made is None or made.reached_top or not signed.answered:
        return
    if any(map(signed.withholds, signed.answered)):
        return
    is_hidden = signed.is_small(made.suppressed)
    if not is_hidden:
        yield Facts([*_in_all(made)])
        yield Prose(
            [sentence("meaning_of_losses"), *([sentence("other_k")] if signed.costs else [])]
        )
    yield _by_column(made, signed, is_hidden=is_hidden)
    if signed.is_external:
        return
    if made.associations:
        yield associations(made)
    if made.distributions:
        yield _distributions(made.distributions, made, signed)


def _in_all(made: Anonymization) -> Iterator[tuple[str, str]]:
    found = made.metrics.to_dict()
    for name in _METRICS:
        value = found[name]
        if value is not None:
            words = f"{value:,.1f}" if name == "average_class_size" else percent(value)
            yield "Information lost" if name == "loss" else METRICS[name].title, words


def _by_column(made: Anonymization, signed: Signed, *, is_hidden: bool) -> Grid:
    """The loss of each quasi-identifier, and its level or the records at each of its levels."""
    rows = []
    for name, levels in _reached(made).items():
        lost = None if is_hidden else made.metrics.loss_by_quasi_identifier.get(name)
        for place, (level, label, records) in enumerate(levels):
            many = NONE if records is None else signed.cell(records)
            words = ("" if place else printable(name), f"{level} · {printable(label)}")
            rows.append(GridRow(words, (many, "" if place else short_percent(lost))))
    return Grid(
        "What each quasi-identifier lost, and the records at each of its levels.",
        GridRow(("quasi-identifier", "level"), ("records", "lost")),
        rows,
    )


def _reached(made: Anonymization) -> dict[str, list[tuple[int, str, int | None]]]:
    """The levels of each quasi-identifier with labels and records."""
    if made.recoded is None:
        kept = (made.before.summary.records or 0) - made.suppressed
        return {
            name: [(level, made.labels.get(name, ""), kept)]
            for name, level in (made.levels or {}).items()
        }
    return {
        name: [
            (level, made.recoded.labels_of_levels.get(name, {}).get(level, ""), records)
            for level, records in sorted(reached.items())
        ]
        for name, reached in made.recoded.levels_by_records.items()
    }


def _distributions(found: Sequence[Distribution], made: Anonymization, signed: Signed) -> Grid:
    """The share of the records by the rank of their value, before and after."""
    whole = made.before.summary.records or 0
    ranks = found[0].ranks
    heads = [*map(_ranks, ranks, ranks[1:]), f"{ranks[-1]}+"]
    rows = [
        GridRow(
            ("" if place else printable(each.column), when),
            (number(values), *(_share(count, of, signed) for count in counts)),
        )
        for each in found
        for place, (when, values, counts, of) in enumerate(
            (
                ("before", each.values_before, each.before, whole),
                ("after", each.values_after, each.after, whole - made.suppressed),
            )
        )
    ]
    return Grid(
        "Distributions before and after: the share of the records with the most frequent value of "
        "a column (1), the second (2) and so on. Values are not named, and fewer than "
        f"{number(signed.min_cell)} records are left out.",
        GridRow(("column", ""), ("values", *heads)),
        rows,
    )


def _ranks(first: int, after: int) -> str:
    return str(first) if after == first + 1 else f"{first}{TO}{after - 1}"


def _share(count: int, whole: int, signed: Signed) -> str:
    """A share of the records; neither few of them nor none."""
    return short_percent(count / whole) if whole and count >= signed.min_cell else NONE


# --- the cost of each k ---------------------------------------------------------------------


def costs(signed: Signed) -> Iterator[Block]:
    """The loss for each k, the chosen one marked."""
    for found in signed.costs:
        points = found.satisfied(found.points)
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
            drawing = Drawing(cost_of_k(found, chosen), f"{caption} From {from_to}.{marked}")
            yield Grid("", named_row(""), (), drawing=drawing)
        yield Bars(
            caption,
            ("k", "suppressed", "lost"),
            [_cost(each, found, signed, _mark_of(each, chosen, found, signed)) for each in points],
        )
        yield from _made_otherwise(points, found, signed)
        if beside := found.satisfied(found.optimal.points if found.optimal else ()):
            yield Bars(
                f"What one level per column{of_table} would lose (optimal).",
                ("k", "suppressed", "lost"),
                [_cost(each, found, signed) for each in beside],
            )


def chosen_k(signed: Signed) -> int | None:
    """The k required of the release."""
    return next((k for k in map(required_k, signed.result.tables) if k), None)


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
