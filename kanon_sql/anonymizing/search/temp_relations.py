"""The temporary relations of a search: tables in the embedded engine, or CTEs repeated in each
statement where nothing may be materialised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kanon_sql.auditing.fetched_sets import fetch
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

    `session` is the session of the engine that holds them, `records` that of the engine with the
    records if it is another one.
    """

    def __init__(
        self, bound: ResolvedQuestion, session: Session, records: Session | None = None
    ) -> None:
        self.bound = bound
        self._session = session
        self._records = records or session
        self._kept: dict[str, Session] = {}

    @property
    def hold_records(self) -> bool:
        """Whether the records are in an engine that materialises the sets, so that views of the
        records can read the sets."""
        return self._records.engine.materialises

    @property
    def are_rows(self) -> bool:
        """Whether temporary relations are materialised, so that reading one again is cheap."""
        return self._session.engine.materialises

    @property
    def dialect(self) -> str:
        """SQL dialect of the engine that holds the sets."""
        return self._session.engine.dialect

    def materialise_rows(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> str:
        """Materialise rows given in memory."""
        self._session.engine.materialise_rows(name, columns, rows)
        self._kept[name] = self._session
        return name

    def create_view(self, name: str, question: str, sql: str) -> str:
        """Create a temporary view for later queries on the sets."""
        self._session.create_view(self._step(name, question, sql))
        self._kept[name] = self._session
        return name

    def create_view_of_records(self, name: str, question: str, sql: str) -> str:
        """Create a temporary view for later queries on the records."""
        self._records.create_view(self._step(name, question, sql))
        self._kept[name] = self._records
        return name

    def materialise(self, name: str, question: str, sql: str) -> str:
        """Materialise the result of a query, or keep the query as a CTE where the engine
        materialises nothing."""
        self._session.materialise(self._step(name, question, sql))
        self._kept[name] = self._session
        return name

    def materialise_beside(
        self, name: str, question: str, sql: str, columns: Sequence[BoundColumn]
    ) -> str:
        """Materialise a query on another table in the engine of the records, with these columns;
        its rows are fetched if the sets are in another engine."""
        if self._records is self._session:
            return self.materialise(name, question, sql)
        fetch(self._records, self._session, self._step(name, question, sql), columns)
        self._kept[name] = self._session
        return name

    def _fetch(
        self, name: str, question: str, relation: str, columns: Sequence[BoundColumn]
    ) -> None:
        sql = render("frequency_set", relation=relation, columns=columns)
        fetch(self._records, self._session, self._step(name, question, sql), columns)
        self._kept[name] = self._session

    def keeps(self, name: str) -> bool:
        """Whether a temporary relation of this name exists."""
        return name in self._kept

    def drop(self, name: str) -> None:
        """Drop a temporary relation."""
        self._kept.pop(name).engine.drop(name)

    def fetch(self, name: str, question: str, sql: str) -> list[Row]:
        """The rows of one query on temporary relations."""
        return self._session.rows(self._step(name, question, sql))

    def fetch_each(self, questions: Sequence[NodeQuery]) -> list[Row]:
        """The single row of each of several queries with the same columns.

        They are combined into one statement if each would compute the sets again and the combined
        one would not.
        """
        engine = self._session.engine
        if engine.materialises or TRAITS[engine.dialect].rereads or len(questions) < 2:
            return [self.fetch(each.name, each.question, each.sql)[0] for each in questions]
        together = render("answers_together", statements=[each.sql for each in questions])
        rows = self.fetch(questions[0].name, questions[0].question, together)
        return sorted(rows, key=lambda row: int(row["kanon_question"]))

    def _step(self, name: str, question: str, sql: str) -> Statement:
        tables = frozenset([*(each.sql for each in self.bound.tables), *self._kept])
        return Statement(name, question, sql, tables=tables)
