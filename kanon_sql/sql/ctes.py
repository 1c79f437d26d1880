"""A statement cut at its CTEs: to inspect intermediate results, or to compute each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

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


def scans(sql: str, dialect: str) -> int:
    """Number of tables that a statement scans if each CTE is inlined at every mention.

    >>> scans("with a as (select 1 from t) select 1 from a join a as other on true", "duckdb")
    2
    >>> scans("select extract(year from born) from t where a is not distinct from b", "duckdb")
    1
    """
    mentions = _mentions(sql, dialect)
    weights: dict[str, int] = {}
    for name, mentioned in mentions.items():
        weights[name] = sum(weights.get(cte, 1) for cte in mentioned)
    return weights[""]


class CteStatement(NamedTuple):
    """A CTE as a statement of its own."""

    name: str
    sql: str
    is_shared: bool
    """Whether it is mentioned more than once."""


def cut(sql: str, dialect: str, prefix: str) -> tuple[list[CteStatement], str]:
    """The CTEs of a statement as statements, by new names, and the final SELECT on them.

    >>> cut("with a as (select 1 as x from t) select a.x from a", "duckdb", "k_")[1]
    'select k_a.x from k_a'
    """
    mentions = Counter(chain.from_iterable(_mentions(sql, dialect).values()))
    bodies, final = _bodies(sql, _tokens(sql, dialect))
    new = {name: f"{prefix}{name}" for name in bodies}
    statements = [
        CteStatement(new[name], _renamed(body, new, dialect), mentions[name] > 1)
        for name, body in bodies.items()
    ]
    return statements, _renamed(final, new, dialect)


def _mentions(sql: str, dialect: str) -> dict[str, list[str]]:
    """The names that each CTE reads, as often as it does; the key "" is the final SELECT."""
    bodies, final = _bodies(sql, _tokens(sql, dialect))
    return {name: _relations(text, dialect) for name, text in {**bodies, "": final}.items()}


def _relations(sql: str, dialect: str) -> list[str]:
    """The names behind FROM and JOIN.

    >>> _relations("select trim(x from y), x is distinct from y from a join b on true", "duckdb")
    ['a', 'b']
    """
    names = []
    previous = None
    # By open parenthesis, the SELECTs whose FROM is still to come.
    selects = [0]
    for token in _tokens(sql, dialect):
        kind = token.token_type
        if previous in (TokenType.FROM, TokenType.JOIN) and kind != TokenType.L_PAREN:
            names.append(token.text)
        if kind in OPENING:
            selects.append(0)
        elif kind in CLOSING:
            selects.pop()
        elif kind == TokenType.SELECT:
            selects[-1] += 1
        is_clause = True
        if kind == TokenType.FROM:
            # Neither IS DISTINCT FROM nor that of a function, as in extract(year from born).
            is_clause = previous != TokenType.DISTINCT and selects[-1] > 0
            selects[-1] -= is_clause
        previous = kind if is_clause else None
    return names


def _bodies(sql: str, tokens: list[Token]) -> tuple[dict[str, str], str]:
    """The SELECT of each CTE, and the final one."""
    bodies: dict[str, str] = {}
    start = 0
    for name, end in _ends(tokens):
        opening = next(
            token
            for token in tokens
            if token.start >= start and token.token_type == TokenType.L_PAREN
        )
        bodies[name] = sql[opening.end + 1 : end].strip()
        start = end + 1
    return bodies, sql[start:].strip()


def _renamed(sql: str, names: dict[str, str], dialect: str) -> str:
    """The text with other names of unquoted relations."""
    for token in reversed(_tokens(sql, dialect)):
        if token.token_type == TokenType.VAR and token.text in names:
            sql = f"{sql[: token.start]}{names[token.text]}{sql[token.end + 1 :]}"
    return sql


def _tokens(sql: str, dialect: str) -> list[Token]:
    return sqlglot.tokenize(sql, read=dialect)


def _ends(tokens: list[Token]) -> Iterator[tuple[str, int]]:
    """The name of each CTE with the offset of its closing parenthesis."""
    if not tokens or tokens[0].token_type != TokenType.WITH:
        return
    depth, name, previous = 0, "", tokens[0]
    for token in tokens[1:]:
        if token.token_type in OPENING:
            depth += 1
        elif token.token_type in CLOSING:
            depth -= 1
            if not depth:
                yield name, token.end
        elif not depth and token.token_type == TokenType.SELECT:
            return
        elif not depth and previous.token_type in (TokenType.WITH, TokenType.COMMA):
            name = token.text
        previous = token


def _settings(sql: str, tokens: list[Token]) -> str:
    """ClickHouse's trailing SETTINGS clause."""
    last = [token for token in tokens if token.token_type == TokenType.SETTINGS]
    return f"\n{sql[last[-1].start :]}" if last else ""
