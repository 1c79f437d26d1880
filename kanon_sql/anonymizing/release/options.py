"""The options of a release."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, get_args

from kanon_sql.anonymizing.release.scripts import is_unchanged, seed_name
from kanon_sql.anonymizing.release.views import LONGEST_NAME, refuse_single_view
from kanon_sql.anonymizing.search.costs import Preferences
from kanon_sql.engines import writes_folders
from kanon_sql.errors import (
    SpecError,
    described_value,
    did_you_mean,
    irregular_kind,
    option,
    percentage,
    read_each,
    refuse_repeated,
)
from kanon_sql.plan.named_columns import NamedColumn
from kanon_sql.plan.question import ResolvedQuestion
from kanon_sql.question.arguments import path_argument
from kanon_sql.question.dbt.project import seeds_around
from kanon_sql.question.roles import Names
from kanon_sql.question.table import EntityInRelease, TableSpec, Unassigned
from kanon_sql.results.release import SEARCHES, Algorithm, Emitted, MetricName, Suppressed
from kanon_sql.results.table import Status
from kanon_sql.sql.quoting import DIALECT

_RECORDS = (".parquet", ".csv", ".tsv")
METRIC_NAMES: tuple[MetricName, ...] = get_args(MetricName)


class SearchArguments(TypedDict, total=False):
    """The options of a search for levels that every function of the API takes."""

    metric: MetricName | None
    max_suppressed: int | float | str | None
    keep: Names
    at_most: Mapping[str, int] | None
    weights: Mapping[str, float] | None
    gap: str | float | None
    pull_frequencies: bool


class ReleaseArguments(SearchArguments, total=False):
    """The options of a release."""

    algorithm: Algorithm
    minimal_nodes: bool
    suppressed: Suppressed
    partition_by: str | None
    dialect: str | None
    emit: Emitted
    view_name: str | None
    single_view: bool
    entity_in_release: EntityInRelease | None
    seed: int | None
    untouched: Unassigned | None
    overwrite: bool
    force: bool


@dataclass(frozen=True)
class ReleaseOptions:
    """How a release is made and where it is written. Raises `SpecError` for invalid options."""

    algorithm: Algorithm = "datafly"
    """The search for levels: Datafly, the optimal node, or local recoding."""
    max_suppressed: int | float | str | None = None
    """How many records may be suppressed, as a number or a share: 5% (default: k for datafly, none
    for the others)."""
    metric: MetricName | None = None
    """The metric that the search minimises (default: loss); Datafly has none."""
    keep: tuple[str, ...] = ()
    """Quasi-identifiers to release unchanged."""
    at_most: Mapping[str, int] = field(default_factory=dict)
    """The highest level allowed for a quasi-identifier."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """Release at these levels and search none; the others stay raw."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """The weight of a quasi-identifier in the metric, 1 by default."""
    gap: str | float | None = None
    """Let optimal stop at levels of whose loss at most this share could be saved; by default it
    ends with a proof of optimality."""
    minimal_nodes: bool = False
    """Also list every minimal node: the checks hold there, and at no lower node."""
    suppressed: Suppressed = "remove"
    """Leave suppressed records out, or keep them with * in every quasi-identifier."""
    pull_frequencies: bool = False
    """Fetch a warehouse's frequency set, with its quasi-identifier values, and search it on this
    machine; without it, each step queries the warehouse. On Spark, optimal and local always do."""
    output: Path | None = None
    folder: str | None = None
    """Instead of `output`: path or URI of the folder that a cluster writes the release to."""
    partition_by: str | None = None
    """Split the folder that Spark writes by the values of a released column."""
    dialect: str | None = None
    """The SQL dialect of the views (default: the database's)."""
    emit: Emitted = "views"
    """What the .sql file holds; a dbt model comes with a .yml of its tests."""
    view_name: str | None = None
    """The name of the views, as in patients_release (default: from the table's name)."""
    single_view: bool = False
    """One view instead of one per step."""
    entity_in_release: EntityInRelease | None = None
    """The entity column: release it with a warning (default), as random numbers (renumber), or
    leave it out (drop), so that nothing links a person's records."""
    seed: int | None = None
    """The seed of these numbers, which are otherwise new each time. Whoever knows it and the
    entities can compute them."""
    untouched: Unassigned | None = None
    """Unassigned columns: release them unchanged with a warning (default), drop them, or refuse."""
    overwrite: bool = False
    """Replace existing files."""
    force: bool = False
    """Write the release even if it fails its audit."""

    @property
    def named_columns(self) -> list[NamedColumn]:
        """The columns that these options name."""
        named = {"keep": self.keep, "at_most": self.at_most, "weights": self.weights}
        columns = [NamedColumn(name, option=key) for key, names in named.items() for name in names]
        if self.partition_by is not None:
            columns.append(NamedColumn(self.partition_by, option="partition_by"))
        return columns

    def for_engine(self, target: Any) -> ReleaseOptions:
        """The options with the frequency set fetched, where a search in a cluster would read it in
        each of dozens of statements."""
        searched = self.algorithm in ("optimal", "local")
        if not (searched and writes_folders(target)):
            return self
        return replace(self, pull_frequencies=True)

    def __post_init__(self) -> None:
        if self.algorithm not in SEARCHES and not (self.algorithm == "levels" and self.levels):
            raise SpecError(
                f"there is no algorithm {self.algorithm!r}; there is {', '.join(SEARCHES)}."
                f"{did_you_mean(str(self.algorithm), SEARCHES)}"
            )
        self._refuse_metric()
        self._refuse_search()
        self._refuse_levels()
        self._refuse_weights()
        if self.suppressed not in ("remove", "star"):
            raise SpecError(
                f"{option('suppressed')} must be remove or star; found {self.suppressed!r}."
            )
        self.allowed(records=0, k=1)
        self._refuse_folder()
        if self.output is not None and not (self.writes_views or self.writes_records):
            raise SpecError(
                f"{self.output}: a release is a .parquet, .csv or .tsv file, or .sql for its views."
            )
        if self.output is not None and self.output.exists():
            kind = irregular_kind(self.output)
            if kind and not self.output.is_dir():
                raise SpecError(f"{self.output} is {kind}, and a release is a file; name one.")
        if self.emit not in ("views", "dbt-model"):
            raise SpecError(f"{option('emit')} must be views or dbt-model; found {self.emit!r}.")
        if self.emit == "dbt-model" and not (self.writes_views and not self.is_translated):
            raise SpecError(
                f"a dbt model is a .sql file without a dialect: {option('output', 'released.sql')}."
            )
        if self.is_translated and not self.writes_views:
            raise SpecError(f"a dialect is for views: {option('output', 'release.sql')}.")
        if self.emit == "dbt-model" and (self.view_name or self.single_view):
            raise SpecError(
                "a dbt model is one SELECT with the name of its file: leave out the name of the "
                "views "
                f"({option('view_name')}) and {option('single_view')}."
            )
        name_pattern = rf"[A-Za-z_]\w{{0,{LONGEST_NAME - 1}}}"
        if self.view_name and not re.fullmatch(name_pattern, self.view_name, re.ASCII):
            raise SpecError(
                "the name of a release is one of letters, digits and underscores, not beginning "
                f"with a digit and {LONGEST_NAME} characters long at most; found "
                f"{self.view_name!r}."
            )
        if self.entity_in_release not in (None, *get_args(EntityInRelease)):
            raise SpecError(
                f"{option('entity_in_release')} must be keep, renumber or drop; found "
                f"{self.entity_in_release!r}."
            )
        if self.untouched not in (None, "warn", "drop", "error"):
            raise SpecError(
                f"{option('untouched')} must be warn, drop or error; found {self.untouched!r}."
            )
        if self.is_translated and self.single_view:
            refuse_single_view(str(self.dialect))

    def for_algorithm(self, algorithm: Algorithm) -> ReleaseOptions:
        """The same release by another algorithm, which is not written."""
        is_optimal = algorithm == "optimal"
        return replace(
            self, algorithm=algorithm, output=None, dialect=None, emit="views", view_name=None,
            single_view=False, metric=self.metric if is_optimal else None,
            gap=self.gap if is_optimal else None,
            minimal_nodes=False, weights={} if algorithm == "datafly" else self.weights,
        )  # fmt: skip

    @property
    def is_translated(self) -> bool:
        return self.dialect not in (None, DIALECT)

    @property
    def writes_views(self) -> bool:
        return self.output is not None and self.output.suffix.lower() == ".sql"

    @property
    def writes_records(self) -> bool:
        return self.output is not None and self.output.suffix.lower() in _RECORDS

    @property
    def files(self) -> list[Path]:
        """The files that are always written."""
        if self.output is None:
            return []
        return [self.output, *([self.properties] if self.emit == "dbt-model" else [])]

    @property
    def seeds(self) -> list[Path]:
        """The seed that is also written if there are many classes."""
        return [self.dbt_seed] if self.emit == "dbt-model" and self.algorithm == "local" else []

    @cached_property
    def dbt_seed(self) -> Path:
        """Path of a dbt model's seed: in its project's seeds folder, or next to the model without a
        project."""
        assert self.output is not None
        folder = seeds_around(self.output) or self.output.parent
        if not self.output.is_absolute():
            folder = Path(os.path.relpath(folder))
        return folder / f"{seed_name(self.output.stem)}.csv"

    @property
    def described(self) -> Path:
        """The YAML file in which a dbt project describes the model."""
        assert self.output is not None
        return self.output.with_suffix(".yml")

    @property
    def properties(self) -> Path:
        """Path of the model's YAML: next to a description edited by hand, which is kept."""
        return Path(f"{self.described}.new") if self.keeps_description else self.described

    @property
    def keeps_description(self) -> bool:
        """Whether a description that was written or edited by hand exists."""
        try:
            return not is_unchanged(self.described.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return False
        except (OSError, UnicodeDecodeError):
            return True

    def handling_of_entity(self, table: TableSpec) -> EntityInRelease:
        """What becomes of the entity of a table. Raises `SpecError` where it can't be done."""
        handling = self.entity_in_release or table.entity_in_release
        if self.seed is not None and handling != "renumber":
            raise SpecError(
                f"{option('seed')} draws the numbers of {option('entity_in_release', 'renumber')}. "
                "Leave it out, or renumber the entity."
            )
        if handling == "keep":
            return handling
        asked = option("entity_in_release", handling)
        if table.entity is None:
            raise SpecError(
                f"{asked} needs an entity, the column that identifies the person: "
                f"{option('entity', 'COLUMN')}."
            )
        if table.earlier_releases:
            raise SpecError(
                f"{asked}: an earlier release is compared by the entity of its people, which this "
                "one would not have. Keep the entity, or leave out the earlier release."
            )
        if self.emit == "dbt-model":
            raise SpecError(
                f"{asked}: the tests of a dbt model count people by the entity. Keep it, or write "
                f"the release itself, {option('output', 'release.parquet')}."
            )
        if handling == "renumber" and self.writes_views:
            raise SpecError(
                f"{asked}: a view would draw other numbers each time it is read. Write the release "
                f"itself, {option('output', 'release.parquet')}, or drop the entity."
            )
        return handling

    def publishes(self, status: Status) -> bool:
        """Whether a release may be published; a violated one only where it is written, with
        `force`."""
        forced = self.force and (self.output is not None or self.folder is not None)
        return status == "holds" or (forced and status == "violated")

    def allowed(self, *, records: int, k: int) -> int:
        """Maximum number of suppressed records, for a table of this many."""
        default = k if self.algorithm == "datafly" else 0
        limit = default if self.max_suppressed is None else self.max_suppressed
        if re.fullmatch(r"[0-9]+", str(limit)):
            return int(limit)
        share = _share(limit)
        if share is None or share > 1:
            raise SpecError(
                f"{option('max_suppressed')} must be a number of records, or a share of them as in "
                f"5% or 0.05; found {described_value(limit)}."
            )
        return int(Fraction(records) * share)

    def at_levels(self, levels: Mapping[str, int]) -> ReleaseOptions:
        """The options of a release at these levels. Raises `SpecError` with options of a search."""
        if not levels:
            return self
        if self.algorithm != "datafly" or self.keep or self.at_most:
            argument = "algorithm" if self.algorithm != "datafly" else "keep"
            argument = "at_most" if argument == "keep" and not self.keep else argument
            raise SpecError(
                f"{option('levels')} gives the levels of the release, so none are searched. Leave "
                f"out {option(argument)}, or the levels."
            )
        return replace(self, algorithm="levels", levels=levels)

    @classmethod
    def place_of(cls, output: str | Path | None, engine: Any) -> dict[str, Any]:
        """The fields of an output: a file, or a folder if the engine is a cluster.

        A cluster writes Parquet; its views are a file. Raises `SpecError` for other formats.
        """
        is_place = writes_folders(engine) and isinstance(output, str) and output[-4:] != ".sql"
        path = Path(str(output)) if is_place else path_argument(output)
        if path is None or not writes_folders(engine):
            return {"output": path}
        suffix = path.suffix.lower()
        if suffix == ".sql":
            return {"output": path}
        if suffix in (".csv", ".tsv"):
            raise SpecError(
                f"{output}: Spark writes a release as a folder of Parquet, "
                f"{option('output', 'release/')}, or as its views, "
                f"{option('output', 'release.sql')}."
            )
        return {"folder": str(output)}

    def _refuse_folder(self) -> None:
        if self.partition_by is not None and self.folder is None:
            raise SpecError(
                f"{option('partition_by')} splits a folder that Spark writes: name one in "
                f"{option('output')}, or leave it out."
            )

    def _refuse_metric(self) -> None:
        """Raise `SpecError` for an unknown metric, or one that the algorithm does not use."""
        if self.metric is None:
            return
        if self.metric not in METRIC_NAMES:
            raise SpecError(
                f"there is no metric {self.metric!r} to choose by; there is "
                f"{', '.join(METRIC_NAMES)}.{did_you_mean(str(self.metric), METRIC_NAMES)}"
            )
        if self.algorithm == "levels":
            raise SpecError(
                f"levels that are given minimise no metric. Leave out {option('metric')} or "
                f"{option('levels')}."
            )
        if self.algorithm == "datafly":
            raise SpecError(
                f"Datafly minimises no metric. Leave out {option('metric')}, or choose "
                f"{option('algorithm', 'optimal')}."
            )
        if self.algorithm == "local" and self.metric != "loss":
            raise SpecError(
                f"local recoding minimises the metric loss, not {self.metric}. Leave out "
                f"{option('metric')}, or choose {option('algorithm', 'optimal')}."
            )

    @property
    def share_of_gap(self) -> float:
        """The gap as a share; 0 if a proof is required."""
        return 0.0 if self.gap is None else _gap(self.gap)

    def _refuse_search(self) -> None:
        """Raise `SpecError` for an invalid gap, or optimal search options with another
        algorithm."""
        if self.gap is not None:
            _gap(self.gap)
        for name, is_set in (("gap", self.gap is not None), ("minimal_nodes", self.minimal_nodes)):
            if is_set and self.algorithm != "optimal":
                raise SpecError(
                    f"{option(name)} is for the algorithm optimal; {self.algorithm} has no such "
                    "search. Leave out one of the two."
                )

    def _refuse_levels(self) -> None:
        for name, level in self.at_most.items():
            if isinstance(level, bool) or not isinstance(level, int) or level < 0:
                raise SpecError(
                    f'{option("at_most")}: "{name}" must have the number of a level, 0 or more; '
                    f"found {described_value(level)}."
                )

    def _refuse_weights(self) -> None:
        for name, weight in self.weights.items():
            is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not (is_number and math.isfinite(weight) and weight > 0):
                raise SpecError(
                    f'{option("weights")}: "{name}" must weigh a number above 0, as in 2.5; found '
                    f"{described_value(weight)}."
                )
        if self.weights and self.metric not in (None, "loss"):
            raise SpecError(
                f"{option('weights')}: they are for the metric loss; {self.metric} has none. "
                "Leave out one of the two."
            )


def _share(value: object) -> Fraction | None:
    """The share given as a percentage, or as a fraction below 1; None for any other value.

    >>> _share("5%"), _share(0.05), _share("5"), _share("1.5")
    (Fraction(1, 20), Fraction(1, 20), None, None)
    """
    percent = percentage(value)
    if percent is not None:
        return Fraction(percent)
    try:
        # The digits as written: the binary value of 0.05 is a little more than a twentieth.
        share = Fraction(str(value)) if "." in str(value) or isinstance(value, float) else None
    except ValueError:
        return None
    return share if share is not None and 0 <= share < 1 else None


def _gap(gap: str | float) -> float:
    """The share given as a gap. Raises `SpecError` unless it is above 0 and below 1."""
    share = _share(gap)
    if share is None or not 0 < share < 1:
        raise SpecError(
            f"{option('gap')} must be a share above 0% and below 100%, as in 3% or 0.03: the "
            "search ends when no levels can lose less by more than that. Found "
            f"{described_value(gap)}; leave it out for the optimum."
        )
    return float(share)


def preferences_of(options: ReleaseOptions, question: ResolvedQuestion) -> Preferences:
    """The preferences in the spec, overridden by the options of the release.

    Raises `SpecError` for a column that is not a quasi-identifier or is named twice.
    """
    names = [column.name for column in question.quasi_identifiers]
    at_most: dict[str, int] = {}
    weights: dict[str, float] = {}
    for column in question.quasi_identifiers:
        hierarchy = question.roles.hierarchy(column)
        if hierarchy.keep or hierarchy.at_most is not None:
            at_most[column.name] = 0 if hierarchy.keep else int(hierarchy.at_most or 0)
        if hierarchy.weight is not None:
            weights[column.name] = hierarchy.weight
    requested = {
        "keep": [(name, 0) for name in options.keep],
        "at_most": options.at_most.items(),
        "weights": options.weights.items(),
    }
    kept, bounds, weighted = read_each(
        lambda parameter: _by_name(parameter, requested[parameter], names), requested
    )
    refuse_repeated(
        [*kept, *bounds],
        f'"{{}}" is named in {option("keep")} and in {option("at_most")}. Keeping it means level 0 '
        "at most: name it once.",
    )
    return Preferences({**at_most, **kept, **bounds}, {**weights, **weighted})


def _by_name(
    parameter: str, preferences: Collection[tuple[str, Any]], names: list[str]
) -> dict[str, Any]:
    """The preferences by quasi-identifier, in the table's spelling; a duplicate is an error."""
    requested, values = zip(*preferences, strict=True) if preferences else ((), ())
    columns = read_each(lambda name: _quasi_identifier(parameter, name, names), requested)
    refuse_repeated(columns, f'{option(parameter)} names "{{}}" twice. Name it once.')
    return dict(zip(columns, values, strict=True))


def _quasi_identifier(parameter: str, name: str, names: list[str]) -> str:
    same_name = [other for other in names if other.casefold() == name.casefold()]
    if name in names or len(same_name) == 1:
        return name if name in names else same_name[0]
    raise SpecError(
        f'{option(parameter)}: "{name}" is no quasi-identifier. Quasi-identifiers: '
        f"{', '.join(names)}.{did_you_mean(name, names)}"
    )
