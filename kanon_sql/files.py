"""What a file is, by its name, and folders that are held while a program fills them."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import weakref
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Literal

Kind = Literal["parquet", "csv", "json", "arrow"]

KINDS: dict[str, Kind] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".csv.gz": "csv",
    ".tsv.gz": "csv",
    ".txt.gz": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


def file_kind(path: str) -> Kind | None:
    """What the name says the file is, or None for a name that says nothing.

    >>> file_kind("data/2024-*.CSV.gz")
    'csv'
    """
    lower = path.lower()
    return next((kind for suffix, kind in KINDS.items() if lower.endswith(suffix)), None)


def is_typed_file(name: str) -> bool:
    """Whether a name is one of a file whose columns have types, by its end."""
    return file_kind(name) not in ("csv", None)


def stem(name: str) -> str:
    """The name without the suffix that says what it is.

    >>> stem("data/patients.csv.gz"), stem("main.visits")
    ('patients', 'main.visits')
    """
    suffix = max((each for each in KINDS if name.lower().endswith(each)), key=len, default="")
    return PurePath(name[: -len(suffix)]).name if suffix else name


if sys.platform != "win32":
    import fcntl


_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{16}\.kanon-sql")
"""The folder in which a file is written before it is put in place: a dot file without a suffix of
data, so that no glob takes it for one."""


class HeldFolder:
    """A private folder that is gone in the end, and of which every run can tell whether the one
    that made it lives: it holds a lock that no death outlasts. Raises `OSError`."""

    def __init__(self, parent: Path, before: str, after: str = "") -> None:
        """Its name is made up, between `before` and `after`."""
        while True:
            self.path = parent / f"{before}{secrets.token_hex(8)}{after}"
            self._lock: list[int] = []
            # Before it is made, as an interrupt may come at once.
            self._let_go = weakref.finalize(self, _let_go, self.path, self._lock)
            self.path.mkdir(mode=0o700)
            # Another run may take it for left over before it is locked.
            with suppress(BlockingIOError, FileNotFoundError):
                self._lock.extend(_locked(self.path))
            if self.path.exists():
                return

    def remove(self) -> None:
        """Remove the folder and all in it; a second time does nothing."""
        self._let_go()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def _let_go(folder: Path, lock: list[int]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    while lock:
        os.close(lock.pop())


def _locked(folder: Path) -> list[int]:
    """What holds the lock of a folder until it is closed; nothing where there are no locks.

    Raises `BlockingIOError` if a run that lives holds it.
    """
    if sys.platform == "win32":
        return []
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, OSError) and not isinstance(error, BlockingIOError):
            return []
        raise
    return [handle]


def remove_leftovers(folder: Path, names: re.Pattern[str] = _UNFINISHED) -> list[str]:
    """Remove what killed runs left in a folder, and say so, a sentence for each.

    Removed is only what this user made, under a name of ours, and no run holds any more. What may
    be left over is named.
    """
    said = []
    with suppress(OSError), os.scandir(folder or ".") as entries:
        found = sorted(entry.name for entry in entries if names.fullmatch(entry.name))
        for path in (folder / name for name in found):
            with suppress(BlockingIOError, FileNotFoundError):
                said.append(
                    f"{path} was left over by a run that was killed, and is removed."
                    if _is_removed(path)
                    else f"{path} may be left over by a run that was killed. Remove it, unless "
                    "another run writes there."
                )
    return said


def _is_removed(path: Path) -> bool:
    """Whether a folder was ours and nobody's, and is gone. Raises `BlockingIOError` for one that a
    run holds."""
    found = path.lstat()
    if sys.platform == "win32" or not stat.S_ISDIR(found.st_mode):
        return False
    if found.st_uid == os.geteuid() and (lock := _locked(path)):
        _let_go(path, lock)
    return not path.exists()


def is_sqlite(path: str) -> bool:
    """Whether a file is a database of SQLite, by its first bytes."""
    return first_bytes(path, 16) == b"SQLite format 3\0"


def file_of_url(url: str) -> str | None:
    """The database file that a URL names, if it names one.

    >>> [file_of_url(url) for url in ("duckdb:a.db", "sqlite:a.db", "sqlite:///a.db")]
    ['a.db', 'a.db', 'a.db']
    >>> file_of_url("sqlite:////srv/a.db"), file_of_url("postgresql://host/a.db")
    ('/srv/a.db', None)
    """
    scheme, _, rest = url.partition(":")
    if scheme == "sqlite":
        return rest.removeprefix("///")
    return rest if scheme == "duckdb" else None


def first_bytes(path: str, many: int) -> bytes:
    """What a file begins with; nothing where there is none, or a pipe, which would have to wait.

    >>> first_bytes("/dev/zero", 2)
    b''
    """
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(many)
    except (OSError, ValueError):
        return b""
