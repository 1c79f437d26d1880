"""The tables of a release: the course of its search, its steps, what they changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kanon_sql.report.document import Grid, GridRow, named_row
from kanon_sql.report.terminal import INDENT, padded
from kanon_sql.report.words import tables
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    counted,
    number,
    number_or_none,
    percent,
    printable,
    sentence,
    short_percent,
    short_share,
)
from kanon_sql.results.release import (
    METRICS,
    Anonymization,
    GeneralizationStep,
    Metrics,
    MinimalNode,
    Recoded,
    ReleaseFindings,
    Search,
)

_UNINFORMATIVE_GAP = 0.5
"""Gap above which the bound is reported as not informative."""


def search_outcome(release: Anonymization) -> str:
    """The rank of the chosen levels among all, with its proof, as the heading of the steps."""
    if release.algorithm == "levels":
        return "At the levels that were given:"
    end = "At the top:" if release.reached_top else "At the end:"
    course = search_course(release)
    return f"{course or 'Of all levels that meet the checks, these lose least.'} {end}"


def search_course(release: Anonymization) -> str | None:
    """The course of an optimal search and what it proves; None for other algorithms."""
    search, metric = release.search, release.metric
    if search is None or metric is None:
        return None
    choices = counted(search.nodes, "choice")
    if release.reached_top:
        if search.nodes == 1:
            return "The only choice of levels doesn't meet the required checks."
        return f"None of the {choices} of levels meets the required checks."
    evaluated = f"{number(search.looked_at)} of {choices} of levels evaluated"
    by = METRICS[metric].title.lower()
    if search.optimal:
        return f"{evaluated}: these lose least by {by} (proved)."
    return f"{evaluated}: the best by {by} so far, {distance(search)}."


def is_informative(search: Search) -> bool:
    """Whether the gap is small enough to report as a share."""
    return search.gap is not None and search.gap <= _UNINFORMATIVE_GAP


def distance(search: Search) -> str:
    """Upper bound of the excess loss, in words."""
    if search.gap is None or search.gap >= 1:
        return "with no proof of how much less could be lost"
    if not is_informative(search):
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
        named_row("levels", "lost", "precision", "suppressed", "classes"),
        tuple(
            named_row(
                levels_in_words(node),
                short_percent(node.metrics.loss),
                short_percent(node.metrics.precision),
                number(node.suppressed),
                number(node.classes),
            )
            for node in nodes
        ),
    )


def levels_in_words(node: MinimalNode) -> str:
    """The generalised quasi-identifiers with their levels."""
    raised = [f"{printable(name)} {level}" for name, level in node.levels.items() if level]
    return ", ".join(raised) or "all raw"


_LONGEST_BAR = 12
_OF_A_FILE = re.compile(r"^(column (?:\d+(?= of )|.+(?= of \S+$))).*")
"""Label of a level from a hierarchy file, whose name is shown elsewhere."""


def grids(result: ReleaseFindings) -> Iterator[Grid]:
    """The tables on how the release was made, and its cost."""
    release = result.anonymization
    yield _steps(result)
    yield _before_and_after(result)
    yield (_by_attribute(result) if release.recoded is None else _by_level(result, release.recoded))
    if release.minimal_nodes is not None:
        yield minimal_nodes(release.minimal_nodes)
    if (grid := associations(release)).rows:
        yield grid


def _steps(result: ReleaseFindings) -> Grid:
    release = result.anonymization
    records_before = release.before.summary.records or 0
    k = sole_required_k(result)
    violating = "violating\nclasses" if k is None else f"classes\nbelow{KEPT_TOGETHER}{number(k)}"
    steps = (
        step_row(step, index, step.to_level - 1, records_before)
        for index, step in enumerate(release.steps, start=1)
    )
    idle = release.algorithm == "datafly" and not release.steps
    grid = Grid(
        sentence("nothing_to_do") if idle else _title_of_steps(release),
        GridRow(
            ("step", "attribute", "level", ""), ("values", f"records in\n{violating}", "share")
        ),
        (*steps, *_ends(result)),
        below=_step_4(result) or "",
    )
    return grid if release.steps else _without_steps(grid)


def _without_steps(grid: Grid) -> Grid:
    """The grid without step columns, if there are only closing rows."""
    ends = (GridRow(row.words[1:], row.figures[1:]) for row in grid.rows)
    return grid._replace(header=named_row("", *grid.header.figures[1:]), rows=tuple(ends))


def _title_of_steps(release: Anonymization) -> str:
    if release.recoded is not None:
        return sentence("by_local_recoding")
    return sentence("by_datafly") if release.algorithm == "datafly" else search_outcome(release)


def comparison_of_algorithms(release: Anonymization) -> Grid:
    """The loss of a release by each algorithm."""
    return Grid(
        "The same question to each algorithm:",
        GridRow(("algorithm", ""), ("lost", "suppressed", "classes", "seconds")),
        tuple(
            GridRow(
                (comparison.algorithm, "holds" if comparison.holds else "no release"),
                (
                    short_percent(comparison.loss),
                    number_or_none(comparison.suppressed),
                    number_or_none(comparison.classes),
                    tenths(comparison.seconds or None),
                ),
            )
            for comparison in release.compared
        ),
    )


def step_row(step: GeneralizationStep, index: int, from_level: int, total: int = 0) -> GridRow:
    """A step as a row of the table of steps."""
    return GridRow(
        (
            f"{index:>4}",
            printable(step.attribute),
            KEPT_TOGETHER.join((str(from_level), "→", str(step.to_level))),
            printable(step.label),
        ),
        (
            number(step.distinct_before),
            number(step.records_violating),
            short_share(step.records_violating, total),
        ),
    )


def _ends(result: ReleaseFindings) -> Iterator[GridRow]:
    """The closing rows: records violating and suppressed after the last step."""
    release = result.anonymization
    records_before = release.before.summary.records or 0
    as_star = " as *" if release.suppressed_as == "star" else ""
    for words, records in (
        (
            "before the first split" if release.recoded else "at the end",
            release.records_violating,
        ),
        (
            f"suppressed{as_star} (at most {number(release.max_suppressed)} allowed)",
            release.suppressed,
        ),
        ("in step 4", release.step4),
    ):
        if records or words != "in step 4":
            yield GridRow(("", words), ("", number(records), short_share(records, records_before)))


def _before_and_after(result: ReleaseFindings) -> Grid:
    release, [table] = result.anonymization, result.tables
    before, after = release.before.summary, table.summary
    average = before.records / before.classes if before.records and before.classes else None
    return Grid(
        "",
        named_row(
            "", "records", "classes", "k", "information\nlost", "precision", "average\nclass"
        ),
        (
            named_row(
                "before",
                *map(number_or_none, (before.records, before.classes, before.k)),
                short_percent(None if release.metrics.loss is None else 0),
                short_percent(None if release.metrics.precision is None else 1),
                tenths(average),
            ),
            named_row(
                "after",
                *map(number_or_none, (after.records, after.classes, after.k)),
                short_percent(release.metrics.loss),
                short_percent(release.metrics.precision),
                tenths(release.metrics.average_class_size),
            ),
        ),
    )


def _by_attribute(result: ReleaseFindings) -> Grid:
    release = result.anonymization
    return Grid(
        "What became of each quasi-identifier, and what it lost:",
        GridRow(("quasi-identifier", "level", ""), ("lost",)),
        tuple(
            GridRow(
                (printable(name), f"{level:>5}", printable(release.labels[name])),
                (short_percent(release.metrics.loss_by_quasi_identifier.get(name)),),
            )
            for name, level in (release.levels or {}).items()
        ),
    )


def _by_level(result: ReleaseFindings, recoded: Recoded) -> Grid:
    release = result.anonymization
    return Grid(
        "The tops, and what each quasi-identifier would lose at its own:"
        if release.reached_top
        else f"Which level the records show, after {counted(recoded.rounds, 'round')}, and what "
        "each quasi-identifier lost:",
        GridRow(("quasi-identifier", "level", ""), ("records", "share", "lost")),
        tuple(
            row
            for name, reached in recoded.levels_by_records.items()
            for row in _levels_of(name, reached, recoded.labels_of_levels[name], release.metrics)
        ),
        below=" ".join(_other_levels(recoded, release)),
    )


def _other_levels(recoded: Recoded, release: Anonymization) -> Iterator[str]:
    """The loss of full-domain levels for comparison, and a note on mixed levels."""
    other = recoded.one_level_for_all
    if other is not None and other.metrics.loss is not None and not release.reached_top:
        suppressed = f" and suppress {counted(other.suppressed, 'record')}" * (other.suppressed > 0)
        yield (
            f"One level for each column would lose {short_percent(other.metrics.loss)} at least"
            f"{suppressed}, with {counted(other.classes, 'class')} (--algorithm optimal)."
        )
    elif other is None and not release.reached_top and release.metrics.loss is not None:
        yield "--algorithm optimal finds what one level for each column would lose."
    if any(len(level) > 1 for level in recoded.levels_by_records.values()):
        yield sentence("mixed_levels")


def _levels_of(
    name: str, reached: Mapping[int, int], labels: Mapping[int, str], metrics: Metrics
) -> Iterator[GridRow]:
    """A row per level reached, with a bar for its share of the records."""
    total = sum(reached.values())
    for index, (level, records) in enumerate(sorted(reached.items())):
        yield GridRow(
            (
                printable(name),
                f"{level:>2} {_bar(records, total):<{_LONGEST_BAR}}",
                printable(_OF_A_FILE.sub(r"\1", labels[level])),
            ),
            (
                number(records),
                short_share(records, total),
                short_percent(metrics.loss_by_quasi_identifier.get(name)) if index == 0 else "",
            ),
        )


def _bar(count: int, total: int) -> str:
    return ("█" * round(_LONGEST_BAR * count / total) or "▏") if total else ""


def associations(release: Anonymization) -> Grid:
    """Cramér's V of each quasi-identifier with each sensitive attribute, before and after, where
    either says something."""
    return Grid(
        "Association with a sensitive attribute (Cramér's V, from 0 to 1):",
        GridRow(("quasi-identifier", "sensitive"), ("before", "after")),
        tuple(
            GridRow(
                (printable(association.quasi_identifier), printable(association.sensitive)),
                (_hundredths(association.before), _hundredths(association.after)),
            )
            for association in release.associations
            if (association.before, association.after) != (None, None)
        ),
    )


def _step_4(result: ReleaseFindings) -> str | None:
    """A sentence on step 4 of Datafly, if it suppressed anything."""
    release = result.anonymization
    if not release.step4:
        return None
    past = ", even past the limit" if release.suppressed > release.max_suppressed else ""
    return (
        f"Step 4 suppressed {counted(release.step4, 'record')} more{past}, because fewer "
        "than k suppressed records could be told apart."
    )


def sole_required_k(result: ReleaseFindings) -> int | None:
    """The required k if it is the only requirement, else None."""
    [table] = result.tables
    required = [check for check in table.checks if check.holds is not None]
    if [tables.is_k_of_all(check) for check in required] != [True]:
        return None
    k: int | None = required[0].parameters.get("k")
    return k


def tenths(value: float | None) -> str:
    return NONE if value is None else f"{value:,.1f}"


def _hundredths(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


_LIVE_WIDTHS = (4, 12, 5, 22, 9, 11)
"""Column widths of the live table, before all steps are known."""


def step_heading() -> str:
    """The header of the live table of steps."""
    return _live_line(("step", "attribute", "level", ""), ("values", "violating"))


def step_line(step: GeneralizationStep, number: int, from_level: int) -> str:
    """A row of the live table of steps.

    >>> month = GeneralizationStep("birth_date", 1, "month", 61_204, 812_340)
    >>> step_line(month, 1, 0)
    '     1  birth_date    0 → 1  month                      61,204      812,340'
    """
    words, figures = step_row(step, number, from_level)
    return _live_line(words, figures[:2])


def _live_line(words: Sequence[str], figures: Sequence[str]) -> str:
    cells = [
        *map(padded, words, _LIVE_WIDTHS),
        *(
            f"{figure:>{size}}"
            for figure, size in zip(figures, _LIVE_WIDTHS[len(words) :], strict=True)
        ),
    ]
    return f"{INDENT}{INDENT.join(cells)}".replace(KEPT_TOGETHER, " ")
