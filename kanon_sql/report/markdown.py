"""Writes a page as Markdown, for a pull request or a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kanon_sql.errors import without_control
from kanon_sql.report.document import (
    Bars,
    Block,
    ChangedChecks,
    Changes,
    Choices,
    Command,
    FactList,
    Folded,
    Footer,
    Grid,
    Heading,
    Item,
    Limits,
    LineChart,
    Points,
    Prose,
    Section,
    Status,
    Strong,
    Values,
    Verdicts,
    Warnings,
    cells_of,
)
from kanon_sql.report.words import numbers

_MARKS = re.compile(r"[\\`*|<>\[\]~]|(?<!\w)_|_(?!\w)")
_BLANK = "…"
_UNMARKED = ("", "same", "changed")
"""Change words that are not emphasised."""


def write(page: Iterable[Block]) -> str:
    """The page as Markdown, without a final newline."""
    return numbers.plain("\n\n".join(text for block in page for text in _texts(block)))


def _texts(block: Block) -> Iterator[str]:
    match block:
        case Heading([name, *rest], of_page):
            yield f"{'#' if of_page else '##'} {escaped(name)}"
            if rest:
                yield escaped(" · ".join(rest))
        case Prose(sentences):
            yield escaped(" ".join(sentences))
        case Strong(sentence):
            yield f"**{escaped(sentence)}**"
        case Warnings(sentences):
            yield "\n>\n".join(f"> **Warning:** {escaped(each)}" for each in sentences)
        case Verdicts(checks):
            found = (
                [f"**{each.word}**", *_cells(each.title, each.achieved, each.extent)]
                for each in checks
            )
            yield _table(["", "check", "found", "reach"], found)
        case Limits(of_models):
            for title, sentence in of_models:
                yield f"What {escaped(title)} does not promise: {escaped(sentence)}"
        case Bars(_, header, bins):
            counts = ([each.label, numbers.number(each.count), each.share] for each in bins)
            yield _table(header, counts, words=0)
        case Grid(title, header, _, below):
            if title:
                yield escaped(title)
            heads, *cells = ([escaped(cell) for cell in row] for row in cells_of(block))
            yield _table(heads, cells, words=len(header.words))
            if below:
                yield escaped(below)
        case Changes(title, figures):
            if title:
                yield f"{escaped(title)}:"
            changes = ([*_cells(*each[:3]), _marked(each.word)] for each in figures)
            yield _table(["", "old", "new", ""], changes)
        case ChangedChecks(checks):
            changed = ([_marked(word), *_cells(*texts)] for word, *texts in checks)
            yield _table(["", "check", "found", "figures"], changed)
        case Values(warning, lists):
            yield f"> **{escaped(warning)}**"
            for heading, rows in lists:
                yield f"### {escaped(heading)}"
                values = [_cells(*row) for row in rows]
                yield _table(values[0], values[1:]) if values else "none"
        case Item(name, sentences):
            yield f"**{escaped(name)}** {escaped(' '.join(sentences))}"
        case Section(title):
            yield f"## {escaped(title)}"
        case Status(_, word):
            yield f"**{escaped(word)}**"
        case Points(sentences):
            yield "\n".join(f"- {escaped(each)}" for each in sentences)
        case FactList(facts):
            yield "\n".join(f"- {escaped(term)}: {escaped(fact or _BLANK)}" for term, fact in facts)
        case Choices(names):
            yield "\n".join(f"- [ ] {escaped(each)}" for each in names)
        case LineChart():
            yield from _texts(block.table)
        case Folded(title, text, _):
            yield f"{escaped(title)}\n\n{_fenced(text)}"
        case Command(text):
            yield _fenced(text)
        case Footer(text):
            yield f"*{escaped(text)}*"


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
