"""The views of a release, run where its table lies: the last one holds what is written of the same
table in a file, whichever way the levels were found."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asking
import pyarrow
import pytest
from pyarrow import parquet
from questions import filled
from searches import anonymize, cells
from warehouses import ENGINES, Database

ALGORITHMS = pytest.mark.parametrize("algorithm", ["datafly", "optimal", "local"])


@pytest.fixture(scope="module", params=ENGINES)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        running.load("people", filled(PEOPLE))
        running.load("visits", filled(VISITS))
        yield running
        if request.param == "spark":  # its session outlives these tests
            for each in running.url.catalog.listTables():
                if each.tableType == "VIEW" and not each.isTemporary:
                    running.run(f"drop view {each.name}")


def people() -> pyarrow.Table:
    """People of some postcodes, of which some are unknown, so that a search begins with several
    classes; and of so many years that it goes through several rounds."""
    rng = random.Random(1)
    rows = [
        (
            rng.choice(["02138", "02139", "90210", "9021", "", None]),
            1930 + rng.randrange(60),
            rng.choice(["flu", "cold", None]),
        )
        for _ in range(1_000)
    ]
    types = [pyarrow.string(), pyarrow.int64(), pyarrow.string()]
    return asking.table(["zip", "birth_year", "diagnosis"], rows, types)


PEOPLE = people()
ASKED: dict[str, Any] = {
    "quasi_identifiers": {
        "zip": {"levels": [{"mask": "right"}]},
        "birth_year": {"levels": [{"width": 10}]},
    },
    "sensitive": "diagnosis",
    "k": 5,
}


def run(database: Database, script: str) -> None:
    """Run a script statement by statement, as a client does."""
    for statement in re.split(r";$", script, flags=re.MULTILINE):
        if re.sub(r"^--.*$", "", statement, flags=re.MULTILINE).strip():
            database.run(statement)


def released(database: Database) -> list[dict[int, Any]]:
    return [dict(enumerate(row)) for row in database.run("select * from people_release")]


@ALGORITHMS
def test_the_last_view_holds_the_release(
    database: Database, algorithm: str, tmp_path: Path
) -> None:
    views, release = tmp_path / "views.sql", tmp_path / "release.parquet"
    how: dict[str, Any] = {"algorithm": algorithm}

    anonymize("people", ASKED, engine=database.url, pull_frequencies=True, output=views, **how)
    anonymize(PEOPLE, ASKED, output=release, **how)
    run(database, views.read_text(encoding="utf-8"))

    assert cells(released(database)) == cells(parquet.read_table(release).to_pylist())


VISITS = asking.table(
    ["person", "zip", "sex"],
    [
        (f"P{n // 3:03}", f"0213{(n // 3) % 4}" if n % 7 else "02150", "FM"[n // 6 % 2])
        for n in range(240)
    ],
)
WITHOUT_PEOPLE: dict[str, Any] = {
    "quasi_identifiers": {"zip": {"levels": [{"mask": "right"}]}, "sex": {}},
    "entity": "person",
    "entity_in_release": "drop",
    "k": 12,
    "max_suppressed": 40,
}


@pytest.mark.parametrize("algorithm", ["datafly", "local"])
@pytest.mark.parametrize("database", ["postgres", "clickhouse"], indirect=True)
def test_the_last_view_lacks_an_entity_that_is_dropped(
    database: Database, algorithm: str, tmp_path: Path
) -> None:
    views, release = tmp_path / "views.sql", tmp_path / "release.parquet"
    how: dict[str, Any] = {"algorithm": algorithm}

    made = anonymize(
        "visits", WITHOUT_PEOPLE, engine=database.url, pull_frequencies=True, output=views, **how
    )
    anonymize(VISITS, WITHOUT_PEOPLE, output=release, **how)
    run(database, views.read_text(encoding="utf-8"))

    rows = [dict(enumerate(row)) for row in database.run("select * from visits_release")]
    assert made.tables[0].summary.people is None
    assert {len(row) for row in rows} == {2}
    assert cells(rows) == cells(parquet.read_table(release).to_pylist())


OTHERWISE: dict[str, Any] = {
    "quasi_identifiers": {"birth_year": {"levels": [{"width": 30}]}},
    "identifiers": "zip",
    "k": 150,
}


def test_a_second_release_takes_the_place_of_the_first(database: Database, tmp_path: Path) -> None:
    """With other columns of other types, and fewer views."""
    first, second, release = (tmp_path / name for name in ("1.sql", "2.sql", "r.parquet"))
    how = {"engine": database.url, "pull_frequencies": True}
    anonymize("people", ASKED, output=first, algorithm="local", **how)
    anonymize("people", OTHERWISE, output=second, algorithm="optimal", **how)
    anonymize(PEOPLE, OTHERWISE, output=release, algorithm="optimal")

    for script in (first, second):
        run(database, script.read_text(encoding="utf-8"))

    assert cells(released(database)) == cells(parquet.read_table(release).to_pylist())


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_a_release_that_fails_half_way_leaves_the_one_before(
    database: Database, tmp_path: Path
) -> None:
    """Here because a view of the user's reads it, which is not dropped with it."""
    views = tmp_path / "views.sql"
    anonymize("people", ASKED, engine=database.url, output=views)
    script = views.read_text(encoding="utf-8")
    run(database, script)
    before = released(database)
    database.run("create view of_someone as select * from people_release")

    with pytest.raises(Exception, match="other objects depend on it"):
        run(database, script)

    database.run("rollback")
    assert released(database) == before
    database.run("drop view of_someone")


