"""Audit results as plain frozen values, whose `to_dict` is the JSON contract."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, get_args

from kanon_sql.errors import EngineError, MissingDriverError, PrivacyViolation, plural
from kanon_sql.models.catalogue import MODELS
from kanon_sql.results.seal import sealed
from kanon_sql.results.version import FORMAT


@dataclass(frozen=True)
class Dataset:
    """A dataset by OpenLineage's naming convention. Holds neither user nor password."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Lineage:
    """The datasets that an audit of a table read, and each check's own statement."""

    datasets: tuple[Dataset, ...]
    """The table, then its references and earlier releases."""
    statements: tuple[str | None, ...]
    """In the order of the checks; None where a check has none."""
    engine_version: str | None = None
    """The version of the database, where it is known without asking it."""


Status = Literal["holds", "violated", "accepted", "measured", "no_data", "error"]

EXIT_CODES: dict[Status, int] = {
    "error": 3, "violated": 1, "no_data": 4, "accepted": 0, "holds": 0, "measured": 0,
}  # fmt: skip
"""Exit code by status, in order of precedence among tables."""


ATTACKERS = ("prosecutor", "journalist", "marketer")
Row = TypeVar("Row")


class Tabular:
    """Figures that convert to a data frame."""

    def rows(self) -> list[dict[str, Any]]:
        """One mapping per row, with the JSON's names."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the JSON's column names.

        Like the other conversions it raises `MissingDriverError` where the library is missing.
        """
        return imported("pandas").DataFrame(self.rows())

    def to_polars(self) -> Any:
        """A polars DataFrame, as `to_arrow` has it."""
        return imported("polars").from_arrow(self.to_arrow())

    def to_arrow(self) -> Any:
        """A pyarrow Table. A column of several types, such as a figure with two bounds in some
        rows, holds JSON texts."""
        arrow = imported("pyarrow")
        rows = self.rows()
        columns = {name: [row.get(name) for row in rows] for row in rows for name in row}
        return arrow.table({name: _one_type(column, arrow) for name, column in columns.items()})


def _one_type(values: list[Any], arrow: Any) -> Any:
    try:
        return arrow.array(
            [dict(value) if isinstance(value, Mapping) else value for value in values]
        )
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return arrow.array([None if value is None else json.dumps(value) for value in values])


class Rows(Tabular, tuple[Row, ...]):
    """A tuple of result parts."""

    def rows(self) -> list[dict[str, Any]]:
        return [_as_row(item) for item in self]

    def __repr__(self) -> str:
        """One line; `to_pandas()` shows the parts."""
        if not self:
            return "<no rows>"
        return (
            f"<{plural(len(self), 'row')} of {type(self[0]).__name__}: to_pandas(), to_polars(), "
            "to_arrow()>"
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls,
            handler(tuple[get_args(source)[0], ...]),  # type: ignore[misc]
        )


class Risk(Tabular, dict[str, Mapping[str, float] | None]):
    """Figures by attacker; None for one not measured."""

    def __repr__(self) -> str:
        """One line with what was measured."""
        return f"<Risk {', '.join(f'{name} {risk}' for name, risk in self.items() if risk)}>"

    def rows(self) -> list[dict[str, Any]]:
        return [{"attacker": attacker, **risk} for attacker, risk in self.items() if risk]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_after_validator_function(
            cls, handler(dict[str, dict[str, float] | None])
        )


def _as_row(item: Any) -> dict[str, Any]:
    """A part as a mapping with the JSON's keys."""
    row: dict[str, Any] = item.to_dict() if hasattr(item, "to_dict") else dict(vars(item))
    return row


def imported(package: str) -> Any:
    """Import a data frame package. Raises `MissingDriverError` where it is missing."""
    try:
        return import_module(package)
    except ImportError:
        raise MissingDriverError(f"{package} is not installed: pip install {package}.") from None


IF_SET = {"json": "if set"}
"""Metadata of a field that JSON lacks while it has its default."""
UNWRITTEN = {"json": "never"}
"""Metadata of a field that JSON never has."""
INLINED = {"json": "inlined"}
"""Metadata of a field whose keys are inlined among those of the other fields."""


@dataclass(frozen=True)
class JsonPart:
    """A part of a result, whose JSON is its fields in their order."""

    def to_dict(self) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for member in fields(self):
            value = getattr(self, member.name)
            if member.metadata == INLINED:
                written |= json_of_part(value or {})
            elif member.metadata != UNWRITTEN and (
                member.metadata != IF_SET or value != _default(member)
            ):
                written[member.name] = json_of_part(value)
        return written


