"""Results for an external audience, without what must stay confidential.

Parameters that a policy or the spec names are replaced by a word. So is each figure that bounds
them: the share achieved by a dominance rule tells on which side of it k lies. Small counts are
pooled, in the texts of warnings too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from kanon_sql.models.catalogue import ALL_MODELS, CELL_MODELS
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import AuditFindings, PolicyOutcome, TableResult
from kanon_sql.results.tabular import Rows

CONFIDENTIAL = "confidential"
FEWER, LESS, MORE = "fewer than", "less than", "more than"
"""The prefixes of a pooled size, and of a pooled share."""
LEAST_CELL = 10
"""Minimum count shown to an external audience, where no threshold says another."""
Findings = TypeVar("Findings", bound=AuditFindings)


def for_outsiders(result: Findings, min_cell: int = LEAST_CELL) -> Findings:
    """The result for an external audience.

    The SQL, values of the data, labels of cells and the command are left out. A smallest cell or
    difference is pooled below its threshold, and without a policy's below `min_cell` too; so are
    the counts in warnings and the records of the sensitive cells, which may be few.
    """
    tables = [table_for_outsiders(table, min_cell) for table in result.tables]
    return replace(result, tables=tuple(tables), asked=None)


def is_hidden(check: CheckResult) -> bool:
    """Whether a parameter of the check is left out."""
    return CONFIDENTIAL in check.parameters.values()


def table_for_outsiders(table: TableResult, min_cell: int) -> TableResult:
    """A table without what is confidential."""
    hidden = confidential_of(table)
    table = replace(
        table,
        warnings=tuple(text_for_outsiders(warning, hidden, min_cell) for warning in table.warnings),
        error=table.error and text_for_outsiders(table.error, hidden, min_cell),
    )
    if not isinstance(table, CellsResult):
        return _of_records(table)
    least = _least_size(table, hidden, min_cell)
    summary = table.cells
    if summary.sensitive_cells:
        summary = replace(summary, sensitive_records=None, share_of_total=None)
    if 0 < (summary.records or 0) - (summary.contributors or math.inf) < min_cell:
        summary = replace(summary, records=None)
    return replace(
        table,
        cells=summary,
        checks=Rows(_without_shortfall(_check(check, hidden, least)) for check in table.checks),
        policies=tuple(policy_for_outsiders(policy, hidden) for policy in table.policies),
        sql={},
        shown=None,
        listed=None,
        pooled_below=least,
    )


def confidential_of(table: TableResult) -> set[str]:
    """The parameters that a table's spec or policies want kept, as in dominance.k. The threshold of
    a cell is that of a class in a table of records."""
    hidden = {path for policy in table.policies for path in policy.confidential}
    is_of_cells = any(policy.for_cells for policy in table.policies)
    as_classes = {"k_anonymity.k"} if is_of_cells and "min_contributors.n" in hidden else set()
    return hidden | {*table.confidential} | as_classes


def _of_records(table: TableResult) -> TableResult:
    """A table of records, whose other figures a report leaves out if one threshold is."""
    hidden = confidential_of(table)
    models = _models(hidden)
    return replace(
        table,
        checks=Rows(
            replace(check, parameters=_parameters(check.model, check.parameters, hidden))
            if check.model in models
            else check
            for check in table.checks
        ),
        policies=tuple(policy_for_outsiders(policy, hidden) for policy in table.policies),
    )


def check_for_outsiders(check: CheckResult, table: TableResult) -> CheckResult:
    """A check of a table without what is confidential."""
    hidden = confidential_of(table)
    return _check(check, hidden, _least_size(table, hidden, LEAST_CELL))


def _least_size(table: TableResult, hidden: Collection[str], min_cell: int) -> int:
    """The least number of contributors that is shown of a cell: what is required of it, and without
    a policy's requirement at least `min_cell`. A confidential one tells nothing."""
    if "min_contributors" in _models(hidden):
        return min_cell
    return _least_of([c for c in table.checks if c.model == "min_contributors"], min_cell)


def _least_of(checks: Iterable[CheckResult], min_cell: int) -> int:
    """The largest n that checks require; at least `min_cell` where none of them is a policy's."""
    required: list[int] = []
    is_of_policy = False
    for check in checks:
        if n := check.parameters.get("n"):
            required.append(n)
            is_of_policy = is_of_policy or check.policy is not None
    return max([*required, *([] if is_of_policy else [min_cell])])


def _models(hidden: Collection[str]) -> set[str]:
    """The models of which a parameter is confidential. A concentration rule bounds the others: a
    table that is safe under (2,k) is safe under p% for a p that follows from k."""
    models = {path.partition(".")[0] for path in hidden}
    return models | (_of_concentration() if models & _of_concentration() else set())


@cache
def _of_concentration() -> frozenset[str]:
    return frozenset(
        name for name, model in CELL_MODELS.items() if getattr(model, "of_concentration", False)
    )


def _check(check: CheckResult, hidden: Collection[str], size: int) -> CheckResult:
    """The check without what is confidential; a number of contributors below `size`, and a
    difference below its threshold, is pooled, and so is what only a few contributors give."""
    baseline = check.baseline and replace(check.baseline, figures={})
    if check.model in _models(hidden):
        parameters = _parameters(check.model, check.parameters, hidden)
        return replace(check, parameters=parameters, achieved=None, baseline=baseline)
    if check.details.get("alone"):
        # A group of a single member is a cell of one.
        return replace(check, details={**check.details, "alone": None}, baseline=baseline)
    if pooled := _pooled(check, size):
        return replace(check, achieved=pooled, baseline=baseline)
    if check.model in _of_concentration() and size > 1:
        return replace(check, achieved=_coarse(check), baseline=baseline)
    return check


