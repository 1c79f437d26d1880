"""The preconditions of a question, each a query with the error if it fails.

Each kind is a row: a macro that counts in one row of SQL, the question that it answers, and the
sentence for counts that won't do. `preconditions` lists those of a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from kanon_sql.errors import option, plural, truncated
from kanon_sql.models.base import Model
from kanon_sql.plan.answers import Sizes, total
from kanon_sql.plan.check_sql import labelled
from kanon_sql.plan.join_columns import pairs
from kanon_sql.plan.levels import ColumnLevels
from kanon_sql.plan.question import AtLevel, BoundColumn, OtherTable, Pair, ResolvedQuestion
from kanon_sql.plan.steps import Precondition, other_records, records, step
from kanon_sql.question.date_formats import ORDERS, date_format
from kanon_sql.sql.conditions import Condition
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import value_as_text
from kanon_sql.sql.tables import Row, Table, family


class PreconditionKind(NamedTuple):
    """A row of the table of preconditions. The same parameters fill its question and sentence."""

    macro: str
    question: str
    sentence: str | Callable[..., str | None]
    """The error message; a function returns it from the macro's row and the words."""
    counts: str = ""
    """The count that must be 0; if empty, the sentence decides on several."""

    def fault(self, row: Row, **parameters: Any) -> str | None:
        """Error message for the macro's row; None if the precondition holds."""
        if self.counts and not row[self.counts]:
            return None
        if isinstance(self.sentence, str):
            return self.sentence.format(**parameters, **row)
        return self.sentence(row, **parameters)

    def of(
        self,
        question: ResolvedQuestion,
        name: str,
        table: Table,
        column: str,
        arguments: Mapping[str, Any],
        **parameters: Any,
    ) -> Precondition:
        """The precondition on a column, as the step `name`; the macro takes `arguments`."""
        parameters |= {"table": table.name, "column": column}
        sql = render(self.macro, **arguments)
        statement = step(question, name, self.question.format(**parameters), sql)
        return Precondition(
            statement=statement, refuse=lambda rows: self.fault(rows[0], **parameters)
        )


# --- sentences that depend on several counts ------------------------------------------------


def may_have_commas(question: ResolvedQuestion, table: Table) -> bool:
    """Whether the table is a text file whose decimal commas would be read with another option."""
    return table.text and question.spec.decimal != ","


def _no_label(
    row: Row, *, table: str, column: str, levels: ColumnLevels, level: str, commas: bool
) -> str:
    missing = row["kanon_values_without_label"]
    holders = plural(row["kanon_records_without_label"], "record")
    shown = row.get("kanon_named_values")
    examples = "" if shown is None else f" ({truncated(str(shown), _MOST_NAMED)})"
    subject = f'{plural(missing, "value")} of "{column}"{examples}, held by {holders},'
    single = missing == 1
    pronoun = "it" if single else "them"
    if levels.table is not None:
        of_spec = levels.table.is_in_spec
        names = f" kanon-sql validate names {pronoun} with --show-values."
        return (
            f"{table}: {subject} {'is' if single else 'are'} not in {levels.table.display_name}. "
            f"Add what is lacking, spelled as in the table.{'' if shown or of_spec else names}"
        )
    predicate = f"is not a {levels.needs}" if single else f"are not {levels.needs}s"
    decimals = _OF_DECIMALS if levels.needs == "number" and commas else ""
    advice = " Leave those records out with a condition, or mend them."
    if levels.needs == "date":
        likes = {name: int(row.get(f"kanon_like_{name}") or 0) for name in ORDERS}
        advice = _of_dates(missing, likes) or advice
    return f"{table}: {subject} {predicate}, so {level} can't group {pronoun}.{decimals}{advice}"


