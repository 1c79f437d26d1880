"""Measures local recoding beside the other algorithms, and against the first frequency set.

    KANON_SQL_DATA=FOLDER python benchmarks/local.py            ARX's Adult, and ten million records
    … python benchmarks/local.py --rows 1000000                 a smaller large table
    … python benchmarks/local.py --anjana PYTHON                also anjana, which that Python has

Seconds are the processor's. Of Adult they are those of a whole process, from its start to the
release that was audited again; of the large table those of the statements alone, each in a process
of its own, of which the most memory is told.
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
from collections.abc import Iterator, Sequence
from pathlib import Path

from anonymize import ANJANA, hierarchies
from optimal import ADULT
from run import by_hand, census

import kanon_sql as kanon
from kanon_sql.anonymizing.recoding.local_recoding import local_recoding
from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.auditing.opening import opened, planned
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.engines.session import Session
from kanon_sql.plan.binding import column_levels
from kanon_sql.question.spec import AuditSpec, table_spec

KS = (5, 10, 50)
SHARE = "5%"
"""How many records the algorithms that have one level for all may suppress."""
ALGORITHMS = {"local": "0", "optimal": SHARE, "datafly": SHARE}
LARGE = {
    "tens of thousands of combinations": (["age", "race", "education", "marital_status"], 100),
    "three millions": (["age", "zip", "sex"], 5),
    "nearly eight millions": (["age", "zip", "race", "education"], 5),
}


# --- Adult ----------------------------------------------------------------------------------


def of_adult(data: Path, anjana: str | None) -> Iterator[str]:
    """Each algorithm with six and with nine quasi-identifiers."""
    yield "| quasi-identifiers | k | by | seconds | lost | classes | suppressed |"
    yield "|---|---|---|---|---|---|---|"
    for columns in (ADULT[:6], ADULT):
        for k in KS:
            for algorithm in ALGORITHMS:
                took, found = anonymized(data, columns, k, algorithm)
                yield (
                    f"| {len(columns)} | {k} | {algorithm} | {took:.2f} | "
                    f"{found['metrics']['loss']:.4f} | {found['classes']:,} | "
                    f"{found['suppressed']:,} |"
                )
            if anjana is not None:
                yield by_anjana(anjana, data, columns, k)


def hierarchy(data: Path, name: str) -> Path:
    return data / f"adult_hierarchy_{name}.csv"


def anonymized(
    data: Path, columns: Sequence[str], k: int, algorithm: str
) -> tuple[float, dict[str, object]]:
    """The seconds of a whole command, and what it says of the release."""
    named = [f"--hierarchy={name}={hierarchy(data, name)}" for name in columns]
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "kanon_sql", "anonymize", str(data / "adult.csv"),
            "--qi", ",".join(columns), *named, "--k", str(k), "--algorithm", algorithm,
            "--max-suppressed", ALGORITHMS[algorithm], "--format", "json", "--force",
            "--output", str(Path(folder) / "release.parquet"),
        ]  # fmt: skip
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, json.loads(run.stdout)["anonymization"]


def by_anjana(python: str, data: Path, columns: Sequence[str], k: int) -> str:
    """The same by anjana, which reads commas alone."""
    with tempfile.TemporaryDirectory() as folder:
        copies = {}
        for file in ("adult", *(f"adult_hierarchy_{name}" for name in columns)):
            copies[file] = Path(folder) / f"{file}.csv"
            copies[file].write_text((data / f"{file}.csv").read_text().replace(";", ","))
        for name in columns:
            file = copies[f"adult_hierarchy_{name}"]
            levels = [line.split(",") for line in file.read_text().splitlines()]
            # A level for the raw value, which anjana numbers 0.
            file.write_text("".join(",".join(line) + "\n" for line in levels))
        asked = {
            "quasi_identifiers": list(columns),
            "identifiers": [],
            "table": str(copies["adult"]),
            "hierarchies": {name: str(copies[f"adult_hierarchy_{name}"]) for name in columns},
            "k": k,
            "percent": int(SHARE.rstrip("%")),
        }
        done = subprocess.run(
            [python, "-c", ANJANA], input=json.dumps(asked), capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    label = f"| {len(columns)} | {k} | anjana |"
    if done.returncode:
        return f"{label} | no release | | |"
    found = json.loads(done.stdout.splitlines()[-1])
    return (
        f"{label} {found['seconds']:.2f} | {found['loss']:.4f} | {found['classes']:,} | "
        f"{30_162 - found['kept']:,} |"
    )


# --- a large table --------------------------------------------------------------------------


def of_large_tables(path: Path) -> Iterator[str]:
    """All of a recoding, and the first frequency set alone."""
    yield (
        "| quasi-identifiers | k | combinations | first frequency set | recoding, its own first "
        "set in it | ratio | rounds alone | ratio | rounds | classes | memory |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for label, (columns, k) in LARGE.items():
        listed = ", ".join(columns)
        first, memory, _ = alone("first", path, columns, k)
        took, more, found = alone("recoded", path, columns, k)
        sql = f"select count(*) from (select distinct {listed} from read_parquet('{path}'))"
        [(combinations,)] = by_hand(sql)
        yield (
            f"| {listed} ({label}) | {k} | {combinations:,} | {first:.1f} s | {took:.1f} s | "
            f"{took / first:.1f} | {found['of_rounds']:.1f} s | {found['of_rounds'] / first:.1f} | "
            f"{found['rounds']} | {found['classes']:,} | "
            f"{memory:.2f} and {more:.2f} GiB |"
        )


def alone(what: str, path: Path, columns: Sequence[str], k: int) -> tuple[float, float, dict]:
    """A step in a process of its own: its seconds, its memory and what it found."""
    command = [sys.executable, __file__, "--alone", what, str(path), str(k), *columns]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(run.stdout.splitlines()[-1])
    return told["seconds"], told["gigabytes"], told


def step(what: str, path: str, k: str, *columns: str) -> None:
    """One step, and what it took, as a line of JSON."""
    started, found = time.process_time(), {}
    if what == "first":
        listed = ", ".join(columns)
        by_hand(
            f"create temp table first_set as select {listed}, count(*) as n "
            f"from read_parquet('{path}') group by {listed}"
        )
    else:
        found = recoded(path, list(columns), int(k))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": time.process_time() - started, "gigabytes": memory, **found}))


def recoded(path: str, columns: list[str], k: int) -> dict[str, float]:
    """The first frequency set and all rounds, without the audits and without writing."""
    asked = table_spec(
        source=path,
        quasi_identifiers=hierarchies(columns),
        checks=[kanon.KAnonymity(k=k)],
    )
    with opened(asked, RunOptions()) as engine:
        bound = planned(AuditSpec(tables=[asked]), 0, engine).plan.question
        ask = Session(engine, None, threading.Event(), time.monotonic())
        sets = FrequencySets(bound, ask, column_levels(bound.roles, bound.facts))
        [(records,)] = by_hand(f"select count(*) from read_parquet('{path}')")
        started = time.process_time()
        found = local_recoding(
            sets, Preferences({}, {}), records=int(str(records)), max_suppressed=0
        )
        of_rounds = time.process_time() - started
        [row] = sets.fetch(
            "classes", "How many?",
            f"select count(*) as kanon_classes from {found.class_levels}",
        )  # fmt: skip
        return {
            "of_rounds": of_rounds,
            "rounds": len(found.rounds),
            "classes": int(row["kanon_classes"]),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--anjana", metavar="PYTHON")
    given = parser.parse_args()
    data = Path(os.environ["KANON_SQL_DATA"]) / "arx_adult"
    with tempfile.TemporaryDirectory() as folder:
        large = census(given.rows, Path(folder))
        for part in (of_adult(data, given.anjana), of_large_tables(large)):
            for line in part:
                print(line, flush=True)
            print()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        step(*sys.argv[2:])
    else:
        main()
