"""CSV as text, every byte accounted for, or the file rejected.

DuckDB's sniffer is off; only the delimiter is detected here, from the header record. Even so its
reader silently changes or drops content (a space next to a quote, a surplus empty field, a blank
line, the tail of a CRLF file at a buffer boundary). An identity detects that:

    bytes of the body = bytes of the values + quotes + delimiters + line ends

Quotes are counted separately because a quote inside a value is doubled.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import contains
from typing import IO, Any, NamedTuple, cast

import duckdb

from kanon_sql.engines.readers import (
    NO_HIVE,
    Run,
    TextOptions,
    call,
    call_in_lines,
    hive_columns,
    path_list,
    require_usable_names,
    struct,
    values_by_file,
)
from kanon_sql.errors import InputError, SpecError, option
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import literal

DELIMITERS = (",", ";", "\t", "|")
NOT_QUOTE_OR_BREAK = bytes(set(range(256)) - set(b'"\r\n'))


class Header(NamedTuple):
    """The column names and their line; without such a line, `bytes` counts only the mark."""

    names: tuple[str, ...]
    delimiter: str
    bytes: int
    mark: int
    """Bytes of the mark that some editors put before the first line."""
    quotes: int
    lines: int
    newline: str
    is_line: bool = True
    """Whether the first line is a header, and no record."""


@dataclass
class Census:
    """Byte counts of a file, taken without parsing it."""

    size: int = 0
    quotes: int = 0
    line_feeds: int = 0
    carriage_returns: int = 0
    both: int = 0
    """CRLF pairs."""
    last_breaks: int = 0
    """Bytes of trailing line breaks."""
    break_in_quotes: bool = False
    spaces_between_quotes: bool = False

    @property
    def splittable(self) -> bool:
        """Whether every line break ends a record and is a single byte.

        Only then may DuckDB split the file among threads: its parallel reader was seen to lose
        records with breaks inside quotes, or with CRLF at a buffer boundary.
        """
        return not (self.carriage_returns or self.break_in_quotes)

    @property
    def doubtful(self) -> bool:
        """Whether the byte identity could hold by chance.

        That takes mixed line breaks, spaces between two quotes (which DuckDB accepts after a
        closing quote), or an unclosed quote (which it accepts if more than its buffer follows).
        """
        one_kind = (
            not self.carriage_returns
            or not self.line_feeds
            or self.line_feeds == self.carriage_returns == self.both
        )
        return self.spaces_between_quotes or self.quotes % 2 == 1 or not one_kind


def checked_delimiter(text: str | None) -> str | None:
    r"""Validate a delimiter; `\t` and `tab` mean a tab."""
    delimiter = "\t" if text in (r"\t", "tab") else text
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n\\'):
        raise SpecError(
            f"A delimiter is one character that is not a quote, a backslash or a line break, "
            f"not {delimiter!r}. Write \\t for a tab."
        )
    return delimiter


def csv_source(written: str, files: Sequence[str], run: Run, text: TextOptions) -> tuple[str, str]:
    """The `read_csv(…)` call that reads `files` completely as text, and its multi-line form.

    `written` is the path or glob in the SQL. Raises `InputError` at the first line that can't be
    read unchanged.
    """
    headers = [read_header(file, run, text) for file in files]
    header = headers[0]
    for file, other in zip(files, headers, strict=True):
        require_same_header(files[0], header, file, other)
    censuses = [take_census(file, run) for file in files]
    options = reader_options(header, parallel=all(census.splittable for census in censuses))
    for file, own_header, census in zip(files, headers, censuses, strict=True):
        options |= account(file, own_header, census, options, run)
    if text.null_strings:
        require_null_strings(files[0], header.delimiter, text.null_strings)
        options["nullstr"] = f"[{', '.join(map(literal, ['', *text.null_strings]))}]"
    values = partial(values_by_file, "read_csv", files, options, run)
    options |= hive_columns(files, header.names, values, constant=False)
    types = dict.fromkeys(header.names, "VARCHAR")
    return call("read_csv", written, options), call_in_lines("read_csv", written, options, types)


def reader_options(header: Header, *, parallel: bool) -> dict[str, str]:
    """The options of `read_csv` that disable all detection."""
    options = {
        "auto_detect": "false",
        "header": str(header.is_line).lower(),
        "delim": literal(header.delimiter),
        "quote": "'\"'",
        "escape": "'\"'",
        "comment": "''",
        "strict_mode": "true",
        "null_padding": "false",
        "ignore_errors": "false",
        "columns": struct(dict.fromkeys(header.names, "VARCHAR")),
    }
    return options if parallel else options | {"parallel": "false"}


def read_header(file: str, run: Run, text: TextOptions) -> Header:
    """The header of `file`, with the delimiter that splits it into the most columns.

    Raises `InputError` for a first line that looks like a record, unless it is declared a header.
    """
    require_utf8_start(file, run)
    candidates = [text.delimiter] if text.delimiter else preferred_delimiters(file)
    headers = [header for header in (try_header(file, one, run) for one in candidates) if header]
    if not headers:
        raise unreadable(file, 1)
    header = max(headers, key=lambda one: len(one.names))
    if not any(header.names):
        raise InputError(f"{file}: the first line is blank. It must hold the column names.")
    if text.header is False:
        return without_line(header)
    if text.header is None:
        require_names(file, header.names, header.delimiter, run)
    require_column_names(file, header.names)
    return header


def without_line(header: Header) -> Header:
    """The header of a file whose first line is a record."""
    names = numbered_names(len(header.names))
    return header._replace(names=names, bytes=header.mark, quotes=0, lines=0, is_line=False)


def preferred_delimiters(file: str) -> tuple[str, ...]:
    """The candidate delimiters; on a tie the first wins."""
    tab_first = file.lower().removesuffix(".gz").endswith(".tsv")
    return tuple(sorted(DELIMITERS, key=lambda one: tab_first and one != "\t"))


def try_header(file: str, delimiter: str, run: Run) -> Header | None:
    """The header as `delimiter` splits it, or None where its quotes don't fit."""
    with open_bytes(file, run) as raw, field_limit(LONGEST_LINE):
        lines = Lines(file, raw)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            names = next(reader)
        except csv.Error:
            return None
    text = lines.record
    return Header(
        names=tuple(names),
        delimiter=delimiter,
        bytes=len(text.encode("utf-8", "surrogateescape")) + 3 * lines.had_mark,
        mark=3 * lines.had_mark,
        quotes=text.count('"'),
        lines=reader.line_num,
        newline=line_end(text),
    )


