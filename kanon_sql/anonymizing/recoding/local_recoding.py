"""Local recoding: splits each class down its hierarchies independently, as far as the checks allow.

Top-down specialisation in which a rest stays behind, after Fung, Wang and Yu 2005 and LeFevre,
DeWitt and Ramakrishnan 2006; the rule for the rest is this project's own. Everything is computed
from the frequency set of raw values, so the order of the records cannot matter. A round is a
handful of statements over temporary tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.lattice import PRIVATE, Levels
from kanon_sql.anonymizing.search.losses import labels_of_values
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row

_LARGEST = 2**120
"""Upper bound of sums of weighted gains, so that they fit a hugeint and compare exactly."""
_SMALL = 2**63
"""Upper bound below which they fit into 64 bits."""
_MOST_AT_ONCE = 64
"""Maximum number of states of one rest that a statement evaluates."""
_CLASS = ("kanon_class",)
_CHILD = ("kanon_class", "kanon_qi", "kanon_place")
_REST = ("kanon_class", "kanon_qi", "kanon_taken")


@dataclass(frozen=True)
class RecodingRound:
    """One round: the number of splittable classes at its start, of split ones, and of parts."""

    number: int
    classes: int
    split: int
    parts: int


@dataclass(frozen=True)
class Recoding:
    """The result of the rounds, and the names of its temporary relations."""

    starts: Levels
    """The starting level of each quasi-identifier."""
    rounds: tuple[RecodingRound, ...]
    """In the last one no class could be split."""
    starting_levels: str
    """The passing classes before the first round, with their levels."""
    splits: tuple[str, ...]
    """The splits of each round, one row per part."""
    class_levels: str
    """The released classes, with their levels."""
    labels: str
    """The labels of every value at every level."""
    members: str
    """The combinations of raw values, each with its class; NULL if suppressed."""
    records_violating: int
    """Number of records in classes that fail a check before the first round."""
    fails: bool
    """Whether these are more than may be suppressed, so that there is no release."""

    @property
    def suppressed(self) -> int:
        return 0 if self.fails else self.records_violating


def local_recoding(
    sets: FrequencySets,
    preferred: Preferences,
    *,
    records: int,
    max_suppressed: int,
    least_suppressed: int = 0,
    on_round: Callable[[RecodingRound], None] = lambda done: None,
) -> Recoding:
    """Split the classes of a table round by round, until the checks allow no further split.

    Every quasi-identifier begins at its highest allowed level. If that gives several classes, the
    ones that fail a check are suppressed whole, provided that they have at most `max_suppressed`
    records in total, and either none or at least `least_suppressed`.
    """
    starts = preferred.highest_of(sets.quasi_identifiers)
    rounds = _Rounds(sets, starts, _factors(sets, records, preferred.weights), records)
    return rounds.run(range(least_suppressed, max_suppressed + 1), on_round)


def _factors(sets: FrequencySets, records: int, weights: Mapping[str, float]) -> list[int]:
    """Integer factors in the ratio weight / (leaves - 1) that make gains of different
    quasi-identifiers comparable. Integer sums are exact, so ties are detected exactly."""
    leaves = [column.leaves for column in sets.quasi_identifiers]
    shares = [
        Fraction(str(weights.get(column.name, 1))) / (many - 1) if many > 1 else Fraction(0)
        for column, many in zip(sets.quasi_identifiers, leaves, strict=True)
    ]
    denominator = math.lcm(*(share.denominator for share in shares))
    factors = [int(share * denominator) for share in shares]
    common = math.gcd(*factors) or 1
    most = records * max(leaves) * max(factors) // common
    shrunk = max(1, -(-most // _LARGEST))
    return [round(Fraction(factor, common * shrunk)) for factor in factors]


class _Moved(NamedTuple):
    """The levels above 0 that splits reached in a quasi-identifier."""

    number: int
    key: str
    values: str
    levels: Sequence[int]


class _Split(NamedTuple):
    """The splits of a round: their relation, the number of classes split and of parts, and the
    range of levels reached in each quasi-identifier, possibly empty."""

    name: str
    classes: int
    parts: int
    levels: tuple[range, ...]


class _Rounds:
    """The rounds of one table, each over the classes of the previous one."""

    def __init__(
        self, sets: FrequencySets, starts: Levels, factors: Sequence[int], records: int
    ) -> None:
        self._sets, self._starts, self._factors = sets, starts, factors
        leaves = max(column.leaves for column in sets.quasi_identifiers)
        best = (records * leaves * max(factors) + 1) * len(factors)
        self._offer_type = "bigint" if best < _SMALL else "hugeint"
        self._keys = [column.key for column in sets.quasi_identifiers]
        self._levels = [starts[column.name] for column in sets.quasi_identifiers]
        self._carried = list(sets.searched_columns)
        self._labels_of_values = labels_of_values(
            sets, {name: range(level + 1) for name, level in starts.items()}
        )
        self._labels = self._keep(
            "label_places",
            "How many leaves lie under each label?",
            render("label_places", labels=self._labels_of_values),
        )

    def run(self, allowed: range, on_round: Callable[[RecodingRound], None]) -> Recoding:
        """Run the rounds. The number of suppressed records must be 0 or in `allowed`."""
        live = self._started()
        failing = self._failing(live)
        violating = self._records_of(failing)
        fails = violating > 0 and violating not in allowed
        suppressed = self._suppressed(live, None if fails else failing)
        if violating:
            live = self._without(live, failing)
        levels = self._keep(
            "class_levels_0",
            "Which levels and labels does each class have before the first split?",
            render(
                "starting_levels",
                members=live,
                keys=self._keys,
                starts=self._levels,
                labels=self._labels_of_values,
            ),
        )
        [counts] = self._sets.fetch(
            "classes_at_first",
            "How many classes are there before the first split?",
            render("classes_in_short", members=live),
        )
        classes, first = int(counts["kanon_classes"]), int(counts["kanon_last"]) + 1
        all_levels, splits, rounds = [levels], list[str](), list[RecodingRound]()
        finished = [suppressed]
        while classes and not fails:
            number = len(rounds) + 1
            split = self._split(number, live, levels, first)
            rounds.append(RecodingRound(number, classes, split.classes, split.parts))
            on_round(rounds[-1])
            if split.classes < classes:
                finished.append(self._finished(number, live, split.name))
            if not split.parts:
                break
            parts = self._members_of_parts(number, live, split)
            self._sets.drop(live)
            splits.append(split.name)
            levels = self._levels_of_parts(number, split.name, levels)
            all_levels.append(levels)
            live, classes, first = parts, split.parts, first + split.parts
        return Recoding(
            starts=self._starts,
            rounds=tuple(rounds),
            starting_levels=all_levels[0],
            splits=tuple(splits),
            class_levels=self._released(all_levels, splits),
            labels=self._labels_of_values,
            members=self._all_members(finished),
            records_violating=violating,
            fails=fails,
        )

    # --- start and end ----------------------------------------------------------------------

    def _started(self) -> str:
        """Materialise the combinations with their starting classes."""
        sql = render(
            "starting_members",
            records=self._sets.raw.name,
            keys=self._keys,
            starts=self._levels,
            values=[column.values for column in self._sets.quasi_identifiers],
            carried=self._carried,
        )
        return self._keep(
            "members_at_first", "In which class is each combination before the first split?", sql
        )

    def _failing(self, members: str) -> str:
        """Materialise the starting classes that fail a check."""
        violating = self._sets.violating_among(_CLASS, members)
        return self._keep(
            "failing_classes", "Which classes violate a check before the first split?", violating
        )

    def _records_of(self, classes: str) -> int:
        sql = render("total", relation=classes, column="kanon_records")
        [total] = self._sets.fetch(
            f"total_of_{classes}", "How many records are in these classes?", sql
        )
        return int(total["kanon_total"])

    def _suppressed(self, members: str, failing: str | None) -> str:
        sql = render("suppressed_members", members=members, failing=failing, keys=self._keys)
        return self._keep("suppressed_members", "Which combinations are suppressed?", sql)

    def _without(self, members: str, failing: str) -> str:
        sql = render("members_without", members=members, classes=failing)
        kept = self._keep("members_0", "Which combinations are in a class that passes?", sql)
        self._sets.drop(members)
        return kept

    def _released(self, all_levels: Sequence[str], splits: Sequence[str]) -> str:
        sql = render("finished_levels", all_levels=all_levels, splits=splits)
        return self._keep(
            "class_levels", "Which levels and labels does each class of the release have?", sql
        )

    def _all_members(self, parted: Sequence[str]) -> str:
        """The combinations of all rounds. Without further columns, each combination is one row of
        one of these relations, so that a view suffices."""
        sql = render(
            "recoded_combinations", parted=parted, keys=self._keys, several=bool(self._carried)
        )
        store = self._sets.materialise if self._carried else self._sets.create_view
        name, question = (
            f"{PRIVATE}recoded_combinations",
            "In which class of the release is each combination?",
        )
        return store(name, question, sql)

    # --- one round --------------------------------------------------------------------------

    def _split(self, number: int, live: str, levels: str, first: int) -> _Split:
        """Materialise the splits of a round."""
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
        [counts] = self._sets.fetch(
            f"splits_in_short_{number}",
            "How many classes were split, into how many?",
            render("splits_in_short", splits=name, keys=self._keys),
        )
        return _Split(
            name,
            int(counts["kanon_split"]),
            int(counts["kanon_parts"]),
            tuple(_levels_reached(counts, index) for index in range(1, len(self._keys) + 1)),
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
        """SQL of the children to split off if each rest must be checked by its contents."""
        children = self._keep(
            f"children_{number}",
            "Which children does each class have, one level down?",
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
            "Which children pass every check by themselves, and what would each gain?",
            render("ranked_children", gaining=f"({gaining})"),
        )
        held = self._held(number, children, ranked)
        return render("going_by_rest", ranked=ranked, held=held)

    def _held(self, number: int, children: str, ranked: str) -> list[str]:
        """Materialise the number of children that each rest takes back until it passes; rests that
        never pass are left out. Each iteration evaluates the next few states of every open rest."""
        question = "Which rests are not yet checked?"
        sql = render("rests_to_judge", ranked=ranked, k=self._sets.least_records)
        open_rests = self._keep(f"rests_to_judge_{number}_0", question, sql)
        held, look, batch = [], 0, 1
        while True:
            look += 1
            rests = self._keep(
                f"rests_{number}_{look}",
                "How many records does each rest have after taking back further children?",
                render(
                    "rests",
                    children=children,
                    ranked=ranked,
                    asked=open_rests,
                    batch=batch,
                    carried=self._carried,
                ),
            )
            passing = self._keep(
                f"rests_that_hold_{number}_{look}",
                "Which rests pass every check?",
                render(
                    "rests_that_hold",
                    asked=open_rests,
                    rests=rests,
                    violating=self._sets.violating_among(_REST, rests),
                ),
            )
            held.append(passing)
            self._sets.drop(rests)
            open_rests = self._keep(
                f"rests_to_judge_{number}_{look}",
                question,
                render("rests_still_to_judge", asked=open_rests, held=passing, batch=batch),
            )
            [left] = self._sets.fetch(
                f"rests_left_{number}_{look}",
                "How many rests are not yet checked?",
                render("rests_in_short", rests=open_rests),
            )
            if not left["kanon_rests"]:
                return held
            batch = min(2 * batch, _MOST_AT_ONCE)

    def _finished(self, number: int, live: str, splits: str) -> str:
        sql = render("finished_members", members=live, splits=splits, keys=self._keys)
        return self._keep(
            f"finished_{number}", "Which combinations are in classes that can't be split?", sql
        )

    def _levels_of_parts(self, number: int, splits: str, levels: str) -> str:
        sql = render("levels_of_parts", splits=splits, class_levels=levels, many=len(self._keys))
        return self._keep(
            f"class_levels_{number}", "Which levels and labels does each new class have?", sql
        )

    def _members_of_parts(self, number: int, live: str, split: _Split) -> str:
        sql = render(
            "members_of_parts",
            members=live,
            splits=split.name,
            moved=[
                _Moved(qi.number, qi.key, qi.values, [level for level in levels if level])
                for qi, levels in zip(self._sets.quasi_identifiers, split.levels, strict=True)
            ],
            carried=self._carried,
            closing=not self._carried,
        )
        return self._keep(f"members_{number}", "Which combinations are in each new class?", sql)

    def _keep(self, name: str, question: str, sql: str) -> str:
        return self._sets.materialise(f"{PRIVATE}{name}", question, sql)


def _levels_reached(counts: Row, index: int) -> range:
    lowest, highest = counts[f"kanon_lowest_{index}"], counts[f"kanon_highest_{index}"]
    return range(0) if lowest is None else range(int(lowest), int(highest) + 1)
