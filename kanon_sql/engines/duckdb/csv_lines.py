"""Reads raw lines of a text file: to locate a malformed one, or to tell a header from a record.

If the first line looks like a record, its cells may be personal data, and the user has to declare
whether it is a header.
"""

from __future__ import annotations

import csv
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from operator import contains
from typing import IO, Any, cast

from kanon_sql.engines.readers import Run
from kanon_sql.errors import InputError, option

FIRST_RECORDS = 100
"""Number of records that a name is compared with."""
LONG_CODE = 8
"""Minimum length from which codes of equal length are considered alike, such as hashes."""

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}(?:[T ].*)?|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?: .*)?"
    rf"|\d{{1,2}}[ .-]*{_MONTH}[ .,-]*\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}}",
    re.IGNORECASE,
)
_EXPONENT = re.compile(r"[+-]?\d+(?:\.\d+)?e[+-]?\d+", re.IGNORECASE)
_E_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_URL = re.compile(r"\w+://\S+")
_NUMBER_FIRST = re.compile(r"\d+ \S")
"""A text such as a post code with its town."""


def numbered_names(width: int) -> tuple[str, ...]:
    """Generated column names for a file without a header."""
    return tuple(f"column_{place}" for place in range(1, width + 1))


def require_names(file: str, names: Sequence[str], delimiter: str, run: Run) -> None:
    """Raise `InputError`, without repeating any cell, if the names look like a record."""
    doubt = record_doubt(names, _first_records(file, delimiter, len(names), run))
    if doubt is not None:
        raise InputError(
            f"{file}: the first line looks like a record, not like the names of columns: {doubt}. "
            "Its cells are withheld, as they may be a person's. Say whether it is a header: "
            f"{option('header', 'yes')}, or {option('header', 'no')} for columns called column_1, "
            "column_2 and so on."
        )


def record_doubt(names: Sequence[str], records: Sequence[Sequence[str]]) -> str | None:
    """Why the first line looks like a record, as a clause; None if it doesn't.

    One name that hardly is one will do, or one that is a value of its column unless text stands
    above numbers or dates elsewhere. Otherwise the columns vote: a name that looks like the values
    below it stands against one above values of another kind. Words above words tell nothing.

    >>> record_doubt(["id7", "33"], [["id9", "44"]])
    'field 2 is a number'
    >>> record_doubt(["id7", "flu"], [["id9", "hiv"]])
    'field 1 looks like the values below it'
    >>> record_doubt(["Zqsmith", "male"], [["Miller1", "male"]])
    'field 2 looks like the values below it'
    >>> record_doubt(["icd10", "age"], [["J45", "44"]])
    """
    folded = [name.casefold() for name in names]
    for place, name in enumerate(names, start=1):
        kind = "there twice" if folded.index(folded[place - 1]) + 1 < place else kind_of_name(name)
        if kind:
            return f"field {place} is {kind}"
    columns = [[row[place] for row in records if row[place].strip()] for place in range(len(names))]
    alike = list(map(is_like_values, names, columns))
    recurs = any(map(contains, columns, names)) and not any(map(are_of_a_kind, columns))
    if recurs or alike.count(True) > alike.count(False):
        return f"field {alike.index(True) + 1} looks like the values below it"
    return None


def kind_of_name(name: str) -> str:
    """The kind of a text that is no plausible column name, or "".

    >>> [kind_of_name(each) for each in ("1.5E3", "17.03.1985", "a@b.org", " ", "age 2", "#")]
    ['a number', 'a date', 'an e-mail address', 'empty', '', '']
    >>> kind_of_name("https://example.org/ann")
    'a web address'
    """
    name = name.strip()
    if not name:
        return "empty"
    if _DATE.fullmatch(name):
        return "a date"
    digits = any(map(str.isdigit, name)) and not any(map(str.isalpha, name))
    if digits or _EXPONENT.fullmatch(name):
        return "a number"
    if _URL.fullmatch(name):
        return "a web address"
    return "an e-mail address" if _E_MAIL.fullmatch(name) else ""


def is_like_values(name: str, values: Sequence[str]) -> bool | None:
    """Whether a name resembles the values below it; None if both are words.

    >>> is_like_values("8000 Town", ["4711 Place"]), is_like_values("30 day stay", ["yes"])
    (True, None)
    """
    if name in values:
        return True
    if _NUMBER_FIRST.match(name) and values and all(map(_NUMBER_FIRST.match, values)):
        return True
    codes = [value for value in values if is_code(value)]
    if 2 * len(codes) <= len(values):
        return False if are_of_a_kind(values) else None
    of_one_length = {*map(len, codes)} == {len(name)} and len(name) >= LONG_CODE
    return is_code(name) and (of_one_length or shape(name) in map(shape, codes))


def are_of_a_kind(values: Sequence[str]) -> bool:
    """Whether most values are of a kind that names are not, as numbers and dates are."""
    return 2 * sum(bool(kind_of_name(value)) for value in values) > len(values)


def is_code(text: str) -> bool:
    """Whether a text mixes letters and digits."""
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))


def shape(code: str) -> str:
    """The pattern of digits and of upper and lower case in a code.

    >>> shape("Zq7-12"), shape("P1") == shape("P12"), shape("ICD10") == shape("J45")
    ('Aa9-9', True, False)
    """
    letters = re.sub(r"\d+", "9", code)
    return "".join(
        each if not each.isalpha() else "A" if each.isupper() else "a" for each in letters
    )


def _first_records(file: str, delimiter: str, width: int, run: Run) -> list[list[str]]:
    """Some records below the first line, up to the first invalid one."""
    records: list[list[str]] = []
    with open_bytes(file, run) as raw, field_limit(LONGEST_LINE):
        reader = csv.reader(Lines(file, raw), delimiter=delimiter, strict=True)
        try:
            for record in islice(reader, 1, FIRST_RECORDS + 1):
                records += [record] if len(record) == width else []
        except csv.Error:
            # Reported by the reader of the whole file.
            pass
    return records


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
        self._run.go_on()
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
