"""What a run would execute and read, for a dry run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kanon_sql.sql.statement import Statement


@dataclass(frozen=True)
class ExpectedSearch:
    """What is known about a lattice search before it runs."""

    heights: Mapping[str, int]
    """Height of each quasi-identifier's hierarchy, masks excluded."""
    masked: frozenset[str]
    """Quasi-identifiers with an additional level per character of their longest value."""
    materialises: bool
    """Whether the records are read once and materialised, rather than at each step."""
    by_class: bool = False
    """Whether classes are specialised top-down (local recoding), not the table generalised."""
    at_once: int | None = None
    """Number of nodes evaluated per statement by the optimal search."""


@dataclass(frozen=True)
class ExpectedTable:
    """What a question on one table would run, and on which tables."""

    name: str
    engine: str
    reads: tuple[str, ...]
    steps: tuple[Statement, ...]
    search: ExpectedSearch | None = None
    """The search that follows the steps, if levels are searched."""
