"""Datafly again, in plain Python over lists of records, written from the definitions.

Sweeney 2002, Achieving k-anonymity privacy protection using generalization and suppression,
figure 6. A record is a dict from column to value, in the order of the table's columns; None is
NULL. A hierarchy is a mapping from each raw value to its labels, the nearest first. Nothing here
is fast and nothing is shared with the package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import oracle

Record = Mapping[str, Any]
Labels = Mapping[Any, Sequence[Any]]
Levels = Mapping[str, int]
Class = tuple[Any, ...]
SUPPRESSED = "*"


@dataclass(frozen=True)
class Asked:
    """What is asked of Datafly.

    `hierarchies` has the quasi-identifiers in their declared order; a NULL that a hierarchy has
    no labels for stays NULL. `listed` names those whose leaves are the rows of their hierarchy;
    the leaves of the others are the distinct raw values of the table.
    """

    hierarchies: Mapping[str, Labels]
    k: int = 2
    sensitive: Sequence[str] = ()
    checks: Sequence[Mapping[str, oracle.Parameters]] = ()
    entity: str | None = None
    identifiers: Sequence[str] = ()
    max_suppressed: int | str | None = None
    suppressed: str = "remove"
    listed: Sequence[str] = ()

    @property
    def quasi_identifiers(self) -> list[str]:
        return list(self.hierarchies)

    @property
    def question(self) -> oracle.Question:
        return oracle.Question(
            quasi_identifiers=self.quasi_identifiers,
            sensitive=self.sensitive,
            entity=self.entity,
            checks=[{"k_anonymity": {"k": self.k}}, *self.checks],
        )

    def height(self, name: str) -> int:
        return len(next(iter(self.hierarchies[name].values()), ()))

    def label(self, name: str, value: Any, level: int) -> Any:
        """What a raw value becomes, always read from the raw value itself."""
        if level == 0:
            return value
        if value is None and value not in self.hierarchies[name]:
            return None
        return self.hierarchies[name][value][level - 1]

    def cells(self, record: Record, levels: Levels) -> Class:
        """A record's class at a node of the lattice."""
        return tuple(
            oracle.comparable(self.label(name, record[name], levels[name]))
            for name in self.quasi_identifiers
        )


@dataclass(frozen=True)
class Release:
    """What became of the table. `rows` is what a file of it would hold: nothing where every
    quasi-identifier is at its top in vain. `holds` is the verdict of the audit of these rows."""

    figures: Mapping[str, Any]
    rows: Sequence[Record]
    removed: Sequence[int]
    """The numbers of the rows that are suppressed, from 1."""
    holds: bool


def anonymize(records: Sequence[Record], asked: Asked) -> Release:
    """Steps 1 to 5 of Datafly."""
    bound = max_suppressed(asked, len(records))
    levels, steps = dict.fromkeys(asked.quasi_identifiers, 0), []
    while (violating := _violating(records, levels, asked)) and len(violating) > bound:
        name = _most_distinct(records, levels, asked)
        if name is None:
            break
        steps.append(
            {
                "attribute": name,
                "to_level": levels[name] + 1,
                "distinct_before": _distinct(records, name, levels[name], asked),
                "records_violating": len(violating),
            }
        )
        levels[name] += 1
    in_vain = len(violating) > bound
    suppressed = set() if in_vain else set(violating)
    more = _step4(records, suppressed, levels, asked) if bound >= asked.k else set()
    gone = suppressed | more
    kept = [record for place, record in enumerate(records) if place not in gone]
    rows = _rows(records, gone, levels, asked)
    classes = oracle.equivalence_classes(rows, asked.question)
    return Release(
        figures={
            "levels": levels,
            "steps": steps,
            "reached_top": in_vain,
            "max_suppressed": bound,
            "records_violating": len(violating),
            "suppressed": len(gone),
            "step4": len(more),
            "k": min((each.size for each in classes), default=None),
            "classes": len(classes) or None,
            "metrics": metrics(records, gone, levels, asked),
            "associations": _associations(records, kept, levels, asked),
        },
        rows=[] if in_vain else rows,
        removed=sorted(place + 1 for place in gone),
        holds=not in_vain and oracle.audit(rows, asked.question)["status"] == "holds",
    )


def max_suppressed(asked: Asked, records: int) -> int:
    """How many may be suppressed: k where nothing is said, as in the paper; a share is floored."""
    match asked.max_suppressed:
        case None:
            return asked.k
        case str(share):
            return math.floor(Fraction(share.removesuffix("%")) * records / 100)
        case number:
            return number


# --- steps 1 and 2: generalise --------------------------------------------------------------


def _classes(records: Iterable[Record], levels: Levels, asked: Asked) -> dict[Class, list[Record]]:
    """The records of each class at a node of the lattice."""
    classes: dict[Class, list[Record]] = {}
    for record in records:
        classes.setdefault(asked.cells(record, levels), []).append(record)
    return classes


