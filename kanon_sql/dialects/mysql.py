"""MySQL, from 8.0.17 on."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.dialects.rules import (
    AS_LONG,
    AS_WHOLE,
    DATE,
    NUMBER,
    TO_THE_END,
    Rules,
    backslash_in_like,
    full_match,
    nulls_last,
    phrase,
    try_cast,
    written,
)

_written = partial(written, dialect="mysql")

_TEXT = "convert(x using utf8mb4) collate utf8mb4_0900_bin"
"""A text of which no two that differ are equal; a plain cast takes the session's collation."""


def _matches(pattern: str) -> str:
    text = exp.Literal.string(pattern.removesuffix("$") + r"\z").sql("mysql")
    return f"cast(x as char) regexp {text}"


def _as_text(node: exp.Cast) -> exp.Expr:
    if node.to.this in exp.DataType.TEXT_TYPES:
        return phrase(_TEXT, "mysql", x=node.this)
    return node


def _like(node: exp.Like) -> exp.Expr:
    escaped = backslash_in_like(node)
    return phrase(f"{_TEXT} like pattern", "mysql", x=escaped.this, pattern=escaped.expression)


def _ilike(node: exp.ILike) -> exp.Expr:
    return _like(exp.Like(this=exp.Lower(this=node.this), expression=_lower(node.expression)))


def _lower(pattern: exp.Expr) -> exp.Expr:
    if isinstance(pattern, exp.Literal):
        return exp.Literal.string(pattern.name.lower())
    return exp.Lower(this=pattern)


def _texts_in_order(node: exp.GroupConcat) -> exp.Expr:
    """A text that was cut at `group_concat_max_len` would be equal to others: two rows in the
    place of one are an error."""
    order = node.find(exp.Order)
    text = order.this if order else node.this
    return phrase(
        "case when char_length(joined) = sum(char_length(x)) + count(x) - 1 then joined "
        "else (select 'cut at group_concat_max_len' union all select 'raise it') end",
        "mysql",
        joined=node,
        x=text,
    )


RULES: Rules = {
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: f"case when {_matches(NUMBER)} then cast(x as double) end",
            exp.DType.TIMESTAMP: f"case when {_matches(DATE)} then cast(x as datetime(6)) end",
            exp.DType.BIGINT: AS_WHOLE,
            exp.DType.DECIMAL: AS_LONG,
        },
        "mysql",
    ),
    exp.Cast: _as_text,
    exp.RegexpFullMatch: full_match("cast(x as char) regexp pattern", "mysql", TO_THE_END),
    exp.IgnoreNulls: _written("max(x)", x="this.this"),
    exp.Order: nulls_last,
    exp.Like: _like,
    exp.ILike: _ilike,
    exp.GroupConcat: _texts_in_order,
    exp.Encode: _written("cast(x as binary)", x="this"),
}
