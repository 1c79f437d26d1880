"""Private UTF-8 copies of text files, without the lines above their header.

A file in another encoding, below title lines, or with Excel's `sep=;` is read from its copy, so
that one proof holds for every file: that each byte below the title is in a value, a quote, a
delimiter or a line end. The copy is exact: its characters are those that the codec gives.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from kanon_sql.engines.duckdb.csv_files import undecodable, utf_16_of
from kanon_sql.engines.duckdb.raw_lines import CHUNK, LONGEST_LINE, line_too_long, open_bytes
from kanon_sql.engines.readers import Run, TextOptions
from kanon_sql.errors import InputError, KanonError, option
from kanon_sql.files import LockedFolder, codec, spill_folder

_SEPARATOR = re.compile(r"\ufeff?\"?sep=(.)\"?(\r\n|\r|\n)")
"""A first line that names the delimiter, which Excel reads."""
_ONE_BYTE = re.compile(r"cp(125\d|437|8\d\d)|iso8859|latin|mac|koi8")
"""Codecs of one byte a character, which read UTF-8 as letters that nobody writes in a row."""


class TextCopy(NamedTuple):
    """The copy of a text file."""

    path: str
    original: str
    skipped: int
    """How many lines the copy lacks at its start."""
    delimiter: str | None
    """The delimiter that its line `sep=` names."""


class TextCopies:
    """The copies of a session, in a private folder that is removed at its end."""

    def __init__(self) -> None:
        self._folder: LockedFolder | None = None
        self._numbers: dict[str, int] = {}

    def of(self, files: Sequence[str], text: TextOptions, run: Run) -> tuple[TextCopy, ...]:
        """A copy of each file; none if all can be read as they are."""
        encoding = codec(str(text.encoding or "utf-8"))
        skip = text.skip if isinstance(text.skip, int) else 0
        if encoding == "utf-8" and not skip and not any(separator(file, run) for file in files):
            return ()
        return tuple(self._copy(file, encoding, skip, run) for file in files)

    def close(self) -> None:
        if self._folder is not None:
            self._folder.remove()

    def _copy(self, file: str, encoding: str, skip: int, run: Run) -> TextCopy:
        path = self._path(file)
        with open_bytes(file, run) as raw, path.open("w", encoding="utf-8", newline="") as copy:
            texts = _without_lines(file, _decoded(file, raw, encoding), skip)
            start = next(texts, "")
            named = _SEPARATOR.match(start)
            copy.write(start[named.end() :] if named else start)
            copy.writelines(texts)
        if not path.stat().st_size:
            raise InputError(f"{file} has no line below the {skip + bool(named)} left out.")
        return TextCopy(str(path), file, skip + bool(named), named[1] if named else None)

    def _path(self, file: str) -> Path:
        """The path of a copy, the same for each copy of a file, below the folders that give its
        columns a value."""
        self._folder = self._folder or spill_folder()
        number = self._numbers.setdefault(file, len(self._numbers))
        folders, name = os.path.split(file.replace("\\", "/"))
        partitions = [folder for folder in folders.split("/") if "=" in folder]
        folder = self._folder.path.joinpath(str(number), *partitions)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / (name[:-3] if name.lower().endswith(".gz") else name)


def separator(file: str, run: Run) -> bool:
    """Whether the first line of a file is `sep=` with a delimiter."""
    with open_bytes(file, run) as raw:
        return bool(_SEPARATOR.match(raw.read(16).decode("utf-8", "replace")))


def _decoded(file: str, raw: IO[bytes], encoding: str) -> Iterator[str]:
    """The text of a file in chunks. Raises `InputError` with the line that can't be decoded, and
    for UTF-8 and UTF-16 under another name."""
    decoder = codecs.getincrementaldecoder(encoding)()
    utf_8 = Utf8Bytes() if _ONE_BYTE.match(encoding) else None
    lines = _LineCount()
    while True:
        chunk, state = raw.read(CHUNK), decoder.getstate()
        utf_16 = utf_16_of(chunk[:64]) if lines.current == 1 else None
        if utf_16 and not encoding.startswith(("utf-16", "utf-32")):
            raise undecodable(file, 1, utf_16=utf_16)
        if utf_8 is not None:
            utf_8.add(chunk)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except ValueError:
            if utf_8 is not None and utf_8.is_likely:
                raise _is_utf_8(file, encoding) from None
            decoder.setstate(state)
            raise _undecodable(file, encoding, decoder, chunk, lines) from None
        lines.add(text)
        if text:
            yield text
        if not chunk:
            break
    if utf_8 is not None and utf_8.is_likely:
        raise _is_utf_8(file, encoding)


class Utf8Bytes:
    """Whether bytes, which come in pieces, are UTF-8 and not only ASCII."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_valid, self._is_ascii = True, True

    def add(self, chunk: bytes) -> None:
        self._is_ascii &= chunk.isascii()
        try:
            self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError:
            self._is_valid = False

    @property
    def is_likely(self) -> bool:
        return self._is_valid and not self._is_ascii


def _is_utf_8(file: str, encoding: str) -> InputError:
    return InputError(
        f"{file} is UTF-8, so {encoding} would give it other characters. Leave out "
        f"{option('encoding')}."
    )


class _LineCount:
    """The number of line ends in a text that comes in pieces."""

    def __init__(self) -> None:
        self.feeds = self.returns = 0

    def add(self, text: str) -> None:
        self.feeds += text.count("\n")
        self.returns += text.count("\r")

    @property
    def current(self) -> int:
        """The number of the line that follows."""
        return (self.feeds or self.returns) + 1


def _undecodable(
    file: str, encoding: str, decoder: codecs.IncrementalDecoder, chunk: bytes, lines: _LineCount
) -> InputError:
    """The error about the first byte of a chunk that can't be decoded."""
    try:
        for byte in chunk:
            lines.add(decoder.decode(bytes([byte])))
    except ValueError:
        pass
    if encoding == "utf-8":
        return undecodable(file, lines.current)
    return InputError(
        f"{file}: line {lines.current} can't be decoded as {encoding}. Name the encoding that the "
        "file was written in."
    )


def _without_lines(file: str, texts: Iterator[str], many: int) -> Iterator[str]:
    """The texts without the first lines; the first piece has the whole of the next line."""
    pending = ""
    for text in texts:
        pending += text
        # A CR at the end may be half a CRLF.
        ends = [end.end() for end in islice(re.finditer(r"\r\n|\n|\r(?!\Z)", pending), many + 1)]
        if len(ends) > many:
            break
        if len(pending) - max(ends, default=0) > LONGEST_LINE:
            raise line_too_long(file)
    else:
        ends = [end.end() for end in islice(re.finditer(r"\r\n|\n|\r", pending), many)]
        ends += [len(pending)] * (many - len(ends))
    yield pending[ends[many - 1] if many else 0 :]
    yield from texts


@contextmanager
def in_originals(copies: Sequence[TextCopy]) -> Iterator[None]:
    """Let an error name the original of a copy, with the number of the line in it."""
    try:
        yield
    except KanonError as error:
        message = error.marked
        for copy in copies:
            message = _in_original(message, copy)
        raise type(error)(message) from None


def _in_original(message: str, copy: TextCopy) -> str:
    def line(match: re.Match[str]) -> str:
        return f"{copy.original}: {match[1]}{int(match[2]) + copy.skipped}"

    place = rf"{re.escape(copy.path)}: ((?:a quote in )?line )(\d+)"
    return re.sub(place, line, message).replace(copy.path, copy.original)
