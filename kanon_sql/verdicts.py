"""What the rows of a plan's steps mean: summary, risks, verdicts, warnings. Pure arithmetic.

`Sizes` are rows of the classes step, one for each class size, smallest first; they say all there
is to say of the quasi-identifiers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kanon_sql.binding import BoundCheck, BoundSpec
from kanon_sql.engines.base import Row
from kanon_sql.errors import InputError
from kanon_sql.models import Homogeneity, KAnonymity, KMap
from kanon_sql.plan import (
    FIRST_RECORDS,
    Plan,
    ReferenceStep,
    SensitiveStep,
    without_entity,
)
from kanon_sql.result import (
    AT_RISK,
    ATTACKERS,
    LEAST_SIZE,
    CheckResult,
    HistogramBin,
    Status,
    Summary,
)

Sizes = Sequence[Row]

ASSUMED_ATTACKER = (
    "someone who does not know whether the person is in the release, and looks for them in a "
    "table like the reference; against one who knows, only k-anonymity counts"
)


@dataclass(frozen=True)
class Answers:
    """The rows of every step of a plan that was run."""

    sizes: Sizes
    sensitive: Mapping[str, Sizes]
    """The classes step of each sensitive attribute, by the attribute's name."""
    diverse_by_spelling: Mapping[str, int]
    """How many classes of an attribute look diverse only thanks to spelling."""
    profiles: Row | None
    matches: Mapping[str, Row]
    """The row of each reference step, by the step's name."""
    first_records: tuple[Row, ...]


def summary(answers: Answers) -> Summary:
    """The table at a glance."""
    sizes = answers.sizes
    if not sizes:
        return Summary(records=0)
    classes = _total(sizes, "kanon_classes")
    return Summary(
        records=_total(sizes, "kanon_records"),
        people=int(answers.profiles["kanon_people"]) if answers.profiles else None,
        classes=classes,
        k=_smallest(sizes),
        average_class_size=_people(sizes) / classes,
        largest_class=int(sizes[-1]["kanon_size"]),
        uniques=sum(int(row["kanon_classes"]) for row in sizes if row["kanon_size"] == 1),
        records_with_null_qi=_total(sizes, "kanon_with_null"),
        suppressed=_total(sizes, "kanon_suppressed"),
    )


def histogram(sizes: Sizes) -> tuple[HistogramBin, ...]:
    """How many classes there are of each size, and how many records are in them."""
    return tuple(
        HistogramBin(int(row["kanon_size"]), int(row["kanon_classes"]), int(row["kanon_records"]))
        for row in sizes
    )


def risk(plan: Plan, answers: Answers) -> dict[str, Any]:
    """The chance of being re-identified, by who attacks (El Emam 2013, chapter 16).

    Journalist and marketer risk are those of the first reference; a class with fewer people
    there than in the release counts with its own.
    """
    if not answers.sizes:
        return dict.fromkeys(ATTACKERS)
    name = next(iter(plan.bound.references), None)
    first = next(
        (answers.matches[s.step.name] for s in plan.references if s.reference == name), None
    )
    return {
        "prosecutor": _prosecutor(plan.bound, answers.sizes),
        "journalist": _journalist(first) if first else None,
        "marketer": {"average": _marketer(first)} if first else None,
    }


def status(checks: Sequence[CheckResult]) -> Status:
    """Violated if any check is, holds if something gated and all that did hold."""
    gated = [check.holds for check in checks if check.holds is not None]
    if not all(gated):
        return "violated"
    return "holds" if gated else "measured"


def saw_one_table(plan: Plan, answers: Answers) -> bool:
    """Whether all steps counted the same classes: each is a statement of its own."""
    sizes = histogram(answers.sizes)
    if any(histogram(seen) != sizes for seen in answers.sensitive.values()):
        return False
    counted = {"kanon_classes": _total(answers.sizes, "kanon_classes")}
    if not plan.bound.wildcard:
        counted["kanon_sizes"] = _people(answers.sizes)
    return all(
        int(row[column]) == count
        for row in answers.matches.values()
        for column, count in counted.items()
    )


def refuse_without_entity(plan: Plan, sizes: Sizes) -> None:
    """Raise `InputError` if records have no entity: no person could be counted for them."""
    if plan.bound.entity is None:
        return
    counted = {name: _total(sizes, name) for name in ("kanon_records", "kanon_without_entity")}
    fault = without_entity(plan.bound.table.name, plan.bound.entity.name, counted)
    if fault is not None:
        raise InputError(fault)


# --- verdicts -------------------------------------------------------------------------------


