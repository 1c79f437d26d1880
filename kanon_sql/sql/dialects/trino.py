"""Rules for Trino."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import TO_THE_END, Rules, full_match, written

_written = partial(written, dialect="trino")


RULES: Rules = {
    exp.RegexpFullMatch: full_match("regexp_like(x, pattern)", "trino", TO_THE_END),
    exp.IgnoreNulls: _written("any_value(x)", x="this.this"),
    # `substr` from before the first character is empty.
    exp.Right: _written(
        "case when length(x) <= n then x else substr(x, length(x) - n + 1) end",
        x="this",
        n="expression",
    ),
    exp.Encode: _written("to_utf8(cast(x as varchar))", x="this"),
}
