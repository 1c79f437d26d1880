"""The rows of an executed plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kanon_sql.engines.session import Session
from kanon_sql.errors import InputError
from kanon_sql.plan.audit_plan import Plan
from kanon_sql.plan.preconditions import WITH_ENTITY
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.plan.steps import Precondition
from kanon_sql.results.table import HistogramBin, Summary
from kanon_sql.sql.tables import Row

Sizes = Sequence[Row]
"""Rows of the classes step, one per class size, ascending."""
Counted = Sequence[tuple[int, int]]
"""Pairs (size of the smallest class, number of people or records), ascending."""


@dataclass(frozen=True)
class Answers:
    """The rows of every step of an executed plan."""

    sizes: Sizes
    sensitive: Mapping[str, Sizes]
    """The rows of each step on a sensitive attribute, by the step's name."""
    distances: Mapping[str, Row]
    """The row of each distance step, by the step's name."""
    looks: Mapping[str, Row]
    """The rows of the optional steps that were run, by the step's name."""
    named_values: tuple[Row, ...]
    profiles: Sizes
    """Rows of the profiles step, one per number of people who share a profile, ascending; none
    without an entity."""
    people: Sizes | None
    """Rows of the people step, which runs if someone is in more than one class."""
    people_of: Mapping[str, Row]
    """Figures of class steps counted in people, by the step's name; for a step that is missing
    here, every person is in one class."""
    survey: Sequence[Row] | None
    matches: Mapping[str, Row]
    """The row of each reference step, by the step's name."""
    earlier: Mapping[str, Row]
    """The row of each step on an earlier release, by the step's name."""
    unassigned: Row | None
    """Approximate numbers of distinct values of the unassigned columns."""
    insensitive: Sequence[Row]
    """How many people (records) are alone in each insensitive column without a reason."""

    @property
    def counted(self) -> Counted:
        """Everyone once: people, or records without an entity."""
        if self.people is not None:
            return [(int(row["kanon_size"]), int(row["kanon_people"])) for row in self.people]
        if self.profiles:
            return [(int(row["kanon_size"]), people_in([row])) for row in self.sizes]
        return [(int(row["kanon_size"]), int(row["kanon_records"])) for row in self.sizes]


def everyone(counted: Counted) -> int:
    """Number of people (records): the denominator of every share."""
    return sum(count for _, count in counted)


def people_of_profiles(profiles: Sizes) -> int:
    """Number of people; each has exactly one profile."""
    return sum(int(row["kanon_size"]) * int(row["kanon_profiles"]) for row in profiles)


def total(rows: Sizes, column: str) -> int:
    """Sum of a column."""
    return sum(int(row[column]) for row in rows)


def people_in(sizes: Sizes) -> int:
    """Sum of the class sizes: people, if each is in one class, otherwise memberships."""
    return sum(int(row["kanon_size"]) * int(row["kanon_classes"]) for row in sizes)


def smallest(sizes: Sizes) -> int:
    """Size of the smallest class."""
    return int(sizes[0]["kanon_size"])


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
        uniques=uniques(answers),
        records_with_null_qi=total(sizes, "kanon_with_null"),
        suppressed=total(sizes, "kanon_suppressed"),
    )


def uniques(answers: Answers) -> int:
    """Number of people (records) alone in a class."""
    return sum(count for size, count in answers.counted if size == 1)


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


def has_same_classes(plan: Plan, answers: Answers) -> bool:
    """Whether all steps counted the same classes; each is a statement of its own."""
    sizes, records = _classes_by_size(answers.sizes), total(answers.sizes, "kanon_records")
    people = people_of_profiles(answers.profiles)
    counts = [
        int(row["kanon_people"]) for row in answers.people_of.values() if "kanon_people" in row
    ]
    if answers.people is not None:
        counts.append(total(answers.people, "kanon_people"))
    if any(count != people for count in counts):
        return False
    for read in plan.sensitive:
        rows = answers.sensitive[read.step.name]
        if total(rows, "kanon_records") != records:
            return False
        if not read.with_others and _classes_by_size(rows) != sizes:
            return False
    if any(int(row["kanon_records"] or 0) != records for row in answers.distances.values()):
        return False
    counted = {"kanon_classes": total(answers.sizes, "kanon_classes")}
    if not plan.question.wildcard:
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


def refuse_without_entity(question: ResolvedQuestion, sizes: Sizes) -> None:
    """Raise `InputError` if records have no entity: they belong to no countable person."""
    if question.entity is None:
        return
    counted = {name: total(sizes, name) for name in ("kanon_records", "kanon_without_entity")}
    fault = WITH_ENTITY.fault(counted, table=question.table.name, column=question.entity.name)
    if fault is not None:
        raise InputError(fault)
