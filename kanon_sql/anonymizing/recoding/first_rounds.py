"""The first rounds of a local recoding, on fewer combinations than there are.

As long as no class has come down to a low level, one value can stand for all that have the same
label there: in all that the rounds read they are alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.qi_levels import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.sql.macros import render

MANY = 500_000
"""From so many combinations on the first rounds have a set of their own."""
FEWER = 4
"""How many times fewer its combinations must be."""


class _StandIns(NamedTuple):
    """The key of a quasi-identifier, and the table of its stand-ins, if it has any."""

    key: str
    table: str | None


class FirstRounds:
    """The set that the first rounds read, which is that of the raw values where it has few
    combinations; and the way back to these."""

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
        """Whether parts went so low that values which were alike have to be told apart; those of
        each quasi-identifier went to these levels."""
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
        """Some members by the raw values that others stood for, as a question."""
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
    """The level of each quasi-identifier at which values are alike until a class comes down to it;
    0 for all where that would not save much."""
    raw, attributes = [0] * len(sets.quasi_identifiers), sets.attributes
    # What a demand reads beside makes a set larger by as much as nobody knows.
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
