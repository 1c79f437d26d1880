"""The parameters of a search for identifying columns, and their validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from kanon_sql.errors import SpecError, described_value, option
from kanon_sql.plan.question import BoundColumn, ResolvedQuestion
from kanon_sql.plan.resolve_columns import column_named, refuse_uncomparable
from kanon_sql.plan.subset_plan import MOST_SCORED, refuse_too_many
from kanon_sql.sql.quoting import positive_int

SAMPLING_FRACTION = 0.01
"""Default sampling fraction of the records, as a share of the population."""


@dataclass(frozen=True)
class Identifying:
    """Parameters of the measures on column sets: their classes and the records they single out."""

    subsets: int | None = None
    """Measure every set of at most this many columns."""
    suda: int | Literal["all"] | None = None
    """Find special uniques on sets of at most this many columns."""
    columns: tuple[str, ...] = ()
    """The columns to combine; by default the quasi-identifiers, or else the candidates."""
    sampling_fraction: float = SAMPLING_FRACTION
    scores: Path | None = None
    """File for the score of each special unique."""

    @property
    def is_requested(self) -> bool:
        """Whether any measure on column sets is requested."""
        return self.subsets is not None or self.suda is not None

    @property
    def parts(self) -> list[str]:
        """The measures on column sets that are requested, as the result names them."""
        asked = {"subsets": self.subsets, "special_uniques": self.suda}
        return [part for part, size in asked.items() if size is not None]

    def refuse_nonsense(self, *, has_quasi_identifiers: bool) -> None:
        """Raise `SpecError` for parameters that are invalid for any table."""
        if self.subsets is not None:
            positive_int(self.subsets, "subsets")
        if self.suda is not None and self.suda != "all":
            _size(self.suda)
        fraction: Any = self.sampling_fraction
        is_number = isinstance(fraction, int | float) and not isinstance(fraction, bool)
        if not is_number or not 0 < fraction <= 1:
            raise SpecError(
                f"{option('sampling_fraction')} must be above 0 and at most 1, the share of the "
                f"population that is in the table; found {described_value(fraction)}."
            )
        if self.columns and has_quasi_identifiers:
            raise SpecError(
                f"{option('columns')} replaces {option('quasi_identifiers')}; name the columns "
                "in one of the two."
            )
        if self.scores is not None and self.suda is None:
            raise SpecError(f"scores are those of special uniques: add {option('suda')}.")

    def size(self, columns: Sequence[BoundColumn]) -> int | None:
        """The largest set size of the special-uniques search over these columns.

        Raises `SpecError` for too many columns or sets, or a size above the number of columns.
        """
        if self.suda is None:
            return None
        if len(columns) > MOST_SCORED:
            raise SpecError(
                f"{option('suda')}: {len(columns):,} columns are too many to score, as a score is "
                f"a factorial of their number. Name at most {MOST_SCORED}."
            )
        size = len(columns) if self.suda == "all" else self.suda
        if size > len(columns):
            raise SpecError(
                f"{option('suda')} is {size}, and there {_are(len(columns))} to search. Use at "
                f"most {len(columns)}."
            )
        refuse_too_many("suda", len(columns), size)
        return size


def _are(columns: int) -> str:
    return "is one column" if columns == 1 else f"are {columns:,} columns"


def _size(suda: Any) -> int:
    if isinstance(suda, int) and not isinstance(suda, bool) and suda >= 1:
        return suda
    raise SpecError(
        f'{option("suda")} must be a whole number, 1 or more, or "all"; found '
        f"{described_value(suda)}."
    )


def refuse_unsupported(requested: Identifying, bound: ResolvedQuestion) -> None:
    """Raise `SpecError` for parameters that this table does not support."""
    if requested.suda is not None and bound.entity:
        raise SpecError(
            f"{option('suda')}: special uniques are defined on records, not on people. Leave out "
            f"{option('entity')}, or use {option('subsets')}, which counts people."
        )
    if requested.scores is not None and not bound.table.ordered:
        raise SpecError(
            f"{option('scores')}: the records of {bound.table.name} have no numbers, as those of a "
            "file have. Write the table to a Parquet file first."
        )
    columns = named_columns(requested.columns, bound) or bound.quasi_identifiers
    if columns:
        refuse_sets(requested, columns)


def refuse_sets(requested: Identifying, columns: Sequence[BoundColumn]) -> None:
    """Raise `SpecError` if the number of column sets exceeds its limit."""
    if requested.subsets is not None:
        refuse_too_many("subsets", len(columns), requested.subsets)
    requested.size(columns)


def named_columns(names: Sequence[str], bound: ResolvedQuestion) -> tuple[BoundColumn, ...]:
    """Resolve the named columns.

    Raises `SpecError` for a missing or repeated column, the entity or the weight.
    """
    found: list[BoundColumn] = []
    parts = {
        each.name: part
        for part, each in (("the entity", bound.entity), ("the weight", bound.weight))
        if each
    }
    for name in names:
        try:
            column = column_named(name, bound.table, ("columns", name))
            refuse_uncomparable(column, bound.table)
        except SpecError as error:
            raise SpecError(f"{option('columns')}: {error.marked}") from None
        if column.name in parts:
            raise SpecError(
                f'{option("columns")}: column "{column.name}" is {parts[column.name]}, which is no '
                "knowledge of a person. Name another column."
            )
        if column in found:
            raise SpecError(f'{option("columns")}: column "{column.name}" is named twice.')
        found.append(column)
    return tuple(found)
