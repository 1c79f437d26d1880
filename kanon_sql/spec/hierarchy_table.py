"""Hierarchies that are tables: a value and its ancestors a row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from kanon_sql.errors import SpecError, option, other_than_a_file

Paths = tuple[tuple[str, ...], ...]
"""The leaves of a tree, each with its ancestors from the nearest to the farthest."""


_DELIMITERS = ";,\t|"


_LINE_ENDS = tuple("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
FaultKind = Literal["duplicate", "two parents", "not nested", "unequal", "empty", "builder"]
Faults = Literal["error", "warn"]


class Fault(NamedTuple):
    """What is wrong with a hierarchy at one place."""

    kind: FaultKind
    line: int
    sentence: str
    """What, where and how much, for people, without a value that the spec itself does not hold."""
    shown: str = ""
    """The same with the values, where they are withheld."""

    def __str__(self) -> str:
        return self.sentence


class HierarchyRow(NamedTuple):
    """A raw value and its ancestors, from the nearest to the farthest."""

    line: int
    value: str
    ancestors: tuple[str, ...]
    has_value: bool = True
    """Whether the raw value is there: the empty text is one, an empty field or NULL is none."""


@dataclass(frozen=True)
class HierarchyTable:
    """A hierarchy as a table: a row a raw value, a column a level."""

    name: str
    rows: tuple[HierarchyRow, ...]
    has_lines: bool = True
    """Whether a row's number is one of a file's lines."""
    columns: tuple[str, ...] = ()
    """What the columns are called, where they have names."""

    @property
    def spoken(self) -> str:
        """What people call it: by its file or table, or by its column."""
        return f"the hierarchy {self.name}" if self.has_lines or self.columns else self.name

    @property
    def is_in_spec(self) -> bool:
        """Whether its values are the spec's own, rather than those of a file or a table."""
        return not self.has_lines and not self.columns

    @property
    def height(self) -> int:
        return max(len(row.ancestors) for row in self.rows)

    def labels(self, level: int) -> dict[str, str]:
        """What each raw value becomes. The first row of a value wins; a short row goes on with
        its last ancestor."""
        labels: dict[str, str] = {}
        for row in self.rows:
            if row.value not in labels:
                labels[row.value] = row.ancestors[min(level, len(row.ancestors)) - 1]
        return labels

    def nested(self, level: int) -> bool:
        """Whether the labels of a level follow from those of the level below."""
        if level <= 1:
            return True
        above: dict[str, str] = {}
        pairs = zip(self.labels(level - 1).values(), self.labels(level).values(), strict=True)
        return all(above.setdefault(finer, coarser) == coarser for finer, coarser in pairs)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """Everything wrong with it, by line within each kind."""
        return (
            *self._empty_fields(),
            *self._unequal_lengths(),
            *self._values_with_two_parents(),
            *self._repeated_rows(),
            *self._levels_not_nested(),
        )

    def at(self, line: int) -> str:
        """Where a row is, for people."""
        return f"{self.name}:{line}" if self.has_lines else self.name

    def _level(self, level: int) -> str:
        """A level for people, with the column that it is in."""
        return (
            f'level {level} (column "{self.columns[level]}")' if self.columns else f"level {level}"
        )

    def _fault(self, kind: FaultKind, line: int, sentence: str, shown: str) -> Fault:
        """A fault with its values, if they are the spec's own; else they wait to be asked for."""
        return Fault(kind, line, shown if self.is_in_spec else sentence, shown)

    def _empty_fields(self) -> Iterator[Fault]:
        for row in self.rows:
            if not row.has_value:
                sentence = (
                    f"{self.at(row.line)}: the raw value is empty. If the empty text is meant, "
                    'write it as "".'
                    if self.has_lines
                    else f"{self.name}: a raw value is NULL. NULL keeps its place without a row."
                )
                yield Fault("empty", row.line, sentence)
            elif "" in row.ancestors:
                level = row.ancestors.index("") + 1
                at = self.at(row.line)
                yield self._fault(
                    "empty",
                    row.line,
                    f"{at}: {self._level(level)} is empty{'' if self.has_lines else ' in a row'}.",
                    f'{at}: level {level} of "{row.value}" is empty.',
                )

    def _unequal_lengths(self) -> Iterator[Fault]:
        first = self.rows[0]
        for row in self.rows:
            if len(row.ancestors) != len(first.ancestors):
                ours, theirs = len(row.ancestors), len(first.ancestors)
                sentence = (
                    f"{self.at(row.line)}: this line has {ours + 1} columns, line {first.line} "
                    f"has {theirs + 1}."
                    if self.has_lines
                    else f'{self.name}: the height of "{row.value}" is {ours}, of "{first.value}" '
                    f"{theirs}."
                )
                yield Fault("unequal", row.line, sentence)

    def _values_with_two_parents(self) -> Iterator[Fault]:
        rows: dict[str, dict[tuple[str, ...], int]] = {}
        for row in self.rows:
            rows.setdefault(row.value, {}).setdefault(row.ancestors, row.line)
        for value, lines in rows.items():
            for level in range(1, min(map(len, lines)) + 1):
                parents: dict[str, int] = {}
                for ancestors, line in lines.items():
                    parents.setdefault(ancestors[level - 1], line)
                if len(parents) > 1:
                    both, line = self._both(parents)
                    at, so = self.at(line), "so nobody can tell which is meant."
                    earlier = min(parents.values())
                    yield self._fault(
                        "two parents",
                        line,
                        f"{at}: the value of this line lies under another parent (level {level}) "
                        f"than in line {earlier}, {so}"
                        if self.has_lines
                        else f"{at}: a value lies under {len(parents):,} parents in "
                        f"{self._level(level)}, {so}",
                        f'{at}: "{value}" lies under {both} (level {level}), {so}',
                    )
                    break

    def _repeated_rows(self) -> Iterator[Fault]:
        seen: dict[tuple[str, tuple[str, ...]], int] = {}
        for row in self.rows:
            line = seen.setdefault((row.value, row.ancestors), row.line)
            if line != row.line:
                at = self.at(row.line)
                again = f"repeats line {line}" if self.has_lines else "occurs twice"
                what = "this line" if self.has_lines else "a row"
                yield self._fault(
                    "duplicate", row.line, f"{at}: {what} {again}.", f'{at}: "{row.value}" {again}.'
                )

    def _both(self, parents: Mapping[str, int]) -> tuple[str, int]:
        """The parents of a node in words, and the line where the second stands."""
        [(first, first_line), (second, second_line), *more] = parents.items()
        place = f" (line {first_line})" if self.has_lines else ""
        others = f" and {len(more):,} more" if more else ""
        return f'both "{first}"{place} and "{second}"{others}', second_line

    def _levels_not_nested(self) -> Iterator[Fault]:
        """Nodes of a level that lie under several nodes of the next."""
        for level in range(1, self.height):
            above: dict[str, dict[str, int]] = {}
            values: dict[str, set[str]] = {}
            for row in self.rows:
                if len(row.ancestors) > level:
                    node, parent = row.ancestors[level - 1 : level + 1]
                    above.setdefault(node, {}).setdefault(parent, row.line)
                    values.setdefault(node, set()).add(row.value)
            for node, parents in above.items():
                if len(parents) > 1:
                    yield self._not_nested(level, node, parents, len(values[node]))

    def _not_nested(self, level: int, node: str, parents: Mapping[str, int], values: int) -> Fault:
        both, line = self._both(parents)
        at, coarser = self.at(line), level + 1
        so = (
            f"so level {coarser} would publish a wrong label for {values:,} "
            f"{'value' if values == 1 else 'values'}."
        )
        return self._fault(
            "not nested",
            line,
            f"{at}: the label of level {level} in this line lies under another label of level "
            f"{coarser} than in line {min(parents.values())}, {so}"
            if self.has_lines
            else f"{at}: a label of {self._level(level)} lies under {len(parents):,} of "
            f"{self._level(coarser)}, {so}",
            f'{at}: "{node}" lies under {both} (level {level} to {coarser}), {so}',
        )


