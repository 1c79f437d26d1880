"""A profile in words and in tables: for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from kanon_sql.profile_result import KnownColumn, ProfileResult, TableProfile
from kanon_sql.report import human, markdown
from kanon_sql.report.human import Line, Part
from kanon_sql.report.wording import KEPT_TOGETHER, counted, listed, number, percent, printable

_INDENT = "  "
_GAP = "   "
_NONE = "\u2013"
_WIDEST_PROSE = 100
_MUCH = 0.1
"""From which share of outliers on clipping is worth a word."""
ONE_BY_ONE = (
    "Columns are taken one at a time; whoever knows several of them singles out more. A small "
    "number here promises nothing about what else may be known."
)


class Grid(NamedTuple):
    """A table of figures under a sentence: the first column is names, the others numbers.

    A row with a single cell beside its name holds words in place of figures.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def render(result: ProfileResult, *, colour: bool = False, width: int = 80) -> str:
    """The result as people read it, without a newline at its end."""
    sections = [_section(table, width) for table in result.tables]
    lines = list(chain.from_iterable(human.separated(sections)))
    return human.coloured(lines) if colour else "\n".join(human.plain(line) for line in lines)


def render_markdown(result: ProfileResult) -> str:
    """The result as Markdown, without a newline at its end."""
    blocks = [block for table in result.tables for block in _markdown_section(table)]
    return "\n\n".join(blocks).replace(KEPT_TOGETHER, " ")


# --- the words ------------------------------------------------------------------------------


def unanswered(table: TableProfile) -> str | None:
    """The sentence for a table of which nothing can be said, or None."""
    name = printable(table.name)
    if table.status == "error":
        return f"{name}: the profile failed: {table.error}"
    if table.status == "no_data":
        return (
            f"{name}: no data. No record was found, so nothing is known of what anyone could find "
            "(exit code 4). Look at the source and at the filter."
        )
    return None


def headline(table: TableProfile) -> list[str]:
    """What was looked at."""
    summary = table.summary
    parts = [printable(table.name), counted(summary.records or 0, "record")]
    if summary.people is not None:
        parts.append(f"{counted(summary.people, 'person')} ({printable(table.entity or '')})")
    parts.append(f"quasi-identifiers {listed(table.quasi_identifiers)}")
    if table.sensitive:
        parts.append(f"sensitive {listed(table.sensitive)}")
    return parts


def as_it_is(table: TableProfile) -> str:
    """The classes of the quasi-identifiers alone."""
    summary = table.summary
    members, uniques = summary.members or 0, summary.uniques or 0
    below = summary.records_below_k or 0
    return (
        f"As it is, k is {number(summary.k or 0)}: {counted(uniques, _member(table))} "
        f"{'is' if uniques == 1 else 'are'} alone in their class"
        f"{_of(uniques, members)}, {number(below)} {'is' if below == 1 else 'are'} in a class "
        f"below {number(table.k_threshold)}{_of(below, members)}; there "
        f"{'is' if summary.classes == 1 else 'are'} {counted(summary.classes or 0, 'class')}."
    )


def grids(table: TableProfile) -> list[Grid]:
    """The answers to the three questions, those that have any."""
    return [grid for grid in (_knows(table), _without(table), _elimination(table)) if grid.rows]


def _knows(table: TableProfile) -> Grid:
    return Grid(
        f"What if someone knows one column more? {_members(table).capitalize()} newly alone in "
        f"their class, and in classes below {number(table.k_threshold)}:",
        ("also known", "newly alone", "share", f"below {number(table.k_threshold)}", "k"),
        tuple(_known_row(column, table) for column in table.attacker_knows),
    )


def _known_row(column: KnownColumn, table: TableProfile) -> tuple[str, ...]:
    name = f"{printable(column.column)}{' (sensitive)' if column.role else ''}"
    if column.identifier_like:
        return name, f"identifier-like: {counted(column.distinct, 'value')}"
    members = column.members or 0
    newly = column.newly_unique_records or 0
    return (
        name,
        number(newly),
        _share(newly, members),
        _share(column.records_below_k or 0, members),
        number(column.k or 0),
    )


