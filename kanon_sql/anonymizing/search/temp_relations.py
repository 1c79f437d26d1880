"""The temporary relations of a search: tables in the embedded engine, or CTEs repeated in each
statement where nothing may be materialised."""

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
    """A query on temporary relations."""

    name: str
    question: str
    sql: str


class TempRelations:
    """The temporary relations of one table and its references, by name.

    `ask` is the session of the engine that holds them, `records` that of the engine with the
    records if it is another one.
    """

    def __init__(
        self, bound: ResolvedQuestion, ask: Session, records: Session | None = None
    ) -> None:
        self.bound = bound
        self._ask = ask
        self._records = records or ask
        self._kept: list[str] = []

    @property
    def hold_records(self) -> bool:
        """Whether the records are in an engine that materialises the sets, so that views of the
        records can read the sets."""
        return self._records.engine.keeps_rows

    @property
    def are_rows(self) -> bool:
        """Whether temporary relations are materialised, so that reading one again is cheap."""
        return self._ask.engine.keeps_rows

    @property
    def dialect(self) -> str:
        """SQL dialect of the engine that holds the sets."""
        return self._ask.engine.dialect

    def keep_rows(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
        """Materialise rows given in memory."""
        self._ask.engine.keep_rows(name, columns, rows)
        self._kept.append(name)
        return name

    def keep_view(self, name: str, question: str, sql: str) -> str:
        """Create a temporary view for later queries on the sets."""
        self._ask.keep_view(self._step(name, question, sql))
        self._kept.append(name)
        return name

    def keep_view_of_records(self, name: str, question: str, sql: str) -> str:
        """Create a temporary view for later queries on the records."""
        self._records.keep_view(self._step(name, question, sql))
        self._kept.append(name)
        return name

    def keep(self, name: str, question: str, sql: str) -> str:
        """Materialise the result of a query, or keep the query as a CTE where the engine
        materialises nothing."""
        self._ask.keep(self._step(name, question, sql))
        self._kept.append(name)
        return name

    def keep_beside(
        self, name: str, question: str, sql: str, columns: Sequence[BoundColumn]
    ) -> str:
        """Materialise a query on another table in the engine of the records, with these columns;
        its rows are fetched if the sets are in another engine."""
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
        """Whether a temporary relation of this name exists."""
        return name in self._kept

    def forget(self, name: str) -> None:
        """Drop a temporary relation."""
        self._ask.engine.forget(name)
        self._kept.remove(name)

    def ask(self, name: str, question: str, sql: str) -> list[Row]:
        """The rows of one query on temporary relations."""
        return self._ask.rows(self._step(name, question, sql))

    def ask_each(self, questions: Sequence[NodeQuery]) -> list[Row]:
        """The single row of each of several queries with the same columns.

        They are combined into one statement if each would compute the sets again and the combined
        one would not.
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
