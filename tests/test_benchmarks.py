"""The benchmarks can be started: what they import is there, and each says what it measures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda script: script.stem)
def test_it_starts(script: Path) -> None:
    asked = [sys.executable, str(script), "--help"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr
    assert "Measures" in told.stdout
