"""Generalisation hierarchies of quasi-identifiers."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from kanon_sql.errors import SpecError, described_value, did_you_mean
from kanon_sql.files import file_kind, is_typed_file
from kanon_sql.models.described import Described
from kanon_sql.question.hierarchy_table import read_hierarchy

BUILDERS = {
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
"""The arguments of a builder that is given without any."""


def parse_builder(text: str, *, tables: bool = False) -> "GeneralizationHierarchy":
    """The hierarchy that a command-line argument names: a file, a builder with its arguments, or
    with `tables` a table of the database.

    >>> parse_builder("width:5,10,suppress").levels
    [Width(width=5), Width(width=10), 'suppress']

    Raises `SpecError` if it is neither.
    """
    name, colon, _ = text.partition(":")
    is_table = tables and not colon and name not in BUILDERS
    exists = Path(text).is_file() or (name not in BUILDERS and Path(text).exists())
    if exists or is_typed_file(text) or is_table:
        return GeneralizationHierarchy(hierarchy=text)
    if name not in BUILDERS:
        raise SpecError(
            f"{text}: there is no such file, and no builder of that name. Builders: "
            f"{' · '.join(BUILDERS.values())}.{did_you_mean(name, BUILDERS)}"
        )
    return built(text)


def built(text: str) -> "GeneralizationHierarchy":
    """The hierarchy of a builder with its arguments. Opens no file.

    >>> built("date:year,5y").levels
    ['year', Years(years=5)]

    Raises `SpecError` if it is none.
    """
    name, colon, rest = text.partition(":")
    if name not in BUILDERS:
        raise SpecError(f"there is no builder {name!r}.{did_you_mean(name, BUILDERS)}")
    arguments = [argument.strip() for argument in rest.split(",")] if colon else []
    last: list[Any] = [SUPPRESS] if name == SUPPRESS or arguments[-1:] == [SUPPRESS] else []
    if name == SUPPRESS and arguments:
        raise SpecError(f"{text}: suppress takes no arguments.")
    if arguments[-1:] == [SUPPRESS]:
        arguments.pop()
    arguments = arguments or _DEFAULTS.get(name, [])
    if name != SUPPRESS and not all(arguments or [""]):
        raise SpecError(f"{text}: {name} lacks an argument. Write it as {BUILDERS[name]}.")
    try:
        levels = [*_builder_levels(name, arguments), *last]
        return GeneralizationHierarchy.model_validate({"levels": levels})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise SpecError(f"{text}: {fault['ctx']['error']}") from None


def builder_of(hierarchy: "GeneralizationHierarchy") -> str | None:
    """The builder that makes a hierarchy, "" without levels; None if no single one does.

    >>> builder_of(GeneralizationHierarchy(levels=[{"width": 5}, {"width": 10}, "suppress"]))
    'width:5,10,suppress'
    """
    if hierarchy.hierarchy is not None or hierarchy.clip is not None:
        return None
    names: set[str] = set()
    arguments: list[str] = []
    for level in hierarchy.levels or ():
        if isinstance(level, str | Years):
            names |= {"date"} - ({"date"} if level == SUPPRESS else set())
            arguments.append(f"{level.years}y" if isinstance(level, Years) else level)
            continue
        [key] = [key for key, kind in _KINDS.items() if isinstance(level, kind)]
        names.add(key)
        value = getattr(level, key)
        values = value if isinstance(value, list) else [value]
        arguments += [each if isinstance(each, str) else decimal_text(each) for each in values]
    if not names:
        return arguments[0] if arguments else ""
    text = f"{names.pop()}:{','.join(arguments)}"
    with suppress(SpecError):
        if not names and built(text).levels == hierarchy.levels:
            return text
    return None


def _builder_levels(name: str, arguments: list[str]) -> Iterator[Any]:
    """The levels of a builder, as in a spec."""
    if name == "date":
        for argument in arguments:
            years = re.fullmatch(r"([0-9]+)y", argument)
            yield {"years": int(years[1])} if years else argument
    elif name in ("depths", "cuts"):
        yield {name: [_read_number(argument) for argument in arguments]}
    else:
        yield from ({name: _read_number(argument)} for argument in arguments)


def parse_clip(text: str) -> "list[Bound]":
    """The lowest and highest value in `10:90`; one side may be empty.

    >>> parse_clip("10:90"), parse_clip(":60"), parse_clip("-3.5:"), parse_clip("1935-01-01:")
    ([10, 90], [None, 60], [-3.5, None], ['1935-01-01', None])

    Raises `SpecError` if it is not a clip.
    """
    sides = text.split(":")
    bounds: list[Any] = [_read_number(side.strip()) if side.strip() else None for side in sides]
    if len(sides) != 2:
        raise SpecError(f"{text!r} is not a clip; {_CLIP}.")
    try:
        clip = GeneralizationHierarchy.model_validate({"clip": bounds}).clip
    except ValidationError as error:
        reason = str(error.errors(include_url=False)[0]["ctx"]["error"])
        is_of_bound = reason == _NO_BOUND
        raise SpecError(f"{text!r} is not a clip; {_CLIP}." if is_of_bound else reason) from None
    assert clip is not None
    return clip


_CLIP = "write the lowest and the highest value as 10:90, or dates as 1935-01-01:"
_NO_BOUND = "must be a number, or a date as in 1935-01-01"


def _read_number(text: str) -> int | float | str:
    """The number in a text, or the text if it is none."""
    if re.fullmatch(r"[-+]?[0-9]+", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)", text) else text


def _finite(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("must be a number")
    return value


Number = Annotated[int | float, BeforeValidator(_finite)]
LARGEST = 10**18
"""The largest width or period that a 64-bit integer has room for."""
PositiveNumber = Annotated[
    Annotated[PositiveInt, Field(le=LARGEST)] | Annotated[PositiveFloat, Field(le=LARGEST)],
    BeforeValidator(_finite),
]
PositiveWhole = Annotated[PositiveInt, Field(le=LARGEST), BeforeValidator(_finite)]
_Digits = Annotated[PositiveInt, Field(le=18), BeforeValidator(_finite)]


class _Level(Described):
    requirement: ClassVar[str]
    """The requirement on its value, for error messages."""


class Width(_Level):
    """Intervals of equal width."""

    requirement: ClassVar[str] = (
        "must be a number above 0, 10^18 at most, as in {width: 5} or {width: 5, origin: 2}"
    )

    width: PositiveNumber
    """Width of the intervals [a, a + width)."""
    origin: Number = 0
    """The start of one interval; the others are aligned to it."""


class Round(_Level):
    """Numbers truncated to a multiple."""

    requirement: ClassVar[str] = "must be a whole number from 1 to 10^18, as in {round: 10}"

    round: PositiveWhole
    """The multiple; truncation is toward zero."""


class Depths(_Level):
    """Several levels at once, each truncating more decimal digits."""

    requirement: ClassVar[str] = (
        "must be whole numbers from 1 to 18 in ascending order, as in {depths: [1, 2]}"
    )

    depths: Annotated[list[_Digits], Field(min_length=1)]
    """For each level, the number of digits to truncate; truncation is toward zero."""

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        _refuse_unless_ascending(self.depths)
        return self


class Mask(_Level):
    """One level for each character of the longest value; shorter values are padded with `*`."""

    requirement: ClassVar[str] = "must be left or right, as in {mask: right}"

    mask: Literal["left", "right"]
    """The end from which characters are replaced by `*`."""


class Prefix(_Level):
    """The first characters of a text."""

    requirement: ClassVar[str] = "must be a whole number from 1 to 10^18, as in {prefix: 3}"

    prefix: PositiveWhole
    """The number of characters kept."""


class Cuts(_Level):
    """Intervals between given numbers; the first and the last are unbounded."""

    requirement: ClassVar[str] = "must be numbers in ascending order, as in {cuts: [18, 40, 65]}"

    cuts: Annotated[list[Number], Field(min_length=1)]
    """The boundaries of the intervals, in ascending order."""

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        _refuse_unless_ascending(self.cuts)
        return self


class Years(_Level):
    """Calendar periods of several years."""

    requirement: ClassVar[str] = "must be a whole number from 1 to 10^18, as in {years: 5}"

    years: PositiveWhole
    """The length of a period in years."""


class Top(_Level):
    """Top coding: values above the threshold are merged, the others kept."""

    requirement: ClassVar[str] = "must be a number, as in {top: 90}"

    top: Number
    """The threshold: it and all larger values become one value."""


class Bottom(_Level):
    """Bottom coding: values below the threshold are merged, the others kept."""

    requirement: ClassVar[str] = "must be a number, as in {bottom: 18}"

    bottom: Number
    """The threshold: all smaller values become one value."""


_KINDS: dict[str, type[_Level]] = {
    kind.__name__.lower(): kind
    for kind in (Width, Round, Depths, Mask, Prefix, Cuts, Top, Bottom, Years)
}
OF_NUMBERS = (Width, Round, Depths, Cuts, Top, Bottom)
"""The levels of numbers."""
DATES = ("day", "month", "quarter", "year")
"""The named levels of a date, from the finest to the coarsest."""
SUPPRESS: Literal["suppress"] = "suppress"
KINDS_OF_LEVELS = (*_KINDS, *DATES, SUPPRESS)
"""The names of all kinds of levels in a spec."""
_LEVELS = (
    "{width: 5}, {round: 10}, {depths: [1]}, {mask: right}, {prefix: 3}, {cuts: [18, 65]}, "
    "{top: 90}, {bottom: 18}, {years: 5}, day, month, quarter, year, suppress"
)


def _refuse_unless_ascending(numbers: Sequence[float]) -> None:
    if any(first >= second for first, second in pairwise(numbers)):
        raise ValueError("must ascend")


def _level(value: Any) -> Any:
    """Parse `{width: 5}`, `month` or a level; raises `ValueError` with the reason."""
    if isinstance(value, _Level) or value in (*DATES, SUPPRESS):
        return value
    key = next((key for key in _KINDS if key in value), None) if isinstance(value, dict) else None
    if key is None:
        raise ValueError(f"this is not a level. Levels: {_LEVELS}.")
    kind = _KINDS[key]
    unknown = next((key for key in value if key not in kind.model_fields), None)
    if unknown is not None:
        suggestion = did_you_mean(str(unknown), kind.model_fields)
        raise ValueError(f'unknown key "{unknown}" next to {key}.{suggestion}')
    try:
        return kind.model_validate(value)
    except ValidationError:
        faulty_value = value[key] if len(value) == 1 else value
        raise ValueError(
            f"{key} {kind.requirement}; found {described_value(faulty_value)}."
        ) from None


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


def _bound(value: Any) -> Any:
    """A number, or a date as text."""
    if isinstance(value, str | date) and not isinstance(value, datetime):
        with suppress(ValueError):
            return date.fromisoformat(str(value)).isoformat()
    try:
        return _finite(value)
    except ValueError:
        raise ValueError(_NO_BOUND) from None


Bound = Annotated[int | float | str, BeforeValidator(_bound)] | None


def _as_text(value: Any) -> Any:
    """A YAML scalar as the text that a table has for the same value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, int | float) else value


