"""The wording of checks against a reference."""

from __future__ import annotations

from kanon_sql.report.words.numbers import counted, number
from kanon_sql.report.words.phrases import Phrases, reference_name, risk_phrases, violating
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult


def _k_map(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    reference = reference_name(check)
    if check.parameters.get("missing") == "union":
        reference = f"{reference} and the release together"
    result = f"k is {number(check.achieved)} in {reference}"
    if check.holds is False:
        extent = f"{violating(check, table)} that match fewer than {number(k or 0)} in {reference}"
    elif check.achieved == 0:
        unmatched = counted(check.details["unmatched_classes"], "class")
        extent = f"nobody in {reference} matches {unmatched} of the release"
    else:
        extent = f"every class matches {number(check.achieved)} or more in {reference}"
    return Phrases(result, extent, k)


def _delta_presence(check: CheckResult, table: TableResult) -> Phrases:
    least, most = check.achieved["min"], check.achieved["max"]
    if least is None:
        result = "no class of the reference has people"
    else:
        result = f"from {number(least)} to {number(most)}"
    bounds = [check.parameters.get(end) for end in ("min", "max")]
    requirement = " to ".join(number(bound) if bound is not None else "any" for bound in bounds)
    if check.holds is None:
        return Phrases(result, f"the chance of being in the release, over {reference_name(check)}")
    if check.holds:
        return Phrases(result, f"every class of {reference_name(check)} is within", requirement)
    classes = counted(check.violating_classes or 0, "class")
    of_people = check.violating_people
    outside = (check.violating_records or 0) if of_people is None else of_people
    people = counted(outside, "person")
    return Phrases(
        result, f"{people} of {reference_name(check)} in {classes} are outside", requirement
    )


PHRASES = {"k_map": _k_map, "delta_presence": _delta_presence, "journalist_risk": risk_phrases}
