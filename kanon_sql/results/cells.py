"""The results on the cells of a published table, as plain frozen values."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from kanon_sql.results.check import CheckResult
from kanon_sql.results.json_part import JsonPart, json_of_part
from kanon_sql.results.table import TableResult
from kanon_sql.results.tabular import Rows

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
    narrowest: float | None = None
    """The least width of the interval of a suppressed cell that can't be computed."""
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
    def violations(self) -> dict[str, Any]:
        """None, as the number of violating cells is in `details`."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Without the counts of classes, which a rule for cells doesn't have."""
        written = super().to_dict()
        return {name: value for name, value in written.items() if name not in NOT_OF_CELLS}


NOT_OF_CELLS = ("violating_classes", "violating_records", "violating_people")
"""The fields of a check's result that a rule for cells doesn't have."""


NOT_DERIVED, UNDECIDED = "no", "can't tell"
"""The step of a hidden cell that is not derived, and of one that could not be decided."""


@dataclass(frozen=True)
class CellVerdict:
    """One cell: its labels, the rules that it breaks, and the step that derives it if hidden."""

    labels: Mapping[str, Any]
    """Its label in each dimension; of a total None, unless the table says how it is called."""
    totals: tuple[str, ...]
    """The dimensions of which it is a total."""
    primary: tuple[str, ...]
    """The rules that it breaks, by itself or with the cells that are added up in it."""
    derivable: str | None
    """The step that derives a suppressed cell, as "subtraction, round 1", "no", or "can't tell"."""
    interval: float | None
    """The width of what a suppressed cell can be; None for a shown cell, and without two ends."""
    ok: bool | None
    """Whether nothing was found against it; None where that isn't known."""
    figures: Mapping[str, float | None] | None = field(default=None, repr=False)
    """Its figure and the ends of its interval, if values are shown."""

    def to_dict(self) -> dict[str, Any]:
        """The labels, then the other fields; one that is called as a dimension has a prefix."""
        others: dict[str, Any] = {
            "totals": ", ".join(self.totals) or None,
            "primary": "; ".join(self.primary) or None,
            "derivable": self.derivable,
            "interval": self.interval,
            "ok": self.ok,
            **(self.figures or {}),
        }
        taken = {name.casefold() for name in self.labels}
        own = {f"kanon_{name}" if name in taken else name: v for name, v in others.items()}
        return {**self.labels, **own}


class CellVerdicts(Rows[CellVerdict]):
    """The cells of a table in its own order, inner ones first."""

    def to_csv(self) -> str:
        """One line a cell below the names of the columns."""
        text = io.StringIO()
        rows = self.rows()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        words = {True: "yes", False: "no"}
        for row in rows:
            writer.writerow(
                {name: words.get(v, v) if isinstance(v, bool) else v for name, v in row.items()}
            )
        return text.getvalue()


MOST_SHOWN = 5
"""How many cells a page names."""


@dataclass(frozen=True)
class CellsResult(TableResult):
    """The audit of one published table."""

    command: ClassVar[str] = "tables"
    has_classes: ClassVar[bool] = False

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
    listed: CellVerdicts | None = field(default=None, repr=False, compare=False)
    """Every cell with what is found against it, if that was asked for. JSON has none."""
    most_named: int | None = field(default=MOST_SHOWN, repr=False, compare=False)
    """How many of these a page names; None for all."""
    pooled_below: int | None = field(default=None, repr=False, compare=False)
    """The least count that is shown, to an external audience; None where all are."""

    @property
    def question(self) -> dict[str, Any]:
        parts = {key: getattr(self, key) for key in _QUESTION}
        return parts | {"by": sorted(self.by), "against": sorted(self.against)}

    def naming_every_cell(self) -> Self:
        return replace(self, most_named=None)

    def to_dict(self) -> dict[str, Any]:
        written = super().to_dict() | {
            "summary": self.cells.to_dict(),
            "policies": json_of_part(self.policies),
        }
        shown = {"holds_personal_data": True, **(self.shown or {})}
        return {name: written[name] for name in KEYS_OF_CELLS if name in written} | (
            shown if self.shown is not None else {}
        )


_QUESTION = (
    *("by", "value", "contributor", "weight", "published", "margins", "totals", "figure"),
    *("where", "first", "against"),
)
"""The fields that affect the meaning of every check."""
KEYS_OF_CELLS = (
    *("name", "engine", "status", "warnings", "by", "value", "contributor", "weight", "published"),
    *("margins", "totals", "figure", "where", "first", "snapshots", "against", "summary", "checks"),
    *("confidential", "policies", "sql", "error"),
)
"""The fields of a published table that JSON has, in its order."""