def verdicts(plan: Plan, answers: Answers) -> Iterator[CheckResult]:
    """The verdict of each check, in the order in which they were asked."""
    for check in plan.bound.checks:
        if not answers.sizes:
            yield CheckResult(check.model.name(), check.model.parameters, None, None)
            continue
        match check.model:
            case KAnonymity():
                yield _k_anonymity(check, check.model, plan, answers)
            case Homogeneity():
                yield _homogeneity(check, check.model, answers)
            case KMap():
                yield _k_map(check, check.model, plan, answers)


def _k_anonymity(check: BoundCheck, model: KAnonymity, plan: Plan, answers: Answers) -> CheckResult:
    achieved = _smallest(answers.sizes)
    below = [row for row in answers.sizes if model.k is not None and row["kanon_size"] < model.k]
    details: dict[str, Any] = {}
    if answers.profiles:
        details["profile_k"] = int(answers.profiles["kanon_profile_k"])
        details["profile_uniques"] = int(answers.profiles["kanon_profile_uniques"])
    if plan.bound.wildcard:
        details["achieved_nulls_as_value"] = min(
            int(row["kanon_size_as_value"]) for row in answers.sizes
        )
    return _verdict(
        check,
        achieved,
        holds=not below,
        classes=_total(below, "kanon_classes"),
        records=_total(below, "kanon_records"),
        details=details,
    )


def _homogeneity(check: BoundCheck, model: Homogeneity, answers: Answers) -> CheckResult:
    sizes = answers.sensitive[str(model.sensitive)]
    classes = _total(sizes, "kanon_homogeneous_classes")
    singletons = sum(
        int(row["kanon_homogeneous_classes"]) for row in sizes if row["kanon_size"] == 1
    )
    return _verdict(
        check,
        classes,
        holds=classes == 0,
        classes=classes,
        records=_total(sizes, "kanon_homogeneous_records"),
        details={"singleton_classes": singletons},
    )


def _k_map(check: BoundCheck, model: KMap, plan: Plan, answers: Answers) -> CheckResult:
    step = next(step for step in plan.references if check in step.checks)
    row = answers.matches[step.step.name]
    unmatched = int(row["kanon_unmatched_classes"])
    if model.missing == "error" and unmatched:
        raise InputError(
            f"k_map: nobody in the reference {step.reference} matches "
            f"{_counted(unmatched, 'class')} of {plan.bound.table.name} "
            f"({_counted(int(row['kanon_unmatched_records']), 'record')}), and missing: error "
            "was asked."
        )
    union = model.missing == "union"
    achieved = int(row["kanon_least_union" if union else "kanon_least_population"])
    place = step.checks.index(check) + 1
    violating = int(row.get(f"kanon_violating_{place}_classes", 0))
    return _verdict(
        check,
        achieved,
        holds=violating == 0,
        classes=violating,
        records=int(row.get(f"kanon_violating_{place}_records", 0)),
        details={
            "unmatched_classes": unmatched,
            "unmatched_records": int(row["kanon_unmatched_records"]),
            "exceeding_classes": int(row["kanon_exceeding_classes"]),
            "assumes": ASSUMED_ATTACKER,
        },
    )


def _verdict(
    check: BoundCheck,
    achieved: Any,
    *,
    holds: bool,
    classes: int,
    records: int,
    details: Mapping[str, Any],
) -> CheckResult:
    """The result of a check; what did not gate has neither a verdict nor violations."""
    return CheckResult(
        model=check.model.name(),
        parameters=check.model.parameters,
        holds=holds if check.gates else None,
        achieved=achieved,
        violating_classes=classes if check.gates else None,
        violating_records=records if check.gates else None,
        details=details,
    )


# --- risks ----------------------------------------------------------------------------------


def _prosecutor(bound: BoundSpec, sizes: Sizes) -> dict[str, Any]:
    """The attacker knows that the person is in the table: the chance is 1 / class size."""
    counted = _total(sizes, "kanon_records") if bound.wildcard else _people(sizes)
    expected = (
        sum(int(row["kanon_records"]) / int(row["kanon_size"]) for row in sizes)
        if bound.wildcard
        else _total(sizes, "kanon_classes")
    )
    at_risk = [row for row in sizes if row["kanon_size"] < LEAST_SIZE]
    people_at_risk = _total(at_risk, "kanon_records") if bound.wildcard else _people(at_risk)
    return {
        "highest": 1 / _smallest(sizes),
        "average": expected / counted,
        "at_risk": people_at_risk / counted,
        "threshold": float(AT_RISK),
    }


