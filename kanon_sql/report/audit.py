"""The page of an audit: verdicts, class sizes, what follows from them."""

from __future__ import annotations

from collections.abc import Iterator

from kanon_sql.models.events import words as events
from kanon_sql.models.synthetic import words as synthetic
from kanon_sql.report import policies
from kanon_sql.report.document import (
    Bars,
    Block,
    Facts,
    Grid,
    GridRow,
    Heading,
    Points,
    Prose,
    Values,
    Verdicts,
)
from kanon_sql.report.words import numbers, tables
from kanon_sql.report.words.check_phrases import words_on_cells
from kanon_sql.report.words.numbers import wording
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import AuditFindings, TableResult


def page(result: AuditFindings) -> Iterator[Block]:
    """The blocks of every table, with a closing line for several."""
    for table in result.tables:
        yield from _section(table)
    closing = tables.closing(result)
    if closing:
        yield Prose([closing], "strong")


def _section(table: TableResult) -> Iterator[Block]:
    if why := tables.unanswered(table):
        yield Prose([why], "strong")
        return
    yield from _findings_on_cells(table) if isinstance(table, CellsResult) else _findings(table)
    yield from _shown(table)
    yield Prose([tables.footer(table)], "footer")


def _findings(table: TableResult) -> Iterator[Block]:
    outcome, is_disclosing = tables.outcome(table), tables.holds_and_discloses(table)
    yield Heading(tables.headline(table))
    if is_disclosing:
        yield Prose([outcome], "strong")
    yield Verdicts(tables.verdicts(table))
    yield from warnings(table)
    if table.original:
        yield from attackers(table)
    else:
        yield from _histogram(table)
    yield from curves(table)
    for finding in tables.findings(table):
        yield Prose([finding])
    yield from limits(table)
    yield from policies.outcomes(table)
    if closing := [*([] if is_disclosing else [outcome]), *tables.advice(table)]:
        yield Prose(closing)


def _findings_on_cells(table: CellsResult) -> Iterator[Block]:
    """The findings on a published table."""
    cells = words_on_cells()
    yield Heading(cells.headline_of_cells(table))
    yield Prose([cells.cells_sentence(table)])
    if table.checks:
        yield Verdicts(tables.verdicts(table))
    yield from warnings(table)
    if named := cells.findings_on_cells(table):
        title, points, below = named
        yield Prose([title])
        yield Points(points)
        yield Prose([below])
    if cost := cells.cost_sentence(table):
        yield Prose([cost])
    yield from limits(table)
    yield from policies.outcomes(table)
    yield Prose([tables.outcome(table), *cells.advice_on_cells(table)])
    if (least := table.pooled_below) is not None:
        yield Prose([wording("left_out")["of_cells"].format(numbers.number(least))])


def warnings(table: TableResult) -> Iterator[Points]:
    """The table's warnings, if any."""
    if table.warnings:
        yield Points(tables.warnings(table), "warning")


def limits(table: TableResult) -> Iterator[Facts]:
    """The limitations of each model that holds."""
    limits = tables.limitations(table)
    if limits:
        yield Facts(limits, "limit")


def _histogram(table: TableResult) -> Iterator[Bars]:
    bins = tables.histogram(table)
    if bins:
        header = ("class size", numbers.members(table), "share")
        yield Bars(tables.histogram_title(table), header, bins)


def curves(table: TableResult) -> Iterator[Grid]:
    """The share of people found, by the number of known events."""
    for curve in events.curves(table):
        yield curve_grid(curve, table.summary.people or 0)


def curve_grid(curve: list[events.CurvePoint], people: int) -> Grid:
    """A curve as a table."""
    rows = [GridRow(*row) for row in events.curve_rows(curve, people)]
    return Grid(events.curve_title(curve), GridRow(*events.CURVE), rows)


def attackers(table: TableResult) -> Iterator[Grid]:
    """The shares of people for whom each attack on a synthetic table succeeds."""
    attacks = synthetic.attacks(table)
    if attacks:
        shown = ("original", "holdout") if table.holdout else ("original",)
        header = GridRow((numbers.wording("synthetic")["title"],), shown)
        rows = [
            GridRow((each.words,), (each.original, each.holdout)[: len(shown)]) for each in attacks
        ]
        yield Grid("", header, rows)


def _shown(table: TableResult) -> Iterator[Values]:
    """Values of the data, if requested."""
    if table.shown:
        lists = [
            (tables.shown_heading(name, rows), numbers.cells(rows))
            for name, rows in table.shown.items()
        ]
        yield Values(tables.PERSONAL_DATA, lists)