def _default(declared: Field[Any]) -> Any:
    return declared.default if declared.default_factory is MISSING else declared.default_factory()


def json_of_part(value: Any) -> Any:
    """The JSON of a part of a result."""
    match value:
        case JsonPart():
            return value.to_dict()
        case Mapping():
            # Levels are numbers here, and texts in JSON.
            return {str(name): json_of_part(item) for name, item in value.items()}
        case list() | tuple():
            return [json_of_part(item) for item in value]
    return value


@dataclass(frozen=True)
class HistogramBin(JsonPart):
    """The equivalence classes of one size, with the records in them.

    `people` counts each person in the bin of their smallest class, so the bins add up. It is None
    without an entity.
    """

    size: int
    classes: int
    records: int
    people: int | None = field(default=None, metadata=IF_SET)


def members_by_size(histogram: Iterable[HistogramBin], entity: str | None) -> list[tuple[int, int]]:
    """Each size of a class with the people of its bin, or the records without an entity. Older
    versions stored no people, so that a person counts in each class."""
    return [
        (bin.size, bin.records)
        if not entity
        else (bin.size, bin.size * bin.classes if bin.people is None else bin.people)
        for bin in histogram
    ]


@dataclass(frozen=True)
class Summary(JsonPart):
    """Key figures of a table. Sizes are records, or distinct people with an entity.

    `uniques` are records (people) alone in a class; a person counts once, whatever the number of
    classes. `people` is None without an entity; all other figures are None for a table without
    records, and all are None if the engine failed.
    """

    records: int | None = None
    people: int | None = None
    classes: int | None = None
    k: int | None = None
    average_class_size: float | None = None
    largest_class: int | None = None
    uniques: int | None = None
    records_with_null_qi: int | None = None
    suppressed: int | None = None


@dataclass(frozen=True)
class Events(JsonPart):
    """The events of a table: combinations of the event columns in the records of a person.

    `distinct` are different events; `person_events` pairs of a person and a different event, of
    which each person has from `fewest` to `most`.
    """

    columns: tuple[str, ...]
    distinct: int
    person_events: int
    fewest: int
    most: int
    records_with_null_event: int


@dataclass(frozen=True)
class MadeFrom(JsonPart):
    """The size of an original, or of a holdout; `people` is None without an entity."""

    records: int
    people: int | None = None


