"""The metrics of a release, each with its formula, source and limits.

The names are those of `metrics` in the JSON and of `kanon-sql explain`. Nothing is computed here.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal


@dataclass(frozen=True)
class Metric:
    """A measure of the information loss from generalisation and suppression, in words."""

    name: str
    title: str
    sentence: str
    """What it measures, in one sentence."""
    formula: str
    letters: str
    """The meaning of the formula's symbols."""
    counting: str
    """Counting conventions where others are common."""
    limitation: str
    """What it doesn't measure."""
    source: str
    better: Literal["higher", "lower"]
    range: str
    """Its range, and what both ends mean."""
    value: float
    """Its value for the example release of the manual."""
    example: str
    """How that value is computed, in words."""


def _catalogue() -> dict[str, Metric]:
    """The metrics as the file beside this one has them."""
    text = files("kanon_sql.results").joinpath("metrics.toml").read_text(encoding="utf-8")
    return {name: Metric(name, **parts) for name, parts in tomllib.loads(text).items()}


METRICS = _catalogue()
"""Every metric by name."""
