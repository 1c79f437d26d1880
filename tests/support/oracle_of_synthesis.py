"""Every measure of a synthetic table again, in plain Python and fractions, from the definitions.

A table is its records with the columns of the keys, the target and the person in it. Nothing is
shared with the package: classes are dicts of lists, and unique is what a list of length one is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

Record = Mapping[str, Any]
Cells = tuple[Any, ...]
Z = 1.959963984540054


def equal(value: Any) -> Any:
    """The value such that what SQL takes for equal is equal."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@dataclass(frozen=True)
class Units:
    """The records of one table, by the names of the synthetic one, each with whose it is: the
    number of the record, where nobody says."""

    records: Sequence[Record]
    entity: str | None = None
    columns: Mapping[str, str] | None = None

    def named(self, column: str) -> str:
        return (self.columns or {}).get(column, column)

    def cells(self, record: Record, columns: Sequence[str]) -> Cells:
        return tuple(equal(record[self.named(column)]) for column in columns)

    def rows(self, columns: Sequence[str]) -> list[tuple[Any, Cells]]:
        return [
            (equal(record[self.entity]) if self.entity else number, self.cells(record, columns))
            for number, record in enumerate(self.records)
        ]

    def holders(self, columns: Sequence[str]) -> dict[Cells, set[Any]]:
        """Who has each combination."""
        found: dict[Cells, set[Any]] = {}
        for who, cells in self.rows(columns):
            found.setdefault(cells, set()).add(who)
        return found

    @property
    def everybody(self) -> set[Any]:
        return {who for who, _ in self.rows(())}

    def known(self, target: str) -> Units:
        """Those records that have a value."""
        some = [record for record in self.records if record[self.named(target)] is not None]
        return Units(some, self.entity, self.columns)


@dataclass(frozen=True)
class Tables:
    """A synthetic table, its original and a holdout, if there is one."""

    synthetic: Units
    original: Units
    holdout: Units | None = None

    def known(self, target: str) -> Tables:
        holdout = self.holdout.known(target) if self.holdout else None
        return Tables(self.synthetic.known(target), self.original.known(target), holdout)


# --- the comparison with the holdout --------------------------------------------------------


def wilson(x: float, n: int) -> tuple[float, float]:
    p, z2 = x / n, Z * Z
    middle = p + z2 / (2 * n)
    spread = Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low, high = ((middle + sign * spread) / (1 + z2 / n) for sign in (-1, 1))
    return 0.0 if x == 0 else low, 1.0 if x == n else high


def interval(x: float, n: int, y: float, m: int) -> list[float]:
    """Newcombe 1998, method 10."""
    p, q = x / n, y / m
    (a, b), (c, d) = wilson(x, n), wilson(y, m)
    return [p - q - math.hypot(p - a, d - q), p - q + math.hypot(b - p, q - c)]


def compared(x: Fraction, n: int, y: Fraction, m: int) -> dict[str, Any]:
    if not n or not m:
        return {
            "attacked": m,
            **dict.fromkeys(["share", "share_in_original", "excess", "interval"]),
        }
    p, q = Fraction(x) / n, Fraction(y) / m
    return {
        "attacked": m,
        "share": float(q),
        "share_in_original": float(p),
        "excess": float(p - q),
        "interval": interval(float(x), n, float(y), m),
    }


def beside(tables: Tables, hits: Callable[[Units, Units], Iterable[Any]]) -> dict[str, Any] | None:
    """The comparison of those hit in the original and in the holdout, each beside the other."""
    if tables.holdout is None:
        return None
    x = len(set(hits(tables.original, tables.holdout)))
    y = len(set(hits(tables.holdout, tables.original)))
    everybody = tables.original.everybody, tables.holdout.everybody
    return compared(Fraction(x), len(everybody[0]), Fraction(y), len(everybody[1]))


def share(count: Fraction | int, total: int) -> float | None:
    return float(Fraction(count, total)) if total else None


def of_whom(holders: Mapping[Cells, set[Any]], chosen: Callable[[Cells], bool]) -> set[Any]:
    """Who has any of the chosen combinations."""
    return {who for cells, these in holders.items() if chosen(cells) for who in these}


# --- the measures ---------------------------------------------------------------------------


