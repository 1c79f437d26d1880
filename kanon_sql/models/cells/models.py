"""Models of the cells of a table: a count, or the sum of a magnitude, for each combination.

A cell is sensitive by itself (primary), or together with others (a group, a second table).
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from kanon_sql.models.base import (
    Bounds,
    CellModel,
    Count,
    CountFromZero,
    NotNegative,
    Number,
    Positive,
    PositiveShare,
    python_number,
)

__all__ = [
    "Derivable",
    "Differences",
    "Dominance",
    "GroupDisclosure",
    "MinContributors",
    "PPercent",
    "Rounded",
]


def _columns(value: Any) -> Any:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(map(_is_text, names)):
        raise ValueError("must be a list of dimensions, as in [region]")
    return tuple(names)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _bands(value: Any) -> Any:
    """Read `[[15, 10], [100, 50]]`: from 15 on multiples of 10, from 100 on of 50."""
    try:
        bands = tuple((python_number(start), python_number(step)) for start, step in value)
    except (TypeError, ValueError):
        bands = ()
    numbers = [number for band in bands for number in band]
    fits = bands and all(
        isinstance(number, int | float) and not isinstance(number, bool) for number in numbers
    )
    if not fits or any(step <= 0 for _, step in bands) or list(bands) != sorted(set(bands)):
        raise ValueError("must be pairs of a start and a step in ascending order, as in [[15, 10]]")
    return bands


Percentage = Annotated[
    Number,
    Bounds(
        "a percentage between 0 and 100, as in 67", {"exclusiveMinimum": 0, "exclusiveMaximum": 100}
    ),
]
Dimensions = Annotated[
    tuple[str, ...],
    BeforeValidator(_columns),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
Bands = Annotated[
    tuple[tuple[Number, Number], ...],
    BeforeValidator(_bands),
    WithJsonSchema({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}),
]


class MinContributors(CellModel):
    """Every cell has at least n contributors (the threshold rule)."""

    thresholds: ClassVar = ("n",)
    counts_contributors: ClassVar = True
    worst: ClassVar = "least"
    is_primary: ClassVar = True

    n: Count | None = None
    """Minimum number of contributors to a cell."""
    zeros: Literal["allowed", "disclosive"] = "allowed"
    """Whether a cell without contributors, or a combination without records, violates too."""

    @property
    def least_contributors(self) -> int | None:
        return self.n


class Dominance(CellModel):
    """The n largest contributors have at most k per cent of a cell ((n,k) dominance)."""

    thresholds: ClassVar = ("k",)
    of_concentration: ClassVar = True
    worst: ClassVar = "greatest"
    needs_value: ClassVar = True
    is_primary: ClassVar = True

    n: Count
    """How many of the largest contributors are added."""
    k: Percentage | None = None
    """Maximum share of the cell's sum, in per cent."""
    inclusive: bool = False
    """Whether a share of exactly k violates."""


class PPercent(CellModel):
    """No contributor can be estimated to within p per cent (the p% rule)."""

    thresholds: ClassVar = ("p",)
    of_concentration: ClassVar = True
    worst: ClassVar = "least"
    needs_value: ClassVar = True
    is_primary: ClassVar = True

    p: Positive | None = None
    """How close an estimate of the largest contribution may not be, in per cent of it."""
    q: Positive = 100
    """How closely everyone can estimate a contribution beforehand, in per cent."""
    coalition: Count = 1
    """How many contributors pool what they know."""


class GroupDisclosure(CellModel):
    """No group has all its members in one category (group attribute disclosure)."""

    thresholds: ClassVar = ("max_share",)
    counts_contributors: ClassVar = True
    worst: ClassVar = "greatest"
    counts_violations: ClassVar = True

    along: Dimensions | None = None
    """The dimensions whose categories must not be given away; by default all."""
    max_share: PositiveShare = 1
    """The share of a group in one category from which it is disclosed."""
    insiders: CountFromZero = 0
    """How many members of a group may know their own category."""

    @property
    def dimensions(self) -> tuple[str, ...]:
        return self.along or ()


class Differences(CellModel):
    """No two tables differ by fewer than n contributors in a cell (differencing)."""

    compares_tables: ClassVar = True
    thresholds: ClassVar = ("n",)
    counts_contributors: ClassVar = True
    worst: ClassVar = "least"

    n: Count | None = None
    """Minimum difference of two cells that differ."""
    against: str | None = None
    """The name of the second table; optional if there is only one."""


class Rounded(CellModel):
    """Every figure that is shown lies on the grid of its rounding."""

    thresholds: ClassVar = ("base", "bands")
    needs_cells: ClassVar = True
    worst: ClassVar = "greatest"
    worst_thresholds: ClassVar = {"base": "least"}
    counts_violations: ClassVar = True
    is_primary: ClassVar = True

    base: Positive | None = None
    """Every figure is a multiple of this."""
    bands: Bands | None = None
    """Pairs of a start and a step, as in [[15, 10], [100, 50]]; below the first nothing fits."""

    @model_validator(mode="after")
    def _require_one_grid(self) -> Self:
        if (self.base is None) == (self.bands is None):
            raise ValueError("needs a base, or bands, and not both")
        return self


class Derivable(CellModel):
    """No suppressed cell follows from the cells that are shown (derivability)."""

    thresholds: ClassVar = ("width",)
    is_searched: ClassVar = True
    worst: ClassVar = "greatest"
    worst_thresholds: ClassVar = {"width": "least"}
    counts_violations: ClassVar = True

    width: NotNegative = 0
    """The widest interval at which a cell counts as derived, in the unit of the figure."""
    remainder: Positive | None = None
    """Minimum sum of the cells that are suppressed together below one total."""
    undecided: Literal["fail", "pass"] = "fail"
    """Whether a cell that could not be decided fails the check."""
