"""What an audit would run, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.engines.base import Estimate
from kanon_sql.errors import plural
from kanon_sql.report import human
from kanon_sql.report.human import Line
from kanon_sql.report.wording import printable
from kanon_sql.steps import ExpectedStep, ExpectedTable

_INDENT = "  "
_UNDER_NAME = " " * 4


def render(tables: Sequence[ExpectedTable], *, colour: bool = False, width: int = 80) -> str:
    """The statements of each table with what the engine expects, without a newline at the end."""
    blocks = [block for table in tables for block in _section(table, width)]
    lines = [line for block in human.separated(blocks) for line in block]
    return human.coloured(lines) if colour else "\n".join(human.plain(line) for line in lines)


def _section(table: ExpectedTable, width: int) -> Iterator[list[Line]]:
    reads = ", ".join(map(printable, table.reads))
    headline = f"{printable(table.name)} · {table.engine} · reads {reads}"
    yield human.folded(headline, width, rest=_INDENT, style="bold")
    for expected in table.steps:
        yield [
            line
            for text in (f"{_INDENT}{expected.step.name}", *_words(expected))
            for line in human.folded(text, width, rest=_UNDER_NAME)
        ]
    yield human.folded(
        f"Nothing was run: {plural(len(table.steps), 'statement')}, kanon-sql compile shows them.",
        width,
        style="bold",
    )


def _words(expected: ExpectedStep) -> Iterator[str]:
    yield f"{_UNDER_NAME}{printable(expected.step.question)}"
    if expected.step.only:
        yield f"{_UNDER_NAME}Runs {expected.step.only}."
    if words := _estimated(expected.estimate):
        yield f"{_UNDER_NAME}{words}"


def _estimated(estimate: Estimate) -> str:
    """What the engine expects, as a sentence; nothing where it expects nothing."""
    parts = []
    if estimate.records is not None:
        parts.append(f"about {plural(estimate.records, 'record')} to read")
    if estimate.cost:
        parts.append(estimate.cost)
    return f"The engine expects {' and '.join(parts)}." if parts else ""
