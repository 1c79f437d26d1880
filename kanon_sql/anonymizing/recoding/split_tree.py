"""The cuts of a local recoding: how the classes were split, as plain values that views are made of.

A class is told from the others by the labels at which it was split off. Its path is a list of
them, so nothing of a value that never stood for a class of its own is in it.
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

MOST_PARTS = 50_000
"""Of how many parts views are still made."""
MOST_SEEDED = 1_000_000
"""And how many may stand in a seed, which a dbt model reads."""
OF_SEVERAL_LINES = NoViews(
    "A value that a class was split by has a line break in it, and a view has a line a value",
    "Replace the value",
)


@dataclass(frozen=True)
class Split:
    """A class that another one was split into: by a label, or as the rest."""

    of: int
    number: int
    qi: int
    level: int | None
    """That of the label; None for the rest, which stays where it was."""
    label: str | None

    @property
    def is_rest(self) -> bool:
        return self.level is None


@dataclass(frozen=True)
class LabelTest:
    """A label that a record has in a quasi-identifier, which is counted from 1."""

    qi: int
    level: int
    label: str | None

    @property
    def name(self) -> str:
        return label_name(self.qi, self.level)


@dataclass(frozen=True)
class Case:
    """A record that fits them all has this value."""

    conditions: tuple[LabelTest, ...]
    value: str


@dataclass(frozen=True)
class SplitTree:
    """All classes of a recoding, from the first ones to those that are released."""

    starts: tuple[int, ...]
    """The level at which each quasi-identifier began."""
    nested: tuple[bool, ...]
    """Whether a label of each says which one it has at every level above."""
    first: Mapping[int, tuple[LabelTest, ...]]
    """The classes before the first round, by the labels that tell them apart."""
    rounds: tuple[tuple[Split, ...], ...]

    @property
    def are_few(self) -> bool:
        """Whether views can hold them."""
        return sum(map(len, self.rounds)) <= MOST_PARTS

    @cached_property
    def parts(self) -> Mapping[int, tuple[Split, ...]]:
        """What each class was split into: the children in their order, then the rest."""
        return {
            of: tuple(parts)
            for each in self.rounds
            for of, parts in groupby(each, key=attrgetter("of"))
        }

    @cached_property
    def labels(self) -> frozenset[str]:
        """The values that tell the classes apart."""
        first = [each.label for conditions in self.first.values() for each in conditions]
        gone = [part.label for parts in self.rounds for part in parts]
        return frozenset(label for label in (*first, *gone) if label is not None)

    @cached_property
    def released(self) -> tuple[Case, ...]:
        """The classes that are released, so that the first one that fits a record is its own: a
        class stands before the rest that it was split off from."""
        return tuple(
            case
            for number, conditions in self.first.items()
            for case in self._under(number, conditions, self.starts)
        )

    def value(self, number: int, levels: Sequence[int]) -> str:
        """What a class is called in the views: by which label it is split, or its levels."""
        parts = self.parts.get(number)
        if parts is None:
            return self.spelled(levels)
        return f"{number} by {self.mark(parts, levels)}"

    def spelled(self, levels: Sequence[int]) -> str:
        return "".join(f"{level:0{self.digits}}" for level in levels)

    @property
    def digits(self) -> int:
        return len(str(max(self.starts, default=0)))

    @staticmethod
    def mark(parts: Sequence[Split], levels: Sequence[int]) -> str:
        """Which label a class is split by."""
        qi = parts[0].qi
        return f"{qi}.{levels[qi - 1] - 1}"

    def steps(self) -> Iterator[tuple[list[str], list[tuple[str, str]]]]:
        """For each round which labels are looked at, and what each class becomes."""
        levels = dict.fromkeys(self.first, self.starts)
        for parts in self.rounds:
            looks: dict[str, None] = {}
            for part in parts:
                levels[part.number] = lowered(levels[part.of], part)
            rows = []
            for part in parts:
                of = self.value(part.of, levels[part.of])
                looks[of.rpartition(" by ")[2]] = None
                key = "" if part.is_rest else " null" if part.label is None else f"={part.label}"
                rows.append((f"{of}{key}", self.value(part.number, levels[part.number])))
            yield list(looks), rows

    def _under(
        self, number: int, conditions: tuple[LabelTest, ...], levels: tuple[int, ...]
    ) -> Iterator[Case]:
        """The released classes that a class was split into at last."""
        open_ = [(number, conditions, levels)]
        while open_:
            number, conditions, levels = open_.pop()
            parts = self.parts.get(number)
            if parts is None:
                yield Case(conditions, self.spelled(levels))
                continue
            for part in reversed(parts):
                lower = lowered(levels, part)
                open_.append((part.number, self._narrowed(conditions, part), lower))

    def _narrowed(self, conditions: tuple[LabelTest, ...], part: Split) -> tuple[LabelTest, ...]:
        """The conditions of a class, with that of a part; one that follows from it is left out."""
        if part.level is None:
            return conditions
        kept = [each for each in conditions if each.qi != part.qi or not self.nested[part.qi - 1]]
        return (*kept, LabelTest(part.qi, part.level, part.label))


def lowered(levels: tuple[int, ...], part: Split) -> tuple[int, ...]:
    """The levels of a part of a class at these levels."""
    if part.level is None:
        return levels
    return (*levels[: part.qi - 1], part.level, *levels[part.qi :])


def label_name(qi: int, level: int) -> str:
    """What the views call the label of a quasi-identifier at a level."""
    return f"kanon_label_{qi}_{level}"


def too_many(most: int) -> NoViews:
    """Why the classes were split too often for anything to say how."""
    return NoViews(
        f"The classes were split into more than {most:,} parts, too many for "
        f"{'a seed' if most == MOST_SEEDED else 'views'}",
        "Ask for a larger k, or for fewer quasi-identifiers",
    )


def split_tree(recoded: RecodedSets, most: int) -> SplitTree | NoViews:
    """The cuts of a recoding, at most so many, or why there are no views of them."""
    sets, recoding = recoded.sets, recoded.recoding
    if recoding.splits:
        sql = render("parts_in_all", splits=list(recoding.splits))
        [found] = sets.ask("parts_in_all", "How many parts are there?", sql)
        if int(found["kanon_total"]) > most:
            return too_many(most)
    sql = render(
        "starts_as_texts",
        class_levels=recoding.starting_levels,
        texts=recoded.texts,
        keys=[each.key for each in sets.quasi_identifiers],
    )
    starts = sets.ask("starts_as_texts", "With which labels does each class begin?", sql)
    several = {
        qi
        for qi in {row["kanon_qi"] for row in starts}
        if len({row["kanon_text"] for row in starts if row["kanon_qi"] == qi}) > 1
        or recoding.suppressed
    }
    levels = [recoding.starts[each.name] for each in sets.quasi_identifiers]
    first: dict[int, tuple[LabelTest, ...]] = {}
    for row in starts:
        number, qi = int(row["kanon_class"]), int(row["kanon_qi"])
        fits = [LabelTest(qi, levels[qi - 1], row["kanon_text"])] if qi in several else []
        first[number] = (*first.get(number, ()), *fits)
    cuts = SplitTree(
        tuple(levels),
        tuple(
            all(each.nested(level) for level in range(1, top + 1))
            for each, top in zip(sets.quasi_identifiers, levels, strict=True)
        ),
        first,
        tuple(_rounds(recoded, first)),
    )
    return cuts if all(map(is_one_line, cuts.labels)) else OF_SEVERAL_LINES


def _rounds(recoded: RecodedSets, first: Iterable[int]) -> Iterator[tuple[Split, ...]]:
    """What each round made of the classes. The database numbers parts as they come; here they are
    counted in order, so that the same table has the same cuts."""
    counted = {number: number for number in first}
    numbers = count(max(counted, default=0) + 1)
    for splits in recoded.recoding.splits:
        sql = render("parts_as_texts", splits=splits, texts=recoded.texts)
        rows = recoded.sets.ask(f"parts_of_{splits}", "Which labels went?", sql)
        parts = []
        for row in sorted(rows, key=lambda row: counted[row["kanon_class"]]):
            counted[row["kanon_part"]] = next(numbers)
            parts.append(
                Split(
                    counted[row["kanon_class"]],
                    counted[row["kanon_part"]],
                    int(row["kanon_qi"]),
                    None if row["kanon_is_rest"] else int(row["kanon_level"]),
                    row["kanon_text"],
                )
            )
        yield tuple(parts)
