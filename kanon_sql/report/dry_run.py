"""The page of a dry run: the statements that an audit or search would execute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kanon_sql.errors import plural
from kanon_sql.report.document import Block, Heading, Prose
from kanon_sql.report.words.numbers import printable
from kanon_sql.results.expected import ExpectedSearch, ExpectedStep, ExpectedTable
from kanon_sql.sql.statement import Estimate


def page(tables: Sequence[ExpectedTable]) -> Iterator[Block]:
    """The statements of each table, with the engine's estimates."""
    for table in tables:
        yield from _section(table)


def _section(table: ExpectedTable) -> Iterator[Block]:
    reads = ", ".join(map(printable, table.reads))
    yield Heading([printable(table.name), table.engine, f"reads {reads}"])
    for expected in table.steps:
        yield Prose(list(_words(expected)), name=expected.step.name)
    if table.search is None:
        closing = f"{plural(len(table.steps), 'statement')}, kanon-sql compile shows them."
    else:
        yield Prose(list(_of_search(table.search)), name="search")
        certain = sum(not expected.step.only for expected in table.steps)
        closing = f"{plural(certain, 'statement')} for certain, and what their answers lead to."
    yield Prose([f"Nothing was run: {closing}"], "strong")


def _of_search(search: ExpectedSearch) -> Iterator[str]:
    """The number of steps of a search, and what each one does."""
    if search.at_once:
        yield from _of_best(search, search.at_once)
        return
    most = plural(sum(search.heights.values()), "round" if search.by_class else "step")
    masks = ", and one for each character of a mask" if search.masked else ""
    heights = ", ".join(
        f"{printable(name)} {_high(height, masked=name in search.masked)}"
        for name, height in search.heights.items()
    )
    if search.by_class:
        yield from [
            "Rounds of at most six statements each for sizes alone, and a few more for checks of "
            f"sensitive values, as many as it takes: about {most}{masks} ({heights}).",
            "In each every class that can be split goes down a level in one quasi-identifier.",
            "They read the first frequency set, which is kept here, and not the records.",
            "The release is then audited by the same statements as the table.",
        ]
        return
    yield from [
        f"At most {most}{masks}: {heights}.",
        "Each raises one quasi-identifier by a level, and asks how many records are in violating "
        "classes then.",
        "They read the first frequency set, which is kept here, and not the records."
        if search.keeps_rows
        else "Each reads the records, as the first frequency set does.",
        "The release is then audited by the same statements as the table.",
    ]


def _of_best(search: ExpectedSearch, at_once: int) -> Iterator[str]:
    """How many statements a search for the best levels may take."""
    nodes = math.prod(
        height + 1 for name, height in search.heights.items() if name not in search.masked
    )
    masks = "".join(f", times those of {printable(name)}" for name in sorted(search.masked))
    heights = ", ".join(
        f"{printable(name)} {_high(height, masked=name in search.masked)}"
        for name, height in search.heights.items()
    )
    yield from [
        f"{plural(nodes, 'choice')} of levels{masks}: {heights}.",
        f"A statement looks at {at_once} of them at most; most choices are ruled out by others. "
        "What the suppressed records of some lose, and what is demanded beside sizes, is asked of "
        "those alone that may be the best.",
        "They read the first frequency set, which is kept here, and not the records."
        if search.keeps_rows
        else "Each reads the records, as the first frequency set does.",
        "The release is then audited by the same statements as the table.",
    ]


def _high(height: int, *, masked: bool) -> str:
    if not masked:
        return plural(height, "level")
    more = f" and {height} more" if height else ""
    return f"a level for each character of its longest value{more}"


def _words(expected: ExpectedStep) -> Iterator[str]:
    yield printable(expected.step.question)
    if expected.step.only:
        yield f"Runs {expected.step.only}."
    if words := _estimated(expected.estimate):
        yield words


def _estimated(estimate: Estimate) -> str:
    """The engine's estimate as a sentence, or ""."""
    parts = []
    if estimate.records is not None:
        parts.append(f"about {plural(estimate.records, 'record')} to read")
    if estimate.cost:
        parts.append(estimate.cost)
    return f"The engine expects {' and '.join(parts)}." if parts else ""
