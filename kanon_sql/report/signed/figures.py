"""The sections with figures: risk, class sizes, risk curve, columns, sensitive attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from kanon_sql.models.events import words as events
from kanon_sql.models.synthetic import words as synthetic
from kanon_sql.models.values.words import in_order, worst_class
from kanon_sql.report.audit import attackers, curve_grid
from kanon_sql.report.charts import Chart, RiskPoint, class_sizes, excesses, risk_curve
from kanon_sql.report.charts import known_events as known_events_chart
from kanon_sql.report.document import (
    Bars,
    Block,
    Drawing,
    Facts,
    Grid,
    GridRow,
    Points,
    Prose,
    named_row,
)
from kanon_sql.report.guides import in_words
from kanon_sql.report.profile import addition_order
from kanon_sql.report.signed.subject import Signed, bound_of, members_of
from kanon_sql.report.words.models import title
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    TO,
    listed,
    members,
    number,
    percent,
    printable,
    significant_percent,
    wording,
)
from kanon_sql.report.words.tables import Bin, histogram, histogram_title, required_k
from kanon_sql.results.check import CheckResult
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Before
from kanon_sql.results.table import ATTACKERS, TableResult, members_by_size

_LISTED_RISKS = (1, 1 / 2, 1 / 3, 0.2, 0.1, 0.05, 0.02, 0.01)
"""The risks listed in the curve's table."""
_MOST_POINTS = 200
_MOST_SETS = 10


def _with_figures(signed: Signed) -> list[TableResult]:
    """The tables whose class sizes this audience may see; the records of a synthetic one are
    nobody."""
    return [table for table in signed.answered if not (signed.hides_sizes(table) or table.original)]


def made_from(signed: Signed) -> Iterator[Block]:
    """What a synthetic table was made from, and what it tells; internal readers only, as each
    figure is another count of the same people."""
    for table in signed.answered if not signed.is_external else ():
        if table.original:
            yield from signed.under_its_name(table, _made_from(table))


def _made_from(table: TableResult) -> Iterator[Block]:
    yield Prose([" · ".join(synthetic.headline(table))])
    yield from attackers(table)
    compared = synthetic.comparisons(table)
    if compared:
        columns = ("original", "holdout", "points above it", "interval")
        rows = [GridRow((each.words,), each.figures) for each in compared]
        yield Grid(wording("synthetic")["compared"], GridRow(("check",), columns), rows)
        drawing = Drawing(excesses(compared), wording("synthetic")["drawn"])
        yield Grid("", named_row(""), (), drawing=drawing)
    yield Points(wording("synthetic")["limits"])


# --- 4 ----------------------------------------------------------------------------------------


def risk(signed: Signed) -> Iterator[Block]:
    """Each attacker's risk before and after, with its threshold."""
    for table in _with_figures(signed):
        yield from signed.under_its_name(table, _risk(table, signed))
    if signed.attempts and not signed.is_external:
        yield Prose(["Outcome of the manual test on the riskiest records:"])
        yield Points(in_words(signed.attempts).split("\n"))


def _risk(table: TableResult, signed: Signed) -> Iterator[Block]:
    rows = [
        GridRow((attacker, measure), figures)
        for attacker in (*ATTACKERS, *(() if signed.is_external else ("household",)))
        if table.risk.get(attacker)
        for measure, figures in _measures(attacker, table, signed)
    ]
    if rows:
        latest = "after" if signed.anonymization else "found"
        columns = ("before", "threshold", latest) if signed.anonymization else ("threshold", latest)
        from_one = " from one record" if table.classes_overlap else ""
        yield Grid(
            f"The chance that an attacker finds the right person{from_one}.",
            GridRow(("attacker", "chance"), columns),
            rows,
        )
        yield Prose([_meaning(table, signed)])


