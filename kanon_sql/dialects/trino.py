"""Trino."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.dialects.rules import Rules, phrase, without_dollar, written

_written = partial(written, dialect="trino")


def _full_match(node: exp.RegexpFullMatch) -> exp.Expr:
    pattern = exp.Literal.string(without_dollar(f"^({node.expression.name})$"))
    return phrase("regexp_like(x, pattern)", "trino", x=node.this, pattern=pattern)


RULES: Rules = {
    exp.RegexpFullMatch: _full_match,
    exp.IgnoreNulls: _written("any_value(x)", x="this.this"),
    # `substr` from before the first character is empty.
    exp.Right: _written(
        "case when length(x) <= n then x else substr(x, length(x) - n + 1) end",
        x="this",
        n="expression",
    ),
    exp.Encode: _written("to_utf8(cast(x as varchar))", x="this"),
}
