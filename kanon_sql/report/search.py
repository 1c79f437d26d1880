"""The course of an optimal search in words: nodes evaluated, and what is proved."""

from __future__ import annotations

from kanon_sql.report.document import Grid, GridRow
from kanon_sql.report.words.numbers import counted, number, percent, printable, short_percent
from kanon_sql.results.metrics import METRICS
from kanon_sql.results.release import Anonymization, MinimalNode, Search

_FAR = 0.5
"""Gap above which the bound is reported as not informative."""


def how_found(made: Anonymization) -> str:
    """How the chosen levels rank among all, and how that is known, above the table of steps."""
    if made.algorithm == "levels":
        return "At the levels that were given:"
    end = "At the top:" if made.reached_top else "At the end:"
    return f"{searched(made) or 'Of all levels that meet the checks, these lose least.'} {end}"


def searched(made: Anonymization) -> str | None:
    """The course of an optimal search and what it proves; None for other algorithms."""
    search, metric = made.search, made.metric
    if search is None or metric is None:
        return None
    choices = counted(search.nodes, "choice")
    if made.reached_top:
        if search.nodes == 1:
            return "The only choice of levels doesn't meet the required checks."
        return f"None of the {choices} of levels meets the required checks."
    looked = f"{number(search.looked_at)} of {choices} of levels evaluated"
    by = METRICS[metric].title.lower()
    if search.optimal:
        return f"{looked}: these lose least by {by} (proved)."
    return f"{looked}: the best by {by} so far, {distance(search)}."


def is_near(search: Search) -> bool:
    """Whether the gap is small enough to report as a share."""
    return search.gap is not None and search.gap <= _FAR


def distance(search: Search) -> str:
    """Upper bound of the excess loss, in words."""
    if search.gap is None or search.gap >= 1:
        return "with no proof of how much less could be lost"
    if not is_near(search):
        # A percentage would suggest a tight bound.
        return "with no proof that half as much could not be lost"
    above = search.gap / (1 - search.gap)
    words = percent(above)
    if words.startswith("less than"):
        return f"{words} above the least possible"
    return f"at most {words} above the least possible"


def minimal_nodes(nodes: tuple[MinimalNode, ...]) -> Grid:
    """All minimal satisfying nodes, with the loss of each."""
    return Grid(
        f"{counted(len(nodes), 'choice')} of levels meet the required checks and can't be lowered:"
        if nodes
        else "No choice of levels meets the required checks.",
        GridRow(("levels",), ("lost", "precision", "suppressed", "classes")),
        tuple(
            GridRow(
                (levels_in_words(each),),
                (
                    short_percent(each.metrics.loss),
                    short_percent(each.metrics.precision),
                    number(each.suppressed),
                    number(each.classes),
                ),
            )
            for each in nodes
        ),
    )


def levels_in_words(node: MinimalNode) -> str:
    """The generalised quasi-identifiers with their levels."""
    raised = [f"{printable(name)} {level}" for name, level in node.levels.items() if level]
    return ", ".join(raised) or "all raw"
