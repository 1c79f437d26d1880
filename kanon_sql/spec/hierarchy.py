"""How the values of a quasi-identifier may be generalised, level by level. Words only, no SQL."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BeforeValidator,
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from kanon_sql.errors import did_you_mean, found_instead
from kanon_sql.files import file_kind
from kanon_sql.spec.hierarchy_table import read_hierarchy
from kanon_sql.spec.models.described import Described


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
    keep: bool = False
    """Whether a release keeps the raw value."""
    at_most: Annotated[int, Field(ge=0)] | None = None
    """The highest level that a release may have."""
    weight: PositiveNumber | None = None
    """What its loss weighs in the metric loss; 1 without it."""
    why: str | None = None
    """Why the column is a quasi-identifier, in a sentence for the report."""

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
        if not isinstance(name, str) or file_kind(name) == "csv":
            return None
        return name if file_kind(name) or not Path(name).is_file() else None

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
        if self.keep and self.at_most:
            return "has both keep and at_most; to keep it is at_most: 0. Leave out one of the two."
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
                return "mask continues until no character is left. Only suppress may follow it."
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
