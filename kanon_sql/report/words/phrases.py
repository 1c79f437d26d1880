"""The result of each check in words: next to its requirement, or as a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kanon_sql.question.models.base import ClassWords, Model
from kanon_sql.question.models.catalogue import ALL_MODELS, MODELS
from kanon_sql.question.models.diversity import EntropyLDiversity
from kanon_sql.report.words import events
from kanon_sql.report.words.cells import has_words, words_of_rule
from kanon_sql.report.words.numbers import (
    KEPT_TOGETHER,
    counted,
    exact_percent,
    member,
    members,
    number,
    ordinal,
    percent,
    printable,
    sentence,
)
from kanon_sql.results.cells import CellsResult
from kanon_sql.results.table import CheckResult, TableResult


class Phrases(NamedTuple):
    """A check's result next to its requirement, and how far its violations reach."""

    achieved: str
    extent: str
    required: float | str | None = None

    @property
    def with_requirement(self) -> str:
        """The result, and its requirement where there is one."""
        if self.required is None:
            return self.achieved
        requirement = number(self.required) if isinstance(self.required, int) else self.required
        return f"{self.achieved}, asked for {requirement}"


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
        extent = f"{_violating(check, table)} of fewer than {counted(k or 0, member(table))}"
    elif check.holds:
        extent = f"every class has {number(check.achieved)} or more {members(table)}"
    else:
        extent = f"the smallest class has {counted(check.achieved, member(table))}"
    return Phrases(result, extent, k)


def _k_map(check: CheckResult, table: TableResult) -> Phrases:
    k: int | None = check.parameters.get("k")
    reference = _reference(check)
    if check.parameters.get("missing") == "union":
        reference = f"{reference} and the release together"
    result = f"k is {number(check.achieved)} in {reference}"
    if check.holds is False:
        extent = f"{_violating(check, table)} that match fewer than {number(k or 0)} in {reference}"
    elif check.achieved == 0:
        unmatched = counted(check.details["unmatched_classes"], "class")
        extent = f"nobody in {reference} matches {unmatched} of the release"
    else:
        extent = f"every class matches {number(check.achieved)} or more in {reference}"
    return Phrases(result, extent, k)


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
        whose = f"{_records_and_people(check, table)} give it away: "
        return Phrases(result, f"{whose if check.violating_records else ''}{parts}")
    return Phrases(result, f"{_violating(check, table)}: {parts}", "none")


def _homogeneous_parts(together: int, alone: int, table: TableResult) -> str:
    classes = (
        f"{counted(together, 'class')} of 2 or more {members(table)} "
        f"{'shares' if together == 1 else 'share'} one value"
    )
    single = f"{counted(alone, member(table))} {'is' if alone == 1 else 'are'} alone"
    return ", ".join([*([classes] if together else []), *([single] if alone else [])])


def _of_worst_class(words: ClassWords, check: CheckResult, table: TableResult) -> Phrases:
    """The phrases of a model judged on its worst class."""
    thresholds = words.thresholds or MODELS[check.model].thresholds
    in_force = [key for key in thresholds if check.parameters.get(key) is not None]
    requirement = " and ".join(
        number(check.parameters[key])
        if in_force == [thresholds[0]]
        else f"{key} {number(check.parameters[key])}"
        for key in in_force
    )
    if check.achieved is None:
        return Phrases("no class has a known value", "", requirement or None)
    result = words.found.format(number(check.achieved), **_number_details(check))
    if check.holds is False:
        threshold = check.parameters.get(thresholds[0])
        extent = words.violating.format(number(threshold) if threshold is not None else requirement)
        if words.certain and table.entity:
            extent += ", or with a value shared by the whole class"
        return Phrases(result, f"{_violating(check, table)} {extent}".strip(), requirement)
    worst = words.worst.format(number(check.achieved), **_number_details(check))
    return Phrases(result, worst if check.holds or words.always else "", requirement or None)


def _number_details(check: CheckResult) -> dict[str, str]:
    return {
        key: number(value) for key, value in check.details.items() if isinstance(value, int | float)
    }


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
    return _of_worst_class(words, check, table)


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
    return _of_worst_class(words, check, table)


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
    return _of_worst_class(words, check, table)


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
    return _of_worst_class(words, check, table)


def _delta_presence(check: CheckResult, table: TableResult) -> Phrases:
    least, most = check.achieved["min"], check.achieved["max"]
    if least is None:
        result = "no class of the reference has people"
    else:
        result = f"from {number(least)} to {number(most)}"
    bounds = [check.parameters.get(end) for end in ("min", "max")]
    requirement = " to ".join(number(bound) if bound is not None else "any" for bound in bounds)
    if check.holds is None:
        return Phrases(result, f"the chance of being in the release, over {_reference(check)}")
    if check.holds:
        return Phrases(result, f"every class of {_reference(check)} is within", requirement)
    classes = counted(check.violating_classes or 0, "class")
    of_people = check.violating_people
    outside = (check.violating_records or 0) if of_people is None else of_people
    people = counted(outside, "person")
    return Phrases(result, f"{people} of {_reference(check)} in {classes} are outside", requirement)