def require_utf8_start(file: str, run: Run) -> None:
    """Reject an empty file, and one whose first line is not UTF-8."""
    with open_bytes(file, run) as raw:
        start = raw.readline(LONGEST_LINE)
    if not start:
        raise InputError(f"{file} is empty: it has no header line.")
    try:
        # A character may be cut where the line is longer than the limit.
        is_text = "\0" not in codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        is_text = False
    if not is_text:
        raise unreadable(file, 1)


def has_surrogates(text: str) -> bool:
    """Whether `text` contains surrogate escapes, from bytes that are not UTF-8."""
    return not text.isascii() and any("\udc80" <= one <= "\udcff" for one in text)


def require_column_names(file: str, names: Sequence[str]) -> None:
    """Refuse a header with an empty name, or with names that DuckDB can't distinguish."""
    if "" in names:
        raise InputError(
            f"{file}: column {names.index('') + 1} has no name in the header. Give it one."
        )
    if any(map(has_surrogates, names)):
        raise unreadable(file, 1)
    require_usable_names(file, names)


def require_same_header(first_file: str, first: Header, file: str, header: Header) -> None:
    """Reject a file of a glob whose header differs from the first file's."""
    if header.names == first.names and header.delimiter == first.delimiter:
        return
    raise InputError(
        f"{file}: the first line differs from that of {first_file}. Files read as one table need "
        "one header, with the same names in the same order and one delimiter."
    )


