"""The wording of checks on a release together with an earlier one."""

from __future__ import annotations

from kanon_sql.report.words.numbers import counted, number, printable
from kanon_sql.report.words.phrases import Phrases
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult


def _composed_k(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    both, alone = check.details["in_both"], check.details["alone"]
    if check.holds is False:
        extent = (
            f"{number(check.violating_people or 0)} of {counted(both, 'person')} who are in both "
            f"are in crowds of fewer than {number(k or 0)}"
        )
    else:
        extent = (
            f"linking the records of any of the {counted(both, 'person')} who are in both finds "
            f"{counted(check.achieved, 'person')} or more"
        )
    extent += (
        f"; by themselves, the releases have k {number(alone['release'])} and "
        f"{number(alone['earlier'])}"
    )
    return Phrases(f"k is {number(check.achieved)}", f"{extent}{_of_one_alone(check)}", k)


def _of_one_alone(check: CheckResult) -> str:
    """People in only one release, with the smallest crowd of each."""
    crowds = (
        f"; people only in {where}: {number(check.details[which]['people'])}, smallest crowd "
        f"{number(check.details[which]['k'])}"
        for which, where in (("joiners", "this release"), ("leavers", "the earlier one"))
        if check.details[which]["people"]
    )
    return "".join(crowds)


def _composed_l(check: CheckResult, table: TableResult) -> Phrases:
    l: int | None = check.parameters.get("l")
    sensitive = printable(check.parameters["sensitive"])
    certain, changed = check.details["certain_people"], check.details["changed_people"]
    if check.achieved is None:
        return Phrases(f"no {sensitive} fits both releases", "nothing can be said", l)
    result = f"at least {counted(check.achieved, 'value')} of {sensitive} left"
    both = counted(check.details["in_both"], "person")
    parts = []
    if check.holds is False:
        parts.append(f"{number(check.violating_people or 0)} of {both} are left with fewer")
    if certain:
        parts.append(f"for {counted(certain, 'person')} the value is certain, unless it changed")
    if changed:
        parts.append(f"for {counted(changed, 'person')} it must have changed")
    return Phrases(result, "; ".join(parts) or f"none of {both} in both is left with one", l)


PHRASES = {"composed_k_anonymity": _composed_k, "composed_l_diversity": _composed_l}
