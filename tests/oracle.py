"""Every model again, in plain Python over lists of records, written from the definitions.

A record is a dict from column to value; None is NULL. Nothing here is fast and nothing is shared
with the package: where the two disagree, one of them has misread the definition. The section
numbers are those of the papers named at each model; quotients are exact until the last line.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from matching import matcher

Record = Mapping[str, Any]
Found = tuple[dict[str, Any], list["Class"]]
"""What a model measures, and the classes that violate it."""

AT_RISK = Fraction(1, 5)
"""El Emam 2013: a record is at risk where its chance of re-identification is above this."""

SUMMARY = [
    *("people", "classes", "k", "average_class_size", "largest_class", "uniques"),
    *("records_with_null_qi", "suppressed"),
]


@dataclass(frozen=True)
class Class:
    """Records that agree on the quasi-identifiers, and how many could be meant by them.

    `size` counts records, people where there is an entity, or compatible records where NULL is a
    wildcard. `weight` is what the class adds to the denominator of a share.
    """

    cells: tuple[Any, ...]
    records: tuple[Record, ...]
    size: int
    weight: int


@dataclass(frozen=True)
class Reference:
    """The reidentification dataset. `columns` maps a quasi-identifier to the reference's name."""

    records: Sequence[Record]
    columns: Mapping[str, str] | None = None
    entity: str | None = None
    weight: str | None = None


@dataclass(frozen=True)
class Question:
    """What is asked of the records, in the words of a spec file."""

    quasi_identifiers: Sequence[str]
    sensitive: Sequence[str] = ()
    entity: str | None = None
    nulls: str = "value"
    sensitive_nulls: str = "value"
    references: Mapping[str, Reference] | None = None
    checks: Sequence[Mapping[str, Mapping[str, Any]]] = ()


def audit(records: Sequence[Record], question: Question) -> dict[str, Any]:
    """The figures of one table: status, summary, histogram, checks and risk."""
    classes = equivalence_classes(records, question)
    asked = [next(iter(check.items())) for check in question.checks]
    checks = [
        check(name, parameters, classes, question, gates)
        for name, parameters, gates in _asked_and_measured(asked, question)
    ]
    gated = [check["holds"] for check in checks if check["holds"] is not None]
    status = "violated" if not all(gated) else "holds" if gated else "measured"
    return {
        "status": status if records else "no_data",
        "summary": summary(records, classes, question),
        "histogram": histogram(classes),
        "checks": checks,
        "risk": risk(classes, question),
    }


def check(
    name: str,
    parameters: Mapping[str, Any],
    classes: Sequence[Class],
    question: Question,
    gates: bool,
) -> dict[str, Any]:
    """One model's verdict. What is only measured has neither a verdict nor violations."""
    nothing = {"holds": None, "violating_classes": None, "violating_records": None}
    found = {"model": name, "parameters": _in_force(name, parameters, question)}
    if not classes:
        return found | {"achieved": None} | nothing
    figures, violating = MODELS[name](classes, question, found["parameters"])
    if not gates:
        return found | figures | nothing
    return (
        found
        | figures
        | {
            "holds": not violating,
            "violating_classes": len(violating),
            "violating_records": sum(len(each.records) for each in violating),
        }
    )


def _asked_and_measured(
    asked: list[tuple[str, Mapping[str, Any]]], question: Question
) -> Iterable[tuple[str, Mapping[str, Any], bool]]:
    """What can fail comes first, then what was asked without a threshold, then the unasked."""
    names = list(question.references or {})
    marked = [(name, p, name == "homogeneity" or "k" in p) for name, p in asked]
    yield from sorted(marked, key=lambda each: not each[2])
    if "k_anonymity" not in dict(asked):
        yield "k_anonymity", {}, False
    matched = [p.get("reference", names[0]) for name, p in asked if name == "k_map"]
    yield from (("k_map", {"reference": name}, False) for name in names if name not in matched)
    judged = [p["sensitive"] for name, p in asked if name == "homogeneity"]
    if question.nulls == "value":
        for column in question.sensitive:
            if column not in judged:
                yield "homogeneity", {"sensitive": column}, False


