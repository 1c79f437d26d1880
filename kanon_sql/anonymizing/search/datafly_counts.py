"""Counts of records in too small classes at all nodes of a Datafly path, by one statement.

The classes of a node are nested in those of the next, so a single sort order places the classes of
every node next to each other. Each record gets a packed integer code; a class of a node is the
records whose codes agree but for the lowest bits, as many bits as the steps up to the node have
merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

from kanon_sql.anonymizing.search.frequency_sets import RECORDS, FrequencySets, LevelsOf
from kanon_sql.anonymizing.search.lattice import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.question.hierarchy import GeneralizationHierarchy
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import DIALECT
from kanon_sql.sql.tables import family

WIDTHS = (5, 50, 500, 5_000, 50_000, 500_000, 5_000_000)
MOST_LABELS = 25
"""Maximum number of intervals at the narrowest suggested level."""
_DATES = "date:month,year,5y,suppress"


def builders(sets: FrequencySets, levels: Levels) -> dict[str, str]:
    """A suggested hierarchy, in spec syntax, for each quasi-identifier that was generalised to `*`
    for lack of levels. Text that is neither numeric nor a date gets none."""
    return dict(_builders(sets, levels))


def _builders(sets: FrequencySets, levels: Levels) -> Iterator[tuple[str, str]]:
    for qi in sets.quasi_identifiers:
        has_none = qi.levels.hierarchy.levels is None and qi.levels.table is None
        if not (has_none and levels[qi.name] and qi.attribute.distinct[0] > 1):
            continue
        suggested = _DATES if family(qi.column.type) == "time" else _of_values(sets, qi)
        if suggested:
            yield qi.name, suggested


def _of_values(sets: FrequencySets, qi: QuasiIdentifier) -> str | None:
    """The suggested levels if every value is a number or every value is a date."""
    kind = family(qi.column.type)
    if kind not in ("number", "text") or sets.dialect != DIALECT:
        # Other dialects may reject text that is not numeric instead of giving it no label.
        return None
    widths = [_label(qi, {"width": width}) for width in WIDTHS]
    sql = render(
        "kinds_of_values",
        values=qi.values,
        widths=widths,
        date=_label(qi, "year") if kind == "text" else None,
    )
    [row] = sets.fetch(
        f"kinds_{qi.number}", f"How many values of {qi.name} are numbers, dates or codes?", sql
    )
    values = int(row["kanon_values"])
    if kind == "text" and values and int(row["kanon_dates"]) == values:
        return _DATES
    if not values or int(row["kanon_numbers"]) < values:
        return None
    if kind == "text" and int(row["kanon_codes"]):
        return "mask:right"
    labels = [int(row[f"kanon_labels_{number}"]) for number, _ in enumerate(WIDTHS, start=1)]
    for width, here, wider in zip(WIDTHS, labels, (*labels[1:], 1), strict=True):
        if 1 < here <= MOST_LABELS and wider < values:
            return f"width:{width},{2 * width},{4 * width},suppress"
    return None


def _label(column: QuasiIdentifier, level: object) -> str:
    hierarchy = GeneralizationHierarchy.model_validate({"levels": [level]})
    return replace(column.levels, hierarchy=hierarchy).sql(1, "kanon_raw")


LARGE = 50_000
"""Number of combinations from which all nodes are counted in one statement."""
ALIKE = 2
"""Maximum average number of records per combination for this, where a combination counts at most
the required class size: each of these records becomes a code."""
_TYPES = {"bigint": 63, "hugeint": 127}
"""Number of bits of each integer type, without the sign."""

_Digit = tuple[int, int]
"""The position of a quasi-identifier, and a level whose labels the digit distinguishes."""


class _Code(NamedTuple):
    """A quasi-identifier's part of a code: its table of digits, and the multiplier of each."""

    key: str
    digits: str
    units: Sequence[int]


def violating_on(sets: FrequencySets, nodes: Sequence[Levels]) -> Callable[[Levels], int]:
    """A callback that counts the records in violating classes at each of these nodes, each one step
    above the previous."""
    climb = _Climb(sets, nodes)
    return climb.records_violating if climb.is_counted_at_once else sets.records_violating


