"""Measures kanon-sql against what its user would otherwise do, as ratios of paired runs.

    python benchmarks/run.py                     the 10-million-row table, a few minutes
    python benchmarks/run.py --scale             also 1, 10 and 100 million rows under 2 GiB
    python benchmarks/run.py --peers             also pandas, polars and pyCANON, on the same data
    python benchmarks/run.py --only Starting     one section alone
    python benchmarks/run.py --report            also pyCANON's whole report, which takes minutes

Needs `pip install 'kanon-sql[bench]'`. Writes its part of benchmarks/results.md; the tables it
makes lie in a folder of their own (`--data`), outside the checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb
from results_file import publish

import kanon_sql as kanon

HERE = Path(__file__).parent
QUESTIONS = {
    "thousands of classes": ["age", "education", "marital_status"],
    "many classes": ["age", "sex", "race", "education", "occupation"],
    "millions of classes": ["zip", "age", "sex"],
    "nearly one a record": ["birth_date", "zip", "sex", "race", "education"],
    "eight columns": [
        "age", "sex", "race", "education", "marital_status", "occupation", "zip", "birth_date",
    ],
}  # fmt: skip
SENSITIVE = "diagnosis"
OTHER_SENSITIVE = ["occupation", "education", "marital_status", "race"]


def census(rows: int, folder: Path) -> Path:
    """The census-like table of so many rows, made once."""
    path = folder / f"census_{rows}.parquet"
    if not path.exists():
        query = (HERE / "census.sql").read_text().replace("$rows", str(rows))
        partial = path.with_suffix(".partial")
        duckdb.sql(query).write_parquet(str(partial), row_group_size=500_000)
        partial.rename(path)
    return path


def seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def paired(
    ours: Callable[[], object], theirs: Callable[[], object], runs: int, *, warm: bool = False
) -> Pair:
    """Both once to warm up, unless they are warm; then in turns, and the median of the ratios."""
    if not warm:
        ours(), theirs()
    return Pair.of([(seconds(theirs), seconds(ours)) for _ in range(runs)])


class Pair:
    """Medians of paired times in seconds, with the median of their ratios and its range."""

    def __init__(
        self, theirs: float, ours: float, ratio: float, ratios: Sequence[float] = ()
    ) -> None:
        self.theirs, self.ours, self.ratio, self.ratios = theirs, ours, ratio, ratios

    @classmethod
    def of(cls, times: Sequence[tuple[float, float]]) -> Pair:
        """The medians of paired times, theirs first."""
        ratios = [ours / theirs for theirs, ours in times]
        return cls(
            theirs=statistics.median(t for t, _ in times),
            ours=statistics.median(o for _, o in times),
            ratio=statistics.median(ratios),
            ratios=ratios,
        )

    @property
    def spread(self) -> str:
        """The ratio, with the smallest and the largest where there are three or more."""
        if len(self.ratios) < 3:
            return f"{self.ratio:.2f}"
        return f"{self.ratio:.2f} ({min(self.ratios):.2f} to {max(self.ratios):.2f})"

    def row(self, label: str) -> str:
        return f"| {label} | {self.theirs:.2f} s | {self.ours:.2f} s | {self.spread} |"


def by_hand(query: str) -> list[tuple[object, ...]]:
    """The query as an engineer runs it: in a connection of its own, as an audit does."""
    with duckdb.connect() as connection:
        return connection.execute(query).fetchall()


def one_question(path: Path, runs: int, *, insensitive: bool = False) -> Iterator[str]:
    """`audit --k` against the GROUP BY that an engineer would type; the other columns have no role,
    or are declared insensitive."""
    yield "| quasi-identifiers | GROUP BY | audit --k 5 | ratio |"
    yield "|---|---|---|---|"
    for label, columns in QUESTIONS.items():
        others = [column for column in columns_of(path) if column not in columns]
        plain = (
            f"select min(n) from (select {', '.join(columns)}, count(*) as n "
            f"from read_parquet('{path}') group by {', '.join(columns)})"
        )
        yield paired(
            lambda columns=columns, others=others: kanon.audit(
                path,
                quasi_identifiers=columns,
                checks=[kanon.KAnonymity(k=5)],
                insensitive=others if insensitive else [],
            ),
            lambda plain=plain: by_hand(plain),
            runs,
        ).row(f"{', '.join(columns)} ({label})")


def columns_of(path: Path) -> list[str]:
    return [name for name, *_ in by_hand(f"describe from '{path}'")]


def every_model(path: Path, runs: int) -> Iterator[str]:
    """All models of one sensitive attribute, and of three, against the plain GROUP BY; of one also
    against the query that an engineer would type for l-diversity."""
    yield (
        "| quasi-identifiers | GROUP BY | all models of one attribute | ratio "
        "| of three | one attribute beside count(distinct s) |"
    )
    yield "|---|---|---|---|---|---|"
    for label, columns in QUESTIONS.items():
        listed = ", ".join(columns)
        plain = (
            f"select min(n) from (select {listed}, count(*) as n "
            f"from read_parquet('{path}') group by {listed})"
        )
        distinct = (
            f"select min(n), min(d) from (select {listed}, count(*) as n, "
            f"count(distinct {SENSITIVE}) as d from read_parquet('{path}') group by {listed})"
        )
        others = [column for column in OTHER_SENSITIVE if column not in columns][:2]

        def audited(columns: list[str] = columns, more: tuple[str, ...] = ()) -> object:
            return kanon.audit(path, quasi_identifiers=columns, sensitive=[SENSITIVE, *more])

        by_distinct = paired(audited, lambda distinct=distinct: by_hand(distinct), runs)
        one = paired(audited, lambda plain=plain: by_hand(plain), runs, warm=True)
        three = paired(
            lambda columns=columns, others=others: audited(columns, tuple(others)),
            lambda plain=plain: by_hand(plain),
            max(1, runs // 2),
        )
        yield (
            f"| {listed} ({label}) | {one.theirs:.2f} s | {one.ours:.2f} s | {one.spread} "
            f"| {three.spread} | {by_distinct.spread} |"
        )


def startup(runs: int) -> Iterator[str]:
    """What it costs to start, against Python itself."""
    command = str(Path(sys.executable).parent / "kanon-sql")
    started = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import kanon_sql": [sys.executable, "-c", "import kanon_sql"],
        "kanon-sql --help": [command, "--help"],
        "kanon-sql audit --help": [command, "audit", "--help"],
    }
    yield "| started | milliseconds |"
    yield "|---|---|"
    for label, arguments in started.items():
        times = [
            seconds(lambda a=arguments: subprocess.run(a, check=True, capture_output=True))
            for _ in range(2 * runs + 1)
        ]
        yield f"| {label} | {1000 * statistics.median(times):.0f} |"


KEEPS_NOTHING = "PYTHONDONTWRITEBYTECODE"
IMPORTS = "import duckdb, sqlglot, jinja2, pydantic, yaml, rich"


def small_audit(runs: int) -> Iterator[str]:
    """A table of 200 records, by the processor time of the whole process, against that of
    importing what an audit is made of: the two in turn, so that both meet the same machine."""
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder) / "people.csv"
        rows = (f"0213{n % 4},{20 + n % 5},{'FM'[n % 2]},{n % 3}\n" for n in range(200))
        people.write_text("zip,age,sex,disease\n" + "".join(rows), encoding="utf-8")
        audit = ["audit", str(people), "--qi", "zip,age,sex", "--sensitive", "disease", "--k", "2"]
        commands = ([sys.executable, "-c", IMPORTS], [sys.executable, "-m", "kanon_sql", *audit])
        for command in commands:
            processor_seconds(command)
        pairs = [
            tuple(processor_seconds(command) for command in commands) for _ in range(2 * runs + 1)
        ]
    imports, audits = (statistics.median(each) for each in zip(*pairs, strict=True))
    ratio = statistics.median(audit / imported for imported, audit in pairs)
    yield "| imports alone | audit of 200 records | ratio (aim: 1.70) |"
    yield "|---|---|---|"
    yield f"| {1000 * imports:.0f} ms | {1000 * audits:.0f} ms | {ratio:.2f} |"


def processor_seconds(command: Sequence[str]) -> float:
    """The processor time that a process takes, its own and the system's for it. As where a package
    is installed, Python keeps what it compiles."""
    environment = {key: value for key, value in os.environ.items() if key != KEEPS_NOTHING}
    before = os.times()
    subprocess.run(command, check=False, capture_output=True, env=environment)
    after = os.times()
    return (
        after.children_user - before.children_user + after.children_system - before.children_system
    )


def scale(folder: Path) -> Iterator[str]:
    """1, 10 and 100 million rows: time and peak memory, under a limit of 2 GiB."""
    yield "| rows | quasi-identifiers | seconds | peak memory | seconds a million rows |"
    yield "|---|---|---|---|---|"
    for rows in (1_000_000, 10_000_000, 100_000_000):
        path = census(rows, folder)
        for label in ("thousands of classes", "nearly one a record"):
            measured = subprocess.run(
                [sys.executable, __file__, "--measure", str(path), *QUESTIONS[label]],
                check=True,
                capture_output=True,
                text=True,
            )
            took, peak = json.loads(measured.stdout)
            yield (
                f"| {rows:,} | {label} | {took:.1f} | {peak / 2**20:.2f} GiB "
                f"| {took / rows * 1e6:.3f} |"
            )


def measure(path: str, columns: list[str]) -> None:
    """One audit under a memory limit, in a process of its own."""
    took = seconds(
        lambda: kanon.audit(
            path,
            quasi_identifiers=columns,
            checks=[kanon.KAnonymity(k=5)],
            memory_limit="2GiB",
        )
    )
    json.dump([took, peak_memory()], sys.stdout)


def peak_memory() -> int:
    """The most memory that this process ever held, in KiB; Linux only.

    What `resource` tells outlives exec, so it would be the parent's.
    """
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))


def peers(folder: Path, runs: int) -> Iterator[str]:
    """pandas, polars and pyCANON on the same data and question; ours reads the file each time."""
    import pandas as pd
    import polars as pl

    yield "| rows | quasi-identifiers | by | theirs | audit --k 5 | ratio |"
    yield "|---|---|---|---|---|---|"
    for rows in (100_000, 1_000_000):
        path = census(rows, folder)
        frame = pd.read_parquet(path)
        for label, columns in QUESTIONS.items():
            theirs = {
                "pandas groupby": lambda f=frame, c=columns: (
                    f.groupby(c, dropna=False, observed=True).size().min()
                ),
                "polars group_by": lambda p=path, c=columns: (
                    pl.scan_parquet(p).group_by(c).len().select(pl.col("len").min()).collect()
                ),
            }
            for name, action in theirs.items():
                yield peer(path, columns, action, runs).row(f"{rows:,} | {label} | {name}")
        columns = QUESTIONS["many classes"]
        try:
            from pycanon import anonymity
        except ImportError:
            continue
        pair = peer(path, columns, lambda f=frame, c=columns: anonymity.k_anonymity(f, c), 1)
        yield pair.row(f"{rows:,} | many classes | pyCANON k_anonymity")


def peer(path: Path, columns: list[str], theirs: Callable[[], object], runs: int) -> Pair:
    def ours() -> object:
        return kanon.audit(path, quasi_identifiers=columns, checks=[kanon.KAnonymity(k=5)])

    return paired(ours, theirs, runs)


def pycanon_report(folder: Path, adult: Path | None) -> Iterator[str]:
    """Everything that pyCANON reports against everything that an audit does; minutes."""
    import pandas as pd
    from pycanon import report

    columns = ["age", "education", "occupation", "sex", "race"]
    tables = [(f"census, {rows:,} rows", census(rows, folder), columns) for rows in (1_000_000,)]
    if adult is not None:
        known = ["age", "education", "marital-status", "sex", "race"]
        tables.insert(0, ("Adult, 32,561 rows, occupation", adult, known))
    yield "| table | pyCANON's report | audit of all models | ratio |"
    yield "|---|---|---|---|"
    for label, path, known in tables:
        sensitive = "occupation" if path.suffix == ".csv" else SENSITIVE
        frame = pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)
        theirs = seconds(lambda f=frame, q=known, s=sensitive: report.print_report(f, q, [s]))
        ours = seconds(
            lambda p=path, q=known, s=sensitive: kanon.audit(p, quasi_identifiers=q, sensitive=[s])
        )
        yield Pair(theirs, ours, ours / theirs).row(label)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    parser.add_argument("--only", default="", help="the sections with this in their heading alone")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--report", action="store_true", help="pyCANON's whole report; minutes")
    parser.add_argument("--adult", type=Path, help="the UCI Adult CSV, for --report")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure[0], options.measure[1:])
        return
    options.data.mkdir(parents=True, exist_ok=True)
    path, rows, runs = census(options.rows, options.data), options.rows, options.runs
    sections = {
        f"One question, {rows:,} rows": one_question(path, runs),
        f"One question, the other columns insensitive, {rows:,} rows": one_question(
            path, runs, insensitive=True
        ),
        f"Every model, {rows:,} rows": every_model(path, max(3, runs // 2)),
        "Starting": startup(runs),
        "A small audit": small_audit(runs),
    }
    if options.scale:
        sections["Size, memory limit 2 GiB"] = scale(options.data)
    if options.peers:
        sections["What people use today"] = peers(options.data, max(3, runs // 2))
    if options.report:
        report = pycanon_report(options.data, options.adult)
        sections["Everything that pyCANON reports"] = report
    asked = options.only.casefold()
    publish("Benchmarks", [each for each in sections.items() if asked in each[0].casefold()])


if __name__ == "__main__":
    main()
