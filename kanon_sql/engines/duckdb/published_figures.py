"""Figures as a published table has them: thousands, flags, a column for each category."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from kanon_sql.engines.readers import Run
from kanon_sql.errors import InputError, option
from kanon_sql.question.figures import FigureOptions
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier
from kanon_sql.sql.tables import Column, Table, family

_MARKS = {".": r"\.", ",": ",", " ": "[ \u00a0\u202f]", "'": "['\u2019]"}
"""What separates thousands, as a regular expression; no-break spaces are spaces."""
_NAMES = {".": "a point", ",": "a comma", " ": "a space", "'": "an apostrophe"}
_FLAG = r"\s*\(?[A-Za-z]{1,3}\)?"


class Spelling(NamedTuple):
    """How figures are written."""

    thousands: str | None
    decimal: str
    flags: bool

    @property
    def regex(self) -> str:
        """What a figure matches; its first group is the number.

        >>> Spelling(".", ",", True).regex
        '([-+]?([1-9][0-9]{0,2}(\\\\.[0-9]{3})+|[0-9]+)(,[0-9]+)?)(\\\\s*\\\\(?[A-Za-z]{1,3}\\\\)?)?'
        """
        digits = "[0-9]+"
        if self.thousands:
            digits = f"([1-9][0-9]{{0,2}}({_MARKS[self.thousands]}[0-9]{{3}})+|{digits})"
        number = f"([-+]?{digits}({re.escape(self.decimal)}[0-9]+)?)"
        return number + (f"({_FLAG})?" if self.flags else "")

    @property
    def sign(self) -> str:
        """What no plainer spelling has: a group of thousands, or a flag."""
        return f"[0-9]{_MARKS[self.thousands]}[0-9]{{3}}" if self.thousands else "[A-Za-z]"

    @property
    def separator(self) -> str | None:
        return self.thousands and _MARKS[self.thousands]


def with_figures(table: Table, figures: FigureOptions, run: Run) -> Table:
    """The table with one row a cell and its figures as casts read them.

    Raises `InputError` for figures that are written otherwise than declared, and for those that
    look like numbers with thousands or flags which nobody declared.
    """
    table = _in_rows(table, figures, run)
    columns = [
        column
        for column in table.columns
        if column.name.casefold() in {name.casefold() for name in figures.columns}
        and family(column.type) == "text"
    ]
    if not columns or not table.ordered:
        return table
    decimal = "," if figures.thousands == "." else figures.decimal
    declared = Spelling(figures.thousands, decimal, figures.flags)
    if not (figures.thousands or figures.flags):
        for column in columns:
            _refuse_undeclared(table, column, figures, run)
        return table
    for column, (values, matching, _) in _counted(table, columns, declared, figures, run):
        if matching < values:
            raise InputError(
                f'{table.name}: {values - matching:,} of {values:,} figures of "{column.name}" are '
                f"no numbers as declared, with {_described(declared)}. Declare what stands in "
                f"place of a figure: {option('suppressed', 'MARK')}."
            )
    sql = render(
        "with_plain_figures",
        relation=table.sql,
        columns=columns,
        spelling=declared,
        marks=figures.marks,
    )
    return replace(table, sql=sql, in_lines="")


def _described(spelling: Spelling) -> str:
    parts = [f"{_NAMES[spelling.thousands]} between thousands"] if spelling.thousands else []
    parts += ["flags of up to three letters"] if spelling.flags else []
    return " and ".join(parts)


def _refuse_undeclared(table: Table, column: Column, figures: FigureOptions, run: Run) -> None:
    """Raise `InputError` if all figures of a column are numbers by a spelling that is not declared,
    and some are by no other."""
    for mark in _MARKS:
        if mark == figures.decimal and not figures.are_counts:
            continue  # 1.049 may have three decimals.
        decimal = {".": ",", ",": "."}.get(mark, figures.decimal)
        spelling = Spelling(mark, decimal, flags=False)
        [(_, (values, matching, marked))] = _counted(table, [column], spelling, figures, run)
        if marked and matching == values:
            word = "space" if mark == " " else mark
            raise InputError(
                f'{table.name}: the figures of "{column.name}" look like numbers with '
                f"{_NAMES[mark]} between thousands, in {marked:,} of {values:,}: "
                f"{option('thousands', word)} reads them."
            )
    spelling = Spelling(None, figures.decimal, flags=True)
    [(_, (values, matching, marked))] = _counted(table, [column], spelling, figures, run)
    if marked and matching == values:
        raise InputError(
            f'{table.name}: {marked:,} of {values:,} figures of "{column.name}" have letters '
            f"behind them, as flags are: {option('flags')} leaves flags out."
        )


def _counted(
    table: Table,
    columns: Sequence[Column],
    spelling: Spelling,
    figures: FigureOptions,
    run: Run,
) -> Iterator[tuple[Column, tuple[int, int, int]]]:
    """Of each column: its figures that are no marks, those of this spelling, and those that no
    plainer one has."""
    sql = render(
        "figures_as_written",
        relation=table.sql,
        columns=columns,
        spelling=spelling,
        marks=figures.marks,
    )
    [counts] = run(sql)
    for number, column in enumerate(columns):
        values, matching, marked = map(int, counts[3 * number : 3 * number + 3])
        yield column, (values, matching, marked)


def _is_crosstab(table: Table, columns: Sequence[Column], figures: FigureOptions, run: Run) -> bool:
    """Whether several columns beside the dimensions are all of figures, many of them suppressed."""
    texts = [column for column in columns if family(column.type) == "text"]
    are_figures = set()
    for mark, decimal in ((None, figures.decimal), (".", ","), (",", "."), (" ", "."), ("'", ".")):
        spelling = Spelling(mark, decimal, flags=True)
        for column, (values, matching, _) in _counted(table, texts, spelling, figures, run):
            if 3 * matching > values:
                are_figures.add(column.name)
    return len(columns) > 1 and all(
        column.name in are_figures or family(column.type) == "number" for column in columns
    )


def _in_rows(table: Table, figures: FigureOptions, run: Run) -> Table:
    """A crosstab, which has a column for each category, as one row a cell."""
    names = {column.name.casefold(): column for column in table.columns}
    value = figures.columns[0]
    if not table.ordered:
        return table
    if figures.wide is None:
        by = {name.casefold() for name in figures.by}
        others = [column for name, column in names.items() if name not in by]
        if value.casefold() not in names and _is_crosstab(table, others, figures, run):
            raise InputError(
                f'{table.name} has no column "{value}". A published table has one row a cell, with '
                "its figure in one column; where it has a column for each category, say what the "
                f"categories are: {option('wide', 'COLUMN')}, one of {option('by')}."
            )
        return table
    if figures.wide.casefold() in names:
        return table
    kept = [names[name.casefold()] for name in figures.by if name.casefold() in names]
    categories = [column for column in table.columns if column not in kept]
    if len(categories) < 2 or not {family(each.type) for each in categories} <= {"text", "number"}:
        raise InputError(
            f"{table.name}: its columns beside {', '.join(column.name for column in kept)} are "
            f"{'too few' if len(categories) < 2 else 'not all of text or numbers'}, for the "
            f"categories of {figures.wide} that {option('wide')} declares."
        )
    types = {column.type for column in categories}
    figure = "VARCHAR" if len(types) > 1 else categories[0].type
    sql = render(
        "crosstab_in_rows",
        relation=table.sql,
        kept=kept,
        categories=categories,
        dimension=identifier(figures.wide),
        value=identifier(value),
        as_text=len(types) > 1,
    )
    columns = (*kept, Column(figures.wide, "VARCHAR"), Column(value, figure))
    return replace(table, sql=sql, in_lines="", columns=columns, records=None)
