"""What background knowledge does to a table, as plain frozen values. No value of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from kanon_sql.results.identifying import ColumnProfile, SpecialUniques, SubsetProfile
from kanon_sql.results.table import Status


@dataclass(frozen=True)
class ProfileSummary:
    """The classes of the quasi-identifiers as they are.

    Sizes are records, or distinct people where an entity is set; `people` is None without one.
    `members` is what shares are of, the people or else the records. A person in several classes
    counts once, with the smallest of them. All but `records` is None for a table without records.
    """

    records: int | None = None
    people: int | None = None
    members: int | None = None
    classes: int | None = None
    k: int | None = None
    uniques: int | None = None
    records_below_k: int | None = None


@dataclass(frozen=True)
class KnownColumn:
    """The classes as they are for someone who knows this column beside the quasi-identifiers.

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
class LackedColumn:
    """What one quasi-identifier costs: its records in small classes that are not small without it.

    `share_in_outer_percent` says how many of these records lie in the outer one per cent of the
    column: with a value such that fewer than 0.5 % of all records have it or a lower one, or
    fewer than 0.5 % have it or a higher one. It is None for a column that is neither numbers nor
    dates (text counts as numbers if all of it spells finite ones), and where no record leaves.
    """

    column: str
    records_leaving: int
    share_in_outer_percent: float | None


@dataclass(frozen=True)
class Elimination:
    """How sure someone can be of a sensitive value in the worst class.

    `confidence` holds one number for each count of most frequent other values that were ruled
    out, beginning with none: r1 / (f − r2 − … − r(j+1)), where r1 ≥ r2 ≥ … are the counts of a
    class's values and f is their sum. After `eliminations_to_certainty` only one value is left.
    All is None where no value is known.

    Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam 2007, l-diversity, ACM TKDD 1(1).
    """

    sensitive: str
    confidence: tuple[float | None, ...]
    eliminations_to_certainty: int | None

    def to_dict(self) -> dict[str, Any]:
        return {**vars(self), "confidence": list(self.confidence)}


@dataclass(frozen=True)
class TableProfile:
    """What one table gives away to someone who knows more than its quasi-identifiers."""

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
    """What each column does by itself, where no quasi-identifiers are named."""
    together: SubsetProfile | None = None
    """The classes of the candidates among them, all together."""
    subsets: tuple[SubsetProfile, ...] | None = None
    """Every small set of columns, the worst first, where that is asked."""
    special_uniques: SpecialUniques | None = None
    sql: Mapping[str, str] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "engine": self.engine,
            "status": self.status,
            "warnings": list(self.warnings),
            "quasi_identifiers": list(self.quasi_identifiers),
            "sensitive": list(self.sensitive),
            "entity": self.entity,
            "counted": "people" if self.entity else "records",
            "k_threshold": self.k_threshold,
            "summary": dict(vars(self.summary)),
            "attacker_knows": [dict(vars(column)) for column in self.attacker_knows],
            "without": [dict(vars(column)) for column in self.without],
            "elimination": [each.to_dict() for each in self.elimination],
            "columns": _plain(self.columns),
            "together": self.together.to_dict() if self.together else None,
            "subsets": _plain(self.subsets),
            "special_uniques": self.special_uniques.to_dict() if self.special_uniques else None,
            "sql": dict(self.sql),
            **({"error": self.error} if self.error else {}),
        }


def _plain(parts: Sequence[ColumnProfile | SubsetProfile] | None) -> list[dict[str, Any]] | None:
    return None if parts is None else [each.to_dict() for each in parts]
