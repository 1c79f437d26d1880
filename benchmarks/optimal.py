"""Measures what the best levels cost to find, and what they save.

    KANON_SQL_DATA=FOLDER python benchmarks/optimal.py     all of it, half an hour
    python benchmarks/optimal.py --rows 1000000            smaller generated tables
    … python benchmarks/optimal.py --anjana PYTHON         also what anjana loses, which that Python
                                                           has; up to an hour more

Writes its part of benchmarks/results.md; the tables it makes lie in a folder of their own
(`--data`), outside the checkout. ARX's Adult is looked for in $KANON_SQL_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
from anonymize import by_anjana
from results_file import publish
from run import HERE, Pair, census, seconds

import kanon_sql as kanon
from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.datafly import climb, datafly
from kanon_sql.anonymizing.search.datafly_counts import violating_on
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.node_evaluation import LatticeStatistics
from kanon_sql.anonymizing.search.optimal_search import OptimalSearch, SearchResult
from kanon_sql.auditing.opening import opened, planned
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.plan.binding import column_levels
from kanon_sql.question.hierarchy import parse_builder
from kanon_sql.question.spec import AuditSpec, table_spec

ADULT = (
    "sex", "age", "race", "marital-status", "education",
    "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
METRICS = (
    "loss", "loss_geometric", "precision", "non_uniform_entropy", "discernibility",
)  # fmt: skip
SHARES = ("0%", "1%", "5%")
K = 5
PATIENCE = 10
"""How many minutes anjana may take for a table."""
SPILL = "20GB"
"""The most that a query by hand may leave on the disk."""

_TEXT = "prefix:4,2,suppress"
BUILDERS = {
    "age": "width:5,10,20,suppress",
    "zip3": "prefix:2,1,suppress",
    "zip": "prefix:4,3,2,1,suppress",
    "birth_date": "date:month,year,5y,10y,suppress",
    "education": _TEXT,
    "race": _TEXT,
    "marital_status": _TEXT,
    "sex": "suppress",
}
QUESTIONS = {
    "tens of thousands": ["age", "sex", "race", "education", "marital_status"],
    "millions": ["age", "zip3", "race", "education", "marital_status"],
}
ALONE = ["age", "zip", "birth_date", "education", "race"]


# --- ARX's Adult ------------------------------------------------------------------------------


def adult(data: Path) -> Iterator[str]:
    """The whole process, from its start to the audit of the release that it writes."""
    hierarchies = [
        part
        for name in ADULT
        for part in ("--hierarchy", f"{name}={data / f'adult_hierarchy_{name}.csv'}")
    ]
    yield "| metric | suppressed at most | nodes looked at | lost | processor | wall |"
    yield "|---|---|---|---|---|---|"
    with TemporaryDirectory() as folder:
        for metric in METRICS:
            for share in SHARES:
                release, result = Path(folder) / "release.parquet", Path(folder) / "result.json"
                command = [
                    sys.executable, "-m", "kanon_sql", "anonymize", str(data / "adult.csv"),
                    "--qi", ",".join(ADULT), *hierarchies, "--k", str(K),
                    "--algorithm", "optimal", "--metric", metric, "--max-suppressed", share,
                    "--output", str(release), "--result", str(result), "--overwrite",
                ]  # fmt: skip
                began = time.perf_counter()
                used = processor_of(command)
                wall = time.perf_counter() - began
                found = json.loads(result.read_text())["anonymization"]
                looked, value = found["search"]["looked_at"], found["metrics"][metric]
                lost = f"{value:,}" if isinstance(value, int) else f"{value:.6f}"
                yield f"| {metric} | {share} | {looked:,} | {lost} | {used:.1f} s | {wall:.1f} s |"


def processor_of(command: list[str]) -> float:
    """How many seconds of processor time a command takes, which must succeed."""
    process = os.posix_spawn(
        command[0], command, dict(os.environ),
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )  # fmt: skip
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed.")
    return used.ru_utime + used.ru_stime


# --- generated tables -------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """What is asked of a generated table."""

    path: Path
    columns: list[str]

    @property
    def first(self) -> str:
        """The first frequency set, as an engineer types it."""
        listed = ", ".join(self.columns)
        return f"select {listed}, count(*) as n from read_parquet('{self.path}') group by {listed}"

    def by_hand(self) -> int:
        """How many combinations the first set has, once it is made."""
        with duckdb.connect(config={"max_temp_directory_size": SPILL}) as connection:
            connection.execute(f"create temp table first_set as {self.first}")
            [(count,)] = connection.execute("select count(*) from first_set").fetchall()
            return int(count)

    def searched(self, algorithm: str, share: float = 0.0) -> tuple[dict[str, int], str, float]:
        """The levels that a search finds, what is said of it, and what they lose."""
        asked = table_spec(
            source=self.path,
            quasi_identifiers={name: parse_builder(BUILDERS[name]) for name in self.columns},
            checks=[kanon.KAnonymity(k=K)],
        )
        with opened(asked, RunOptions()) as engine:
            plan = planned(AuditSpec(tables=[asked]), 0, engine).plan
            bound, ask = plan.question, Session(engine, None, threading.Event(), time.monotonic())
            sets = FrequencySets(bound, ask, column_levels(bound.roles, bound.facts))
            if algorithm == "datafly":
                path = datafly(sets.attributes, violating_on(sets, climb(sets.attributes)), K)
                return path.levels, f"{len(path.steps)} steps", 0.0
            nodes = LatticeStatistics(sets, Preferences({}, {}), [K])
            allowed = int(share * nodes.records)
            chosen: SearchResult = OptimalSearch(
                nodes, "loss", Preferences({}, {}), lambda node, k: True
            ).best(K, allowed)
            lost = nodes.metrics(chosen.node, K, {}).loss
            return nodes.levels(chosen.node), f"{chosen.search.looked_at:,} nodes", lost or 0.0


def alternately(question: Question, algorithm: str, share: float, runs: int) -> tuple[Pair, Pair]:
    """The whole search and the first set in turns, once the files are warm: by wall, and by
    processor."""
    question.by_hand()
    times, used = [], []
    for _ in range(runs):
        before = processor()
        theirs = seconds(question.by_hand)
        between = processor()
        ours = seconds(lambda: question.searched(algorithm, share))
        times.append((theirs, ours))
        used.append((between - before, processor() - between))
    return Pair.of(times), Pair.of(used)


def large(path: Path, runs: int) -> Iterator[str]:
    """The whole search against its first frequency set."""
    yield (
        "| combinations | suppressed at most | first set | whole search | ratio "
        "| of processor time | looked at |"
    )
    yield "|---|---|---|---|---|---|---|"
    for label, columns in QUESTIONS.items():
        question = Question(path, columns)
        count = question.by_hand()
        for share in (0.0, 0.01):
            pair, used = alternately(question, "optimal", share, runs)
            looked = question.searched("optimal", share)[1]
            row = pair.row(f"{count:,} ({label}) | {share:.0%}")
            yield f"{row} {used.ratio:.2f} | {looked} |"


def alone(path: Path, runs: int) -> Iterator[str]:
    """Datafly where nearly every record is alone."""
    yield "| combinations | first set | Datafly's search | ratio | of processor time | steps |"
    yield "|---|---|---|---|---|---|"
    question = Question(path, ALONE)
    pair, used = alternately(question, "datafly", 0.0, runs)
    steps = question.searched("datafly")[1]
    yield f"{pair.row(f'{question.by_hand():,}')} {used.ratio:.2f} | {steps} |"


def processor() -> float:
    """How many seconds of processor time this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def lost(paths: list[Path], anjana: str | None) -> Iterator[str]:
    """What is lost by the levels that anjana and Datafly find, and by the best."""
    yield (
        f"k = {K}, and {K} records may be suppressed. anjana is given the same levels as files, "
        f"and {PATIENCE} minutes."
    )
    yield ""
    yield "| records | quasi-identifiers | anjana loses | Datafly loses | the best levels lose |"
    yield "|---|---|---|---|---|"
    for path in paths:
        for columns in (*QUESTIONS.values(), ALONE):
            found = [
                kanon.anonymize(
                    path,
                    {name: BUILDERS[name] for name in columns},
                    k=K,
                    max_suppressed=K,
                    algorithm=algorithm,
                    untouched="drop",
                )
                for algorithm in ("datafly", "optimal")
            ]
            theirs, ours = (each.anonymization.metrics.loss or 0.0 for each in found)
            records = found[0].anonymization.before.summary.records or 0
            others = lost_by_anjana(anjana, path, columns, records) if anjana else "not measured"
            yield f"| {records:,} | {', '.join(columns)} | {others} | {theirs:.1%} | {ours:.1%} |"


