"""The splits of a local recoding as plain values from which views are built.

A class is identified by the labels at which it was split off. Its path is a list of them, so that
it contains no value that did not separate a class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, groupby
from operator import attrgetter

from kanon_sql.anonymizing.recoding.recoded_sets import RecodedSets
from kanon_sql.anonymizing.release.views import NoViews
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import is_one_line

MOST_SPLITS = 50_000
"""Maximum number of splits in views."""
MOST_SEEDED = 1_000_000
"""Maximum number of splits in the seed of a dbt model."""
OF_SEVERAL_LINES = NoViews(
    "A value that a class was split by has a line break in it, and a view has a line a value",
    "Replace the value",
)


@dataclass(frozen=True)
class Split:
    """A part of a split class: the records with a label, or the rest."""

    of: int
    number: int
    qi: int
    level: int | None
    """Level of the label; None for the rest, which keeps its levels."""
    label: str | None

    @property
    def is_rest(self) -> bool:
        return self.level is None


@dataclass(frozen=True)
class LabelTest:
    """A test that a record has a label of a quasi-identifier; `qi` counts from 1."""

    qi: int
    level: int
    label: str | None

    @property
    def name(self) -> str:
        return label_name(self.qi, self.level)


@dataclass(frozen=True)
class Case:
    """A value for the records that pass all conditions."""

    conditions: tuple[LabelTest, ...]
    value: str


@dataclass(frozen=True)
class SplitTree:
    """All classes of a recoding, from the first ones to those released."""

    starts: tuple[int, ...]
    """The starting level of each quasi-identifier."""
    nested: tuple[bool, ...]
    """For each quasi-identifier, whether a label determines the labels at every level above."""
    first: Mapping[int, tuple[LabelTest, ...]]
    """The classes before the first round, with the labels that distinguish them."""
    rounds: tuple[tuple[Split, ...], ...]

    @property
    def are_few(self) -> bool:
        """Whether the splits fit into views."""
        return sum(map(len, self.rounds)) <= MOST_SPLITS

    @cached_property
    def splits_of(self) -> Mapping[int, tuple[Split, ...]]:
        """The parts of each split class: the children in order, then the rest."""
        return {
            of: tuple(splits)
            for round_splits in self.rounds
            for of, splits in groupby(round_splits, key=attrgetter("of"))
        }

    @cached_property
    def labels(self) -> frozenset[str]:
        """The labels that distinguish the classes."""
        first = [condition.label for conditions in self.first.values() for condition in conditions]
        of_splits = [split.label for splits in self.rounds for split in splits]
        return frozenset(label for label in (*first, *of_splits) if label is not None)

    @cached_property
    def released(self) -> tuple[Case, ...]:
        """The released classes, ordered so that the first match of a record is its class: a class
        comes before the rest from which it was split off."""
        return tuple(
            case
            for part, conditions in self.first.items()
            for case in self._under(part, conditions, self.starts)
        )

    def value(self, number: int, levels: Sequence[int]) -> str:
        """A class's value in the views: the label by which it is split, or its levels."""
        splits = self.splits_of.get(number)
        if splits is None:
            return self.spelled(levels)
        return f"{number} by {self.mark(splits, levels)}"

    def spelled(self, levels: Sequence[int]) -> str:
        return "".join(f"{level:0{self.digits}}" for level in levels)

    @property
    def digits(self) -> int:
        return len(str(max(self.starts, default=0)))

    @staticmethod
    def mark(splits: Sequence[Split], levels: Sequence[int]) -> str:
        """The quasi-identifier and level by which a class is split."""
        qi = splits[0].qi
        return f"{qi}.{levels[qi - 1] - 1}"

    def steps(self) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
        """For each round, the labels that it reads and the new value of each class."""
        levels = dict.fromkeys(self.first, self.starts)
        for splits in self.rounds:
            looks: dict[str, None] = {}
            for split in splits:
                levels[split.number] = lowered(levels[split.of], split)
            rows = []
            for split in splits:
                of = self.value(split.of, levels[split.of])
                looks[of.rpartition(" by ")[2]] = None
                key = "" if split.is_rest else " null" if split.label is None else f"={split.label}"
                rows.append((f"{of}{key}", self.value(split.number, levels[split.number])))
            yield list(looks), rows

    def _under(
        self, number: int, conditions: tuple[LabelTest, ...], levels: tuple[int, ...]
    ) -> Iterator[Case]:
        """The released classes into which a class was finally split."""
        open_ = [(number, conditions, levels)]
        while open_:
            number, conditions, levels = open_.pop()
            splits = self.splits_of.get(number)
            if splits is None:
                yield Case(conditions, self.spelled(levels))
                continue
            for split in reversed(splits):
                lower = lowered(levels, split)
                open_.append((split.number, self._narrowed(conditions, split), lower))

    def _narrowed(self, conditions: tuple[LabelTest, ...], split: Split) -> tuple[LabelTest, ...]:
        """The conditions of a class and of its split, without those that the split implies."""
        if split.level is None:
            return conditions
        kept = [test for test in conditions if test.qi != split.qi or not self.nested[split.qi - 1]]
        return (*kept, LabelTest(split.qi, split.level, split.label))


