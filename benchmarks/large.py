"""Measures audits of a billion records on one machine, beside the queries that one would write.

    python benchmarks/large.py                                a billion records
    python benchmarks/large.py --rows 20000000 --pieces 4     fewer, to see what they take here
    python benchmarks/large.py --memory-limit 2GiB            both sides under this limit

The table is made in pieces, which a later run takes up, in a folder of its own (`--data`); the
space that it needs is printed after the first piece, and nothing more is made if there is less.
Each side runs once, in a process of its own, with its temporary files in the same folder. Writes
its part of benchmarks/results.md row by row; `--question` asks one of them alone.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from results_file import publish
from run import HERE, QUESTIONS, SENSITIVE, peak_memory

import kanon_sql as kanon

COLUMNS = {
    "k of four": ["age", "sex", "race", "education"],
    "k of five": [*QUESTIONS["many classes"]],
    "k, millions of classes": QUESTIONS["millions of classes"],
    "k, nearly unique": QUESTIONS["nearly one a record"],
    "l and t": QUESTIONS["thousands of classes"],
}
"""The quasi-identifiers of each question."""
FAILED = "failed: its error is above | | | "
SPARE = 2
"""How many times the space of the table is needed: its temporary files may be as large."""


def piece(first: int, end: int, path: Path) -> None:
    """The census-like records of these numbers, made once."""
    if not path.exists():
        query = (HERE / "census.sql").read_text().replace("range($rows)", f"range({first}, {end})")
        partial = path.with_suffix(".partial")
        duckdb.sql(query).write_parquet(str(partial), row_group_size=500_000)
        partial.rename(path)


def table(rows: int, pieces: int, data: Path) -> Path:
    """The glob of the pieces. Ends the program if the disk is too small for them."""
    folder = data / f"census_{rows}_in_{pieces}"
    folder.mkdir(parents=True, exist_ok=True)
    for place in range(pieces):
        path = folder / f"{place:04}.parquet"
        piece(rows * place // pieces, rows * (place + 1) // pieces, path)
        if place == 0:
            size = path.stat().st_size * pieces
            made = sum(each.stat().st_size for each in folder.glob("*.parquet"))
            free = shutil.disk_usage(folder).free
            print(
                f"{rows:,} records take {size / 2**30:.1f} GiB in {folder}, of which "
                f"{made / 2**30:.1f} are there, and as much again for temporary files; "
                f"{free / 2**30:.1f} GiB are free.",
                file=sys.stderr,
            )
            if size * SPARE - made > free:
                sys.exit("That is too little: name another folder with --data, or fewer --rows.")
    return folder / "*.parquet"


def by_hand(question: str, source: str, memory_limit: str | None) -> None:
    """The GROUP BY of a question, under the limits of the audit."""
    columns = ", ".join(COLUMNS[question])
    sets = f"select {columns}, count(*) as n from read_parquet('{source}') group by {columns}"
    query = f"select min(n) from ({sets})"
    if question == "l and t":
        values = sets.replace(columns, f"{columns}, {SENSITIVE}")
        query = (
            f"select min(n), min(l) from (select {columns}, sum(n) as n, count(*) as l "
            f"from ({values}) group by {columns})"
        )
    with duckdb.connect() as connection:
        connection.execute(f"set temp_directory = '{tempfile.mkdtemp()}'")
        if memory_limit:
            connection.execute(f"set memory_limit = '{memory_limit}'")
        connection.execute(query).fetchall()


def audited(question: str, source: str, memory_limit: str | None) -> None:
    checks: list[Any] = [kanon.KAnonymity(k=5)]
    if question == "l and t":
        checks += [kanon.LDiversity(l=2, sensitive=SENSITIVE)]
        checks += [kanon.TCloseness(t=0.2, sensitive=SENSITIVE)]
    result = kanon.audit(source, COLUMNS[question], checks=checks, memory_limit=memory_limit)
    if result.status == "error":
        sys.exit(str(result.tables[0].error))


SIDES: dict[str, Callable[[str, str, str | None], None]] = {"by hand": by_hand, "audit": audited}


@dataclass
class Cost:
    wall: float
    processor: float
    peak: int
    """Memory in KiB."""
    temporary: int
    """Bytes of temporary files at most."""

    def cells(self) -> str:
        return (
            f"{self.wall:.1f} s | {self.processor:.1f} s | {self.peak / 2**20:.2f} GiB "
            f"| {self.temporary / 2**30:.2f} GiB"
        )


def cost(
    side: str, question: str, source: str, memory_limit: str | None, data: Path
) -> Cost | None:
    """What one side takes in a process of its own; None if it fails, as on a disk that is full."""
    with tempfile.TemporaryDirectory(dir=data) as folder:
        most, done = [0], threading.Event()

        def look() -> None:
            while not done.wait(0.2):
                sizes = (size_of(path) for path in Path(folder).rglob("*"))
                most[0] = max(most[0], sum(sizes))

        watch = threading.Thread(target=look, daemon=True)
        watch.start()
        asked = [side, question, source, memory_limit or ""]
        measured = subprocess.run(
            [sys.executable, __file__, "--measure", *asked],
            env={**os.environ, "TMPDIR": folder},
            stdout=subprocess.PIPE,
            text=True,
        )
        done.set()
        watch.join()
    return None if measured.returncode else Cost(*json.loads(measured.stdout), most[0])


def size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def measure(side: str, question: str, source: str, memory_limit: str) -> None:
    started, spent = time.perf_counter(), time.process_time()
    SIDES[side](question, source, memory_limit or None)
    took, spent = time.perf_counter() - started, time.process_time() - spent
    json.dump([took, spent, peak_memory()], sys.stdout)


def rows_of(questions: list[str], source: Path, limit: str | None, data: Path) -> Iterator[str]:
    yield "| question | | wall | processor | peak memory | temporary files | ratio |"
    yield "|---|---|---|---|---|---|---|"
    for question in questions:
        label = f"{question}: {', '.join(COLUMNS[question])}"
        theirs = cost("by hand", question, str(source), limit, data)
        yield f"| {label} | by hand | {theirs.cells() if theirs else FAILED} | |"
        ours = cost("audit", question, str(source), limit, data)
        ratio = f"{ours.wall / theirs.wall:.2f}" if ours and theirs else ""
        yield f"| {label} | audit | {ours.cells() if ours else FAILED} | {ratio} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000_000)
    parser.add_argument("--pieces", type=int, default=40)
    parser.add_argument("--memory-limit", help="of both sides, such as 2GiB")
    parser.add_argument("--question", choices=COLUMNS, help="this one alone")
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(*options.measure)
        return
    source = table(options.rows, options.pieces, options.data)
    questions = [options.question] if options.question else list(COLUMNS)
    under = f", memory limit {options.memory_limit}" if options.memory_limit else ""
    section = rows_of(questions, source, options.memory_limit, options.data)
    title = f"{options.rows:,} records on one machine{under}"
    publish(title, [("An audit beside the query by hand", section)], "One run each, files warm.")


if __name__ == "__main__":
    main()
