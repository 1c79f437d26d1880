"""Speeds up the first rounds of a local recoding by running them on fewer combinations.

Until a class is split down to a low level, one value can represent all values with the same label
there, because the rounds treat them alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.qi_levels import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.sql.macros import render

MANY = 500_000
"""Number of combinations from which the first rounds have a smaller set of their own."""
FEWER = 4
"""Minimum factor by which that set must be smaller."""


class _StandIns(NamedTuple):
    """The key of a quasi-identifier, and the table of its representative values, if any."""

    key: str
    table: str | None


class FirstRounds:
    """The set that the first rounds read, and the mapping back to raw values. With few combinations
    it is the set of raw values itself."""

    def __init__(self, sets: FrequencySets, starts: Levels) -> None:
        self._sets = sets
        self._floors = _floors(sets, starts)
        self._stand_ins = [
            _StandIns(each.key, self._keep_stand_ins(each, floor) if floor else None)
            for each, floor in zip(sets.quasi_identifiers, self._floors, strict=True)
        ]

    @property
    def are_apart(self) -> bool:
        """Whether the first rounds have a set of their own."""
        return any(self._floors)

    def end_with(self, gone_to: Sequence[range]) -> bool:
        """Whether a split reached a level at which represented values must be distinguished;
        `gone_to` are the levels that the splits reached in each quasi-identifier."""
        pairs = zip(self._floors, gone_to, strict=True)
        return any(floor and floor in levels for floor, levels in pairs)

    def records(self) -> str:
        """The set that the first rounds read."""
        raw = self._sets.raw.name
        if not self.are_apart:
            return raw
        sql = render("set_of_stand_ins", records=raw, stand_ins=self._stand_ins)
        return self._sets.keep(
            f"{PRIVATE}first_combinations", "Which combinations are alike in the first rounds?", sql
        )

    def told_apart(self, members: str, *, with_next: bool = False) -> str:
        """SQL that expands members to the raw values they represent."""
        return render(
            "members_told_apart",
            members=members,
            records=self._sets.raw.name,
            stand_ins=self._stand_ins,
            with_next=with_next,
        )

    def _keep_stand_ins(self, each: QuasiIdentifier, floor: int) -> str:
        return self._sets.keep(
            f"{PRIVATE}stand_ins_{each.place}",
            f"Which values of {each.name} are alike in the first rounds?",
            render("stand_ins", values=each.values, level=floor),
        )


def _floors(sets: FrequencySets, starts: Levels) -> list[int]:
    """For each quasi-identifier, the level whose labels represent values until a class is split
    down to it; 0 for all if that would not save much."""
    raw, attributes = [0] * len(sets.quasi_identifiers), sets.attributes
    # The further columns that checks read enlarge a set by an unknown factor.
    if sets.searched_beside or math.prod(each.distinct[0] for each in attributes) < MANY:
        return raw
    [row] = sets.ask(
        "combinations",
        "How many combinations of values are there?",
        render("rows_of_set", set=sets.raw.name),
    )
    combinations, floors = int(row["kanon_rows"]), list(raw)
    if combinations < MANY:
        return raw
    while (
        math.prod(each.distinct[floor] for each, floor in zip(attributes, floors, strict=True))
        > combinations / FEWER
    ):
        higher = [
            place
            for place, each in enumerate(sets.quasi_identifiers)
            if floors[place] + 1 < starts[each.name]
            and all(map(each.nested, range(floors[place] + 2, starts[each.name] + 1)))
        ]
        if not higher:
            return raw
        floors[max(higher, key=lambda place: attributes[place].distinct[floors[place]])] += 1
    return floors
