"""The comparison of a release with earlier releases of the same people, as named SELECTs.

One step per earlier release counts crowds (people of both releases who share their classes in each)
and the candidate values that each pair of classes leaves of every sensitive attribute. The join of
people to classes is one shared CTE; on databases that inline CTEs at each reference, the step is
split into several smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from kanon_sql.errors import SpecError, option
from kanon_sql.models.base import Model
from kanon_sql.models.earlier.models import ComposedKAnonymity, ComposedLDiversity, ComposedModel
from kanon_sql.plan.answers import Answers
from kanon_sql.plan.check_scope import CheckScope, other_table_name, sensitive_name
from kanon_sql.plan.check_sql import LabelledCheck, labelled
from kanon_sql.plan.join_columns import can_be_equal, column_pair, entity_pair
from kanon_sql.plan.pass_conditions import class_conditions
from kanon_sql.plan.question import BoundCheck, BoundColumn, OtherTable, ResolvedQuestion
from kanon_sql.plan.steps import PlannedStep, name_list, other_records, records, step, with_records
from kanon_sql.question.other_tables import EARLIER
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement
from kanon_sql.sql.tables import Row

_ANSWERS = ("of_release", "of_earlier", "values", "people")
"""The parts of the result of a statement on two releases, as named in its template."""


class Candidates(NamedTuple):
    """A sensitive attribute of both releases, with the checks on its candidate values."""

    place: int
    """Its 1-based position among these attributes, used in the step's column names."""
    column: BoundColumn
    checks: tuple[LabelledCheck, ...]


@dataclass(frozen=True, kw_only=True)
class EarlierStep(PlannedStep):
    """The first step on a release and one earlier release: it counts crowds and candidate values,
    unless further ones do."""

    earlier: str
    checks: tuple[LabelledCheck, ...]
    """The checks on crowds."""
    candidates: tuple[Candidates, ...]
    further: tuple[PlannedStep, ...]

    def fault(self, question: ResolvedQuestion, answers: Answers) -> str | None:
        """Nobody is in both releases: a check on nobody must not hold."""
        crowds = self.row(answers)
        if not crowds or crowds["kanon_in_both"]:
            return None
        return _no_common_people_message(question, question.earlier[self.earlier], crowds)

    def agrees(self, question: ResolvedQuestion, answers: Answers) -> bool:
        crowds = self.row(answers)
        people = answers.number_of_people
        return not crowds or int(crowds["kanon_in_both"]) + int(crowds["kanon_joiners"]) == people

    def row(self, answers: Answers) -> Row:
        """The row of each of the steps, merged into one; empty without records."""
        steps = (self, *self.further)
        return {
            name: value for step in steps for name, value in (answers.row(step.name) or {}).items()
        }


def bound(model: ComposedModel, scope: CheckScope) -> BoundCheck:
    """A check with its earlier release and its column."""
    earlier = _earlier_of(scope)
    release = earlier[other_table_name(EARLIER, model, list(earlier))]
    named = model.model_copy(update={"earlier": release.name})
    if not isinstance(named, ComposedLDiversity):
        return BoundCheck(named, requested=True)
    name = sensitive_name(named, scope.table, scope.sensitive)
    if name not in release.sensitive:
        raise SpecError(
            f'{model.name()}: {release.called} has no column "{name}". If it is '
            f"called otherwise there, say how: {option('earlier_releases.columns', {name: '…'})}. "
            f"Its columns: {', '.join(release.table.column_names)}."
        )
    column = next(column for column in scope.sensitive if column.name == name)
    return BoundCheck(named.model_copy(update={"sensitive": name}), requested=True, column=column)


def measured(scope: CheckScope, requested: Sequence[Model]) -> Iterator[BoundCheck]:
    """What is measured of each earlier release composed with this one."""
    for name, release in _earlier_of(scope).items():
        of_release = [m for m in requested if isinstance(m, ComposedModel) and m.earlier == name]
        if not any(isinstance(model, ComposedKAnonymity) for model in of_release):
            yield BoundCheck(ComposedKAnonymity(earlier=name), requested=False)
        measured_columns = {m.sensitive for m in of_release if isinstance(m, ComposedLDiversity)}
        for column in scope.sensitive:
            other = release.sensitive.get(column.name)
            if column.name not in measured_columns and other and can_be_equal(column, other):
                model = ComposedLDiversity(sensitive=column.name, earlier=name)
                yield BoundCheck(model, requested=False, column=column)


