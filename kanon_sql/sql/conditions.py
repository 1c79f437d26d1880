"""Compiles record filters written by users, after checking them against an allow-list.

A condition is one scalar expression over the table's own columns. Statements, subqueries,
aggregates, functions outside the list and unknown columns are rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import sqlglot
from sqlglot import exp

from kanon_sql.errors import SpecError, begun, no_such_column
from kanon_sql.sql.column_types import family
from kanon_sql.sql.condition_kinds import (
    ARITHMETIC,
    CHOICES,
    COMPARISONS,
    DATE,
    EXACT,
    NARROW,
    NUMBER,
    OF_DATES,
    OF_NUMBERS,
    OF_TEXTS,
    beside_one_another,
    exactness,
    family_of,
    is_date,
    is_predicate,
    is_reckoned,
    is_text_column,
    is_whole_part,
    kind_of,
    may_have_fractions,
)
from kanon_sql.sql.quoting import DIALECT

_ALLOWED = (
    exp.And, exp.Or, exp.Not, exp.Paren,
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.Between, exp.In, exp.Is, exp.Like, exp.ILike,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif,
    exp.Lower, exp.Upper, exp.Trim, exp.Length, exp.Substring, exp.Left, exp.Right,
    exp.Abs, exp.Floor, exp.Ceil, exp.Extract, exp.Year, exp.Month, exp.Day,
    exp.Cast, exp.DataType, exp.DataTypeParam,
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.Tuple,
)  # fmt: skip
_CASTS = (
    "VARCHAR", "TEXT", "CHAR", "INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE",
    "DECIMAL", "DATE", "TIMESTAMP", "TIMESTAMPNTZ",
)  # fmt: skip


_EQUALITIES = (exp.NullSafeEQ, exp.NullSafeNEQ)


_NO_TEXT = {"number": "number", "time": "date", "boolean": "truth value"}
_ORDERINGS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)


_ROUNDING = (*exp.DataType.INTEGER_TYPES, exp.DType.DECIMAL)
_PARTS_OF_DATES = ("YEAR", "QUARTER", "MONTH", "DAY")


MOST_LEVELS = 30
"""Maximum nesting depth of a condition, as parsing, checking and transpiling are recursive."""


class TextCast(NamedTuple):
    """A text column that a condition casts to numbers or dates."""

    column: str
    type: str


class Condition(NamedTuple):
    """A checked condition: its SQL, the columns it reads and the casts it contains."""

    sql: str
    columns: tuple[str, ...]
    casts: tuple[TextCast, ...]


def condition(
    text: str,
    table: str,
    columns: Mapping[str, str],
    *,
    exact: bool = True,
    doubted: bool = False,
) -> Condition:
    """Check `text` against the allow-list and the columns (name to type) of `table`.

    Text columns are cast where they are compared with a number or a date. Decimals are reckoned
    with only where that is `exact`, and names that are `doubted`, as the first line of a text file
    may be a record, are not repeated. Raises `SpecError`.
    """
    expression = _one_expression(text)
    text = begun(text)
    for node in expression.walk():
        _refuse_unless_allowed(node, text)
    for column in expression.find_all(exp.Column):
        column.replace(_as_spelled(column, table, columns, doubted))
    if not is_predicate(expression, columns):
        raise SpecError(f"where: {text!r} must be true or false, as in: age >= 18 and sex = 'F'.")
    for node in list(expression.find_all(exp.In)):
        node.replace(_one_by_one(node))
    for node in expression.find_all(*OF_TEXTS):
        _refuse_text_of_another_kind(node, columns, text)
    for node in expression.find_all(*_EQUALITIES, *COMPARISONS, *ARITHMETIC, *CHOICES):
        _refuse_mixed(node, columns, text)
    for node in expression.find_all(*COMPARISONS, *OF_NUMBERS, *OF_DATES):
        _cast_text(node, columns, text)
    for node in () if exact else expression.find_all(*EXACT):
        _refuse_rounded(node, columns, text)
    casts = list(expression.find_all(exp.Cast))
    for cast in casts:
        _refuse_text_of_fractions(cast, columns, text)
        _refuse_rounding(cast, columns, text)
        _refuse_cast_of_text(cast, columns, text)
    of_text = dict.fromkeys(each for cast in casts for each in _text_cast(cast, columns))
    for cast in casts:
        _by_way_of_a_number(cast, columns)
    for quotient in expression.find_all(exp.Div):
        _divide_doubles(quotient, columns)
    for column in list(expression.find_all(exp.Column)):
        _widen(column, columns)
    read = dict.fromkeys(column.name for column in expression.find_all(exp.Column))
    return Condition(expression.sql(dialect=DIALECT, comments=False), tuple(read), tuple(of_text))


def columns_of(text: str | None) -> list[str]:
    """The columns that a condition names, in order. Raises `SpecError` unless it is an expression.

    >>> columns_of("age > 30 and \\"Zip code\\" = '1'")
    ['age', 'Zip code']
    """
    if text is None:
        return []
    return [column.name for column in _one_expression(text).find_all(exp.Column, bfs=False)]


def _one_expression(text: str) -> exp.Expr:
    try:
        statements = sqlglot.parse(f"select {text}", read=DIALECT)
    except sqlglot.errors.SqlglotError:
        raise SpecError(
            f"where: {begun(text)!r} is not an expression, as age > 30 is one. A name that is a "
            "word of SQL, or has a space in it, stands in double quotes."
        ) from None
    except RecursionError:
        raise _too_deep(text) from None
    text = begun(text)
    if any(statement and _depth(statement) > MOST_LEVELS for statement in statements):
        raise _too_deep(text)
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select) or len(select.expressions) != 1:
        raise SpecError(f"where: {text!r} must be one expression, as in: age >= 18 and sex = 'F'.")
    used = {name for name, value in select.args.items() if value}
    if not used <= {"expressions", "kind"} or any(node.comments for node in select.walk()):
        raise SpecError(f"where: {text!r} must be an expression alone, with no clause or comment.")
    expression = select.expressions[0]
    if isinstance(expression, exp.Alias):
        raise SpecError(f"where: {text!r} must be an expression alone, with no name.")
    # With a parent, every node below can be replaced in place.
    return exp.Paren(this=expression)


def _depth(tree: exp.Expr) -> int:
    """Nesting depth of a tree; a chain of the same connector counts as one level.

    >>> _depth(sqlglot.parse_one("a")), _depth(sqlglot.parse_one("a and b and c and d"))
    (2, 3)
    """
    deepest, rest = 0, [(tree, 1)]
    while rest:
        node, depth = rest.pop()
        deepest = max(deepest, depth)
        for child in node.iter_expressions():
            goes_on = isinstance(node, exp.Connector) and type(child) is type(node)
            rest.append((child, depth if goes_on else depth + 1))
    return deepest


def _too_deep(text: str) -> SpecError:
    return SpecError(
        f"where: the condition is nested more than {MOST_LEVELS} levels deep ({begun(text)!r}). "
        "Write it with fewer parentheses, or make a column of it in a view."
    )


def _refuse_unless_allowed(node: exp.Expr, text: str) -> None:
    if not isinstance(node, _ALLOWED) or isinstance(node, exp.Subquery | exp.Query):
        raise SpecError(
            f"where: {_spoken(node)} may not stand in a condition ({text!r}). Comparisons, and, "
            "or, not, in, between, like, is null, arithmetic, cast, case, coalesce, nullif, lower, "
            "upper, trim, length, substring, left, right, abs, floor, ceil, extract, year, month "
            "and day may."
        )
    if isinstance(node, exp.In) and (node.args.get("query") or node.args.get("unnest")):
        raise SpecError(f"where: a subquery may not stand in a condition ({text!r}).")
    if isinstance(node, exp.Literal) and not node.is_string and len(node.name) > 15:
        raise SpecError(
            f"where: {node.name} has more digits than are compared exactly. Write it in quotes, "
            "and compare it as text."
        )
    if isinstance(node, exp.Literal) and len(node.name.splitlines()) > 1:
        raise SpecError("where: a text with a line break may not stand in a condition.")
    _refuse_what_databases_differ_in(node, text)
    if isinstance(node, exp.Cast) and node.to.this.name not in _CASTS:
        of_floats = " Cast to double." if node.to.this == exp.DType.FLOAT else ""
        raise SpecError(
            f"where: a cast to {node.to.sql(DIALECT)} may not stand in a condition.{of_floats}"
        )


def _refuse_what_databases_differ_in(node: exp.Expr, text: str) -> None:
    """Reject what would select other records in another database."""
    if isinstance(node, exp.Extract) and node.name.upper() not in _PARTS_OF_DATES:
        raise SpecError(
            f"where: only the year, quarter, month and day of a date may be extracted ({text!r}); "
            "databases count the others in their own ways."
        )
    if isinstance(node, exp.Substring):
        start, length = node.args.get("start"), node.args.get("length")
        if not is_whole_part(start, 1) or not (length is None or is_whole_part(length, 0)):
            raise SpecError(
                f"where: substring takes a whole number from 1 on to begin at, and one from 0 on "
                f"as its length ({text!r}), as databases count the others in their own ways."
            )
    if isinstance(node, exp.Left | exp.Right) and not is_whole_part(node.expression, 0):
        raise SpecError(f"where: {node.key} takes a whole number of characters ({text!r}).")


def _refuse_text_of_fractions(cast: exp.Cast, types: Mapping[str, str], text: str) -> None:
    is_text = cast.to.this in exp.DataType.TEXT_TYPES
    is_column = isinstance(cast.this.unnest(), exp.Column)
    if is_text and not is_column and family_of(cast.this, types) == "boolean":
        raise SpecError(
            f"where: databases spell a truth value in their own ways ({text!r}). Write it as it "
            "is, or after not."
        )
    if is_text and may_have_fractions(cast.this, types):
        raise SpecError(
            f"where: {cast.this.sql(DIALECT)} may have fractions, whose text databases spell in "
            f"their own ways ({text!r}). Compare it as a number."
        )


def _refuse_rounding(cast: exp.Cast, types: Mapping[str, str], text: str) -> None:
    value = cast.this.unnest()
    is_whole = isinstance(value, exp.Floor | exp.Ceil) and cast.to.this != exp.DType.DECIMAL
    of_text = cast.to.this == exp.DType.DECIMAL and any(
        types[column.name] in ("VARCHAR", "") for column in value.find_all(exp.Column)
    )
    rounds = not is_whole and (of_text or may_have_fractions(value, types))
    if cast.to.this in _ROUNDING and rounds:
        raise SpecError(
            f"where: databases round to {cast.to.sql(DIALECT)} in their own ways ({text!r}). "
            "Compare the number as it is, or its floor or ceil."
        )


def _refuse_rounded(node: exp.Expr, types: Mapping[str, str], text: str) -> None:
    """Reject decimal arithmetic in a database that rounds it."""
    kinds = {exactness(side, types) for side in node.iter_expressions()}
    if "decimal" in kinds and "double" not in kinds:
        raise SpecError(
            f"where: {node.sql(DIALECT)} is exact in other databases, and rounded in this one "
            f"({text!r}). Cast one side to double, as in: cast(price as double) * 1.1 > 100."
        )


def _refuse_text_of_another_kind(node: exp.Expr, types: Mapping[str, str], text: str) -> None:
    """Reject text functions on non-text values, on which databases differ: most raise an error."""
    sides = [node.this, node.expression] if isinstance(node, exp.Like | exp.ILike) else [node.this]
    for side in sides:
        kind = family_of(side, types)
        if kind in _NO_TEXT:
            raise SpecError(
                f"where: {node.key} is of texts, and {side.sql(DIALECT)} is a {_NO_TEXT[kind]} "
                f"({text!r}). Compare it as what it is, or cast a whole number or a date to text "
                "first: cast(a as varchar)."
            )


def _refuse_mixed(node: exp.Expr, types: Mapping[str, str], text: str) -> None:
    """Reject arithmetic on non-numbers, and comparisons across type families.

    A text column is cast when compared with numbers and dates; a text literal is parsed next to a
    column of these.
    """
    if isinstance(node, ARITHMETIC):
        found = {family_of(side, types) for side in node.iter_expressions()}
        if found & {"time", "boolean"}:
            raise SpecError(
                f"where: databases reckon with dates and truth values in their own ways ({text!r})."
                " Write the date that is meant, as in: born < date '2000-01-31'."
            )
        for side in filter(lambda side: side.is_string, node.iter_expressions()):
            _refuse_unless_number(side.name)
        return
    for beside in beside_one_another(node):
        kinds = {family_of(side, types) for side in beside} - {None}
        if kinds in ({"text", "number"}, {"text", "time"}) and isinstance(node, COMPARISONS):
            kinds = {
                family_of(side, types)
                for side in beside
                if not (side.is_string or is_text_column(side, types))
            } - {None}
            # A computed number is no column, so no text literal is parsed next to it.
            if any(side.is_string for side in beside) and "number" in kinds:
                kinds |= {"text" for side in beside if is_reckoned(side, types)}
        if len(kinds) > 1 and kinds <= {"text", "number", "time", "boolean"}:
            raise SpecError(
                f"where: databases compare a {' with a '.join(sorted(map(str, kinds)))} in their "
                f"own ways ({text!r}). Write numbers without quotes, dates as date '2025-01-31', "
                "and truth values as they are; or cast a column."
            )


def _refuse_cast_of_text(cast: exp.Cast, types: Mapping[str, str], text: str) -> None:
    """Reject a cast of text whose failures can't be counted beforehand.

    Some databases drop rows that fail to cast.
    """
    value = cast.this.unnest()
    if isinstance(cast, exp.TryCast) or cast.to.this in exp.DataType.TEXT_TYPES:
        return
    if isinstance(value, exp.Column) and types[value.name] in ("VARCHAR", ""):
        return
    if value.is_string:
        _refuse_literal_unless(cast, value.name)
    elif family_of(value, types) == "text":
        raise SpecError(
            f"where: some databases leave out what does not cast, so cast a column alone "
            f"({text!r}); or write try_cast, which is NULL for what does not, in every database."
        )


def _refuse_literal_unless(cast: exp.Cast, literal: str) -> None:
    if family(cast.to.sql(DIALECT)) != "time":
        _refuse_unless_number(literal)
    elif not is_date(literal):
        raise SpecError(f"where: {literal!r} is no date, as 2025-01-31 is.")


def _refuse_unless_number(literal: str) -> None:
    if not NUMBER.fullmatch(literal):
        raise SpecError(f"where: {literal!r} is no number.")


def _text_cast(cast: exp.Cast, types: Mapping[str, str]) -> Iterator[TextCast]:
    """The cast of a text column that must be tested first; try_cast yields NULL on purpose."""
    column = cast.this.unnest()
    is_text = isinstance(column, exp.Column) and types[column.name] in ("VARCHAR", "")
    type = "BIGINT" if cast.to.this in exp.DataType.INTEGER_TYPES else cast.to.sql(DIALECT)
    if is_text and not isinstance(cast, exp.TryCast) and family(type) in ("number", "time"):
        yield TextCast(column.name, type)


def _by_way_of_a_number(cast: exp.Cast, types: Mapping[str, str]) -> None:
    """Cast text to integers by way of double, on which databases agree."""
    if any(each.type == "BIGINT" for each in _text_cast(cast, types)):
        cast.set("this", exp.cast(cast.this, "DOUBLE"))


def _one_by_one(node: exp.In) -> exp.Expr:
    """Expand IN to equalities if its list may contain NULL, which ClickHouse ignores."""
    may_be_null = (exp.Column, exp.Null, exp.TryCast, exp.Nullif, exp.Case, exp.If)
    if not any(each.find(*may_be_null) for each in node.expressions):
        return node
    equal = (exp.EQ(this=node.this.copy(), expression=each.copy()) for each in node.expressions)
    return exp.paren(exp.or_(*equal))


def _widen(column: exp.Column, types: Mapping[str, str]) -> None:
    """Cast a 32-bit float to double before comparing.

    0.1 differs in 64 bits; some databases compare in 64 bits, others round.
    """
    if types[column.name] in NARROW and not isinstance(column.parent, exp.Cast | exp.Is):
        column.replace(exp.cast(column.copy(), "DOUBLE"))


def _divide_doubles(quotient: exp.Expr, types: Mapping[str, str]) -> None:
    """Cast decimal operands of a division to double; Spark would return a rounded decimal."""
    for side in list(quotient.iter_expressions()):
        number = side.unnest()
        if exactness(side, types) == "decimal" or (number.is_number and not number.is_int):
            side.replace(exp.cast(side.copy(), "DOUBLE"))


def _spoken(node: exp.Expr) -> str:
    """The name of a node in errors: a function's name, or its kind."""
    if isinstance(node, exp.Anonymous):
        return node.name
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key


