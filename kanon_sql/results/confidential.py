"""Results on tables for an external audience, without what must stay confidential.

Parameters that a policy or the spec names are replaced by a word. So is each figure that bounds
them: the share achieved by a dominance rule tells on which side of it k lies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import AuditFindings, CheckResult, PolicyOutcome, Rows

CONFIDENTIAL = "confidential"
FEWER = "fewer than"
"""How a pooled size begins."""
Findings = TypeVar("Findings", bound=AuditFindings)


def for_outsiders(result: Findings, confidential: Sequence[Collection[str]]) -> Findings:
    """The result for an external audience; `confidential` has each table's own parameters.

    The SQL, values of the data and the command are left out, and a smallest cell below a threshold
    is pooled.
    """
    tables = [
        _table(table, confidential[place]) if isinstance(table, CellsResult) else table
        for place, table in enumerate(result.tables)
    ]
    return replace(result, tables=tuple(tables), asked=None)


def is_hidden(check: CheckResult) -> bool:
    """Whether a parameter of the check is left out."""
    return CONFIDENTIAL in check.parameters.values()


def _table(table: CellsResult, own: Collection[str]) -> CellsResult:
    hidden = {*own, *(each for policy in table.policies for each in policy.confidential)}
    thresholds = [
        each.parameters["n"]
        for each in table.checks
        if each.model == "min_contributors" and each.holds is not None
    ]
    least = max(thresholds, default=0)
    return replace(
        table,
        checks=Rows(_check(each, hidden, least) for each in table.checks),
        policies=tuple(policy_for_outsiders(each, hidden) for each in table.policies),
        sql={},
        shown=None,
    )


def _check(check: CheckResult, hidden: Collection[str], least: int) -> CheckResult:
    """The check without its confidential parameters; a size below `least` is pooled."""
    parameters = _parameters(check.model, check.parameters, hidden)
    if CONFIDENTIAL in parameters.values():
        return replace(check, parameters=parameters, achieved=None)
    is_size = check.model == "min_contributors" and check.achieved is not None
    if is_size and check.achieved < least:
        return replace(check, achieved=f"{FEWER} {least}")
    return check


def _parameters(
    model: str, parameters: Mapping[str, Any], hidden: Collection[str]
) -> dict[str, Any]:
    return {
        name: CONFIDENTIAL if f"{model}.{name}" in hidden and value is not None else value
        for name, value in parameters.items()
    }


def policy_for_outsiders(policy: PolicyOutcome, hidden: Collection[str]) -> PolicyOutcome:
    """The policy without the sentences on models whose parameters are confidential."""
    models = {each.partition(".")[0] for each in hidden}
    return replace(
        policy,
        not_asked=tuple(
            {**each, "parameters": _parameters(each["model"], each["parameters"], hidden)}
            for each in policy.not_asked
        ),
        quotes=tuple(each for each in policy.quotes if each["about"] not in models),
        reading=None if models else policy.reading,
    )
