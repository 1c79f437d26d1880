"""A store of SELECTs by name, for engines where nothing may be created.

Each statement carries the SELECTs that it references as CTEs. A lattice search thus runs the same
statements on a warehouse as on the embedded engine; each one recomputes what it reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from kanon_sql.sql.ctes import split_ctes
from kanon_sql.sql.dialects import translated, with_renamed_ctes
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier

_WITH = re.compile(r"\Awith\s+", re.IGNORECASE)
_WORD = re.compile(r"\w+")


class CteStore:
    """Stores SELECTs by name for an engine of any dialect."""

    dialect: str
    materialises = False
    allows_shadowed_ctes = True
    """Whether a nested CTE may have the name of an outer one."""
    nests_sets = True
    """Whether a CTE may contain CTEs of its own; otherwise they are hoisted before it."""

    def materialise(self, name: str, sql: str) -> None:
        """Store a SELECT under `name`, a single word, for later statements."""
        self._defined.pop(name, None)
        own = sql if self.nests_sets else with_renamed_ctes(sql, f"_of_{name}")
        self._defined[name] = self.transpile(own)

    def create_view(self, name: str, sql: str) -> None:
        """Like `materialise`: both store a definition."""
        self.materialise(name, sql)

    def materialise_rows(
        self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """Store literal rows of texts and integers."""
        quoted = [identifier(column) for column in columns]
        self.materialise(name, render("rows_at_hand", columns=quoted, rows=rows))

    def drop(self, name: str) -> None:
        """Drop a definition."""
        del self._defined[name]

    def drop_all(self) -> None:
        """Drop all definitions."""
        self._defined.clear()

    def transpile(self, sql: str) -> str:
        """Transpile a template's SELECT, without the CTEs it reads."""
        return self._translated(sql)

    def _translated(self, sql: str, *, materialized: bool = False) -> str:
        return translated(
            sql,
            self.dialect,
            tuple(self._stand_ins.items()),
            materialized=materialized,
        )

    def in_dialect(self, sql: str) -> str:
        """Transpile a template's SELECT and prepend the CTEs it reads."""
        statement = self.transpile(sql)
        if not self.allows_shadowed_ctes and any(self._read_by(statement)):
            statement = self.transpile(with_renamed_ctes(sql, "_asked"))
        read = [self._as_set(name) for name in self._read_by(statement)]
        if not read:
            return statement
        own = _WITH.sub("", statement)
        between = ",\n" if own != statement else "\n"
        return "with " + ",\n".join(read) + between + own

    def _as_set(self, name: str) -> str:
        """A definition as a CTE."""
        if self.nests_sets:
            return f"{name} as (\n{self._defined[name]}\n)"
        sets, select = split_ctes(self._defined[name], self.dialect)
        before = f"{sets},\n" if sets else ""
        return f"{before}{name} as (\n{select}\n)"

    @cached_property
    def _defined(self) -> dict[str, str]:
        """The definitions by name, transpiled, in order of definition."""
        return {}

    @cached_property
    def _stand_ins(self) -> dict[str, str]:
        """Stand-ins by table, as spelled in the templates: a SELECT in the dialect."""
        return {}

    def _read_by(self, statement: str) -> Iterator[str]:
        """Names of the definitions a statement reads, directly or not, in dependency order.

        A name that matches by coincidence adds an unused CTE, which changes no row.
        """
        wanted = set(_WORD.findall(statement))
        read = []
        for name in reversed(self._defined):
            if name in wanted:
                read.append(name)
                wanted.update(_WORD.findall(self._defined[name]))
        yield from reversed(read)


class InlineCteStore(CteStore):
    """Stores DuckDB SELECTs untranspiled, for a session in which nothing may be created."""

    dialect = "duckdb"

    def transpile(self, sql: str) -> str:
        """The SELECT, unchanged."""
        return sql

    def __contains__(self, name: str) -> bool:
        return name in self._defined
