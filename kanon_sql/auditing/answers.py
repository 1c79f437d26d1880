"""The rows of a plan that was run, and what is added up from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kanon_sql.auditing.unassigned import TellingApart
from kanon_sql.sql.tables import Row

Sizes = Sequence[Row]
"""Rows of the classes step, one for each class size, smallest first."""
Counted = Sequence[tuple[int, int]]
"""The size of the smallest class of so many people (records), smallest first."""


@dataclass(frozen=True)
class Answers:
    """The rows of every step of a plan that was run."""

    sizes: Sizes
    sensitive: Mapping[str, Sizes]
    """The rows of each step that measures a sensitive attribute, by the step's name."""
    distances: Mapping[str, Row]
    """The row of each distance step, by the step's name."""
    looks: Mapping[str, Row]
    """The rows of the looks that were taken, by the step's name."""
    named_values: tuple[Row, ...]
    profiles: Sizes
    """Rows of the profiles step, one for each number of people who share a profile, smallest
    first; none without an entity."""
    people: Sizes | None
    """Rows of the people step, which is asked where people are in several classes."""
    people_of: Mapping[str, Row]
    """What steps that are asked of classes say of people, by the step's name; a step that is not
    here has every person in one class."""
    survey: Sequence[Row] | None
    matches: Mapping[str, Row]
    """The row of each reference step, by the step's name."""
    earlier: Mapping[str, Row]
    """The row of each step on an earlier release, by the step's name."""
    telling_apart: tuple[TellingApart, ...]
    """The columns without a part that tell nearly all apart."""

    @property
    def counted(self) -> Counted:
        """Everyone once: people, or records where nobody says whose they are."""
        if self.people is not None:
            return [(int(row["kanon_size"]), int(row["kanon_people"])) for row in self.people]
        if self.profiles:
            return [(int(row["kanon_size"]), people_in([row])) for row in self.sizes]
        return [(int(row["kanon_size"]), int(row["kanon_records"])) for row in self.sizes]


def everyone(counted: Counted) -> int:
    """How many people (records) there are: the denominator of every share."""
    return sum(count for _, count in counted)


def people_of_profiles(profiles: Sizes) -> int:
    """How many people there are, each of whom has one profile."""
    return sum(int(row["kanon_size"]) * int(row["kanon_profiles"]) for row in profiles)


def total(rows: Sizes, column: str) -> int:
    """The sum of a column."""
    return sum(int(row[column]) for row in rows)


def people_in(sizes: Sizes) -> int:
    """The sum of the class sizes: people, where each is in one class, else their memberships."""
    return sum(int(row["kanon_size"]) * int(row["kanon_classes"]) for row in sizes)


def smallest(sizes: Sizes) -> int:
    """The size of the smallest class."""
    return int(sizes[0]["kanon_size"])
