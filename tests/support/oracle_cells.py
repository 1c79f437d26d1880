"""The cells of a table and their rules, in plain Python with fractions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

TOTAL = object()
"""The node above all values of a dimension."""
Record = Mapping[str, Any]
Key = tuple[Any, ...]


def exact(value: Any) -> Fraction | None:
    return None if value is None else Fraction(str(value))


class Cell:
    """The contributions to one cell."""

    def __init__(self) -> None:
        self.records = 0
        self.of: dict[Any, list[tuple[Fraction, Fraction] | None]] = defaultdict(list)

    def add(self, who: Any, value: Any, weight: Any) -> None:
        self.records += 1
        number = exact(value)
        self.of[who].append(None if number is None else (number, number * (exact(weight) or 1)))

    def counted(self, *, of_values: bool) -> int:
        return sum(
            not of_values or any(each is not None for each in own) for own in self.of.values()
        )

    @property
    def sizes(self) -> list[Fraction]:
        """The contributions in absolute values, the largest first."""
        return sorted(
            (abs(sum((v for v, _ in own), Fraction())) for own in self._known), reverse=True
        )

    @property
    def total(self) -> Fraction:
        return sum((abs(sum((w for _, w in own), Fraction())) for own in self._known), Fraction())

    @property
    def _known(self) -> list[list[tuple[Fraction, Fraction]]]:
        known = ([each for each in own if each is not None] for own in self.of.values())
        return [own for own in known if own]


def groupings(by: Sequence[str], margins: Any) -> list[tuple[str, ...]]:
    if margins == "all":
        return [kept for n in range(len(by), -1, -1) for kept in combinations(by, n)]
    named = [] if margins == "none" else [tuple(each) for each in margins]
    return list(dict.fromkeys([tuple(by), *(tuple(c for c in by if c in kept) for kept in named)]))


def cells(
    records: Iterable[Record],
    by: Sequence[str],
    *,
    value: str | None = None,
    contributor: str | None = None,
    weight: str | None = None,
    margins: Any = "all",
) -> dict[Key, Cell]:
    found: dict[Key, Cell] = defaultdict(Cell)
    for number, record in enumerate(records):
        who = record[contributor] if contributor else number
        for kept in groupings(by, margins):
            key = tuple(record[each] if each in kept else TOTAL for each in by)
            found[key].add(who, record[value] if value else 0, record[weight] if weight else 1)
    return dict(found)


def empty(
    records: Sequence[Record], by: Sequence[str], margins: Any, found: Iterable[Key]
) -> list[Key]:
    """The combinations of values that occur, without a record."""
    values = {each: list(dict.fromkeys(record[each] for record in records)) for each in by}
    known = set(found)
    return [
        key
        for kept in groupings(by, margins)
        for key in product(*(values[each] if each in kept else [TOTAL] for each in by))
        if key not in known
    ]


def min_contributors(
    found: Mapping[Key, Cell], n: int, of_values: bool, empties: int | None
) -> dict[str, Any]:
    """`empties`: the number of empty combinations where zeros are disclosive."""
    counts = [cell.counted(of_values=of_values) for cell in found.values()]
    judged = [count for count in counts if count or empties is not None] + [0] * (empties or 0)
    return {
        "achieved": min(judged, default=None),
        "violating_cells": sum(count < n for count in judged),
        "shortfall": sum(max(n - count, 0) for count in judged),
    }


def dominance(
    found: Mapping[Key, Cell], n: int, k: float, inclusive: bool = False
) -> dict[str, Any]:
    shares, violating, undefined, above = [], 0, 0, 0.0
    for cell in found.values():
        sizes, total = cell.sizes, cell.total
        if not sizes or not sizes[0]:
            undefined += bool(sizes)
            continue
        largest = sum(sizes[:n], Fraction())
        if total:
            shares.append(float(100 * largest / total))
        bound = Fraction(str(k)) * total
        violating += 100 * largest >= bound if inclusive else 100 * largest > bound
        above += max(float(100 * largest / total - Fraction(str(k))), 0) if total else 0
    return {
        "achieved": max(shares, default=None),
        "violating_cells": violating,
        "shortfall": above,
        "undefined_cells": undefined,
    }


def p_percent(
    found: Mapping[Key, Cell], p: float, q: float = 100, coalition: int = 1
) -> dict[str, Any]:
    left, violating, undefined, below = [], 0, 0, 0.0
    for cell in found.values():
        sizes = cell.sizes
        if not sizes or not sizes[0]:
            undefined += bool(sizes)
            continue
        rest = cell.total - sum(sizes[: coalition + 1], Fraction())
        left.append(float(100 * rest / sizes[0]))
        bound = Fraction(str(p)) / Fraction(str(q))
        violating += rest < bound * sizes[0]
        below += max(float(100 * bound - 100 * rest / sizes[0]), 0)
    return {
        "achieved": min(left, default=None),
        "violating_cells": violating,
        "shortfall": below,
        "undefined_cells": undefined,
    }


def group_disclosure(
    found: Mapping[Key, int],
    along: Sequence[int],
    max_share: float = 1,
    insiders: int = 0,
    shown: Collection[Key] | None = None,
) -> dict[str, Any]:
    """From the counts of all cells, margins included; `along` are places of the dimensions, and
    the children are those `shown`."""
    disclosed = alone = 0
    for place in along:
        if len({key[place] for key in found if key[place] is not TOTAL}) < 2:
            continue
        groups: dict[Key, list[int]] = defaultdict(list)
        for key, count in found.items():
            if key[place] is not TOTAL and (shown is None or key in shown):
                groups[(*key[:place], TOTAL, *key[place + 1 :])].append(count)
        for parent, counts in groups.items():
            members, most = found[parent], max(counts)
            if not members:
                continue
            if most >= Fraction(str(max_share)) * members or members - most <= insiders:
                disclosed += 1
                alone += members == 1
    return {"achieved": disclosed, "alone": alone}


def differences(here: Mapping[Key, int], there: Mapping[Key, int], n: int) -> dict[str, Any]:
    gaps = [here[key] - there[key] for key in here if key in there]
    apart = [abs(gap) for gap in gaps if gap]
    return {
        "achieved": min(apart, default=None),
        "compared_cells": len(gaps),
        "equal_cells": sum(not gap for gap in gaps),
        "violating_cells": sum(gap < n for gap in apart),
        "shortfall": sum(max(n - gap, 0) for gap in apart),
        "greater_here": sum(gap > 0 for gap in gaps),
        "smaller_here": sum(gap < 0 for gap in gaps),
        "not_compared": len(here) + len(there) - 2 * len(gaps),
    }
