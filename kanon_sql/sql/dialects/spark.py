"""Rules for Spark, from 4.0 on, in ANSI mode."""

from __future__ import annotations

from functools import partial

from sqlglot import exp

from kanon_sql.sql.dialects.rules import BACKSLASH_IN_LIKE, Rules, full_match, phrase, try_cast

_NUMBER = r"^\s*[-+]?([0-9]{1,200}([.][0-9]{0,200})?|[.][0-9]{1,200})([eE][-+]?[0-9]{1,2})?\s*\z"
_TIME = r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?"
_DATE = rf"^\s*[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}{_TIME}\s*\z"
_TWO_TO_THE_63 = "9.223372036854775807E18D"


_phrase = partial(phrase, dialect="spark")


def _checked_cast(pattern: str, type: str) -> str:
    """Cast only text that looks like a number or date: Spark also accepts `1d` and `2025`."""
    text = exp.Literal.string(pattern).sql("spark")
    return f"case when cast(x as string) rlike {text} then try_cast(x as {type}) end"


def _float_floor(node: exp.Floor | exp.Ceil) -> exp.Expr:
    """The floor of a float as a float: a bigint saturates at 2 ** 63."""
    above = node.find_ancestor(exp.TryCast)
    of_float = node.find(exp.Div) or (above and above.to.this == exp.DType.BIGINT)
    if not of_float:
        return node
    inner = node.copy()
    # From 2 ** 53 on, and for NaN, a float is its own floor.
    text = "case when abs(x) < 9007199254740992 then cast(whole as double) else x end"
    return _phrase(text, x=node.this, whole=inner)


def _is_integer(node: exp.EQ) -> exp.Expr:
    """Test for integers by modulo, as the floor of infinity raises an error in ANSI mode."""
    other = node.expression
    if isinstance(other, exp.Floor) and other.this == node.this:
        return _phrase("x % 1 = 0", x=node.this)
    return node


def _where(node: exp.Where) -> exp.Expr:
    """Drop the parentheses in `from t where (b)`, parsed as table alias `where` with column `b`."""
    condition = node.this.unnest()
    if isinstance(condition, exp.Column):
        node.set("this", condition)
    return node


RULES: Rules = {
    exp.Where: _where,
    **BACKSLASH_IN_LIKE,
    exp.EQ: _is_integer,
    exp.TryCast: try_cast(
        {
            exp.DType.DOUBLE: _checked_cast(_NUMBER, "double"),
            exp.DType.DATE: _checked_cast(_DATE, "date"),
            exp.DType.TIMESTAMP: _checked_cast(_DATE, "timestamp_ntz"),
            # 2 ** 63 itself would be cast to one less.
            exp.DType.BIGINT: f"case when x < {_TWO_TO_THE_63} then try_cast(x as bigint) end",
            exp.DType.DECIMAL: "try_cast(x as decimal(38, 0))",
        },
        "spark",
    ),
    exp.RegexpFullMatch: full_match("x rlike pattern", "spark", r"^(?:{})\z"),
    exp.Floor: _float_floor,
    exp.Ceil: _float_floor,
}
