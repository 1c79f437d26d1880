"""How cells of a table are compared with cells of a reference, or of an earlier release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kanon_sql.errors import SpecError
from kanon_sql.plan.question import (
    BoundColumn,
    BoundEarlier,
    BoundReference,
    Comparison,
    JoinedLabels,
    LabelOfText,
    Pair,
    ResolvedQuestion,
)
from kanon_sql.spec.earlier_release import the_earlier
from kanon_sql.spec.question_parts import the_reference
from kanon_sql.sql.column_types import family

_FLOATS = {"DOUBLE", "FLOAT", "REAL"}


def pairs(bound: ResolvedQuestion, reference: BoundReference, match: str) -> tuple[Pair, ...]:
    """How each quasi-identifier is compared with the reference's column for it.

    Raises `SpecError` where the two hold values that can never be equal.
    """
    return tuple(
        Pair(
            column,
            reference.columns[column.name],
            _comparison(bound, reference, column, match),
            tuple(_labels(bound, column)),
        )
        for column in bound.quasi_identifiers
    )


def _labels(bound: ResolvedQuestion, column: BoundColumn) -> Iterator[LabelOfText]:
    """What a value may be shown as, where each cell of a column is at a level of its own: the text
    of a value has the label that the value has."""
    recoded = bound.recoded.get(column.name)
    if recoded is None:
        return
    levels = replace(recoded, type="VARCHAR")
    only = bound.shown_at.get(column.name)
    for level in range(1, levels.height + 1) if only is None else [only]:
        if not levels.is_joined(level):
            yield LabelOfText(levels.sql_of_any(level, "kanon_text"), None)
            continue
        labels = levels.labels_sql(level, portable=not bound.table.embedded)
        joined = JoinedLabels("kanon_hierarchy", labels, levels.key("kanon_text"))
        yield LabelOfText("kanon_hierarchy.kanon_label", joined)


def _comparison(
    bound: ResolvedQuestion, reference: BoundReference, column: BoundColumn, match: str
) -> Comparison:
    other = reference.columns[column.name]
    here, there = (family(each.type) or "text" for each in (column, other))
    if here != there and not {"text", "nothing"} & {here, there}:
        raise SpecError(
            f'{the_reference(reference.name)}: column "{other.name}" is {other.type}, and '
            f'"{column.name}" of {bound.table.name} is {column.type}: they can never be equal. '
            "Give both the same type."
        )
    if here == "text" and match == "containment":
        return "by_pattern"
    if bound.wildcard:
        return "by_wildcard"
    # An integer and a float that a cast makes equal need not be: 2**53 + 1 becomes 2**53.
    rounds = column.type != other.type and _FLOATS & {column.type, other.type}
    return "as_is" if here == there != "text" and not rounds else "as_text"


def of_both_releases(
    bound: ResolvedQuestion, earlier: BoundEarlier, column: BoundColumn, other: BoundColumn
) -> Pair:
    """How the entity, or a sensitive attribute, is compared with that of an earlier release.

    Raises `SpecError` unless both hold values of one kind: text that spells a number is another
    person, or another diagnosis, wherever it is spelled otherwise.
    """
    if not are_of_one_kind(column, other):
        in_both = "nobody" if column == bound.entity else "no value"
        raise SpecError(
            f'{the_earlier(earlier.name)}: column "{other.name}" is {other.type}, and '
            f'"{column.name}" of {bound.table.name} is {column.type}, so {in_both} could be found '
            "in both. Give both the same type."
        )
    here = family(column.type)
    is_plain = bool(here) and column.type == other.type
    rounds = column.type != other.type and _FLOATS & {column.type, other.type}
    return Pair(
        column, other, "as_is" if is_plain or (here == "number" and not rounds) else "as_text"
    )


def are_of_one_kind(column: BoundColumn, other: BoundColumn) -> bool:
    """Whether a value of the one may be a value of the other."""
    here, there = family(column.type), family(other.type)
    return not (here and there) or here == there
