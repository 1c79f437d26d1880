"""The parts of a parsed query: conjuncts, keys, columns, the functions that are called."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlglot import exp

from kanon_sql.sql.flow_rules import known_functions
from kanon_sql.sql.query_scope import UNNAMED

_GROUPING = ("figure", "value")


def conjuncts_of(node: exp.Expr | None) -> list[exp.Expr]:
    """The conditions that all must hold."""
    if node is None:
        return []
    if isinstance(node, exp.Connect):
        return [each for each in (node.args.get("start"), node.args.get("connect")) if each]
    inner = node.unnest()
    if isinstance(inner, exp.And):
        return [*conjuncts_of(inner.this), *conjuncts_of(inner.expression)]
    return [inner]


def with_columns(node: exp.Expr) -> exp.Expr:
    """An expression before `.function()`, of whose columns sqlglot keeps the names alone."""

    def column(each: exp.Expr) -> exp.Expr:
        if isinstance(each, exp.Identifier) and not isinstance(each.parent, exp.Dot | exp.Column):
            return exp.column(each.name)
        path = each.this, each.expression
        if isinstance(each, exp.Dot) and all(isinstance(part, exp.Identifier) for part in path):
            return exp.column(path[1].name, table=path[0].name)
        return each

    return node.copy().transform(column)


def own_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns of a condition, but for those of its subqueries."""
    inside = node.walk(prune=lambda each: isinstance(each, exp.Query))
    return (each for each in inside if isinstance(each, exp.Column))


def queries_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """The subqueries of a condition, but for those inside others."""

    def is_query(each: exp.Expr) -> bool:
        return isinstance(each, exp.Query | exp.Exists)

    return (each for each in node.walk(prune=is_query) if is_query(each))


def cells_of(row: exp.Expr) -> Sequence[exp.Expr]:
    """The cells of a row of VALUES, which MySQL writes as `row(1, 2)`."""
    first: exp.Expr = row.expressions[0]
    is_row = isinstance(first, exp.Anonymous) and first.name.casefold() == "row"
    cells: Sequence[exp.Expr] = (first if is_row else row).expressions
    return cells


def is_cut(node: exp.Expr) -> bool:
    """Whether ORDER BY decides which records there are."""
    distinct = node.args.get("distinct")
    is_first = isinstance(distinct, exp.Distinct) and distinct.args.get("on")
    is_part = node.args.get("limit") or node.args.get("offset") or is_first
    return bool(node.args.get("order") and is_part)


def is_not_null(node: exp.Expr) -> bool:
    inner = node.this.unnest() if isinstance(node, exp.Not) else None
    return isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null)


def star_of(node: exp.Expr) -> exp.Expr | None:
    """The star of a projection, if it is one."""
    inner = node.this if isinstance(node, exp.Column) else node.unalias()
    return inner if isinstance(inner, exp.Star | exp.Columns) else None


def output_name(node: exp.Expr, place: int) -> str:
    """The name of a column of the result; never a part of an expression, which may hold a value."""
    name = node.alias
    while not name and isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    if isinstance(node, exp.Column):
        name = name or node.name
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        name = name or node.expression.name
    return name or f"{UNNAMED}{place + 1}"


def is_group_key(node: exp.Expr, keys: Sequence[exp.Expr]) -> bool:
    """Whether a projection is a key of GROUP BY."""
    bare, alias = node.unalias(), node.alias.casefold()
    names = {key.name.casefold() for key in keys if isinstance(key, exp.Column)}
    is_column = isinstance(bare, exp.Column) and bare.name.casefold() in names
    return is_column or bare in keys or bool(alias and alias in names)


def by_place(node: exp.Expr, query: exp.Select) -> exp.Expr:
    """The column that ORDER BY names by its place."""
    place = int(node.name) if isinstance(node, exp.Literal) and node.name.isdigit() else 0
    return query.expressions[place - 1].unalias() if 0 < place <= len(query.expressions) else node


def may_match(pattern: str, name: str) -> bool:
    """Whether COLUMNS('pattern') may select a column; any column by a pattern that isn't plain."""
    is_plain = re.fullmatch(r"[\w.*+^$|()]+", pattern)
    try:
        return not is_plain or re.search(pattern, name, re.IGNORECASE) is not None
    except re.error:
        return True


def numbers_of(name: str) -> Iterator[str]:
    """The names that an engine gives to columns that share a name."""
    return (f"{name}{mark}{number}" for mark in "_:" for number in range(1, 10))


def aggregates(node: exp.Expr) -> bool:
    """Whether an expression aggregates its group."""
    inner = node.walk(prune=lambda each: isinstance(each, exp.Window | exp.Query))
    known = known_functions()
    return any(
        not isinstance(each, exp.Window)
        and (
            isinstance(each, exp.AggFunc)
            or (isinstance(each, exp.Anonymous) and known.get(each.name.casefold()) in _GROUPING)
        )
        for each in inner
    )


def called_function(node: exp.Expr) -> exp.Expr:
    """The function in OVER or FILTER."""
    while isinstance(
        node, exp.Window | exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup
    ):
        node = node.this
    return node


def called_name(node: exp.Expr) -> str:
    """The name of a function."""
    return node.name if isinstance(node, exp.Anonymous) else type(node).__name__.lower()
