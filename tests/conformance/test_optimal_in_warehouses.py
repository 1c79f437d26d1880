"""The best levels where the table lies in a warehouse: the same node as in DuckDB, whether each
question is a query there or the frequency set is fetched once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import asking
import pyarrow
import pytest
from questions import filled
from searches import figures
from warehouses import ENGINES, Database

import kanon_sql as kanon

BOTH_WAYS = pytest.mark.parametrize("pulled", [False, True], ids=["by queries", "pulled"])
LEVELS: dict[str, Any] = {
    "zip": {"levels": [{"mask": "right"}]},
    "age": {"levels": [{"width": 10}, {"width": 20}, "suppress"]},
    "town": {"hierarchy": {"b": ["x", "*"], "c": ["x", "*"], "é": ["y", "*"]}},
}
DEMANDS: dict[str, list[Any]] = {
    "sizes": [],
    "k-map": [kanon.KMap(k=6, reference="people")],
    "presence": [kanon.DeltaPresence(max=0.6, reference="people")],
    "least presence": [kanon.DeltaPresence(min=0.3, max=0.9, reference="people")],
    "k-map and values": [
        kanon.KMap(k=6, reference="people"),
        kanon.EntropyLDiversity(l=1.5, sensitive="s"),
    ],
    "others known": [kanon.LDiversity(l=2, sensitive="s", with_other_sensitive=True)],
    "risks": [
        kanon.JournalistRisk(max_highest=0.4, reference="people"),
        kanon.KMapEstimate(k=3, population=600),
    ],
}
REFERENCES: dict[str, dict[str, str]] = {
    "records": {},
    "people": {"entity": "person"},
    "weights": {"weight": "many"},
    "those with a label": {"where": "zip is null or zip <> '02138'"},
}


@pytest.fixture(scope="module", params=["postgres", "clickhouse", "mariadb"])
def any_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        running.load("release", filled(release()))
        running.load("register", filled(register()))
        running.load("visits", filled(visits(3)))
        running.load("visits_before", filled(visits(4)))
        yield running


@pytest.fixture(scope="module", params=["postgres", "sqlite"])
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    with ENGINES[request.param].started(tmp_path_factory.mktemp(request.param)) as running:
        running.load("release", filled(release()))
        running.load("register", filled(register()))
        yield running


def people(number: int, seed: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {
            "zip": rng.choice(["021", "022", "02", None]),
            "age": rng.randrange(20, 60),
            "town": rng.choice(["b", "c", "é"]),
            "s": rng.choice(["flu", "cold", None]),
            "o": rng.choice("xy"),
            "person": rng.randrange(number // 2),
            "many": rng.randrange(3),
        }
        for _ in range(number)
    ]


def release() -> pyarrow.Table:
    names = ["zip", "age", "town", "s", "o"]
    rows = [tuple(each[name] for name in names) for each in people(60, 1)]
    text, whole = pyarrow.string(), pyarrow.int64()
    return asking.table(names, rows, [text, whole, text, text, text])


def register() -> pyarrow.Table:
    """Who is in the release, and as many more: one has a postcode that no mask of it shows."""
    names = ["zip", "age", "town", "person", "many"]
    more = people(60, 2)
    more[0]["zip"] = "02138"
    rows = [tuple(each[name] for name in names) for each in [*people(60, 1), *more]]
    text, whole = pyarrow.string(), pyarrow.int64()
    return asking.table(names, rows, [text, whole, text, whole, whole])


def visits(seed: int) -> pyarrow.Table:
    """Records of people, some of whom have several."""
    names = ["person", "age", "town"]
    rows = [tuple(each[name] for name in names) for each in people(60, seed)]
    return asking.table(names, rows, [pyarrow.int64(), pyarrow.int64(), pyarrow.string()])


def outcome(result: kanon.AnonymizationResult) -> dict[str, Any]:
    found = {key: each for key, each in figures(result).items() if key not in ("views", "release")}
    del found["before"]["name"]
    [table] = result.to_dict()["tables"]
    return found | {part: table[part] for part in ("status", "summary", "checks")}


def anonymized(data: Any, source: Any, demands: str, reference: str, **options: Any) -> Any:
    return kanon.anonymize(
        data,
        LEVELS,
        sensitive=["s", "o"],
        checks=DEMANDS[demands],
        k=2,
        max_suppressed=6,
        algorithm="optimal",
        references={"people": {"source": source, **REFERENCES[reference]}},
        **options,
    )


@BOTH_WAYS
@pytest.mark.parametrize(
    ("demands", "reference"),
    [
        ("sizes", "records"),
        ("k-map", "records"),
        ("k-map", "people"),
        ("presence", "weights"),
        ("least presence", "those with a label"),
        ("k-map and values", "weights"),
        ("others known", "records"),
    ],
)
def test_the_node_is_that_of_duckdb(
    database: Database, demands: str, reference: str, pulled: bool
) -> None:
    # Each node that could be the best is audited, in a second or two of SQLite and Postgres.
    few = {"at_most": {"zip": 0, "age": 2, "town": 2}} if demands == "least presence" else {}
    there = {"engine": database.url, "pull_frequencies": pulled}
    expected = anonymized(release(), register(), demands, reference, **few)
    found = anonymized("release", "register", demands, reference, **few, **there)

    assert found.anonymization.levels == expected.anonymization.levels
    assert outcome(found) == asking.near(outcome(expected))
    assert found.holds


def test_what_a_reference_has_is_searched_everywhere(any_database: Database) -> None:
    few = {"at_most": {"zip": 0, "age": 1, "town": 1}}
    expected = anonymized(release(), register(), "risks", "records", **few)
    found = anonymized("release", "register", "risks", "records", engine=any_database.url, **few)

    assert outcome(found) == asking.near(outcome(expected))


@BOTH_WAYS
def test_crowds_of_two_releases_are_searched_everywhere(
    any_database: Database, pulled: bool
) -> None:
    asked: dict[str, Any] = {
        "quasi_identifiers": {name: LEVELS[name] for name in ("age", "town")},
        "entity": "person",
        "checks": [kanon.ComposedKAnonymity(k=2)],
        "k": 2,
        "max_suppressed": 10,
        "algorithm": "optimal",
        "at_most": {"age": 2, "town": 1},
    }
    before = {"quasi_identifiers": ["town"]}

    expected = kanon.anonymize(
        visits(3), earlier_releases={"earlier": {"source": visits(4), **before}}, **asked
    )
    found = kanon.anonymize(
        "visits",
        earlier_releases={"earlier": {"source": "visits_before", **before}},
        engine=any_database.url,
        pull_frequencies=pulled,
        **asked,
    )

    assert outcome(found) == asking.near(outcome(expected))
    assert not any("does not look for it" in each for each in found.tables[0].warnings)
