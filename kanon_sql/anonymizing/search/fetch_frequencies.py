"""Fetches a frequency set from a database into the memory of the embedded engine.

A frequency set holds quasi-identifier values, which are personal data. It is fetched only if the
option is set and up to a maximum number of rows, and the result records that it was fetched.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing

from kanon_sql.engines.base import Hub, RowSource
from kanon_sql.engines.session import Session
from kanon_sql.errors import EngineError, SpecError, option
from kanon_sql.plan.question import BoundColumn
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column

MOST_COMBINATIONS = 10_000_000
"""Maximum number of rows of a fetched frequency set."""

_AS_THEY_ARE = re.compile(
    r"VARCHAR|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DOUBLE|FLOAT|BOOLEAN|DATE|TIME"
    r"|TIMESTAMP(\([0-6]\))?"
    r"|TIMESTAMP WITH TIME ZONE|BLOB|UUID|DECIMAL\((3[0-8]|[12]?[0-9]), ?[0-9]+\)"
)
"""Types whose values are identical in the embedded engine."""


def fetch(source: Session, hub: Session, step: Statement, columns: Sequence[BoundColumn]) -> None:
    """Materialise a step's rows, queried from one engine, in another under the step's name.

    The rows are a frequency set: the columns by their aliases, and kanon_records. Raises
    `SpecError` for a column whose values could differ in the other engine, `EngineError` for too
    many rows.
    """
    if not (isinstance(source.engine, RowSource) and isinstance(hub.engine, Hub)):
        raise EngineError(f"rows can't be fetched from {source.engine.name}.")
    typed = [*map(_column, columns), Column("kanon_records", "BIGINT")]
    source.begin(step)
    with closing(source.engine.batches(step.sql, MOST_COMBINATIONS)) as batches:
        hub.engine.keep_batches(step.name, typed, batches)


def _column(column: BoundColumn) -> Column:
    type = "VARCHAR" if column.type == "ENUM" else column.type
    if not _AS_THEY_ARE.fullmatch(type):
        raise SpecError(
            f'the values of "{column.name}" can\'t be fetched: as {column.type} they might not be '
            f"the same outside of their database. Leave out {option('pull_frequencies')}, or "
            "give the column another type in a view."
        )
    return Column(column.alias, type)
