"""What an audit warns of: columns that nobody gave a part to and that point at people."""

from __future__ import annotations

from itertools import product

import pyarrow

import kanon_sql as kanon

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