def _in_force(name: str, parameters: Mapping[str, Any], question: Question) -> dict[str, Any]:
    if name != "k_map":
        return dict(parameters)
    first = next(iter(question.references or {}))
    return {"reference": first, "match": "containment", "missing": "strict", **parameters}


# --- classes --------------------------------------------------------------------------------


def equivalence_classes(records: Sequence[Record], question: Question) -> list[Class]:
    """The classes, or with wildcards the distinct patterns, each with its size."""
    grouped: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        cells = tuple(comparable(record[column]) for column in question.quasi_identifiers)
        grouped.setdefault(cells, []).append(record)
    wildcard = question.nulls == "wildcard"
    classes = []
    for cells, members in grouped.items():
        size = people(members, question.entity)
        if wildcard:
            size = sum(len(others) for seen, others in grouped.items() if compatible(cells, seen))
        weight = len(members) if wildcard else size
        classes.append(Class(cells, tuple(members), size, weight))
    return classes


def comparable(value: Any) -> Any:
    """The value such that equal values are equal: NaN equals NaN, as GROUP BY has it."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def compatible(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Templ, Kowarik, Meindl 2015, 4.1: equal wherever neither is missing. Not transitive."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=True))


def people(records: Iterable[Record], entity: str | None) -> int:
    """Distinct people, or records where nobody says whose they are."""
    if entity is None:
        return len(list(records))
    return len({comparable(record[entity]) for record in records})


# --- the table at a glance ------------------------------------------------------------------


def summary(
    records: Sequence[Record], classes: Sequence[Class], question: Question
) -> dict[str, Any]:
    if not records:
        return {"records": 0} | dict.fromkeys(SUMMARY)
    sizes = [each.size for each in classes]
    return {
        "records": len(records),
        "people": people(records, question.entity) if question.entity else None,
        "classes": len(classes),
        "k": min(sizes),
        "average_class_size": float(Fraction(sum(sizes), len(classes))),
        "largest_class": max(sizes),
        "uniques": sizes.count(1),
        "records_with_null_qi": sum(len(each.records) for each in classes if None in each.cells),
        "suppressed": sum(len(each.records) for each in classes if set(each.cells) == {"*"}),
    }


def histogram(classes: Sequence[Class]) -> list[dict[str, int]]:
    numbers = Counter(each.size for each in classes)
    records = Counter[int]()
    for each in classes:
        records[each.size] += len(each.records)
    return [
        {"size": size, "classes": numbers[size], "records": records[size]}
        for size in sorted(numbers)
    ]


def risk(classes: Sequence[Class], question: Question) -> dict[str, Any]:
    """El Emam 2013, chapter 16. Journalist and marketer look at the first reference."""
    if not classes:
        return dict.fromkeys(["prosecutor", "journalist", "marketer"])
    prosecutor = _risks([(each.weight, each.size) for each in classes])
    if not question.references:
        return {"prosecutor": prosecutor, "journalist": None, "marketer": None}
    first = _in_force("k_map", _first_match(question), question)
    released = [
        (own_size(each, question), max(own_size(each, question), matching))
        for each, matching in zip(classes, populations(classes, question, first), strict=True)
    ]
    total = sum(size for size, _ in released)
    marketer = sum(Fraction(size, population) for size, population in released) / total
    least_average = Fraction(len(released), sum(population for _, population in released))
    return {
        "prosecutor": prosecutor,
        "journalist": _risks(released) | {"average": float(max(least_average, marketer))},
        "marketer": {"average": float(marketer)},
    }


def _first_match(question: Question) -> Mapping[str, Any]:
    """The first k-map that was asked of the first reference, else the one that is measured."""
    first = next(iter(question.references or {}))
    asked = (c["k_map"] for c in question.checks if "k_map" in c)
    return next((p for p in asked if p.get("reference", first) == first), {})


def _risks(weighted: Sequence[tuple[int, int]]) -> dict[str, float]:
    """Of (how many, among how many): the chance of each is one in so many."""
    total = sum(weight for weight, _ in weighted)
    return {
        "highest": float(max(Fraction(1, size) for _, size in weighted)),
        "average": float(sum(Fraction(weight, size) for weight, size in weighted) / total),
        "at_risk": float(
            Fraction(sum(w for w, size in weighted if Fraction(1, size) > AT_RISK), total)
        ),
        "threshold": float(AT_RISK),
    }


def own_size(each: Class, question: Question) -> int:
    """How many of the release itself are in a class: what a reference must at least contain."""
    return people(each.records, question.entity)


# --- k-anonymity ----------------------------------------------------------------------------


def k_anonymity(
    classes: Sequence[Class], question: Question, parameters: Mapping[str, Any]
) -> Found:
    """Sweeney 2002, definition 3: every combination occurs at least k times."""
    figures: dict[str, Any] = {"achieved": min(each.size for each in classes)}
    if question.nulls == "wildcard":
        figures["achieved_nulls_as_value"] = min(len(each.records) for each in classes)
    if question.entity:
        profiles: dict[Any, set[int]] = {}
        for place, each in enumerate(classes):
            for record in each.records:
                profiles.setdefault(comparable(record[question.entity]), set()).add(place)
        sizes = Counter(frozenset(profile) for profile in profiles.values()).values()
        figures["profile_k"] = min(sizes)
        figures["profile_uniques"] = list(sizes).count(1)
    return figures, [each for each in classes if each.size < parameters.get("k", 0)]


# --- homogeneity ----------------------------------------------------------------------------


def homogeneity(
    classes: Sequence[Class], question: Question, parameters: Mapping[str, Any]
) -> Found:
    """Machanavajjhala et al. 2007, 2.1: a class that gives a sensitive value away."""
    found = [each for each in classes if _gives_away(each, parameters["sensitive"], question)]
    singletons = [each for each in found if each.size == 1]
    return {"achieved": len(found), "singleton_classes": len(singletons)}, found


def _gives_away(each: Class, sensitive: str, question: Question) -> bool:
    holders: dict[Any, set[Any]] = {}
    for place, record in enumerate(each.records):
        person = comparable(record[question.entity]) if question.entity else place
        holders.setdefault(comparable(record[sensitive]), set()).add(person)
    if question.sensitive_nulls == "unknown":
        holders.pop(None, None)
    if question.entity is None:
        return len(holders) == 1
    informed = set().union(*holders.values())
    return any(held_by == informed for held_by in holders.values())


# --- k-map ----------------------------------------------------------------------------------


def k_map(classes: Sequence[Class], question: Question, parameters: Mapping[str, Any]) -> Found:
    """Sweeney 2002: every combination of the release occurs at least k times in the reference."""
    matched = populations(classes, question, parameters)
    own = [own_size(each, question) for each in classes]
    union = parameters["missing"] == "union"
    counted = [max(f, F) if union else F for f, F in zip(own, matched, strict=True)]
    unmatched = [each for each, F in zip(classes, matched, strict=True) if F == 0]
    figures = {
        "achieved": min(counted),
        "unmatched_classes": len(unmatched),
        "unmatched_records": sum(len(each.records) for each in unmatched),
        "exceeding_classes": sum(0 < F < f for f, F in zip(own, matched, strict=True)),
    }
    k = parameters.get("k", 0)
    return figures, [each for each, F in zip(classes, counted, strict=True) if k > F]


def populations(
    classes: Sequence[Class], question: Question, parameters: Mapping[str, Any]
) -> list[int]:
    """How many of the reference each class of the release could stand for."""
    reference = (question.references or {})[parameters["reference"]]
    names = [(reference.columns or {}).get(q, q) for q in question.quasi_identifiers]
    matches = [
        matcher(
            [each.cells[place] for each in classes],
            [comparable(record[name]) for record in reference.records],
            exact=parameters["match"] == "exact",
            null=question.nulls == "wildcard",
        )
        for place, name in enumerate(names)
    ]
    counts = []
    for each in classes:
        members = [
            record
            for record in reference.records
            if all(
                matches[place](each.cells[place], comparable(record[name]))
                for place, name in enumerate(names)
            )
        ]
        weighed = reference.weight is not None
        counts.append(
            sum(int(record[reference.weight]) for record in members)
            if weighed
            else people(members, reference.entity)
        )
    return counts


Verdict = Callable[[Sequence[Class], Question, Mapping[str, Any]], Found]
MODELS: dict[str, Verdict] = {
    "k_anonymity": k_anonymity,
    "k_map": k_map,
    "homogeneity": homogeneity,
}
"""Every model: what it measures, and the classes that violate it."""
