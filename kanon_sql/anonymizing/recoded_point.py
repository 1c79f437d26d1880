"""The loss of a local recoding for one k."""

from __future__ import annotations

from fractions import Fraction

from kanon_sql.anonymizing.recoding.local_recoding import local_recoding
from kanon_sql.anonymizing.recoding.recoded_sets import RecodedSets
from kanon_sql.anonymizing.search.frequency_sets import FrequencySets
from kanon_sql.anonymizing.search.losses import metrics
from kanon_sql.anonymizing.search.preferences import Preferences
from kanon_sql.results.tradeoff import Point


def recoded_point(
    sets: FrequencySets, preferred: Preferences, k: int, *, records: int, max_suppressed: int
) -> Point:
    """The local recoding for one k with its metrics, or without if even the top levels fail."""
    with sets.with_k(k):
        recoding = local_recoding(
            sets,
            starts={
                each.name: preferred.highest(each.name, each.levels.height)
                for each in sets.quasi_identifiers
            },
            records=records,
            max_suppressed=max_suppressed,
            weights={name: Fraction(str(each)) for name, each in preferred.weights.items()},
        )
        if recoding.fails:
            return Point(k, None, None, None, None, None, None)
        recoded = RecodedSets(sets, recoding)
        left_out = recoded.suppression
        return Point(
            k,
            None,
            None,
            left_out.records,
            int(left_out.classes["kanon_classes"]),
            metrics(
                list(recoded.losses()),
                left_out.classes,
                records=records,
                suppressed=left_out.records,
                weights=preferred.weights,
            ),
            None,
            recoded.levels_by_records,
        )