def require_null_strings(file: str, delimiter: str, null_strings: Sequence[str]) -> None:
    """Refuse what DuckDB can't look for as a field."""
    for text in null_strings:
        if delimiter in text or len(f'"{text}"'.splitlines()) > 1 or '"' in text:
            raise InputError(
                f"{file}: {text!r} can't stand for NULL, as it holds the delimiter, a quote or a "
                "line break. Leave it out."
            )


def take_census(file: str, run: Run) -> Census:
    """Count the bytes that the identity needs, at memory speed.

    Raises `InputError` for a line that is too long, before reading all of it.
    """
    census = Census()
    before = open_quote = quote_and_spaces = b""
    unbroken = 0
    with open_bytes(file, run) as raw:
        while chunk := raw.read(CHUNK):
            last_break = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            unbroken = (0 if last_break >= 0 else unbroken) + len(chunk) - last_break - 1
            if unbroken > LONGEST_LINE:
                raise line_too_long(file)
            census.size += len(chunk)
            census.quotes += chunk.count(b'"')
            census.line_feeds += chunk.count(b"\n")
            if b"\r" in chunk or before == b"\r":
                census.carriage_returns += chunk.count(b"\r")
                census.both += (before + chunk).count(b"\r\n")
            content = len(chunk.rstrip(b"\r\n"))
            census.last_breaks = len(chunk) - content + (0 if content else census.last_breaks)
            if census.quotes:
                # Paired quotes cancel out within a line; a remaining one makes the line odd.
                odd = open_quote + chunk.translate(None, NOT_QUOTE_OR_BREAK)
                odd = odd.replace(b'""', b"")
                census.break_in_quotes |= b'"\n' in odd or b'"\r' in odd
                open_quote = b'"' if odd.endswith(b'"') else b""
                joined = quote_and_spaces + chunk
                census.spaces_between_quotes |= has_spaces_between_quotes(joined)
                quote_and_spaces = last_quote_and_spaces(joined)
            before = chunk[-1:]
    return census


def has_spaces_between_quotes(chunk: bytes) -> bool:
    """Whether two quotes are separated only by spaces."""
    return b'" ' in chunk and re.search(rb'" +"', chunk) is not None


def last_quote_and_spaces(chunk: bytes) -> bytes:
    """A quote and spaces at the end of a chunk, which may continue in the next one.

    >>> [last_quote_and_spaces(end) for end in (b'a,"b"  ', b'a,"b"', b'a, ')]
    [b'" ', b'"', b'']
    """
    end = chunk.rstrip(b" ")
    # One space stands for any number, so that long runs aren't scanned repeatedly.
    return chunk[len(end) - 1 :][:2] if end.endswith(b'"') else b""


def account(
    file: str, header: Header, census: Census, options: dict[str, str], run: Run
) -> dict[str, str]:
    """Prove that DuckDB reads every byte of `file`, and return the extra options this needs.

    Lines beyond DuckDB's default limit are retried with a larger one.
    """
    if census.doubtful and (line := first_fault(file, header, run)):
        raise unreadable(file, line)
    wider = {"max_line_size": str(LONGEST_LINE), "buffer_size": str(2 * LONGEST_LINE)}
    for extra in ({}, wider):
        source = call("read_csv", path_list([file]), options | extra | NO_HIVE)
        try:
            [(records, value_bytes)] = run(
                render("csv_account", source=source, columns=header.names)
            )
        except (duckdb.InvalidInputException, duckdb.NotImplementedException) as error:
            too_long = any(words in str(error) for words in LINE_TOO_LONG)
            if too_long and not extra:
                continue
            fault = line_too_long(file) if too_long else malformed(file, header, run)
            raise fault from None
        if not balances(header, census, int(records), int(value_bytes)):
            raise malformed(file, header, run)
        return extra
    raise AssertionError("the second try returns or raises")


