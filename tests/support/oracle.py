"""Every model again, in plain Python over lists of records, written from the definitions.

A record is a dict from column to value; None is NULL. Nothing here is fast and nothing is shared
with the package: where the two disagree, one of them has misread the definition. The section
numbers are those of the papers named at each model; quotients are exact until the last line.
"""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import oracle_of_events
import oracle_of_releases
import oracle_of_synthesis
from matching import as_text, matcher
from oracle_of_synthesis import Tables, Units

Record = Mapping[str, Any]
Parameters = Mapping[str, Any]
Distribution = Mapping[Any, Fraction]

AT_RISK = Fraction(1, 5)
"""El Emam 2013: a record is at risk where its chance of re-identification is above this."""
SLACK = 1e-12
"""What floating point is given: towards lax where a bound may be reached, else towards strict."""
SLACK_OF_T = Fraction(1, 10**9)
NOTHING = 1e-20
"""What may be left out of a sum that is no smaller than one in a million."""

SUMMARY = [
    *("people", "classes", "k", "average_class_size", "largest_class", "uniques"),
    *("records_with_null_qi", "suppressed"),
]


@dataclass(frozen=True)
class Class:
    """Records that agree on the quasi-identifiers, and how many could be meant by them.

    `size` counts records, people where there is an entity, or compatible records where NULL is a
    wildcard.
    """

    cells: tuple[Any, ...]
    records: tuple[Record, ...]
    size: int


@dataclass(frozen=True)
class Reference:
    """The reidentification dataset. `columns` maps a quasi-identifier to the reference's name."""

    records: Sequence[Record]
    columns: Mapping[str, str] | None = None
    entity: str | None = None
    weight: str | None = None


@dataclass(frozen=True)
class Earlier:
    """An earlier release. `columns` maps a column of the table to the earlier release's name."""

    records: Sequence[Record]
    columns: Mapping[str, str] | None = None
    quasi_identifiers: Sequence[str] = ()
    entity: str | None = None

    def named(self, column: str) -> str:
        return (self.columns or {}).get(column, column)


@dataclass(frozen=True)
class Question:
    """What is asked of the records, in the words of a spec file.

    `numeric` names the columns of a number type; where it is None, those that hold numbers.
    """

    quasi_identifiers: Sequence[str]
    sensitive: Sequence[str] = ()
    entity: str | None = None
    nulls: str = "value"
    sensitive_nulls: str = "value"
    weight: str | None = None
    household: str | None = None
    references: Mapping[str, Reference] | None = None
    earlier_releases: Mapping[str, Earlier] | None = None
    checks: Sequence[Mapping[str, Parameters]] = ()
    numeric: Sequence[str] | None = None
    events: Sequence[str] = ()
    original: Units | None = None
    holdout: Units | None = None

    @property
    def asked(self) -> list[tuple[str, Parameters]]:
        """The checks with the parameters that were given."""
        return [
            (name, {key: value for key, value in given.items() if value is not None})
            for check in self.checks
            for name, given in check.items()
        ]

    @property
    def attributes(self) -> list[str]:
        """The sensitive attributes, those that only a check names included."""
        named = [given["sensitive"] for _, given in self.asked if "sensitive" in given]
        return list(dict.fromkeys([*self.sensitive, *named]))


@dataclass(frozen=True)
class Found:
    """What a model measures, and what violates it.

    `violating` are the classes that violate; it is None for a model that judges no single class.
    `holds` is None where nothing more than that is to be judged. `outside` has the people of each
    violating class of the reference instead, where that is what a model judges.
    """

    figures: Mapping[str, Any]
    violating: Sequence[Class] | None
    holds: bool | None = None
    outside: Sequence[int] | None = None
    outsiders: int | None = None
    """How many people of the reference are in these, each once; None where nobody says who."""
    together: tuple[int, int] | None = None
    """How many joint classes of two releases violate, and how many people."""


def audit(records: Sequence[Record], question: Question) -> dict[str, Any]:
    """The figures of one table: status, summary, histogram, checks and risk."""
    classes = equivalence_classes(records, question)
    measured = list(_asked_and_measured(records, question))
    checks = [
        check(name, parameters, classes, question, gates) for name, parameters, gates in measured
    ]
    gated = [check["holds"] for check in checks if check["holds"] is not None]
    undecided = [
        check
        for check in checks
        if check["holds"] is None
        and check.get("evidence")
        and any(bound in check["parameters"] for bound in THRESHOLDS[check["model"]])
    ]
    status = "violated" if not all(gated) else "holds" if gated and not undecided else "measured"
    status = status if records else "no_data"
    there = people_with_events(classes, question) if question.events and records else None
    events = {"events": oracle_of_events.figures(records, there)} if there else {}
    if question.events and not question.quasi_identifiers:
        people_here = people(records, question.entity) if records else None
        return {
            "status": status,
            "summary": dict.fromkeys(SUMMARY) | {"records": len(records), "people": people_here},
            "histogram": [],
            "checks": checks,
            "risk": dict.fromkeys(["prosecutor", "journalist", "marketer"]),
            **events,
        }
    return {
        "status": status,
        "summary": summary(records, classes, question),
        "histogram": histogram(classes, question),
        "checks": checks,
        "risk": risk(classes, question, [(name, parameters) for name, parameters, _ in measured]),
        **events,
    }


def check(
    name: str,
    parameters: Parameters,
    classes: Sequence[Class],
    question: Question,
    gates: bool,
) -> dict[str, Any]:
    """One model's verdict. What is only measured has neither a verdict nor violations."""
    nothing: dict[str, Any] = dict.fromkeys(["holds", "violating_classes", "violating_records"])
    stated = {"model": name, "parameters": _in_force(name, parameters, question)}
    if not classes:
        return stated | {"achieved": None} | nothing
    if name in ("km_anonymity", "known_events") or name in OF_SYNTHESIS:
        return stated | MODELS[name](classes, question, stated["parameters"]).figures
    if stated["parameters"].get("with_other_sensitive"):
        classes = _with_other_sensitive(classes, question, parameters["sensitive"])
    found = MODELS[name](classes, question, stated["parameters"])
    if not gates and name == "homogeneity":
        # The records and people whose value is certain are reported without a check too.
        homogeneous = found.violating or []
        nothing["violating_records"] = sum(len(each.records) for each in homogeneous)
        if question.entity:
            nothing["violating_people"] = _people_in(homogeneous, question)
    if not gates:
        return stated | found.figures | nothing
    if found.together:
        return stated | found.figures | _of_both_releases(found)
    violating, outside = found.violating, found.outside
    counts = outside if violating is None else [len(each.records) for each in violating]
    verdict: dict[str, Any] = {
        "holds": not counts if found.holds is None else found.holds,
        "violating_classes": None if counts is None else len(counts),
        "violating_records": None if counts is None else sum(counts),
    }
    if question.entity and violating is not None:
        verdict["violating_people"] = _people_in(violating, question)
    if found.outsiders is not None:
        verdict["violating_people"] = found.outsiders
    return stated | found.figures | verdict


