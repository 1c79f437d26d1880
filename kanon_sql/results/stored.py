"""Reads results written with `--format json`, and rejects anything else.

Errors name the location and kind of a value, never the value: the file may be anything, including
personal data. Pydantic reads the dataclasses that an audit returns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator, core_schema

from kanon_sql.errors import InputError, SpecError, kind_of
from kanon_sql.results.cells import CellCheckResult, CellDetails, CellsResult, CellSummary
from kanon_sql.results.confidential import CONFIDENTIAL, FEWER
from kanon_sql.results.consistency import faults, release_faults
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Anonymization, Recoded, ReleaseFindings, Tradeoff
from kanon_sql.results.table import (
    AuditFindings,
    CheckDetails,
    CheckResult,
    FileDigest,
    ResultFile,
    Rows,
    Summary,
    TableResult,
)
from kanon_sql.results.version import FORMAT, VERSION
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.catalogue import model_named
from kanon_sql.spec.models.cells import CellModel

KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number",
         float: "a number", type(None): "null"}  # fmt: skip
_COUNT = "a whole number, 0 or more"
_EXPECTED = {
    "int_type": _COUNT,
    "greater_than_equal": _COUNT,
    "bool_type": KINDS[bool],
    "string_type": KINDS[str],
    "tuple_type": KINDS[list],
    "list_type": KINDS[list],
    "dict_type": KINDS[dict],
    "mapping_type": KINDS[dict],
    "dataclass_type": KINDS[dict],
}
"""The expected value in words, by the type of pydantic's error."""
_MOST_DIGITS = 40
"""Number of digits of the sum of squared class sizes in any conceivable database."""
Kind = TypeVar("Kind")


class JsonValue(NamedTuple):
    """A JSON value with its location in the file."""

    path: Path | str
    how: str
    """How files of this kind are written."""
    place: str
    value: Any

    def read(self, kind: type[Kind]) -> Kind:
        """The value as a dataclass. Raises `InputError` with the place of the first fault."""
        try:
            read: Kind = _validator(kind).validate_python(self.value)  # type: ignore[arg-type]
        except ValidationError as error:
            raise self._fault(error.errors(include_url=False, include_input=False)[0]) from None
        return read

    def _fault(self, fault: ErrorDetails) -> InputError:
        found, location = self, fault["loc"]
        if location[-1:] == ("[key]",):
            return self._at(location[:-2]).error("an object whose names are levels")
        found = self._at(location)
        match fault:
            case {"type": "missing"}:
                return found.missing_key(str(location[-1]))
            case {"type": "literal_error", "ctx": {"expected": names}}:
                return found.error(names.replace(", ", " or ").replace("'", ""))
            case {"type": "value_error", "ctx": {"error": expected}}:
                return found.error(str(expected))
        return found.error(_EXPECTED[fault["type"]])

    def _at(self, location: tuple[int | str, ...]) -> JsonValue:
        """The value at a location of the dataclass, whose fields need not all be keys of JSON."""
        found = self
        for key in location:
            if isinstance(key, int) or (isinstance(found.value, dict) and key in found.value):
                found = found.part(key)
        return found

    def part(self, key: str | int) -> JsonValue:
        if isinstance(key, int):
            return self._replace(place=f"{self.place}[{key}]", value=self.value[key])
        if key not in self.value:
            raise self.missing_key(key)
        return self._replace(place=f"{self.place}.{key}".lstrip("."), value=self.value[key])

    def error(self, expected: str) -> InputError:
        place = self.place or "the whole"
        return InputError(
            f"{self.path}: {place} must be {expected}; found {self._found()}. Is this "
            f"file as kanon-sql wrote it? {self.how}"
        )

    def missing_key(self, key: str) -> InputError:
        return InputError(
            f'{self.path}: {self.place or "the whole"} has no "{key}". Is this file '
            f"as kanon-sql wrote it? {self.how}"
        )

    def _found(self) -> str:
        """The kind of value found, refined where the kind alone would be right."""
        match self.value:
            case float():
                return "a fraction"
            case int() if self.value < 0:
                return "a number below 0"
        return KINDS[type(self.value)]


@cache
def _validator(kind: Any) -> SchemaValidator:
    return SchemaValidator(_json_schema(TypeAdapter(kind).core_schema))


def _json_schema(schema: Any) -> Any:
    """The schema with the scalars of a result: an integer is a count, infinity is text.

    Null stands for a default, except for a list: a result without checks has an empty one.
    """
    match schema:
        case {"type": "default", "schema": part} if _default(schema) != ():
            given = core_schema.no_info_before_validator_function(
                lambda value: _default(schema) if value is None else value, _json_schema(part)
            )
            return schema | {"schema": given}
        case {"type": "int"}:
            return core_schema.int_schema(ge=0, strict=True)
        case {"type": "bool"}:
            return core_schema.bool_schema(strict=True)
        case {"type": "float"}:
            return core_schema.no_info_plain_validator_function(number)
        case {"type": "any"}:
            return core_schema.no_info_plain_validator_function(decoded)
        case Mapping():
            # Numbers are text where they are keys.
            return {
                name: part if name == "keys_schema" else _json_schema(part)
                for name, part in schema.items()
            }
        case list():
            return [_json_schema(part) for part in schema]
    return schema


def _default(schema: Mapping[str, Any]) -> Any:
    return schema["default_factory"]() if "default_factory" in schema else schema["default"]


def number(value: Any) -> float:
    """A number, decoded. Raises `ValueError` for anything else."""
    found = decoded(value)
    if isinstance(found, int | float) and not isinstance(found, bool):
        return found
    raise ValueError("a number")