def _earlier_of(scope: CheckScope) -> dict[str, OtherTable]:
    return {other.name: other for other in scope.others if other.kind is EARLIER}


def own_arguments(question: ResolvedQuestion, check: BoundCheck) -> Iterator[tuple[str, Any]]:
    """The arguments of a check's own statement about its earlier release."""
    assert isinstance(check.model, ComposedModel)
    assert check.model.earlier is not None
    earlier = question.earlier[check.model.earlier]
    people = entity_pair(question, earlier)
    sensitive = [check.column] if check.column else []
    earlier_sensitive = [earlier.sensitive[column.name] for column in sensitive]
    columns = [*earlier.quasi_identifiers, people.reference, *earlier_sensitive]
    yield "entities", people
    yield "earlier", other_records(earlier, columns)
    yield "earlier_columns", list(earlier.quasi_identifiers)
    for column, other in zip(sensitive, earlier_sensitive, strict=True):
        yield "values", column_pair(question, earlier, column, other)


def steps(question: ResolvedQuestion) -> Iterator[PlannedStep]:
    """The steps on each earlier release."""
    for earlier in _first_steps(question):
        yield from (earlier, *earlier.further)


def _first_steps(question: ResolvedQuestion) -> Iterator[EarlierStep]:
    """One `EarlierStep` per earlier release, with the checks on it."""
    for name, earlier in question.earlier.items():
        checks = [
            check
            for check in question.checks
            if isinstance(check.model, ComposedModel) and check.model.earlier == name
        ]
        crowds = labelled(check for check in checks if isinstance(check.model, ComposedKAnonymity))
        of_values = [check for check in checks if isinstance(check.model, ComposedLDiversity)]
        by_column = [
            (column, labelled(of_column))
            for column in question.sensitive
            if (of_column := [value for value in of_values if value.column == column])
        ]
        candidates = tuple(
            Candidates(number, column, labels)
            for number, (column, labels) in enumerate(by_column, start=1)
        )
        first, *others = _statements(question, earlier, crowds, candidates)
        yield EarlierStep(
            statement=first,
            when=with_records,
            earlier=name,
            checks=crowds,
            candidates=candidates,
            further=tuple(PlannedStep(statement=other, when=with_records) for other in others),
        )


def _no_common_people_message(question: ResolvedQuestion, earlier: OtherTable, crowds: Row) -> str:
    release = question.table.name
    if not crowds["kanon_leavers"]:
        return (
            f"{earlier.table.name}: {earlier.called} has no record to compare with. Check the "
            "source and the filter."
        )
    entities = [f'"{column.name}"' for column in (question.entity, earlier.entity) if column]
    keys = " and ".join(dict.fromkeys(entities))
    return (
        f"nobody is in both {release} ({int(crowds['kanon_joiners']):,} people) and "
        f"{earlier.table.name} ({int(crowds['kanon_leavers']):,} people), so they can't be "
        f"compared. Are the keys in {keys} the same in both, or were they drawn anew for each "
        "release? The audit needs the original keys."
    )


