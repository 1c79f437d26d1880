"""Decides whether a generalisation level is a function of the one below, whatever the data."""

from __future__ import annotations

from typing import Literal, NamedTuple

from kanon_sql.spec.hierarchy import (
    DATES,
    Bottom,
    Cuts,
    Level,
    Prefix,
    Round,
    Top,
    Width,
    Years,
    decimal,
    decimal_text,
    level_label,
)


class Masked(NamedTuple):
    """A mask level: this many characters become `*`, on text padded to the longest value."""

    side: Literal["left", "right"]
    characters: int


class Ancestor(NamedTuple):
    """A column of a hierarchy's table, counted from 1; 0 would be the raw value."""

    column: int


Step = Level | Masked | Ancestor
"""One level of a column."""


_PERIODS = {"day": 0, "month": 1, "quarter": 3, "year": 12}
"""Length of a date period in months."""


def follows(finer: Step, coarser: Step) -> bool:
    """Whether the finer label determines the coarser one."""
    match finer, coarser:
        case _, "suppress":
            return True
        case Masked(side=side), Masked(side=other):
            return side == other
        case Width(), Width():
            return _on_grid(finer, coarser.width, 0) and _on_grid(finer, coarser.origin)
        case Width(), Cuts(cuts=cuts):
            return all(_on_grid(finer, cut) for cut in cuts)
        case Round(round=first), Round(round=second):
            return second % first == 0
        case Round(round=step), Cuts(cuts=cuts):
            return all(cut > 0 and decimal(cut) % step == 0 for cut in cuts)
        case Top(top=bound), Cuts(cuts=cuts):
            return all(cut <= bound for cut in cuts)
        case Bottom(bottom=bound), Cuts(cuts=cuts):
            return all(cut >= bound for cut in cuts)
        case Cuts(cuts=first), Cuts(cuts=second):
            return {decimal(cut) for cut in second} <= {decimal(cut) for cut in first}
        case Top(top=first), Top(top=second):
            return second <= first
        case Bottom(bottom=first), Bottom(bottom=second):
            return second >= first
        case Prefix(prefix=first), Prefix(prefix=second):
            return second <= first
        case Years(years=first), Years(years=second):
            return second % first == 0
        case str(), Years():
            return finer in DATES
        case Years(years=1), "year":
            return True
        case str(), str():
            return finer in DATES and _PERIODS[finer] <= _PERIODS[coarser]
    return False


def way_to_nest(finer: Level, coarser: Level) -> str:
    """Advice on a coarser level that nests in the finer one."""
    match finer, coarser:
        case Width(width=width, origin=origin), Width():
            grid = f", with intervals that begin at {decimal_text(origin)}" if origin else ""
            return f"Take a width that is a multiple of {decimal_text(width)}{grid}."
        case Width(), Cuts():
            return f"Cut where intervals of {level_label(finer)} begin."
        case (Round(), Width()) | (Width(), Round()):
            return "Of numbers below 0 they differ; take two of width, or two of round."
        case Round(round=step), Round():
            return f"Take a multiple of {step}."
        case Round(round=step), Cuts():
            return f"Cut at multiples of {step} that are above 0."
        case Years(years=years), Years():
            return f"Take a multiple of {years} years."
        case Cuts(), Cuts():
            return f"Take some of its cuts and no other: {level_label(finer)}."
        case ((Top() | Bottom()), Cuts()):
            return f"Cut on the side that {level_label(finer)} leaves as it is."
        case _, (Top() | Bottom()):
            return f"{level_label(coarser)} leaves other values as they are: put it first, or clip."
    return "Take levels of one kind, or list the values with their labels in a hierarchy file."


def _on_grid(intervals: Width, number: float, origin: float | None = None) -> bool:
    """Whether `number` is an interval boundary, counted from the origin."""
    start = intervals.origin if origin is None else origin
    return (decimal(number) - decimal(start)) % decimal(intervals.width) == 0
