"""SQL without the values of hierarchies that lie in files and tables: they are raw values of the
data, and a result is read by people who may not see them. `compile` and the views that someone
asks for as SQL have them all, as they are there to be run."""

from __future__ import annotations

import sqlglot

from kanon_sql.binding import BoundSpec

WITHHELD = "'…'"
_SAY_NOTHING = frozenset({"", "*"})


def texts_of_files(bound: BoundSpec) -> frozenset[str]:
    """Every text of a hierarchy that the spec itself does not hold: raw values and labels."""
    tables = [each for each in bound.known.hierarchies.values() if not each.is_in_spec]
    rows = (row for table in tables for row in table.rows)
    of_levels = {text for row in rows for text in (row.value, *row.ancestors)}
    of_trees = {text for check in bound.checks for path in check.paths for text in path}
    return frozenset(of_levels | of_trees) - _SAY_NOTHING


def without_texts(sql: str, dialect: str, texts: frozenset[str]) -> str:
    """A statement in which `…` stands for each literal that is one of the texts, or that has
    several lines: a text of many labels, as no other literal has them.

    >>> without_texts("select 'it''s', 'x', \\"x\\"", "duckdb", frozenset({"it's", "x"}))
    'select \\'…\\', \\'…\\', "x"'
    """
    if not texts:
        return sql
    parts, end = [], 0
    for token in sqlglot.tokenize(sql, read=dialect):
        is_literal = "STRING" in token.token_type.name
        if is_literal and (token.text in texts or "\n" in token.text):
            parts += [sql[end : token.start], WITHHELD]
            end = token.end + 1
    return "".join([*parts, sql[end:]])
