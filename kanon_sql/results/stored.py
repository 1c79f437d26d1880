"""Results in files, as `--format json` writes them; anything else is rejected.

Errors name the location and kind of a value, never the value: the file may be anything, including
personal data. Pydantic reads the dataclasses that an audit returns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator, core_schema

from kanon_sql.errors import InputError, SpecError, kind_of
from kanon_sql.models.base import CellModel, Model
from kanon_sql.models.catalogue import model_named
from kanon_sql.results.cells import CellCheckResult, CellDetails, CellsResult, CellSummary
from kanon_sql.results.check import CheckDetails, CheckResult
from kanon_sql.results.confidential import CONFIDENTIAL, FEWER, LESS, MORE
from kanon_sql.results.lineage import ProjectLineage
from kanon_sql.results.profile import TableProfile
from kanon_sql.results.release import Anonymization, Recoded, ReleaseFindings, Tradeoff
from kanon_sql.results.seal import SEAL, is_broken
from kanon_sql.results.table import (
    AuditFindings,
    FileDigest,
    ResultFile,
    Status,
    Summary,
    TableResult,
)
from kanon_sql.results.tabular import Rows
from kanon_sql.results.version import FORMAT, VERSION

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
Value = TypeVar("Value")


class JsonValue(NamedTuple):
    """A JSON value with its location in the file."""

    path: Path | str
    hint: str
    """How files of this kind are written."""
    place: str
    value: Any

    def read(self, value_type: type[Value]) -> Value:
        """The value as a dataclass. Raises `InputError` with the place of the first fault."""
        try:
            read: Value = _validator(value_type).validate_python(self.value)  # type: ignore[arg-type]
        except ValidationError as error:
            raise self._fault(error.errors(include_url=False, include_input=False)[0]) from None
        return read

    def _fault(self, fault: ErrorDetails) -> InputError:
        part, location = self, fault["loc"]
        if location[-1:] == ("[key]",):
            return self._at(location[:-2]).error("an object whose names are levels")
        part = self._at(location)
        match fault:
            case {"type": "missing"}:
                return part.missing_key(str(location[-1]))
            case {"type": "literal_error", "ctx": {"expected": names}}:
                return part.error(names.replace(", ", " or ").replace("'", ""))
            case {"type": "value_error", "ctx": {"error": expected}}:
                return part.error(str(expected))
        return part.error(_EXPECTED[fault["type"]])

    def _at(self, location: tuple[int | str, ...]) -> JsonValue:
        """The value at a location of the dataclass, whose fields need not all be keys of JSON."""
        part = self
        for key in location:
            if isinstance(key, int) or (isinstance(part.value, dict) and key in part.value):
                part = part.part(key)
        return part

    def part(self, key: str | int) -> JsonValue:
        if isinstance(key, int):
            return self._replace(place=f"{self.place}[{key}]", value=self.value[key])
        if key not in self.value:
            raise self.missing_key(key)
        return self._replace(place=f"{self.place}.{key}".lstrip("."), value=self.value[key])

    def error(self, expected: str) -> InputError:
        place = self.place or "the whole"
        return InputError(
            f"{self.path}: {place} must be {expected}; found {self._kind_of_value()}. Is this "
            f"file as kanon-sql wrote it? {self.hint}"
        )

    def missing_key(self, key: str) -> InputError:
        return InputError(
            f'{self.path}: {self.place or "the whole"} has no "{key}". Is this file '
            f"as kanon-sql wrote it? {self.hint}"
        )

    def _kind_of_value(self) -> str:
        """The kind of value found, refined where the kind alone would be right."""
        match self.value:
            case float():
                return "a fraction"
            case int() if self.value < 0:
                return "a number below 0"
        return KINDS[type(self.value)]


@cache
def _validator(value_type: Any) -> SchemaValidator:
    return SchemaValidator(_json_schema(TypeAdapter(value_type).core_schema))


def _json_schema(schema: Any) -> Any:
    """The schema with the scalars of a result: an integer is a count, infinity is text.

    Null stands for a default, except for a list: a result without checks has an empty one.
    """
    match schema:
        case {"type": "default", "schema": subschema} if _default(schema) != ():
            or_default = core_schema.no_info_before_validator_function(
                lambda value: _default(schema) if value is None else value, _json_schema(subschema)
            )
            return schema | {"schema": or_default}
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
                name: subschema if name == "keys_schema" else _json_schema(subschema)
                for name, subschema in schema.items()
            }
        case list():
            return [_json_schema(subschema) for subschema in schema]
    return schema


def _default(schema: Mapping[str, Any]) -> Any:
    return schema["default_factory"]() if "default_factory" in schema else schema["default"]


def number(value: Any) -> float:
    """A number, decoded. Raises `ValueError` for anything else."""
    result = decoded(value)
    if isinstance(result, int | float) and not isinstance(result, bool):
        return result
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


def result_document(path: Path | str, hint: str, value: Any) -> JsonValue:
    document = JsonValue(path, hint, "", value)
    is_ours = isinstance(document.value, dict) and {"kanon_sql", "tables"} <= set(document.value)
    if isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value):
        raise InputError(f"{path} is a result of tradeoff, and another one is needed. {hint}")
    if not is_ours:
        raise InputError(
            f"{path} is nothing that kanon-sql wrote: it is {KINDS[type(document.value)]} without "
            f'"kanon_sql" and "tables". {hint}'
        )
    return read_format(document)


def read_format(document: JsonValue) -> JsonValue:
    """The same value. Raises `InputError` for a format later than this version reads."""
    version = document.part("format").read(int) if "format" in document.value else 0
    if version > FORMAT:
        formats = [str(version) for version in range(FORMAT + 1)]
        reads = f"{', '.join(formats[:-1])} and {formats[-1]}"
        raise InputError(
            f"{document.path} was written in format {version}, and this is kanon-sql {VERSION}, "
            f"which reads {reads}. Install a later one, or write the result again."
        )
    return document


def _has_seal(document: JsonValue) -> bool:
    """Whether a document that was read is sealed. Raises `InputError` for a broken seal."""
    if is_broken(document.value):
        raise InputError(
            f"{document.path}: the seal contradicts the result. Was the file edited? Take it as "
            f"kanon-sql wrote it. {document.hint}"
        )
    return SEAL in document.value


def parsed(path: Path, hint: str) -> Any:
    return loaded(text_of(path, hint), path, hint)


def text_of(path: Path, hint: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {path}. {hint}") from None
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is not UTF-8 text, so kanon-sql did not write it. {hint}"
        ) from None
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}.") from None


def loaded(text: str, path: Path | str, hint: str) -> Any:
    try:
        return json.loads(
            text, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_fraction
        )
    except OverflowError:
        raise InputError(
            f"{path} holds a number to which nothing can have been counted. Was the file edited? "
            f"{hint}"
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}. Was it cut off, "
            f"or edited? {hint}"
        ) from None
    except (RecursionError, ValueError):
        raise InputError(f"{path} is not JSON that can be read. {hint}") from None


def _integer(digits: str) -> int:
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
_RESULT_HINT = f"kanon-sql audit … {_AS_JSON} writes one."
_PROFILE_HINT = f"kanon-sql profile … {_AS_JSON} writes one."
_TRADEOFF_HINT = f"kanon-sql tradeoff … {_AS_JSON} writes one."
_BASELINE_HINT = "kanon-sql baseline … --output FILE writes one."
_LINEAGE_HINT = f"kanon-sql lineage … {_AS_JSON} writes one."
_PYTHON_HINT = "to_json() of a result writes one."


def read_result(path: Path) -> ResultFile:
    """Read a stored result. Raises `InputError` for anything else."""
    document = _require_result(result_document(path, _RESULT_HINT, parsed(path, _RESULT_HINT)))
    anonymization = document.part("anonymization") if "anonymization" in document.value else None
    return ResultFile(path, _audit(document), anonymization.read(dict) if anonymization else None)


def read_compared(path: Path) -> ResultFile:
    """Read a side of a comparison: a stored result, or a baseline, which is one too. Raises
    `InputError` for anything else."""
    document = result_document(path, _RESULT_HINT, parsed(path, _RESULT_HINT))
    if "baseline" in document.value:
        return ResultFile(path, read_baseline(path), None)
    return read_result(path)


@dataclass(frozen=True)
class _StoredAudit:
    """A stored audit or baseline."""

    kanon_sql: str
    """The version that wrote it."""
    tables: tuple[TableResult, ...]
    audited: str | None = None
    asked: str | None = None
    files: tuple[FileDigest, ...] = ()
    spec: str | None = None


@dataclass(frozen=True)
class StoredProfile:
    """A stored profile."""

    kanon_sql: str
    """The version that wrote it."""
    tables: tuple[TableProfile, ...]
    sealed: bool = True


@dataclass(frozen=True)
class StoredTradeoff:
    """A stored trade-off."""

    kanon_sql: str
    """The version that wrote it."""
    tradeoff: Tradeoff
    asked: str | None = None
    """The command that wrote it."""
    sealed: bool = True


@dataclass(frozen=True)
class StoredLineage:
    """The stored lineage of a project."""

    kanon_sql: str
    """The version that wrote it."""
    status: Status
    lineage: ProjectLineage
    sealed: bool = True


def result_of(
    source: str | Path | Mapping[str, Any],
) -> AuditFindings | StoredProfile | StoredTradeoff:
    """The result in a file, a JSON text or a mapping; of a release, also how it was made."""
    name, value = _name_and_value(source)
    if isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value):
        return _tradeoff(name, value)
    document = _require_result(result_document(name, _PYTHON_HINT, value))
    return _profile(document) if _is_profile(document) else _findings(document)


def _refuse_undated(result: JsonValue) -> None:
    """Raise unless the day of an audit is a date, or unknown."""
    audited = result.value.get("audited")
    try:
        date.fromisoformat(audited or "2000-01-01")
    except ValueError:
        raise result.part("audited").error("a date, as in 2026-11-23") from None


def _findings(document: JsonValue) -> AuditFindings:
    """The tables of a result; of a release, also how it was made."""
    audit = _audit(document)
    if "anonymization" not in document.value:
        return audit
    stored = document.part("anonymization")
    release = stored.read(Anonymization)
    before = stored.part("before").part("checks")
    release = replace(
        release,
        before=replace(release.before, checks=tuple(_checks(before, release.before.checks))),
        # The views in the JSON are for display and never executed.
        views=(),
        views_without_values=release.views,
        recoded=stored.read(Recoded) if "levels_by_records" in stored.value else None,
    )
    metadata = {key: getattr(audit, key) for key in (*_METADATA, "sealed")}
    return ReleaseFindings(audit.tables, audit.version, release, **metadata)


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
    text = text_of(path, _RESULT_HINT)
    value = loaded(text.lstrip("\ufeff"), path, _RESULT_HINT)
    if isinstance(value, dict) and "tradeoff" in value:
        costs = _tradeoff(path, value)
        audited = AuditFindings(
            (),
            costs.kanon_sql,
            audited=costs.tradeoff.audited,
            asked=costs.asked,
            sealed=costs.sealed,
        )
        return ToSign(path, text, audited, costs.tradeoff)
    document = _require_result(result_document(path, _RESULT_HINT, value))
    if any(_are_profiles(document)):
        raise InputError(
            f"{path} is a profile, which can accompany a result: kanon-sql report RESULT.json "
            f"--profile {path}. {_RESULT_HINT}"
        )
    return ToSign(path, text, _findings(document))


def read_lineage(path: Path) -> StoredLineage | None:
    """Read the lineage of a project; None for a result of anything else. Raises `InputError`."""
    value = parsed(path, _RESULT_HINT)
    if not (isinstance(value, dict) and {"kanon_sql", "lineage"} <= set(value)):
        return None
    document = read_format(JsonValue(path, _LINEAGE_HINT, "", value))
    sealed = _has_seal(document)
    stored = document._replace(value=_with_origins(value)).read(StoredLineage)
    return replace(stored, sealed=sealed)


def _with_origins(value: Any) -> Any:
    """The value with the key `from`, which Python has as a keyword, by the name of its field."""
    match value:
        case dict():
            return {
                "origins" if key == "from" else key: _with_origins(item)
                for key, item in value.items()
            }
        case list():
            return [_with_origins(item) for item in value]
    return value


def read_profile(path: Path) -> StoredProfile:
    """Read a profile. Raises `InputError` for anything else."""
    document = result_document(path, _PROFILE_HINT, parsed(path, _PROFILE_HINT))
    if not _is_profile(document):
        raise InputError(f"{path} is no profile. {_PROFILE_HINT}")
    return _profile(document)


def _profile(document: JsonValue) -> StoredProfile:
    return replace(document.read(StoredProfile), sealed=_has_seal(document))


def _are_profiles(document: JsonValue) -> list[bool]:
    """Whether each table is one of a profile."""
    tables = document.value["tables"]
    items = tables if isinstance(tables, list) else []
    return ["attacker_knows" in item for item in items if isinstance(item, dict)]


def _is_profile(document: JsonValue) -> bool:
    are_profiles = _are_profiles(document)
    return bool(are_profiles) and all(are_profiles)


def read_costs(path: Path) -> StoredTradeoff:
    """Read the cost of each k. Raises `InputError` unless it is a trade-off result."""
    value = parsed(path, _TRADEOFF_HINT)
    if not (isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value)):
        raise InputError(f"{path} is no result of tradeoff. {_TRADEOFF_HINT}")
    return _tradeoff(path, value)


def _tradeoff(path: Path | str, value: Any) -> StoredTradeoff:
    document = read_format(JsonValue(path, _TRADEOFF_HINT, "", value))
    stored = document.read(StoredTradeoff)
    _refuse_undated(document.part("tradeoff"))
    return replace(stored, sealed=_has_seal(document))


def _name_and_value(source: Any) -> tuple[Path | str, Any]:
    """A source's display name and its JSON value."""
    if isinstance(source, Mapping):
        try:
            text = json.dumps(source, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise InputError(
                f"the mapping is not what to_dict() gives: JSON can't hold all of it. "
                f"{_PYTHON_HINT}"
            ) from None
        return "the mapping", loaded(text, "the mapping", _PYTHON_HINT)
    begins = source.lstrip("\ufeff \t\r\n")[:1] if isinstance(source, str) else "a path"
    if begins in ("", "{", "["):
        return "the text", loaded(source.lstrip("\ufeff"), "the text", _PYTHON_HINT)
    if isinstance(source, str | Path):
        return Path(source), parsed(Path(source), _PYTHON_HINT)
    raise InputError(
        f"a result is read from a path, a text or a mapping, and not from {kind_of(source)}."
    )


def _require_result(document: JsonValue) -> JsonValue:
    """Reject baselines and comparisons."""
    if "baseline" in document.value:
        raise InputError(
            f"{document.path} is a baseline, and a result of an audit is needed. {document.hint}"
        )
    if "old" in document.value and "new" in document.value:
        raise InputError(
            f"{document.path} is a comparison, and a result is needed: a comparison is made of two "
            f"of them. {document.hint}"
        )
    return document


def read_baseline(path: Path) -> AuditFindings:
    """Read the tables of a baseline. Raises `InputError` for anything else."""
    document = result_document(path, _BASELINE_HINT, parsed(path, _BASELINE_HINT))
    if "baseline" not in document.value:
        raise InputError(
            f"{path} is a result and no baseline. kanon-sql baseline {path} "
            "--output baseline.json makes one of it: what is violated in it is then accepted."
        )
    version = document.part("baseline").read(int)
    if version != BASELINE_VERSION:
        raise InputError(
            f"{path} is a baseline of version {version}, and this kanon-sql reads version "
            f"{BASELINE_VERSION}. Write it again with kanon-sql baseline, or install the "
            "kanon-sql that wrote it."
        )
    return _audit(document)


# --- the parts of a result ------------------------------------------------------------------

_METADATA = ("audited", "asked", "files", "spec")
"""The fields of a result besides its figures."""
_DEFAULTS_OF_OLD_FILES = {"engine": "", "status": "measured", "quasi_identifiers": ()}
"""Parts of a table that old files lack."""


def _audit(document: JsonValue) -> AuditFindings:
    """The tables of a result."""
    if any(_are_profiles(document)):
        raise InputError(f"{document.path} is a profile, and an audit is needed. {document.hint}")
    read = _with_defaults_of_old_files(document).read(_StoredAudit)
    _refuse_undated(document)
    if not read.tables:
        raise InputError(f"{document.path} has no table. {document.hint}")
    stored_tables = [document.part("tables").part(index) for index in range(len(read.tables))]
    tables = tuple(
        _cells_result(stored, table)
        if isinstance(stored.value, Mapping) and {"by", "published"} <= stored.value.keys()
        else replace(table, checks=Rows(_checks(stored.part("checks"), table.checks)))
        for stored, table in zip(stored_tables, read.tables, strict=True)
    )
    metadata = {key: getattr(read, key) for key in _METADATA}
    return AuditFindings(tables, read.kanon_sql, **metadata, sealed=_has_seal(document))


@dataclass(frozen=True)
class _StoredCells:
    """The fields of a published table that other audited tables lack."""

    by: tuple[str, ...]
    published: bool
    figure: Literal["count", "magnitude"]
    summary: CellSummary
    value: str | None = None
    contributor: str | None = None
    weight: str | None = None
    totals: str | None = None
    against: Mapping[str, str] = field(default_factory=dict)
    confidential: tuple[str, ...] = ()


def _cells_result(table_json: JsonValue, table: TableResult) -> CellsResult:
    """A published table, whose dimensions and summary are its own."""
    own_fields = vars(table_json.read(_StoredCells))
    cells = own_fields.pop("summary")
    margins = table_json.value.get("margins")
    for index in range(len(table.checks)):
        check = table_json.part("checks").part(index)
        _refuse_for_outsiders(check)
        check.read(CellDetails)
    checks = [
        replace(check, parameters=dict.fromkeys(stored.parameters) | dict(check.parameters))
        for stored, check in zip(
            table.checks, _checks(table_json.part("checks"), table.checks), strict=True
        )
    ]
    own = vars(table) | {
        "quasi_identifiers": own_fields["by"],
        "summary": Summary(records=cells.records),
        "checks": Rows(CellCheckResult(**vars(check)) for check in checks),
        "margins": tuple(map(tuple, margins)) if isinstance(margins, list) else margins,
    }
    if own_fields["published"]:  # an old file has none, and took them for true
        own_fields["totals"] = own_fields["totals"] or "true"
    return CellsResult(**own, **own_fields, cells=cells)


def _refuse_for_outsiders(check: JsonValue) -> None:
    """Raise for a check without its confidential parameters or its exact figure."""
    parameters, achieved = check.value.get("parameters"), check.value.get("achieved")
    is_hidden = isinstance(parameters, dict) and CONFIDENTIAL in parameters.values()
    if is_hidden or (isinstance(achieved, str) and achieved.startswith((FEWER, LESS, MORE))):
        raise InputError(
            f"{check.path} was written for external readers, without what is confidential. Use the "
            "internal result; kanon-sql report RESULT.json --audience external writes a page for "
            "external readers."
        )


def _with_defaults_of_old_files(document: JsonValue) -> JsonValue:
    """The result with the parts that old files lack."""
    tables = document.value["tables"]
    if isinstance(tables, list):
        tables = [
            _DEFAULTS_OF_OLD_FILES | table if isinstance(table, dict) else table for table in tables
        ]
    return document._replace(value=document.value | {"tables": tables})


def _checks(stored_checks: JsonValue, checks: Sequence[CheckResult]) -> Iterator[CheckResult]:
    """The checks with their parameters in force.

    Raises unless every figure of a check with an achieved value is a number or null.
    """
    for index, check in enumerate(checks):
        stored = stored_checks.part(index)
        model = _model(stored)
        if not isinstance(model, CellModel):
            stored.read(CheckDetails)
        if model.counts_violations and check.achieved is not None:
            stored.part("achieved").read(int)
        bounded = (
            name
            for name, (_, threshold) in model.companion_figures.items()
            # A figure of an object, such as holdout.excess, is read with it.
            if threshold in model.parameters and "." not in name
        )
        for name in [*model.figures, *bounded] if check.achieved is not None else ():
            is_end = name in ("min", "max") and isinstance(check.achieved, dict)
            figure = (stored.part("achieved") if is_end else stored).part(name)
            if figure.value is not None:
                figure.read(float)
        yield replace(check, parameters=model.parameters)


def _model(stored: JsonValue) -> Model:
    """The model with its parameters, validated by this version."""
    parameters = stored.part("parameters")
    try:
        model = model_named(stored.value["model"])
        return model(**parameters.value)
    except SpecError as error:
        if error.key in parameters.value and error.key in model.model_fields:
            raise parameters.part(error.key).error(f"what {model.name()} takes") from None
        raise InputError(f"{stored.path}: {stored.place}: {error.marked}") from None
