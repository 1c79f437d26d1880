"""The generalisation of a table with its cost, as plain frozen values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

from kanon_sql.question.table import EntityInRelease
from kanon_sql.results.check import CheckResult
from kanon_sql.results.json_part import IF_SET, INLINED, UNWRITTEN, JsonPart
from kanon_sql.results.table import AuditFindings, HistogramBin, Summary
from kanon_sql.results.tabular import Risk, Rows

Algorithm = Literal["datafly", "optimal", "local", "levels"]
"""How the levels of a release were found; `levels`: they were given."""
SEARCHES: tuple[Algorithm, ...] = ("datafly", "optimal", "local")


@dataclass(frozen=True)
class Metric:
    """A measure of the information loss from generalisation and suppression, in words."""

    name: str
    title: str
    sentence: str
    """What it measures, in one sentence."""
    formula: str
    letters: str
    """The meaning of the formula's symbols."""
    counting: str
    """Counting conventions where others are common."""
    limitation: str
    """What it doesn't measure."""
    source: str
    better: Literal["higher", "lower"]
    range: str
    """Its range, and what both ends mean."""
    value: float
    """Its value for the example release of the manual."""
    example: str
    """How that value is computed, in words."""


_CATALOGUE = tomllib.loads(
    files("kanon_sql.results").joinpath("metrics.toml").read_text(encoding="utf-8")
)
EXAMPLE_RELEASE: Mapping[str, Any] = _CATALOGUE.pop("example_release")
"""Four records before and after their release, and how they were generalised, in one sentence."""
METRICS = {name: Metric(name, **entry) for name, entry in _CATALOGUE.items()}
"""Every metric by name."""


@dataclass(frozen=True)
class Point(JsonPart):
    """The best levels for one k, and the loss of a release at them.

    If no levels satisfy, every field but `k` is None.
    """

    k: int
    levels: Mapping[str, int] | None
    labels: Mapping[str, str] | None
    """Display name of each quasi-identifier's level."""
    suppressed: int | None
    classes: int | None
    metrics: Metrics | None
    gap: float | None
    """Upper bound of the loss that could be saved, as a share; 0 for proved optimal levels."""
    levels_by_records: Mapping[str, Mapping[int, int]] | None = field(default=None, metadata=IF_SET)
    """For a local recoding: number of records, by quasi-identifier and final level."""

    def lost(self, metric: MetricName) -> float | None:
        """What is lost by a metric, higher is worse; of the precision what is lacking to 1."""
        value: float | None = getattr(self.metrics, metric, None)
        return 1 - value if value is not None and metric == "precision" else value


@dataclass(frozen=True)
class Curve(JsonPart):
    """The cost of each k by another algorithm, and the course of its search."""

    points: tuple[Point, ...]
    search: Search | None


@dataclass(frozen=True, repr=False)
class Tradeoff(JsonPart):
    """The best levels for each k, in ascending order of k, by one search for all."""

    name: str
    engine: str
    records: int
    metric: MetricName
    max_suppressed: int
    """Maximum number of records that could be suppressed."""
    algorithm: Algorithm
    points: tuple[Point, ...]
    search: Search | None
    """None for a table without records, and for a local recoding, which searches no lattice."""
    seconds: float = field(default=0.0, compare=False, metadata=UNWRITTEN)
    warnings: tuple[str, ...] = ()
    optimal: Curve | None = field(default=None, metadata=IF_SET)
    """For a local recoding: the cost of the best full-domain levels."""
    audited: str | None = field(default=None, compare=False, metadata=IF_SET)
    """UTC date of the result; None if unknown."""

    def __repr__(self) -> str:
        """One line; the result shows everything."""
        return f"<Tradeoff {self.name} {self.status}: k {', '.join(str(p.k) for p in self.points)}>"

    @property
    def status(self) -> Literal["measured", "no_data"]:
        """Never violated, as nothing is required."""
        return "measured" if self.records else "no_data"

    def satisfied(self, points: Iterable[Point]) -> list[Point]:
        """The points of the k that levels satisfy."""
        return [point for point in points if point.lost(self.metric) is not None]

    @property
    def are_shares(self) -> bool:
        """Whether the loss is a share in [0, 1]."""
        return self.metric not in ("discernibility", "average_class_size")


