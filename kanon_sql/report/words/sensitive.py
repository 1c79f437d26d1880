"""What each sensitive model reveals about an attribute, in sentences.

Ordered by three questions: what a class discloses, how certain an attacker can be, how far a class
is from the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    member,
    number,
    ordinal,
    percent,
    printable,
)
from kanon_sql.results.table import CheckResult, TableResult
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.catalogue import MODELS
from kanon_sql.spec.models.diversity import EntropyLDiversity

_FIRST = (
    "homogeneity",
    "alpha_k_anonymity",
    "t_closeness",
    "l_diversity",
    "p_sensitive_k_anonymity",
    "entropy_l_diversity",
    "recursive_cl_diversity",
)
ORDER = (
    *_FIRST,
    *(
        name
        for name, model in MODELS.items()
        if model.answered_by == "values" and name not in _FIRST
    ),
)
"""The sensitive models in order of presentation; the first three matter most."""


Counted = Callable[[int, str], str]
"""Formats a count with its noun."""


class WorstClass(NamedTuple):
    """A sentence on the worst class, and a caveat."""

    sentence: str
    caution: str = ""


def worst_class(
    check: CheckResult, table: TableResult, say: Counted = counted
) -> WorstClass | None:
    """The worst class in words; None for a model that isn't sensitive. `say` formats counts."""
    model = MODELS[check.model]
    if model.answered_by != "values" or check.achieved is None:
        return None
    if check.model in _CHOSEN:
        return _CHOSEN[check.model](check, table, say)
    return _as_declared(check, model)


def _as_declared(check: CheckResult, model: type[Model]) -> WorstClass:
    words = model.words
    assert words is not None, f"{check.model} has no sentence"
    return WorstClass(
        words.sentence.format(
            number(check.achieved), share=percent(check.achieved), sensitive=_attribute(check)
        )
    )


def in_order(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """Sensitive checks by attribute, then by importance."""
    found = [check for check in checks if check.model in ORDER]
    attributes = list(dict.fromkeys(check.parameters.get("sensitive") for check in found))
    return sorted(
        found,
        key=lambda check: (
            attributes.index(check.parameters.get("sensitive")),
            ORDER.index(check.model),
        ),
    )


def _attribute(check: CheckResult) -> str:
    return printable(str(check.parameters.get("sensitive")))


def _homogeneity(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    alone = check.details.get("singleton_classes", 0)
    together = check.achieved - alone
    sentences = [
        _throughout(together, check, table, say) if together else "",
        _alone(alone, member(table), say, besides=bool(together)),
    ]
    none = f"No class gives its {_attribute(check)} away."
    return WorstClass(" ".join(each for each in sentences if each) or none)


def _throughout(together: int, check: CheckResult, table: TableResult, say: Counted) -> str:
    """Classes of several members that share a value; people may have further values."""
    members, shared = (
        ("people", f"a value of {_attribute(check)} that all of them share")
        if table.entity
        else ("records", f"one {_attribute(check)} throughout")
    )
    classes = say(together, "class")
    has = "has" if classes == counted(1, "class") else "have"
    return f"{classes} of 2 or more {members} {has} {shared}: anyone who finds the class knows it."


def _alone(alone: int, member: str, say: Counted, *, besides: bool) -> str:
    if not alone:
        return ""
    apart = "Apart from these, " if besides else ""
    many = say(alone, member)
    are = "is" if many == counted(1, member) else "are"
    return f"{apart}{many} {are} alone in the class: anyone who finds the record knows the value."


def _distinct(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    if check.achieved == 1:
        known = f"so the {_attribute(check)} of everyone there is known"
        return WorstClass(f"The worst class has 1{KEPT_TOGETHER}value, {known}.")
    return WorstClass(
        f"The worst class has {counted(check.achieved, 'value')} of {_attribute(check)}: anyone "
        "who rules out all but one knows it."
    )


def _entropy(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    if number(check.achieved) == "1":
        return WorstClass(f"In the worst class the {_attribute(check)} is certain.")
    return _as_declared(check, EntropyLDiversity)


def _recursive(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    rank = check.parameters["l"]
    if check.achieved == math.inf:
        sentence = f"A class has too few values for l = {number(rank)}: no c holds."
    else:
        sentence = (
            f"In the worst class the most frequent {_attribute(check)} occurs "
            f"{number(check.achieved)} times as often as all from the {ordinal(rank)} on together."
        )
    return WorstClass(sentence)


def _range(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    distinct = check.details.get("distinct")
    values = f"; each has {counted(distinct, 'value')} or more" if isinstance(distinct, int) else ""
    return WorstClass(
        f"The {_attribute(check)} of every class spans {number(check.achieved)} or more{values}."
    )


def _t(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    distance = check.parameters.get("distance", "equal")
    by = {"equal": "", "ordered": " by rank", "hierarchical": " in the tree"}[distance]
    ignored = (
        EQUAL_IGNORES_DISTANCE
        if distance == "equal" and check.parameters.get("sensitive") in table.numbers
        else ""
    )
    return WorstClass(
        f"In the worst class, the distribution of {_attribute(check)} is {number(check.achieved)} "
        f"away from that of the table{by} (0: the same; 1: the largest possible distance).",
        ignored,
    )


def _delta(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    if check.achieved == math.inf:
        present = check.details.get("present_only")
        over = f" Over the values present δ is {number(present)}." if present is not None else ""
        return WorstClass(
            f"A class lacks a value of {_attribute(check)} that the table has: its people "
            f"certainly do not have it (δ is infinite).{over}"
        )
    return WorstClass(
        f"In some class a value of {_attribute(check)} is more or less frequent than in the table "
        f"by a factor of {number(math.exp(check.achieved))} (δ {number(check.achieved)})."
    )


def _beta(check: CheckResult, table: TableResult, say: Counted) -> WorstClass:
    if check.achieved == math.inf:
        return WorstClass(
            f"A value of {_attribute(check)} gains more in a class than −ln of its share in the "
            "table: no β holds."
        )
    return WorstClass(
        f"In the worst class a value of {_attribute(check)} is {number(1 + check.achieved)} times "
        f"as frequent as in the table (β {number(check.achieved)})."
    )


_CHOSEN: dict[str, Callable[[CheckResult, TableResult, Counted], WorstClass]] = {
    "homogeneity": _homogeneity,
    "l_diversity": _distinct,
    "p_sensitive_k_anonymity": _distinct,
    "entropy_l_diversity": _entropy,
    "recursive_cl_diversity": _recursive,
    "k_e_anonymity": _range,
    "t_closeness": _t,
    "delta_disclosure": _delta,
    "basic_beta_likeness": _beta,
    "enhanced_beta_likeness": _beta,
}
"""Wording of models that depends on the result."""
EQUAL_IGNORES_DISTANCE = (
    "Distance equal ignores how far numbers lie apart: 30 and 31 are as far as 30 and 3000; "
    "distance=ordered ranks them."
)
"""Caveat for t-closeness with equal distance on numbers."""
