"""Rules for Snowflake."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    DATE,
    Rules,
    is_float,
    phrase,
    rewrite_rule,
    try_cast,
)

_rewrite = partial(rewrite_rule, dialect="snowflake")

_EXACT = "to_varchar(x, 'TME')"
"""A float with all digits; a cast keeps about ten."""


def _spelling(node: exp.Cast) -> exp.Expr:
    """A float's text that is compared only with its like, so it may have an exponent."""
    is_spelling = node.to.this in exp.DataType.TEXT_TYPES and isinstance(node.this, exp.Case)
    return phrase(_EXACT, "snowflake", x=node.this) if is_spelling and is_float(node.this) else node


def _float_as_text(node: exp.Case) -> exp.Expr:
    """The default branch of a CASE that formats integers: a cast if it round-trips.

    Decimals always do.
    """
    default = node.args.get("default")
    if not isinstance(default, exp.Cast) or default.to.this not in exp.DataType.TEXT_TYPES:
        return node
    if not any(branch.this.find(exp.Floor) for branch in node.args["ifs"]):
        return node
    if isinstance(default.this, exp.Cast) and default.this.to.this == exp.DType.DECIMAL:
        return node
    exact = "case when try_cast(spelled as double) = x then spelled else " + _EXACT + " end"
    node.set("default", phrase(exact, "snowflake", x=default.this, spelled=default))
    return node


RULES: Rules = {
    exp.Cast: _spelling,
    exp.Case: _float_as_text,
    # Only text can be tried. Digits alone would be parsed as seconds since 1970.
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: "try_cast(cast(x as varchar) as double)",
            exp.DType.DATE: f"case when regexp_like(cast(x as varchar), '{DATE}') "
            "then try_cast(left(cast(x as varchar), 10) as date) end",
            exp.DType.TIMESTAMP: f"case when regexp_like(cast(x as varchar), '{DATE}') "
            "then try_cast(cast(x as varchar) as timestamp_ntz) end",
        },
        "snowflake",
    ),
    # The pattern matches the whole text.
    exp.RegexpFullMatch: _rewrite("regexp_like(x, pattern)", x="this", pattern="expression"),
    exp.IgnoreNulls: _rewrite("any_value(x)", x="this.this"),
    exp.Encode: _rewrite("hex_encode(cast(x as varchar))", x="this"),
}