_MORE: dict[FaultKind, str] = {
    "empty": "fields are empty",
    "unequal": "lines have another number of columns",
    "two parents": "values have two parents",
    "duplicate": "lines are repeated",
    "not nested": "labels lie under several of the next level",
    "builder": "levels don't follow from the level below",
}


def summary(faults: Sequence[Fault], *, show_values: bool = False) -> str:
    """The first fault of each kind in full, and how many there are of it."""
    lines = []
    for kind, words in _MORE.items():
        alike = [fault for fault in faults if fault.kind == kind]
        if alike:
            more = f" In all {len(alike):,} {words}." if len(alike) > 1 else ""
            said = alike[0].shown if show_values and alike[0].shown else alike[0].sentence
            lines.append(f"{said}{more}")
    return "\n".join(lines)


def refuse(faults: Sequence[Fault], *, show_values: bool = False) -> None:
    """Raise `SpecError` with a summary of the faults, if there are any."""
    if faults:
        has_rows = any(fault.kind != "builder" for fault in faults)
        raise SpecError(
            f"{summary(faults, show_values=show_values)}\nMend it, or go on with "
            f"{option('hierarchy_faults', 'warn')}: every level is then read from the raw value"
            f"{', and the first row of a value wins' if has_rows else ''}."
        )