@dataclass(frozen=True)
class InBaseline(JsonPart):
    """A check's result in the baseline, and the figures that got worse."""

    holds: bool
    figures: Mapping[str, Any] = field(metadata=INLINED)
    """Its former achieved value, violation counts, details and denominators, as far as stored."""
    worse: tuple[str, ...] = ()
    """Names of the figures that got worse; `holds` if the check held and is now violated."""
    better: tuple[str, ...] = ()
    """Names of the figures that got better."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return _inlined(cls, "figures", handler(source))


@dataclass(frozen=True)
class PolicyOutcome(JsonPart):
    """A policy's outcome on one table: how many of its checks ran and hold, and what else it says.

    `not_asked` are its rules that this input cannot answer, each with the reason.
    """

    id: str
    asked: int
    held: int
    not_asked: tuple[Mapping[str, Any], ...]
    asks_a_person: tuple[str, ...]
    """What no check can answer."""
    read: Mapping[str, Any]
    """By whom and when its text was read."""
    address: str
    issuer: str
    title: str
    version: str
    status: str
    quotes: tuple[Mapping[str, Any], ...]
    """The sentences that the checks rest on."""
    reading: str | None
    confidential: tuple[str, ...]
    """Parameters that it wants kept from outsiders."""
    for_cells: bool = False
    """Whether its rules are for the cells of a table, and the table is one of records."""


@dataclass(frozen=True)
class CheckDetails:
    """The companion figures of a check, each only where its model has it."""

    confidence: float | None = None
    """Confidence in a value in the worst class, with l - 2 other values ruled out."""
    present_only: float | None = None
    """The figure over the values that occur in a class."""
    average: float | None = None
    """The average risk."""
    at_risk: float | None = None
    """Share of records (people) whose risk is above the threshold."""
    distinct: int | None = None
    """Smallest number of distinct values in a class."""
    k: int | None = None
    """Size of the smallest class."""
    required: int | None = None
    """The class size that the estimate requires."""
    estimate: bool = True
    """Whether the figure is estimated."""
    estimates: Mapping[str, float | None] = field(default_factory=dict)
    """By estimator."""
    profile_k: int | None = None
    """Smallest number of people with records in exactly the same classes."""
    profile_uniques: int | None = None
    """Number of people whose set of classes nobody else has."""
    achieved_nulls_as_value: int | None = None
    """The figure with NULL as a value of its own."""
    singleton_classes: int | None = None
    """Number of homogeneous classes of size 1."""
    several_valued_classes: int | None = None
    """Number of homogeneous classes in which someone has several values."""
    unmatched_classes: int | None = None
    """Number of classes without a match in the reference."""
    unmatched_records: int | None = None
    """Number of records in classes without a match in the reference."""
    exceeding_classes: int | None = None
    """Number of classes larger than their match in the reference."""
    reference_levels: Mapping[str, int] = field(default_factory=dict)
    """The levels to which the reference was generalised."""
    assumes: str | None = None
    """The attacker for whom the figure counts."""
    in_both: int | None = None
    """Number of people in both releases."""
    certain_people: int | None = None
    """Number of people with a single value left, unless it changed."""
    changed_people: int | None = None
    """Number of people whose value must have changed."""
    joiners: Mapping[str, int | None] = field(default_factory=dict)
    """People only in this release, and the smallest number of them in a class."""
    leavers: Mapping[str, int | None] = field(default_factory=dict)
    """People only in the earlier release, and the smallest number of them in a class."""
    alone: Mapping[str, int] = field(default_factory=dict)
    """k of each release alone."""
    drawn: bool | None = None
    """Whether known events were drawn at random."""
    evidence: Literal["exact", "witnesses", "interval", "draw"] | None = None
    """What the verdict on known events rests on; a draw alone leaves it open."""
    attacked: int | None = None
    """Number of people attacked."""
    fewer: int | None = None
    """Number of them with fewer than m events."""
    interval: tuple[float, ...] | None = None
    """95 % interval of the share, of a draw."""
    worst: Mapping[str, float] | None = None
    """The figures by the m events that tell most, which are not drawn."""
    random: Mapping[str, float] | None = None
    """The figures by m events at random."""
    highest: float | None = None
    """The highest chance of finding a person."""
    violating_combinations: int | None = None
    """Number of combinations that fewer than k people share."""
    complete: bool | None = None
    """Whether combinations of all sizes up to m were counted."""
    by_size: tuple[Mapping[str, int | None], ...] = ()
    """Number of combinations, and of those that violate, by number of events."""
    shortfall_by_size: Mapping[str, int] = field(default_factory=dict)
    """How many people the violating combinations lack to k, added up, by number of events."""
    unique_in_original: int | None = None
    """Number of records (people) that are alone in the original."""
    unique_in_synthetic: int | None = None
    """Number of records (people) that are alone in the synthetic table."""
    unique_found: int | None = None
    """Number of those alone in the original who are found in the synthetic table."""
    unique_copied: int | None = None
    """Number of records (people) that nobody else has and that are in the synthetic table."""
    copied: int | None = None
    """Number of records (people) of the original that are in the synthetic table."""
    copying: int | None = None
    """Number of records (people) of the synthetic table that are in the original."""
    synthetic: int | None = None
    """Number of records (people) of the synthetic table."""
    columns: tuple[str, ...] = ()
    """The columns that were compared."""
    left_out: tuple[str, ...] = ()
    """The columns of both tables that have no value in common, and were not compared."""
    replicated: int | None = None
    """Number of those alone in the original who are again alone in the synthetic table."""
    found: int | None = None
    """Number of records (people) of the original that are found in the synthetic table."""
    singled_out: int | None = None
    """Number of records (people) singled out by at least one correct claim."""
    claims: int | None = None
    """Number of combinations that one record of the synthetic table has."""
    correct: int | None = None
    """Number of correct claims, or of records (people) told their own value."""
    rate: float | None = None
    """Share of the claims that are correct; None without claims."""
    matched: int | None = None
    """Number of records (people) of the original found by their quasi-identifiers."""
    claimed: int | None = None
    """Number of records (people) told one value as certain."""
    precision: float | None = None
    """Share of those told a value whose value it is; None if nobody is told one."""
    correct_in_original: int | None = None
    """Number of those told their own value to whom the original would tell it too."""
    unique_correct: int | None = None
    """Number of those told their own value who are alone in the original."""
    disclosive_in_original: int | None = None
    """Number of records (people) to whom the original itself would tell their value."""
    zero_cap: float | None = None
    """The average chance of a correct guess, with 0 for those who are not found."""
    gain: float | None = None
    """Difference between the chance of a correct guess and that by the original's shares."""
    original: float | None = None
    """The average chance of a correct guess in the original itself."""
    unique: Mapping[str, float | None] = field(default_factory=dict)
    """Those who are alone in the original and found, and their chance of a correct guess."""
    holdout: Mapping[str, Any] | None = None
    """The comparison with the holdout: shares, their difference and its interval."""


