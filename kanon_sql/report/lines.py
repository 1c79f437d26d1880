"""Lines of a terminal: folded at spaces, padded by what they take there, coloured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kanon_sql.report.words import numbers

INDENT = "  "


class StyledText(NamedTuple):
    """Some text of a line, and how it is coloured."""

    text: str
    style: str = ""


Line = tuple[StyledText, ...]
EMPTY: Line = ()


def folded(
    text: str, width: int, first: str = "", *, rest: str | None = None, style: str = ""
) -> list[Line]:
    """The text in lines of `width` cells, broken at spaces only.

    `first` stands before the first line, `rest` before all others.
    """
    lines: list[Line] = []
    indent, line = first, ""
    for word in _words(text):
        longer = f"{line}{word}"
        if line.strip() and width_of(indent + longer.rstrip(" ")) > width:
            lines.append((StyledText(f"{indent}{line.rstrip(' ')}", style),))
            indent, longer = first if rest is None else rest, word.lstrip(" ")
        line = longer
    return [*lines, (StyledText(f"{indent}{line.rstrip(' ')}", style),)]


def _words(text: str) -> Iterator[str]:
    """Each word with the spaces before it, so that columns inside a line keep their place."""
    spaces = ""
    for word in text.split(" "):
        if word:
            yield spaces + word
            spaces = " "
        else:
            spaces += " "


def padded(text: str, width: int) -> str:
    """The text with spaces after it, so many columns in all."""
    return text + " " * (width - width_of(text))


def width_of(text: str) -> int:
    """How many columns of a terminal the text takes: two for a wide character."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def widest(texts: Iterable[str]) -> int:
    """How many columns the widest line of all texts takes."""
    return max((width_of(line) for text in texts for line in text.split("\n")), default=0)


def plain(line: Line) -> str:
    """The line as text, without spaces at its end."""
    return numbers.plain("".join(part.text for part in line)).rstrip()


def coloured(lines: Iterable[Line]) -> str:
    """The lines as text with the escapes that colour a terminal."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    page = StringIO()
    console = Console(file=page, force_terminal=True, color_system="standard", no_color=False)
    for line in lines:
        text = Text.assemble(*((numbers.plain(part.text), part.style) for part in line))
        console.print(text, soft_wrap=True, highlight=False)
    return page.getvalue().removesuffix("\n")
