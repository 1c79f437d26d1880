"""The page of a dry run: the statements that an audit or search would execute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from kanon_sql.errors import plural
from kanon_sql.report.document import Block, Heading, Prose
from kanon_sql.report.words.numbers import printable
from kanon_sql.results.diff import ExpectedSearch, ExpectedTable


def page(tables: Sequence[ExpectedTable]) -> Iterator[Block]:
    """The statements of each table, and what they read."""
    for table in tables:
        yield from _section(table)


def _section(table: ExpectedTable) -> Iterator[Block]:
    reads = ", ".join(map(printable, table.reads))
    yield Heading([printable(table.name), table.engine, f"reads {reads}"])
    for step in table.steps:
        runs = [f"Runs {step.only}."] if step.only else []
        yield Prose([printable(step.question), *runs], name=step.name)
    if table.search is None:
        closing = f"{plural(len(table.steps), 'statement')}, kanon-sql compile shows them."
    else:
        yield Prose(list(_of_search(table.search)), name="search")
        certain = sum(not step.only for step in table.steps)
        closing = f"{plural(certain, 'statement')} for certain, and their follow-ups."
    yield Prose([f"Nothing was run: {closing}"], "strong")


def _of_search(search: ExpectedSearch) -> Iterator[str]:
    """The number of steps of a search, and what each one does."""
    if search.at_once:
        yield from _of_best(search, search.at_once)
        return
    most = plural(sum(search.heights.values()), "round" if search.by_class else "step")
    masks = ""
    if search.masked:
        several = sum(_supposed_heights(search).values())
        masks = f", and one for each character of a mask, so {several:,} if {_supposed(search)}"
    heights = ", ".join(
        f"{printable(name)} {_high(height, masked=name in search.masked)}"
        for name, height in search.heights.items()
    )
    if search.by_class:
        yield from [
            "Rounds of at most six statements each for class sizes, and a few more for checks of "
            f"sensitive values, as many as needed: about {most}{masks} ({heights}).",
            "In each round every class that can be split goes down a level in one "
            "quasi-identifier.",
            "They read the first frequency set, which is kept on this machine, not the records.",
            "The release is then audited by the same statements as the table.",
        ]
        return
    yield from [
        f"At most {most}{masks}: {heights}.",
        "Each raises one quasi-identifier by a level and counts the records in violating classes.",
        "They read the first frequency set, which is kept on this machine, not the records."
        if search.materialises
        else "Each reads the records, as the first frequency set does.",
        "The release is then audited by the same statements as the table.",
    ]


def _of_best(search: ExpectedSearch, at_once: int) -> Iterator[str]:
    """How many statements a search for the best levels may take."""
    nodes = math.prod(
        height + 1 for name, height in search.heights.items() if name not in search.masked
    )
    masks = ""
    if search.masked:
        names = " and ".join(map(printable, sorted(search.masked)))
        several = math.prod(height + 1 for height in _supposed_heights(search).values())
        masks = f" for each level of {names}, so {several:,} if {_supposed(search)}"
    heights = ", ".join(
        f"{printable(name)} {_high(height, masked=name in search.masked)}"
        for name, height in search.heights.items()
    )
    yield from [
        f"{plural(nodes, 'choice')} of levels{masks}: {heights}.",
        f"A statement evaluates {at_once} of them at most; most choices are ruled out by others. "
        "The loss by suppressed records, and checks other than sizes, are evaluated only for "
        "choices that may be the best.",
        "They read the first frequency set, which is kept on this machine, not the records."
        if search.materialises
        else "Each reads the records, as the first frequency set does.",
        "The release is then audited by the same statements as the table.",
    ]


_SUPPOSED = 5
"""Length of the longest masked value in an example, as reading it would be a query."""


def _supposed_heights(search: ExpectedSearch) -> dict[str, int]:
    """The height of each hierarchy if the longest masked values were so long."""
    return {
        name: height + _SUPPOSED * (name in search.masked)
        for name, height in search.heights.items()
    }


def _supposed(search: ExpectedSearch) -> str:
    longest = "values have" if len(search.masked) > 1 else "value has"
    return f"the longest {longest} {_SUPPOSED} characters"


def _high(height: int, *, masked: bool) -> str:
    if not masked:
        return plural(height, "level")
    more = f" and {height} more" if height else ""
    return f"a level for each character of its longest value{more}"