def _as_spelled(
    column: exp.Column, table: str, types: Mapping[str, str], doubted: bool
) -> exp.Column:
    names = tuple(types)
    if column.table:
        raise SpecError(f'where: name columns alone, without "{column.table}." before them.')
    exact = [name for name in names if name == column.name]
    folded = [name for name in names if name.casefold() == column.name.casefold()]
    matches = exact or folded
    if len(matches) != 1:
        raise SpecError(f"where: {no_such_column(column.name, table, names, text=doubted)}")
    return exp.column(matches[0], quoted=True)


def _cast_text(node: exp.Expr, types: Mapping[str, str], text: str) -> None:
    """Cast text columns of a node where a number or date is needed."""
    operands = [side.unnest() for side in node.iter_expressions()]
    wanted = next((kind for side in operands if (kind := kind_of(side, types))), None)
    if isinstance(node, OF_NUMBERS):
        wanted = "DOUBLE"
    if isinstance(node, OF_DATES):
        wanted = "DATE"
    for column in (side for side in operands if isinstance(side, exp.Column)):
        if types[column.name] not in ("VARCHAR", ""):
            _refuse_another_kind(column.name, types[column.name], operands)
        elif wanted:
            column.replace(exp.cast(column.copy(), wanted))
    if isinstance(node, _ORDERINGS) and not wanted:
        _refuse_order_of_text(operands, text)


