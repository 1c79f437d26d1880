"""The wording of estimates about the population."""

from __future__ import annotations

from kanon_sql.report.words.numbers import counted, exact_percent, member, number, percent
from kanon_sql.report.words.phrases import Phrases, violating
from kanon_sql.results.table import CheckResult, TableResult


def _population_uniqueness(check: CheckResult, table: TableResult) -> Phrases:
    requirement = check.parameters.get("max_share")
    result = "no estimate" if check.achieved is None else percent(check.achieved)
    estimates = ", ".join(
        f"{name} {'none' if share is None else percent(share)}"
        for name, share in check.details["estimates"].items()
    )
    return Phrases(
        f"estimate {result}",
        f"of {number(check.parameters['population'])} people are unique, by estimate: {estimates}",
        None if requirement is None else exact_percent(requirement),
    )


def _k_map_estimate(check: CheckResult, table: TableResult) -> Phrases:
    required = check.details["required"]
    result = f"the smallest class has {counted(check.achieved, member(table))}"
    if check.holds is False:
        extent = f"{violating(check, table)} of fewer than {number(required)}, too few"
    else:
        extent = "every class is large enough"
    return Phrases(
        f"{result}, {number(required)} needed by estimate",
        f"{extent} for {number(check.parameters['k'])} people of "
        f"{number(check.parameters['population'])}, by estimate",
    )


PHRASES = {"population_uniqueness": _population_uniqueness, "k_map_estimate": _k_map_estimate}
