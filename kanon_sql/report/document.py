"""What a page is made of: blocks of words and figures, which every writer can write.

A subject (an audit, a release, a profile, a comparison) yields blocks and knows no writer; a writer
(for a terminal, Markdown, HTML) writes any blocks and knows no subject. A space that must not be
folded is `\\u00a0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kanon_sql.report.words.models import Verdict
from kanon_sql.report.words.tables import Bin

NONE = "\u2013"
"""What stands where there is no figure."""


class Heading(NamedTuple):
    """What the next blocks are about. The first part is its name, the others follow it."""

    parts: Sequence[str]
    of_page: bool = False
    """Whether it is the heading of all that follows, and not of one table."""


class Section(NamedTuple):
    """A part of the page begins: all blocks up to the next one are in it."""

    title: str


class Prose(NamedTuple):
    """Sentences that belong together."""

    sentences: Sequence[str]
    indented: bool = True


class Strong(NamedTuple):
    """A sentence that must not be overlooked."""

    sentence: str


class Warnings(NamedTuple):
    """What to be careful about before the figures are believed."""

    sentences: Sequence[str]


class Verdicts(NamedTuple):
    """A line a check."""

    checks: Sequence[Verdict]


class Limits(NamedTuple):
    """What each model that holds does not promise: its title, and a sentence."""

    of_models: Sequence[tuple[str, str]]


class Bars(NamedTuple):
    """How many there are of each size, with a bar for each share."""

    title: str
    header: tuple[str, str, str]
    """What a label, a count and a share are."""
    bins: Sequence[Bin]
    mark: str = ""
    """What is said where the classes begin that are large enough."""


class GridRow(NamedTuple):
    """Words, then figures.

    With fewer words than columns the last word reaches over the rest, and so does the last figure.
    """

    words: tuple[str, ...]
    figures: tuple[str, ...]


class Grid(NamedTuple):
    """A table between two sentences. A heading of several lines stands on the last of them."""

    title: str
    header: GridRow
    rows: Sequence[GridRow]
    below: str = ""
    spacious: bool = False
    """Whether a terminal sets it in, and its columns farther apart."""


def cells_of(grid: Grid) -> Iterator[list[str]]:
    """Every row, the header first, each cell in one line and as many as there are columns."""
    words, figures = map(len, grid.header)
    for row in (grid.header, *grid.rows):
        cells = (
            *row.words,
            *[""] * (words - len(row.words)),
            *row.figures,
            *[""] * (figures - len(row.figures)),
        )
        yield [cell.strip().replace("\n", " ") for cell in cells]


class Change(NamedTuple):
    """A figure then and now; the word is worse, better, or nothing."""

    name: str
    old: str
    new: str
    word: str


class Changes(NamedTuple):
    """Figures then and now."""

    title: str
    figures: Sequence[Change]


class ChangedCheck(NamedTuple):
    """A check then and now: what became of it, what was found, and which figures differ."""

    word: str
    title: str
    found: str
    figures: str


class ChangedChecks(NamedTuple):
    """Checks then and now."""

    checks: Sequence[ChangedCheck]


class Values(NamedTuple):
    """Rows of values that were asked for, under a warning; each with what they are."""

    warning: str
    lists: Sequence[tuple[str, Sequence[Sequence[str]]]]


class Item(NamedTuple):
    """A name, and sentences about it."""

    name: str
    sentences: Sequence[str]


class Status(NamedTuple):
    """What came of it all, in a word."""

    status: str
    word: str


class Points(NamedTuple):
    """Sentences that each stand for themselves."""

    sentences: Sequence[str]


class FactList(NamedTuple):
    """Terms with what they are; None is a line to fill in by hand."""

    facts: Sequence[tuple[str, str | None]]


class Choices(NamedTuple):
    """What one of is to be ticked by hand."""

    names: Sequence[str]


class LineChart(NamedTuple):
    """A chart, and the same figures as a table for who can't draw it."""

    chart: Mapping[str, Any]
    described: str
    table: Grid
    without: str
    """What is said where the table stands alone."""


class Folded(NamedTuple):
    """A text to unfold, as it was written, with something short beside its title."""

    title: str
    text: str
    aside: str = ""


class Command(NamedTuple):
    """A command as it was given or can be."""

    text: str


class Footer(NamedTuple):
    """How the figures above were come by."""

    text: str


Block = (
    Heading
    | Section
    | Points
    | Status
    | FactList
    | Choices
    | LineChart
    | Folded
    | Command
    | Prose
    | Strong
    | Warnings
    | Verdicts
    | Limits
    | Bars
    | Grid
    | Changes
    | ChangedChecks
    | Values
    | Item
    | Footer
)
