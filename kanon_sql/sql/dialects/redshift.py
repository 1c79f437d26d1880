"""Rules for Redshift."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    BACKSLASH_IN_LIKE,
    DATE,
    NUMBER,
    Rules,
    framed,
    full_match,
    rewrite_rule,
    try_cast,
)

_rewrite = partial(rewrite_rule, dialect="redshift")


def _joined(node: exp.GroupConcat) -> exp.Expr:
    """LISTAGG with its order in a WITHIN GROUP clause."""
    order = node.this if isinstance(node.this, exp.Order) else None
    if order is None:
        return node
    joined = exp.Anonymous(
        this="listagg", expressions=[order.this.copy(), node.args["separator"].copy()]
    )
    return exp.WithinGroup(
        this=joined,
        expression=exp.Order(expressions=[expression.copy() for expression in order.expressions]),
    )


RULES: Rules = {
    exp.NullSafeEQ: _rewrite("(a = b or (a is null and b is null))", a="this", b="expression"),
    exp.NullSafeNEQ: _rewrite(
        "not (a = b or (a is null and b is null)) is true", a="this", b="expression"
    ),
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: f"case when cast(x as varchar(max)) ~ '{NUMBER}' "
            "then cast(x as double precision) end",
            exp.DType.DATE: f"case when cast(x as varchar(max)) ~ '{DATE}' "
            "then cast(cast(x as timestamp) as date) end",
            exp.DType.TIMESTAMP: f"case when cast(x as varchar(max)) ~ '{DATE}' "
            "then cast(x as timestamp) end",
        },
        "redshift",
    ),
    exp.RegexpFullMatch: full_match("x ~ pattern", "redshift"),
    exp.Window: framed,
    exp.GroupConcat: _joined,
    exp.IgnoreNulls: _rewrite("any_value(x)", x="this.this"),
    **BACKSLASH_IN_LIKE,
    exp.Encode: _rewrite("cast(cast(x as varchar(max)) as varbyte(65535))", x="this"),
}
