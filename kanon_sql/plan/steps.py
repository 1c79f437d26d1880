"""A step of a plan: one SELECT over the declared tables, with the question it answers.

Here too are the records that a step reads, and the way in which it speaks of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kanon_sql.plan.bound import BoundColumn, BoundEarlier, BoundReference, BoundSpec
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Cited, Statement
from kanon_sql.sql.tables import Row


@dataclass(frozen=True)
class Precaution:
    """A step whose one row says whether the question can be asked at all."""

    step: Statement
    fault: Callable[[Row], str | None]
    """The sentence to refuse with, or None where all is well."""


def step(
    bound: BoundSpec,
    name: str,
    question: str,
    sql: str,
    *models: type[Cited],
    only: str = "",
    demanded: Iterable[str] = (),
) -> Statement:
    """A step that may read the declared tables and nothing else."""
    tables = frozenset(table.sql for table in bound.tables)
    return Statement(name, question, sql, models, only, tables, tuple(demanded))


def records(bound: BoundSpec, columns: list[BoundColumn]) -> str:
    """What stands after FROM, with these columns of it."""
    return render(
        "records",
        relation=bound.table.sql,
        columns=columns,
        where=bound.where.sql if bound.where else None,
        first=bound.spec.first,
        generalised=any(column.generalised for column in columns),
    )


def reference_records(
    reference: BoundReference, columns: Sequence[BoundColumn] | None = None
) -> str:
    """The same of a reference, by default with every column that plays a part."""
    parts = [*reference.columns.values(), reference.entity, reference.weight]
    return _records_beside(reference, [column for column in columns or parts if column])


def earlier_records(earlier: BoundEarlier, columns: Sequence[BoundColumn]) -> str:
    """The same of an earlier release."""
    return _records_beside(earlier, columns)


def _records_beside(beside: BoundReference | BoundEarlier, columns: Sequence[BoundColumn]) -> str:
    read = list({column.name: column for column in columns}.values())
    return render(
        "records",
        relation=beside.table.sql,
        columns=read,
        where=beside.where.sql if beside.where else None,
        generalised=any(column.generalised for column in read),
    )


def with_entity(bound: BoundSpec, columns: list[BoundColumn]) -> list[BoundColumn]:
    return [*columns, bound.entity] if bound.entity else columns


def counted(bound: BoundSpec) -> str:
    return "people" if bound.entity else "records"


def spoken(columns: Sequence[BoundColumn]) -> str:
    """The columns as one reads them aloud."""
    *others, last = [column.name for column in columns]
    return f"{', '.join(others)} and {last}" if others else last
