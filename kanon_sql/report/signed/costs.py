"""The sections on what a release lost, on what each k costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kanon_sql.report.charts import cost_of_k
from kanon_sql.report.document import Bars, Block, Drawing, Facts, Grid, GridRow, Prose, named_row
from kanon_sql.report.release_tables import associations
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

    External readers get no figure that reveals the number of few suppressed records, no
    distribution, and nothing at all where a threshold is confidential.
    """
    release = signed.anonymization
    if release is None or release.reached_top or not signed.answered:
        return
    if any(map(signed.withholds, signed.answered)):
        return
    is_hidden = signed.is_small(release.suppressed)
    if not is_hidden:
        yield Facts([*_metric_facts(release, signed)])
        yield Prose(
            [sentence("meaning_of_losses"), *([sentence("other_k")] if signed.costs else [])]
        )
    yield _by_column(release, signed, is_hidden=is_hidden)
    if signed.is_external:
        return
    if (grid := associations(release)).rows:
        yield grid
    if release.distributions:
        yield _distributions(release.distributions, release, signed)


def _metric_facts(release: Anonymization, signed: Signed) -> Iterator[tuple[str, str]]:
    metrics = release.metrics.to_dict()
    # The records divided by the average size are the number of classes.
    hidden = {"average_class_size"} if any(map(signed.hides_sizes, signed.answered)) else set()
    for name in _METRICS:
        value = metrics[name]
        if value is not None and name not in hidden:
            words = f"{value:,.1f}" if name == "average_class_size" else percent(value)
            yield "Information lost" if name == "loss" else METRICS[name].title, words


def _by_column(release: Anonymization, signed: Signed, *, is_hidden: bool) -> Grid:
    """The loss of each quasi-identifier, and its level or the records at each of its levels."""
    rows = []
    for name, levels in _levels_reached(release).items():
        lost = None if is_hidden else release.metrics.loss_by_quasi_identifier.get(name)
        for index, (level, label, records) in enumerate(levels):
            many = NONE if records is None else _many(records, signed)
            words = ("" if index else printable(name), f"{level} · {printable(label)}")
            rows.append(GridRow(words, (many, "" if index else short_percent(lost))))
    return Grid(
        "What each quasi-identifier lost, and the records at each of its levels.",
        GridRow(("quasi-identifier", "level"), ("records", "lost")),
        rows,
    )


def _many(records: int, signed: Signed) -> str:
    """The records at a level: as the page counts all of them, or a part."""
    [table] = signed.result.tables
    of = table.summary.records
    return signed.records(table) if records == of else signed.cell(records, of=of)


def _levels_reached(release: Anonymization) -> dict[str, list[tuple[int, str, int | None]]]:
    """The levels of each quasi-identifier with labels and records."""
    if release.recoded is None:
        released = (release.before.summary.records or 0) - release.suppressed
        return {
            name: [(level, release.labels.get(name, ""), released)]
            for name, level in (release.levels or {}).items()
        }
    return {
        name: [
            (level, release.recoded.labels_of_levels.get(name, {}).get(level, ""), records)
            for level, records in sorted(reached.items())
        ]
        for name, reached in release.recoded.levels_by_records.items()
    }


