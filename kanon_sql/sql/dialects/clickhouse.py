"""Rules for ClickHouse, from 24.8 on, under the settings of its engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    BACKSLASH_IN_LIKE,
    Rules,
    full_match,
    phrase,
    rewrite_rule,
    try_cast,
    values_by_place,
)

_MOMENT = (
    r"^[0-9]{1,4}-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])"
    r"([ T]([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?)?$"
)
_UTC = "DateTime64(6, 'UTC')"
_AS_MOMENT = (
    f"case when match(toString(x), '{_MOMENT}') and toYear(parseDateTime64BestEffortOrNull("
    "toString(x), 6, 'UTC')) = toUInt16OrZero(extract(toString(x), '^[0-9]+')) "
    "then parseDateTime64BestEffortOrNull(toString(x), 6, 'UTC') end"
)
"""ClickHouse parses 30 February as a day of March, and clamps dates beyond its range.

A parsed date must therefore have the year that it spells.
"""

_phrase = partial(phrase, dialect="clickhouse")


def _type(node: exp.DataType) -> exp.Expr:
    """Date32 for all years, microsecond timestamps, and wider decimals for scaled counts."""
    match node.this:
        case exp.DType.DATE:
            return exp.DataType.build("Date32", dialect="clickhouse")
        case exp.DType.TIMESTAMP | exp.DType.TIMESTAMPNTZ:
            return exp.DataType.build(_UTC, dialect="clickhouse")
        case exp.DType.DECIMAL if [digits.name for digits in node.expressions] == ["18", "0"]:
            return exp.DataType.build("Decimal(38, 0)", dialect="clickhouse")
    return node


def _cast(node: exp.Cast) -> exp.Expr:
    match node.to.this, node.this:
        case exp.DType.TEXT | exp.DType.VARCHAR, exp.Cast(this=number, to=to) if (
            to.this == exp.DType.DECIMAL and len(to.expressions) == 2
        ):
            return _phrase("toDecimalString(x, digits)", x=number, digits=to.expressions[1].this)
        case exp.DType.DECIMAL, exp.Cast(to=to) if to.this == exp.DType.DOUBLE:
            # A float is cut, not rounded: 0.29 would be 0.28.
            digits = node.to.expressions[-1].this
            return _phrase("toDecimal128(toString(x), digits)", x=node.this, digits=digits)
        case exp.DType.TEXT | exp.DType.VARCHAR, exp.Mul(this=units, expression=unit):
            return _units_as_text(units, unit.name)
    return node


def _units_as_text(units: exp.Expr, unit: str) -> exp.Expr:
    """A decimal literal would be a float, whose product is rounded."""
    digits = len(unit.partition(".")[2])
    return _phrase(
        f"toDecimalString(cast(x as Nullable(Decimal(38, 0))) "
        f"* cast('{unit}' as Decimal(38, {digits})), {digits})",
        x=units,
    )


def _signed(node: exp.Expr) -> exp.Expr:
    """An unsigned count can't share a column with a signed one."""
    return node if isinstance(node.parent, exp.Window) else _phrase("toInt64(x)", x=node)


def _constant(node: exp.Alias) -> exp.Expr:
    if isinstance(node.this, exp.Literal) and node.this.is_int:
        node.set("this", _signed(node.this))
    return node


def _window(node: exp.Window) -> exp.Expr:
    counting = isinstance(node.this, exp.Count | exp.RowNumber | exp.DenseRank)
    return _signed(node) if counting else node


def _sum(node: exp.Sum) -> exp.Expr:
    """Sum integers as decimals, as integer sums silently overflow."""
    if isinstance(node.this, exp.Cast) and node.this.to.this == exp.DType.BIGINT:
        return _phrase("sum(cast(x as Nullable(Decimal(38, 0))))", x=node.this.this)
    return node


def _case(node: exp.Case) -> exp.Expr:
    outcomes = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    values = [
        outcome for outcome in outcomes if outcome is not None and not isinstance(outcome, exp.Null)
    ]
    return _signed(node) if values and all(value.is_int for value in values) else node


# --- texts ----------------------------------------------------------------------------------


