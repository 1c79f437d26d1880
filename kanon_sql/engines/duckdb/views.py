"""Extracts the files and tables that the views of a DuckDB database read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.files import file_kind


def definitions_read(found: tuple[str, ...], definitions: Sequence[tuple[Any, ...]]) -> list[str]:
    """A table's definition; for a view all definitions, as it may read any of them."""
    own = [str(sql) for *place, sql in definitions if place == list(found[1:])]
    is_view = any(map(_is_of_view, own))
    return [str(sql) for *_, sql in definitions] if is_view else own


def stored_in(schema: str, definitions: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    """Names of a schema's base tables.

    >>> view, table = "CREATE VIEW v AS SELECT * FROM t", "CREATE TABLE t(a INTEGER)"
    >>> list(stored_in("main", [("main", "v", view), ("main", "t", table), ("m", "u", table)]))
    ['t']
    """
    for place, name, sql in definitions:
        if place == schema and not _is_of_view(str(sql)):
            yield str(name)


def _is_of_view(definition: str) -> bool:
    return definition.lower().startswith("create view")


def paths_in(definition: str) -> set[str]:
    """The potential file paths in a view's definition.

    >>> sorted(paths_in("create view v as from read_csv('a.csv') join 'b.parquet' using (id)"))
    ['a.csv', 'b.parquet']
    """
    try:
        view = sqlglot.parse_one(definition, read="duckdb")
    except (SqlglotError, RecursionError):
        return {text for text in texts_in(definition) if file_kind(text) is not None}
    texts = {literal.name for literal in view.find_all(exp.Literal) if literal.is_string}
    names = {table.name for table in view.find_all(exp.Table)}
    return {text for text in texts | names if file_kind(text) is not None}


_READS_ALL = re.compile(r"(\w\(|\[[^\]]*|\bfrom)\s*'[*?]+'", re.IGNORECASE)
"""Where a text of wildcards alone is a glob, as in read_csv('*'), and no label of suppression."""


def texts_in(definition: str) -> set[str]:
    r"""Every quoted text or identifier of a definition: the potential file paths.

    >>> sorted(texts_in("create view v as from read_text('it''s') join \"a.csv\" using (id)"))
    ['a.csv', "it's"]
    >>> texts_in("create view v as select '*' as zip"), texts_in("create view v as from '*'")
    (set(), {'*'})
    """
    quoted = re.findall(r"'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"", definition)
    texts = {one.replace("''", "'") or other.replace('""', '"') for one, other in quoted}
    labels = set() if _READS_ALL.search(definition) else {t for t in texts if not t.strip("*?")}
    return {text.removeprefix("file://") for text in texts - labels if text}
