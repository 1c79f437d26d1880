"""The log of an assistant's questions: JSON Lines, appended before an answer leaves.

Each line has the SHA-256 of the line above, so that an edited or a removed line breaks the chain.
The budget of questions and the answers to repetitions are read off the log, so both outlive the
process.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from kanon_sql.errors import EngineError, InputError, SpecError

if sys.platform != "win32":
    import fcntl

Outcome = Literal["answered", "repeated", "refused", "failed"]
WINDOW = timedelta(hours=24)
"""For how long a question counts, and its answer is repeated."""


@dataclass(frozen=True)
class Call:
    """One call of a tool, as a line of the log."""

    time: str
    number: int
    tool: str
    arguments: Mapping[str, Any]
    outcome: Outcome
    reason: str | None
    """The kind of a refusal."""
    answer: Mapping[str, Any]
    previous: str | None
    """SHA-256 of the line above; None on the first line."""

    def is_after(self, moment: datetime) -> bool:
        return datetime.fromisoformat(self.time) > moment


class QuestionLog:
    """An open log. It is private to its owner, and locked against a second server."""

    def __init__(self, path: Path, handle: int, calls: list[Call], last: str | None) -> None:
        self.calls = calls
        self._path = path
        self._handle = handle
        self._last = last

    def recent(self, now: datetime) -> Iterator[Call]:
        """The calls of the last 24 hours, newest first."""
        return (call for call in reversed(self.calls) if call.is_after(now - WINDOW))

    def append(
        self,
        now: datetime,
        tool: str,
        arguments: Mapping[str, Any],
        outcome: Outcome,
        reason: str | None,
        answer: Mapping[str, Any],
    ) -> None:
        """Write one call to the disk, whole or not at all. Raises `EngineError`."""
        time = now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        number = len(self.calls) + 1
        call = Call(time, number, tool, arguments, outcome, reason, answer, self._last)
        line = json.dumps(asdict(call), ensure_ascii=False, allow_nan=False).encode()
        end = os.fstat(self._handle).st_size
        try:
            if not os.fstat(self._handle).st_nlink:
                raise OSError(errno.ENOENT, "it was removed")
            _write(self._handle, line + b"\n")
            os.fsync(self._handle)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._handle, end)
            raise _unwritable(self._path, error) from None
        self.calls.append(call)
        self._last = hashlib.sha256(line).hexdigest()


@contextmanager
def question_log(path: Path) -> Iterator[QuestionLog]:
    """Open the log, which is created with mode 0600, and verify its chain.

    Raises `InputError` for a broken chain, `SpecError` for anything but a file of this user,
    `EngineError` if it can't be written.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    except IsADirectoryError:
        raise SpecError(f"--log {path} is a folder. Name a file.") from None
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        _refuse_shared(path, handle)
        calls, last = _verified(path, handle)
        os.fchmod(handle, 0o600)
        yield QuestionLog(path, handle, calls, last)
    finally:
        os.close(handle)


def _refuse_shared(path: Path, handle: int) -> None:
    """Raise for a device or a pipe, another user's file, and a log that another server writes."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise SpecError(f"--log {path} is no regular file. Name a file.")
    if sys.platform == "win32":
        return
    if status.st_uid != os.geteuid():
        raise SpecError(f"--log {path} belongs to another user. Name a file of your own.")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise SpecError(f"--log {path} is in use by another server. Name another file.") from None


def _verified(path: Path, handle: int) -> tuple[list[Call], str | None]:
    """The calls of a log with the digest of its last line."""
    with os.fdopen(os.dup(handle), "rb") as file:
        file.seek(0)
        text = file.read()
    calls: list[Call] = []
    last = None
    *lines, rest = text.split(b"\n")
    for number, line in enumerate([*lines, rest] if rest else lines, start=1):
        call = _call(line) if number <= len(lines) else None
        if call is None or (call.number, call.previous) != (number, last):
            raise InputError(
                f"{path}:{number}: the line does not continue the log, so the log was changed or "
                "is another file. Keep it as evidence, and name a new file with --log."
            )
        calls.append(call)
        last = hashlib.sha256(line).hexdigest()
    return calls, last


def _call(line: bytes) -> Call | None:
    """A line of the log; None if it is none."""
    try:
        call = Call(**json.loads(line))
        is_whole = datetime.fromisoformat(call.time).tzinfo is not None
        is_whole &= isinstance(call.arguments, dict) and isinstance(call.answer, dict)
    except (ValueError, TypeError, RecursionError):
        return None
    return call if is_whole else None


def _write(handle: int, line: bytes) -> None:
    while line:
        line = line[os.write(handle, line) :]


def _unwritable(path: Path, error: OSError) -> EngineError:
    return EngineError(
        f"the log {path} can't be written: {error.strerror}. Without a log nothing is answered."
    )
