"""The page of a dry run: the statements that an audit or search would execute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kanon_sql.errors import plural
from kanon_sql.report.document import Block, Heading, Prose
from kanon_sql.report.words.numbers import printable
from kanon_sql.sql.statement import Statement


@dataclass(frozen=True)
class ExpectedSearch:
    """What is known about a lattice search before it runs."""

    heights: Mapping[str, int]
    """Height of each quasi-identifier's hierarchy, masks excluded."""
    masked: frozenset[str]
    """Quasi-identifiers with an additional level per character of their longest value."""
    materialises: bool
    """Whether the records are read once and materialised, rather than at each step."""
    by_class: bool = False
    """Whether classes are specialised top-down (local recoding), not the table generalised."""
    at_once: int | None = None
    """Number of nodes evaluated per statement by the optimal search."""


@dataclass(frozen=True)
class ExpectedTable:
    """The statements that a question on one table would run, and the tables that they read."""

    name: str
    engine: str
    reads: tuple[str, ...]
    steps: tuple[Statement, ...]
    search: ExpectedSearch | None = None
    """The search that follows the steps, if levels are searched."""


def page(tables: Sequence[ExpectedTable]) -> Iterator[Block]:
    """The statements of each table, and what they read."""
    for table in tables:
        yield from _section(table)


def _section(table: ExpectedTable) -> Iterator[Block]:
    reads = ", ".join(map(printable, table.reads))
    yield Heading([printable(table.name), table.engine, f"reads {reads}"])
    for step in table.steps:
        runs = [f"Runs {step.only}."] if step.only else []
        yield Prose([printable(step.words), *runs], name=step.name)
    if table.search is None:
        closing = f"{plural(len(table.steps), 'statement')}, kanon-sql compile shows them."
    else:
        yield Prose(list(_of_search(table.search)), name="search")
        certain = sum(not step.only for step in table.steps)
        closing = f"{plural(certain, 'statement')} for certain, and their follow-ups."
    yield Prose([f"Nothing was run: {closing}"], "strong")


def _of_search(search: ExpectedSearch) -> Iterator[str]:
    """The number of steps of a search, and what each one does."""
    heights = ", ".join(
        f"{printable(name)} {_height_in_words(height, masked=name in search.masked)}"
        for name, height in search.heights.items()
    )
    masks, longest = "", "values have" if len(search.masked) > 1 else "value has"
    if search.masked:
        several = [
            height + _EXAMPLE_LENGTH * (name in search.masked)
            for name, height in search.heights.items()
        ]
        many = math.prod(height + 1 for height in several) if search.at_once else sum(several)
        names = " and ".join(map(printable, sorted(search.masked)))
        masks = f" for each level of {names}" if search.at_once else _STEPS_FOR_MASKS
        masks += f", so {many:,} if the longest {longest} {_EXAMPLE_LENGTH} characters"
    if search.at_once:
        unmasked = [height for name, height in search.heights.items() if name not in search.masked]
        choices = plural(math.prod(number + 1 for number in unmasked), "choice")
        yield f"{choices} of levels{masks}: {heights}."
        yield (
            f"A statement evaluates {search.at_once} of them at most; most choices are ruled out "
            "by others. The loss by suppressed records, and checks other than sizes, are evaluated "
            "only for choices that may be the best."
        )
    elif search.by_class:
        most = plural(sum(search.heights.values()), "round")
        yield (
            "Rounds of at most six statements each for class sizes, and a few more for checks of "
            f"sensitive values, as many as needed: about {most}{masks} ({heights})."
        )
        yield (
            "In each round every class that can be split goes down a level in one quasi-identifier."
        )
    else:
        yield f"At most {plural(sum(search.heights.values()), 'step')}{masks}: {heights}."
        yield (
            "Each raises one quasi-identifier by a level and counts the records in violating "
            "classes."
        )
    yield (
        "They read the first frequency set, which is kept on this machine, not the records."
        if search.materialises or search.by_class
        else "Each reads the records, as the first frequency set does."
    )
    yield "The release is then audited by the same statements as the table."


_EXAMPLE_LENGTH = 5
"""Length of the longest masked value in an example, as reading it would be a query."""
_STEPS_FOR_MASKS = ", and one for each character of a mask"


def _height_in_words(height: int, *, masked: bool) -> str:
    if not masked:
        return plural(height, "level")
    more = f" and {height} more" if height else ""
    return f"a level for each character of its longest value{more}"
