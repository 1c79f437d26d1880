"""Rules for SQLite, from 3.38 on, with its math functions; people in several classes need 3.44."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import sqlglot
from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    AS_BIGINT,
    Rule,
    Rules,
    phrase,
    plain_number,
    refused,
    rewrite_rule,
    try_cast,
    values_by_place,
)

_rewrite = partial(rewrite_rule, dialect="sqlite")

_IS_PLAIN_NUMBER = (
    "x not glob '*[^-0-9.]*' and x glob '*[0-9]' and ltrim(x, '-') glob '[0-9]*' "
    "and x not glob '?*-*' and x not glob '*.*.*'"
)
_IS_NUMBER = (
    "typeof(x) in ('integer', 'real') "
    "or (trim(x) not glob '*[^0-9.+-]*' and trim(x) glob '*[0-9]' "
    "and trim(x) glob '[-+0-9.]*' and trim(x) not glob '?*[-+]*' and trim(x) not glob '*.*.*') "
    "or (json_valid(trim(x)) and trim(x) glob '[-0-9]*')"
)
"""There are no regular expressions; numbers with an exponent are validated as JSON."""
_DAY = "substr(x, 1, 10)"
_DATE = (
    "x glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' "
    f"and date({_DAY}, '+0 days') = {_DAY} and date(x) is not null "
    "and substr(x, 12, 2) <> '24' "
    f"and (date(x, '+0 days') = {_DAY} or substr(x, 11) not glob '*[-+]*')"
)
"""Validates dates, as SQLite accepts 31 February, as a day of March or unchanged.

Before 3.43 it returns any day up to the 31st until a modifier is applied. Timestamps are rounded to
milliseconds, which can move the last one of a day to the next; an offset that changes the day makes
it invalid here.
"""
_DATE_PARTS = {
    "YEAR": "cast(strftime('%Y', x) as integer)",
    "MONTH": "cast(strftime('%m', x) as integer)",
    "DAY": "cast(strftime('%d', x) as integer)",
    "QUARTER": "(cast(strftime('%m', x) as integer) + 2) / 3",
}


def _extract(node: exp.Extract) -> exp.Expr:
    part = node.this.name.upper()
    if part not in _DATE_PARTS:
        return refused(f"the {part.lower()} of a date", "sqlite")(node)
    return phrase(_DATE_PARTS[part], "sqlite", x=node.expression)


def _date_part(name: str) -> Rule:
    return rewrite_rule(_DATE_PARTS[name], "sqlite", x="this")


def _like(node: exp.Like) -> exp.Expr:
    """Rewrite LIKE, which ignores case, as GLOB."""
    if not isinstance(node.expression, exp.Literal):
        return refused("a pattern that is no text", "sqlite")(node)
    signs = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    pattern = "".join(signs.get(character, character) for character in node.expression.name)
    return exp.Glob(this=node.this, expression=exp.Literal.string(pattern))


def _padded(node: exp.Pad) -> exp.Expr:
    length = int(node.expression.name)
    stars = exp.Literal.string(node.args["fill_pattern"].name * length)
    text = (
        "substr(x || stars, 1, n)"
        if node.args.get("is_left") is False
        else "case when length(x) >= n then substr(x, 1, n) else substr(stars || x, -n) end"
    )
    return phrase(text, "sqlite", x=node.this, n=node.expression, stars=stars)


def _text_of(node: exp.Cast) -> exp.Expr:
    """A value as text; floats with 17 digits, as a cast keeps 15."""
    text = "case when typeof(x) = 'real' then printf('%!.17g', x) else cast(x as text) end"
    return phrase(text, "sqlite", x=node.this)


def _cast(node: exp.Cast) -> exp.Expr:
    """Integers are exact up to 64 bits; a decimal is so many of its smallest unit."""
    match node.to.this:
        case exp.DType.DECIMAL:
            digits = node.to.expressions[-1].name
            units = "x" if digits == "0" else f"round(x * 1e{digits})"
            return phrase(f"cast({units} as integer)", "sqlite", x=node.this)
        case exp.DType.DATE:
            return phrase("date(x)", "sqlite", x=node.this)
        case exp.DType.TIMESTAMP | exp.DType.TIMESTAMPNTZ:
            feature = "a time; compare its day, cast(t as date), with date '2025-01-31'"
            return refused(feature, "sqlite")(node)
        case type if type in exp.DataType.TEXT_TYPES:
            return _text_of(node)
    return node


_try_cast: Callable[[exp.TryCast], exp.Expr] = try_cast(
    {
        exp.DType.DOUBLE: f"case when {_IS_NUMBER} then cast(x as real) end",
        exp.DType.TIMESTAMP: f"case when {_DATE} then strftime('%Y-%m-%d %H:%M:%f', x) end",
        exp.DType.DATE: f"case when {_DATE} then {_DAY} end",
        exp.DType.DECIMAL: AS_BIGINT,
    },
    "sqlite",
    figure=lambda digits: (
        f"case when {_IS_NUMBER} then "
        f"cast({'x + 0' if digits == '0' else f'round(x * 1e{digits})'} as integer) end"
    ),
)


def joins_texts(sql: str) -> bool:
    """Whether a template's SELECT contains an ordered string aggregate.

    >>> joins_texts("select string_agg(a, ',' order by a)"), joins_texts("select 'string_agg(a)'")
    (True, False)
    """
    return sqlglot.parse_one(sql, read="duckdb").find(exp.GroupConcat) is not None


RULES: Rules = {
    exp.TryCast: _try_cast,
    exp.Cast: _cast,
    exp.RegexpFullMatch: plain_number(f"({_IS_PLAIN_NUMBER})", "sqlite"),
    exp.IgnoreNulls: _rewrite("max(x)", x="this.this"),
    exp.Extract: _extract,
    exp.Year: _date_part("YEAR"),
    exp.Month: _date_part("MONTH"),
    exp.Day: _date_part("DAY"),
    exp.Left: _rewrite("substr(x, 1, n)", x="this", n="expression"),
    exp.Right: _rewrite("substr(x, -n, n)", x="this", n="expression"),
    exp.Pad: _padded,
    exp.Like: _like,
    exp.Values: values_by_place("column"),
    exp.Encode: _rewrite("cast(x as blob)", x="this"),
}
