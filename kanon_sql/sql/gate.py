"""The gate: only parsed, checked SELECTs reach a database."""

from __future__ import annotations

from functools import cache, lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from kanon_sql.errors import EngineError, SpecError
from kanon_sql.sql.quoting import DIALECT

_WRITING = (exp.DDL, exp.DML, exp.Command, exp.Into)


class Templates(DuckDB):
    """DuckDB's grammar without `order by all`, for which sqlglot takes a column of that name."""

    SUPPORTS_ORDER_BY_ALL = False


@lru_cache(maxsize=4)
def parsed(sql: str) -> exp.Query:
    """The AST of exactly one SELECT, shared by the gate and the transpiler, which copies it.

    Raises `EngineError` for any other statement.
    """
    try:
        statements = sqlglot.parse(sql, read=Templates)
    except sqlglot.errors.SqlglotError:
        raise EngineError("refused a statement that can't be parsed.") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise EngineError("refused a statement that is not exactly one SELECT.")
    return statements[0]


@lru_cache(maxsize=256)
def require_select(sql: str, tables: frozenset[str]) -> None:
    """Raise `EngineError` unless the statement is one SELECT that reads only `tables`.

    `tables` are FROM items in DuckDB's spelling. A refused statement is never executed. Statements
    that passed are remembered, as a server repeats them from one call to the next.
    """
    nodes = list(parsed(sql).find_all(exp.CTE, exp.Table, *_WRITING, bfs=False))
    writing = next((node for node in nodes if isinstance(node, _WRITING)), None)
    if writing is not None:
        raise EngineError(f"refused a statement that does not only read: {writing.key}.")
    named = {node.alias for node in nodes if isinstance(node, exp.CTE)}
    declared = {_declared(table) for table in tables}
    for table in (node for node in nodes if isinstance(node, exp.Table)):
        if isinstance(table.this, exp.Identifier) and not table.db and table.name in named:
            continue
        if _table_name(table) not in declared:
            raise EngineError(f"refused a statement that reads another table: {table.sql()}.")


def sets_of(sql: str) -> list[str]:
    """Names of a statement's CTEs."""
    return [cte.alias for cte in parsed(sql).find_all(exp.CTE)]


@cache
def _declared(from_item: str) -> str:
    if from_item.isidentifier():
        # An unquoted identifier needs no parsing.
        return from_item
    table = sqlglot.parse_one(f"select 1 from {from_item}", read=DIALECT).find(exp.Table)
    if table is None:
        raise SpecError("the FROM item of a table can't be parsed.")
    return _table_name(table)


def _table_name(table: exp.Table) -> str:
    """The table without its alias, as spelled in FROM."""
    is_name = all(not argument or key in ("this", "alias") for key, argument in table.args.items())
    if is_name and isinstance(table.this, exp.Identifier) and not table.this.quoted:
        return str(table.this.this)
    unaliased = table.copy()
    unaliased.set("alias", None)
    return unaliased.sql(dialect=DIALECT)
