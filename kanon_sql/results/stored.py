"""Reads results written with `--format json`, and rejects anything else.

Errors name the location and kind of a value, never the value: the file may be anything, including
personal data. Parsing is by hand into the dataclasses that an audit returns: pydantic would need a
second class for each, and its errors quote values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from kanon_sql.errors import InputError, SpecError, kind_of
from kanon_sql.results.consistency import faults, release_faults
from kanon_sql.results.costs import CostOfK, Costs
from kanon_sql.results.json_document import JsonValue, Kind, loaded, parsed, text_of, whole_of
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Anonymization, MinimalNode, Recoded, ReleaseFindings
from kanon_sql.results.table import (
    AuditFindings,
    CheckResult,
    HistogramBin,
    InBaseline,
    Rows,
    Status,
    Summary,
    TableResult,
)
from kanon_sql.results.tradeoff import Tradeoff
from kanon_sql.results.version import VERSION
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.catalogue import model_named

BASELINE_VERSION = 1
"""Format version of baselines."""
_HOW_A_RESULT = "kanon-sql audit … --format json --output FILE writes one."
_HOW_A_PROFILE = "kanon-sql profile … --format json --output FILE writes one."
_HOW_COSTS = "kanon-sql tradeoff … --format json --output FILE writes one."
_HOW_A_BASELINE = "kanon-sql baseline … --output FILE writes one."


@dataclass(frozen=True)
class ResultFile:
    """A stored result; of a release, also how it was made."""

    path: Path
    result: AuditFindings
    anonymization: Mapping[str, Any] | None = None


def read_result(path: Path) -> ResultFile:
    """Read a stored result. Raises `InputError` for anything else."""
    whole = _result(whole_of(path, _HOW_A_RESULT, parsed(path, _HOW_A_RESULT)))
    result = AuditFindings(_tables(whole), whole.get("kanon_sql", str), **_how(whole))
    made = whole.find("anonymization")
    return ResultFile(path, result, made.object() if made else None)


@dataclass(frozen=True)
class StoredProfile:
    """A stored profile."""

    tables: tuple[TableProfile, ...]
    version: str


@dataclass(frozen=True)
class StoredTradeoff:
    """A stored trade-off."""

    tradeoff: Tradeoff
    version: str
    asked: str | None = None
    """The command that wrote it."""


def result_of(
    source: str | Path | Mapping[str, Any],
) -> AuditFindings | StoredProfile | StoredTradeoff:
    """The result in a file, a JSON text or a mapping; of a release, also how it was made."""
    name, value = _named(source)
    if isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value):
        whole = JsonValue(name, _HOW_COSTS, "", value)
        _refuse_later(whole)
        found: Tradeoff = _of(Tradeoff, whole.part("tradeoff"))
        asked = whole.get_or_none("asked", str)
        return StoredTradeoff(found, whole.get("kanon_sql", str), asked)
    whole = _result(whole_of(name, _HOW_A_RESULT, value))
    if _is_profile(whole):
        return StoredProfile(_profiles(whole), whole.get("kanon_sql", str))
    return _findings(whole)


def _findings(whole: JsonValue) -> AuditFindings:
    """The tables of a result; of a release, also how it was made."""
    tables, version = _tables(whole), whole.get("kanon_sql", str)
    made = whole.find("anonymization")
    if made is None:
        return AuditFindings(tables, version, **_how(whole))
    found: Anonymization = _of(Anonymization, made)
    _refuse(made, release_faults(found, tables[0]))
    # What the JSON has of the views is for reading, and no longer to be run.
    found = replace(found, views=(), views_without_values=found.views, recoded=_recoded(made))
    return ReleaseFindings(tables, version, found, **_how(whole))


def _how(whole: JsonValue) -> dict[str, str | None]:
    """Date and command of the result."""
    return {key: whole.get_or_none(key, str) for key in ("audited", "asked")}


def _recoded(made: JsonValue) -> Recoded | None:
    """The final levels of a local recoding, stored among the release's fields."""
    reached = made.find("levels_by_records")
    if reached is None:
        return None
    beside, labels = made.find("one_level_for_all"), made.part("labels_of_levels")
    return Recoded(
        made.get("rounds", int),
        {name: _by_level(reached.part(name), int) for name in reached.object()},
        {name: _by_level(labels.part(name), str) for name in labels.object()},
        _of(MinimalNode, beside) if beside else None,
    )