def _measures(
    attacker: str, table: TableResult, signed: Signed
) -> Iterator[tuple[str, tuple[str, ...]]]:
    risk_now = table.risk[attacker] or {}
    for key in ("highest", "average"):
        if key not in risk_now:
            continue
        bound = bound_of(attacker, key, table)
        before = (_before(attacker, key, signed),) if signed.anonymization else ()
        chance = _chance(risk_now, key, members_of(table), signed, bound)
        yield key, (*before, _threshold(attacker, key, bound, table), chance)
    for check in table.checks:
        bound = check.parameters.get("max_at_risk")
        if check.model == f"{attacker}_risk" and bound is not None:
            above = significant_percent(check.parameters["threshold"])
            yield f"{members(table)} above {above}", _at_risk(check, bound, table, signed)


def _at_risk(
    check: CheckResult, bound: float, table: TableResult, signed: Signed
) -> tuple[str, ...]:
    """The share at risk that a check bounds: before, threshold, found."""
    share = signed.share(check.details["at_risk"], members_of(table))
    if signed.anonymization is None:
        return significant_percent(bound), share
    then = next(
        (
            earlier.details["at_risk"]
            for earlier in signed.anonymization.before.checks
            if (earlier.model, earlier.parameters) == (check.model, check.parameters)
        ),
        None,
    )
    summary = signed.anonymization.before.summary
    is_shown = then is not None and not signed.is_coarse(summary)
    before = signed.share(then or 0, summary.people or summary.records or 0) if is_shown else NONE
    return before, significant_percent(bound), share


def _threshold(attacker: str, key: str, bound: float | None, table: TableResult) -> str:
    """The threshold of a chance, with where it comes from."""
    if bound is None:
        return NONE
    explicit = any(
        check.model == f"{attacker}_risk" and check.parameters.get(f"max_{key}") is not None
        for check in table.checks
    )
    return f"{significant_percent(bound)}{'' if explicit else f'{KEPT_TOGETHER}(1/k)'}"


def _chance(
    risk: Mapping[str, float], key: str, members: int, signed: Signed, bound: float | None = None
) -> str:
    """A chance; for external readers the highest is pooled without a bound, and the average is of
    rounded classes."""
    if key == "average":
        highest = signed.shown_highest(risk.get("highest", 1), is_required=False)
        return signed.average(risk[key], members, highest)
    return signed.highest(risk[key], is_required=bound is not None)


def _before(attacker: str, key: str, signed: Signed) -> str:
    """The risk in the original table."""
    release = signed.anonymization
    if release is None or signed.is_coarse(release.before.summary):
        return NONE
    then: Any = release.before.risk.get(attacker) or {}
    then_of_all = release.before.summary
    if key in then:
        members = then_of_all.people or then_of_all.records or 0
        return _chance(then, key, members, signed)
    if attacker != "prosecutor" or not then_of_all.k:
        return NONE
    by_sizes = {"highest": 1 / then_of_all.k}
    if key == "average" and _are_alike(signed) and then_of_all.records:
        by_sizes[key] = (then_of_all.classes or 0) / then_of_all.records
    return _chance(by_sizes, key, then_of_all.records or 0, signed) if key in by_sizes else NONE


def _are_alike(signed: Signed) -> bool:
    """Whether each record is in one class and counts once, so class counts give averages."""
    return all(not table.entity and table.nulls == "value" for table in signed.result.tables)


def _meaning(table: TableResult, signed: Signed) -> str:
    household = (
        " Household: the chance that the prosecutor finds at least one person of a household, each "
        "independently, 1 - Π (1 - 1/size)."
    )
    reference = " Journalist and marketer look for people in the reference."
    has_reference = bool(table.risk.get("journalist") or table.risk.get("marketer"))
    of_one = ", and knows one of their records" if table.classes_overlap else ""
    return (
        f"The prosecutor knows that the person is in the table{of_one}: the highest chance is that "
        "in the smallest class, the average is over all "
        f"{members(table)}.{reference if has_reference else ''}"
        f"{household if table.risk.get('household') and not signed.is_external else ''}"
    )


# --- 5 ----------------------------------------------------------------------------------------


def sizes(signed: Signed) -> Iterator[Block]:
    """Histogram of class sizes, with the required k marked."""
    for table in _with_figures(signed):
        yield from signed.under_its_name(table, sizes_of(table, signed.fewest_classes))


