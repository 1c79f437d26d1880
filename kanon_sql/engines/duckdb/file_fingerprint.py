"""Fingerprints of the files read, to detect changes during an audit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kanon_sql.errors import EngineError
from kanon_sql.files import first_bytes


class FileEvidence(NamedTuple):
    """Path, size and modification time of a file when it was opened."""

    path: str
    size: int
    mtime_ns: int


class Evidence:
    """Records file fingerprints and verifies them."""

    def __init__(self) -> None:
        self._files: dict[str, FileEvidence] = {}

    def note(self, files: Iterable[str]) -> None:
        self._files |= {file: _evidence_of(file) for file in files}

    def __iter__(self) -> Iterator[FileEvidence]:
        return iter(self._files.values())

    def verify_unchanged(self) -> None:
        """Raise `EngineError` if a file differs from its fingerprint."""
        for before in self:
            try:
                is_same = _evidence_of(before.path) == before
            except OSError:
                is_same = False
            if not is_same:
                raise EngineError(f"{before.path} changed while it was being audited; run again.")


def _evidence_of(file: str) -> FileEvidence:
    status = os.stat(file)
    return FileEvidence(file, status.st_size, status.st_mtime_ns)


def is_database(path: str) -> bool:
    """Whether a file is a DuckDB database, by its magic bytes."""
    return first_bytes(path, 12)[8:] == b"DUCK"
