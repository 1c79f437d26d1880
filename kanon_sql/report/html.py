"""A page as self-contained HTML: a fragment, or a document without scripts.

The markup is in `blocks.html`; every printed value is escaped here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from kanon_sql.report.charts import svg
from kanon_sql.report.document import Block, Grid, Heading, cells_of
from kanon_sql.report.words.models import SIGNS, STATUS_WORDS
from kanon_sql.report.words.numbers import BLOCKS, KEPT_TOGETHER, number

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The page's Content-Security-Policy: inline styles and images only."""
_LONGEST_NAME = 200
_LONG_WORD = re.compile(r"[^\s<>&;]{25}(?=[^\s<>&;]{5})")
_BLOCK_WIDTH = 0.6


def write(page: Iterable[Block]) -> str:
    """The page as one fragment, with its styles."""
    body = "\n".join(_markup(block, "h4") for block in page)
    # Jupyter's rules for cells, such as text-align: right, have the specificity of two classes.
    style = f"{_file('page.css')}{_file('notebook.css')}".replace(
        ".kanon-sql ", ".kanon-sql.kanon-sql.kanon-sql "
    )
    return f'<div class="kanon-sql">\n<style>\n{style}</style>\n{body}\n</div>'


def document(title: str, status: str, headline: str, digest: str, page: Iterable[Block]) -> str:
    """The page as a document, with one h1, its status and its sections as landmarks.

    Each printed sheet has the digest and its number.
    """
    sections: list[tuple[str, list[Block]]] = []
    for block in page:
        if isinstance(block, Heading) and block.of == "section":
            sections.append((block.parts[0], []))
        else:
            sections[-1][1].append(block)
    template = _templates().get_template("document.html")
    return template.render(
        policy=Markup(POLICY),
        title=title,
        style=Markup(_file("page.css") + _file("sheet.css")),
        digest=digest,
        status=status,
        word=STATUS_WORDS[status],
        headline=headline,
        sections=sections,
    )


def explore_part(part: Literal["head", "running", "tick", "ready", "rest"], **fields: Any) -> str:
    """A part of the page to explore with: all above its figures, the box of a count that takes
    long with its lines and its end, the figures with all below."""
    if part == "head":
        fields["style"] = Markup("".join(map(_file, ("page.css", "sheet.css", "explore.css"))))
    parts: Any = _templates().get_template("explore.html").module
    return str(getattr(parts, part)(**fields)).strip("\n") + "\n"


@cache
def _file(name: str) -> str:
    return files("kanon_sql.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _templates() -> Environment:
    environment = Environment(
        autoescape=True,
        finalize=_text,
        loader=FunctionLoader(_file),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
    )
    environment.globals |= {"markup": _markup, "number": number, "signs": SIGNS}
    environment.filters |= {
        "as_table": _as_table,
        "breakable": _breakable,
        "code": lambda text: _text(text, is_code=True),
        "joined": lambda text: Markup("".join(map(str.strip, text.split("\n")))),
        "svg": svg,
    }
    return environment


def _markup(block: Block, level: str) -> Markup:
    """The markup of a block; a heading has the tag `level`."""
    blocks: Any = _templates().get_template("blocks.html").module
    markup: Markup = getattr(blocks, type(block).__name__.lower())(block, level)
    return markup.strip("\n")


def _text(value: Any, *, is_code: bool = False) -> Markup:
    """Escape a text, with invisible and bidirectional control characters spelled out."""
    if isinstance(value, Markup):
        return value
    shown = "\n\t" + KEPT_TOGETHER if is_code else KEPT_TOGETHER
    text = "".join(
        char if char.isprintable() or char in shown else repr(char)[1:-1] for char in str(value)
    )
    if not is_code:
        text = " ".join(_shortened(word) for word in text.split(" "))
    return Markup(escape(text).replace(KEPT_TOGETHER, "&nbsp;"))


def _shortened(word: str) -> str:
    """Cut an overlong word in its middle."""
    if len(word) <= _LONGEST_NAME:
        return word
    half = _LONGEST_NAME // 2
    return f"{word[:half]}…{word[-half:]}"


def _breakable(value: Any) -> Markup:
    """Insert break opportunities into words wider than a column."""
    return Markup(_LONG_WORD.sub(r"\g<0><wbr>", str(_text(value))))


class _Table(NamedTuple):
    """The cells of a grid, with the columns of figures and the one of row headers."""

    header: Sequence[str]
    rows: Sequence[Sequence[Markup]]
    figures: Sequence[int]
    named: int


def _as_table(grid: Grid) -> _Table:
    heads, *cells = cells_of(grid)
    words = len(grid.header.words)
    first = next((index for index, head in enumerate(heads) if head), 0)
    rows = [[*map(_with_bar, row)] for row in cells]
    return _Table(heads, rows, range(words, len(heads)), min(first, words - 1))


def _with_bar(cell: str) -> Markup:
    """A cell with its text bar replaced by a CSS bar of the same width."""
    words = cell.rstrip(BLOCKS)
    blocks = cell[len(words) :]
    if not blocks:
        return _text(cell)
    width = sum(BLOCKS.index(block) + 1 for block in blocks) / len(BLOCKS) * _BLOCK_WIDTH
    bar = Markup('<span class="bar inline" style="width:{}em"></span>').format(f"{width:.2f}")
    return _text(words) + bar
