"""A fast gate: recognises by its tokens that a statement is one SELECT over known tables.

It runs before every statement, in a third of the time of parsing. It knows only the SQL that the
templates use; anything else is "not plain" and left to the parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import sqlglot
from sqlglot.tokenizer_core import Token, TokenType

from kanon_sql.sql.ctes import CLOSING, OPENING
from kanon_sql.sql.quoting import DIALECT

_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}
_QUERIES = {TokenType.SELECT, TokenType.WITH}
_JOINS = {TokenType.JOIN, TokenType.INNER, TokenType.LEFT, TokenType.CROSS}
_AFTER_FROM = {
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
}
_AFTER_A_TABLE = {
    *_JOINS,
    *_AFTER_FROM,
    TokenType.ALIAS,
    TokenType.ON,
    TokenType.UNION,
    TokenType.R_PAREN,
}
_KNOWN = {
    *_NAMES,
    *_QUERIES,
    *_AFTER_A_TABLE,
    TokenType.FROM,
    TokenType.VALUES,
    *OPENING,
    *CLOSING,
    # tokens of expressions, none of which reads a table
    *(TokenType.COMMA, TokenType.DOT, TokenType.STAR, TokenType.COLON),
    *(TokenType.NUMBER, TokenType.STRING, TokenType.NULL, TokenType.TRUE, TokenType.FALSE),
    *(TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.END),
    *(TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IS, TokenType.IN, TokenType.BETWEEN),
    *(TokenType.EQ, TokenType.NEQ, TokenType.GT, TokenType.GTE, TokenType.LT, TokenType.LTE),
    *(TokenType.PLUS, TokenType.DASH, TokenType.SLASH, TokenType.DIV, TokenType.DPIPE),
    *(TokenType.DISTINCT, TokenType.ALL, TokenType.DESC),
    *(TokenType.OVER, TokenType.PARTITION_BY, TokenType.ROWS),
    *(TokenType.LIKE, TokenType.ESCAPE, TokenType.COMMENT, TokenType.EXISTS, TokenType.MOD),
    *(TokenType.TEXT, TokenType.BOOLEAN, TokenType.DATE, TokenType.TIMESTAMP),
    *(TokenType.DOUBLE, TokenType.FLOAT, TokenType.DECIMAL, TokenType.TINYINT, TokenType.SMALLINT),
    *(TokenType.INT, TokenType.UINT, TokenType.BIGINT, TokenType.UBIGINT, TokenType.INT128),
}
_IS_DISTINCT = (
    [TokenType.IS, TokenType.DISTINCT],
    [TokenType.IS, TokenType.NOT, TokenType.DISTINCT],
)


def plainly_reads(sql: str, tables: Iterable[str]) -> bool:
    """Whether the statement is certainly one SELECT reading only `tables` and its own CTEs.

    False is inconclusive.

    >>> plainly_reads("with a as (select b from c) select b from a", ["c"])
    True
    >>> plainly_reads("select b from c, d", ["c"]), plainly_reads("drop table c", ["c"])
    (False, False)
    """
    tokens = sqlglot.tokenize(sql, read=DIALECT)
    kinds = [token.token_type for token in tokens]
    if not tokens or kinds[0] not in _QUERIES or not _KNOWN.issuperset(kinds):
        return False
    known = [[(TokenType.VAR, name)] for name in _own_sets(tokens)]
    known += [[(TokenType.IDENTIFIER, name)] for [(_, name)] in known]
    known += [_spelled(table) for table in tables]
    # The clause within each open bracket: "", "select", "from" or "after".
    clauses = [""]
    for place, kind in enumerate(kinds):
        if kind in OPENING:
            clauses.append("")
        elif kind in CLOSING:
            clauses.pop()
            if not clauses:
                return False
        elif kind in _NAMES:
            if _kind(tokens, place + 1) in _NAMES and "nulls" not in _texts(tokens, place):
                return False
        elif kind is TokenType.DOT or (kind is TokenType.ALIAS and clauses[-1] == "from"):
            # Here a keyword could be a name.
            if _kind(tokens, place + 1) not in (*_NAMES, TokenType.STAR):
                return False
        elif kind is TokenType.SELECT:
            clauses[-1] = "select"
        elif kind is TokenType.UNION:
            clauses[-1] = ""
        elif kind in _AFTER_FROM:
            clauses[-1] = "after"
        elif kind is TokenType.COMMA:
            if clauses[-1] == "from":
                return False
        elif kind is TokenType.JOIN or (kind is TokenType.FROM and not _compares(kinds, place)):
            if clauses[-1] != ("from" if kind is TokenType.JOIN else "select"):
                return False
            clauses[-1] = "from"
            if not _is_known(tokens, place + 1, known):
                return False
    return len(clauses) == 1


def _own_sets(tokens: Sequence[Token]) -> Iterator[str]:
    """CTE names: those before `as (select` and its variants."""
    for place, token in enumerate(tokens):
        if token.token_type not in _NAMES or _kind(tokens, place + 1) is not TokenType.ALIAS:
            continue
        start = place + 2
        if _kind(tokens, start) is TokenType.NOT:
            start += 1
        if start < len(tokens) and tokens[start].text.casefold() == "materialized":
            start += 1
        if _kind(tokens, start) is TokenType.L_PAREN and _kind(tokens, start + 1) in _QUERIES:
            yield token.text


def _kind(tokens: Sequence[Token], place: int) -> TokenType | None:
    return tokens[place].token_type if place < len(tokens) else None


def _texts(tokens: Sequence[Token], place: int) -> list[str]:
    """A name and the next token, for `nulls last` and its like."""
    return [token.text for token in tokens[place : place + 2]]


def _compares(kinds: Sequence[TokenType], place: int) -> bool:
    """Whether a FROM belongs to `is distinct from`."""
    return any(kinds[max(0, place - len(words)) : place] == words for words in _IS_DISTINCT)


def _is_known(
    tokens: Sequence[Token], place: int, known: Iterable[Sequence[tuple[TokenType, str]]]
) -> bool:
    """Whether a FROM item is a subquery, or exactly a known table."""
    if _kind(tokens, place) is TokenType.L_PAREN:
        return _kind(tokens, place + 1) in (*_QUERIES, TokenType.VALUES)
    return any(
        _kind(tokens, place + len(table)) in (None, *_AFTER_A_TABLE)
        and [(each.token_type, each.text) for each in tokens[place : place + len(table)]] == table
        for table in known
    )


@cache
def _spelled(table: str) -> list[tuple[TokenType, str]]:
    return [(token.token_type, token.text) for token in sqlglot.tokenize(table, read=DIALECT)]
