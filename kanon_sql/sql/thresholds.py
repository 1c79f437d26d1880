"""Thresholds as exact fractions, and tolerances for floating point."""

from __future__ import annotations

from fractions import Fraction

SLACK = 1e-12
"""Relative tolerance of floats, so that a bound met exactly counts as met."""
SLACK_OF_DISTANCES = 1e-9
"""The tolerance for distances, which are sums over all values."""


def exactly(threshold: int | float) -> Fraction:
    """The threshold as the decimal that was written.

    >>> exactly(0.29)
    Fraction(29, 100)
    """
    return Fraction(str(threshold))
