"""The steps on a synthetic table beside its original.

All records are stacked, each with the letter of its table, and counted by the quasi-identifiers, by
these and a sensitive attribute, and by each small set of quasi-identifiers. Whole records are
intersected first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from kanon_sql.errors import SpecError, located, option, plural
from kanon_sql.models.base import Model
from kanon_sql.models.synthetic.models import (
    AttributionModel,
    CopiedRecords,
    CorrectAttribution,
    DisclosiveInSynthetic,
    ReplicatedUniques,
    SinglingOut,
    SyntheticModel,
)
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.bound_columns import bound_column
from kanon_sql.plan.check_scope import CheckScope, sensitive_name
from kanon_sql.plan.column_sets import Subset, refuse_too_many, sizes_of, subsets_up_to
from kanon_sql.plan.other_columns import countable
from kanon_sql.plan.question import (
    BoundCheck,
    BoundColumn,
    Comparison,
    OtherTable,
    ResolvedQuestion,
)
from kanon_sql.plan.steps import (
    PlannedStep,
    audited,
    name_list,
    other_records,
    records,
    step,
    with_entity,
    with_records,
)
from kanon_sql.question.other_tables import HOLDOUT, ORIGINAL
from kanon_sql.sql.dialects.traits import BLANK_FIRST
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row, family

MADE_FROM, IN_BOTH, IN_COMMON = "made_from", "people_in_both", "values_in_common"
CLASSES, COPIES = "synthetic_classes", "copied_records"
FURTHER_IN_COMMON, COMPARABLE_COPIES = "further_values_in_common", "comparable_copied_records"
_ONLY_DOUBTFUL = "for columns of which no value is in two different copied records"
_ONLY_COMPARABLE = "if columns have no value in common with the original, and without these"
_FLOATS = {"DOUBLE", "FLOAT", "REAL"}
_TYPES: dict[Comparison, str] = {
    "as_text": "VARCHAR", "as_numeral": "VARCHAR", "as_number": "DOUBLE",
}  # fmt: skip
"""The type of the values that are compared in another form than their own."""


class ComparedColumn(NamedTuple):
    """A column of the synthetic table with its counterpart in each of the other tables."""

    columns: tuple[BoundColumn, ...]
    """In the synthetic table, the original and the holdout, if there is one."""

    @property
    def name(self) -> str:
        return self.columns[0].name

    @property
    def can_be_equal(self) -> bool:
        """Whether values of all tables can be equal, if only as text."""
        kinds = {family(column.type) or "text" for column in self.columns}
        return len(kinds - {"text", "nothing"}) <= 1

    @property
    def how(self) -> Comparison:
        """How the values are compared: two types of numbers as floats, where one is, so that equal
        numbers are equal; numbers and their text as text, spelled in one way; other types that
        would merge or refuse them as text."""
        types = {column.type for column in self.columns}
        kinds = {family(column.type) for column in self.columns}
        if len(types) == 1 or (
            len(kinds) == 1 and not kinds & {"text", ""} and not types & _FLOATS
        ):
            return "as_is"
        if kinds == {"text", "number"}:
            return "as_numeral"
        return "as_number" if kinds == {"number"} else "as_text"

    @property
    def stacked(self) -> BoundColumn:
        """The column of the stack."""
        own = replace(self.columns[0], generalised=None, joined=None, started=None)
        return replace(own, type=_TYPES[self.how]) if self.how in _TYPES else own


class StackedCell(NamedTuple):
    """A column of a stacked table, with how its cells are compared, as template arguments."""

    column: BoundColumn
    how: Comparison

    @classmethod
    def of(cls, column: BoundColumn, how: Comparison) -> StackedCell:
        is_so = column.type == _TYPES.get(how) and how != "as_numeral"
        return cls(column, "as_is" if is_so else how)


class StackedTable(NamedTuple):
    """One of the stacked tables, as template arguments."""

    letter: str
    relation: str
    cells: tuple[StackedCell, ...]
    person: StackedCell | None


class Stack(NamedTuple):
    """The tables below one another, as template arguments."""

    tables: tuple[StackedTable, ...]
    columns: tuple[BoundColumn, ...]
    people: bool


@dataclass(frozen=True, kw_only=True)
class SyntheticStep(PlannedStep):
    """A step whose rows answer checks, which count as many records (people) as the first ones."""

    checks: tuple[BoundCheck, ...]
    counts_all: bool = True
    """Whether it counts every record: not where those without a value are left out."""

    def agrees(self, question: ResolvedQuestion, answers: Answers) -> bool:
        first = answers.row(MADE_FROM)
        rows = answers.rows(self.name)
        if not (self.counts_all and first and rows and "kanon_attacked" in rows[0]):
            return True
        return all(
            sum(int(row[name] or 0) for row in rows) == attacked(first, letter)
            for name, letter in (("kanon_attacked", "o"), ("kanon_holdout", "h"))
            if name in rows[0]
        )


@dataclass(frozen=True, kw_only=True)
class ChosenStep(SyntheticStep):
    """A step on those columns that the rows of the steps before it leave."""

    choose: Callable[[Answers], Statement]

    def chosen(self, answers: Answers) -> Statement:
        return self.choose(answers)


@dataclass(frozen=True, kw_only=True)
class ClaimsStep(SyntheticStep):
    """The step on small sets of quasi-identifiers."""

    sets: tuple[tuple[int, int], ...]
    """The number of sets by their size."""


def attacked(row: Row, letter: str) -> int:
    """The people of a table, or its records without an entity."""
    people = row[f"kanon_people_{letter}"]
    return int(row[f"kanon_records_{letter}"] if people is None else people)


def bound(model: SyntheticModel, scope: CheckScope) -> BoundCheck:
    """A check with its sensitive attribute. Raises `SpecError` without an original."""
    spec = scope.spec
    if spec.original is None:
        raise SpecError(
            f"{model.name()} needs an original, the table that a synthetic one was made from: "
            f"name it with {option('original', 'SRC')}."
        )
    if model.parameters.get("max_excess") is not None and spec.holdout is None:
        raise SpecError(
            f"{model.name()}: max_excess needs a holdout, records that the generator has not seen: "
            f"name it with {option('holdout', 'SRC')}."
        )
    if isinstance(model, SinglingOut):
        _refuse_too_many(model, scope)
    if not isinstance(model, AttributionModel):
        return BoundCheck(model, requested=True)
    name = sensitive_name(model, scope.table, scope.sensitive)
    column = next(column for column in scope.sensitive if column.name == name)
    named = model.model_copy(update={"sensitive": name})
    return BoundCheck(named, requested=True, column=column)


def measured(scope: CheckScope, requested: Sequence[Model]) -> Iterator[BoundCheck]:
    """What is measured of a synthetic table unless something is required, or asked of it."""
    if any(model.gates or isinstance(model, SyntheticModel) for model in requested):
        return
    singled_out = SinglingOut()
    _refuse_too_many(singled_out, scope)
    models: list[SyntheticModel] = [CopiedRecords(), ReplicatedUniques(), singled_out]
    yield from (BoundCheck(model, requested=False) for model in models)
    for column in scope.sensitive:
        for of_values in (DisclosiveInSynthetic, CorrectAttribution):
            model = of_values(sensitive=column.name)
            yield BoundCheck(model, requested=False, column=column)


def _refuse_too_many(model: SinglingOut, scope: CheckScope) -> None:
    columns = next(other for other in scope.others if other.kind is ORIGINAL).columns
    refuse_too_many(f"{model.name()} m={model.m}", len(columns), model.m)


def own_arguments(question: ResolvedQuestion, check: BoundCheck) -> Iterator[tuple[str, Any]]:
    """The stacked tables of a check's own statement."""
    targets = [_pair(question, check.column)] if check.column else []
    if isinstance(check.model, CopiedRecords):
        yield "stack", _stack(question, list(shared_columns(question)))
    else:
        yield "stack", _stack(question, [*_keys(question), *targets])


