"""An audit in a notebook: a fragment of HTML that needs nothing beside itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from kanon_sql.report import wording
from kanon_sql.report.wording import Verdict
from kanon_sql.result import AuditResult, TableResult

_COLOURS = {
    "violated": "#b3261e", "accepted": "#8a5a00", "holds": "#1b6e3c", "measured": "inherit",
}  # fmt: skip
CELL = "text-align:left;padding:.1em 1em .1em 0;white-space:nowrap"
FIGURE = "text-align:right;padding:.1em 1em .1em 0;white-space:nowrap"
_LONGEST_BAR = 16.0
"""In em, so that it grows with the letters."""


def render(result: AuditResult) -> str:
    """The result as HTML."""
    blocks = [block for table in result.tables for block in _section(table)]
    closing = wording.closing(result)
    if closing:
        blocks.append(paragraph(f"<b>{escape(closing)}</b>"))
    return whole(blocks)


def _section(table: TableResult) -> Iterator[str]:
    unanswered = wording.unanswered(table)
    if unanswered:
        yield paragraph(f"<b>{escape(unanswered)}</b>")
        return
    name, *rest = wording.headline(table)
    yield paragraph(f"<b>{escape(name)}</b> · {escape(' · '.join(rest))}")
    yield verdicts(wording.verdicts(table))
    yield from warnings(table)
    if table.histogram:
        yield _histogram(table)
    yield from (paragraph(escape(text)) for text in wording.findings(table))
    yield from silences(table)
    yield paragraph(escape(" ".join([wording.outcome(table), *wording.advice(table)])))
    yield from _shown(table)
    yield paragraph(f"<small>{escape(wording.footer(table))}</small>")


def verdicts(found: Iterable[Verdict]) -> str:
    """A row a check."""
    return rows(
        [
            f'<b style="color:{_COLOURS[verdict.status]}">{verdict.word}</b>',
            *map(escape, (verdict.title, verdict.achieved, verdict.extent)),
        ]
        for verdict in found
    )


def warnings(table: TableResult) -> Iterator[str]:
    for warning in wording.warnings(table):
        yield paragraph(f"<b>Warning:</b> {escape(warning)}")


def silences(table: TableResult) -> Iterator[str]:
    """What each model that holds does not protect against."""
    for title, sentence in wording.silences(table):
        yield paragraph(f"What {escape(title)} does not promise: {escape(sentence)}")


def _histogram(table: TableResult) -> str:
    bins = wording.histogram(table)
    most = max(size.fraction for size in bins)
    return paragraph(escape(wording.histogram_title(table))) + rows(
        (
            [size.label, _bar(size, most), wording.number(size.count), size.share, size.note]
            for size in bins
        ),
        styles=(FIGURE, CELL, FIGURE, FIGURE, CELL),
    )


def _bar(size: wording.Bin, most: float) -> str:
    colour = _COLOURS["violated"] if size.small else "#5b7fa6"
    width = _LONGEST_BAR * size.fraction / most
    return f'<div style="background:{colour};height:.8em;width:{width:.2f}em"></div>'


def _shown(table: TableResult) -> Iterator[str]:
    if not table.shown:
        return
    yield paragraph(f"<b>{escape(wording.PERSONAL_DATA)}</b>")
    for name, values in table.shown.items():
        cells = wording.cells(values) or [["none"]]
        yield paragraph(escape(wording.shown_heading(name, values))) + rows(
            [*map(escape, row)] for row in cells
        )


def rows(cells: Iterable[Sequence[str]], styles: Sequence[str] | None = None) -> str:
    """A table without a header row, since each row begins with what it is about."""
    lines = (
        "".join(
            f'<td style="{style}">{cell}</td>'
            for cell, style in zip(row, styles or [CELL] * len(row), strict=True)
        )
        for row in cells
    )
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def whole(blocks: Sequence[str]) -> str:
    """The blocks as one fragment."""
    return "\n".join([f'<div style="max-width:60em">{blocks[0]}', *blocks[1:], "</div>"])


def paragraph(markup: str) -> str:
    return f'<p style="margin:.5em 0">{markup}</p>'