def decoded(value: Any) -> Any:
    """The value with infinities decoded."""
    match value:
        case "Infinity":
            return math.inf
        case "-Infinity":
            return -math.inf
        case dict():
            return {key: decoded(item) for key, item in value.items()}
    return value


def result_document(path: Path | str, how: str, value: Any) -> JsonValue:
    whole = JsonValue(path, how, "", value)
    is_ours = isinstance(whole.value, dict) and {"kanon_sql", "tables"} <= set(whole.value)
    if isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value):
        raise InputError(f"{path} is a result of tradeoff, and another one is needed. {how}")
    if not is_ours:
        raise InputError(
            f"{path} is nothing that kanon-sql wrote: it is {KINDS[type(whole.value)]} without "
            f'"kanon_sql" and "tables". {how}'
        )
    return read_format(whole)


def read_format(whole: JsonValue) -> JsonValue:
    """The same value. Raises `InputError` for a format later than this version reads."""
    if "format" not in whole.value:
        return whole
    found = whole.part("format").read(int)
    if found > FORMAT:
        known = [str(each) for each in range(FORMAT + 1)]
        reads = f"{', '.join(known[:-1])} and {known[-1]}"
        raise InputError(
            f"{whole.path} was written in format {found}, and this is kanon-sql {VERSION}, which "
            f"reads {reads}. Install a later one, or write the result again."
        )
    return whole


def parsed(path: Path, how: str) -> Any:
    return loaded(text_of(path, how), path, how)


def text_of(path: Path, how: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}. {how}") from None
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 text, so kanon-sql did not write it. {how}"
        ) from None
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.") from None


def loaded(text: str, path: Path | str, how: str) -> Any:
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, parse_int=_whole, parse_float=_fraction
        )
    except OverflowError:
        raise InputError(
            f"{path} holds a number to which nothing can have been counted. Was the file edited? "
            f"{how}"
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}. Was it cut off, "
            f"or edited? {how}"
        ) from None
    except (RecursionError, ValueError):
        raise InputError(f"{path} is not JSON that can be read. {how}") from None


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise OverflowError
    return int(digits)


def _fraction(digits: str) -> float:
    """Parse a number; infinity is stored as text, so a number that overflows is an error."""
    value = float(digits)
    if math.isinf(value):
        raise OverflowError
    return value


def _refuse_constant(name: str) -> None:
    """Reject NaN and bare Infinity: JSON lacks them, and kanon-sql never writes them."""
    raise ValueError(name)


BASELINE_VERSION = 1
"""Format version of baselines."""
_AS_JSON = "--format json --output FILE"
_HOW_A_RESULT = f"kanon-sql audit … {_AS_JSON} writes one."
_HOW_A_PROFILE = f"kanon-sql profile … {_AS_JSON} writes one."
_HOW_COSTS = f"kanon-sql tradeoff … {_AS_JSON} writes one."
_HOW_A_BASELINE = "kanon-sql baseline … --output FILE writes one."
_HOW_IN_PYTHON = "to_json() of a result writes one."


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
    whole = _result(result_document(name, _HOW_IN_PYTHON, value))
    return whole.read(StoredProfile) if _is_profile(whole) else _findings(whole)


def _refuse_undated(part: JsonValue) -> None:
    """Raise unless the day of an audit is a date, or unknown."""
    audited = part.value.get("audited")
    try:
        date.fromisoformat(audited or "2000-01-01")
    except ValueError:
        raise part.part("audited").error("a date, as in 2026-11-23") from None


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
            f"--profile {path}. {_HOW_A_RESULT}"
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
    whole = read_format(JsonValue(path, _HOW_COSTS, "", value))
    found = whole.read(StoredTradeoff)
    _refuse_undated(whole.part("tradeoff"))
    return found


def _named(source: Any) -> tuple[Path | str, Any]:
    """A source's display name and its JSON value."""
    if isinstance(source, Mapping):
        try:
            text = json.dumps(source, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise InputError(
                f"the mapping is not what to_dict() gives: JSON can't hold all of it. "
                f"{_HOW_IN_PYTHON}"
            ) from None
        return "the mapping", loaded(text, "the mapping", _HOW_IN_PYTHON)
    begins = source.lstrip("\ufeff \t\r\n")[:1] if isinstance(source, str) else "a path"
    if begins in ("", "{", "["):
        return "the text", loaded(source.lstrip("\ufeff"), "the text", _HOW_IN_PYTHON)
    if isinstance(source, str | Path):
        return Path(source), parsed(Path(source), _HOW_IN_PYTHON)
    raise InputError(
        f"a result is read from a path, a text or a mapping, and not from {kind_of(source)}."
    )


def _result(whole: JsonValue) -> JsonValue:
    """Reject baselines and comparisons."""
    if "baseline" in whole.value:
        raise InputError(
            f"{whole.path} is a baseline, and a result of an audit is needed. {whole.how}"
        )
    if "old" in whole.value and "new" in whole.value:
        raise InputError(
            f"{whole.path} is a comparison, and a result is needed: a comparison is made of two of "
            f"them. {whole.how}"
        )
    return whole


def read_baseline(path: Path) -> tuple[TableResult, ...]:
    """Read the tables of a baseline. Raises `InputError` for anything else."""
    whole = result_document(path, _HOW_A_BASELINE, parsed(path, _HOW_A_BASELINE))
    if "baseline" not in whole.value:
        raise InputError(
            f"{path} is a result and no baseline. kanon-sql baseline {path} "
            "--output baseline.json makes one of it: what is violated in it is then accepted."
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
    _refuse_undated(whole)
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
            "internal result; kanon-sql report RESULT.json --audience external writes a page for "
            "external readers."
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
