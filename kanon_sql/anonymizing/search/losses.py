"""Information loss of a release: metrics of generalisation and suppression, from frequency sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kanon_sql.anonymizing.search.frequency_sets import MARKED, FrequencySets, NodeQuery
from kanon_sql.anonymizing.search.lattice import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.results.release import RANKS, Association, Distribution, Metrics
from kanon_sql.sql.macros import render
from kanon_sql.sql.tables import Row


@dataclass(frozen=True)
class Loss:
    """Loss of one quasi-identifier that has something to lose."""

    name: str
    share_of_height: float
    """Mean of level / height over all records."""
    loss: float
    bits: float
    most_bits: float


@dataclass(frozen=True)
class ReleasedSet:
    """The frequency set of the raw values with what a release shows of each quasi-identifier."""

    sets: FrequencySets
    shown: Mapping[str, str]
    """By quasi-identifier: the set with its label and its level, and the suppressed records."""
    labels: str
    """The labels of every value at these levels."""

    @property
    def losses(self) -> list[Loss]:
        """The loss of each quasi-identifier with levels and more than one leaf."""
        lossy = [each for each in self.sets.quasi_identifiers if each.can_lose]
        return [_loss(each, rows) for each in lossy if (rows := self._by_level[each.name])]

    @property
    def records_by_level(self) -> dict[str, dict[int, int]]:
        """Number of released records at each level of each quasi-identifier."""
        return {
            name: {
                int(row["kanon_level"]): int(row["kanon_released"])
                for row in rows
                if row["kanon_released"]
            }
            for name, rows in self._by_level.items()
        }

    def associations(self) -> Iterator[Association]:
        """Strength of association between each quasi-identifier and each sensitive attribute,
        before and after generalisation."""
        bound = self.sets.bound
        pairs = [
            (each, place, sensitive)
            for each in self.sets.quasi_identifiers
            for place, sensitive in enumerate(bound.sensitive, start=1)
        ]
        answers = self.sets.fetch_each(
            [
                NodeQuery(
                    f"association_{each.place}_{place}",
                    f"How strongly are {each.name} and {sensitive.name} associated?",
                    render(
                        "association",
                        shown=self.shown[each.name],
                        key=each.key,
                        sensitive=sensitive,
                        unknown=bound.unknown,
                    ),
                )
                for each, place, sensitive in pairs
            ]
        )
        for (each, _, sensitive), [row] in zip(pairs, answers, strict=True):
            yield Association(each.name, sensitive.name, row["kanon_before"], row["kanon_after"])

    def distributions(self) -> Iterator[Distribution]:
        """The distribution of each quasi-identifier and sensitive attribute, before and after
        generalisation and suppression."""
        rendered = {
            each.name: render(
                "distribution",
                relation=self.shown[each.name],
                value=each.key,
                shown="kanon_shown",
                firsts=RANKS,
            )
            for each in self.sets.quasi_identifiers
        } | {
            sensitive.name: render(
                "distribution",
                relation=MARKED,
                value=sensitive,
                shown=sensitive,
                firsts=RANKS,
                nulls=not self.sets.bound.unknown,
            )
            for sensitive in self.sets.bound.sensitive
        }
        answers = self.sets.fetch_each(
            [
                NodeQuery(
                    f"distribution_{place}",
                    f"How frequent are the values of {name}, before and after?",
                    sql,
                )
                for place, (name, sql) in enumerate(rendered.items(), start=1)
            ]
        )
        for name, [row] in zip(rendered, answers, strict=True):
            yield distribution(name, row)

    @cached_property
    def _by_level(self) -> dict[str, list[Row]]:
        """The loss of each quasi-identifier at each level that the release shows."""
        answers = self.sets.fetch_each(
            [
                NodeQuery(
                    f"loss_{each.place}",
                    f"How much information does {each.name} lose at each level?",
                    render(
                        "loss_of_values",
                        shown=self.shown[each.name],
                        key=each.key,
                        qi=each.place,
                        labels=self.labels,
                        values=each.values,
                    ),
                )
                for each in self.sets.quasi_identifiers
            ]
        )
        names = (each.name for each in self.sets.quasi_identifiers)
        return {
            name: sorted(rows, key=lambda row: int(row["kanon_level"]))
            for name, rows in zip(names, answers, strict=True)
        }


def released_at(sets: FrequencySets, levels: Levels, labels: str | None = None) -> ReleasedSet:
    """The set with every quasi-identifier at its level in all records; `labels` are the labels of
    every value at these levels, if they are materialised already."""
    shown = {
        each.name: render(
            "shown_at_level",
            marked=MARKED,
            values=each.values,
            key=each.key,
            level=levels[each.name],
        )
        for each in sets.quasi_identifiers
    }
    at_levels = {name: [level] for name, level in levels.items()}
    return ReleasedSet(sets, shown, labels or labels_of_values(sets, at_levels))


class _Level(NamedTuple):
    """A level of a quasi-identifier: the table of its values, and the table of leaf counts under
    each label if a hierarchy lists the leaves."""

    qi: int
    level: int
    values: str
    leaves: str | None


def labels_of_values(sets: FrequencySets, levels: Mapping[str, Iterable[int]]) -> str:
    """Materialise the label of every value at some levels, with the leaves and records under it."""
    at_levels = [
        _Level(each.place, level, each.values, leaves_of_labels(sets, each) if level else None)
        for each in sets.quasi_identifiers
        for level in levels[each.name]
    ]
    return sets.materialise(
        f"{PRIVATE}labels_of_values",
        "Which label does each value have at each level, and what lies under it?",
        render("labels_of_values", levels=at_levels),
    )


def _loss(each: QuasiIdentifier, by_level: Sequence[Row]) -> Loss:
    def total(figure: str) -> float:
        return math.fsum(float(row[f"kanon_{figure}"]) for row in by_level)

    released, suppressed = total("released"), total("suppressed")
    records = released + suppressed
    climbed = sum(int(row["kanon_level"]) * float(row["kanon_released"]) for row in by_level)
    return Loss(
        each.name,
        (climbed / each.levels.height + suppressed) / records,
        (total("leaves_more") / (each.leaves - 1) + suppressed) / records,
        total("bits"),
        total("most_bits"),
    )


def metrics(
    lost: Sequence[Loss],
    classes: Row,
    *,
    records: int,
    suppressed: int,
    weights: Mapping[str, float] | None = None,
) -> Metrics:
    """The metrics of a release. `classes` is the row with the aggregates of its classes."""
    released, count = int(classes["kanon_released"]), int(classes["kanon_classes"])
    bits, most = math.fsum(each.bits for each in lost), math.fsum(each.most_bits for each in lost)
    by_name = {each.name: each.loss for each in lost}
    return Metrics(
        precision=1 - _mean(each.share_of_height for each in lost) if lost else None,
        loss=_mean(by_name.values()) if lost else None,
        loss_geometric=math.prod(each + 1 for each in by_name.values()) ** (1 / len(lost)) - 1
        if lost
        else None,
        discernibility=int(classes["kanon_squares"]) + records * suppressed,
        average_class_size=released / count if count else None,
        non_uniform_entropy=bits / most if most else None,
        non_uniform_entropy_bits=bits if lost else None,
        loss_by_quasi_identifier=by_name,
        loss_weighted=_weighted_mean(by_name, weights) if lost and weights else None,
    )


def distribution(name: str, row: Row) -> Distribution:
    """The distribution in a row of counts by rank."""
    before, after = (
        tuple(int(row[f"kanon_{stage}_{place}"]) for place, _ in enumerate(RANKS, start=1))
        for stage in ("before", "after")
    )
    values = (int(row[f"kanon_{stage}_values"]) for stage in ("before", "after"))
    return Distribution(name, RANKS, next(values), before, next(values), after)


def _weighted_mean(by_name: Mapping[str, float], weights: Mapping[str, float]) -> float:
    weighed = [(weights.get(name, 1.0), each) for name, each in by_name.items()]
    return math.fsum(weight * each for weight, each in weighed) / math.fsum(
        weight for weight, _ in weighed
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)


def leaves_of_labels(sets: FrequencySets, each: QuasiIdentifier) -> str | None:
    """Materialise the number of leaves under each label, if a hierarchy lists them."""
    table, name = each.levels.table, f"{PRIVATE}leaves_{each.place}"
    if not table or sets.keeps(name):
        return name if table else None
    rows = [
        (level, label, count)
        for level in range(1, each.levels.height + 1)
        for label, count in (
            {"*": each.leaves} if level > table.height else Counter(table.labels(level).values())
        ).items()
    ]
    return sets.materialise_rows(name, ("kanon_level", "kanon_label", "kanon_leaves"), rows)
