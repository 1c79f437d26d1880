"""Snowflake."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import AS_LONG, AS_WHOLE, DATE, Rules, try_cast, written

_written = partial(written, dialect="snowflake")

RULES: Rules = {
    # Only text is tried. What are only digits would be taken for the seconds since 1970.
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: "try_cast(cast(x as varchar) as double)",
            exp.DType.DATE: f"case when regexp_like(cast(x as varchar), '{DATE}') "
            "then try_cast(left(cast(x as varchar), 10) as date) end",
            exp.DType.TIMESTAMP: f"case when regexp_like(cast(x as varchar), '{DATE}') "
            "then try_cast(cast(x as varchar) as timestamp_ntz) end",
            exp.DType.BIGINT: AS_WHOLE,
            exp.DType.DECIMAL: AS_LONG,
        },
        "snowflake",
    ),
    # The pattern is of the whole text.
    exp.RegexpFullMatch: _written("regexp_like(x, pattern)", x="this", pattern="expression"),
    exp.IgnoreNulls: _written("any_value(x)", x="this.this"),
    exp.Encode: _written("hex_encode(cast(x as varchar))", x="this"),
}