def _refuse_order_of_text(operands: Sequence[exp.Expr], text: str) -> None:
    """Reject ordering text that may be numbers or dates, as text sorts 9 after 10.

    Only a column compared with literals that are neither is ordered as text.
    """
    literals = [side for side in operands if side.is_string]
    columns = [side for side in operands if isinstance(side, exp.Column)]
    reads_as_words = literals and not any(
        NUMBER.fullmatch(literal.name) or DATE.fullmatch(literal.name) for literal in literals
    )
    if len(literals) + len(columns) < len(operands) or (columns and not reads_as_words):
        raise SpecError(
            f"where: this compares texts by their characters, and text orders 9 after 10 "
            f"({text!r}). Write numbers without quotes and dates as date '2025-01-31', or cast: "
            "cast(a as double) < cast(b as double)."
        )


def _refuse_another_kind(name: str, type: str, operands: Sequence[exp.Expr]) -> None:
    """Reject a text literal next to a number or date column if it doesn't parse as one."""
    for literal in (operand for operand in operands if operand.is_string):
        if family(type) == "number" and not NUMBER.fullmatch(literal.name):
            raise SpecError(f'where: "{name}" is a number, and {literal.name!r} is none.')
        is_moment = type == "DATE" and len(literal.name) > len("2025-01-31")
        if family(type) == "time" and (is_moment or not is_date(literal.name)):
            raise SpecError(
                f'where: "{name}" is a date, and {literal.name!r} is none, as 2025-01-31 is.'
            )
