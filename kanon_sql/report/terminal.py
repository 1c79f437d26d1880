"""A page for a terminal: plain text that fits 80 columns, optionally coloured."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from kanon_sql.report.document import (
    Bars,
    Block,
    Changes,
    Choices,
    Facts,
    Grid,
    GridRow,
    Heading,
    Points,
    Prose,
    Strip,
    Values,
    Verbatim,
    Verdicts,
    cell_text,
)
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


def text_of(line: Line) -> str:
    """A line as plain text, without trailing spaces."""
    return numbers.with_spaces("".join(segment.text for segment in line)).rstrip()


def coloured(lines: Iterable[Line]) -> str:
    """Lines as text with ANSI escapes."""
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    page = StringIO()
    console = Console(file=page, force_terminal=True, color_system="standard", no_color=False)
    for line in lines:
        text = Text.assemble(
            *((numbers.with_spaces(segment.text), segment.style) for segment in line)
        )
        console.print(text, soft_wrap=True, highlight=False)
    return page.getvalue().removesuffix("\n")


NARROWEST = 20
"""Minimum width of a text column that is wrapped."""


class _Room(NamedTuple):
    """Indentation, column gap and line width of a table."""

    indent: str
    gap: str
    width: int

    @property
    def inner(self) -> int:
        return self.width - len(self.indent)

    def taken(self, sizes: Iterable[int]) -> int:
        """The width of these figure columns with their gaps."""
        return sum(size + len(self.gap) for size in sizes)


def grid_lines(grid: Grid, width: int) -> Iterator[Line]:
    """The lines of a table, header first.

    If it is too wide, the last text column is wrapped, or the text gets lines of its own; figure
    columns that don't fit follow below, with the text repeated.
    """
    room = _Room(INDENT * 2, "   ", width) if grid.spacious else _Room(INDENT, INDENT, width)
    rows = (grid.header, *grid.rows)
    columns = range(len(grid.header.figures))
    full = [row.figures for row in rows if len(row.figures) == len(columns)]
    sizes = [widest(figures[index] for figures in full) for index in columns]
    names = _aligned(rows, room.inner - room.taken(sizes))
    widest_name = max(map(widest, names))
    for some in _portions(sizes, room.inner - min(widest_name, room.inner // 2), room):
        yield from _portion(rows, names, {index: sizes[index] for index in some}, room)


def _aligned(rows: Sequence[GridRow], width: int) -> list[list[str]]:
    """The text cells of each row: aligned on one line, wrapped in the last column, or joined."""
    columns = len(rows[0].words)
    unspanned = [row.words for row in rows if len(row.words) == columns]
    sizes = [widest(words[index] for words in unspanned) for index in range(columns)]
    names = [INDENT.join([*map(padded, row.words[:-1], sizes), row.words[-1]]) for row in rows]
    if widest(names) <= width:
        return [[name] for name in names]
    last = width - sum(size + len(INDENT) for size in sizes[:-1])
    if columns == 1 or last < NARROWEST or len(unspanned) < len(rows):
        return [[INDENT.join(word.strip() for word in row.words if word)] for row in rows]
    return [list(_in_its_column(row.words, sizes, last)) for row in rows]


def _in_its_column(words: Sequence[str], sizes: Sequence[int], width: int) -> Iterator[str]:
    """A row's text cells in columns, the last one wrapped."""
    before = "".join(
        f"{padded(word, size)}{INDENT}" for word, size in zip(words[:-1], sizes, strict=False)
    )
    for line in folded(words[-1], width):
        yield f"{before}{text_of(line)}"
        before = " " * width_of(before)


def _portions(sizes: Sequence[int], width: int, room: _Room) -> Iterator[list[int]]:
    """Group the figure columns into portions that fit the width."""
    portion: list[int] = []
    for index in range(len(sizes)):
        if portion and room.taken(sizes[column] for column in (*portion, index)) > width:
            yield portion
            portion = []
        portion.append(index)
    yield portion


def _portion(
    rows: Sequence[GridRow], names: Sequence[Sequence[str]], sizes: Mapping[int, int], room: _Room
) -> Iterator[Line]:
    """The rows with one portion of the figure columns."""
    left = room.inner - room.taken(sizes.values())
    name_width = max((size for size in map(width_of, chain(*names)) if size <= left), default=0)
    for row, (*upper_words, words) in zip(rows, names, strict=True):
        style = "dim" if row is rows[0] else ""
        for upper in upper_words:
            yield (StyledText(f"{room.indent}{upper}", style),)
        if len(row.figures) < len(rows[0].figures):
            if 0 in sizes:
                yield from folded(
                    f"{padded(words, name_width)}{room.gap}{row.figures[-1]}",
                    room.width,
                    room.indent,
                )
            continue
        *above, figures = _figure_lines(row, sizes, room.gap)
        name = words
        if width_of(name) > name_width:
            yield from folded(
                name, room.width, room.indent, rest=f"{room.indent}{INDENT}", style=style
            )
            name = ""
        for upper in above:
            yield (StyledText(f"{room.indent}{' ' * name_width}{upper}".rstrip(" "), style),)
        yield (StyledText(f"{room.indent}{padded(name, name_width)}{figures}".rstrip(" "), style),)


