"""A sample of the riskiest records of a release, for a manual re-identification test.

The motivated intruder test of the UK regulator's guidance; exception 3 to k-map. A worksheet holds
the quasi-identifiers as released, so it is personal data, and only its owner may read it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from kanon_sql.auditing.opening import OpenTable, answer_of_one_table
from kanon_sql.auditing.running import refuse_unmet
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.errors import SpecError, no_records, option
from kanon_sql.plan.join_columns import sides
from kanon_sql.plan.preconditions import entity_known, preconditions
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.steps import name_list, records, step, with_entity
from kanon_sql.question.spec import AuditSpec
from kanon_sql.results.worksheet import FILLED_IN, NUMBER, SIZES
from kanon_sql.results.writing import write_atomically
from kanon_sql.sql.dialects.traits import TRAITS
from kanon_sql.sql.macros import render

PERSONAL_DATA = (
    "# Personal data: the riskiest records, for a manual re-identification test. Only the testers "
    "may read this file."
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
    spec.tables[0].refuse_events("a worksheet samples classes")
    spec.tables[0].refuse_original("a worksheet samples people's records")

    def answer(session: Session, table: OpenTable) -> list[list[str]]:
        question = table.question
        if not TRAITS[table.engine.dialect].hashes:
            raise SpecError(
                f"a worksheet can't be drawn in {table.engine.name}, which has no md5()."
            )
        if question.wildcard:
            raise SpecError(
                "nulls: wildcard forms no classes of which the riskiest could be named."
            )
        refuse_unmet(preconditions(question), session)
        if question.entity:
            people = records(question, [question.entity])
            known = entity_known(question, "people", question.table, question.entity, people)
            refuse_unmet([known], session)
        return [row for rows in _riskiest(session, question, sample, seed) for row in rows][:sample]

    question, rows = answer_of_one_table(spec, run, answer, writes=[output])
    if not rows:
        raise no_records(question.table.name, "there is none to try")
    file = io.StringIO(f"{PERSONAL_DATA}\n")
    file.seek(0, io.SEEK_END)
    writer = csv.writer(file, lineterminator="\n")
    names = [column.name for column in question.quasi_identifiers]
    writer.writerow([NUMBER, *names, *(SIZES if question.references else SIZES[:1]), *FILLED_IN])
    writer.writerows([at, *row, *("" for _ in FILLED_IN)] for at, row in enumerate(rows, start=1))
    write_atomically(output, file.getvalue(), private=True)
    return len(rows)


def _riskiest(
    session: Session, question: ResolvedQuestion, sample: int, seed: int
) -> Iterator[list[list[str]]]:
    """The riskiest classes, each with an equal row for each of its records, or people."""
    reference = next(iter(question.references.values()), None)
    compared = sides(question, reference, "containment") if reference else None
    columns = list(question.quasi_identifiers)
    asking = step(
        question,
        "riskiest_classes",
        f"Which classes of {question.table.name} by {name_list(columns)} are riskiest?",
        render(
            "riskiest_classes",
            release=records(question, with_entity(question, columns)),
            columns=columns,
            entity=question.entity,
            sides=compared,
            seed=seed,
            first=sample,
        ),
        only="when values are shown: its rows are personal data",
    )
    pairs = compared.pairs if compared else []
    patterns = [pair.how == "by_pattern" for pair in pairs] or [False] * len(columns)
    for riskiest_class in session.rows(asking):
        cells = [riskiest_class[f"kanon_cell_{number}"] for number in range(1, len(columns) + 1)]
        texts = ["" if cell is None else str(cell) for cell in cells]
        row = [
            value.removeprefix("=") if is_pattern else value
            for value, is_pattern in zip(texts, patterns, strict=True)
        ]
        size = int(riskiest_class["kanon_size"])
        sizes = [size, int(riskiest_class["kanon_population"])] if compared else [size]
        yield [[*row, *map(str, sizes)]] * size
