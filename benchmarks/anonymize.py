"""Measures what a release costs, against the least that could be done instead.

    python benchmarks/anonymize.py                   the 10-million-row table, some minutes
    python benchmarks/anonymize.py --rows 1000000    a smaller one
    python benchmarks/anonymize.py --peers PYTHON    also anjana, which that Python has installed

Writes its part of benchmarks/results.md; the tables it makes lie in a folder of their own
(`--data`), outside the checkout. The Datafly exercise, UCI Adult and anjana's hierarchies for it
are looked for in `--examples`: $KANON_SQL_DATA, or shared/data beside the checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
from results_file import publish
from run import HERE, Pair, by_hand, census, paired, seconds

import kanon_sql as kanon
from kanon_sql.anonymizing.release.suppression import RELEASED, suppress
from kanon_sql.anonymizing.release.views import ViewChain
from kanon_sql.anonymizing.search.datafly import SearchPath, climb, datafly
from kanon_sql.anonymizing.search.datafly_counts import violating_on
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.auditing.opening import opened, planned
from kanon_sql.engines.base import Engine
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.plan.binding import column_levels
from kanon_sql.plan.plan import Plan
from kanon_sql.question.spec import AuditSpec, table_spec
from kanon_sql.results.release import Anonymization, GeneralizationStep

K = 5
"""Also how many records may be suppressed, as Datafly has it."""
IDENTIFIER = "person_id"
SENSITIVE = "diagnosis"
_TEXT = [{"prefix": 4}, {"prefix": 3}, {"prefix": 2}, "suppress"]
LEVELS = {
    "age": [{"width": 5}, {"width": 10}, {"width": 20}, "suppress"],
    "zip": [{"prefix": 4}, {"prefix": 3}, {"prefix": 2}, {"prefix": 1}],
    "birth_date": ["month", "year", {"years": 5}, {"years": 10}],
    "education": _TEXT,
    "race": _TEXT,
    "sex": ["suppress"],
    "marital_status": _TEXT,
    "occupation": _TEXT,
}
QUESTIONS = {
    "hundreds of thousands of classes": [
        "age", "education", "race", "marital_status", "occupation",
    ],
    "nearly one a record": ["age", "zip", "birth_date", "education", "race"],
}  # fmt: skip

ADULT_QUESTION = ["age", "education", "marital-status", "occupation", "sex", "native-country"]
ADULT_IDENTIFIER = "race"
ADULT_K = 10
"""What anjana's own README asks, and with which columns."""
ADULT_SUPPRESSED = [0, 1, 5, 50]
"""How many per cent of the records may be suppressed; the README says 50."""
ANJANA = """
import json, sys, time
import pandas as pd
from anjana.anonymity import k_anonymity
from anjana.anonymity.utils.utils import get_transformation

asked = json.load(sys.stdin)
names, table = asked["quasi_identifiers"], pd.read_csv(asked["table"])
hierarchies = {
    name: dict(pd.read_csv(path, header=None)) for name, path in asked["hierarchies"].items()
}
started = time.perf_counter()
release = k_anonymity(
    table, asked["identifiers"], names, asked["k"], asked["percent"], hierarchies
)
took = time.perf_counter() - started
levels = get_transformation(release, names, hierarchies)
losses = []
for name, level in zip(names, levels):
    leaves = pd.Series(hierarchies[name][level]).value_counts()
    more = (release[name].map(leaves) - 1).sum() / (leaves.sum() - 1)
    losses.append((more + len(table) - len(release)) / len(table))
print()
print(json.dumps({
    "seconds": took,
    "classes": release.groupby(names).ngroups,
    "kept": len(release),
    "levels": levels,
    "loss": sum(losses) / len(losses),
}))
"""

EXERCISE = {
    "age": "age_generalization.csv",
    "city_birth": "city_birth_generalization.csv",
    "zip_code": "zip_code_generalization.csv",
}
EXERCISE_K = 3
PUBLISHED = {100: (8.5, "8.5 s"), 10_000: (100.0, "more than 100 s")}
"""The seconds that the course gives for its own solution, and in its own words."""