def _figure_lines(row: GridRow, sizes: Mapping[int, int], gap: str) -> list[str]:
    """The figures of a row, bottom-aligned on as many lines as its tallest cell."""
    cells = {index: row.figures[index].split("\n") for index in sizes}
    height = max(map(len, cells.values()))
    stacked = {index: [""] * (height - len(cell)) + cell for index, cell in cells.items()}
    return [
        "".join(
            f"{gap}{' ' * (size - width_of(stacked[index][line]))}{stacked[index][line]}"
            for index, size in sizes.items()
        )
        for line in range(height)
    ]


_STYLES = {
    "violated": "bold red", "accepted": "bold yellow", "holds": "bold green", "measured": "bold",
    "undecided": "bold yellow",
    "worse": "bold red", "better": "bold green", "new": "bold", "gone": "bold",
}  # fmt: skip
_WIDEST_BAR = 28
_WIDEST_PROSE = 100
_UNDER_NAME = " " * 4
_PROSE = {
    "indented": (INDENT, "", _WIDEST_PROSE), "flush": ("", "", _WIDEST_PROSE),
    "strong": ("", "bold", sys.maxsize), "footer": ("", "dim", sys.maxsize),
    "named": (_UNDER_NAME, "", sys.maxsize),
}  # fmt: skip
"""Indentation, colour and greatest width of each kind of paragraph."""
_MARKS = {"bullet": ("  - ", ""), "choice": ("  - ", ""), "warning": ("  warning   ", "yellow")}
"""The prefix of a point, and its colour."""


def write(page: Iterable[Block], *, colour: bool = False, width: int = 80) -> str:
    """The page as text, without a final newline."""
    lines: list[Line] = []
    for block in page:
        if lines and not (isinstance(block, Prose) and block.style == "footer"):
            lines.append(EMPTY)
        lines += _lines(block, width)
    return coloured(lines) if colour else "\n".join(text_of(line) for line in lines)


def _lines(block: Block, width: int) -> Iterable[Line]:
    prose = min(width, _WIDEST_PROSE)
    match block:
        case Heading(parts):
            return folded(" · ".join(parts), width, rest=INDENT, style="bold")
        case Prose():
            return _prose(block, width)
        case Points(sentences, style):
            mark, colour = _MARKS[style]
            points = (f"{mark}{sentence}" for sentence in sentences)
            return _folded(points, prose, rest=" " * len(mark), style=colour)
        case Facts(facts, style):
            return _facts(facts, prose) if style == "fact" else _limits(facts, prose)
        case Verdicts():
            return _verdicts(block, width)
        case Changes():
            return _changes(block)
        case Grid():
            return [
                *_titled(block.title, prose),
                *grid_lines(block, width),
                *_titled(block.below, prose),
            ]
        case Bars():
            return _bars(block, width)
        case Values():
            return _values(block, width)
        case Verbatim(text, title):
            lines = ((StyledText(f"{INDENT * 2}{line}"),) for line in text.split("\n"))
            return [*_titled(title, width), *lines]
        case Strip(figures):
            noted = ((f.title, f.shown.text, "".join(d.text for d in f.note)) for f in figures)
            shown = (
                f"{title}: {text}{f' ({note})' if note else ''}" for title, text, note in noted
            )
            return _folded(shown, prose, INDENT)
        case Choices():
            return _choices(block, width)


def _choices(block: Choices, width: int) -> list[Line]:
    """What could be chosen, as text."""
    texts = [block.caption, block.note, *map(cell_text, block.controls)]
    header, *rows = (
        GridRow((first,), (*rest, ""))
        for first, *rest in ([*map(cell_text, row)] for row in (block.header or ("",), *block.rows))
    )
    grid = Grid("", header, rows)
    return [
        *_titled(block.title, width),
        *_folded(filter(None, texts), width, INDENT),
        *(grid_lines(grid, width) if rows else ()),
    ]


# --- sentences ------------------------------------------------------------------------------


def _folded(sentences: Iterable[str], width: int, first: str = "", **style: str) -> list[Line]:
    return [line for sentence in sentences for line in folded(sentence, width, first, **style)]


def _prose(prose: Prose, width: int) -> list[Line]:
    """A paragraph; a footer stays on one line."""
    indent, colour, most = _PROSE["named" if prose.name else prose.style]
    name = folded(f"{INDENT}{prose.name}", width, rest=_UNDER_NAME) if prose.name else []
    room = sys.maxsize if prose.style == "footer" else min(width, most)
    return [*name, *_folded(prose.sentences, room, indent, style=colour)]


