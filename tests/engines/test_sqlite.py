"""What SQLite lets a table hold, a name mean and a connection be set to: is none of it believed?"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import kanon_sql as kanon
from kanon_sql.engines import connect, sqlite
from kanon_sql.engines.sqlite import SQLite


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection


def holding(database: sqlite3.Connection, declared: str, values: list[Any]) -> None:
    database.execute("drop table if exists people")
    database.execute(f"create table people (born {declared})")
    database.executemany("insert into people values (?)", [(value,) for value in values])


def audit(database: sqlite3.Connection, **question: Any) -> kanon.TableResult:
    asked = {"quasi_identifiers": "born", "checks": [kanon.KAnonymity(k=5)]} | question
    [table] = kanon.audit("people", engine=database, **asked).tables
    return table


# --- what a column holds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "values", "type"),
    [
        ("date", ["2025-01-31", None], "DATE"),
        ("date", ["2025-01-31", "31/01/1950"], "VARCHAR"),
        ("date", ["2025-02-30"], "VARCHAR"),
        ("date", ["2025-01-31 10:00:00"], "VARCHAR"),
        ("date", [1700000000], "VARCHAR"),
        ("timestamp", ["2025-01-31 10:00:00"], "VARCHAR"),
        ("datetime", ["2025-01-31"], "VARCHAR"),
        ("integer", [1, None], "BIGINT"),
        ("integer", [1, "unknown"], "VARCHAR"),
        ("integer", [1, 1.5], "DOUBLE"),
        ("unsigned big int", [2**62], "BIGINT"),
        ("boolean", [0, 1, None], "BOOLEAN"),
        ("boolean", [0, 2], "VARCHAR"),
        ("boolean", ["true"], "VARCHAR"),
        ("float", [0.5, 2], "DOUBLE"),
        ("decimal(9, 2)", [0.5, 2], "DOUBLE"),
        ("decimal(9, 2)", [0.5, "n/a"], "VARCHAR"),
        ("numeric", [2**53 + 1], "VARCHAR"),
        ("numeric", [b"1"], "BLOB"),
        ("integer", [], "BIGINT"),
        ("varchar(9)", [b"1"], "BLOB"),
        ("", [1], "VARCHAR"),
        ("", [1, "1"], "VARCHAR"),
        ("", [1, 1.0], "DOUBLE"),
        ("", ["a", "b"], "VARCHAR"),
    ],
)
def test_a_type_is_believed_only_of_what_is_there(
    database: sqlite3.Connection, declared: str, values: list[Any], type: str
) -> None:
    holding(database, declared, values)

    with connect(database) as engine:
        [column] = engine.table("people").columns

    assert column.type == type


@pytest.mark.parametrize(
    ("declared", "values", "level", "said"),
    [
        ("date", [f"{n:02d}/01/19{n + 50}" for n in range(1, 11)], "year", "dates"),
        ("date", [1700000000 + n * 10**7 for n in range(10)], "month", "dates"),
        ("timestamp", [f"{n}/2/2020 10:00" for n in range(1, 11)], "year", "dates"),
        ("integer", [*range(8), "12a", "unknown"], {"width": 100}, "numbers"),
    ],
)
def test_what_has_no_label_is_refused(
    database: sqlite3.Connection, declared: str, values: list[Any], level: Any, said: str
) -> None:
    """All labels would be NULL, or that of a number, and all records of one class."""
    holding(database, declared, values)

    with pytest.raises(kanon.InputError, match=f"are not {said}, so"):
        audit(database, quasi_identifiers={"born": {"levels": [level]}}, levels={"born": 1})


@pytest.mark.parametrize(
    ("declared", "values", "classes"),
    [
        ("", [1, 1.0, 2, 2.0], 2),
        ("", [1, 1, "01", "01", "a", "a"], 3),
        ("integer", [1, 1, "unknown", "unknown"], 2),
        ("datetime", [1700000000, 1700000000, "2025-01-31", "2025-01-31"], 2),
        ("blob", [0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2], 2),
        ("", [None, None, 1, 1], 2),
    ],
)
def test_what_looks_the_same_is_one_value_for_every_question(
    database: sqlite3.Connection, declared: str, values: list[Any], classes: int
) -> None:
    """It would end with a table that changed while it was audited."""
    holding(database, declared, values)
    asked: dict[str, Any] = {"quasi_identifiers": "born", "engine": database}

    found = audit(database)
    profile = kanon.profile("people", **asked)
    levels = {"born": {"levels": ["suppress"]}}
    release = kanon.anonymize("people", **asked | {"quasi_identifiers": levels}, k=2)

    assert found.summary is not None
    assert (found.summary.classes, profile.tables[0].summary.classes) == (classes, classes)
    assert (release.holds, release.anonymization.levels) == (True, {"born": 0})


@pytest.mark.parametrize(
    "values", [[0.5, "0.5"], [b"a", "a"], [2**53 + 1, 0.5], [b"1", 1], [1, "1"]]
)
def test_what_is_of_several_kinds_is_refused_where_it_plays_a_part(
    database: sqlite3.Connection, values: list[Any]
) -> None:
    database.execute("create table people (born, sex text)")
    database.executemany("insert into people values (?, 'F')", [(value,) for value in values])
    database.commit()

    assert audit(database, quasi_identifiers="sex").summary.k == 2
    with pytest.raises(kanon.SpecError, match='"born" of people holds values of several types'):
        audit(database)


@pytest.mark.parametrize("where", ["born > 3", "coalesce(born, 1) > 0"])
def test_a_condition_casts_a_column_of_numbers_and_texts(
    database: sqlite3.Connection, where: str
) -> None:
    """Read as text, 12 is not above 3."""
    holding(database, "integer", [12, 5, "unknown", None])

    with pytest.raises(kanon.SpecError, match='"born" holds numbers and texts'):
        audit(database, where=where)
    for cast, records in [("cast(born as integer) > 3", 2), ("cast(born as text) = '5'", 1)]:
        assert audit(database, where=cast).summary.records == records
    for same in ("born is null", "BORN = 5", "born in (5)", "born <> 'unknown' and born <> 5"):
        assert audit(database, where=same).summary.records == 1


def test_times_have_labels(database: sqlite3.Connection) -> None:
    holding(database, "timestamp", ["2025-01-31 10:00:00", "2025-01-01", "2024-12-31 23:59:59.5"])

    found = audit(database, quasi_identifiers={"born": {"levels": ["year"]}}, levels={"born": 1})

    assert found.summary is not None
    assert (found.summary.classes, found.summary.k) == (2, 1)


def test_an_engine_believes_what_is_there_now(database: sqlite3.Connection) -> None:
    holding(database, "integer", [1])
    with connect(database) as engine:
        before = engine.table("people").columns
        database.execute("rollback")
        database.execute("insert into people values ('unknown')")
        engine.renew()

        after = engine.table("people").columns
        engine.query('select "born" from "main"."people" where cast("born" as varchar) = \'1\'')

    assert [before[0].type, after[0].type] == ["BIGINT", "VARCHAR"]


def chosen(database: sqlite3.Connection, where: str) -> Any:
    """How many records a condition leaves."""
    found = audit(database, where=where, checks=[])
    assert found.error is None
    return found.summary.records if found.summary else 0


def test_a_day_is_a_text_or_what_its_function_gives(database: sqlite3.Connection) -> None:
    """SQLite has no dates: its `cast(born as date)` is the number of the year."""
    holding(database, "timestamp", ["2025-01-31", "2025-01-31 10:00:00", "2024-05-05 00:00:00"])

    assert chosen(database, "date(born) = '2025-01-31'") == 2
    assert chosen(database, "born <= '2025-01-31'") == 2
    for where in ("cast(born as date) = '2025-01-31'", "born <= date '2025-01-31'"):
        with pytest.raises(kanon.SpecError, match=r"the nearest is .*DATE\("):
            chosen(database, where)


@pytest.mark.parametrize("moment", ["1969-12-31 23:59:59.999999", "1969-12-31T23:59:59.9996"])
def test_the_last_moment_of_a_day_is_of_that_day(database: sqlite3.Connection, moment: str) -> None:
    """SQLite rounds it up to the next."""
    holding(database, "text", [moment, "1969-12-31", "1970-01-01"])

    for level in ("day", "month", "year"):
        question = {"quasi_identifiers": {"born": {"levels": [level]}}, "levels": {"born": 1}}
        summary = audit(database, **question).summary
        assert summary is not None
        assert (summary.classes, summary.largest_class) == (2, 2)


@pytest.mark.parametrize(
    "value", ["1969-12-31 24:00", "1969-02-31 23:59:59.9999", "1969-12-31 23:59+05:00 or so"]
)
def test_a_moment_that_no_day_has_is_no_date(database: sqlite3.Connection, value: str) -> None:
    holding(database, "text", [value])

    with pytest.raises(kanon.InputError, match="is not a date"):
        audit(database, quasi_identifiers={"born": {"levels": ["day"]}}, levels={"born": 1})


def test_a_text_of_the_question_is_no_function(
    database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "ORDERED", (99, 0))
    holding(database, "text", ["group_concat(", "a"])

    assert chosen(database, "born <> 'group_concat('") == 1


def test_a_function_that_sqlite_lacks_is_named(database: sqlite3.Connection) -> None:
    holding(database, "text", ["2025-01-31"])

    with pytest.raises(kanon.SpecError, match=r"no such function: year\. Check your conditions"):
        chosen(database, "year(born) > 2000")


# --- what a name means ----------------------------------------------------------------------------


def test_a_temporary_table_stands_before_the_one_of_the_same_name(
    database: sqlite3.Connection,
) -> None:
    """In the other one "age" would be a text: SQLite reads it so where there is no such column."""
    holding(database, "text", ["1"] * 10)
    database.execute("create temp table people (born text, age integer)")
    database.executemany("insert into temp.people values ('1', ?)", [(n,) for n in range(5)])

    found = audit(database, quasi_identifiers=["born", "age"])

    assert (found.name, records_of(database, "people")) == ("temp.people", 5)
    assert found.status == "violated"
    assert records_of(database, "temp.people") == 5
    assert records_of(database, "main.people") == 10
    with pytest.raises(kanon.SpecError, match='no column "age"'):
        kanon.audit("main.people", quasi_identifiers="age", engine=database)


def records_of(database: sqlite3.Connection, name: str) -> int | None:
    [table] = kanon.audit(name, quasi_identifiers="born", engine=database).tables
    return table.summary.records if table.summary else None


def test_what_is_attached_comes_after_what_is_in_the_file(database: sqlite3.Connection) -> None:
    for place, schema in enumerate(["first", "second"], start=1):
        database.execute(f"attach ':memory:' as {schema}")
        database.execute(f"create table {schema}.People as select 1 as born")
        database.execute(f"insert into {schema}.people values {', '.join(['(1)'] * place)}")

    assert records_of(database, "PEOPLE") == 2
    assert records_of(database, "second.people") == 3
    holding(database, "text", ["1"])
    assert records_of(database, "people") == 1
    database.execute("create temp table PEOPLE as select 1 as born where false")
    with pytest.raises(
        kanon.InputError, match=r"ambiguous: main\.temp\.PEOPLE, main\.main\.people"
    ):
        records_of(database, "people")


@pytest.mark.parametrize("kept", ["virtual", "stored"])
def test_a_generated_column_is_one(database: sqlite3.Connection, kept: str) -> None:
    database.execute(
        "create table people (name text, born text, "
        f"initial text generated always as (substr(name, 1, 1)) {kept})"
    )
    names = [(f"{chr(65 + n)}nn",) for n in range(10)]
    database.executemany("insert into people (name, born) values (?, '1')", names)

    found = audit(database, quasi_identifiers="*", identifiers=["name"])

    assert found.quasi_identifiers == ("born", "initial")
    assert found.status == "violated"


# --- what texts are compared by -------------------------------------------------------------------


def test_a_table_with_a_collation_is_refused(database: sqlite3.Connection) -> None:
    holding(database, "text collate nocase", ["a", "A"])
    database.execute("create view seen as select born from people")

    for source in ("people", "seen"):
        with pytest.raises(kanon.InputError, match="collation other than binary"):
            kanon.audit(source, quasi_identifiers="born", engine=database)


def test_a_temporary_view_may_read_any_schema(database: sqlite3.Connection) -> None:
    holding(database, "text collate nocase", ["a", "A"])
    database.execute("create temp view seen as select born from main.people")

    with pytest.raises(kanon.InputError, match="collation other than binary"):
        kanon.audit("seen", quasi_identifiers="born", engine=database)


def test_a_collation_elsewhere_shuts_out_no_table(database: sqlite3.Connection) -> None:
    """That of an index is none by which a question groups or compares."""
    holding(database, "text", ["a", "A"])
    database.execute("create table others (born text collate nocase)")
    database.execute("create index by_letter on people (born collate nocase)")

    found = audit(database, where="born in ('a', 'A')")

    assert found.summary is not None
    assert found.summary.classes == 2
    assert chosen(database, "born = 'a'") == 1


# --- what a connection is set to ------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows",
    [
        lambda _, row: row[0],
        lambda cursor, row: dict(zip([each[0] for each in cursor.description], row, strict=True)),
        sqlite3.Row,
    ],
)
def test_rows_come_as_they_are(database: sqlite3.Connection, rows: Any) -> None:
    holding(database, "text", ["a", "b", "b"])
    database.row_factory = rows

    found = audit(database)

    assert found.summary is not None
    assert found.summary.classes == 2
    assert database.row_factory is rows


def test_texts_that_come_as_something_else_are_refused(database: sqlite3.Connection) -> None:
    database.text_factory = bytes

    with pytest.raises(kanon.InputError, match="Set it to str"):
        connect(database)


def test_a_connection_that_is_always_in_a_transaction_is_refused() -> None:
    """As of Python 3.12 it can be opened so."""

    class Always(sqlite3.Connection):
        autocommit = False
        in_transaction = True

    with (
        closing(Always(":memory:")) as connection,
        pytest.raises(kanon.InputError, match="set its autocommit to True"),
    ):
        SQLite(connection)


def test_a_file_that_another_program_writes_is_said_to_be_locked(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "clinic.sqlite", isolation_level=None)) as writer:
        writer.execute("create table people (zip text)")
        writer.execute("begin exclusive")
        with pytest.raises(
            kanon.EngineError, match=r"^SQLite: database is locked\. Another program"
        ):
            kanon.audit("people", ["zip"], engine=f"sqlite:{tmp_path}/clinic.sqlite")


# --- columns called true or false -----------------------------------------------------------------


def people_named(database: sqlite3.Connection, column: str) -> None:
    """Two hundred records in which one column has another name in each table."""
    for table in ("people", "reference"):
        database.execute(f"drop table if exists {table}")
        database.execute(f'create table {table} ("{column}" text, age int, dx text, person int)')
        database.executemany(
            f"insert into {table} values (?, ?, ?, ?)",
            [("abcd"[n * n % 4], n % 3, "xyz"[n % 7 % 3], n) for n in range(200)],
        )


@pytest.mark.parametrize("name", ["true", "FALSE", "True"])
@pytest.mark.parametrize(
    "question",
    [
        {"quasi_identifiers": ["?", "age"], "sensitive": "dx", "k": 3},
        {"quasi_identifiers": ["age"], "sensitive": "?", "k": 3, "l": 4, "t": 0.2},
        {"quasi_identifiers": ["age"], "entity": "person", "events": ["?", "dx"], "k": 3},
        {"quasi_identifiers": ["age", "?"], "references": "reference", "k_map": 30},
        {"quasi_identifiers": ["age", "?"], "nulls": "wildcard", "k": 3},
    ],
)
def test_a_column_called_true_is_a_column(
    database: sqlite3.Connection, name: str, question: dict[str, Any]
) -> None:
    def found(column: str) -> dict[str, Any]:
        people_named(database, column)
        asked = {
            key: [column if each == "?" else each for each in value]
            if isinstance(value, list)
            else column
            if value == "?"
            else value
            for key, value in question.items()
        }
        [table] = kanon.audit("people", engine=database, **asked).tables
        dropped = {"sql", "seconds", "quasi_identifiers", "sensitive", "events", "unassigned"}
        told = {key: value for key, value in table.to_dict().items() if key not in dropped}
        return {**told, "checks": [check.achieved for check in table.checks], "warnings": ()}

    assert found(name) == found("plain")


@pytest.mark.parametrize("name", ["true", "FALSE"])
def test_the_cells_by_a_column_called_true(database: sqlite3.Connection, name: str) -> None:
    def found(column: str) -> Any:
        people_named(database, column)
        [table] = kanon.tables("people", [column, "dx"], threshold=20, engine=database).tables
        return table.cells, [check.achieved for check in table.checks]

    assert found(name) == found("plain")


def test_no_release_has_a_column_called_true(database: sqlite3.Connection) -> None:
    people_named(database, "True")

    with pytest.raises(kanon.SpecError, match='"True" of people: views of sqlite lose that name'):
        kanon.anonymize("people", ["age"], k=3, engine=database)


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()

    with pytest.raises(kanon.InputError, match=r"there is no table or view people .* no tables"):
        kanon.audit("people", ["zip"], engine=f"sqlite:{tmp_path / 'empty.db'}")
