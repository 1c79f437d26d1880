"""Rules for SQL Server, from 2017 on."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import (
    Rules,
    is_float,
    nulls_last,
    phrase,
    plain_number,
    refused,
    rewrite_rule,
    try_cast,
)

_rewrite = partial(rewrite_rule, dialect="tsql")

_TEXT = "cast(x as nvarchar(max)) collate Latin1_General_100_BIN2"
"""Text compared by case and accents; no collation distinguishes trailing blanks."""
_IS_PLAIN_NUMBER = (
    f"({_TEXT} not like '%[^-0-9.]%' and {_TEXT} like '%[0-9]' "
    f"and ({_TEXT} like '[0-9]%' or {_TEXT} like '-[0-9]%') "
    f"and {_TEXT} not like '_%-%' and {_TEXT} not like '%.%.%')"
)
_HAS_DIGIT = f"{_TEXT} like '%[0-9]%'"


_EXACT = "convert(nvarchar(max), x, 3) collate Latin1_General_100_BIN2"
"""A float with all digits; a cast would keep six."""


def _as_text(node: exp.Cast) -> exp.Expr:
    if node.to.this not in exp.DataType.TEXT_TYPES:
        return node
    return phrase(_EXACT if is_float(node.this) else _TEXT, "tsql", x=node.this)


def _float_as_text(node: exp.Case) -> exp.Expr:
    """The default branch of a CASE that formats integers; a cast would keep six digits."""
    default = node.args.get("default")
    if not isinstance(default, exp.Collate) or not isinstance(default.this, exp.Cast):
        return node
    if not any(branch.this.find(exp.Floor) for branch in node.args["ifs"]):
        return node
    node.set("default", phrase(_EXACT, "tsql", x=default.this.this))
    return node


def _trimmed(node: exp.Trim) -> exp.Expr:
    """Trim stars at one end, which only SQL Server 2022 has syntax for."""
    if not node.expression:
        return node
    if node.expression.name in ("0", ".") and node.args.get("position") == "TRAILING":
        return exp.Anonymous(this="rtrim", expressions=[node.this, node.expression])
    if node.expression.name != "*" or node.args.get("position") not in ("LEADING", "TRAILING"):
        return refused("trim of anything but stars", "tsql")(node)
    left = "substring(x, patindex('%[^*]%', x + '.'), len(x + '.'))"
    right = "left(x, len(x + '.') - patindex('%[^*]%', reverse(x) + '.'))"
    return phrase(left if node.args["position"] == "LEADING" else right, "tsql", x=node.this)


def _padded(node: exp.Pad) -> exp.Expr:
    length = int(node.expression.name)
    stars = exp.Literal.string(node.args["fill_pattern"].name * length)
    text = (
        "left(x + stars, n)"
        if node.args.get("is_left") is False
        else "case when len(x + '.') - 1 >= n then left(x, n) else right(stars + x, n) end"
    )
    return phrase(text, "tsql", x=node.this, n=node.expression, stars=stars)


def _date_text(node: exp.TimeToStr) -> exp.Expr:
    """By style number, which is independent of the session's language."""
    length = {"%Y": 4, "%Y-%m": 7, "%Y-%m-%d": 10}[node.args["format"].name]
    return phrase(f"convert(nvarchar({length}), x, 23)", "tsql", x=node.this)


def _like(node: exp.Like) -> exp.Expr:
    pattern = node.expression
    if isinstance(pattern, exp.Literal):
        pattern = exp.Literal.string(pattern.name.replace("[", "[[]"))
    return phrase(f"{_TEXT} like pattern", "tsql", x=node.this, pattern=pattern)


def _ilike(node: exp.ILike) -> exp.Expr:
    return _like(
        exp.Like(
            this=exp.Lower(this=node.this),
            expression=exp.Literal.string(node.expression.name.lower()),
        )
    )


def _text(node: exp.Literal) -> exp.Expr:
    """Non-ASCII text becomes a Unicode literal, as code pages may lack a character."""
    if node.is_string and not node.name.isascii():
        return exp.National(this=node.name)
    return node


def _merged_intersections(node: exp.Join) -> exp.Join:
    """Merge the intersections of a join into one over all columns."""
    condition = node.args.get("on")
    conditions = list(condition.flatten()) if isinstance(condition, exp.And) else []
    tests = [exists for exists in conditions if isinstance(exists, exp.Exists)]
    if len(tests) < 2 or not all(isinstance(exists.this, exp.Intersect) for exists in tests):
        return node
    first, *others = [exists.this for exists in tests]
    for other in others:
        first.this.set("expressions", [*first.this.expressions, *other.this.expressions])
        of_second = [*first.expression.expressions, *other.expression.expressions]
        first.expression.set("expressions", of_second)
    rest = [exists for exists in conditions if exists not in tests[1:]]
    node.set("on", exp.and_(*rest, copy=False))
    return node


REASONS = {
    exp.NullSafeEQ: "exists (select a intersect select b) is a = b, and true where both are NULL.",
}

RULES: Rules = {
    # An intersection treats NULLs as equal, and is joined by hashing.
    exp.NullSafeEQ: _rewrite("exists (select a intersect select b)", a="this", b="expression"),
    exp.Join: _merged_intersections,
    exp.NullSafeNEQ: _rewrite("not exists (select a intersect select b)", a="this", b="expression"),
    # Blank text would be parsed as 0.
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: f"case when {_HAS_DIGIT} then try_cast(x as float) end",
            exp.DType.DATE: "case when "
            f"{_TEXT} like '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]%' "
            "then cast(try_cast(x as datetime2) as date) end",
            exp.DType.TIMESTAMP: "case when "
            f"{_TEXT} like '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]%' "
            "then try_cast(x as datetime2) end",
            exp.DType.BIGINT: "try_cast(x as bigint)",
            exp.DType.DECIMAL: "try_cast(x as numeric(38, 0))",
        },
        "tsql",
        figure=lambda digits: f"try_cast(x as numeric(38, {digits}))",
    ),
    exp.Cast: _as_text,
    exp.Case: _float_as_text,
    exp.RegexpFullMatch: plain_number(_IS_PLAIN_NUMBER, "tsql"),
    exp.IgnoreNulls: _rewrite("max(x)", x="this.this"),
    exp.MD5: _rewrite(
        "lower(convert(varchar(32), hashbytes('MD5', "
        "cast(x collate Latin1_General_100_BIN2_UTF8 as varchar(max))), 2))",
        x="this",
    ),
    exp.Length: _rewrite("(len(x + '.') - 1)", x="this"),
    exp.Trim: _trimmed,
    exp.Pad: _padded,
    exp.TimeToStr: _date_text,
    exp.Like: _like,
    exp.ILike: _ilike,
    exp.Order: nulls_last,
    exp.Literal: _text,
    exp.Encode: _rewrite("cast(x as varbinary(max))", x="this"),
}
