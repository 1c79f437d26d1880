"""SUDA2 and DIS-SUDA scores from counts of minimal sample uniques, in exact integers.

Elliot, Manning, Ford 2002, A computational algorithm for handling the special uniques problem,
IJUFKS 10(5); Skinner and Elliot 2002, A measure of disclosure risk for microdata, JRSS B 64(4);
Elliot, Manning, Mayes, Gurd, Bane 2005, SUDA: a program for detecting special uniques, UNECE.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

Scores = Mapping[int, int]
"""Number of records by score."""


def score(counts: Sequence[int], columns: int) -> int:
    """The score of a record by its numbers of minimal sample uniques of the sizes 1, 2, …

    >>> score([1, 0, 0], columns=3), score([0, 2, 0], columns=3), score([0, 0, 1], columns=3)
    (2, 2, 1)
    """
    return sum(
        count * math.factorial(columns - size)
        for size, count in enumerate(counts, start=1)
        if count
    )


def contributions(
    uniques: Iterable[tuple[Sequence[str], int]], columns: Sequence[str]
) -> dict[str, float | None]:
    """For each column, the share of the total score, in per cent, of the sets that contain it;
    `uniques` are the sets with their numbers of minimal sample uniques. None if there are none.

    >>> contributions([(["a"], 1), (["a", "b"], 2)], ["a", "b"])
    {'a': 100.0, 'b': 66.66666666666667}
    """
    parts = dict.fromkeys(columns, 0)
    total = 0
    for names, count in uniques:
        gained = count * math.factorial(len(columns) - len(names))
        total += gained
        for name in names:
            parts[name] += gained
    # The ratio of two integers is rounded only once, however large they are.
    return {name: 100 * part / total if total else None for name, part in parts.items()}


def dis(scores: Scores, pairs: int, columns: int, fraction: float) -> dict[int, float]:
    """The DIS-SUDA score by score: the heuristic probability that a match with such a record is
    correct. `pairs` is the number of classes of two records on all columns.

    1 / (1 + 2 s2 (1 − π) / (π · score^E · A)) with E = 1 + (8 − K)/20 and A = Σ score^−E over all
    scores; in logarithms, as factorials are large. Without pairs it is 1 for all.

    >>> round(dis({1: 1, 2: 1}, pairs=1, columns=8, fraction=0.5)[2], 12)
    0.6
    """
    special = {each: records for each, records in scores.items() if each > 0}
    if not special:
        return {}
    if pairs == 0 or fraction == 1:
        return dict.fromkeys(special, 1.0)
    exponent = 1 + (8 - columns) / 20
    logs = {each: -exponent * math.log(each) for each in special}
    largest = max(logs.values())
    in_all = largest + math.log(
        sum(records * math.exp(logs[each] - largest) for each, records in special.items())
    )
    odds = math.log(2 * pairs) + math.log1p(-fraction) - math.log(fraction) - in_all
    return {each: 1 / (1 + _exp(odds + logs[each])) for each in special}


def _exp(power: float) -> float:
    return math.exp(power) if power < 700 else math.inf
