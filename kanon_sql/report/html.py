"""Writes a page as a fragment of HTML that needs nothing beside itself, for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from kanon_sql.report.document import (
    Bars,
    Block,
    ChangedChecks,
    Changes,
    Footer,
    Grid,
    Heading,
    Item,
    Limits,
    Prose,
    Strong,
    Values,
    Verdicts,
    Warnings,
    cells_of,
)
from kanon_sql.report.words import numbers
from kanon_sql.report.words.tables import Bin

_COLOURS = {
    "violated": "#b3261e", "accepted": "#8a5a00", "holds": "#1b6e3c", "measured": "inherit",
    "worse": "#b3261e", "better": "#1b6e3c",
}  # fmt: skip
_CELL = "text-align:left;padding:.1em 1em .1em 0;white-space:nowrap"
_FIGURE = "text-align:right;padding:.1em 1em .1em 0;white-space:nowrap"
_LONGEST_BAR = 16.0
"""In em, so that it grows with the letters."""


def write(page: Iterable[Block]) -> str:
    """The page as one fragment."""
    first, *others = (markup for block in page for markup in _markup(block))
    return "\n".join([f'<div style="max-width:60em">{first}', *others, "</div>"])


def _markup(block: Block) -> Iterator[str]:
    match block:
        case Heading([name, *rest]):
            yield _paragraph(" · ".join([f"<b>{escape(name)}</b>", *map(escape, rest)]))
        case Prose(sentences):
            yield _paragraph(escape(" ".join(sentences)))
        case Strong(sentence):
            yield _paragraph(f"<b>{escape(sentence)}</b>")
        case Warnings(sentences):
            for sentence in sentences:
                yield _paragraph(f"<b>Warning:</b> {escape(sentence)}")
        case Verdicts(checks):
            yield _table(
                [
                    f'<b style="color:{_COLOURS[each.status]}">{each.word}</b>',
                    *map(escape, (each.title, each.achieved, each.extent)),
                ]
                for each in checks
            )
        case Limits(of_models):
            for title, sentence in of_models:
                yield _paragraph(f"What {escape(title)} does not promise: {escape(sentence)}")
        case Bars(title, _, bins):
            yield _paragraph(escape(title)) + _bars(bins)
        case Grid(title, header, _, below):
            if title:
                yield _paragraph(escape(title))
            styles = [_CELL] * len(header.words) + [_FIGURE] * len(header.figures)
            heads, *cells = ([escape(cell) for cell in row] for row in cells_of(block))
            yield _table([[f"<b>{cell}</b>" for cell in heads], *cells], styles)
            if below:
                yield _paragraph(escape(below))
        case Changes(title, figures):
            heads = [f"<b>{escape(cell)}</b>" for cell in (title, "old", "new", "")]
            changes = ([*map(escape, each[:3]), _marked(each.word)] for each in figures)
            yield _table([heads, *changes], (_CELL, _FIGURE, _FIGURE, _CELL))
        case ChangedChecks(checks):
            yield _table([_marked(word), *map(escape, texts)] for word, *texts in checks)
        case Values(warning, lists):
            yield _paragraph(f"<b>{escape(warning)}</b>")
            for heading, rows in lists:
                values = _table([*map(escape, row)] for row in rows or [["none"]])
                yield _paragraph(escape(heading)) + values
        case Item(name, sentences):
            yield _paragraph(f"<b>{escape(name)}</b> {escape(' '.join(sentences))}")
        case Footer(text):
            yield _paragraph(f"<small>{escape(text)}</small>")


def _bars(bins: Sequence[Bin]) -> str:
    most = max(each.fraction for each in bins)
    return _table(
        (
            [each.label, _bar(each, most), numbers.number(each.count), each.share, each.note]
            for each in bins
        ),
        (_FIGURE, _CELL, _FIGURE, _FIGURE, _CELL),
    )


def _bar(each: Bin, most: float) -> str:
    colour = _COLOURS["violated"] if each.small else "#5b7fa6"
    width = _LONGEST_BAR * each.fraction / most
    return f'<div style="background:{colour};height:.8em;width:{width:.2f}em"></div>'


def _marked(word: str) -> str:
    colour = _COLOURS.get(word)
    return f'<b style="color:{colour}">{escape(word)}</b>' if colour else escape(word)


def _table(rows: Iterable[Sequence[str]], styles: Sequence[str] | None = None) -> str:
    """A table without a header row, since each row begins with what it is about."""
    lines = (
        "".join(
            f'<td style="{style}">{cell}</td>'
            for cell, style in zip(row, styles or [_CELL] * len(row), strict=True)
        )
        for row in rows
    )
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _paragraph(markup: str) -> str:
    return f'<p style="margin:.5em 0">{markup}</p>'
