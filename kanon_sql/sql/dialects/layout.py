"""Reformats sqlglot's pretty-printed SQL in the templates' layout."""

from __future__ import annotations

import re
from collections.abc import Sequence

import sqlglot
from sqlglot.tokenizer_core import Token, TokenType

_SHORT = 72
"""Maximum length of a bracket on one line."""
_ONE_OF_A_CLAUSE = re.compile(
    r"^( *)(select|select distinct|where|group by|order by|having)\n"
    r"\1    (\S.*[^,\n])$(?!\n\1 +\S)",
    re.MULTILINE,
)
_BLANKS = re.compile(r"\n +(?=\n)")
"""Whitespace-only lines, which occur within brackets."""
_UNION = re.compile(r"^( *union(?: all| distinct)?)$", re.MULTILINE)


def laid_out(sql: str, dialect: str) -> str:
    """Join short brackets and single-item clauses into one line, and put blank lines around UNION.

    >>> print(laid_out("select\\n    a * (\\n        b + 1\\n    ) as c\\nfrom t", "sqlite"))
    select a * (b + 1) as c
    from t
    """
    tokens = sqlglot.tokenize(sql, read=dialect)
    if any("\n" in sql[token.start : token.end + 1] for token in tokens):
        return sql
    text = _BLANKS.sub("", _with_brackets(sql, tokens))
    return _UNION.sub(r"\n\1\n", _ONE_OF_A_CLAUSE.sub(r"\1\2 \3", text))


def _with_brackets(sql: str, tokens: Sequence[Token]) -> str:
    """Join each short bracket without a SELECT into one line."""
    pieces: list[str] = []
    open_at: list[int] = []
    selects: list[bool] = []
    place = 0
    for token in tokens:
        pieces += [sql[place : token.start], sql[token.start : token.end + 1]]
        place = token.end + 1
        if token.token_type == TokenType.L_PAREN:
            open_at.append(len(pieces))
            selects.append(False)
        elif token.token_type == TokenType.SELECT and selects:
            selects = [True for _ in selects]
        elif token.token_type == TokenType.R_PAREN and open_at:
            start = open_at.pop()
            inner = "".join(pieces[start:-1])
            if not selects.pop() and "\n" in inner and "--" not in inner:
                words = [" " if piece.isspace() else piece for piece in pieces[start:-1]]
                line = "".join(words).strip()
                if len(line) <= _SHORT:
                    pieces[start:-1] = [line]
    return "".join([*pieces, sql[place:]])
