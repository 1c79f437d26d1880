"""Models of published cells."""

from __future__ import annotations

from typing import Literal

from kanon_sql.spec.models.base import NotNegative, Positive
from kanon_sql.spec.models.described import Described

__all__ = ["Derivable"]


class Derivable(Described):
    """placeholder until merged"""

    width: NotNegative = 0
    remainder: Positive | None = None
    undecided: Literal["fail", "pass"] = "fail"
