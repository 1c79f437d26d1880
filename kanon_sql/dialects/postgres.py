"""Postgres, from 13 on."""

from __future__ import annotations

from sqlglot import exp

from kanon_sql.dialects.rules import Rules, backslash_in_like, phrase, written

_NUMBER = r"^\s*[-+]?(\d{1,200}(\.\d{0,200})?|\.\d{1,200})([eE][-+]?\d{1,2})?\s*$"
_DATE = r"^\s*\d{1,4}-\d{1,2}-\d{1,2}([ T]\d{1,2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?\s*$"


def _phrase(text: str, **parts: exp.Expr) -> exp.Expr:
    return phrase(text, "postgres", **parts)


def _same(node: exp.NullSafeEQ) -> exp.Expr:
    """Arrays are equal where both elements are NULL, and only equality is joined by hashing."""
    return _phrase("array[a] = array[b]", a=node.this, b=node.expression)


def _try_cast(node: exp.TryCast) -> exp.Expr:
    """A cast that fails is an error, so what is cast must look as if it would not."""
    match node.to.this:
        case exp.DType.DOUBLE:
            text = f"case when cast(x as text) ~ '{_NUMBER}' then cast(x as double precision) end"
        case exp.DType.DATE:
            text = (
                f"case when cast(x as text) ~ '{_DATE}' and pg_input_is_valid(cast(x as text), "
                "'date') then cast(x as date) end"
            )
        case exp.DType.TIMESTAMP | exp.DType.TIMESTAMPNTZ:
            text = (
                f"case when cast(x as text) ~ '{_DATE}' and pg_input_is_valid(cast(x as text), "
                "'timestamp') then cast(x as timestamp) end"
            )
        case exp.DType.BIGINT:
            text = (
                "case when x between -9223372036854775808 and 9223372036854774784 "
                "then cast(x as bigint) end"
            )
        case exp.DType.DECIMAL:
            text = "case when abs(x) < 1e38 then cast(x as decimal(38, 0)) end"
        case other:
            raise NotImplementedError(f"try_cast to {other}")
    return _phrase(text, x=node.this)


def _full_match(node: exp.RegexpFullMatch) -> exp.Expr:
    pattern = exp.Literal.string(f"^({node.expression.name})$")
    return _phrase("x ~ pattern", x=node.this, pattern=pattern)


def _any_value(node: exp.IgnoreNulls) -> exp.Expr:
    """There is an any_value from Postgres 16 on, and no least boolean."""
    return _phrase("(array_agg(x))[1]", x=node.this.this)


def _by_bytes(node: exp.Binary | exp.Between) -> exp.Expr:
    """Texts in the order of their bytes, where a column has that of a language."""
    for column in [*node.iter_expressions()]:
        if isinstance(column, exp.Column) and column.is_type(exp.DType.VARCHAR):
            column.replace(_phrase('x collate "C"', x=column))
    return node


RULES: Rules = {
    **dict.fromkeys((exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between), _by_bytes),
    exp.NullSafeEQ: _same,
    exp.TryCast: _try_cast,
    exp.RegexpFullMatch: _full_match,
    exp.IgnoreNulls: _any_value,
    exp.Like: backslash_in_like,
    exp.ILike: backslash_in_like,
    exp.Encode: written("convert_to(cast(x as text), 'UTF8')", "postgres", x="this"),
}