@dataclass(frozen=True, repr=False)
class CheckResult(JsonPart):
    """One check's result. `holds` is None where nothing was required.

    `violating_people` counts people in at least one violating class, each once; None without an
    entity. `achieved` is the table's value in the model's own measure; `details` are companion
    figures, each stored next to `achieved` in the JSON.

    With a baseline, `accepted` says whether the check is violated and the baseline accepts that,
    and `baseline` is its former result, None for a check it lacks; `accepted` is None without a
    baseline.
    """

    model: str
    parameters: Mapping[str, Any]
    policy: str | None = field(default=None, kw_only=True, metadata=IF_SET)
    """The policy that requires the check; None if the user does."""
    holds: bool | None
    achieved: Any
    violating_classes: int | None = None
    violating_records: int | None = None
    violating_people: int | None = field(default=None, kw_only=True, metadata=IF_SET)
    details: Mapping[str, Any] = field(default_factory=dict, metadata=INLINED)
    accepted: bool | None = field(default=None, metadata=IF_SET)
    baseline: InBaseline | None = field(default=None, metadata=IF_SET)

    def __repr__(self) -> str:
        """One line with the verdict."""
        open_or_not = "undecided" if self.undecided else "measured"
        verdict = {True: "holds", False: "violated", None: open_or_not}[self.holds]
        of = f" {name}" if (name := self.parameters.get("sensitive")) else ""
        return f"<CheckResult {self.model}{of} {verdict}: {self.achieved}>"

    @property
    def undecided(self) -> bool:
        """Whether a draw, or a small holdout, can neither prove nor disprove what is required, or
        nobody is found of whom it could be judged."""
        return (
            self.holds is None
            and self.details.get("evidence") is not None
            and MODELS[self.model](**self.parameters).gates
        )

    @property
    def figures(self) -> dict[str, Any]:
        """Every figure by name; both ends of an achieved range."""
        is_range, people = isinstance(self.achieved, Mapping), self.violating_people
        return {
            **(self.achieved if is_range else {"achieved": self.achieved}),
            "violating_classes": self.violating_classes,
            "violating_records": self.violating_records,
            **({} if people is None else {"violating_people": people}),
            **self.details,
        }

    def to_dict(self) -> dict[str, Any]:
        """Beside `accepted`, the baseline is null for a check that it lacks."""
        written = super().to_dict()
        return written if self.accepted is None else written | {"baseline": written.get("baseline")}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return _inlined(cls, "details", handler(source), {"holds": None})