def _without(table: TableProfile) -> Grid:
    k = number(table.k_threshold)
    below = table.summary.records_below_k or 0
    return Grid(
        f"What if a quasi-identifier were not known? {_members(table).capitalize()} that would "
        f"leave the classes below {k}, and how many of them lie in its outer 1{KEPT_TOGETHER}%:",
        ("left out", "would leave", "share", f"in its outer 1{KEPT_TOGETHER}%"),
        tuple(
            (
                printable(column.column),
                number(column.records_leaving),
                _share(column.records_leaving, below),
                _NONE if column.share_in_outer_percent is None
                else _short(column.share_in_outer_percent),
            )
            for column in table.without
            if below
        ),
    )  # fmt: skip


def _elimination(table: TableProfile) -> Grid:
    ruled_out = max((len(each.confidence) for each in table.elimination), default=1)
    return Grid(
        "How sure is someone of a sensitive value in the worst class, after ruling out its most "
        "frequent other values?",
        ("ruled out", *(str(place) for place in range(ruled_out)), "certain after"),
        tuple(
            (
                printable(each.sensitive),
                *(_NONE if share is None else _short(share) for share in each.confidence),
                _NONE if each.eliminations_to_certainty is None
                else number(each.eliminations_to_certainty),
            )
            for each in table.elimination
        ),
    )  # fmt: skip


def advice(table: TableProfile) -> Iterator[str]:
    """What to do about the worst column, and about the costliest quasi-identifier."""
    yield from _about_identifiers(table)
    yield from _about_the_worst(table)
    yield from _about_outliers(table)
    yield ONE_BY_ONE


def _about_identifiers(table: TableProfile) -> Iterator[str]:
    names = [column.column for column in table.attacker_knows if column.identifier_like]
    if names:
        one = len(names) == 1
        yield (
            f"{listed(names)} {'has' if one else 'have'} nearly as many values as there are "
            f"records: whoever knows {'it' if one else 'one of them'} finds the record. Drop "
            f"{'it' if one else 'them'} before publishing, or say with --identifiers that "
            f"{'it is' if one else 'they are'} not published."
        )


def _about_the_worst(table: TableProfile) -> Iterator[str]:
    measured = [column for column in table.attacker_knows if not column.identifier_like]
    single = [column for column in measured if column.newly_unique_records]
    worst = next((column for column in single if column.role is None), None)
    if worst is not None:
        newly = worst.newly_unique_records or 0
        yield (
            f"{printable(worst.column)} singles out {counted(newly, _member(table))} more. If "
            "someone may know it, treat it as a quasi-identifier (add it to --qi), drop it, or "
            "generalise it."
        )
    elif single:
        yield (
            f"Only sensitive attributes single anyone out: whoever knows a person's "
            f"{printable(single[0].column)} finds the record, and all else in it."
        )
    elif measured:
        yield "None of these columns singles out anyone who is not alone already."


def _about_outliers(table: TableProfile) -> Iterator[str]:
    leaving = [column for column in table.without if column.records_leaving]
    costliest = max(leaving, key=lambda column: column.records_leaving, default=None)
    if costliest is None:
        return
    name, share = printable(costliest.column), costliest.share_in_outer_percent
    yield (
        f"Of the quasi-identifiers, {name} costs most: without it "
        f"{counted(costliest.records_leaving, _member(table))} would leave the classes below "
        f"{number(table.k_threshold)}. Leave it out, or generalise it first."
        + (
            f" {_short(share)} of them lie in its outer 1{KEPT_TOGETHER}%: clip its lowest and "
            "highest values."
            if share is not None and share >= _MUCH
            else ""
        )
    )


def footer(table: TableProfile) -> str:
    """How long it took, where, and how to see what was asked."""
    return (
        f"{table.seconds:.1f}{KEPT_TOGETHER}s · {table.engine} · "
        f"{counted(len(table.sql), 'statement')}, --format json holds "
        f"{'it' if len(table.sql) == 1 else 'them'}"
    )


