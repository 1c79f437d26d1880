"""Lays out a table in terminal lines of any width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from kanon_sql.report.document import Grid, GridRow
from kanon_sql.report.lines import INDENT, Line, StyledText, folded, padded, plain, widest, width_of

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
    sizes = [widest(figures[place] for figures in full) for place in columns]
    names = _aligned(rows, room.inner - room.taken(sizes))
    widest_name = max(map(widest, names))
    for some in _portions(sizes, room.inner - min(widest_name, room.inner // 2), room):
        yield from _portion(rows, names, {place: sizes[place] for place in some}, room)


def _aligned(rows: Sequence[GridRow], width: int) -> list[list[str]]:
    """The text cells of each row: aligned on one line, wrapped in the last column, or joined."""
    columns = len(rows[0].words)
    whole = [row.words for row in rows if len(row.words) == columns]
    sizes = [widest(words[place] for words in whole) for place in range(columns)]
    names = [INDENT.join([*map(padded, row.words[:-1], sizes), row.words[-1]]) for row in rows]
    if widest(names) <= width:
        return [[name] for name in names]
    last = width - sum(size + len(INDENT) for size in sizes[:-1])
    if columns == 1 or last < NARROWEST or len(whole) < len(rows):
        return [[INDENT.join(word.strip() for word in row.words if word)] for row in rows]
    return [list(_in_its_column(row.words, sizes, last)) for row in rows]


def _in_its_column(words: Sequence[str], sizes: Sequence[int], width: int) -> Iterator[str]:
    """A row's text cells in columns, the last one wrapped."""
    before = "".join(
        f"{padded(word, size)}{INDENT}" for word, size in zip(words[:-1], sizes, strict=False)
    )
    for line in folded(words[-1], width):
        yield f"{before}{plain(line)}"
        before = " " * width_of(before)


def _portions(sizes: Sequence[int], width: int, room: _Room) -> Iterator[list[int]]:
    """Group the figure columns into portions that fit the width."""
    portion: list[int] = []
    for place in range(len(sizes)):
        if portion and room.taken(sizes[column] for column in (*portion, place)) > width:
            yield portion
            portion = []
        portion.append(place)
    yield portion


def _portion(
    rows: Sequence[GridRow], names: Sequence[Sequence[str]], sizes: Mapping[int, int], room: _Room
) -> Iterator[Line]:
    """The rows with one portion of the figure columns."""
    left = room.inner - room.taken(sizes.values())
    beside = max((size for size in map(width_of, chain(*names)) if size <= left), default=0)
    for row, (*upper_words, words) in zip(rows, names, strict=True):
        style = "dim" if row is rows[0] else ""
        for upper in upper_words:
            yield (StyledText(f"{room.indent}{upper}", style),)
        if len(row.figures) < len(rows[0].figures):
            if 0 in sizes:
                yield from folded(
                    f"{padded(words, beside)}{room.gap}{row.figures[-1]}", room.width, room.indent
                )
            continue
        *above, figures = _figure_lines(row, sizes, room.gap)
        name = words
        if width_of(name) > beside:
            yield from folded(
                name, room.width, room.indent, rest=f"{room.indent}{INDENT}", style=style
            )
            name = ""
        for upper in above:
            yield (StyledText(f"{room.indent}{' ' * beside}{upper}".rstrip(" "), style),)
        yield (StyledText(f"{room.indent}{padded(name, beside)}{figures}".rstrip(" "), style),)


def _figure_lines(row: GridRow, sizes: Mapping[int, int], gap: str) -> list[str]:
    """The figures of a row, bottom-aligned on as many lines as its tallest cell."""
    cells = {place: row.figures[place].split("\n") for place in sizes}
    height = max(map(len, cells.values()))
    stacked = {place: [""] * (height - len(cell)) + cell for place, cell in cells.items()}
    return [
        "".join(
            f"{gap}{' ' * (size - width_of(stacked[place][line]))}{stacked[place][line]}"
            for place, size in sizes.items()
        )
        for line in range(height)
    ]
