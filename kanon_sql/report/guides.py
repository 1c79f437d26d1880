"""The guides shipped as Markdown, rendered for a terminal."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from kanon_sql.sql.macros import folder

WIDTH = 80
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
    names = (each.name for each in folder.iterdir())
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
    return _plain(sentence)


def guide(name: str) -> str:
    """A guide as plain text of 80 columns, with code blocks unchanged."""
    return "\n".join(_lines(name)).rstrip()


def _lines(name: str) -> Iterator[str]:
    for block in _blocks(markdown_of(name)):
        first = block[0]
        if first.startswith("# "):
            yield f"{_plain(first[2:])} ({name})"
        elif first.startswith("#"):
            yield f"  {_plain(first.lstrip('# '))}"
        elif first.startswith(_FENCE):
            yield from (f"    {line}".rstrip() for line in block[1:-1])
        elif first.startswith("|"):
            yield from _table(block)
        elif _ITEM.match(first):
            yield from _list(block)
        else:
            yield from _folded(" ".join(block), "    ")
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
        found = _ITEM.match(line)
        if found:
            items.append((found["mark"], [found["text"]]))
        else:
            items[-1][1].append(line.strip())
    for mark, words in items:
        first = f"    {mark} "
        yield from _folded(" ".join(words), first, " " * len(first))


def _table(lines: list[str]) -> Iterator[str]:
    """A table in columns if it fits; else each row as a paragraph per cell."""
    header, _, *rows = ([*map(_plain, _cells(line))] for line in lines)
    widths = [max(len(row[place]) for row in (header, *rows)) for place in range(len(header))]
    if sum(widths) + 3 * len(widths) + 4 <= WIDTH:
        for row in (header, *rows):
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield f"    {'   '.join(padded)}".rstrip()
        return
    for name, *others in rows:
        yield from _folded(name or header[0], "    ", is_plain=True)
        for head, cell in zip(header[1:], others, strict=True):
            if cell:
                about = f"{head}: " if head and len(others) > 1 else ""
                yield from _folded(f"{about}{cell}", "        ", is_plain=True)


def _cells(line: str) -> list[str]:
    inner = line.strip().strip("|").replace("\\|", "\0")
    return [cell.strip().replace("\0", "|") for cell in inner.split("|")]


def _plain(text: str) -> str:
    """The text without inline Markdown."""
    text = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", r"\1 (\2)", text)
    return re.sub(r"\*\*(.+?)\*\*|(?<![\w*`])\*([^*`]+?)\*(?![\w*`])", _inner, text).replace(
        "`", ""
    )


def _inner(found: re.Match[str]) -> str:
    return found[1] or found[2] or ""


def _folded(text: str, first: str, rest: str | None = None, *, is_plain: bool = False) -> list[str]:
    return textwrap.wrap(
        text if is_plain else _plain(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
