"""What a shell completes: files by itself, names, and the columns of a file that is named."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from kanon_sql.cli.main import main
from kanon_sql.models.catalogue import CELL_MODELS, MODELS
from kanon_sql.question.policy import policy_names
from kanon_sql.report.guides import guide_names
from kanon_sql.results.release import METRICS
from kanon_sql.sql.dialects.traits import TRAITS

SHELLS = [BashComplete, ZshComplete, FishComplete]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("KANON_SQL_")]:
        monkeypatch.delenv(variable)
    Path("patients.csv").write_text("zip;birth year;birth_year;sex\n02138;1;1951;F\n", "utf-8")
    columns = {"region": ["N"], "value_of_it": [1]}
    pyarrow.parquet.write_table(pyarrow.table(columns), "ledger.parquet")
    Path("records.csv").write_text("Meier,1956-12-24,02138\nHuber,1957-11-23,02139\n", "utf-8")
    return tmp_path


def completed(line: str, shell: type[ShellComplete] = BashComplete) -> list[tuple[str, str]]:
    """The kind and the value of each completion of the last word."""
    *arguments, incomplete = line.split(" ")
    completing = shell(main, {}, "kanon-sql", "_KANON_SQL_COMPLETE")
    found = completing.get_completions([each for each in arguments if each], incomplete)
    return [(item.type, item.value) for item in found]


def names(line: str) -> list[str]:
    found = completed(line)
    assert {kind for kind, _ in found} <= {"plain"}
    return [value for _, value in found]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    "line",
    [
        "audit ", "audit pat", "tables pat", "profile pat", "anonymize pat", "validate ka",
        "report res", "diff old", "diff old.json n", "lineage target/", "baseline res",
        "audit patients.csv --output re", "audit patients.csv --baseline b",
        "audit patients.csv --reference vo", "audit --manifest ta", "policy ./ow",
        "audit patients.csv --policy ./ow", "tables ledger.parquet --cells c",
        "anonymize patients.csv --output r", "worksheet --read t",
    ],
)  # fmt: skip
def test_files_are_left_to_the_shell(line: str, shell: type[ShellComplete]) -> None:
    assert completed(line, shell) == [("file", line.rpartition(" ")[2])]


@pytest.mark.parametrize("line", ["compile p.csv --output-dir o", "audit --profiles-dir o",
                                  "demo o", "lineage m.json --cache o"])  # fmt: skip
def test_folders_are_left_to_the_shell(line: str) -> None:
    assert completed(line) == [("dir", "o")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("audit p.csv --format j", ["json", "junit"]),
        ("profile p.csv --format ", ["human", "json", "markdown"]),
        ("audit p.csv --check ", [*MODELS]),
        ("tables p.csv --check d", [name for name in CELL_MODELS if name.startswith("d")]),
        ("audit p.csv --policy cms", [name for name in policy_names() if name.startswith("cms")]),
        ("policy ", sorted(policy_names())),
        ("explain derivab", ["derivability", "derivable"]),
        ("explain coming", sorted(each for each in guide_names() if each.startswith("coming"))),
        ("anonymize p.csv --algorithm ", ["datafly", "optimal", "local"]),
        ("tradeoff p.csv --algorithm ", ["optimal", "local"]),
        ("anonymize p.csv --metric ", [*METRICS]),
        ("compile p.csv --dialect s", [name for name in TRAITS if name.startswith("s")]),
        ("audit p.csv --nulls ", ["value", "wildcard"]),
        ("tables p.csv --audience e", ["external"]),
        ("schema --of b", ["baseline"]),
        ("audit p.csv --k ", []),
        ("audit p.csv --connect ", []),
    ],
)
def test_names_are_completed(line: str, expected: list[str]) -> None:
    assert names(line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("audit patients.csv --qi ", ["zip", "birth_year", "sex"]),
        ("audit patients.csv --qi zip,b", ["zip,birth_year"]),
        ("audit patients.csv --qi zip,sex,", ["zip,sex,birth_year"]),
        ("audit patients.csv --qi zip --sensitive s", ["sex"]),
        ("audit --k 5 patients.csv --entity z", ["zip"]),
        ("anonymize patients.csv --qi zip --hierarchy ", ["zip", "birth_year", "sex"]),
        ("tables ledger.parquet --by ", ["region", "value_of_it"]),
        ("tables ledger.parquet --by region --value v", ["value_of_it"]),
        ("hierarchy new --from patients.csv z", ["zip"]),
        ("audit records.csv --qi ", []),  # the first line may be a person's record
        ("audit nowhere.csv --qi ", []),
        ("audit patients.csv --connect duckdb:x.db --qi ", []),
        ("audit --qi ", []),
    ],
)
def test_columns_of_the_named_file_are_completed(line: str, expected: list[str]) -> None:
    assert names(line) == expected


def test_columns_are_read_as_the_file_is(here: Path) -> None:
    Path("titled.csv").write_text("A title\nälter,zip\n1,2\n", "cp1252")

    assert names("audit titled.csv --qi ") == []
    assert names("audit titled.csv --encoding cp1252 --skip 1 --qi ") == ["älter", "zip"]


# --- a real shell ---------------------------------------------------------------------------


class Terminal:
    """A bash on a terminal of its own, in which `kanon-sql` prints what it was given."""

    def __init__(self, folder: Path) -> None:
        self._terminal, side = pty.openpty()
        environment = {
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TERM": "dumb",
            "PS1": "",
            "LC_ALL": "C.UTF-8",
        }
        self._bash = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=side, stdout=side, stderr=side, cwd=folder, env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(side)
        self._until('eval "$(_KANON_SQL_COMPLETE=bash_source kanon-sql)"; echo READY\n', "READY")
        self._until("kanon-sql() { printf '<%s>' \"$@\"; echo END; }; echo DEFINE''D\n", "DEFINED")

    def given(self, line: str) -> str:
        """What the command is given after a line that has tabs."""
        [words] = re.findall(r"((?:<[^<>]*>)+)END", self._until(f"{line}\n", ">END"))
        return str(words).strip("<>").replace("><", " ")

    def _until(self, typed: str, mark: str) -> str:
        os.write(self._terminal, typed.encode())
        read, deadline = "", time.monotonic() + 60
        while mark not in read and time.monotonic() < deadline:
            if select.select([self._terminal], [], [], 1)[0]:
                read += os.read(self._terminal, 4096).decode("utf-8", "replace")
        assert mark in read, read
        return read

    def close(self) -> None:
        self._bash.kill()
        self._bash.wait()
        os.close(self._terminal)


@pytest.fixture
def terminal(here: Path) -> Iterator[Terminal]:
    opened = Terminal(here)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("typed", "given"),
    [
        ("audit pat\t--qi zip,b\t", "audit patients.csv --qi zip,birth_year"),
        ("tables led\t--by reg\t", "tables ledger.parquet --by region"),
        ("anonymize x --algo\tlo\t", "anonymize x --algorithm local"),
        ("explain derivabi\t", "explain derivability"),
    ],
)
def test_a_real_bash_completes(terminal: Terminal, typed: str, given: str) -> None:
    assert terminal.given(f"kanon-sql {typed}") == given


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one_that_it_reads(shell: str) -> None:
    asked: dict[str, Any] = {"env": {**os.environ, "_KANON_SQL_COMPLETE": f"{shell}_source"}}
    command = [
        sys.executable,
        "-c",
        "from kanon_sql.cli.main import main; main(prog_name='kanon-sql')",
    ]
    script = subprocess.run(command, capture_output=True, text=True, **asked).stdout

    assert f"={shell}_complete" in script
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", "-c", script]).returncode == 0