def read_hierarchy(path: str | Path) -> HierarchyTable:
    """The hierarchy in a CSV file without header: the raw value, then a column a level.

    Its delimiter is found on its first line. Raises `SpecError` for a file that can't be read or
    holds no levels; what else is wrong with it are its `faults`.
    """
    rows = _rows(Path(path))
    if all(len(row) < 2 for _, row, _ in rows):
        raise SpecError(
            f"{path}: the hierarchy has one column. Put each value's ancestors beside it, divided "
            "by a comma, a semicolon, a tab or |."
        )
    short = next((line for line, row, _ in rows if len(row) < 2), None)
    if short is not None:
        raise SpecError(
            f"{path}:{short}: this line has one column. Put the value's ancestors beside it."
        )
    return _of_single_lines(
        HierarchyTable(
            str(path),
            tuple(
                HierarchyRow(line, row[0], tuple(row[1:]), has_value=0 not in missing)
                for line, row, missing in rows
            ),
        )
    )


def hierarchy_table(ancestors: Mapping[str, Sequence[str]], name: str) -> HierarchyTable:
    """The same of a mapping: each raw value with its ancestors."""
    rows = tuple(
        HierarchyRow(number, raw, tuple(above))
        for number, (raw, above) in enumerate(ancestors.items(), 1)
    )
    return _of_single_lines(HierarchyTable(name, rows, has_lines=False))


def table_of_rows(
    name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]
) -> HierarchyTable:
    """The same of the rows of a table: the raw value, then a column a level.

    Raises `SpecError` if there are no levels in it.
    """
    if len(columns) < 2:
        raise SpecError(
            f"{name}: the hierarchy has one column. Put each value's ancestors beside it, in a "
            "column a level."
        )
    if not rows:
        raise SpecError(f"{name}: the hierarchy is empty. Give each value a row.")
    return _of_single_lines(
        HierarchyTable(
            name,
            tuple(
                HierarchyRow(
                    number, raw or "", tuple(label or "" for label in above), raw is not None
                )
                for number, (raw, *above) in enumerate(rows, 1)
            ),
            has_lines=False,
            columns=tuple(columns),
        )
    )


def _of_single_lines(table: HierarchyTable) -> HierarchyTable:
    """The same table, if each of its values can stand in a line of SQL."""
    for row in table.rows:
        for text in (row.value, *row.ancestors):
            if len(text.splitlines()) > 1 or text.endswith(_LINE_ENDS):
                raise SpecError(
                    f"{table.at(row.line)}: a value has a line break in it. Write it on one line."
                )
    return table


