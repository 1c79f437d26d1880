"""The comparison of a table's cells with those of a reference or an earlier release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from kanon_sql.errors import SpecError
from kanon_sql.plan.question import (
    BoundColumn,
    Comparison,
    JoinedLabels,
    LabelOfText,
    OtherTable,
    Pair,
    ResolvedQuestion,
)
from kanon_sql.plan.steps import other_records, records, with_entity
from kanon_sql.sql.tables import family


class Sides(NamedTuple):
    """A release and a reference, with what the macros read of both."""

    release: str
    columns: list[BoundColumn]
    entity: BoundColumn | None
    wildcard: bool
    reference: str
    pairs: list[Pair]
    reference_entity: BoundColumn | None
    reference_weight: BoundColumn | None

    @property
    def matched(self) -> list[Pair]:
        """The pairs compared by more than equality."""
        return [pair for pair in self.pairs if pair.how in ("by_pattern", "by_wildcard")]

    @property
    def referring(self) -> str:
        """The CTE of the reference's combinations."""
        return "reference_people" if self.reference_entity else "reference_classes"


def sides(question: ResolvedQuestion, reference: OtherTable, match: str) -> Sides:
    """The table and a reference. Raises `SpecError` where two columns can never be equal."""
    columns = list(question.quasi_identifiers)
    return Sides(
        release=records(question, with_entity(question, columns)),
        columns=columns,
        entity=question.entity,
        wildcard=question.wildcard,
        reference=other_records(reference),
        pairs=list(pairs(question, reference, match)),
        reference_entity=reference.entity,
        reference_weight=reference.weight,
    )


_FLOATS = {"DOUBLE", "FLOAT", "REAL"}


def pairs(question: ResolvedQuestion, reference: OtherTable, match: str) -> tuple[Pair, ...]:
    """Pair each quasi-identifier with the reference's column and a comparison.

    Raises `SpecError` where the two types can never be equal.
    """
    return tuple(
        Pair(
            column,
            reference.columns[column.name],
            _comparison(question, reference, column, match),
            tuple(_labels(question, column)),
        )
        for column in question.quasi_identifiers
    )


def _labels(question: ResolvedQuestion, column: BoundColumn) -> Iterator[LabelOfText]:
    """The labels of a reference's value at each level, where cells are recoded individually.

    They are taken from the text of the value, which has the same label as the value.
    """
    recoded = question.recoded.get(column.name)
    if recoded is None:
        return
    levels = replace(recoded, type="VARCHAR")
    only = question.shown_at.get(column.name)
    for level in range(1, levels.height + 1) if only is None else [only]:
        if not levels.is_joined(level):
            yield LabelOfText(levels.sql_of_any(level, "kanon_text"), None)
            continue
        labels = levels.labels_sql(level, portable=not question.table.embedded)
        joined = JoinedLabels("kanon_hierarchy", labels, levels.key("kanon_text"))
        yield LabelOfText("kanon_hierarchy.kanon_label", joined)


def _comparison(
    question: ResolvedQuestion, reference: OtherTable, column: BoundColumn, match: str
) -> Comparison:
    other = reference.columns[column.name]
    column_type, other_type = (family(side.type) or "text" for side in (column, other))
    if column_type != other_type and not {"text", "nothing"} & {column_type, other_type}:
        raise SpecError(
            f'{reference.called}: column "{other.name}" is {other.type}, and '
            f'"{column.name}" of {question.table.name} is {column.type}: they can never be equal. '
            "Give both the same type."
        )
    if column_type == "text" and match == "containment":
        return "by_pattern"
    if question.wildcard:
        return "by_wildcard"
    # Casts can merge an integer and a float that differ: 2**53 + 1 becomes 2**53.
    rounds = column.type != other.type and _FLOATS & {column.type, other.type}
    return "as_is" if column_type == other_type != "text" and not rounds else "as_text"


def column_pair(
    question: ResolvedQuestion, earlier: OtherTable, column: BoundColumn, other: BoundColumn
) -> Pair:
    """Pair an entity or sensitive column with the earlier release's column.

    Raises `SpecError` unless their types can be equal: a number stored as text would be another
    person, or another diagnosis, wherever its spelling differs.
    """
    if not can_be_equal(column, other):
        subject = "nobody" if column == question.entity else "no value"
        raise SpecError(
            f'{earlier.called}: column "{other.name}" is {other.type}, and '
            f'"{column.name}" of {question.table.name} is {column.type}, so {subject} could be '
            "found in both. Give both the same type."
        )
    type_family = family(column.type)
    is_same_type = bool(type_family) and column.type == other.type
    rounds = column.type != other.type and _FLOATS & {column.type, other.type}
    return Pair(
        column,
        other,
        "as_is" if is_same_type or (type_family == "number" and not rounds) else "as_text",
    )


def entity_pair(question: ResolvedQuestion, earlier: OtherTable) -> Pair:
    """The entities of a release and an earlier release, which link their records."""
    assert question.entity is not None
    assert earlier.entity is not None
    return column_pair(question, earlier, question.entity, earlier.entity)


def can_be_equal(column: BoundColumn, other: BoundColumn) -> bool:
    """Whether values of the two columns can be equal; a column of unknown type matches any."""
    column_type, other_type = family(column.type), family(other.type)
    return not (column_type and other_type) or column_type == other_type
