"""A page as Markdown, for a pull request or a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kanon_sql.errors import without_control
from kanon_sql.report.document import (
    Bars,
    Block,
    Changes,
    Choices,
    Facts,
    Grid,
    Heading,
    Points,
    Prose,
    Strip,
    Values,
    Verbatim,
    Verdicts,
    cell_text,
    cells_of,
)
from kanon_sql.report.words import numbers

_MARKS = re.compile(r"[\\`*|<>\[\]~]|(?<!\w)_|_(?!\w)")
_BLANK = "…"
_UNMARKED = ("", "same", "changed")
"""Change words that are not emphasised."""
_PROSE = {"strong": "**{}**", "footer": "*{}*"}
_POINTS = {
    "bullet": ("- {}", "\n"),
    "choice": ("- [ ] {}", "\n"),
    "warning": ("> **Warning:** {}", "\n>\n"),
}
_FACTS = {"fact": ("- {}: {}", "\n"), "limit": ("What {} does not cover: {}", "\n\n")}
"""Each point or fact, and what separates them."""


def write(page: Iterable[Block]) -> str:
    """The page as Markdown, without a final newline."""
    return numbers.with_spaces("\n\n".join(text for block in page for text in _texts(block)))


def _texts(block: Block) -> Iterator[str]:
    match block:
        case Heading([name, *rest], of):
            yield f"{'#' if of == 'page' else '##'} {escaped(name)}"
            if rest:
                yield escaped(" · ".join(rest))
        case Prose(sentences, style, name):
            above = f"**{escaped(name)}** " if name else ""
            yield above + _PROSE.get(style, "{}").format(escaped(" ".join(sentences)))
        case Points(sentences, style):
            point, between = _POINTS[style]
            yield between.join(point.format(escaped(sentence)) for sentence in sentences)
        case Facts(facts, style):
            fact, between = _FACTS[style]
            yield between.join(fact.format(*_cells(term, text or _BLANK)) for term, text in facts)
        case Verdicts(checks, are_changes, header):
            verdict_rows = (
                [_marked(check.word), *_cells(check.title, check.achieved, check.extent)]
                for check in checks
            )
            heads = ["check", "found", "figures"] if are_changes else header
            yield _table(["", *heads], verdict_rows)
        case Changes(title, figures):
            if title:
                yield f"{escaped(title)}:"
            changes = ([*_cells(*figure[:3]), _marked(figure.word)] for figure in figures)
            yield _table(["", "old", "new", ""], changes)
        case Grid(title, header, _, below):
            if title:
                yield escaped(title)
            heads, *cells = (_cells(*row) for row in cells_of(block))
            yield _table(heads, cells, words=len(header.words))
            if below:
                yield escaped(below)
        case Bars(_, header, bins):
            counts = ([bin.label, numbers.number(bin.count), bin.share] for bin in bins)
            yield _table(header, counts, words=0)
        case Values(warning, lists):
            yield f"> **{escaped(warning)}**"
            for heading, rows in lists:
                yield f"### {escaped(heading)}"
                values = [_cells(*row) for row in rows]
                yield _table(values[0], values[1:]) if values else "none"
        case Verbatim(text, title):
            if title:
                yield escaped(title)
            yield _fenced(text)
        case Strip(figures):
            shown = ([f.title, f.shown.text, "".join(d.text for d in f.note)] for f in figures)
            yield _table(["", "", ""], (_cells(*row) for row in shown))
        case Choices():
            yield from map(escaped, filter(None, [block.title, block.caption, block.note]))
            if block.controls:
                yield "\n".join(f"- {escaped(cell_text(control))}" for control in block.controls)
            if block.rows:
                linked = (_cells(*map(cell_text, row)) for row in block.rows)
                yield _table(_cells(*block.header), linked)


def _fenced(text: str) -> str:
    """A text as it was written, between fences that it does not have itself."""
    text = without_control(text)
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}\n{text}\n{fence}"


def _cells(*texts: str) -> list[str]:
    return [escaped(text) for text in texts]


def _marked(word: str) -> str:
    return word if word in _UNMARKED else f"**{word}**"


def _table(
    header: Iterable[str], rows: Iterable[Sequence[str]], *, words: int | None = None
) -> str:
    """A table whose first `words` columns are text, the others right-aligned figures.

    Without `words`, all are text.
    """
    columns = list(header)
    of_words = len(columns) if words is None else words
    rule = ["---"] * of_words + ["---:"] * (len(columns) - of_words)
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, rule, *rows))


def escaped(text: str) -> str:
    r"""Escape Markdown's special characters.

    >>> escaped("birth_date *zip* a|b")
    'birth_date \\*zip\\* a\\|b'
    """
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", text)
