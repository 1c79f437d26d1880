"""The steps that read sensitive attributes, with the predicates by which a class passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kanon_sql.errors import SpecError
from kanon_sql.models.base import Model, SensitiveModel
from kanon_sql.models.catalogue import models_of
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.sizes.plan import required_size, size_conditions
from kanon_sql.models.values.models import Homogeneity, TCloseness
from kanon_sql.plan.answers import Answers, any_fails, classes_by_size, people_in, total
from kanon_sql.plan.check_scope import CheckScope, sensitive_name
from kanon_sql.plan.check_sql import (
    LabelledCheck,
    class_arguments,
    class_measures,
    class_violations,
    columns_of_every_class,
    labelled,
    measures_of_every_class,
    sensitive_measures,
)
from kanon_sql.plan.pass_conditions import (
    class_conditions,
    people_conditions,
    value_conditions,
)
from kanon_sql.plan.preconditions import without_entity
from kanon_sql.plan.question import BoundCheck, BoundColumn, ResolvedQuestion
from kanon_sql.plan.steps import (
    PlannedStep,
    audited,
    counted,
    counts_everyone,
    fails,
    name_list,
    records,
    step,
    with_entity,
    with_records,
)
from kanon_sql.question.hierarchy_table import read_tree
from kanon_sql.sql.macros import render
from kanon_sql.sql.quoting import value_as_text
from kanon_sql.sql.tables import family

_DEFAULT_MODELS = tuple(
    model
    for model in models_of("values").values()
    if issubclass(model, SensitiveModel)
    and not any(field.is_required() for field in model.model_fields.values())
)
"""Sensitive models that need no parameters, so they can be measured by default."""


@dataclass(frozen=True, kw_only=True)
class AttributeStep(PlannedStep):
    """A step on one sensitive attribute."""

    column: BoundColumn


@dataclass(frozen=True, kw_only=True)
class SensitiveStep(AttributeStep):
    """The step that measures one sensitive attribute, with the checks it answers."""

    checks: tuple[LabelledCheck, ...]
    with_others: bool = False
    """Whether its classes also group by the other sensitive attributes."""
    people: PlannedStep | None = None
    """Counts people in violating classes, for people in several of them."""

    def agrees(self, question: ResolvedQuestion, answers: Answers) -> bool:
        rows = answers.rows(self.name)
        return (
            counts_everyone(self, answers)
            and total(rows, "kanon_records") == total(answers.sizes, "kanon_records")
            and (self.with_others or classes_by_size(rows) == classes_by_size(answers.sizes))
        )


class ValuesStep(AttributeStep):
    """Counts the distinct values in the whole table: a constant attribute tells nothing."""


class SpellingsStep(AttributeStep):
    """Counts the values of a text column, and its values after normalising the spelling."""


class DiverseBySpellingStep(AttributeStep):
    """Counts the classes with several values that differ by spelling alone."""


@dataclass(frozen=True, kw_only=True)
class DistanceStep(PlannedStep):
    """The step of one t-closeness check with an ordered or hierarchical distance."""

    labelled: LabelledCheck
    people: PlannedStep | None = None
    """Counts people in violating classes; None without an entity."""

    def agrees(self, question: ResolvedQuestion, answers: Answers) -> bool:
        records = total(answers.sizes, "kanon_records")
        rows = answers.rows(self.name)
        return counts_everyone(self, answers) and all(
            int(row["kanon_records"] or 0) == records for row in rows
        )


@dataclass(frozen=True, kw_only=True)
class NamedValuesStep(PlannedStep):
    """The step counting how many values named by a check occur in the table."""

    check: BoundCheck
    named: int


def bound(model: SensitiveModel, scope: CheckScope) -> BoundCheck:
    """A check with its sensitive attribute. Raises `SpecError` for one of a type that it can't
    measure."""
    spec, table, sensitive, _ = scope
    name = sensitive_name(model, table, sensitive)
    column = next(column for column in sensitive if column.name == name)
    if model.with_other_sensitive and len(sensitive) == 1:
        raise SpecError(
            f"{model.name()}: with_other_sensitive needs other sensitive attributes, and "
            f'"{name}" is the only one.'
        )
    joined = model.with_other_sensitive or (spec.with_other_sensitive and len(sensitive) > 1)
    complete = model.model_copy(update={"sensitive": name, "with_other_sensitive": joined})
    kind = family(column.type)
    if model.of_numbers and kind not in ("number", "text", "nothing", ""):
        raise SpecError(
            f'{model.name()} needs numbers, and "{name}" is {column.type}. Choose another model, '
            "or another attribute."
        )
    if not isinstance(model, TCloseness):
        return BoundCheck(complete, requested=True, column=column)
    has_order = kind in ("number", "text", "time", "boolean", "nothing", "")
    has_order = has_order or column.type in ("TIME", "TIME_NS")
    if model.distance == "ordered" and model.order is None and not has_order:
        raise SpecError(
            f't_closeness: "{name}" is {column.type}, which has no order of its own. List its '
            "values in order, as in order=[low, middle, high]."
        )
    paths = read_tree(model.hierarchy) if model.hierarchy is not None else ()
    return BoundCheck(complete, requested=True, column=column, paths=paths)


def measured(scope: CheckScope, requested: Sequence[Model]) -> Iterator[BoundCheck]:
    """Homogeneity if any check gates, otherwise every model without parameters; in a synthetic
    table, whose records are nobody, those that are requested."""
    spec = scope.spec
    if scope.lacks_classes or spec.nulls == "wildcard" or spec.original:
        return
    required = any(model.gates for model in requested)
    for column in scope.sensitive:
        for model in (Homogeneity,) if required else _DEFAULT_MODELS:
            default = model(sensitive=column.name, with_other_sensitive=spec.with_other_sensitive)
            alike = [check for check in requested if type(check) is model]
            measured_columns = [(check.sensitive, check.with_other_sensitive) for check in alike]
            if (default.sensitive, default.with_other_sensitive) in measured_columns:
                continue
            if not model.of_numbers or family(column.type) == "number":
                yield BoundCheck(default, requested=False, column=column)


def sensitive_steps(question: ResolvedQuestion) -> Iterator[SensitiveStep]:
    """One step per sensitive attribute and attacker; the first also counts class sizes."""
    for index, sensitive in enumerate(question.sensitive):
        checks = [
            check
            for check in question.checks
            if isinstance(check.model, SensitiveModel)
            and check.model.sensitive == sensitive.name
            and not check.model.has_own_distance
        ]
        alone = [check for check in checks if not check.model.knows_others]
        joined = [check for check in checks if check.model.knows_others]
        name = "classes" if index == 0 else f"classes_{sensitive.name}"
        yield _classes_of(question, sensitive, name, alone)
        if joined:
            name = f"classes_{sensitive.name}_with_others"
            yield _classes_of(
                question, sensitive, name, joined, other_sensitive(question, joined[0])
            )


def _classes_of(
    question: ResolvedQuestion,
    sensitive: BoundColumn,
    name: str,
    requested: Sequence[BoundCheck],
    others: Sequence[BoundColumn] = (),
) -> SensitiveStep:
    columns = [*question.quasi_identifiers, *others]
    checks = labelled(requested)
    size = required_size(question) if name == "classes" else None
    arguments: dict[str, Any] = {
        "relation": records(question, with_entity(question, [*columns, sensitive])),
        "columns": [*question.keys, *others],
        "sensitive": sensitive,
        "entity": question.entity,
        "unknown": question.unknown,
        "rolled_up": question.rolled_up,
    }
    of_checks = class_arguments(question, sensitive, checks)
    of_every_class = columns_of_every_class(question, sensitive)
    columns_of_class = list(dict.fromkeys([*of_every_class, *of_checks["class_columns"]]))
    classes = step(
        question,
        name,
        f"How many classes of {audited(question)} by {name_list(columns)} have each size, in "
        f"{counted(question)}, and what do they share of {sensitive.name}?",
        render(
            "sensitive_values",
            **arguments,
            **of_checks | {"class_columns": columns_of_class},
            k=size,
            measures=[
                *measures_of_every_class(question),
                *sensitive_measures(question, sensitive, checks),
            ],
        ),
        KAnonymity,
        *({Homogeneity: None} | {type(check.model): None for check, _ in checks}),
        pass_conditions=[*size_conditions(size), *value_conditions(checks)],
    )
    counted_in_people = [
        labelled_check
        for labelled_check in checks
        if labelled_check.check.gates or labelled_check.check.model.counts_violations
    ]
    violated = list(class_violations(question, sensitive, counted_in_people))
    people = (
        step(
            question,
            f"people_of_{name}",
            f"How many people in {audited(question)} are in a combination of {name_list(columns)} "
            f"that fails a check on {sensitive.name} or has a single value of it?",
            render(
                "sensitive_values",
                **arguments,
                **class_arguments(question, sensitive, counted_in_people),
                flags=violated,
            ),
            *({type(check.model): None for check, _ in counted_in_people}),
            only="where people have records in several of these classes, and some of those fail or "
            "are homogeneous",
            pass_conditions=people_conditions(checks),
        )
        if question.entity and violated
        else None
    )
    return SensitiveStep(
        statement=classes,
        column=sensitive,
        checks=checks,
        with_others=bool(others),
        refuse=partial(without_entity, question),
        people=None
        if people is None
        else PlannedStep(statement=people, when=partial(_fails_for_people, name)),
    )


def _fails_for_people(classes: str, answers: Answers) -> bool:
    """Whether some of these classes fail, and share people."""
    rows = answers.rows(classes)
    return people_in(rows) > answers.number_of_people and any_fails(rows)


def other_sensitive(question: ResolvedQuestion, check: BoundCheck) -> list[BoundColumn]:
    """The other sensitive attributes, if the check assumes an attacker who knows them."""
    checked_column = check.column.name if check.column else None
    return [
        column
        for column in question.sensitive
        if check.model.knows_others and column.name != checked_column
    ]


def distance_steps(question: ResolvedQuestion) -> Iterator[DistanceStep]:
    checks = [
        check
        for check in question.checks
        if isinstance(check.model, TCloseness) and check.model.has_own_distance
    ]
    for labelled_check in labelled(checks):
        check, label = labelled_check
        model, sensitive = check.model, check.column
        assert isinstance(model, TCloseness)
        assert sensitive is not None
        columns = [*question.quasi_identifiers, *other_sensitive(question, check)]
        arguments: dict[str, Any] = of_distance(check) | {
            "relation": records(question, with_entity(question, [*columns, sensitive])),
            "columns": columns,
            "sensitive": sensitive,
            "entity": question.entity,
            "unknown": question.unknown,
            "rolled_up": question.rolled_up,
            "class_measures": list(class_measures(question, sensitive, [labelled_check])),
        }
        name = f"{label}_{model.distance}_{sensitive.name}"
        classes = step(
            question,
            name,
            f"How far is {sensitive.name} in each combination of {name_list(columns)} of "
            f"{audited(question)} from how it is spread in the table, at most?",
            render(
                f"{model.distance}_distance",
                **arguments,
                measures=list(sensitive_measures(question, sensitive, [labelled_check])),
            ),
            TCloseness,
            pass_conditions=class_conditions([labelled_check]),
        )
        violated = list(class_violations(question, sensitive, [labelled_check]))
        people = (
            step(
                question,
                f"people_of_{name}",
                f"How many people in {question.table.name} are in a combination of "
                f"{name_list(columns)} that is too far from the table in {sensitive.name}?",
                render(
                    f"{model.distance}_distance",
                    **arguments,
                    flags=violated,
                ),
                TCloseness,
                only="where any of these classes fails",
                pass_conditions=people_conditions([labelled_check]),
            )
            if question.entity and violated
            else None
        )
        yield DistanceStep(
            statement=classes,
            when=with_records,
            labelled=labelled_check,
            people=None
            if people is None
            else PlannedStep(statement=people, when=partial(fails, name)),
        )


def of_distance(check: BoundCheck) -> dict[str, Any]:
    """The template arguments of a check's distance: an order of values, or the paths of a tree."""
    if check.paths:
        return {"paths": [list(path) for path in check.paths]}
    return {"order": order_of_values(check)}