def _by_level(part: JsonValue, kind: type[Kind]) -> dict[int, Kind]:
    """Values by level, whose number is a text key in JSON."""
    if not all(level.isdecimal() for level in part.object()):
        raise part.error("an object whose names are levels")
    return {int(level): part.get(level, kind) for level in part.object()}


@dataclass(frozen=True)
class ToSign:
    """A result to be signed, with the text of its file."""

    path: Path
    text: str
    result: AuditFindings
    costs: Costs | None = None
    """The cost of each k, for a trade-off result."""


def read_to_sign(path: Path) -> ToSign:
    """Read a result of an audit, a release or a trade-off for signing.

    Raises `InputError` for anything else, and for a later version, whose meaning may differ.
    """
    text = text_of(path, _HOW_A_RESULT)
    value = loaded(text.lstrip("\ufeff"), path, _HOW_A_RESULT)
    if isinstance(value, dict) and "tradeoff" in value:
        whole = JsonValue(path, _HOW_COSTS, "", value)
        _refuse_later(whole)
        how = {
            "audited": whole.part("tradeoff").get_or_none("audited", str),
            "asked": whole.get_or_none("asked", str),
        }
        nothing_audited = AuditFindings((), whole.get("kanon_sql", str), **how)
        return ToSign(path, text, nothing_audited, _costs(whole))
    whole = _result(whole_of(path, _HOW_A_RESULT, value))
    _refuse_later(whole)
    if any("attacker_knows" in each.object() for each in whole.part("tables").items()):
        raise InputError(
            f"{path} is a profile, which stands beside a result: kanon-sql report RESULT.json "
            f"--profile {path}. {_HOW_A_RESULT}"
        )
    return ToSign(path, text, _findings(whole))


def _refuse_later(whole: JsonValue) -> None:
    """Raise if the file was written by a later version."""
    written = whole.get("kanon_sql", str)
    if _release_of(written) > _release_of(VERSION):
        raise InputError(
            f"{whole.path} was written by kanon-sql {written}, and this is {VERSION}: what it says "
            "may mean something else. Install that version, or write the result again."
        )


def _release_of(version: str) -> tuple[int, ...]:
    """The numeric parts of a version, as a sort key.

    >>> _release_of("1.10.0rc1") > _release_of("1.9.2")
    True
    """
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def read_profile(path: Path) -> tuple[TableProfile, ...]:
    """Read the tables of a profile. Raises `InputError` for anything else."""
    whole = whole_of(path, _HOW_A_PROFILE, parsed(path, _HOW_A_PROFILE))
    if not _is_profile(whole):
        raise InputError(f"{path} is no profile. {_HOW_A_PROFILE}")
    return _profiles(whole)


def _is_profile(whole: JsonValue) -> bool:
    tables = list(whole.part("tables").items())
    return bool(tables) and all("attacker_knows" in each.object() for each in tables)


def _profiles(whole: JsonValue) -> tuple[TableProfile, ...]:
    _refuse_later(whole)
    return tuple(_of(TableProfile, each) for each in whole.part("tables").items())


def read_costs(path: Path) -> Costs:
    """Read the cost of each k. Raises `InputError` unless it is a trade-off result."""
    value = parsed(path, _HOW_COSTS)
    if not (isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value)):
        raise InputError(f"{path} is no result of tradeoff. {_HOW_COSTS}")
    whole = JsonValue(path, _HOW_COSTS, "", value)
    _refuse_later(whole)
    return _costs(whole)


def costs_of(result: Mapping[str, Any]) -> Costs:
    """The cost of each k from a trade-off result as plain values."""
    return _costs(JsonValue("the result", _HOW_COSTS, "", result))


def _costs(whole: JsonValue) -> Costs:
    found = whole.part("tradeoff")
    metric = found.get_or_none("metric", str) or "loss"
    points = tuple(_cost(each, metric) for each in found.part("points").items())
    return Costs(
        metric,
        found.get_or_none("algorithm", str) or "optimal",
        points,
        found.get_or_none("name", str) or "",
        tuple(_cost(each, metric) for each in beside.part("points").items())
        if (beside := found.find("optimal"))
        else (),
    )


