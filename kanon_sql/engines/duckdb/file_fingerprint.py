"""The files that are read, as they were when they were opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kanon_sql.errors import EngineError
from kanon_sql.files import first_bytes


class FileEvidence(NamedTuple):
    """A file as it was when the audit opened it."""

    path: str
    size: int
    mtime_ns: int


class Evidence:
    """What files were at the start, and whether they still are that."""

    def __init__(self) -> None:
        self._files: dict[str, FileEvidence] = {}

    def note(self, files: Iterable[str]) -> None:
        self._files |= {file: _seen(file) for file in files}

    def __iter__(self) -> Iterator[FileEvidence]:
        return iter(self._files.values())

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if a file is not what it was at the start."""
        for before in self:
            try:
                is_same = _seen(before.path) == before
            except OSError:
                is_same = False
            if not is_same:
                raise EngineError(f"{before.path} changed while it was being audited; run again.")


def _seen(file: str) -> FileEvidence:
    status = os.stat(file)
    return FileEvidence(file, status.st_size, status.st_mtime_ns)


def is_database(path: str) -> bool:
    """Whether a file is one of DuckDB's own, by its first bytes."""
    return first_bytes(path, 12)[8:] == b"DUCK"
