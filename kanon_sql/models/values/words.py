"""The wording of checks on the sensitive values of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from kanon_sql.models.base import ClassWords, Model
from kanon_sql.models.catalogue import MODELS, models_of
from kanon_sql.models.values.models import EntropyLDiversity
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    member,
    members,
    number,
    ordinal,
    percent,
    printable,
    sentence,
)
from kanon_sql.report.words.phrases import (
    Phrases,
    attribute,
    of_worst_class,
    records_and_people,
    violating,
)
from kanon_sql.results.check import CheckResult
from kanon_sql.results.table import TableResult


def _homogeneity(check: CheckResult, table: TableResult) -> Phrases:
    sensitive = printable(check.parameters["sensitive"])
    if check.achieved == 0:
        return Phrases(f"no class with a single {sensitive}", "no class gives the value away")
    several = check.details.get("several_valued_classes", 1 if table.entity else 0)
    shared = f"a {sensitive} shared by the whole class" if several else f"a single {sensitive}"
    result = f"{counted(check.achieved, 'class')} with {shared}"
    alone = check.details.get("singleton_classes", 0)
    parts = _homogeneous_parts(check.achieved - alone, alone, table)
    if check.holds is None:
        whose = f"{records_and_people(check, table)} give it away: "
        return Phrases(result, f"{whose if check.violating_records else ''}{parts}")
    return Phrases(result, f"{violating(check, table)}: {parts}", "none")


def _homogeneous_parts(together: int, alone: int, table: TableResult) -> str:
    classes = (
        f"{counted(together, 'class')} of 2 or more {members(table)} "
        f"{'shares' if together == 1 else 'share'} one value"
    )
    single = f"{counted(alone, member(table))} {'is' if alone == 1 else 'are'} alone"
    return ", ".join([*([classes] if together else []), *([single] if alone else [])])


def _recursive(check: CheckResult, table: TableResult) -> Phrases:
    length = check.parameters["l"]
    words = ClassWords(
        found="no c holds" if check.achieved == math.inf else "c must exceed {0}",
        violating=f"where the values from the {ordinal(length)} on are too rare",
        worst=_too_few_values(length, table)
        if check.achieved == math.inf
        else _confidence(check, length),
        always=True,
    )
    return of_worst_class(words, check, table)


def _too_few_values(length: int, table: TableResult) -> str:
    """Why no c suffices; people may have several values, one of them shared by the whole class."""
    or_certain = ", or a value shared by the whole class" if table.entity else ""
    return f"a class has fewer than {counted(length, 'value')}{or_certain}"


def _confidence(check: CheckResult, length: int) -> str:
    """The attacker's certainty after ruling out values; allowed values may be more certain."""
    confidence = check.details.get("confidence")
    if confidence is None:
        return "among the values that may not become known"
    ruled_out = f"after ruling out {counted(length - 2, 'value')}, " if length > 2 else ""
    return f"{ruled_out}an attacker is {percent(confidence)} sure of a value at most"


def _t_closeness(check: CheckResult, table: TableResult) -> Phrases:
    distance = {"equal": "", "ordered": " by rank", "hierarchical": " in the tree"}
    words = ClassWords(
        found=f"t is {{0}}{distance[check.parameters.get('distance', 'equal')]}",
        violating="farther from the table",
        worst="the farthest class is {0} from the table",
    )
    return of_worst_class(words, check, table)


def _delta_disclosure(check: CheckResult, table: TableResult) -> Phrases:
    present = check.details.get("present_only")
    lacking = check.achieved == math.inf
    words = ClassWords(
        found="δ is {0}",
        violating="where the share of a value differs more",
        worst="a class lacks a value of the table"
        + (f"; over the values present δ is {number(present)}" if present is not None else "")
        if lacking
        else "no share differs from the table's by a larger factor than exp {0}",
        always=lacking,
    )
    return of_worst_class(words, check, table)


def _enhanced_beta(check: CheckResult, table: TableResult) -> Phrases:
    infinite = check.achieved == math.inf
    words = ClassWords(
        found="no β holds" if infinite else "β is {0}",
        violating="where the share of a value grows too much",
        worst="a value gains more than −ln of its share"
        if infinite
        else "the largest relative gain of a value over the table is {0}",
        always=infinite,
    )
    return of_worst_class(words, check, table)


