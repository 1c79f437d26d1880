"""Pairs of a SELECT of the templates and of a dialect, one or more a rewrite rule."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from places import TESTS

from kanon_sql.sql.dialects import DIALECTS, rules_of

FOLDER = TESTS / "sql" / "rewrites"
"""A file a dialect: `-- Rule`, the SELECT of the templates, and what the dialect writes."""
WITH_RULES = [
    dialect
    for number, dialect in enumerate(DIALECTS)
    if rules_of(dialect) and rules_of(dialect) not in map(rules_of, DIALECTS[:number])
]
"""The dialects with rules of their own: those of Databricks are Spark's."""


class Pair(NamedTuple):
    """The rule is named by the type of the node that it rewrites."""

    dialect: str
    rule: str
    sql: str
    written: str


def pairs_of(dialect: str) -> Iterator[Pair]:
    """The pairs in the file of a dialect, none where there is no file."""
    file = FOLDER / f"{dialect}.sql"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    _, *parts = re.split(r"^-- (\w+)\n", text, flags=re.MULTILINE)
    for rule, pair in zip(parts[::2], parts[1::2], strict=True):
        sql, written = pair.rstrip().removesuffix(";").split(";\n\n", 1)
        yield Pair(dialect, rule, sql, written)


def in_a_file(pairs: list[Pair]) -> str:
    """The text of the file with these pairs."""
    return "\n".join(f"-- {each.rule}\n{each.sql};\n\n{each.written};\n" for each in pairs)