def _risk(check: CheckResult, table: TableResult) -> Phrases:
    """The phrases of prosecutor and journalist risk: the required figures, then the others."""
    above = f"of the {members(table)} above {exact_percent(check.parameters['threshold'])}"
    figures = {
        "max_highest": ("highest {}", check.achieved),
        "max_average": ("average {}", check.details["average"]),
        "max_at_risk": ("{} " + above, check.details["at_risk"]),
    }
    bounds = {
        key: check.parameters[key] for key in figures if check.parameters.get(key) is not None
    }
    first = bounds or {"max_highest": None}
    required_figures, other_figures = (
        ", ".join(
            words.format(percent(figure))
            for key, (words, figure) in figures.items()
            if (key in first) is is_first
        )
        for is_first in (True, False)
    )
    requirement = ", ".join(
        (figures[key][0] if len(bounds) > 1 else "{}").format(exact_percent(bound))
        for key, bound in bounds.items()
    )
    reach = f"{_violating(check, table)} with too high a chance" if check.violating_classes else ""
    parts = (other_figures, reach, _not_contained(check))
    return Phrases(required_figures, "; ".join(part for part in parts if part), requirement or None)


def _share(check: CheckResult, table: TableResult) -> Phrases:
    model = MODELS[check.model]
    requirement = check.parameters.get(model.thresholds[0])
    parts = (model.share_words.format(members(table)), _not_contained(check))
    extent = "; ".join(part for part in parts if part)
    return Phrases(
        percent(check.achieved), extent, None if requirement is None else exact_percent(requirement)
    )


def _not_contained(check: CheckResult) -> str:
    """Why a risk is violated by a reference that does not contain the release, whatever it is."""
    lacking = ("unmatched_classes", "exceeding_classes")
    classes = sum(check.details.get(name, 0) for name in lacking)
    if check.holds is not False or not classes or check.parameters.get("missing") == "union":
        return ""
    fewer = f"it has fewer people than the release in {counted(classes, 'class')}"
    return f"{_reference(check)} can't contain the release: {fewer}"


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
        extent = f"{_violating(check, table)} of fewer than {number(required)}, too few"
    else:
        extent = "every class is large enough"
    return Phrases(
        f"{result}, {number(required)} needed by estimate",
        f"{extent} for {number(check.parameters['k'])} people of "
        f"{number(check.parameters['population'])}, by estimate",
    )


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
    l: int | None = check.parameters.get("l")  # noqa: E741 - the name that the field uses
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


_PHRASES: dict[str, Callable[[CheckResult, TableResult], tuple[Any, ...]]] = {
    "k_anonymity": _k_anonymity,
    "k_map": _k_map,
    "delta_presence": _delta_presence,
    "homogeneity": _homogeneity,
    "recursive_cl_diversity": _recursive,
    "t_closeness": _t_closeness,
    "delta_disclosure": _delta_disclosure,
    "enhanced_beta_likeness": _enhanced_beta,
    "prosecutor_risk": _risk,
    "journalist_risk": _risk,
    "population_uniqueness": _population_uniqueness,
    "k_map_estimate": _k_map_estimate,
    "composed_k_anonymity": _composed_k,
    "composed_l_diversity": _composed_l,
    "km_anonymity": events.km_anonymity_phrases,
    "known_events": events.known_events_phrases,
}
"""Phrases of models without declared words, or with words that depend on the result."""


def has_phrases(name: str) -> bool:
    """Whether a model has phrases."""
    model = ALL_MODELS[name]
    return name in _PHRASES or has_words(name) or bool(model.words or model.share_words)


def phrases(check: CheckResult, table: TableResult) -> Phrases:
    """A check's result next to its requirement, and its extent."""
    if isinstance(table, CellsResult):
        return Phrases(*words_of_rule(check, table))
    model = MODELS[check.model]
    if model.words:
        return _of_worst_class(model.words, check, table)
    if model.share_words:
        return _share(check, table)
    return Phrases(*_PHRASES[check.model](check, table))


def _violating(check: CheckResult, table: TableResult) -> str:
    """As in `812,340 records (67.5 %) in 640,112 classes`."""
    return (
        f"{_records_and_people(check, table)} in {counted(check.violating_classes or 0, 'class')}"
    )


