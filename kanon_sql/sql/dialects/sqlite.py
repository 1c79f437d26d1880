"""Rules for SQLite, from 3.38 on, with its math functions; an entity needs 3.44."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import sqlglot
from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    AS_WHOLE,
    Rule,
    Rules,
    in_condition,
    phrase,
    plain_number,
    refused,
    try_cast,
    values_by_place,
    written,
)

FAILED_ON_PURPOSE = "malformed JSON"
"""SQLite's message for invalid JSON, the way in which these rules raise an error."""

_written = partial(written, dialect="sqlite")

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
_PARTS = {
    "YEAR": "cast(strftime('%Y', x) as integer)",
    "MONTH": "cast(strftime('%m', x) as integer)",
    "DAY": "cast(strftime('%d', x) as integer)",
    "QUARTER": "(cast(strftime('%m', x) as integer) + 2) / 3",
}


def _extract(node: exp.Extract) -> exp.Expr:
    part = node.this.name.upper()
    if part not in _PARTS:
        return refused(f"the {part.lower()} of a date", "sqlite")(node)
    return phrase(_PARTS[part], "sqlite", x=node.expression)


def _part(name: str) -> Rule:
    return written(_PARTS[name], "sqlite", x="this")


def _mod(node: exp.Mod) -> exp.Expr:
    """Modulo on floats, as `%` truncates to integers; infinity raises an error instead of NULL."""
    if not in_condition(node):
        return node
    text = (
        "case when y = 0 then json('a division by 0') "
        "when typeof(x) <> 'real' and typeof(y) <> 'real' then whole "
        "when abs(x) > 1.7976931348623157e308 then json('no rest') else rest end"
    )
    # By name, as a known function would be rendered as `%` again.
    rest = exp.Anonymous(this="mod", expressions=[node.this.copy(), node.expression.copy()])
    return phrase(text, "sqlite", x=node.this, y=node.expression, whole=node.copy(), rest=rest)


def _is_other_than_0(node: exp.Expr) -> bool:
    return node.is_number and bool(node.to_py())


def _div(node: exp.Div) -> exp.Expr:
    """Raise an error on division by 0, which would be NULL."""
    if in_condition(node) and not _is_other_than_0(node.expression):
        text = "case when y = 0 then json('a division by 0') else y end"
        node.set("expression", phrase(text, "sqlite", y=node.expression))
    return node


def _like(node: exp.Like) -> exp.Expr:
    """Rewrite LIKE, which ignores case, as GLOB."""
    if not isinstance(node.expression, exp.Literal):
        return refused("a pattern that is no text", "sqlite")(node)
    signs = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
    pattern = "".join(signs.get(each, each) for each in node.expression.name)
    return exp.Glob(this=node.this, expression=exp.Literal.string(pattern))


def _of_ascii(node: exp.Lower | exp.Upper | exp.ILike) -> exp.Expr:
    """Raise an error on characters beyond ASCII, whose case SQLite doesn't know."""
    if in_condition(node):
        text = "case when x glob ('*[^' || char(1) || '-~]*') then json('beyond ASCII') else x end"
        node.set("this", phrase(text, "sqlite", x=node.this))
    return node


def _padded(node: exp.Pad) -> exp.Expr:
    length = int(node.expression.name)
    stars = exp.Literal.string(node.args["fill_pattern"].name * length)
    text = (
        "substr(x || stars, 1, n)"
        if node.args.get("is_left") is False
        else "case when length(x) >= n then substr(x, 1, n) else substr(stars || x, -n) end"
    )
    return phrase(text, "sqlite", x=node.this, n=node.expression, stars=stars)


_OR_FAIL = "case when {} then cast(x as {}) else json('a value that does not cast') end"
"""Casts that raise an error; SQLite parses a number from any text."""
_OR_FAIL_AT_DATES = (
    f"case when x is null or ({_DATE}) then {_DAY} else json('a value that does not cast') end"
)


def _is_boolean(node: exp.Expr) -> bool:
    """Whether it is a boolean, which SQLite stores as a number."""
    return node.is_type(exp.DType.BOOLEAN) or isinstance(
        node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean
    )


def _chosen(node: exp.Expr) -> Iterator[exp.Expr]:
    """The possible results of an expression."""
    match node.unnest():
        case exp.Case(args=parts):
            results = [branch.args["true"] for branch in parts["ifs"]]
            for each in (*results, parts.get("default") or exp.null()):
                yield from _chosen(each)
        case exp.Coalesce(this=first, expressions=others):
            for each in (first, *others):
                yield from _chosen(each)
        case exp.Nullif(this=first):
            yield from _chosen(first)
        case other:
            yield other