def _ancestors(value: Any) -> Any:
    """Accept numbers as keys and labels of a hierarchy, and a single ancestor instead of a list."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Mapping):
        description = described_value(value)
        raise ValueError(f"must be a CSV file or a mapping of values; found {description}.")
    ancestors = {
        _as_text(raw): [_as_text(item) for item in (above if isinstance(above, list) else [above])]
        for raw, above in value.items()
    }
    texts = [text for raw, above in ancestors.items() for text in (raw, *above)]
    if not all(ancestors.values()) or not all(isinstance(text, str) for text in texts) or not texts:
        raise ValueError("must give each value its ancestors, as in {Rome: [Italy, Europe]}.")
    return ancestors


class GeneralizationHierarchy(Described):
    """The generalisation levels of a quasi-identifier; without any, the only level is suppress.

    >>> age = GeneralizationHierarchy(levels=[{"width": 5}, {"width": 10}, "suppress"])
    >>> education = GeneralizationHierarchy(hierarchy="education.csv")
    >>> city = GeneralizationHierarchy(hierarchy={"Rome": ["Italy"], "Lyon": ["France"]})

    Level 0 is the raw value. A clip comes before every level from 1 on.
    """

    clip: Annotated[list[Bound], Field(min_length=2, max_length=2)] | None = None
    """The lowest and the highest number or date kept; null leaves a side unbounded."""
    levels: list[Level] | None = None
    """The levels, from the finest to the coarsest."""
    hierarchy: Annotated[
        str | dict[str, Annotated[list[str], Field(min_length=1)]] | None,
        BeforeValidator(_ancestors),
    ] = None
    """A CSV file without header: the raw value, then one column per level. Or a Parquet, JSON or
    Arrow file, or a table of the database, with the same columns. Or a mapping from each raw value
    to the list of its ancestors."""
    keep: bool = False
    """Whether releases publish the raw value."""
    at_most: Annotated[int, Field(ge=0)] | None = None
    """The highest level allowed in a release."""
    weight: PositiveNumber | None = None
    """The weight of this column in the metric `loss`; default 1."""
    why: str | None = None
    """Why the column is a quasi-identifier, in a sentence for the report."""

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Read a hierarchy from a file: the raw value, then one column per level; a CSV has no
        header.

        Raises `SpecError` if a CSV can't be read or has no levels. Faults of its values, and those
        of a Parquet, JSON or Arrow file, are raised when the hierarchy is used.
        """
        hierarchy = cls(hierarchy=str(path))
        if hierarchy.source is None:
            read_hierarchy(path)
        return hierarchy

    @property
    def source(self) -> str | None:
        """The file or table that only an engine can read, or None.

        >>> GeneralizationHierarchy(hierarchy="zip.parquet").source
        'zip.parquet'
        """
        name = self.hierarchy
        if not isinstance(name, str) or file_kind(name) == "csv":
            return None
        return name if file_kind(name) or not Path(name).is_file() else None

    @property
    def clips_dates(self) -> bool:
        """Whether the values are dates, and some are replaced by the end of a range."""
        return any(isinstance(bound, str) for bound in self.clip or ())

    @property
    def has_mask(self) -> bool:
        """Whether the number of levels depends on the longest value of the data."""
        return any(isinstance(level, Mask) for level in self.levels or ())

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        fault = self._fault()
        if fault:
            raise ValueError(fault)
        return self

    def _fault(self) -> str | None:
        """Why the settings contradict each other, or None."""
        levels = self.levels
        if levels == []:
            return "levels is empty. Leave it out, or name a level; suppress alone is the default."
        if self.hierarchy is not None and levels not in (None, [SUPPRESS]):
            return "has both a hierarchy and levels. After a hierarchy only [suppress] may follow."
        if self.keep and self.at_most:
            return "has both keep and at_most; to keep it is at_most: 0. Leave out one of the two."
        if self.clip is not None:
            ends: list[Any] = self.clip
            low, high = ends
            if low is None and high is None:
                return "clip leaves both sides open. Give a lowest or a highest value."
            if isinstance(low, str) != isinstance(high, str) and None not in (low, high):
                return "clip has a number and a date. Give two of a kind."
            if low is not None and high is not None and low > high:
                return f"clip goes from {low} down to {high}. Give the lowest value first."
            of_dates = any(level in DATES or isinstance(level, Years) for level in levels or ())
            of_numbers = any(isinstance(level, OF_NUMBERS) for level in levels or ())
            if self.clips_dates and of_numbers:
                return "clip is for dates, and its levels are of numbers. Leave one of them out."
            if of_dates and not self.clips_dates:
                return "clip is for numbers, and its levels are of dates. Leave one of them out."
        for finer, coarser in pairwise(levels or ()):
            if finer == SUPPRESS:
                return "suppress leaves nothing to generalise. Put it last."
            if isinstance(finer, Mask) and coarser != SUPPRESS:
                return "mask continues until no character is left. Only suppress may follow it."
            if _is_finer(finer, coarser):
                return (
                    f"{level_label(coarser)} comes after {level_label(finer)} and is finer. Order "
                    "the levels from the finest to the coarsest."
                )
        return None