def _of_both_releases(found: Found) -> dict[str, Any]:
    """What violates are people; where nothing can be said, nobody does."""
    joint, of_people = (
        found.together if found.together and found.holds is not None else (None, None)
    )
    violating = {"violating_classes": joint, "violating_records": None}
    told = {} if of_people is None else {"violating_people": of_people}
    return {"holds": found.holds, **violating, **told}


def _people_of(each: Class, question: Question) -> set[Any]:
    """Who is in a class."""
    return {comparable(record[question.entity or ""]) for record in each.records}


def _people_in(classes: Sequence[Class], question: Question) -> int:
    """Number of people with a record in one of the classes."""
    return len({person for each in classes for person in _people_of(each, question)})


def smallest(classes: Sequence[Class], sizes: Sequence[int], question: Question) -> list[int]:
    """Everyone once: the least of these sizes for each person, or for each record where nobody
    says whose they are."""
    if not question.entity:
        pairs = zip(classes, sizes, strict=True)
        return [size for each, size in pairs for _ in each.records]
    found: dict[Any, int] = {}
    for each, size in zip(classes, sizes, strict=True):
        for person in _people_of(each, question):
            found[person] = min(size, found.get(person, size))
    return list(found.values())


def own_sizes(classes: Sequence[Class], question: Question) -> list[int]:
    """Everyone once, with the size of the smallest of their classes."""
    return smallest(classes, [each.size for each in classes], question)


def _asked_and_measured(
    records: Sequence[Record], question: Question
) -> Iterator[tuple[str, Parameters, bool]]:
    """What can fail comes first, then what was asked without a threshold, then the unasked."""
    asked = question.asked
    marked = [(name, p, any(bound in p for bound in THRESHOLDS[name])) for name, p in asked]
    marked = [(name, p, gates or name == "homogeneity") for name, p, gates in marked]
    yield from sorted(marked, key=lambda each: not each[2])
    if question.events:
        names = {name for name, *_ in marked}
        gated = any(gates for *_, gates in marked)
        if not gated and names.isdisjoint({"km_anonymity", "known_events"}):
            yield from (("known_events", {"m": m}, False) for m in (1, 2))
            yield "km_anonymity", {}, False
        if not question.quasi_identifiers:
            return
    if question.original:
        gated = any(gates for *_, gates in marked)
        if not gated and OF_SYNTHESIS.isdisjoint(dict(asked)):
            yield from (
                (name, {}, False)
                for name in ("copied_records", "replicated_uniques", "singling_out")
            )
            for column in question.attributes:
                yield "disclosive_in_synthetic", {"sensitive": column}, False
                yield "correct_attribution", {"sensitive": column}, False
        return
    if not any(name == "k_anonymity" and "columns" not in p for name, p in asked):
        yield "k_anonymity", {}, False
    names = list(question.references or {})
    matched = [p.get("reference", names[0]) for name, p in asked if name == "k_map"]
    yield from (("k_map", {"reference": name}, False) for name in names if name not in matched)
    if question.nulls == "value":
        demanded = any(gates for *_, gates in marked)
        plain = [(name, p) for name, p in asked if not p.get("with_other_sensitive")]
        answered = {(name, p.get("sensitive")) for name, p in plain}
        for column in question.attributes:
            for name in ["homogeneity"] if demanded else MEASURED:
                fits = name != "k_e_anonymity" or _is_numeric(column, records, question)
                if fits and (name, column) not in answered:
                    yield name, {"sensitive": column}, False
    yield from _composed_unasked(question)


def _composed_unasked(question: Question) -> Iterator[tuple[str, Parameters, bool]]:
    """Every earlier release is measured together with this one, in whatever both have."""
    first = next(iter(question.earlier_releases or {}), None)
    answered = {
        (name, p.get("earlier", first), p.get("sensitive"))
        for name, p in question.asked
        if name.startswith("composed_")
    }
    for name in question.earlier_releases or {}:
        if ("composed_k_anonymity", name, None) not in answered:
            yield "composed_k_anonymity", {"earlier": name}, False
        for column in question.attributes:
            if ("composed_l_diversity", name, column) not in answered:
                yield "composed_l_diversity", {"sensitive": column, "earlier": name}, False


def _is_numeric(column: str, records: Sequence[Record], question: Question) -> bool:
    if question.numeric is not None:
        return column in question.numeric
    known = [record[column] for record in records if record[column] is not None]
    return bool(known) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in known
    )


def _in_force(name: str, given: Parameters, question: Question) -> dict[str, Any]:
    """The parameters that are given, and the defaults of those that are not."""
    own = DEFAULTS.get(name, {})
    if "match" in own:
        own = {"reference": next(iter(question.references or {}))} | own
    if name.startswith("composed_"):
        own = {"earlier": next(iter(question.earlier_releases or {}))}
    elif name in OF_SYNTHESIS:
        pass
    elif "sensitive" in given:
        own = own | {"with_other_sensitive": False}
    return {**own, **given}


# --- classes --------------------------------------------------------------------------------


def equivalence_classes(records: Sequence[Record], question: Question) -> list[Class]:
    """The classes, or with wildcards the distinct patterns, each with its size."""
    wildcard = question.nulls == "wildcard"
    grouped = _grouped(records, question.quasi_identifiers)
    classes = []
    for cells, members in grouped.items():
        size = people(members, question.entity)
        if wildcard:
            size = sum(len(others) for seen, others in grouped.items() if compatible(cells, seen))
        classes.append(Class(cells, tuple(members), size))
    return classes


def _grouped(
    records: Iterable[Record], columns: Sequence[str]
) -> dict[tuple[Any, ...], list[Record]]:
    grouped: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        cells = tuple(comparable(record[column]) for column in columns)
        grouped.setdefault(cells, []).append(record)
    return grouped


def _with_other_sensitive(
    classes: Sequence[Class], question: Question, sensitive: str
) -> list[Class]:
    """Machanavajjhala et al. 2007, 5.2: the other sensitive attributes may be known too."""
    others = [column for column in question.attributes if column != sensitive]
    finer = replace(question, quasi_identifiers=[*question.quasi_identifiers, *others])
    return equivalence_classes([r for each in classes for r in each.records], finer)


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


def exact(threshold: float) -> Any:
    """The decimal number that a threshold was written as."""
    return threshold if threshold == math.inf else Fraction(str(threshold))


def within(value: Any, parameters: Parameters, bound: str) -> bool:
    """Whether an upper bound is kept, or none was given."""
    return bound not in parameters or value <= exact(parameters[bound])


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
        "uniques": own_sizes(classes, question).count(1),
        "records_with_null_qi": sum(len(each.records) for each in classes if None in each.cells),
        "suppressed": sum(len(each.records) for each in classes if set(each.cells) == {"*"}),
    }


def histogram(classes: Sequence[Class], question: Question) -> list[dict[str, int]]:
    people = Counter(own_sizes(classes, question))
    numbers = Counter(each.size for each in classes)
    records = Counter[int]()
    for each in classes:
        records[each.size] += len(each.records)
    return [
        {"size": size, "classes": numbers[size], "records": records[size]}
        | ({"people": people[size]} if question.entity else {})
        for size in sorted(numbers)
    ]