def _coarse(check: CheckResult) -> Any:
    """A concentration with two digits, as more of them give a contributor's value where the total
    is known; the threshold itself where the digits would tell another verdict."""
    model = ALL_MODELS[check.model]
    achieved, threshold = check.achieved, check.parameters.get(model.thresholds[0])
    if not isinstance(achieved, int | float):
        return achieved
    coarse = float(f"{achieved:.2g}")
    if threshold is None or check.holds is None:
        return coarse
    if model.worst == "greatest":
        is_kept = (coarse <= threshold) == check.holds
        words = f"{MORE} {threshold:g}"
    else:
        is_kept = (coarse >= threshold) == check.holds
        words = f"{LESS} {threshold:g}"
    if is_kept:
        return coarse
    return float(threshold) if check.holds else words


def _without_shortfall(check: CheckResult) -> CheckResult:
    """The check without a sum over small cells, from which these follow where they are few, and
    without the width of an interval."""
    left_out = ("shortfall", "narrowest")
    details = {name: None if name in left_out else item for name, item in check.details.items()}
    return replace(check, details=details)


def _pooled(check: CheckResult, size: int) -> str:
    """The words for a figure that tells a small number of contributors; "" for any other. The n
    largest have all of a cell, and the largest is estimated exactly, where a cell has few."""
    figure = check.achieved
    if not isinstance(figure, int | float):
        return ""
    least = {"min_contributors": size, "differences": _least_of([check], size)}
    if figure < least.get(check.model, 0):
        return f"{FEWER} {least[check.model]}"
    if check.model == "dominance" and figure > 99 and size > 1:
        return f"{MORE} 99"
    return f"{LESS} 1" if check.model == "p_percent" and figure < 1 < size else ""


_NUMBER = re.compile(
    r"""
    "[^"]*"                                     # a name
    | \b(?:line|level|than|most)\ [\d.,]*\d      # a place, or a bound
    | \b\d+\ or\ more\b
    | \b\d[\d,]*(?:\ of(?:\ the)?\ \d[\d,]*)?(?:\ [a-z]+)?
      \ (?:cell|column|label|line|parent|release|value)s?\b
    | (?<![\w.:/=-])(?P<count>\d+(?:,\d{3})*+(?:\.\d+)?)(?:\ %)?(?![\w/:=-]|\.\w)
      (?:\ (?P<noun>record|person|people|class)(?:e?s)?\b)?(?P<verb>\ (?:is|has)\b)?
    """,
    re.VERBOSE,
)
"""The numbers of a text and what tells their meaning; `count` where they may be of people."""
_OF_SEVERAL = {" is": " are", " has": " have"}


def text_for_outsiders(text: str, hidden: Collection[str], min_cell: int) -> str:
    """A warning without parameters that are confidential, shares and counts; a count of people,
    records or classes is told as above or below the least that is shown.

    >>> text_for_outsiders("1 person (2.5 %) is in 31 classes of r1.csv.", set(), 10)
    'Fewer than 10 people are in 30 or more classes of r1.csv.'
    """
    if models := "|".join(sorted(_models(hidden))):
        text = re.sub(rf"\b({models})\([^)]*\)", r"\1", text)
    if min_cell == 1:
        return text

    def pooled(found: re.Match[str]) -> str:
        count, noun, verb = found["count"], found["noun"], found["verb"] or ""
        is_year = count and len(count) == 4 and count.isdigit()
        if not count or count == "0" or (is_year and not noun):
            return found[0]
        if not noun:
            return f"…{verb}"
        least = 3 * min_cell if noun == "class" else min_cell
        many = {"class": "classes", "record": "records"}.get(noun, "people")
        before = found.string[: found.start()]
        is_subject = count == "1" and not before.endswith(" of ")
        verb = _OF_SEVERAL[verb] if verb and is_subject else verb
        if float(count.replace(",", "")) >= least:
            return f"{least} or more {many}{verb}"
        fewer = FEWER if before.rstrip(" ")[-1:] not in ("", ".") else FEWER.capitalize()
        return f"{fewer} {least} {many}{verb}"

    return _NUMBER.sub(pooled, re.sub(r" \([\d.]+ %\)", "", text))


def _parameters(
    model: str, parameters: Mapping[str, Any], hidden: Collection[str]
) -> dict[str, Any]:
    """The parameters, with a word for those that are confidential, and for each threshold of a
    model that has one."""
    thresholds = ALL_MODELS[model].thresholds if model in _models(hidden) else ()
    shown = {
        name: CONFIDENTIAL if f"{model}.{name}" in hidden and value is not None else value
        for name, value in parameters.items()
    }
    return shown | dict.fromkeys(thresholds if parameters else (), CONFIDENTIAL)


def policy_for_outsiders(policy: PolicyOutcome, hidden: Collection[str]) -> PolicyOutcome:
    """The policy without the sentences on models whose parameters are confidential."""
    models = _models(hidden)
    return replace(
        policy,
        not_asked=tuple(
            {**rule, "parameters": _parameters(rule["model"], rule["parameters"], hidden)}
            for rule in policy.not_asked
        ),
        quotes=tuple(quote for quote in policy.quotes if quote["about"] not in models),
        reading=None if models else policy.reading,
    )
