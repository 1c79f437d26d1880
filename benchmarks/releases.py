"""Measures what two releases say together against the two class queries by hand.

    python benchmarks/releases.py                two releases of a million people each
    python benchmarks/releases.py 10000000       of ten million

Prints the seconds of the best of three runs, and both models as a multiple of the two queries that
count the people of each class of either release. The tables are made in a folder that is removed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import duckdb

import kanon_sql as kanon

PEOPLE = """
copy (
    select
        person * 7919 + 13 as person,
        hash(person) % 40 {coarser} as age,
        cast(hash(person + 1) % 50 as varchar) as zip,
        hash(person + 2) % 2 as sex,
        cast(hash(person * {values}) % 20 as varchar) as diagnosis
    from range({first}, {last}) as people (person)
) to '{file}'
"""
BY_HAND = """
select min(people)
from (select count(distinct person) as people from '{file}' group by zip, age, sex)
"""


def seconds(connection: duckdb.DuckDBPyConnection, sql: str) -> float:
    """How long the fastest of three runs takes."""
    runs = []
    for _ in range(3):
        started = time.perf_counter()
        connection.execute(sql).fetchall()
        runs.append(time.perf_counter() - started)
    return min(runs)


def main(people: int) -> None:
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        now, before = (str(Path(folder) / f"{name}.parquet") for name in ("now", "before"))
        gone = people // 10
        made = {"first": 0, "last": people, "values": 3, "coarser": "", "file": now}
        connection.execute(PEOPLE.format(**made))
        made = {"first": gone, "last": people + gone, "values": 5, "coarser": "// 5"}
        connection.execute(PEOPLE.format(**made, file=before))
        [compiled] = kanon.compile(
            now,
            ["zip", "age", "sex"],
            sensitive="diagnosis",
            entity="person",
            earlier_releases=before,
        ).tables
        by_hand = sum(seconds(connection, BY_HAND.format(file=file)) for file in (now, before))
        models = {
            name: seconds(connection, sql)
            for name, sql in compiled.steps.items()
            if name.startswith("composed_")
        }
    print(f"{people:,} people in each release")
    print(f"{by_hand:8.2f} s  the two class queries by hand")
    for name, took in models.items():
        print(f"{took:8.2f} s  {name}, {took / by_hand:.1f} times")
    print(f"{sum(models.values()):8.2f} s  both, {sum(models.values()) / by_hand:.1f} times")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
