"""The parts of sentences on a check: its result, its requirement, its extent."""

from __future__ import annotations

from typing import NamedTuple

from kanon_sql.models.base import ClassWords
from kanon_sql.models.catalogue import MODELS
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    exact_percent,
    members,
    number,
    percent,
    printable,
)
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult


class Phrases(NamedTuple):
    """A check's result next to its requirement, and how far its violations reach."""

    achieved: str
    extent: str
    required: float | str | None = None

    @property
    def with_requirement(self) -> str:
        """The result, and its requirement where there is one."""
        if self.required is None:
            return self.achieved
        requirement = number(self.required) if isinstance(self.required, int) else self.required
        return f"{self.achieved}, asked for {requirement}"


def of_worst_class(words: ClassWords, check: CheckResult, table: TableResult) -> Phrases:
    """The phrases of a model judged on its worst class."""
    thresholds = words.thresholds or MODELS[check.model].thresholds
    in_force = [key for key in thresholds if check.parameters.get(key) is not None]
    requirement = " and ".join(
        number(check.parameters[key])
        if in_force == [thresholds[0]]
        else f"{key} {number(check.parameters[key])}"
        for key in in_force
    )
    if check.achieved is None:
        return Phrases("no class has a known value", "", requirement or None)
    result = words.found.format(number(check.achieved), **_number_details(check))
    if check.holds is False:
        threshold = check.parameters.get(thresholds[0])
        extent = words.violating.format(number(threshold) if threshold is not None else requirement)
        if words.certain and table.entity:
            extent += ", or with a value shared by the whole class"
        return Phrases(result, f"{violating(check, table)} {extent}".strip(), requirement)
    worst = words.worst.format(number(check.achieved), **_number_details(check))
    return Phrases(result, worst if check.holds or words.always else "", requirement or None)


def _number_details(check: CheckResult) -> dict[str, str]:
    return {
        key: number(value) for key, value in check.details.items() if isinstance(value, int | float)
    }


def risk_phrases(check: CheckResult, table: TableResult) -> Phrases:
    """The phrases of prosecutor and journalist risk: the required figures, then the others."""
    above = f"of the {members(table)} above {exact_percent(check.parameters['threshold'])}"
    figures = {
        "max_highest": ("highest {}", check.achieved),
        "max_average": ("average {}", check.details["average"]),
        "max_at_risk": ("{} " + above, check.details["at_risk"]),
    }
    bounds = {
        key: check.parameters[key] for key in figures if check.parameters.get(key) is not None
    }
    first = bounds or {"max_highest": None}
    required_figures, other_figures = (
        ", ".join(
            words.format(percent(figure))
            for key, (words, figure) in figures.items()
            if (key in first) is is_first
        )
        for is_first in (True, False)
    )
    requirement = ", ".join(
        (figures[key][0] if len(bounds) > 1 else "{}").format(exact_percent(bound))
        for key, bound in bounds.items()
    )
    reach = f"{violating(check, table)} with too high a chance" if check.violating_classes else ""
    parts = (other_figures, reach, not_contained(check))
    return Phrases(required_figures, "; ".join(part for part in parts if part), requirement or None)


def of_share(check: CheckResult, table: TableResult) -> Phrases:
    """The phrases of a model whose only figure is a share."""
    model = MODELS[check.model]
    requirement = check.parameters.get(model.thresholds[0])
    parts = (model.share_words.format(members(table)), not_contained(check))
    extent = "; ".join(part for part in parts if part)
    return Phrases(
        percent(check.achieved), extent, None if requirement is None else exact_percent(requirement)
    )


def not_contained(check: CheckResult) -> str:
    """Why a risk is violated by a reference that does not contain the release, whatever it is."""
    lacking = ("unmatched_classes", "exceeding_classes")
    classes = sum(check.details.get(name, 0) for name in lacking)
    if check.holds is not False or not classes or check.parameters.get("missing") == "union":
        return ""
    fewer = f"it has fewer people than the release in {counted(classes, 'class')}"
    return f"{reference_name(check)} can't contain the release: {fewer}"


def violating(check: CheckResult, table: TableResult) -> str:
    """As in `812,340 records (67.5 %) in 640,112 classes`."""
    return f"{records_and_people(check, table)} in {counted(check.violating_classes or 0, 'class')}"


def records_and_people(check: CheckResult, table: TableResult) -> str:
    """As in `12 records (4.1 %)`; with an entity `9 records (4.1 %) of 3 people (2.6 %)`."""
    records = check.violating_records or 0
    share = percent(records / (table.summary.records or 1))
    of_whom = ""
    if check.violating_people is not None and table.summary.people:
        of_people = percent(check.violating_people / table.summary.people)
        of_whom = f" of {counted(check.violating_people, 'person')}{KEPT_TOGETHER}({of_people})"
    return f"{counted(records, 'record')}{KEPT_TOGETHER}({share}){of_whom}"


def reference_name(check: CheckResult) -> str:
    return printable(str(check.parameters.get("reference") or "the reference"))


def attribute(check: CheckResult) -> str:
    return printable(str(check.parameters.get("sensitive")))