def _inlined(dataclass_type: Any, name: str, schema: Any, missing: Mapping[str, Any] = {}) -> Any:
    """The pydantic schema of a dataclass whose JSON has the keys of one field inlined."""
    from pydantic_core import core_schema

    own = {field.name for field in fields(dataclass_type)} - {name}

    def gathered(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        nested: dict[str, Any] = {**missing, name: {}}
        for key, item in value.items():
            # The chance of a correct guess by the original's shares, and no former result.
            is_figure = key == "baseline" and (
                isinstance(item, int | float) or "accepted" not in value
            )
            (nested[name] if is_figure or key not in own else nested)[key] = item
        return nested

    return core_schema.no_info_before_validator_function(gathered, schema)


def status_of(checks: Iterable[CheckResult]) -> Status:
    """A table's status from its checks.

    `violated` if any violation is not accepted, `holds` if a check gated and all gating ones hold;
    an undecided check leaves it `measured`.
    """
    checks = tuple(checks)
    gated = [check for check in checks if check.holds is not None]
    violated = [check for check in gated if not check.holds]
    if violated:
        return "accepted" if all(check.accepted for check in violated) else "violated"
    undecided = any(check.undecided for check in checks)
    return "holds" if gated and not undecided else "measured"


def homogeneous_members(
    checks: Iterable[CheckResult], summary: Summary
) -> Iterator[tuple[CheckResult, int, int]]:
    """Homogeneity of each sensitive attribute, with the people (records) in homogeneous classes
    and all people (records)."""
    for check in checks:
        if check.model == "homogeneity" and not check.parameters.get("with_other_sensitive"):
            of_people = summary.people is not None
            count = check.violating_people if of_people else check.violating_records
            total = summary.people if of_people else summary.records
            if count and total:
                yield check, count, total


@dataclass(frozen=True)
class FileDigest(JsonPart):
    """The SHA-256 digest of a file, or of the list of digests of a glob's files."""

    role: Literal["source", "spec", "release"]
    path: str
    sha256: str


def today() -> str:
    """The UTC date, as in 2026-11-22."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


@dataclass(frozen=True, repr=False)
class TableResult(JsonPart):
    """One table's audit. `shown` holds values of the data, and only on request."""

    name: str
    engine: str
    status: Status
    warnings: tuple[str, ...] = field(default=(), kw_only=True)
    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...] = ()
    entity: str | None = None
    nulls: str = "value"
    sensitive_nulls: str = "value"
    levels: Mapping[str, int] | None = None
    """The generalisation levels; None for raw values."""
    where: str | None = None
    sources: Mapping[str, Any] = field(default_factory=dict)
    """Other inputs: each reference, and the hierarchy of each level."""
    first: int | None = None
    events: Events | None = None
    """The events of the table; None unless event columns are named."""
    original: MadeFrom | None = None
    """The table that a synthetic one was made from; None unless it is named."""
    holdout: MadeFrom | None = None
    """The records that the generator has not seen; None unless they are named."""
    summary: Summary = Summary()
    histogram: Rows[HistogramBin] = field(default_factory=Rows)
    checks: Rows[CheckResult] = field(default_factory=Rows)
    risk: Risk = field(default_factory=lambda: Risk(dict.fromkeys(ATTACKERS)))
    sql: Mapping[str, str] = field(default_factory=dict, repr=False)
    seconds: float = field(default=0.0, compare=False, metadata=UNWRITTEN)
    error: str | None = field(default=None, metadata=IF_SET)
    numbers: tuple[str, ...] = field(default=(), metadata=IF_SET)
    """The sensitive attributes that are numbers or dates."""
    insensitive: tuple[str, ...] = field(default=(), metadata=IF_SET)
    """The columns declared insensitive."""
    unassigned: tuple[str, ...] = field(default=(), metadata=IF_SET)
    """The unassigned columns, which an audit ignores."""
    why: Mapping[str, str] = field(default_factory=dict, metadata=IF_SET)
    """The spec's reason for a column's role, by column."""
    clip: Mapping[str, list[float | str | None]] = field(default_factory=dict, metadata=IF_SET)
    """Clip bounds of each generalised quasi-identifier."""
    release: Mapping[str, str] = field(default_factory=dict, metadata=IF_SET)
    """Recipient, purpose, model and review_by of the release, as far as the spec has them."""
    snapshots: Mapping[str, str] = field(default_factory=dict, metadata=IF_SET)
    """The snapshot that was read of each table in a format that has them, by table."""
    policies: tuple[PolicyOutcome, ...] = field(default=(), metadata=IF_SET)
    shown: Mapping[str, list[dict[str, Any]]] | None = field(
        default=None, repr=False, metadata=UNWRITTEN
    )
    lineage: Lineage | None = field(default=None, repr=False, compare=False, metadata=UNWRITTEN)
    """Its datasets and its checks' own statements, if requested."""

    @property
    def classes_overlap(self) -> bool:
        """Whether a person has records in several classes."""
        memberships = sum(bin.size * bin.classes for bin in self.histogram)
        return self.summary.people is not None and memberships > self.summary.people

    @property
    def profile(self) -> tuple[int | None, int | None]:
        """With an entity, the smallest number of people with records in exactly the same classes,
        and the number of people whose set of classes nobody else has."""
        details = (check.details for check in self.checks if "profile_k" in check.details)
        own: Mapping[str, Any] = next(details, {})
        return own.get("profile_k"), own.get("profile_uniques")

    def __repr__(self) -> str:
        """One line with the verdict."""
        return f"<TableResult {self.name} {self.status}: {plural(len(self.checks), 'check')}>"

    def __post_init__(self) -> None:
        object.__setattr__(self, "histogram", Rows(self.histogram))
        object.__setattr__(self, "checks", Rows(self.checks))

    def to_dict(self) -> dict[str, Any]:
        shown = {"holds_personal_data": True, "shown_values": self.shown}
        return super().to_dict() | (shown if self.shown is not None else {})


