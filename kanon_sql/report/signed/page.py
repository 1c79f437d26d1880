"""Assembles the sign-off report from its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kanon_sql.report import html
from kanon_sql.report.document import Block, Section, Status
from kanon_sql.report.signed import costs, figures
from kanon_sql.report.signed import evidence
from kanon_sql.report.signed import scope
from kanon_sql.report.signed.subject import Signed
from kanon_sql.report.words.models import STATUS_WORDS
from kanon_sql.report.words.numbers import listed

PARTS: tuple[tuple[str, Callable[[Signed], Iterator[Block]]], ...] = (
    ("What was audited", scope.subject),
    ("The finding", scope.finding),
    ("What was looked at", scope.looked_at),
    ("Risk", figures.risk),
    ("Class sizes", figures.sizes),
    ("Risk curve", figures.curve),
    ("What each column adds", figures.columns),
    ("Sensitive attributes", figures.sensitive),
    ("What k costs", costs.costs),
    ("Since the last release", evidence.changes),
    ("What this page does not show", evidence.limits),
    ("Evidence", evidence.evidence),
    ("Decision", evidence.decision),
)
"""The sections in order; empty ones are omitted."""


def write(signed: Signed) -> str:
    """The report as HTML, deterministic for a given result."""
    return html.document(_title(signed), _head(signed), _page(signed))


def _title(signed: Signed) -> str:
    names = listed([table.name for table in signed.result.tables])
    if not names:
        return "What each k costs"
    return f"{'Privacy audit of the release' if signed.made else 'Privacy audit of'} {names}"


def _head(signed: Signed) -> Iterator[Block]:
    status = signed.status
    yield Status(status, STATUS_WORDS[status])


def _page(signed: Signed) -> Iterator[Block]:
    for title, part in PARTS:
        blocks = list(part(signed))
        if blocks:
            yield Section(title)
            yield from blocks