def read_tree(path: str | Path) -> Paths:
    """The leaves of the tree in a CSV file, each with its ancestors below the root.

    The file has no header: the value, then its ancestors up to the root, which all share. Its
    delimiter is found on its first line. Raises `SpecError` with file and line for a file that
    is no tree: lines of unequal length, a value twice, a node under two parents, several roots.
    """
    rows = _rows(Path(path))
    first_line, first, _ = rows[0]
    parents: dict[tuple[int, str], tuple[int, str]] = {}
    leaves: dict[str, int] = {}
    for line, row, missing in rows:
        if missing:
            raise SpecError(
                f"{path}:{line}: column {missing[0] + 1} is empty. If the empty text is meant, "
                'write it as "".'
            )
        if len(row) != len(first):
            raise SpecError(
                f"{path}:{line}: this line has {len(row)} columns, line {first_line} has "
                f"{len(first)}. Give every value the same number of ancestors, and repeat one "
                "where it has fewer."
            )
        if row[0] in leaves:
            raise SpecError(f"{path}:{line}: line {leaves[row[0]]} has the same value already.")
        leaves[row[0]] = line
        for height, (node, parent) in enumerate(pairwise(row)):
            known_line, known = parents.setdefault((height, node), (line, parent))
            if known != parent:
                raise SpecError(
                    f"{path}:{line}: column {height + 1} of this line lies under another parent "
                    f"(column {height + 2}) than in line {known_line}, so it is no tree. Give it "
                    "one parent."
                )
    roots = {row[-1] for _, row, _ in rows}
    if len(first) < 2 or len(roots) > 1:
        raise SpecError(
            f"{path}: the last column has {len(roots)} different values. The last column must be "
            "the root, the same in every line, so that any two values have an ancestor in common."
        )
    return tuple(tuple(row[:-1]) for _, row, _ in rows)


class _Record(NamedTuple):
    """A line of a file, which ends at this number: its fields, and the places of those that are
    not there; what is quoted is there."""

    line: int
    fields: list[str]
    missing: list[int]


def _rows(path: Path) -> list[_Record]:
    """The lines of a hierarchy file that are not blank."""
    try:
        if found := other_than_a_file(path):
            raise SpecError(
                f"{path} is {found}. A hierarchy is read more than once: write it to a file and "
                "name that."
            )
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            f"{error.strerror}. Name a file that exists and is readable."
            if isinstance(error, OSError)
            else "it is not UTF-8. Save it as CSV in UTF-8, or name a Parquet, JSON or Arrow file."
        )
        raise SpecError(f"{path}: the hierarchy can't be read: {reason}") from None
    first = _first_record(text)
    delimiter = max(_DELIMITERS, key=lambda each: _fields(first, each))
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    rows, before = [], 0
    try:
        for row in reader:
            if row:
                record = "".join(lines[before : reader.line_num])
                missing = _missing(record, delimiter) if "" in row else []
                rows.append(_Record(reader.line_num, row, missing))
            before = reader.line_num
    except csv.Error as error:
        raise SpecError(
            f"{path}:{reader.line_num}: this line is not CSV: {error}. Close its quotes."
        ) from None
    if not rows:
        raise SpecError(f"{path}: the hierarchy is empty. Give each value a line.")
    return rows


def _missing(record: str, delimiter: str) -> list[int]:
    """The places of the fields of a record that have nothing in them, not even quotes.

    >>> _missing(',"","a,",', ",")
    [0, 3]
    """
    between = re.escape(delimiter)
    fields = re.finditer(
        rf'(?:^|{between})("(?:[^"]|"")*"|[^{between}]*)', record.rstrip("\r\n"), re.DOTALL
    )
    return [place for place, field in enumerate(fields) if not field[1]]


def _first_record(text: str) -> str:
    """The first line, and those on which what is quoted in it goes on."""
    lines = text.lstrip("\r\n").split("\n")
    quotes = accumulate(line.count('"') for line in lines)
    end = next((place for place, many in enumerate(quotes, 1) if many % 2 == 0), 1)
    return "\n".join(lines[:end])


def _fields(line: str, delimiter: str) -> int:
    """How many fields a line has, as far as that delimiter can tell."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0
