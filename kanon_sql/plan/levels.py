"""Generalisation levels of one column as SQL expressions, with their display names.

Level 0 is the raw value. Every higher level is a text expression over the raw value, never over the
level below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kanon_sql.errors import SpecError
from kanon_sql.question.hierarchy import (
    DATES,
    OF_NUMBERS,
    SUPPRESS,
    Bottom,
    Cuts,
    GeneralizationHierarchy,
    Level,
    Mask,
    Prefix,
    Round,
    Top,
    Width,
    Years,
    decimal,
    decimal_text,
    expanded,
    level_label,
)
from kanon_sql.question.hierarchy_table import (
    Fault,
    Faults,
    HierarchyTable,
    hierarchy_table,
    read_hierarchy,
    refuse,
)
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import family

_LONGEST_MASKED = 255
"""Maximum length of a masked value: the labels of its levels grow with the square of the length."""


class Masked(NamedTuple):
    """A mask level: this many characters become `*`, on text padded to the longest value."""

    side: Literal["left", "right"]
    characters: int


class Ancestor(NamedTuple):
    """A column of a hierarchy's table, counted from 1; 0 would be the raw value."""

    column: int


Step = Level | Masked | Ancestor
"""One level of a column."""


_PERIODS = {"day": 0, "month": 1, "quarter": 3, "year": 12}
"""Length of a date period in months."""


def follows(finer: Step, coarser: Step) -> bool:
    """Whether the finer label determines the coarser one."""
    match finer, coarser:
        case _, "suppress":
            return True
        case Masked(side=side), Masked(side=other):
            return side == other
        case Width(), Width():
            return _on_grid(finer, coarser.width, 0) and _on_grid(finer, coarser.origin)
        case Width(), Cuts(cuts=cuts):
            return all(_on_grid(finer, cut) for cut in cuts)
        case Round(round=first), Round(round=second):
            return second % first == 0
        case Round(round=step), Cuts(cuts=cuts):
            return all(cut > 0 and decimal(cut) % step == 0 for cut in cuts)
        case Top(top=bound), Cuts(cuts=cuts):
            return all(cut <= bound for cut in cuts)
        case Bottom(bottom=bound), Cuts(cuts=cuts):
            return all(cut >= bound for cut in cuts)
        case Cuts(cuts=first), Cuts(cuts=second):
            return {decimal(cut) for cut in second} <= {decimal(cut) for cut in first}
        case Top(top=first), Top(top=second):
            return second <= first
        case Bottom(bottom=first), Bottom(bottom=second):
            return second >= first
        case Prefix(prefix=first), Prefix(prefix=second):
            return second <= first
        case Years(years=first), Years(years=second):
            return second % first == 0
        case str(), Years():
            return finer in DATES
        case Years(years=1), "year":
            return True
        case str(), str():
            return finer in DATES and _PERIODS[finer] <= _PERIODS[coarser]
    return False


def nesting_advice(finer: Level, coarser: Level) -> str:
    """Advice on a coarser level that nests in the finer one."""
    match finer, coarser:
        case Width(width=width, origin=origin), Width():
            grid = f", with intervals that begin at {decimal_text(origin)}" if origin else ""
            return f"Take a width that is a multiple of {decimal_text(width)}{grid}."
        case Width(), Cuts():
            return f"Cut where intervals of {level_label(finer)} begin."
        case (Round(), Width()) | (Width(), Round()):
            return "Of numbers below 0 they differ; take two of width, or two of round."
        case Round(round=step), Round():
            return f"Take a multiple of {step}."
        case Round(round=step), Cuts():
            return f"Cut at multiples of {step} that are above 0."
        case Years(years=years), Years():
            return f"Take a multiple of {years} years."
        case Cuts(), Cuts():
            return f"Take some of its cuts and no other: {level_label(finer)}."
        case ((Top() | Bottom()), Cuts()):
            return f"Cut on the side that {level_label(finer)} leaves as it is."
        case _, (Top() | Bottom()):
            return f"{level_label(coarser)} leaves other values as they are: put it first, or clip."
    return "Take levels of one kind, or list the values with their labels in a hierarchy file."


