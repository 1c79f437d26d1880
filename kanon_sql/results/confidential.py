"""Results on tables for an external audience, without what must stay confidential.

Parameters that a policy or the spec names are replaced by a word. So is each figure that bounds
them: the share achieved by a dominance rule tells on which side of it k lies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import AuditFindings, CheckResult, PolicyOutcome, Rows, TableResult
from kanon_sql.spec.models.catalogue import ALL_MODELS

CONFIDENTIAL = "confidential"
FEWER = "fewer than"
"""The prefix of a pooled size."""
Findings = TypeVar("Findings", bound=AuditFindings)


def for_outsiders(result: Findings) -> Findings:
    """The result for an external audience.

    The SQL, values of the data and the command are left out, a smallest cell or difference below a
    threshold is pooled, and so are the records of the sensitive cells, which may be few.
    """
    tables = [table_for_outsiders(table) for table in result.tables]
    return replace(result, tables=tuple(tables), asked=None)


def is_hidden(check: CheckResult) -> bool:
    """Whether a parameter of the check is left out."""
    return CONFIDENTIAL in check.parameters.values()


def table_for_outsiders(table: TableResult) -> TableResult:
    """A table without what is confidential."""
    if not isinstance(table, CellsResult):
        return _of_records(table)
    hidden = confidential_of(table)
    least = _least_size(table, hidden)
    summary = table.cells
    if summary.sensitive_cells:
        summary = replace(summary, sensitive_records=None, share_of_total=None)
    return replace(
        table,
        cells=summary,
        checks=Rows(_without_shortfall(_check(check, hidden, least)) for check in table.checks),
        policies=tuple(policy_for_outsiders(policy, hidden) for policy in table.policies),
        sql={},
        shown=None,
    )


def confidential_of(table: TableResult) -> set[str]:
    """The parameters that a table's spec or policies want kept, as in dominance.k. The threshold of
    a cell is that of a class in a table of records."""
    hidden = {path for policy in table.policies for path in policy.confidential}
    own = set(table.confidential) if isinstance(table, CellsResult) else set()
    is_of_cells = any(policy.for_cells for policy in table.policies)
    as_classes = {"k_anonymity.k"} if is_of_cells and "min_contributors.n" in hidden else set()
    return hidden | own | as_classes


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
    return _check(check, hidden, _least_size(table, hidden))


def _least_size(table: TableResult, hidden: Collection[str]) -> int:
    """The largest number of contributors that is required of a cell."""
    if "min_contributors" in _models(hidden):
        return 0
    sizes = (
        check.parameters.get("n") for check in table.checks if check.model == "min_contributors"
    )
    return max((size for size in sizes if size is not None), default=0)


def _models(hidden: Collection[str]) -> set[str]:
    """The models of which a parameter is confidential. A concentration rule bounds the others: a
    table that is safe under (2,k) is safe under p% for a p that follows from k."""
    models = {path.partition(".")[0] for path in hidden}
    return models | (CONCENTRATION if models & CONCENTRATION else set())


CONCENTRATION = {"dominance", "p_percent"}


def _check(check: CheckResult, hidden: Collection[str], size: int) -> CheckResult:
    """The check without what is confidential; a number of contributors below `size`, and a
    difference below its threshold, is pooled."""
    if check.model in _models(hidden):
        parameters = _parameters(check.model, check.parameters, hidden)
        baseline = check.baseline and replace(check.baseline, figures={})
        return replace(check, parameters=parameters, achieved=None, baseline=baseline)
    pooled = {"min_contributors": size, "differences": check.parameters.get("n") or size}
    below = pooled.get(check.model, 0)
    if isinstance(check.achieved, int | float) and check.achieved < below:
        baseline = check.baseline and replace(check.baseline, figures={})
        return replace(check, achieved=f"{FEWER} {below}", baseline=baseline)
    return check


def _without_shortfall(check: CheckResult) -> CheckResult:
    """The check without a sum over small cells, from which these follow where they are few."""
    details = {name: None if name == "shortfall" else item for name, item in check.details.items()}
    return replace(check, details=details)


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
