"""The wording of checks on the sizes of classes."""

from __future__ import annotations

from kanon_sql.report.words.numbers import counted, member, members, number
from kanon_sql.report.words.phrases import Phrases, risk_phrases, violating
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult


def _k_anonymity(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    as_value = check.details.get("achieved_nulls_as_value")
    result = f"k is {number(check.achieved)}"
    if as_value is not None and as_value != check.achieved:
        result = (
            f"k is {number(as_value)} with NULL as a value, "
            f"{number(check.achieved)} with NULL as a wildcard"
        )
    if check.holds is False:
        extent = f"{violating(check, table)} of fewer than {counted(k or 0, member(table))}"
    elif check.holds:
        extent = f"every class has {number(check.achieved)} or more {members(table)}"
    else:
        extent = f"the smallest class has {counted(check.achieved, member(table))}"
    return Phrases(result, extent, k)


PHRASES = {"k_anonymity": _k_anonymity, "prosecutor_risk": risk_phrases}
