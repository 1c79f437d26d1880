"""Plans the comparison of a release with earlier releases of the same people, as named SELECTs.

One step per earlier release counts crowds (people of both releases who share their classes in each)
and the candidate values that each pair of classes leaves of every sensitive attribute. The join of
people to classes is one shared CTE; on databases that inline CTEs at each reference, the step is
split into several smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from kanon_sql.plan.check_sql import LabelledCheck, labelled
from kanon_sql.plan.join_columns import column_pair, entity_pair
from kanon_sql.plan.question import BoundColumn, OtherTable, ResolvedQuestion
from kanon_sql.plan.sensitive_plan import class_conditions
from kanon_sql.plan.steps import name_list, other_records, records, step
from kanon_sql.question.models.composition import (
    ComposedKAnonymity,
    ComposedLDiversity,
    ComposedModel,
)
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement

_ANSWERS = ("of_release", "of_earlier", "values", "people")
"""The parts of the result of a statement on two releases, as named in its template."""


class Candidates(NamedTuple):
    """A sensitive attribute of both releases, with the checks on its candidate values."""

    place: int
    """Its 1-based position among these attributes, used in the step's column names."""
    column: BoundColumn
    checks: tuple[LabelledCheck, ...]


class EarlierStep(NamedTuple):
    """The statements on a release and one earlier release."""

    earlier: str
    statements: tuple[Statement, ...]
    """Count crowds and candidate values: one row each, merged into one."""
    checks: tuple[LabelledCheck, ...]
    """The checks on crowds."""
    candidates: tuple[Candidates, ...]

    @property
    def name(self) -> str:
        """The name of the merged row."""
        return self.statements[0].name


def steps_with_earlier(bound: ResolvedQuestion) -> Iterator[EarlierStep]:
    """One `EarlierStep` per earlier release, with the checks on it."""
    for name, earlier in bound.earlier.items():
        checks = [
            check
            for check in bound.checks
            if isinstance(check.model, ComposedModel) and check.model.earlier == name
        ]
        crowds = labelled(check for check in checks if isinstance(check.model, ComposedKAnonymity))
        of_values = [check for check in checks if isinstance(check.model, ComposedLDiversity)]
        by_column = [
            (column, labelled(of_column))
            for column in bound.sensitive
            if (of_column := [value for value in of_values if value.column == column])
        ]
        candidates = tuple(
            Candidates(place, column, labels)
            for place, (column, labels) in enumerate(by_column, start=1)
        )
        statements = tuple(_statements(bound, earlier, crowds, candidates))
        yield EarlierStep(name, statements, crowds, candidates)


def _statements(
    bound: ResolvedQuestion,
    earlier: OtherTable,
    crowds: Sequence[LabelledCheck],
    candidates: Sequence[Candidates],
) -> Iterator[Statement]:
    """One statement, or several if the database inlines CTEs: see `Table.rereads`."""
    releases = f"{bound.table.name} and {earlier.table.name}"
    classes = (
        f"{name_list(bound.quasi_identifiers)}, and there "
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
    statement = partial(_statement, bound, earlier, crowds, candidates)
    if not bound.table.rereads:
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
        question = f"How many values of {attributes} are left by {releases} together: {classes}?"
        yield statement("_values", question, ["values"], pair_conditions)
        question = (
            f"How many people are in a pair of classes of {releases} that leaves one value of "
            f"{attributes}, none, or too few: {classes}?"
        )
        yield statement("_people", question, ["people"])


def _statement(
    bound: ResolvedQuestion,
    earlier: OtherTable,
    crowds: Sequence[LabelledCheck],
    candidates: Sequence[Candidates],
    suffix: str,
    question: str,
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
        bound,
        f"composed_{earlier.name}{suffix}",
        question,
        render(
            "composed_k_anonymity",
            **_release_arguments(
                bound, earlier, [candidate.column for candidate in candidates if of_values]
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
            attributes=[_attribute(bound, earlier, candidate) for candidate in candidates],
            unknown=bound.unknown,
            answers=answers,
        ),
        *models,
        pass_conditions=pass_conditions,
    )


def _attribute(
    bound: ResolvedQuestion, earlier: OtherTable, candidates: Candidates
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
        "values": column_pair(bound, earlier, candidates.column, other),
        "flags": [{"name": name, "predicate": predicate} for name, predicate in flags.items()],
        "packed": bound.table.embedded,
    }


def _release_arguments(
    bound: ResolvedQuestion, earlier: OtherTable, sensitive: Sequence[BoundColumn]
) -> dict[str, Any]:
    """Both releases with the columns to read, as template arguments."""
    people = entity_pair(bound, earlier)
    release_columns = [*bound.quasi_identifiers, people.column, *sensitive]
    earlier_sensitive = [earlier.sensitive[column.name] for column in sensitive]
    earlier_columns = [*earlier.quasi_identifiers, people.reference, *earlier_sensitive]
    return {
        "release": records(bound, release_columns),
        "columns": list(bound.quasi_identifiers),
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
