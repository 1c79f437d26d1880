"""The released classes of a local recoding, with its information loss.

Everything is computed from the frequency set and the final classes; the records are read again only
to be written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.recoding.local_recoding import Recoding
from kanon_sql.anonymizing.release.suppression import Suppression
from kanon_sql.anonymizing.search.frequency_sets import MARKED, RECORDS, FrequencySets
from kanon_sql.anonymizing.search.lattice import PRIVATE
from kanon_sql.anonymizing.search.losses import ReleasedSet
from kanon_sql.sql.macros import render

RECODINGS = f"{PRIVATE}recodings"
"""The released values of each combination of raw values."""


class _LevelOfValues(NamedTuple):
    """A level of a quasi-identifier in the table of its values."""

    qi: int
    level: int
    values: str
    type: str


@dataclass(frozen=True)
class RecodedSets:
    """The frequency set of a table with the final class of each combination."""

    sets: FrequencySets
    recoding: Recoding

    @cached_property
    def suppression(self) -> Suppression:
        """The suppressed records, and aggregates of the released classes."""
        classes = render("classes_as_shown", shown=self._shown, keys=self._keys)
        [row] = self.sets.fetch(
            "released_classes",
            "How many classes does the release have, and how large are they?",
            render("released_classes", classes=f"({classes})", keys=[]),
        )
        return Suppression(self.recoding.suppressed, 0, row)

    @cached_property
    def released(self) -> ReleasedSet:
        """The set with the label of each quasi-identifier in each class."""
        self.sets.materialise(
            MARKED,
            "In which class is each combination, and how many of its records are suppressed?",
            render(
                "recoded_as_marked",
                records=RECORDS,
                members=self.recoding.members,
                keys=self._keys,
            ),
        )
        shown = {
            column.name: render(
                "shown_by_class", marked=MARKED, shown=self._shown, qi=column.number
            )
            for column in self.sets.quasi_identifiers
        }
        return ReleasedSet(self.sets, shown, self.recoding.labels)

    @property
    def generalised(self) -> frozenset[str]:
        """The quasi-identifiers generalised in at least one record."""
        by_level = self.released.records_by_level
        return frozenset(name for name, levels in by_level.items() if any(levels))

    def keep_recodings(self) -> None:
        """Materialise the released values of each combination of raw values, to join with
        records."""
        sql = render(
            "recodings",
            members=self.recoding.members,
            shown=self._shown,
            keys=self._keys,
            values=[column.values for column in self.sets.quasi_identifiers],
        )
        self.sets.materialise(
            RECODINGS, "How does the release show each combination of values?", sql
        )

    # --- internal ---------------------------------------------------------------------------

    @property
    def _keys(self) -> list[str]:
        return [column.key for column in self.sets.quasi_identifiers]

    @cached_property
    def texts(self) -> str:
        """The temporary table of every label as text."""
        levels = [
            _LevelOfValues(qi.number, level, qi.values, qi.column.type)
            for qi in self.sets.quasi_identifiers
            for level in range(self.recoding.starts[qi.name] + 1)
        ]
        return self.sets.materialise(
            f"{PRIVATE}label_texts",
            "Which text does the release show for each label?",
            render("label_texts", levels=levels),
        )

    @cached_property
    def _shown(self) -> str:
        return self.sets.materialise(
            f"{PRIVATE}shown_classes",
            "Which texts does the release show for each class?",
            render(
                "shown_classes",
                class_levels=self.recoding.class_levels,
                texts=self.texts,
                keys=self._keys,
            ),
        )
