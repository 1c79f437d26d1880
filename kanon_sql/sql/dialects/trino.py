"""Rules for Trino."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import TO_THE_END, Rules, full_match, rewrite_rule

_rewrite = partial(rewrite_rule, dialect="trino")


RULES: Rules = {
    exp.RegexpFullMatch: full_match("regexp_like(x, pattern)", "trino", TO_THE_END),
    exp.IgnoreNulls: _rewrite("any_value(x)", x="this.this"),
    # `substr` from before the first character is empty.
    exp.Right: _rewrite(
        "case when length(x) <= n then x else substr(x, length(x) - n + 1) end",
        x="this",
        n="expression",
    ),
    exp.Encode: _rewrite("to_utf8(cast(x as varchar))", x="this"),
}