def _statements(
    question: ResolvedQuestion,
    earlier: OtherTable,
    crowds: Sequence[LabelledCheck],
    candidates: Sequence[Candidates],
) -> Iterator[Statement]:
    """One statement, or several if the database inlines CTEs: see `Table.rereads`."""
    releases = f"{question.table.name} and {earlier.table.name}"
    classes = (
        f"{name_list(question.quasi_identifiers)}, and there "
        f"{name_list(earlier.quasi_identifiers)}{_generalised(earlier)}"
    )
    attributes = name_list([candidate.column for candidate in candidates]) if candidates else ""
    crowd_question = (
        f"How many people are in both {releases}, and share their classes in either: {classes}"
    )
    crowd_conditions = list(class_conditions(crowds))
    pair_conditions = [
        condition
        for candidate in candidates
        for condition in class_conditions(candidate.checks, f"_{candidate.place}")
    ]
    statement = partial(_statement, question, earlier, crowds, candidates)
    if not question.table.rereads:
        values = f", and how many values of {attributes} are left of them" if attributes else ""
        yield statement(
            "", f"{crowd_question}{values}?", _ANSWERS, [*crowd_conditions, *pair_conditions]
        )
        return
    yield statement("", f"{crowd_question}?", ["of_release"], crowd_conditions)
    yield statement(
        "_leavers",
        f"How many people of {releases} are in the latter alone: {classes}?",
        ["of_earlier"],
    )
    if attributes:
        words = f"How many values of {attributes} are left by {releases} together: {classes}?"
        yield statement("_values", words, ["values"], pair_conditions)
        words = (
            f"How many people are in a pair of classes of {releases} that leaves one value of "
            f"{attributes}, none, or too few: {classes}?"
        )
        yield statement("_people", words, ["people"])


def _statement(
    question: ResolvedQuestion,
    earlier: OtherTable,
    crowds: Sequence[LabelledCheck],
    candidates: Sequence[Candidates],
    suffix: str,
    words: str,
    answers: Sequence[str],
    pass_conditions: Sequence[str] = (),
) -> Statement:
    """A statement with some of the `answers`."""
    of_values = "values" in answers or "people" in answers
    models = [
        *([ComposedKAnonymity] if "of_release" in answers or "of_earlier" in answers else []),
        *([ComposedLDiversity] if candidates and of_values else []),
    ]
    return step(
        question,
        f"composed_{earlier.name}{suffix}",
        words,
        render(
            "composed_k_anonymity",
            **_release_arguments(
                question, earlier, [candidate.column for candidate in candidates if of_values]
            ),
            measures=[
                measure
                for crowd in crowds
                if (bounds := crowd.check.model.class_thresholds)
                for measure in _violating(
                    render("composed_k_anonymity_violated", **bounds),
                    f"{crowd.label}_violated",
                )
            ],
            attributes=[_attribute(question, earlier, candidate) for candidate in candidates],
            unknown=question.unknown,
            answers=answers,
        ),
        *models,
        pass_conditions=pass_conditions,
    )


def _attribute(
    question: ResolvedQuestion, earlier: OtherTable, candidates: Candidates
) -> dict[str, Any]:
    """A sensitive attribute of both releases, as template arguments."""
    other = earlier.sensitive[candidates.column.name]
    flags = {
        "certain": render("composed_l_diversity_certain"),
        "changed": render("composed_l_diversity_changed"),
    } | {
        f"{check.label}_violated": render("composed_l_diversity_violated", **bounds)
        for check in candidates.checks
        if (bounds := check.check.model.class_thresholds)
    }
    return {
        "place": candidates.place,
        "values": column_pair(question, earlier, candidates.column, other),
        "flags": [{"name": name, "predicate": predicate} for name, predicate in flags.items()],
        "packed": question.table.embedded,
    }


def _release_arguments(
    question: ResolvedQuestion, earlier: OtherTable, sensitive: Sequence[BoundColumn]
) -> dict[str, Any]:
    """Both releases with the columns to read, as template arguments."""
    people = entity_pair(question, earlier)
    release_columns = [*question.quasi_identifiers, people.column, *sensitive]
    earlier_sensitive = [earlier.sensitive[column.name] for column in sensitive]
    earlier_columns = [*earlier.quasi_identifiers, people.reference, *earlier_sensitive]
    return {
        "release": records(question, release_columns),
        "columns": list(question.quasi_identifiers),
        "entities": people,
        "earlier": other_records(earlier, earlier_columns),
        "earlier_columns": list(earlier.quasi_identifiers),
    }


def _violating(predicate: str, name: str) -> Iterator[str]:
    yield render("classes_where", predicate=predicate, name=name)
    yield render("people_where", predicate=predicate, name=name)


def _generalised(earlier: OtherTable) -> str:
    """The levels of an earlier release in parentheses, or "" if it is read at raw values."""
    levels = [
        f"{column.raw.name} at {column.levels.label(column.level)}"
        for column in earlier.generalised
    ]
    return f" ({', '.join(levels)})" if levels else ""
