"""The margin of a check: requirement, result and distance."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kanon_sql.report.words.numbers import KEPT_TOGETHER, number
from kanon_sql.results.comparison import judged_figures
from kanon_sql.results.confidential import CONFIDENTIAL, is_hidden
from kanon_sql.results.table import CheckResult
from kanon_sql.spec.models.base import Worst
from kanon_sql.spec.models.catalogue import MODELS

_LETTERS = {"alpha": "α", "delta": "δ", "beta": "β", "max_highest": "highest", "min": "least",
            "max_average": "average", "max_at_risk": "at risk", "max_share": "share",
            "max": "greatest"}  # fmt: skip
NONE = "\u2013"


class Margin(NamedTuple):
    """A requirement in words, with its result and distance."""

    asked: str
    found: str
    distance: str
    """Negative if the requirement is missed."""
    name: str = ""
    """The parameter that holds the threshold."""
    figure: Any = None
    """What was found, as a number."""


def margins(check: CheckResult) -> list[Margin]:
    """A margin per threshold of a gating check; only the result if nothing is required."""
    if is_hidden(check):
        return [Margin(CONFIDENTIAL, NONE, "")]
    if MODELS[check.model].counts_violations:
        missed = "" if check.holds is None else _signed(-check.achieved, check.holds)
        return [
            Margin(
                "" if check.holds is None else "none",
                number(check.achieved) if check.achieved else "none",
                missed,
            )
        ]
    judged = judged_figures(check) if check.holds is not None else ()
    found = [_margin(check, *each) for each in judged]
    return found or [Margin("", _plain(check, check.achieved), "", "", check.achieved)]


def _margin(check: CheckResult, name: str, figure: Any, asked: Any, worst: Worst) -> Margin:
    is_strict = MODELS[check.model].is_strict
    sign = "≥" if worst == "least" else ("<" if is_strict else "≤")
    bound = f"{_LETTERS.get(name, name)}{KEPT_TOGETHER}{sign}{KEPT_TOGETHER}"
    requirement, found = f"{bound}{_plain(check, asked)}", _plain(check, figure)
    if not isinstance(figure, int | float) or isinstance(figure, bool):
        return Margin(requirement, found, NONE, name, figure)
    room = figure - asked if worst == "least" else asked - figure
    is_met = room > 0 or (room == 0 and not is_strict)
    if abs(room) < 1e-9:
        room = 0 if isinstance(figure, int) and isinstance(asked, int) else 0.0
        is_met = check.holds is True or not is_strict
    in_percent = MODELS[check.model].in_percent
    return Margin(requirement, found, _signed(room, is_met, in_percent=in_percent), name, figure)


def _plain(check: CheckResult, value: Any) -> str:
    """A figure in its model's unit: shares in per cent."""
    if value is None:
        return NONE
    if isinstance(value, dict):
        return " to ".join(NONE if each is None else number(each) for each in value.values())
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
