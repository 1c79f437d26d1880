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
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

import duckdb

from kanon_sql.engines.duckdb.doubtful_headers import first_records, require_names
from kanon_sql.engines.duckdb.raw_lines import (
    CHUNK,
    LONGEST_LINE,
    Lines,
    field_limit,
    has_surrogates,
    line_end,
    line_too_long,
    open_bytes,
)
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
from kanon_sql.errors import InputError, SpecError, option, plural
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
    has_index: bool = False
    """Whether the first column has no name in it, above the number of each record."""


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


class CsvSource(NamedTuple):
    """The `read_csv(…)` call that reads files completely as text."""

    sql: str
    in_lines: str
    """The call with one option a line."""
    has_index: bool
    """Whether the first column has no name in the header, and is called column_1."""


def csv_source(written: str, files: Sequence[str], run: Run, text: TextOptions) -> CsvSource:
    """The call that reads `files` completely as text; `written` is their path or glob in the SQL.

    Raises `InputError` at the first line that can't be read unchanged.
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
    return CsvSource(
        call("read_csv", written, options),
        call_in_lines("read_csv", written, options, types),
        header.has_index,
    )


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
        raise in_quotes(file, 1, is_closed=not is_open_quote(file, run))
    header = max(headers, key=lambda one: len(one.names))
    if len(header.names) == 1 and not text.delimiter and text.header is None:
        require_no_title(file, run)
    if not any(header.names):
        raise InputError(
            f"{file}: the first line is blank. It must hold the column names; "
            f"{option('skip', 1)} leaves out a line above them."
        )
    if text.header is False:
        return without_line(header)
    records = first_records(file, header.delimiter, len(header.names), run)
    if is_index(header.names, records, is_declared=text.header is True):
        header = header._replace(names=(numbered_names(1)[0], *header.names[1:]), has_index=True)
    if text.header is None:
        require_names(file, header.names, records)
    require_column_names(file, header.names)
    return header


def is_index(
    names: Sequence[str], records: Sequence[Sequence[str]], *, is_declared: bool = False
) -> bool:
    """Whether the first column alone has no name and numbers its records, as pandas writes an
    index. Below a declared header it may hold texts, as R writes the names of rows.

    >>> is_index(["", "zip"], [["0", "02138"], ["1", "02138"]])
    True
    >>> is_index(["", "zip"], [["7", "02138"], ["7", "02138"]]), is_index(["", ""], [["0", "1"]])
    (False, False)
    """
    if names[0] or len(names) < 2 or not all(names[1:]):
        return False
    numbers = [record[0] for record in records]
    is_distinct = len(set(numbers)) == len(numbers) > 0
    are_numbers = all(number.isascii() and number.isdecimal() for number in numbers)
    return is_declared or (is_distinct and are_numbers)


def require_no_title(file: str, run: Run) -> None:
    """Raise `InputError` if all lines from the second or a later one on have the same number of
    delimiters, and those above them none."""
    with open_bytes(file, run) as raw:
        reader = Lines(file, raw)
        lines = list(islice(reader, 5 * LONGEST_TITLE))
    for delimiter in DELIMITERS:
        # One comma may be that of a decimal.
        fewest = 2 if delimiter == "," else 1
        counts = [line.count(delimiter) for line in lines if line.strip("\r\n")]
        above = next((n for n, count in enumerate(counts) if count >= fewest), 0)
        if (
            above
            and len(counts) - above > 1
            and not any(counts[:above])
            and (len(set(counts[above:])) == 1)
        ):
            skip = next(n for n, line in enumerate(lines) if line.count(delimiter))
            raise InputError(
                f"{file}: line {skip + 1} has {counts[above] + 1} fields, the first line 1. If the "
                f"lines above are a title, {option('skip', skip)} leaves them out; if not, name "
                f"the {option('delimiter')}."
            )


def without_line(header: Header) -> Header:
    """The header of a file whose first line is a record."""
    names = numbered_names(len(header.names))
    return header._replace(names=names, bytes=header.mark, quotes=0, lines=0, is_line=False)


def numbered_names(width: int) -> tuple[str, ...]:
    """Generated column names for a file without a header."""
    return tuple(f"column_{number}" for number in range(1, width + 1))


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
        raise undecodable(file, 1, utf_16=utf_16_of(start))


def require_column_names(file: str, names: Sequence[str]) -> None:
    """Refuse a header with an empty name, or with names that DuckDB can't distinguish."""
    if "" in names:
        raise InputError(
            f"{file}: column {names.index('') + 1} has no name in the header. Give it one."
        )
    if any(map(has_surrogates, names)):
        raise undecodable(file, 1)
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
    if census.doubtful and (fault := first_fault(file, header, run)):
        raise fault
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
            raise (line_too_long(file) if too_long else malformed(file, header, run)) from None
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
    return first_fault(file, header, run) or InputError(
        f"{file}: a line can't be read as it stands. Write the file again: as UTF-8, with one kind "
        "of line end and no blank lines, as many fields in each line as in the first, and quotes "
        "around a field with a delimiter, a quote (doubled) or a line break."
    )


