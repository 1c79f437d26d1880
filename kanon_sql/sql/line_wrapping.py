"""Overlong lines of a statement wrapped at syntactic boundaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import sqlglot
from sqlglot.tokenizer_core import Token, TokenType

WIDTH = 110
"""Maximum line width, as far as names and literals allow."""
_INDENT = 4

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
_BRANCHES = {TokenType.WHEN, TokenType.ELSE}
_SORTED_BY = {TokenType.PARTITION_BY, TokenType.ORDER_BY, TokenType.ROWS}
_OPERATORS = (
    {TokenType.OR},
    {TokenType.AND},
    {TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.EQ, TokenType.NEQ},
    {TokenType.DPIPE},
    {TokenType.PLUS, TokenType.DASH},
    {TokenType.STAR, TokenType.SLASH},
)
"""Operators to break before, loosest binding first."""
_CONDITIONS = {TokenType.OR, TokenType.AND}
_SHORT = 24
"""Operands up to this length stay on the line of their neighbour."""
_OPERANDS = {
    TokenType.VAR,
    TokenType.IDENTIFIER,
    TokenType.NUMBER,
    TokenType.STRING,
    TokenType.NATIONAL_STRING,
    TokenType.NULL,
}


class _Piece(NamedTuple):
    """A token's text, with its nesting depth within the line."""

    type: TokenType
    text: str
    spaced: bool
    """Whether a space precedes it."""
    depth: int


def wrapped(sql: str, dialect: str) -> str:
    """The statement with lines beyond `WIDTH` wrapped.

    >>> violated = "sum(case when kanon_distance > 0.2 + 1e-09 then kanon_size else 0 end)"
    >>> print(wrapped(f"{violated} as kanon_t_closeness_violated_records_of_people", "duckdb"))
    sum(
        case when kanon_distance > 0.2 + 1e-09 then kanon_size else 0 end
    ) as kanon_t_closeness_violated_records_of_people
    """
    lines = sql.split("\n")
    if max(map(len, lines)) <= WIDTH:
        return sql
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    tokens = iter(sqlglot.tokenize(sql, read=dialect))
    token = next(tokens, None)
    wrapped_lines: list[str] = []
    for line, (start, after) in zip(lines, pairwise(starts), strict=True):
        line_tokens: list[Token] = []
        while token is not None and token.start < after:
            line_tokens.append(token)
            token = next(tokens, None)
        is_complete = bool(line_tokens) and not _around(sql, line_tokens, start, after).strip()
        if len(line) > WIDTH and is_complete:
            wrapped_lines += _wrapped(_pieces(sql, line_tokens), line_tokens[0].start - start)
        else:
            wrapped_lines.append(line)
    return "\n".join(wrapped_lines)


def _around(sql: str, tokens: Sequence[Token], start: int, after: int) -> str:
    """The text of a line outside its tokens: a comment, or the rest of a multi-line literal."""
    return (
        sql[start : tokens[0].start]
        + sql[tokens[-1].end + 1 : after]
        + sql[after : tokens[-1].end + 1]
    )


def _pieces(sql: str, tokens: Sequence[Token]) -> list[_Piece]:
    pieces, depth, end = [], 0, tokens[0].start
    for token in tokens:
        text = sql[token.start : token.end + 1]
        depth -= token.token_type in _CLOSING
        pieces.append(_Piece(token.token_type, text, token.start > end, depth))
        depth += token.token_type in _OPENING
        end = token.end + 1
    return pieces


def _text(pieces: Sequence[_Piece]) -> str:
    return "".join(f"{' ' if piece.spaced else ''}{piece.text}" for piece in pieces).strip()


def _wrapped(pieces: Sequence[_Piece], indent: int, bracketed: bool = False) -> Iterator[str]:
    """Wrap a line recursively. `bracketed`: it is the whole content of a bracket."""
    text = _text(pieces)
    segments = [] if indent + len(text) <= WIDTH else _segments(pieces, bracketed)
    if not segments:
        yield f"{' ' * indent}{text}"
        return
    for segment in segments:
        yield from _wrapped(segment.pieces, indent + segment.further * _INDENT, segment.bracketed)