# --- the columns ----------------------------------------------------------------------------


def _others(question: ResolvedQuestion) -> list[OtherTable]:
    """The original, and the holdout if there is one."""
    return [question.made_from[kind] for kind in (ORIGINAL, HOLDOUT) if kind in question.made_from]


def _pair(question: ResolvedQuestion, column: BoundColumn) -> ComparedColumn:
    """A key or a target with its counterparts. Raises `SpecError` if they can never be equal."""
    own = _at_level(question, column)
    others = _others(question)
    compared = ComparedColumn((own, *(other.column_of(column) for other in others)))
    if not compared.can_be_equal:
        other, there = next(
            (other, there)
            for other, there in zip(others, compared.columns[1:], strict=True)
            if not ComparedColumn((own, there)).can_be_equal
        )
        with located(*other.kind.place(other.name)):
            raise SpecError(
                f'{other.called}: column "{there.name}" is {there.type}, and "{own.name}" of '
                f"{question.table.name} is {own.type}: they can never be equal. Give both the same "
                "type."
            )
    return compared


def _at_level(question: ResolvedQuestion, column: BoundColumn) -> BoundColumn:
    """The column as it is compared: at its level, if it has one."""
    columns = (*question.quasi_identifiers, *question.sensitive)
    return next(each for each in columns if each.name == column.name)


