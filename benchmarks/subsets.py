"""Measures the profile of all small sets of columns, and the search for special uniques.

    python benchmarks/subsets.py                    all of it, some minutes
    python benchmarks/subsets.py --rows 1000000     with fewer rows in the largest table

Writes its part of benchmarks/results.md; the tables it makes lie in a folder of their own
(`--data`), outside the checkout. UCI Adult is looked for in `--examples`: $KANON_SQL_DATA, or
shared/data beside the checkout.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
from results_file import publish
from run import HERE, census, seconds

import kanon_sql as kanon

ADULT = [
    *("sex", "age", "race", "marital-status", "education", "native-country", "workclass"),
    *("occupation", "salary-class"),
]
CENSUS = [
    *("age", "sex", "race", "education", "marital_status", "occupation", "zip", "birth_date"),
    "diagnosis",
]
VALUES = [2, 2, 3, 3, 5, 5, 7, 7, 10, 10, 15, 15, 20, 20, 50, 50, 70, 100, 100, 30]
"""How many values each column of the wide table has, skewed."""
WIDE_ROWS = 1_000_000


def wide(folder: Path) -> Path:
    """A table of twenty columns, made once."""
    path = folder / "twenty_columns.parquet"
    if not path.exists():
        columns = ", ".join(
            f"cast(floor({values} * pow(hash(n || ':{place}') / 18446744073709551616, 2))"
            f" as integer) as c{place}"
            for place, values in enumerate(VALUES)
        )
        partial = path.with_suffix(".partial")
        duckdb.sql(f"select {columns} from range({WIDE_ROWS}) as numbers(n)").write_parquet(
            str(partial)
        )
        partial.rename(path)
    return path


def row(what: str, data: Path, columns: list[str], **asked: Any) -> str:
    found: list[Any] = []

    def ask() -> None:
        found.append(kanon.profile(data, columns=columns, **asked).tables[0])

    took = seconds(ask)
    sets = found[0].subsets or ()
    special = found[0].special_uniques
    uniques = f"{sum(each.minimal_sample_uniques for each in special.by_size):,}" if special else ""
    return f"| {what} | {f'{len(sets):,}' if sets else ''} | {uniques} | {took:.2f} s |"


def sections(options: argparse.Namespace) -> Iterator[tuple[str, Iterator[str]]]:
    heading = ["| what is asked | sets | minimal sample uniques | time |", "|---|---|---|---|"]

    def adult() -> Iterator[str]:
        yield from heading
        path = options.examples / "arx_adult" / "adult.csv"
        for size in (2, 3, 9):
            yield row(f"subsets {size}", path, ADULT, subsets=size)
            yield row(f"suda {size}", path, ADULT, suda=size)

    def large() -> Iterator[str]:
        yield from heading
        yield row(f"20 columns, {WIDE_ROWS:,} rows, subsets 3", wide(options.data),
                  [f"c{place}" for place in range(20)], subsets=3)  # fmt: skip
        path = census(options.rows, options.data)
        yield row(f"9 columns, {options.rows:,} rows, subsets 3", path, CENSUS, subsets=3)

    if (options.examples / "arx_adult").is_dir():
        yield "UCI Adult, 30,162 rows, 9 columns", adult()
    else:
        print(f"{options.examples}: no Adult there, so it is left out.")
    yield "Large tables", large()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    parser.add_argument(
        "--examples",
        type=Path,
        default=Path(os.environ.get("KANON_SQL_DATA", HERE.parents[1] / "shared" / "data")),
    )
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    publish(
        "Benchmarks of subsets",
        sections(options),
        "One run each, from the call to the result, all of the profile.",
    )


if __name__ == "__main__":
    main()