def risk(
    classes: Sequence[Class], question: Question, checks: Sequence[tuple[str, Parameters]]
) -> dict[str, Any]:
    """El Emam 2013, chapter 16. Journalist and marketer look at the first reference.

    They match as the first check does that links it to the release.
    """
    found: dict[str, Any] = dict.fromkeys(["prosecutor", "journalist", "marketer"])
    if question.weight:
        found["individual"] = individual_risk(classes, question) if classes else None
    if question.household:
        found["household"] = household_risk(classes, question) if classes else None
    if not classes:
        return found
    threshold = {"threshold": float(AT_RISK)}
    found["prosecutor"] = floats(prosecutor(classes, question, AT_RISK)) | threshold
    if question.references:
        linking = ("k_map", "journalist_risk", "marketer_risk")
        asked = [_in_force(name, p, question) for name, p in checks if name in linking]
        name = next(iter(question.references))
        first = next(parameters for parameters in asked if parameters["reference"] == name)
        matched = populations(classes, question, first)
        found["journalist"] = floats(journalist(classes, matched, question, AT_RISK)) | threshold
        found["marketer"] = {"average": float(marketer(classes, matched, question))}
    return found


def floats(figures: Mapping[str, Fraction]) -> dict[str, float]:
    return {key: float(value) for key, value in figures.items()}


# --- every model by its name ----------------------------------------------------------------


Model = Callable[[Sequence[Class], Question, Parameters], Found]
MODELS: dict[str, Model] = {}
"""Every model: what it measures, and the classes that violate it."""
THRESHOLDS: dict[str, tuple[str, ...]] = {}
"""The parameters that demand something; a check without one of them measures."""
DEFAULTS: dict[str, Parameters] = {}
"""What is in force where nothing else is said."""
MEASURED: list[str] = []
"""What is measured of a sensitive attribute where nothing is demanded."""
_RISK_BOUNDS = ("max_highest", "max_average", "max_at_risk")
_MATCHING = {"match": "containment", "missing": "strict"}
_AT_RISK = {"threshold": float(AT_RISK)}


def model(
    *thresholds: str, defaults: Parameters | None = None, measured: bool = False
) -> Callable[[Model], Model]:
    """Say of a function that it judges the model of its name, and what it takes."""

    def kept(judge: Model) -> Model:
        name = judge.__name__
        MODELS[name], THRESHOLDS[name] = judge, thresholds
        if defaults:
            DEFAULTS[name] = defaults
        if measured:
            MEASURED.append(name)
        return judge

    return kept


# --- k-anonymity ----------------------------------------------------------------------------