def _keys(question: ResolvedQuestion) -> list[ComparedColumn]:
    return [_pair(question, column) for column in question.quasi_identifiers]


def _counterparts(question: ResolvedQuestion) -> Iterator[ComparedColumn]:
    """Every column of the synthetic table that all tables have, but entity and identifiers, in the
    order of the table."""
    others = _others(question)
    required = {column.name: column for column in required_columns(question)}
    shared = {name for name in others[0].shared if all(name in other.shared for other in others)}
    for number, column in enumerate(question.table.columns, start=1):
        if column.name in required:
            yield _pair(question, required[column.name])
        elif column.name in shared:
            counterparts = (other.shared[column.name] for other in others)
            own = bound_column(column)
            is_generated = own.alias.casefold().startswith("kanon_") or BLANK_FIRST.match(own.alias)
            alias = f"kanon_shared_{number}" if is_generated else own.alias
            yield ComparedColumn((replace(own, alias=alias), *counterparts))


def required_columns(question: ResolvedQuestion) -> tuple[BoundColumn, ...]:
    """The keys and the targets, which must have values in common with the original."""
    return (*question.quasi_identifiers, *question.sensitive)


def _is_countable(question: ResolvedQuestion, compared: ComparedColumn) -> bool:
    """Whether every table can group the values of a column, and types let them be equal. Keys and
    targets were refused otherwise."""
    if compared.name in {column.name for column in required_columns(question)}:
        return True
    tables = (question.table, *(other.table for other in _others(question)))
    for table, column in zip(tables, compared.columns, strict=True):
        raw = next(each for each in table.columns if each.name == column.name)
        kind = family(column.type)
        if raw.unusable_because or kind in ("nested", "span"):
            return False
        # An unknown type is that of a table that nobody has opened.
        if not (table.embedded or kind == "" or [*countable([raw], question)]):
            return False
    return compared.can_be_equal


def shared_columns(question: ResolvedQuestion) -> Iterator[ComparedColumn]:
    """The columns of whole records."""
    return (each for each in _counterparts(question) if _is_countable(question, each))


def further_columns(question: ResolvedQuestion) -> list[ComparedColumn]:
    """The columns of whole records that are neither key nor target."""
    required = {column.name for column in required_columns(question)}
    return [each for each in shared_columns(question) if each.name not in required]


def doubtful_columns(question: ResolvedQuestion, answers: Answers) -> list[ComparedColumn]:
    """The columns of which no value is in two different copied records, so that their values are
    counted: others have values in common, and are no running number, which hides copies."""
    row = answers.row(COPIES) or {}
    return [
        column
        for number, column in enumerate(further_columns(question), start=1)
        if not row.get(f"kanon_repeats_{number}")
    ]


def counted_values(question: ResolvedQuestion, answers: Answers) -> Iterator[tuple[str, Row]]:
    """The name of each of these columns with the row on its values."""
    return by_column(doubtful_columns(question, answers), answers.rows(FURTHER_IN_COMMON))


def left_out(question: ResolvedQuestion, answers: Answers) -> list[str]:
    """The columns that have no value in common with the original, though one of them has values."""
    counted = counted_values(question, answers)
    return [name for name, row in counted if _has_nothing_in_common(row)]


def types_differ(question: ResolvedQuestion) -> list[str]:
    """The names of shared columns whose types can't be compared."""
    return [each.name for each in _counterparts(question) if not _is_countable(question, each)]


