"""The rules for the cells of a published table, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kanon_sql.models.catalogue import CELL_MODELS
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    listed,
    name_and_snapshot,
    number,
    printable,
)
from kanon_sql.report.words.phrases import Phrases
from kanon_sql.results.cells import NOT_DERIVED, UNDECIDED, CellsResult, CellVerdict
from kanon_sql.results.check import CheckResult
from kanon_sql.results.confidential import is_hidden

Words = tuple[str, str]
"""The result next to its requirement, and its extent."""


def title_of_rule(check: CheckResult) -> str:
    """The short name of a rule, with the parameters that distinguish rules of its model."""
    parameters = check.parameters
    if is_hidden(check):
        return CELL_MODELS[check.model].title
    match check.model:
        case "min_contributors":
            zeros = parameters.get("zeros") == "disclosive"
            return "threshold (zeros too)" if zeros else "threshold"
        case "dominance":
            k = f",{parameters['k']:g}" if parameters.get("k") is not None else ""
            return f"dominance ({parameters['n']}{k})"
        case "p_percent":
            if parameters.get("p") is None:
                return "p%"
            has_default_q = parameters.get("q", 100) == 100
            return (
                f"p% ({parameters['p']:g})"
                if has_default_q
                else f"p% ({parameters['p']:g},{parameters['q']:g})"
            )
        case "group_disclosure":
            along = parameters.get("along")
            return f"group disclosure along {listed(along)}" if along else "group disclosure"
        case "differences":
            return f"differences {printable(str(parameters.get('against') or ''))}".rstrip()
    return check.model


def _phrases(check: CheckResult, table: CellsResult) -> Phrases:
    """The result of a rule, and its extent."""
    if is_hidden(check):
        violating = check.details.get("violating_cells")
        bound = "found" if check.holds is None else "allowed"
        extent = _hidden_extent(check, table) if violating else ""
        return Phrases(f"what is {bound} is confidential", extent)
    return Phrases(*_WORDS_BY_RULE[check.model](check, table))


def whose(table: CellsResult) -> str:
    """The unit counted in a cell: contributors, or records if no column identifies contributors."""
    return "contributor" if table.published or table.contributor else "record"


def about(text: str, table: CellsResult) -> str:
    """A model's sentence on contributors, about what is counted in this table."""
    return text.replace("contributor", whose(table))


def _threshold(check: CheckResult, table: CellsResult) -> Words:
    n, least, noun = check.parameters.get("n"), check.achieved, whose(table)
    is_figure = table.published and table.figure == "count"
    if least is None:
        return "no count is above 0" if is_figure else f"no cell has a {noun}", ""
    requirement = "" if n is None else f", asked for {number(n)}"
    if is_figure and least != 0:
        shown = least if isinstance(least, str) else f"{number(least)}{requirement}"
        result = f"the smallest count is {shown}"
    elif isinstance(least, str):
        result = f"the smallest cell has {least} {noun}s"
    else:
        result = f"the smallest cell has {counted(least, noun)}{requirement}"
    if least == 0:
        result = f"a combination has no {noun}{requirement}"
    if check.holds is False:
        return result, f"{_violating(check, table)} fewer than {number(n or 0)}{_margins(check)}"
    return result, ""


def _dominance(check: CheckResult, table: CellsResult) -> Words:
    n, k = check.parameters["n"], check.parameters.get("k")
    who = f"the largest {whose(table)} has" if n == 1 else f"the {_numeral(n)} largest have"
    if check.achieved is None:
        return "no cell has a share", _undefined(check)
    result = f"{who} {_percent(check.achieved)} of a cell"
    if check.holds is False:
        word = "below" if check.parameters.get("inclusive") else "at most"
        extent = f"{_violating(check, table)} more than that{_margins(check)}"
        if check.parameters.get("inclusive"):
            extent = f"{_violating(check, table)} as much or more{_margins(check)}"
        return f"{result}, {word} {_percent(k)} allowed", _joined(extent, _undefined(check))
    return f"{result}{_end(check, 'at most')}", _undefined(check)