def _cost(part: JsonValue, metric: str) -> CostOfK:
    metrics, levels = part.find("metrics"), part.find("levels")
    lost = metrics.find(metric) if metrics else None
    return CostOfK(
        part.get("k", int),
        None if lost is None else (1 - _real(lost) if metric == "precision" else _real(lost)),
        part.get_or_none("suppressed", int),
        part.get_or_none("classes", int),
        {name: levels.get(name, int) for name in levels.object()} if levels else None,
    )


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
    whole = whole_of(path, _HOW_A_BASELINE, parsed(path, _HOW_A_BASELINE))
    if "baseline" not in whole.value:
        raise InputError(
            f"{path} is a result and no baseline. kanon-sql baseline {path} --output baseline.json "
            "makes one of it: what is violated in it is then accepted."
        )
    version = whole.get("baseline", int)
    if version != BASELINE_VERSION:
        raise InputError(
            f"{path} is a baseline of version {version}, and this kanon-sql reads version "
            f"{BASELINE_VERSION}. Write it again with kanon-sql baseline, or install the "
            "kanon-sql that wrote it."
        )
    return _tables(whole)


# --- the parts of a result ------------------------------------------------------------------


def _tables(whole: JsonValue) -> tuple[TableResult, ...]:
    tables = tuple(_table(part) for part in whole.part("tables").items())
    if not tables:
        raise InputError(f"{whole.path} has no table. {whole.how}")
    for part, table in zip(whole.part("tables").items(), tables, strict=True):
        _refuse(part, faults(table, has_status=part.find("status") is not None))
    status = whole.find("status")
    if status is not None and status.value != AuditFindings(tables, "").status:
        _refuse(whole, [("status", "the status of its tables")])
    return tables


def _refuse(part: JsonValue, found: Iterable[tuple[str, str]]) -> None:
    """Raise for the first figure that contradicts another one."""
    for place, other in found:
        where = f"{part.place}.{place}".lstrip(".")
        raise InputError(
            f"{part.path}: {where} contradicts {other}. Was the file edited? Take it as kanon-sql "
            f"wrote it. {part.how}"
        )


def _table(part: JsonValue) -> TableResult:
    if "attacker_knows" in part.object():
        raise InputError(f"{part.path} is a profile, and an audit is needed. {part.how}")
    histogram, levels, summary = part.find("histogram"), part.find("levels"), part.find("summary")
    return TableResult(
        name=part.get("name", str),
        engine=part.get_or_none("engine", str) or "",
        status=_status(part),
        quasi_identifiers=part.names("quasi_identifiers"),
        sensitive=part.names("sensitive"),
        entity=part.get_or_none("entity", str),
        nulls=part.get_or_none("nulls", str) or "value",
        sensitive_nulls=part.get_or_none("sensitive_nulls", str) or "value",
        levels={name: levels.get(name, int) for name in levels.object()} if levels else None,
        where=part.get_or_none("where", str),
        sources=part.get_or_none("sources", dict) or {},
        first=part.get_or_none("first", int),
        warnings=part.names("warnings"),
        summary=_of(Summary, summary) if summary else Summary(),
        histogram=Rows(_of(HistogramBin, size) for size in histogram.items())
        if histogram
        else Rows(),
        checks=Rows(_check(check) for check in part.part("checks").items()),
        risk=dict(_risks(part)),
        sql=_texts(part, "sql"),
        error=part.get_or_none("error", str),
        numbers=part.names("numbers"),
        insensitive=part.names("insensitive"),
        unassigned=part.names("unassigned"),
        why=_texts(part, "why"),
        clip=_clips(part),
        release=_texts(part, "release"),
    )


def _texts(part: JsonValue, key: str) -> dict[str, str]:
    """Texts by name."""
    said = part.find(key)
    return {name: said.get(name, str) for name in said.object()} if said else {}


def _clips(part: JsonValue) -> dict[str, list[Any]]:
    """Clip bounds by quasi-identifier."""
    clips = part.find("clip")
    return {
        name: [None if each.value is None else _real(each) for each in clips.part(name).items()]
        for name in (clips.object() if clips else ())
        if clips
    }


