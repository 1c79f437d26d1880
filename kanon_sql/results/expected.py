"""What a run would ask, and how much that would read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kanon_sql.sql.statement import Estimate, Statement


@dataclass(frozen=True)
class ExpectedStep:
    """A statement of an audit that was not run: what it asks, and what the engine expects."""

    step: Statement
    estimate: Estimate


@dataclass(frozen=True)
class ExpectedSearch:
    """What is known of a search for levels before it runs."""

    heights: Mapping[str, int]
    """How many levels each quasi-identifier has, without those of a mask."""
    masked: frozenset[str]
    """Which have one level more for each character of their longest value."""
    keeps_rows: bool
    """Whether the records are read for the first set alone, and not for each step."""
    by_class: bool = False
    """Whether it is each class that goes down the levels, and not the table that goes up."""
    at_once: int | None = None
    """How many choices of levels a statement looks at, where the best of all are searched."""


@dataclass(frozen=True)
class ExpectedTable:
    """What a question on one table would run, on which tables of which engine."""

    name: str
    engine: str
    reads: tuple[str, ...]
    steps: tuple[ExpectedStep, ...]
    search: ExpectedSearch | None = None
    """What comes after the steps, where levels are searched."""
