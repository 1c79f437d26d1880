"""The tables of a release: its steps, figures before and after, and losses by column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kanon_sql.report.document import Grid, GridRow, named_row
from kanon_sql.report.terminal import INDENT, padded
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    counted,
    number,
    number_or_none,
    percent,
    printable,
    short_percent,
    short_share,
)
from kanon_sql.results.metrics import METRICS
from kanon_sql.results.release import (
    Anonymization,
    GeneralizationStep,
    Metrics,
    MinimalNode,
    Recoded,
    ReleaseFindings,
    Search,
)

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
        named_row("levels", "lost", "precision", "suppressed", "classes"),
        tuple(
            named_row(
                levels_in_words(each),
                short_percent(each.metrics.loss),
                short_percent(each.metrics.precision),
                number(each.suppressed),
                number(each.classes),
            )
            for each in nodes
        ),
    )


def levels_in_words(node: MinimalNode) -> str:
    """The generalised quasi-identifiers with their levels."""
    raised = [f"{printable(name)} {level}" for name, level in node.levels.items() if level]
    return ", ".join(raised) or "all raw"


_BY_DATAFLY = (
    "Datafly generalises one quasi-identifier at a time, the one with the most distinct values. "
    "Before each step, and at the end:"
)
_BY_CLASS = (
    "Local recoding refines each class by itself, as far as the required checks allow. Before the "
    "first split, with every column at its coarsest level:"
)
_NOTHING_TO_DO = (
    "No more records violate the required checks than may be suppressed, so Datafly generalises "
    "nothing:"
)
_MIXED_LEVELS = "Before grouping by a column with several levels, see kanon-sql explain local."
_LONGEST_BAR = 12
_OF_A_FILE = re.compile(r"^(column (?:\d+(?= of )|.+(?= of \S+$))).*")
"""Label of a level from a hierarchy file, whose name is shown elsewhere."""


def grids(result: ReleaseFindings) -> Iterator[Grid]:
    """The tables on how the release was made, and its cost."""
    made = result.anonymization
    yield _steps(result)
    yield _before_and_after(result)
    yield _by_attribute(result) if made.recoded is None else _by_level(result, made.recoded)
    if made.minimal_nodes is not None:
        yield minimal_nodes(made.minimal_nodes)
    if made.associations:
        yield associations(made)


def _steps(result: ReleaseFindings) -> Grid:
    made = result.anonymization
    whole = made.before.summary.records or 0
    k = only_k(result)
    violating = "violating\nclasses" if k is None else f"classes\nbelow{KEPT_TOGETHER}{number(k)}"
    steps = (
        step_row(step, place, step.to_level - 1, whole)
        for place, step in enumerate(made.steps, start=1)
    )
    idle = made.algorithm == "datafly" and not made.steps
    grid = Grid(
        _NOTHING_TO_DO if idle else _how_found(made),
        GridRow(
            ("step", "attribute", "level", ""), ("values", f"records in\n{violating}", "share")
        ),
        (*steps, *_ends(result)),
        below=_step_4(result) or "",
    )
    return grid if made.steps else _without_steps(grid)


def _without_steps(grid: Grid) -> Grid:
    """The grid without step columns, if there are only closing rows."""
    ends = (GridRow(row.words[1:], row.figures[1:]) for row in grid.rows)
    return grid._replace(header=named_row("", *grid.header.figures[1:]), rows=tuple(ends))


def _how_found(made: Anonymization) -> str:
    if made.recoded is not None:
        return _BY_CLASS
    return _BY_DATAFLY if made.algorithm == "datafly" else how_found(made)


def comparison_of_algorithms(made: Anonymization) -> Grid:
    """What a release by each algorithm loses."""
    return Grid(
        "The same question to each algorithm:",
        GridRow(("algorithm", ""), ("lost", "suppressed", "classes", "seconds")),
        tuple(
            GridRow(
                (each.algorithm, "holds" if each.holds else "no release"),
                (
                    short_percent(each.loss),
                    number_or_none(each.suppressed),
                    number_or_none(each.classes),
                    tenths(each.seconds or None),
                ),
            )
            for each in made.compared
        ),
    )


def step_row(step: GeneralizationStep, place: int, from_level: int, whole: int = 0) -> GridRow:
    """A step as a row of the table of steps."""
    return GridRow(
        (
            f"{place:>4}",
            printable(step.attribute),
            KEPT_TOGETHER.join((str(from_level), "→", str(step.to_level))),
            printable(step.label),
        ),
        (
            number(step.distinct_before),
            number(step.records_violating),
            short_share(step.records_violating, whole),
        ),
    )


def _ends(result: ReleaseFindings) -> Iterator[GridRow]:
    """The closing rows: records violating and suppressed after the last step."""
    made = result.anonymization
    whole = made.before.summary.records or 0
    kept = " as *" if made.suppressed_as == "star" else ""
    for words, records in (
        ("before the first split" if made.recoded else "at the end", made.records_violating),
        (f"suppressed{kept} (at most {number(made.max_suppressed)} allowed)", made.suppressed),
        ("in step 4", made.step4),
    ):
        if records or words != "in step 4":
            yield GridRow(("", words), ("", number(records), short_share(records, whole)))


def _before_and_after(result: ReleaseFindings) -> Grid:
    made, [table] = result.anonymization, result.tables
    before, after = made.before.summary, table.summary
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
                short_percent(None if made.metrics.loss is None else 0),
                short_percent(None if made.metrics.precision is None else 1),
                tenths(average),
            ),
            named_row(
                "after",
                *map(number_or_none, (after.records, after.classes, after.k)),
                short_percent(made.metrics.loss),
                short_percent(made.metrics.precision),
                tenths(made.metrics.average_class_size),
            ),
        ),
    )


def _by_attribute(result: ReleaseFindings) -> Grid:
    made = result.anonymization
    return Grid(
        "What became of each quasi-identifier, and what it lost:",
        GridRow(("quasi-identifier", "level", ""), ("lost",)),
        tuple(
            GridRow(
                (printable(name), f"{level:>5}", printable(made.labels[name])),
                (short_percent(made.metrics.loss_by_quasi_identifier.get(name)),),
            )
            for name, level in (made.levels or {}).items()
        ),
    )


def _by_level(result: ReleaseFindings, recoded: Recoded) -> Grid:
    made = result.anonymization
    return Grid(
        "The tops, and what each quasi-identifier would lose at its own:"
        if made.reached_top
        else f"Which level the records show, after {counted(recoded.rounds, 'round')}, and what "
        "each quasi-identifier lost:",
        GridRow(("quasi-identifier", "level", ""), ("records", "share", "lost")),
        tuple(
            row
            for name, reached in recoded.levels_by_records.items()
            for row in _levels_of(name, reached, recoded.labels_of_levels[name], made.metrics)
        ),
        below=" ".join(_beside(recoded, made)),
    )


def _beside(recoded: Recoded, made: Anonymization) -> Iterator[str]:
    """The loss of full-domain levels for comparison, and a note on mixed levels."""
    other = recoded.one_level_for_all
    if other is not None and other.metrics.loss is not None and not made.reached_top:
        suppressed = f" and suppress {counted(other.suppressed, 'record')}" * (other.suppressed > 0)
        yield (
            f"One level for each column would lose {short_percent(other.metrics.loss)} at least"
            f"{suppressed}, with {counted(other.classes, 'class')} (--algorithm optimal)."
        )
    elif other is None and not made.reached_top and made.metrics.loss is not None:
        yield "--algorithm optimal finds what one level for each column would lose."
    if any(len(each) > 1 for each in recoded.levels_by_records.values()):
        yield _MIXED_LEVELS


def _levels_of(
    name: str, reached: Mapping[int, int], labels: Mapping[int, str], metrics: Metrics
) -> Iterator[GridRow]:
    """A row per level reached, with a bar for its share of the records."""
    whole = sum(reached.values())
    for place, (level, records) in enumerate(sorted(reached.items())):
        yield GridRow(
            (
                printable(name),
                f"{level:>2} {_bar(records, whole):<{_LONGEST_BAR}}",
                printable(_OF_A_FILE.sub(r"\1", labels[level])),
            ),
            (
                number(records),
                short_share(records, whole),
                short_percent(metrics.loss_by_quasi_identifier.get(name)) if place == 0 else "",
            ),
        )


def _bar(part: int, whole: int) -> str:
    return ("█" * round(_LONGEST_BAR * part / whole) or "▏") if whole else ""


def associations(made: Anonymization) -> Grid:
    """Cramér's V of each quasi-identifier with each sensitive attribute, before and after."""
    return Grid(
        "Association with a sensitive attribute (Cramér's V, from 0 to 1):",
        GridRow(("quasi-identifier", "sensitive"), ("before", "after")),
        tuple(
            GridRow(
                (printable(each.quasi_identifier), printable(each.sensitive)),
                (_hundredths(each.before), _hundredths(each.after)),
            )
            for each in made.associations
        ),
    )


def _step_4(result: ReleaseFindings) -> str | None:
    """A sentence on step 4 of Datafly, if it suppressed anything."""
    made = result.anonymization
    if not made.step4:
        return None
    past = ", even past the limit" if made.suppressed > made.max_suppressed else ""
    return (
        f"Step 4 suppressed {counted(made.step4, 'record')} more{past}, because fewer than k "
        "suppressed records could be told apart."
    )


def only_k(result: ReleaseFindings) -> int | None:
    """The required k if it is the only requirement, else None."""
    [table] = result.tables
    required = [check for check in table.checks if check.holds is not None]
    if [check.model for check in required] != ["k_anonymity"]:
        return None
    k: int | None = required[0].parameters.get("k")
    return k


def tenths(value: float | None) -> str:
    return NONE if value is None else f"{value:,.1f}"


def _hundredths(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


_LIVE = (4, 12, 5, 22, 9, 11)
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
        *map(padded, words, _LIVE),
        *(f"{figure:>{size}}" for figure, size in zip(figures, _LIVE[len(words) :], strict=True)),
    ]
    return f"{INDENT}{INDENT.join(cells)}".replace(KEPT_TOGETHER, " ")