def _of_dates(missing: int, likes: Mapping[str, int]) -> str:
    """How values that are no dates look, and how to read them; "" if most look like none."""
    complete = [name for name, count in likes.items() if count == missing]
    ways = [option("dates", name) for name in complete]
    if len(complete) > 1:
        looks = " and like ".join(ORDERS[name] for name in complete)
        return f" They look like {looks}: say which, with {' or '.join(ways)}."
    if complete:
        return f" They look like {ORDERS[complete[0]]}: {ways[0]} reads them."
    most = max(likes, key=likes.__getitem__)
    if 2 * likes[most] <= missing:
        return ""
    return (
        f" {likes[most]:,} of them look like {ORDERS[most]}: {option('dates', most)} reads these, "
        "when the others are mended."
    )


WRITTEN = tuple(map(date_format, ORDERS))
"""The formats that an error looks for."""
_MOST_NAMED = 2_000
"""Maximum length of a list of values in an error."""
_OF_DECIMALS = f" {option('decimal', ',')} reads numbers with a decimal comma."


def _not_listed(row: Row, *, table: str, column: str, model: Model, listed: str) -> str:
    missing, nulls = row["kanon_values_not_listed"], row["kanon_null_records"]
    tree = model.parameters.get("hierarchy")
    listing = f"{listed} {tree}" if tree else listed
    if nulls and missing == 1:
        return (
            f'{table}: {model.name()}: "{column}" is NULL in {nulls:,} records, which have no '
            f"place in the {listing}. {option('sensitive_nulls', 'unknown')} leaves them out."
        )
    unknown = option("sensitive_nulls", "unknown")
    advice = f" NULL is one of them: {unknown} leaves it out." if nulls else ""
    return (
        f'{table}: {model.name()}: the {listing} lacks {plural(missing, "value")} of "{column}", '
        f"held by {plural(row['kanon_records_not_listed'], 'record')}.{advice} Add what is "
        "lacking, spelled as in the table."
    )


def _not_orderable(row: Row, *, table: str, column: str, model: Model) -> str | None:
    numbers_only = model.of_numbers
    no_number, no_date = row["kanon_no_number"], row["kanon_no_date"]
    if not no_number and row["kanon_inexact"]:
        return (
            f"{table}: {model.name()} compares numbers, and {row['kanon_inexact']:,} of "
            f'{row["kanon_values"]:,} values of "{column}" are 2^53 or more, which text does not '
            "give exactly. Store them as whole numbers or decimals, as in Parquet, or choose "
            "another model."
        )
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


def _not_a_survey_weight(row: Row, *, table: str, column: str) -> str | None:
    counts = {
        "NULL": row["kanon_null"],
        "no number": row["kanon_no_number"],
        "below 1": row["kanon_below_one"],
    }
    faults = [f"{count:,} {label}" for label, count in counts.items() if count]
    if not faults:
        return None
    return (
        f'{table}: of {row["kanon_records"]:,} survey weights in "{column}", {_joined(faults)}. A '
        "record stands for one person or more: leave the others out with a condition, or scale "
        "the weights so that they add up to the population."
    )


def _joined(faults: list[str]) -> str:
    *others, last = [f"{fault.split(' ')[0]} are {fault.split(' ', 1)[1]}" for fault in faults]
    return f"{', '.join(others)} and {last}" if others else last


def _not_comparable(
    row: Row, *, table: str, column: str, numbers: str, number: str, type: str
) -> str | None:
    if row["kanon_spelled_otherwise"]:
        reason = (
            f"{row['kanon_spelled_otherwise']:,} values are spelled as no number is (a leading "
            "zero, say)"
        )
    elif row["kanon_text"] and not row["kanon_like_numbers"]:
        reason = "no value of the text is a number"
    else:
        return None
    return (
        f"{table}: {column} is text and {numbers}: {number} is {type}: {reason}, so they could "
        "never match. Give both columns the same type."
    )


# --- the table ------------------------------------------------------------------------------

