"""The gate: only parsed and checked SELECTs reach a database."""

from __future__ import annotations

from functools import cache

import sqlglot
from sqlglot import exp

from kanon_sql.errors import EngineError, SpecError
from kanon_sql.sql.plain_reading import plainly_reads
from kanon_sql.sql.quoting import DIALECT

_WRITING = (exp.DDL, exp.DML, exp.Command, exp.Into)


def require_select(sql: str, tables: frozenset[str]) -> None:
    """Raise `EngineError` unless the statement is one SELECT that reads only `tables`."""
    if not plainly_reads(sql, tables):
        checked_select(sql, tables)


def checked_select(sql: str, tables: frozenset[str]) -> exp.Query:
    """Parse a statement and check that it is one SELECT reading only `tables`.

    `tables` are FROM items in DuckDB's spelling. Raises `EngineError` otherwise; such a statement
    is never executed.
    """
    statements = sqlglot.parse(sql, read=DIALECT)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise EngineError("refused a statement that is not exactly one SELECT.")
    statement = statements[0]
    found = list(statement.find_all(exp.CTE, exp.Table, *_WRITING))
    writing = next((each for each in found if isinstance(each, _WRITING)), None)
    if writing is not None:
        raise EngineError(f"refused a statement that does not only read: {writing.key}.")
    named = {each.alias for each in found if isinstance(each, exp.CTE)}
    declared = {_declared(table) for table in tables}
    for table in (each for each in found if isinstance(each, exp.Table)):
        if isinstance(table.this, exp.Identifier) and not table.db and table.name in named:
            continue
        if _bare(table) not in declared:
            raise EngineError(f"refused a statement that reads another table: {table.sql()}.")
    return statement


def sets_of(sql: str) -> list[str]:
    """Names of a statement's CTEs."""
    return [cte.alias for cte in sqlglot.parse_one(sql, read=DIALECT).find_all(exp.CTE)]


@cache
def _declared(from_item: str) -> str:
    if from_item.isidentifier():
        # An unquoted identifier needs no parsing.
        return from_item
    table = sqlglot.parse_one(f"select 1 from {from_item}", read=DIALECT).find(exp.Table)
    if table is None:
        raise SpecError("a table can't be told from its FROM text.")
    return _bare(table)


def _bare(table: exp.Table) -> str:
    bare = table.copy()
    bare.set("alias", None)
    return bare.sql(dialect=DIALECT)