def sizes_of(table: TableResult, fewest: int = 0) -> Iterator[Block]:
    """The class sizes of one table, in bins of at least `fewest` classes."""
    bins = histogram(table, fewest)
    if not bins:
        return
    yield Bars(
        f"{histogram_title(table)}. Whoever is alone in a class is found with certainty.",
        ("class size", members(table), "share"),
        bins,
        mark=_mark(required_k(table), bins),
    )


def _mark(k: int | None, bins: Sequence[Bin]) -> str:
    """A note where sufficiently large classes begin: at a bin, or within a merged one."""
    if not k:
        return ""
    first = next((bin.label for bin in bins if not bin.small), "")
    begins = int(first.split(TO)[0].rstrip("+").replace(",", "")) if first else k
    if begins < k:
        return f"k = {number(k)} was required: it lies within {first}"
    return f"k = {number(k)} was required: from here on"


# --- 6 ----------------------------------------------------------------------------------------


def curve(signed: Signed) -> Iterator[Block]:
    """Share of the records that can be found with each chance or a greater one; internal readers
    only, as each step of the curve would be another cut of the same records."""
    for table in [] if signed.is_external else _with_figures(signed):
        before = (
            _steps(signed.anonymization.before) if signed.anonymization and not table.entity else []
        )
        yield from signed.under_its_name(table, curve_of(table, _thinned(before)))


def curve_of(table: TableResult, before: Sequence[RiskPoint] = ()) -> Iterator[Block]:
    """The share of one table's records by the chance of finding them, drawn."""
    steps = _steps(table)
    if not steps:
        return
    bounds = [bound for bound in (bound_of("prosecutor", "highest", table),) if bound]
    of_all = members(table)
    from_one = " from one record" if table.classes_overlap else ""
    caption = (
        f"Share of the {of_all} that can be found{from_one} with at least this chance (prosecutor)."
    )
    at = {chance: _share_at(steps, chance) for chance in _LISTED_RISKS}
    yield Grid(
        caption,
        named_row("chance", f"{of_all} at or above it"),
        [named_row(significant_percent(round(chance, 3)), share) for chance, share in at.items()],
        drawing=Drawing(
            risk_curve(_thinned(steps), of_all, bounds, before),
            f"{caption} {_in_words(at, of_all)}"
            + (" The dashed line is what was allowed." if bounds else ""),
        ),
    )


def known_events(signed: Signed) -> Iterator[Block]:
    """The share of people found by known events; internal readers only, as each number of known
    events would be another cut of the same people."""
    for table in [] if signed.is_external else signed.answered:
        yield from signed.under_its_name(table, _known_events(table))


def _known_events(table: TableResult) -> Iterator[Block]:
    curve_points = events.points(table)
    people = table.summary.people or 0
    for curve in events.curves(table, least=1):
        grid = curve_grid(curve, people)
        described = f"{grid.title}: the share of the {number(people)} people."
        yield grid
        drawing = Drawing(known_events_chart(curve), described)
        yield Grid("", named_row(""), (), drawing=drawing)
    if curve_points:
        yield Prose(events.worst_case(curve_points, people))
        yield Points([*events.draw_notes(table), *wording("limits_of_known_events")])


def sizes_chart(table: TableResult) -> Chart:
    """Class sizes of a table, as a Vega-Lite chart."""
    return class_sizes(histogram(table), members(table), required_k(table))


def risk_chart(table: TableResult) -> Chart:
    """Risk curve of a table, as a Vega-Lite chart."""
    bound = bound_of("prosecutor", "highest", table)
    return risk_curve(risk_points(table), members(table), [bound] if bound else [])


def risk_points(table: TableResult) -> list[RiskPoint]:
    """The share at or above the risk of each class size, the greatest risk first."""
    return _thinned(_steps(table))


def _steps(table: TableResult | Before) -> list[RiskPoint]:
    """A point for each class size."""
    sizes_of_all = sorted(members_by_size(table.histogram, getattr(table, "entity", None)))
    total = sum(count for _, count in sizes_of_all)
    so_far = accumulate(count for _, count in sizes_of_all)
    return [
        RiskPoint(1 / size, count / total)
        for (size, _), count in zip(sizes_of_all, so_far, strict=True)
    ]


