"""The spelling of published figures."""

from __future__ import annotations

from dataclasses import dataclass

from kanon_sql.files import Decimal


@dataclass(frozen=True)
class FigureOptions:
    """How the figures of a published table are read."""

    columns: tuple[str, ...]
    """The names of the figure, and of the number of contributors."""
    by: tuple[str, ...] = ()
    """The dimensions."""
    marks: tuple[str, ...] = ()
    """What stands in place of a suppressed figure."""
    decimal: Decimal = "."
    are_counts: bool = True
    thousands: str | None = None
    flags: bool = False
    wide: str | None = None
    """The dimension whose categories are columns."""
