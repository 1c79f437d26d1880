"""Identifying columns, as plain frozen values. Contains no personal value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kanon_sql.results.table import JsonPart

LooksLike = Literal[
    "identifier", "quasi_identifier", "sensitive", "free_text", "nested", "constant", "undecided"
]
BY_NAME = "by its name: "
"""Prefix of a reason that rests on a column's name."""
UNKNOWN_NAME = "nothing is known by its name"
BEST_OF = 3
"""Size of the set of candidates that singles out most records; the other candidates are ranked by
the records that they make unique when added to it."""


def most_tried(records: int) -> int:
    """Maximum number of candidates of which every set of that size is tried: 220 sets of 12, 56 of
    8, or 20 of 6, so that large tables take no longer than a few minutes.

    >>> most_tried(30_000), most_tried(500_000), most_tried(10_000_000)
    (12, 8, 6)
    """
    return 12 if records <= 100_000 else 8 if records <= 2_000_000 else 6


SpecialNulls = Literal["nobody", "value"]


@dataclass(frozen=True)
class ColumnProfile(JsonPart):
    """The statistics of one column by itself, and its apparent role.

    NULL counts as a value in `distinct`, `largest_share` (of all records), `alone` (records with a
    unique value; people with an entity), `distinction` (distinct values per record) and
    `separation` (share of record pairs it distinguishes). All are None where the column's values
    can't be compared. Candidates have a `rank`, the order in which they are added, and `adds`, the
    number of records (people) each makes unique beyond the previous ones (from the fourth on,
    beyond the first three, which are the set of three that makes most unique).

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


@dataclass(frozen=True)
class SubsetProfile(JsonPart):
    """The equivalence classes of a set of columns.

    Sizes are records, or distinct people with an entity: then `uniques` and `violating_people`
    count each person once, and `violating_records` still counts records. A `key` has as many
    classes as all columns together.
    """

    columns: tuple[str, ...]
    k: int
    classes: int
    uniques: int
    violating_classes: int
    violating_records: int
    violating_people: int | None = None
    key: bool = False


@dataclass(frozen=True)
class UniquesOfSize(JsonPart):
    """The number of minimal sample uniques on sets of one size."""

    size: int
    minimal_sample_uniques: int


@dataclass(frozen=True)
class SpecialUniques(JsonPart):
    """Special uniques (SUDA): records that few columns single out, and the columns responsible.

    A minimal sample unique is a record with a set of at most `max_size` columns on which it is
    unique, while it is unique on no proper subset. With K columns and m in the set it scores (K −
    m)!; a record's score is the sum over its sets. `dis` is the sum of the records' DIS-SUDA scores
    at the sampling fraction: a heuristic, not a probability. `contributions` are the percentages of
    `score` from sets containing a column; they sum to more than 100, and are None without special
    uniques.

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


@dataclass(frozen=True)
class Stopped(JsonPart):
    """What a profile did not measure within `max_seconds`.

    `missing` are the parts that are absent or incomplete, by their names in the result; `ranking`
    is the `rank` of the columns. Of `sets` requested sets of columns, `sets_measured` are known.
    """

    max_seconds: float
    missing: tuple[str, ...]
    sets_measured: int | None = None
    sets: int | None = None