def uniques(tables: Tables, columns: Sequence[str], *, once: bool) -> dict[str, Any]:
    """Raab et al. 2024: those alone in the original who are in the synthetic table, or once."""
    s, o = tables.synthetic.holders(columns), tables.original.holders(columns)

    def found(cells: Cells) -> bool:
        return len(s.get(cells, ())) == 1 if once else cells in s

    def alone_in_both(own: Units, other: Units) -> set[Any]:
        here, there = own.holders(columns), other.holders(columns)
        return of_whom(
            here, lambda cells: len(here[cells]) == 1 and cells not in there and found(cells)
        )

    return {
        "attacked": len(tables.original.everybody),
        "synthetic": len(tables.synthetic.everybody),
        "unique_in_original": len(of_whom(o, lambda cells: len(o[cells]) == 1)),
        "unique_in_synthetic": len(of_whom(s, lambda cells: len(s[cells]) == 1)),
        "found": len(of_whom(o, lambda cells: cells in s)),
        "copying": len(of_whom(s, lambda cells: cells in o)),
        "unique_found": len(of_whom(o, lambda cells: len(o[cells]) == 1 and cells in s)),
        "replicated": len(of_whom(o, lambda cells: len(o[cells]) == 1 == len(s.get(cells, ())))),
        "holdout": beside(tables, alone_in_both),
    }


def copied_records(tables: Tables, columns: Sequence[str]) -> dict[str, Any]:
    figures = uniques(tables, columns, once=False)
    return {
        "achieved": share(figures["unique_found"], figures["attacked"]),
        "unique_copied": figures["unique_found"],
        "copied": figures["found"],
        "columns": list(columns),
        **{key: figures[key] for key in ("attacked", "unique_in_original", "copying", "synthetic")},
        "holdout": figures["holdout"],
    }


def replicated_uniques(tables: Tables, keys: Sequence[str]) -> dict[str, Any]:
    figures = uniques(tables, keys, once=True)
    del figures["copying"]
    if tables.holdout is not None:
        s, h = tables.synthetic.holders(keys), tables.holdout.holders(keys)
        figures["holdout"]["found"] = len(of_whom(h, lambda cells: cells in s))
    return {"achieved": share(figures["replicated"], figures["attacked"]), **figures}


def singling_out(tables: Tables, keys: Sequence[str], m: int) -> dict[str, Any]:
    """Giomi et al. 2023, section 4.1, with all claims of equality."""
    by_size, hit = [], set[Any]()
    sets = {size: list(combinations(keys, size)) for size in range(1, min(m, len(keys)) + 1)}
    for size, columns_of_size in sets.items():
        claims = correct = nobody = 0
        of_size = set[Any]()
        for columns in columns_of_size:
            s, o = tables.synthetic.holders(columns), tables.original.holders(columns)
            for cells, these in s.items():
                if len(these) == 1:
                    meant = o.get(cells, set())
                    claims += 1
                    correct += len(meant) == 1
                    nobody += not meant
                    of_size |= meant if len(meant) == 1 else set()
        hit |= of_size
        counts = {"claims": claims, "correct": correct, "nobody": nobody}
        own = {"size": size, "sets": len(columns_of_size)}
        by_size.append({**own, **counts, "singled_out": len(of_size)})

    def alone_in_both(own: Units, other: Units) -> set[Any]:
        found = set[Any]()
        for columns in (each for of_size in sets.values() for each in of_size):
            s, here, there = (each.holders(columns) for each in (tables.synthetic, own, other))
            for cells, these in s.items():
                meant = here.get(cells, set())
                if len(these) == 1 == len(meant) and cells not in there:
                    found |= meant
        return found

    total = len(tables.original.everybody)
    claims, correct = (sum(each[name] for each in by_size) for name in ("claims", "correct"))
    return {
        "achieved": share(len(hit), total),
        "attacked": total,
        "singled_out": len(hit),
        "claims": claims,
        "correct": correct,
        "rate": share(correct, claims),
        "by_size": by_size,
        "holdout": beside(tables, alone_in_both),
    }


@dataclass(frozen=True)
class Told:
    """What one table says of a target by its keys: who holds each value in each class."""

    values: Mapping[Cells, Mapping[Any, set[Any]]]

    @classmethod
    def by(cls, table: Units, keys: Sequence[str], target: str) -> Told:
        values: dict[Cells, dict[Any, set[Any]]] = {}
        for who, (*cells, value) in table.rows([*keys, target]):
            values.setdefault(tuple(cells), {}).setdefault(value, set()).add(who)
        return cls(values)

    def only_value(self, cells: Cells, allowed: Sequence[Any]) -> list[Any]:
        """The one value of a class, in a list that is empty otherwise."""
        values = list(self.values.get(cells, {}))
        return values if len(values) == 1 and values[0] not in allowed else []

    def chance(self, cells: Cells, value: Any) -> Fraction:
        pairs = self.values.get(cells, {})
        total = sum(map(len, pairs.values()))
        return Fraction(len(pairs.get(value, ())), total) if total else Fraction(0)

    def crowd(self, cells: Cells) -> int:
        return len(set().union(*self.values.get(cells, {}).values()))


