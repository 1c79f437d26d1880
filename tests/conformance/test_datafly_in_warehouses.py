"""Datafly where the table lies in a warehouse: the same outcome as in DuckDB, whether each step is
a query there or the frequency set is fetched once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import asking
import oracle_datafly
import pyarrow
import pytest
from generated import KINDS, Kind, fewer
from hierarchies import HIERARCHIES
from hypothesis import given, settings
from published_datafly import DATAFLY
from pyarrow import parquet
from questions import filled
from searches import Drawn, anonymize, cells, figures, questions
from warehouses import ENGINES, Database

import kanon_sql as kanon
from kanon_sql.auditing import fetched_sets
from kanon_sql.engines.warehouse import Warehouse

BOTH_WAYS = pytest.mark.parametrize("pulled", [False, True], ids=["by queries", "pulled"])


@pytest.fixture(scope="module", params=["postgres", "clickhouse"])
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        yield running


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Spark, whose every statement takes a second, and so is asked less."""
    with ENGINES["spark"].started(tmp_path_factory.mktemp("spark")) as running:
        yield running


def outcome(result: kanon.AnonymizationResult) -> dict[str, Any]:
    """What may be compared of two engines: all but the SQL."""
    found = {key: each for key, each in figures(result).items() if key not in ("views", "release")}
    del found["before"]["name"]
    [table] = result.to_dict()["tables"]
    parts = ("status", "summary", "histogram", "checks", "risk")
    return found | {part: table[part] for part in parts}


# --- the same outcome -----------------------------------------------------------------------


@BOTH_WAYS
@pytest.mark.parametrize("example", DATAFLY.values(), ids=DATAFLY)
def test_worked_example(database: Database, example: dict[str, Any], pulled: bool) -> None:
    table = asking.table(example["columns"], example["rows"])
    database.load("people", filled(table))

    result = anonymize("people", example["asked"], engine=database.url, pull_frequencies=pulled)

    found = asking.part_of(figures(result), example["expected"])
    assert found == asking.near(example["expected"])
    assert outcome(result) == asking.near(outcome(anonymize(table, example["asked"])))


@BOTH_WAYS
def test_a_table(request: pytest.FixtureRequest, database: Database, pulled: bool) -> None:
    engine = ENGINES[request.node.callspec.params["database"]]

    @settings(fewer, max_examples=engine.examples)
    @given(questions())
    def is_released(drawn: Drawn) -> None:
        database.load("people", filled(drawn.table))
        expected = oracle_datafly.anonymize(drawn.records, drawn.asked)

        result = anonymize("people", drawn.question, engine=database.url, pull_frequencies=pulled)

        assert asking.part_of(figures(result), expected.figures) == asking.near(expected.figures)
        assert result.holds == expected.holds
        assert outcome(result) == asking.near(outcome(anonymize(drawn.table, drawn.question)))

    is_released()


@pytest.mark.parametrize("name", HIERARCHIES)
def test_every_level_has_as_many_labels(database: Database, name: str) -> None:
    """A search that can't end before the top counts the labels of each level."""
    type, values, part = HIERARCHIES[name]
    rows = [(value, "x") for value in (*values, *values[:3])]
    table = asking.table(["q", "s"], rows, [type, pyarrow.string()])
    question = {"quasi_identifiers": {"q": part}, "k": len(rows), "max_suppressed": 0}
    database.load("people", filled(table))

    found = anonymize("people", question, engine=database.url)

    expected = anonymize(table, question)
    assert len(expected.anonymization.steps) == sum(expected.anonymization.levels.values()) > 0
    assert outcome(found) == asking.near(outcome(expected))


def all_at_once() -> tuple[pyarrow.Table, dict[str, Any]]:
    """A table of all these columns, the shorter ones from their beginning again."""
    longest = max(len(values) for _, values, _ in HIERARCHIES.values())
    rows = [
        [values[place % len(values)] for _, values, _ in HIERARCHIES.values()]
        for place in (*range(longest), 0, 1, 2)
    ]
    parts = {name: part for name, (*_, part) in HIERARCHIES.items()}
    question = {"quasi_identifiers": parts, "k": len(rows), "max_suppressed": 0}
    return asking.table(list(parts), rows, [type for type, *_ in HIERARCHIES.values()]), question


def counts_as_many(database: Database, *, pulled: bool = True) -> None:
    table, question = all_at_once()
    database.load("people", filled(table))

    found = anonymize("people", question, engine=database.url, pull_frequencies=pulled)

    assert outcome(found) == asking.near(outcome(anonymize(table, question)))


