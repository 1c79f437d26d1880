"""The cells of one table, as a relation of the embedded DuckDB."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal


@dataclass(frozen=True)
class CellRelation:
    """The cells of one table, one row each, as a relation of the embedded DuckDB.

    Columns, for each dimension i from 1: `kanon_di`, the label as text (NULL for a total, and for
    the value NULL), and `kanon_ti`, 1 for a total. `kanon_figure` is NULL where `kanon_suppressed`
    is 1; `kanon_low` and `kanon_high` bound a suppressed figure, NULL is open.
    """

    relation: str
    dimensions: int
    parents: tuple[str | None, ...]
    """For each dimension a relation of (kanon_node, kanon_parent), or None if it is flat."""
    whole: bool
    """Whether figures are counts."""
    absent: Literal["zero", "suppressed"]
    """What a combination of labels without a row stands for."""
    low: Decimal | None
    high: Decimal | None
    """What everyone knows of any figure."""
