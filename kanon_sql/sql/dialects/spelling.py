"""The spelling of transpiled SQL: lower-case keywords, quotes only where needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import Token, TokenType

Handler = Callable[[Any, Any], str]
"""The SQL of an expression by a generator."""

_UPPER = re.compile(r"[A-Z][A-Z0-9_ ]*")
_UNQUOTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENDS_A_SET = re.compile(r"^\), ", re.MULTILINE)
_BLANKS = re.compile(r"\n +(?=\n)")
"""Whitespace-only lines, which sqlglot puts around the arguments of some aggregates."""
_RESERVED_WORDS = Path(__file__).with_name("reserved_words.txt")
"""Reserved words of SQL:2016 and of several dialects."""


def laid_out(tree: exp.Expr, dialect: str) -> str:
    """The SQL of a tree as sqlglot formats it, with short parentheses on one line.

    >>> print(laid_out(sqlglot.parse_one("select a * (b + 1) as c from t"), "sqlite"))
    SELECT
        a * (b + 1) AS c
    FROM t
    """
    generator = Dialect.get_or_raise(dialect).generator(
        pretty=True, indent=4, pad=4, unsupported_level=sqlglot.ErrorLevel.RAISE
    )
    return with_handlers(generator, {exp.Paren: _paren, exp.Order: _order}).generate(tree)


def with_handlers(generator: Generator, handlers: Mapping[type[exp.Expr], Handler]) -> Generator:
    """The generator with its own SQL for some kinds of expressions.

    A subclass would fail with the compiled sqlglot, the extra `sqlglot[c]`.
    """
    generator._dispatch = {**generator._dispatch, **handlers}
    return generator


def _paren(generator: Generator, expression: exp.Paren) -> str:
    """On one line if it is short; sqlglot breaks every parenthesis."""
    inner = generator.sql(expression, "this")
    is_short = "\n" not in inner and not generator.too_wide([inner])
    return f"({inner})" if is_short else f"(\n{generator.indent(inner)}\n)"


def _order(generator: Generator, expression: exp.Order) -> str:
    """On one line within an aggregate; sqlglot breaks every ORDER BY."""
    is_clause = expression.this or isinstance(expression.parent, exp.Query)
    return (
        generator.order_sql(expression)
        if is_clause
        else f" {generator.order_sql(expression, flat=True)}"
    )


_CASED = {("clickhouse", "MD5")}
"""Functions that a dialect knows in upper case only."""


def in_lower_case(sql: str, dialect: str) -> str:
    """Lower-case the keywords and separate CTEs by blank lines; every name must be quoted or
    lower-case.

    >>> print(in_lower_case('WITH a AS (\\n    SELECT "Y"\\n)\\nSELECT SUM(Y) FROM a', "trino"))
    with
    <BLANKLINE>
    a as (
        select "Y"
    )
    <BLANKLINE>
    select sum(y) from a
    """

    def lowered(token: Token, text: str) -> str:
        is_word = _UPPER.fullmatch(text) and token.token_type != TokenType.IDENTIFIER
        return text.lower() if is_word and (dialect, text) not in _CASED else text

    text = _ENDS_A_SET.sub("),\n\n", _respelled(sql, dialect, lowered))
    if text.startswith("with "):
        text = f"with\n\n{text.removeprefix('with ')}".replace("\n)\nselect", "\n)\n\nselect", 1)
    return text


def without_redundant_aliases(sql: str, dialect: str) -> str:
    """Remove aliases equal to the column's name.

    A qualified column keeps its alias, as some databases would include the qualifier in the name.

    >>> without_redundant_aliases("select [zip] as [zip], t.[age] as [age], [a] as [b]", "tsql")
    'select [zip], t.[age] as [age], [a] as [b]'
    """
    tokens = _tokens(sql, dialect)
    pieces, index = [], 0
    for previous, column, between, name in zip(
        tokens, tokens[1:], tokens[2:], tokens[3:], strict=False
    ):
        kinds = [token.token_type for token in (column, between, name)]
        is_renamed = kinds == [TokenType.IDENTIFIER, TokenType.ALIAS, TokenType.IDENTIFIER]
        if is_renamed and column.text == name.text and previous.token_type != TokenType.DOT:
            pieces.append(sql[index : column.end + 1])
            index = name.end + 1
    return "".join([*pieces, sql[index:]])


def with_comments(sql: str, comments: Mapping[str, Sequence[str]]) -> str:
    """Insert comment lines above the CTEs.

    >>> print(with_comments("with\\n\\na as (\\n    select 1\\n)", {"a": ["One row."]}))
    with
    <BLANKLINE>
    -- One row.
    a as (
        select 1
    )
    """
    for name, lines in comments.items():
        above = "".join(f"-- {line}\n" for line in lines)
        head = re.compile(rf"^{re.escape(name)} as ", re.MULTILINE).search(sql)
        if head is not None:
            sql = f"{sql[: head.start()]}{above}{sql[head.start() :]}"
    return sql


def with_needed_quotes(sql: str, dialect: str, *, exact_names: bool) -> str:
    """Remove quotes that no name needs.

    `exact_names`: names have the database's spelling, so a name that would be case-folded keeps its
    quotes.

    >>> statement = 'select "zip", "Zip code", "order" from t'
    >>> with_needed_quotes(statement, "snowflake", exact_names=False)
    'select zip, "Zip code", "order" from t'
    """
    quoted = {t.text for t in _tokens(sql, dialect) if t.token_type == TokenType.IDENTIFIER}
    folded = [name.casefold() for name in quoted]

    def unquoted(token: Token, text: str) -> str:
        name = token.text
        needs_no_quotes = (
            token.token_type == TokenType.IDENTIFIER
            and _UNQUOTED.fullmatch(name)
            and name.casefold() not in _reserved(dialect)
            and folded.count(name.casefold()) == 1
            and (not exact_names or _folded(name, dialect) == name)
        )
        return name if needs_no_quotes else text

    return _respelled(sql, dialect, unquoted)


def _respelled(sql: str, dialect: str, spelling: Callable[[Token, str], str]) -> str:
    return "".join(_pieces(sql, dialect, spelling))


def _pieces(sql: str, dialect: str, spelling: Callable[[Token, str], str]) -> Iterator[str]:
    index = 0
    for token in _tokens(sql, dialect):
        yield _BLANKS.sub("", sql[index : token.start])
        yield spelling(token, sql[token.start : token.end + 1])
        index = token.end + 1
    yield sql[index:]


def _tokens(sql: str, dialect: str) -> list[Token]:
    return sqlglot.tokenize(sql, read=dialect)


def _folded(name: str, dialect: str) -> str:
    """An unquoted name as a database of this dialect folds it."""
    match Dialect.get_or_raise(dialect).normalization_strategy:
        case NormalizationStrategy.LOWERCASE:
            return name.lower()
        case NormalizationStrategy.UPPERCASE:
            return name.upper()
    return name


@cache
def _reserved(dialect: str) -> frozenset[str]:
    dialect_class = Dialect.get_or_raise(dialect)
    name_tokens = dialect_class.parser_class.ID_VAR_TOKENS
    keywords = dialect_class.tokenizer_class.KEYWORDS
    words = [word for word, token in keywords.items() if token not in name_tokens]
    return frozenset(_RESERVED_WORDS.read_text(encoding="utf-8").split()) | {
        word.casefold() for word in (*words, *dialect_class.generator_class.RESERVED_KEYWORDS)
    }
