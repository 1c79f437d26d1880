"""An audit for a terminal: plain text that 80 columns are enough for, coloured if asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from kanon_sql.report import wording
from kanon_sql.report.wording import Verdict
from kanon_sql.result import AuditResult, TableResult

_STYLES = {
    "violated": "bold red", "accepted": "bold yellow", "holds": "bold green", "measured": "bold",
}  # fmt: skip
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WIDEST_BAR = 28
_WIDEST_PROSE = 100
_INDENT = "  "
_UNDER_TITLE = " " * 12


class Part(NamedTuple):
    """Some text of a line, and how it is coloured."""

    text: str
    style: str = ""


Line = tuple[Part, ...]
_EMPTY: Line = ()


def render(result: AuditResult, *, colour: bool = False, width: int = 80) -> str:
    """The result as people read it, without a newline at its end."""
    sections = [_section(table, width) for table in result.tables]
    lines = list(chain.from_iterable(separated(sections)))
    closing = wording.closing(result)
    if closing:
        lines += [_EMPTY, *folded(closing, width, style="bold")]
    return coloured(lines) if colour else "\n".join(plain(line) for line in lines)


def _section(table: TableResult, width: int) -> list[Line]:
    unanswered = wording.unanswered(table)
    if unanswered:
        return folded(unanswered, width, style="bold")
    prose = min(width, _WIDEST_PROSE)
    blocks = (
        _headline(table, width),
        verdicts(wording.verdicts(table), width),
        warnings(table, prose),
        _histogram(table, width),
        *(folded(text, prose, _INDENT) for text in wording.findings(table)),
        silences(table, prose),
        _advice(table, prose),
        _shown(table, width),
    )
    lines = list(chain.from_iterable(separated([block for block in blocks if block])))
    return [*lines, (Part(wording.footer(table), "dim"),)]


def _headline(table: TableResult, width: int) -> list[Line]:
    """The parts side by side, or as many to a line as fit."""
    return folded(" · ".join(wording.headline(table)), width, rest=_INDENT, style="bold")


def verdicts(found: Sequence[Verdict], width: int) -> list[Line]:
    """A line a check where the widest fits, else what it reaches below it."""
    titles = max((width_of(verdict.title) for verdict in found), default=0)
    achieved = max((width_of(verdict.achieved) for verdict in found), default=0)
    extent = max((width_of(verdict.extent) for verdict in found), default=0)
    one_line = len(_UNDER_TITLE) + titles + 2 + achieved + 2 + extent <= width
    lines: list[Line] = []
    for verdict in found:
        word = Part(f"{_INDENT}{verdict.word:<8}{_INDENT}", _STYLES[verdict.status])
        text = f"{padded(verdict.title, titles)}  {verdict.achieved}"
        if one_line:
            lines.append((word, Part(f"{padded(text, titles + 2 + achieved)}  {verdict.extent}")))
            continue
        first, *rest = folded(text, width, _UNDER_TITLE)
        lines.append((word, Part(first[0].text.removeprefix(_UNDER_TITLE))))
        lines += rest
        if verdict.extent:
            lines += folded(verdict.extent, width, _UNDER_TITLE)
    return lines


def warnings(table: TableResult, width: int) -> list[Line]:
    return [
        line
        for warning in wording.warnings(table)
        for line in folded(f"  warning   {warning}", width, rest=_UNDER_TITLE, style="yellow")
    ]


def _histogram(table: TableResult, width: int) -> list[Line]:
    """A bar a bin: the label, the bar, the records, their share."""
    bins = wording.histogram(table)
    if not bins:
        return []
    labels = max(7, *(len(size.label) for size in bins))
    counts = max(len(wording.number(size.count)) for size in bins)
    shares = max(len(size.share) for size in bins)
    notes = max(len(size.note) for size in bins)
    room = width - len(_INDENT) - labels - 2 - 3 - counts - 3 - shares - (3 + notes if notes else 0)
    longest = max(8, min(_WIDEST_BAR, room))
    most = max(size.fraction for size in bins)
    lines: list[Line] = [(Part(f"{_INDENT}{wording.histogram_title(table)}"),)]
    for size in bins:
        bar = _bar(size.fraction / most, longest)
        figures = f"   {wording.number(size.count):>{counts}}   {size.share:>{shares}}"
        note = f"   {size.note}" if size.note else ""
        lines.append(
            (
                Part(f"{_INDENT}{size.label:>{labels}}  "),
                Part(f"{bar:<{longest}}", "red" if size.small else "cyan"),
                Part(f"{figures}{note}"),
            )
        )
    return lines


def _bar(fraction: float, longest: int) -> str:
    """A bar in eighths of a character; whatever is more than nothing is seen."""
    eighths = max(round(fraction * longest * 8), 1 if fraction else 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def silences(table: TableResult, width: int) -> list[Line]:
    """What each model that holds does not protect against."""
    limits = wording.silences(table)
    if not limits:
        return []
    lines = folded("What holds has its limits:", width, _INDENT)
    for title, sentence in limits:
        lines += folded(f"{title}: {sentence}", width, _INDENT * 2)
    return lines


def _advice(table: TableResult, width: int) -> list[Line]:
    sentences = [wording.outcome(table), *wording.advice(table)]
    return [line for sentence in sentences for line in folded(sentence, width, _INDENT)]


def _shown(table: TableResult, width: int) -> list[Line]:
    """The values that were asked for, under a warning."""
    if not table.shown:
        return []
    lines = folded(wording.PERSONAL_DATA, width, _INDENT, style="bold yellow")
    for name, rows in table.shown.items():
        lines += [_EMPTY, (Part(f"{_INDENT}{wording.shown_heading(name, rows)}", "bold"),)]
        lines += _values(rows, width)
    return lines


def _values(rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[Line]:
    """The rows in columns, or one after the other where the columns are too wide."""
    cells = wording.cells(rows) or [["none"]]
    widths = [max(width_of(row[column]) for row in cells) for column in range(len(cells[0]))]
    if len(_INDENT) * 2 + sum(widths) + 3 * (len(widths) - 1) > width:
        widths = [0] * len(widths)
    for row in cells:
        text = " · ".join(padded(cell, size) for cell, size in zip(row, widths, strict=True))
        yield from folded(text.rstrip(), width, _INDENT * 2, rest=_INDENT * 3)


# --- lines ----------------------------------------------------------------------------------


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
            lines.append((Part(f"{indent}{line.rstrip(' ')}", style),))
            indent, longer = first if rest is None else rest, word.lstrip(" ")
        line = longer
    return [*lines, (Part(f"{indent}{line.rstrip(' ')}", style),)]


def _words(text: str) -> Iterator[str]:
    """Each word with the spaces before it, so that columns inside a line keep their place."""
    spaces = ""
    for word in text.split(" "):
        if word:
            yield spaces + word
            spaces = " "
        else:
            spaces += " "


def separated(blocks: Iterable[list[Line]]) -> Iterator[list[Line]]:
    for position, block in enumerate(blocks):
        if position:
            yield [_EMPTY]
        yield block


def padded(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def width_of(text: str) -> int:
    """How many columns of a terminal the text takes: two for a wide character."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def plain(line: Line) -> str:
    return wording.plain("".join(part.text for part in line)).rstrip()


def coloured(lines: Iterable[Line]) -> str:
    from io import StringIO

    from rich.console import Console
    from rich.text import Text

    page = StringIO()
    console = Console(file=page, force_terminal=True, color_system="standard", no_color=False)
    for line in lines:
        text = Text.assemble(*((wording.plain(part.text), part.style) for part in line))
        console.print(text, soft_wrap=True, highlight=False)
    return page.getvalue().removesuffix("\n")
