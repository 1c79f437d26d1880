"""The blocks of a page, independent of its subject, independent of its format.

A subject (audit, release, profile, comparison) yields blocks and knows no writer; a writer
(terminal, Markdown, HTML) renders any block and knows no subject. A non-breaking space is
`\u00a0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from kanon_sql.report.words.models import Verdict
    from kanon_sql.report.words.tables import Bin


class Heading(NamedTuple):
    """A heading for the next blocks: a name, followed by further parts."""

    parts: Sequence[str]
    of: Literal["table", "page", "section"] = "table"
    """A section extends to the heading of the next one."""


class Prose(NamedTuple):
    """A paragraph, under a name if it has one."""

    sentences: Sequence[str]
    style: Literal["indented", "flush", "strong", "footer"] = "indented"
    """The footer has the duration, the engine and the number of statements."""
    name: str = ""


class Points(NamedTuple):
    """A list of sentences: bullets, checkboxes to tick by hand, or warnings that affect how far
    the figures can be trusted."""

    sentences: Sequence[str]
    style: Literal["bullet", "choice", "warning"] = "bullet"


class Facts(NamedTuple):
    """Terms with their values, or models that hold with the limitation of each.

    A value of None is a blank to fill in by hand.
    """

    facts: Sequence[tuple[str, str | None]]
    style: Literal["fact", "limit"] = "fact"


class Verdicts(NamedTuple):
    """One line per check."""

    checks: Sequence[Verdict]
    are_changes: bool = False
    """Whether each is a check before and after: its change, what it achieved in both, and the
    figures that differ."""
    header: tuple[str, str, str] = ("check", "found", "reach")
    """Headings of a table of them."""


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


class GridRow(NamedTuple):
    """The cells of a row: text, then figures.

    With fewer cells than columns, the last one of each kind spans the rest.
    """

    words: tuple[str, ...]
    figures: tuple[str, ...]


def named_row(name: str, *figures: str) -> GridRow:
    """A row of a name and its figures."""
    return GridRow((name,), figures)


class Drawing(NamedTuple):
    """A chart of a table's figures."""

    chart: Mapping[str, Any]
    described: str


class Grid(NamedTuple):
    """A table with optional sentences above and below. Multi-line headings are bottom-aligned."""

    title: str
    header: GridRow
    rows: Sequence[GridRow]
    below: str = ""
    spacious: bool = False
    """Whether a terminal indents it and widens its column gaps."""
    drawing: Drawing | None = None
    """A chart that HTML draws in place of the table."""


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


class Bars(NamedTuple):
    """A histogram: a bar per bin."""

    title: str
    header: tuple[str, str, str]
    """Headings of label, count and share."""
    bins: Sequence[Bin]
    mark: str = ""
    """A note at the first bin of sufficiently large classes."""


class Values(NamedTuple):
    """Requested values of the data under a warning, as titled lists of rows."""

    warning: str
    lists: Sequence[tuple[str, Sequence[Sequence[str]]]]


class Verbatim(NamedTuple):
    """A command line, or under a title a collapsible text with a short note."""

    text: str
    title: str = ""
    note: str = ""


class Datum(NamedTuple):
    """A text, of a figure with its exact value and the name under which programs find it."""

    text: str
    name: str = ""
    value: str = ""


class StripFigure(NamedTuple):
    """A figure under its title, with a note."""

    title: str
    shown: Datum
    note: Sequence[Datum] = ()
    status: str = ""


class Strip(NamedTuple):
    """A row of large figures."""

    figures: Sequence[StripFigure]


class Link(NamedTuple):
    """A text that leads to an address; the current one is marked."""

    text: str
    address: str
    is_current: bool = False
    label: str = ""
    """The text for a screen reader, if the other is no sentence alone."""


class ShareCell(NamedTuple):
    """A percentage with a bar as long."""

    text: str
    fraction: float


class Control(NamedTuple):
    """A field of a form, with its label."""

    name: str
    label: str
    value: str = ""
    kind: Literal["text", "number", "select", "radio", "checkbox"] = "text"
    options: Sequence[tuple[str, str]] = ()
    """The values of a selection with their texts."""
    hint: str = ""
    is_on: bool = False
    """Whether a box is ticked, or a selection still open."""


class Button(NamedTuple):
    """A button that sends the form, with a field of its own or to another address."""

    text: str
    is_main: bool = False
    name: str = ""
    value: str = ""
    action: str = ""


Cell = str | Link | ShareCell | Control


def cell_text(cell: Cell) -> str:
    """What a cell says where nothing can be chosen."""
    match cell:
        case str():
            return cell
        case Link(text, address, is_current):
            return f"{text} (now)" if is_current else f"{text}: {address}"
        case Control(_, label, value, kind, options):
            chosen = dict(options).get(value, value)
            return f"{label}: {chosen}" if kind != "select" else chosen
    return cell.text


class Choices(NamedTuple):
    """What can be chosen: a form with its fields, a table of links, or one in the other."""

    title: str = ""
    note: str = ""
    anchor: str = ""
    action: str = ""
    """The address that the form is sent to; without it there is none."""
    hidden: Sequence[tuple[str, str]] = ()
    controls: Sequence[Control] = ()
    buttons: Sequence[Button | Link] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    figures: Sequence[int] = ()
    """The columns of figures."""
    caption: str = ""
    style: Literal["fields", "card", "table", "list", "next"] = "fields"
    method: Literal["get", "post"] = "get"


Block = (
    Heading | Prose | Points | Facts | Verdicts | Changes | Grid | Bars | Values | Verbatim | Strip
    | Choices
)  # fmt: skip
