"""What a table gives away of a sensitive attribute, a sentence for each model that looked.

Three questions in an order: what a class gives away, how sure one can be, how far a class is from
the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from kanon_sql.report.words.numbers import (
    counted,
    number,
    ordinal,
    percent,
    printable,
)
from kanon_sql.results.table import CheckResult, TableResult
from kanon_sql.spec.models.base import SensitiveModel
from kanon_sql.spec.models.catalogue import MODELS

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
        if issubclass(model, SensitiveModel) and name not in _FIRST
    ),
)
"""The models on sensitive values as people read them; the first three matter most."""


Counted = Callable[[int, str], str]
"""What says how many there are of something."""


class Told(NamedTuple):
    """What a model says of its worst class, and what is usual."""

    sentence: str
    usual: str


def told(check: CheckResult, table: TableResult, say: Counted = counted) -> Told | None:
    """The worst class in words; None for a model that is not about them. `say` says a
    count with its noun."""
    model = MODELS[check.model]
    if not issubclass(model, SensitiveModel) or check.achieved is None:
        return None
    if check.model in _CHOSEN:
        return _CHOSEN[check.model](check, table, say)
    words = model.words
    assert words is not None, f"nothing is said of {check.model}"
    sentence = words.told.format(
        number(check.achieved), share=percent(check.achieved), sensitive=_attribute(check)
    )
    return Told(sentence, words.usual)


def in_order(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """Checks on sensitive values as they are read: an attribute after the other, and of each what
    matters first."""
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


def _homogeneity(check: CheckResult, table: TableResult, say: Counted) -> Told:
    usual = "None is what is usually asked."
    member = "person" if table.entity else "record"
    alone = check.details.get("singleton_classes", 0)
    together = check.achieved - alone
    if not check.achieved:
        return Told(f"No class gives its {_attribute(check)} away.", usual)
    shared = (
        f"{say(together, 'class')} of 2 or more {member}s "
        f"{'has' if together == 1 else 'have'} one {_attribute(check)} throughout: whoever finds "
        "the class knows it."
        if together
        else f"No class of 2 or more has a single {_attribute(check)}."
    )
    return Told(f"{shared} {_alone(alone, member, say)}".strip(), usual)


def _alone(alone: int, member: str, say: Counted) -> str:
    if not alone:
        return ""
    are = "is" if alone == 1 else "are"
    return (
        f"Apart from these, {say(alone, member)} {are} alone in the class, and the value is "
        "known with the record."
    )


def _distinct(check: CheckResult, table: TableResult, say: Counted) -> Told:
    values = say(check.achieved, "value")
    certain = ", so it is known of everyone there" if check.achieved == 1 else ""
    return Told(
        f"The worst class has {values} of {_attribute(check)}{certain}.",
        "2 to 5 are usual; 1 gives it away.",
    )


def _recursive(check: CheckResult, table: TableResult, say: Counted) -> Told:
    rank = check.parameters["l"]
    if check.achieved == math.inf:
        sentence = f"A class has too few values for l = {number(rank)}: no c would do."
    else:
        sentence = (
            f"In the worst class the most frequent {_attribute(check)} is {number(check.achieved)} "
            f"times as frequent as those from the {ordinal(rank)} on together."
        )
    return Told(sentence, "c of 2 to 4 is usual.")


def _range(check: CheckResult, table: TableResult, say: Counted) -> Told:
    distinct = check.details.get("distinct")
    values = f" and has {say(distinct, 'value')}" if isinstance(distinct, int) else ""
    return Told(
        f"The {_attribute(check)} of the narrowest class spans {number(check.achieved)}{values}.",
        "How much is enough depends on the unit.",
    )


def _t(check: CheckResult, table: TableResult, say: Counted) -> Told:
    distance = check.parameters.get("distance", "equal")
    by = {
        "equal": "",
        "ordered": " by rank",
        "hierarchical": " in the tree",
    }[distance]
    ignored = (
        f" {EQUAL_IGNORES_DISTANCE}"
        if distance == "equal" and check.parameters.get("sensitive") in table.numbers
        else ""
    )
    return Told(
        f"The worst class is {number(check.achieved)} away from how {_attribute(check)} is spread "
        f"in the table{by} (0 is the same, 1 is as far as can be).",
        f"0.1 to 0.3 is usual.{ignored}",
    )


def _delta(check: CheckResult, table: TableResult, say: Counted) -> Told:
    if check.achieved == math.inf:
        present = check.details.get("present_only")
        over = f" Over the values present δ is {number(present)}." if present is not None else ""
        return Told(
            f"A class lacks a {_attribute(check)} that the table has, so one can be sure that its "
            f"people don't have it (δ is infinite).{over}",
            "About 1 is usual; few tables have a finite one.",
        )
    return Told(
        f"In some class a {_attribute(check)} is more or less frequent than in the table by a "
        f"factor of {number(math.exp(check.achieved))} (δ {number(check.achieved)}).",
        "About 1 is usual.",
    )


def _beta(check: CheckResult, table: TableResult, say: Counted) -> Told:
    if check.achieved == math.inf:
        return Told(
            f"A {_attribute(check)} gains more in a class than −ln of its share in the table: no β "
            "would do.",
            "1 to 4 is usual.",
        )
    return Told(
        f"In the worst class a {_attribute(check)} is {number(1 + check.achieved)} times as "
        f"frequent as in the table (β {number(check.achieved)}).",
        "1 to 4 is usual.",
    )


_CHOSEN: dict[str, Callable[[CheckResult, TableResult, Counted], Told]] = {
    "homogeneity": _homogeneity,
    "l_diversity": _distinct,
    "p_sensitive_k_anonymity": _distinct,
    "recursive_cl_diversity": _recursive,
    "k_e_anonymity": _range,
    "t_closeness": _t,
    "delta_disclosure": _delta,
    "basic_beta_likeness": _beta,
    "enhanced_beta_likeness": _beta,
}
"""What says it of a model whose words depend on what was found."""
EQUAL_IGNORES_DISTANCE = (
    "Distance equal ignores how far numbers lie apart: 30 and 31 are as far as 30 and 3000; "
    "distance=ordered ranks them."
)
"""What is said where t-closeness looks at numbers as if they were names."""
