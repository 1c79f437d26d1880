"""A statement without the values that stand in it."""

from __future__ import annotations

from sqlglot.dialects.dialect import Dialect

_WITHHELD = "…"
"""No literal: what it stands in can be read, and ends with an error where somebody runs it."""


def without_texts(sql: str, dialect: str, texts: frozenset[str]) -> str:
    """A statement in which `…` stands for each literal that is one of the texts, and for each
    text of labels: those of a line stand between one and the same character.

    >>> without_texts("select 'it''s', 'x', \\"x\\"", "duckdb", frozenset({"it's", "x"}))
    'select …, …, "x"'
    """
    if not texts:
        return sql
    parts, end = [], 0
    for token in Dialect.get_or_raise(dialect).tokenize(sql):
        is_literal = "STRING" in token.token_type.name
        if is_literal and _says_one_of(texts, token.text):
            parts += [sql[end : token.start], _WITHHELD]
            end = token.end + 1
    return "".join([*parts, sql[end:]])


def _says_one_of(texts: frozenset[str], literal: str) -> bool:
    """Whether a literal is one of the texts, or a text of labels: of several lines, as no other
    literal is, or of a line that holds one of them."""
    in_lines = "\n" in literal or not texts.isdisjoint(literal[1:].split(literal[:1] or None))
    return literal in texts or in_lines
