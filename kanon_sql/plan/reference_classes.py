"""Finds classes of a release that fail a check against a reference, at the release's levels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kanon_sql.plan.join_columns import pairs
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import (
    BoundColumn,
    JoinedLabels,
    OtherTable,
    Pair,
    ResolvedQuestion,
)
from kanon_sql.plan.steps import other_records
from kanon_sql.plan.violating_classes import reference_of, reference_requirements, too_rare
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import identifier


@dataclass(frozen=True)
class ReferredCell:
    """A reference column generalised like the release."""

    column: BoundColumn
    """The quasi-identifier it is compared with."""
    raw: str
    label: str
    joined: JoinedLabels | None
    type: str
    """Type of the raw value where both sides are compared as text; otherwise ""."""


def classes_with_reference(
    bound: ResolvedQuestion,
    raw: ResolvedQuestion,
    relation: str,
    levels: Mapping[str, tuple[ColumnLevels, int]],
) -> Iterator[str]:
    """One SELECT per reference: the classes failing its checks, with their records.

    `relation` holds the records that `bound` describes, with some quasi-identifiers at `levels`;
    `raw` describes them before generalisation.
    """
    required = reference_requirements(bound)
    for name in dict.fromkeys(reference_of(bound, each).name for each in required):
        reference = bound.references[name]
        asked = [each for each in required if reference_of(bound, each) == reference]
        yield render(
            "records_beside_reference",
            relation=relation,
            columns=list(bound.quasi_identifiers),
            entity=bound.entity,
            reference=other_records(reference),
            cells=list(_cells(bound, raw, reference, levels)),
            reference_entity=reference.entity,
            reference_weight=reference.weight,
            failing=render("any_of", predicates=[too_rare(each) for each in asked]),
        )


def _cells(
    bound: ResolvedQuestion,
    raw: ResolvedQuestion,
    reference: OtherTable,
    levels: Mapping[str, tuple[ColumnLevels, int]],
) -> Iterator[ReferredCell]:
    for place, pair in enumerate(pairs(raw, reference, "exact"), start=1):
        column = bound.quasi_identifiers[place - 1]
        value = f"kanon_raw.{identifier(pair.reference.name)}"
        if column.name not in levels:
            type = pair.reference.type if pair.how == "as_text" else ""
            yield ReferredCell(column, value, value, None, type)
            continue
        yield _labelled(column, pair, place, value, *levels[column.name])


def _labelled(
    column: BoundColumn, pair: Pair, place: int, value: str, of_table: ColumnLevels, level: int
) -> ReferredCell:
    levels = replace(of_table, type=pair.reference.type)
    if not levels.is_joined(level):
        return ReferredCell(column, value, levels.sql_of_any(level, value), None, "")
    name = f"kanon_referred_{place}"
    labels = levels.labels_sql(level, portable=True)
    joined = JoinedLabels(name, labels, levels.key(value))
    return ReferredCell(column, value, f"{name}.kanon_label", joined, "")
