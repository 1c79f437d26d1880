"""Thresholds, and the slack that rounding of fractions needs."""

from __future__ import annotations

from fractions import Fraction

SLACK = 1e-12
"""What floating point may add to a number, so that a bound that is met exactly stays met."""
SLACK_OF_DISTANCES = 1e-9
"""The same for a distance, which is a sum over all values."""


def exactly(threshold: int | float) -> Fraction:
    """The threshold as the decimal that was written.

    >>> exactly(0.29)
    Fraction(29, 100)
    """
    return Fraction(str(threshold))