def first_fault(file: str, header: Header, run: Run) -> InputError | None:
    """The error about the first line that is not a record of the first one's shape.

    Only called for a file about to be rejected, so speed doesn't matter.
    """
    with open_bytes(file, run) as raw, field_limit(LONGEST_LINE):
        lines = Lines(file, raw)
        reader = csv.reader(lines, delimiter=header.delimiter, strict=True)
        start = 1
        try:
            for row in reader:
                if not row and len(header.names) > 1:
                    return None if lines.only_blank_lines_follow() else blank(file, start)
                if fault := fault_of_record(file, start, row or [""], lines.record, header):
                    return fault
                start = reader.line_num + 1
                lines.begin_record()
        except csv.Error as error:
            # A quote that is left open ends at the next one, in a later line.
            is_closed = "end of data" not in str(error) and reader.line_num <= start
            return in_quotes(file, start, is_closed=is_closed)
    return None


def fault_of_record(
    file: str, line: int, row: Sequence[str], text: str, header: Header
) -> InputError | None:
    """The error about a record, unless it has the fields and the line end of the first one, in
    UTF-8 and without a space before an opening quote."""
    if has_surrogates(text):
        return undecodable(file, line)
    if len(row) != len(header.names):
        return of_other_width(file, line, len(row), header)
    if line_end(text) not in (header.newline, ""):
        return InputError(
            f"{file}: line {line} ends with {LINE_ENDS[line_end(text)]}, the first line with "
            f"{LINE_ENDS[header.newline]}. Save the file with one kind of line end."
        )
    if any(re.match(' +"', field) for field in written_fields(text, header.delimiter)):
        return InputError(
            f"{file}: line {line} has a space before the quote of a field. Remove the space."
        )
    return None


LINE_ENDS = {"\r\n": "CRLF", "\n": "LF", "\r": "CR", "": "none"}


def blank(file: str, line: int) -> InputError:
    of_title = f"; if the lines up to it are a title, {option('skip', line)} leaves them out"
    return InputError(
        f"{file}: line {line} is blank. Remove it{of_title if line <= LONGEST_TITLE else ''}."
    )


LONGEST_TITLE = 10
"""The number of lines above a header up to which a blank line may end a title."""


def of_other_width(file: str, line: int, fields: int, header: Header) -> InputError:
    """The error about a line with more or fewer fields than the first one."""
    width = len(header.names)
    mark = {"\t": "a tab"}.get(header.delimiter, f'"{header.delimiter}"')
    if fields < width:
        advice = "Complete it."
    elif line == header.lines + 1 and width < fields:
        skip = option("skip", line - 1)
        advice = f"Complete the header; if the lines above are a title, {skip} leaves them out."
    else:
        advice = f"Put quotes around a field that holds {mark}."
    first = "the first line" if not header.is_line else "the header"
    return InputError(
        f"{file}: line {line} has {plural(fields, 'field')}, {first} {width}. {advice}"
    )


def in_quotes(file: str, line: int, *, is_closed: bool) -> InputError:
    """The error about a record whose quotes don't fit."""
    if not is_closed:
        return InputError(f"{file}: a quote in line {line} is not closed. Close or remove it.")
    return InputError(
        f"{file}: line {line} has text after the closing quote of a field. Double each quote "
        "inside a field."
    )


def is_open_quote(file: str, run: Run) -> bool:
    """Whether a quote of the first line is not closed in it."""
    with open_bytes(file, run) as raw:
        lines = Lines(file, raw)
        return next(lines).count('"') % 2 == 1


def undecodable(file: str, line: int, *, utf_16: str | None = None) -> InputError:
    """The error about a line that is not UTF-8."""
    if utf_16:
        return InputError(f"{file} is UTF-16. Read it with {option('encoding', utf_16)}.")
    return InputError(
        f"{file}: line {line} is not UTF-8. If Excel wrote the file, "
        f"{option('encoding', 'cp1252')} reads it."
    )


def utf_16_of(start: bytes) -> str | None:
    """The codec of a file that begins like UTF-16, or None.

    >>> utf_16_of("zip".encode("utf-16")), utf_16_of("zip".encode("utf-16-be")), utf_16_of(b"zip")
    ('utf-16', 'utf-16-be', None)
    """
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) * 4 < len(start):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def written_fields(text: str, delimiter: str) -> list[str]:
    """The raw fields of a record, with their quotes.

    >>> written_fields('a, "b","c,d"', ",")
    ['a', ' "b"', '"c,d"']
    """
    mark = re.escape(delimiter)
    return re.findall(rf'(?:\A|{mark})("(?:[^"]|"")*"|[^{mark}]*)', text)
