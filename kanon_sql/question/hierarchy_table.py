"""Hierarchies given as tables: a row per raw value, a column per level."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Literal, NamedTuple

from kanon_sql.errors import SpecError, irregular_kind, option, plural

Paths = tuple[tuple[str, ...], ...]
"""For each leaf of a tree, its ancestors from the nearest to the farthest."""


_DELIMITERS = ";,\t|"


_NUMBERED = re.compile(r"(level|stufe|ebene|niveau|nivel|livello)[\W_]*\d*", re.IGNORECASE)
"""What a header calls a level."""
_RAW = ("value", "raw", "raw_value", "original")
"""What a header calls the raw value, besides the column's name."""
_LINE_ENDS = tuple("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
FaultKind = Literal["two parents", "not nested"]
Faults = Literal["error", "warn"]


class Fault(NamedTuple):
    """One fault of a hierarchy and its location."""

    kind: FaultKind
    line: int
    sentence: str
    """The message, without values unless they come from the spec itself."""
    shown: str = ""
    """The message with the values."""

    def __str__(self) -> str:
        return self.sentence


class HierarchyRow(NamedTuple):
    """A raw value and its ancestors, from the nearest to the farthest."""

    line: int
    value: str
    ancestors: tuple[str, ...]


@dataclass(frozen=True)
class HierarchyTable:
    """A hierarchy as a table: a row per raw value, a column per level."""

    name: str
    rows: tuple[HierarchyRow, ...]
    has_lines: bool = True
    """Whether row numbers are the line numbers of a file."""
    columns: tuple[str, ...] = ()
    """The column names, if there are any."""

    @property
    def display_name(self) -> str:
        """Its name in messages: the file or table, or the column."""
        return f"the hierarchy {self.name}" if self.has_lines or self.columns else self.name

    @property
    def is_in_spec(self) -> bool:
        """Whether its values are written in the spec, not in a file or a table."""
        return not self.has_lines and not self.columns

    @property
    def height(self) -> int:
        return len(self.rows[0].ancestors)

    def refuse_header(self, column: str) -> None:
        """Raise `SpecError` if the first line of a file names its columns instead of a value."""
        first = self.rows[0]
        named = {column.casefold(), *_RAW}
        if self.has_lines and (
            first.value.casefold() in named
            or all(_NUMBERED.fullmatch(label) for label in first.ancestors)
        ):
            raise SpecError(
                f"{self.at(first.line)}: the first line looks like a header, and a hierarchy file "
                f"has none: it would be a value of the column. Remove the line, or continue with "
                f"{option('hierarchy_faults', 'warn')}."
            )

    def labels(self, level: int) -> dict[str, str]:
        """What each raw value becomes. The first row of a value wins."""
        labels: dict[str, str] = {}
        for row in self.rows:
            if row.value not in labels:
                labels[row.value] = row.ancestors[level - 1]
        return labels

    def nested(self, level: int) -> bool:
        """Whether the label at a level is determined by the label one level below."""
        if level <= 1:
            return True
        above: dict[str, str] = {}
        pairs = zip(self.labels(level - 1).values(), self.labels(level).values(), strict=True)
        return all(above.setdefault(finer, coarser) == coarser for finer, coarser in pairs)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """All faults, by kind and then by line."""
        return (
            *self._values_with_two_parents(),
            *self._levels_not_nested(),
        )

    def at(self, line: int) -> str:
        """The location of a row, for messages."""
        return f"{self.name}:{line}" if self.has_lines else self.name

    def _level(self, level: int) -> str:
        """The number of a level in a message, with its column."""
        return (
            f'level {level} (column "{self.columns[level]}")' if self.columns else f"level {level}"
        )

    def _fault(self, kind: FaultKind, line: int, sentence: str, shown: str) -> Fault:
        """A fault; its sentence contains values only if they come from the spec."""
        return Fault(kind, line, shown if self.is_in_spec else sentence, shown)

    def _values_with_two_parents(self) -> Iterator[Fault]:
        rows: dict[str, dict[tuple[str, ...], int]] = {}
        for row in self.rows:
            rows.setdefault(row.value, {}).setdefault(row.ancestors, row.line)
        for value, lines in rows.items():
            for level in range(1, self.height + 1):
                parents: dict[str, int] = {}
                for ancestors, line in lines.items():
                    parents.setdefault(ancestors[level - 1], line)
                if len(parents) > 1:
                    parents_text, line = self._parents_text(parents)
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
                        f'{at}: "{value}" lies under {parents_text} (level {level}), {so}',
                    )
                    break

    def _parents_text(self, parents: Mapping[str, int]) -> tuple[str, int]:
        """The parents of a node as text, and the line of the second one."""
        [(first, first_line), (second, second_line), *more] = parents.items()
        place = f" (line {first_line})" if self.has_lines else ""
        others = f" and {len(more):,} more" if more else ""
        return f'both "{first}"{place} and "{second}"{others}', second_line

    def _levels_not_nested(self) -> Iterator[Fault]:
        """Labels of a level with several parents in the next."""
        for level in range(1, self.height):
            above: dict[str, dict[str, int]] = {}
            values: dict[str, set[str]] = {}
            for row in self.rows:
                node, parent = row.ancestors[level - 1 : level + 1]
                above.setdefault(node, {}).setdefault(parent, row.line)
                values.setdefault(node, set()).add(row.value)
            for node, parents in above.items():
                if len(parents) > 1:
                    yield self._not_nested(level, node, parents, len(values[node]))

    def _not_nested(self, level: int, node: str, parents: Mapping[str, int], values: int) -> Fault:
        parents_text, line = self._parents_text(parents)
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
            f'{at}: "{node}" lies under {parents_text} (level {level} to {coarser}), {so}',
        )


