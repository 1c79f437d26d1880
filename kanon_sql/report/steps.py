"""The live progress of Datafly: one line per step, aligned with the table of steps."""

from __future__ import annotations

from kanon_sql.report.lines import INDENT, padded
from kanon_sql.report.release_grids import step_row
from kanon_sql.report.words.numbers import KEPT_TOGETHER
from kanon_sql.results.release import GeneralizationStep

_LIVE = (4, 12, 5, 22, 9, 11)
"""Fixed column widths, as later steps are unknown."""


def step_heading() -> str:
    """The heading of the live steps."""
    *sizes, of_distinct, of_violating = _LIVE
    words = ("step", "attribute", "level", "")
    cells = [padded(word, size) for word, size in zip(words, sizes, strict=True)]
    figures = (f"{'values':>{of_distinct}}", f"{'violating':>{of_violating}}")
    return f"{INDENT}{INDENT.join(cells)}{INDENT}{INDENT.join(figures)}"


def step_line(step: GeneralizationStep, number: int, from_level: int) -> str:
    """A step as a live line, in the columns of the table of steps.

    >>> month = GeneralizationStep("birth_date", 1, "month", 61_204, 812_340)
    >>> step_line(month, 1, 0)
    '     1  birth_date    0 → 1  month                      61,204      812,340'
    """
    words, (distinct, violating, _) = step_row(step, number, from_level)
    *sizes, of_distinct, of_violating = _LIVE
    cells = [padded(word, size) for word, size in zip(words, sizes, strict=True)]
    figures = (f"{distinct:>{of_distinct}}", f"{violating:>{of_violating}}")
    line = f"{INDENT}{INDENT.join(cells)}{INDENT}{INDENT.join(figures)}"
    return line.replace(KEPT_TOGETHER, " ")
