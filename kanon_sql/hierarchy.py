"""How the values of a quasi-identifier may be generalised, level by level. Words only, no SQL."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

Number = int | float


class _Level(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Width(_Level):
    width: PositiveInt | PositiveFloat
    """Intervals [a, a + width), found by floor."""


class Round(_Level):
    round: PositiveInt
    """Truncation toward zero to a multiple of this."""


class Depths(_Level):
    depths: list[PositiveInt]
    """Truncation toward zero of so many decimal digits."""


class Mask(_Level):
    mask: Literal["left", "right"]
    """One character after the other becomes `*`, from this end."""


class Prefix(_Level):
    prefix: PositiveInt
    """The first so many characters."""


class Cuts(_Level):
    cuts: list[Number]
    """Intervals between these numbers."""


class Years(_Level):
    years: PositiveInt
    """Periods of so many years."""


Level = (
    Literal["day", "month", "quarter", "year", "suppress"]
    | Width
    | Round
    | Depths
    | Mask
    | Prefix
    | Cuts
    | Years
)
Bound = Number | None


class GeneralizationHierarchy(BaseModel):
    """What may become of a quasi-identifier's values; with nothing given, one level: suppress."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    clip: Annotated[list[Bound], Field(min_length=2, max_length=2)] | None = None
    """The lowest and the highest value kept; null leaves a side open."""
    levels: list[Level] | None = None
    """From the finest level to the coarsest."""
    hierarchy: str | None = None
    """A CSV file without header: the raw value, then one column a level."""
