"""Preconditions of a question: the queries that test them, and the error if one fails."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kanon_sql.errors import option, plural
from kanon_sql.plan.check_sql import labelled
from kanon_sql.plan.join_columns import pairs
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import AtLevel, BoundEarlier, BoundReference, Pair, ResolvedQuestion
from kanon_sql.plan.steps import Precondition, earlier_records, records, reference_records, step
from kanon_sql.spec.earlier_release import the_earlier
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.question_parts import the_reference
from kanon_sql.sql.column_types import family
from kanon_sql.sql.conditions import Condition, TextCast
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import value_as_text
from kanon_sql.sql.tables import Row, Table


def preconditions(bound: ResolvedQuestion) -> Iterator[Precondition]:
    """Every precondition, in execution order."""
    yield from _castable(bound, "release", "", bound.where, bound.table)
    for each in bound.levels:
        yield from without_label(
            bound, each, bound.table, records(bound, [each.raw]), f"labels_{each.raw.name}"
        )
    yield from _sensitive(bound)
    if bound.weight:
        yield Precondition(
            step(
                bound,
                "survey_weights",
                f"How many values of {bound.weight.name} in {bound.table.name} are no survey "
                "weight?",
                render(
                    "not_a_survey_weight",
                    relation=records(bound, [bound.weight]),
                    weight=bound.weight,
                ),
            ),
            partial(_not_a_survey_weight, bound.table.name, bound.weight.name),
        )
    for reference in bound.references.values():
        name, table = reference.name, reference.table
        yield from _castable(bound, name, f"{the_reference(name)}: ", reference.where, table)
        for each in reference.levels:
            raw = reference_records(reference, [each.raw])
            yield from without_label(bound, each, table, raw, f"labels_{name}_{each.raw.name}")
        people = reference_records(reference)
        if reference.entity:
            yield Precondition(
                step(
                    bound,
                    f"people_of_{name}",
                    f"How many records in {table.name} belong to no one?",
                    render("without_entity", relation=people, entity=reference.entity),
                ),
                partial(without_entity, table.name, reference.entity.name),
            )
        if reference.weight:
            yield Precondition(
                step(
                    bound,
                    f"weights_of_{name}",
                    f"How many weights in {table.name} are no number of people?",
                    render("not_a_weight", relation=people, weight=reference.weight),
                ),
                partial(_not_a_weight, table.name, reference.weight.name),
            )
        for pair in pairs(bound, reference, "containment"):
            if pair.labels:
                # Labels need not be numbers.
                continue
            yield from _comparable(bound, reference, pair)
    for earlier in bound.earlier.values():
        yield from _of_earlier(bound, earlier)


def _of_earlier(bound: ResolvedQuestion, earlier: BoundEarlier) -> Iterator[Precondition]:
    """Preconditions on an earlier release: labels for its values, an entity for each record."""
    name, table = f"earlier_{earlier.name}", earlier.table
    place = f"{the_earlier(earlier.name)}: "
    yield from _castable(bound, name, place, earlier.where, table)
    for each in earlier.levels:
        raw = earlier_records(earlier, [each.raw])
        yield from without_label(bound, each, table, raw, f"labels_{name}_{each.raw.name}")
    yield Precondition(
        step(
            bound,
            f"people_of_{name}",
            f"How many records in {table.name} belong to no one?",
            render(
                "without_entity",
                relation=earlier_records(earlier, [earlier.entity]),
                entity=earlier.entity,
            ),
        ),
        partial(without_entity, table.name, earlier.entity.name),
    )


def without_label(
    bound: ResolvedQuestion, each: AtLevel, table: Table, relation: str, name: str
) -> Iterator[Precondition]:
    """Every value must have a label at the requested level."""
    if each.levels.needs is None:
        return
    yield Precondition(
        step(
            bound,
            name,
            f"Which values of {each.raw.name} in {table.name} have no place at the level "
            f"{each.levels.label(each.level)}?",
            render(
                "values_without_label",
                relation=relation,
                column=each.raw,
                label=each.checked_label,
                joined=each.joined,
                shown=bound.facts.show_values,
            ),
        ),
        partial(no_label, table.name, each.raw.name, each.levels, each.level),
    )


def no_label(table: str, column: str, levels: ColumnLevels, level: int, row: Row) -> str | None:
    """Error message for values without a label at a level; None if every value has one."""
    lacking = row["kanon_values_without_label"]
    if not lacking:
        return None
    held = plural(row["kanon_records_without_label"], "record")
    shown = row.get("kanon_value_without_label")
    which = "" if shown is None else f" ({'it is' if lacking == 1 else 'one is'} {str(shown)!r})"
    what = f'{plural(lacking, "value")} of "{column}"{which}, held by {held},'
    if levels.table is not None:
        return (
            f"{table}: {what} {'is' if lacking == 1 else 'are'} not in "
            f"{levels.table.spoken}. Add what is lacking, spelled as in the table."
        )
    return (
        f"{table}: {what} {'is' if lacking == 1 else 'are'} no {levels.needs} that the "
        f"level {levels.label(level)} has a place for. Leave those records out with a "
        "condition, or mend them."
    )


def _sensitive(bound: ResolvedQuestion) -> Iterator[Precondition]:
    """What sensitive checks require of the values: numbers, a listed order or a place in a tree."""
    for each in labelled(check for check in bound.checks if check.model.reads_values):
        model, column = each.check.model, each.check.column
        assert column is not None
        null_has_a_place = not each.check.paths
        relation = records(bound, [column])
        listed = list(model.parameters.get("order", ())) or [path[0] for path in each.check.paths]
        if listed:
            yield Precondition(
                step(
                    bound,
                    f"listed_in_{each.label}",
                    f"Which values of {column.name} in {bound.table.name} have no place in the "
                    f"{'order' if not each.check.paths else 'hierarchy'}?",
                    render(
                        "values_not_listed",
                        relation=relation,
                        column=column,
                        values=[[value_as_text(value)] for value in listed],
                        unknown=bound.unknown or null_has_a_place,
                    ),
                ),
                partial(_not_listed, bound.table.name, column.name, model),
            )
        elif column.is_text:
            yield Precondition(
                step(
                    bound,
                    f"orderable_in_{each.label}",
                    f"Is the text of {column.name} in {bound.table.name} made of numbers, or of "
                    "dates?",
                    render("not_orderable", relation=relation, column=column),
                ),
                partial(_not_orderable, bound.table.name, column.name, model),
            )


def _not_listed(table: str, column: str, model: Model, row: Row) -> str | None:
    lacking, nulls = row["kanon_values_not_listed"], row["kanon_null_records"]
    if not lacking:
        return None
    tree = model.parameters.get("hierarchy")
    where = f"hierarchy {tree}" if tree else "order"
    if nulls and lacking == 1:
        return (
            f'{table}: {model.name()}: "{column}" is NULL in {nulls:,} records, which have no '
            f"place in the {where}. {option('sensitive_nulls', 'unknown')} leaves them out."
        )
    unknown = option("sensitive_nulls", "unknown")
    also = f" NULL is one of them: {unknown} leaves it out." if nulls else ""
    return (
        f'{table}: {model.name()}: the {where} lacks {plural(lacking, "value")} of "{column}", '
        f"held by {plural(row['kanon_records_not_listed'], 'record')}.{also} Add what is lacking, "
        "spelled as in the table."
    )


def _not_orderable(table: str, column: str, model: Model, row: Row) -> str | None:
    numbers_only = model.of_numbers
    no_number, no_date = row["kanon_no_number"], row["kanon_no_date"]
    if not no_number or (not no_date and not numbers_only):
        return None
    if numbers_only:
        return (
            f"{table}: {model.name()} needs numbers, and {no_number:,} of {row['kanon_values']:,} "
            "values of "
            f'"{column}" are none. Leave them out with a condition, or choose another model.'
        )
    return (
        f'{table}: t_closeness: "{column}" is text, and of its {row["kanon_values"]:,} values '
        f"{no_number:,} are no number and {no_date:,} no date, so they have no order of their own. "
        "List them in order, as in order=[low, middle, high], or take distance: equal."
    )


def _not_a_survey_weight(table: str, weight: str, row: Row) -> str | None:
    found = {
        "NULL": row["kanon_null"],
        "no number": row["kanon_no_number"],
        "below 1": row["kanon_below_one"],
    }
    faults = [f"{count:,} {what}" for what, count in found.items() if count]
    if not faults:
        return None
    return (
        f'{table}: of {row["kanon_records"]:,} survey weights in "{weight}", {_and(faults)}. A '
        "record stands for one person or more: leave the others out with a condition, or scale "
        "the weights so that they add up to the population."
    )


def _and(parts: list[str]) -> str:
    *others, last = [f"{part.split(' ')[0]} are {part.split(' ', 1)[1]}" for part in parts]
    return f"{', '.join(others)} and {last}" if others else last


def _castable(
    bound: ResolvedQuestion, role: str, place: str, where: Condition | None, table: Table
) -> Iterator[Precondition]:
    for cast in where.casts if where else ():
        yield Precondition(
            step(
                bound,
                f"castable_{role}_{cast.column}",
                f"How many values of {cast.column} in {table.name} are no {cast.type.lower()}?",
                render("not_castable", relation=table.sql, column=cast.column, type=cast.type),
            ),
            partial(_not_castable, place, cast),
        )


def _comparable(
    bound: ResolvedQuestion, reference: BoundReference, pair: Pair
) -> Iterator[Precondition]:
    """Text compared with numbers must be spelled as these are."""
    sides = (
        (pair.column, bound.table, records(bound, [pair.column])),
        (pair.reference, reference.table, reference_records(reference)),
    )
    if {family(column.type) for column, _, _ in sides} != {"text", "number"}:
        return
    column, table, relation = next(side for side in sides if side[0].is_text)
    number, numbers, _ = next(side for side in sides if not side[0].is_text)
    yield Precondition(
        step(
            bound,
            f"comparable_{reference.name}_{pair.column.name}",
            f"Is the text of {column.name} in {table.name} spelled like the numbers of "
            f"{number.name} in {numbers.name}?",
            render("text_beside_numbers", relation=relation, column=column),
        ),
        partial(
            _not_comparable,
            f"{table.name}: {column.name}",
            f"{numbers.name}: {number.name}",
            number.type,
        ),
    )


def _not_castable(place: str, cast: TextCast, row: Row) -> str | None:
    if not row["kanon_not_castable"]:
        return None
    kind = {"DOUBLE": "number", "BIGINT": "whole number"}.get(cast.type, "date")
    return (
        f"{place}where: {row['kanon_not_castable']:,} of {row['kanon_values']:,} values of "
        f'"{cast.column}" are no {kind}. Compare them as text, or mend them first.'
    )


def without_entity(table: str, entity: str, row: Row) -> str | None:
    """Error message for records without an entity; None if there are none."""
    if not row["kanon_without_entity"]:
        return None
    return (
        f"{table}: {row['kanon_without_entity']:,} of {row['kanon_records']:,} records have no "
        f'"{entity}", so nobody knows whose they are. Fill it in, or leave those records out '
        "with a condition."
    )


def _not_a_weight(table: str, weight: str, row: Row) -> str | None:
    if not row["kanon_not_a_weight"]:
        return None
    return (
        f"{table}: {row['kanon_not_a_weight']:,} of {row['kanon_records']:,} values of "
        f'"{weight}" are no whole number of people from 0 to below 10^15.'
    )


def _not_comparable(text: str, numbers: str, type: str, row: Row) -> str | None:
    if row["kanon_spelled_otherwise"]:
        return (
            f"{text} is text and {numbers} is {type}: {row['kanon_spelled_otherwise']:,} values "
            "are spelled as no number is (a leading zero, say), so they could never match. Give "
            "both columns the same type."
        )
    if row["kanon_text"] and not row["kanon_like_numbers"]:
        return (
            f"{text} is text and {numbers} is {type}: no value of the text is a number, so they "
            "could never match. Give both columns the same type."
        )
    return None