MetricName = Literal[
    "loss",
    "loss_geometric",
    "precision",
    "non_uniform_entropy",
    "discernibility",
    "average_class_size",
]
"""The metrics that a search can minimise."""
Suppressed = Literal["remove", "star"]
Emitted = Literal["views", "dbt-model"]
Form = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True)
class GeneralizationStep(JsonPart):
    """One quasi-identifier raised by one level, for all records."""

    attribute: str
    to_level: int
    label: str
    """Display name of the level."""
    distinct_before: int
    """Number of distinct values before the step, NULL included."""
    records_violating: int
    """Number of records in violating classes before the step."""


@dataclass(frozen=True)
class Metrics(JsonPart):
    """The information loss of a release; undefined metrics are None.

    `kanon-sql explain` has formulas and sources.
    """

    precision: float | None
    loss: float | None
    loss_geometric: float | None
    discernibility: int | None
    average_class_size: float | None
    non_uniform_entropy: float | None
    non_uniform_entropy_bits: float | None
    loss_by_quasi_identifier: Mapping[str, float]
    loss_weighted: float | None = field(default=None, metadata=IF_SET)
    """Weighted mean of the losses; None without weights."""


@dataclass(frozen=True)
class Search(JsonPart):
    """The course of an optimal search: nodes evaluated, and what is proved."""

    nodes: int
    """Number of nodes of the lattice."""
    looked_at: int
    """Number of nodes evaluated."""
    bound: float | None
    """Lower bound of the loss over all nodes; equals the release's where it is optimal."""
    gap: float | None
    """Upper bound of the loss that could be saved, as a share."""
    optimal: bool
    """Whether no other node has less loss (proved)."""


@dataclass(frozen=True)
class MinimalNode(JsonPart):
    """A minimal satisfying node of the lattice, with its loss and suppression."""

    levels: Mapping[str, int]
    suppressed: int
    classes: int
    metrics: Metrics


@dataclass(frozen=True)
class Association(JsonPart):
    """Cramér's V between a quasi-identifier and a sensitive attribute, in [0, 1].

    `before` is over all records, `after` over those released. None where either has a single value,
    or a value of its own in every record, which makes V 1 whatever the other is.
    """

    quasi_identifier: str
    sensitive: str
    before: float | None
    after: float | None


RANKS = (1, 2, 3, 4, 6, 11, 21)
"""First rank of each bin of a distribution."""


@dataclass(frozen=True)
class Distribution(JsonPart):
    """The records with the most frequent value of a column, the second one and so on.

    `before` and `after` have a count for each bin of ranks, which begins at that of `ranks`.
    """

    column: str
    ranks: tuple[int, ...]
    values_before: int
    before: tuple[int, ...]
    values_after: int
    after: tuple[int, ...]


@dataclass(frozen=True)
class NearestLevels(JsonPart):
    """The levels with the fewest records in violating classes, if none satisfy."""

    levels: Mapping[str, int]
    labels: Mapping[str, str]
    """Display name of each quasi-identifier's level."""
    records_violating: int


@dataclass(frozen=True)
class Compared(JsonPart):
    """What a release by one of the algorithms loses; without figures if it can't make one here."""

    algorithm: Algorithm
    holds: bool
    loss: float | None = None
    suppressed: int | None = None
    classes: int | None = None
    seconds: float = field(default=0.0, compare=False, metadata=UNWRITTEN)


@dataclass(frozen=True)
class Before(JsonPart):
    """The same audit of the original table."""

    name: str
    summary: Summary
    checks: tuple[CheckResult, ...]
    risk: Risk = field(default_factory=Risk)
    histogram: Rows[HistogramBin] = field(default_factory=Rows, metadata=IF_SET)


@dataclass(frozen=True)
class Untouched(JsonPart):
    """Unassigned columns, which are released unchanged."""

    columns: tuple[str, ...] = ()
    alone: int | None = None
    """Number of records (people, with an entity) unique on the quasi-identifiers and these columns.

    None without a release.
    """


@dataclass(frozen=True)
class Release(JsonPart):
    """A file that was written."""

    path: str
    records: int | None
    columns: int | None
    """Both are None for a SQL file, which holds no records."""
    holds: Literal["records", "views", "dbt-model"] = "records"
    seed: str | None = field(default=None, metadata=IF_SET)
    """The CSV that a dbt model reads, where it does."""
    null_string: str | None = field(default=None, metadata=IF_SET)
    """Text that represents NULL in a text file; "" is an empty field, None no text file."""