# --- the search -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Searched:
    """A table whose levels are found, in an engine that is still open."""

    engine: Engine
    plan: Plan
    sets: FrequencySets
    path: SearchPath

    @property
    def levels(self) -> str:
        """Each level that was chosen, and how many there are."""
        return ", ".join(
            f"{each.name} {self.path.levels[each.name]}/{each.levels.height}"
            for each in self.sets.quasi_identifiers
        )


@contextmanager
def searched(
    source: Path | str, columns: list[str], new: Path | None = None, *, engine: Any = None
) -> Iterator[Searched]:
    """Datafly's search alone, as `kanon.anonymize` does it; `new` may be written afterwards."""
    asked = table_spec(
        source=source,
        quasi_identifiers=hierarchies(columns),
        identifiers=[IDENTIFIER],
        checks=[kanon.KAnonymity(k=K)],
    )
    with opened(asked, RunOptions(engine)) as engine:
        if new is not None:
            engine.will_write(new, new)
        plan = planned(AuditSpec(tables=[asked]), 0, engine).plan
        bound, ask = plan.question, Session(engine, None, threading.Event(), time.monotonic())
        sets = FrequencySets(bound, ask, column_levels(bound.roles, bound.facts))
        path = datafly(sets.attributes, violating_on(sets, climb(sets.attributes)), K)
        yield Searched(engine, plan, sets, path)


def hierarchies(columns: list[str]) -> dict[str, Any]:
    return {name: {"levels": LEVELS[name]} for name in columns}


def search(path: Path, runs: int) -> Iterator[str]:
    """All of a search against making the first frequency set alone."""
    yield "| quasi-identifiers | first frequency set | search | ratio | classes | steps | levels |"
    yield "|---|---|---|---|---|---|---|"
    for label, columns in QUESTIONS.items():
        listed = ", ".join(columns)
        first = f"select {listed}, count(*) as n from read_parquet('{path}') group by {listed}"
        pair = paired(
            lambda columns=columns: found(path, columns),
            lambda first=first: by_hand(f"create temp table first_set as {first}"),
            runs,
        )
        [(classes,)] = by_hand(f"select count(*) from ({first})")
        steps, levels = found(path, columns)
        yield f"{pair.row(f'{listed} ({label})')} {classes:,} | {steps} | {levels} |"


def found(path: Path | str, columns: list[str], engine: Any = None) -> tuple[int, str]:
    """How many steps a search takes, and to which levels."""
    with searched(path, columns, engine=engine) as done:
        return len(done.path.steps), done.levels


# --- the release ----------------------------------------------------------------------------


def release(path: Path, runs: int) -> Iterator[str]:
    """The release as a file against DuckDB's copy of the same columns."""
    yield "| quasi-identifiers | what is done | DuckDB's copy | ours | ratio |"
    yield "|---|---|---|---|---|"
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        copied, new = Path(folder) / "copy.parquet", Path(folder) / "release.parquet"
        copy = (
            f"copy (select * exclude ({IDENTIFIER}) from read_parquet('{path}')) "
            f"to '{copied}' (format parquet)"
        )
        for label, columns in QUESTIONS.items():
            named = f"{', '.join(columns)} ({label})"
            yield written(path, columns, new, copy, runs).row(f"{named} | writing the release")
            for also, sensitive in (("", []), (f", sensitive: {SENSITIVE}", [SENSITIVE])):
                yield paired(
                    lambda columns=columns, sensitive=sensitive: anonymized(
                        path,
                        new,
                        quasi_identifiers=hierarchies(columns),
                        identifiers=IDENTIFIER,
                        sensitive=sensitive,
                        k=K,
                    ),
                    lambda: by_hand(copy),
                    runs,
                ).row(f"{named} | all of anonymize, both audits too{also}")


def written(path: Path, columns: list[str], new: Path, copy: str, runs: int) -> Pair:
    """Suppressing and writing after a search that is not counted, in turns with the copy."""
    times = []
    for _ in range(runs + 1):
        with searched(path, columns, new) as done:
            ours = seconds(lambda done=done: write(done, new))
        times.append((seconds(lambda: by_hand(copy)), ours))
    return Pair.of(times[1:])


