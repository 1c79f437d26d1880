"""Reads results written with `--format json`, and rejects anything else.

Errors name the location and kind of a value, never the value: the file may be anything, including
personal data. Pydantic reads the dataclasses that an audit returns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from kanon_sql.errors import InputError, SpecError, kind_of, option
from kanon_sql.results.cells import CellCheckResult, CellDetails, CellsResult, CellSummary
from kanon_sql.results.confidential import CONFIDENTIAL, FEWER
from kanon_sql.results.consistency import faults, release_faults
from kanon_sql.results.json_document import (
    JsonValue,
    loaded,
    parsed,
    read_format,
    result_document,
    text_of,
)
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Anonymization, Recoded, ReleaseFindings, Tradeoff
from kanon_sql.results.table import (
    AuditFindings,
    CheckDetails,
    CheckResult,
    FileDigest,
    Rows,
    Summary,
    TableResult,
)
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.catalogue import model_named
from kanon_sql.spec.models.cells import CellModel

BASELINE_VERSION = 1
"""Format version of baselines."""
_AS_JSON = f"{option('format', 'json')} {option('output', 'FILE')}"
_HOW_A_RESULT = f"kanon-sql audit … {_AS_JSON} writes one."
_HOW_A_PROFILE = f"kanon-sql profile … {_AS_JSON} writes one."
_HOW_COSTS = f"kanon-sql tradeoff … {_AS_JSON} writes one."
_HOW_A_BASELINE = f"kanon-sql baseline … {option('output', 'FILE')} writes one."


@dataclass(frozen=True)
class ResultFile:
    """A stored result; of a release, also how it was made."""

    path: Path
    result: AuditFindings
    anonymization: Mapping[str, Any] | None = None


def read_result(path: Path) -> ResultFile:
    """Read a stored result. Raises `InputError` for anything else."""
    whole = _result(result_document(path, _HOW_A_RESULT, parsed(path, _HOW_A_RESULT)))
    made = whole.part("anonymization") if "anonymization" in whole.value else None
    return ResultFile(path, _audit(whole), made.read(dict) if made else None)


@dataclass(frozen=True)
class _StoredAudit:
    """A stored audit or baseline."""

    kanon_sql: str
    """The version that wrote it."""
    tables: tuple[TableResult, ...]
    audited: str | None = None
    asked: str | None = None
    status: Any = None
    files: tuple[FileDigest, ...] = ()
    spec: str | None = None


@dataclass(frozen=True)
class StoredProfile:
    """A stored profile."""

    kanon_sql: str
    """The version that wrote it."""
    tables: tuple[TableProfile, ...]


@dataclass(frozen=True)
class StoredTradeoff:
    """A stored trade-off."""

    kanon_sql: str
    """The version that wrote it."""
    tradeoff: Tradeoff
    asked: str | None = None
    """The command that wrote it."""


def result_of(
    source: str | Path | Mapping[str, Any],
) -> AuditFindings | StoredProfile | StoredTradeoff:
    """The result in a file, a JSON text or a mapping; of a release, also how it was made."""
    name, value = _named(source)
    if isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value):
        return _tradeoff(name, value)
    whole = _result(result_document(name, _HOW_A_RESULT, value))
    return whole.read(StoredProfile) if _is_profile(whole) else _findings(whole)


def _findings(whole: JsonValue) -> AuditFindings:
    """The tables of a result; of a release, also how it was made."""
    audit = _audit(whole)
    if "anonymization" not in whole.value:
        return audit
    made = whole.part("anonymization")
    found = made.read(Anonymization)
    before = made.part("before").part("checks")
    found = replace(
        found,
        before=replace(found.before, checks=tuple(_checks(before, found.before.checks))),
        # The views in the JSON are for display and never executed.
        views=(),
        views_without_values=found.views,
        recoded=made.read(Recoded) if "levels_by_records" in made.value else None,
    )
    _refuse(made, release_faults(found, audit.tables[0]))
    told = {key: getattr(audit, key) for key in _TOLD}
    return ReleaseFindings(audit.tables, audit.version, found, **told)


@dataclass(frozen=True)
class ToSign:
    """A result to be signed, with the text of its file."""

    path: Path
    text: str
    result: AuditFindings
    costs: Tradeoff | None = None
    """The cost of each k, for a trade-off result."""


def read_to_sign(path: Path) -> ToSign:
    """Read a result of an audit, a release or a trade-off for signing.

    Raises `InputError` for anything else.
    """
    text = text_of(path, _HOW_A_RESULT)
    value = loaded(text.lstrip("\ufeff"), path, _HOW_A_RESULT)
    if isinstance(value, dict) and "tradeoff" in value:
        found = _tradeoff(path, value)
        audited = AuditFindings(
            (), found.kanon_sql, audited=found.tradeoff.audited, asked=found.asked
        )
        return ToSign(path, text, audited, found.tradeoff)
    whole = _result(result_document(path, _HOW_A_RESULT, value))
    if any(_of_profile(whole)):
        raise InputError(
            f"{path} is a profile, which can accompany a result: kanon-sql report RESULT.json "
            f"{option('profile', str(path))}. {_HOW_A_RESULT}"
        )
    return ToSign(path, text, _findings(whole))


def read_profile(path: Path) -> tuple[TableProfile, ...]:
    """Read the tables of a profile. Raises `InputError` for anything else."""
    whole = result_document(path, _HOW_A_PROFILE, parsed(path, _HOW_A_PROFILE))
    if not _is_profile(whole):
        raise InputError(f"{path} is no profile. {_HOW_A_PROFILE}")
    return whole.read(StoredProfile).tables


def _of_profile(whole: JsonValue) -> list[bool]:
    """Whether each table is one of a profile."""
    tables = whole.value["tables"]
    parts = tables if isinstance(tables, list) else []
    return ["attacker_knows" in each for each in parts if isinstance(each, dict)]


def _is_profile(whole: JsonValue) -> bool:
    found = _of_profile(whole)
    return bool(found) and all(found)


def read_costs(path: Path) -> Tradeoff:
    """Read the cost of each k. Raises `InputError` unless it is a trade-off result."""
    value = parsed(path, _HOW_COSTS)
    if not (isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value)):
        raise InputError(f"{path} is no result of tradeoff. {_HOW_COSTS}")
    return _tradeoff(path, value).tradeoff


def _tradeoff(path: Path | str, value: Any) -> StoredTradeoff:
    return read_format(JsonValue(path, _HOW_COSTS, "", value)).read(StoredTradeoff)


def _named(source: Any) -> tuple[Path | str, Any]:
    """A source's display name and its JSON value."""
    if isinstance(source, Mapping):
        try:
            text = json.dumps(source, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise InputError(
                f"the mapping is not what to_dict() gives: JSON can't hold all of it. "
                f"{_HOW_A_RESULT}"
            ) from None
        return "the mapping", loaded(text, "the mapping", _HOW_A_RESULT)
    if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return "the text", loaded(source.lstrip("\ufeff"), "the text", _HOW_A_RESULT)
    if isinstance(source, str | Path):
        return Path(source), parsed(Path(source), _HOW_A_RESULT)
    raise InputError(
        f"a result is read from a path, a text or a mapping, and not from {kind_of(source)}."
    )


def _result(whole: JsonValue) -> JsonValue:
    """Reject baselines and comparisons."""
    if "baseline" in whole.value:
        raise InputError(
            f"{whole.path} is a baseline, and a result of an audit is needed. {_HOW_A_RESULT}"
        )
    if "old" in whole.value and "new" in whole.value:
        raise InputError(
            f"{whole.path} is a comparison, and a result is needed: a comparison is made of two of "
            f"them. {_HOW_A_RESULT}"
        )
    return whole


def read_baseline(path: Path) -> tuple[TableResult, ...]:
    """Read the tables of a baseline. Raises `InputError` for anything else."""
    whole = result_document(path, _HOW_A_BASELINE, parsed(path, _HOW_A_BASELINE))
    if "baseline" not in whole.value:
        raise InputError(
            f"{path} is a result and no baseline. kanon-sql baseline {path} "
            f"{option('output', 'baseline.json')} makes one of it: what is violated in it is "
            "then accepted."
        )
    version = whole.part("baseline").read(int)
    if version != BASELINE_VERSION:
        raise InputError(
            f"{path} is a baseline of version {version}, and this kanon-sql reads version "
            f"{BASELINE_VERSION}. Write it again with kanon-sql baseline, or install the "
            "kanon-sql that wrote it."
        )
    return _audit(whole).tables


# --- the parts of a result ------------------------------------------------------------------

_TOLD = ("audited", "asked", "files", "spec")
"""What a result tells besides its figures."""
_ONCE_UNWRITTEN = {"engine": "", "status": "measured", "quasi_identifiers": ()}
"""Parts of a table that old files lack."""


def _audit(whole: JsonValue) -> AuditFindings:
    """The tables of a result, whose figures agree with each other."""
    if any(_of_profile(whole)):
        raise InputError(f"{whole.path} is a profile, and an audit is needed. {whole.how}")
    read = _with_all_parts(whole).read(_StoredAudit)
    if not read.tables:
        raise InputError(f"{whole.path} has no table. {whole.how}")
    parts = [whole.part("tables").part(place) for place in range(len(read.tables))]
    tables = tuple(
        _of_cells(part, table)
        if isinstance(part.value, Mapping) and {"by", "published"} <= part.value.keys()
        else replace(table, checks=Rows(_checks(part.part("checks"), table.checks)))
        for part, table in zip(parts, read.tables, strict=True)
    )
    for part, table in zip(parts, tables, strict=True):
        _refuse(part, faults(table, has_status="status" in part.value))
    told = {key: getattr(read, key) for key in _TOLD}
    audit = AuditFindings(tables, read.kanon_sql, **told)
    if read.status not in (None, audit.status):
        _refuse(whole, [("status", "the status of its tables")])
    return audit


@dataclass(frozen=True)
class _StoredCells:
    """What a published table has besides what every audited table has."""

    by: tuple[str, ...]
    published: bool
    figure: Literal["count", "magnitude"]
    summary: CellSummary
    value: str | None = None
    contributor: str | None = None
    weight: str | None = None
    against: Mapping[str, str] = field(default_factory=dict)
    confidential: tuple[str, ...] = ()


def _of_cells(part: JsonValue, table: TableResult) -> CellsResult:
    """A published table, whose dimensions and summary are its own."""
    found = vars(part.read(_StoredCells))
    cells = found.pop("summary")
    margins = part.value.get("margins")
    for place in range(len(table.checks)):
        check = part.part("checks").part(place)
        _refuse_for_outsiders(check)
        check.read(CellDetails)
    checks = [
        replace(each, parameters=dict.fromkeys(stored.parameters) | dict(each.parameters))
        for stored, each in zip(
            table.checks, _checks(part.part("checks"), table.checks), strict=True
        )
    ]
    own = vars(table) | {
        "quasi_identifiers": found["by"],
        "summary": Summary(records=cells.records),
        "checks": Rows(CellCheckResult(**vars(each)) for each in checks),
        "margins": tuple(map(tuple, margins)) if isinstance(margins, list) else margins,
    }
    return CellsResult(**own, **found, cells=cells)


def _refuse_for_outsiders(check: JsonValue) -> None:
    """Raise for a check without its confidential parameters or its exact figure."""
    parameters, achieved = check.value.get("parameters"), check.value.get("achieved")
    is_hidden = isinstance(parameters, dict) and CONFIDENTIAL in parameters.values()
    if is_hidden or (isinstance(achieved, str) and achieved.startswith(FEWER)):
        raise InputError(
            f"{check.path} was written for external readers, without what is confidential. Use the "
            f"internal result; kanon-sql report RESULT.json {option('audience', 'external')} "
            "writes a page for external readers."
        )


def _with_all_parts(whole: JsonValue) -> JsonValue:
    """The result with the parts that old files lack."""
    tables = whole.value["tables"]
    if isinstance(tables, list):
        tables = [_ONCE_UNWRITTEN | part if isinstance(part, dict) else part for part in tables]
    return whole._replace(value=whole.value | {"tables": tables})


def _refuse(part: JsonValue, found: Iterable[tuple[str, str]]) -> None:
    """Raise for the first figure that contradicts another one."""
    for place, other in found:
        where = f"{part.place}.{place}".lstrip(".")
        raise InputError(
            f"{part.path}: {where} contradicts {other}. Was the file edited? Take it as kanon-sql "
            f"wrote it. {part.how}"
        )


def _checks(part: JsonValue, checks: Sequence[CheckResult]) -> Iterator[CheckResult]:
    """The checks with their parameters in force.

    Raises unless every figure of a check with an achieved value is a number or null.
    """
    for place, check in enumerate(checks):
        found = part.part(place)
        model = _model(found)
        if not isinstance(model, CellModel):
            found.read(CheckDetails)
        if model.counts_violations and check.achieved is not None:
            found.part("achieved").read(int)
        for name in model.figures if check.achieved is not None else ():
            is_end = name in ("min", "max") and isinstance(check.achieved, dict)
            figure = (found.part("achieved") if is_end else found).part(name)
            if figure.value is not None:
                figure.read(float)
        yield replace(check, parameters=model.parameters)


def _model(part: JsonValue) -> Model:
    """The model with its parameters, validated by this version."""
    parameters = part.part("parameters")
    try:
        model = model_named(part.value["model"])
        return model(**parameters.value)
    except SpecError as error:
        if error.key in parameters.value and error.key in model.model_fields:
            raise parameters.part(error.key).error(f"what {model.name()} takes") from None
        raise InputError(f"{part.path}: {part.place}: {error.marked}") from None
