"""The examples in `tests/gallery`, run as their readers run them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from commands import run
from places import TESTS

from kanon_sql.sql.macros import folder as dbt_package

GALLERY = TESTS / "gallery"
EXAMPLES = sorted(each.name for each in GALLERY.iterdir() if each.is_dir())
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def as_printed(name: str, folder: Path) -> str:
    """The README of an example with what its commands print now, run in a copy at `folder`."""
    shutil.copytree(GALLERY / name, folder, dirs_exist_ok=True)
    text = (GALLERY / name / "README.md").read_text(encoding="utf-8")
    return BLOCK.sub(lambda block: f"```console\n{_printed(block[1], folder)}```", text)


def _printed(block: str, folder: Path) -> str:
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"$ {each}\n{_timeless(_output(each, folder))}" for each in commands)


def _output(command: str, folder: Path) -> str:
    """What a command prints on stdout and stderr. Raises `AssertionError` if it doesn't work."""
    program, *arguments = shlex.split(command)
    if program == "kanon-sql":
        # In this process, which is faster.
        before = Path.cwd()
        os.chdir(folder)
        try:
            ended = run(*arguments)
        finally:
            os.chdir(before)
        code, output = ended.exit_code, ended.stdout + ended.stderr
    else:
        executable = {"python": sys.executable, "dbt": f"{Path(sys.executable).parent}/dbt"}
        environment = {"KANON_SQL_DBT_PACKAGE": str(dbt_package()), "DO_NOT_TRACK": "1"}
        told = subprocess.run(
            [executable[program], *arguments],
            cwd=folder,
            env={**os.environ, **environment, "NO_COLOR": "1", "DBT_USE_COLORS": "false"},
            capture_output=True,
            text=True,
        )
        code, output = told.returncode, told.stdout + told.stderr
    assert code in (0, 1), f"{command}\n{output}"
    return output


def _timeless(output: str) -> str:
    """The output with other times in place of those that differ from run to run."""
    output = re.sub(r"^[0-9.]+ s · duckdb", "0.1 s · duckdb", output, flags=re.MULTILINE)
    output = re.sub(r"^\d\d:\d\d:\d\d  ", "12:00:00  ", output, flags=re.MULTILINE)
    return re.sub(r"\bin [0-9.]+s\]", "in 0.01s]", output)
