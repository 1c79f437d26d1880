"""Measures the steps of the local page, each against a plain GROUP BY of the same run.

    python benchmarks/explore.py                    a million and ten million records
    python benchmarks/explore.py --rows 1000000

Writes its part of benchmarks/results.md. The table is the worst case for a frequency set: nearly
every record is alone in zip, date of birth, sex and ward. Times are seconds of processor, as the
answers of two cores differ less by them than by the clock.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
from results_file import publish

from kanon_sql.anonymizing.look import Look
from kanon_sql.engines.run_options import RunOptions
from kanon_sql.explore.address import Question
from kanon_sql.explore.door import Door
from kanon_sql.explore.table import ExploredTable
from kanon_sql.explore.turns import Turns
from kanon_sql.explore.view import PageView
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import LDiversity
from kanon_sql.question.spec import AuditSpec
from kanon_sql.question.table import TableSpec

QUIET = 0.05
"""Seconds below which a step tells nothing of how it grows."""
COLUMNS = ("zip", "birth_date", "sex", "ward")
BUILDERS = {"zip": "mask:right", "birth_date": "date:month,year,5y,10y"}


def patients(rows: int, folder: Path) -> Path:
    """The table, made once."""
    path = folder / f"explored_{rows}.parquet"
    if not path.exists():
        drawn = "hash(n || ':{}') % {}"
        columns = {
            "zip": f"lpad(cast(10000 + {drawn.format('z', 3000)} as varchar), 5, '0')",
            "birth_date": f"date '1930-01-01' + cast({drawn.format('b', 31000)} as integer)",
            "sex": f"['f', 'm', 'd'][1 + cast({drawn.format('s', 3)} as integer)]",
            "ward": f"'ward ' || {drawn.format('w', 14)}",
            "diagnosis": f"'D' || {drawn.format('d', 400)}",
        }
        chosen = ", ".join(f"{sql} as {name}" for name, sql in columns.items())
        duckdb.sql(f"select {chosen} from range({rows}) as numbers(n)").write_parquet(str(path))
    return path


def processor(call: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor of all threads, and the answer."""
    started = time.process_time()
    answer = call()
    return time.process_time() - started, answer


def plain(path: Path) -> float:
    """The sizes of the classes by these columns, without anything of this package."""
    columns = ", ".join(COLUMNS)
    classes = f"select count(*) as size from '{path}' group by {columns}"
    sizes = f"select size, count(*) from ({classes}) group by size"
    return min(processor(lambda: duckdb.sql(sizes).fetchall())[0] for _ in range(3))


def steps(rows: int, folder: Path, smaller: dict[str, float]) -> Iterator[str]:
    """A row for each step. `smaller` has the seconds of each at the size before, then of this."""
    yield "| step | processor | times plain | target | times the size before (≤ 12) | clock |"
    yield "|---|---|---|---|---|---|"
    path = patients(rows, folder)
    unit = plain(path)
    yield f"| plain: `group by` the four columns, and its sizes | {unit:.2f} s | 1 | | | |"
    turns = Turns()
    table = ExploredTable(TableSpec(source=str(path)), RunOptions(), turns)
    question = Question(
        {**dict.fromkeys(COLUMNS, "qi"), "diagnosis": "sensitive"}, BUILDERS, k=5, l=2
    )
    turns.ask(table.start).value()
    spec = AuditSpec(tables=[table.spec(question)])

    def row(what: str, call: Callable[[], Any], target: str = "") -> tuple[str, Any]:
        started = time.monotonic()
        seconds, answer = processor(call)
        clock = time.monotonic() - started
        growth = f"{seconds / smaller[what]:.1f}" if smaller.get(what, 0) > QUIET else ""
        smaller[what] = seconds
        return (
            f"| {what} | {seconds:.2f} s | {seconds / unit:.1f} | {target} | {growth} "
            f"| {clock:.3f} s |",
            answer,
        )

    line, look = row("first look", lambda: Look.open(spec, RunOptions()), "≤ 8")
    yield line
    checks = [KAnonymity(k=5), LDiversity(l=2, sensitive="diagnosis")]
    with closing(look):
        coarse, medium = {"zip": 3, "birth_date": 3}, {"zip": 2, "birth_date": 2}
        yield row("audit at raw values, with l", lambda: look.audit({}, checks), "≤ 3")[0]
        yield row("audit at year and three digits, with l", lambda: look.audit(medium, checks),
                  "≤ 1.5")[0]  # fmt: skip
        yield row("audit at 5 years and two digits, with l", lambda: look.audit(coarse, checks),
                  "≤ 1.5")[0]  # fmt: skip
        yield row("sizes alone, at year and three digits",
                  lambda: look.audit(medium, checks[:1], sensitive=False), "≤ 0.6")[0]  # fmt: skip
        nodes = [{**medium, name: level} for name, levels in look.levels().items()
                 for level in range(len(levels))]  # fmt: skip
        yield row(f"what each of {len(nodes)} levels gives", lambda: look.below(nodes, 5), "≤ 5")[0]
    door = Door(0, table, turns)
    at = question.at(medium)
    for route in ("/columns", "/risk", "/levels", "/evidence"):
        for word in ("the page", "again"):
            yield row(f"{word} {route}", lambda route=route: turns.ask(
                lambda: door.answer(PageView(table, route, at), None)).value())[0]  # fmt: skip
    door.server_close()
    turns.end(table.close, 60)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    smaller: dict[str, float] = {}
    publish(
        "Benchmarks of explore",
        [(f"{rows:,} records", steps(rows, options.data, smaller)) for rows in options.rows],
        "One run each; plain is the best of three.",
    )


if __name__ == "__main__":
    main()
