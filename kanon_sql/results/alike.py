"""Whether two results have the same figures, where a sum of floats may end in another digit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_SLACK = 1e-9
"""How far apart two sums of the same floats may be, added up in another order."""


def are_alike(first: Any, second: Any) -> bool:
    """Whether two values are equal, but for the last digits of their floats.

    An engine with several threads adds up in any order, so that the same question of the same
    records has an answer that differs there.

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
