"""Cuts a statement at one of its CTEs, to inspect intermediate results."""

from __future__ import annotations

from collections.abc import Iterator

import sqlglot
from sqlglot.tokenizer_core import Token, TokenType

OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


def named_sets(sql: str, dialect: str) -> list[str]:
    """Names of a statement's CTEs, in order.

    >>> named_sets("with a as (select 1), b as (select 2) select * from b", "duckdb")
    ['a', 'b']
    """
    return [name for name, _ in _ends(_tokens(sql, dialect))]


def until(sql: str, name: str, dialect: str) -> str:
    """A statement that returns all rows of one CTE.

    >>> print(until("with a as (select 1), b as (select 2) select * from b", "a", "duckdb"))
    with a as (select 1)
    <BLANKLINE>
    select *
    from a

    Raises `KeyError` for an unknown CTE.
    """
    tokens = _tokens(sql, dialect)
    end = dict(_ends(tokens))[name]
    return f"{sql[: end + 1]}\n\nselect *\nfrom {name}{_settings(sql, tokens)}"


def split_ctes(sql: str, dialect: str) -> tuple[str, str]:
    """Split a statement into its CTEs and the final SELECT.

    >>> split_ctes("with a as (select 1) select * from a", "duckdb")
    ('a as (select 1)', 'select * from a')
    >>> split_ctes("select 1", "duckdb")
    ('', 'select 1')
    """
    tokens = _tokens(sql, dialect)
    ends = [end for _, end in _ends(tokens)]
    if not ends:
        return "", sql
    return sql[tokens[0].end + 1 : ends[-1] + 1].strip(), sql[ends[-1] + 1 :].strip()


def _tokens(sql: str, dialect: str) -> list[Token]:
    return sqlglot.tokenize(sql, read=dialect)


def _ends(tokens: list[Token]) -> Iterator[tuple[str, int]]:
    """The name of each CTE with the offset of its closing parenthesis."""
    if not tokens or tokens[0].token_type != TokenType.WITH:
        return
    depth, name, before = 0, "", tokens[0]
    for token in tokens[1:]:
        if token.token_type in OPENING:
            depth += 1
        elif token.token_type in CLOSING:
            depth -= 1
            if not depth:
                yield name, token.end
        elif not depth and token.token_type == TokenType.SELECT:
            return
        elif not depth and before.token_type in (TokenType.WITH, TokenType.COMMA):
            name = token.text
        before = token


def _settings(sql: str, tokens: list[Token]) -> str:
    """ClickHouse's trailing SETTINGS clause."""
    last = [token for token in tokens if token.token_type == TokenType.SETTINGS]
    return f"\n{sql[last[-1].start :]}" if last else ""