def _p_percent(check: CheckResult, table: CellsResult) -> Words:
    p = check.parameters.get("p")
    if check.achieved is None:
        return "no cell has a contribution above 0", _undefined(check)
    result = f"the largest {whose(table)} can be estimated to within {_percent(check.achieved)}"
    if check.holds is False:
        bound = _percent(100 * p / check.parameters.get("q", 100)) if p is not None else ""
        extent = f"{_violating(check, table)} a closer estimate{_margins(check)}"
        return f"{result}, {bound} asked for", _joined(extent, _undefined(check))
    return f"{result}{_end(check, 'at best')}", _undefined(check)


def _end(check: CheckResult, bound: str) -> str:
    """The bound that a figure is; a pooled one says its own."""
    return "" if isinstance(check.achieved, str) else f" {bound}"


def _groups(check: CheckResult, table: CellsResult) -> Words:
    if not check.achieved:
        return "no group has all its members in one category", ""
    are = "group has" if check.achieved == 1 else "groups have"
    alone = check.details.get("alone", 0)
    extent = f"{number(alone)} of them of a single member" if alone else ""
    all_ = _share_words(check)
    return f"{number(check.achieved)} {are} {all_} in one category", extent


def _share_words(check: CheckResult) -> str:
    share, insiders = check.parameters.get("max_share", 1), check.parameters.get("insiders", 0)
    if share < 1:
        return f"{_percent(100 * share)} of the members or more"
    return f"all members but {insiders} or fewer" if insiders else "all members"


def _differences(check: CheckResult, table: CellsResult) -> Words:
    n, compared = check.parameters.get("n"), check.details["compared_cells"]
    other = printable(str(check.parameters.get("against")))
    if check.achieved is None:
        return f"no cell differs from {other}", _not_compared(check, f"{number(compared)} compared")
    requirement = "" if n is None else f", asked for {number(n)}"
    least = check.achieved if isinstance(check.achieved, str) else number(check.achieved)
    result = f"the least difference is {least}{requirement}"
    if check.holds is False:
        violating = check.details["violating_cells"]
        differ = "differs" if violating == 1 else "differ"
        some = f"{number(violating)} of {counted(compared, 'cell')} {differ}"
        return result, _not_compared(check, f"{some} by fewer than {number(n or 0)}")
    equal = f"{number(check.details['equal_cells'])} of {counted(compared, 'cell')} are equal"
    return result, _not_compared(check, equal)


def _not_compared(check: CheckResult, extent: str) -> str:
    missing = check.details.get("not_compared", 0)
    if not missing:
        return extent
    return f"{extent}; {number(missing)} in one table only, or suppressed"


def _rounded(check: CheckResult, table: CellsResult) -> Words:
    if not check.achieved:
        return "every figure shown lies on the grid", ""
    are = "figure lies" if check.achieved == 1 else "figures lie"
    return f"{number(check.achieved)} {are} off the grid", ""


def _derivable(check: CheckResult, table: CellsResult) -> Words:
    """The number of suppressed cells that can be computed, if it is decided."""
    details = check.details
    hidden, totals = details.get("suppressed"), table.totals or ""
    if totals.startswith("rounded"):
        return "can't tell: totals are rounded, each on its own", ""
    if hidden is None:
        return "not measured: see the warning", ""
    if not hidden:
        return "nothing is suppressed", ""
    width = check.parameters.get("width") or 0
    near = f" to within {number(width)}" if width else ""
    derived, left = details["derived_cells"], details["undecided_cells"]
    just = "" if table.published else " if just these were suppressed"
    verb = "can" if table.published else "could"
    if derived:
        words = f"{number(derived)} of {counted(hidden, 'cell')} {verb} be computed{near}{just}"
    elif left:
        words = f"can't tell for {number(left)} of {counted(hidden, 'cell')}{just}"
    else:
        words = f"no way was found to compute any of {counted(hidden, 'cell')}{near}{just}"
        words += _closest(check, "the closest")
        if totals == "shown":
            words += ": totals are sums of what is shown"
    return words, _joined(*_derivations(check))