_CASTABLE = PreconditionKind(
    "not_castable",
    "How many values of {column} in {table} are no {type}?",
    '{place}where: {kanon_not_castable:,} of {kanon_values:,} values of "{column}" are no {kind}. '
    "Compare them as text, or mend them first.",
    "kanon_not_castable",
)
LABELLED = PreconditionKind(
    "values_without_label",
    "Which values of {column} in {table} have no place at the level {level}?",
    _no_label,
    "kanon_values_without_label",
)
_DATED = LABELLED._replace(macro="values_without_date")
"""The same for text in DuckDB, with how many values are dates in another format."""
_LISTED = PreconditionKind(
    "values_not_listed",
    "Which values of {column} in {table} have no place in the {listed}?",
    _not_listed,
    "kanon_values_not_listed",
)
_ORDERABLE = PreconditionKind(
    "not_orderable",
    "Is the text of {column} in {table} made of numbers, or of dates?",
    _not_orderable,
)
_SURVEY_WEIGHTS = PreconditionKind(
    "not_a_survey_weight",
    "How many values of {column} in {table} are no survey weight?",
    _not_a_survey_weight,
)
WITH_ENTITY = PreconditionKind(
    "without_entity",
    "How many records in {table} belong to no one?",
    "{table}: {kanon_without_entity:,} of {kanon_records:,} records have no "
    '"{column}", so nobody knows whose they are. Fill it in, or leave those records out '
    "with a condition.",
    "kanon_without_entity",
)
_WITH_HOUSEHOLD = WITH_ENTITY._replace(
    question="How many records in {table} belong to no household?",
    sentence="{table}: {kanon_without_entity:,} of {kanon_records:,} records have no "
    '"{column}", so nobody knows which household is theirs. Fill it in, or leave those records '
    "out with a condition.",
)
_WEIGHTS = PreconditionKind(
    "not_a_weight",
    "How many weights in {table} are no number of people?",
    "{table}: {kanon_not_a_weight:,} of {kanon_records:,} values of "
    '"{column}" are no whole number of people from 0 to below 10^15.',
    "kanon_not_a_weight",
)
_COMPARABLE = PreconditionKind(
    "text_beside_numbers",
    "Is the text of {column} in {table} spelled like the numbers of {number} in {numbers}?",
    _not_comparable,
)


# --- those of a question --------------------------------------------------------------------


def preconditions(question: ResolvedQuestion) -> Iterator[Precondition]:
    """Every precondition, in execution order."""
    yield from _castable(question, "release", "", question.where, question.table)
    for level in question.levels:
        yield from without_label(
            question,
            level,
            question.table,
            records(question, [level.raw]),
            f"labels_{level.raw.name}",
        )
    yield from _sensitive(question)
    if question.weight:
        arguments = {"relation": records(question, [question.weight]), "weight": question.weight}
        yield _SURVEY_WEIGHTS.of(
            question, "survey_weights", question.table, question.weight.name, arguments
        )
    if household := question.household:
        arguments = {"relation": records(question, [household]), "entity": household}
        yield _WITH_HOUSEHOLD.of(
            question, "without_household", question.table, household.name, arguments
        )
    for other in question.others:
        yield from _other_table_preconditions(question, other)


def _other_table_preconditions(
    question: ResolvedQuestion, other: OtherTable
) -> Iterator[Precondition]:
    """Preconditions on another table: labels for its values, an entity or weight for each record,
    and text that can match the table's numbers."""
    table, is_reference = other.table, not other.kind.has_sensitive
    has_name = is_reference or other.kind.is_single
    name = other.name if has_name else f"{other.kind.prefix}_{other.name}"
    yield from _castable(question, name, f"{other.called}: ", other.where, table)
    for column in other.generalised:
        raw = other_records(other, [column.raw])
        yield from without_label(question, column, table, raw, f"labels_{name}_{column.raw.name}")
    if other.entity:
        relation = other_records(other, None if is_reference else [other.entity])
        yield entity_known(question, f"people_of_{name}", table, other.entity, relation)
    if other.weight:
        arguments = {"relation": other_records(other), "weight": other.weight}
        yield _WEIGHTS.of(question, f"weights_of_{name}", table, other.weight.name, arguments)
    for pair in pairs(question, other, "containment") if is_reference else ():
        # Labels need not be numbers.
        if not pair.labels:
            yield from _comparable(question, other, pair)


