"""The rows of a plan that was run, and what is added up from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kanon_sql.engines.base import Row

Sizes = Sequence[Row]
"""Rows of the classes step, one for each class size, smallest first."""


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
    profiles: Row | None
    survey: Sequence[Row] | None
    matches: Mapping[str, Row]
    """The row of each reference step, by the step's name."""
    first_records: tuple[Row, ...]


def total(rows: Sizes, column: str) -> int:
    """The sum of a column."""
    return sum(int(row[column]) for row in rows)


def people_in(sizes: Sizes) -> int:
    """The sum of the class sizes: the denominator of every share."""
    return sum(int(row["kanon_size"]) * int(row["kanon_classes"]) for row in sizes)


def smallest(sizes: Sizes) -> int:
    """The size of the smallest class."""
    return int(sizes[0]["kanon_size"])


def the_reference(name: str) -> str:
    """What a sentence calls a reference."""
    return "the reference" if name == "reference" else f"reference {name}"
