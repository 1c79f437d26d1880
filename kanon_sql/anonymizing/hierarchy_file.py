"""Writes a first hierarchy file: the distinct values of a column with their labels by a builder.

The file is for editing by hand. It holds the values of a table, rare ones too, so it is personal
data, and only its owner may read it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from kanon_sql.auditing.facts import longest_value
from kanon_sql.auditing.opening import OpenTable, answer_of_one_table
from kanon_sql.engines.session import RunOptions, Session
from kanon_sql.errors import InputError, NoDataError, SpecError, option
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.resolve import column_levels
from kanon_sql.plan.steps import records, step
from kanon_sql.results.writing import write_atomically
from kanon_sql.spec.spec import AuditSpec
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.statement import Statement

Rows = list[list[str]]
TOP = "*"
"""The label of every value in the last column, appended if the builder's levels end below it."""


def new_hierarchy(
    spec: AuditSpec,
    output: Path,
    run: RunOptions,
    *,
    show_values: bool = False,
) -> int:
    """Write the values of the single quasi-identifier of `spec` to `output`, a CSV file without a
    header, each with its label at every level and `*` at the end; returns the number of values.

    Raises `SpecError` without `show_values`, and for values that no file can hold; `InputError` for
    values without a label by the builder, or a column without values.
    """
    if not show_values:
        raise SpecError(
            "a hierarchy file holds the values of the column, and rare ones point at people: it is "
            f"personal data. Ask for it with {option('show_values')}."
        )
    _, found = answer_of_one_table(spec, run, _rows, writes=[output])
    write_atomically(output, _text(found), private=True)
    return len(found)


def _rows(session: Session, table: OpenTable) -> Rows:
    bound = table.bound
    [column] = bound.quasi_identifiers
    levels = column_levels(bound.roles, bound.facts)[column.name]
    if levels.needs_longest:
        longest = longest_value(table.engine, bound.table, column, records(bound, [column]))
        levels = levels.with_longest(longest)
    rows = [list(row.values()) for row in session.rows(_statement(bound, column, levels))]
    if not rows:
        raise NoDataError(f'{bound.table.name}: "{column.name}" has no values to begin with.')
    lacking = sum(None in row for row in rows)
    if lacking:
        raise InputError(
            f'{bound.table.name}: {lacking:,} of {len(rows):,} values of "{column.name}" are no '
            f"{levels.needs or 'value'} that the builder can group. Choose another builder."
        )
    texts = sorted([[str(cell) for cell in row] for row in rows])
    if any(len(cell.splitlines()) > 1 for row in texts for cell in row):
        raise InputError(
            f'{bound.table.name}: a value of "{column.name}" has a line break in it, and a '
            "hierarchy has a line a value. Replace it in a view."
        )
    return [row if row[1:] and row[-1] == TOP else [*row, TOP] for row in texts]


def _statement(bound: ResolvedQuestion, column: BoundColumn, levels: ColumnLevels) -> Statement:
    raw = identifier("kanon_raw")
    # If a builder ends with suppress, its last level is the top that every row gets anyway.
    labels = [levels.sql(level, raw) for level in range(1, levels.height + 1)]
    return step(
        bound,
        "hierarchy",
        f"Which label does each value of {column.name} have at every level?",
        render(
            "hierarchy_of_values", relation=records(bound, [column]), column=column, labels=labels
        ),
    )


def _text(rows: Sequence[Sequence[str]]) -> str:
    """The rows as CSV."""
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()
