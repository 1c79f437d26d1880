"""The cells of a table as one relation, for what follows from them by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal


@dataclass(frozen=True)
class CellRelation:
    """The cells of one table, one row each, as a relation of the embedded DuckDB.

    Its columns: for each dimension i `kanon_d{i}`, the label as text, NULL for a total and for the
    value NULL, and `kanon_t{i}`, 1 where it is the total, else 0; `kanon_figure`, NULL where it is
    suppressed; `kanon_suppressed`, 1 or 0; `kanon_low` and `kanon_high`, the bounds of a suppressed
    figure, NULL for an open one.
    """

    relation: str
    """What stands after FROM."""
    dimensions: int
    parents: tuple[str | None, ...]
    """For each dimension with a hierarchy the relation of `kanon_node` and `kanon_parent`, which is
    NULL below the total; None where every label lies below the total."""
    whole: bool
    """Whether the figures are counts."""
    absent: Literal["zero", "suppressed"]
    low: Decimal | None
    """What everyone knows of any figure: its lowest value."""
    high: Decimal | None