def lost_by_anjana(python: str, path: Path, columns: list[str], records: int) -> str:
    """What anjana loses, and how long it took; it reads CSV alone."""
    with TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        duckdb.sql(f"select {', '.join(columns)} from read_parquet('{path}')").write_csv(str(table))
        asked = {
            "quasi_identifiers": columns,
            "identifiers": [],
            "table": str(table),
            "hierarchies": {name: str(as_file(path, name, Path(folder))) for name in columns},
            "k": K,
            "percent": 100 * K / records,
        }
        try:
            found = by_anjana(python, asked, 60 * PATIENCE)
        except subprocess.TimeoutExpired:
            return f"no release in {PATIENCE} minutes"
        except subprocess.CalledProcessError as failed:
            return f"no release: {failed.stderr.splitlines()[-1]}"
    return f"{found['loss']:.1%} ({found['seconds']:,.0f} s)"


def as_file(path: Path, name: str, folder: Path) -> Path:
    """The levels of a column as a file: each value, then what it becomes at every level."""
    file = folder / f"{name}.csv"
    command = [
        sys.executable, "-m", "kanon_sql", "hierarchy", "new", f"{name}={BUILDERS[name]}",
        "--from", str(path), "--output", str(file), "--show-values",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return file


def with_zip3(rows: int, folder: Path) -> Path:
    """The census-like table with the first three digits of the code beside it."""
    whole, path = census(rows, folder), folder / f"census_zip3_{rows}.parquet"
    if not path.exists():
        partial = path.with_suffix(".partial")
        wanted = "age, sex, zip, left(zip, 3) as zip3, birth_date, race, education, marital_status"
        duckdb.sql(f"select {wanted} from read_parquet('{whole}')").write_parquet(
            str(partial), row_group_size=500_000
        )
        partial.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    parser.add_argument("--anjana", metavar="PYTHON", help="a Python that has anjana installed")
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    examples = Path(os.environ.get("KANON_SQL_DATA", HERE.parents[1] / "shared" / "data"))
    path = with_zip3(options.rows, options.data)
    tenth = with_zip3(options.rows // 10, options.data)
    rows = f"{options.rows:,} rows"
    publish(
        "Benchmarks of the best levels",
        [
            (
                "ARX's Adult: 9 quasi-identifiers, 12,960 nodes, k = 5",
                adult(examples / "arx_adult"),
            ),
            (f"The search, {rows}, k = {K}", large(path, options.runs)),
            (f"Datafly, {rows}, nearly every record alone", alone(path, options.runs)),
            ("What is lost", lost([tenth, path], options.anjana)),
        ],
        "One pair of runs a question, files warm."
        if options.runs == 1
        else "Median of paired runs, files warm.",
    )


if __name__ == "__main__":
    main()