def write(done: Searched, new: Path) -> None:
    """What `kanon.anonymize` does between its search and its second audit."""
    labels = {each.name: each.levels for each in done.sets.quasi_identifiers}
    steps = tuple(
        GeneralizationStep(
            step.attribute,
            step.to_level,
            labels[step.attribute].label(step.to_level),
            step.distinct_before,
            step.records_violating,
        )
        for step in done.path.steps
    )
    chain = ViewChain(
        done.plan.question, done.sets.quasi_identifiers, steps, K, K, "remove", False, "release"
    )
    suppress(done.sets, chain, done.path.levels, in_step4=True)
    done.engine.write(RELEASED, new)


def anonymized(source: Path, output: Path, **asked: Any) -> Anonymization:
    """A release that was audited and written; one that was not is no time to report."""
    output.unlink(missing_ok=True)
    made = kanon.anonymize(source, output=output, **asked).anonymization
    if made.release is None:
        raise SystemExit(f"{source}: no release was written, so there is nothing to measure.")
    return made


# --- others ---------------------------------------------------------------------------------


def peers(python: str, adult: Path, folder: Path, runs: int) -> Iterator[str]:
    """anjana on the data and hierarchies of its own example."""
    files = {name: folder / f"{name}.csv" for name in ADULT_QUESTION}
    yield (
        f"anjana's own example: UCI Adult, {', '.join(ADULT_QUESTION)}, k = {ADULT_K}. Its time is "
        "that of `k_anonymity` on a data frame at hand, without any audit; ours reads the file, "
        "audits it, searches, writes the release and audits that. Classes and records are those of "
        "the release. Most classes: of all nodes of the lattice that keep to the limit, found one "
        "by one."
    )
    yield ""
    yield (
        "| suppressed at most | anjana | anonymize | ratio | classes, anjana | ours | most "
        "| records, anjana | ours | loss, anjana | ours |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    nodes = list(every_node(adult, files))
    for percent in ADULT_SUPPRESSED:
        pair, theirs, ours = against_anjana(python, adult, files, percent, runs)
        kept = ours.before.summary.records - ours.suppressed
        most = max(classes for classes, violating in nodes if violating <= ours.max_suppressed)
        yield (
            f"{pair.row(f'{percent} %')} {theirs['classes']:,} | {ours.classes:,} | {most:,} "
            f"| {theirs['kept']:,} | {kept:,} | {theirs['loss']:.3f} | {ours.metrics.loss:.3f} |"
        )


def against_anjana(
    python: str, adult: Path, files: Mapping[str, Path], percent: int, runs: int
) -> tuple[Pair, dict[str, Any], Anonymization]:
    """Both in turns: their times, and what each made of the table."""
    asked = {
        "quasi_identifiers": ADULT_QUESTION,
        "identifiers": [ADULT_IDENTIFIER],
        "table": str(adult),
        "hierarchies": {name: str(file) for name, file in files.items()},
        "k": ADULT_K,
        "percent": percent,
    }
    times = []
    with tempfile.TemporaryDirectory() as folder:

        def ours() -> Anonymization:
            return anonymized(
                adult,
                Path(folder) / "release.parquet",
                quasi_identifiers={name: {"hierarchy": str(file)} for name, file in files.items()},
                identifiers=ADULT_IDENTIFIER,
                k=ADULT_K,
                max_suppressed=f"{percent}%",
            )

        made = ours()
        for _ in range(runs):
            theirs = by_anjana(python, asked)
            times.append((theirs["seconds"], seconds(ours)))
    return Pair.of(times), theirs, made


def by_anjana(
    python: str, asked: Mapping[str, Any], timeout: float | None = None
) -> dict[str, Any]:
    """One call of anjana in a process of its own."""
    done = subprocess.run(
        [python, "-c", ANJANA], input=json.dumps(asked), check=True, capture_output=True, text=True,
        timeout=timeout,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def every_node(adult: Path, files: Mapping[str, Path]) -> Iterator[tuple[int, int]]:
    """Of each node of the lattice, the classes of at least k, and the records in smaller ones."""
    with duckdb.connect() as connection:
        heights = labelled(connection, adult, files)
        for node in product(*(range(height + 1) for height in heights)):
            keys = ", ".join(f"label_{place}_{level}" for place, level in enumerate(node))
            [found] = connection.execute(
                f"select count(*) filter (n >= {ADULT_K}), "
                f"coalesce(sum(n) filter (n < {ADULT_K}), 0) "
                f"from (select sum(n) as n from labelled group by {keys})"
            ).fetchall()
            yield found


def labelled(
    connection: duckdb.DuckDBPyConnection, adult: Path, files: Mapping[str, Path]
) -> list[int]:
    """Make the table of all records with every label of each; the heights come back."""
    heights, labels, joins = [], [], []
    for place, (name, file) in enumerate(files.items()):
        source = f"read_csv('{file}', header = false, all_varchar = true)"
        columns = connection.execute(f"from {source} limit 0").description
        heights.append(len(columns) - 1)
        labels += [
            f"of_{place}.{column[0]} as label_{place}_{level}"
            for level, column in enumerate(columns)
        ]
        joins.append(f'join {source} as of_{place} on of_{place}.{columns[0][0]} = adult."{name}"')
    connection.execute(
        f"create temp table labelled as select {', '.join(labels)}, count(*) as n "
        f"from read_csv('{adult}', all_varchar = true) as adult {' '.join(joins)} group by all"
    )
    return heights


# --- the exercise ---------------------------------------------------------------------------


def exercise(folder: Path, runs: int) -> Iterator[str]:
    """What the Datafly exercise says of its own solution, and ours on the same data."""
    yield (
        "The times of the solution are those that were published with the exercise, on a machine "
        f"unknown to us; only ours were measured here, with k = {EXERCISE_K} as in its README."
    )
    yield ""
    yield "| records | the solution, as published | anonymize | ratio | steps | suppressed |"
    yield "|---|---|---|---|---|---|"
    for records, (published, words) in PUBLISHED.items():
        with tempfile.TemporaryDirectory() as made:

            def ours(records: int = records, made: str = made) -> Anonymization:
                return anonymized(
                    folder / f"db_{records}.csv",
                    Path(made) / "release.csv",
                    quasi_identifiers={
                        name: {"hierarchy": str(folder / file)} for name, file in EXERCISE.items()
                    },
                    identifiers="id",
                    hierarchy_faults="warn",
                    k=EXERCISE_K,
                )

            done = ours()
            took = Pair.of([(published, seconds(ours)) for _ in range(runs)])
        below = "below " if words.startswith("more") else ""
        yield (
            f"| {records:,} | {words} | {took.ours:.2f} s | {below}{took.ratio:.3f} "
            f"| {len(done.steps)} | {done.suppressed} |"
        )


# --- all of it ------------------------------------------------------------------------------


def sections(options: argparse.Namespace) -> Iterator[tuple[str, Iterator[str]]]:
    path = census(options.rows, options.data)
    yield f"Search, {options.rows:,} rows, k = {K}", search(path, options.runs)
    yield f"Release, {options.rows:,} rows, k = {K}", release(path, max(1, options.runs // 2))
    if options.peers:
        adult = options.adult or options.examples / "adult" / "adult.csv"
        known = options.examples / "peers" / "adult_hierarchies"
        yield (
            "What people use today: anjana",
            peers(options.peers, adult, known, max(1, options.runs // 2)),
        )
    if (options.examples / "datafly").is_dir():
        yield "The course's solution", exercise(options.examples / "datafly", options.runs)
    else:
        print(f"{options.examples}: no Datafly exercise there, so it is left out.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    parser.add_argument("--peers", metavar="PYTHON", help="a Python that has anjana installed")
    parser.add_argument("--adult", type=Path, help="the UCI Adult CSV, for --peers")
    parser.add_argument(
        "--examples",
        type=Path,
        default=Path(os.environ.get("KANON_SQL_DATA", HERE.parents[1] / "shared" / "data")),
        help="the folder of the exercise, of Adult and of anjana's hierarchies",
    )
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    publish("Benchmarks of anonymize", sections(options))


if __name__ == "__main__":
    main()