@dataclass(frozen=True)
class Recoded(JsonPart):
    """The levels at which the classes of a local recoding ended."""

    one_level_for_all: MinimalNode | None = field(default=None, kw_only=True)
    """The full-domain levels with the least loss, if computed."""
    rounds: int
    """Number of rounds, including the last, in which no class could be split."""
    levels_by_records: Mapping[str, Mapping[int, int]]
    """Number of released records, by quasi-identifier and final level."""
    labels_of_levels: Mapping[str, Mapping[int, str]]
    """Display name, by quasi-identifier and level."""


@dataclass(frozen=True, kw_only=True)
class Anonymization(JsonPart):
    """The chosen levels, how they were found, and what they cost.

    If every quasi-identifier reached its top without satisfying the checks, `reached_top` is true,
    nothing is suppressed, and `k` and `classes` are those of the table at these levels.
    """

    algorithm: Algorithm
    levels: Mapping[str, int] | None
    """Level of each quasi-identifier; None for a local recoding."""
    recoded: Recoded | None = field(default=None, metadata=INLINED)
    """Final levels of the classes, for a local recoding."""
    labels: Mapping[str, str]
    """Display name of each quasi-identifier's level."""
    steps: Rows[GeneralizationStep]
    reached_top: bool
    max_suppressed: int
    """Maximum number of records that could be suppressed."""
    records_violating: int
    """Number of records in violating classes after the last step."""
    suppressed: int
    """Number of suppressed records, step 4 of Datafly included."""
    step4: int
    """Number of them suppressed only so that the suppressed records are not fewer than k."""
    builders: Mapping[str, str] = field(default_factory=dict, metadata=IF_SET)
    """Suggested hierarchies for quasi-identifiers that have only `*`, by name."""
    values_at_top: Mapping[str, int] = field(default_factory=dict, metadata=IF_SET)
    """Number of distinct values per quasi-identifier, NULL included, if all tops were in vain."""
    suppressed_as: Suppressed
    """Whether suppressed records are removed, or kept with `*` in every quasi-identifier."""
    k: int | None
    classes: int | None
    metrics: Metrics
    associations: tuple[Association, ...]
    distributions: tuple[Distribution, ...] = field(default=(), metadata=IF_SET)
    """The distribution of each quasi-identifier, sensitive attribute and insensitive column."""
    nearest: NearestLevels | None = field(default=None, metadata=IF_SET)
    """With an earlier release: the nearest levels, if none satisfy."""
    compared: tuple[Compared, ...] = field(default=(), metadata=IF_SET)
    """The release by each algorithm, if they were compared."""
    untouched: Untouched = Untouched()
    entity_in_release: EntityInRelease = field(default="keep", metadata=IF_SET)
    """What became of the entity, if there is one: kept, replaced by random numbers, or left out, in
    which case the figures of the release are of records."""
    views: tuple[str, ...] = field(repr=False, compare=False)
    """Executable SQL of the release, with its hierarchies' values; empty if read from JSON."""
    views_without_values: tuple[str, ...] | None = field(
        default=None, compare=False, metadata=UNWRITTEN
    )
    """The views with values of hierarchy files and tables redacted; None if nothing is redacted."""
    before: Before
    release: Release | None = None
    """The file written; None if none was requested or publishing is not allowed."""
    metric: MetricName | None = field(default=None, metadata=IF_SET)
    """The metric that was minimised; None for Datafly."""
    search: Search | None = field(default=None, metadata=IF_SET)
    """The course of the search; None for Datafly."""
    minimal_nodes: tuple[MinimalNode, ...] | None = field(default=None, metadata=IF_SET)
    """All minimal satisfying nodes; None unless requested."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", Rows(self.steps))

    @property
    def views_for_reading(self) -> tuple[str, ...]:
        """The views, redacted for display."""
        return self.views if self.views_without_values is None else self.views_without_values

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"views": list(self.views_for_reading)}


@dataclass(frozen=True, repr=False)
class ReleaseFindings(AuditFindings):
    """The audit of a release, and how the release was made."""

    anonymization: Anonymization
