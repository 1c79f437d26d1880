"""How long the best levels of ARX's Adult take: nine quasi-identifiers, 12,960 choices, k = 5.

    KANON_SQL_DATA=FOLDER python benchmarks/optimal.py

Prints for each metric and share that may be suppressed: the nodes looked at, what is lost, and the
seconds of the whole process, from its start to the re-audit of the release that it writes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

COLUMNS = (
    "sex", "age", "race", "marital-status", "education",
    "native-country", "workclass", "occupation", "salary-class",
)  # fmt: skip
METRICS = ("loss", "loss_geometric", "precision", "non_uniform_entropy")
SHARES = ("0%", "1%", "5%")


def main() -> None:
    data = Path(os.environ["KANON_SQL_DATA"]) / "arx_adult"
    hierarchies = [
        part
        for name in COLUMNS
        for part in ("--hierarchy", f"{name}={data / f'adult_hierarchy_{name}.csv'}")
    ]
    print("| metric | suppressed at most | nodes looked at | lost | seconds |")
    print("|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        for metric in METRICS:
            for share in SHARES:
                command = [
                    sys.executable, "-m", "kanon_sql", "anonymize", str(data / "adult.csv"),
                    "--qi", ",".join(COLUMNS), *hierarchies, "--k", "5", "--algorithm", "optimal",
                    "--metric", metric, "--max-suppressed", share, "--format", "json",
                    "--output", str(Path(folder) / "release.parquet"), "--force",
                ]  # fmt: skip
                began = time.monotonic()
                run = subprocess.run(command, capture_output=True, text=True, check=True)
                seconds = time.monotonic() - began
                found = json.loads(run.stdout)["anonymization"]
                looked, value = found["search"]["looked_at"], found["metrics"][metric]
                print(
                    f"| {metric} | {share} | {looked:,} | {value:.6f} | {seconds:.1f} |", flush=True
                )


if __name__ == "__main__":
    main()