def entity_known(
    question: ResolvedQuestion, name: str, table: Table, entity: BoundColumn, relation: str
) -> Precondition:
    """Every record must have an entity."""
    arguments = {"relation": relation, "entity": entity}
    return WITH_ENTITY.of(question, name, table, entity.name, arguments)


def without_label(
    question: ResolvedQuestion, column: AtLevel, table: Table, relation: str, name: str
) -> Iterator[Precondition]:
    """Every value must have a label at the requested level."""
    if column.levels.needs is None:
        return
    arguments = {
        "relation": relation,
        "column": column.raw,
        "label": column.checked_label,
        "joined": column.joined,
        "shown": question.facts.show_values and not question.made_from,
    }
    parameters = {"levels": column.levels, "level": column.levels.label(column.level)}
    parameters |= {"commas": may_have_commas(question, table)}
    if column.levels.needs == "date" and table.embedded and column.raw.type == "VARCHAR":
        arguments["formats"] = WRITTEN
        kind = _DATED
    else:
        kind = LABELLED
    yield kind.of(question, name, table, column.raw.name, arguments, **parameters)


def _castable(
    question: ResolvedQuestion, role: str, place: str, where: Condition | None, table: Table
) -> Iterator[Precondition]:
    for cast in where.casts if where else ():
        parameters = {
            "place": place,
            "type": cast.type.lower(),
            "kind": {"DOUBLE": "number", "BIGINT": "whole number"}.get(cast.type, "date"),
        }
        arguments = {"relation": table.sql, "column": cast.column, "type": cast.type}
        name = f"castable_{role}_{cast.column}"
        yield _CASTABLE.of(question, name, table, cast.column, arguments, **parameters)


def _sensitive(question: ResolvedQuestion) -> Iterator[Precondition]:
    """What sensitive checks require of the values: numbers, a listed order or a place in a tree."""
    for check, label in labelled(check for check in question.checks if check.model.reads_values):
        model, column, paths = check.model, check.column, check.paths
        assert column is not None
        on_column = {"relation": records(question, [column]), "column": column}
        listed = list(model.parameters.get("order", ())) or [path[0] for path in paths]
        if listed:
            arguments = {
                **on_column,
                "values": [[value_as_text(value)] for value in listed],
                # NULL has a place in an order.
                "unknown": question.unknown or not paths,
            }
            yield _LISTED.of(
                question,
                f"listed_in_{label}",
                question.table,
                column.name,
                arguments,
                model=model,
                listed="hierarchy" if paths else "order",
            )
        elif column.is_text:
            name = f"orderable_in_{label}"
            yield _ORDERABLE.of(question, name, question.table, column.name, on_column, model=model)


def _comparable(
    question: ResolvedQuestion, reference: OtherTable, pair: Pair
) -> Iterator[Precondition]:
    """Text compared with numbers must be spelled as these are."""
    sides = (
        (pair.column, question.table, records(question, [pair.column])),
        (pair.reference, reference.table, other_records(reference)),
    )
    if {family(column.type) for column, _, _ in sides} != {"text", "number"}:
        return
    column, table, relation = next(side for side in sides if side[0].is_text)
    number, numbers, _ = next(side for side in sides if not side[0].is_text)
    yield _COMPARABLE.of(
        question,
        f"comparable_{reference.name}_{pair.column.name}",
        table,
        column.name,
        {"relation": relation, "column": column},
        numbers=numbers.name,
        number=number.name,
        type=number.type,
    )


def without_entity(question: ResolvedQuestion, sizes: Sizes) -> str | None:
    """Error message if records have no entity: they belong to no countable person."""
    if question.entity is None:
        return None
    counted = {name: total(sizes, name) for name in ("kanon_records", "kanon_without_entity")}
    return WITH_ENTITY.fault(counted, table=question.table.name, column=question.entity.name)
