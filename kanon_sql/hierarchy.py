"""How the values of a quasi-identifier may be generalised, level by level. Words only, no SQL."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import (
    BeforeValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from kanon_sql.described import Described
from kanon_sql.errors import SpecError, did_you_mean, found_instead

Paths = tuple[tuple[str, ...], ...]
"""The leaves of a tree, each with its ancestors from the nearest to the farthest."""


def _finite(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a number")
    return value


Number = Annotated[int | float, BeforeValidator(_finite)]
LARGEST = 10**18
"""The largest step from one interval to the next that a number of 64 bits has room for."""
PositiveNumber = Annotated[
    Annotated[PositiveInt, Field(le=LARGEST)] | Annotated[PositiveFloat, Field(le=LARGEST)],
    BeforeValidator(_finite),
]
PositiveWhole = Annotated[PositiveInt, Field(le=LARGEST), BeforeValidator(_finite)]


# --- levels ---------------------------------------------------------------------------------


class _Level(Described):
    wanted: ClassVar[str]
    """What its value must be, in an error's words."""


class Width(_Level):
    """Intervals of one width."""

    wanted: ClassVar[str] = (
        "must be a number above 0, 10^18 at most, as in {width: 5} or {width: 5, origin: 2}"
    )

    width: PositiveNumber
    """Intervals [a, a + width), found by floor."""
    origin: Number = 0
    """Where an interval begins; the others follow from it."""


class Round(_Level):
    """Fewer digits of a number."""

    wanted: ClassVar[str] = "must be a whole number from 1 to 10^18, as in {round: 10}"

    round: PositiveWhole
    """Truncation toward zero to a multiple of this."""


class Depths(_Level):
    """Several levels at once, each with fewer digits of a number."""

    wanted: ClassVar[str] = (
        "must be whole numbers from 1 to 18 in ascending order, as in {depths: [1, 2]}"
    )

    depths: Annotated[list[Annotated[PositiveWhole, Field(le=18)]], Field(min_length=1)]
    """Truncation toward zero of so many decimal digits."""

    @model_validator(mode="after")
    def _ascend(self) -> Depths:
        _refuse_unless_ascending(self.depths)
        return self


class Mask(_Level):
    """As many levels as the longest value has characters; shorter ones are padded with `*`."""

    wanted: ClassVar[str] = "must be left or right, as in {mask: right}"

    mask: Literal["left", "right"]
    """One character after the other becomes `*`, from this end."""


class Prefix(_Level):
    """The beginning of a text."""

    wanted: ClassVar[str] = "must be a whole number from 1 to 10^18, as in {prefix: 3}"

    prefix: PositiveWhole
    """The first so many characters."""


class Cuts(_Level):
    """Intervals of any widths, open at both ends of the list."""

    wanted: ClassVar[str] = "must be numbers in ascending order, as in {cuts: [18, 40, 65]}"

    cuts: Annotated[list[Number], Field(min_length=1)]
    """Intervals between these numbers."""

    @model_validator(mode="after")
    def _ascend(self) -> Cuts:
        _refuse_unless_ascending(self.cuts)
        return self


class Years(_Level):
    """Periods of a calendar."""

    wanted: ClassVar[str] = "must be a whole number from 1 to 10^18, as in {years: 5}"

    years: PositiveWhole
    """Periods of so many years."""


class Top(_Level):
    """Top coding: the other values stay."""

    wanted: ClassVar[str] = "must be a number, as in {top: 90}"

    top: Number
    """This and everything above it becomes one value."""


class Bottom(_Level):
    """Bottom coding: the other values stay."""

    wanted: ClassVar[str] = "must be a number, as in {bottom: 18}"

    bottom: Number
    """Everything below it becomes one value."""