def lowered(levels: tuple[int, ...], split: Split) -> tuple[int, ...]:
    """The levels after a split, given those of its class."""
    if split.level is None:
        return levels
    return (*levels[: split.qi - 1], split.level, *levels[split.qi :])


def label_name(qi: int, level: int) -> str:
    """The views' column for the label of a quasi-identifier at a level."""
    return f"kanon_label_{qi}_{level}"


def too_many(most: int) -> NoViews:
    """The reason that there are too many splits to write."""
    return NoViews(
        f"The classes were split into more than {most:,} parts, too many for "
        f"{'a seed' if most == MOST_SEEDED else 'views'}",
        "Ask for a larger k, or for fewer quasi-identifiers",
    )


def split_tree(recoded: RecodedSets, most: int) -> SplitTree | NoViews:
    """The splits of a recoding, at most `most`, or the reason why there are no views."""
    sets, recoding = recoded.sets, recoded.recoding
    if recoding.splits:
        sql = render("parts_in_all", splits=list(recoding.splits))
        [totals] = sets.fetch("parts_in_all", "How many classes do all splits create?", sql)
        if int(totals["kanon_total"]) > most:
            return too_many(most)
    sql = render(
        "starts_as_texts",
        class_levels=recoding.starting_levels,
        texts=recoded.texts,
        keys=[column.key for column in sets.quasi_identifiers],
    )
    starts = sets.fetch(
        "starts_as_texts", "Which labels does each class have before the first split?", sql
    )
    varying = {
        qi
        for qi in {row["kanon_qi"] for row in starts}
        if len({row["kanon_text"] for row in starts if row["kanon_qi"] == qi}) > 1
        or recoding.suppressed
    }
    levels = [recoding.starts[column.name] for column in sets.quasi_identifiers]
    first: dict[int, tuple[LabelTest, ...]] = {}
    for row in starts:
        number, qi = int(row["kanon_class"]), int(row["kanon_qi"])
        fits = [LabelTest(qi, levels[qi - 1], row["kanon_text"])] if qi in varying else []
        first[number] = (*first.get(number, ()), *fits)
    tree = SplitTree(
        tuple(levels),
        tuple(
            all(column.nested(level) for level in range(1, top + 1))
            for column, top in zip(sets.quasi_identifiers, levels, strict=True)
        ),
        first,
        tuple(_rounds(recoded, first)),
    )
    return tree if all(map(is_one_line, tree.labels)) else OF_SEVERAL_LINES


def _rounds(recoded: RecodedSets, first: Iterable[int]) -> Iterator[tuple[Split, ...]]:
    """The splits of each round. The database numbers parts in arbitrary order; here they are
    renumbered in a fixed order, so that the same table gives the same splits."""
    counted = {number: number for number in first}
    numbers = count(max(counted, default=0) + 1)
    for splits in recoded.recoding.splits:
        sql = render("parts_as_texts", splits=splits, texts=recoded.texts)
        rows = recoded.sets.fetch(
            f"parts_of_{splits}", "Which labels does each class created in this round have?", sql
        )
        round_splits = []
        for row in sorted(rows, key=lambda row: counted[row["kanon_class"]]):
            counted[row["kanon_part"]] = next(numbers)
            round_splits.append(
                Split(
                    counted[row["kanon_class"]],
                    counted[row["kanon_part"]],
                    int(row["kanon_qi"]),
                    None if row["kanon_is_rest"] else int(row["kanon_level"]),
                    row["kanon_text"],
                )
            )
        yield tuple(round_splits)
