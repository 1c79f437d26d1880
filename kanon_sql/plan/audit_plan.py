"""From a question to the SQL that answers it. Knows the templates, touches no database.

A plan is a short list of steps, each one SELECT over the declared tables. Everything is read off
frequency sets: one over the quasi-identifiers, one for each sensitive attribute, one for each
reference. The text of a step is what runs and what `compile` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kanon_sql.plan.bound import BoundCheck, BoundColumn, BoundSpec
from kanon_sql.plan.check_sql import (
    LabelledCheck,
    Named,
    class_columns,
    class_measures,
    class_violations,
    held,
    labelled,
    needs,
    presence_violations,
    reference_measures,
    sensitive_measures,
)
from kanon_sql.plan.demands import (
    demanded_size,
    demands_on_distance,
    demands_on_reference,
    demands_on_size,
    demands_on_values,
    looked_at,
)
from kanon_sql.plan.earlier_plan import EarlierStep, steps_with_earlier
from kanon_sql.plan.pairs import pairs
from kanon_sql.plan.precautions import precautions
from kanon_sql.plan.short_keys import proof_of_keys, with_short_keys
from kanon_sql.plan.steps import (
    Precaution,
    counted,
    records,
    reference_records,
    spoken,
    step,
    with_entity,
)
from kanon_sql.plan.unassigned import AloneStep, FirstLook, alone_steps, first_looks
from kanon_sql.spec.models.base import AT_RISK, ReferenceModel, SensitiveModel
from kanon_sql.spec.models.closeness import TCloseness
from kanon_sql.spec.models.diversity import Homogeneity
from kanon_sql.spec.models.reference import DeltaPresence
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.spec.spec import SHOWN
from kanon_sql.sql.macros import render, render_known
from kanon_sql.sql.quoting import value_as_text
from kanon_sql.sql.statement import Statement

SURVEY_CLASSES = 1_000_000
"""How many kinds of classes, by size and weight, may come back for the individual risk."""


@dataclass(frozen=True)
class SensitiveStep:
    """The step that measures one sensitive attribute, with the checks that it answers."""

    column: BoundColumn
    step: Statement
    checks: tuple[LabelledCheck, ...]
    with_others: bool = False
    """Whether its classes are told apart by the other sensitive attributes too."""
    people: Statement | None = None
    """Counts the people in violating classes, where some are in several of its classes."""


@dataclass(frozen=True)
class Look:
    """The steps that find out whether a sensitive attribute is what it seems."""

    column: BoundColumn
    at_all: Statement
    """Asked where every class has a single value: maybe the table has."""
    spellings: Statement | None = None
    """Counts the values of a text, and its spellings."""
    by_spelling: Statement | None = None


@dataclass(frozen=True)
class DistanceStep:
    """The step that measures one distance of t-closeness that is not the equal one."""

    labelled: LabelledCheck
    step: Statement
    people: Statement | None = None
    """Counts the people in violating classes, where there is an entity."""


@dataclass(frozen=True)
class NamedValuesStep:
    """The step that says how many of the values that a check names occur in the table."""

    check: BoundCheck
    named: int
    step: Statement


@dataclass(frozen=True)
class ReferenceStep:
    """The step that matches the release with one reference, and the checks it answers."""

    reference: str
    step: Statement
    checks: tuple[LabelledCheck, ...]
    people: Statement | None = None
    """Asks the same of each person, where some are in several classes."""


@dataclass(frozen=True)
class Plan:
    """Everything one table's audit asks, in the order in which it runs."""

    bound: BoundSpec
    precautions: tuple[Precaution, ...]
    keys: Statement | None
    """Proves that the short keys of the next steps are exact; without any there is none."""
    classes: Statement | None
    sensitive: tuple[SensitiveStep, ...]
    distances: tuple[DistanceStep, ...]
    looks: tuple[Look, ...]
    named_values: tuple[NamedValuesStep, ...]
    profiles: Statement | None
    people: Statement | None
    """Counts people by the smallest of their classes, where some are in several."""
    survey: Statement | None
    references: tuple[ReferenceStep, ...]
    earlier: tuple[EarlierStep, ...]
    first_looks: tuple[FirstLook, ...]
    """At columns without a part."""
    alone: tuple[AloneStep, ...]
    """Asked of those of them that the first looks find."""
    shown: tuple[Statement, ...]

    @property
    def steps(self) -> tuple[Statement, ...]:
        """Every step, in the order in which it runs."""
        optional = (
            *(precaution.step for precaution in self.precautions),
            self.keys,
            self.classes,
            *(sensitive.step for sensitive in self.sensitive),
            *(distance.step for distance in self.distances),
            *(
                step
                for look in self.looks
                for step in (look.at_all, look.spellings, look.by_spelling)
            ),
            *(named.step for named in self.named_values),
            self.profiles,
            self.people,
            *(sensitive.people for sensitive in self.sensitive),
            *(distance.people for distance in self.distances),
            self.survey,
            *(step for each in self.references for step in (each.step, each.people)),
            *(step for each in self.earlier for step in each.steps),
            *(look.step for look in self.first_looks),
            *(each.step for each in self.alone),
            *self.shown,
        )
        return tuple(step for step in optional if step is not None)


