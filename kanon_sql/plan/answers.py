"""The rows of the steps of an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kanon_sql.sql.tables import Row

Sizes = Sequence[Row]
"""Rows of the classes step, one per class size, ascending."""
Counted = Sequence[tuple[int, int]]
"""Pairs (size of the smallest class, number of people or records), ascending."""


@dataclass(frozen=True)
class Answers:
    """The rows of the steps that were run so far, by the step's name."""

    by_step: dict[str, Sequence[Row]] = field(default_factory=dict)
    shows_values: bool = False
    """Whether steps are run whose rows are values of the data."""

    def rows(self, step: str) -> Sequence[Row]:
        """The rows of a step; none if it was not run."""
        return self.by_step.get(step, ())

    def row(self, step: str) -> Row | None:
        """The first row of a step; None if it was not run."""
        return next(iter(self.rows(step)), None)

    def people_of(self, step: str) -> Row | None:
        """The figures of a class step counted in people; None if every person is in one class, so
        that they follow from its own."""
        return self.row(f"people_of_{step}")

    @property
    def sizes(self) -> Sizes:
        """The rows of the first step on classes; none without records."""
        return self.rows("classes")

    @property
    def number_of_people(self) -> int:
        """The number of people; 0 without an entity."""
        row = self.row("number_of_people")
        return int(row["kanon_people"]) if row else 0

    @property
    def in_several(self) -> bool:
        """Whether someone is in more than one class."""
        return self.number_of_people > 0 and people_in(self.sizes) > self.number_of_people

    @property
    def profiles(self) -> Sizes:
        """One row per number of people who share a profile, ascending; none without an entity. The
        profile of a person is the set of their classes: their class, if everyone is in one."""
        if not self.number_of_people:
            return ()
        if not self.in_several:
            sizes = ((row["kanon_size"], row["kanon_classes"]) for row in self.sizes)
        else:
            sizes = ((row["kanon_people"], row["kanon_profiles"]) for row in self.rows("profiles"))
        return [
            {"kanon_size": size, "kanon_profiles": profiles} for size, profiles in _summed(sizes)
        ]

    @property
    def counted(self) -> Counted:
        """Everyone once: people, or records without an entity."""
        if self.in_several:
            return _summed(
                (row["kanon_size"], int(row["kanon_people"]) * int(row["kanon_profiles"]))
                for row in self.rows("profiles")
            )
        if self.number_of_people:
            return [(int(row["kanon_size"]), people_in([row])) for row in self.sizes]
        return [(int(row["kanon_size"]), int(row["kanon_records"])) for row in self.sizes]


def _summed(numbers: Iterable[tuple[int, int]]) -> Counted:
    """Pairs of a size and a number, ascending, with the numbers of each size added up."""
    by_size: Counter[int] = Counter()
    for size, number in numbers:
        by_size[int(size)] += int(number)
    return sorted(by_size.items())


def everyone(counted: Counted) -> int:
    """Number of people (records): the denominator of every share."""
    return sum(count for _, count in counted)


def total(rows: Sizes, column: str) -> int:
    """Sum of a column."""
    return sum(int(row[column]) for row in rows)


def people_in(sizes: Sizes) -> int:
    """Sum of the class sizes: people, if each is in one class, otherwise memberships."""
    return sum(int(row["kanon_size"]) * int(row["kanon_classes"]) for row in sizes)


def people_of_profiles(profiles: Sizes) -> int:
    """Number of people; each has exactly one profile."""
    return sum(int(row["kanon_size"]) * int(row["kanon_profiles"]) for row in profiles)


def classes_by_size(sizes: Sizes) -> list[tuple[int, int, int]]:
    """Each size, with its number of classes and of records."""
    return [
        (int(row["kanon_size"]), int(row["kanon_classes"]), int(row["kanon_records"]))
        for row in sizes
    ]


def smallest(sizes: Sizes) -> int:
    """Size of the smallest class."""
    return int(sizes[0]["kanon_size"])


def uniques(answers: Answers) -> int:
    """Number of people (records) alone in a class."""
    return sum(count for size, count in answers.counted if size == 1)


def any_fails(rows: Sequence[Row]) -> bool:
    """Whether any class fails a check, or is homogeneous."""
    return any(
        row[column]
        for row in rows
        for column in row
        if column == "kanon_homogeneous_classes" or column.endswith("_violated_classes")
    )
