"""Writes a page as self-contained HTML: a fragment, or a document without scripts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from string import Template

from kanon_sql.report.charts import svg
from kanon_sql.report.document import (
    Bars,
    Block,
    Changes,
    Drawing,
    Facts,
    Grid,
    Heading,
    Points,
    Prose,
    Values,
    Verbatim,
    Verdicts,
    cells_of,
)
from kanon_sql.report.words.models import SIGNS, STATUS_WORDS
from kanon_sql.report.words.numbers import BLOCKS, KEPT_TOGETHER, number
from kanon_sql.report.words.tables import Bin

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The page's Content-Security-Policy: inline styles and images only."""
_LONGEST_NAME = 200
_LONG_WORD = re.compile(r"[^\s<>&;]{25}(?=[^\s<>&;]{5})")
_MOST_COLUMNS = 7
"""Wider tables may scroll horizontally, and get keyboard focus."""
_BLOCK_WIDTH = 0.6
_PROSE = {"strong": "<strong>{}</strong>", "footer": "<small>{}</small>"}
_POINTS = {
    "bullet": ("<ul>{}</ul>", "<li>{}</li>"),
    "choice": (
        '<ul class="choices">{}</ul>', '<li><span class="box" aria-hidden="true"></span>{}</li>',
    ),
    "warning": ("{}", '<p><strong class="warning">Warning:</strong> {}</p>'),
}  # fmt: skip
_FACTS = {
    "fact": ('<dl class="facts">{}</dl>', "<dt>{}</dt><dd>{}</dd>"),
    "limit": (
        "<p>What these checks do not cover:</p><ul>{}</ul>",
        "<li><strong>{}</strong>: {}</li>",
    ),
}
"""What surrounds all points or facts, and each of them."""
_BLANK = '<span class="blank"><span class="soft" hidden>to be filled in</span></span>'


def write(page: Iterable[Block]) -> str:
    """The page as one fragment, with its styles."""
    body = "\n".join(markup for block in page for markup in _markup(block, "h4"))
    # Jupyter's rules for cells, such as text-align: right, have the specificity of two classes.
    style = f"{_file('page.css')}{_file('notebook.css')}".replace(
        ".kanon-sql ", ".kanon-sql.kanon-sql.kanon-sql "
    )
    return f'<div class="kanon-sql">\n<style>\n{style}</style>\n{body}\n</div>'


def document(title: str, status: str, headline: str, digest: str, page: Iterable[Block]) -> str:
    """The page as a document, with one h1, its status and its sections as landmarks.

    Each printed sheet has the digest and its number.
    """
    beside = f' <strong class="soft">{_text(headline)}</strong>' if headline else ""
    return Template(_file("document.html").rstrip()).substitute(
        policy=POLICY,
        title=_text(title),
        style=_file("page.css") + _file("sheet.css"),
        digest=digest,
        status=_word(STATUS_WORDS[status], status, "status") + beside,
        sections=_sections(page),
    )


@cache
def _file(name: str) -> str:
    return files("kanon_sql.report").joinpath(name).read_text(encoding="utf-8")


def _sections(page: Iterable[Block]) -> str:
    """The blocks grouped into numbered sections."""
    parts: list[str] = []
    number_of_parts = 0
    for block in page:
        if isinstance(block, Heading) and block.of == "section":
            if number_of_parts:
                parts.append("</section>")
            number_of_parts += 1
            name = f"part-{number_of_parts}"
            kind = block.parts[0].split()[0].lower()
            parts.append(
                f'<section class="{kind}" aria-labelledby="{name}">\n<h2 id="{name}">'
                f"{number_of_parts}. {_text(block.parts[0])}</h2>"
            )
        else:
            parts += _markup(block, "h3")
    return "\n".join([*parts, "</section>"] if number_of_parts else parts)


def _markup(block: Block, level: str) -> Iterator[str]:
    match block:
        case Heading([title], "section"):
            yield f"<{level}>{_text(title)}</{level}>"
        case Heading([name, *rest]):
            others = f' <span class="soft">· {_text(" · ".join(rest))}</span>' if rest else ""
            tag = level if level == "h3" else "p"
            yield f'<{tag} class="name">{_text(name)}{others}</{tag}>'
        case Prose(sentences, style, name):
            above = f"<strong>{_text(name)}</strong> " if name else ""
            text = _PROSE.get(style, "{}").format(_text(" ".join(sentences)))
            yield f"<p>{above}{text}</p>"
        case Points(sentences, style):
            around, point = _POINTS[style]
            points = (point.format(_text(each)) for each in sentences)
            yield around.format(("\n" if style == "warning" else "").join(points))
        case Facts(facts, style):
            around, fact = _FACTS[style]
            pairs = ((_text(term), _BLANK if of is None else _text(of)) for term, of in facts)
            yield around.format("".join(fact.format(*pair) for pair in pairs))
        case Verdicts(checks, are_changes):
            heads = ("change", "figures") if are_changes else ("verdict", "reach")
            rows = [
                [
                    _marked(each.word) if are_changes else _word(each.word, each.status),
                    *map(_text, (each.title, each.achieved, each.extent)),
                ]
                for each in checks
            ]
            yield _table((heads[0], "check", "found", heads[1]), rows, named=1)
        case Changes(title, figures):
            changes = ([*map(_text, each[:3]), _marked(each.word)] for each in figures)
            yield _table((title or "figure", "then", "now", "change"), changes, figures=(1, 2))
        case Grid(drawing=Drawing() as drawing):
            yield _drawn(drawing)
        case Grid():
            yield from _grid(block)
        case Bars():
            yield _bars(block)
        case Values(warning, lists):
            yield f'<p><strong class="warning">{_text(warning)}</strong></p>'
            for heading, shown in lists:
                names, *records = shown or [["none"]]
                values = [[_text(each) for each in row] for row in records]
                yield _table(names, values, caption=heading)
        case Verbatim(text, ""):
            yield f'<pre class="command">{_text(text, is_code=True)}</pre>'
        case Verbatim(text, title, note):
            beside = f" <code>{_text(note)}</code>" if note else ""
            yield (
                f"<details open>\n<summary>{_text(title)}{beside}</summary>\n"
                f'<pre tabindex="0">{_text(text, is_code=True)}</pre>\n</details>'
            )


