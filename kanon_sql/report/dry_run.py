"""What an audit or a search for levels would run, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.engines.base import Estimate
from kanon_sql.errors import plural
from kanon_sql.report import human
from kanon_sql.report.human import Line
from kanon_sql.report.wording import printable
from kanon_sql.steps import ExpectedSearch, ExpectedStep, ExpectedTable

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
    if table.search is None:
        closing = f"{plural(len(table.steps), 'statement')}, kanon-sql compile shows them."
    else:
        yield [
            line
            for text in (f"{_INDENT}search", *_of_search(table.search))
            for line in human.folded(text, width, rest=_UNDER_NAME)
        ]
        certain = sum(not expected.step.only for expected in table.steps)
        closing = f"{plural(certain, 'statement')} for certain, and what their answers lead to."
    yield human.folded(f"Nothing was run: {closing}", width, style="bold")


def _of_search(search: ExpectedSearch) -> Iterator[str]:
    """How many steps there may be, and what each is like."""
    most = plural(sum(search.heights.values()), "step")
    masks = ", and one for each character of a mask" if search.masked else ""
    heights = ", ".join(
        f"{printable(name)} {_high(height, masked=name in search.masked)}"
        for name, height in search.heights.items()
    )
    sentences = [
        f"At most {most}{masks}: {heights}.",
        "Each raises one quasi-identifier by a level, and asks how many records are in violating "
        "classes then.",
        "They read the first frequency set, which is kept here, and not the records."
        if search.keeps_rows
        else "Each reads the records, as the first frequency set does.",
        "The release is then audited by the same statements as the table.",
    ]
    yield from (f"{_UNDER_NAME}{sentence}" for sentence in sentences)


def _high(height: int, *, masked: bool) -> str:
    if not masked:
        return plural(height, "level")
    more = f" and {height} more" if height else ""
    return f"a level for each character of its longest value{more}"


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
