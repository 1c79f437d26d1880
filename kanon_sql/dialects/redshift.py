"""Redshift."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.dialects.rules import (
    BETWEEN_WHOLE,
    DATE,
    NUMBER,
    Rules,
    backslash_in_like,
    phrase,
    try_cast,
    written,
)

_written = partial(written, dialect="redshift")


def _full_match(node: exp.RegexpFullMatch) -> exp.Expr:
    pattern = exp.Literal.string(f"^({node.expression.name})$")
    return phrase("x ~ pattern", "redshift", x=node.this, pattern=pattern)


RULES: Rules = {
    exp.NullSafeEQ: _written("(a = b or (a is null and b is null))", a="this", b="expression"),
    exp.NullSafeNEQ: _written(
        "not (a = b or (a is null and b is null)) is true", a="this", b="expression"
    ),
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: f"case when cast(x as varchar(max)) ~ '{NUMBER}' "
            "then cast(x as double precision) end",
            exp.DType.TIMESTAMP: f"case when cast(x as varchar(max)) ~ '{DATE}' "
            "then cast(x as timestamp) end",
            exp.DType.BIGINT: BETWEEN_WHOLE,
            exp.DType.DECIMAL: "case when abs(x) < 1e38 then cast(x as decimal(38, 0)) end",
        },
        "redshift",
    ),
    exp.RegexpFullMatch: _full_match,
    exp.IgnoreNulls: _written("any_value(x)", x="this.this"),
    exp.Like: backslash_in_like,
    exp.ILike: backslash_in_like,
    exp.Encode: _written("cast(cast(x as varchar(max)) as varbyte)", x="this"),
}
