"""Local recoding: each class goes down its hierarchies by itself, as far as its checks allow.

Top-down specialisation with a staying rest, after Fung, Wang and Yu 2005 and LeFevre, DeWitt and
Ramakrishnan 2006; the rule for the rest is this project's own. Everything is read off the
frequency set of the raw values, so that the order of the records can't matter; a round is a
handful of statements over what is kept beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from kanon_sql.anonymizing.recoding.first_rounds import FirstRounds
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.qi_levels import PRIVATE, Levels
from kanon_sql.anonymizing.search.losses import leaves_under
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row

_LARGEST = 2**120
"""Below it sums of weighted gains stay, so that they are compared as they are."""
_SMALL = 2**63
"""And below it they need no more than 64 bits."""
_MOST_AT_ONCE = 64
"""How many states of one rest are judged in one statement."""
_CLASS = ("kanon_class",)
_CHILD = ("kanon_class", "kanon_qi", "kanon_place")
_REST = ("kanon_class", "kanon_qi", "kanon_taken")


@dataclass(frozen=True)
class RecodingRound:
    """One round: how many classes could be split when it began, how many were, and into what."""

    number: int
    classes: int
    split: int
    parts: int


@dataclass(frozen=True)
class Recoding:
    """What the rounds came to, and what the engine calls it."""

    starts: Levels
    """The level at which each quasi-identifier began."""
    rounds: tuple[RecodingRound, ...]
    """The last one is that in which no class could be split."""
    starting_levels: str
    """The classes before the first round that hold, with their levels."""
    splits: tuple[str, ...]
    """What each round made of the classes that it split: a row for each part."""
    class_levels: str
    """The classes that are released, with their levels."""
    descents: str
    """What every value becomes at every level."""
    members: str
    """The combinations of raw values, each with its class; NULL where it is suppressed."""
    records_violating: int
    """How many records are in classes that fail a check before the first round."""
    fails: bool
    """Whether these are more than may be suppressed, so that there is no release."""

    @property
    def suppressed(self) -> int:
        return 0 if self.fails else self.records_violating


def local_recoding(
    sets: FrequencySets,
    *,
    starts: Levels,
    records: int,
    max_suppressed: int,
    weights: Mapping[str, Fraction],
    least_suppressed: int = 0,
    tell: Callable[[RecodingRound], None] = lambda done: None,
) -> Recoding:
    """Split the classes of a table round by round, until the checks let none be split further.

    Every quasi-identifier begins at its level of `starts`. Where that makes several classes, those
    that fail a check are suppressed whole, if they have `max_suppressed` records at most, and none
    or `least_suppressed` at least. `weights` say how much the loss of a quasi-identifier counts, 1
    where none is given.
    """
    rounds = _Rounds(sets, starts, _factors(sets, records, weights), records)
    return rounds.run(range(least_suppressed, max_suppressed + 1), tell)


def _factors(sets: FrequencySets, records: int, weights: Mapping[str, Fraction]) -> list[int]:
    """What makes gains of different quasi-identifiers comparable: whole numbers in the ratio of
    weight / (leaves - 1). Sums of whole numbers are exact, so that a tie is a tie."""
    leaves = [each.leaves for each in sets.quasi_identifiers]
    shares = [
        weights.get(each.name, Fraction(1)) / (many - 1) if many > 1 else Fraction(0)
        for each, many in zip(sets.quasi_identifiers, leaves, strict=True)
    ]
    whole = math.lcm(*(share.denominator for share in shares))
    factors = [int(share * whole) for share in shares]
    common = math.gcd(*factors) or 1
    most = records * max(leaves) * max(factors) // common
    shrunk = max(1, -(-most // _LARGEST))
    return [round(Fraction(factor, common * shrunk)) for factor in factors]


class _Level(NamedTuple):
    """A level of a quasi-identifier: the table of its values, and where a file lists the leaves,
    that of the leaves under each label."""

    qi: int
    level: int
    values: str
    leaves: str | None


class _Moved(NamedTuple):
    """To which levels above 0 parts went in a quasi-identifier."""

    place: int
    key: str
    values: str
    levels: Sequence[int]


class _Split(NamedTuple):
    """What a round made of its classes: the table that tells, of how many, into how many, and at
    which levels parts went in each quasi-identifier, if in any."""

    name: str
    classes: int
    parts: int
    levels: tuple[range, ...]


class _Rounds:
    """The rounds of one table, each over the classes that the one before it made."""

    def __init__(
        self, sets: FrequencySets, starts: Levels, factors: Sequence[int], records: int
    ) -> None:
        self._sets, self._starts, self._factors = sets, starts, factors
        leaves = max(each.leaves for each in sets.quasi_identifiers)
        best = (records * leaves * max(factors) + 1) * len(factors)
        self._offer_type = "bigint" if best < _SMALL else "hugeint"
        self._keys = [each.key for each in sets.quasi_identifiers]
        self._levels = [starts[each.name] for each in sets.quasi_identifiers]
        self._carried = list(sets.searched_beside)
        self._first_rounds = FirstRounds(sets, starts)
        self._descents = self._all_descents()
        self._labels = self._keep(
            "label_places",
            "How many leaves lie under each label?",
            render("label_places", descents=self._descents),
        )

    def run(self, allowed: range, tell: Callable[[RecodingRound], None]) -> Recoding:
        """The rounds, one after the other; so many records may be suppressed, or none."""
        live = self._started()
        failing = self._failing(live)
        violating = self._records_of(failing)
        fails = violating > 0 and violating not in allowed
        suppressed = self._suppressed(live, None if fails else failing)
        if violating:
            live = self._without(live, failing)
        levels = self._keep(
            "class_levels_0",
            "At which levels does each class begin?",
            render(
                "starting_levels",
                members=live,
                keys=self._keys,
                starts=self._levels,
                descents=self._descents,
            ),
        )
        [found] = self._sets.ask(
            "classes_at_first",
            "How many classes are there at first?",
            render("classes_in_short", members=live),
        )
        classes, first = int(found["kanon_classes"]), int(found["kanon_last"]) + 1
        all_levels, splits, rounds = [levels], list[str](), list[RecodingRound]()
        finished, are_first = [suppressed], self._first_rounds.are_apart
        while classes and not fails:
            number = len(rounds) + 1
            split = self._split(number, live, levels, first)
            rounds.append(RecodingRound(number, classes, split.classes, split.parts))
            tell(rounds[-1])
            if split.classes < classes:
                finished.append(self._finished(number, live, split.name))
            if not split.parts:
                break
            if are_first and self._first_rounds.end_with(split.levels):
                are_first = False
                finished = [self._told_apart(each) for each in finished]
                told_apart = self._first_rounds.told_apart(live, with_next=True)
                parts = self._members_of_parts(number, f"(\n{told_apart}\n)", split, sorted=True)
            else:
                parts = self._members_of_parts(number, live, split)
            self._sets.forget(live)
            splits.append(split.name)
            levels = self._levels_of_parts(number, split.name, levels)
            all_levels.append(levels)
            live, classes, first = parts, split.parts, first + split.parts
        if are_first:
            finished = [self._told_apart(each) for each in finished]
        return Recoding(
            starts=self._starts,
            rounds=tuple(rounds),
            starting_levels=all_levels[0],
            splits=tuple(splits),
            class_levels=self._released(all_levels, splits),
            descents=self._descents,
            members=self._all_members(finished),
            records_violating=violating,
            fails=fails,
        )

    # --- the start and the end --------------------------------------------------------------

    def _all_descents(self) -> str:
        """Keep what every value becomes at every level that it may be shown at."""
        levels = [
            _Level(place, level, each.values, leaves_under(self._sets, each, level))
            for place, each in enumerate(self._sets.quasi_identifiers, start=1)
            for level in range(self._starts[each.name] + 1)
        ]
        question = "What does each value become at each level?"
        return self._keep("descents", question, render("descents", levels=levels))

    def _started(self) -> str:
        """Keep the combinations by the classes that there are at first."""
        sql = render(
            "starting_members",
            records=self._first_rounds.records(),
            keys=self._keys,
            starts=self._levels,
            values=[each.values for each in self._sets.quasi_identifiers],
            carried=self._carried,
        )
        return self._keep("members_at_first", "Which combinations are alike at first?", sql)

    def _failing(self, members: str) -> str:
        """Keep the classes of the first ones that fail a check."""
        violating = self._sets.violating_among(_CLASS, members)
        return self._keep("failing_classes", "Which of them fail a check?", violating)

    def _records_of(self, classes: str) -> int:
        sql = render("total", relation=classes, column="kanon_records")
        [found] = self._sets.ask(f"total_of_{classes}", "How many records have they?", sql)
        return int(found["kanon_total"])

    def _suppressed(self, members: str, failing: str | None) -> str:
        sql = render("suppressed_members", members=members, failing=failing, keys=self._keys)
        return self._keep("suppressed_members", "Which combinations are suppressed?", sql)

    def _without(self, members: str, failing: str) -> str:
        sql = render("members_without", members=members, classes=failing)
        kept = self._keep("members_0", "Which combinations are in a class that holds?", sql)
        self._sets.forget(members)
        return kept

    def _told_apart(self, finished: str) -> str:
        """Keep finished members of the first rounds by their raw values."""
        question = "Which combinations were alike in the first rounds?"
        sql = self._first_rounds.told_apart(finished)
        told_apart = self._sets.keep(f"{finished}_told_apart", question, sql)
        self._sets.forget(finished)
        return told_apart

    def _released(self, all_levels: Sequence[str], splits: Sequence[str]) -> str:
        sql = render("finished_levels", all_levels=all_levels, splits=splits)
        return self._keep("class_levels", "At which levels is each class?", sql)

    def _all_members(self, parted: Sequence[str]) -> str:
        """Without what a demand reads beside, each combination is in one row of one of these."""
        sql = render(
            "recoded_combinations", parted=parted, keys=self._keys, several=bool(self._carried)
        )
        keep = self._sets.keep if self._carried else self._sets.keep_view
        name, question = f"{PRIVATE}recoded_combinations", "Which class has each combination?"
        return keep(name, question, sql)

    # --- a round ----------------------------------------------------------------------------

    def _split(self, number: int, live: str, levels: str, first: int) -> _Split:
        """Keep what becomes of each class that can be split."""
        judged = (
            self._going_by_rest(number, live, levels)
            if self._carried
            else self._judged_by_size(live, levels)
        )
        name = self._keep(
            f"splits_{number}",
            f"Which classes are split in round {number}, and into what?",
            render(
                "splits",
                judged=judged,
                factors=self._factors,
                first=first,
                offer_type=self._offer_type,
                closing=not self._carried,
            ),
        )
        [found] = self._sets.ask(
            f"splits_in_short_{number}",
            "How many are they?",
            render("splits_in_short", splits=name, keys=self._keys),
        )
        return _Split(
            name,
            int(found["kanon_split"]),
            int(found["kanon_parts"]),
            tuple(_levels_gone_to(found, place) for place in range(1, len(self._keys) + 1)),
        )

    def _judged_by_size(self, live: str, levels: str) -> str:
        k = self._sets.least_records
        return render(
            "judged_by_size",
            children=render("children", members=live, keys=self._keys, k=k),
            class_levels=levels,
            labels=self._labels,
            many=len(self._keys),
            k=k,
        )

    def _going_by_rest(self, number: int, live: str, levels: str) -> str:
        """The children that go, where each rest has to be judged by what is in it."""
        children = self._keep(
            f"children_{number}",
            "Into what can each class be split?",
            render("children", members=live, keys=self._keys, carried=self._carried),
        )
        passing = render(
            "passing_children",
            children=children,
            violating=self._sets.violating_among(_CHILD, children),
        )
        gaining = render(
            "gaining_children",
            children=f"({passing})",
            class_levels=levels,
            labels=self._labels,
            many=len(self._keys),
        )
        ranked = self._keep(
            f"ranked_children_{number}",
            "Which parts hold by themselves, and what would they gain?",
            render("ranked_children", gaining=f"({gaining})"),
        )
        held = self._held(number, children, ranked)
        return render("going_by_rest", ranked=ranked, held=held)

    def _held(self, number: int, children: str, ranked: str) -> list[str]:
        """Keep how many children each rest takes back until it holds; one that never does is left
        out. Each look judges the next few states of every rest that is still open."""
        question = "Which rests are still to be judged?"
        sql = render("rests_to_judge", ranked=ranked, k=self._sets.least_records)
        asked = self._keep(f"rests_to_judge_{number}_0", question, sql)
        held, look, batch = [], 0, 1
        while True:
            look += 1
            rests = self._keep(
                f"rests_{number}_{look}",
                "What is in them, once they have taken back a few more?",
                render(
                    "rests",
                    children=children,
                    ranked=ranked,
                    asked=asked,
                    batch=batch,
                    carried=self._carried,
                ),
            )
            found = self._keep(
                f"rests_that_hold_{number}_{look}",
                "Which of them hold?",
                render(
                    "rests_that_hold",
                    asked=asked,
                    rests=rests,
                    violating=self._sets.violating_among(_REST, rests),
                ),
            )
            held.append(found)
            self._sets.forget(rests)
            asked = self._keep(
                f"rests_to_judge_{number}_{look}",
                question,
                render("rests_still_to_judge", asked=asked, held=found, batch=batch),
            )
            [left] = self._sets.ask(
                f"rests_left_{number}_{look}",
                "How many rests are left?",
                render("rests_in_short", rests=asked),
            )
            if not left["kanon_rests"]:
                return held
            batch = min(2 * batch, _MOST_AT_ONCE)

    def _finished(self, number: int, live: str, splits: str) -> str:
        sql = render("finished_members", members=live, splits=splits, keys=self._keys)
        return self._keep(f"finished_{number}", "Which classes can't be split further?", sql)

    def _levels_of_parts(self, number: int, splits: str, levels: str) -> str:
        sql = render("levels_of_parts", splits=splits, class_levels=levels, many=len(self._keys))
        return self._keep(f"class_levels_{number}", "At which levels are the parts?", sql)

    def _members_of_parts(
        self, number: int, live: str, split: _Split, *, sorted: bool = False
    ) -> str:
        sql = render(
            "members_of_parts",
            members=live,
            splits=split.name,
            moved=[
                _Moved(each.place, each.key, each.values, [level for level in levels if level])
                for each, levels in zip(self._sets.quasi_identifiers, split.levels, strict=True)
            ],
            carried=self._carried,
            closing=not self._carried,
            sorted=sorted,
        )
        return self._keep(f"members_{number}", "Which combinations are in each part?", sql)

    def _keep(self, name: str, question: str, sql: str) -> str:
        return self._sets.keep(f"{PRIVATE}{name}", question, sql)


def _levels_gone_to(found: Row, place: int) -> range:
    lowest, highest = found[f"kanon_lowest_{place}"], found[f"kanon_highest_{place}"]
    return range(0) if lowest is None else range(int(lowest), int(highest) + 1)
