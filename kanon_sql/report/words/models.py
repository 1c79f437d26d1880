"""A check in words: status, title, result, extent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from kanon_sql.models.base import Worst
from kanon_sql.models.catalogue import ALL_MODELS, MODELS, OF_CELLS
from kanon_sql.report.words.check_phrases import phrases, words_on_cells
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    NONE,
    figure,
    figure_name,
    is_share,
    number,
    percent,
    printable,
)
from kanon_sql.results.check import CheckResult
from kanon_sql.results.compared import flat_figures, judged_figures, table_figures
from kanon_sql.results.confidential import CONFIDENTIAL, is_hidden
from kanon_sql.results.table import TableResult

_LETTERS = {"alpha": "α", "delta": "δ", "beta": "β", "max_highest": "highest", "min": "least",
            "max_average": "average", "max_at_risk": "at risk", "max_share": "share",
            "max": "greatest"}  # fmt: skip


class Margin(NamedTuple):
    """A requirement in words, with its result and distance."""

    requirement: str
    result: str
    distance: str
    """Negative if the requirement is missed."""
    name: str = ""
    """The parameter that holds the threshold."""
    figure: Any = None
    """The result as a number."""


def margins(check: CheckResult) -> list[Margin]:
    """A margin per threshold of a gating check, without distances where it is undecided; only the
    result if nothing is required."""
    if is_hidden(check):
        return [Margin(CONFIDENTIAL, NONE, "")]
    if MODELS[check.model].counts_violations:
        result = number(check.achieved) if check.achieved else "none"
        if check.holds is None:
            return [Margin("", result, "")]
        return [Margin("none", result, _signed(-check.achieved, check.holds))]
    is_required = check.holds is not None or check.undecided
    judged = judged_figures(check) if is_required else ()
    return [_margin(check, *figures) for figures in judged] or [
        Margin("", _in_unit(check, check.achieved), "", "", check.achieved)
    ]


def _margin(check: CheckResult, name: str, figure: Any, threshold: Any, worst: Worst) -> Margin:
    is_strict = MODELS[check.model].is_strict
    sign = "≥" if worst == "least" else ("<" if is_strict else "≤")
    bound = f"{_LETTERS.get(name, name)}{KEPT_TOGETHER}{sign}{KEPT_TOGETHER}"
    requirement, result = f"{bound}{_in_unit(check, threshold)}", _in_unit(check, figure)
    if not isinstance(figure, int | float) or isinstance(figure, bool) or check.undecided:
        return Margin(requirement, result, NONE, name, figure)
    room = figure - threshold if worst == "least" else threshold - figure
    is_met = room > 0 or (room == 0 and not is_strict)
    if abs(room) < 1e-9:
        room = 0 if isinstance(figure, int) and isinstance(threshold, int) else 0.0
        is_met = check.holds is True or not is_strict
    in_percent = MODELS[check.model].in_percent
    return Margin(requirement, result, _signed(room, is_met, in_percent=in_percent), name, figure)


def _in_unit(check: CheckResult, value: Any) -> str:
    """A figure in its model's unit: shares in per cent."""
    if value is None:
        return NONE
    if isinstance(value, dict):
        return " to ".join(NONE if figure is None else number(figure) for figure in value.values())
    if MODELS[check.model].in_percent and not math.isinf(value):
        return f"{_decimals(value * 100)}{KEPT_TOGETHER}%"
    return number(value)


