"""The results on the cells of a published table, as plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kanon_sql.results.table import CheckResult, JsonPart, TableResult, json_of_part

CellFigure = Literal["count", "magnitude"]


@dataclass(frozen=True)
class CellSummary(JsonPart):
    """Key figures of a table's cells. Figures of the records are None for a published table."""

    records: int | None = None
    contributors: int | None = None
    cells: int | None = None
    inner_cells: int | None = None
    margin_cells: int | None = None
    empty_cells: int | None = None
    """Combinations of nodes that occur, without a record."""
    zero_cells: int | None = None
    """Cells whose figure is 0: of a magnitude, everyone in them has 0."""
    suppressed: int | None = None
    implied_cells: int | None = None
    """Margins that are not published and follow from what is."""
    absent_cells: int | None = None
    """Combinations without a row, where they are suppressed."""
    sensitive_cells: int | None = None
    """Cells that violate a required rule by themselves."""
    sensitive_inner_cells: int | None = None
    sensitive_records: int | None = None
    """Records in the sensitive inner cells."""
    share_of_total: float | None = None
    """The share of the sensitive inner cells in the grand total."""


@dataclass(frozen=True)
class CellDetails:
    """The companion figures of a rule, each only where its model has it."""

    violating_cells: int | None = None
    violating_margin_cells: int | None = None
    shortfall: float | None = None
    """By how much the violating cells miss what is required, added up: in contributors, or in
    percentage points of a share."""
    undefined_cells: int | None = None
    """Cells in which everyone has 0, so that no share is defined."""
    cells_with_negatives: int | None = None
    alone: int | None = None
    """Disclosed groups of a single member."""
    groups: int | None = None
    compared_cells: int | None = None
    equal_cells: int | None = None
    greater_here: int | None = None
    smaller_here: int | None = None
    not_compared: int | None = None
    suppressed_here_shown_there: int | None = None
    suppressed: int | None = None
    derived_cells: int | None = None
    by_subtraction: int | None = None
    by_bounds: int | None = None
    by_linear_programming: int | None = None
    by_integer_programming: int | None = None
    undecided_cells: int | None = None
    small_remainders: int | None = None
    steps: int | None = None
    """Rounds of subtraction."""
    evidence: Literal["totals"] | None = None
    """Why it is undecided: totals are rounded each on its own."""


@dataclass(frozen=True)
class CellCheckResult(CheckResult):
    """One rule's result; its violating cells and companion figures are in `details`."""

    @property
    def undecided(self) -> bool:
        """Whether totals don't tell what is required."""
        return self.holds is None and self.details.get("evidence") == "totals"

    @property
    def figures(self) -> dict[str, Any]:
        return {"achieved": self.achieved, **self.details}

    def to_dict(self) -> dict[str, Any]:
        """Without the counts of classes, which a rule for cells doesn't have."""
        written = super().to_dict()
        return {name: value for name, value in written.items() if name not in NOT_OF_CELLS}


NOT_OF_CELLS = ("violating_classes", "violating_records", "violating_people")
"""The fields of a check's result that a rule for cells doesn't have."""


@dataclass(frozen=True)
class CellsResult(TableResult):
    """The audit of one published table."""

    by: tuple[str, ...] = ()
    value: str | None = None
    contributor: str | None = None
    weight: str | None = None
    published: bool = False
    margins: str | tuple[tuple[str, ...], ...] | None = "all"
    totals: str | None = None
    """What the totals of a published table are: true, shown, or rounded to a base."""
    figure: CellFigure = "count"
    cells: CellSummary = CellSummary()
    against: Mapping[str, str] = field(default_factory=dict)
    """The sources of the second tables, by name."""
    confidential: tuple[str, ...] = ()
    """Parameters that the spec wants kept from outsiders, as in dominance.k."""

    def to_dict(self) -> dict[str, Any]:
        written = super().to_dict() | {
            "summary": self.cells.to_dict(),
            "policies": json_of_part(self.policies),
        }
        shown = {"holds_personal_data": True, **(self.shown or {})}
        return {name: written[name] for name in KEYS_OF_CELLS if name in written} | (
            shown if self.shown is not None else {}
        )


KEYS_OF_CELLS = (
    *("name", "engine", "status", "warnings", "by", "value", "contributor", "weight", "published"),
    *("margins", "totals", "figure", "where", "first", "snapshots", "against", "summary", "checks"),
    *("confidential", "policies", "sql", "error"),
)
"""The fields of a published table that JSON has, in its order."""