def frequencies(records: Iterable[Record], levels: Levels, asked: Asked) -> Counter[Class]:
    """The frequency set at a node of the lattice."""
    return Counter(asked.cells(record, levels) for record in records)


def _distinct(records: Sequence[Record], name: str, level: int, asked: Asked) -> int:
    """How many values a quasi-identifier has, NULL included."""
    return len({oracle.comparable(asked.label(name, record[name], level)) for record in records})


def _most_distinct(records: Sequence[Record], levels: Levels, asked: Asked) -> str | None:
    """Step 2.1: the first with the most values of those that have a level left."""
    left = [name for name in asked.quasi_identifiers if levels[name] < asked.height(name)]
    return max(left, key=lambda name: _distinct(records, name, levels[name], asked), default=None)


def _violating(records: Sequence[Record], levels: Levels, asked: Asked) -> list[int]:
    """The places of the records in classes below k, or that fail a check that is demanded."""
    violating = {
        cells
        for cells, members in _classes(records, levels, asked).items()
        if _violates(cells, members, records, asked)
    }
    return [p for p, record in enumerate(records) if asked.cells(record, levels) in violating]


def _violates(
    cells: Class, members: Sequence[Record], records: Sequence[Record], asked: Asked
) -> bool:
    """Whether a class may not be published."""
    size = _size(members, asked)
    each = oracle.Class(cells, tuple(members), size)
    return size < asked.k or any(
        _is_far(each, records, given, asked)
        if model == "t_closeness"
        else _fails(model, each, given, asked)
        for check in asked.checks
        for model, given in check.items()
    )


def _size(members: Sequence[Record], asked: Asked) -> int:
    return oracle.people(members, asked.entity)


def _fails(model: str, each: oracle.Class, given: oracle.Parameters, asked: Asked) -> bool:
    """Whether the class, were it alone, would violate a model that judges it by itself."""
    return bool(oracle.MODELS[model]([each], asked.question, given).violating)


def _is_far(
    each: oracle.Class, records: Sequence[Record], given: oracle.Parameters, asked: Asked
) -> bool:
    """Li et al. 2007, 4.1: the equal distance to the whole input, suppressed or not."""
    size = _size(records, asked)
    whole = oracle.Class((), tuple(records), size)
    q = oracle.distribution([each], asked.question, given)
    p = oracle.distribution([whole], asked.question, given)
    distance = sum((abs(q.get(value, 0) - p[value]) for value in p), Fraction(0)) / 2
    return bool(q) and distance > oracle.exact(given["t"]) + oracle.SLACK_OF_T


# --- steps 3 and 4: suppress ----------------------------------------------------------------


def _step4(
    records: Sequence[Record], suppressed: set[int], levels: Levels, asked: Asked
) -> set[int]:
    """Step 4: who else goes, so that the suppressed records are none or at least k.

    Classes above k give their last records, the smallest class first, each down to k. Where
    that is too little a whole class goes besides; all are at k then, and it is the first.
    """
    more: set[int] = set()
    lacking = asked.k - len(suppressed)
    if not suppressed or lacking <= 0:
        return more
    classes: dict[Class, list[int]] = {}
    for place in sorted(set(range(len(records))) - suppressed, key=lambda p: _as_text(records[p])):
        classes.setdefault(asked.cells(records[place], levels), []).append(place)
    sizes = {
        cells: _size([records[place] for place in places], asked)
        for cells, places in classes.items()
    }
    for cells in sorted(classes, key=lambda cells: (sizes[cells], _ascending(cells))):
        given = min(sizes[cells] - asked.k, lacking - len(more))
        more.update(classes[cells][len(classes[cells]) - given :])
    if len(more) < lacking and classes:
        more.update(classes[min(classes, key=_ascending)])
    return more


def _as_text(record: Record) -> list[tuple[bool, str]]:
    """All columns of a record as they lie, each as text; NULL is last."""
    return [(value is None, _text(value)) for value in record.values()]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _ascending(cells: Class) -> list[tuple[bool, Any]]:
    return [(value is None, 0 if value is None else value) for value in cells]


# --- step 5: publish ------------------------------------------------------------------------


def _rows(
    records: Sequence[Record], gone: set[int], levels: Levels, asked: Asked
) -> list[dict[str, Any]]:
    """The records as a file has them: no identifiers, and the suppressed ones as `*`, if at all."""
    rows = []
    for place, record in enumerate(records):
        if place in gone and asked.suppressed == "remove":
            continue
        row = {name: value for name, value in record.items() if name not in asked.identifiers}
        for name in asked.quasi_identifiers:
            label = asked.label(name, record[name], levels[name])
            row[name] = SUPPRESSED if place in gone else label
        rows.append(row)
    return rows


# --- what it cost ---------------------------------------------------------------------------


