"""Rules for Postgres, from 13 on; from 16 on if text is tried as a date."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    BACKSLASH_IN_LIKE,
    Rules,
    full_match,
    phrase,
    rewrite_rule,
    try_cast,
)

_NUMBER = r"^\s*[-+]?(\d{1,200}(\.\d{0,200})?|\.\d{1,200})([eE][-+]?\d{1,2})?\s*$"
_DATE = r"^\s*\d{1,4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?\s*$"


_phrase = partial(phrase, dialect="postgres")
_rewrite = partial(rewrite_rule, dialect="postgres")


def _moment(type: str) -> str:
    """Test the text first, as a failing cast raises an error."""
    return (
        f"case when cast(x as text) ~ '{_DATE}' and pg_input_is_valid(cast(x as text), '{type}') "
        f"then cast(x as {type}) end"
    )


def _date_text(node: exp.TimeToStr) -> exp.Expr:
    """A date's text; for infinity its name, as in DuckDB, instead of NULL."""
    return _phrase("coalesce(said, cast(x as text))", said=node.copy(), x=node.this)


def _year(node: exp.Extract) -> exp.Expr:
    """The year of an infinite date is NULL, as in DuckDB."""
    if node.this.name.upper() != "YEAR":
        return node
    return _phrase("case when isfinite(x) then y end", x=node.expression, y=node.copy())


def _classes_as_arrays(node: exp.Join) -> exp.Join:
    """Join the classes of two releases on one array of all columns.

    With several conditions, Postgres estimates hardly any matches, and chooses a nested loop.
    """
    conditions = list(node.args["on"].flatten()) if isinstance(node.args.get("on"), exp.And) else []
    if node.alias_or_name not in _NUMBERED or not conditions:
        return node
    sides = [
        [expression.unnest() for expression in condition.iter_expressions()]
        for condition in conditions
    ]
    if not all(isinstance(side, exp.Array) for pair in sides for side in pair):
        return node
    left, right = (
        exp.Anonymous(this="row", expressions=[array.expressions[0].copy() for array in arrays])
        for arrays in zip(*sides, strict=True)
    )
    node.set("on", _phrase("array[a] = array[b]", a=left, b=right))
    return node


_NUMBERED = ("release_classes", "earlier_classes")
"""The CTEs with a release's own columns, so that each has the same type on both sides."""


REASONS = {
    exp.NullSafeEQ: "array[a] = array[b] is a = b and true where both are NULL, joined by hashing.",
}

RULES: Rules = {
    exp.Join: _classes_as_arrays,
    exp.TimeToStr: _date_text,
    exp.Extract: _year,
    exp.Year: _rewrite("case when isfinite(x) then extract(year from x) end", x="this"),
    # Arrays with NULL elements compare as equal, and only equality is joined by hashing.
    exp.NullSafeEQ: _rewrite("array[a] = array[b]", a="this", b="expression"),
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: f"case when cast(x as text) ~ '{_NUMBER}' "
            "then cast(x as double precision) end",
            exp.DType.DATE: _moment("date"),
            exp.DType.TIMESTAMP: _moment("timestamp"),
        },
        "postgres",
    ),
    exp.RegexpFullMatch: full_match("x ~ pattern", "postgres"),
    # any_value requires Postgres 16, and there is no min of booleans.
    exp.IgnoreNulls: _rewrite("(array_agg(x))[1]", x="this.this"),
    **BACKSLASH_IN_LIKE,
    exp.Encode: _rewrite("convert_to(cast(x as text), 'UTF8')", x="this"),
}
