"""What an audit warns of: columns that nobody gave a part to and that point at people."""

from __future__ import annotations

import random
import re
import sqlite3
from contextlib import closing
from itertools import product
from pathlib import Path

import pyarrow
import pytest
from telling_apart import FIRST as LOOKED_AT
from telling_apart import look_at_few, told_apart

import kanon_sql as kanon
from kanon_sql.auditing import unassigned
from kanon_sql.plan.unassigned import ALL_COUNTED, FIRST_RECORDS

FIRST = ["Ada", "Ben", "Cem", "Dua", "Eve", "Fox"]
LAST = ["Abel", "Bohr", "Curie", "Dirac"]


def warnings(data: pyarrow.Table, **question: object) -> list[str]:
    [table] = kanon.audit(data, ["zip"], **question).tables  # type: ignore[arg-type]
    return list(table.warnings)


def test_a_column_that_differs_in_every_record_is_warned_of() -> None:
    data = pyarrow.table({"zip": ["1"] * 4, "code": [1, 2, 3, 4], "pet": ["cat", "dog"] * 2})

    [said] = warnings(data)

    assert said.startswith('"code" has a different value in every record')
    assert warnings(data, identifiers="code") == []


def test_a_column_that_nearly_does_is_warned_of_with_whom_it_leaves_alone() -> None:
    codes = [*range(24), 23]
    data = pyarrow.table({"zip": ["1"] * 25, "code": codes})

    [said] = warnings(data)

    alone = sum(codes.count(code) == 1 for code in codes)
    assert said.startswith(f'"code" leaves {alone} of 25 records alone with their value')


def test_columns_that_point_at_people_together_are_warned_of() -> None:
    names = list(product(FIRST, LAST))
    data = pyarrow.table(
        {
            "zip": ["1"] * len(names),
            "kanon_alone": [first for first, _ in names],
            "kanon_private_holders": [last for _, last in names],
        }
    )

    [said] = warnings(data)

    assert said.startswith('"kanon_alone", "kanon_private_holders", to which no part is given')
    assert "leave 24 of 24 records alone together" in said


def test_columns_of_few_combinations_are_not_warned_of() -> None:
    data = pyarrow.table({"zip": ["1"] * 40, "pet": ["cat", "dog"] * 20, "job": ["nurse"] * 40})

    assert warnings(data) == []


def test_all_records_are_counted_and_not_the_first_alone() -> None:
    several = 3 * FIRST_RECORDS
    data = pyarrow.table(
        {
            "zip": ["1"] * several,
            "comes_again": [each % FIRST_RECORDS for each in range(several)],
            "code": [max(each, 100) for each in range(several)],
        }
    )

    [said] = warnings(data)

    assert said.startswith(f'"code" leaves {several - 101:,} of {several:,} records alone')


def test_only_the_records_that_are_looked_at_count() -> None:
    data = pyarrow.table({"zip": ["1"] * 60, "code": [*range(30), *range(30)], "half": [0, 1] * 30})

    assert warnings(data) == []
    [said] = warnings(data.append_column("place", [[*range(60)]]), where="place < 30",
                      identifiers="place")  # fmt: skip
    assert said.startswith('"code" has a different value in every record')


def test_people_are_told_apart_by_what_all_of_their_records_have() -> None:
    people = [number // 4 for number in range(120)]
    data = pyarrow.table({"zip": ["1"] * 120, "person": people, "tax": [f"t{n}" for n in people]})

    [said] = warnings(data, entity="person")

    assert said.startswith('"tax" leaves 30 of 30 people alone with their values')


def test_many_columns_have_one_sentence() -> None:
    data = pyarrow.table(
        {"zip": ["1"] * 50, **{f"amount {n}": [50 * n + m for m in range(50)] for n in range(60)}}
    )

    [said] = warnings(data)

    assert said.startswith(
        '"amount 0", "amount 1", "amount 2", "amount 3", "amount 4" and 55 more columns each leave '
        "nearly all of all 50 records alone with their value"
    )


def test_every_engine_that_audits_says_whom_columns_leave_alone(tmp_path: Path) -> None:
    names = list(product(FIRST, LAST))
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as database:
        database.execute("create table people (zip text, first text, last text)")
        database.executemany("insert into people values ('1', ?, ?)", names)
        database.commit()
        [table] = kanon.audit("people", ["zip"], engine=database).tables

    [said] = table.warnings
    assert said.startswith('"first", "last", to which no part is given, leave 24 of 24 records')


def test_what_takes_too_long_is_said_of_the_first_records(monkeypatch) -> None:
    monkeypatch.setattr(unassigned, "MOST_CELLS", 30)
    codes = [*range(40)]
    data = pyarrow.table({"zip": ["1"] * 40, "code": codes})

    [said] = warnings(data)

    assert said.startswith('"code" has 40 different values in all 40 records')


def test_of_many_records_the_first_are_sought_among_all() -> None:
    many = ALL_COUNTED + 1
    data = pyarrow.table(
        {
            "zip": ["1"] * many,
            "comes_again": [place % (2 * FIRST_RECORDS) for place in range(many)],
            "code": [max(place, 100) for place in range(many)],
            "place": range(many),
        }
    )

    nearly, each = warnings(data)

    first = f"of the first {FIRST_RECORDS:,} records alone with its value among all {many:,}, so"
    assert nearly.startswith(f'"code" leaves nearly each {first} it may identify people by itself')
    assert each.startswith(f'"place" leaves each {first} it may identify people by itself')


@pytest.mark.parametrize("seed", range(60))
def test_whom_the_first_leave_alone_is_what_plain_python_finds(monkeypatch, seed: int) -> None:
    look_at_few(monkeypatch)
    draw = random.Random(seed)
    records = range(90)
    people = draw.choice([None, 60, 3_000])
    columns = {}
    for name in "abc"[: draw.randint(1, 3)]:
        values, nulls = draw.choice([4, 30, 3_000, 90_000]), draw.choice([0, 0, 0.02, 0.3])
        columns[name] = [None if draw.random() < nulls else draw.randrange(values) for _ in records]
    whose = [draw.randrange(people) for _ in records] if people else records
    data = pyarrow.table({"zip": ["1"] * len(records), **columns, "who": whose})
    part = {"entity": "who"} if people else {"identifiers": "who"}

    said = "\n".join(warnings(data, **part))

    whom = rf"((?:nearly )?each) of (?:the people in )?the first {LOOKED_AT} records alone"
    found = re.findall(rf"^(.*?)(?:, to which no part is given,)? leaves? {whom}", said, re.M)
    assert [(tuple(re.findall('"(.)"', names)), each == "each") for names, each in found] == [
        *told_apart(columns, whose)
    ]
    assert len(found) == len(re.findall("may (?:identify people|find the record)", said))
