"""The raw lines of a text file."""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast

from kanon_sql.engines.readers import Run
from kanon_sql.errors import InputError

CHUNK = 1 << 22
LONGEST_LINE = 1 << 24


def line_too_long(file: str) -> InputError:
    return InputError(
        f"{file} has a line longer than {LONGEST_LINE >> 20} MiB. If it is not meant to, "
        "look for a quote that is never closed."
    )


class Lines(Iterator[str]):
    """The lines of a file with their line ends, accumulated into the current record.

    Bytes that are not UTF-8 become lone surrogates. Raises `InputError` for a line that is too
    long, without reading all of it.
    """

    def __init__(self, file: str, raw: IO[bytes]) -> None:
        self._file = file
        self._text = io.TextIOWrapper(raw, "utf-8", "surrogateescape", newline="")
        self.had_mark = False
        # One buffer, as a record may consist of many short lines.
        self._record = io.StringIO(newline="")
        self._first = True

    def __next__(self) -> str:
        line = self._text.readline(LONGEST_LINE + 1)
        if not line:
            raise StopIteration
        if len(line) > LONGEST_LINE:
            raise line_too_long(self._file)
        if self._first:
            self._first = False
            self.had_mark = line.startswith("\ufeff")
            line = line.removeprefix("\ufeff")
        self._record.write(line)
        return line

    @property
    def record(self) -> str:
        return self._record.getvalue()

    def begin_record(self) -> None:
        self._record = io.StringIO(newline="")

    def only_blank_lines_follow(self) -> bool:
        return not any(line.strip("\r\n") for line in self)


class Stoppable(io.FileIO):
    """A file whose reads raise once the run is cancelled."""

    def __init__(self, file: str, run: Run) -> None:
        super().__init__(file)
        self._run = run

    def readinto(self, buffer: Any) -> int | None:
        self._run.raise_if_cancelled()
        return super().readinto(buffer)


@contextmanager
def open_bytes(file: str, run: Run) -> Iterator[IO[bytes]]:
    """The bytes of `file`, decompressed if it is gzipped."""
    try:
        with io.BufferedReader(Stoppable(file, run), CHUNK >> 4) as packed:
            if file.lower().endswith(".gz"):
                with _unpacked(file, packed) as raw:
                    yield raw
            else:
                yield packed
    except OSError as error:
        raise InputError(f"{file} can't be read: {error.strerror}.") from None


@contextmanager
def _unpacked(file: str, packed: IO[bytes]) -> Iterator[IO[bytes]]:
    """The decompressed stream."""
    import gzip

    try:
        with gzip.open(packed) as raw:
            yield cast("IO[bytes]", raw)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise InputError(f"{file} is not a whole gzip file. Fetch or pack it again.") from None


@contextmanager
def field_limit(size: int) -> Iterator[None]:
    """Let Python's csv module read fields of up to `size` characters."""
    before = csv.field_size_limit(size)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def line_end(text: str) -> str:
    """The line break at the end of `text`."""
    return next((end for end in ("\r\n", "\n", "\r") if text.endswith(end)), "")


def has_surrogates(text: str) -> bool:
    """Whether `text` contains surrogate escapes, from bytes that are not UTF-8."""
    return not text.isascii() and any("\udc80" <= one <= "\udcff" for one in text)
