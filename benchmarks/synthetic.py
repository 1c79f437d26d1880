"""Measures a synthetic table beside its original, beside the same counts by hand.

    python benchmarks/synthetic.py                       a million records, a minute
    python benchmarks/synthetic.py --records 10000000    ten million: twenty minutes on two cores

Writes its part of benchmarks/results.md; the tables it makes lie in a folder of their own
(`--data`), outside the checkout. By hand: each table is grouped by the keys (or the keys with the
target, or all columns, or each small set of them) and the groups are joined. One in a hundred
records is a copy; the holdout has a quarter of the records, and a person two of them.

Aims, with a holdout at ten million: replicated uniques 2.2 times by hand, both kinds of
attribution together 3 times, copied records 2.5 times, singling out by two columns 4.5 times and by
three 2.5 times; people 2.5 times records; from one to ten million the ratios grow by 1.5 at most;
memory the limit + 0.5 GiB.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from events import LIMIT, Measured, measured
from results_file import publish

import kanon_sql as kanon

KEYS = ["age", "zip", "sex", "school"]
SIX_KEYS = [*KEYS, "day", "diagnosis"]
"""Keys by which nearly every record has a class of its own."""
ALL = [*SIX_KEYS, "income", "occupation", "household", "weeks", "country", "hours"]
RECORD = (
    "select floor(random() * 90)::int as age, 'z' || floor(random() * random() * 500)::int as zip,"
    " floor(random() * 2)::int as sex, 'e' || floor(random() * 8)::int as school,"
    " floor(random() * 366)::int as day,"
    " 't' || floor(random() * random() * 60)::int as diagnosis,"
    " floor(random() * 1e6)::int as income,"
    " 'o' || floor(random() * random() * 400)::int as occupation,"
    " floor(random() * 6)::int as household, floor(random() * 52)::int as weeks,"
    " 'c' || floor(random() * random() * 190)::int as country,"
    " floor(random() * random() * 24)::int as hours"
)
UNIQUES = (
    "select count(*) from "
    "(select {1} from '{0}/original.parquet' group by all having count(*) = 1) as o natural join "
    "(select {1} from '{0}/synthetic.parquet' group by all having count(*) = 1) as s"
)
TOLD = (
    "with s as (select {1}, min(diagnosis) as told, count(distinct diagnosis) as values "
    "from '{0}/synthetic.parquet' group by {1}) select count(*), sum((told = diagnosis)::int) "
    "from '{0}/original.parquet' as o natural join s where values = 1"
)
COPIES = (
    "select count(*) from "
    "(select {1} from '{0}/original.parquet' intersect select {1} from '{0}/synthetic.parquet')"
)


class Measure(NamedTuple):
    """What is asked of the tables, with the same count by hand."""

    by_hand: str
    sets: list[tuple[str, ...]]
    """The sets of columns that are counted by hand, each in a query of its own."""
    keys: list[str]
    checks: list[Any]


def small_sets(most: int) -> list[tuple[str, ...]]:
    return [*chain.from_iterable(combinations(SIX_KEYS, size) for size in range(1, most + 1))]


MEASURES = {
    "replicated uniques": Measure(UNIQUES, [(*KEYS,)], KEYS, [kanon.ReplicatedUniques()]),
    "both kinds of attribution": Measure(
        TOLD, [(*KEYS,)], KEYS, [kanon.DisclosiveInSynthetic(), kanon.CorrectAttribution()]
    ),
    "copied records, 12 columns": Measure(COPIES, [(*ALL,)], KEYS, [kanon.CopiedRecords()]),
    **{
        f"singling out by {m} of 6 columns": Measure(
            UNIQUES, small_sets(m), SIX_KEYS, [kanon.SinglingOut(m=m)]
        )
        for m in (2, 3)
    },
}


def tables(records: int, data: Path) -> Path:
    """A folder with the three tables, made once."""
    folder = data / f"synthetic_of_people_{records}"
    if (folder / "synthetic.parquet").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("set threads = 1; select setseed(0.5)")
        for name, first, size in ("original", 0, records), ("holdout", records, records // 4):
            drawn = f"{RECORD}, n // 2 as person from range({first}, {first + size}) as numbers(n)"
            connection.execute(f"copy ({drawn}) to '{folder}/{name}.parquet'")
        copied = f"select * exclude person from '{folder}/original.parquet' limit {records // 100}"
        drawn = f"{RECORD} from range({records - records // 100})"
        connection.execute(
            f"copy (from ({copied}) union all {drawn}) to '{folder}/synthetic.parquet'"
        )
    return folder


def by_hand(measure: Measure, folder: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"set memory_limit = '{LIMIT}'")
        for columns in measure.sets:
            connection.execute(measure.by_hand.format(folder, ", ".join(columns))).fetchall()


def ask(folder: Path, measure: Measure, *, holdout: bool = True, people: bool = False) -> None:
    original = {"source": folder / "original.parquet", **({"entity": "person"} if people else {})}
    kanon.audit(
        folder / "synthetic.parquet",
        measure.keys,
        sensitive=[] if "diagnosis" in measure.keys else ["diagnosis"],
        original=original,
        holdout=folder / "holdout.parquet" if holdout else None,
        checks=measure.checks,
        memory_limit=LIMIT,
    )


def beside(found: Measured, other: Measured) -> str:
    return (
        f"{found.seconds:.1f} s ({found.processor / other.processor:.1f}-fold), "
        f"{found.gibibytes:.1f} GiB"
    )


def sections(options: argparse.Namespace) -> Iterator[tuple[str, Iterator[str]]]:
    folder = tables(options.records, options.data)

    def rows() -> Iterator[str]:
        yield "| measure | by hand | without a holdout | with one | people (of records) |"
        yield "|---|---|---|---|---|"
        for name, measure in MEASURES.items():
            hand = measured(partial(by_hand, measure, folder))
            without = measured(partial(ask, folder, measure, holdout=False))
            found = measured(partial(ask, folder, measure))
            people = measured(partial(ask, folder, measure, people=True))
            yield (
                f"| {name} | {hand.seconds:.1f} s | {beside(without, hand)} "
                f"| {beside(found, hand)} | {beside(people, found)} |"
            )

    yield f"{options.records:,} records", rows()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    publish(
        "Benchmarks of synthetic tables",
        sections(options),
        f"One run each under a memory limit of {LIMIT}, from the call to the result; an audit also "
        "opens the tables, counts the classes and compares the values of each column. In brackets "
        "the ratio of the processor time to that of the count by hand; of people to records.",
    )


if __name__ == "__main__":
    main()
