"""Frequency sets fetched from a database into the embedded engine, up to a limit."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple

from kanon_sql.engines import connect
from kanon_sql.engines.base import Hub, RowSource
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session, time_limit
from kanon_sql.errors import EngineError, SpecError, option
from kanon_sql.plan.question import BoundColumn
from kanon_sql.plan.steps import name_list
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Column

MOST_COMBINATIONS = 10_000_000
"""Maximum number of rows of a fetched frequency set."""
MOST_NAMED = 3
"""Maximum number of columns that an error proposes to coarsen."""
Announce = Callable[[str], None]
"""Callback that receives what is about to be fetched."""

_AS_THEY_ARE = re.compile(
    r"VARCHAR|U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DOUBLE|FLOAT|BOOLEAN|DATE|TIME"
    r"|TIMESTAMP(\([0-6]\))?"
    r"|TIMESTAMP WITH TIME ZONE|BLOB|UUID|DECIMAL\((3[0-8]|[12]?[0-9]), ?[0-9]+\)"
)
"""Types whose values are identical in the embedded engine."""


class FetchInto(NamedTuple):
    """The embedded engine that sets are fetched into, and the callback to announce them."""

    hub: Hub
    announce: Announce | None


@contextmanager
def fetch_hub(
    run: RunOptions, started: float, expired: threading.Event
) -> Iterator[tuple[Hub, Callable[[], None]]]:
    """The embedded engine that sets are fetched into, and a function that lifts its time limit.

    It has the memory and the threads of the run, and the time that is left since `started`.
    """
    limits = run.of_each_job()
    left = None if run.timeout is None else max(started + run.timeout - time.monotonic(), 0.001)
    hub = connect(memory_limit=limits.memory_limit, threads=limits.threads)
    with closing(hub), time_limit(hub, left, expired) as lift:
        assert isinstance(hub, Hub)
        if run.opens:
            run.opens(hub)
        yield hub, lift


def announce_fetch(
    source: Session, step: Statement, columns: Sequence[BoundColumn], announce: Announce | None
) -> None:
    """Count the combinations of a frequency set, and announce that they are fetched.

    Raises `SpecError` above the limit, with the columns that have most values.
    """
    counts = source.row(
        Statement(
            "combinations_to_fetch",
            f"How many combinations of {name_list(columns)} are there to fetch?",
            render("rows_of_set", set=step.sql),
            tables=step.tables,
        )
    )
    combinations = int(counts["kanon_combinations"])
    name = source.engine.name
    if combinations > MOST_COMBINATIONS:
        most = ", ".join(_most_values(source, step, columns))
        raise SpecError(
            f"there are {combinations:,} combinations of {name_list(columns)}, and no more than "
            f"{MOST_COMBINATIONS:,} are fetched from {name} to be searched on this machine. "
            f"Coarsen the columns with most values first, in a view: {most}. Datafly "
            f"({option('algorithm', 'datafly')}) searches in {name} itself."
        )
    if announce:
        announce(
            f"{combinations:,} combinations of values of {name_list(columns)} are fetched from "
            f"{name}, each once, and searched on this machine: values of quasi-identifiers leave "
            "the database."
        )


def _most_values(source: Session, step: Statement, columns: Sequence[BoundColumn]) -> list[str]:
    """The columns with most values in the set, with their number."""
    values = [BoundColumn(column.alias, column.type, column.alias) for column in columns]
    row = source.row(
        Statement(
            "values_to_fetch",
            f"How many values does each of {name_list(columns)} have?",
            render("distinct_values", relation=f"({step.sql}) as fetched", columns=values),
            tables=step.tables,
        )
    )
    counts = {
        column.name: int(row[f"kanon_distinct_{number}"])
        for number, column in enumerate(columns, 1)
    }
    worst = sorted(counts, key=lambda name: -counts[name])[:MOST_NAMED]
    return [f'"{name}" ({counts[name]:,} values)' for name in worst]


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
    with source.in_time(), closing(source.engine.batches(step.sql, MOST_COMBINATIONS)) as batches:
        hub.engine.materialise_batches(step.name, typed, batches)


def is_fetchable(column: BoundColumn) -> bool:
    """Whether the values of a column are the same in the embedded engine."""
    return bool(_AS_THEY_ARE.fullmatch(_type(column)))


def _type(column: BoundColumn) -> str:
    return "VARCHAR" if column.type == "ENUM" else column.type


def _column(column: BoundColumn) -> Column:
    if not is_fetchable(column):
        raise SpecError(
            f'the values of "{column.name}" can\'t be fetched: as {column.type} they might not be '
            f"the same outside of their database. Leave out {option('pull_frequencies')}, or "
            "cast the column in a view."
        )
    return Column(column.alias, _type(column))