def _status(part: JsonValue) -> Status:
    """The status of a table; a baseline has none, and its status is not used."""
    found = part.find("status")
    if found is None:
        return "measured"
    if found.value not in get_args(Status):
        raise found.error(" or ".join(get_args(Status)))
    status: Status = found.value
    return status


def _risks(part: JsonValue) -> Iterator[tuple[str, dict[str, float] | None]]:
    """Risk figures by attacker; None for one not measured."""
    risks = part.find("risk")
    for attacker in risks.object() if risks else ():
        figures = risks.find(attacker) if risks else None
        yield (
            attacker,
            {name: _real(figures.part(name)) for name in figures.object()} if figures else None,
        )


_OWN_KEYS = ("model", "parameters", "holds", "achieved", "violating_classes", "violating_records",
             "violating_people", "accepted", "baseline")  # fmt: skip


def _check(part: JsonValue) -> CheckResult:
    model = _model(part)
    if part.part("achieved").value is not None:
        _refuse_without_figures(part, model)
    in_baseline = part.find("baseline")
    return CheckResult(
        model=model.name(),
        parameters=model.parameters,
        holds=part.get_or_none("holds", bool),
        achieved=_numbers(part.part("achieved").value),
        violating_classes=part.get_or_none("violating_classes", int),
        violating_records=part.get_or_none("violating_records", int),
        violating_people=part.get_or_none("violating_people", int),
        details={
            key: _numbers(value) for key, value in part.object().items() if key not in _OWN_KEYS
        },
        accepted=part.get_or_none("accepted", bool),
        baseline=_in_baseline(in_baseline) if in_baseline else None,
    )


def _refuse_without_figures(part: JsonValue, model: Model) -> None:
    """Raise unless every figure of a check is present and is a number or null."""
    achieved = part.part("achieved")
    for name in model.figures:
        is_end = name in ("min", "max") and isinstance(achieved.value, dict)
        figure = (achieved if is_end else part).part(name)
        if figure.value is not None:
            _real(figure)


def _model(part: JsonValue) -> Model:
    """The model with its parameters, validated by this version."""
    parameters = part.part("parameters")
    try:
        model = model_named(part.get("model", str))
        return model(**parameters.object())
    except SpecError as error:
        if error.key in parameters.object() and error.key in model.model_fields:
            raise parameters.part(error.key).error(f"what {model.name()} takes") from None
        raise InputError(f"{part.path}: {part.place}: {error.marked}") from None


def _in_baseline(part: JsonValue) -> InBaseline:
    return InBaseline(
        part.get("holds", bool),
        {
            key: _numbers(value)
            for key, value in part.object().items()
            if key not in ("holds", "worse", "better")
        },
        part.names("worse"),
        part.names("better"),
    )


def _of(kind: Any, part: JsonValue) -> Any:
    """Convert a part to a type, dataclasses recursively by field name."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return _numbers(part.value)
    if type(None) in inner:
        return None if part.value is None else _of(inner[0], part)
    if kind is CheckResult:
        return _check(part)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        # Fields missing from older versions take their defaults.
        written = [
            each.name
            for each in fields(kind)
            if (each.default is MISSING and each.default_factory is MISSING)
            or part.find(each.name) is not None
        ]
        return kind(**{name: _of(hints[name], part.part(name)) for name in written})  # type: ignore[operator]
    if origin is Literal:
        if part.value not in inner:
            raise part.error(" or ".join(inner))
        return part.value
    if origin in (tuple, Rows):
        return tuple(_of(inner[0], each) for each in part.items())
    if origin is Mapping:
        return {name: _of(inner[1], part.part(name)) for name in part.object()}
    return _real(part) if kind is float else part.as_(kind)


def _real(part: JsonValue) -> float:
    value = _numbers(part.value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise part.error("a number")


def _numbers(value: Any) -> Any:
    """The value with infinities decoded."""
    match value:
        case "Infinity":
            return math.inf
        case "-Infinity":
            return -math.inf
        case dict():
            return {key: _numbers(item) for key, item in value.items()}
    return value
