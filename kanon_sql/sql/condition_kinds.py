"""Infers the type family of expressions in a condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from fractions import Fraction

from sqlglot import exp

from kanon_sql.sql.column_types import family
from kanon_sql.sql.quoting import DIALECT

COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In)
EXACT = (exp.Add, exp.Sub, exp.Mul, exp.Mod)
"""Operators whose result is a decimal if an operand is one; a quotient is a double."""
ARITHMETIC = (*EXACT, exp.Div, exp.Neg)


CHOICES = (exp.Case, exp.If, exp.Coalesce, exp.Nullif)
OF_DATES = (exp.Extract, exp.Year, exp.Month, exp.Day)
OF_NUMBERS = (*ARITHMETIC, exp.Abs, exp.Floor, exp.Ceil)
_TEXTS = (exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Left, exp.Right)
OF_TEXTS = (*_TEXTS, exp.Length, exp.Like, exp.ILike)
_PREDICATES = (*COMPARISONS, exp.And, exp.Or, exp.Not, exp.Boolean, exp.Case, exp.Coalesce,
               exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.Like, exp.ILike)  # fmt: skip
_FAMILY_OF_CAST = dict.fromkeys(exp.DataType.INTEGER_TYPES, "number")


NARROW = ("FLOAT", "REAL")
_FRACTIONS = ("DOUBLE", "FLOAT", "REAL", "DECIMAL")
_WHOLE = (exp.Length, *OF_DATES, exp.Predicate)
"""Expressions with integer results, whatever their operands."""


NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?\s*", re.IGNORECASE)
DATE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4}.*)?\s*")
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}([.]\d{1,6})?)?)?")


def is_predicate(expression: exp.Expr, types: Mapping[str, str]) -> bool:
    inner = expression.unnest()
    if isinstance(inner, exp.Column):
        return types[inner.name] == "BOOLEAN"
    return isinstance(inner, _PREDICATES)


def is_whole_part(number: exp.Expr | None, least: int) -> bool:
    return number is not None and number.is_int and int(number.to_py()) >= least


def may_have_fractions(value: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether a value may have a fraction, or is of a type that may, like floor(1.5)."""
    return any(_is_fractional(part, types) for part in value.walk(prune=_is_whole_number))


def _is_fractional(part: exp.Expr, types: Mapping[str, str]) -> bool:
    match part:
        case exp.Column():
            return types[part.name].startswith(_FRACTIONS)
        case exp.Literal():
            return not part.is_string and not part.is_int
        case exp.Cast():
            return part.to.sql(DIALECT).startswith(_FRACTIONS)
    return isinstance(part, exp.Div | exp.Floor | exp.Ceil)


def exactness(value: exp.Expr, types: Mapping[str, str]) -> str | None:
    """Whether a number is a decimal, where 0.1 is exact, or a double; None for an integer."""
    match value:
        case exp.Column():
            type = types[value.name]
        case exp.Cast():
            type = value.to.sql(DIALECT)
        case exp.Literal() if not value.is_string:
            return None if Fraction(value.name) == Fraction(float(value.name)) else "decimal"
        case exp.Div():
            return "double"
        case _:
            parts = _outcomes(value) if isinstance(value, CHOICES) else value.iter_expressions()
            kinds = {exactness(part, types) for part in parts}
            return next((kind for kind in ("double", "decimal") if kind in kinds), None)
    if type.startswith("DECIMAL"):
        return "decimal"
    return "double" if type.startswith(_FRACTIONS) else None


def _is_whole_number(part: exp.Expr) -> bool:
    is_cast = isinstance(part, exp.Cast) and part.to.this in exp.DataType.INTEGER_TYPES
    return is_cast or isinstance(part, _WHOLE)


def beside_one_another(node: exp.Expr) -> Iterator[list[exp.Expr]]:
    """The groups of a node's operands that must have the same family."""
    if isinstance(node, exp.Case) and node.this is not None:
        yield [node.this, *(branch.this for branch in node.args["ifs"])]
    if isinstance(node, exp.Nullif):
        yield [node.this, node.expression]
    yield _outcomes(node) if isinstance(node, CHOICES) else [*node.iter_expressions()]


def is_text_column(side: exp.Expr, types: Mapping[str, str]) -> bool:
    return isinstance(side.unnest(), exp.Column) and family_of(side, types) == "text"


def is_reckoned(side: exp.Expr, types: Mapping[str, str]) -> bool:
    return family_of(side, types) == "number" and not isinstance(side.unnest(), exp.Column)


def is_date(text: str) -> bool:
    """Whether every database parses a text to the same date or timestamp."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return _MOMENT.fullmatch(text) is not None


def kind_of(side: exp.Expr, types: Mapping[str, str]) -> str | None:
    """The type to which a text column is cast when compared with this operand."""
    return {"number": "DOUBLE", "time": "TIMESTAMP"}.get(family_of(side, types) or "")


def family_of(value: exp.Expr, types: Mapping[str, str]) -> str | None:
    """The type family of an expression, if known; NULL has any."""
    match value:
        case exp.Paren():
            return family_of(value.this, types)
        case exp.Column():
            return family(types[value.name]) if types[value.name] else None
        case exp.Literal():
            return "text" if value.is_string else "number"
        case exp.Cast():
            return _FAMILY_OF_CAST.get(value.to.this) or family(value.to.sql(DIALECT))
        case exp.Case() | exp.If() | exp.Coalesce() | exp.Nullif():
            return next(filter(None, (family_of(each, types) for each in _outcomes(value))), None)
    if isinstance(value, (*OF_NUMBERS, *OF_DATES, exp.Length)):
        return "number"
    if isinstance(value, _TEXTS):
        return "text"
    return "boolean" if isinstance(value, _PREDICATES) else None


def _outcomes(choice: exp.Expr) -> list[exp.Expr]:
    """The possible results of a CASE, COALESCE or NULLIF."""
    match choice:
        case exp.Coalesce():
            return [choice.this, *choice.expressions]
        case exp.Nullif():
            return [choice.this]
    branches = choice.args.get("ifs") or [choice]
    found = [*(each.args["true"] for each in branches), choice.args.get("default")]
    return [each for each in (*found, choice.args.get("false")) if each is not None]