_KINDS: dict[str, type[_Level]] = {
    "width": Width,
    "round": Round,
    "depths": Depths,
    "mask": Mask,
    "prefix": Prefix,
    "cuts": Cuts,
    "top": Top,
    "bottom": Bottom,
    "years": Years,
}
DATES = ("day", "month", "quarter", "year")
"""The levels of a date that have a name, from the finest to the coarsest."""
SUPPRESS: Literal["suppress"] = "suppress"
KINDS_OF_LEVELS = (*_KINDS, *DATES, SUPPRESS)
"""What a level is called by in a spec."""
_LEVELS = (
    "{width: 5}, {round: 10}, {depths: [1]}, {mask: right}, {prefix: 3}, {cuts: [18, 65]}, "
    "{top: 90}, {bottom: 18}, {years: 5}, day, month, quarter, year, suppress"
)


def _refuse_unless_ascending(numbers: Sequence[float]) -> None:
    if any(first >= second for first, second in pairwise(numbers)):
        raise ValueError("must ascend")


def _level(value: Any) -> Any:
    """Read `{width: 5}`, `month` or a level itself, or say what is wrong with it."""
    if isinstance(value, _Level) or value in (*DATES, SUPPRESS):
        return value
    key = next((key for key in _KINDS if key in value), None) if isinstance(value, dict) else None
    if key is None:
        raise ValueError(f"this is not a level. Levels: {_LEVELS}.")
    kind = _KINDS[key]
    unknown = next((each for each in value if each not in kind.model_fields), None)
    if unknown is not None:
        near = did_you_mean(str(unknown), kind.model_fields)
        raise ValueError(f'unknown key "{unknown}" beside {key}.{near}')
    try:
        return kind(**value)
    except ValidationError:
        found = value[key] if len(value) == 1 else value
        raise ValueError(f"{key} {kind.wanted}; found {found_instead(found)}.") from None


Level = Annotated[
    Literal["day", "month", "quarter", "year", "suppress"]
    | Width
    | Round
    | Depths
    | Mask
    | Prefix
    | Cuts
    | Top
    | Bottom
    | Years,
    BeforeValidator(_level),
]
Bound = Number | None


def _spelled(value: Any) -> Any:
    """A scalar of a YAML mapping as the text of the same value in a table."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value


def _ancestors(value: Any) -> Any:
    """Let numbers stand in a hierarchy's mapping, and one ancestor for a list of one."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        found = found_instead(value)
        raise ValueError(f"must be a CSV file or a mapping of values; found {found}.")
    ancestors = {
        _spelled(raw): [_spelled(each) for each in (above if isinstance(above, list) else [above])]
        for raw, above in value.items()
    }
    texts = [text for raw, above in ancestors.items() for text in (raw, *above)]
    if not all(ancestors.values()) or not all(isinstance(text, str) for text in texts) or not texts:
        raise ValueError("must give each value its ancestors, as in {Rome: [Italy, Europe]}.")
    return ancestors


