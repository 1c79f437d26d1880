"""Is a column of which the database takes different texts for one refused wherever it plays a part,
and nowhere else?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from warehouses import ENGINES, Database

import kanon_sql as kanon
from kanon_sql.engines import connect

IN_POSTGRES = (
    # What ICU would make, which not every build has.
    'create collation caseless from "C"',
    "update pg_collation set collisdeterministic = false where collname = 'caseless'",
    "create domain padded as bpchar",
    "create domain code as padded",
    "create table {name} (zip text, age integer, word text collate caseless, code code, "
    """letter "char")""",
    "insert into {name} values ('1', 30, 'a', 'a', 'a'), ('1', 30, 'A', 'a ', 'A')",
)
RANGES = (
    "create type words as range (subtype = text, collation = caseless)",
    "create type codes as range (subtype = bpchar)",
    "create type plain as range (subtype = text)",
    "create domain period as words",
    "create type periods as range (subtype = words)",
    "create type padded_pair as (zip bpchar, age integer)",
    "create type plain_pair as (zip text, age integer)",
    "create table ranges (zip text, words words, codes codes, plain plain, period period, "
    "several words_multirange, periods periods, coded code[], listed words[], pair padded_pair, "
    "texts text[], ages int4range, fields plain_pair, short char(3))",
)
NUMBERS = (
    "create domain price as numeric",
    "create domain rounded as numeric(9, 2)",
    "create type made as (zip text, pay numeric)",
    "create table numbers (zip text, pay numeric, cost price, rounded rounded, "
    "exact numeric(9, 1), whole numeric, rest numeric, plain numeric, words jsonb, "
    "listed numeric[], made made, ranged numrange, days int4range, "
    "spans interval[], rough double precision)",
    "insert into numbers select '1', x::numeric, x::numeric, x::numeric, x::numeric, "
    "i, i + 0.25, (i + 0.5)::numeric, ('{\"a\": ' || x || '}')::jsonb, array[x::numeric], "
    "('a', x::numeric)::made, numrange(x::numeric, 9), int4range(i, 9), array[interval '1 day'], "
    "(case i when 1 then '-0' else '0' end)::double precision "
    "from (values (1, '1.0'), (2, '1.00')) as numbers(i, x)",
)
IN_SPARK = (
    "create table {name} (zip string, age int, word string collate utf8_lcase, code char(3), "
    "letter char(1)) using parquet location '{folder}/{name}'",
    "insert into {name} values ('1', 30, 'a', 'a', 'a'), ('1', 30, 'A', 'a ', 'A')",
)
MADE = {"postgres": IN_POSTGRES, "spark": IN_SPARK}
"""What makes a table whose last three columns merge texts."""
MERGING = ("word", "code", "letter")


@pytest.fixture(scope="module", params=MADE)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    folder = tmp_path_factory.mktemp(request.param)
    with ENGINES[request.param].started(folder) as running:
        for name in ("padded_people", "padded_voters"):
            for statement in MADE[request.param]:
                if "{name}" in statement or name == "padded_people":
                    running.run(statement.format(name=name, folder=folder))
        yield running
        running.run("drop table padded_people")
        running.run("drop table padded_voters")


def referred(**more: Any) -> dict[str, Any]:
    reference = kanon.ReferenceSpec(source="padded_voters", **more)
    return {"references": {"voters": reference}, "checks": [kanon.KMap(k=2)]}


PARTS: dict[str, dict[str, Any]] = {
    "a quasi-identifier": {"quasi_identifiers": ["zip", "{}"]},
    "one of all columns": {"quasi_identifiers": "*"},
    "sensitive": {"sensitive": ["{}"]},
    "what a check is about": {"checks": [("{}", kanon.LDiversity)]},
    "the entity": {"entity": "{}"},
    "the weight": {"weight": "{}"},
    "in a condition": {"where": "age > 1 or lower(coalesce({}, '')) = 'a'"},
    "in the condition of what is masked": {
        "quasi_identifiers": {"zip": {"levels": [{"mask": "right"}]}},
        "levels": {"zip": 1},
        "where": "{} is null",
    },
    "at a level": {
        "quasi_identifiers": {"{}": {"levels": [{"mask": "right"}]}},
        "levels": {"{}": 1},
    },
    "compared with a reference": {"quasi_identifiers": ["{}"], **referred(columns={"{}": "zip"})},
    "a reference's column": referred(columns={"zip": "{}"}),
    "a reference's entity": referred(entity="{}"),
    "a reference's weight": referred(weight="{}"),
    "in a reference's condition": referred(where="{} = 'a'"),
    "a hierarchy's column": {
        "quasi_identifiers": {"zip": {"hierarchy": "padded_voters"}},
        "levels": {"zip": 1},
    },
}


def about(column: str, asked: Any) -> Any:
    """The question with this column in the place of {}."""
    match asked:
        case str():
            return asked.replace("{}", column)
        case list():
            return [about(column, each) for each in asked]
        case dict():
            return {about(column, key): about(column, value) for key, value in asked.items()}
        case (name, model):
            return model(l=2, sensitive=about(column, name))
        case kanon.ReferenceSpec():
            return kanon.ReferenceSpec(**about(column, asked.model_dump(exclude_unset=True)))
    return asked


@pytest.mark.parametrize("column", MERGING)
@pytest.mark.parametrize("part", PARTS)
def test_it_is_refused_where_it_plays_a_part(database: Database, part: str, column: str) -> None:
    question = {"quasi_identifiers": ["zip"], **about(column, PARTS[part])}

    with pytest.raises(kanon.SpecError, match="different texts as equal") as refused:
        kanon.audit("padded_people", engine=database.url, **question)

    assert "Audit a view with cast(" in str(refused.value)


def test_it_is_refused_by_whatever_is_asked(database: Database) -> None:
    asked: dict[str, Any] = {"quasi_identifiers": ["zip", "word"], "engine": database.url}
    for ask in (
        lambda: kanon.profile("padded_people", **asked),
        lambda: kanon.profile(
            "padded_people", quasi_identifiers="zip", attacker_knows="word", engine=database.url
        ),
        lambda: kanon.compile("padded_people", **asked),
        lambda: kanon.compile("padded_people", dialect="trino", **asked),
        lambda: kanon.anonymize("padded_people", k=2, **asked),
    ):
        with pytest.raises(kanon.SpecError, match="different texts as equal"):
            ask()


def test_a_column_without_a_part_is_left_alone(database: Database) -> None:
    """Its values are not even counted."""
    question: dict[str, Any] = {
        "quasi_identifiers": ["zip", "age"],
        "identifiers": ["code"],
        "engine": database.url,
    }
    audit = kanon.audit("padded_people", **question)
    profile = kanon.profile("padded_people", **question)

    for found in (audit, profile):
        [table] = found.tables
        assert table.summary.records == 2
        counted = re.findall(r"distinct [`\"](\w+)", "".join(table.sql.values()))
        assert set(counted) <= {"zip", "age"}
    assert "word, letter can't be compared value by value" in profile.tables[0].warnings[0]


def test_a_release_carries_it_over(database: Database, tmp_path: Path) -> None:
    result = kanon.anonymize(
        "padded_people",
        quasi_identifiers=["zip", "age"],
        identifiers=["code"],
        k=2,
        output=tmp_path / "views.sql",
        engine=database.url,
    )

    assert result.holds
    shown = result.anonymization.views[-1].lower().replace("`", '"')
    assert all(f'"{name}"' in shown for name in ("word", "letter"))
    assert '"code"' not in shown


def test_a_text_within_a_range_an_array_or_a_record_is_one_too(tmp_path: Path) -> None:
    with ENGINES["postgres"].started(tmp_path) as running:
        for statement in (*IN_POSTGRES[:4], *RANGES):
            running.run(statement)
        with connect(running.url) as engine:
            columns = engine.table("ranges").columns

        assert [each.name for each in columns if each.unusable_because] == [
            *("words", "codes", "period", "several", "periods", "coded", "listed", "pair")
        ]


def test_a_range_of_texts_that_merge_is_no_class(tmp_path: Path) -> None:
    with ENGINES["postgres"].started(tmp_path) as running:
        running.run("create type codes as range (subtype = bpchar)")
        running.run(
            "create table ranges as select codes(case when i < 10 then 'a' else 'a ' end, 'b') "
            "as codes from generate_series(0, 19) as numbers(i)"
        )
        assert running.run("select count(distinct codes) from ranges") == [(1,)]

        with pytest.raises(kanon.SpecError, match="different texts as equal"):
            kanon.audit("ranges", engine=running.url, quasi_identifiers="codes")

        running.run("""create view fixed as select codes::text collate "C" as codes from ranges""")
        [table] = kanon.audit("fixed", engine=running.url, quasi_identifiers="codes").tables
        assert (table.summary.classes, table.summary.k) == (2, 10)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with ENGINES["postgres"].started(tmp_path_factory.mktemp("numbers")) as running:
        for statement in NUMBERS:
            running.run(statement)
        yield running


def test_a_number_that_is_written_in_two_ways_is_found(numbers: Database) -> None:
    """A scale of the column's own, or of all its numbers, makes one way of them."""
    with connect(numbers.url) as engine:
        columns = engine.table("numbers").columns

    assert [each.name for each in columns if each.unusable_because] == [
        *("pay", "cost", "words", "listed", "made", "ranged", "spans")
    ]


