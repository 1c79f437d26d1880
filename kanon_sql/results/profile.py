"""The result of a profile, as plain values without personal data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kanon_sql.results.json_part import IF_SET, UNWRITTEN, JsonPart
from kanon_sql.results.table import Events, Status

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


@dataclass(frozen=True)
class ProfileSummary(JsonPart):
    """The equivalence classes of the quasi-identifiers, at raw values.

    Sizes are records, or distinct people with an entity; `people` is None without one. `members`,
    the people or else the records, is the denominator of shares. A person in several classes counts
    once, in the smallest. Without records, all but `records` is None.
    """

    records: int | None = None
    people: int | None = None
    members: int | None = None
    classes: int | None = None
    k: int | None = None
    uniques: int | None = None
    records_below_k: int | None = None


@dataclass(frozen=True)
class KnownColumn(JsonPart):
    """The equivalence classes for an attacker who also knows this column.

    `newly_unique_records` (people) are alone in a class now and were not before. Where the column
    has nearly as many values as there are records it is `identifier_like`. Sizes are as in
    `ProfileSummary`, and `distinct` counts NULL as a value.
    """

    column: str
    role: Literal["sensitive"] | None
    identifier_like: bool
    distinct: int
    k: int | None = None
    uniques: int | None = None
    newly_unique_records: int | None = None
    records_below_k: int | None = None
    classes: int | None = None
    members: int | None = None


@dataclass(frozen=True)
class LackedColumn(JsonPart):
    """The effect of one quasi-identifier: records in classes that are small only because of it.

    `share_in_outer_percent` is the share of these records in the column's outer one per cent: with
    a value such that fewer than 0.5 % of all records have it or a lower one, or fewer than 0.5 %
    have it or a higher one. It is None unless the column holds numbers or dates (text counts as
    numbers if every value parses as a finite one), and where there are no such records.
    """

    column: str
    records_leaving: int
    share_in_outer_percent: float | None


@dataclass(frozen=True)
class Elimination(JsonPart):
    """An attacker's certainty about a sensitive value in the worst class.

    `confidence` has one entry per number of most frequent other values ruled out, starting with
    none: r1 / (f − r2 − … − r(j+1)), where r1 ≥ r2 ≥ … are the counts of a class's values and f is
    their sum. After `eliminations_to_certainty` only one value is left. All are None where no value
    is known.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1).
    """

    sensitive: str
    confidence: tuple[float | None, ...]
    eliminations_to_certainty: int | None


@dataclass(frozen=True)
class KnownEventsPoint(JsonPart):
    """How many people are found by `m` of their events.

    `worst` is for the events that tell most, and None where events were drawn; `random` for events
    chosen at random. Each has the share of people among fewer than k, the people alone (at random
    their share) and the average chance of finding a person.
    """

    m: int
    drawn: bool
    attacked: int
    fewer: int
    """Number of people with fewer events, who are attacked with all of theirs."""
    interval: tuple[float, float] | None
    """The 95 % interval of the share, where events were drawn."""
    worst: Mapping[str, float] | None
    random: Mapping[str, float]


@dataclass(frozen=True)
class KnownEventsCurve(JsonPart):
    """How many people are found among fewer than `k`, by the number of known events."""

    k: int
    times: bool
    seed: int
    points: tuple[KnownEventsPoint, ...]


@dataclass(frozen=True, repr=False)
class TableProfile(JsonPart):
    """What one table reveals to an attacker with knowledge beyond its quasi-identifiers."""

    name: str
    engine: str
    status: Status
    quasi_identifiers: tuple[str, ...]
    k_threshold: int
    sensitive: tuple[str, ...] = ()
    entity: str | None = None
    warnings: tuple[str, ...] = ()
    summary: ProfileSummary = ProfileSummary()
    attacker_knows: tuple[KnownColumn, ...] = ()
    without: tuple[LackedColumn, ...] = ()
    elimination: tuple[Elimination, ...] = ()
    columns: tuple[ColumnProfile, ...] | None = None
    """Statistics of each column, where no quasi-identifiers are named."""
    together: SubsetProfile | None = None
    """The classes of all candidate columns together."""
    subsets: tuple[SubsetProfile, ...] | None = None
    """Every small column set, worst first, if requested."""
    special_uniques: SpecialUniques | None = None
    stopped: Stopped | None = field(default=None, metadata=IF_SET)
    """What is missing because `max_seconds` was over."""
    events: Events | None = field(default=None, metadata=IF_SET)
    known_events: KnownEventsCurve | None = field(default=None, metadata=IF_SET)
    """What known events tell, if event columns are named."""
    sql: Mapping[str, str] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False, metadata=UNWRITTEN)
    error: str | None = field(default=None, metadata=IF_SET)

    def __repr__(self) -> str:
        """One line; the result of the profile shows everything."""
        return f"<TableProfile {self.name} {self.status}>"

    @property
    def ranked(self) -> list[ColumnProfile]:
        """The candidates in the order in which they are added."""
        candidates = (column for column in self.columns or () if column.rank)
        return sorted(candidates, key=lambda candidate: candidate.rank or 0)

    def to_dict(self) -> dict[str, Any]:
        written = super().to_dict()
        question = ("name", "engine", "status", "warnings", "quasi_identifiers", "sensitive",
                    "entity")  # fmt: skip
        return {
            **{name: written.pop(name) for name in question},
            "counted": "people" if self.entity else "records",
            **written,
        }
