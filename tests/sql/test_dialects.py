"""Is the SQL for other databases what they have words for?

The same questions as text, a folder of `golden` a dialect. After a change on purpose, write them
anew with KANON_SQL_UPDATE_GOLDEN=1 and read the difference. What no engine runs here is at least
parsed by the grammar of its dialect, and searched for what is known not to exist there; three
statements of it are kept in full, and a pair for each rule, in `rewrites`.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
import sqlglot
from golden import GOLDEN, TABLES
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.errors import SpecError
from kanon_sql.sql.ctes import named_sets, until
from kanon_sql.sql.dialects import DIALECTS, rules_of, translated
from kanon_sql.sql.dialects.traits import TRAITS

OTHERS = [dialect for dialect in DIALECTS if dialect != "duckdb"]
for dialect in OTHERS:
    rules_of(dialect)  # with which sqlglot comes to know those that it lacks
VOTERS = kanon.ReferenceSpec(source="voters", columns={"zip": "zip_code"}, weight="people")
BEFORE = kanon.EarlierReleaseSpec(
    source="patients_before",
    columns={"patient": "person", "diagnosis": "dx"},
    quasi_identifiers=["zip_code"],
)
TWO_RELEASES = {
    "earlier_releases": {"before": BEFORE},
    "checks": [
        kanon.ComposedKAnonymity(k=2),
        kanon.ComposedLDiversity(l=2, sensitive="diagnosis"),
    ],
}
APART = ("composed_leavers", "composed_values", "composed_people")
"""What stands in the statement of the crowds wherever a set is worked out once."""
FAMILY = [
    kanon.KAnonymity(k=2),
    kanon.LDiversity(l=2, sensitive="diagnosis"),
    kanon.EntropyLDiversity(l=1.5, sensitive="diagnosis"),
    kanon.RecursiveClDiversity(c=2, l=2, sensitive="diagnosis"),
    kanon.AlphaKAnonymity(alpha=0.5, k=2, sensitive="diagnosis", values=["flu"]),
    kanon.TCloseness(t=0.2, sensitive="diagnosis"),
    kanon.DeltaDisclosure(delta=1, sensitive="diagnosis"),
    kanon.EnhancedBetaLikeness(beta=1, sensitive="diagnosis"),
    kanon.ProsecutorRisk(max_highest=0.2, max_at_risk=0.05),
]
OF_EVENTS = {"quasi_identifiers": [], "events": ["zip", "diagnosis"], "entity": "patient"}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "whole_family": (
        "classes",
        {"sensitive": "diagnosis", "checks": FAMILY, "where": "age > 30 and zip like '0%'"},
    ),
    "ordered_distance": (
        "t_closeness_ordered_age",
        {
            "quasi_identifiers": "zip",
            "checks": [
                kanon.TCloseness(t=0.2, sensitive="age", distance="ordered"),
                kanon.KEAnonymity(k=2, e=1.5, sensitive="age"),
            ],
        },
    ),
    "spellings": ("spellings_diagnosis", {"sensitive": "diagnosis"}),
    "people": ("profiles", {"entity": "patient"}),
    "k_map": ("k_map_voters", {"references": {"voters": VOTERS}}),
    "composed_crowds": (
        "composed_before",
        {"entity": "patient", **TWO_RELEASES},
    ),
    "composed_leavers": ("composed_before_leavers", {"entity": "patient", **TWO_RELEASES}),
    "composed_values": ("composed_before_values", {"entity": "patient", **TWO_RELEASES}),
    "composed_people": ("composed_before_people", {"entity": "patient", **TWO_RELEASES}),
    "texts": ("texts", {"references": {"voters": VOTERS}}),
    "at_a_level": (
        "classes",
        {
            "quasi_identifiers": {
                "age": {"clip": [18, 90], "levels": [{"width": 10}]},
                "zip": {"levels": [{"prefix": 3}]},
            },
            "levels": {"age": 1, "zip": 1},
        },
    ),
    "wildcards": ("classes", {"nulls": "wildcard"}),
    "km_anonymity": ("km_anonymity_2", {**OF_EVENTS, "checks": [kanon.KmAnonymity(k=2)]}),
    "known_events": (
        "known_events_2",
        {**OF_EVENTS, "checks": [kanon.KnownEvents(m=2, times=True)]},
    ),
    "drawn_known_events": (
        "known_events_4",
        {**OF_EVENTS, "checks": [kanon.KnownEvents(m=4, times=True)]},
    ),
}
NULLS = "nulls (last|first)|ignore nulls"
LACKING = {
    "everywhere": r"filter *\(|qualify|::|hugeint|int128|regexp_full_match|group by all",
    "postgres": "try_cast|ignore nulls|any_value|strftime|double(?! precision)",
    "spark": "varchar|string_agg|strftime",
    "clickhouse": r"try_cast|strftime|nullable\(date\)",
    "snowflake": r"ignore nulls|try_cast\((?!cast)|string_agg|strftime"
    r"|as double\)\s+end as varchar",
    "bigquery": f"(?<!_)try_cast|{NULLS}|varchar|double|decimal|(?<!big)numeric|ilike"
    "|is not distinct",
    "redshift": "try_cast|is not distinct|ignore nulls|string_agg|strftime|double(?! precision)"
    r"|varchar\(max\)\) order by"
    r"|sum\(\w+\) over \((?:partition by [\w.\"]+\s+)?order by [\w.]+\s*\)",
    "databricks": "varchar|string_agg|strftime",
    "trino": r"ignore nulls|ilike|strftime|\bright\(|\bleft\(",
    "tsql": rf"\|\||{NULLS}|limit|is not distinct|length\(|regexp|[lr]pad|leading|trailing|ilike"
    r"|double|any_value|count\(|\btrue\b|\bfalse\b|\bln\(|ceil\(|extract|strftime"
    r"|as float\)\s+end as nvarchar",
    "mariadb": rf"\|\||{NULLS}|is not distinct|try_cast|ilike|varchar|any_value|strpos|strftime"
    "|regexp_like|_0900_",
    "mysql": rf"\|\||{NULLS}|is not distinct|try_cast|ilike|varchar|any_value|strpos|strftime",
    "sqlite": r"try_cast|extract|\bright\(|\bleft\(|[lr]pad|regexp|is not distinct|decimal|varchar"
    "|ilike|any_value|ignore nulls|as date|double",
}
"""What a dialect has no words for, as regular expressions."""
NOT_IN_THE_GRAMMAR = {"tsql": {"patindex"}}
"""Functions that a database has and that its grammar here does not know."""


@pytest.fixture(scope="module")
def clinic() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        yield connection


Statements = Callable[[str], dict[str, str]]
IN_FULL = ("whole_family", "k_map", "at_a_level")
"""The statements that are kept of a dialect whose SQL no test executes."""


def questions(dialect: str) -> list[str]:
    """What can be asked in a dialect: in ClickHouse texts that differ are never equal."""
    return [
        name
        for name in ASKED
        if (name, dialect) != ("texts", "clickhouse")
        and (name not in APART or TRAITS[dialect].rereads)
    ]


@pytest.fixture(scope="module")
def statements(clinic: duckdb.DuckDBPyConnection) -> Statements:
    """Every statement of a dialect by its question."""
    return functools.cache(
        lambda dialect: {
            name: compiled(clinic, name, dialect=dialect) for name in questions(dialect)
        }
    )


def compiled(clinic: duckdb.DuckDBPyConnection, name: str, **how: Any) -> str:
    step, asked = ASKED[name]
    question = {"quasi_identifiers": ["zip", "age"], **asked}
    [table] = kanon.compile("patients", engine=clinic, **question, **how).tables
    return table.steps[step]


def sql_of(text: str) -> str:
    """The statement without its header and its texts."""
    lines = (line for line in text.splitlines() if not line.startswith("--"))
    return re.sub(r"'[^']*'", "''", "\n".join(lines))


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        (name, dialect)
        for dialect in OTHERS
        for name in questions(dialect)
        if TRAITS[dialect].executed or name in IN_FULL
    ],
)
def test_the_text_is_the_one_that_was_read(
    name: str, dialect: str, clinic: duckdb.DuckDBPyConnection
) -> None:
    file = GOLDEN.parent / dialect / f"{name}.sql"
    text = f"{compiled(clinic, name, dialect=dialect)}\n"
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")

    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("dialect", OTHERS)
def test_it_is_one_select_of_the_dialect(dialect: str, statements: Statements) -> None:
    for text in statements(dialect).values():
        [statement] = sqlglot.parse(text, dialect)
        unknown = {each.name for each in statement.find_all(exp.Anonymous)}

        assert isinstance(statement, exp.Query)
        assert statement.find(exp.Command) is None
        assert TRAITS[dialect].executed or unknown <= NOT_IN_THE_GRAMMAR.get(dialect, set())


@pytest.mark.slow
@pytest.mark.parametrize("dialect", OTHERS)
def test_up_to_a_set_it_is_one_select_too(dialect: str, statements: Statements) -> None:
    for text in statements(dialect).values():
        for name in named_sets(text, dialect):
            [excerpt] = sqlglot.parse(until(text, name, dialect), read=dialect)

            assert isinstance(excerpt, exp.Select)
            assert excerpt.ctes[-1].alias == name
            assert excerpt.find(exp.From).this.name == name


@pytest.mark.parametrize("dialect", OTHERS)
def test_it_has_nothing_that_the_database_lacks(dialect: str, statements: Statements) -> None:
    lacking = f"{LACKING['everywhere']}|{LACKING[dialect]}"
    found = {
        (name, match[0])
        for name, text in statements(dialect).items()
        for match in re.finditer(lacking, sql_of(text))
    }

    assert found == set()


@pytest.mark.parametrize("dialect", OTHERS)
def test_its_keywords_are_in_lower_case(dialect: str, statements: Statements) -> None:
    words = {
        word
        for text in statements(dialect).values()
        for word in re.findall(r"\b[A-Z][A-Z_]+\b", sql_of(text))
    }

    assert words == set()


@pytest.mark.parametrize(
    ("name", "dialect"),
    [("whole_family", dialect) for dialect in DIALECTS if dialect != "snowflake"]
    + [(name, "snowflake") for name in ASKED if name not in ("texts", *APART)],
)
def test_fewer_quotes_say_the_same(
    name: str, dialect: str, clinic: duckdb.DuckDBPyConnection
) -> None:
    always, needed = (
        sqlglot.parse_one(compiled(clinic, name, dialect=dialect, quote=quote), dialect)
        for quote in ("always", "needed")
    )

    assert without_quotes(always) == without_quotes(needed)
    assert not any(each.args.get("quoted") for each in needed.find_all(exp.Identifier))


def without_quotes(statement: exp.Expr) -> exp.Expr:
    for each in statement.find_all(exp.Identifier):
        each.set("quoted", False)
    return statement


def test_a_name_that_needs_quotes_keeps_them(clinic: duckdb.DuckDBPyConnection) -> None:
    clinic.execute('create or replace table odd ("order" int, "Zip code" int, zip int, "A" int)')
    asked = {"quasi_identifiers": ["order", "Zip code", "zip", "A"], "engine": clinic}
    [table] = kanon.compile("odd", dialect="snowflake", quote="needed", **asked).tables

    assert '"order",\n        "Zip code",\n        zip,\n        A,\n' in table.steps["classes"]


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        ("bigquery", "select cast(1.50 as decimal(38, 2))", "cast(1.50 as bignumeric)"),
        ("bigquery", "select a.a from a", "from a"),
        ("redshift", "select lead(x) over (order by y)", "lead(x) over (order by y)"),
        ("tsql", "select string_agg(x, ',' order by y)", "within group (order by y)"),
        (
            "snowflake",
            "select case when x = floor(x) then '1' else cast(cast(x as decimal(9)) as text) end",
            "else cast(cast(x as decimal(9)) as varchar)",
        ),
    ],
)
def test_a_rule_leaves_alone_what_is_right(dialect: str, sql: str, expected: str) -> None:
    assert expected in translated(sql, dialect)


@pytest.mark.parametrize("operator", ["like", "ilike"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_pattern_that_is_negated_stays_so(dialect: str, operator: str) -> None:
    for sql in (f"zip not {operator} '0%'", f"not (zip {operator} '0%')"):
        found = translated(f"select zip from people where {sql}", dialect)

        assert len(re.findall(r"\bnot\b", found)) == 1, found


def test_what_has_no_words_is_refused() -> None:
    with pytest.raises(SpecError, match="sqlite: it has no words for a time"):
        translated("select cast(x as timestamp)", "sqlite")
    for dialect in ("sqlite", "tsql"):
        with pytest.raises(SpecError, match=f"{dialect}: it has no words for the pattern 'ab'"):
            translated("select regexp_full_match(x, 'ab')", dialect)
    with pytest.raises(SpecError, match="tsql: it has no words for trim of anything but stars"):
        translated("select trim(x, '-')", "tsql")
    with pytest.raises(SpecError, match="there is no dialect oracl") as refused:
        translated("select 1", "oracl")
    assert "there are duckdb, postgres" in str(refused.value)