def plan_audit(bound: BoundSpec, *, short_keys: bool = True) -> Plan:
    """The plan that answers a bound question. Raises `SpecError` for what can never be equal.

    With `short_keys` text of few values is grouped by its hash, which is several times cheaper;
    the plan's `keys` step says whether that is exact in this table.
    """
    keyed = with_short_keys(bound) if short_keys else bound
    reads_sensitive = bound.sensitive and not bound.wildcard
    return Plan(
        bound=bound,
        precautions=tuple(precautions(bound)),
        keys=proof_of_keys(keyed),
        classes=None if reads_sensitive else _classes(keyed),
        sensitive=tuple(_sensitive(keyed)) if reads_sensitive else (),
        distances=tuple(_distances(bound)),
        looks=tuple(_look(bound, column) for column in keyed.sensitive) if reads_sensitive else (),
        named_values=tuple(_named_values(bound)),
        profiles=_profiles(bound) if bound.entity else None,
        people=smallest_classes(keyed) if bound.entity else None,
        survey=_survey(bound) if bound.weight else None,
        references=tuple(_references(bound)),
        earlier=tuple(steps_with_earlier(bound)),
        first_looks=tuple(first_looks(bound)),
        alone=tuple(alone_steps(bound)),
        shown=tuple(_shown(bound)),
    )


def _classes(bound: BoundSpec) -> Statement:
    columns = list(bound.quasi_identifiers)
    size = demanded_size(bound)
    if bound.wildcard:
        return step(
            bound,
            "classes",
            f"How many combinations of {spoken(bound.quasi_identifiers)} in {_table(bound)} are "
            "compatible with each number of records, if NULL matches everything?",
            render(
                "k_anonymity_with_wildcards",
                relation=records(bound, columns),
                columns=columns,
                k=size,
            ),
            KAnonymity,
            demanded=demands_on_size(size),
        )
    relation = records(bound, with_entity(bound, columns))
    return step(
        bound,
        "classes",
        f"How many classes of {_table(bound)} by {spoken(bound.quasi_identifiers)} have each "
        f"size, in {counted(bound)}?",
        render(
            "k_anonymity",
            relation=relation,
            columns=list(bound.keys),
            entity=bound.entity,
            k=size,
        ),
        KAnonymity,
        demanded=demands_on_size(size),
    )


def _table(bound: BoundSpec) -> str:
    return looked_at(bound.table.name, bound.levels)


def _sensitive(bound: BoundSpec) -> Iterator[SensitiveStep]:
    """The first of these steps is also the one that the sizes of the classes are read off."""
    for place, sensitive in enumerate(bound.sensitive):
        asked = [
            check
            for check in bound.checks
            if isinstance(check.model, SensitiveModel)
            and check.model.sensitive == sensitive.name
            and not check.model.has_own_distance
        ]
        alone = [check for check in asked if not _knows_others(check)]
        name = "classes" if place == 0 else f"classes_{sensitive.name}"
        yield _classes_of(bound, sensitive, name, alone)
        if len(alone) < len(asked):
            joined = [check for check in asked if _knows_others(check)]
            name = f"classes_{sensitive.name}_with_others"
            yield _classes_of(bound, sensitive, name, joined, with_others=True)