@pytest.mark.parametrize("database", ["clickhouse"], indirect=True)
def test_a_statement_longer_than_clickhouse_parses(database: Database, tmp_path: Path) -> None:
    labels = {f"{n:05d}": [f"{n // 2:04d}*" + "." * 800] for n in range(700)}
    question = {"quasi_identifiers": {"code": {"hierarchy": labels}}, "k": 5}
    table = asking.table(["code"], [(f"{n % 700:05d}",) for n in range(2_100)])
    views, release = tmp_path / "views.sql", tmp_path / "release.parquet"
    database.load("codes", filled(table))

    anonymize("codes", question, engine=database.url, output=views)

    anonymize(table, question, output=release)
    script = views.read_text(encoding="utf-8")
    assert "\nset max_query_size = " in script
    run(database, script)
    rows = [dict(enumerate(row)) for row in database.run("select * from codes_release")]
    assert cells(rows) == cells(parquet.read_table(release).to_pylist())


IN_SPARK = pytest.mark.parametrize("database", ["spark"], indirect=True)


@IN_SPARK
def test_views_of_files_read_the_files(database: Database, tmp_path: Path) -> None:
    """The search reads them through temporary views, which are gone when the views are run."""
    files, views, release = (tmp_path / name for name in ("people.parquet", "v.sql", "r.parquet"))
    table = asking.table(["born"], [(1950 + n % 20,) for n in range(90)], [pyarrow.int64()])
    parquet.write_table(table, files)
    question = {
        "quasi_identifiers": {"born": {"levels": [{"width": 10}]}},
        "algorithm": "optimal",
        "k": 5,
        "checks": [{"k_map": {"k": 6, "reference": "register"}}],
        "references": {"register": str(files)},
        "where": "born < 1965",
    }

    for each in database.url.catalog.listTables():
        if each.isTemporary:
            database.url.catalog.dropTempView(each.name)

    found = anonymize(str(files), question, engine=database.url, output=views)

    anonymize(table, question, output=release)
    assert "temporary" not in views.read_text(encoding="utf-8")
    run(database, views.read_text(encoding="utf-8"))
    assert cells(released(database)) == cells(parquet.read_table(release).to_pylist())
    assert found.holds