def _journalist(row: Row) -> dict[str, Any]:
    """The attacker does not know who is in the table: the chance is 1 / people in the reference."""
    classes, unions = int(row["kanon_classes"]), int(row["kanon_unions"])
    return {
        "highest": 1 / int(row["kanon_least_union"]),
        "average": max(classes / unions, _marketer(row)),
        "at_risk": int(row["kanon_at_risk_people"]) / int(row["kanon_sizes"]),
        "threshold": float(AT_RISK),
    }


def _marketer(row: Row) -> float:
    """The attacker links everyone: the share of correct links to expect."""
    return float(row["kanon_reidentified"]) / int(row["kanon_sizes"])


# --- warnings -------------------------------------------------------------------------------


def warnings(plan: Plan, answers: Answers) -> Iterator[str]:
    """What a reader must know beside the verdicts, each in a sentence or two."""
    if not answers.sizes:
        return
    yield from _unassigned_identifiers(plan, answers)
    yield from _profiles(answers)
    for sensitive in plan.sensitive:
        yield from _sham_diversity(sensitive, answers)
    if plan.bound.wildcard and plan.bound.sensitive:
        yield (
            "nulls: wildcard: the sensitive attributes are not measured, because compatible "
            "records form no classes."
        )
    for step in plan.references:
        yield from _matching(step, answers.matches[step.step.name])


def _unassigned_identifiers(plan: Plan, answers: Answers) -> Iterator[str]:
    for (_, columns), row in zip(plan.first_records, answers.first_records, strict=True):
        looked_at = int(row["kanon_records"])
        if looked_at < 2:
            return
        all_of_them = looked_at < FIRST_RECORDS
        where = "every record" if all_of_them else f"each of the first {looked_at:,} records"
        for place, name in enumerate(columns, start=1):
            if row[f"kanon_distinct_{place}"] == looked_at:
                yield (
                    f'"{name}" has a different value in {where}, so it may identify people by '
                    "itself. If it is published, it is a quasi-identifier; if not, declare it as "
                    "an identifier or as the entity."
                )


def _profiles(answers: Answers) -> Iterator[str]:
    if not answers.profiles:
        return
    k = int(answers.profiles["kanon_profile_k"])
    if k < _smallest(answers.sizes):
        yield (
            f"People have records in several classes, and the combination says more than each "
            f"class: {int(answers.profiles['kanon_profile_uniques']):,} people are alone with "
            f"theirs, and the fewest who share one are {k:,}, against a k of "
            f"{_smallest(answers.sizes):,}."
        )


def _sham_diversity(sensitive: SensitiveStep, answers: Answers) -> Iterator[str]:
    name = sensitive.column.name
    by_null = _total(answers.sensitive[name], "kanon_diverse_by_null_classes")
    if by_null:
        yield (
            f"Only NULL makes {_counted(by_null, 'class')} look diverse in {name}: without it "
            "there is a single value. --sensitive-nulls unknown counts NULL as no value."
        )
    by_spelling = answers.diverse_by_spelling.get(name, 0)
    if by_spelling:
        yield (
            f"Only spelling makes {_counted(by_spelling, 'class')} look diverse in {name}: the "
            "values differ by case, outer spaces or the way a number is written."
        )


def _matching(step: ReferenceStep, row: Row) -> Iterator[str]:
    unmatched = int(row["kanon_unmatched_classes"])
    exceeding = int(row["kanon_exceeding_classes"])
    reference = "the reference" if step.reference == "reference" else f"reference {step.reference}"
    if unmatched:
        records = _counted(int(row["kanon_unmatched_records"]), "record")
        yield (
            f"Nobody in {reference} matches {_counted(unmatched, 'class')} ({records}) of the "
            "release, so it can't contain the release: look for another spelling, another time "
            "or another region."
        )
    if exceeding:
        yield (
            f"There are fewer people in {reference} than in the release in "
            f"{_counted(exceeding, 'class')}, so it can't contain the release."
        )


def _counted(number: int, noun: str) -> str:
    plural = {"class": "classes"}.get(noun, f"{noun}s")
    return f"{number:,} {noun if number == 1 else plural}"


# --- sums -----------------------------------------------------------------------------------


def _total(rows: Sizes, column: str) -> int:
    return sum(int(row[column]) for row in rows)


def _people(sizes: Sizes) -> int:
    """The sum of the class sizes: the denominator of every share."""
    return sum(int(row["kanon_size"]) * int(row["kanon_classes"]) for row in sizes)


def _smallest(sizes: Sizes) -> int:
    return int(sizes[0]["kanon_size"])
