"""Compares two results up to floating-point rounding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_SLACK = 1e-9
"""Relative tolerance of float sums added up in different orders."""


def are_alike(first: Any, second: Any) -> bool:
    """Whether two values are equal, up to the rounding of their floats.

    A multi-threaded engine adds in any order, so the same query on the same records differs there.

    >>> are_alike({"loss": 0.1 + 0.2, "k": 3}, {"loss": 0.3, "k": 3})
    True
    >>> are_alike({"loss": 0.3, "k": 3}, {"loss": 0.3, "k": 2})
    False
    """
    match first, second:
        case float(), float():
            return math.isclose(first, second, rel_tol=_SLACK, abs_tol=_SLACK)
        case (str(), _) | (_, str()):
            return bool(first == second)
        case Mapping(), Mapping():
            return first.keys() == second.keys() and all(
                are_alike(value, second[name]) for name, value in first.items()
            )
        case Sequence(), Sequence():
            return len(first) == len(second) and all(map(are_alike, first, second))
    if is_dataclass(first) and type(first) is type(second):
        return all(
            are_alike(getattr(first, field.name), getattr(second, field.name))
            for field in fields(first)
        )
    return bool(first == second)
