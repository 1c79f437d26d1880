"""The steps that join a release with a reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from kanon_sql.models.base import AT_RISK, Model, ReferenceModel
from kanon_sql.models.reference.models import DeltaPresence, JournalistRisk, KMap
from kanon_sql.plan.answers import Answers, people_in, total
from kanon_sql.plan.check_scope import CheckScope, other_table_name
from kanon_sql.plan.check_sql import (
    LabelledCheck,
    Named,
    labelled,
    out_of_bounds,
    population_of,
    records_column,
    reference_of,
)
from kanon_sql.plan.join_columns import sides
from kanon_sql.plan.pass_conditions import class_conditions, people_conditions
from kanon_sql.plan.question import BoundCheck, ResolvedQuestion
from kanon_sql.plan.steps import (
    PlannedStep,
    audited,
    counts_everyone,
    fails,
    in_several_classes,
    name_at_levels,
    name_list,
    records,
    statement_named,
    step,
    with_records,
)
from kanon_sql.question.other_tables import REFERENCE
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import family


@dataclass(frozen=True, kw_only=True)
class ReferenceStep(PlannedStep):
    """The step that joins the release with one reference, and the checks it answers."""

    reference: str
    checks: tuple[LabelledCheck, ...]
    people: PlannedStep | None = None
    """The same counts per person, for people with records in several classes."""

    def agrees(self, question: ResolvedQuestion, answers: Answers) -> bool:
        counted = {"kanon_classes": total(answers.sizes, "kanon_classes")}
        if not question.wildcard:
            counted["kanon_sizes"] = people_in(answers.sizes)
        return counts_everyone(self, answers) and all(
            int(row[column]) == count
            for row in answers.rows(self.name)
            for column, count in counted.items()
        )


def _generalised_cells(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step that looks for a generalised cell; none if matching by equality never suffices, or
    if every check matches so."""
    texts = [column for column in question.quasi_identifiers if family(column.type) in ("", "text")]
    is_matched = any(
        isinstance(check.model, ReferenceModel)
        and check.model.reference is not None
        and check.model.match == "containment"
        for check in question.checks
    )
    are_generalised = any(column.generalised for column in texts) or question.recoded
    if not texts or not is_matched or are_generalised or question.wildcard:
        return
    looking = step(
        question,
        "generalised_cells",
        f"How many records of {question.table.name} may have a generalised cell in "
        f"{name_list(texts)}: *, a mask, an interval or a range?",
        render("generalised_cells", relation=records(question, texts), columns=texts),
        only="before a reference is matched; without such a cell, texts are compared by equality",
    )
    yield PlannedStep(statement=looking)


def _may_be_generalised(answers: Answers) -> bool:
    """Whether a cell of the release may stand for several values."""
    row = answers.row("generalised_cells")
    return row is None or bool(row["kanon_generalised"])


def bound(model: ReferenceModel, scope: CheckScope) -> BoundCheck:
    """A check with its reference. Raises `SpecError` without one."""
    name = other_table_name(REFERENCE, model, list(scope.spec.references))
    return BoundCheck(model.model_copy(update={"reference": name}), requested=True)


def measured(scope: CheckScope, requested: Sequence[Model]) -> Iterator[BoundCheck]:
    """k-map of each reference."""
    matched = {model.reference for model in requested if isinstance(model, KMap)}
    for reference in scope.spec.references:
        if reference not in matched:
            yield BoundCheck(KMap(reference=reference), requested=False)


def own_arguments(question: ResolvedQuestion, check: BoundCheck) -> Iterator[tuple[str, Any]]:
    """The arguments of a check's own statement about its reference."""
    assert isinstance(check.model, ReferenceModel)
    yield "sides", sides(question, reference_of(question, check), check.model.match)
    yield "union", check.model.missing == "union"
    yield "complete", check.model.missing == "error"


def steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The step that looks for generalised cells, and those on each reference."""
    yield from _generalised_cells(question)
    for reference in _references(question):
        yield reference
        yield from [reference.people] if reference.people else ()


def _references(question: ResolvedQuestion) -> Iterator[ReferenceStep]:
    """One step per reference, match mode and macro, shared by the checks that use it.

    δ-presence is measured on the reference's classes, so it has a step of its own.
    """
    checks_by_key: dict[tuple[str, str, str], list[BoundCheck]] = {}
    for check in question.checks:
        if isinstance(check.model, ReferenceModel) and check.model.reference is not None:
            key = (check.model.reference, check.model.match, check.model.statement)
            checks_by_key.setdefault(key, []).append(check)
    for (name, match, macro), requested in checks_by_key.items():
        statements = partial(_with_reference, question, name, match, macro, requested)
        ungeneralised = cache(partial(statements, ungeneralised=True))
        classes, *of_people = statements()
        of_presence = any(check.model.of_reference for check in requested)
        of_person = [
            PlannedStep(
                statement=people,
                when=partial(fails, classes.name) if of_presence else in_several_classes,
                suits=_may_be_generalised,
                otherwise=partial(statement_named, people.name, ungeneralised),
            )
            for people in of_people
        ]
        yield ReferenceStep(
            statement=classes,
            when=with_records,
            suits=_may_be_generalised,
            otherwise=partial(statement_named, classes.name, ungeneralised),
            reference=name,
            checks=labelled(requested),
            people=next(iter(of_person), None),
        )


def _with_reference(
    question: ResolvedQuestion,
    name: str,
    match: str,
    macro: str,
    requested: Sequence[BoundCheck],
    *,
    ungeneralised: bool = False,
) -> list[Statement]:
    """The statement on the classes, and the one on people if some may be in several of them.

    With `ungeneralised`, the release has no generalised cells, so that a text matches itself alone.
    """
    reference = question.references[name]
    reference_name = name_at_levels(reference.table.name, reference.generalised)
    checks = labelled(requested)
    risky = render("journalist_risk", bound=AT_RISK)
    risk_measure = render("people_where", predicate=risky, name="at_risk")
    measures = [
        *([risk_measure] if macro == "k_map" else []),
        *_measures(question, checks),
    ]
    at_risk = f" At risk is whoever has a chance above {AT_RISK:g}." if macro == "k_map" else ""
    arguments: dict[str, Any] = {
        "sides": sides(question, reference, "exact" if ungeneralised else match),
        "measures": measures,
        "union": any(check.model.parameters["missing"] == "union" for check in requested),
    }
    models = dict.fromkeys(type(check.model) for check in requested)
    step_name = f"{macro}_{name}" if match == "containment" else f"exact_{macro}_{name}"
    classes = step(
        question,
        step_name,
        f"How many {'people' if reference.entity or reference.weight else 'records'} in "
        f"{reference_name} match each combination of "
        f"{name_list(question.quasi_identifiers)} in {audited(question)}, at least and in "
        f"all?{at_risk}",
        render_known(macro, **arguments),
        *models,
        pass_conditions=class_conditions(checks),
    )
    flags = list(_presence_violations(checks)) if reference.entity else []
    people = (
        step(
            question,
            f"people_of_{step_name}",
            f"How many people of {reference_name} are in a class that is out of bounds?",
            render_known(
                macro,
                **arguments | {"measures": []},
                flags=flags,
            ),
            *models,
            only="where any class is",
            pass_conditions=people_conditions(checks),
        )
        if flags
        else step(
            question,
            f"people_of_{step_name}",
            f"How many in {reference_name} match each person "
            f"of {question.table.name} at least, in any of the person's classes?",
            render_known(macro, **arguments, each_person=True),
            *models,
            only="where people have records in several classes",
        )
        if question.entity and macro == "k_map"
        else None
    )
    return [classes] if people is None else [classes, people]


def _presence_violations(checks: Iterable[LabelledCheck]) -> Iterator[Named]:
    """Predicates for the reference classes outside the bounds of each δ-presence check."""
    for check, label in checks:
        model = check.model
        if isinstance(model, DeltaPresence) and model.gates:
            predicate = out_of_bounds(model, model.class_bounds)
            yield Named(predicate, f"kanon_{label}_violated")


def _measures(question: ResolvedQuestion, checks: Iterable[LabelledCheck]) -> Iterator[str]:
    """Aggregates over all classes for each check against a reference."""
    for check, label in checks:
        model = check.model
        assert isinstance(model, ReferenceModel)
        if isinstance(model, JournalistRisk):
            at_risk = render("journalist_risk", bound=model.threshold)
            yield render("people_where", predicate=at_risk, name=f"{label}_at_risk")
        population = population_of(model)
        if model.of_reference:
            yield render("presence", population=population, label=label)
        if not model.class_bounds:
            continue
        failing, name = out_of_bounds(model, model.class_bounds), f"{label}_violated"
        yield render("classes_where", predicate=failing, name=name)
        if model.of_reference:
            yield render("population_where", predicate=failing, population=population, name=name)
            continue
        yield render(
            "records_where", predicate=failing, name=name, records=records_column(question)
        )
        if question.entity:
            yield render("people_where", predicate=failing, name=name)