@dataclass(frozen=True)
class _Climb:
    sets: FrequencySets
    nodes: Sequence[Levels]

    @property
    def is_counted_at_once(self) -> bool:
        """Whether all checks are on class sizes and nearly every record is unique."""
        sets = self.sets
        if not sets.are_rows or sets.searched_columns or not self._steps:
            return False
        rows, entries = self._in_short["kanon_rows"], self._in_short["kanon_entries"]
        return rows >= LARGE and entries <= ALIKE * rows and self._type is not None

    def records_violating(self, levels: Levels) -> int:
        """Number of records in violating classes at these levels."""
        if levels not in self._counted:
            return self.sets.records_violating(levels)
        in_large_classes = self._in_large_classes[f"kanon_records_{self._counted.index(levels)}"]
        return self._in_short["kanon_entries"] - in_large_classes

    # --- internal ---------------------------------------------------------------------------

    @cached_property
    def _in_short(self) -> dict[str, int]:
        sql = render("entries_of_set", set=RECORDS, size=self.sets.least_records)
        return self._counts(
            "entries", "How many combinations of values and how many records are there?", sql
        )

    @cached_property
    def _in_large_classes(self) -> dict[str, int]:
        units = dict(zip(self._digits, self._units, strict=False))
        return self._counts(
            "climb",
            f"How many records are in large enough classes at each of {len(self._counted)} nodes?",
            render(
                "records_in_large_classes",
                set=RECORDS,
                codes=[
                    _Code(
                        column.key,
                        _digits_of(column),
                        [units[column.number, level] for level in range(self._highest(column) + 1)],
                    )
                    for column in self.sets.quasi_identifiers
                ],
                type=self._type,
                units=self._units[: len(self._counted)],
                size=self.sets.least_records,
            ),
        )

    def _counts(self, name: str, question: str, sql: str) -> dict[str, int]:
        [row] = self.sets.fetch(name, question, sql)
        return {column: int(count) for column, count in row.items()}

    @cached_property
    def _steps(self) -> Sequence[_Digit]:
        """The steps from the first node up to the first one that is not nested."""
        steps = []
        for low, high in pairwise(self.nodes):
            [column] = [
                column
                for column in self.sets.quasi_identifiers
                if low[column.name] < high[column.name]
            ]
            if not column.nested(high[column.name]):
                break
            steps.append((column.number, low[column.name]))
        return steps

    @property
    def _counted(self) -> Sequence[Levels]:
        """The nodes that are counted in one statement."""
        return self.nodes[: len(self._steps) + 1]

    def _highest(self, column: QuasiIdentifier) -> int:
        return self._counted[-1][column.name]

    @property
    def _digits(self) -> Sequence[_Digit]:
        """The digits of a code, lowest first: one for what each step merges, then the others."""
        left = [(column.number, self._highest(column)) for column in self.sets.quasi_identifiers]
        return [*self._steps, *left]

    @cached_property
    def _units(self) -> Sequence[int]:
        """The multiplier of each digit, and the upper end of the last. A digit has bits of its own,
        because codes are distinguished by the highest bit in which they differ."""
        highest = [
            LevelsOf(column.key, self._keep_digits(column), self._highest(column))
            for column in self.sets.quasi_identifiers
        ]
        rows = self.sets.fetch(
            "largest_digits",
            "How many labels are merged into one at each level, at most?",
            render("largest_digits", digits=highest),
        )
        most = {(int(row["kanon_place"]), int(row["kanon_level"])): row for row in rows}
        widths = [int(most[digit]["kanon_most"]).bit_length() for digit in self._digits]
        return [1 << bits for bits in accumulate(widths, initial=0)]

    def _keep_digits(self, column: QuasiIdentifier) -> str:
        return self.sets.materialise(
            _digits_of(column),
            f"Which labels of {column.name} are merged into one at each level?",
            render("digits_of_values", values=column.values, height=self._highest(column)),
        )

    @property
    def _type(self) -> str | None:
        """The smallest integer type that holds every code."""
        bits = self._units[-1].bit_length()
        return next((name for name, most in _TYPES.items() if bits <= most), None)


def _digits_of(column: QuasiIdentifier) -> str:
    return f"{PRIVATE}digits_{column.number}"
