"""Measures checks on event tables beside the same counts by hand.

    python benchmarks/events.py                      a million events, some minutes
    python benchmarks/events.py --events 10000000    ten million: an hour on two cores

Writes its part of benchmarks/results.md; the tables it makes lie in a folder of their own
(`--data`), outside the checkout. By hand: plain groups by the event and counts different people;
pairs joins the different pairs of person and event with themselves and groups by both events. Each
measure runs in a process of its own, for its peak memory.

Aims: k^m-anonymity of two events 2 times the pairs, two known events 3.5 times, one known event 2
times plain, four drawn ones 6 times plain at ten million events; the event of half of the people
1.3 times the table without it, the person of 10,000 events 2.5 times; memory the limit + 0.5 GiB.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow
from results_file import publish
from run import seconds

import kanon_sql as kanon

LIMIT = "4GB"
EACH = 100
"""Events of a person, in most tables."""
TABLES = {
    # A table's name, with the SQL of the event of record n, if there are so many records.
    "400,000 places a million": "hash(n) % ({0} * 2 // 5)",
    "4,000 places": "hash(n) % 4000",
    "a power law": "cast(floor({0} / 25 * pow(hash(n) / 18446744073709551616, 4)) as bigint)",
    "4,000 places and one of half of the people": (
        "case when n % {1} = 0 and n // {1} % 2 = 0 then -1 else hash(n) % 4000 end"
    ),
    "400,000 places a million and a person of 10,000": "hash(n) % ({0} * 2 // 5)",
    "1,440 kinds of visits, 10 a person": "hash(n) % 1440",
}
EACH_OF = {"1,440 kinds of visits, 10 a person": 10}
"""Events of a person where they are others."""
PLAIN = "select event, count(distinct person) as people from '{0}' group by event"
PAIRS = (
    "with held as (select distinct person, event from '{0}') "
    "select count(*) from (select 1 from held as one join held as other "
    "on other.person = one.person and other.event > one.event group by one.event, other.event)"
)


WARM = pyarrow.table({"person": [1, 1, 2], "event": [1, 2, 1]})
"""A table that is asked first, so that what is loaded once is not measured."""


class Measured(NamedTuple):
    """The time, the peak memory and the processor time of one measure."""

    seconds: float
    gibibytes: float
    processor: float


def table(name: str, records: int, folder: Path) -> Path:
    """An event table, made once."""
    path = folder / f"events_{records}_{list(TABLES).index(name)}.parquet"
    if not path.exists():
        event = TABLES[name].format(records, EACH)
        person = f"n // {EACH_OF.get(name, EACH)}"
        more = (
            f" union all select -1, hash(-n) % ({records} * 2 // 5) from range(1, 10001) as m(n)"
            if name.endswith("10,000")
            else ""
        )
        partial_file = path.with_suffix(".partial")
        sql = (
            f"select {person} as person, {event} as event from range({records}) as numbers(n){more}"
        )
        duckdb.sql(sql).write_parquet(str(partial_file))
        partial_file.rename(path)
    return path


def by_hand(sql: str, path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"set memory_limit = '{LIMIT}'")
        connection.execute(f"create temp table found as {sql.format(path)}")


def ask(path: Path, *checks: Any) -> None:
    kanon.audit(
        path, entity="person", events=["event"], checks=list(checks), memory_limit=LIMIT
    ).raise_if_violated()


def _measure(what: Callable[[], None], answer: Any) -> None:
    kanon.audit(WARM, entity="person", events=["event"])
    started = time.process_time()
    took = seconds(what)
    processor = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    answer.send(Measured(took, peak, processor))


def measured(what: Callable[[], None]) -> Measured:
    """The measure of a call in a process of its own."""
    mine, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=_measure, args=(what, theirs))
    process.start()
    theirs.close()
    try:
        found: Measured = mine.recv()
    finally:
        process.join()
    return found


def row(name: str, path: Path) -> str:
    plain = measured(partial(by_hand, PLAIN, path))
    pairs = measured(partial(by_hand, PAIRS, path))
    found = {
        "k²": (measured(partial(ask, path, kanon.KmAnonymity(m=2))), pairs),
        "m = 2": (measured(partial(ask, path, kanon.KnownEvents(m=2))), pairs),
        "m = 1": (measured(partial(ask, path, kanon.KnownEvents(m=1))), plain),
        "m = 4": (measured(partial(ask, path, kanon.KnownEvents(m=4))), plain),
    }
    cells = [
        f"{each.seconds:.2f} s ({each.seconds / other.seconds:.1f}-fold), {each.gibibytes:.1f} GiB"
        for each, other in found.values()
    ]
    return f"| {name} | {plain.seconds:.2f} s | {pairs.seconds:.2f} s | {' | '.join(cells)} |"


def sections(options: argparse.Namespace) -> Iterator[tuple[str, Iterator[str]]]:
    def rows() -> Iterator[str]:
        yield (
            "| events | plain by hand | pairs by hand | k^m-anonymity, m = 2 (pairs) "
            "| known events, m = 2 (pairs) | m = 1 (plain) | drawn, m = 4 (plain) |"
        )
        yield "|---|---|---|---|---|---|---|"
        for name in TABLES:
            yield row(name, table(name, options.events, options.data))

    yield f"{options.events:,} events, {EACH} a person", rows()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    publish(
        "Benchmarks of known events",
        sections(options),
        f"One run each under a memory limit of {LIMIT}, from the call to the result; an audit also "
        "counts the events and the combinations to expand. In brackets the ratio to the count by "
        "hand of the same row.",
    )


if __name__ == "__main__":
    main()