def _distributions(
    distributions: Sequence[Distribution], release: Anonymization, signed: Signed
) -> Grid:
    """The share of the records by the rank of their value, before and after."""
    records_before = release.before.summary.records or 0
    ranks = distributions[0].ranks
    heads = [*map(_ranks, ranks, ranks[1:]), f"{ranks[-1]}+"]
    rows = [
        GridRow(
            ("" if index else printable(distribution.column), when),
            (number(values), *(_share(count, of, signed) for count in counts)),
        )
        for distribution in distributions
        for index, (when, values, counts, of) in enumerate(
            (
                ("before", distribution.values_before, distribution.before, records_before),
                (
                    "after",
                    distribution.values_after,
                    distribution.after,
                    records_before - release.suppressed,
                ),
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


def _share(count: int, total: int, signed: Signed) -> str:
    """A share of the records, left out below the minimum cell."""
    return short_percent(count / total) if total and count >= signed.min_cell else NONE


# --- the cost of each k ---------------------------------------------------------------------


def costs(signed: Signed) -> Iterator[Block]:
    """The loss for each k, the chosen one marked."""
    for tradeoff in signed.costs:
        points = tradeoff.satisfied(tradeoff.points)
        if not points:
            continue
        chosen = chosen_k(signed)
        of_table = f" of {printable(tradeoff.name)}" if tradeoff.name else ""
        metric = tradeoff.metric.replace("_", " ")
        caption = f"What each k{of_table} loses, by {metric} ({tradeoff.algorithm})."
        from_to = " to ".join(
            f"{_lost(tradeoff, point.lost(tradeoff.metric))} at k = {number(point.k)}"
            for point in (points[0], points[-1])
        )
        marked = f" The diamond is the required k, {number(chosen)}." if chosen else ""
        if not signed.is_external:  # its labels hold exact figures
            drawing = Drawing(cost_of_k(tradeoff, chosen), f"{caption} From {from_to}.{marked}")
            yield Grid("", named_row(""), (), drawing=drawing)
        yield Bars(
            caption,
            ("k", "suppressed", "lost"),
            [
                _cost(point, tradeoff, signed, _mark_of(point, chosen, tradeoff, signed))
                for point in points
            ],
        )
        yield from _release_off_the_curve(points, tradeoff, signed)
        if optimal_points := tradeoff.satisfied(
            tradeoff.optimal.points if tradeoff.optimal else ()
        ):
            yield Bars(
                f"What one level per column{of_table} would lose (optimal).",
                ("k", "suppressed", "lost"),
                [_cost(point, tradeoff, signed) for point in optimal_points],
            )


def chosen_k(signed: Signed) -> int | None:
    """The k required of the release."""
    return next((k for k in map(required_k, signed.result.tables) if k), None)


def _lost(tradeoff: Tradeoff, lost: float | None) -> str:
    return percent(lost or 0.0) if tradeoff.are_shares else number(lost or 0.0)


def _mark_of(point: Point, chosen: int | None, tradeoff: Tradeoff, signed: Signed) -> str:
    """A note on the required k; the release may use other levels."""
    if point.k != chosen:
        return ""
    release = signed.anonymization
    is_other = release is not None and not _is_release(point, tradeoff, release)
    return "this k was required" if is_other else "chosen"


def _is_release(point: Point, tradeoff: Tradeoff, release: Anonymization) -> bool:
    """Whether a point is the release; local recodings are compared by their figures."""
    if point.levels is not None or release.levels is not None:
        return point.levels == release.levels
    figures = (tradeoff.algorithm, point.suppressed, point.classes)
    lost, there = _loss_of(release, tradeoff), point.lost(tradeoff.metric)
    is_alike = None not in (lost, there) and math.isclose(lost or 0, there or 0)
    return is_alike and figures == (release.algorithm, release.suppressed, release.classes)


def _loss_of(release: Anonymization, tradeoff: Tradeoff) -> float | None:
    """The loss of the release by the metric of a trade-off."""
    return Point(0, None, None, None, None, release.metrics, None).lost(tradeoff.metric)


def _release_off_the_curve(
    points: Sequence[Point], tradeoff: Tradeoff, signed: Signed
) -> Iterator[Prose]:
    """The release's loss, if it is none of these points."""
    release = signed.anonymization
    if release is None or signed.is_small(release.suppressed):
        return
    optimal_points = (
        tradeoff.optimal.points
        if tradeoff.optimal and release.algorithm != tradeoff.algorithm
        else ()
    )
    lost = _loss_of(release, tradeoff)
    if lost is not None and not any(
        _is_release(point, tradeoff, release) for point in (*points, *optimal_points)
    ):
        yield Prose(
            [
                f"The release is none of these: {release.algorithm} made it, and it lost "
                f"{_lost(tradeoff, lost)}."
            ]
        )


def _cost(point: Point, tradeoff: Tradeoff, signed: Signed, mark: str = "") -> Bin:
    lost = point.lost(tradeoff.metric) or 0.0
    most = max(other.lost(tradeoff.metric) or 0.0 for other in tradeoff.points) or 1.0
    levels = ", ".join(f"{printable(name)} {level}" for name, level in (point.levels or {}).items())
    note = " · ".join(text for text in (mark, levels) if text)
    few, share = signed.cell(point.suppressed or 0), _lost(tradeoff, lost)
    if signed.is_small(point.suppressed or 0):
        # The loss added by few suppressed records would reveal their number.
        lost, share = 0.0, NONE
    return Bin(number(point.k), point.suppressed or 0, share, lost / most, False, note, few)