def _is_finer(finer: Level, coarser: Level) -> bool:
    """Whether two levels of the same kind are in the wrong order."""
    match finer, coarser:
        case Width(width=first), Width(width=second):
            return second < first
        case (Prefix(prefix=first), Prefix(prefix=second)) | (Top(top=first), Top(top=second)):
            return second > first
        case Bottom(bottom=first), Bottom(bottom=second):
            return second < first
        case Cuts(cuts=cuts), Cuts(cuts=other_cuts):
            return set(cuts) < set(other_cuts)
        case ((str() | Years()), (str() | Years())) if coarser != SUPPRESS:
            return _months(coarser) < _months(finer)
        case ((Round() | Depths()), (Round() | Depths())):
            return _truncations(coarser)[0] < _truncations(finer)[-1]
    return False


def _months(level: Level) -> int:
    """The length of a calendar period in months."""
    if isinstance(level, Years):
        return 12 * level.years
    return {"day": 0, "month": 1, "quarter": 3}.get(str(level), 12)


def _truncations(level: Level) -> list[int]:
    if isinstance(level, Depths):
        return [10**depth for depth in level.depths]
    return [level.round] if isinstance(level, Round) else []


def expanded(levels: Iterable[Level]) -> Iterator[Level]:
    """The levels with `Depths` expanded to one level each; a mask stays, as its height depends on
    the data."""
    for level in levels:
        if isinstance(level, Depths):
            yield from (Round(round=step) for step in _truncations(level))
        else:
            yield level


