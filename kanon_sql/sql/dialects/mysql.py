"""The rules for MySQL from 8.0.17 on, for MariaDB from 10.6 on.

MariaDB's have another collation, and REGEXP as an operator.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.generator import Generator

from kanon_sql.errors import SpecError
from kanon_sql.sql.dialects.rules import (
    DATE,
    NUMBER,
    TO_THE_END,
    Rules,
    backslash_in_like,
    full_match,
    nulls_last,
    phrase,
    rewrite_rule,
    try_cast,
)
from kanon_sql.sql.dialects.spelling import with_handlers

_phrase = partial(phrase, dialect="mysql")
_rewrite = partial(rewrite_rule, dialect="mysql")


def _matches(pattern: str) -> str:
    text = exp.Literal.string(pattern.removesuffix("$") + r"\z").sql("mysql")
    return f"cast(x as char) regexp {text}"


def _is_alone_in_its_group(node: exp.Expr, groups: list[exp.Expr]) -> bool:
    return not isinstance(node, exp.Column) and node in groups


def _grouped(node: exp.Select) -> exp.Expr:
    """Wrap grouped expressions in MAX, a no-op per group.

    Otherwise the columns within are taken for the aliases of the same name.
    """
    groups = list(node.args["group"].expressions) if node.args.get("group") else []
    for expression in node.expressions:
        if isinstance(expression, exp.Alias) and _is_alone_in_its_group(expression.this, groups):
            expression.set("this", exp.Max(this=expression.this.copy()))
    return node


def _with_columns_in_windows(node: exp.Select) -> exp.Select:
    """Qualify columns of windows that have the name of an alias, which would take precedence."""
    aliases = {each.alias.casefold() for each in node.expressions if isinstance(each, exp.Alias)}
    windows = [window for each in node.expressions for window in each.find_all(exp.Window)]
    for column in [column for window in windows for column in window.find_all(exp.Column)]:
        if not column.table and column.name.casefold() in aliases and not node.args.get("joins"):
            source = node.args["from_"].this.alias_or_name
            column.set("table", exp.to_identifier(source, quoted=True))
    return node


def _with_sets_before(node: exp.Select) -> exp.Expr:
    """Hoist CTEs of subqueries in FROM before the enclosing statement.

    Within a derived table, MariaDB can't resolve CTEs defined outside of it.
    """
    query: exp.Query = node
    while isinstance(query.parent, exp.SetOperation):
        query = query.parent
    for subquery in node.find_all(exp.Subquery):
        if isinstance(subquery.parent, exp.From | exp.Join) and subquery.parent_select is node:
            for cte in subquery.this.ctes:
                if cte.alias in {cte.alias for cte in query.ctes}:
                    raise SpecError(f'two sets of one statement are called "{cte.alias}".')
                query.with_(cte.args["alias"], cte.this, append=True, copy=False)
            subquery.this.set("with_", None)
    return _grouped(_with_columns_in_windows(node))


def _lower(pattern: exp.Expr) -> exp.Expr:
    if isinstance(pattern, exp.Literal):
        return exp.Literal.string(pattern.name.lower())
    return exp.Lower(this=pattern)


def _texts_in_order(node: exp.GroupConcat) -> exp.Expr:
    """Raise an error if `group_concat_max_len` truncated a text, by a two-row scalar subquery.

    Truncated texts would be equal to others.
    """
    order = node.find(exp.Order)
    text = order.this if order else node.this
    return _phrase(
        "case when char_length(joined) = sum(char_length(x)) + count(x) - 1 then joined "
        "else (select 'cut at group_concat_max_len' union all select 'raise it') end",
        joined=node,
        x=text,
    )


def rules_with(bytewise: str) -> Rules:
    """The rules with a binary collation; a plain cast would take the session's."""
    as_text = f"convert(x using utf8mb4) collate {bytewise}"

    def cast(node: exp.Cast) -> exp.Expr:
        if node.to.this in exp.DataType.TEXT_TYPES:
            return _phrase(as_text, x=node.this)
        return node

    def like(node: exp.Like) -> exp.Expr:
        escaped = backslash_in_like(node)
        return _phrase(f"{as_text} like pattern", x=escaped.this, pattern=escaped.expression)

    def ilike(node: exp.ILike) -> exp.Expr:
        return like(exp.Like(this=exp.Lower(this=node.this), expression=_lower(node.expression)))

    return {
        exp.TryCast: try_cast(
            {
                exp.DType.DOUBLE: f"case when {_matches(NUMBER)} then cast(x as double) end",
                exp.DType.DATE: f"case when {_matches(DATE)} then cast(x as date) end",
                exp.DType.TIMESTAMP: f"case when {_matches(DATE)} then cast(x as datetime(6)) end",
            },
            "mysql",
        ),
        exp.Cast: cast,
        exp.Select: _with_sets_before,
        exp.RegexpFullMatch: full_match("cast(x as char) regexp pattern", "mysql", TO_THE_END),
        exp.IgnoreNulls: _rewrite("max(x)", x="this.this"),
        exp.Order: nulls_last,
        exp.Like: like,
        exp.ILike: ilike,
        exp.GroupConcat: _texts_in_order,
        exp.Encode: _rewrite("cast(x as binary)", x="this"),
    }


RULES: Rules = rules_with("utf8mb4_0900_bin")
RULES_OF_MARIADB: Rules = rules_with("utf8mb4_nopad_bin")


class MariaDB(MySQL):
    """MySQL's grammar as a dialect of its own; defining it registers it with sqlglot."""

    def generator(self, **options: Any) -> Generator:
        sql_generator = super().generator(**options)
        return with_handlers(
            sql_generator,
            {exp.RegexpLike: lambda generator, node: generator.binary(node, "REGEXP")},
        )