def _text(text: str, *, is_code: bool = False) -> str:
    """Escape a text, with invisible and bidirectional control characters spelled out."""
    shown = "\n\t" + KEPT_TOGETHER if is_code else KEPT_TOGETHER
    kept = "".join(
        each if each.isprintable() or each in shown else repr(each)[1:-1] for each in text
    )
    if not is_code:
        kept = " ".join(_shortened(word) for word in kept.split(" "))
    return escape(kept).replace(KEPT_TOGETHER, "&nbsp;")


def _shortened(word: str) -> str:
    """Cut an overlong word in its middle."""
    if len(word) <= _LONGEST_NAME:
        return word
    half = _LONGEST_NAME // 2
    return f"{word[:half]}…{word[-half:]}"


# --- tables -----------------------------------------------------------------------------------


def _table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    figures: Sequence[int] = (),
    named: int = 0,
    caption: str = "",
) -> str:
    """A table of HTML cells under a text header; `named` is the column of row headers."""

    def cell(place: int, markup: str) -> str:
        markup = _breakable(markup)
        kind = ' class="figure"' if place in figures else ""
        head = f' data-head="{_text(header[place])}"' if place != named and header[place] else ""
        if place == named and markup:
            return f'<th scope="row"{kind}>{markup}</th>'
        return f"<td{kind}{head}>{markup}</td>"

    heads = "".join(_head(text, place in figures) for place, text in enumerate(header))
    lines = (
        f"<tr>{''.join(cell(place, markup) for place, markup in enumerate(row))}</tr>"
        for row in rows
    )
    above = f"<caption>{_text(caption)}</caption>" if caption else ""
    focus = ' tabindex="0"' if len(header) > _MOST_COLUMNS else ""
    return (
        f'<div class="scroll"{focus}><table class="stacked">{above}<thead><tr>{heads}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _head(text: str, is_figure: bool) -> str:
    kind = ' class="figure"' if is_figure else ""
    head = _breakable(_text(text))
    return f'<th scope="col"{kind}>{head}</th>' if text else f"<td{kind}></td>"


def _breakable(markup: str) -> str:
    """Insert break opportunities into words wider than a column."""
    return _LONG_WORD.sub(r"\g<0><wbr>", markup)


def _drawn(drawing: Drawing) -> str:
    """The chart with its description."""
    caption = f"<figcaption>{_text(drawing.described)}</figcaption>"
    return f"<figure>\n{svg(drawing.chart)}\n{caption}\n</figure>"


def _grid(grid: Grid) -> Iterator[str]:
    heads, *cells = ([*row] for row in cells_of(grid))
    words = len(grid.header.words)
    rows = ([_with_bar(cell) for cell in row] for row in cells)
    first = next((place for place, head in enumerate(heads) if head), 0)
    figures = [*range(words, len(heads))]
    yield _table(heads, rows, figures=figures, named=min(first, words - 1), caption=grid.title)
    if grid.below:
        yield f"<p>{_text(grid.below)}</p>"


def _with_bar(cell: str) -> str:
    """A cell with its text bar replaced by a CSS bar of the same width."""
    words = cell.rstrip(BLOCKS)
    blocks = cell[len(words) :]
    if not blocks:
        return _text(cell)
    width = sum(BLOCKS.index(each) + 1 for each in blocks) / len(BLOCKS) * _BLOCK_WIDTH
    return f'{_text(words)}<span class="bar inline" style="width:{width:.2f}em"></span>'


def _bars(bars: Bars) -> str:
    """A histogram as a table with CSS bars, readable by its figures alone."""
    most = max((each.fraction for each in bars.bins), default=0)
    label, count, share = bars.header
    lines = []
    marked = False
    for each in bars.bins:
        if bars.mark and not marked and not each.small:
            marked = True
            lines.append(f'<tr class="mark"><td colspan="5">{_text(bars.mark)}</td></tr>')
        lines.append(_bar(each, most))
    heads = (
        f'<th scope="col" class="figure">{_text(label)}</th><td></td>'
        f'<th scope="col" class="figure">{_text(count)}</th>'
        f'<th scope="col" class="figure">{_text(share)}</th><td></td>'
    )
    return (
        f'<div class="scroll"><table class="bars"><caption>{_text(bars.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _bar(each: Bin, most: float) -> str:
    kind = "bar none" if not each.fraction else ("bar small" if each.small else "bar")
    width = 100 * each.fraction / most if most else 0
    return (
        f'<tr><th scope="row" class="label figure">{_breakable(_text(each.label))}</th>'
        f'<td class="track"><div class="{kind}" style="width:{width:.1f}%"></div></td>'
        f'<td class="figure">{_text(each.spoken or number(each.count))}</td>'
        f'<td class="figure">{_text(each.share)}</td>'
        f'<td class="note">{_text(each.note)}</td></tr>'
    )


def _word(word: str, status: str, kind: str = "word") -> str:
    return f'<span class="{kind} {status}">{SIGNS.get(status, "")}&nbsp;{_text(word)}</span>'


def _marked(word: str) -> str:
    kind = f' class="word {word}"' if word in ("worse", "better") else ""
    return f"<span{kind}>{_text(word)}</span>" if word else ""