def level_label(level: Level) -> str:
    """The label of a level in reports.

    >>> levels = (Width(width=5), Cuts(cuts=[18, 65]), Years(years=5), "month")
    >>> [level_label(level) for level in levels]
    ['width 5', 'cuts 18, 65', '5 years', 'month']
    """
    match level:
        case Width(origin=origin) if origin:
            return f"width {decimal_text(level.width)} from {decimal_text(origin)}"
        case Cuts():
            return f"cuts {', '.join(decimal_text(cut) for cut in level.cuts)}"
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
    return f"{key} {decimal_text(value)}"


def decimal_text(number: float) -> str:
    """A number in decimal notation, without an exponent or trailing zeros.

    >>> [decimal_text(number) for number in (18, 18.0, 0.25, 1e-7, -2.50)]
    ['18', '18', '0.25', '0.0000001', '-2.5']
    """
    return f"{decimal(number):f}"


def decimal(number: float) -> Decimal:
    """The exact decimal that a float literal was written as: 0.1 is one tenth.

    >>> decimal(0.1), decimal(20.0), decimal(-0.0)
    (Decimal('0.1'), Decimal('20'), Decimal('0'))
    """
    exact = Decimal(repr(number))
    return Decimal(int(exact)) if exact == exact.to_integral_value() else exact.normalize()