def balances(header: Header, census: Census, records: int, value_bytes: int) -> bool:
    """Whether values, quotes, delimiters and line ends add up to the body."""
    newline = len(header.newline)
    blank_end = max(0, census.last_breaks - newline) if len(header.names) > 1 else 0
    body = census.size - header.bytes - blank_end
    if not records:
        return body <= 0
    unfinished = 0 if census.last_breaks else newline
    if census.splittable and records != census.line_feeds - blank_end - header.lines + unfinished:
        return False
    return body == (
        value_bytes
        + (census.quotes - header.quotes)
        + records * (len(header.names) - 1 + newline)
        - unfinished
    )


LINE_TOO_LONG = ("aximum line size", "does not support a full read")
"""Parts of DuckDB's message on a line beyond its limit; the rest may contain the line."""


def malformed(file: str, header: Header, run: Run) -> InputError:
    """The error naming the first malformed line."""
    return unreadable(file, first_fault(file, header, run))


def unreadable(file: str, line: int | None) -> InputError:
    """The error for a line that can't be read, or that only DuckDB reads differently."""
    return InputError(
        f"{file}: {f'line {line}' if line else 'a line'} can't be read as it stands. Mend it, or "
        "write the file again: as UTF-8, with one kind of line end and no blank lines, as many "
        "fields in each line as in the first, and quotes around a field with a delimiter, a quote "
        "(doubled) or a line break, without spaces around them."
    )


def first_fault(file: str, header: Header, run: Run) -> int | None:
    """The first line that is not a record of the first one's shape.

    Only called for a file about to be rejected, so speed doesn't matter.
    """
    with open_bytes(file, run) as raw, field_limit(LONGEST_LINE):
        lines = Lines(file, raw)
        reader = csv.reader(lines, delimiter=header.delimiter, strict=True)
        start = 1
        try:
            for row in reader:
                if not is_record(row, lines.record, header):
                    return None if not row and lines.only_blank_lines_follow() else start
                start = reader.line_num + 1
                lines.begin_record()
        except csv.Error:
            return start
    return None


def is_record(row: list[str], text: str, header: Header) -> bool:
    """Whether a record has the fields and the line end of the first one, in UTF-8 and without a
    space before an opening quote. A blank line is a record of one column only."""
    return (
        len(row or [""]) == len(header.names)
        and line_end(text) in (header.newline, "")
        and not has_surrogates(text)
        and not any(re.match(' +"', field) for field in written_fields(text, header.delimiter))
    )


def written_fields(text: str, delimiter: str) -> list[str]:
    """The raw fields of a record, with their quotes.

    >>> written_fields('a, "b","c,d"', ",")
    ['a', ' "b"', '"c,d"']
    """
    mark = re.escape(delimiter)
    return re.findall(rf'(?:\A|{mark})("(?:[^"]|"")*"|[^{mark}]*)', text)


def line_end(text: str) -> str:
    """The line break at the end of `text`."""
    return next((end for end in ("\r\n", "\n", "\r") if text.endswith(end)), "")


# --- is the first line a header? ------------------------------------------------------------
#
# If it looks like a record, its cells may be personal data, and the user has to declare it.

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
    return tuple(f"column_{number}" for number in range(1, width + 1))


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
    for number, name in enumerate(names, start=1):
        kind = (
            "there twice" if folded.index(folded[number - 1]) + 1 < number else kind_of_name(name)
        )
        if kind:
            return f"field {number} is {kind}"
    columns = [
        [row[number] for row in records if row[number].strip()] for number in range(len(names))
    ]
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
        letter if not letter.isalpha() else "A" if letter.isupper() else "a" for letter in letters
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


# --- raw lines ------------------------------------------------------------------------------

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
