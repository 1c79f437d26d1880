"""Statements with their literals redacted."""

from __future__ import annotations

import re

from sqlglot.dialects.dialect import Dialect

_REDACTED = "…"
"""No valid literal: the result can be read, and fails when run."""


def without_texts(sql: str, dialect: str, texts: frozenset[str]) -> str:
    """Replace each literal that is one of `texts`, or a table of labels, by `…`.

    In a table of labels, values are separated by the literal's first character.

    >>> without_texts("select 'it''s', 'x', \\"x\\"", "duckdb", frozenset({"it's", "x"}))
    'select …, …, "x"'
    """
    if not texts:
        return sql
    pieces, end = [], 0
    for token in Dialect.get_or_raise(dialect).tokenize(sql):
        is_literal = "STRING" in token.token_type.name
        if is_literal and _holds_text(texts, token.text):
            pieces += [sql[end : token.start], _REDACTED]
            end = token.end + 1
    return "".join([*pieces, sql[end:]])


def without_literals(sql: str, dialect: str, names: frozenset[str]) -> str:
    """Replace each literal, and each quoted identifier that is none of `names`, by `?`; remove
    comments.

    >>> without_literals('select "x", "y" /* 7 */ where x > 1 -- a', "duckdb", frozenset({"x"}))
    'select "x", ?  where x > ?'
    """
    tokenizer = Dialect.get_or_raise(dialect)
    pieces, end = [], 0
    for token in tokenizer.tokenize(sql):
        between = sql[end : token.start]
        # Any text between tokens other than blanks is a comment.
        pieces.append(re.sub(r"\S+(?:[^\S\n]+\S+)*", "", between))
        kind = token.token_type.name
        is_quoted = kind == "IDENTIFIER" and token.text not in names
        is_literal = kind == "NUMBER" or kind.endswith("STRING")
        pieces.append("?" if is_quoted or is_literal else sql[token.start : token.end + 1])
        end = token.end + 1
    return "".join(pieces).strip()


def _holds_text(texts: frozenset[str], literal: str) -> bool:
    """Whether a literal is one of the texts, or a table of labels.

    Such a table is multi-line, or has one of the texts as a field.
    """
    in_lines = "\n" in literal or not texts.isdisjoint(literal[1:].split(literal[:1] or None))
    return literal in texts or in_lines
