"""The manual's guides, shipped as Markdown, shown as plain text of 80 columns.

Here too is the worksheet's text.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from kanon_sql.report.words.numbers import counted, number, percent, with_spaces
from kanon_sql.results.version import FORMAT, VERSION
from kanon_sql.results.worksheet import CONFIDENCE, Attempts
from kanon_sql.sql.macros import folder

WIDTH = 80


def folded(text: str, first: str = "  ", rest: str | None = None) -> list[str]:
    """The lines of a text; `first` indents the first one, `rest` (or `first`) the others."""
    return textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def sheet(title: str, *parts: Iterable[str]) -> str:
    """A page: its title, and the lines of its parts."""
    lines = [*folded(title, ""), "", *(line for part in parts for line in part)]
    return "\n".join(lines).rstrip()


def paragraph(text: str, first: str = "  ", rest: str | None = None) -> list[str]:
    """A text with a blank line below."""
    return [*folded(text, first, rest), ""]


def section(heading: str, *texts: str) -> Iterator[str]:
    """Paragraphs under a heading."""
    yield f"  {heading}"
    for text in texts:
        yield from paragraph(text, "    ")


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Rows in columns under a title."""
    yield from (f"  {title}", "", *in_columns([columns, *rows]), "")


def in_columns(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Each row as a line of left-aligned columns."""
    texts = [[*map(str, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        yield "    " + "   ".join(map(str.ljust, row, widths)).rstrip()


def as_json(attempts: Attempts) -> str:
    """The counts as JSON, named as in Python."""
    document = {"kanon_sql": VERSION, "format": FORMAT, "worksheet": attempts.to_dict()}
    return json.dumps(document, indent=2)


def in_words(attempts: Attempts) -> str:
    """A sentence per count."""
    return with_spaces("\n".join(_sentences(attempts)))


def _sentences(attempts: Attempts) -> Iterator[str]:
    spent = f" in {attempts.minutes:,g} minutes" if attempts.minutes else ""
    yield f"{counted(attempts.rows, 'record')}, {number(attempts.tried)} of them tried{spent}"
    if attempts.share is None or attempts.interval is None:
        yield "No record was tried yet: complete the column sure."
        return
    low, high = map(percent, attempts.interval)
    yield (
        f"{number(attempts.confirmed)} re-identified: {percent(attempts.share)} of the records "
        f"tried; between {low} and {high} with {CONFIDENCE * 100:.0f} % confidence (Clopper, "
        "Pearson 1934)"
    )
    yield (
        "This is the share of the riskiest records. It is an upper bound for the table only if the "
        "others are no riskier."
    )
    if attempts.unchecked:
        yield (
            f"Not checked yet: {counted(attempts.unchecked, 'claim')} of being sure, counted as "
            "wrong until then. The holder of the key completes the column correct."
        )
    checked, wrong = attempts.claims - attempts.unchecked, attempts.false - attempts.unchecked
    if checked:
        yield (
            f"Wrong: {number(wrong)} of {counted(checked, 'claim')} of being sure, "
            f"{percent(wrong / checked)}"
        )


DBT = "dbt"
"""The guide in the dbt package's folder, where code hosts display it."""
INDEX = "README"
"""The index of the guides, for code hosts; itself no guide."""
_FENCE = "```"
_EMPHASIS = re.compile(r"\*\*(.+?)\*\*|(?<![\w*`])\*([^*`]+?)\*(?![\w*`])")
_ITEM = re.compile(r"(?P<mark>-|\d+\.) +(?P<text>.*)")


@cache
def guide_names() -> tuple[str, ...]:
    """The names of all guides, sorted."""
    folder = files("kanon_sql.report").joinpath("pages")
    names = (path.name for path in folder.iterdir())
    guides = {name.removesuffix(".md") for name in names if name.endswith(".md")}
    return tuple(sorted(guides - {INDEX}))


def markdown_of(name: str) -> str:
    """The Markdown source of a guide."""
    if name == DBT:
        return (folder() / "README.md").read_text(encoding="utf-8")
    return files("kanon_sql.report").joinpath("pages", f"{name}.md").read_text(encoding="utf-8")


def sentence_of(name: str) -> str:
    """The first sentence below a guide's title."""
    _, below, *_ = markdown_of(name).split("\n\n")
    sentence, *_ = re.split(r"(?<=\.) ", " ".join(below.split()))
    return _without_markup(sentence)


def guide(name: str) -> str:
    """A guide as plain text of 80 columns, with code blocks unchanged."""
    return "\n".join(_lines(name)).rstrip()


def _lines(name: str) -> Iterator[str]:
    for block in _blocks(markdown_of(name)):
        first = block[0]
        if first.startswith("# "):
            yield f"{_without_markup(first[2:])} ({name})"
        elif first.startswith("#"):
            yield f"  {_without_markup(first.lstrip('# '))}"
        elif first.startswith(_FENCE):
            yield from (f"    {line}".rstrip() for line in block[1:-1])
        elif first.startswith("|"):
            yield from _table(block)
        elif _ITEM.match(first):
            yield from _list(block)
        else:
            yield from folded(_without_markup(" ".join(block)), "    ")
        yield ""


def _blocks(text: str) -> Iterator[list[str]]:
    """The Markdown blocks: paragraphs, or whole code fences."""
    block: list[str] = []
    fenced = False
    for line in text.splitlines():
        if line.startswith(_FENCE):
            if not fenced and block:
                yield block
                block = []
            fenced = not fenced
            block.append(line)
            if not fenced:
                yield block
                block = []
        elif line.strip() or fenced:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _list(lines: list[str]) -> Iterator[str]:
    """The items of a list, each wrapped."""
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        item = _ITEM.match(line)
        if item:
            items.append((item["mark"], [item["text"]]))
        else:
            items[-1][1].append(line.strip())
    for mark, words in items:
        first = f"    {mark} "
        yield from folded(_without_markup(" ".join(words)), first, " " * len(first))


def _table(lines: list[str]) -> Iterator[str]:
    """A table in columns if it fits; else each row as a paragraph per cell."""
    header, _, *rows = ([*map(_without_markup, _cells(line))] for line in lines)
    widths = [max(len(row[index]) for row in (header, *rows)) for index in range(len(header))]
    if sum(widths) + 3 * len(widths) + 4 <= WIDTH:
        yield from in_columns([header, *rows])
        return
    for name, *further in rows:
        yield from folded(name or header[0], "    ")
        for head, cell in zip(header[1:], further, strict=True):
            if cell:
                about = f"{head}: " if head and len(further) > 1 else ""
                yield from folded(f"{about}{cell}", "        ")


def _cells(line: str) -> list[str]:
    inner = line.strip().strip("|").replace("\\|", "\0")
    return [cell.strip().replace("\0", "|") for cell in inner.split("|")]


def _without_markup(text: str) -> str:
    """The text without inline Markdown."""
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"\1 (\2)", text)
    return _EMPHASIS.sub(lambda emphasis: emphasis[1] or emphasis[2] or "", text).replace("`", "")