def _decimals(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _signed(room: float, is_met: bool, *, in_percent: bool = False) -> str:
    """The signed distance; in percentage points for shares."""
    if math.isinf(room):
        return "no bound holds"
    sign = "+" if is_met else "−"
    if room == 0:
        return "0" if is_met else "−0"
    if in_percent:
        return f"{sign}{_decimals(abs(room) * 100)}{KEPT_TOGETHER}points"
    return f"{sign}{number(abs(room))}"


SIGNS = {"violated": "✗", "accepted": "△", "holds": "✓", "undecided": "?", "measured": "○",
         "no_data": "-", "error": "✗"}  # fmt: skip
"""Signs preceding a verdict, so that colour is never the only cue."""
STATUS_WORDS = {
    "holds": "holds",
    "violated": "VIOLATED",
    "accepted": "accepted",
    "undecided": "undecided",
    "measured": "measured",
    "no_data": "no data",
    "error": "failed",
}


VerdictStatus = Literal["holds", "violated", "accepted", "undecided", "measured"]


class Verdict(NamedTuple):
    """One check in words; of a comparison, the status is its change."""

    status: str
    title: str
    achieved: str
    extent: str
    label: str = ""
    """The word for the status, where it has one of its own."""

    @property
    def word(self) -> str:
        return self.label or STATUS_WORDS.get(self.status, self.status)


def verdict(check: CheckResult, table: TableResult) -> Verdict:
    """One check in words."""
    result = phrases(check, table)
    extent = "; ".join(text for text in (result.extent, _baseline_comparison(check, table)) if text)
    return Verdict(verdict_status(check), title(check), result.with_requirement, extent)


def verdict_status(check: CheckResult) -> VerdictStatus:
    """The status of a check; `accepted` means violated and accepted by a baseline."""
    if check.holds is None:
        return "undecided" if check.undecided else "measured"
    if check.holds:
        return "holds"
    return "accepted" if check.accepted else "violated"


def _baseline_comparison(check: CheckResult, table: TableResult) -> str:
    """The baseline's result of a violated check, in words."""
    if check.holds is not False or check.accepted is None:
        return ""
    if check.accepted:
        then = check.baseline.figures if check.baseline else {}
        had, records = then.get("violating_records"), then.get("records")
        is_same = (had, records) == (check.violating_records, table.summary.records)
        if not had or not records or is_same or ALL_MODELS[check.model].of_reference:
            return "accepted by the baseline"
        return f"accepted by the baseline, which had {share_of(had, records, 'records')}"
    if check.baseline is None:
        return "not in the baseline"
    if "holds" in check.baseline.worse:
        return "it held in the baseline"
    if not check.baseline.figures:
        return "worse than in the baseline"
    then, now = check.baseline.figures, {**flat_figures(check), **table_figures(table, check)}
    of_reference = ALL_MODELS[check.model].of_reference
    sizes = {} if of_reference else vars(table.summary)
    worse = ", ".join(
        f"{figure_name(name)} {_with_share(name, now, sizes)} "
        f"(was {_with_share(name, then, {} if of_reference else then)})"
        for name in check.baseline.worse
    )
    return f"worse than in the baseline: {worse}"


def _with_share(name: str, figures: Mapping[str, Any], sizes: Mapping[str, Any]) -> str:
    """A figure, with its share of the records if it counts some; a risk is a share itself."""
    value = figures.get(name)
    if value is not None and is_share(name):
        return percent(value)
    people, records = sizes.get("people"), sizes.get("records")
    total = (people or records) if name == "uniques" else records
    if value is None or not total or not name.endswith(("_records", "uniques")):
        return figure(value)
    return share_of(value, total)


def share_of(count: int, total: int, noun: str = "") -> str:
    """A count out of its total, with the share.

    >>> from kanon_sql.report.words.numbers import with_spaces
    >>> with_spaces(share_of(765, 4856)), with_spaces(share_of(647, 4000, "records"))
    ('765 of 4,856, 15.8 %', '647 of 4,000 records, 16.2 %')
    """
    return f"{count:,} of {total:,}{f' {noun}' if noun else ''}, {percent(count / total)}"


def title(check: CheckResult) -> str:
    """The model and its columns, as in `homogeneity diagnosis` or `k-map voters`."""
    model = ALL_MODELS[check.model]
    if model.family == OF_CELLS:
        return str(words_on_cells().title_of_rule(check))
    about = (check.parameters.get(key) for key in ("sensitive", "reference", "earlier"))
    joined = ["(others known)"] if check.parameters.get("with_other_sensitive") else []
    named = [printable(name) for name in about if name]
    if columns := check.parameters.get("columns"):
        named.append(" + ".join(map(printable, columns)))
    named += [f"{key}={check.parameters[key]}" for key in model.title_parameters]
    return " ".join([model.title, *named, *joined])