_KIND_TEXTS: dict[FaultKind, str] = {
    "two parents": "values have two parents",
    "not nested": "labels or levels are not nested",
}


def summary(faults: Sequence[Fault], *, show_values: bool = False) -> str:
    """The first fault of each kind, with the count of that kind."""
    lines = []
    for kind, text in _KIND_TEXTS.items():
        alike = [fault for fault in faults if fault.kind == kind]
        if alike:
            total = f" In all {len(alike):,} {text}." if len(alike) > 1 else ""
            message = alike[0].shown if show_values and alike[0].shown else alike[0].sentence
            lines.append(f"{message}{total}")
    return "\n".join(lines)


def refuse(faults: Sequence[Fault], *, show_values: bool = False) -> None:
    """Raise `SpecError` with a summary of the faults, if there are any."""
    if faults:
        has_rows = any(fault.shown for fault in faults)
        raise SpecError(
            f"{summary(faults, show_values=show_values)}\nFix it, or continue with "
            f"{option('hierarchy_faults', 'warn')}: every level is then read from the raw value"
            f"{', and the first row of a value wins' if has_rows else ''}."
        )


def read_hierarchy(path: str | Path) -> HierarchyTable:
    """Read a hierarchy from a CSV file without header: the raw value, then one column per level.

    Its delimiter is found on its first line. Raises `SpecError` for a file that can't be read,
    holds no levels, or lacks a field; what else is wrong with it are its `faults`.
    """
    rows = _complete_rows(Path(path))
    if len(rows[0].fields) < 2:
        raise SpecError(
            f"{path}: the hierarchy has one column. Put each value's ancestors beside it, divided "
            "by a comma, a semicolon, a tab or |."
        )
    return _of_single_lines(
        HierarchyTable(
            str(path), tuple(HierarchyRow(line, row[0], tuple(row[1:])) for line, row, _ in rows)
        )
    )


def hierarchy_table(ancestors: Mapping[str, Sequence[str]], name: str) -> HierarchyTable:
    """The hierarchy of a mapping from raw value to ancestors."""
    rows = tuple(
        HierarchyRow(number, raw, tuple(above))
        for number, (raw, above) in enumerate(ancestors.items(), 1)
    )
    first = rows[0]
    for row in rows:
        if len(row.ancestors) != len(first.ancestors):
            raise SpecError(
                f'{name}: the height of "{row.value}" is {len(row.ancestors)}, of "{first.value}" '
                f"{len(first.ancestors)}. Give each value the same number of ancestors."
            )
    return _of_single_lines(HierarchyTable(name, rows, has_lines=False))


def table_of_rows(
    name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]
) -> HierarchyTable:
    """The hierarchy of table rows: the raw value, then one column per level.

    Raises `SpecError` if there are no levels in it.
    """
    if len(columns) < 2:
        raise SpecError(
            f"{name}: the hierarchy has one column. Put each value's ancestors beside it, in a "
            "column a level."
        )
    if not rows:
        raise SpecError(f"{name}: the hierarchy is empty. Give each value a row.")
    if any(raw is None for raw, *_ in rows):
        raise SpecError(
            f"{name}: a raw value is NULL. NULL keeps its place without a row: leave that out."
        )
    return _of_single_lines(
        HierarchyTable(
            name,
            tuple(
                HierarchyRow(number, raw or "", tuple(label or "" for label in above))
                for number, (raw, *above) in enumerate(rows, 1)
            ),
            has_lines=False,
            columns=tuple(columns),
        )
    )