def test_every_level_has_as_many_labels_of_what_was_pulled(database: Database) -> None:
    counts_as_many(database)


def test_every_level_has_as_many_labels_of_what_was_pulled_from_spark(spark: Database) -> None:
    counts_as_many(spark)


@BOTH_WAYS
def test_every_level_has_as_many_labels_in_sqlite(tmp_path: Path, pulled: bool) -> None:
    with ENGINES["sqlite"].started(tmp_path) as database:
        counts_as_many(database, pulled=pulled)


@BOTH_WAYS
def test_a_value_without_a_label(database: Database, pulled: bool) -> None:
    database.load("people", filled(asking.table(["q"], [("x",), ("z",), ("z",)])))
    question = {"quasi_identifiers": {"q": {"hierarchy": {"x": ["x"], "y": ["y"]}}}, "k": 2}

    with pytest.raises(kanon.InputError) as refused:
        anonymize("people", question, engine=database.url, pull_frequencies=pulled)

    assert '1 value of "q", held by 2 records, is not in the hierarchy' in str(refused.value)


# --- what is written ------------------------------------------------------------------------

VISITS = asking.table(
    ["visit", "person", "name", "age", "area", "diagnosis"],
    [
        (n, n // 2, f"Person {n // 2}", 20 + n % 17, f"{n % 23:03d}", "HIV" if n % 5 else "flu")
        for n in range(120)
    ],
)
AREAS = {f"{n:03d}": [f"{n // 10:02d}*", "***"] for n in range(240)}
RELEASES: dict[str, dict[str, Any]] = {
    "donated": {
        "quasi_identifiers": {"age": {"levels": [{"width": 5}, {"width": 15}]}},
        "identifiers": ["name", "visit", "person"],
        "k": 14,
        "where": "visit < 113",
        "max_suppressed": 14,
    },
    "starred": {
        "quasi_identifiers": {"age": {"levels": [{"width": 5}]}, "area": {}},
        "identifiers": ["name", "visit", "person"],
        "k": 20,
        "suppressed": "star",
        "max_suppressed": 25,
    },
    "labels_joined": {
        "quasi_identifiers": {"area": {"hierarchy": AREAS}},
        "sensitive": "diagnosis",
        "checks": [{"l_diversity": {"l": 2, "sensitive": "diagnosis"}}],
        "k": 12,
    },
    "people": {
        "quasi_identifiers": {"age": {"levels": [{"cuts": [25, 30]}, "suppress"]}},
        "identifiers": "name",
        "entity": "person",
        "k": 20,
    },
}


def rows_of_the_views(database: Database, statements: Sequence[str]) -> list[dict[str, Any]]:
    """What the last of some views holds, once all have been created as they stand."""
    names = [re.split(r"\s+as\s+", statement)[0].split()[-1] for statement in statements]
    try:
        for statement in statements:
            database.run(statement)
        rows = database.run(f"select * from {names[-1]}")
    finally:
        for name in reversed(names):
            database.run(f"drop view if exists {name}")
    return [dict(enumerate(row)) for row in rows]


@BOTH_WAYS
@pytest.mark.parametrize("name", RELEASES)
def test_the_views_give_the_release(
    database: Database, name: str, pulled: bool, tmp_path: Path
) -> None:
    question, views, release = RELEASES[name], tmp_path / "r.sql", tmp_path / "r.parquet"
    database.load("visits", filled(VISITS))

    found = anonymize(
        "visits", question, engine=database.url, pull_frequencies=pulled, output=views
    )

    expected = anonymize(VISITS, question, output=release)
    assert outcome(found) == asking.near(outcome(expected))
    statements = found.anonymization.views
    assert len(statements) == len(expected.anonymization.views)
    text = views.read_text(encoding="utf-8")
    assert [each for each in statements if f"{each};" not in text] == []
    rows = rows_of_the_views(database, statements)
    assert cells(rows) == cells(parquet.read_table(release).to_pylist())


@BOTH_WAYS
@pytest.mark.parametrize("name", ["donated", "labels_joined"])
def test_in_spark(spark: Database, name: str, pulled: bool) -> None:
    spark.load("visits", filled(VISITS))

    found = anonymize("visits", RELEASES[name], engine=spark.url, pull_frequencies=pulled)

    assert outcome(found) == asking.near(outcome(anonymize(VISITS, RELEASES[name])))


@BOTH_WAYS
def test_what_the_views_select_was_executed(
    database: Database, pulled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the header of a file of views says; and nothing that was sent makes anything."""
    sent: list[str] = []
    asked = Warehouse._fetch

    def listen(self: Warehouse, sql: str) -> Any:
        sent.append(sql)
        return asked(self, sql)

    monkeypatch.setattr(Warehouse, "_fetch", listen)
    database.load("visits", filled(VISITS))

    found = anonymize("visits", RELEASES["donated"], engine=database.url, pull_frequencies=pulled)

    # The last one only puts in order what the others make, for who reads it.
    *selects, _ = [each.partition("\n")[2] for each in found.anonymization.views]
    assert [each for each in selects if not any(each in sql for sql in sent)] == []
    assert [sql for sql in sent if re.match(r"\s*(create|insert|drop)\b", sql, re.I)] == []


@BOTH_WAYS
def test_nothing_is_created_and_few_rows_come(
    database: Database, pulled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[int] = []
    query = Warehouse.query

    def count(self: Warehouse, sql: str) -> Any:
        rows = query(self, sql)
        answers.append(len(rows))
        return rows

    monkeypatch.setattr(Warehouse, "query", count)
    database.load("visits", filled(VISITS))
    engine = kanon.connect(database.url)
    before = sorted(engine._tables())  # type: ignore[attr-defined]
    engine.close()

    result = anonymize("visits", RELEASES["people"], engine=database.url, pull_frequencies=pulled)

    engine = kanon.connect(database.url)
    assert sorted(engine._tables()) == before  # type: ignore[attr-defined]
    engine.close()
    sizes = len(result.anonymization.before.to_dict()["summary"])
    assert max(answers) <= max(len(result.tables[0].histogram), sizes)


def test_the_records_stay_where_they_are(database: Database, tmp_path: Path) -> None:
    database.load("visits", filled(VISITS))

    with pytest.raises(kanon.SpecError) as refused:
        anonymize(
            "visits", RELEASES["people"], engine=database.url, output=tmp_path / "release.parquet"
        )

    assert "output='release.sql'" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_release_that_fails_its_audit_is_written_by_force_alone(
    database: Database, tmp_path: Path
) -> None:
    """One record as `*` is a class of one."""
    database.load("people", filled(asking.table(["q"], [("x",), ("x",), ("y",)])))
    output = tmp_path / "release.sql"
    starred = {"quasi_identifiers": ["q"], "k": 2, "max_suppressed": 1, "suppressed": "star"}

    result = anonymize("people", starred, engine=database.url, output=output)
    unforced = output.exists()
    forced = anonymize("people", starred, engine=database.url, output=output, force=True)

    assert (result.exit_code, result.anonymization.release, unforced) == (1, None, False)
    assert (forced.exit_code, output.exists()) == (1, True)


# --- what is fetched ------------------------------------------------------------------------


def test_what_was_fetched_is_said(database: Database) -> None:
    database.load("visits", filled(VISITS))
    question = RELEASES["labels_joined"]

    by_queries, pulled = (
        anonymize("visits", question, engine=database.url, pull_frequencies=pulled)
        for pulled in (False, True)
    )

    [warning] = set(pulled.tables[0].warnings) - set(by_queries.tables[0].warnings)
    assert warning.startswith("The values of area and diagnosis were fetched from ")


def test_no_more_is_fetched_than_is_allowed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetched_sets, "MOST_COMBINATIONS", 16)
    database.load("visits", filled(VISITS))

    with pytest.raises(kanon.KanonError, match="more than 16 combinations of values"):
        anonymize("visits", RELEASES["donated"], engine=database.url, pull_frequencies=True)


def test_there_is_nothing_to_fetch_for_duckdb() -> None:
    with pytest.raises(kanon.SpecError, match="pull_frequencies is for a table in a warehouse"):
        anonymize(VISITS, RELEASES["donated"], pull_frequencies=True)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.type))
def test_a_value_that_is_fetched_is_the_same(database: Database, kind: Kind) -> None:
    """As many values before the first step, and the same of them suppressed."""
    values = [value for value in (*kind.values, *kind.values[1:], None) if value != ""]
    table = asking.table(["q"], [(value,) for value in values], [kind.type])
    database.load("people", filled(table))
    question = {"quasi_identifiers": ["q"], "k": 2, "max_suppressed": 5}

    queried = anonymize("people", question, engine=database.url)
    pulled = anonymize("people", question, engine=database.url, pull_frequencies=True)

    assert outcome(pulled) == asking.near(outcome(queried))


@BOTH_WAYS
def test_texts_give_way_in_the_order_of_their_bytes(database: Database, pulled: bool) -> None:
    """Step 4 takes the whole first class, and that is Z, which a language would put last."""
    rows = [(value,) for value in ("a", "a", "Z", "Z", "é", "é", "x")]
    database.load("people", filled(asking.table(["q"], rows)))
    question = {"quasi_identifiers": ["q"], "k": 2, "max_suppressed": 2}

    result = anonymize("people", question, engine=database.url, pull_frequencies=pulled)

    assert (result.anonymization.suppressed, result.anonymization.step4) == (3, 2)
    left = rows_of_the_views(database, result.anonymization.views)
    assert cells(left) == cells([{"q": value} for value in ("a", "a", "é", "é")])
    if result.tables[0].engine == "postgres":
        views = "".join(result.anonymization.views).lower()
        assert 'order by "q" collate "c"' in views


TYPES = """
create type mood as enum ('sad', 'ok', 'Happy');
create table moods as
select
    (array['ok', 'Happy', 'sad', 'sad', 'ok', 'Happy', null])[1 + n % 7]::mood as mood,
    (n % 3)::smallint as small,
    (n % 4 / 10.0)::real as ratio,
    (n % 5 * 1000000000000000000000 + 0.25)::numeric(38, 2) as price,
    decode(lpad(to_hex(n % 3), 2, '0'), 'hex') as bytes,
    ('00000000-0000-0000-0000-00000000000' || n % 4)::uuid as id,
    timestamptz '2025-01-31 23:30:00+01' + n % 3 * interval '1 hour' as seen,
    n % 2 = 0 as old,
    time '10:00' + n % 3 * interval '1 second' as at,
    (n % 4)::numeric as loose
from generate_series(1, 60) as n
"""


IN_POSTGRES = pytest.mark.parametrize("database", ["postgres"], indirect=True)


@pytest.fixture
def moods(database: Database) -> Iterator[Database]:
    """A table of types that Postgres has."""
    for statement in TYPES.split(";"):
        database.run(statement)
    yield database
    for what in ("table moods", "type mood"):
        database.run(f"drop {what}")


@IN_POSTGRES
@pytest.mark.parametrize("asked", [{"k": 9}, {"k": 31, "max_suppressed": 0}], ids=str)
@pytest.mark.parametrize(
    "column", ["mood", "small", "ratio", "price", "bytes", "id", "seen", "old", "at"]
)
def test_a_type_of_its_own(moods: Database, column: str, asked: dict[str, Any]) -> None:
    """The eight without a mood go, and one beside them; of no type are 31 the same."""
    question = {"quasi_identifiers": [column], **asked}

    queried = anonymize("moods", question, engine=moods.url)
    pulled = anonymize("moods", question, engine=moods.url, pull_frequencies=True)

    assert len(queried.anonymization.steps) == (asked["k"] == 31)
    assert queried.anonymization.step4 == (1 if column == "mood" and asked["k"] == 9 else 0)
    assert outcome(pulled) == asking.near(outcome(queried))


@IN_POSTGRES
def test_a_type_that_can_t_be_fetched(moods: Database) -> None:
    """A number of any scale has no type of the embedded engine that holds all of it."""
    question = {"quasi_identifiers": ["loose"], "k": 2}

    with pytest.raises(kanon.SpecError, match='"loose" can\'t be fetched: as DECIMAL'):
        anonymize("moods", question, engine=moods.url, pull_frequencies=True)

    assert anonymize("moods", question, engine=moods.url).holds


@BOTH_WAYS
def test_a_table_called_like_a_view_of_ours(database: Database, pulled: bool) -> None:
    """Whoever has run the views of a release has tables of these names."""
    tables = ("people_release", "people_release_step_0")
    database.load(tables[0], filled(asking.table(["q"], [("z",)] * 9)))
    database.load(tables[1], filled(asking.table(["q"], [(v,) for v in "aaaab"])))
    question = {
        "quasi_identifiers": ["q"],
        "k": 2,
        "max_suppressed": 1,
        "view_name": "people_release",
    }

    found = anonymize(tables[1], question, engine=database.url, pull_frequencies=pulled)

    for name in tables:
        database.run(f"drop table {name}")
    assert (found.tables[0].summary.records, found.anonymization.suppressed) == (4, 1)


@BOTH_WAYS
def test_a_limit_of_time(database: Database, pulled: bool) -> None:
    database.load("visits", filled(VISITS))

    with pytest.raises(kanon.KanonError, match="time limit"):
        anonymize(
            "visits",
            RELEASES["donated"],
            engine=database.url,
            pull_frequencies=pulled,
            timeout=0.001,
        )
