"""Texts that are kept in files, and written anew with KANON_SQL_UPDATE_GOLDEN=1."""

from __future__ import annotations

import os
from pathlib import Path


def kept(file: Path, text: str) -> str:
    """The text that a file keeps, after it is written anew where that is asked for."""
    if os.environ.get("KANON_SQL_UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    return file.read_text(encoding="utf-8")
