"""Does a condition choose the same records in every engine?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from math import inf, isfinite, isnan, nan
from typing import Any

import duckdb
import pyarrow
import pytest
from generated import Filled
from warehouses import ENGINES, Database

import kanon_sql as kanon
from kanon_sql.engines import connect
from kanon_sql.errors import InputError, KanonError, SpecError
from kanon_sql.sql.conditions import condition
from kanon_sql.sql.dialects.traits import TRAITS

PEOPLE = Filled(
    ("z", "f", "a", "d", "b"),
    (pyarrow.string(), pyarrow.float64(), pyarrow.int64(), pyarrow.date32(), pyarrow.bool_()),
    (
        ("abc", 2.5, -4, date(2025, 1, 5), True),
        ("B", 1.5, 5, date(2025, 1, 6), False),
        ("a\\%x", 0.1, 7, date(1950, 3, 1), None),
        (" a", -2.7, 0, date(2024, 12, 30), True),
        ("02138", 0.0, -1, date(2025, 1, 5), False),
        ("Éa", 3.0, 3, date(999, 12, 31), True),
        ("100%x", 12.0, 1, date(2025, 6, 1), False),
        ("a\t", 0.25, 2, date(2025, 2, 1), True),
        (None, None, None, None, None),
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
    *("cast(cast(floor(f) as int) as varchar) = '3'", "cast(length(z) as varchar) = '3'"),
    "cast(case when f > 2 then 1 else 0 end as varchar) = '1'",
    *("a not in (3, null)", "not (a in (5, null))", "a in (5, null)", "z not in ('abc', null)"),
    *(
        "a not in (f)",
        "f not in (a, 3)",
        "a in (f, a + 0)",
        "a not in (nullif(a, 5))",
        "a not in (cast(f as double))",
    ),
    *("a not in (-1, 3)", "d not in (date '2025-01-05')", "f % 0.5 = 0.1", "a % 2.5 = 0.5"),
    *("cast(a as varchar) like '-%'", "length(cast(d as varchar)) = 10"),
    *("cast(coalesce(a, 0) as double) = 0", "length(coalesce(z, 'xyz')) = 3"),
    *("b", "b = true", "b is not true", "cast(b as varchar) = 'true'"),
    *("a / 0 > 1", "a / 0.0 > 1", "a / (0) > 1"),
    "a * 1000000000 = 5000000000",
)
MEASURED = Filled(
    ("a", "f", "g", "t"),
    (pyarrow.int64(), pyarrow.float64(), pyarrow.float64(), pyarrow.string()),
    (
        (1, 2.5, 1.0, "2"),
        (2, nan, nan, "nan"),
        (3, inf, nan, "3"),
        (4, -inf, 2.0, "-3"),
        (5, None, nan, None),
        (6, nan, None, "7"),
        (7, nan, 3.0, "1e3"),
        (8, 0.1, 0.1, "0.1"),
        (9, inf, inf, "0"),
        (10, -2.5, None, "9"),
    ),
)
"""With NaN, which DuckDB holds for equal to itself and for greater than any number."""
SAME_OF_FLOATS = (
    *("f > 2", "f >= 2.5", "f < 2", "f <= 2.5", "2 < f", "2 >= f", "not (f > 2)", "-f > 2"),
    *("f = f", "f <> f", "f = g", "f <> g", "f < g", "f <= g", "f > g", "f >= g"),
    *("f between 0 and 3", "f not between 0 and 3", "2 between g and f", "f between g and g"),
    *("f in (2.5, 0.1)", "f not in (2.5)", "f in (g)", "f not in (g, 1)"),
    *("f is distinct from g", "f is not distinct from g", "f is null", "f is not null"),
    *("nullif(f, g) is null", "coalesce(f, 9) > 2", "coalesce(f, g) = g"),
    *("case f when g then true else false end", "case when f > 2 then false else true end"),
    *("abs(f) > 2", "floor(f) > 1", "ceil(f) = -2", "floor(f) = ceil(f)", "f - f = 0"),
    *("f * 0 = f", "f + 1 > g", "f % 2 > 1", "cast(a as double) > 2", "a / (a - 3) > 2"),
    *("cast(t as double) > 2", "a > f", "f = 2.5 or f > g", "not (f = g) and a > 2"),
)
LETTERS = Filled(
    ("a", "z"),
    (pyarrow.int64(), pyarrow.string()),
    tuple(
        enumerate(
            ("a", "B", "b", "A", "é", "z", "É", "", "a b", "ab", "a-b", "_", "~", "ß", "😀", None)
        )
    ),
)
SAME_OF_TEXTS = (
    *("z < 'B'", "z <= 'B'", "z > 'a'", "z >= 'a'", "'b' > z", "'Z' <= z", "not (z > 'B')"),
    *("z > 'z'", "z < 'é'", "z between 'A' and 'a'", "z not between 'a' and 'b'"),
    *("z > 'a b' and z < 'ab'", "z > '~'", "z > ''", "z >= 'ß'"),
    "case when z < 'a' then true else false end",
)
"""In the order of bytes, and not of a language."""
NARROW = Filled(
    ("a", "r", "f"),
    (pyarrow.int64(), pyarrow.float32(), pyarrow.float64()),
    ((1, 0.1, 0.1), (2, 0.5, 0.5), (3, 0.3, 0.3), (4, inf, inf), (5, None, 1.0)),
)
SAME_OF_NARROW_FLOATS = (
    *("r = 0.1", "r <> 0.1", "r > 0.1", "r <= 0.3", "r in (0.1, 0.5)", "r between 0.1 and 0.3"),
    *("r + 0.1 > 0.4", "r * 3 = 0.3", "nullif(r, 0.1) is null", "r is null", "r = f", "r > f"),
    *("cast(r as double) > 0.3", "r > 2", "case r when f then true else false end"),
)
"""Of 32 bits, in which 0.1 is another number than in 64."""
PRICED = Filled(
    ("a", "p"),
    (pyarrow.int64(), pyarrow.decimal128(10, 2)),
    tuple((a, Decimal(p) / 100) for a, p in enumerate((10, 30, 1000, 20, 333, -30))),
)
SAME_OF_DECIMALS = (
    *("p = 0.3", "p < 0.3", "p in (0.1, 0.3)", "p between 0.1 and 0.3", "-p = 0.3", "abs(p) = 0.3"),
    *("floor(p) = 10", "coalesce(p, 0.1) = 0.1", "a * 0.5 = 1.5", "a / 0.25 = 4", "a % 2.5 = 0.5"),
    *("p / 3 = 0.1", "p / 3 < 0.1", "a / 0.3 = 10", "1 / p < 3.3333", "p / p = 1", "p / 0.1 = 3"),
    *(
        "cast(p as double) + 0.2 > 0.35",
        "1.1 * cast(p as double) > 10",
        "a * cast(0.1 as double) > 0.3",
    ),
)
EXACT = (
    *("p + 0.2 = 0.3", "p - 0.1 = 0.2", "p * 1.1 <= 11", "p % 0.2 = 0.1"),
    *("abs(p - 0.3) = 0.2", "coalesce(p, 0) + 1 = 1.1", "p + a = 1.3", "1 - (-p) = 1.1"),
)
EXACT_OF_WHOLE_NUMBERS = ("0.1 + 0.2 = 0.3", "a * 0.1 = 0.3", "a + 0.1 + 0.2 = a + 0.3")
"""Reckoned with decimals, which a database that rounds them refuses."""
BY_0 = {"a / 0 > 1", "a / 0.0 > 1", "a / (0) > 1"}
FAILS: dict[str, set[str]] = {
    "clickhouse": {"coalesce(p, 0.1) = 0.1"},
    "postgres": {"f % 2 > 1", "f % 0.5 = 0.1", "a / (a - 3) > 2", *BY_0},
    "spark": {"a / (a - 3) > 2", *BY_0},
    "mariadb": {*BY_0},
    "sqlite": {"lower(z) = 'éa'", "z ilike 'aB%'", r"z ilike 'A\%%'", "f % 2 > 1", *BY_0},
}
"""What an engine fails at, rather than to choose other records."""
REFUSED = (
    *("substring(z, -2) = 'bc'", "substring(z, 0, 2) = 'a'", "left(z, -1) = 'ab'"),
    *("substring(z, 2, -1) = 'a'", "substring(z, 1, a) = 'a'", "substring(z) = 'abc'"),
    *("right(z, -1) = 'bc'", "left(z, a) = 'a'", "extract(dow from d) = 0"),
    *("extract(epoch from d) > 0", "cast(f as varchar) = '3.0'"),
    *("cast(f * 1 as varchar) = '3.0'", "cast(coalesce(f, 0) as varchar) = '3.0'"),
    *("cast(cast(a as double) as varchar) = '5.0'", "cast(a / 1 as varchar) = '3.0'"),
    *("cast(floor(a) as varchar) = '3.0'", "cast(a * 1.0 as varchar) = '3.0'"),
    *("cast(cast(a as decimal(9, 2)) as varchar) = '3.00'", "cast(z * 1 as varchar) = '3'"),
    *("cast(z * 1 as int) = 3", "cast(cast(a as double) as int) = 3"),
    *("cast(trim(z) as int) = 3", "cast(trim(z) as double) = 3", "cast(left(z, 4) as date) > d"),
    *("d > date '31/01/2025'", "d = '20250131'", "d = ' 2025-01-31'", "d = date '2025-1-31'"),
    *("d > cast('abc' as date)", "cast('x' as double) = a", "cast(coalesce(z, '1') as double) = 1"),
    *("length(f) = 3", "f like '3%'", "(a) ilike '3'", "z like 3", "lower(coalesce(f, 0)) = '3'"),
    *("length(d) = 10", "left(a + 1, 1) = '3'", "trim(d) = '2025-01-05'", "length(a > 2) = 4"),
    *("length(cast(z as double)) = 3", "length(case when a > 2 then f end) = 3"),
    *("d + 1 > date '2025-01-31'", "d - date '2025-01-01' > 3", "-d = d", "(a > 2) + 1 = 2"),
    "cast(a > 2 as varchar) = 'true'",
    *("cast(a as boolean) = true", "cast(z as boolean) = true", "d > 5", "d = a", "a = (a > 2)"),
    *("(a > 2) = 'true'", "coalesce(a, '5') = 5", "nullif(a, '1') is null", "z in ('abc', 3)"),
    *("a + 'x' > 3", "z * 'x' > 3"),
    *("coalesce(a, 0) > '10'", "a + 1 = '5'", "trim(z) = 3", "case z when 3 then true end"),
    *("case when a > 2 then a else z end = 3", "z is distinct from 3", "a is distinct from '3'"),
    *("d = '2025-01-31 10:00:00'", "d in ('2025-01-31T00:00')"),
    *("cast(f as int) = 3", "cast(f as decimal(9, 1)) > 2", "cast(a / 2 as bigint) = 3"),
    *("cast(z as decimal(9, 2)) = 1", "try_cast(1.5 as int) = 2", "cast(f as float) = 1.5"),
)


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def database(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with ENGINES[engine].started(tmp_path_factory.mktemp(engine)) as running:
        yield running


def chosen(
    conditions: Sequence[str], data: Any, database: Any = None
) -> dict[str, list[int | None] | None]:
    """By condition the records, by their "a"; None where the engine fails."""
    with connect(database) as engine:
        table = engine.table(data)
        types = {column.name: column.type for column in table.columns}

        def records(where: str) -> list[int | None] | None:
            checked = condition(where, table.name, types, exact=table.exact).sql
            try:
                rows = engine.query(f'select "a" from {table.sql} where {checked}')
            except KanonError:
                engine.renew()
                return None
            found = [row["a"] for row in rows]
            return sorted(found, key=lambda a: (a is None, a or 0))

        return {where: records(where) for where in conditions}


UNKEPT: dict[str, Callable[[float], bool]] = {"sqlite": isnan, "mariadb": lambda f: not isfinite(f)}
"""Which floats an engine has no place for."""


def kept(table: Filled, engine: str) -> Filled:
    """The records of a table that an engine has a place for."""
    unkept = UNKEPT.get(engine, lambda _: False)
    rows = (row for row in table.rows if not any(isinstance(c, float) and unkept(c) for c in row))
    return Filled(table.names, table.types, tuple(rows))


def in_duckdb(conditions: Sequence[str], table: Filled) -> dict[str, list[int | None] | None]:
    """The same of a table of DuckDB's own: DuckDB 1.5 leaves conditions on Arrow to pyarrow."""
    with duckdb.connect() as database:
        database.register("given", table.arrow)
        database.execute("create table given_here as from given")
        return chosen(conditions, "given_here", database)


