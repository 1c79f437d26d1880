"""Measures what two releases say together against the two class queries by hand.

    python benchmarks/releases.py        two releases of a million people each
    python benchmarks/releases.py --people 10000000
    python benchmarks/releases.py --records 3       three records of each person in either

Prints the seconds of the processor in the best of several runs in turn, and the statement of both
models as a multiple of the two queries that count the people of each class of either release. The
tables are made in a folder that is removed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import duckdb

import kanon_sql as kanon

PEOPLE = """
copy (
    select
        person * 7919 + 13 as person,
        hash(person + record * 31) % 40 {coarser} as age,
        cast(hash(person + record * 37 + 1) % 50 as varchar) as zip,
        hash(person + 2) % 2 as sex,
        cast(hash(person * {values}) % 20 as varchar) as diagnosis
    from range({first}, {last}) as people (person)
    cross join range({records}) as records (record)
) to '{file}'
"""
RUNS = 5
BY_HAND = """
select min(people)
from (select count(distinct person) as people from '{file}' group by zip, age, sex)
"""


def seconds(connection: duckdb.DuckDBPyConnection, sql: str) -> float:
    """How long the processor is busy with a query."""
    started = time.process_time()
    connection.execute(sql).fetchall()
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--records", type=int, default=1)
    given = parser.parse_args()
    people = given.people
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        connection.execute(f"set temp_directory = '{folder}/spilled'")
        connection.execute("set max_temp_directory_size = '20GB'")
        now, before = (str(Path(folder) / f"{name}.parquet") for name in ("now", "before"))
        gone = people // 10
        made = {"records": given.records, "first": 0, "last": people, "values": 3, "coarser": ""}
        connection.execute(PEOPLE.format(**made, file=now))
        made |= {"first": gone, "last": people + gone, "values": 5, "coarser": "// 5"}
        connection.execute(PEOPLE.format(**made, file=before))
        [compiled] = kanon.compile(
            now,
            ["zip", "age", "sex"],
            sensitive="diagnosis",
            entity="person",
            earlier_releases=before,
        ).tables
        both = compiled.steps["composed_earlier"]
        asked = {"by hand": [BY_HAND.format(file=file) for file in (now, before)], "both": [both]}
        runs = [
            {name: sum(seconds(connection, sql) for sql in each) for name, each in asked.items()}
            for _ in range(RUNS)
        ]
    by_hand, together = (min(run[name] for run in runs) for name in asked)
    print(f"{people:,} people in each release, each with {given.records} records")
    print(f"{by_hand:8.2f} s  the two class queries by hand")
    print(f"{together:8.2f} s  both models, {together / by_hand:.1f} times")


if __name__ == "__main__":
    main()
