"""The wording of estimates about the population."""

from __future__ import annotations

from collections.abc import Mapping

from kanon_sql.report.words.numbers import counted, exact_percent, member, number, percent
from kanon_sql.report.words.phrases import Phrases, violating
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult


def _population_uniqueness(check: CheckResult, table: TableResult) -> Phrases:
    requirement = check.parameters.get("max_share")
    result = "no estimate" if check.achieved is None else percent(check.achieved)
    estimates = check.details["estimates"]
    shares = ", ".join(
        f"{_NAMES[name]} {'none' if share is None else percent(share)}"
        for name, share in estimates.items()
    )
    return Phrases(
        f"estimate {result}",
        f"of {number(check.parameters['population'])} people are unique, by estimate: {shares}"
        f"{_chosen(check, estimates)}",
        None if requirement is None else exact_percent(requirement),
    )


_NAMES = {"zayatz": "Zayatz", "pitman": "Pitman", "snb": "SNB"}


def _chosen(check: CheckResult, estimates: Mapping[str, float | None]) -> str:
    """Which estimator was taken, by which rule, and how far the others lie above it."""
    if not check.achieved:
        return ""
    of_rule = check.parameters["estimator"] == "dankar"
    taken = [name for name, share in estimates.items() if share == check.achieved]
    name = taken[-1] if of_rule and taken else check.parameters["estimator"]
    rule = "Dankar's rule takes" if of_rule else "asked for was"
    most = max((share or 0.0) / check.achieved for share in estimates.values())
    others = f", and others are up to {most:,.0f} times as high" if most >= 2 else ""
    return f"; {rule} {_NAMES.get(name, name)}{others}"


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
