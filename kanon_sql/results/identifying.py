"""Which columns identify people, as plain frozen values. No value of a person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

LooksLike = Literal[
    "identifier", "quasi_identifier", "sensitive", "free_text", "nested", "constant", "undecided"
]
BY_NAME = "by its name: "
"""How a reason begins that lies in a name."""
UNKNOWN_NAME = "nothing is known by its name"
SpecialNulls = Literal["nobody", "value"]


@dataclass(frozen=True)
class ColumnProfile:
    """What one column does by itself, and what it looks like.

    `distinct` counts NULL as a value, and so do `largest_share` (of all records), `alone` (records
    with a value that no other has; people where an entity is set), `distinction` (distinct values
    by records) and `separation` (the share of pairs of records that it tells apart). All of it is
    None where the column's values can't be compared one by one. `rank` and `adds` are for
    candidates: their order by what they add, and how many records (people) each leaves alone that
    are not alone already by those before it (from the fourth on, by the first three).

    Motwani and Xu 2007, Efficient algorithms for masking and finding quasi-identifiers.
    """

    column: str
    type: str
    looks_like: LooksLike
    why: str
    role: str | None = None
    distinct: int | None = None
    nulls: int | None = None
    largest_share: float | None = None
    alone: int | None = None
    distinction: float | None = None
    separation: float | None = None
    rank: int | None = None
    adds: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class SubsetProfile:
    """The classes of a set of columns.

    Sizes are records, or distinct people where an entity is set: then `uniques` and
    `violating_people` count each person once, and `violating_records` stay records. A `key` has as
    many classes as all columns together.
    """

    columns: tuple[str, ...]
    k: int
    classes: int
    uniques: int
    violating_classes: int
    violating_records: int
    violating_people: int | None = None
    key: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "columns": list(self.columns)}


@dataclass(frozen=True)
class UniquesOfSize:
    """How many minimal sample uniques there are on sets of so many columns."""

    size: int
    minimal_sample_uniques: int


@dataclass(frozen=True)
class SpecialUniques:
    """The records that few columns single out, and the columns that do so.

    A minimal sample unique is a record with a set of at most `max_size` columns on which it is
    unique, while it is on no part of that set. With K columns and m in the set it scores (K − m)!;
    a record scores the sum of its own. `dis` is the sum of the records' DIS-SUDA scores at the
    sampling fraction: a heuristic, and not a probability. `contributions` are, in per cent of
    `score`, those of the sets that a column is in; they sum to more than 100. None where nobody is
    special.

    Elliot, Manning, Ford 2002 (IJUFKS 10(5)); Skinner and Elliot 2002 (JRSS B 64(4)); Elliot,
    Manning, Mayes, Gurd, Bane 2005 (SUDA, UNECE); Manning, Haglin, Keane 2008 (DMKD 16).
    """

    columns: tuple[str, ...]
    max_size: int
    nulls: SpecialNulls
    records: int
    score: int
    highest: int
    sampling_fraction: float
    dis: float
    by_size: tuple[UniquesOfSize, ...]
    contributions: Mapping[str, float | None]

    def to_dict(self) -> dict[str, Any]:
        return {
            **vars(self),
            "columns": list(self.columns),
            "by_size": [dict(vars(each)) for each in self.by_size],
            "contributions": dict(self.contributions),
        }
