"""Summary of a table's classes, and consistency of the steps that counted them."""

from __future__ import annotations

from collections.abc import Iterable

from kanon_sql.auditing.answers import (
    Answers,
    Sizes,
    people_in,
    people_of_profiles,
    smallest,
    total,
)
from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.preconditions import WITH_ENTITY
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.steps import Precondition
from kanon_sql.results.table import HistogramBin, Summary


def summary(answers: Answers) -> Summary:
    """The key figures of a table."""
    sizes = answers.sizes
    if not sizes:
        return Summary(records=0)
    classes = total(sizes, "kanon_classes")
    return Summary(
        records=total(sizes, "kanon_records"),
        people=people_of_profiles(answers.profiles) if answers.profiles else None,
        classes=classes,
        k=smallest(sizes),
        average_class_size=people_in(sizes) / classes,
        largest_class=int(sizes[-1]["kanon_size"]),
        uniques=sum(count for size, count in answers.counted if size == 1),
        records_with_null_qi=total(sizes, "kanon_with_null"),
        suppressed=total(sizes, "kanon_suppressed"),
    )


def histogram(answers: Answers) -> tuple[HistogramBin, ...]:
    """For each class size, the number of classes, of their records, and of people whose smallest
    class has this size."""
    people = dict(answers.counted) if answers.profiles else None
    return tuple(
        HistogramBin(size, classes, records, None if people is None else people.get(size, 0))
        for size, classes, records in _classes_by_size(answers.sizes)
    )


def _classes_by_size(sizes: Sizes) -> list[tuple[int, int, int]]:
    """Each size, with its number of classes and of records."""
    return [
        (int(row["kanon_size"]), int(row["kanon_classes"]), int(row["kanon_records"]))
        for row in sizes
    ]


def saw_one_table(plan: Plan, answers: Answers) -> bool:
    """Whether all steps counted the same classes; each is a statement of its own."""
    sizes, records = _classes_by_size(answers.sizes), total(answers.sizes, "kanon_records")
    people = people_of_profiles(answers.profiles)
    seen_people = [
        int(row["kanon_people"]) for row in answers.people_of.values() if "kanon_people" in row
    ]
    if answers.people is not None:
        seen_people.append(total(answers.people, "kanon_people"))
    if any(seen != people for seen in seen_people):
        return False
    for read in plan.sensitive:
        seen = answers.sensitive[read.step.name]
        if total(seen, "kanon_records") != records:
            return False
        if not read.with_others and _classes_by_size(seen) != sizes:
            return False
    if any(int(row["kanon_records"] or 0) != records for row in answers.distances.values()):
        return False
    counted = {"kanon_classes": total(answers.sizes, "kanon_classes")}
    if not plan.bound.wildcard:
        counted["kanon_sizes"] = people_in(answers.sizes)
    return all(
        int(row[column]) == count
        for row in answers.matches.values()
        for column, count in counted.items()
    )


def refuse_unmet(preconditions: Iterable[Precondition], session: Session) -> None:
    """Raise `InputError` for the first precondition that fails."""
    for precondition in preconditions:
        fault = precondition.fault(session.row(precondition.step))
        if fault is not None:
            raise InputError(fault)


def refuse_without_entity(bound: ResolvedQuestion, sizes: Sizes) -> None:
    """Raise `InputError` if records have no entity: they belong to no countable person."""
    if bound.entity is None:
        return
    counted = {name: total(sizes, name) for name in ("kanon_records", "kanon_without_entity")}
    fault = WITH_ENTITY.fault(counted, table=bound.table.name, column=bound.entity.name)
    if fault is not None:
        raise InputError(fault)