def test_conditions_choose_the_same_records(database: Database, engine: str) -> None:
    database.load("people", PEOPLE)
    everywhere = in_duckdb(SAME, PEOPLE)

    found = chosen(SAME, "people", database.url)

    assert found == everywhere | dict.fromkeys(FAILS[engine] & set(SAME))
    assert sum(len(records or ()) for records in everywhere.values()) > len(SAME)


def test_conditions_of_floats_choose_the_same_records(database: Database, engine: str) -> None:
    measured = kept(MEASURED, engine)
    database.load("measured", measured)
    everywhere = in_duckdb(SAME_OF_FLOATS, measured)

    found = chosen(SAME_OF_FLOATS, "measured", database.url)

    assert found == everywhere | dict.fromkeys(FAILS[engine] & set(SAME_OF_FLOATS))
    assert None not in everywhere.values()


def test_texts_that_are_whole_numbers_are_the_same_numbers(database: Database) -> None:
    written = ("3", "3.0", "1e3", " 7 ", "-0", "+12", "0042", None)
    codes = Filled(("a", "z"), (pyarrow.int64(), pyarrow.string()), tuple(enumerate(written)))
    database.load("codes", codes)
    asked = ("cast(z as int) = 3", "cast(z as bigint) > 7", "cast(z as int) in (0, 7, 42)")

    found = chosen(asked, "codes", database.url)

    assert found == dict(zip(asked, ([0, 1], [2, 5, 6], [3, 4, 6]), strict=True))


