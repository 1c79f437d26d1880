"""What a database keeps in which nothing may be created: definitions in place of rows.

Whatever reads a kept SELECT by its name carries it along, as a common table expression of the one
statement that is sent. So what a search asks of the rows that the embedded engine keeps, it asks
of a warehouse in the same words; each question is then counted anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from kanon_sql.sql.ctes import apart
from kanon_sql.sql.dialects import Types, translated, with_other_names
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier

_WITH = re.compile(r"\Awith\s+", re.IGNORECASE)
_WORD = re.compile(r"\w+")


class CteStore:
    """Keeps SELECTs by name, for an engine of some dialect."""

    dialect: str
    keeps_rows = False
    tells_scopes_apart = True
    """Whether two sets may have one name, one of them within a definition."""
    nests_sets = True
    """Whether a definition may name sets of its own; else these stand before it."""

    def keep(self, name: str, sql: str) -> None:
        """Let later statements read one SELECT by its name, which is one word."""
        self._defined.pop(name, None)
        own = sql if self.nests_sets else with_other_names(sql, f"_of_{name}")
        self._defined[name] = self.in_own_words(own)

    def keep_view(self, name: str, sql: str) -> None:
        """The same: neither is more than its definition."""
        self.keep(name, sql)

    def keep_rows(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """The same of rows that are at hand: texts and whole numbers."""
        named = [identifier(column) for column in columns]
        self.keep(name, render("rows_at_hand", columns=named, rows=rows))

    def forget(self, name: str) -> None:
        """Let go of a definition."""
        del self._defined[name]

    def forget_all(self) -> None:
        """Let go of all definitions."""
        self._defined.clear()

    def in_own_words(self, sql: str) -> str:
        """A SELECT of the templates as the database has it, whatever it reads."""
        return self._translated(sql)

    def _translated(
        self, sql: str, *, materialized: bool = False, stored: frozenset[str] = frozenset()
    ) -> str:
        return translated(
            sql,
            self.dialect,
            tuple(self._stand_ins.items()),
            types=Types().union(*self._types.values()),
            materialized=materialized,
            stored=stored,
        )

    def in_dialect(self, sql: str) -> str:
        """A SELECT of the templates as it is sent, with the definitions that it reads."""
        statement = self.in_own_words(sql)
        if not self.tells_scopes_apart and any(self._read_by(statement)):
            statement = self.in_own_words(with_other_names(sql, "_asked"))
        read = [self._as_set(name) for name in self._read_by(statement)]
        if not read:
            return statement
        own = _WITH.sub("", statement)
        between = ",\n" if own != statement else "\n"
        return "with " + ",\n".join(read) + between + own

    def _as_set(self, name: str) -> str:
        """A definition as a set of a statement."""
        if self.nests_sets:
            return f"{name} as (\n{self._defined[name]}\n)"
        sets, select = apart(self._defined[name], self.dialect)
        before = f"{sets},\n" if sets else ""
        return f"{before}{name} as (\n{select}\n)"

    @cached_property
    def _defined(self) -> dict[str, str]:
        """The statements by name, in the dialect and in the order in which they were defined."""
        return {}

    @cached_property
    def _stand_ins(self) -> dict[str, str]:
        """By table, as the templates spell it, the SELECT of the dialect to read in its place."""
        return {}

    @cached_property
    def _types(self) -> dict[str, Types]:
        """What the columns of each table hold, by the table as the templates spell it."""
        return {}

    def _read_by(self, statement: str) -> Iterator[str]:
        """What a statement reads, and what that reads: each definition after those it needs.

        A name that occurs as anything else than a table brings a definition too many, which
        changes no row.
        """
        wanted = set(_WORD.findall(statement))
        read = []
        for name in reversed(self._defined):
            if name in wanted:
                read.append(name)
                wanted.update(_WORD.findall(self._defined[name]))
        yield from reversed(read)


class InlineCteStore(CteStore):
    """Keeps SELECTs of DuckDB, as they are, for a session in which nothing may be kept."""

    dialect = "duckdb"

    def in_own_words(self, sql: str) -> str:
        """The SELECT itself."""
        return sql

    def __contains__(self, name: str) -> bool:
        return name in self._defined
