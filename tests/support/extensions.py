"""An environment whose DuckDB has extensions, for the scripts that need them."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXTENSIONS = ("avro", "aws", "azure", "delta", "httpfs", "iceberg")
PACKAGES = (
    "duckdb==1.5.5",
    *(f"duckdb-extension-{name}==1.5.5" for name in EXTENSIONS),
    "deltalake==1.6.6",
    "pyiceberg[sql-sqlite,pyarrow]==0.12.0",
    "moto[s3]>=5.2",  # with what its server needs for S3 alone
    "flask>=3",
    "flask-cors>=5",
)
SUPPORT = Path(__file__).parent


def figures_of(script: str, factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a script of this folder prints in the environment, with a folder of its own."""
    environment = _environment(factory)
    folder = factory.mktemp("extensions")
    (folder / "home").mkdir()
    (folder / "tables").mkdir()
    said = subprocess.run(
        [environment / "bin" / "python", SUPPORT / script, folder / "tables"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "HOME": str(folder / "home")},
    )
    assert said.returncode == 0, said.stderr
    figures: dict[str, Any] = json.loads(said.stdout)
    return figures


def _environment(factory: pytest.TempPathFactory) -> Path:
    """The environment, which is made once for all processes of a run."""
    base = factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    environment = shared / "extensions-venv"
    with (shared / "extensions.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (environment / "complete").exists():
            subprocess.run([sys.executable, "-m", "venv", environment], check=True)
            pip = [environment / "bin" / "pip", "install", "--quiet"]
            installed = subprocess.run(
                [*pip, *PACKAGES, str(SUPPORT.parents[1])], capture_output=True, text=True
            )
            if installed.returncode:
                pytest.skip("DuckDB's extensions can't be installed here")
            (environment / "complete").touch()
    return environment
