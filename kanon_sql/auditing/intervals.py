"""The intervals of shares.

Wilson 1927, Probable inference, the law of succession, and statistical inference, JASA 22; Newcombe
1998, Interval estimation for the difference between independent proportions: comparison of eleven
methods, Statistics in Medicine 17, method 10.
"""

from __future__ import annotations

import math

Z = 1.959963984540054
"""The normal quantile of a 95 % interval."""


def wilson(successes: float, attacked: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927).

    >>> [round(end, 4) for end in wilson(0, 120)], wilson(5, 5)[1]
    ([0.0, 0.031], 1.0)
    """
    n, x = attacked, successes
    centre = (x / n + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z * math.sqrt(x * (n - x) / n**3 + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return 0.0 if x == 0 else centre - half, 1.0 if x == n else centre + half


def newcombe(x: float, n: int, y: float, m: int) -> tuple[float, float]:
    """The 95 % interval of the difference between two shares, x of n and y of m.

    >>> [round(end, 4) for end in newcombe(56, 70, 48, 80)]
    [0.0524, 0.3339]
    """
    (p, q), (low, high), (other_low, other_high) = (x / n, y / m), wilson(x, n), wilson(y, m)
    below = math.sqrt((p - low) ** 2 + (other_high - q) ** 2)
    above = math.sqrt((high - p) ** 2 + (q - other_low) ** 2)
    return p - q - below, p - q + above