class GeneralizationHierarchy(Described):
    """What may become of a quasi-identifier's values; with nothing given, one level: suppress.

    >>> age = GeneralizationHierarchy(levels=[{"width": 5}, {"width": 10}, "suppress"])
    >>> education = GeneralizationHierarchy(hierarchy="education.csv")
    >>> city = GeneralizationHierarchy(hierarchy={"Rome": ["Italy"], "Lyon": ["France"]})

    Level 0 is the raw value. A clip comes before every level from 1 on.
    """

    clip: Annotated[list[Bound], Field(min_length=2, max_length=2)] | None = None
    """The lowest and the highest value kept; null leaves a side open."""
    levels: list[Level] | None = None
    """From the finest level to the coarsest."""
    hierarchy: Annotated[
        str | dict[str, Annotated[list[str], Field(min_length=1)]] | None,
        BeforeValidator(_ancestors),
    ] = None
    """A CSV file without header: the raw value, then one column a level. Or a Parquet, JSON or
    Arrow file, or a table of the database, with the same in its columns. Or a mapping: each raw
    value with the list of its ancestors."""

    @classmethod
    def from_file(cls, path: str | Path) -> GeneralizationHierarchy:
        """The levels that a file has: the raw value, then a column a level; a CSV has no header.

        Raises `SpecError` if a CSV can't be read or holds no levels; its faults, and all of a
        Parquet, JSON or Arrow file, are found where it is used.
        """
        hierarchy = cls(hierarchy=str(path))
        if hierarchy.source is None:
            read_hierarchy(path)
        return hierarchy

    @property
    def source(self) -> str | None:
        """The typed file or the table that only an engine can read, where it is one.

        >>> GeneralizationHierarchy(hierarchy="zip.parquet").source
        'zip.parquet'
        """
        name = self.hierarchy
        if not isinstance(name, str) or name.lower().endswith(_TEXT_FILES):
            return None
        return name if is_typed_file(name) or not Path(name).is_file() else None

    @property
    def masks(self) -> bool:
        """Whether its height depends on the longest value of the data."""
        return any(isinstance(level, Mask) for level in self.levels or ())

    @model_validator(mode="after")
    def _makes_sense(self) -> GeneralizationHierarchy:
        fault = self._fault()
        if fault:
            raise ValueError(fault)
        return self

    def _fault(self) -> str | None:
        """What its parts are together, if they are no hierarchy."""
        levels = self.levels
        if levels == []:
            return "levels is empty. Leave it out, or name a level; suppress alone is the default."
        if self.hierarchy is not None and levels not in (None, [SUPPRESS]):
            return "has both a hierarchy and levels. After a hierarchy only [suppress] may follow."
        if self.clip is not None:
            low, high = self.clip
            if low is None and high is None:
                return "clip leaves both sides open. Give a lowest or a highest value."
            if low is not None and high is not None and low > high:
                return f"clip goes from {low} down to {high}. Give the lowest value first."
            if any(level in DATES or isinstance(level, Years) for level in levels or ()):
                return "clip is for numbers, and its levels are of dates. Leave one of them out."
        for finer, coarser in pairwise(levels or ()):
            if finer == SUPPRESS:
                return "suppress leaves nothing to generalise. Put it last."
            if isinstance(finer, Mask) and coarser != SUPPRESS:
                return "mask goes on until no character is left. Only suppress may follow it."
            if _is_finer(finer, coarser):
                return (
                    f"{spoken(coarser)} comes after {spoken(finer)} and is finer. Order the "
                    "levels from the finest to the coarsest."
                )
        return None


def _is_finer(finer: Level, coarser: Level) -> bool:
    """Whether two levels of a kind are in the wrong order."""
    match finer, coarser:
        case Width(width=first), Width(width=second):
            return second < first
        case (Prefix(prefix=first), Prefix(prefix=second)) | (Top(top=first), Top(top=second)):
            return second > first
        case Bottom(bottom=first), Bottom(bottom=second):
            return second < first
        case Cuts(cuts=few), Cuts(cuts=many):
            return set(few) < set(many)
        case ((str() | Years()), (str() | Years())) if coarser != SUPPRESS:
            return _months(coarser) < _months(finer)
        case ((Round() | Depths()), (Round() | Depths())):
            return _truncations(coarser)[0] < _truncations(finer)[-1]
    return False


def _months(level: Level) -> int:
    """How long a period of a date is, in months."""
    if isinstance(level, Years):
        return 12 * level.years
    return {"day": 0, "month": 1, "quarter": 3}.get(str(level), 12)


def _truncations(level: Level) -> list[int]:
    if isinstance(level, Depths):
        return [10**depth for depth in level.depths]
    return [level.round] if isinstance(level, Round) else []


def single(levels: Iterable[Level]) -> Iterator[Level]:
    """The same levels, each of depths on its own; a mask stays one, as its height is the data's."""
    for level in levels:
        if isinstance(level, Depths):
            yield from (Round(round=step) for step in _truncations(level))
        else:
            yield level


