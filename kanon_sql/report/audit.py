"""An audit as a page: what holds, how large the classes are, what follows from it."""

from __future__ import annotations

from collections.abc import Iterator

from kanon_sql.report import wording
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
from kanon_sql.result import AuditFindings, TableResult


def page(result: AuditFindings) -> Iterator[Block]:
    """The blocks of every table, and a line over several."""
    for table in result.tables:
        yield from _section(table)
    closing = wording.closing(result)
    if closing:
        yield Strong(closing)


def _section(table: TableResult) -> Iterator[Block]:
    unanswered = wording.unanswered(table)
    if unanswered:
        yield Strong(unanswered)
        return
    yield Heading(wording.headline(table))
    yield Verdicts(wording.verdicts(table))
    yield from warnings(table)
    yield from _histogram(table)
    for finding in wording.findings(table):
        yield Prose([finding])
    yield from limits(table)
    yield Prose([wording.outcome(table), *wording.advice(table)])
    yield from _shown(table)
    yield Footer(wording.footer(table))


def warnings(table: TableResult) -> Iterator[Warnings]:
    """What to be careful about, if there is anything."""
    if table.warnings:
        yield Warnings(wording.warnings(table))


def limits(table: TableResult) -> Iterator[Limits]:
    """What each model that holds does not protect against."""
    silences = wording.silences(table)
    if silences:
        yield Limits(silences)


def _histogram(table: TableResult) -> Iterator[Bars]:
    bins = wording.histogram(table)
    if bins:
        header = ("class size", wording.members(table), "share")
        yield Bars(wording.histogram_title(table), header, bins)


def _shown(table: TableResult) -> Iterator[Values]:
    """The values that were asked for."""
    if table.shown:
        lists = [
            (wording.shown_heading(name, rows), wording.cells(rows))
            for name, rows in table.shown.items()
        ]
        yield Values(wording.PERSONAL_DATA, lists)
