"""The page of an audit: verdicts, class sizes, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator

from kanon_sql.report.document import (
    Bars,
    Block,
    Footer,
    Heading,
    Limits,
    Prose,
    Strong,
    Values,
    Verdicts,
    Warnings,
)
from kanon_sql.report.words import numbers, phrases, tables
from kanon_sql.results.table import AuditFindings, TableResult


def page(result: AuditFindings) -> Iterator[Block]:
    """The blocks of every table, with a closing line for several."""
    for table in result.tables:
        yield from _section(table)
    closing = tables.closing(result)
    if closing:
        yield Strong(closing)


def _section(table: TableResult) -> Iterator[Block]:
    unanswered = tables.unanswered(table)
    if unanswered:
        yield Strong(unanswered)
        return
    yield Heading(tables.headline(table))
    yield Verdicts(tables.verdicts(table))
    yield from warnings(table)
    yield from _histogram(table)
    for finding in tables.findings(table):
        yield Prose([finding])
    yield from limits(table)
    yield Prose([tables.outcome(table), *tables.advice(table)])
    yield from _shown(table)
    yield Footer(tables.footer(table))


def warnings(table: TableResult) -> Iterator[Warnings]:
    """The table's warnings, if any."""
    if table.warnings:
        yield Warnings(tables.warnings(table))


def limits(table: TableResult) -> Iterator[Limits]:
    """The limitations of each model that holds."""
    silences = tables.silences(table)
    if silences:
        yield Limits(silences)


def _histogram(table: TableResult) -> Iterator[Bars]:
    bins = tables.histogram(table)
    if bins:
        header = ("class size", phrases.members(table), "share")
        yield Bars(tables.histogram_title(table), header, bins)


def _shown(table: TableResult) -> Iterator[Values]:
    """Values of the data, if requested."""
    if table.shown:
        lists = [
            (tables.shown_heading(name, rows), numbers.cells(rows))
            for name, rows in table.shown.items()
        ]
        yield Values(tables.PERSONAL_DATA, lists)