def _homogeneous_sentence(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    alone = check.details.get("singleton_classes", 0)
    together = check.achieved - alone
    sentences = [
        _shared_value_sentence(together, check, table, count_format) if together else "",
        _singleton_sentence(alone, member(table), count_format, besides=bool(together)),
    ]
    none = f"No class gives its {attribute(check)} away."
    return " ".join(sentence for sentence in sentences if sentence) or none


def _shared_value_sentence(
    together: int, check: CheckResult, table: TableResult, count_format: CountFormat
) -> str:
    """Classes of several members that share a value; people may have further values."""
    members, shared = (
        ("people", f"a value of {attribute(check)} that all of them share")
        if table.entity
        else ("records", f"one {attribute(check)} throughout")
    )
    classes = count_format(together, "class")
    has = "has" if classes == counted(1, "class") else "have"
    return f"{classes} of 2 or more {members} {has} {shared}: anyone who finds the class knows it."


def _singleton_sentence(
    alone: int, member: str, count_format: CountFormat, *, besides: bool
) -> str:
    if not alone:
        return ""
    apart = "Apart from these, " if besides else ""
    many = count_format(alone, member)
    are = "is" if many == counted(1, member) else "are"
    return f"{apart}{many} {are} alone in the class: anyone who finds the record knows the value."


def _distinct(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    if check.achieved == 1:
        consequence = f"so the {attribute(check)} of everyone there is known"
        return f"The worst class has 1{KEPT_TOGETHER}value, {consequence}."
    ruled_out, left = _RULED_OUT.get(check.achieved, ("all but one", "it"))
    return (
        f"The worst class has {counted(check.achieved, 'value')} of {attribute(check)}: who can "
        f"rule out {ruled_out} knows {left}."
    )


_RULED_OUT = {
    2: ("one of them", "the other"),
    3: ("two of them", "the third"),
    4: ("three of them", "the fourth"),
}
"""How many of a few values somebody rules out, and what is left."""


def _entropy(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    if number(check.achieved) == "1":
        return f"In the worst class the {attribute(check)} is certain."
    return as_declared(check, EntropyLDiversity)


def _recursive_sentence(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    rank = check.parameters["l"]
    if check.achieved == math.inf:
        return f"A class has too few values for l = {number(rank)}: no c holds."
    return (
        f"In the worst class the most frequent {attribute(check)} occurs "
        f"{number(check.achieved)} times as often as all from the {ordinal(rank)} on together."
    )


def _range(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    distinct = check.details.get("distinct")
    values = f"; each has {counted(distinct, 'value')} or more" if isinstance(distinct, int) else ""
    return f"The {attribute(check)} of every class spans {number(check.achieved)} or more{values}."


def _t(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    distance = check.parameters.get("distance", "equal")
    by = {"equal": "", "ordered": " by rank", "hierarchical": " in the tree"}[distance]
    ignored = (
        f" {sentence('equal_ignores_distance')}"
        if distance == "equal" and check.parameters.get("sensitive") in table.numbers
        else ""
    )
    return (
        f"In the worst class, the distribution of {attribute(check)} is {number(check.achieved)} "
        f"away from that of the table{by} (0: the same; 1: the largest possible distance)."
        f"{ignored}"
    )


def _delta(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    if check.achieved == math.inf:
        present = check.details.get("present_only")
        over = f" Over the values present δ is {number(present)}." if present is not None else ""
        return (
            f"A class lacks a value of {attribute(check)} that the table has: its people "
            f"certainly do not have it (δ is infinite).{over}"
        )
    return (
        f"In some class a value of {attribute(check)} is more or less frequent than in the table "
        f"by a factor of {number(math.exp(check.achieved))} (δ {number(check.achieved)})."
    )


def _beta(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    if check.achieved == math.inf:
        return (
            f"A value of {attribute(check)} gains more in a class than −ln of its share in the "
            "table: no β holds."
        )
    return (
        f"In the worst class a value of {attribute(check)} is {number(1 + check.achieved)} times "
        f"as frequent as in the table (β {number(check.achieved)})."
    )


_LEADING_MODELS = (
    "homogeneity",
    "alpha_k_anonymity",
    "t_closeness",
    "l_diversity",
    "p_sensitive_k_anonymity",
    "entropy_l_diversity",
    "recursive_cl_diversity",
)


ORDER = (
    *_LEADING_MODELS,
    *(name for name in models_of("values") if name not in _LEADING_MODELS),
)
"""The sensitive models in order of presentation; the first three matter most."""


def worst_class(
    check: CheckResult, table: TableResult, count_format: CountFormat = counted
) -> str | None:
    """The worst class in words; None for a model that isn't sensitive. `count_format` formats
    each count."""
    model = MODELS[check.model]
    if model.family != "values" or check.achieved is None:
        return None
    if check.model in _SENTENCES:
        return _SENTENCES[check.model](check, table, count_format)
    return as_declared(check, model)


def in_order(checks: Iterable[CheckResult]) -> list[CheckResult]:
    """Sensitive checks by attribute, then by importance."""
    sensitive_checks = [check for check in checks if check.model in ORDER]
    attributes = list(
        dict.fromkeys(check.parameters.get("sensitive") for check in sensitive_checks)
    )
    return sorted(
        sensitive_checks,
        key=lambda check: (
            attributes.index(check.parameters.get("sensitive")),
            ORDER.index(check.model),
        ),
    )


CountFormat = Callable[[int, str], str]
"""Formats a count with its noun."""


def as_declared(check: CheckResult, model: type[Model]) -> str:
    words = model.words
    assert words is not None, f"{check.model} has no sentence"
    return words.sentence.format(
        number(check.achieved), share=percent(check.achieved), sensitive=attribute(check)
    )


PHRASES = {
    "homogeneity": _homogeneity,
    "recursive_cl_diversity": _recursive,
    "t_closeness": _t_closeness,
    "delta_disclosure": _delta_disclosure,
    "enhanced_beta_likeness": _enhanced_beta,
}
_SENTENCES: dict[str, Callable[[CheckResult, TableResult, CountFormat], str]] = {
    "homogeneity": _homogeneous_sentence,
    "l_diversity": _distinct,
    "p_sensitive_k_anonymity": _distinct,
    "entropy_l_diversity": _entropy,
    "recursive_cl_diversity": _recursive_sentence,
    "k_e_anonymity": _range,
    "t_closeness": _t,
    "delta_disclosure": _delta,
    "basic_beta_likeness": _beta,
    "enhanced_beta_likeness": _beta,
}
"""Wording of models that depends on the result."""