def _on_grid(intervals: Width, number: float, origin: float | None = None) -> bool:
    """Whether `number` is an interval boundary, counted from the origin."""
    start = intervals.origin if origin is None else origin
    return (decimal(number) - decimal(start)) % decimal(intervals.width) == 0


Needs = Literal["number", "date", "listed"]
Kind = Literal["whole", "wide", "decimal", "float"]

CASE_ROWS = 200
"""Above this number of rows a hierarchy is joined as a table instead of rendered as a CASE."""


@dataclass(frozen=True)
class ColumnLevels:
    """The levels of one column, from raw (0) to coarsest (`height`)."""

    name: str
    type: str
    hierarchy: GeneralizationHierarchy
    longest: int | None = None
    """Length of the longest value the levels apply to, over all tables; only masks need it."""
    table: HierarchyTable | None = None
    """The hierarchy's rows, if it is a file, table or mapping."""

    @classmethod
    def of(
        cls,
        name: str,
        type: str,
        hierarchy: GeneralizationHierarchy,
        *,
        longest: int | None = None,
        table: HierarchyTable | None = None,
        faults: Faults = "error",
        show_values: bool = False,
    ) -> ColumnLevels:
        """The levels of a column of this type; reads its hierarchy unless `table` is given.

        Raises `SpecError` if the hierarchy can't be read, doesn't fit the type or has faults; with
        `faults="warn"` these stay in `faults`. `show_values` allows values of a hierarchy file or
        table in the message.
        """
        column = cls(name, type, hierarchy, longest, table or rows_of(name, hierarchy))
        column._refuse_another_type()
        if faults == "error":
            if column.table is not None:
                column.table.refuse_header(name)
            refuse(column.faults, show_values=show_values)
        return column

    def with_longest(self, characters: int) -> ColumnLevels:
        """A copy for values of at most this many characters."""
        if characters > _LONGEST_MASKED:
            raise SpecError(
                f'"{self.name}" has a value of {characters:,} characters, and mask makes a level '
                f"of each; it takes {_LONGEST_MASKED} at most. Take prefix:3,2, or leave longer "
                "values out with a condition."
            )
        return replace(self, longest=characters)

    # --- display ------------------------------------------------------------------------------

    @property
    def needs_longest(self) -> bool:
        """Whether the height depends on a longest value that is still unknown."""
        return self.hierarchy.has_mask and self.longest is None

    @property
    def height(self) -> int:
        """Number of levels above the raw value."""
        return len(self._steps)

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults of the hierarchy's rows, or builder levels that don't nest."""
        if self.table is not None:
            return self.table.faults
        return tuple(self._levels_not_nested())

    @property
    def needs(self) -> Needs | None:
        """What a value must be to have a label: a number, a date, or listed in the hierarchy.

        None if every value of the column's type has one.
        """
        if self.table is not None:
            return "listed"
        levels = self.hierarchy.levels or []
        is_text = self._family == "text"
        of_dates = any(level in DATES or isinstance(level, Years) for level in levels)
        if of_dates or self.hierarchy.clips_dates:
            return "date" if is_text else None
        if self.hierarchy.clip or any(isinstance(level, OF_NUMBERS) for level in levels):
            return "number" if self._kind == "float" or "HUGE" in self.type else None
        return None

    def label(self, level: int) -> str:
        """Display name of a level.

        >>> zip = ColumnLevels("zip", "VARCHAR", GeneralizationHierarchy(levels=["suppress"]))
        >>> zip.label(0), zip.label(1)
        ('raw value', 'suppress')
        """
        if level == 0:
            return "raw value"
        match self._step(level):
            case Masked(side, characters):
                return f"mask {characters} from the {side}"
            case Ancestor(column) if self.table is not None and self.table.has_lines:
                return f"column {column} of {Path(self.table.name).name}"
            case Ancestor(column) if self.table is not None and self.table.columns:
                return f"column {self.table.columns[column]} of {Path(self.table.name).name}"
            case Ancestor(column):
                return f"ancestor {column}"
            case step:
                return level_label(step)

    def nested(self, level: int) -> bool:
        """Whether a level is a function of the one below, by construction or in every row."""
        if level <= 1:
            return True
        finer, coarser = self._step(level - 1), self._step(level)
        if isinstance(finer, Ancestor) and isinstance(coarser, Ancestor):
            return self.table is not None and self.table.nested(level)
        return follows(finer, coarser)

    # --- as SQL -----------------------------------------------------------------------------

    def sql(self, level: int, value: str, start: str | None = None) -> str:
        """SQL expression of a level over the expression `value`.

        `start` is a column that already holds `start_sql`.
        """
        if level == 0:
            return value
        match self._step(level):
            case "suppress":
                return "'*'"
            case Width(width=width, origin=origin):
                return self._interval("interval", value, width, origin, start=start)
            case Round(round=step):
                return render("truncated", number=self._number(value), kind=self._kind, step=step)
            case Cuts(cuts=cuts):
                return render(
                    "between_cuts",
                    number=self._number(value),
                    kind=self._kind,
                    cuts=[decimal_text(cut) for cut in cuts],
                )
            case Top(top=bound):
                return self._coded(value, ">=", bound)
            case Bottom(bottom=bound):
                return self._coded(value, "<", bound)
            case Prefix(prefix=length):
                return render("prefix", text=self._text(value), length=length)
            case Masked(side, characters):
                return render(
                    "masked",
                    text=self._text(value),
                    side=side,
                    masked=characters,
                    longest=self._length,
                )
            case Years(years=years):
                return render("years", date=self._date(value), years=years)
            case Ancestor(column):
                return render(
                    "ancestor", text=self._text(value), values_by_label=self._grouped(column)
                )
            case period:
                return render("period", date=self._date(value), part=period)

    def start_sql(self, level: int, value: str) -> str | None:
        """SQL of the lower end of a value's interval; None for other kinds of levels."""
        match self._step(level) if level else None:
            case Width(width=width, origin=origin):
                return self._interval("start_in_units", value, width, origin)
        return None

    def exact_sql(self, level: int, value: str) -> str | None:
        """SQL predicate: a text's number is exact as a float, so its label is that of the number.

        None where no label of the level reads a number from text.
        """
        reads_number = self.needs == "number" and family(self.type) == "text"
        if level == 0 or not reads_number or self._step(level) == SUPPRESS:
            return None
        return render("held_exactly", number=self._number(value))

    def sql_of_any(self, level: int, value: str) -> str:
        """SQL of a label for arbitrary text, such as a reference's: NULL where the value has none.

        For a joined level, the value is looked up in the table of labels.
        """
        label, exact = self.sql(level, value), self.exact_sql(level, value)
        if isinstance(self._step(level), Masked):
            exact = render("no_longer_than", text=self._text(value), longest=self._length)
        return render("where_exact", exact=exact, label=label) if exact else label

    def checked_sql(self, level: int, value: str) -> str:
        """SQL of a label, NULL for text whose number a float would round; used to find it."""
        label, exact = self.sql(level, value), self.exact_sql(level, value)
        return render("where_exact", exact=exact, label=label) if exact else label

    def mapping(self, level: int) -> list[tuple[str, str]]:
        """Pairs of raw text and label, to join instead of a CASE; empty unless from a hierarchy."""
        step = self._step(level) if level else None
        if self.table is None or not isinstance(step, Ancestor):
            return []
        return list(self.table.labels(step.column).items())

    def is_joined(self, level: int) -> bool:
        """Whether a level's labels are joined by `key` with `mapping`, as too many for a CASE."""
        return (
            level > 0
            and self.table is not None
            and len(self.table.rows) > CASE_ROWS
            and isinstance(self._step(level), Ancestor)
        )

    def labels_sql(self, level: int, *, portable: bool = False) -> str:
        """`mapping` as a derived table with the columns `kanon_value` and `kanon_label`.

        For DuckDB it is one text literal, unnested; if `portable`, one row per value.
        """
        macro = "rows_of_labels" if portable else "table_of_labels"
        return render(macro, rows=self.mapping(level))

    def key(self, value: str) -> str:
        """Join key: SQL of the raw value as text, matching the raw values of `mapping`."""
        return self._text(value)

    def values(self) -> list[list[str]]:
        """The raw values listed in the hierarchy, one per row."""
        return [[raw] for raw in self.table.labels(1)] if self.table else []

    # --- within -----------------------------------------------------------------------------

    @cached_property
    def _steps(self) -> tuple[Step, ...]:
        return tuple(self._each_step())

    def _each_step(self) -> Iterator[Step]:
        if self.table is not None:
            yield from (Ancestor(column) for column in range(1, self.table.height + 1))
        elif self.hierarchy.levels is None:
            yield SUPPRESS
        for level in expanded(self.hierarchy.levels or ()):
            if isinstance(level, Mask):
                yield from (Masked(level.mask, n) for n in range(1, self._length + 1))
            else:
                yield level

    def _step(self, level: int) -> Step:
        if not 1 <= level <= self.height:
            raise SpecError(
                f'"{self.name}" has levels 0 to {self.height}, so there is no level {level}.'
            )
        return self._steps[level - 1]

    @property
    def _length(self) -> int:
        if self.longest is None:
            raise ValueError(f"the longest value of {self.name} is not known yet")
        return max(self.longest, 1)

    def _levels_not_nested(self) -> Iterator[Fault]:
        """Yield a fault per level that separates values merged by the level below."""
        levels = list(expanded(self.hierarchy.levels or ()))
        for level, (finer, coarser) in enumerate(pairwise(levels), start=2):
            if not follows(finer, coarser):
                yield Fault(
                    "not nested",
                    level,
                    f'"{self.name}": level {level} ({level_label(coarser)}) doesn\'t follow from '
                    f"level {level - 1} ({level_label(finer)}): values that are one at level "
                    f"{level - 1} would be told apart again. {nesting_advice(finer, coarser)}",
                )

    def _refuse_another_type(self) -> None:
        """Raise if a level needs numbers or dates and the column holds neither these nor text."""
        kind = self._family
        for level in self.hierarchy.levels or ():
            dated = level in DATES or isinstance(level, Years)
            if (dated and kind not in ("time", "text")) or (
                isinstance(level, OF_NUMBERS) and kind not in ("number", "text")
            ):
                raise SpecError(
                    f'"{self.name}" is {self.type}, and the level {level_label(level)} is for '
                    f"{'dates' if dated else 'numbers'}. Choose another level."
                )
        clipped = "time" if self.hierarchy.clips_dates else "number"
        if self.hierarchy.clip and kind not in (clipped, "text"):
            raise SpecError(
                f'"{self.name}" is {self.type}, and clip is for '
                f"{'dates' if clipped == 'time' else 'numbers'}. Leave it out."
            )

    @property
    def _family(self) -> str:
        """The type family; unknown types are treated as text."""
        return family(self.type) or "text"

    @property
    def _kind(self) -> Kind:
        """Numeric kind of a value after clipping."""
        if self._family == "text" or self.type.startswith(("DOUBLE", "FLOAT", "REAL")):
            return "float"
        fractional = any(decimal(bound) % 1 for bound in self._numeric_clip if bound)
        if fractional or self.type.startswith(("DECIMAL", "NUMERIC")):
            return "decimal"
        return "wide" if self.type in _WIDE else "whole"

    @property
    def _numeric_clip(self) -> list[float | None]:
        """The bounds of a clip of numbers; empty without one."""
        bounds = self.hierarchy.clip or ()
        return [] if self.hierarchy.clips_dates else [b for b in bounds if not isinstance(b, str)]

    def _number(self, value: str) -> str:
        """SQL of the value as a clipped number."""
        is_text = self._family == "text"
        number = render("number_of", value=self._value_sql(value), is_text=is_text)
        if not self._numeric_clip:
            return number
        low, high = (None if bound is None else decimal_text(bound) for bound in self._numeric_clip)
        return render("clipped", number=number, kind=self._kind, low=low, high=high)

    def _text(self, value: str) -> str:
        """SQL of the value as text, clipped, in the spelling used by all comparisons."""
        if self.hierarchy.clips_dates:
            return render("text_of", value=self._date(value), type="DATE")
        if self.hierarchy.clip:
            type = "BIGINT" if self._kind in ("whole", "wide") else "DOUBLE"
            return render("text_of", value=self._number(value), type=type)
        return value if self.type == "VARCHAR" else render("text_of", value=value, type=self.type)

    def _value_sql(self, value: str) -> str:
        """SQL of the value; ENUMs are converted to VARCHAR, as they cast differently from text."""
        if self._family == "text" and self.type != "VARCHAR":
            return render("text_of", value=value, type=self.type)
        return value

    def _date(self, value: str) -> str:
        """SQL of the value as a clipped date."""
        date = render("date_of", value=self._value_sql(value), type=self.type)
        if not self.hierarchy.clips_dates:
            return date
        low, high = (
            None if bound is None else render("date_literal", text=str(bound))
            for bound in self.hierarchy.clip or ()
        )
        return render("clipped", number=date, kind="date", low=low, high=high)

    def _interval(self, macro: str, value: str, width: float, origin: float, **more: Any) -> str:
        """Render an interval macro on integers scaled by the decimals of width and origin."""
        exact_width, exact_origin = decimal(width), decimal(origin)
        digits = max(_digits(exact_width), _digits(exact_origin))
        kind, number = self._kind, self._number(value)
        if digits and kind != "float" and _precision(self.type) + digits > _WIDEST:
            kind, number = "float", render("as_float", number=number)
        scaled_width = int(exact_width.scaleb(digits))
        return render(
            macro,
            number=number,
            kind=kind,
            width=scaled_width,
            origin=int(exact_origin.scaleb(digits)) % scaled_width,
            digits=digits,
            **more,
        )

    def _coded(self, value: str, comparison: str, bound: float) -> str:
        return render(
            "coded",
            number=self._number(value),
            kind=self._kind,
            comparison=comparison,
            bound=decimal_text(bound),
            text=self._text(value),
        )

    def _grouped(self, column: int) -> Mapping[str, list[str]]:
        """Raw values by label, both in file order."""
        grouped: dict[str, list[str]] = {}
        for raw, label in self.table.labels(column).items() if self.table else ():
            grouped.setdefault(label, []).append(raw)
        return grouped


def rows_of(name: str, hierarchy: GeneralizationHierarchy) -> HierarchyTable | None:
    """The rows of a hierarchy's file or mapping, None if it has none; `name` is the column's."""
    if isinstance(hierarchy.hierarchy, str):
        return read_hierarchy(hierarchy.hierarchy)
    if hierarchy.hierarchy is not None:
        return hierarchy_table(hierarchy.hierarchy, f"the hierarchy of {name}")
    return None


_WIDEST = 38
"""Maximum precision of DECIMAL that every engine supports."""


_WIDE = ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT")


def _precision(type: str) -> int:
    """Maximum number of digits of a type; the widest where the type doesn't state it."""
    digits = re.search(r"\((\d+)", type)
    if digits:
        return int(digits[1])
    return _WIDEST if type in ("HUGEINT", "UHUGEINT", "DECIMAL", "NUMERIC") else 20


def _digits(number: Decimal) -> int:
    """Number of decimal places."""
    exponent: Any = number.as_tuple().exponent
    return max(0, -int(exponent))