def _derivations(check: CheckResult) -> Iterator[str]:
    details = check.details
    if details["by_subtraction"]:
        rounds = counted(details["steps"], "round")
        yield f"{number(details['by_subtraction'])} by subtraction in {rounds}"
    if details["by_bounds"]:
        yield f"{number(details['by_bounds'])} by bounds"
    if details["by_linear_programming"]:
        yield f"{number(details['by_linear_programming'])} by linear programming"
    if details.get("by_integer_programming"):
        yield f"{number(details['by_integer_programming'])} by integer programming"
    left, derived = details["undecided_cells"], details["derived_cells"]
    if left and derived:
        yield f"can't tell for {number(left)}"
    not_derived = details["suppressed"] - derived - left
    if derived and not_derived:
        which = "the closest of them" if not_derived > 1 else "it"
        yield f"{number(not_derived)} can't be derived{_closest(check, which)}"
    small = details["small_remainders"]
    if small:
        totals = f"{counted(small, 'total')} {'leaves' if small == 1 else 'leave'}"
        yield f"{totals} less than {number(check.parameters['remainder'])} for its hidden cells"


def _closest(check: CheckResult, which: str) -> str:
    """How close the narrowest interval of a cell comes, if that is known."""
    narrowest = check.details.get("narrowest")
    return "" if narrowest is None else f"; {which} is known to within {number(narrowest)}"


_WORDS_BY_RULE: dict[str, Callable[[CheckResult, CellsResult], Words]] = {
    "min_contributors": _threshold,
    "dominance": _dominance,
    "p_percent": _p_percent,
    "group_disclosure": _groups,
    "differences": _differences,
    "rounded": _rounded,
    "derivable": _derivable,
}
PHRASES = dict.fromkeys(_WORDS_BY_RULE, _phrases)


def _violating(check: CheckResult, table: CellsResult) -> str:
    """As in `6 of 24 cells have`; combinations without a record may be more than there are."""
    violating, cells = check.details["violating_cells"], table.cells.cells or 0
    have = "has" if violating == 1 else "have"
    if violating > cells:
        return f"{counted(violating, 'combination')} {have}"
    return f"{number(violating)} of {counted(cells, 'cell')} {have}"


def _hidden_extent(check: CheckResult, table: CellsResult) -> str:
    violating = number(check.details["violating_cells"])
    return f"{violating} of {counted(_judged(check, table), 'cell')} beyond it"


def _judged(check: CheckResult, table: CellsResult) -> int:
    """The cells that a rule looks at: those compared, those with a figure, or all."""
    cells, suppressed = table.cells.cells or 0, table.cells.suppressed or 0
    judged = {"differences": check.details.get("compared_cells"), "rounded": cells - suppressed}
    count = judged.get(check.model)
    return cells if count is None else count


def _margins(check: CheckResult) -> str:
    margins = check.details.get("violating_margin_cells") or 0
    if not margins:
        return ""
    return f", {number(margins)} of them {'a margin' if margins == 1 else 'margins'}"


def _undefined(check: CheckResult) -> str:
    cells = check.details.get("undefined_cells") or 0
    if not cells:
        return ""
    return f"{counted(cells, 'cell')} of zeros {'has' if cells == 1 else 'have'} no share"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _percent(value: float | str | None) -> str:
    """A percentage that is stored as one, or pooled.

    >>> from kanon_sql.report.words.numbers import with_spaces
    >>> with_spaces(_percent(93.1)), with_spaces(_percent(100)), with_spaces(_percent(66.66666))
    ('93.1 %', '100 %', '66.67 %')
    """
    return f"{value if isinstance(value, str) else f'{value or 0:.4g}'}{KEPT_TOGETHER}%"


def _numeral(n: int) -> str:
    words = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[n] if n < len(words) else str(n)


# --- the table ------------------------------------------------------------------------------


def headline_of_cells(table: CellsResult) -> list[str]:
    """The parts of the headline: the source, its records, and what a cell is."""
    parts = [name_and_snapshot(table)]
    summary = table.cells
    if table.published:
        figures = "published figures" if table.figure == "magnitude" else "published counts"
        parts.append(f"{figures} {printable(table.value or '')}".strip())
    else:
        records = "" if summary.records is None else counted(summary.records, "record")
        parts.append(_of_contributors(table, records))
        value = f"sum of {printable(table.value)}" if table.value else "counts"
        parts.append(f"{value} by {listed(table.by)}")
        return parts
    return [*parts, f"by {listed(table.by)}"]


def _of_contributors(table: CellsResult, records: str) -> str:
    """As in `900 records of 300 contributors (column firm)`."""
    if not table.contributor:
        return records
    name, contributors = printable(table.contributor), table.cells.contributors or 0
    if contributors == table.cells.records:
        return f"{records}, one for each {name}"
    whose = f"{counted(contributors, 'contributor')} (column {name})"
    return " of ".join(filter(None, [records, whose]))


