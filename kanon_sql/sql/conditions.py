"""Record filters (`where`): one boolean expression in the SQL of the table's database.

It is parsed in that dialect and may hold nothing but operators and functions of an allow-list over
the table's own columns. What is sent is generated from the checked AST, never the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from kanon_sql.errors import Faults, SpecError, did_you_mean, no_such_column, truncated
from kanon_sql.sql.dialects import in_template, rules_of
from kanon_sql.sql.quoting import DIALECT, is_one_line
from kanon_sql.sql.tables import family

_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
                exp.NullSafeEQ, exp.NullSafeNEQ)  # fmt: skip
_ORDERINGS = (exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between)
_CHOICES = (exp.Case, exp.If, exp.Coalesce, exp.Nullif)
_TEXTS = (exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Left, exp.Right)
_PREDICATES = (*_COMPARISONS, exp.And, exp.Or, exp.Not, exp.Is, exp.Like, exp.ILike, exp.Boolean,
               exp.Case, exp.Coalesce)  # fmt: skip
_ALLOWED = (
    *_PREDICATES, *_CHOICES, *_TEXTS, exp.Paren, exp.Length,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Abs, exp.Floor, exp.Ceil,
    exp.Extract, exp.Year, exp.Month, exp.Day, exp.Date, exp.TsOrDsToDate,
    exp.Cast, exp.DataType, exp.DataTypeParam,
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Var, exp.Tuple,
)  # fmt: skip
_TYPES = {
    *exp.DataType.TEXT_TYPES, *exp.DataType.NUMERIC_TYPES, *exp.DataType.TEMPORAL_TYPES,
    exp.DType.BOOLEAN,
}  # fmt: skip
_CLAUSES = {"expressions", "kind", "from_", "where"}
_NUMBER_OR_DATE = re.compile(
    r"\s*([-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?|\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4}.*)?)\s*",
    re.IGNORECASE,
)

MOST_LEVELS = 30
"""Maximum nesting depth of a condition, as parsing, checking and transpiling are recursive."""


class TextCast(NamedTuple):
    """A text column that is compared with a number (DOUBLE) or a date (TIMESTAMP)."""

    column: str
    type: str


class Condition(NamedTuple):
    """A checked condition: its SQL for templates, the columns it reads and the casts added."""

    sql: str
    columns: tuple[str, ...]
    casts: tuple[TextCast, ...]


def condition(
    text: str,
    table: str,
    columns: Mapping[str, str],
    dialect: str = DIALECT,
    *,
    doubted: bool = False,
    mixed: Collection[str] = (),
) -> Condition:
    """Check `text` against the allow-list and the columns (name to type) of `table`.

    In DuckDB's dialect, text columns are cast where they are compared with a number or a date, as
    every column of a text file is text. `doubted` names are not repeated in errors, because the
    first line of a text file may be a record. Columns that are `mixed`, of numbers and texts, are
    read as text, so that a condition on their order must cast them. Raises `SpecError`.
    """
    expression = _parsed(text, dialect)
    for node in expression.walk():
        _refuse_unless_allowed(node, truncated(text), dialect)
    with Faults() as faults:
        for column in expression.find_all(exp.Column):
            with faults.collected():
                resolved = _resolved_column(column, table, columns, doubted)
                if resolved.name in mixed and not _is_same_as_text(column):
                    raise SpecError(
                        f'where: "{resolved.name}" holds numbers and texts, and is read as text. '
                        f'Say how it is compared: cast("{resolved.name}" as integer), or as text.'
                    )
                column.replace(resolved)
    if not _is_predicate(expression.unnest(), columns):
        raise SpecError(
            f"where: {truncated(text)!r} must be true or false, as in: age >= 18 and sex = 'F'."
        )
    casts: dict[TextCast, None] = {}
    for node in expression.find_all(*_COMPARISONS) if dialect == DIALECT else ():
        casts |= dict.fromkeys(_cast_text(node, columns, truncated(text)))
    column_names = dict.fromkeys(column.name for column in expression.find_all(exp.Column))
    # Spark takes `from t where (b)` for a table alias with a column.
    predicate = expression.unnest() if isinstance(expression.unnest(), exp.Column) else expression
    sql = _generated(predicate, text, dialect)
    return Condition(in_template(sql, dialect), tuple(column_names), tuple(casts))


def columns_of(text: str | None, dialect: str = DIALECT) -> list[str]:
    """The columns that a condition names, in order. Raises `SpecError` unless it is an expression.

    >>> columns_of("age > 30 and \\"Zip code\\" = '1'")
    ['age', 'Zip code']
    """
    if text is None:
        return []
    return [column.name for column in _parsed(text, dialect).find_all(exp.Column, bfs=False)]


def _parsed(text: str, dialect: str) -> exp.Expr:
    """The expression in parentheses, so that every node below can be replaced in place."""
    rules_of(dialect)
    query = f"select 1 from kanon where {text}"
    try:
        tokens = sqlglot.tokenize(query, read=dialect)
        statements = sqlglot.parse(query, read=dialect)
    except sqlglot.errors.SqlglotError:
        raise SpecError(
            f"where: {truncated(text)!r} is not an expression, as age > 30 is one, in the SQL of "
            f"{dialect}. A name that is an SQL keyword, or contains a space, needs "
            f"{exp.to_identifier('quotes', quoted=True).sql(dialect)}."
        ) from None
    except RecursionError:
        raise _depth_error(text) from None
    if any(statement and _depth(statement) > MOST_LEVELS for statement in statements):
        raise _depth_error(text)
    text = truncated(text)
    select = statements[0] if len(statements) == 1 else None
    if not isinstance(select, exp.Select):
        raise SpecError(f"where: {text!r} must be one expression, as in: age >= 18 and sex = 'F'.")
    clauses = {name for name, value in select.args.items() if value}
    if not clauses <= _CLAUSES or any(token.comments for token in tokens):
        raise SpecError(f"where: {text!r} must be an expression alone, with no clause or comment.")
    for token in tokens:
        if token.token_type is TokenType.STRING and query[token.start] == '"':
            raise SpecError(
                f"where: between double quotes {dialect} has a text, and no name ({text!r}). Write "
                "texts in single quotes, and names in backticks."
            )
        if token.token_type is TokenType.DPIPE:
            raise SpecError(f"where: || may not stand in a condition ({text!r}).")
    return exp.Paren(this=select.args["where"].this)


def _generated(expression: exp.Expr, text: str, dialect: str) -> str:
    """The SQL of a checked expression, which the dialect must parse as that very expression."""
    sql = expression.sql(dialect, comments=False)
    if _without_brackets(sqlglot.parse_one(sql, read=dialect)) != _without_brackets(expression):
        raise SpecError(
            f"where: {truncated(text)!r} is not written so in {dialect}; the nearest is {sql}. "
            "Write the condition in the SQL of the database that has the table."
        )
    return sql


def _without_brackets(tree: exp.Expr) -> exp.Expr:
    """A copy without parentheses, and with one node for CAST, which Spark's dialect has two of."""
    unnested = tree.copy()
    for node in [node for node in unnested.find_all(exp.Paren, exp.TryCast) if node.parent]:
        node.replace(node.this if isinstance(node, exp.Paren) else exp.Cast(**node.args))
    return unnested


