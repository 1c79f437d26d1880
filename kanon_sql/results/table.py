"""Audit results as plain frozen values, whose `to_dict` is the JSON contract."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from kanon_sql.errors import EngineError, PrivacyViolation, plural
from kanon_sql.results.check import CheckResult
from kanon_sql.results.json_part import IF_SET, UNWRITTEN, JsonPart, plain_json
from kanon_sql.results.seal import sealed
from kanon_sql.results.tabular import Risk, Rows
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

    command: ClassVar[str] = "audit"
    """The command that audits such a table."""
    has_classes: ClassVar[bool] = True
    """Whether its records are in equivalence classes."""

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
    def question(self) -> dict[str, Any]:
        """The parts of the question that affect the meaning of every check."""
        levels = {name: level for name, level in (self.levels or {}).items() if level}
        return {
            "quasi_identifiers": sorted(self.quasi_identifiers),
            "entity": self.entity,
            "events": sorted(self.events.columns) if self.events else None,
            "levels": levels or None,
            "nulls": self.nulls,
            "sensitive_nulls": self.sensitive_nulls,
            "where": self.where,
            "first": self.first,
            "sources": self.sources,
        }

    @property
    def confidential(self) -> tuple[str, ...]:
        """Parameters that the spec wants kept from outsiders; a table of records has none."""
        return ()

    @property
    def listed(self) -> Rows[Any] | None:
        """The cells of a published table, if they are listed."""
        return None

    def naming_every_cell(self) -> Self:
        """The table whose page names every cell that something was found against."""
        return self

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
