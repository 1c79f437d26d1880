"""An audit as Markdown, for a pull request or a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kanon_sql.report import wording
from kanon_sql.report.wording import Verdict
from kanon_sql.result import AuditResult, TableResult

_MARKS = re.compile(r"[\\`*|<>\[\]~]|(?<!\w)_|_(?!\w)")


def render(result: AuditResult) -> str:
    """The result as Markdown, without a newline at its end."""
    blocks = [block for table in result.tables for block in _section(table)]
    closing = wording.closing(result)
    if closing:
        blocks.append(f"**{escaped(closing)}**")
    return wording.plain("\n\n".join(blocks))


def _section(table: TableResult) -> Iterator[str]:
    unanswered = wording.unanswered(table)
    if unanswered:
        yield f"**{escaped(unanswered)}**"
        return
    name, *rest = wording.headline(table)
    yield f"## {escaped(name)}"
    yield escaped(" · ".join(rest))
    yield verdicts(wording.verdicts(table))
    yield from warnings(table)
    if table.histogram:
        yield _histogram(table)
    yield from (escaped(text) for text in wording.findings(table))
    yield from silences(table)
    yield escaped(" ".join([wording.outcome(table), *wording.advice(table)]))
    yield from _shown(table)
    yield f"*{escaped(wording.footer(table))}*"


def verdicts(found: Iterable[Verdict]) -> str:
    """A row a check."""
    return grid(
        ["", "check", "found", "reach"],
        (
            [f"**{each.word}**", *map(escaped, (each.title, each.achieved, each.extent))]
            for each in found
        ),
    )


def warnings(table: TableResult) -> Iterator[str]:
    """The warnings as one quotation, if there are any."""
    if table.warnings:
        yield "\n>\n".join(
            f"> **Warning:** {escaped(warning)}" for warning in wording.warnings(table)
        )


def silences(table: TableResult) -> Iterator[str]:
    """What each model that holds does not protect against."""
    for title, sentence in wording.silences(table):
        yield f"What {escaped(title)} does not promise: {escaped(sentence)}"


def _histogram(table: TableResult) -> str:
    return grid(
        ["class size", wording.members(table), "share"],
        ([size.label, wording.number(size.count), size.share] for size in wording.histogram(table)),
        numbers=True,
    )


def _shown(table: TableResult) -> Iterator[str]:
    if not table.shown:
        return
    yield f"> **{escaped(wording.PERSONAL_DATA)}**"
    for name, rows in table.shown.items():
        yield f"### {escaped(wording.shown_heading(name, rows))}"
        cells = [[escaped(cell) for cell in row] for row in wording.cells(rows)]
        yield grid(cells[0], cells[1:]) if cells else "none"


def grid(header: Iterable[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    columns = list(header)
    rule = ["---:" if numbers else "---"] * len(columns)
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, rule, *rows))


def escaped(text: str) -> str:
    r"""The text with every character that Markdown would read as a mark made harmless.

    >>> escaped("birth_date *zip* a|b")
    'birth_date \\*zip\\* a\\|b'
    """
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", text)
