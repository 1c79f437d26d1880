"""The cells of a table as one relation, for what follows from them by arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal

from kanon_sql.plan.cells import CellQuestion, Exactness, judged_arguments
from kanon_sql.plan.published_cells import PublishedTable, sets_of_published
from kanon_sql.plan.question import BoundColumn
from kanon_sql.plan.steps import step
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement


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


def cells_to_derive(question: CellQuestion, exact: Exactness) -> Statement:
    """The cells with the sensitive ones suppressed, as `CellRelation` describes them."""
    dimensions = []
    for place, dimension in enumerate(question.dimensions):
        branches: dict[int, list[str]] = {}
        totals = []
        for grouping in question.groupings:
            level = grouping.levels[place]
            if level is None:
                totals.append(str(grouping.number))
            else:
                branches.setdefault(level, []).append(str(grouping.number))
        whens = [
            f"    when kanon_grouping in ({', '.join(numbers)}) then "
            + render("text_of_label", column=_by_alias(dimension.levels[level]))
            for level, numbers in branches.items()
        ]
        total = f"kanon_grouping in ({', '.join(totals)})" if totals else "1 = 0"
        label = "\n".join(["case", *whens, "end"])
        dimensions.append({"label": label, "total": total})
    return step(
        question.bound,
        "cells_to_derive",
        f"Which cells of {question.bound.table.name} would be suppressed, and what do the others "
        "show?",
        render("cells_to_derive", **judged_arguments(question, exact), dimensions=dimensions),
    )


def _by_alias(column: BoundColumn) -> BoundColumn:
    """The column as the CTEs above the records name it."""
    return replace(column, name=column.alias)


def published_to_derive(table: PublishedTable, exact: Exactness) -> Statement:
    """The cells as they go out, as `CellRelation` describes them."""
    bound = table.question.bound
    return step(
        bound,
        "cells_to_derive",
        f"Which cells of {bound.table.name} are shown, and which are suppressed?",
        render(
            "published_to_derive",
            sets=sets_of_published(table, exact, ranges=True),
            dimensions=list(range(1, len(table.dimensions) + 1)),
        ),
    )