class _Segment(NamedTuple):
    """A segment of a line that goes on its own line."""

    pieces: Sequence[_Piece]
    further: int
    """Additional indentation levels."""
    bracketed: bool = False


def _segments(pieces: Sequence[_Piece], bracketed: bool) -> list[_Segment]:
    """Split a line at its branches, columns or operands, or around a bracket.

    If no bracket closes on the line, the segments are those within an unclosed one.
    """
    for level in sorted({piece.depth for piece in pieces}):
        outer = [index for index, piece in enumerate(pieces) if piece.depth == level]
        within = _of_brackets(pieces, outer)
        segments = _of_clauses(pieces, outer) or _of_operands(pieces, outer, bracketed)
        if (
            segments
            and within
            and sum(len(_text(segment.pieces)) > _SHORT for segment in segments) < 2
        ):
            return within
        if segments or within:
            return segments or within
    return []


def _of_clauses(pieces: Sequence[_Piece], outer: Sequence[int]) -> list[_Segment]:
    then = [index for index in outer if pieces[index].type == TokenType.THEN]
    if pieces[0].type == TokenType.WHEN and then:
        return _split(pieces, then[:1], 0)
    columns = [index + 1 for index in outer if pieces[index].type == TokenType.COMMA]
    if columns and columns[0] < len(pieces):
        return _split(pieces, columns, 1 if pieces[0].type in _SORTED_BY else 0)
    sorted_by = [index for index in outer if index and pieces[index].type in _SORTED_BY]
    return _split(pieces, sorted_by, 0) if sorted_by else []


def _of_operands(pieces: Sequence[_Piece], outer: Sequence[int], bracketed: bool) -> list[_Segment]:
    for operators in _OPERATORS:
        before = [index for index in outer if index and _is_between(pieces, index, operators)]
        if before:
            return _split(pieces, before, 0 if bracketed and operators <= _CONDITIONS else 1)
    return []


def _split(pieces: Sequence[_Piece], places: Sequence[int], further: int) -> list[_Segment]:
    ends = [0, *places, len(pieces)]
    groups = [pieces[start:end] for start, end in pairwise(ends) if start < end]
    return [_Segment(group, further if index else 0) for index, group in enumerate(groups)]


def _is_between(pieces: Sequence[_Piece], index: int, operators: set[TokenType]) -> bool:
    """Whether the token is an infix operator, and not the AND of a BETWEEN."""
    if pieces[index].type not in operators:
        return False
    if pieces[index].type == TokenType.AND:
        before = [
            piece.type
            for piece in pieces[:index]
            if piece.depth == pieces[index].depth
            and piece.type in (TokenType.AND, TokenType.BETWEEN)
        ]
        return before[-1:] != [TokenType.BETWEEN]
    last = pieces[index - 1].type
    return last in _OPERANDS or last in _CLOSING


def _of_brackets(pieces: Sequence[_Piece], outer: Sequence[int]) -> list[_Segment]:
    """Split around the longest bracket or CASE of the line."""
    groups = [
        (opening, closing)
        for opening, closing in pairwise(outer)
        if pieces[opening].type in _OPENING
        and pieces[closing].type in _CLOSING
        and closing > opening + 1
    ]
    if not groups:
        return []
    opening, closing = max(groups, key=lambda group: len(_text(pieces[slice(*group)])))
    inner = pieces[opening + 1 : closing]
    least = min(piece.depth for piece in inner)
    branches = [
        index
        for index, piece in enumerate(inner)
        if piece.depth == least and piece.type in _BRANCHES
    ]
    if pieces[opening].type == TokenType.CASE:
        within = [segment._replace(further=1) for segment in _split(inner, branches, 1)]
    else:
        within = [_Segment(inner, 1, bracketed=True)]
    return [_Segment(pieces[: opening + 1], 0), *within, _Segment(pieces[closing:], 0)]
