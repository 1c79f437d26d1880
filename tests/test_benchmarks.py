"""The benchmarks can be started: what they import is there, and each says what it measures."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
BENCHMARKS = sorted(path for path in FOLDER.glob("*.py") if "__main__" in path.read_text("utf-8"))


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda script: script.stem)
def test_it_starts(script: Path) -> None:
    asked = [sys.executable, str(script), "--help"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)

    assert told.returncode == 0, told.stderr
    assert "Measures" in told.stdout


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    import results_file

    return results_file


def test_every_part_says_which_files_it_measures(results: ModuleType) -> None:
    named = {name for files in results.MEASURED_FILES.values() for name in files}

    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    for title in results.read():
        assert results.files_of(title)


def test_a_table_older_than_the_code_is_marked(
    results: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.md")
    monkeypatch.setattr(
        results, "git", lambda *words: "" if words[0] != "diff" or "cafe" in words else "a file"
    )
    results.write("Benchmarks", "New", ["Commit cafe, 2026-01-02.", "", "| 1 |"])
    results.write("Benchmarks", "Old", ["Commit beef, 2026-01-01.", "", "| 2 |"])
    results.write("Benchmarks", "Older", ["| 3 |"])

    assert [results.mark_old() for _ in range(2)] == [["Benchmarks: Old", "Benchmarks: Older"]] * 2

    mark = f"**{results.OLD}**\n\n"
    assert results.read()["Benchmarks"] == {
        "": "",
        "New": "Commit cafe, 2026-01-02.\n\n| 1 |",
        "Old": f"{mark}Commit beef, 2026-01-01.\n\n| 2 |",
        "Older": f"{mark}| 3 |",
    }


def test_the_readmes_figures_are_those_of_the_results(results: ModuleType) -> None:
    parts = results.read()
    everything = parts["Benchmarks"]["Everything that pyCANON reports"]
    large = parts["1,000,000,000 records on one machine"]["An audit beside the query by hand"]
    reported = r"^\| census, 1,000,000 rows \| (.*?) \| (.*?) \|"
    [(theirs, ours)] = re.findall(reported, everything, re.M)
    audited = r"^\| k, millions of classes: .*? \| audit \| (.*?) \| .*? \| (.*?) \|"
    [(wall, memory)] = re.findall(audited, large, re.M)
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())

    assert f"a million records and all models in {ours};" in readme
    assert f"pyCANON had {theirs.replace('not ended', 'not finished')}." in readme
    assert f"a billion records in 4.4 million classes: {wall} and {memory} on two cores" in readme
