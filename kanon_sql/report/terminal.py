"""Writes a page for a terminal: plain text that fits 80 columns, optionally coloured."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from kanon_sql.report.document import (
    Bars,
    Block,
    Changes,
    Facts,
    Grid,
    Heading,
    Points,
    Prose,
    Values,
    Verbatim,
    Verdicts,
)
from kanon_sql.report.grid import grid_lines
from kanon_sql.report.lines import (
    EMPTY,
    INDENT,
    Line,
    StyledText,
    coloured,
    folded,
    padded,
    plain,
    widest,
)
from kanon_sql.report.words import numbers

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
"""What precedes a point, and its colour."""


def write(page: Iterable[Block], *, colour: bool = False, width: int = 80) -> str:
    """The page as text, without a final newline."""
    lines: list[Line] = []
    for block in page:
        if lines and not (isinstance(block, Prose) and block.style == "footer"):
            lines.append(EMPTY)
        lines += _lines(block, width)
    return coloured(lines) if colour else "\n".join(plain(line) for line in lines)


def _lines(block: Block, width: int) -> Iterable[Line]:
    prose = min(width, _WIDEST_PROSE)
    match block:
        case Heading(parts):
            return folded(" · ".join(parts), width, rest=INDENT, style="bold")
        case Prose():
            return _prose(block, width)
        case Points(sentences, style):
            mark, colour = _MARKS[style]
            points = (f"{mark}{each}" for each in sentences)
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
            return [*_titled(title, width), *_as_written(text)]


# --- sentences ------------------------------------------------------------------------------


def _folded(sentences: Iterable[str], width: int, first: str = "", **how: str) -> list[Line]:
    return [line for sentence in sentences for line in folded(sentence, width, first, **how)]


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


def _as_written(text: str) -> list[Line]:
    return [(StyledText(f"{INDENT * 2}{line}"),) for line in text.split("\n")]


def _titled(title: str, width: int) -> list[Line]:
    return folded(title, width, INDENT) if title else []


def _limits(limits: Iterable[tuple[str, str | None]], width: int) -> list[Line]:
    above = folded("What these checks do not cover:", width, INDENT)
    return [*above, *_folded((f"{model}: {limit}" for model, limit in limits), width, INDENT * 2)]


# --- checks ---------------------------------------------------------------------------------


def _verdicts(verdicts: Verdicts, width: int) -> Iterator[Line]:
    """One line per check if the widest verdict fits, else with its extent below."""
    found = verdicts.checks
    words = 7 if verdicts.are_changes else max(8, widest(check.word for check in found))
    under = " " * (2 * len(INDENT) + words)
    titles = widest(check.title for check in found)
    achieved = widest(check.achieved for check in found)
    extent = widest(check.extent for check in found)
    one_line = len(under) + titles + 2 + achieved + 2 + extent <= width and not verdicts.are_changes
    for check in found:
        word = StyledText(f"{INDENT}{check.word:<{words}}{INDENT}", _STYLES.get(check.status, ""))
        text = f"{padded(check.title, titles)}  {check.achieved}"
        if one_line:
            yield (word, StyledText(f"{padded(text, titles + 2 + achieved)}  {check.extent}"))
            continue
        first, *rest = folded(text, width, under)
        yield (word, StyledText(first[0].text.removeprefix(under)))
        yield from rest
        if check.extent:
            yield from folded(check.extent, width, under)


# --- figures --------------------------------------------------------------------------------


def _bars(bars: Bars, width: int) -> Iterator[Line]:
    """One line per bin: label, bar, count, share."""
    bins = bars.bins
    labels = max(7, *(len(each.label) for each in bins))
    counts = max(len(numbers.number(each.count)) for each in bins)
    shares = max(len(each.share) for each in bins)
    notes = max(len(each.note) for each in bins)
    room = width - len(INDENT) - labels - 2 - 3 - counts - 3 - shares - (3 + notes if notes else 0)
    longest = max(8, min(_WIDEST_BAR, room))
    most = max(each.fraction for each in bins)
    yield (StyledText(f"{INDENT}{bars.title}"),)
    for each in bins:
        figures = f"   {numbers.number(each.count):>{counts}}   {each.share:>{shares}}"
        yield (
            StyledText(f"{INDENT}{each.label:>{labels}}  "),
            StyledText(
                f"{numbers.bar(each.fraction / most, longest):<{longest}}",
                "red" if each.small else "cyan",
            ),
            StyledText(f"{figures}   {each.note}" if each.note else figures),
        )


def _changes(changes: Changes) -> Iterator[Line]:
    figures = changes.figures
    names = widest([changes.title, *(each.name for each in figures)])
    old = widest(["old", *(each.old for each in figures)])
    new = widest(["new", *(each.new for each in figures)])
    title = padded(changes.title, names)
    yield (StyledText(f"{INDENT}{title}   {'old':>{old}}   {'new':>{new}}", "dim"),)
    for each in figures:
        cells = f"{padded(each.name, names)}   {each.old:>{old}}   {each.new:>{new}}"
        yield (StyledText(f"{INDENT}{cells}   "), StyledText(each.word, _STYLES.get(each.word, "")))


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