def _member(table: TableProfile) -> str:
    return "person" if table.entity else "record"


def _members(table: TableProfile) -> str:
    return "people" if table.entity else "records"


def _of(part: int, whole: int) -> str:
    return f" ({_share(part, whole)})" if part else ""


def _share(part: int, whole: int) -> str:
    return _short(part / whole) if whole else _NONE


def _short(fraction: float) -> str:
    """
    >>> [_short(share).replace(KEPT_TOGETHER, " ") for share in (0.0001, 0.25, 1)]
    ['< 0.1 %', '25.0 %', '100 %']
    """
    return percent(fraction).replace("less than", "<").replace("more than", ">")


# --- for a terminal -------------------------------------------------------------------------


def _section(table: TableProfile, width: int) -> list[Line]:
    sentence = unanswered(table)
    if sentence:
        return human.folded(sentence, width, style="bold")
    prose = min(width, _WIDEST_PROSE)
    blocks = [
        human.folded(" · ".join(headline(table)), width, rest=_INDENT, style="bold"),
        [line for text in table.warnings for line in _warning(text, prose)],
        human.folded(as_it_is(table), prose, _INDENT),
        *(_grid(grid, width, prose) for grid in grids(table)),
        [line for text in advice(table) for line in human.folded(text, prose, _INDENT)],
    ]
    lines = list(chain.from_iterable(human.separated([block for block in blocks if block])))
    return [*lines, (Part(footer(table), "dim"),)]


def _warning(text: str, width: int) -> list[Line]:
    first = f"{_INDENT}warning   {printable(text)}"
    return human.folded(first, width, rest=" " * 12, style="yellow")


def _grid(grid: Grid, width: int, prose: int) -> list[Line]:
    """The title, then a line a row; a name too long for the line has one of its own."""
    lines = human.folded(grid.title, prose, _INDENT)
    figures = [row[1:] for row in (grid.header, *grid.rows) if len(row) == len(grid.header)]
    sizes = [max(human.width_of(row[place]) for row in figures) for place in range(len(figures[0]))]
    room = width - 2 * len(_INDENT) - sum(sizes) - len(_GAP) * len(sizes)
    longest = max(human.width_of(row[0]) for row in (grid.header, *grid.rows))
    names = longest if longest <= room else min(room, human.width_of(grid.header[0]))
    for row in (grid.header, *grid.rows):
        name, *cells = row
        if len(row) < len(grid.header):
            lines += human.folded(
                f"{human.padded(name, names)}{_GAP}{cells[0]}", width, _INDENT * 2
            )
            continue
        if human.width_of(name) > names:
            lines += human.folded(name, width, _INDENT * 2)
            name = ""
        text = human.padded(name, names) + "".join(
            f"{_GAP}{' ' * (size - human.width_of(cell))}{cell}"
            for cell, size in zip(cells, sizes, strict=True)
        )
        lines.append((Part(f"{_INDENT * 2}{text}", "dim" if row is grid.header else ""),))
    return lines


# --- as Markdown ----------------------------------------------------------------------------


def _markdown_section(table: TableProfile) -> Iterator[str]:
    sentence = unanswered(table)
    if sentence:
        yield f"**{markdown.escaped(sentence)}**"
        return
    name, *rest = headline(table)
    yield f"## {markdown.escaped(name)}"
    yield markdown.escaped(" · ".join(rest))
    for text in table.warnings:
        yield f"> **Warning:** {markdown.escaped(printable(text))}"
    yield markdown.escaped(as_it_is(table))
    for grid in grids(table):
        yield markdown.escaped(grid.title)
        yield markdown.grid(grid.header, _even_rows(grid), numbers=True)
    yield markdown.escaped(" ".join(advice(table)))
    yield f"*{markdown.escaped(footer(table))}*"


def _even_rows(grid: Grid) -> Iterator[Sequence[str]]:
    """Every row with as many cells as the header has."""
    for row in grid.rows:
        cells = [markdown.escaped(cell) for cell in row]
        yield [*cells, *[""] * (len(grid.header) - len(row))]