def lacking_in_holdout(question: ResolvedQuestion) -> list[str]:
    """The columns of the table and its original that the holdout lacks."""
    original, *holdouts = _others(question)
    names = [column.name for column in question.table.columns if column.name in original.shared]
    return [name for name in names if not all(name in other.shared for other in holdouts)]


# --- the stack ------------------------------------------------------------------------------


def _stack(question: ResolvedQuestion, compared: Sequence[ComparedColumn]) -> Stack:
    """The tables with these columns."""
    others = _others(question)
    entities = [question.entity, *(other.entity for other in others)]
    named = [entity for entity in entities if entity]
    types = {entity.type for entity in named}
    # Some databases have no least value of another type, such as uuid.
    is_one_type = len(types) <= 1 and all(
        family(type) in ("text", "number") and type != "UUID" for type in types
    )
    own = with_entity(question, [each.columns[0] for each in compared])
    relations = [records(question, own)]
    for index, other in enumerate(others, start=1):
        columns = [each.columns[index] for each in compared]
        relations.append(
            other_records(other, [*columns, *([other.entity] if other.entity else [])])
        )
    tables = tuple(
        StackedTable(
            letter,
            relation,
            tuple(StackedCell.of(each.columns[index], each.how) for each in compared),
            StackedCell.of(entity, "as_is" if is_one_type else "as_text") if entity else None,
        )
        for index, (letter, relation, entity) in enumerate(
            zip("soh", relations, entities, strict=False)
        )
    )
    return Stack(tables, tuple(each.stacked for each in compared), bool(named))


# --- the steps ------------------------------------------------------------------------------


def steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """Every step on a synthetic table; none without an original."""
    if ORIGINAL not in question.made_from:
        return
    yield PlannedStep(
        statement=_made_from(question), refuse=lambda rows: _is_empty(question, rows[0])
    )
    if HOLDOUT in question.made_from and question.made_from[HOLDOUT].entity:
        yield PlannedStep(
            statement=_people_in_both(question), refuse=lambda rows: _in_both(question, rows[0])
        )
    required = [_pair(question, column) for column in required_columns(question)]
    yield PlannedStep(
        statement=_values_in_common(question, IN_COMMON, required),
        when=with_records,
        refuse=partial(_nothing_in_common, question),
    )
    yield from _steps_of_checks(question)