def _of_single_lines(table: HierarchyTable) -> HierarchyTable:
    """The table without repeated rows, if it has all labels and each of its values can stand in a
    line of SQL."""
    distinct: dict[tuple[str, tuple[str, ...]], HierarchyRow] = {}
    for row in table.rows:
        distinct.setdefault((row.value, row.ancestors), row)
    table = replace(table, rows=tuple(distinct.values()))
    for row in table.rows:
        if "" in row.ancestors:
            level = table._level(row.ancestors.index("") + 1)
            raise SpecError(
                f"{table.at(row.line)}: {level} is empty. Give each value a label there."
            )
        for text in (row.value, *row.ancestors):
            if len(text.splitlines()) > 1 or text.endswith(_LINE_ENDS):
                raise SpecError(
                    f"{table.at(row.line)}: a value has a line break in it. Write it on one line."
                )
    return table


def read_tree(path: str | Path) -> Paths:
    """Read a tree from a CSV file: each leaf with its ancestors below the root.

    The file has no header: the value, then its ancestors up to the common root. The delimiter is
    detected on the first line. Raises `SpecError` with file and line for lines of unequal length, a
    value on two different lines, a node with two parents, or several roots.
    """
    rows = _complete_rows(Path(path))
    first = rows[0].fields
    parents: dict[tuple[int, str], tuple[int, str]] = {}
    leaves: dict[str, int] = {}
    paths: dict[tuple[str, ...], None] = {}
    for line, row, _ in rows:
        if tuple(row) in paths:
            continue
        paths[tuple(row)] = None
        if row[0] in leaves:
            raise SpecError(f"{path}:{line}: line {leaves[row[0]]} has the same value already.")
        leaves[row[0]] = line
        for height, (node, parent) in enumerate(pairwise(row)):
            other_line, other_parent = parents.setdefault((height, node), (line, parent))
            if other_parent != parent:
                raise SpecError(
                    f"{path}:{line}: column {height + 1} of this line lies under another parent "
                    f"(column {height + 2}) than in line {other_line}, so it is no tree. Give it "
                    "one parent."
                )
    roots = {row[-1] for _, row, _ in rows}
    if len(first) < 2 or len(roots) > 1:
        raise SpecError(
            f"{path}: the last column has {len(roots)} different values. The last column must be "
            "the root, the same in every line, so that any two values have an ancestor in common."
        )
    return tuple(path[:-1] for path in paths)


class _Record(NamedTuple):
    """A CSV record: the number of its last line, its fields, and the indices of the empty unquoted
    ones."""

    line: int
    fields: list[str]
    missing: list[int]


def _complete_rows(path: Path) -> list[_Record]:
    """The lines of a hierarchy file. Raises `SpecError` for an empty field and lines of unequal
    length."""
    rows = _rows(path)
    first = rows[0]
    for line, row, missing in rows:
        if missing:
            raise SpecError(
                f"{path}:{line}: column {missing[0] + 1} is empty. If the empty text is meant, "
                'write it as "".'
            )
        if len(row) != len(first.fields):
            raise SpecError(
                f"{path}:{line}: this line has {plural(len(row), 'column')}, line {first.line} has "
                f"{len(first.fields)}. Give every value the same number of ancestors, and repeat "
                "one where it has fewer."
            )
    return rows


def _rows(path: Path) -> list[_Record]:
    """The records of a hierarchy file, without blank lines."""
    try:
        if kind := irregular_kind(path):
            raise SpecError(
                f"{path} is {kind}. A hierarchy is read more than once: write it to a file and "
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
    delimiter = max(_DELIMITERS, key=lambda delimiter: _fields(first, delimiter))
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    rows, record_start = [], 0
    try:
        for row in reader:
            if row:
                record = "".join(lines[record_start : reader.line_num])
                missing = _missing(record, delimiter) if "" in row else []
                rows.append(_Record(reader.line_num, row, missing))
            record_start = reader.line_num
    except csv.Error as error:
        raise SpecError(
            f"{path}:{reader.line_num}: this line is not CSV: {error}. Close its quotes."
        ) from None
    if not rows:
        raise SpecError(f"{path}: the hierarchy is empty. Give each value a line.")
    return rows


def _missing(record: str, delimiter: str) -> list[int]:
    """The indices of the fields of a record that are empty and not quoted.

    >>> _missing(',"","a,",', ",")
    [0, 3]
    """
    delimiter_pattern = re.escape(delimiter)
    fields = re.finditer(
        rf'(?:^|{delimiter_pattern})("(?:[^"]|"")*"|[^{delimiter_pattern}]*)',
        record.rstrip("\r\n"),
        re.DOTALL,
    )
    return [index for index, field in enumerate(fields) if not field[1]]


def _first_record(text: str) -> str:
    """The first record of a text: its first line, and the lines that its quoted fields continue
    on."""
    lines = text.lstrip("\r\n").split("\n")
    quotes = accumulate(line.count('"') for line in lines)
    end = next((number for number, count in enumerate(quotes, 1) if count % 2 == 0), 1)
    return "\n".join(lines[:end])


def _fields(line: str, delimiter: str) -> int:
    """The number of fields of a line with a given delimiter."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0
