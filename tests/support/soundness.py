"""What roles that are followed through a query miss, by what DuckDB changes in its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from random_queries import TABLES, Tried
from sqlglot import exp

from kanon_sql.sql.flow_rules import Origin, TracedColumn
from kanon_sql.sql.flows import Reader
from kanon_sql.sql.query_scope import Relation

SCHEMA = {
    (name,): Relation(
        tuple(
            (column, TracedColumn({Origin(name, column, role): 0} if role else {}))
            for column, (_, role) in columns.items()
        )
    )
    for name, columns in TABLES.items()
}


class Deciding(Reader):
    """A reader that notes what decides which records there are, meet or come first."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.decides: set[Origin] = set()

    def _note(self, nodes: Sequence[exp.Expr], scope: Any) -> None:
        for node in nodes:
            self.decides |= set(super()._value(node, scope).flows)

    def _value(self, node: exp.Expr, scope: Any) -> TracedColumn:
        if isinstance(node, exp.Window):
            order = node.args.get("order")
            parts = [*(node.args.get("partition_by") or ()), *(order.expressions if order else ())]
            self._note(parts, scope)
        if isinstance(node, exp.Order):
            self._note(node.expressions, scope)
        return super()._value(node, scope)

    def _select(self, node: exp.Select, scope: Any) -> Relation:
        found = super()._select(node, scope)
        joins = [join.args["on"] for join in node.args.get("joins") or () if join.args.get("on")]
        self._note([*self._keys(node)[0], *joins], scope)
        self.decides |= {*scope.asks.flows, *found.selected}
        if node.args.get("distinct"):
            self.decides |= set(found.whole.flows)
        return found


def missed(tried: Tried) -> set[tuple[str, tuple[str, str]]]:
    """The columns and origins of a query that change together, and are not said to."""
    reader = Deciding("m", "duckdb", lambda parts: SCHEMA.get(tuple(parts)))
    found = reader.read(tried.sql)
    decides = {(origin.node, origin.column) for origin in reader.decides} | tried.resized
    return {pair for pair in _uncarried(tried, found) if pair[1] not in decides}


def untold(tried: Tried, *, are_open: bool) -> set[tuple[str, tuple[str, str]]]:
    """As `missed`, without excuse: what decides which records there are is missed too."""
    schema = {
        name: replace(
            each, columns=tuple(one for one in each.columns if one[1].flows), is_open=True
        )
        if are_open
        else each
        for name, each in SCHEMA.items()
    }
    return _uncarried(
        tried, Reader("m", "duckdb", lambda parts: schema.get(tuple(parts[-1:]))).read(tried.sql)
    )


def _uncarried(tried: Tried, found: Relation) -> set[tuple[str, tuple[str, str]]]:
    is_listed = not found.is_open and len(found.columns) == len(tried.columns)
    columns = (
        [column for _, column in found.columns]
        if is_listed
        else [
            found.by_name.get(name.casefold(), found.unlisted_as(name.casefold()))
            for name in tried.columns
        ]
    )
    return {
        (name, origin)
        for name, column, changed in zip(tried.columns, columns, tried.changed, strict=True)
        if not column.doubts
        for origin in changed
        if origin not in {each[:2] for each in column.flows}
    }
