"""Conditions: which are accepted, as what SQL, and with what sentence the others are refused."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import sqlglot
from pyarrow import parquet
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.errors import truncated
from kanon_sql.sql.conditions import MOST_LEVELS, TextCast, columns_of, condition
from kanon_sql.sql.dialects import in_template, translated

COLUMNS = {
    "zip": "VARCHAR",
    "Sex": "VARCHAR",
    "admitted": "VARCHAR",
    "age": "BIGINT",
    "alive": "BOOLEAN",
    'a"b': "BIGINT",
    "born": "DATE",
}
ALONE = "must be an expression alone, with no clause or comment."
NOT_TRUE_OR_FALSE = "must be true or false, as in: age >= 18 and sex = 'F'."
ORDER_OF_TEXT = (
    "this compares texts by their characters, and text orders 9 after 10 ({!r}). Write numbers "
    "without quotes and dates as date '2025-01-31', or cast: cast(a as double) < cast(b as double)."
)
WHAT_MAY = (
    "Comparisons, and, or, not, in, between, like, is null, arithmetic, cast, case, coalesce, "
    "nullif, lower, upper, trim, length, substring, left, right, abs, floor, ceil, extract, year, "
    "month, day and date may."
)


@pytest.mark.parametrize(
    ("text", "sql"),
    [
        ("age >= 18 and sex = 'F'", """("age" >= 18 AND "Sex" = 'F')"""),
        ("AGE>3", '("age" > 3)'),
        ("not alive or born < date '2000-01-01'",
         """(NOT "alive" OR "born" < CAST('2000-01-01' AS DATE))"""),
        ("(alive)", '"alive"'),
        ("age is not null", '(NOT "age" IS NULL)'),
        ("age is not distinct from 3", '("age" IS NOT DISTINCT FROM 3)'),
        ("age between 1 and 3", '("age" BETWEEN 1 AND 3)'),
        ("zip in ('1', 'it''s')", """("zip" IN ('1', 'it''s'))"""),
        ("zip = '02138'", """("zip" = '02138')"""),
        ("zip > 'A'", """("zip" > 'A')"""),
        ("zip like '02%' or sex ilike 'f%'", """("zip" LIKE '02%' OR "Sex" ILIKE 'f%')"""),
        ('"a""b" % 2 = 0', '("a""b" % 2 = 0)'),
        ("floor(age / 10) = 3", '(FLOOR("age" / 10) = 3)'),
        ("coalesce(zip, '') <> ''", """(COALESCE("zip", '') <> '')"""),
        ("lower(left(zip, 2)) = 'ab'", """(LOWER(LEFT("zip", 2)) = 'ab')"""),
        ("extract(month from born) = 5", '(EXTRACT(MONTH FROM "born") = 5)'),
        ("case when age > 3 then true else false end",
         '(CASE WHEN "age" > 3 THEN TRUE ELSE FALSE END)'),
        ("try_cast(zip as integer) > 3", '(TRY_CAST("zip" AS INT) > 3)'),
        ("cast(zip as date) > born", '(CAST("zip" AS DATE) > "born")'),
        ("age > '10' or born > '2000-01-01'", """("age" > '10' OR "born" > '2000-01-01')"""),
        ("lower(zip) < 'z'", """(LOWER("zip") < 'z')"""),
        ("1 = 1", "(1 = 1)"),
    ],
)  # fmt: skip
def test_it_is_accepted_with_every_name_quoted(text: str, sql: str) -> None:
    accepted = condition(text, "patients", COLUMNS)

    assert (accepted.sql, accepted.casts) == (sql, ())


@pytest.mark.parametrize(
    ("text", "sql", "cast"),
    [
        ("zip < 100", '(CAST("zip" AS DOUBLE) < 100)', "DOUBLE"),
        ("(zip) > -5", '((CAST("zip" AS DOUBLE)) > -5)', "DOUBLE"),
        ("3 = zip", '(3 = CAST("zip" AS DOUBLE))', "DOUBLE"),
        ("zip between 1 and 20", '(CAST("zip" AS DOUBLE) BETWEEN 1 AND 20)', "DOUBLE"),
        ("zip not in (1, 2)", '(NOT CAST("zip" AS DOUBLE) IN (1, 2))', "DOUBLE"),
        ("zip is distinct from 5", '(CAST("zip" AS DOUBLE) IS DISTINCT FROM 5)', "DOUBLE"),
        ("zip >= date '2025-01-01'",
         """(CAST("zip" AS TIMESTAMP) >= CAST('2025-01-01' AS DATE))""", "TIMESTAMP"),
        ("zip < timestamp '2025-01-01 10:00:00'",
         """(CAST("zip" AS TIMESTAMP) < CAST('2025-01-01 10:00:00' AS TIMESTAMP))""",
         "TIMESTAMP"),
    ],
)  # fmt: skip
def test_text_beside_a_number_or_a_date_is_cast_and_said_to_be(
    text: str, sql: str, cast: str
) -> None:
    accepted = condition(text, "patients", COLUMNS)

    assert (accepted.sql, accepted.casts) == (sql, (TextCast("zip", cast),))


AN_EXPRESSION = (
    "an expression, as age > 30 is one, in the SQL of duckdb. A name that is an SQL keyword, "
    'or contains a space, needs "quotes".'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", f"'' is not {AN_EXPRESSION}"),
        ("age > 1, zip = '2'", f""""age > 1, zip = '2'" is not {AN_EXPRESSION}"""),
        ("age > 1, patients", f"'age > 1, patients' {ALONE}"),
        ("age > 1; drop table patients",
         "'age > 1; drop table patients' must be one expression, as in: age >= 18 and sex = 'F'."),
        ("age > 1 union select 1",
         "'age > 1 union select 1' must be one expression, as in: age >= 18 and sex = 'F'."),
        ("age >", f"'age >' is not {AN_EXPRESSION}"),
        ("alter < 40", f"'alter < 40' is not {AN_EXPRESSION}"),
        ("drop table patients", f"'drop table patients' is not {AN_EXPRESSION}"),
        ("age > 1 limit 5", f"'age > 1 limit 5' {ALONE}"),
        ("age > 1 from patients", f"'age > 1 from patients' is not {AN_EXPRESSION}"),
        ("distinct age > 1", f"'distinct age > 1' is not {AN_EXPRESSION}"),
        ("age > 1 group by zip", f"'age > 1 group by zip' {ALONE}"),
        ("age > 1 qualify true", f"'age > 1 qualify true' {ALONE}"),
        ("age > 1 -- all", f"'age > 1 -- all' {ALONE}"),
        ("/* all */ age > 1", f"'/* all */ age > 1' {ALONE}"),
        ("age > 1 as old", f"'age > 1 as old' is not {AN_EXPRESSION}"),
        ("age", f"'age' {NOT_TRUE_OR_FALSE}"),
        ("age + 1", f"'age + 1' {NOT_TRUE_OR_FALSE}"),
        ("lower(zip)", f"'lower(zip)' {NOT_TRUE_OR_FALSE}"),
        ("null", f"'null' {NOT_TRUE_OR_FALSE}"),
        ("(select 1) = 1",
         f"subquery may not stand in a condition ('(select 1) = 1'). {WHAT_MAY}"),
        ("age in (select 1)", "a subquery may not stand in a condition ('age in (select 1)')."),
        ("age > max(age)", f"max may not stand in a condition ('age > max(age)'). {WHAT_MAY}"),
        ("count(*) > 1", f"count may not stand in a condition ('count(*) > 1'). {WHAT_MAY}"),
        ("read_csv('x.csv') is null",
         f"""read_csv may not stand in a condition ("read_csv('x.csv') is null"). {WHAT_MAY}"""),
        ("getenv('HOME') = 'x'",
         f"""getenv may not stand in a condition ("getenv('HOME') = 'x'"). {WHAT_MAY}"""),
        ("sum(age) over () > 1",
         f"window may not stand in a condition ('sum(age) over () > 1'). {WHAT_MAY}"),
        ("zip || 'a' = 'b'", """|| may not stand in a condition ("zip || 'a' = 'b'")."""),
        ("if(alive, 1, 2) = 1",
         "'if(alive, 1, 2) = 1' is not written so in duckdb; the nearest is "
         '(CASE WHEN "alive" THEN 1 ELSE 2 END = 1). Write the condition in the SQL of the '
         "database that has the table."),
        ("age > ?", f"placeholder may not stand in a condition ('age > ?'). {WHAT_MAY}"),
        ("cast(age as blob) is null", "a cast to BLOB may not stand in a condition."),
        ("p.age > 1", 'name columns alone, without "p." before them.'),
        ("ages > 1",
         'patients has no column "ages". Its columns: zip, Sex, admitted, age, alive, a"b, born. '
         'Did you mean "age"?'),
        *[(ordered, ORDER_OF_TEXT.format(ordered)) for ordered in (
            "zip < '100'", "'9.5' >= (zip)", "zip > '1e1'", "zip > ('7')", "zip > trim('7')",
            "lower(zip) > '10'", "zip > Sex", "zip < '2025-2-2'", "coalesce(zip, '') < '5'",
            "case when alive then zip end between '1' and '2'", "cast(age as text) > '9'",
        )],
    ],
)  # fmt: skip
def test_it_is_refused_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        condition(text, "patients", COLUMNS)

    assert str(refused.value) == f"where: {message}"


PATIENTS = pyarrow.table(
    {
        "zip": ["02138", "2138", "02139", "n/a", None],
        "age": [34, 34, 51, 51, 51],
        "admitted": ["2025-01-02", "2024-12-31", "2025-03-01", "2025-02-28", None],
    }
)


@pytest.mark.parametrize(
    ("where", "records"),
    [
        ("zip = '02138'", 1),
        ("age = 51", 3),
        ("admitted >= date '2025-01-01'", 3),
        ("admitted < timestamp '2025-01-01 00:00:00'", 1),
        ("zip is null or zip like '021%'", 3),
        ("age > 99", 0),
    ],
)
def test_only_the_records_for_which_it_holds_are_audited(where: str, records: int) -> None:
    [table] = kanon.audit(PATIENTS, quasi_identifiers="age", where=where).tables

    assert table.summary.records == records


@pytest.mark.parametrize("where", ["zip + 1 = 2", "zip > age", "year(zip) = 2025"])
def test_text_that_duckdb_does_not_cast_is_refused(where: str) -> None:
    with pytest.raises(kanon.SpecError):
        kanon.audit(PATIENTS, quasi_identifiers="age", where=where)


def test_a_condition_on_the_reference_says_whose_it_is() -> None:
    voters = kanon.ReferenceSpec(source=PATIENTS, where="zip = 2138")

    with pytest.raises(kanon.InputError) as refused:
        kanon.audit(PATIENTS, quasi_identifiers="age", references={"voters": voters})

    assert str(refused.value) == (
        'reference voters: where: 1 of 4 values of "zip" are no number. Compare them as text, or '
        "mend them first."
    )


DEEP = {
    "parentheses": "(" * 400 + "age > 0" + ")" * 400,
    "more of them": "(" * 5000 + "age > 0" + ")" * 5000,
    "unlike ones": " and (age = 1 or ".join(["age = 1"] * 200) + ")" * 199,
    "not": "not " * 400 + "alive",
    "sums": "age" + " + 1" * 400 + " > 0",
    "functions": "coalesce(" * 100 + "age" + ", 1)" * 100 + " > 0",
    "cases": "case when alive then " * 200 + "true" + " end" * 200,
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_condition_that_is_nested_too_deeply_is_refused(text: str) -> None:
    """What reads it goes down into itself, and Python ends where that is too deep."""
    for read in (lambda: condition(text, "people", COLUMNS), lambda: columns_of(text)):
        with pytest.raises(kanon.SpecError) as refused:
            read()
        assert str(refused.value) == (
            f"where: the condition is nested more than {MOST_LEVELS} levels deep "
            f"({truncated(text)!r}). Write it with fewer parentheses, or make a column of it in a "
            "view."
        )


@pytest.mark.parametrize("text", ["-" * 3_000 + "1 > 0", "age >" * 3_000, "a " * 3_000])
def test_a_refusal_repeats_the_beginning_alone(text: str) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        condition(text, "people", COLUMNS)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "clickhouse", "tsql"])
def test_a_condition_of_the_most_levels_is_translated(dialect: str) -> None:
    deep = "(" * (MOST_LEVELS - 6) + "age > 0" + ")" * (MOST_LEVELS - 6)
    wide = " or ".join(["age = 1"] * 200)

    for where in (deep, wide):
        compiled = kanon.compile("people", quasi_identifiers="zip", where=where, dialect=dialect)
        assert str(compiled).count("age") >= where.count("age")


@pytest.mark.parametrize(
    ("dialect", "text", "sql"),
    [
        ("postgres", "zip > '10' and age::numeric > 1",
         """("zip" > '10' AND CAST("age" AS DECIMAL) > 1)"""),
        ("mariadb", "`sex` <=> 'it\\'s'", "(`Sex` <=> 'it''s')"),
        ("mysql", "cast(zip as unsigned) > 5", "(CAST(`zip` AS UNSIGNED) > 5)"),
        ("spark", "age not in (1, 2)", "(NOT `age` IN (1, 2))"),
        ("sqlite", "[age] == 1", '("age" = 1)'),
        ("clickhouse", "cast(age as Nullable(Float64)) > 1",
         '(CAST("age" AS Nullable(Float64)) > 1)'),
        ("tsql", "zip = '1' or [age] > 2", "([zip] = '1' OR [age] > 2)"),
    ],
)  # fmt: skip
def test_a_condition_is_sent_as_its_database_writes_it(dialect: str, text: str, sql: str) -> None:
    accepted = condition(text, "patients", COLUMNS, dialect)
    sent = translated(f"select count(*) as n from patients where {accepted.sql}", dialect)
    where = sqlglot.parse_one(sent, read=dialect).find(exp.Where)

    assert accepted == (in_template(sql, dialect), accepted.columns, ())
    assert where is not None
    assert where.this.sql(dialect) == sql


@pytest.mark.parametrize(
    ("dialect", "text", "message"),
    [
        ("mariadb", '"Sex" <> \'F\'', "between double quotes mariadb has a text, and no name"),
        ("spark", 'zip = "1"', "between double quotes spark has a text"),
        ("mysql", "zip || 'a'", "|| may not stand in a condition"),
        ("mysql", "age = 1 # all", "with no clause or comment"),
        ("mariadb", "age = 1 /*! or 1 = 1 */", "with no clause or comment"),
        ("mysql", "age = @x", "parameter may not stand in a condition"),
        ("mysql", "age = @@version", "sessionparameter may not stand"),
        ("postgres", "age = $1", "parameter may not stand"),
        ("postgres", "age = %s", "placeholder may not stand"),
        ("postgres", "zip = $$a$$", "rawstring may not stand"),
        ("clickhouse", "age = {x: Int8}", "may not stand"),
        ("clickhouse", "age = 1 settings max_threads = 1", "with no clause or comment"),
        ("clickhouse", "age in numbers", "a subquery may not stand"),
        ("spark", "age = 1 limit 1", "with no clause or comment"),
        ("spark", "zip = 'a\\nb'", "a text with a line break may not stand"),
        ("postgres", "try_cast(zip as int) = 1", 'the nearest is (CAST("zip" AS INT) = 1)'),
        ("sqlite", "born > date '2025-01-31'", "the nearest is (\"born\" > DATE('2025-01-31'))"),
        ("sqlite", "cast(born as date) > '2025-01-31'", 'the nearest is (DATE("born") > '),
    ],
)  # fmt: skip
def test_what_another_dialect_means_otherwise_is_refused(
    dialect: str, text: str, message: str
) -> None:
    with pytest.raises(kanon.SpecError) as refused:
        condition(text, "patients", COLUMNS, dialect)

    assert message in str(refused.value)


def test_a_condition_is_of_the_database_that_has_the_table(tmp_path: Path) -> None:
    """A file has DuckDB's, which is translated; a table that is only named has its database's."""
    file = tmp_path / "people.parquet"
    parquet.write_table(PATIENTS, file)
    asked: Any = {"quasi_identifiers": "age", "dialect": "mysql"}

    translated_there = str(kanon.compile(str(file), where="zip <> '1'", **asked))
    named = str(kanon.compile("people", where="`zip` <> '1'", **asked))

    assert "`zip` <> '1'" in translated_there
    assert "`zip` <> '1'" in named
    with pytest.raises(kanon.SpecError, match="is not an expression"):
        kanon.compile(str(file), where="`zip` <> '1'", **asked)
    with pytest.raises(kanon.SpecError, match="has a text, and no name"):
        kanon.compile("people", where="\"zip\" <> '1'", **asked)


def test_a_condition_is_translated_from_the_dialect_of_a_connection() -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("create table people (zip text, age integer)")
        for dialect, name in (("mysql", "`zip`"), ("duckdb", '"zip"')):
            compiled = kanon.compile(
                "people", quasi_identifiers="age", where="[zip] is not 'a'", engine=database,
                dialect=dialect,
            )  # fmt: skip
            assert f"{name} is" in str(compiled) or f"{name} <=> 'a'" in str(compiled)
