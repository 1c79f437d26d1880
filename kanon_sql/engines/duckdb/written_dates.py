"""Dates in text as a declared format has them, read as in 1956-12-24."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from kanon_sql.engines.readers import Run
from kanon_sql.errors import InputError, SpecError, option
from kanon_sql.question.date_formats import DateFormat, Dates, date_format
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Column, Table, family, find

Formats = Sequence[tuple[Column, DateFormat]]
"""Columns with the formats of their dates."""


def with_dates(table: Table, dates: Dates, run: Run) -> Table:
    """The table with the dates of a format in the way that casts read them.

    A column without its own format is read if all its values are dates. Raises `InputError` where
    only some are, or no column has any, and `SpecError` for a column that is no text.
    """
    if not table.ordered:
        raise SpecError(
            f"{table.name}: {option('dates')} is for files and data frames. In a database, cast "
            "the column in a view."
        )
    if isinstance(dates, Mapping):
        formats = [(text_column(name, table), date_format(each)) for name, each in dates.items()]
        dated = [
            one
            for one, values, matching in counted(table, formats, run)
            if is_complete(table, one, values, matching)
        ]
    else:
        texts = [column for column in table.columns if family(column.type) == "text"]
        formats = [(column, date_format(dates)) for column in texts]
        dated = [
            one
            for one, values, matching in counted(table, formats, run)
            if 2 * matching > values
            and is_complete(table, one, values, matching, "names those that have dates")
        ]
        if not dated:
            raise InputError(f"{table.name} has no column of dates as {dates}. {ADVICE}")
    return in_iso(table, dated, run) if dated else table


ADVICE = (
    "dmy is 24.12.1956 or 24/12/1956, mdy 12/24/1956, ymd 19561224; any other is a pattern, such "
    "as '%d %b %Y'."
)


def text_column(name: str, table: Table) -> Column:
    column = find(name, table)
    if family(column.type) != "text":
        raise SpecError(
            f'{table.name}: column "{column.name}" is {column.type}, and {option("dates")} is for '
            "text. Leave it out."
        )
    return column


def counted(
    table: Table, formats: Formats, run: Run
) -> Iterator[tuple[tuple[Column, DateFormat], int, int]]:
    """Each column with the number of its values, and of those that are dates."""
    if formats:
        [counts] = run(render("dates_as_written", relation=table.sql, columns=formats))
        yield from zip(formats, map(int, counts[::2]), map(int, counts[1::2]), strict=True)


def is_complete(
    table: Table, one: tuple[Column, DateFormat], values: int, matching: int, or_else: str = ""
) -> bool:
    """True. Raises `InputError` if some values are no dates."""
    column, format = one
    if matching < values:
        of_column = f", or {option('dates', {'COL': format.name})} {or_else}" if or_else else ""
        raise InputError(
            f'{table.name}: {values - matching:,} of {values:,} values of "{column.name}" are no '
            f"dates as {format.name}. Mend them, or read them as NULL with "
            f"{option('null_strings')}{of_column}."
        )
    return True


def in_iso(table: Table, dated: Formats, run: Run) -> Table:
    """The table with these columns in the format of ISO 8601, with a time where some have one."""
    columns = [column for column, _ in dated]
    [shapes] = run(render("shapes_of_dates", relation=table.sql, columns=columns))
    parsed = []
    for (column, format), own in zip(dated, shapes, strict=True):
        patterns = format.used(own or ())
        if patterns:
            time = " %H:%M:%S" if any("%H" in pattern for pattern in patterns) else ""
            parsed.append((column, patterns, f"%Y-%m-%d{time}"))
    if not parsed:
        return table
    iso = partial(render, "with_iso_dates", columns=parsed)
    in_lines = iso(relation=table.in_lines) if table.in_lines else ""
    return replace(table, sql=iso(relation=table.sql), in_lines=in_lines)
