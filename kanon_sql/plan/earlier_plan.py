"""What a release and an earlier one of the same people say together, as named SELECTs.

One step for each earlier release counts the crowds of people who are in both; one for each
sensitive attribute that both have counts the values left by a pair of classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kanon_sql.plan.bound import BoundColumn, BoundEarlier, BoundSpec
from kanon_sql.plan.check_sql import LabelledCheck, Named, labelled
from kanon_sql.plan.pairs import of_both_releases
from kanon_sql.plan.steps import earlier_records, records, spoken, step
from kanon_sql.spec.models.composition import ComposedKAnonymity, ComposedLDiversity, ComposedModel
from kanon_sql.sql.macros import render
from kanon_sql.sql.statement import Statement


@dataclass(frozen=True)
class CandidatesStep:
    """The step that counts the values left of one sensitive attribute, and the checks it
    answers."""

    column: BoundColumn
    step: Statement
    people: Statement
    """Asks the same of people, where some are in several pairs of classes."""
    checks: tuple[LabelledCheck, ...]


@dataclass(frozen=True)
class EarlierStep:
    """What is asked of a release together with one earlier release."""

    earlier: str
    step: Statement
    """Counts the crowds of those who are in both."""
    checks: tuple[LabelledCheck, ...]
    candidates: tuple[CandidatesStep, ...]

    @property
    def steps(self) -> Iterator[Statement]:
        """Every step, in the order in which it runs."""
        yield self.step
        for each in self.candidates:
            yield from (each.step, each.people)


def steps_with_earlier(bound: BoundSpec) -> Iterator[EarlierStep]:
    """The steps for each earlier release, and all checks that ask it."""
    for name, earlier in bound.earlier.items():
        asked = [
            check
            for check in bound.checks
            if isinstance(check.model, ComposedModel) and check.model.earlier == name
        ]
        crowds = labelled(each for each in asked if isinstance(each.model, ComposedKAnonymity))
        of_values = [each for each in asked if isinstance(each.model, ComposedLDiversity)]
        yield EarlierStep(
            name,
            _crowds(bound, earlier, crowds),
            crowds,
            tuple(
                _candidates(bound, earlier, column, labelled(checks))
                for column in bound.sensitive
                if (checks := [each for each in of_values if each.column == column])
            ),
        )


def _crowds(bound: BoundSpec, earlier: BoundEarlier, checks: Sequence[LabelledCheck]) -> Statement:
    assert bound.entity is not None
    return step(
        bound,
        f"composed_k_anonymity_{earlier.name}",
        f"How many people are in both {bound.table.name} and {earlier.table.name}, and share their "
        f"classes in either: {spoken(bound.quasi_identifiers)}, and there "
        f"{spoken(earlier.quasi_identifiers)}{_generalised(earlier)}?",
        render(
            "composed_k_anonymity",
            **_both(bound, earlier, bound.entity, earlier.entity),
            measures=[
                measure
                for each in checks
                if isinstance(each.check.model, ComposedKAnonymity) and each.check.model.k
                for measure in _violating(
                    render("composed_k_anonymity_violated", k=each.check.model.k),
                    f"{each.label}_violated",
                )
            ],
        ),
        ComposedKAnonymity,
    )


def _candidates(
    bound: BoundSpec, earlier: BoundEarlier, column: BoundColumn, checks: Sequence[LabelledCheck]
) -> CandidatesStep:
    assert bound.entity is not None
    other = earlier.sensitive[column.name]
    asked_of = _both(bound, earlier, bound.entity, earlier.entity, also=(column, other)) | {
        "values": of_both_releases(bound, earlier, column, other),
        "unknown": bound.unknown,
    }
    predicates = {
        "certain": render("composed_l_diversity_certain"),
        "changed": render("composed_l_diversity_changed"),
    } | {
        f"{each.label}_violated": render("composed_l_diversity_violated", l=each.check.model.l)
        for each in checks
        if isinstance(each.check.model, ComposedLDiversity) and each.check.model.l
    }
    verdicts = [
        Named(render("flag", predicate=predicate), f"kanon_{name}")
        for name, predicate in predicates.items()
    ]
    name = f"composed_l_diversity_{earlier.name}_{column.name}"
    return CandidatesStep(
        column,
        step(
            bound,
            name,
            f"How many values of {column.name} are left of someone who is in both "
            f"{bound.table.name} and {earlier.table.name}{_generalised(earlier)}, by the classes "
            "of either?",
            render(
                "composed_l_diversity",
                **asked_of,
                measures=[
                    measure
                    for name, predicate in predicates.items()
                    for measure in _violating(predicate, name)
                ],
            ),
            ComposedLDiversity,
        ),
        step(
            bound,
            f"people_of_{name}",
            f"How many people are in a pair of classes of {bound.table.name} and "
            f"{earlier.table.name} that leaves one value of {column.name}, none, or too few?",
            render(
                "composed_l_diversity",
                **asked_of,
                pair_verdicts=verdicts,
                flags=[each.name for each in verdicts],
            ),
            ComposedLDiversity,
            only="where people have records in several classes of either release",
        ),
        tuple(checks),
    )


def _both(
    bound: BoundSpec,
    earlier: BoundEarlier,
    entity: BoundColumn,
    other: BoundColumn,
    also: tuple[BoundColumn, BoundColumn] | None = None,
) -> dict[str, Any]:
    """Both releases with the columns that are read of each."""
    here, there = [*bound.quasi_identifiers, entity], [*earlier.quasi_identifiers, other]
    if also:
        here, there = [*here, also[0]], [*there, also[1]]
    return {
        "release": records(bound, here),
        "columns": list(bound.quasi_identifiers),
        "entities": of_both_releases(bound, earlier, entity, other),
        "earlier": earlier_records(earlier, there),
        "earlier_columns": list(earlier.quasi_identifiers),
    }


def _violating(predicate: str, name: str) -> Iterator[str]:
    yield render("classes_where", predicate=predicate, name=name)
    yield render("people_where", predicate=predicate, name=name)


def _generalised(earlier: BoundEarlier) -> str:
    """What is said of an earlier release that is not looked at as it lies."""
    levels = [f"{each.raw.name} at {each.levels.label(each.level)}" for each in earlier.levels]
    return f" ({', '.join(levels)})" if levels else ""
