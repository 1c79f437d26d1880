"""The rows of an executed plan, and sums over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
