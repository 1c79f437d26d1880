"""JSON values with their location, so that errors name the place and never the value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, SchemaValidator, core_schema

from kanon_sql.errors import InputError
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
            f"{path}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}. Was the file cut "
            f"off, or edited? {how}"
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
