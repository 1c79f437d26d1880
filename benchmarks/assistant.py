"""Measures the server for assistants: from its start to the first answer, and an answer.

    python benchmarks/assistant.py

On the demo's patients: `kanon-sql mcp` over stdio, asked by the SDK's client, beside the same
audit in a process that runs. Writes its part of benchmarks/results.md. Aims: 1 s to the first
answer, and 50 ms for an answer besides its audit.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from results_file import publish
from run import seconds

import kanon_sql as kanon
from kanon_sql.cli import demo

SETS = [[], ["zip"], ["sex"], ["birth_year"], ["zip", "sex"]]
"""Questions that differ, as a repetition comes from the log."""


async def asked(folder: Path, log: str) -> tuple[float, list[float]]:
    """Seconds from the start to the first answer, and of each audit, refused ones too."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kanon_sql", "mcp", demo.SPEC, "--log", log],
        cwd=str(folder),
    )
    started, times = perf_counter(), []
    async with Client(stdio_client(server)) as client:
        await client.call_tool("tables", {})
        first = perf_counter() - started
        for without in SETS:
            before = perf_counter()
            await client.call_tool("audit", {"table": "patients", "without": without})
            times.append(perf_counter() - before)
    return first, times[1:]


def rows(folder: Path, runs: int) -> Iterator[str]:
    yield "| first answer | an answer | its audit alone | besides |"
    yield "|---|---|---|---|"
    found = [asyncio.run(asked(folder, f"questions{number}.jsonl")) for number in range(runs)]
    spec = kanon.AuditSpec.from_file(folder / demo.SPEC)
    alone = statistics.median(seconds(lambda: kanon.audit(spec)) for _ in range(runs + 1))
    first = statistics.median(each for each, _ in found)
    answer = statistics.median(each for _, times in found for each in times)
    yield (
        f"| {first:.2f} s | {answer * 1000:.0f} ms | {alone * 1000:.0f} ms "
        f"| {(answer - alone) * 1000:.0f} ms |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        demo.write(folder)
        publish(
            "Benchmarks of the server for assistants",
            [("The demo, 2,000 records", rows(folder, options.runs))],
            "Median of the runs.",
        )


if __name__ == "__main__":
    main()
