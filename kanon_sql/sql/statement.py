"""A SELECT with its name, its question in words, its citation."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from kanon_sql.errors import SpecError, without_control
from kanon_sql.sql.gate import require_select
from kanon_sql.sql.line_wrapping import wrapped
from kanon_sql.sql.quoting import DIALECT


class Cited(Protocol):
    """A model that a statement serves: title, promise and source."""

    title: ClassVar[str]
    promise: ClassVar[str]
    source: ClassVar[str]


@dataclass(frozen=True)
class Statement:
    """One SELECT: its name, its question, the models it serves, and when it runs.

    It is parsed on use only, as most audits skip some of their steps.
    """

    name: str
    words: str
    sql: str
    models: tuple[type[Cited], ...] = ()
    only: str = ""
    tables: frozenset[str] = frozenset()
    """The FROM items it may read."""
    pass_conditions: tuple[str, ...] = ()
    """Pass conditions on its rows, in terms of its columns."""
    chosen: tuple[str, ...] = ()
    """The record filters of the tables it reads, as written by the user."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "sql", wrapped(self.sql, DIALECT))

    def check(self) -> None:
        """Raise unless the statement is one SELECT that reads only its tables."""
        require_select(self.sql, self.tables)

    def text(
        self, dialect: str, sql: str | None = None, also: Sequence[tuple[str, str]] = ()
    ) -> str:
        """The statement below a comment header with its question and sources.

        `sql` is the statement in another dialect, `also` further header lines.
        """
        header = [
            ("Question", self.words),
            *(("Where", chosen) for chosen in self.chosen),
            *(("Required", condition) for condition in self.pass_conditions),
            *(("Model", f"{m.title}. {m.promise} ({m.source})") for m in self.models),
            *([("Runs", self.only)] if self.only else []),
            ("Dialect", dialect),
            *also,
        ]
        return "\n".join(
            [*_comment(header), "", require_readable(self.sql if sql is None else sql)]
        )


def require_readable(sql: str) -> str:
    """The SQL itself. Raises `SpecError` for a control character, as in a column's name or a path:
    no dialect has an escape for it in an identifier."""
    visible = without_control(sql)
    if visible != sql:
        character = next(character for character in sql if without_control(character) != character)
        raise SpecError(
            f"the SQL would hold a control character ({without_control(character)}), as the name "
            "of a column, the path of a file or a value has it, and can't be read by people. "
            "Rename what holds it, or read the table through a view."
        )
    return sql


def _comment(header: list[tuple[str, str]]) -> Iterator[str]:
    for label, text in header:
        lines = textwrap.wrap(
            without_control(" ".join(text.split())), width=86, break_on_hyphens=False
        )
        for index, line in enumerate(lines):
            yield f"-- {label if index == 0 else '':<10} {line}"