@model("k")
def k_anonymity(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Sweeney 2002, definition 3: every combination occurs at least k times."""
    if columns := parameters.get("columns"):
        records = [record for each in classes for record in each.records]
        question = replace(question, quasi_identifiers=[*columns])
        classes = equivalence_classes(records, question)
    figures: dict[str, Any] = {"achieved": min(each.size for each in classes)}
    if question.nulls == "wildcard":
        figures["achieved_nulls_as_value"] = min(len(each.records) for each in classes)
    if question.entity and not columns:
        sizes = profiles(classes, question)
        figures["profile_k"] = min(sizes)
        figures["profile_uniques"] = sizes.count(1)
    return Found(figures, violating(classes, lambda each: each.size < parameters.get("k", 0)))


def profiles(classes: Sequence[Class], question: Question) -> list[int]:
    """How many people share each set of classes; the class sizes, where there are no people."""
    if not question.entity:
        return [each.size for each in classes]
    found: dict[Any, set[int]] = {}
    for place, each in enumerate(classes):
        for person in _people_of(each, question):
            found.setdefault(person, set()).add(place)
    return list(Counter(frozenset(profile) for profile in found.values()).values())


def violating(classes: Sequence[Class], violates: Callable[[Class], bool]) -> list[Class]:
    """The classes that violate."""
    return [each for each in classes if violates(each)]


# --- k-map and delta-presence ---------------------------------------------------------------


@model("k", defaults=_MATCHING)
def k_map(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Sweeney 2002: every combination of the release occurs at least k times in the reference."""
    matched = populations(classes, question, parameters)
    counted = matched
    if parameters["missing"] == "union":
        counted = at_least_own(classes, matched)
    k = parameters.get("k", 0)
    return Found(
        {"achieved": min(counted), **mismatches(classes, matched)},
        [each for each, F in zip(classes, counted, strict=True) if k > F],
    )


@model("min", "max", defaults=_MATCHING)
def delta_presence(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Nergiz, Atzori, Clifton 2007, definition 2: how likely people of the reference are in it."""
    matched = populations(classes, question, parameters)
    counted = matched
    if parameters["missing"] == "union":
        counted = at_least_own(classes, matched)
    own = [each.size for each in classes]
    presence = [(Fraction(f, F), F) for f, F in zip(own, counted, strict=True) if F]
    presence += [(Fraction(0), F) for F in absentees(classes, question, parameters)]
    shares = [share for share, _ in presence]
    least, most = exact(parameters.get("min", 0)), exact(parameters.get("max", math.inf))
    outside = [F for share, F in presence if not least <= share <= most]
    outsiders = None
    reference = (question.references or {})[parameters["reference"]]
    if reference.entity:
        matches = _matching(classes, question, parameters)
        out = [
            each
            for each, f, F in zip(classes, own, counted, strict=True)
            if F and not least <= Fraction(f, F) <= most
        ]
        outsiders = len(
            {
                comparable(record[reference.entity])
                for record in reference.records
                if any(matches(each, record) for each in out)
                or (least > 0 and not any(matches(each, record) for each in classes))
            }
        )
    faults = mismatches(classes, matched)
    contained = not (faults["unmatched_classes"] or faults["exceeding_classes"])
    achieved = {
        "min": float(min(shares)) if shares else None,
        "max": float(max(shares)) if shares else None,
    }
    holds = contained and not outside
    return Found({"achieved": achieved} | faults, None, holds, outside, outsiders)


def populations(classes: Sequence[Class], question: Question, parameters: Parameters) -> list[int]:
    """How many of the reference each class of the release could stand for."""
    reference = (question.references or {})[parameters["reference"]]
    matches = _matching(classes, question, parameters)
    return [
        _counted([r for r in reference.records if matches(each, r)], reference) for each in classes
    ]


def absentees(classes: Sequence[Class], question: Question, parameters: Parameters) -> list[int]:
    """How many people share each combination of the reference that no class could stand for."""
    reference = (question.references or {})[parameters["reference"]]
    matches = _matching(classes, question, parameters)
    combinations = _grouped(reference.records, _reference_names(question, reference)).values()
    counts = [
        _counted(members, reference)
        for members in combinations
        if not any(matches(each, members[0]) for each in classes)
    ]
    return [count for count in counts if count]


def _matching(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Callable[[Class, Record], bool]:
    """Whether a class of the release could stand for a record of the reference."""
    reference = (question.references or {})[parameters["reference"]]
    names = _reference_names(question, reference)
    matches = [
        matcher(
            [each.cells[place] for each in classes],
            [comparable(record[name]) for record in reference.records],
            exact=parameters["match"] == "exact",
            null=question.nulls == "wildcard",
        )
        for place, name in enumerate(names)
    ]

    def match(each: Class, record: Record) -> bool:
        return all(
            matches[place](each.cells[place], comparable(record[name]))
            for place, name in enumerate(names)
        )

    return match


def _reference_names(question: Question, reference: Reference) -> list[str]:
    return [(reference.columns or {}).get(name, name) for name in question.quasi_identifiers]


def _counted(members: Sequence[Record], reference: Reference) -> int:
    if reference.weight is not None:
        return sum(int(record[reference.weight]) for record in members)
    return people(members, reference.entity)


def at_least_own(classes: Sequence[Class], matched: Sequence[int]) -> list[int]:
    """The class sizes of the least reference that contains the release."""
    return [max(each.size, F) for each, F in zip(classes, matched, strict=True)]


def mismatches(classes: Sequence[Class], matched: Sequence[int]) -> dict[str, int]:
    """What shows that the reference does not contain the release."""
    unmatched = [each for each, F in zip(classes, matched, strict=True) if F == 0]
    return {
        "unmatched_classes": len(unmatched),
        "unmatched_records": sum(len(each.records) for each in unmatched),
        "exceeding_classes": sum(
            0 < F < each.size for each, F in zip(classes, matched, strict=True)
        ),
    }


# --- how diverse a class is -----------------------------------------------------------------


def holders(each: Class, sensitive: str, question: Question) -> dict[Any, set[Any]]:
    """Who holds each value in a class: people, or records where nobody says whose they are."""
    found: dict[Any, set[Any]] = {}
    for place, record in enumerate(each.records):
        person = comparable(record[question.entity]) if question.entity else place
        found.setdefault(comparable(record[sensitive]), set()).add(person)
    if question.sensitive_nulls == "unknown":
        found.pop(None, None)
    return found


def informed(held: Mapping[Any, set[Any]]) -> set[Any]:
    """Everybody in a class of whom a value is known."""
    return set().union(*held.values())


def gives_away(held: Mapping[Any, set[Any]]) -> bool:
    """Whether everybody in a class of whom a value is known holds the same one."""
    return any(people == informed(held) for people in held.values())


def distinct(held: Mapping[Any, set[Any]]) -> int:
    """The values that a class is hidden among: one, where everybody holds it."""
    return 1 if gives_away(held) else len(held)


@model(measured=True)
def homogeneity(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Machanavajjhala et al. 2007, 2.1: a class that gives a sensitive value away."""
    sensitive = parameters["sensitive"]
    found = [each for each in classes if gives_away(holders(each, sensitive, question))]
    singletons = [each for each in found if each.size == 1]
    figures = {"achieved": len(found), "singleton_classes": len(singletons)}
    if question.entity:
        several = [each for each in found if len(holders(each, sensitive, question)) > 1]
        figures["several_valued_classes"] = len(several)
    return Found(
        figures,
        found,
    )


@model("l", measured=True)
def l_diversity(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Machanavajjhala et al. 2007, 3.2: at least l distinct values in every class."""

    def diversity(each: Class) -> int:
        return distinct(holders(each, parameters["sensitive"], question))

    return Found(
        {"achieved": min(diversity(each) for each in classes)},
        violating(classes, lambda each: diversity(each) < parameters.get("l", 0)),
    )


@model("l", measured=True)
def entropy_l_diversity(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Machanavajjhala et al. 2007, definition 4.1: the entropy of every class is at least ln l."""

    def entropy(each: Class) -> float:
        if gives_away(holders(each, parameters["sensitive"], question)):
            return 0.0
        shares = distribution([each], question, parameters).values()
        return -math.fsum(q * math.log(q) for q in shares) if shares else -math.inf

    least = math.log(parameters["l"]) if "l" in parameters else -math.inf
    return Found(
        {"achieved": math.exp(min(entropy(each) for each in classes))},
        violating(classes, lambda each: entropy(each) < least - SLACK),
    )


@model("c")
def recursive_cl_diversity(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Machanavajjhala et al. 2007, definitions 4.2 and 4.5: the most frequent value is not much
    more frequent than all from the l-th on, strictly."""

    def needed(each: Class) -> float | Fraction:
        held = holders(each, parameters["sensitive"], question)
        allowed = {as_text(value) for value in parameters.get("allowed", [])}
        secret = [by for value, by in held.items() if not allowed or as_text(value) not in allowed]
        if question.entity and held and informed(held) in secret:
            return Fraction(1) if parameters["l"] == 1 else math.inf
        return _least_c(held, parameters)

    largest = max(needed(each) for each in classes)
    beside: dict[str, float] = {}
    if "allowed" not in parameters:
        confidence = largest if parameters["l"] == 1 else largest / (largest + 1)
        beside["confidence"] = 1.0 if largest == math.inf else float(confidence)
    c = exact(parameters.get("c", math.inf))
    return Found(
        {"achieved": number(largest), **beside},
        violating(classes, lambda each: needed(each) >= c),
    )


def _least_c(held: Mapping[Any, set[Any]], parameters: Parameters) -> float | Fraction:
    """The infimum of the c that would do for one class."""
    counts = sorted(((len(people), value) for value, people in held.items()), key=lambda c: -c[0])
    r = [0, *(count for count, _ in counts)]
    l = parameters["l"]
    if not held:
        return math.inf
    y, tail = 1, sum(r[l:])
    if allowed := {as_text(value) for value in parameters.get("allowed", [])}:
        ranks = [y for y, (_, value) in enumerate(counts, 1) if as_text(value) not in allowed]
        if not ranks:
            return Fraction(0)
        y = ranks[0]
        if y > l - 1 and l > 1:
            tail = sum(r[l - 1 : y]) + sum(r[y + 1 :])
    return Fraction(r[y], tail) if tail else math.inf


def number(value: float | Fraction | None) -> float | str | None:
    """The number as JSON has it."""
    if value is None:
        return None
    return "Infinity" if value == math.inf else float(value)


@model("alpha", "k", measured=True)
def alpha_k_anonymity(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Wong et al. 2006, definitions 2 and 3: no value is held by more than alpha of a class."""
    values = {as_text(value) for value in parameters.get("values", [])}

    def share(each: Class) -> Fraction | None:
        held = holders(each, parameters["sensitive"], question)
        counts = [len(by) for value, by in held.items() if not values or as_text(value) in values]
        return Fraction(max(counts, default=0), len(informed(held))) if held else None

    def violates(each: Class) -> bool:
        too_small = each.size < parameters.get("k", 0)
        return too_small or not within(share(each) or 0, parameters, "alpha")

    shares = [share(each) for each in classes]
    return Found(
        {"achieved": worst(shares), "k": min(each.size for each in classes)},
        violating(classes, violates),
    )


def worst(of_classes: Iterable[float | Fraction | None]) -> float | str | None:
    """The largest figure of any class that has one."""
    return number(max((figure for figure in of_classes if figure is not None), default=None))


@model("p", "k", measured=True)
def p_sensitive_k_anonymity(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Truta and Vinay 2006, definition 2: k-anonymous, with at least p distinct values."""

    def diversity(each: Class) -> int:
        return distinct(holders(each, parameters["sensitive"], question))

    def violates(each: Class) -> bool:
        return each.size < parameters.get("k", 0) or diversity(each) < parameters.get("p", 0)

    return Found(
        {
            "achieved": min(diversity(each) for each in classes),
            "k": min(each.size for each in classes),
        },
        violating(classes, violates),
    )


@model("k", "e", measured=True)
def k_e_anonymity(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Zhang et al. 2007, definition 2: at least k distinct numbers, and they span at least e."""

    def values(each: Class) -> int:
        held = holders(each, parameters["sensitive"], question)
        if question.entity and gives_away(held):
            return 1
        return len({float(v) if isinstance(v, str) and v != "NaN" else v for v in held})

    def span(each: Class) -> Fraction:
        held = holders(each, parameters["sensitive"], question)
        if question.entity and gives_away(held):
            return Fraction(0)
        known = [record[parameters["sensitive"]] for record in each.records]
        numbers = [exact(value) for value in known if value is not None and _is_finite(value)]
        return max(numbers) - min(numbers) if numbers else Fraction(0)

    def violates(each: Class) -> bool:
        too_few = values(each) < parameters.get("k", 0)
        return too_few or span(each) < exact(parameters.get("e", 0))

    return Found(
        {
            "achieved": float(min(span(each) for each in classes)),
            "distinct": min(values(each) for each in classes),
        },
        violating(classes, violates),
    )


def _is_finite(value: Any) -> bool:
    return math.isfinite(float(value))


# --- how close a class is to the table ------------------------------------------------------


def distribution(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Distribution:
    """The share of each value among the people, or records, of the classes; {} if none is known."""
    counts = Counter[Any]()
    for each in classes:
        for value, by in holders(each, parameters["sensitive"], question).items():
            counts[value] += len(by)
    return {value: Fraction(count, counts.total()) for value, count in counts.items()}


Figure = Callable[[Distribution, Distribution], float | Fraction | None]


def _of_each(
    figure: Figure, classes: Sequence[Class], question: Question, parameters: Parameters
) -> list[Any]:
    """A figure of each class beside the whole table; None for a class of no known value."""
    whole = distribution(classes, question, parameters)
    own = [distribution([each], question, parameters) for each in classes]
    return [figure(q, whole) if q else None for q in own]


def _beyond(
    classes: Sequence[Class], figures: Sequence[Any], exceeds: Callable[[Any], bool]
) -> list[Class]:
    pairs = zip(classes, figures, strict=True)
    return [each for each, figure in pairs if figure is not None and exceeds(figure)]


@model("t", defaults={"distance": "equal"}, measured=True)
def t_closeness(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Li, Li, Venkatasubramanian 2007, definition 2 and section 4: the earth mover's distance."""
    distances = {"equal": _equal, "ordered": _ordered, "hierarchical": _hierarchical}
    distance = distances[parameters["distance"]]
    found = _of_each(lambda q, p: distance(q, p, parameters), classes, question, parameters)
    return Found(
        {"achieved": worst(found)},
        _beyond(classes, found, lambda d: not within(d - SLACK_OF_T, parameters, "t")),
    )


def _equal(q: Distribution, p: Distribution, parameters: Parameters) -> Fraction:
    return sum((abs(q.get(value, 0) - p[value]) for value in p), Fraction(0)) / 2


def _ordered(q: Distribution, p: Distribution, parameters: Parameters) -> Fraction:
    """Every unit of mass moves from rank to rank; from the first to the last it costs 1."""
    order = [as_text(value) for value in parameters.get("order", [])]
    surplus: dict[tuple[Any, ...], Fraction] = {}
    for value in p:
        rank = _rank(value, order)
        surplus[rank] = surplus.get(rank, Fraction(0)) + q.get(value, 0) - p[value]
    carried, moved = Fraction(0), Fraction(0)
    for rank in sorted(surplus):
        carried += surplus[rank]
        moved += abs(carried)
    return moved / max(len(surplus) - 1, 1)


def _rank(value: Any, order: Sequence[str | None]) -> tuple[Any, ...]:
    """NULL is last and NaN before it; two spellings of one number have one rank."""
    if value is None:
        return (2,)
    if order:
        return (0, order.index(as_text(value)))
    if value == "NaN":
        return (1,)
    return (0, _magnitude(value))


def _magnitude(value: Any) -> Any:
    match value:
        case datetime():
            return value
        case date():
            return value.toordinal()
        case str():
            try:
                return Fraction(value)
            except ValueError:
                return datetime.fromisoformat(value)
    return value


def _hierarchical(q: Distribution, p: Distribution, parameters: Parameters) -> Fraction:
    """What a subtree has too much of is moved to where its sibling lacks it, level by level."""
    with Path(parameters["hierarchy"]).open(newline="", encoding="utf-8") as file:
        paths = {row[0]: tuple(row) for row in csv.reader(file)}
    height = len(next(iter(paths.values()))) - 1
    nodes = {paths[value]: q.get(value, 0) - p[value] for value in p}
    cost = Fraction(0)
    for level in range(1, height + 1):
        parents: dict[tuple[str, ...], list[Fraction]] = {}
        for path, surplus in nodes.items():
            parents.setdefault(path[1:], []).append(surplus)
        for children in parents.values():
            more = sum(surplus for surplus in children if surplus > 0)
            fewer = -sum(surplus for surplus in children if surplus < 0)
            cost += Fraction(level, height) * min(more, fewer)
        nodes = {path: sum(children, Fraction(0)) for path, children in parents.items()}
    return cost


@model("delta", measured=True)
def delta_disclosure(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Brickell and Shmatikov 2008, definition 6: |ln q/p| below delta, whatever the value."""

    def present(q: Distribution, p: Distribution) -> float:
        return max(abs(math.log(q[value] / p[value])) for value in q)

    def strict(q: Distribution, p: Distribution) -> float:
        return math.inf if set(p) - set(q) else present(q, p)

    found = _of_each(strict, classes, question, parameters)
    delta = parameters.get("delta", math.inf)
    return Found(
        {
            "achieved": worst(found),
            "present_only": worst(_of_each(present, classes, question, parameters)),
        },
        _beyond(classes, found, lambda figure: figure >= delta - SLACK),
    )


@model("beta", measured=True)
def basic_beta_likeness(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Cao and Karras 2012, definition 1: no value gains more than beta of its share."""
    found = _of_each(_gain, classes, question, parameters)
    return Found(
        {"achieved": worst(found)},
        _beyond(classes, found, lambda gain: not within(gain, parameters, "beta")),
    )


def _gain(q: Distribution, p: Distribution) -> Fraction:
    """The largest relative gain of a value's share; 0 where none gains."""
    return max(Fraction(0), *((q[value] - p[value]) / p[value] for value in q))


@model("beta", measured=True)
def enhanced_beta_likeness(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Cao and Karras 2012, definition 3: and no value gains more than -ln of its share."""

    def capped(q: Distribution, p: Distribution) -> float | Fraction:
        gains = {value: (q[value] - p[value]) / p[value] for value in q}
        kept = all(gain <= -math.log(p[value]) + SLACK for value, gain in gains.items())
        return _gain(q, p) if kept else math.inf

    found = _of_each(capped, classes, question, parameters)
    beta = exact(parameters.get("beta", math.inf))
    return Found(
        {"achieved": worst(found)},
        _beyond(classes, found, lambda gain: gain == math.inf or gain > beta),
    )


# --- risk -----------------------------------------------------------------------------------


@model(*_RISK_BOUNDS, defaults=_AT_RISK)
def prosecutor_risk(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """El Emam 2013, chapter 16: the attacker knows that the person is in the release."""
    risks = prosecutor(classes, question, exact(parameters["threshold"]))
    return _bounded(risks, classes, [Fraction(1, each.size) for each in classes], parameters)


def prosecutor(
    classes: Sequence[Class], question: Question, threshold: Fraction
) -> dict[str, Fraction]:
    return _risks(own_sizes(classes, question), threshold)


@model(*_RISK_BOUNDS, defaults=_MATCHING | _AT_RISK)
def journalist_risk(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """El Emam 2013, chapter 16: the attacker knows that the person is in the reference."""
    matched = populations(classes, question, parameters)
    risks = journalist(classes, matched, question, exact(parameters["threshold"]))
    chances = [Fraction(1, F) for F in at_least_own(classes, matched)]
    return _of_reference(
        _bounded(risks, classes, chances, parameters), classes, matched, question, parameters
    )


def journalist(
    classes: Sequence[Class], matched: Sequence[int], question: Question, threshold: Fraction
) -> dict[str, Fraction]:
    populations = at_least_own(classes, matched)
    risks = _risks(smallest(classes, populations, question), threshold)
    if question.entity:
        return risks
    return risks | {"average": max(Fraction(len(classes), sum(populations)), risks["average"])}


@model("max_average", defaults=_MATCHING)
def marketer_risk(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """El Emam 2013, chapter 16: the attacker links as many as can be, whoever they are."""
    matched = populations(classes, question, parameters)
    average = marketer(classes, matched, question)
    found = Found({"achieved": float(average)}, None, within(average, parameters, "max_average"))
    return _of_reference(found, classes, matched, question, parameters)


def marketer(classes: Sequence[Class], matched: Sequence[int], question: Question) -> Fraction:
    sizes = smallest(classes, at_least_own(classes, matched), question)
    return _risks(sizes, AT_RISK)["average"]


def _risks(sizes: Sequence[int], threshold: Fraction) -> dict[str, Fraction]:
    """Among how many each one is: the chance is one in so many."""
    chances = [Fraction(1, size) for size in sizes]
    return {
        "highest": max(chances),
        "average": sum(chances, Fraction(0)) / len(chances),
        "at_risk": Fraction(sum(chance > threshold for chance in chances), len(chances)),
    }


def _bounded(
    risks: Mapping[str, Fraction],
    classes: Sequence[Class],
    chances: Sequence[Fraction],
    parameters: Parameters,
) -> Found:
    """The three bounds; the classes above the bound that speaks of single classes."""
    bound = "max_highest" if "max_highest" in parameters else "threshold"
    judged = {"max_highest", "max_at_risk"} & set(parameters)
    above = [
        each
        for each, chance in zip(classes, chances, strict=True)
        if not within(chance, parameters, bound)
    ]
    figures = floats(risks)
    return Found(
        {"achieved": figures.pop("highest"), **figures},
        above if judged else None,
        all(within(value, parameters, f"max_{name}") for name, value in risks.items()),
    )


def _of_reference(
    found: Found,
    classes: Sequence[Class],
    matched: Sequence[int],
    question: Question,
    parameters: Parameters,
) -> Found:
    """A reference that can't contain the release proves nothing, unless it is made to."""
    faults = mismatches(classes, matched)
    contained = not (faults["unmatched_classes"] or faults["exceeding_classes"])
    return replace(
        found,
        figures={**found.figures, **faults},
        holds=found.holds and (contained or parameters["missing"] == "union"),
    )


def individual_risk(classes: Sequence[Class], question: Question) -> dict[str, float]:
    """Benedetti and Franconi 1998: the mean of 1/F, given f and the weights of a class."""
    stand_for = [(each.size, _stands_for(each, question)) for each in classes]
    if question.entity:
        several: dict[Any, list[tuple[int, Fraction]]] = {}
        for each, kind in zip(classes, stand_for, strict=True):
            for person in _people_of(each, question):
                several.setdefault(person, []).append(kind)
        everyone = [
            (min(size for size, _ in kinds), min(weight for _, weight in kinds))
            for kinds in several.values()
        ]
    else:
        everyone = [
            kind for each, kind in zip(classes, stand_for, strict=True) for _ in each.records
        ]
    risks = [_mean_of_reciprocal(*kind) for kind in everyone]
    return {
        "expected_reidentifications": math.fsum(risks),
        "highest": max(risks),
        "average": math.fsum(risks) / len(risks),
    }


def household_risk(classes: Sequence[Class], question: Question) -> dict[str, Any]:
    """Templ, Kowarik, Meindl 2015: who finds the people of a household independently of each other
    misses all of them with the product of the chances to miss each."""
    sizes: dict[Any, int] = {}
    homes: dict[Any, set[Any]] = {}
    for number, each in enumerate(classes):
        for place, record in enumerate(each.records):
            person = comparable(record[question.entity]) if question.entity else (number, place)
            sizes[person] = min(each.size, sizes.get(person, each.size))
            homes.setdefault(comparable(record[question.household]), set()).add(person)
    risks = {
        home: 1 - math.prod(1 - Fraction(1, sizes[person]) for person in people)
        for home, people in homes.items()
    }
    of_people = [
        max(risks[home] for home, people in homes.items() if person in people) for person in sizes
    ]
    return {
        "households": len(homes),
        "highest": float(max(of_people)),
        "average": float(sum(of_people, Fraction(0)) / len(of_people)),
        "at_risk": sum(risk > AT_RISK for risk in of_people) / len(of_people),
        "threshold": float(AT_RISK),
    }


def _stands_for(each: Class, question: Question) -> Fraction:
    """How many of the population a class stands for; a person of several records is there once,
    with the least of their weights."""
    weights: dict[Any, list[Fraction]] = {}
    for place, record in enumerate(each.records):
        person = comparable(record[question.entity]) if question.entity else place
        weights.setdefault(person, []).append(exact(record[question.weight]))
    return sum((min(several) for several in weights.values()), Fraction(0))


def _mean_of_reciprocal(f: int, weight: Fraction) -> float:
    """Summed term by term over the negative binomial distribution of F given f."""
    p = float(f / weight)
    population, chance, terms = f, p**f, [p**f / f]
    while population < f / p or terms[-1] > NOTHING:
        chance *= (1 - p) * population / (population + 1 - f)
        population += 1
        terms.append(chance / population)
    return math.fsum(terms)


# --- uniqueness -----------------------------------------------------------------------------


@model("max_share")
def sample_uniqueness(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """The share of records that are alone in their class."""
    sizes = own_sizes(classes, question)
    share = Fraction(sizes.count(1), len(sizes))
    return Found({"achieved": float(share)}, None, within(share, parameters, "max_share"))


@model("k", defaults={"alpha": 0.05, "test": "zero_truncated_poisson"})
def k_map_estimate(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """El Emam and Dankar 2008: how large classes must be that F = k can be ruled out.

    Pannekoek 1999 tests against a Poisson distribution; classes are only seen where they have a
    record, so the zero-truncated one is right.
    """
    required = _required(classes, question, parameters) if "k" in parameters else None
    return Found(
        {
            "achieved": min(each.size for each in classes),
            "required": required,
            "estimate": True,
        },
        violating(classes, lambda each: each.size < (required or 0)),
    )


def _required(classes: Sequence[Class], question: Question, parameters: Parameters) -> int:
    n = len(own_sizes(classes, question))
    mean = parameters["k"] * n / parameters["population"]
    seen = -math.expm1(-mean) if parameters["test"] == "zero_truncated_poisson" else 1.0
    for size in range(1, parameters["k"]):
        fewer = [math.exp(f * math.log(mean) - mean - math.lgamma(f + 1)) for f in range(size)]
        at_least = (1 - math.fsum(fewer)) / seen
        if at_least <= parameters["alpha"]:
            return size
    k: int = parameters["k"]
    return k


@model("max_share", defaults={"estimator": "dankar"})
def population_uniqueness(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """The share of the population that is unique, estimated from the class sizes of the sample."""
    sizes = Counter(profiles(classes, question))
    shares = estimated_shares(sizes, parameters["population"])
    achieved = shares[parameters["estimator"]]
    return Found(
        {
            "achieved": achieved,
            "estimates": {name: shares[name] for name in ESTIMATORS},
            "estimate": True,
        },
        None,
        within(achieved, parameters, "max_share"),
    )


def estimated_shares(sizes: Counter[int], N: int) -> dict[str, float | None]:
    """Dankar et al. 2012: each estimate, and the one that their decision rule takes."""
    n, uniques = sum(size * number for size, number in sizes.items()), sizes[1]
    if uniques == 0 or n == N:
        return dict.fromkeys([*ESTIMATORS, "dankar"], uniques / N)
    found = {name: estimator(sizes, n, N) for name, estimator in ESTIMATORS.items()}
    shares = {
        name: estimate / N if estimate is not None and 0 < estimate <= N else None
        for name, estimate in found.items()
    }
    # Pitman's up to a tenth of the population, else the lower of the others.
    preferred = [shares["pitman"]] if 10 * n <= N else [shares["snb"], shares["zayatz"]]
    valid = [share for share in preferred if share is not None]
    return shares | {"dankar": min(valid, default=shares["zayatz"])}


def zayatz(sizes: Counter[int], n: int, N: int) -> float:
    """Zayatz 1991: how many of the sample's uniques come from a class of one, by Bayes' rule.

    Of a class of i, one is in the sample in i * C(N - i, n - 1) of the C(N, n) samples.
    """

    def likelihood(i: int) -> Fraction:
        others = (Fraction(max(N - n + 1 - t, 0), N - t) for t in range(1, i))
        return math.prod(others, start=Fraction(i))

    total = sum(number * likelihood(i) for i, number in sizes.items())
    return float(sizes[1] * sizes[1] / total * Fraction(N, n))


def pitman(sizes: Counter[int], n: int, N: int) -> float | None:
    """Hoshino 2001: the most likely theta and alpha, where both derivatives are 0.

    Each alpha has its best theta; `start` is theta + alpha.
    """
    u = sum(sizes.values())
    if not 1 < u < n:
        return None

    def best_start(alpha: float) -> float:
        def by_theta(log_start: float) -> float:
            start = math.exp(log_start)
            seen = _reciprocals(start, alpha, u - 1)
            return seen - _reciprocals(start - alpha + 1, 1, n - 1)

        log_start = _root(by_theta, -60, 60)
        assert log_start is not None, "it grows with theta at first, and falls in the end"
        return math.exp(log_start)

    def by_alpha(alpha: float) -> float:
        start = best_start(alpha)
        new = (u - 1 - (start - alpha) * _reciprocals(start, alpha, u - 1)) / alpha
        return new - sum(number * _reciprocals(1 - alpha, 1, i - 1) for i, number in sizes.items())

    alpha = _root(by_alpha, 1e-6, 1 - 1e-6)
    if alpha is None:
        return None
    start = best_start(alpha)
    growth = math.lgamma(start - alpha + 1) - math.lgamma(start) + alpha * math.log(N)
    return math.exp(growth)


def _reciprocals(first: float, step: float, count: int) -> float:
    """1/first + 1/(first + step) + ..., the terms after the first by Euler and Maclaurin."""
    head = min(count, 100)
    found = math.fsum(1 / (first + i * step) for i in range(head))
    if head == count:
        return found
    begin, width = first + head * step, (count - 1 - head) * step
    end = begin + width
    found += math.log1p(width / begin) / step + (1 / begin + 1 / end) / 2
    return found + step / 12 * (begin**-2 - end**-2) - step**3 / 120 * (begin**-4 - end**-4)


def snb(sizes: Counter[int], n: int, N: int) -> float | None:
    """Chen and Keller-McNulty 1998: of K classes, K * beta^alpha are unique in the population."""
    K = _population_classes(sizes, n / N)
    found = slide_negative_binomial(sizes[1] / K, sizes[2] / K, n / N)
    return None if found is None else K * found[1] ** found[0]


def slide_negative_binomial(once: float, twice: float, pi: float) -> tuple[float, float] | None:
    """The alpha and beta by which these shares of all classes are seen once and twice.

    F - 1 is negative binomial. The quotient of the two equations gives alpha for each beta; the
    first one then gives beta.
    """
    if not twice:
        return None

    def alpha_of(rest: float) -> float:
        d, gain = (1 - pi) * rest, pi * rest
        loss = 2 * twice / once * (1 - d)
        half = (gain * (2 - d) - loss * d) / 2
        return (math.sqrt(half**2 + gain * d * loss * (1 - d)) - half) / (gain * d)

    def by_first(log_odds: float) -> float:
        beta, rest = 1 / (1 + math.exp(-log_odds)), 1 / (1 + math.exp(log_odds))
        d, alpha = (1 - pi) * rest, alpha_of(rest)
        expected = math.log1p(alpha * d / (1 - d)) - alpha * math.log1p(pi * rest / beta)
        return math.log(pi / once) + expected

    log_odds = _root(by_first, -700, 20)
    if log_odds is None:
        return None
    beta, rest = 1 / (1 + math.exp(-log_odds)), 1 / (1 + math.exp(log_odds))
    return alpha_of(rest), beta


def _population_classes(sizes: Counter[int], pi: float) -> float:
    """Haas and Stokes 1998: Shlosser's third estimate of how many classes the population has."""

    def total(term: Callable[[int], float]) -> float:
        return math.fsum(number * term(i) for i, number in sizes.items())

    squared = total(lambda i: i * pi**2 * (1 - pi**2) ** (i - 1))
    unseen = total(lambda i: (1 - pi) ** i)
    weighed = total(lambda i: (1 - pi) ** i * ((1 + pi) ** i - 1))
    once = total(lambda i: i * pi * (1 - pi) ** (i - 1))
    return total(lambda i: 1) + sizes[1] * squared / weighed * (unseen / once) ** 2


def _root(f: Callable[[float], float], low: float, high: float) -> float | None:
    """Where the function changes its sign, by bisection; None if it does not."""
    rising = f(high) > 0
    if (f(low) > 0) == rising:
        return None
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if (f(middle) > 0) == rising else (middle, high)
    return middle


ESTIMATORS = {"zayatz": zayatz, "pitman": pitman, "snb": snb}

# --- the catalogue --------------------------------------------------------------------------

# --- several releases -----------------------------------------------------------------------


def _both_releases(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> tuple[oracle_of_releases.Release, oracle_of_releases.Release]:
    earlier = (question.earlier_releases or {})[parameters["earlier"]]
    entity, sensitive = question.entity or "", parameters.get("sensitive")
    owns = question.quasi_identifiers
    return oracle_of_releases.Release(
        [record for each in classes for record in each.records], owns, entity, sensitive
    ), oracle_of_releases.Release(
        earlier.records,
        earlier.quasi_identifiers or [earlier.named(column) for column in owns],
        earlier.entity or earlier.named(entity),
        sensitive and earlier.named(sensitive),
    )


@model("k")
def composed_k_anonymity(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Ganta, Kasiviswanathan, Smith 2008: crowds of those whose records can be linked."""
    release, earlier = _both_releases(classes, question, parameters)
    k = parameters.get("k")
    figures = oracle_of_releases.composed_k_anonymity(release, earlier, k)
    together = figures.pop("violating_classes"), figures.pop("violating_people")
    there = replace(question, quasi_identifiers=earlier.quasi_identifiers, entity=earlier.entity)
    alone = equivalence_classes(earlier.records, there)
    figures["alone"] = {
        "release": min(each.size for each in classes),
        "earlier": min(each.size for each in alone),
    }
    return Found(figures, None, figures["achieved"] >= (k or 0), together=together)


@model("l")
def composed_l_diversity(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Ganta, Kasiviswanathan, Smith 2008, the intersection attack."""
    release, earlier = _both_releases(classes, question, parameters)
    l = parameters.get("l")
    unknown = question.sensitive_nulls == "unknown"
    figures = oracle_of_releases.composed_l_diversity(release, earlier, l, unknown=unknown)
    together = figures.pop("violating_classes"), figures.pop("violating_people")
    here, there = release.classes_of_people(), earlier.classes_of_people()
    figures["in_both"] = len(here.keys() & there.keys())
    least = figures["achieved"]
    return Found(figures, None, None if least is None else least >= (l or 0), together=together)


# --- events ---------------------------------------------------------------------------------

_COMBINATIONS = {"times": False, "max_combinations": 500_000_000}


def people_with_events(classes: Sequence[Class], question: Question) -> oracle_of_events.People:
    records = [record for each in classes for record in each.records]
    return oracle_of_events.People(
        records, question.entity or "", question.events, question.quasi_identifiers
    )


@model("k", defaults={"m": 2, **_COMBINATIONS})
def km_anonymity(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Terrovitis, Mamoulis, Kalnis 2008: fewest people who share a combination of m events."""
    k, m, times = parameters.get("k"), parameters["m"], parameters["times"]
    there = people_with_events(classes, question)
    return Found(oracle_of_events.km_anonymity(there, k, m, times), None)


@model(
    "max_share",
    "max_highest",
    "max_average",
    defaults={"k": 2, "sample": 10_000, "seed": 1, **_COMBINATIONS},
)
def known_events(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Pellungrini et al. 2018, and de Montjoye et al. 2013 at random."""
    there = people_with_events(classes, question)
    return Found(oracle_of_events.known_events(there, parameters), None)


# --- synthetic tables -----------------------------------------------------------------------

OF_SYNTHESIS = {
    *("copied_records", "replicated_uniques", "singling_out"),
    *("disclosive_in_synthetic", "correct_attribution"),
}
NO_CLASSES = {"violating_classes": None, "violating_records": None}


def _synthesis(classes: Sequence[Class], question: Question) -> Tables:
    """The three tables; the synthetic one may have people, too."""
    records = [record for each in classes for record in each.records]
    assert question.original
    return Tables(Units(records, question.entity), question.original, question.holdout)


def _judged(figures: dict[str, Any], parameters: Parameters) -> Found:
    return Found(oracle_of_synthesis.judged(figures, parameters) | NO_CLASSES, None)


@model("max_share", "max_excess")
def copied_records(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Raab, Nowok, Dibben 2024: records that nobody else has, of all columns that are shared."""
    tables = _synthesis(classes, question)
    private = {question.entity, tables.original.entity}
    names = [name for name in tables.synthetic.records[0] if name not in private]
    return _judged(oracle_of_synthesis.copied_records(tables, names), parameters)


@model("max_share", "max_excess")
def replicated_uniques(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Raab, Nowok, Dibben 2024: repU."""
    tables = _synthesis(classes, question)
    figures = oracle_of_synthesis.replicated_uniques(tables, question.quasi_identifiers)
    return _judged(figures, parameters)


@model("max_share", "max_rate", "max_excess", defaults={"m": 2})
def singling_out(classes: Sequence[Class], question: Question, parameters: Parameters) -> Found:
    """Giomi et al. 2023: claims on few columns."""
    tables = _synthesis(classes, question)
    keys, m = question.quasi_identifiers, parameters["m"]
    return _judged(oracle_of_synthesis.singling_out(tables, keys, m), parameters)


def _of_target(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> tuple[Tables, Sequence[str], str]:
    tables, target = _synthesis(classes, question), parameters["sensitive"]
    known = tables.known(target) if question.sensitive_nulls == "unknown" else tables
    return known, question.quasi_identifiers, target


@model("max_share", "max_excess")
def disclosive_in_synthetic(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Raab, Nowok, Dibben 2024: DiSCO."""
    told = _of_target(classes, question, parameters)
    allowed = parameters.get("allowed", ())
    return _judged(oracle_of_synthesis.disclosive_in_synthetic(*told, allowed), parameters)


@model("max_average", "max_gain", "max_excess")
def correct_attribution(
    classes: Sequence[Class], question: Question, parameters: Parameters
) -> Found:
    """Taub, Elliot, Pampaka, Smith 2018: CAP."""
    told = _of_target(classes, question, parameters)
    return _judged(oracle_of_synthesis.correct_attribution(*told), parameters)