def _steps_of_checks(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    def of(*models: type[Model]) -> tuple[BoundCheck, ...]:
        return tuple(check for check in question.checks if isinstance(check.model, models))

    if uniques := of(ReplicatedUniques):
        yield SyntheticStep(statement=_uniques(question), when=with_records, checks=uniques)
    for column in question.sensitive:
        of_column = tuple(
            check for check in of(AttributionModel) if check.column == _raw(column, question)
        )
        if of_column:
            yield SyntheticStep(
                statement=_attributed(question, column, of_column),
                when=with_records,
                checks=of_column,
                counts_all=not question.unknown,
            )
    if copies := of(CopiedRecords):
        yield from _steps_of_copies(question, copies)
    claims = of(SinglingOut)
    most = dict.fromkeys(check.model.parameters["m"] for check in claims)
    for m in most:
        name = "singling_out" if len(most) == 1 else f"singling_out_{m}"
        subsets = subsets_up_to(len(question.quasi_identifiers), m)
        statement = partial(_claims, question, name, m, subsets)
        yield ClaimsStep(
            statement=statement(),
            when=with_records,
            suits=_shares_classes if question.table.embedded else lambda answers: True,
            otherwise=partial(statement, by_class=False),
            checks=tuple(check for check in claims if check.model.parameters["m"] == m),
            sets=tuple((size.number, 1 + size.last - size.first) for size in sizes_of(subsets)),
        )


def _steps_of_copies(
    question: ResolvedQuestion, checks: tuple[BoundCheck, ...]
) -> Iterator[PlannedStep]:
    """Whole records of all columns; where these don't show that each has values in common, the
    values are counted, and the columns without any left out."""
    columns, further = [*shared_columns(question)], further_columns(question)
    yield SyntheticStep(
        statement=_copies(question, COPIES, columns, further), when=with_records, checks=checks
    )
    if not further:
        return
    in_common = partial(_values_in_common, question, FURTHER_IN_COMMON)
    yield ChosenStep(
        statement=in_common(further, only=_ONLY_DOUBTFUL),
        when=lambda answers: with_records(answers) and bool(doubtful_columns(question, answers)),
        checks=(),
        choose=lambda answers: in_common(doubtful_columns(question, answers)),
    )
    again = partial(_copies, question, COMPARABLE_COPIES)
    yield ChosenStep(
        statement=again(columns, only=_ONLY_COMPARABLE),
        when=lambda answers: bool(left_out(question, answers)),
        checks=checks,
        choose=lambda answers: again(
            [each for each in columns if each.name not in left_out(question, answers)]
        ),
    )


def _raw(column: BoundColumn, question: ResolvedQuestion) -> BoundColumn:
    """The sensitive attribute at raw values, as checks have it."""
    return next(each for each in question.roles.sensitive if each.name == column.name)


def _tables_in_words(question: ResolvedQuestion) -> str:
    names = [audited(question), *(other.table.name for other in _others(question))]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _units(question: ResolvedQuestion) -> str:
    return "people" if question.made_from[ORIGINAL].entity else "records"


def _made_from(question: ResolvedQuestion) -> Statement:
    others = _others(question)
    tables = [
        StackedTable(
            letter,
            other_records(other, [other.entity or other.quasi_identifiers[0]]),
            (),
            StackedCell.of(other.entity, "as_is") if other.entity else None,
        )
        for letter, other in zip("oh", others, strict=False)
    ]
    return step(
        question,
        MADE_FROM,
        f"How many records{' and people' if others[0].entity else ''} have "
        f"{' and '.join(other.table.name for other in others)}?",
        render("made_from", tables=tables),
    )


def _is_empty(question: ResolvedQuestion, row: Row) -> str | None:
    for letter, other in zip("oh", _others(question), strict=False):
        if not row[f"kanon_records_{letter}"]:
            return (
                f"{other.table.name}: {other.called} has no record to compare with. Check the "
                "source and the filter."
            )
    return None


def _people_in_both(question: ResolvedQuestion) -> Statement:
    original, holdout = _others(question)
    columns = ComparedColumn(tuple(other.entity for other in (original, holdout) if other.entity))
    tables = [
        StackedTable(
            letter, other_records(other, [entity]), (), StackedCell.of(entity, columns.how)
        )
        for letter, other, entity in zip("oh", (original, holdout), columns.columns, strict=True)
    ]
    return step(
        question,
        IN_BOTH,
        f"How many people of {holdout.table.name} are in {original.table.name} too?",
        render("people_in_both", original=tables[0], holdout=tables[1]),
    )


def _in_both(question: ResolvedQuestion, row: Row) -> str | None:
    both, people = int(row["kanon_in_both"]), int(row["kanon_people"])
    if not both:
        return None
    return (
        f"{question.made_from[HOLDOUT].table.name}: {both:,} of {people:,} people of the holdout "
        f"{'is' if both == 1 else 'are'} in the original, and a holdout must not have been used. "
        "Leave them out of it."
    )


def _values_in_common(
    question: ResolvedQuestion, name: str, columns: Sequence[ComparedColumn], only: str = ""
) -> Statement:
    others = _others(question)[:1]
    without_holdout = [ComparedColumn(each.columns[:2]) for each in columns]
    stacks = [
        _stack_of_values(question, others[0], each, column.how)
        for each, column in zip(without_holdout, columns, strict=True)
    ]
    return step(
        question,
        name,
        f"How many values has each column of {audited(question)}, and how many in common with "
        f"{others[0].table.name}?",
        render("values_in_common", stacks=stacks),
        only=only,
    )


def _stack_of_values(
    question: ResolvedQuestion, original: OtherTable, compared: ComparedColumn, how: Comparison
) -> Stack:
    """One column of the synthetic table and of the original."""
    own, there = compared.columns
    relations = (records(question, [own]), other_records(original, [there]))
    tables = tuple(
        StackedTable(letter, relation, (StackedCell.of(column, how),), None)
        for letter, relation, column in zip("so", relations, compared.columns, strict=True)
    )
    return Stack(tables, (compared.stacked,), people=False)


def by_column(
    columns: Sequence[ComparedColumn | BoundColumn], rows: Sequence[Row]
) -> Iterator[tuple[str, Row]]:
    """The name of each column with the row on its values; a database gives rows in any order."""
    by_number = {int(row["kanon_column"]): row for row in rows}
    return ((columns[number - 1].name, by_number[number]) for number in sorted(by_number))


def _has_nothing_in_common(row: Row) -> bool:
    is_empty = not row["kanon_in_synthetic"] and not row["kanon_in_original"]
    return not row["kanon_common"] and not is_empty


def _is_without_values(row: Row) -> bool:
    """Whether a column is empty in one of the two tables."""
    return bool(row["kanon_in_synthetic"]) != bool(row["kanon_in_original"])


def _nothing_in_common(question: ResolvedQuestion, rows: Sequence[Row]) -> str | None:
    """Error message if a key or a target has no value in common: every figure would be 0."""
    counted = by_column(required_columns(question), rows)
    found = {name: row for name, row in counted if _has_nothing_in_common(row)}
    if not found:
        return None
    names = [*found]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    has, it = ("has", "it") if len(names) == 1 else ("have", "each")
    common = f"{question.table.name}: {listed} {has} no value in common with the original"
    if all(map(_is_without_values, found.values())):
        return f"{common}, as one of the tables has NULL alone there."
    return f"{common} (02138 against 2138?): write both the same way, or give {it} a level."


def _uniques(question: ResolvedQuestion) -> Statement:
    keys = _keys(question)
    return step(
        question,
        CLASSES,
        f"How many {_units(question)} of the original are alone by "
        f"{name_list(question.quasi_identifiers)}, found, and again alone, of "
        f"{_tables_in_words(question)}?",
        render("replicated_uniques", stack=_stack(question, keys)),
        ReplicatedUniques,
    )


def lists_of_allowed(checks: Sequence[BoundCheck]) -> list[list[Any]]:
    """The different lists of values that do no harm; an empty one where nothing is allowed."""
    lists = [
        list(check.model.allowed or ())
        for check in checks
        if isinstance(check.model, DisclosiveInSynthetic)
    ]
    return [values for index, values in enumerate(lists) if values not in lists[:index]] or [[]]


def _attributed(
    question: ResolvedQuestion, column: BoundColumn, checks: Sequence[BoundCheck]
) -> Statement:
    models = dict.fromkeys(type(check.model) for check in checks)
    return step(
        question,
        f"synthetic_{column.name}",
        f"How many {_units(question)} of the original are told their {column.name}, or guess it, "
        f"by {name_list(question.quasi_identifiers)}, of {_tables_in_words(question)}?",
        render(
            "disclosive_in_synthetic",
            stack=_stack(question, [*_keys(question), _pair(question, column)]),
            allowed=lists_of_allowed(checks),
            unknown=question.unknown,
        ),
        *models,
    )


def _copies(
    question: ResolvedQuestion,
    name: str,
    columns: Sequence[ComparedColumn],
    further: Sequence[ComparedColumn] = (),
    only: str = "",
) -> Statement:
    return step(
        question,
        name,
        f"How many {_units(question)} of the original are in the synthetic table, whole "
        f"({plural(len(columns), 'column')}), of {_tables_in_words(question)}?",
        render(
            "copied_records",
            stack=_stack(question, columns),
            further=[each.stacked for each in further],
            hashed=question.table.embedded,
        ),
        CopiedRecords,
        only=only,
    )


def _shares_classes(answers: Answers) -> bool:
    """Whether there are few enough classes that it pays to count them before small sets."""
    classes = sum(int(row["kanon_classes"]) for row in answers.sizes)
    return 2 * classes < sum(int(row["kanon_records"]) for row in answers.sizes)


def _claims(
    question: ResolvedQuestion,
    name: str,
    m: int,
    subsets: Sequence[Subset],
    *,
    by_class: bool = True,
) -> Statement:
    keys = _keys(question)
    return step(
        question,
        name,
        f"How many {_units(question)} of the original are singled out by at most {m} of "
        f"{name_list(question.quasi_identifiers)}, of {_tables_in_words(question)}?",
        render(
            "singling_out",
            stack=_stack(question, keys),
            subsets=subsets,
            sizes=[size.number for size in sizes_of(subsets)],
            by_class=by_class,
            sorts=not question.table.embedded,
        ),
        SinglingOut,
    )
