"""How a dialect says what sqlglot would say otherwise: for a kind of node, what stands for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import sqlglot
from sqlglot import exp

Rules = Mapping[type[exp.Expr], Callable[[Any], exp.Expr]]
"""By kind of node: the node that says the same in the dialect, or the node itself."""


def phrase(text: str, dialect: str, **parts: exp.Expr) -> exp.Expr:
    """An expression written in a dialect, with parts of a statement in the place of its names.

    >>> phrase("cast(x as text) ~ '^a$'", "postgres", x=exp.column("b")).sql("postgres")
    "CAST(b AS TEXT) ~ '^a$'"
    """
    found = _parsed(text, dialect).copy()
    for column in list(found.find_all(exp.Column)):
        if column.name in parts:
            part = parts[column.name].copy()
            part = (
                part
                if isinstance(part, exp.Column | exp.Literal | exp.Func)
                else exp.Paren(this=part)
            )
            if column is found:
                return part
            column.replace(part)
    return found


@cache
def _parsed(text: str, dialect: str) -> exp.Expr:
    return sqlglot.parse_one(text, read=dialect)
