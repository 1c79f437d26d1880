"""A condition is SQL of the database: each chooses what it chooses in a statement of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date
from typing import Any

import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES, Database

import kanon_sql as kanon
from kanon_sql.engines import connect
from kanon_sql.errors import InputError, KanonError, SpecError
from kanon_sql.sql.conditions import condition

PEOPLE = Filled(
    ("z", "f", "a", "d", "b"),
    (pyarrow.string(), pyarrow.float64(), pyarrow.int64(), pyarrow.date32(), pyarrow.bool_()),
    (
        ("abc", 2.5, -4, date(2025, 1, 5), True),
        ("B", 1.5, 5, date(2025, 1, 6), False),
        ("a\\%x", 0.1, 7, date(1950, 3, 1), None),
        (" a", -2.7, 0, date(2024, 12, 30), True),
        ("02138", 0.0, -1, date(2025, 1, 5), False),
        ("Éa", 3.0, 3, date(2000, 12, 31), True),
        ("100%x", 12.0, 1, date(2025, 6, 1), False),
        ("9", 0.25, 2, date(2025, 2, 1), True),
        ("it's", None, 4, None, None),
        (None, None, None, None, None),
    ),
)
SAME = {
    "z is null": [None],
    "not z is null and a > 4": [5, 7],
    "z = '02138'": [-1],
    "z in ('abc', 'B') or a = 7": [-4, 5, 7],
    "a not in (-1, 3) and a < 4": [-4, 0, 1, 2],
    "a between -1 and 3": [-1, 0, 1, 2, 3],
    "case when a > 3 then b else not b end": [-1, 1],
    "coalesce(z, 'x') = 'x'": [None],
    "nullif(a, 0) < 1": [-4, -1],
    "abs(a) = 4": [-4, 4],
    "a * 2 + 1 = 7": [3],
    "f > 2 and f <> 2.5": [1, 3],
    "floor(f) = -3": [0],
    "lower(z) = 'abc'": [-4],
    "trim(z) = 'a'": [0],
    "z like '%x'": [1, 7],
    "d >= '2025-01-06'": [1, 2, 5],
    "b = true and a > 0": [2, 3],
}
"""Standard SQL, with the records that it chooses in every database, by their "a"."""
OWN = (
    *("z > 'B'", "z < '9'", "z >= 'a' and z < 'b'", "z between 'A' and 'Z'", "z = 'ABC'"),
    *("z like 'A%'", "z ilike 'a%'", r"z like 'a\\%%'", r"z like 'a\%x'", r"z = 'a\%x'"),
    *(r"z = 'a\\%x'", "z = 'it''s'", r"z = 'it\'s'", r"z <> '\\'", "z like '100%x'"),
    *("length(z) = 3", "char_length(z) = 2", "left(z, 2) = '02'", "right(z, 1) = 'c'"),
    *("substring(z, 2, 2) = 'bc'", "substring(z, -2) = 'bc'", "substr(z, 2) = '2138'"),
    *("substring(z from 2 for 2) = 'bc'", "upper(z) = 'ÉA'", "trim(both ' ' from z) = 'a'"),
    *("z > 5", "z = 9", "z in (9, 5)", "z + 1 = 10", "cast(z as double) > 5", "a > '3'", "a = '5'"),
    *("cast(z as int) = 9", "cast(z as signed) = 9", "try_cast(z as int) = 9", "z::int = 9"),
    *("cast(a as varchar) = '5'", "cast(a as char) = '5'", "cast(a as text) = '5'"),
    *("cast(a as String) = '5'", "cast(a as Nullable(Int8)) = 5", "cast(f as int) = 2"),
    *("cast(f as decimal(9, 1)) = 2.5", "a / 2 = 2", "a / 2 = 2.5", "a % 3 = -1", "mod(a, 3) = 1"),
    *("a / 0 > 1", "a % 0 = 1", "f % 2 > 1", "f / 0 > 1", "1 / a > 0", "ceil(f) = 3", "-f > 2"),
    *("d > date '2025-01-05'", "d = '2025-1-5'", "d > '20250105'"),
    *("cast(d as date) > '2025-01-05'", "date(d) = '2025-01-05'"),
    *( "year(d) = 2025", "extract(month from d) = 1", "d < '2000'"),
    *("extract(quarter from d) = 1", "month(d) = 12 and day(d) = 30", "d > 5",
      "d > timestamp '2025-01-05 00:00:00'"),
    *("b", "not b", "b is not true", "b = 1", "b = 'true'", "a is not distinct from 3"),
    *("a is distinct from 3", "a <=> 3", "a is 3", "a == 3", "a <> 3", "a not in (3, null)"),
    *("if(a > 3, true, false)", "if(a > 3, 1, 0) = 1", "case a when 3 then true else false end"),
    *('"a" = 3', "`a` = 3", "[a] = 3", '"z" <> \'x\'', "z || 'x' = 'Bx'", "a && b"),
    *("a = 3 ? 1 : 0", "0.1 + 0.2 = 0.3", "f + 0.2 = 0.3", "f in (0.1)", "z = E'B'"),
    *("z = N'B'", "a = 0x3"),
    *("a between symmetric 3 and 1", "z collate nocase = 'ABC'", "z similar to 'a%'", "z ~ 'a'"),
)  # fmt: skip
"""What databases read in ways of their own, or not at all."""
BY_BYTES = ("z > 'B'", "z between 'A' and 'Z'", "z = 'ABC'", "z like 'A%'")
"""Where MariaDB's collation would merge texts, an audit reads a column by its bytes."""
HOSTILE = (
    "1 = 1; drop table people",
    "1 = 1; drop table people; --",
    "a = 1 -- ",
    "a = 1 /* ",
    "a = 1 # ",
    "a = 1 /*! or 1 = 1 */",
    "z = '' or exists (select 1 from people)",
    "a in (select a from people)",
    "a = (select max(a) from people)",
    "a = 1) union select 1 from people where (1 = 1",
    "a = 1 union all select 1",
    "a = 1 limit 1",
    "a = 1 order by a",
    "a = 1 group by a",
    "a = 1 for update",
    "a = 1 into outfile '/tmp/x'",
    "count(*) > 1",
    "sum(a) over () > 1",
    "sleep(1) = 0",
    "pg_sleep(1) is null",
    "load_extension('x') = 1",
    "file('x') = ''",
    "version() = ''",
    "reflect('java.lang.System', 'exit', 1) = ''",
    "a = ?",
    "a = :x",
    "a = $1",
    "a = %s",
    "a = {x: Int8}",
    "a = @@version",
    "people.a = 1",
    "z = '\n'",
    "a",
    "a + 1",
    "'a'",
    "",
)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def database(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with ENGINES[engine].started(tmp_path_factory.mktemp(engine)) as running:
        running.load("people", PEOPLE)
        yield running


def in_order(found: list[Any]) -> list[Any]:
    return sorted(found, key=lambda a: (a is None, a or 0))


def chosen(
    conditions: Iterable[str], database: Any = None
) -> dict[str, list[int | None] | KanonError]:
    """By condition the records that it chooses, by their "a", or why it chooses none."""
    with connect(database) as engine:
        table = engine.table(PEOPLE.arrow if database is None else "people")
        types = {column.name: column.type for column in table.columns}

        def records(where: str) -> list[int | None] | KanonError:
            try:
                checked = condition(where, table.name, types, table.dialect).sql
                rows = engine.query(f'select "a" from {table.sql} where {checked}')
            except KanonError as error:
                engine.renew()
                return error
            return in_order([row["a"] for row in rows])

        return {where: records(where) for where in conditions}


def test_standard_sql_chooses_the_same_records(database: Database) -> None:
    assert chosen(SAME, database.url) == SAME


def test_so_it_does_in_duckdb() -> None:
    assert chosen(SAME) == SAME


def test_a_condition_chooses_what_the_database_chooses(database: Database, engine: str) -> None:
    """It fails, or it is the same: no condition is sent that means something else there."""
    answered = {
        where: found
        for where, found in chosen(OWN, database.url).items()
        if isinstance(found, list) and (engine != "mariadb" or where not in BY_BYTES)
    }

    expected = {}
    for where in answered:
        # What the database takes for no SQL at all may be translated from another one's.
        with suppress(Exception):
            rows = database.run(f"select a from people where {where}")
            expected[where] = in_order([a for (a,) in rows])

    assert {where: answered[where] for where in expected} == expected
    assert len(expected) > len(OWN) / 3


def test_what_is_no_condition_is_refused(database: Database) -> None:
    for target in (database.url, None):
        answered = chosen(HOSTILE, target)
        assert {where for where, found in answered.items() if type(found) is SpecError} == {
            *HOSTILE
        }
        assert all(str(found).startswith("where: ") for found in answered.values())


def test_a_condition_chooses_what_is_audited(database: Database) -> None:
    [table] = kanon.audit(
        "people", quasi_identifiers=["a", "z"], where="f > 2", engine=database.url
    ).tables

    assert table.summary is not None
    assert table.summary.records == 3


@pytest.mark.parametrize("where", ["yes", "(yes)", "not yes"])
def test_a_condition_that_is_a_column(database: Database, where: str) -> None:
    """Where a table has one column, Spark would take `where (yes)` for a name of both."""
    database.load("answers", Filled(("yes",), (pyarrow.bool_(),), ((True,), (False,), (None,))))

    result = kanon.audit("answers", quasi_identifiers="yes", where=where, engine=database.url)

    assert [table.summary.records for table in result.tables] == [1]


def test_a_cast_that_fails_shows_no_value(database: Database, engine: str) -> None:
    [found] = chosen(["cast(z as date) > '2025-01-01'"], database.url).values()

    if engine in ("postgres", "spark"):
        # The others take NULL, or 0, for what does not cast.
        assert isinstance(found, InputError)
        assert "Check the casts and comparisons in where" in str(found)
    assert not any(row[0] in str(found) for row in PEOPLE.rows if row[0] and len(row[0]) > 2)
