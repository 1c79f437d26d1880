"""The SQL fragments that a check adds to the statement on classes.

Column names are prefixed with the check's label: the model's name, numbered if one statement holds
several checks of that model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kanon_sql.models.base import ReferenceModel, SensitiveModel
from kanon_sql.plan.question import BoundCheck, BoundColumn, OtherTable, ResolvedQuestion
from kanon_sql.sql.macros import declared, macro_names, render, render_known


class Named(NamedTuple):
    """A SQL expression and its alias."""

    expression: str
    name: str


class LabelledCheck(NamedTuple):
    """A check with the prefix of its columns."""

    check: BoundCheck
    label: str


def labelled(checks: Iterable[BoundCheck]) -> tuple[LabelledCheck, ...]:
    """Label the checks of one statement uniquely."""
    counts = Counter[str]()
    labelled_checks = []
    for check in checks:
        name = check.model.name()
        counts[name] += 1
        labelled_checks.append(
            LabelledCheck(check, name if counts[name] == 1 else f"{name}_{counts[name]}")
        )
    return tuple(labelled_checks)


def sensitive_models(
    checks: Iterable[LabelledCheck],
) -> Iterator[tuple[SensitiveModel, LabelledCheck]]:
    """Yield the sensitive models with their checks; homogeneity is measured in any case."""
    for labelled_check in checks:
        model = labelled_check.check.model
        if isinstance(model, SensitiveModel) and not model.counts_violations:
            yield model, labelled_check


def class_arguments(
    question: ResolvedQuestion, sensitive: BoundColumn, checks: Sequence[LabelledCheck]
) -> dict[str, Any]:
    """The template arguments about each class: the relations that the checks need, such as the
    table-wide shares, the distinct aggregates that their models declare, and their measures."""
    needs: set[str] = set()
    for model, _ in sensitive_models(checks):
        needs |= model.needs
    columns: dict[Named, None] = {}
    for labelled_check in checks:
        macro = f"{labelled_check.check.model.name()}_columns"
        if macro in macro_names():
            aggregates = declared(macro, **_arguments(question, sensitive, labelled_check))
            columns |= {Named(column["expression"], column["name"]): None for column in aggregates}
    return {
        "needs": sorted(needs),
        "class_columns": list(columns),
        "class_measures": list(class_measures(question, sensitive, checks)),
    }


def columns_of_every_class(question: ResolvedQuestion, sensitive: BoundColumn) -> list[Named]:
    """The aggregates per class that are measured regardless of the checks."""
    counted = render("counted", entity=question.entity, unknown=question.unknown)
    largest = declared("most_people_columns", counted=counted, entity=question.entity)
    distinct = declared("distinct_columns", sensitive=sensitive, unknown=question.unknown)
    columns = [Named(column["expression"], column["name"]) for column in [*largest, *distinct]]
    if not question.unknown:
        columns.append(Named(render("count_known", sensitive=sensitive), "kanon_known"))
    return columns


def measures_of_every_class(question: ResolvedQuestion) -> Iterator[str]:
    """The aggregates over all classes that are measured regardless of the checks."""
    arguments = {"entity": question.entity, "unknown": question.unknown}
    homogeneous = render("homogeneity", **arguments)
    yield render("classes_where", predicate=homogeneous, name="homogeneous")
    yield render(
        "records_where", predicate=homogeneous, name="homogeneous", records=records_column(question)
    )
    if question.entity:
        among_others = render("certain_among_others", **arguments)
        yield render("classes_where", predicate=among_others, name="certain_among_others")
    if not question.unknown:
        by_null = render("diverse_by_null")
        yield render("classes_where", predicate=by_null, name="diverse_by_null")
    yield render("classes_where", predicate=render("single_value"), name="single_value")


def class_measures(
    question: ResolvedQuestion, sensitive: BoundColumn, checks: Iterable[LabelledCheck]
) -> Iterator[Named]:
    """The measure of each sensitive check on one class, and its companion measure, if any."""
    for model, labelled_check in sensitive_models(checks):
        arguments = _arguments(question, sensitive, labelled_check)
        yield _measure(model, arguments)
        if model.companion:
            companion = render_known(f"{model.name()}_companion", **arguments)
            yield Named(companion, f"kanon_{labelled_check.label}_{model.companion}")


def _measure(model: SensitiveModel, arguments: Mapping[str, Any]) -> Named:
    return Named(render_known(model.name(), **arguments), f"kanon_{arguments['label']}")


def class_verdicts(
    question: ResolvedQuestion, sensitive: BoundColumn, checks: Iterable[LabelledCheck]
) -> Iterator[Named]:
    """Predicates per check: the classes that violate it, and those whose measure is infinite."""
    for model, labelled_check in sensitive_models(checks):
        check, label = labelled_check
        arguments = _arguments(question, sensitive, labelled_check)
        arguments["measure"] = render("figure", measure=_measure(model, arguments))
        suffixes = [("infinite", model.may_be_infinite), ("violated", check.gates)]
        for suffix, is_needed in suffixes:
            if is_needed:
                predicate = render_known(f"{model.name()}_{suffix}", **arguments)
                yield Named(predicate, f"kanon_{label}_{suffix}")


def class_violations(
    question: ResolvedQuestion, sensitive: BoundColumn, checks: Iterable[LabelledCheck]
) -> Iterator[Named]:
    """Predicates for the classes that fail each gating check; homogeneous ones in any case."""
    for check, label in checks:
        if check.model.counts_violations:
            predicate = render("homogeneity", entity=question.entity, unknown=question.unknown)
            yield Named(predicate, f"kanon_{label}_violated")
    for verdict in class_verdicts(question, sensitive, checks):
        if verdict.name.endswith("_violated"):
            yield verdict


def sensitive_measures(
    question: ResolvedQuestion, sensitive: BoundColumn, checks: Iterable[LabelledCheck]
) -> Iterator[str]:
    """Aggregates over all classes for each sensitive check: worst class and violation counts."""
    for model, labelled_check in sensitive_models(checks):
        least = model.worst == "least"
        for measure in class_measures(question, sensitive, [labelled_check]):
            figure = render("figure", measure=measure)
            yield render("worst_class", least=least, figure=figure, name=measure.name)
        for predicate, name in class_verdicts(question, sensitive, [labelled_check]):
            label = name.removeprefix("kanon_")
            yield render("classes_where", predicate=predicate, name=label)
            if name.endswith("_violated"):
                yield render(
                    "records_where",
                    predicate=predicate,
                    name=label,
                    records=records_column(question),
                )


def records_column(question: ResolvedQuestion) -> str:
    """The column with the number of records of a class."""
    return render("records_of_class", entity=question.entity)


def out_of_bounds(model: ReferenceModel, bounds: Mapping[str, Any]) -> str:
    """Predicate for a class, with its sizes in both tables, that violates some bounds."""
    return render_known(model.predicate, population=population_of(model), **bounds)


def population_of(model: ReferenceModel) -> str:
    """The population column: the reference's count, or with `missing: union` that of the union."""
    return "kanon_union" if model.missing == "union" else "kanon_population"


def _arguments(
    question: ResolvedQuestion, sensitive: BoundColumn, labelled_check: LabelledCheck
) -> dict[str, Any]:
    """Every argument that a model's macros may use."""
    check, label = labelled_check
    return {
        **check.model.parameters,
        "sensitive": sensitive,
        "entity": question.entity,
        "unknown": question.unknown,
        "label": label,
        "counted": render("counted", entity=question.entity, unknown=question.unknown),
    }


def reference_of(question: ResolvedQuestion, check: BoundCheck) -> OtherTable:
    """The reference that a check names."""
    assert isinstance(check.model, ReferenceModel)
    assert check.model.reference is not None
    return question.references[check.model.reference]
