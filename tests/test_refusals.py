"""The catalogue of refusals in tests/refusals: command or call, whole sentence, exit code."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Iterator, Sized
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from commands import run
from places import TESTS

import kanon_sql as kanon
from kanon_sql.models.catalogue import ALL_MODELS
from kanon_sql.question.policy import policies

NAMES = {"kanon": kanon, "pa": pa, "pd": pd, "Decimal": Decimal, "inf": math.inf}
"""What the Python of a call may name, beside the tables of its group."""
KINDS: dict[str, Callable[[Any], Any]] = {"tables": pa.table, "frames": pd.DataFrame}
"""How the tables of a group are made."""
COUNTED: dict[str, Sized] = {"models": ALL_MODELS, "policies": policies()}
"""What a sentence says the number of, as in `<models>`."""


def refusals() -> Iterator[Any]:
    """Each refusal with the files of its group, marked by its place in the catalogue."""
    for file in sorted((TESTS / "refusals").glob("*.yml")):
        for group in yaml.safe_load(file.read_text(encoding="utf-8")):
            for number, each in enumerate(group["refused"], 1):
                files = {**group.get("files", {}), **each.get("files", {})}
                says = each.get("says", group.get("says"))
                for name, values in COUNTED.items():
                    says = says.replace(f"<{name}>", str(len(values)))
                name = f"{file.stem}: {group['title']}, {number}"
                shared = {kind: group.get(kind, {}) for kind in KINDS}
                yield pytest.param({**shared, **each, "files": files, "says": says}, id=name)


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder."""
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("refusal", list(refusals()))
def test_it_is_refused_with_the_whole_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith("KANON_SQL_")]:
        monkeypatch.delenv(variable)
    for variable, value in refusal.get("environment", {}).items():
        monkeypatch.setenv(variable, value)
    for name, content in refusal["files"].items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = contents(tmp_path)

    if "run" in refusal:
        ended = run(*shlex.split(refusal["run"]))
        found = (ended.stderr, ended.exit_code, ended.stdout)
        expected = (f"error: {refusal['says']}\n", refusal.get("exit", 2), "")
    else:
        tables = {
            name: make(columns)
            for kind, make in KINDS.items()
            for name, columns in refusal[kind].items()
        }
        with pytest.raises(kanon.KanonError) as refused:
            eval(refusal["call"], NAMES | tables)
        found = (str(refused.value), refused.value.exit_code, type(refused.value).__name__)
        expected = (refusal["says"], refusal.get("exit", 2), refusal["error"])

    sentence, *others = found
    # DuckDB 1.5 finds a file of a glob as ./NAME.
    sentence = sentence.replace(f"{tmp_path}/", "").replace("error: ./", "error: ")
    assert (sentence, *others) == expected
    assert contents(tmp_path) == before