def disclosive_in_synthetic(
    tables: Tables, keys: Sequence[str], target: str, allowed: Sequence[Any]
) -> dict[str, Any]:
    """Raab et al. 2024: DiSCO, with what leads to it."""
    s, o = (Told.by(each, keys, target) for each in (tables.synthetic, tables.original))
    rows = [(who, tuple(cells), v) for who, (*cells, v) in tables.original.rows([*keys, target])]

    def those(chosen: Callable[[Cells, Any], bool]) -> int:
        return len({who for who, cells, value in rows if chosen(cells, value)})

    def correct(cells: Cells, value: Any) -> bool:
        return s.only_value(cells, allowed) == [value]

    total = len(tables.original.everybody)
    claimed = those(lambda cells, _: bool(s.only_value(cells, allowed)))
    right = those(correct)
    return {
        "achieved": share(right, total),
        "attacked": total,
        "matched": those(lambda cells, _: cells in s.values),
        "claimed": claimed,
        "correct": right,
        "precision": share(right, claimed),
        "correct_in_original": those(lambda q, t: correct(q, t) and len(o.values[q]) == 1),
        "unique_correct": those(lambda q, t: correct(q, t) and o.crowd(q) == 1),
        "disclosive_in_original": those(lambda q, _: bool(o.only_value(q, allowed))),
        "holdout": beside(
            tables,
            lambda own, _: {
                who for who, (*q, t) in own.rows([*keys, target]) if correct(tuple(q), t)
            },
        ),
    }


def correct_attribution(tables: Tables, keys: Sequence[str], target: str) -> dict[str, Any]:
    """Taub et al. 2018: the mean chance that a guess is right, each person with their greatest."""
    s, o = (Told.by(each, keys, target) for each in (tables.synthetic, tables.original))
    rows = [(who, tuple(cells), v) for who, (*cells, v) in tables.original.rows([*keys, target])]
    total = len(tables.original.everybody)
    holders = tables.original.holders([target])

    def greatest(chosen: Iterable[tuple[Any, Fraction]]) -> dict[Any, Fraction]:
        found: dict[Any, Fraction] = {}
        for who, chance in chosen:
            found[who] = max(chance, found.get(who, chance))
        return found

    found = greatest((who, s.chance(q, t)) for who, q, t in rows if q in s.values)
    base = greatest(
        (who, Fraction(len(holders[(t,)]), total)) for who, q, t in rows if q in s.values
    )
    alone = greatest(
        (who, s.chance(q, t)) for who, q, t in rows if q in s.values and o.crowd(q) == 1
    )
    own = greatest((who, o.chance(q, t)) for who, q, t in rows)

    def mean(chances: Mapping[Any, Fraction], of: int) -> Fraction | None:
        return sum(chances.values(), Fraction(0)) / of if of else None

    average, baseline = mean(found, len(found)), mean(base, len(found))
    holdout = None
    if tables.holdout is not None:
        there = greatest(
            (who, s.chance(tuple(q), t))
            for who, (*q, t) in tables.holdout.rows([*keys, target])
            if tuple(q) in s.values
        )
        x, y = (sum(each.values(), Fraction(0)) for each in (found, there))
        holdout = compared(x, total, y, len(tables.holdout.everybody))
        holdout |= {"matched": len(there), "average": share(y, len(there))}

    def number(figure: Fraction | None) -> float | None:
        return None if figure is None else float(figure)

    return {
        "achieved": number(average),
        "attacked": total,
        "matched": len(found),
        "zero_cap": number(mean(found, total)),
        "baseline": number(baseline),
        "gain": None if average is None or baseline is None else float(average - baseline),
        "original": number(mean(own, total)),
        "unique": {"matched": len(alone), "average": number(mean(alone, len(alone)))},
        "holdout": holdout,
    }


# --- the verdict ----------------------------------------------------------------------------

BOUNDED = {
    "max_share": "achieved",
    "max_average": "achieved",
    "max_rate": "rate",
    "max_gain": "gain",
}


def judged(figures: dict[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The figures with the verdict: of several bounds one violated is violated, else one that can't
    be judged leaves the check open."""
    verdicts: list[bool | None] = []
    for bound, name in BOUNDED.items():
        if bound in parameters:
            value = figures[name]
            limit = Fraction(str(parameters[bound]))
            near = value is not None and abs(value - float(limit)) < 1e-12
            verdicts.append(None if value is None else near or value <= limit)
    evidence = "exact"
    if "max_excess" in parameters and False not in verdicts:
        evidence, ends = "interval", (figures["holdout"] or {}).get("interval")
        limit = float(parameters["max_excess"])
        open_or_not = None if ends is None or ends[0] <= limit < ends[1] else ends[1] <= limit
        verdicts.append(open_or_not)
    holds = False if False in verdicts else None if None in verdicts or not verdicts else True
    return {**figures, "evidence": evidence, "holds": holds}
