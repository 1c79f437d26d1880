"""Measures a synthetic table beside its original, beside the same counts by hand.

    python benchmarks/synthetic.py                       a million records, a minute
    python benchmarks/synthetic.py --records 10000000    ten million: an hour on two cores

Writes its part of benchmarks/results.md; the tables it makes lie in a folder of their own
(`--data`), outside the checkout. By hand: each table is grouped by the keys (or the keys with the
target, or all columns) and the groups are joined. One in a hundred records is a copy; the holdout
has a quarter of the records.

Aims, with a holdout at ten million: replicated uniques 2.2 times by hand, both kinds of
attribution 3 times, copied records 2.5 times. Singling out has no count by hand of its own: it
stands beside the uniques of all keys.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from events import LIMIT, measured
from results_file import publish

import kanon_sql as kanon

KEYS = ["age", "zip", "sex", "school"]
RECORD = (
    "select floor(random() * 110)::int as age, 'z' || floor(random() * random() * 900)::int as zip,"
    " floor(random() * 2)::int as sex, 'e' || floor(random() * 16)::int as school,"
    " 't' || floor(random() * random() * 60)::int as diagnosis,"
    " floor(random() * 1e6)::int as income, floor(random() * 366)::int as day from range({0})"
)
UNIQUES = (
    "with o as (select {1} from '{0}/original.parquet' group by all having count(*) = 1), "
    "s as (select {1} from '{0}/synthetic.parquet' group by all having count(*) = 1) "
    "select count(*) from o natural join s"
)
TOLD = (
    "with s as (select {1}, min(diagnosis) as told, count(distinct diagnosis) as values "
    "from '{0}/synthetic.parquet' group by {1}) select count(*), sum((told = diagnosis)::int) "
    "from '{0}/original.parquet' as o natural join s where values = 1"
)
COPIES = (
    "select count(*) from '{0}/original.parquet' as o semi join '{0}/synthetic.parquet' as s "
    "using ({1})"
)
ALL = [*KEYS, "diagnosis", "income", "day"]
MEASURES: dict[str, tuple[str, list[str], Any]] = {
    "replicated uniques": (UNIQUES, KEYS, kanon.ReplicatedUniques()),
    "disclosive in synthetic": (TOLD, KEYS, kanon.DisclosiveInSynthetic(sensitive="diagnosis")),
    "correct attribution": (TOLD, KEYS, kanon.CorrectAttribution(sensitive="diagnosis")),
    "copied records": (COPIES, ALL, kanon.CopiedRecords()),
    "singling out, m = 2 (beside uniques)": (UNIQUES, KEYS, kanon.SinglingOut(m=2)),
}
"""Each measure with the SQL by hand, its columns and the check."""


def tables(records: int, data: Path) -> Path:
    """A folder with the three tables, made once."""
    folder = data / f"synthetic_{records}"
    if (folder / "synthetic.parquet").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("set threads = 1; select setseed(0.5)")
        for name, size in {"original": records, "holdout": records // 4}.items():
            connection.execute(f"copy ({RECORD.format(size)}) to '{folder}/{name}.parquet'")
        copied = f"(select * from '{folder}/original.parquet' limit {records // 100})"
        drawn = RECORD.format(records - records // 100)
        connection.execute(
            f"copy (from {copied} union all {drawn}) to '{folder}/synthetic.parquet'"
        )
    return folder


def by_hand(sql: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"set memory_limit = '{LIMIT}'")
        connection.execute(sql).fetchall()


def ask(folder: Path, check: Any, *, with_holdout: bool) -> None:
    kanon.audit(
        folder / "synthetic.parquet",
        KEYS,
        sensitive="diagnosis",
        original=folder / "original.parquet",
        holdout=folder / "holdout.parquet" if with_holdout else None,
        checks=[check],
        memory_limit=LIMIT,
    )


def sections(options: argparse.Namespace) -> Iterator[tuple[str, Iterator[str]]]:
    folder = tables(options.records, options.data)

    def rows() -> Iterator[str]:
        yield "| measure | by hand | without a holdout | with one |"
        yield "|---|---|---|---|"
        for name, (sql, columns, check) in MEASURES.items():
            hand = measured(partial(by_hand, sql.format(folder, ", ".join(columns))))
            found = [
                measured(partial(ask, folder, check, with_holdout=has)) for has in (False, True)
            ]
            cells = [
                f"{each.seconds:.2f} s ({each.seconds / hand.seconds:.1f}-fold), "
                f"{each.gibibytes:.1f} GiB"
                for each in found
            ]
            yield f"| {name} | {hand.seconds:.2f} s | {' | '.join(cells)} |"

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
        "the ratio to the count by hand.",
    )


if __name__ == "__main__":
    main()
