"""Both attackers on two releases again, in plain Python, written from Ganta et al. 2008.

A release is its records, with the columns that name the classes, the person and the sensitive
value in it. Nothing is shared with the package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = Mapping[str, Any]
Cells = tuple[Any, ...]


@dataclass(frozen=True)
class Release:
    """The records of a release, and which columns of it play which part."""

    records: Sequence[Record]
    quasi_identifiers: Sequence[str]
    entity: str
    sensitive: str | None = None

    def classes_of_people(self) -> dict[Any, frozenset[Cells]]:
        """The set of classes of each person."""
        found: dict[Any, set[Cells]] = {}
        for record in self.records:
            found.setdefault(_equal(record[self.entity]), set()).add(self._class(record))
        return {person: frozenset(classes) for person, classes in found.items()}

    def values_of_classes(self, *, unknown: bool) -> dict[Cells, set[Any]]:
        """The distinct sensitive values of each class, of all its records."""
        found: dict[Cells, set[Any]] = {}
        for record in self.records:
            values = found.setdefault(self._class(record), set())
            value = record[self.sensitive or ""]
            if not (unknown and value is None):
                values.add(_equal(value))
        return found

    def _class(self, record: Record) -> Cells:
        return tuple(_equal(record[column]) for column in self.quasi_identifiers)


def _equal(value: Any) -> Any:
    """The value such that what SQL takes for equal is equal: NaN is, too."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def composed_k_anonymity(release: Release, earlier: Release, k: int | None) -> dict[str, Any]:
    """Whoever can link the records of a person in both finds so many people with the same."""
    here, there = release.classes_of_people(), earlier.classes_of_people()
    both = here.keys() & there.keys()
    crowds = Counter((here[person], there[person]) for person in both)
    small = [size for size in crowds.values() if size < (k or 0)]
    return {
        "achieved": min(crowds.values(), default=None),
        "in_both": len(both),
        "average": sum(1 / crowds[here[person], there[person]] for person in both) / len(both)
        if both
        else None,
        "joiners": _alone({p: classes for p, classes in here.items() if p not in both}),
        "leavers": _alone({p: classes for p, classes in there.items() if p not in both}),
        "violating_classes": len(small),
        "violating_people": sum(small),
    }


def _alone(classes: Mapping[Any, frozenset[Cells]]) -> dict[str, Any]:
    """People of one release only, and the fewest who share their classes."""
    crowds = Counter(classes.values())
    return {"people": len(classes), "k": min(crowds.values(), default=None)}


def composed_l_diversity(
    release: Release,
    earlier: Release,
    l: int | None,
    *,
    unknown: bool = False,
) -> dict[str, Any]:
    """Whoever knows that the value did not change is left with what both classes have."""
    here, there = release.classes_of_people(), earlier.classes_of_people()
    values, earlier_values = (
        each.values_of_classes(unknown=unknown) for each in (release, earlier)
    )
    pairs = {
        person: {(c, d) for c in here[person] for d in there[person]}
        for person in here.keys() & there.keys()
    }
    left = {(c, d): len(values[c] & earlier_values[d]) for each in pairs.values() for c, d in each}
    few = {pair for pair, candidates in left.items() if 1 <= candidates < (l or 0)}

    def people(wanted: set[Any]) -> int:
        return sum(not wanted.isdisjoint(each) for each in pairs.values())

    return {
        "achieved": min((candidates for candidates in left.values() if candidates), default=None),
        "certain_people": people({pair for pair, candidates in left.items() if candidates == 1}),
        "changed_people": people({pair for pair, candidates in left.items() if candidates == 0}),
        "violating_classes": len(few),
        "violating_people": people(few),
    }
