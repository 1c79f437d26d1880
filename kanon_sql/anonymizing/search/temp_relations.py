"""What a search keeps on its way, and asks of it: as rows in the embedded engine, or where nothing
may be kept as definitions that each question carries along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kanon_sql.anonymizing.search.fetch_frequencies import fetch
from kanon_sql.engines.session import Session
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row


class NodeQuery(NamedTuple):
    """A question on what is kept."""

    name: str
    question: str
    sql: str


class TempRelations:
    """What is kept of one table and its references, each under a name.

    `ask` asks the engine that it is kept in, and `records` the one that the records are in, where
    that is another.
    """

    def __init__(self, bound: ResolvedQuestion, ask: Session, records: Session | None = None) -> None:
        self.bound = bound
        self._ask = ask
        self._records = records or ask
        self._kept: list[str] = []

    @property
    def hold_records(self) -> bool:
        """Whether the records lie where the sets are kept as rows, so that views of them can read
        the sets."""
        return self._records.engine.keeps_rows

    @property
    def are_rows(self) -> bool:
        """Whether what is kept is kept as rows, to be read as often as it takes."""
        return self._ask.engine.keeps_rows

    @property
    def dialect(self) -> str:
        """That of the engine that the sets are in."""
        return self._ask.engine.dialect

    def keep_rows(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
        """Keep rows that are at hand."""
        self._ask.engine.keep_rows(name, columns, rows)
        self._kept.append(name)
        return name

    def keep_view(self, name: str, question: str, sql: str) -> str:
        """Let later questions on the sets read one by its name."""
        self._ask.keep_view(self._step(name, question, sql))
        self._kept.append(name)
        return name

    def keep_view_of_records(self, name: str, question: str, sql: str) -> str:
        """The same of questions on the records."""
        self._records.keep_view(self._step(name, question, sql))
        self._kept.append(name)
        return name

    def keep(self, name: str, question: str, sql: str) -> str:
        """Keep the rows of one more question, or the question where no rows are kept."""
        self._ask.keep(self._step(name, question, sql))
        self._kept.append(name)
        return name

    def keep_beside(
        self, name: str, question: str, sql: str, columns: Sequence[BoundColumn]
    ) -> str:
        """Keep the rows of a question on another table than that of the records, which lies beside
        it, and of which the columns are these."""
        if self._records is self._ask:
            return self.keep(name, question, sql)
        fetch(self._records, self._ask, self._step(name, question, sql), columns)
        self._kept.append(name)
        return name

    def _fetch(
        self, name: str, question: str, relation: str, columns: Sequence[BoundColumn]
    ) -> None:
        sql = render("frequency_set", relation=relation, columns=columns)
        fetch(self._records, self._ask, self._step(name, question, sql), columns)
        self._kept.append(name)

    def keeps(self, name: str) -> bool:
        """Whether something is kept under this name."""
        return name in self._kept

    def forget(self, name: str) -> None:
        """Let go of what is kept."""
        self._ask.engine.forget(name)
        self._kept.remove(name)

    def ask(self, name: str, question: str, sql: str) -> list[Row]:
        """The rows of one question on what is kept."""
        return self._ask.rows(self._step(name, question, sql))

    def ask_each(self, questions: Sequence[NodeQuery]) -> list[Row]:
        """The one row of each of some questions on what is kept, which all have the same columns.

        They are one statement where each would count the sets anew, and one would not.
        """
        engine = self._ask.engine
        if engine.keeps_rows or TRAITS[engine.dialect].rereads or len(questions) < 2:
            return [self.ask(each.name, each.question, each.sql)[0] for each in questions]
        together = render("answers_together", statements=[each.sql for each in questions])
        rows = self.ask(questions[0].name, questions[0].question, together)
        return sorted(rows, key=lambda row: int(row["kanon_question"]))

    def _step(self, name: str, question: str, sql: str) -> Statement:
        tables = frozenset([*(each.sql for each in self.bound.tables), *self._kept])
        return Statement(name, question, sql, tables=tables)