def _records_and_people(check: CheckResult, table: TableResult) -> str:
    """As in `12 records (4.1 %)`; with an entity `9 records (4.1 %) of 3 people (2.6 %)`."""
    records = check.violating_records or 0
    share = percent(records / (table.summary.records or 1))
    of_whom = ""
    if check.violating_people is not None and table.summary.people:
        of_people = percent(check.violating_people / table.summary.people)
        of_whom = f" of {counted(check.violating_people, 'person')}{KEPT_TOGETHER}({of_people})"
    return f"{counted(records, 'record')}{KEPT_TOGETHER}({share}){of_whom}"


def _reference(check: CheckResult) -> str:
    return printable(str(check.parameters.get("reference") or "the reference"))


# --- what each sensitive model reveals about an attribute, in sentences -----------------------


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
    *(
        name
        for name, model in MODELS.items()
        if model.answered_by == "values" and name not in _LEADING_MODELS
    ),
)
"""The sensitive models in order of presentation; the first three matter most."""


CountFormat = Callable[[int, str], str]
"""Formats a count with its noun."""


def worst_class(
    check: CheckResult, table: TableResult, count_format: CountFormat = counted
) -> str | None:
    """The worst class in words; None for a model that isn't sensitive. `count_format` formats
    each count."""
    model = MODELS[check.model]
    if model.answered_by != "values" or check.achieved is None:
        return None
    if check.model in _SENTENCES:
        return _SENTENCES[check.model](check, table, count_format)
    return _as_declared(check, model)


def _as_declared(check: CheckResult, model: type[Model]) -> str:
    words = model.words
    assert words is not None, f"{check.model} has no sentence"
    return words.sentence.format(
        number(check.achieved), share=percent(check.achieved), sensitive=_attribute(check)
    )


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


def _attribute(check: CheckResult) -> str:
    return printable(str(check.parameters.get("sensitive")))


def _homogeneous_sentence(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    alone = check.details.get("singleton_classes", 0)
    together = check.achieved - alone
    sentences = [
        _shared_value_sentence(together, check, table, count_format) if together else "",
        _singleton_sentence(alone, member(table), count_format, besides=bool(together)),
    ]
    none = f"No class gives its {_attribute(check)} away."
    return " ".join(sentence for sentence in sentences if sentence) or none


def _shared_value_sentence(
    together: int, check: CheckResult, table: TableResult, count_format: CountFormat
) -> str:
    """Classes of several members that share a value; people may have further values."""
    members, shared = (
        ("people", f"a value of {_attribute(check)} that all of them share")
        if table.entity
        else ("records", f"one {_attribute(check)} throughout")
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
        consequence = f"so the {_attribute(check)} of everyone there is known"
        return f"The worst class has 1{KEPT_TOGETHER}value, {consequence}."
    return (
        f"The worst class has {counted(check.achieved, 'value')} of {_attribute(check)}: anyone "
        "who rules out all but one knows it."
    )


def _entropy(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    if number(check.achieved) == "1":
        return f"In the worst class the {_attribute(check)} is certain."
    return _as_declared(check, EntropyLDiversity)


def _recursive_sentence(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    rank = check.parameters["l"]
    if check.achieved == math.inf:
        return f"A class has too few values for l = {number(rank)}: no c holds."
    return (
        f"In the worst class the most frequent {_attribute(check)} occurs "
        f"{number(check.achieved)} times as often as all from the {ordinal(rank)} on together."
    )


def _range(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    distinct = check.details.get("distinct")
    values = f"; each has {counted(distinct, 'value')} or more" if isinstance(distinct, int) else ""
    return f"The {_attribute(check)} of every class spans {number(check.achieved)} or more{values}."


def _t(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    distance = check.parameters.get("distance", "equal")
    by = {"equal": "", "ordered": " by rank", "hierarchical": " in the tree"}[distance]
    ignored = (
        f" {sentence('equal_ignores_distance')}"
        if distance == "equal" and check.parameters.get("sensitive") in table.numbers
        else ""
    )
    return (
        f"In the worst class, the distribution of {_attribute(check)} is {number(check.achieved)} "
        f"away from that of the table{by} (0: the same; 1: the largest possible distance)."
        f"{ignored}"
    )


def _delta(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    if check.achieved == math.inf:
        present = check.details.get("present_only")
        over = f" Over the values present δ is {number(present)}." if present is not None else ""
        return (
            f"A class lacks a value of {_attribute(check)} that the table has: its people "
            f"certainly do not have it (δ is infinite).{over}"
        )
    return (
        f"In some class a value of {_attribute(check)} is more or less frequent than in the table "
        f"by a factor of {number(math.exp(check.achieved))} (δ {number(check.achieved)})."
    )


def _beta(check: CheckResult, table: TableResult, count_format: CountFormat) -> str:
    if check.achieved == math.inf:
        return (
            f"A value of {_attribute(check)} gains more in a class than −ln of its share in the "
            "table: no β holds."
        )
    return (
        f"In the worst class a value of {_attribute(check)} is {number(1 + check.achieved)} times "
        f"as frequent as in the table (β {number(check.achieved)})."
    )


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
