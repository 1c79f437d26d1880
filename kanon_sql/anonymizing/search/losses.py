"""Information loss of a release: metrics of generalisation and suppression, from frequency sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kanon_sql.anonymizing.search.frequency_sets import MARKED, FrequencySets, NodeQuery
from kanon_sql.anonymizing.search.lattice import PRIVATE, Levels, QuasiIdentifier
from kanon_sql.plan.question import ResolvedQuestion
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


def losses(sets: FrequencySets, levels: Levels) -> Iterator[Loss]:
    """The loss of each quasi-identifier with levels and more than one leaf."""
    lossy = [each for each in sets.quasi_identifiers if each.levels.height and each.leaves > 1]
    rows = sets.fetch_each([_loss_of_values(sets, each, levels[each.name]) for each in lossy])
    for each, row in zip(lossy, rows, strict=True):
        records, suppressed = float(row["kanon_records"]), float(row["kanon_suppressed"])
        if not records:
            continue
        height = each.levels.height
        climbed = (records - suppressed) * levels[each.name] / height + suppressed
        lost = float(row["kanon_leaves_more"]) / (each.leaves - 1) + suppressed
        yield Loss(
            each.name,
            climbed / records,
            lost / records,
            float(row["kanon_bits"]),
            float(row["kanon_most_bits"]),
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


def associations(
    sets: FrequencySets, bound: ResolvedQuestion, levels: Levels
) -> Iterator[Association]:
    """Strength of association between each quasi-identifier and each sensitive attribute, before
    and after generalisation."""
    pairs = [
        (each, place, sensitive)
        for each in sets.quasi_identifiers
        for place, sensitive in enumerate(bound.sensitive, start=1)
    ]
    rows = sets.fetch_each(
        [
            NodeQuery(
                f"association_{each.place}_{place}",
                f"How strongly are {each.name} and {sensitive.name} associated?",
                render(
                    "association",
                    marked=MARKED,
                    values=each.values,
                    key=each.key,
                    level=levels[each.name],
                    sensitive=sensitive,
                    unknown=bound.unknown,
                ),
            )
            for each, place, sensitive in pairs
        ]
    )
    for (each, _, sensitive), row in zip(pairs, rows, strict=True):
        yield Association(each.name, sensitive.name, row["kanon_before"], row["kanon_after"])


def distributions(
    sets: FrequencySets, bound: ResolvedQuestion, levels: Levels
) -> Iterator[Distribution]:
    """The distribution of each quasi-identifier and sensitive attribute, before and after
    generalisation and suppression."""
    rendered = {
        each.name: render(
            "distribution",
            marked=MARKED,
            values=each.values,
            key=each.key,
            level=levels[each.name],
            firsts=RANKS,
        )
        for each in sets.quasi_identifiers
    } | {
        sensitive.name: render(
            "distribution_of_sensitive",
            marked=MARKED,
            sensitive=sensitive,
            firsts=RANKS,
            unknown=bound.unknown,
        )
        for sensitive in bound.sensitive
    }
    return fetch_distributions(sets, rendered)


def fetch_distributions(sets: FrequencySets, rendered: Mapping[str, str]) -> Iterator[Distribution]:
    """The distribution of each column, by its statement."""
    rows = sets.fetch_each(
        [
            NodeQuery(
                f"distribution_{place}",
                f"How frequent are the values of {name}, before and after?",
                sql,
            )
            for place, (name, sql) in enumerate(rendered.items(), start=1)
        ]
    )
    return map(distribution, rendered, rows)


def distribution(name: str, row: Row) -> Distribution:
    """The distribution in a row of counts by rank."""
    before, after = (
        tuple(int(row[f"kanon_{when}_{place}"]) for place, _ in enumerate(RANKS, start=1))
        for when in ("before", "after")
    )
    values = (int(row[f"kanon_{when}_values"]) for when in ("before", "after"))
    return Distribution(name, RANKS, next(values), before, next(values), after)


def _weighted_mean(by_name: Mapping[str, float], weights: Mapping[str, float]) -> float:
    weighed = [(weights.get(name, 1.0), each) for name, each in by_name.items()]
    return math.fsum(weight * each for weight, each in weighed) / math.fsum(
        weight for weight, _ in weighed
    )


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers)


def leaves_under(sets: FrequencySets, each: QuasiIdentifier, level: int) -> str | None:
    """Materialise the number of leaves under each label of a level, if the hierarchy lists them."""
    table = each.levels.table
    if not table or not level:
        return None
    suppressed = level > table.height
    under = {"*": each.leaves} if suppressed else Counter(table.labels(level).values())
    name = f"{PRIVATE}leaves_{each.place}_{level}"
    if sets.keeps(name):
        return name
    return sets.materialise_rows(name, ("kanon_label", "kanon_leaves"), list(under.items()))


def _loss_of_values(sets: FrequencySets, each: QuasiIdentifier, level: int) -> NodeQuery:
    sql = render(
        "loss_of_values",
        values=each.values,
        marked=MARKED,
        key=each.key,
        level=level,
        leaves=leaves_under(sets, each, level),
    )
    question = f"How much information does {each.name} lose at level {level}?"
    return NodeQuery(f"loss_{each.place}", question, sql)