@pytest.mark.parametrize("column", ["pay", "cost", "words"])
def test_such_a_column_is_refused_wherever_it_plays_a_part(numbers: Database, column: str) -> None:
    said = "as equal, such as 1.0 and 1.00" if column != "words" else "different texts as equal"
    for question in (
        {"quasi_identifiers": ["zip", column]},
        {"quasi_identifiers": "zip", "sensitive": column},
        {"quasi_identifiers": "zip", "entity": column},
    ):
        with pytest.raises(kanon.SpecError, match=said) as refused:
            kanon.audit("numbers", engine=numbers.url, **question)

        assert "Audit a view with cast(" in str(refused.value)


def test_the_way_out_leads_out(numbers: Database) -> None:
    numbers.run(
        "create or replace view numbers_cast as select pay::numeric(9, 2) as pay, "
        'cost::text collate "C" as cost, words::text collate "C" as words from numbers'
    )

    for name, column, k in (
        ("numbers_cast", "pay", 2),
        ("numbers_cast", "cost", 1),
        ("numbers_cast", "words", 1),
        ("numbers", "rough", 2),
    ):
        [table] = kanon.audit(name, engine=numbers.url, quasi_identifiers=column).tables
        assert table.summary is not None
        assert table.summary.k == k


def test_a_number_that_may_not_be_read_is_not_looked_at(numbers: Database) -> None:
    numbers.run("create role teller login")
    numbers.run("grant select (zip, exact) on numbers to teller")

    with connect(re.sub(r"//[^/]*/", "//teller@/", numbers.url)) as engine:
        columns = {each.name: each.unusable_because for each in engine.table("numbers").columns}

    assert columns["zip"] is None
    assert "may not be read" in str(columns["pay"])
