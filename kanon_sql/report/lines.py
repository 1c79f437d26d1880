"""Terminal lines: wrapping, padding by display width, colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kanon_sql.report.words import numbers

INDENT = "  "


class StyledText(NamedTuple):
    """A text segment of a line with its style."""

    text: str
    style: str = ""


Line = tuple[StyledText, ...]
EMPTY: Line = ()


def folded(
    text: str, width: int, first: str = "", *, rest: str | None = None, style: str = ""
) -> list[Line]:
    """Wrap a text at spaces to `width` cells.

    `first` precedes the first line, `rest` all others.
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
    """Each word with its preceding spaces, so that columns within a line stay aligned."""
    spaces = ""
    for word in text.split(" "):
        if word:
            yield spaces + word
            spaces = " "
        else:
            spaces += " "


def padded(text: str, width: int) -> str:
    """Pad a text with spaces to a display width."""
    return text + " " * (width - width_of(text))


def width_of(text: str) -> int:
    """Display width of a text: two cells per wide character."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def widest(texts: Iterable[str]) -> int:
    """Display width of the widest line."""
    return max((width_of(line) for text in texts for line in text.split("\n")), default=0)


def plain(line: Line) -> str:
    """A line as plain text, without trailing spaces."""
    return numbers.plain("".join(part.text for part in line)).rstrip()


def coloured(lines: Iterable[Line]) -> str:
    """Lines as text with ANSI escapes."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    page = StringIO()
    console = Console(file=page, force_terminal=True, color_system="standard", no_color=False)
    for line in lines:
        text = Text.assemble(*((numbers.plain(part.text), part.style) for part in line))
        console.print(text, soft_wrap=True, highlight=False)
    return page.getvalue().removesuffix("\n")