def _classes_of(
    bound: BoundSpec,
    sensitive: BoundColumn,
    name: str,
    asked: Sequence[BoundCheck],
    *,
    with_others: bool = False,
) -> SensitiveStep:
    others = _others(bound, sensitive) if with_others else []
    columns = [*bound.quasi_identifiers, *others]
    checks = labelled(asked)
    size = demanded_size(bound) if name == "classes" else None
    homogeneous = render("homogeneity", entity=bound.entity, unknown=bound.unknown)
    among_others = render("certain_among_others", entity=bound.entity, unknown=bound.unknown)
    by_null, single = render("diverse_by_null"), render("single_value")
    known = (
        [] if bound.unknown else [Named(render("count_known", sensitive=sensitive), "kanon_known")]
    )
    asked_of: dict[str, Any] = {
        "relation": records(bound, with_entity(bound, [*columns, sensitive])),
        "columns": [*bound.keys, *others],
        "sensitive": sensitive,
        "entity": bound.entity,
        "unknown": bound.unknown,
        "needs": needs(checks),
        "class_columns": [*known, *class_columns(bound, sensitive, checks)],
        "class_measures": list(class_measures(bound, sensitive, checks)),
    }
    asking = step(
        bound,
        name,
        f"How many classes of {_table(bound)} by {spoken(columns)} have each size, in "
        f"{counted(bound)}, and what do they share of {sensitive.name}?",
        render(
            "sensitive_values",
            **asked_of,
            k=size,
            measures=[
                render("classes_where", predicate=homogeneous, name="homogeneous"),
                render(
                    "records_where", predicate=homogeneous, name="homogeneous", records=held(bound)
                ),
                *(
                    [render("classes_where", predicate=among_others, name="certain_among_others")]
                    if bound.entity
                    else []
                ),
                *(
                    [render("classes_where", predicate=by_null, name="diverse_by_null")]
                    if known
                    else []
                ),
                render("classes_where", predicate=single, name="single_value"),
                *sensitive_measures(bound, sensitive, checks),
            ],
        ),
        KAnonymity,
        *({Homogeneity: None} | {type(each.check.model): None for each in checks}),
        demanded=[*demands_on_size(size), *demands_on_values(checks)],
    )
    violated = list(class_violations(bound, sensitive, checks))
    people = (
        step(
            bound,
            f"people_of_{name}",
            f"How many people in {_table(bound)} are in a combination of {spoken(columns)} "
            f"that fails a check on {sensitive.name}?",
            render(
                "sensitive_values",
                **asked_of,
                flags=violated,
            ),
            *({type(each.check.model): None for each in checks if each.check.gates}),
            only="where people have records in several of these classes, and some of them fail",
        )
        if bound.entity and violated
        else None
    )
    return SensitiveStep(sensitive, asking, checks, with_others, people)


def _knows_others(check: BoundCheck) -> bool:
    return isinstance(check.model, SensitiveModel) and check.model.with_other_sensitive


def _others(bound: BoundSpec, sensitive: BoundColumn) -> list[BoundColumn]:
    """The other sensitive attributes, which may be known of a person too."""
    return [column for column in bound.sensitive if column != sensitive]


