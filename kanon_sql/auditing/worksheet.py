"""Samples the riskiest records of a release for a manual re-identification test.

The motivated intruder test of the UK regulator's guidance; exception 3 to k-map. A worksheet holds
the quasi-identifiers as released, so it is personal data, and only its owner may read it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kanon_sql.auditing.opening import OpenTable, answer_of_one_table
from kanon_sql.engines.session import RunOptions, Session
from kanon_sql.errors import InputError, NoDataError, SpecError, option
from kanon_sql.plan.join_columns import pairs
from kanon_sql.plan.preconditions import preconditions, without_entity
from kanon_sql.plan.question import BoundReference, Pair, ResolvedQuestion
from kanon_sql.plan.steps import records, reference_records, spoken, step, with_entity
from kanon_sql.results.worksheet import FILLED_IN, NUMBER, SIZES
from kanon_sql.results.writing import write_whole
from kanon_sql.spec.spec import AuditSpec
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

PERSONAL_DATA = (
    "# Personal data: the riskiest records, to be tried by hand. Keep it where only those can read "
    "it who try."
)


def write_worksheet(
    spec: AuditSpec,
    output: Path,
    run: RunOptions,
    *,
    sample: int = 20,
    seed: int = 1,
    show_values: bool = False,
) -> int:
    """Write the `sample` riskiest records of a table to `output`, a CSV file with empty columns for
    the results of the test; returns their number.

    The riskiest have the fewest people in the reference or, without one, the smallest class; `seed`
    breaks ties, independent of the order in the table. With an entity, a class has one row for each
    of its people.

    Raises `SpecError` without `show_values`, `NoDataError` for a table without records.
    """
    if not show_values:
        raise SpecError(
            "a worksheet holds the values of the riskiest records: it is personal data. Ask for it "
            f"with {option('show_values')}."
        )
    if len(spec.tables) > 1:
        raise SpecError("a worksheet is of one table, and the spec has several.")

    def answer(session: Session, table: OpenTable) -> list[list[str]]:
        if not TRAITS[table.engine.dialect].hashes:
            raise SpecError(
                f"a worksheet can't be drawn in {table.engine.name}, which has no md5()."
            )
        if table.bound.wildcard:
            raise SpecError(
                "nulls: wildcard forms no classes of which the riskiest could be named."
            )
        return _rows(session, table.bound, sample, seed)

    bound, found = answer_of_one_table(spec, run, answer, writes=[output])
    write_whole(output, _text(bound, found), private=True)
    return len(found)


def _rows(ask: Session, bound: ResolvedQuestion, sample: int, seed: int) -> list[list[str]]:
    """One row for each record, or each person, of the riskiest classes."""
    for precondition in preconditions(bound):
        fault = precondition.fault(ask.row(precondition.step))
        if fault is not None:
            raise InputError(fault)
    if bound.entity:
        fault = without_entity(bound.table.name, bound.entity.name, ask.row(_nobody(bound)))
        if fault is not None:
            raise InputError(fault)
    reference = next(iter(bound.references.values()), None)
    compared = pairs(bound, reference, "containment") if reference else ()
    classes = ask.rows(_riskiest(bound, reference, compared, sample, seed))
    if not classes:
        raise NoDataError(f"{bound.table.name} has no record to try.")
    rows = [row for each in classes for row in _of_class(each, compared, bound)]
    return rows[:sample]


def _nobody(bound: ResolvedQuestion) -> Statement:
    assert bound.entity is not None
    return step(
        bound,
        "people",
        f"How many records in {bound.table.name} belong to no one?",
        render("without_entity", relation=records(bound, [bound.entity]), entity=bound.entity),
    )


def _riskiest(
    bound: ResolvedQuestion,
    reference: BoundReference | None,
    compared: Sequence[Pair],
    sample: int,
    seed: int,
) -> Statement:
    columns = list(bound.quasi_identifiers)
    relation = records(bound, with_entity(bound, columns))
    asked: dict[str, Any] = {
        "columns": columns, "entity": bound.entity, "seed": seed, "first": sample,
    }  # fmt: skip
    sql = (
        render(
            "riskiest_classes_beside",
            release=relation,
            reference=reference_records(reference),
            pairs=list(compared),
            reference_entity=reference.entity,
            reference_weight=reference.weight,
            **asked,
        )
        if reference
        else render("riskiest_classes", relation=relation, **asked)
    )
    return step(
        bound,
        "riskiest_classes",
        f"Which classes of {bound.table.name} by {spoken(columns)} are riskiest?",
        sql,
        only="with --show-values only: its rows are personal data",
    )


def _of_class(found: Row, compared: Sequence[Pair], bound: ResolvedQuestion) -> Iterator[list[str]]:
    cells = [found[f"kanon_cell_{place + 1}"] for place in range(len(bound.quasi_identifiers))]
    for place, pair in enumerate(compared):
        if pair.how == "by_pattern":
            cells[place] = cells[place].removeprefix("=") if cells[place] else None
    sizes = [str(int(found["kanon_size"]))]
    if compared:
        sizes.append(str(int(found["kanon_population"])))
    row = ["" if cell is None else str(cell) for cell in cells]
    for _ in range(int(found["kanon_size"])):
        yield [*row, *sizes]


def _text(bound: ResolvedQuestion, rows: Sequence[Sequence[str]]) -> str:
    """The file: a comment on its content, the column names, and a numbered row for each record."""
    file = io.StringIO()
    sizes = SIZES if bound.references else SIZES[:1]
    names = [column.name for column in bound.quasi_identifiers]
    writer = csv.writer(file, lineterminator="\n")
    file.write(f"{PERSONAL_DATA}\n")
    writer.writerow([NUMBER, *names, *sizes, *FILLED_IN])
    for number, row in enumerate(rows, start=1):
        writer.writerow([number, *row, *("" for _ in FILLED_IN)])
    return file.getvalue()
