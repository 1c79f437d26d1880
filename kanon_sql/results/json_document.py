"""JSON values with their location, so that errors name the place and never the value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kanon_sql.errors import InputError

KINDS = {dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number",
          float: "a number", type(None): "null"}  # fmt: skip
_COUNT = "a whole number, 0 or more"
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

    def error(self, wanted: str) -> InputError:
        place = self.place or "the whole"
        return InputError(
            f"{self.path}: {place} must be {wanted}; found {self._found()}. Is this "
            f"file as kanon-sql wrote it? {self.how}"
        )

    def _found(self) -> str:
        """The kind of value found, refined where the kind alone would be right."""
        match self.value:
            case float():
                return "a fraction"
            case int() if self.value < 0:
                return "a number below 0"
        return KINDS[type(self.value)]

    def as_(self, kind: type[Kind]) -> Kind:
        """The value, if it is of this kind; integers are counts, so never negative."""
        fits = isinstance(self.value, kind) and (kind is bool or not isinstance(self.value, bool))
        if not fits or (kind is int and self.value < 0):
            raise self.error(_COUNT if kind is int else KINDS[kind])
        value: Kind = self.value
        return value

    def object(self) -> Mapping[str, Any]:
        return self.as_(dict)

    def items(self) -> Iterator[JsonValue]:
        for number, value in enumerate(self.as_(list)):
            yield JsonValue(self.path, self.how, f"{self.place}[{number}]", value)

    def find(self, key: str) -> JsonValue | None:
        """The value under a key; None if it is missing or null."""
        value = self.object().get(key)
        return None if value is None else self._under(key, value)

    def part(self, key: str) -> JsonValue:
        if key not in self.object():
            raise InputError(
                f'{self.path}: {self.place or "the whole"} has no "{key}". Is this file '
                f"as kanon-sql wrote it? {self.how}"
            )
        return self._under(key, self.value[key])

    def get(self, key: str, kind: type[Kind]) -> Kind:
        return self.part(key).as_(kind)

    def get_or_none(self, key: str, kind: type[Kind]) -> Kind | None:
        found = self.find(key)
        return found.as_(kind) if found else None

    def names(self, key: str) -> tuple[str, ...]:
        found = self.find(key)
        return tuple(name.as_(str) for name in found.items()) if found else ()

    def _under(self, key: str, value: Any) -> JsonValue:
        return JsonValue(self.path, self.how, f"{self.place}.{key}".lstrip("."), value)


def whole_of(path: Path | str, how: str, value: Any) -> JsonValue:
    whole = JsonValue(path, how, "", value)
    is_ours = isinstance(whole.value, dict) and {"kanon_sql", "tables"} <= set(whole.value)
    if isinstance(value, dict) and {"kanon_sql", "tradeoff"} <= set(value):
        raise InputError(f"{path} is a result of tradeoff, and another one is needed. {how}")
    if not is_ours:
        raise InputError(
            f"{path} is nothing that kanon-sql wrote: it is {KINDS[type(whole.value)]} without "
            f'"kanon_sql" and "tables". {how}'
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
