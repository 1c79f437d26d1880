"""The layout of the manual's pages: plain text of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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
