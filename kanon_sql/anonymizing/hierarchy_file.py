"""A first hierarchy file: the distinct values of a column with their labels by a builder.

The file is for editing by hand. It holds the values of a table, rare ones too, so it is personal
data, and only its owner may read it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from kanon_sql.auditing.facts import longest_value
from kanon_sql.auditing.opening import OpenTable, answer_of_one_table
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError, NoDataError, SpecError, option
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import records, step
from kanon_sql.question.spec import AuditSpec
from kanon_sql.results.writing import write_atomically
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.statement import Statement

Rows = list[list[str]]
SHARES = (0.05, 0.2)
"""The least share of the records in a group, by proposed level."""
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
    header, each with its label at every level and `*` at the end; without a builder, groups are
    proposed. Returns the number of values.

    Raises `SpecError` without `show_values`, and for values that no file can hold; `InputError` for
    values without a label by the builder, or a column without values.
    """
    if not show_values:
        raise SpecError(
            "a hierarchy file holds the values of the column, and rare ones point at people: it is "
            f"personal data. Ask for it with {option('show_values')}."
        )
    _, lines = answer_of_one_table(spec, run, _rows, writes=[output])
    write_atomically(output, _text(lines), private=True)
    return len(lines)


def _rows(session: Session, table: OpenTable) -> Rows:
    question = table.question
    [column] = question.quasi_identifiers
    levels = column_levels(question.roles, question.facts)[column.name]
    if levels.needs_longest:
        longest = longest_value(table.engine, question.table, column, records(question, [column]))
        levels = levels.with_longest(longest)
    value_rows = session.rows(_statement(question, column, levels))
    rows = [list(row.values())[1:] for row in value_rows]
    if not rows:
        raise NoDataError(f'{question.table.name}: "{column.name}" has no values to begin with.')
    lacking = sum(None in row for row in rows)
    if lacking:
        raise InputError(
            f'{question.table.name}: {lacking:,} of {len(rows):,} values of "{column.name}" are no '
            f"{levels.needs or 'value'} that the builder can group. Choose another builder."
        )
    texts = sorted([[str(cell) for cell in row] for row in rows])
    if any(len(cell.splitlines()) > 1 for row in texts for cell in row):
        raise InputError(
            f'{question.table.name}: a value of "{column.name}" has a line break in it, and a '
            "hierarchy has a line a value. Replace it in a view."
        )
    if levels.hierarchy.levels is None:
        records_of = {str(row["kanon_value"]): int(row["kanon_records"]) for row in value_rows}
        return [[value, *labels, TOP] for value, *labels in proposed_groups(records_of)]
    return [row if row[1:] and row[-1] == TOP else [*row, TOP] for row in texts]


def proposed_groups(records_of: Mapping[str, int]) -> Rows:
    """Each value with its group at every proposed level, in order.

    A group of a level has at least that share of the records: numbers and dates are merged with
    their neighbours, so that the order is kept; of other values the rare ones are merged into one.
    A level that leaves all values as they are, or merges all, is left out.

    >>> proposed_groups({"9": 8, "10": 1, "12": 1})
    [['9', '9'], ['10', '10 to 12'], ['12', '10 to 12']]
    >>> proposed_groups({"a": 50, "b": 48, "c": 1, "d": 1})
    [['a', 'a'], ['b', 'b'], ['c', 'other'], ['d', 'other']]
    """
    order = _order_of(records_of)
    values = sorted(records_of, key=order or str)
    rows = [[value] for value in values]
    groups = [[value] for value in values]
    for share in SHARES:
        least = share * sum(records_of.values())
        merged = _merged(groups, records_of, least, ordered=order is not None)
        if 1 < len(merged) < len(groups):
            groups = merged
            label = {
                value: _label(group, records_of, ordered=order is not None)
                for group in groups
                for value in group
            }
            for row in rows:
                row.append(label[row[0]])
    return rows


def _order_of(values: Iterable[str]) -> Callable[[str], Any] | None:
    """The order of numbers or dates; None for other values."""
    for order in (float, date.fromisoformat, datetime.fromisoformat):
        try:
            if all(order(value) == order(value) for value in values):
                return order
        except ValueError:
            continue
    return None


def _merged(
    groups: Sequence[list[str]], records_of: Mapping[str, int], least: float, *, ordered: bool
) -> list[list[str]]:
    """The groups, with those of fewer records than `least` merged."""

    def size(group: Sequence[str]) -> int:
        return sum(records_of[value] for value in group)

    if not ordered:
        kept = [group for group in groups if len(group) == 1 and size(group) >= least]
        rare = [value for group in groups if group not in kept for value in group]
        return [*kept, *([rare] if rare else [])]
    merged: list[list[str]] = []
    for group in groups:
        if merged and size(merged[-1]) < least:
            merged[-1] = [*merged[-1], *group]
        else:
            merged.append(group)
    if len(merged) > 1 and size(merged[-1]) < least:
        last = merged.pop()
        merged[-1] = [*merged[-1], *last]
    return merged


def _label(group: Sequence[str], values: Container[str], *, ordered: bool) -> str:
    if len(group) == 1:
        return group[0]
    if ordered:
        return f"{group[0]} to {group[-1]}"
    return "other values" if "other" in values else "other"


def _statement(question: ResolvedQuestion, column: BoundColumn, levels: ColumnLevels) -> Statement:
    raw = identifier("kanon_raw")
    # If a builder ends with suppress, its last level is the top that every row gets anyway.
    labels = [levels.sql(level, raw) for level in range(1, levels.height + 1)]
    return step(
        question,
        "hierarchy",
        f"Which label does each value of {column.name} have at every level?",
        render(
            "hierarchy_of_values",
            relation=records(question, [column]),
            column=column,
            labels=labels,
        ),
    )


def _text(rows: Sequence[Sequence[str]]) -> str:
    """The rows as CSV."""
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()
