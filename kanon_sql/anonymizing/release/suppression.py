"""Suppression: records of violating classes, with those that step 4 of Datafly adds.

Everything is counted on the frequency sets. The views of the chain express the same in SQL that can
be shipped. In an engine that holds both records and sets, the run's views read the classes already
materialised; in a database server, the shipped views are queried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kanon_sql.anonymizing.release import views
from kanon_sql.anonymizing.release.views import ViewChain
from kanon_sql.anonymizing.search.frequency_sets import MARKED, RECORDS, FrequencySets
from kanon_sql.anonymizing.search.lattice import PRIVATE, Levels, ReleasedLevel
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row

Chain = TypeVar("Chain", bound=ViewChain)

CLASSES = f"{PRIVATE}{views.CLASSES}"
VIOLATING = f"{PRIVATE}{views.VIOLATING}"
DONORS = f"{PRIVATE}{views.DONORS}"
RELEASED = f"{PRIVATE}{views.RELEASE}"
IN_ORDER = f"{PRIVATE}{views.IN_ORDER}"
"""The release in the order of its file."""
DONATED = f"{PRIVATE}donated_records"
DONATED_PLACES = f"{PRIVATE}donated_places"


@dataclass(frozen=True)
class Suppression:
    """The suppressed records of a release, and aggregates of its classes."""

    records: int
    """Number of suppressed records, those of step 4 included."""
    step4: int
    classes: Row


def nothing_suppressed(sets: FrequencySets, levels: Levels) -> Suppression:
    """Materialise the classes of a node without suppression."""
    _keep_classes(sets, levels)
    _mark(sets, levels, violating=None, donated=None)
    return Suppression(0, 0, _classes_in_short(sets))


def suppress(
    sets: FrequencySets,
    chain: ViewChain,
    levels: Levels,
    *,
    in_step4: bool,
    other_violations: Sequence[str] = (),
) -> tuple[Suppression, ViewChain]:
    """Suppress the violating classes and, with `in_step4`, as many further records as needed for at
    least k suppressed ones. The returned chain records whether there were any; its last view can be
    queried. `other_violations` are SELECTs of classes that violate a check against another table.
    """
    keys = [column.key for column in sets.quasi_identifiers]
    counted = replace(chain, kept=True, dialect=sets.dialect)
    _keep_classes(sets, levels)
    sets.materialise(
        VIOLATING,
        "Which classes violate a check?",
        render(
            "classes_among",
            classes=CLASSES,
            others=render(
                "violating_by_any", statements=[sets.violating(sets.at(levels)), *other_violations]
            ),
            keys=keys,
        ),
    )
    left_out = _total(sets, VIOLATING, "kanon_records")
    step4 = 0
    if in_step4 and 0 < left_out < chain.k:
        sets.materialise(
            DONORS,
            "How many further records does each class lose in step 4?",
            counted.donor_classes(keys),
        )
        step4 = _total(sets, DONORS, "kanon_donated")
    chain = replace(chain, has_donors=step4 > 0)
    run = create_views(sets, chain)
    if step4:
        _keep_donated(sets, run)
    _mark(sets, levels, violating=VIOLATING, donated=DONATED_PLACES if step4 else None)
    classes = _classes_in_short(sets, violating=VIOLATING, donors=DONORS if step4 else None)
    return Suppression(left_out + step4, step4, classes), chain


def create_views(sets: FrequencySets, chain: Chain) -> Chain:
    """Create the views of a release in the run, and return them as they are named there."""
    run = replace(chain, kept=sets.hold_records, is_linked=chain.entity_as == "drop")
    for view in run.views_to_run:
        is_renumbered = chain.entity_as == "renumber" and view.name == RELEASED
        sql = run.renumbered(view.sql) if is_renumbered else view.sql
        sets.create_view_of_records(view.name, " ".join(view.words), sql)
    if sets.hold_records:
        question = "Which records does the release have, in which order?"
        sets.create_view_of_records(IN_ORDER, question, chain.in_order(RELEASED))
    return run


def _keep_classes(sets: FrequencySets, levels: Levels) -> None:
    """Materialise the classes of a node, by their places and with their published values."""
    of_places = render(
        "classes_of_places",
        set=sets.at(levels).name,
        keys=[column.key for column in sets.quasi_identifiers],
        entity=sets.question.entity,
    )
    sets.materialise(
        CLASSES,
        "Which classes does the release have before suppression?",
        render(
            "classes_as_released",
            classes=f"({of_places})",
            quasi_identifiers=list(sets.question.quasi_identifiers),
            shown=_released(sets, levels),
        ),
    )


def _keep_donated(sets: FrequencySets, chain: ViewChain) -> None:
    """Materialise the records suppressed in step 4, by the places of their raw values."""
    sets.create_view_of_records(
        DONATED,
        "Which records does step 4 suppress?",
        render("donated_records", numbered=chain.numbered.name),
    )
    raw = [
        replace(column, name=chain.raw_name(column)) for column in sets.question.quasi_identifiers
    ]
    sets.keep_places_of(
        DONATED_PLACES, "Which raw values do the records suppressed in step 4 have?", DONATED, raw
    )


def _mark(
    sets: FrequencySets, levels: Levels, *, violating: str | None, donated: str | None
) -> None:
    sets.materialise(
        MARKED,
        "How many records of each combination are suppressed?",
        render(
            "marked_records",
            records=RECORDS,
            quasi_identifiers=_released(sets, levels),
            violating=violating,
            donated=donated,
            carried=sets.carried,
        ),
    )


def _released(sets: FrequencySets, levels: Levels) -> list[ReleasedLevel]:
    return [
        ReleasedLevel(column.values, column.key, levels[column.name])
        for column in sets.quasi_identifiers
    ]


def _classes_in_short(
    sets: FrequencySets, violating: str | None = None, donors: str | None = None
) -> Row:
    sql = render(
        "released_classes",
        classes=CLASSES,
        keys=[column.key for column in sets.quasi_identifiers],
        violating=violating,
        donors=donors,
    )
    return sets.fetch(
        "released_classes", "How many classes does the release have, and how large are they?", sql
    )[0]


def _total(sets: FrequencySets, name: str, column: str) -> int:
    sql = render("total", relation=name, column=column)
    return int(
        sets.fetch(f"total_of_{name}", "How many records are suppressed?", sql)[0]["kanon_total"]
    )
