"""Does a condition choose the same records in every engine?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pyarrow
import pytest
from generated import Filled
from warehouses import STARTED, Database

import kanon_sql as kanon
from kanon_sql.errors import SpecError

PEOPLE = Filled(
    ("z", "f", "a", "d"),
    (pyarrow.string(), pyarrow.float64(), pyarrow.int64(), pyarrow.date32()),
    (
        ("abc", 2.5, -4, date(2025, 1, 5)),
        ("B", 1.5, 5, date(2025, 1, 6)),
        ("a\\%x", 0.1, 7, date(1950, 3, 1)),
        (" a", -2.7, 0, date(2024, 12, 30)),
        ("02138", 0.0, -1, date(2025, 1, 5)),
        ("Éa", 3.0, 3, date(999, 12, 31)),
        ("100%x", 12.0, 1, date(2025, 6, 1)),
        ("a\t", 0.25, 2, date(2025, 2, 1)),
        (None, None, None, None),
    ),
)
SAME = (
    *("z like 'A%'", r"z like 'a\%'", r"z like 'a\_x'", r"z ilike 'A\%%'", "z ilike 'aB%'"),
    *("substring(z, 2, 2) = 'bc'", "left(z, 1) = 'a'", "right(z, 1) = 'c'", "trim(z) = 'a'"),
    *("length(z) = 2", "lower(z) = 'éa'", "z not in ('abc')", "z = 'ABC'", "z is null"),
    *("coalesce(z, 'x') = 'x'", "z = '02138'", "cast(a as varchar) = '5'"),
    *("a % 3 = -1", "a / 2 = 2.5", "a = 5.0", "a - 1 in (4)", "nullif(a, 0) = 5", "abs(a) = 4"),
    *("f > 2", "f <> 2.5", "not (f < 2)", "-f > 2", "floor(f) = -3", "ceil(f) = 3"),
    *("a between -1 and 3", "case when a > 0 then true else false end"),
    *("d > '1960-01-01'", "d < date '1000-01-01'", "year(d) = 999", "extract(quarter from d) = 1"),
    *("extract(month from d) = 12", "cast(d as varchar) = '2025-01-05'"),
    "a * 1000000000 = 5000000000",
)
REFUSED = (
    *("substring(z, -2) = 'bc'", "substring(z, 0, 2) = 'a'", "left(z, -1) = 'ab'"),
    *("right(z, -1) = 'bc'", "left(z, a) = 'a'", "extract(dow from d) = 0"),
    *("extract(epoch from d) > 0", "cast(f as varchar) = '3.0'"),
)


@pytest.fixture(scope="module", params=STARTED)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with STARTED[request.param](tmp_path_factory.mktemp(request.param)) as running:
        running.load("people", PEOPLE)
        yield running


def chosen(where: str, data: object, engine: object = None) -> int:
    result = kanon.audit(data, quasi_identifiers=["a", "z"], where=where, engine=engine)
    return result.tables[0].summary.records if result.tables[0].summary else 0


def test_conditions_choose_the_same_records(database: Database) -> None:
    everywhere = {where: chosen(where, PEOPLE.arrow) for where in SAME}

    found = {where: chosen(where, "people", database.url) for where in SAME}

    assert found == everywhere
    assert sum(everywhere.values()) > len(SAME)


@pytest.mark.parametrize("where", ["yes", "(yes)", "not yes"])
def test_a_condition_that_is_a_column(database: Database, where: str) -> None:
    """Where a table has one column, Spark would take `where (yes)` for a name of both."""
    database.load("answers", Filled(("yes",), (pyarrow.bool_(),), ((True,), (False,), (None,))))

    result = kanon.audit("answers", quasi_identifiers="yes", where=where, engine=database.url)

    assert [table.summary.records for table in result.tables] == [1]


@pytest.mark.parametrize("where", REFUSED)
def test_what_databases_differ_in_is_refused(where: str) -> None:
    with pytest.raises(SpecError, match="where: "):
        chosen(where, PEOPLE.arrow)
