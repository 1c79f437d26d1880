"""The released classes of a local recoding, and its information loss.

Everything is computed from the frequency set and the final classes; the records are read again only
to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.recoding.local_recoding import Recoding
from kanon_sql.anonymizing.release.suppression import Suppression
from kanon_sql.anonymizing.search.frequency_sets import RECORDS, FrequencySets
from kanon_sql.anonymizing.search.lattice import PRIVATE, QuasiIdentifier
from kanon_sql.anonymizing.search.losses import Loss, fetch_distributions
from kanon_sql.results.release import RANKS, Association, Distribution
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row

RECODINGS = f"{PRIVATE}recodings"
"""The released values of each combination of raw values."""
_TEXTS = f"{PRIVATE}label_texts"
_SHOWN = f"{PRIVATE}shown_classes"


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
        sql = render("shown_classes_in_short", shown=self._shown, keys=self._keys)
        [classes] = self.sets.fetch(
            "released_classes",
            "How many classes does the release have, and how large are they?",
            sql,
        )
        return Suppression(self.recoding.suppressed, 0, classes)

    @cached_property
    def levels_by_records(self) -> dict[str, dict[int, int]]:
        """Number of released records at each level of each quasi-identifier."""
        return {
            each.name: {
                int(row["kanon_level"]): int(row["kanon_records"])
                for row in self._levels_reached[each.place]
            }
            for each in self.sets.quasi_identifiers
        }

    @property
    def generalised(self) -> frozenset[str]:
        """The quasi-identifiers generalised in at least one record."""
        return frozenset(name for name, levels in self.levels_by_records.items() if any(levels))

    def keep_recodings(self) -> None:
        """Materialise the released values of each combination of raw values, to join with
        records."""
        sql = render(
            "recodings",
            members=self.recoding.members,
            shown=self._shown,
            keys=self._keys,
            values=[each.values for each in self.sets.quasi_identifiers],
        )
        self.sets.materialise(
            RECODINGS, "How does the release show each combination of values?", sql
        )

    def losses(self) -> Iterator[Loss]:
        """The loss of each quasi-identifier with levels and more than one leaf."""
        for each in self.sets.quasi_identifiers:
            if not each.levels.height or each.leaves < 2:
                continue
            rows = self._levels_reached[each.place]
            released = sum(int(row["kanon_records"]) for row in rows)
            suppressed = self.recoding.suppressed
            climbed = sum(int(row["kanon_records"]) * int(row["kanon_level"]) for row in rows)
            lost = sum(int(row["kanon_leaves_more"]) for row in rows)
            bits = self._bits(each)
            yield Loss(
                each.name,
                (climbed / each.levels.height + suppressed) / (released + suppressed),
                (lost / (each.leaves - 1) + suppressed) / (released + suppressed),
                float(bits["kanon_bits"]),
                float(bits["kanon_most_bits"]),
            )

    def associations(self) -> Iterator[Association]:
        """Strength of association between each quasi-identifier and each sensitive attribute,
        before and after the recoding."""
        bound = self.sets.bound
        for each in self.sets.quasi_identifiers:
            for place, sensitive in enumerate(bound.sensitive, start=1):
                sql = render(
                    "association_of_recoded",
                    records=RECORDS,
                    members=self.recoding.members,
                    shown=self._shown,
                    keys=self._keys,
                    qi=each.place,
                    key=each.key,
                    sensitive=sensitive,
                    unknown=bound.unknown,
                )
                question = f"How strongly are {each.name} and {sensitive.name} associated?"
                [row] = self.sets.fetch(f"association_{each.place}_{place}", question, sql)
                yield Association(
                    each.name, sensitive.name, row["kanon_before"], row["kanon_after"]
                )

    def distributions(self) -> Iterator[Distribution]:
        """The distribution of each quasi-identifier and sensitive attribute, before and after the
        recoding."""
        of = {
            "records": RECORDS,
            "members": self.recoding.members,
            "keys": self._keys,
            "firsts": RANKS,
        }
        rendered = {
            each.name: render(
                "distribution_of_recoded", **of, shown=self._shown, qi=each.place, key=each.key
            )
            for each in self.sets.quasi_identifiers
        } | {
            sensitive.name: render(
                "distribution_beside_recoded",
                **of,
                sensitive=sensitive,
                unknown=self.sets.bound.unknown,
            )
            for sensitive in self.sets.bound.sensitive
        }
        return fetch_distributions(self.sets, rendered)

    # --- internal ---------------------------------------------------------------------------

    @property
    def _keys(self) -> list[str]:
        return [each.key for each in self.sets.quasi_identifiers]

    @cached_property
    def texts(self) -> str:
        """The temporary table of every label as text."""
        levels = [
            _LevelOfValues(each.place, level, each.values, each.column.type)
            for each in self.sets.quasi_identifiers
            for level in range(self.recoding.starts[each.name] + 1)
        ]
        sql = render("label_texts", levels=levels)
        return self.sets.materialise(
            _TEXTS, "Which text does the release show for each label?", sql
        )

    @cached_property
    def _shown(self) -> str:
        sql = render(
            "shown_classes",
            class_levels=self.recoding.class_levels,
            texts=self.texts,
            keys=self._keys,
        )
        return self.sets.materialise(
            _SHOWN, "Which texts does the release show for each class?", sql
        )

    @cached_property
    def _levels_reached(self) -> Mapping[int, list[Row]]:
        sql = render("levels_reached", class_levels=self.recoding.class_levels, keys=self._keys)
        rows = self.sets.fetch(
            "levels_reached",
            "How many records does the release show at each level of each quasi-identifier?",
            sql,
        )
        return {
            each.place: [row for row in rows if row["kanon_qi"] == each.place]
            for each in self.sets.quasi_identifiers
        }

    def _bits(self, each: QuasiIdentifier) -> Row:
        sql = render(
            "bits_of_recoded",
            values=each.values,
            members=self.recoding.members,
            class_levels=self.recoding.class_levels,
            descents=self.recoding.descents,
            qi=each.place,
            key=each.key,
        )
        question = f"How much information does {each.name} lose?"
        [row] = self.sets.fetch(f"loss_{each.place}", question, sql)
        return row
