"""Measures the checks on published tables beside the plain query of the same table.

    python benchmarks/tables.py                        ten million records, a million cells
    python benchmarks/tables.py --records 100000000    what the aims are about

Writes its part of benchmarks/results.md (`--print` only prints it); the tables it makes lie in a
folder of their own (`--data`), outside the checkout. Each ratio is the median of runs in turn: ours
from the call to the result, the plain query in DuckDB into a temporary table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import duckdb
from results_file import machine, publish
from run import paired

import kanon_sql as kanon

BY = ("region", "sector", "year", "size")
RECORDS = """
select
    'r' || hash(n) % 16 as region,
    's' || hash(n + 1) % 20 as sector,
    2000 + hash(n + 2) % 10 as year,
    'z' || hash(n + 3) % 5 as size,
    hash(n + 4) % ({0} // 4 + 1) as firm,
    cast(pow(hash(n + 5) % 1000 + 1, 1.5) as bigint) as turnover
from range({0}) as numbers(n)
"""
RULES = (
    kanon.MinContributors(n=10), kanon.Dominance(n=2, k=90), kanon.PPercent(p=10),
)  # fmt: skip
INNER = (
    "select region, sector, year, size, count(*) as n, sum(turnover) as turnover "
    "from '{0}' group by all"
)
TWO_LEVELS = """
select region, sector, year, size, count(*) as n, sum(turnover) as turnover, max(turnover) as most
from (
    select region, sector, year, size, firm, sum(turnover) as turnover
    from '{0}'
    group by all
)
group by all
"""
OF_CELLS = """
select
    case when grouping(a) = 1 then 'Total' else a end as a,
    case when grouping(b) = 1 then 'Total' else b end as b,
    case when grouping(c) = 1 then 'Total' else c end as c,
    sum(n) as n
from (
    select
        'a' || i as a,
        'b' || j as b,
        'c' || k as c,
        10 + hash(i * 1000000 + j * 1000 + k) % 90 as n
    from range({0}) as x(i), range({0}) as y(j), range({0}) as z(k)
)
group by cube(a, b, c)
"""
STARRED = "select a, b, c, case when hash(a || b || c) % 500 <> 0 then n end as n from '{0}'"
LATER = "select a, b, c, n + 20 * (hash(c || a) % 2) as n from '{0}'"
CUBE = """
select a, b, c, sum(n) as n
from '{0}'
where a <> 'Total' and b <> 'Total' and c <> 'Total'
group by cube(a, b, c)
"""
JOIN = (
    "select count(*) filter (where here.n <> there.n and abs(here.n - there.n) < 10) as n "
    "from '{0}' as here join '{1}' as there using (a, b, c)"
)
CELLS = {"by": ("a", "b", "c"), "value": "n", "published": True, "total_label": "Total"}


class Made(NamedTuple):
    """The tables of a run."""

    records: Path
    cells: Path
    starred: Path
    later: Path


def made(folder: Path, records: int, side: int) -> Made:
    """The tables, each made once."""

    def table(name: str, sql: str) -> Path:
        path = folder / name
        if not path.exists():
            unfinished = path.with_suffix(".partial")
            duckdb.sql(sql).write_parquet(str(unfinished))
            unfinished.rename(path)
        return path

    cells = table(f"cells_{side}.parquet", OF_CELLS.format(side))
    return Made(
        table(f"turnover_{records}.parquet", RECORDS.format(records)),
        cells,
        table(f"starred_{side}.parquet", STARRED.format(cells)),
        table(f"later_{side}.parquet", LATER.format(cells)),
    )


def plain(sql: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"create temp table found as {sql}")


def command(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "kanon_sql", *arguments], check=True, capture_output=True)


def questions(tables: Made) -> Iterator[tuple[str, float, Callable[[], object], str]]:
    """Each question with its aim, and the plain query beside it."""
    records = str(tables.records)
    yield (
        "all 16 margins of 4 dimensions: threshold, (2,90), p% | `group by` of the 4",
        2.5,
        partial(kanon.tables, records, BY, value="turnover", checks=RULES),
        INNER.format(records),
    )
    yield (
        "inner cells of contributors: threshold, (2,90), p% | `group by` in two levels",
        1.5,
        partial(
            kanon.tables, records, BY,
            value="turnover", contributor="firm", margins="none", checks=RULES,
        ),
        TWO_LEVELS.format(records),
    )  # fmt: skip
    yield (
        "subtraction to the fixpoint | `group by cube` that makes the cells",
        3,
        partial(kanon.tables, str(tables.starred), **CELLS, suppressed=[None], derivable=True),
        CUBE.format(tables.cells),
    )
    yield (
        "differences of two tables | their join",
        3,
        partial(
            kanon.tables, str(tables.cells), **CELLS, against=str(tables.later), min_difference=10
        ),
        JOIN.format(tables.cells, tables.later),
    )


def ratios(tables: Made, runs: int) -> Iterator[str]:
    yield "| question | plain query | ours | plain | ratio | aim, at most |"
    yield "|---|---|---|---|---|---|"
    for name, aim, ours, sql in questions(tables):
        pair = paired(ours, partial(plain, sql), runs)
        yield (f"| {name} | {pair.ours:.2f} s | {pair.theirs:.2f} s | {pair.ratio:.2f} | {aim:g} |")


def of_policy(runs: int) -> Iterator[str]:
    yield "| command | time | beside `--version` | more by | aim, at most |"
    yield "|---|---|---|---|---|"
    pair = paired(partial(command, "policy", "cms-cell-11"), partial(command, "--version"), runs)
    more = pair.ours - pair.theirs
    yield (
        f"| `policy cms-cell-11` | {pair.ours:.2f} s | {pair.theirs:.2f} s | {more:.2f} s | 0.3 s |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--side", type=int, default=100, help="labels of each of 3 dimensions")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--print", action="store_true", help="leave results.md as it is")
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    tables = made(options.data, options.records, options.side)
    cells = (options.side + 1) ** 3
    sections = [
        (f"{options.records:,} records, {cells:,} cells", ratios(tables, options.runs)),
        ("A policy", of_policy(options.runs)),
    ]
    if options.print:
        print(machine())
        for heading, rows in sections:
            print(f"\n## {heading}\n", *rows, sep="\n", flush=True)
        return
    publish("Benchmarks of published tables", sections)


if __name__ == "__main__":
    main()