def spoken(level: Level) -> str:
    """What people call a level.

    >>> [spoken(level) for level in (Width(width=5), Cuts(cuts=[18, 65]), Years(years=5), "month")]
    ['width 5', 'cuts 18, 65', '5 years', 'month']
    """
    match level:
        case Width(origin=origin) if origin:
            return f"width {plain(level.width)} from {plain(origin)}"
        case Cuts():
            return f"cuts {', '.join(plain(cut) for cut in level.cuts)}"
        case Depths():
            return f"depths {', '.join(str(depth) for depth in level.depths)}"
        case Years():
            return "1 year" if level.years == 1 else f"{level.years} years"
        case Mask():
            return f"mask from the {level.mask}"
        case str():
            return level
    [key] = [key for key, kind in _KINDS.items() if isinstance(level, kind)]
    value = getattr(level, key)
    return f"{key} {plain(value)}"


def plain(number: float) -> str:
    """A number in digits, without an exponent and without what says nothing.

    >>> [plain(number) for number in (18, 18.0, 0.25, 1e-7, -2.50)]
    ['18', '18', '0.25', '0.0000001', '-2.5']
    """
    return f"{decimal(number):f}"


def decimal(number: float) -> Decimal:
    """The number that was written: 0.1 is a tenth.

    >>> decimal(0.1), decimal(20.0), decimal(-0.0)
    (Decimal('0.1'), Decimal('20'), Decimal('0'))
    """
    exact = Decimal(repr(number))
    return Decimal(int(exact)) if exact == exact.to_integral_value() else exact.normalize()


# --- what the command line says -------------------------------------------------------------

_BUILDERS = {
    "width": "width:5,10,20",
    "round": "round:10,100",
    "depths": "depths:1,2",
    "mask": "mask:right",
    "date": "date:month,year,5y",
    "prefix": "prefix:3,2",
    "cuts": "cuts:18,40,65",
    "top": "top:90",
    "bottom": "bottom:18",
    "suppress": "suppress",
}
_DEFAULTS = {"mask": ["right"], "date": ["month", "year"]}
"""What a builder means where nothing follows its name."""


def parse_builder(text: str, *, tables: bool = False) -> GeneralizationHierarchy:
    """The levels that a text of the command line names: a file, or a builder with its arguments,
    or with `tables` a table of the database.

    >>> parse_builder("width:5,10,suppress").levels
    [Width(width=5), Width(width=10), 'suppress']

    Raises `SpecError` if it is neither.
    """
    name, colon, rest = text.partition(":")
    is_table = tables and not colon and name not in _BUILDERS
    if Path(text).is_file() or is_typed_file(text) or is_table:
        return GeneralizationHierarchy(hierarchy=text)
    if name not in _BUILDERS:
        raise SpecError(
            f"{text}: there is no such file, and no builder of that name. Builders: "
            f"{' · '.join(_BUILDERS.values())}.{did_you_mean(name, _BUILDERS)}"
        )
    arguments = [argument.strip() for argument in rest.split(",")] if colon else []
    last: list[Any] = [SUPPRESS] if name == SUPPRESS or arguments[-1:] == [SUPPRESS] else []
    if name == SUPPRESS and arguments:
        raise SpecError(f"{text}: suppress takes no arguments.")
    if arguments[-1:] == [SUPPRESS]:
        arguments.pop()
    arguments = arguments or _DEFAULTS.get(name, [])
    if name != SUPPRESS and not all(arguments or [""]):
        raise SpecError(f"{text}: {name} lacks an argument. Write it as {_BUILDERS[name]}.")
    try:
        return GeneralizationHierarchy(levels=[*_built(name, arguments), *last])
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise SpecError(f"{text}: {fault['ctx']['error']}") from None