def order_of_values(check: BoundCheck) -> list[list[object]] | None:
    """The listed values of an ordered distance as text, with their ranks."""
    order = check.model.parameters.get("order")
    if order is None:
        return None
    return [[value_as_text(value), number] for number, value in enumerate(order, start=1)]


def spelling_steps(question: ResolvedQuestion, sensitive: BoundColumn) -> Iterator[PlannedStep]:
    """The steps that detect a constant attribute, or values that differ only in spelling."""
    columns = list(question.quasi_identifiers)
    classes = (
        "classes" if sensitive.name == question.sensitive[0].name else f"classes_{sensitive.name}"
    )
    yield ValuesStep(
        statement=step(
            question,
            f"values_{sensitive.name}",
            f"How many values has {sensitive.name} in the whole of {question.table.name}?",
            render("values_at_all", relation=records(question, [sensitive]), column=sensitive),
            only="where every class has a single value",
        ),
        when=partial(_are_single_valued, classes),
        column=sensitive,
    )
    if not sensitive.is_text:
        return
    spellings = step(
        question,
        f"spellings_{sensitive.name}",
        f"Do any values of {sensitive.name} differ only by case, outer spaces or the spelling of "
        "a number?",
        render("spellings", relation=records(question, [sensitive]), column=sensitive),
    )
    yield SpellingsStep(statement=spellings, when=with_records, column=sensitive)
    yield DiverseBySpellingStep(
        statement=step(
            question,
            f"diverse_by_spelling_{sensitive.name}",
            f"How many classes of {question.table.name} look diverse in {sensitive.name} only "
            "thanks to spelling?",
            render(
                "diverse_by_spelling",
                relation=records(question, [*columns, sensitive]),
                columns=columns,
                sensitive=replace(sensitive, hashed=False),
            ),
            only=f"where {spellings.name} finds fewer spellings than values",
        ),
        when=partial(_differ_by_spelling, spellings.name),
        column=sensitive,
    )


def _are_single_valued(classes: str, answers: Answers) -> bool:
    rows = answers.rows(classes)
    return bool(rows) and all(
        row["kanon_single_value_classes"] == row["kanon_classes"] for row in rows
    )


def _differ_by_spelling(spellings: str, answers: Answers) -> bool:
    row = answers.row(spellings)
    return row is not None and row["kanon_spellings"] != row["kanon_known_values"]


def named_values_steps(question: ResolvedQuestion) -> Iterator[NamedValuesStep]:
    """Steps that detect misspelled values, which would never match and so pass their check."""
    checks = [check for check in question.checks if check.model.named_values]
    for check, label in labelled(checks):
        model, sensitive = check.model, check.column
        assert sensitive is not None
        yield NamedValuesStep(
            check=check,
            named=len(model.named_values),
            statement=step(
                question,
                f"named_in_{label}",
                f"How many of the values that {model.name()} names occur in {sensitive.name}?",
                render(
                    "named_values_that_occur",
                    relation=records(question, [sensitive]),
                    column=sensitive,
                    values=list(model.named_values),
                ),
            ),
        )