def _text_of(node: exp.Cast) -> exp.Expr:
    """A value as text; floats with 17 digits, as a cast keeps 15."""
    text = "case when typeof(x) = 'real' then printf('%!.17g', x) else cast(x as text) end"
    if in_condition(node) and any(map(_is_boolean, _chosen(node.this))):
        if not _is_boolean(node.this.unnest()):
            return refused("the text of what may be a boolean", "sqlite")(node)
        text = "case when x then 'true' when not x then 'false' end"
    return phrase(text, "sqlite", x=node.this)


def _compared(node: exp.Binary | exp.In) -> exp.Expr:
    """Reject text compared with a boolean, which is a number in SQLite."""
    sides = [side.unnest() for side in node.iter_expressions()]
    has_boolean = any(side.is_type(exp.DType.BOOLEAN) for side in sides)
    if has_boolean and any(side.is_string for side in sides):
        return refused("a text beside a boolean; write true or false", "sqlite")(node)
    return node


def _cast(node: exp.Cast) -> exp.Expr:
    """Integers are exact up to 64 bits; there are no decimals."""
    match node.to.this:
        case exp.DType.DOUBLE | exp.DType.FLOAT if in_condition(node):
            text = _OR_FAIL.format(f"x is null or {_IS_NUMBER}", "real")
            return phrase(text, "sqlite", x=node.this)
        case type if type in exp.DataType.INTEGER_TYPES and in_condition(node):
            text = _OR_FAIL.format(
                f"x is null or (cast(x as integer) = x + 0 and ({_IS_NUMBER}))", "integer"
            )
            return phrase(text, "sqlite", x=node.this)
        case exp.DType.DECIMAL:
            digits = [each.name for each in node.to.expressions]
            whole = digits[-1:] == ["0"]
            return phrase(f"cast(x as {'integer' if whole else 'real'})", "sqlite", x=node.this)
        case exp.DType.DATE if in_condition(node):
            return phrase(_OR_FAIL_AT_DATES, "sqlite", x=node.this)
        case exp.DType.DATE:
            return phrase("date(x)", "sqlite", x=node.this)
        case exp.DType.TIMESTAMP | exp.DType.TIMESTAMPNTZ:
            said = "a time; compare its day, cast(t as date), with date '2025-01-31'"
            return refused(said, "sqlite")(node)
        case type if type in exp.DataType.TEXT_TYPES:
            return _text_of(node)
    return node


_as_whole: Callable[[exp.TryCast], exp.Expr] = try_cast(
    {
        exp.DType.DOUBLE: f"case when {_IS_NUMBER} then cast(x as real) end",
        exp.DType.TIMESTAMP: f"case when {_DATE} then strftime('%Y-%m-%d %H:%M:%f', x) end",
        exp.DType.DATE: f"case when {_DATE} then {_DAY} end",
        exp.DType.BIGINT: AS_WHOLE,
        exp.DType.DECIMAL: AS_WHOLE,
    },
    "sqlite",
)


def joins_texts(sql: str) -> bool:
    """Whether a template's SELECT contains an ordered string aggregate.

    >>> joins_texts("select string_agg(a, ',' order by a)"), joins_texts("select 'string_agg(a)'")
    (True, False)
    """
    return sqlglot.parse_one(sql, read="duckdb").find(exp.GroupConcat) is not None


RULES: Rules = {
    exp.TryCast: _as_whole,
    exp.Cast: _cast,
    exp.Mod: _mod,
    exp.Div: _div,
    exp.RegexpFullMatch: plain_number(f"({_IS_PLAIN_NUMBER})", "sqlite"),
    exp.IgnoreNulls: _written("max(x)", x="this.this"),
    exp.Extract: _extract,
    exp.Year: _part("YEAR"),
    exp.Month: _part("MONTH"),
    exp.Day: _part("DAY"),
    exp.Left: _written("substr(x, 1, n)", x="this", n="expression"),
    exp.Right: _written("substr(x, -n, n)", x="this", n="expression"),
    exp.Pad: _padded,
    exp.Like: _like,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.In), _compared),
    exp.Values: values_by_place("column"),
    **dict.fromkeys((exp.Lower, exp.Upper, exp.ILike), _of_ascii),
    exp.Encode: _written("cast(x as blob)", x="this"),
}
