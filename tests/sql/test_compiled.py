"""Compiled macros are kept where Python keeps its own, and never used for another text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

from kanon_sql.sql import bytecode_cache

COMPILE = """\
import sys
from pathlib import Path
from kanon_sql.sql.bytecode_cache import compiled
text = sys.argv[1]
def made():
    print("compiled")
    return compile(f"answer = {text}", "macro", "exec")
space = {}
exec(compiled("of_the_test", text, Path("macro.sql"), made), space)
print(space["answer"])
"""


def said(text: str, prefix: Path, **environment: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", COMPILE, text],
        env={
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(prefix),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.split()


def kept_in(prefix: Path) -> list[Path]:
    return list(prefix.rglob("of_the_test*"))


def test_a_macro_is_compiled_once_for_a_text(tmp_path):
    assert said("1", tmp_path) == ["compiled", "1"]
    assert said("1", tmp_path) == ["1"]
    assert said("2", tmp_path) == ["compiled", "2"]
    assert said("2", tmp_path) == ["2"]
    assert len(kept_in(tmp_path)) == 1


@pytest.mark.parametrize("spoilt", [b"", b"x", None])
def test_what_is_not_whole_is_made_anew(tmp_path, spoilt):
    said("1", tmp_path)
    (file,) = kept_in(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole[:-1] if spoilt is None else spoilt)
    assert said("1", tmp_path) == ["compiled", "1"]
    assert file.read_bytes() == whole


def test_nothing_is_kept_where_python_keeps_nothing(tmp_path):
    assert said("1", tmp_path, PYTHONDONTWRITEBYTECODE="1") == ["compiled", "1"]
    assert kept_in(tmp_path) == []


def test_nothing_fails_where_nothing_can_be_written(tmp_path):
    (tmp_path / "a file").write_text("", encoding="utf-8")
    assert said("1", tmp_path / "a file") == ["compiled", "1"]


def test_it_lies_beside_pythons_own(monkeypatch):
    monkeypatch.setattr(sys, "pycache_prefix", None)
    (place,) = {bytecode_cache._file(name).parent for name in ("class_sizes", "figures")}
    assert place == ROOT / "kanon_sql" / "sql" / "__pycache__"