def _built(name: str, arguments: list[str]) -> Iterator[Any]:
    """The levels of a builder as a spec would have them."""
    if name == "date":
        for argument in arguments:
            years = re.fullmatch(r"([0-9]+)y", argument)
            yield {"years": int(years[1])} if years else argument
    elif name in ("depths", "cuts"):
        yield {name: [_read_number(argument) for argument in arguments]}
    else:
        yield from ({name: _read_number(argument)} for argument in arguments)


def parse_clip(text: str) -> list[Bound]:
    """The lowest and the highest value of a text as `10:90`; one side may be left out.

    >>> parse_clip("10:90"), parse_clip(":60"), parse_clip("-3.5:")
    ([10, 90], [None, 60], [-3.5, None])

    Raises `SpecError` if it is not a clip.
    """
    sides = text.split(":")
    bounds: list[Any] = [_read_number(side.strip()) if side.strip() else None for side in sides]
    if len(sides) != 2 or any(isinstance(bound, str) for bound in bounds):
        raise SpecError(f"{text!r} is not a clip; write the lowest and the highest value as 10:90.")
    try:
        GeneralizationHierarchy(clip=bounds)
    except ValidationError as error:
        raise SpecError(str(error.errors(include_url=False)[0]["ctx"]["error"])) from None
    return bounds


def _read_number(text: str) -> int | float | str:
    """The number that a text spells, or the text."""
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)", text) else text


# --- hierarchies from files -----------------------------------------------------------------

_DELIMITERS = ";,\t|"
_TEXT_FILES = (".csv", ".tsv", ".txt")
_TYPED_FILES = (
    ".parquet", ".pq", ".json", ".jsonl", ".ndjson", ".arrow", ".feather", ".ipc",
)  # fmt: skip
_LINE_ENDS = tuple("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
FaultKind = Literal["duplicate", "two parents", "not nested", "unequal", "empty", "builder"]
Faults = Literal["error", "warn"]


@dataclass(frozen=True)
class Fault:
    """What is wrong with a hierarchy at one place."""

    kind: FaultKind
    line: int
    sentence: str
    """What, where and how much, for people, without a value that the spec itself does not hold."""
    shown: str = ""
    """The same with the values, where they are withheld."""

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class Row:
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
    rows: tuple[Row, ...]
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
                again = f"repeats line {line}" if self.has_lines else "is there twice"
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
            "--hierarchy-faults warn: every level is then read from the raw value"
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
                Row(line, row[0], tuple(row[1:]), has_value=0 not in missing)
                for line, row, missing in rows
            ),
        )
    )


def hierarchy_table(ancestors: Mapping[str, Sequence[str]], name: str) -> HierarchyTable:
    """The same of a mapping: each raw value with its ancestors."""
    rows = tuple(
        Row(number, raw, tuple(above)) for number, (raw, above) in enumerate(ancestors.items(), 1)
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
                Row(number, raw or "", tuple(label or "" for label in above), raw is not None)
                for number, (raw, *above) in enumerate(rows, 1)
            ),
            has_lines=False,
            columns=tuple(columns),
        )
    )


def is_typed_file(name: str) -> bool:
    """Whether a name is one of a file whose columns have types, by its end."""
    return name.lower().endswith(_TYPED_FILES)


def is_file_name(name: str) -> bool:
    """Whether a name can only be one of a file, by its end."""
    return name.lower().endswith((*_TEXT_FILES, *_TYPED_FILES))


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
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            f"{error.strerror}. Name a file that is there and may be read."
            if isinstance(error, OSError)
            else "it is not UTF-8. Save it as CSV in UTF-8, or name a Parquet, JSON or Arrow file."
        )
        raise SpecError(f"{path}: the hierarchy can't be read: {reason}") from None
    first = text.lstrip("\r\n").partition("\n")[0]
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
            f"{path}:{reader.line_num}: this line is no CSV: {error}. Close its quotes."
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


def _fields(line: str, delimiter: str) -> int:
    """How many fields a line has, as far as that delimiter can tell."""
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0