def _distances(bound: BoundSpec) -> Iterator[DistanceStep]:
    asked = [
        check
        for check in bound.checks
        if isinstance(check.model, TCloseness) and check.model.has_own_distance
    ]
    for each in labelled(asked):
        model, sensitive = each.check.model, each.check.column
        assert isinstance(model, TCloseness)
        assert sensitive is not None
        others = _others(bound, sensitive) if model.with_other_sensitive else []
        columns = [*bound.quasi_identifiers, *others]
        by: dict[str, Any] = (
            {"order": order_of_values(each.check)}
            if model.distance == "ordered"
            else {"paths": [list(path) for path in each.check.paths]}
        )
        asked_of: dict[str, Any] = by | {
            "relation": records(bound, with_entity(bound, [*columns, sensitive])),
            "columns": columns,
            "sensitive": sensitive,
            "entity": bound.entity,
            "unknown": bound.unknown,
            "class_measures": list(class_measures(bound, sensitive, [each])),
        }
        name = f"{each.label}_{model.distance}_{sensitive.name}"
        asking = step(
            bound,
            name,
            f"How far is {sensitive.name} in each combination of {spoken(columns)} of "
            f"{_table(bound)} from how it is spread in the table, at most?",
            render(
                f"{model.distance}_distance",
                **asked_of,
                measures=list(sensitive_measures(bound, sensitive, [each])),
            ),
            TCloseness,
            demanded=demands_on_distance(each),
        )
        violated = list(class_violations(bound, sensitive, [each]))
        people = (
            step(
                bound,
                f"people_of_{name}",
                f"How many people in {bound.table.name} are in a combination of "
                f"{spoken(columns)} that is too far from the table in {sensitive.name}?",
                render(
                    f"{model.distance}_distance",
                    **asked_of,
                    flags=violated,
                ),
                TCloseness,
                only="where any of these classes fails",
            )
            if bound.entity and violated
            else None
        )
        yield DistanceStep(each, asking, people)


def order_of_values(check: BoundCheck) -> list[list[object]] | None:
    """The values that an ordered distance lists with their places, as text."""
    order = check.model.parameters.get("order")
    if order is None:
        return None
    return [[value_as_text(value), place] for place, value in enumerate(order, start=1)]


def _look(bound: BoundSpec, sensitive: BoundColumn) -> Look:
    columns = list(bound.quasi_identifiers)
    at_all = step(
        bound,
        f"values_{sensitive.name}",
        f"How many values has {sensitive.name} in the whole of {bound.table.name}?",
        render("values_at_all", relation=records(bound, [sensitive]), column=sensitive),
        only="where every class has a single value",
    )
    if not sensitive.is_text:
        return Look(sensitive, at_all)
    spellings = step(
        bound,
        f"spellings_{sensitive.name}",
        f"Do any values of {sensitive.name} differ only by case, outer spaces or the spelling of "
        "a number?",
        render("spellings", relation=records(bound, [sensitive]), column=sensitive),
    )
    return Look(
        sensitive,
        at_all,
        spellings=spellings,
        by_spelling=step(
            bound,
            f"diverse_by_spelling_{sensitive.name}",
            f"How many classes of {bound.table.name} look diverse in {sensitive.name} only "
            "thanks to spelling?",
            render(
                "diverse_by_spelling",
                relation=records(bound, [*columns, sensitive]),
                columns=columns,
                sensitive=replace(sensitive, hashed=False),
            ),
            only=f"where {spellings.name} finds fewer spellings than values",
        ),
    )


def _named_values(bound: BoundSpec) -> Iterator[NamedValuesStep]:
    """A value that is misspelled would never be found, and its check would hold."""
    asked = [
        check
        for check in bound.checks
        if isinstance(check.model, SensitiveModel) and check.model.named_values
    ]
    for each in labelled(asked):
        model, sensitive = each.check.model, each.check.column
        assert isinstance(model, SensitiveModel)
        assert sensitive is not None
        yield NamedValuesStep(
            each.check,
            len(model.named_values),
            step(
                bound,
                f"named_in_{each.label}",
                f"How many of the values that {model.name()} names occur in {sensitive.name}?",
                render(
                    "named_values_that_occur",
                    relation=records(bound, [sensitive]),
                    column=sensitive,
                    values=list(model.named_values),
                ),
            ),
        )


def _survey(bound: BoundSpec) -> Statement:
    columns = list(bound.quasi_identifiers)
    assert bound.weight is not None
    return step(
        bound,
        "survey_classes",
        f"How many classes of {bound.table.name} have each size and each sum of "
        f"{bound.weight.name}?",
        render(
            "survey_classes",
            relation=records(bound, with_entity(bound, [*columns, bound.weight])),
            columns=columns,
            weight=bound.weight,
            entity=bound.entity,
            first=SURVEY_CLASSES + 1,
        ),
    )


def _profiles(bound: BoundSpec) -> Statement:
    columns = list(bound.quasi_identifiers)
    return step(
        bound,
        "profiles",
        f"How many people in {bound.table.name} have records in exactly the same classes?",
        render(
            "profiles",
            relation=records(bound, with_entity(bound, columns)),
            columns=columns,
            entity=bound.entity,
        ),
        KAnonymity,
    )


