"""A SELECT with its name, its title and its source."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from kanon_sql.errors import SpecError, without_control
from kanon_sql.sql.folding import folded
from kanon_sql.sql.gate import require_select
from kanon_sql.sql.quoting import DIALECT


class Cited(Protocol):
    """What a statement serves: its name for people, what it promises, and after whom."""

    title: ClassVar[str]
    promise: ClassVar[str]
    source: ClassVar[str]


@dataclass(frozen=True)
class Statement:
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
    demanded: tuple[str, ...] = ()
    """What its rows must show for the checks to hold, in the words of its columns."""
    chosen: tuple[str, ...] = ()
    """Of which tables it reads some records alone, and which, in the words of whoever asked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sql", folded(self.sql, DIALECT))

    def check(self) -> None:
        """Raise unless the statement is one SELECT that reads nothing but its tables."""
        require_select(self.sql, self.tables)

    def text(
        self, dialect: str, sql: str | None = None, also: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The statement under a header that says what it asks, and after whom; `sql` is the
        statement in another dialect, and `also` are more lines of the header."""
        header = [
            ("Question", self.question),
            *(("Where", chosen) for chosen in self.chosen),
            *(("Demanded", demand) for demand in self.demanded),
            *(("Model", f"{m.title}. {m.promise} ({m.source})") for m in self.models),
            *([("Runs", self.only)] if self.only else []),
            ("Dialect", dialect),
            *also,
        ]
        return "\n".join([*_comment(header), "", readable(self.sql if sql is None else sql)])


def readable(sql: str) -> str:
    """The SQL, if people can read it as it runs. Raises `SpecError` for a control character: no
    dialect has an escape for it in a name."""
    seen = without_control(sql)
    if seen != sql:
        kind = next(each for each in sql if without_control(each) != each)
        raise SpecError(
            f"the SQL would hold a control character ({without_control(kind)}), as the name of a "
            "column, the path of a file or a value has it, and can't be read by people. Rename "
            "what holds it, or read the table through a view."
        )
    return sql


def _comment(header: list[tuple[str, str]]) -> Iterator[str]:
    for label, words in header:
        lines = textwrap.wrap(
            without_control(" ".join(words.split())), width=86, break_on_hyphens=False
        )
        for place, line in enumerate(lines):
            yield f"-- {label if place == 0 else '':<10} {line}"


@dataclass(frozen=True)
class Estimate:
    """What an engine expects of a statement that it has not run."""

    records: int | None = None
    """How many records it expects to read."""
    cost: str | None = None
    """What it expects to spend, in words of its own."""
