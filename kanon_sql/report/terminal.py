"""Writes a page for a terminal: plain text that fits 80 columns, optionally coloured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kanon_sql.report.document import (
    Bars,
    Block,
    ChangedChecks,
    Changes,
    Choices,
    Command,
    FactList,
    Folded,
    Footer,
    Grid,
    Heading,
    Item,
    Limits,
    LineChart,
    Points,
    Prose,
    Section,
    Status,
    Strong,
    Values,
    Verdicts,
    Warnings,
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
from kanon_sql.report.words.tables import Bin

_STYLES = {
    "violated": "bold red", "accepted": "bold yellow", "holds": "bold green", "measured": "bold",
    "worse": "bold red", "better": "bold green", "new": "bold", "gone": "bold",
}  # fmt: skip
_EIGHTHS = " ▏▎▍▌▋▊▉"
_WIDEST_BAR = 28
_WIDEST_PROSE = 100
_UNDER_TITLE = " " * 12
_UNDER_CHECK = " " * 11
_UNDER_NAME = " " * 4


def write(page: Iterable[Block], *, colour: bool = False, width: int = 80) -> str:
    """The page as text, without a final newline."""
    lines: list[Line] = []
    for block in page:
        if lines and not isinstance(block, Footer):
            lines.append(EMPTY)
        lines += _lines(block, width)
    return coloured(lines) if colour else "\n".join(plain(line) for line in lines)


def _lines(block: Block, width: int) -> Iterable[Line]:
    prose = min(width, _WIDEST_PROSE)
    match block:
        case Heading(parts):
            return folded(" · ".join(parts), width, rest=INDENT, style="bold")
        case Prose(sentences, indented):
            return _sentences(sentences, prose, INDENT if indented else "")
        case Strong(sentence):
            return folded(sentence, width, style="bold")
        case Warnings(sentences):
            return _warnings(sentences, prose)
        case Verdicts():
            return _verdicts(block, width)
        case Limits():
            return _limits(block, prose)
        case Bars():
            return _bars(block, width)
        case Grid():
            return [
                *_titled(block.title, prose),
                *grid_lines(block, width),
                *_titled(block.below, prose),
            ]
        case Changes():
            return _changes(block)
        case ChangedChecks():
            return _changed_checks(block, width)
        case Values():
            return _values(block, width)
        case Item(name, sentences):
            return [
                *folded(f"{INDENT}{name}", width, rest=_UNDER_NAME),
                *_sentences(sentences, width, _UNDER_NAME),
            ]
        case Section(title):
            return folded(title, width, style="bold")
        case Status(status, word):
            return [(StyledText(f"{INDENT}{word}", _STYLES.get(status, "bold")),)]
        case Points(sentences) | Choices(sentences):
            return [line for each in sentences for line in folded(each, prose, "  - ", rest="    ")]
        case FactList(facts):
            return _facts(facts, prose)
        case LineChart(table=table):
            return _lines(table, width)
        case Folded(title, text, _):
            return [(StyledText(f"{INDENT}{title}"),), *_as_written(text)]
        case Command(text):
            return _as_written(text)
        case Footer(text):
            return [(StyledText(text, "dim"),)]


# --- sentences ------------------------------------------------------------------------------


def _sentences(sentences: Iterable[str], width: int, indent: str) -> list[Line]:
    return [line for sentence in sentences for line in folded(sentence, width, indent)]


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


def _warnings(sentences: Iterable[str], width: int) -> list[Line]:
    return [
        line
        for sentence in sentences
        for line in folded(f"  warning   {sentence}", width, rest=_UNDER_TITLE, style="yellow")
    ]


def _limits(limits: Limits, width: int) -> list[Line]:
    lines = folded("What holds has its limits:", width, INDENT)
    for title, sentence in limits.of_models:
        lines += folded(f"{title}: {sentence}", width, INDENT * 2)
    return lines


# --- checks ---------------------------------------------------------------------------------


def _verdicts(verdicts: Verdicts, width: int) -> list[Line]:
    """One line per check if the widest fits, else with its extent below."""
    found = verdicts.checks
    titles = widest(verdict.title for verdict in found)
    achieved = widest(verdict.achieved for verdict in found)
    extent = widest(verdict.extent for verdict in found)
    one_line = len(_UNDER_TITLE) + titles + 2 + achieved + 2 + extent <= width
    lines: list[Line] = []
    for verdict in found:
        word = StyledText(f"{INDENT}{verdict.word:<8}{INDENT}", _STYLES[verdict.status])
        text = f"{padded(verdict.title, titles)}  {verdict.achieved}"
        if one_line:
            lines.append(
                (word, StyledText(f"{padded(text, titles + 2 + achieved)}  {verdict.extent}"))
            )
            continue
        lines += _beside(word, text, width, _UNDER_TITLE)
        if verdict.extent:
            lines += folded(verdict.extent, width, _UNDER_TITLE)
    return lines


def _changed_checks(changed: ChangedChecks, width: int) -> Iterator[Line]:
    """Each changed check, wrapped below its word."""
    titles = widest(check.title for check in changed.checks)
    for check in changed.checks:
        word = StyledText(f"{INDENT}{check.word:<7}{INDENT}", _STYLES.get(check.word, ""))
        text = f"{padded(check.title, titles)}  {check.found}".rstrip()
        yield from _beside(word, text, width, _UNDER_CHECK)
        if check.figures:
            yield from folded(check.figures, width, _UNDER_CHECK)


def _beside(word: StyledText, text: str, width: int, under: str) -> Iterator[Line]:
    """A word, with wrapped text next to it."""
    first, *rest = folded(text, width, under)
    yield (word, StyledText(first[0].text.removeprefix(under)))
    yield from rest


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
            StyledText(f"{_bar(each, most, longest):<{longest}}", "red" if each.small else "cyan"),
            StyledText(f"{figures}   {each.note}" if each.note else figures),
        )


def _bar(each: Bin, most: float, longest: int) -> str:
    """A bar in eighths of a character; non-zero is always visible."""
    eighths = max(round(each.fraction / most * longest * 8), 1 if each.fraction else 0)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


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