def smallest_classes(bound: BoundSpec) -> Statement:
    """The step that counts people by the smallest of their classes."""
    return step(
        bound,
        "people",
        f"How many people in {bound.table.name} have each size of the smallest of their classes?",
        render(
            "smallest_classes",
            relation=records(bound, with_entity(bound, list(bound.quasi_identifiers))),
            columns=list(bound.keys),
            entity=bound.entity,
        ),
        KAnonymity,
        only="where people have records in several classes: each counts once, with the smallest",
    )


def _references(bound: BoundSpec) -> Iterator[ReferenceStep]:
    """One step for each reference and way of matching, for all checks that ask it; δ-presence
    looks at the reference's classes, and has its own."""
    asked: dict[tuple[str, str, str], list[BoundCheck]] = {}
    for check in bound.checks:
        if isinstance(check.model, ReferenceModel) and check.model.reference is not None:
            macro = "delta_presence" if isinstance(check.model, DeltaPresence) else "k_map"
            key = (check.model.reference, check.model.match, macro)
            asked.setdefault(key, []).append(check)
    for (name, match, macro), asking in asked.items():
        reference = bound.references[name]
        there = looked_at(reference.table.name, reference.levels)
        checks = labelled(asking)
        risky = render("journalist_risk", bound=AT_RISK)
        at_risk = render("people_where", predicate=risky, name="at_risk")
        measures = [*([at_risk] if macro == "k_map" else []), *reference_measures(bound, checks)]
        asked_of: dict[str, Any] = {
            "release": records(bound, with_entity(bound, list(bound.quasi_identifiers))),
            "columns": list(bound.quasi_identifiers),
            "entity": bound.entity,
            "reference": reference_records(reference),
            "pairs": list(pairs(bound, reference, match)),
            "reference_entity": reference.entity,
            "reference_weight": reference.weight,
            "measures": measures,
            "wildcard": bound.wildcard,
        }
        models = dict.fromkeys(type(check.model) for check in asking)
        step_name = f"{macro}_{name}" if match == "containment" else f"exact_{macro}_{name}"
        asking_of_classes = step(
            bound,
            step_name,
            f"How many {'people' if reference.entity or reference.weight else 'records'} in "
            f"{there} match each combination of "
            f"{spoken(bound.quasi_identifiers)} in {_table(bound)}, at least and in all?",
            render_known(macro, **asked_of),
            *models,
            demanded=demands_on_reference(checks),
        )
        outside = list(presence_violations(checks)) if reference.entity else []
        people = (
            step(
                bound,
                f"people_of_{step_name}",
                f"How many people of {there} are in a class that is out of bounds?",
                render_known(
                    macro,
                    **asked_of | {"measures": []},
                    flags=outside,
                ),
                *models,
                only="where any class is",
            )
            if outside
            else step(
                bound,
                f"people_of_{step_name}",
                f"How many in {there} match each person "
                f"of {bound.table.name} at least, in any of the person's classes?",
                render_known(macro, **asked_of, each_person=True),
                *models,
                only="where people have records in several classes",
            )
            if bound.entity and macro == "k_map"
            else None
        )
        yield ReferenceStep(name, asking_of_classes, checks, people)


def _shown(bound: BoundSpec) -> Iterator[Statement]:
    """The classes behind the counts, by their values: personal data, run on demand only."""
    if bound.wildcard:
        return
    columns = list(bound.quasi_identifiers)
    k = next((c.model.k for c in bound.checks if isinstance(c.model, KAnonymity) and c.model.k), 2)
    yield step(
        bound,
        "small_classes",
        f"Which are the smallest classes of {_table(bound)} that have fewer than {k} "
        f"{counted(bound)}, {SHOWN} of them at most?",
        render(
            "small_classes",
            relation=records(bound, with_entity(bound, columns)),
            columns=columns,
            k=k,
            entity=bound.entity,
            first=SHOWN,
        ),
        KAnonymity,
        only="with --show-values only: its rows are personal data",
    )
