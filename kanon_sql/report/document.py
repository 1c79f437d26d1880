"""The blocks of a page, independent of its subject and its output format.

A subject (audit, release, profile, comparison) yields blocks and knows no writer; a writer
(terminal, Markdown, HTML) renders any block and knows no subject. A non-breaking space is
`\\u00a0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kanon_sql.report.words.models import Verdict
from kanon_sql.report.words.tables import Bin

NONE = "\u2013"
"""Placeholder for a missing figure."""


class Heading(NamedTuple):
    """A heading for the next blocks: a name, followed by further parts."""

    parts: Sequence[str]
    of_page: bool = False
    """Whether it is the page's heading rather than a table's."""


class Section(NamedTuple):
    """Start of a section, which extends to the next one."""

    title: str


class Prose(NamedTuple):
    """A paragraph."""

    sentences: Sequence[str]
    indented: bool = True


class Strong(NamedTuple):
    """An emphasised sentence."""

    sentence: str


class Warnings(NamedTuple):
    """Warnings that affect how far the figures can be trusted."""

    sentences: Sequence[str]


class Verdicts(NamedTuple):
    """One line per check."""

    checks: Sequence[Verdict]


class Limits(NamedTuple):
    """Title and limitation of each model that holds."""

    of_models: Sequence[tuple[str, str]]


class Bars(NamedTuple):
    """A histogram: a bar per bin."""

    title: str
    header: tuple[str, str, str]
    """Headings of label, count and share."""
    bins: Sequence[Bin]
    mark: str = ""
    """A note at the first bin of sufficiently large classes."""


class GridRow(NamedTuple):
    """The cells of a row: text, then figures.

    With fewer cells than columns, the last one of each kind spans the rest.
    """

    words: tuple[str, ...]
    figures: tuple[str, ...]


class Grid(NamedTuple):
    """A table with optional sentences above and below. Multi-line headings are bottom-aligned."""

    title: str
    header: GridRow
    rows: Sequence[GridRow]
    below: str = ""
    spacious: bool = False
    """Whether a terminal indents it and widens its column gaps."""


def cells_of(grid: Grid) -> Iterator[list[str]]:
    """The cells of every row, header first, each on one line and padded to all columns."""
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
    """A figure before and after; the word is "worse", "better" or ""."""

    name: str
    old: str
    new: str
    word: str


class Changes(NamedTuple):
    """Figures before and after."""

    title: str
    figures: Sequence[Change]


class ChangedCheck(NamedTuple):
    """A check before and after: its change, what it achieved, and the figures that differ."""

    word: str
    title: str
    found: str
    figures: str


class ChangedChecks(NamedTuple):
    """Checks before and after."""

    checks: Sequence[ChangedCheck]


class Values(NamedTuple):
    """Requested values of the data under a warning, as titled lists of rows."""

    warning: str
    lists: Sequence[tuple[str, Sequence[Sequence[str]]]]


class Item(NamedTuple):
    """A name with sentences about it."""

    name: str
    sentences: Sequence[str]


class Status(NamedTuple):
    """The overall status."""

    status: str
    word: str


class Points(NamedTuple):
    """A bullet list of sentences."""

    sentences: Sequence[str]


class FactList(NamedTuple):
    """Terms with their values; None is a blank to fill in by hand."""

    facts: Sequence[tuple[str, str | None]]


class Choices(NamedTuple):
    """Checkboxes to tick by hand."""

    names: Sequence[str]


class LineChart(NamedTuple):
    """A chart, with its figures as a table where it can't be drawn."""

    chart: Mapping[str, Any]
    described: str
    table: Grid
    without: str
    """The sentence below the table if there is no chart."""


class Folded(NamedTuple):
    """A collapsible verbatim text, with a short note next to its title."""

    title: str
    text: str
    aside: str = ""


class Command(NamedTuple):
    """A command line."""

    text: str


class Footer(NamedTuple):
    """Duration, engine and number of statements."""

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
