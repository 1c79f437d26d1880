"""Rules for BigQuery."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    Rules,
    backslash_in_like,
    casts,
    full_match,
    nulls_last,
    rewrite_rule,
    try_cast,
)

_rewrite = partial(rewrite_rule, dialect="bigquery")


def _aliased_if_ambiguous(table: exp.Table) -> exp.Table:
    """Alias a table that is named like one of its columns.

    A bare name that both have means the whole row, so a constant column would have as many values
    as there are records.
    """
    select, name = table.parent_select, table.alias_or_name
    if select is None or not isinstance(table.this, exp.Identifier):
        return table
    columns = [column for column in select.find_all(exp.Column) if column.parent_select is select]
    if any(not column.table and column.name.casefold() == name.casefold() for column in columns):
        rows = exp.to_identifier(f"kanon_rows_of_{name}", quoted=table.this.quoted)
        table.set("alias", exp.TableAlias(this=rows))
        for column in columns:
            if column.table == name:
                column.set("table", rows.copy())
    return table


RULES: Rules = {
    exp.Table: _aliased_if_ambiguous,
    # OR is joined by hashing; `is not distinct from` may be rejected.
    exp.NullSafeEQ: _rewrite("(a = b or (a is null and b is null))", a="this", b="expression"),
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: "safe_cast(x as float64)",
            exp.DType.DATE: "cast(safe_cast(x as datetime) as date)",
            exp.DType.TIMESTAMP: "safe_cast(x as datetime)",
            exp.DType.BIGINT: "safe_cast(x as int64)",
            exp.DType.DECIMAL: "safe_cast(x as bignumeric)",
        },
        "bigquery",
        figure=lambda digits: "safe_cast(x as bignumeric)",
    ),
    # NUMERIC has 29 integer digits.
    exp.Cast: casts({exp.DType.DECIMAL: "cast(x as bignumeric)"}, "bigquery"),
    exp.RegexpFullMatch: full_match("regexp_contains(x, pattern)", "bigquery"),
    exp.IgnoreNulls: _rewrite("any_value(x)", x="this.this"),
    exp.Order: nulls_last,
    exp.Like: backslash_in_like,
    exp.TimeToStr: _rewrite("format_date(format, cast(x as date))", x="this", format="format"),
    exp.Encode: _rewrite("cast(cast(x as string) as bytes)", x="this"),
}
