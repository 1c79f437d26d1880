"""Reads CSV as text without losing a byte: every byte is accounted for, or the file is rejected.

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
from typing import NamedTuple

import duckdb

from kanon_sql.engines.duckdb.csv_lines import (
    CHUNK,
    LONGEST_LINE,
    Lines,
    field_limit,
    line_too_long,
    numbered_names,
    open_bytes,
    require_names,
)
from kanon_sql.engines.readers import (
    Run,
    call,
    call_in_lines,
    no_hive_columns,
    path_list,
    require_usable_names,
    struct,
)
from kanon_sql.errors import InputError, SpecError
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


def csv_source(
    written: str,
    files: Sequence[str],
    run: Run,
    *,
    delimiter: str | None,
    null_strings: Sequence[str],
    named: bool | None = None,
) -> tuple[str, str]:
    """The `read_csv(…)` call that reads `files` completely as text, and its multi-line form.

    `written` is the path or glob in the SQL; `named` is whether the user declared the first line a
    header, or None. Raises `InputError` at the first line that can't be read unchanged.
    """
    headers = [read_header(file, delimiter, run, named) for file in files]
    header = headers[0]
    for file, other in zip(files, headers, strict=True):
        require_same_header(files[0], header, file, other)
    censuses = [take_census(file, run) for file in files]
    options = reader_options(header, parallel=all(census.splittable for census in censuses))
    for file, own_header, census in zip(files, headers, censuses, strict=True):
        options |= account(file, own_header, census, options, run)
    if null_strings:
        require_null_strings(files[0], header.delimiter, null_strings)
        options["nullstr"] = f"[{', '.join(map(literal, ['', *null_strings]))}]"
    options |= no_hive_columns(files)
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


def read_header(file: str, delimiter: str | None, run: Run, named: bool | None) -> Header:
    """The header of `file`, with the delimiter that splits it into the most columns.

    Raises `InputError` for a first line that looks like a record, unless it is declared a header by
    `named`.
    """
    require_utf8_start(file, run)
    candidates = [delimiter] if delimiter else preferred_delimiters(file)
    headers = [header for header in (try_header(file, one, run) for one in candidates) if header]
    if not headers:
        raise unreadable(file, 1)
    header = max(headers, key=lambda one: len(one.names))
    if not any(header.names):
        raise InputError(f"{file}: the first line is blank. It must hold the column names.")
    if named is False:
        return without_line(header)
    if named is None:
        require_names(file, header.names, header.delimiter, run)
    require_plain_names(file, header.names)
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


def require_plain_names(file: str, names: Sequence[str]) -> None:
    """Refuse a header with an empty name, or with names that DuckDB can't tell apart."""
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
        source = call("read_csv", path_list([file]), options | extra | no_hive_columns([file]))
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
    """The error for a line, or for one that only DuckDB reads otherwise, with all that it needs."""
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
