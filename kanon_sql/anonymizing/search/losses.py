"""The information loss of a release, from frequency sets."""

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
        lossy = [column for column in self.sets.quasi_identifiers if column.can_lose]
        return [_loss(column, rows) for column in lossy if (rows := self._by_level[column.name])]

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
        question = self.sets.question
        pairs = [
            (column, number, sensitive)
            for column in self.sets.quasi_identifiers
            for number, sensitive in enumerate(question.sensitive, start=1)
        ]
        answers = self.sets.fetch_each(
            [
                NodeQuery(
                    f"association_{column.number}_{number}",
                    f"How strongly are {column.name} and {sensitive.name} associated?",
                    render(
                        "association",
                        shown=self.shown[column.name],
                        key=column.key,
                        sensitive=sensitive,
                        unknown=question.unknown,
                    ),
                )
                for column, number, sensitive in pairs
            ]
        )
        for (column, _, sensitive), [row] in zip(pairs, answers, strict=True):
            yield Association(column.name, sensitive.name, row["kanon_before"], row["kanon_after"])

    def distributions(self) -> Iterator[Distribution]:
        """The distribution of each quasi-identifier and sensitive attribute, before and after
        generalisation and suppression."""
        rendered = {
            column.name: render(
                "distribution",
                relation=self.shown[column.name],
                value=column.key,
                shown="kanon_shown",
                firsts=RANKS,
            )
            for column in self.sets.quasi_identifiers
        } | {
            sensitive.name: render(
                "distribution",
                relation=MARKED,
                value=sensitive,
                shown=sensitive,
                firsts=RANKS,
                nulls=not self.sets.question.unknown,
            )
            for sensitive in self.sets.question.sensitive
        }
        answers = self.sets.fetch_each(
            [
                NodeQuery(
                    f"distribution_{number}",
                    f"How frequent are the values of {name}, before and after?",
                    sql,
                )
                for number, (name, sql) in enumerate(rendered.items(), start=1)
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
                    f"loss_{column.number}",
                    f"How much information does {column.name} lose at each level?",
                    render(
                        "loss_of_values",
                        shown=self.shown[column.name],
                        key=column.key,
                        qi=column.number,
                        labels=self.labels,
                        values=column.values,
                    ),
                )
                for column in self.sets.quasi_identifiers
            ]
        )
        names = (column.name for column in self.sets.quasi_identifiers)
        return {
            name: sorted(rows, key=lambda row: int(row["kanon_level"]))
            for name, rows in zip(names, answers, strict=True)
        }


def released_at(sets: FrequencySets, levels: Levels, labels: str | None = None) -> ReleasedSet:
    """The set with every quasi-identifier at its level in all records; `labels` are the labels of
    every value at these levels, if they are materialised already."""
    shown = {
        column.name: render(
            "shown_at_level",
            marked=MARKED,
            values=column.values,
            key=column.key,
            level=levels[column.name],
        )
        for column in sets.quasi_identifiers
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
        _Level(qi.number, level, qi.values, leaves_of_labels(sets, qi) if level else None)
        for qi in sets.quasi_identifiers
        for level in levels[qi.name]
    ]
    return sets.materialise(
        f"{PRIVATE}labels_of_values",
        "Which label does each value have at each level, and what lies under it?",
        render("labels_of_values", levels=at_levels),
    )


def _loss(column: QuasiIdentifier, by_level: Sequence[Row]) -> Loss:
    def total(figure: str) -> float:
        return math.fsum(float(row[f"kanon_{figure}"]) for row in by_level)

    released, suppressed = total("released"), total("suppressed")
    records = released + suppressed
    climbed = sum(int(row["kanon_level"]) * float(row["kanon_released"]) for row in by_level)
    return Loss(
        column.name,
        (climbed / column.levels.height + suppressed) / records,
        (total("leaves_more") / (column.leaves - 1) + suppressed) / records,
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
    bits, most = math.fsum(loss.bits for loss in lost), math.fsum(loss.most_bits for loss in lost)
    by_name = {loss.name: loss.loss for loss in lost}
    return Metrics(
        precision=1 - _mean(loss.share_of_height for loss in lost) if lost else None,
        loss=_mean(by_name.values()) if lost else None,
        loss_geometric=math.prod(loss + 1 for loss in by_name.values()) ** (1 / len(lost)) - 1
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
        tuple(int(row[f"kanon_{stage}_{number}"]) for number, _ in enumerate(RANKS, start=1))
        for stage in ("before", "after")
    )
    values = (int(row[f"kanon_{stage}_values"]) for stage in ("before", "after"))
    return Distribution(name, RANKS, next(values), before, next(values), after)


def _weighted_mean(by_name: Mapping[str, float], weights: Mapping[str, float]) -> float:
    weighed = [(weights.get(name, 1.0), loss) for name, loss in by_name.items()]
    return math.fsum(weight * loss for weight, loss in weighed) / math.fsum(
        weight for weight, _ in weighed
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)


def leaves_of_labels(sets: FrequencySets, column: QuasiIdentifier) -> str | None:
    """Materialise the number of leaves under each label, if a hierarchy lists them."""
    table, name = column.levels.table, f"{PRIVATE}leaves_{column.number}"
    if not table or sets.keeps(name):
        return name if table else None
    rows = [
        (level, label, count)
        for level in range(1, column.levels.height + 1)
        for label, count in (
            {"*": column.leaves} if level > table.height else Counter(table.labels(level).values())
        ).items()
    ]
    return sets.materialise_rows(name, ("kanon_level", "kanon_label", "kanon_leaves"), rows)
