"""The JSON of a part of a result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

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