def metrics(
    records: Sequence[Record], gone: set[int], levels: Levels, asked: Asked
) -> dict[str, Any]:
    """Every metric of a release in which the records at these places are suppressed."""
    kept = [record for place, record in enumerate(records) if place not in gone]
    sizes = [len(members) for members in _classes(kept, levels, asked).values()]
    lost = {
        name: _loss(records, gone, name, levels[name], asked)
        for name in _with_several_leaves(records, asked)
    }
    bits, most = _bits(records, gone, levels, asked) if lost else (None, None)
    return {
        "precision": _precision(records, gone, levels, asked),
        "loss": float(sum(lost.values()) / len(lost)) if lost else None,
        "loss_geometric": _geometric(lost.values()) if lost else None,
        "discernibility": sum(size * size for size in sizes) + len(records) * len(gone),
        "average_class_size": len(kept) / len(sizes) if sizes else None,
        "non_uniform_entropy": bits / most if bits is not None and most else None,
        "non_uniform_entropy_bits": bits,
        "loss_by_quasi_identifier": {name: float(loss) for name, loss in lost.items()},
    }


def _with_several_leaves(records: Sequence[Record], asked: Asked) -> list[str]:
    """The quasi-identifiers that have something to lose."""
    return [
        name
        for name in asked.quasi_identifiers
        if asked.height(name) > 0 and len(_leaves(records, name, asked)) > 1
    ]


def _leaves(records: Sequence[Record], name: str, asked: Asked) -> set[Any]:
    if name in asked.listed:
        return {value for value in asked.hierarchies[name] if value is not None}
    return {record[name] for record in records}


def _precision(
    records: Sequence[Record], gone: set[int], levels: Levels, asked: Asked
) -> float | None:
    """Sweeney 2002, Prec: the mean height of a cell, of its hierarchy's height, from 1 down."""
    names = _with_several_leaves(records, asked)
    if not names:
        return None
    heights = [
        Fraction(1) if place in gone else Fraction(levels[name], asked.height(name))
        for name in names
        for place in range(len(records))
    ]
    return float(1 - sum(heights) / len(heights))


def _loss(
    records: Sequence[Record], gone: set[int], name: str, level: int, asked: Asked
) -> Fraction:
    """Iyengar 2002, 2.2, LM: the share of the other leaves that a cell could stand for as well."""
    leaves = _leaves(records, name, asked)
    under = Counter(asked.label(name, leaf, level) for leaf in leaves)
    losses = [
        1
        if place in gone
        else Fraction(max(under[asked.label(name, record[name], level)], 1) - 1, len(leaves) - 1)
        for place, record in enumerate(records)
    ]
    return Fraction(sum(losses)) / len(records)


def _geometric(losses: Iterable[Fraction]) -> float:
    """ARX: the geometric mean of the losses, each with 1 added, and 1 taken away."""
    several = [loss + 1 for loss in losses]
    return math.prod(float(each) for each in several) ** (1 / len(several)) - 1


def _bits(
    records: Sequence[Record], gone: set[int], levels: Levels, asked: Asked
) -> tuple[float, float]:
    """De Waal and Willenborg 1999; Gionis and Tassa 2009, definition 4.3.

    How many bits are lost, and how many would be if every cell were suppressed. A label is as
    frequent as it is in the whole table, suppressed or not.
    """
    lost, most, n = [], [], len(records)
    for name in _with_several_leaves(records, asked):
        labels = [asked.label(name, record[name], levels[name]) for record in records]
        raw = Counter(record[name] for record in records)
        labelled = Counter(labels)
        for place, record in enumerate(records):
            within = n if place in gone else labelled[labels[place]]
            lost.append(math.log2(within / raw[record[name]]))
            most.append(math.log2(n / raw[record[name]]))
    return math.fsum(lost), math.fsum(most)


def _associations(
    records: Sequence[Record], kept: Sequence[Record], levels: Levels, asked: Asked
) -> list[dict[str, Any]]:
    """Cramér's V of each quasi-identifier with each sensitive attribute, before and after."""
    return [
        {
            "quasi_identifier": name,
            "sensitive": sensitive,
            "before": cramers_v([(record[name], record[sensitive]) for record in records]),
            "after": cramers_v(
                [
                    (asked.label(name, record[name], levels[name]), record[sensitive])
                    for record in kept
                ]
            ),
        }
        for name in asked.quasi_identifiers
        for sensitive in asked.sensitive
    ]


def cramers_v(pairs: Sequence[tuple[Any, Any]]) -> float | None:
    """Cramér 1946, 21.9: the root of chi-squared, divided by the largest that it could be. None
    where one has a single value, or another one in every pair."""
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    if min(len(ones), len(others)) < 2 or max(len(ones), len(others)) == len(pairs):
        return None
    seen = Counter(pairs)
    # Chi-squared, divided by the number of pairs, is the sum of seen² / (ones · others), less 1.
    squared = sum(Fraction(count**2, ones[a] * others[b]) for (a, b), count in seen.items()) - 1
    return math.sqrt(squared / (min(len(ones), len(others)) - 1))