def _facts(facts: Sequence[tuple[str, str | None]], width: int) -> list[Line]:
    terms = widest(term for term, _ in facts)
    under = " " * (len(INDENT) + terms + 2)
    return [
        line
        for term, fact in facts
        for line in folded(fact or "…", width, f"{INDENT}{padded(term, terms)}  ", rest=under)
    ]


def _titled(title: str, width: int) -> list[Line]:
    return folded(title, width, INDENT) if title else []


def _limits(limits: Iterable[tuple[str, str | None]], width: int) -> list[Line]:
    above = folded("What these checks do not cover:", width, INDENT)
    return [*above, *_folded((f"{model}: {limit}" for model, limit in limits), width, INDENT * 2)]


# --- checks ---------------------------------------------------------------------------------


def _verdicts(verdicts: Verdicts, width: int) -> Iterator[Line]:
    """One line per check if the widest verdict fits, else with its extent below."""
    checks = verdicts.checks
    words = 7 if verdicts.are_changes else max(8, widest(check.word for check in checks))
    under = " " * (2 * len(INDENT) + words)
    titles = widest(check.title for check in checks)
    achieved = widest(check.achieved for check in checks)
    extent = widest(check.extent for check in checks)
    one_line = len(under) + titles + 2 + achieved + 2 + extent <= width and not verdicts.are_changes
    for check in checks:
        word = StyledText(f"{INDENT}{check.word:<{words}}{INDENT}", _STYLES.get(check.status, ""))
        text = f"{padded(check.title, titles)}  {check.achieved}"
        if one_line:
            yield (word, StyledText(f"{padded(text, titles + 2 + achieved)}  {check.extent}"))
            continue
        first, *further = folded(text, width, under)
        yield (word, StyledText(first[0].text.removeprefix(under)))
        yield from further
        if check.extent:
            yield from folded(check.extent, width, under)


# --- figures --------------------------------------------------------------------------------


def _bars(bars: Bars, width: int) -> Iterator[Line]:
    """One line per bin: label, bar, count, share."""
    bins = bars.bins
    labels = max(7, *(len(bin.label) for bin in bins))
    counts = max(len(numbers.number(bin.count)) for bin in bins)
    shares = max(len(bin.share) for bin in bins)
    notes = max(len(bin.note) for bin in bins)
    room = width - len(INDENT) - labels - 2 - 3 - counts - 3 - shares - (3 + notes if notes else 0)
    longest = max(8, min(_WIDEST_BAR, room))
    most = max(bin.fraction for bin in bins)
    yield (StyledText(f"{INDENT}{bars.title}"),)
    for bin in bins:
        figures = f"   {numbers.number(bin.count):>{counts}}   {bin.share:>{shares}}"
        yield (
            StyledText(f"{INDENT}{bin.label:>{labels}}  "),
            StyledText(
                f"{numbers.bar(bin.fraction / most, longest):<{longest}}",
                "red" if bin.small else "cyan",
            ),
            StyledText(f"{figures}   {bin.note}" if bin.note else figures),
        )


def _changes(changes: Changes) -> Iterator[Line]:
    figures = changes.figures
    names = widest([changes.title, *(figure.name for figure in figures)])
    old = widest(["old", *(figure.old for figure in figures)])
    new = widest(["new", *(figure.new for figure in figures)])
    title = padded(changes.title, names)
    yield (StyledText(f"{INDENT}{title}   {'old':>{old}}   {'new':>{new}}", "dim"),)
    for figure in figures:
        cells = f"{padded(figure.name, names)}   {figure.old:>{old}}   {figure.new:>{new}}"
        yield (
            StyledText(f"{INDENT}{cells}   "),
            StyledText(figure.word, _STYLES.get(figure.word, "")),
        )


def _values(values: Values, width: int) -> list[Line]:
    """Requested values under a warning."""
    lines = folded(values.warning, width, INDENT, style="bold yellow")
    for heading, rows in values.lists:
        lines += [EMPTY, (StyledText(f"{INDENT}{heading}", "bold"),), *_rows(rows, width)]
    return lines


def _rows(rows: Sequence[Sequence[str]], width: int) -> Iterator[Line]:
    """Rows in columns, or joined by separators if too wide."""
    sizes = [widest(cells) for cells in zip(*rows, strict=True)]
    if len(INDENT) * 2 + sum(sizes) + 3 * (len(sizes) - 1) > width:
        sizes = [0] * len(sizes)
    for row in rows:
        text = " · ".join(map(padded, row, sizes))
        yield from folded(text.rstrip(), width, INDENT * 2, rest=INDENT * 3)
