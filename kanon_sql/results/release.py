"""What generalisation made of a table and what that cost, as plain frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from kanon_sql.results.algorithms import Algorithm as Algorithm
from kanon_sql.results.table import AuditFindings, CheckResult, Rows, Summary

MetricName = Literal[
    "loss",
    "loss_geometric",
    "precision",
    "non_uniform_entropy",
    "discernibility",
    "average_class_size",
]
"""What levels can be chosen by."""
Suppressed = Literal["remove", "star"]
Emitted = Literal["views", "dbt-model"]
Form = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True)
class GeneralizationStep:
    """One quasi-identifier went up one level, for all records."""

    attribute: str
    to_level: int
    label: str
    """What people call the level."""
    distinct_before: int
    """How many values the quasi-identifier had before the step, NULL included."""
    records_violating: int
    """How many records lay in violating classes before the step."""

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Metrics:
    """What a release lost. Each is None where it is undefined; `kanon-sql explain` has each
    formula and its source."""

    precision: float | None
    loss: float | None
    loss_geometric: float | None
    discernibility: int | None
    average_class_size: float | None
    non_uniform_entropy: float | None
    non_uniform_entropy_bits: float | None
    loss_by_quasi_identifier: Mapping[str, float]
    loss_weighted: float | None = None
    """The mean of the losses by their weights; None where nothing was weighted."""

    def to_dict(self) -> dict[str, Any]:
        found = vars(self) | {"loss_by_quasi_identifier": dict(self.loss_by_quasi_identifier)}
        return found if self.loss_weighted is not None else _without(found, "loss_weighted")


def _without(found: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name != key}


@dataclass(frozen=True)
class Search:
    """How a search for the best levels went: what it looked at, and what it proved."""

    nodes: int
    """How many choices of levels there are."""
    looked_at: int
    """How many of them were counted."""
    bound: float | None
    """What the metric is at best, whatever the levels; that of the release, where it is optimal."""
    gap: float | None
    """Which share of what the release loses might be saved, at most."""
    optimal: bool
    """Whether it is proved that no other levels lose less."""

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class MinimalNode:
    """Levels that satisfy, none of which could be lowered: by what would be lost and left out."""

    levels: Mapping[str, int]
    suppressed: int
    classes: int
    metrics: Metrics

    def to_dict(self) -> dict[str, Any]:
        return {
            "levels": dict(self.levels),
            "suppressed": self.suppressed,
            "classes": self.classes,
            "metrics": self.metrics.to_dict(),
        }


@dataclass(frozen=True)
class Association:
    """How strongly a quasi-identifier and a sensitive attribute go together: Cramér's V, from 0
    (not at all) to 1, over all records before and those released after. None where either has
    a single value."""

    quasi_identifier: str
    sensitive: str
    before: float | None
    after: float | None

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Before:
    """The same audit of the table as it lay."""

    name: str
    summary: Summary
    checks: tuple[CheckResult, ...]
    risk: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "summary": vars(self.summary),
            "checks": [each.to_dict() for each in self.checks],
            "risk": dict(self.risk),
        }


@dataclass(frozen=True)
class Untouched:
    """What goes out as it is although no part was given to it."""

    columns: tuple[str, ...] = ()
    alone: int | None = None
    """How many records of the release (people, where an entity is set) are alone in the
    quasi-identifiers and these columns together; None where there is no release."""

    def to_dict(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "alone": self.alone}


@dataclass(frozen=True)
class Release:
    """A file that was written."""

    path: str
    records: int | None
    columns: int | None
    """Both None for a file of SQL, which holds no records."""
    holds: Literal["records", "views", "dbt-model"] = "records"
    seed: str | None = None
    """The CSV that a dbt model reads, where it does."""
    null_string: str | None = None
    """What stands for NULL in a text file, where it is one: an empty field, or this text."""

    def to_dict(self) -> dict[str, Any]:
        unsaid = {"seed": None, "null_string": None}
        return {name: each for name, each in vars(self).items() if each != unsaid.get(name, ...)}


@dataclass(frozen=True)
class Recoded:
    """Where the classes of a local recoding ended, each at levels of its own."""

    rounds: int
    """How many rounds it took, with the last one, in which no class could be split."""
    levels_by_records: Mapping[str, Mapping[int, int]]
    """How many released records ended at which level of each quasi-identifier."""
    labels_of_levels: Mapping[str, Mapping[int, str]]
    """What people call each level of each quasi-identifier."""
    one_level_for_all: MinimalNode | None = None
    """The levels for the whole table that lose least, where they were looked for."""

    def to_dict(self) -> dict[str, Any]:
        beside = self.one_level_for_all
        return {
            "one_level_for_all": beside.to_dict() if beside else None,
            "rounds": self.rounds,
            "levels_by_records": _by_level(self.levels_by_records),
            "labels_of_levels": _by_level(self.labels_of_levels),
        }


def _by_level(said: Mapping[str, Mapping[int, Any]]) -> dict[str, dict[str, Any]]:
    """The same as JSON has it, where every key is a text."""
    return {
        name: {str(level): each for level, each in levels.items()} for name, levels in said.items()
    }


@dataclass(frozen=True)
class Anonymization:
    """The levels that were chosen, how, and what they cost.

    Where every quasi-identifier reached its top in vain, `reached_top` is true, nothing is
    suppressed, and `k` and `classes` are those of the table at these levels.
    """

    algorithm: Algorithm
    levels: Mapping[str, int] | None
    """The level of each quasi-identifier; None where each class has levels of its own."""
    labels: Mapping[str, str]
    """What people call each quasi-identifier's level."""
    steps: Rows[GeneralizationStep]
    reached_top: bool
    max_suppressed: int
    """How many records might be suppressed."""
    records_violating: int
    """How many records lay in violating classes after the last step."""
    suppressed: int
    """How many records were suppressed, those of step 4 included."""
    step4: int
    """How many of them only so that the suppressed ones are not fewer than k themselves."""
    suppressed_as: Suppressed
    """Whether the suppressed records are removed, or kept with `*` in every quasi-identifier."""
    k: int | None
    classes: int | None
    metrics: Metrics
    associations: tuple[Association, ...]
    views: tuple[str, ...] = field(repr=False, compare=False)
    """What makes the release, to be run: with the values of its hierarchies. None of them where
    the result was read from JSON."""
    before: Before
    untouched: Untouched = Untouched()
    release: Release | None = None
    """What was written; None where nothing was asked for or may be published."""
    metric: MetricName | None = None
    """What the levels were chosen by; None for Datafly."""
    search: Search | None = None
    """How the best levels were found; None for Datafly."""
    minimal_nodes: tuple[MinimalNode, ...] | None = None
    """All levels that satisfy and could not be lowered; None where nobody asked."""
    views_without_values: tuple[str, ...] | None = field(default=None, compare=False)
    """The views for reading: the values of a hierarchy's file or table are withheld. None where
    nobody withheld any."""
    recoded: Recoded | None = None
    """Where each class ended, if each has levels of its own."""
    builders: Mapping[str, str] = field(default_factory=dict)
    """Levels that would keep more of the quasi-identifiers that have none but `*`, by name."""
    values_at_top: Mapping[str, int] = field(default_factory=dict)
    """How many values each quasi-identifier still has where it is as coarse as it may be, NULL
    included: where that was reached in vain."""
    stopped_earlier: MinimalNode | None = field(default=None, compare=False)
    """The levels at which Datafly would have stopped, had those been suppressed that violate a
    demand before its last step; None where that was not counted. It is said to whoever waits, and
    not kept in JSON, as what that holds is the same however a table was asked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", Rows(self.steps))

    @property
    def views_for_reading(self) -> tuple[str, ...]:
        """The views without what must not be shown."""
        return self.views if self.views_without_values is None else self.views_without_values

    def to_dict(self) -> dict[str, Any]:
        return {
            "algorithm": self.algorithm,
            "levels": None if self.levels is None else dict(self.levels),
            **(self.recoded.to_dict() if self.recoded else {}),
            "labels": dict(self.labels),
            "steps": [step.to_dict() for step in self.steps],
            "reached_top": self.reached_top,
            "max_suppressed": self.max_suppressed,
            "records_violating": self.records_violating,
            "suppressed": self.suppressed,
            "step4": self.step4,
            **({"builders": dict(self.builders)} if self.builders else {}),
            **({"values_at_top": dict(self.values_at_top)} if self.values_at_top else {}),
            "suppressed_as": self.suppressed_as,
            "k": self.k,
            "classes": self.classes,
            "metrics": self.metrics.to_dict(),
            "associations": [each.to_dict() for each in self.associations],
            "untouched": self.untouched.to_dict(),
            "views": list(self.views_for_reading),
            "before": self.before.to_dict(),
            "release": self.release.to_dict() if self.release else None,
            **self._searched,
        }

    @property
    def _searched(self) -> dict[str, Any]:
        """How the levels were searched for, where they were."""
        found: dict[str, Any] = {}
        if self.search is not None:
            found |= {"metric": self.metric, "search": self.search.to_dict()}
        if self.minimal_nodes is not None:
            found["minimal_nodes"] = [each.to_dict() for each in self.minimal_nodes]
        return found


@dataclass(frozen=True, repr=False)
class ReleaseFindings(AuditFindings):
    """The audit of a release, and how the release was made, as plain values."""

    anonymization: Anonymization

    def _parts(self) -> dict[str, Any]:
        return {**super()._parts(), "anonymization": self.anonymization.to_dict()}