def cells_sentence(table: CellsResult) -> str:
    """As in `24 cells: 15 inner, 9 margins`."""
    summary = table.cells
    inner, margins = summary.inner_cells or 0, summary.margin_cells or 0
    parts = [f"{number(inner)} inner", f"{counted(margins, 'margin')}"]
    if summary.suppressed:
        parts.append(f"{number(summary.suppressed)} suppressed")
    if summary.zero_cells:
        parts.append(f"{number(summary.zero_cells)} of zeros")
    if summary.empty_cells:
        empty = counted(summary.empty_cells, "combination")
        parts.append(f"{empty} without a {'row' if table.published else 'record'}")
    return f"{counted(summary.cells or 0, 'cell')}: {', '.join(parts)}."


def findings_on_cells(table: CellsResult) -> tuple[str, list[str], str] | None:
    """A title, a point for each of the first cells that something was found against, and where the
    others are; None without any, or where the cells are not listed."""
    failing = [cell for cell in table.listed or () if cell.ok is False]
    if not failing:
        return None
    named = failing[: table.most_named]
    is_part = len(named) < len(failing)
    some = f", the first {number(len(named))} of {number(len(failing))}" if is_part else ""
    dimensions = " · ".join(map(printable, table.by))
    every = "--cells FILE.csv lists every cell."
    if is_part:
        every = "-v names all of them; --cells FILE.csv lists every cell."
    return (
        f"Cells that fail ({dimensions}){some}:",
        [f"{_name_of(cell)}: {_finding_on(cell, table)}" for cell in named],
        every,
    )


def _name_of(cell: CellVerdict) -> str:
    """The labels of a cell."""
    labels = (
        "(total)" if label is None and name in cell.totals else label
        for name, label in cell.labels.items()
    )
    return " · ".join("NULL" if label is None else printable(str(label)) for label in labels)


def _finding_on(cell: CellVerdict, table: CellsResult) -> str:
    rules = ", ".join(_title_of(rule, table) for rule in cell.primary)
    is_derived = cell.derivable not in (None, NOT_DERIVED, UNDECIDED)
    step = f"can be computed by {cell.derivable}" if is_derived else ""
    return _joined(f"breaks {rules}" if rules else "", step)


def _title_of(rule: str, table: CellsResult) -> str:
    """The title of a rule as the verdicts have it, where it is the only one of its model."""
    titles = [
        title_of_rule(check)
        for check in table.checks
        if check.holds is not None and check.model == rule.partition(":")[0]
    ]
    return titles[0] if len(titles) == 1 else rule


def cost_sentence(table: CellsResult) -> str | None:
    """The cost of suppressing the sensitive cells; None if there are none."""
    summary = table.cells
    cells = summary.sensitive_cells
    if not cells or table.published or summary.share_of_total is None:
        return None
    base = "total" if table.figure == "magnitude" else "counts"
    share = _percent(100 * summary.share_of_total)
    the_cells = "the cell" if cells == 1 else f"the {counted(cells, 'cell')}"
    return (
        f"Suppressing {the_cells} takes "
        f"{counted(summary.sensitive_records or 0, 'record')} and {share} of the {base}"
        f"{_hidden_by_suppression(table)}."
    )


def _hidden_by_suppression(table: CellsResult) -> str:
    """The number of sensitive cells that suppression would hide, unless it hides all."""
    checks = [check for check in table.checks if check.model == "derivable" and check.achieved]
    if not checks:
        return ""
    worst = max(checks, key=lambda check: int(check.achieved))
    hidden, derived = worst.details["suppressed"], worst.details["derived_cells"]
    left = hidden - derived
    only = "none" if not left else "only one" if left == 1 else f"only {number(left)}"
    return f", and hides {only} of them: more cells must go, or fewer dimensions"


def advice_on_cells(table: CellsResult) -> list[str]:
    """Suggestions for next steps."""
    if table.status == "measured":
        if any(check.model == "min_contributors" for check in table.checks):
            return [
                "With --threshold 10 the command ends with exit code 1 if a cell has fewer than 10 "
                f"{whose(table)}s."
            ]
        return ["With a rule, as in --derivable, the command ends with exit code 1 if it fails."]
    if table.status == "violated" and not table.published:
        return ["Fewer dimensions, or wider categories, make larger cells."]
    return []
