"""A step of a plan: one SELECT over the declared tables, with the question it answers.

Here too are the records that a step reads, and the way in which it speaks of columns.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from kanon_sql.binding import BoundColumn, BoundReference, BoundSpec
from kanon_sql.engines.base import Estimate, Row
from kanon_sql.templates import checked_select, render


class Cited(Protocol):
    """What a statement serves: its name for people, what it promises, and after whom."""

    title: ClassVar[str]
    promise: ClassVar[str]
    source: ClassVar[str]


@dataclass(frozen=True)
class Step:
    """One SELECT: its name, the question it answers, the models it serves, when it runs.

    It is parsed where it is used, as most audits do not need all of their steps.
    """

    name: str
    question: str
    sql: str
    models: tuple[type[Cited], ...] = ()
    only: str = ""
    tables: frozenset[str] = frozenset()
    """What it may read, as it stands after FROM."""

    def check(self) -> None:
        """Raise unless the statement is one SELECT that reads nothing but its tables."""
        checked_select(self.sql, self.tables)

    def text(
        self, dialect: str, sql: str | None = None, also: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The statement under a header that says what it asks, and after whom; `sql` is the
        statement in another dialect, and `also` are more lines of the header."""
        header = [
            ("Question", self.question),
            *(("Model", f"{m.title}. {m.promise} ({m.source})") for m in self.models),
            *([("Runs", self.only)] if self.only else []),
            ("Dialect", dialect),
            *also,
        ]
        return "\n".join([*_comment(header), "", self.sql if sql is None else sql])


@dataclass(frozen=True)
class Precaution:
    """A step whose one row says whether the question can be asked at all."""

    step: Step
    fault: Callable[[Row], str | None]
    """The sentence to refuse with, or None where all is well."""


@dataclass(frozen=True)
class ExpectedStep:
    """A statement of an audit that was not run: what it asks, and what the engine expects."""

    step: Step
    estimate: Estimate


@dataclass(frozen=True)
class ExpectedSearch:
    """What is known of a search for levels before it runs."""

    heights: Mapping[str, int]
    """How many levels each quasi-identifier has, without those of a mask."""
    masked: frozenset[str]
    """Which have one level more for each character of their longest value."""
    keeps_rows: bool
    """Whether the records are read for the first set alone, and not for each step."""


@dataclass(frozen=True)
class ExpectedTable:
    """What a question on one table would run, on which tables of which engine."""

    name: str
    engine: str
    reads: tuple[str, ...]
    steps: tuple[ExpectedStep, ...]
    search: ExpectedSearch | None = None
    """What comes after the steps, where levels are searched."""


def step(
    bound: BoundSpec, name: str, question: str, sql: str, *models: type[Cited], only: str = ""
) -> Step:
    """A step that may read the declared tables and nothing else."""
    declared = [bound.table, *(reference.table for reference in bound.references.values())]
    return Step(name, question, sql, models, only, frozenset(table.sql for table in declared))


def records(bound: BoundSpec, columns: list[BoundColumn]) -> str:
    """What stands after FROM, with these columns of it."""
    return render(
        "records",
        relation=bound.table.sql,
        columns=columns,
        where=bound.where.sql if bound.where else None,
        first=bound.spec.first,
        generalised=any(column.generalised for column in columns),
    )


def reference_records(
    reference: BoundReference, columns: Sequence[BoundColumn] | None = None
) -> str:
    """The same of a reference, by default with every column that plays a part."""
    parts = [*reference.columns.values(), reference.entity, reference.weight]
    read = list({column.name: column for column in columns or parts if column}.values())
    return render(
        "records",
        relation=reference.table.sql,
        columns=read,
        where=reference.where.sql if reference.where else None,
        generalised=any(column.generalised for column in read),
    )


def with_entity(bound: BoundSpec, columns: list[BoundColumn]) -> list[BoundColumn]:
    return [*columns, bound.entity] if bound.entity else columns


def counted(bound: BoundSpec) -> str:
    return "people" if bound.entity else "records"


def spoken(columns: Sequence[BoundColumn]) -> str:
    """The columns as one reads them aloud."""
    *others, last = [column.name for column in columns]
    return f"{', '.join(others)} and {last}" if others else last


def _comment(header: list[tuple[str, str]]) -> Iterator[str]:
    for label, words in header:
        lines = textwrap.wrap(" ".join(words.split()), width=86, break_on_hyphens=False)
        for place, line in enumerate(lines):
            yield f"-- {label if place == 0 else '':<10} {line}"