def _depth(tree: exp.Expr) -> int:
    """Nesting depth of a tree; a chain of the same connector counts as one level.

    >>> _depth(sqlglot.parse_one("a")), _depth(sqlglot.parse_one("a and b and c and d"))
    (2, 3)
    """
    deepest, stack = 0, [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        for child in node.iter_expressions():
            goes_on = isinstance(node, exp.Connector) and type(child) is type(node)
            stack.append((child, depth if goes_on else depth + 1))
    return deepest


def _depth_error(text: str) -> SpecError:
    return SpecError(
        f"where: the condition is nested more than {MOST_LEVELS} levels deep "
        f"({truncated(text)!r}). Write it with fewer parentheses, or make a column of it in a view."
    )


def _refuse_unless_allowed(node: exp.Expr, text: str, dialect: str) -> None:
    if not isinstance(node, _ALLOWED) or isinstance(node, exp.Subquery | exp.Query):
        raise SpecError(
            f"where: {_node_name(node)} may not stand in a condition ({text!r}). Comparisons, and, "
            "or, not, in, between, like, is null, arithmetic, cast, case, coalesce, nullif, lower, "
            "upper, trim, length, substring, left, right, abs, floor, ceil, extract, year, month, "
            "day and date may."
        )
    if isinstance(node, exp.In) and any(node.args.get(key) for key in ("query", "unnest", "field")):
        raise SpecError(f"where: a subquery may not stand in a condition ({text!r}).")
    if isinstance(node, exp.Literal) and not is_one_line(node.name):
        raise SpecError("where: a text with a line break may not stand in a condition.")
    if isinstance(node, exp.Cast) and node.to.this not in _TYPES:
        raise SpecError(f"where: a cast to {node.to.sql(dialect)} may not stand in a condition.")


def _node_name(node: exp.Expr) -> str:
    """The name of a node in errors: a function's name, or its kind."""
    if isinstance(node, exp.Anonymous):
        return node.name
    return node.sql_name().lower() if isinstance(node, exp.Func) else node.key


def _resolved_column(
    column: exp.Column, table: str, types: Mapping[str, str], doubted: bool
) -> exp.Column:
    names = tuple(types)
    if column.table:
        raise SpecError(f'where: name columns alone, without "{column.table}." before them.')
    exact = [name for name in names if name == column.name]
    folded = [name for name in names if name.casefold() == column.name.casefold()]
    matches = exact or folded
    if len(matches) != 1:
        error = no_such_column(column.name, table, names, text=doubted)
        is_compared = isinstance(column.parent, exp.Predicate) and column.arg_key != "this"
        is_text = is_compared and not did_you_mean(column.name, names)
        quoted = f" If that is a text, write '{column.name}'." if is_text else ""
        raise SpecError(f"where: {error}{quoted}")
    return exp.column(matches[0], quoted=True)


def _is_same_as_text(column: exp.Column) -> bool:
    """Whether a column is cast, or compared in a way that an integer's text answers as well."""
    parent = column.parent
    is_null = isinstance(parent, exp.Is) and isinstance(parent.expression, exp.Null)
    return is_null or isinstance(parent, exp.Cast | exp.EQ | exp.NEQ | exp.In | exp.Like)


def _is_predicate(expression: exp.Expr, types: Mapping[str, str]) -> bool:
    if isinstance(expression, exp.Column):
        return types[expression.name] == "BOOLEAN"
    return isinstance(expression, _PREDICATES)


# --- text columns, in DuckDB's dialect -------------------------------------------------------


def _cast_text(node: exp.Expr, types: Mapping[str, str], text: str) -> Iterator[TextCast]:
    """Cast the text columns of a comparison with a number or a date.

    Raises `SpecError` for an order of texts that may be numbers or dates, as text sorts 9 after 10.
    """
    sides = [side.unnest() for side in node.iter_expressions()]
    literal_type = next(filter(None, map(_type_of_literal, sides)), None)
    if literal_type:
        for column in sides:
            if isinstance(column, exp.Column) and _is_text(column, types):
                _refuse_long_numbers(sides)
                column.replace(exp.cast(column.copy(), literal_type, dialect=DIALECT))
                yield TextCast(column.name, literal_type)
        return
    literals = [side.name for side in sides if side.is_string]
    has_text = literals and not any(map(_NUMBER_OR_DATE.fullmatch, literals))
    if isinstance(node, _ORDERINGS) and not has_text and any(_is_text(s, types) for s in sides):
        raise SpecError(
            f"where: this compares texts by their characters, and text orders 9 after 10 "
            f"({text!r}). Write numbers without quotes and dates as date '2025-01-31', or cast: "
            "cast(a as double) < cast(b as double)."
        )


def _type_of_literal(side: exp.Expr) -> str | None:
    """The type to which text is cast next to a literal number or date."""
    number = side.this if isinstance(side, exp.Neg) else side
    if isinstance(number, exp.Literal) and not number.is_string:
        return "DOUBLE"
    is_date = isinstance(side, exp.Cast) and side.to.this in exp.DataType.TEMPORAL_TYPES
    return "TIMESTAMP" if is_date and side.this.is_string else None


def _refuse_long_numbers(sides: list[exp.Expr]) -> None:
    for literal in (literal for side in sides for literal in side.find_all(exp.Literal)):
        if not literal.is_string and len(literal.name) > 15:
            raise SpecError(
                f"where: {literal.name} has more digits than are compared exactly. Write it in "
                "quotes, and compare it as text."
            )


def _is_text(side: exp.Expr, types: Mapping[str, str]) -> bool:
    """Whether an expression is text; a column of unknown type may be."""
    match side:
        case exp.Column():
            return types[side.name] == "" or family(types[side.name]) == "text"
        case exp.Cast():
            return side.to.this in exp.DataType.TEXT_TYPES
    chooses = isinstance(side, _CHOICES) and any(
        _is_text(expression.unnest(), types) for expression in side.iter_expressions()
    )
    return chooses or isinstance(side, _TEXTS)