def test_conditions_of_texts_choose_the_same_records(database: Database) -> None:
    database.load("letters", LETTERS)

    found = chosen(SAME_OF_TEXTS, "letters", database.url)

    assert found == chosen(SAME_OF_TEXTS, LETTERS.arrow)


def test_conditions_of_narrow_floats_choose_the_same_records(
    database: Database, engine: str
) -> None:
    narrow = kept(NARROW, engine)
    database.load("narrow", narrow)

    found = chosen(SAME_OF_NARROW_FLOATS, "narrow", database.url)

    assert found == chosen(SAME_OF_NARROW_FLOATS, narrow.arrow)


def test_conditions_of_decimals_choose_the_same_records(database: Database, engine: str) -> None:
    database.load("priced", PRICED)

    found = chosen(SAME_OF_DECIMALS, "priced", database.url)

    everywhere = in_duckdb(SAME_OF_DECIMALS, PRICED)
    assert found == everywhere | dict.fromkeys(FAILS[engine] & set(SAME_OF_DECIMALS))


def test_decimals_are_reckoned_with_exactly_or_not_at_all(database: Database, engine: str) -> None:
    database.load("priced", PRICED)
    # Where SQLite has a decimal, it has a double.
    asked = [*EXACT_OF_WHOLE_NUMBERS, *(EXACT if engine != "sqlite" else ())]
    if not TRAITS[engine].rounds:
        assert chosen(asked, "priced", database.url) == in_duckdb(asked, PRICED)
        return

    for where in asked:
        with pytest.raises(SpecError, match=r"rounded in this one .* Cast one side to double"):
            chosen([where], "priced", database.url)


def test_a_condition_chooses_what_is_audited(database: Database) -> None:
    database.load("people", PEOPLE)
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


@pytest.mark.parametrize("where", REFUSED)
def test_what_databases_differ_in_is_refused(where: str) -> None:
    with pytest.raises(SpecError, match="where: "):
        chosen([where], PEOPLE.arrow)


@pytest.mark.parametrize("where", ["cast(z as date) < date '2030-01-01'", "year(z) = 2025"])
def test_a_day_that_no_month_has_is_no_date(database: Database, where: str) -> None:
    days = ("2025-01-31", "2025-02-30", "31/01/2025", "abc", None)
    database.load("days", Filled(("z",), (pyarrow.string(),), tuple((day,) for day in days)))

    with pytest.raises(InputError, match='3 of 4 values of "z" are no date'):
        kanon.audit("days", quasi_identifiers="z", where=where, engine=database.url)