def _text_of_group(node: exp.GroupConcat) -> exp.Expr:
    """Sort by arrays of (key, text) pairs."""
    [ordered] = node.this.expressions
    return _phrase(
        "arrayStringConcat(arrayMap(pair -> assumeNotNull(tupleElement(pair, 2)), "
        "arraySort(groupArray(tuple(place, item)))), separator)",
        place=ordered.this,
        item=node.this.this,
        separator=node.args["separator"],
    )


_AS_ELSEWHERE = [
    exp.EQ(this=exp.to_identifier(name), expression=exp.Literal.number(1))
    for name in ("join_use_nulls", "prefer_column_name_to_alias")
]
"""A LEFT JOIN fills with NULL, and names resolve to columns before aliases."""


def _select(node: exp.Select) -> exp.Expr:
    """Alias qualified columns, and append the settings to a whole statement.

    Without an alias, a column of two joined tables would keep its qualifier as part of its name.
    The settings make the statement mean the same whoever runs it.
    """
    columns = [
        exp.alias_(expression, exp.to_identifier(expression.name, quoted=expression.this.quoted))
        if isinstance(expression, exp.Column) and expression.table and not expression.is_star
        else expression
        for expression in node.expressions
    ]
    node.set("expressions", columns)
    above = node.parent
    while isinstance(above, exp.SetOperation):
        above = above.parent
    if above is None or isinstance(above, exp.Create):
        node.set("settings", [setting.copy() for setting in _AS_ELSEWHERE])
    return node


def _named(name: str, *arguments: str) -> Callable[[exp.Expr], exp.Expr]:
    """The variant of a function that counts characters instead of bytes."""

    def function(node: exp.Expr) -> exp.Expr:
        expressions = [
            node.args[argument] for argument in arguments if node.args.get(argument) is not None
        ]
        return exp.Anonymous(this=name, expressions=expressions)

    return function


def _padded(node: exp.Pad) -> exp.Expr:
    side = "leftPadUTF8" if node.args.get("is_left") else "rightPadUTF8"
    return exp.Anonymous(
        this=side, expressions=[node.this, node.expression, node.args["fill_pattern"]]
    )


RULES: Rules = {
    **BACKSLASH_IN_LIKE,
    exp.Select: _select,
    # sqlglot writes a SELECT a row, and each is a step of a plan that may have 10,000.
    exp.Values: values_by_place("c", "values"),
    exp.DataType: _type,
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: "toFloat64OrNull(trimBoth(toString(x)))",
            exp.DType.DATE32: f"toDate32({_AS_MOMENT})",
            exp.DType.DATETIME64: _AS_MOMENT,
            exp.DType.BIGINT: "accurateCastOrNull(x, 'Int64')",
            exp.DType.DECIMAL: "accurateCastOrNull(x, 'Decimal(38, 0)')",
        },
        "clickhouse",
        figure=lambda digits: f"toDecimal128OrNull(trimBoth(toString(x)), {digits})",
    ),
    exp.Cast: _cast,
    exp.Alias: _constant,
    exp.Case: _case,
    exp.Count: _signed,
    exp.Window: _window,
    exp.Sum: _sum,
    exp.RegexpFullMatch: full_match("match(x, pattern)", "clickhouse"),
    exp.GroupConcat: _text_of_group,
    # LEAD past the last row is 0 for a type without NULL.
    exp.Lead: rewrite_rule("lead(toNullable(x))", "clickhouse", x="this"),
    # The name is case-sensitive.
    exp.MD5: rewrite_rule("lower(hex(MD5(x)))", "clickhouse", x="this"),
    exp.Length: _named("lengthUTF8", "this"),
    exp.Substring: _named("substringUTF8", "this", "start", "length"),
    exp.StrPosition: _named("positionUTF8", "this", "substr"),
    exp.Lower: _named("lowerUTF8", "this"),
    exp.Upper: _named("upperUTF8", "this"),
    exp.Left: _named("leftUTF8", "this", "expression"),
    exp.Right: _named("rightUTF8", "this", "expression"),
    exp.Pad: _padded,
}