class Written(JsonPart):
    """The result of a command: its JSON begins with the version, the format and the status, and
    ends with its seal."""

    version: str
    sealed: bool = True
    """Whether its JSON has a seal: not if it was read without one."""

    @property
    def status(self) -> Status:
        """The worst status of any table."""
        raise NotImplementedError

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-compatible values, infinity as "Infinity"."""
        head = {"kanon_sql": self.version, "format": FORMAT, "status": self.status}
        finite: dict[str, Any] = plain_json(head | super().to_dict())
        return sealed(finite) if self.sealed else finite

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, repr=False)
class AuditFindings(Written):
    """The audit results of every table."""

    tables: tuple[TableResult, ...]
    version: str = field(metadata=UNWRITTEN)
    audited: str | None = field(default=None, kw_only=True, compare=False, metadata=IF_SET)
    """UTC date of the audit; None if unknown."""
    asked: str | None = field(default=None, kw_only=True, compare=False, metadata=IF_SET)
    """The command that wrote it; None in Python."""
    files: tuple[FileDigest, ...] = field(default=(), kw_only=True, compare=False, metadata=IF_SET)
    """The files that it is about, if it was written to a file."""
    spec: str | None = field(default=None, kw_only=True, compare=False, metadata=IF_SET)
    """The text of the spec file, without secrets and listed values."""
    sealed: bool = field(default=True, kw_only=True, compare=False, metadata=UNWRITTEN)

    @property
    def status(self) -> Status:
        """The worst status of any table: error, violated, no_data, accepted, holds, measured."""
        statuses = {table.status for table in self.tables} or {"no_data"}
        return next(status for status in EXIT_CODES if status in statuses)

    @property
    def holds(self) -> bool | None:
        """Whether there was a requirement and every one is met; None if one is undecided."""
        if self.status == "measured" and any(check.undecided for check in self.checks):
            return None
        return self.status == "holds"

    @property
    def checks(self) -> Rows[CheckResult]:
        """The checks of all tables, in order of the tables."""
        return Rows(check for table in self.tables for check in table.checks)

    @property
    def histogram(self) -> Rows[HistogramBin]:
        """The histograms of all tables, in order of the tables."""
        return Rows(size for table in self.tables for size in table.histogram)

    @property
    def risk(self) -> Risk:
        """The risk by attacker; of several tables, each with its table's name."""
        return Risk(
            {
                attacker if len(self.tables) == 1 else f"{table.name}: {attacker}": figures
                for table in self.tables
                for attacker, figures in table.risk.items()
            }
        )

    def raise_if_violated(self) -> None:
        """Raise `PrivacyViolation` with the verdict on each failed check.

        A table without data raises too, as nothing was shown to hold. Raises `EngineError` where
        the database failed.
        """
        if self.exit_code == 0:
            return
        errors = [f"{table.name}: {table.error}" for table in self.tables if table.error]
        if errors:
            raise EngineError("; ".join(errors))
        failed = [
            f"{table.name}: {self._failure(table, check)}"
            for table in self.tables
            for check in table.checks
            if check.holds is False and not check.accepted
        ]
        failed += [f"{table.name}: no data" for table in self.tables if table.status == "no_data"]
        between = " " if len(failed) == 1 else "\n"
        raise PrivacyViolation(between.join(["not every check holds:", *failed]))

    def _failure(self, table: TableResult, check: CheckResult) -> str:
        """What failed."""
        return check.model

    def noted(self, notes: Sequence[Sequence[str]]) -> Self:
        """The result with further warnings for each table, placed first."""
        tables = (
            replace(table, warnings=(*more, *table.warnings))
            for table, more in zip(self.tables, notes, strict=True)
        )
        return replace(self, tables=tuple(tables))


@dataclass(frozen=True)
class ResultFile:
    """A stored result; of a release, also how it was made."""

    path: Path
    result: AuditFindings
    anonymization: Mapping[str, Any] | None = None


def plain_json(value: Any) -> Any:
    """The value in JSON types: infinities, dates and others as text, NaN as null."""
    match value:
        case float() if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        case float() if math.isnan(value):
            return None
        case Mapping():
            return {key: plain_json(item) for key, item in value.items()}
        case list() | tuple():
            return [plain_json(item) for item in value]
        case None | str() | int() | float():
            return value
    return str(value)