def _thinned(points: Sequence[RiskPoint]) -> list[RiskPoint]:
    """Reduce the points to what a chart can resolve."""
    if len(points) <= _MOST_POINTS:
        return list(points)
    first_half = points[: _MOST_POINTS // 2]
    remaining = points[len(first_half) :]
    step = len(remaining) // (_MOST_POINTS // 2) + 1
    return [*first_half, *remaining[::step][:-1], points[-1]]


def _share_at(points: Sequence[RiskPoint], chance: float) -> str:
    """The share at or above a chance."""
    return percent(
        max((point.share for point in points if point.risk >= chance - 1e-12), default=0.0)
    )


def _in_words(at: Mapping[float, str], of_all: str) -> str:
    parts = [
        f"{at[chance]} with {significant_percent(chance)}{' or more' if chance < 1 else ''}"
        for chance in (1, 0.2, 0.05)
    ]
    return f"Of the {of_all}: {', '.join(parts)}."


# --- 7 ----------------------------------------------------------------------------------------


def columns(signed: Signed) -> Iterator[Block]:
    """The uniques that each column adds according to a profile; internal readers only."""
    if signed.is_external:
        return
    for profile in signed.profiles:
        yield from _added(profile)


def _added(profile: TableProfile) -> Iterator[Block]:
    """The uniques added by each candidate, set of columns and further column, and the cost of each
    quasi-identifier, each as far as it was measured."""
    name, of_all, total = printable(profile.name), members(profile), profile.summary.members or 0
    ranked, below = profile.ranked, profile.summary.records_below_k or 0
    worst = sorted(profile.subsets or (), key=lambda subset: -subset.uniques)[:_MOST_SETS]
    measured = [column for column in profile.attacker_knows if not column.identifier_like]
    alike = [known.column for known in profile.attacker_knows if known.identifier_like]
    costs = sorted(profile.without if below else (), key=lambda column: -column.records_leaving)

    def bars(title: str, head: str, bins: Sequence[Bin]) -> Iterator[Bars]:
        if bins:
            yield Bars(title, (head, of_all, "share"), bins)

    yield from bars(
        f"{of_all.capitalize()} newly alone by each candidate of {name}, "
        f"{addition_order(len(ranked))}.",
        "column",
        [_bin([candidate.column], candidate.adds or 0, total) for candidate in ranked],
    )
    yield from bars(
        f"The sets of columns of {name} that leave most {of_all} alone, {number(len(worst))} of "
        f"{number(len(profile.subsets or ()))}.",
        "known together",
        [_bin(subset.columns, subset.uniques, total, "a key" * subset.key) for subset in worst],
    )
    yield from bars(
        f"What each further column of {name} adds: {of_all} that are alone once it is known too.",
        "also known",
        [
            _bin([known.column], known.newly_unique_records or 0, known.members or 0)
            for known in measured
        ],
    )
    if alike:
        yield Facts([("Identifier-like", listed(alike))])
    yield from bars(
        f"What each quasi-identifier of {name} costs: {of_all} that would leave the classes below "
        f"{number(profile.k_threshold)} without it.",
        "quasi-identifier",
        [_bin([cost.column], cost.records_leaving, below) for cost in costs],
    )


def _bin(columns: Sequence[str], count: int, total: int, note: str = "") -> Bin:
    fraction = count / total if total else 0.0
    return Bin(listed(columns), count, percent(fraction), fraction, small=False, note=note)


# --- 8 ----------------------------------------------------------------------------------------


def sensitive(signed: Signed) -> Iterator[Block]:
    """The worst class of each sensitive model, in words; internal readers only, as its quotients
    reveal the counts of a class."""
    for table in [] if signed.is_rounded else signed.answered:
        if signed.withholds(table):
            continue
        sentences = []
        for check in in_order(table.checks):
            if sentence := worst_class(check, table, signed.cell):
                sentences.append(f"{title(check)}: {sentence}")
        if sentences:
            yield from signed.under_its_name(table, iter([Points(sentences)]))
