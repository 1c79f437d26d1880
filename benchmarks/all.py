"""Measures everything that results.md has, and marks the tables that are older than the code.

    python benchmarks/all.py                      all parts, some hours on two cores
    python benchmarks/all.py --only audit,spark   these parts
    python benchmarks/all.py --mark               measure nothing, mark what is old

Each part is a script of this folder, which can be started by itself with options of its own. The
tables that are made lie in a folder of their own (`--data`), outside the checkout.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from results_file import HERE, mark_old

PARTS = {
    "audit": ["run.py", "--scale", "--peers"],
    "report": ["run.py", "--report", "--only", "pyCANON"],
    "anonymize": ["anonymize.py"],
    "postgres": ["warehouses.py", "postgres", "--rows", "10000000"],
    "spark": ["warehouses.py", "spark", "--rows", "1000000", "10000000", "100000000"],
    "spark-searches": ["warehouses.py", "spark", "--searches", "--rows", "2000000"],
    "duckdb-searches": ["warehouses.py", "duckdb", "--searches", "--rows", "2000000"],
    "subsets": ["subsets.py"],
    "optimal": ["optimal.py"],
    "tables": ["tables.py", "--records", "100000000"],
    "large": ["large.py"],
    "memory": ["large.py", "--rows", "100000000", "--pieces", "4", "--memory-limit", "2GiB"],
    "events": ["events.py", "--events", "10000000"],
    "synthetic": ["synthetic.py"],
    "assistant": ["assistant.py"],
    "explore": ["explore.py"],
}
"""Each part with its script and options."""
WITHOUT_TABLES = {"assistant"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--mark", action="store_true", help="measure nothing")
    parser.add_argument(
        "--data", type=Path, default=Path(tempfile.gettempdir()) / "kanon-sql-bench"
    )
    options = parser.parse_args()
    names = [] if options.mark else options.only.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    failed = []
    for name in names:
        script, *arguments = PARTS[name]
        data = [] if name in WITHOUT_TABLES else ["--data", str(options.data)]
        command = [sys.executable, str(HERE / script), *arguments, *data]
        print(f"--- {name}", flush=True)
        failed += [name] if subprocess.run(command, check=False).returncode else []
    for heading in mark_old():
        print(f"old: {heading}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
