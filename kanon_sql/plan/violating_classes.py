"""Which classes a release could not have: those below k, and those that fail a demanded check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kanon_sql.plan.check_sql import (
    LabelledCheck,
    class_columns,
    class_measures,
    class_verdicts,
    labelled,
    needs,
)
from kanon_sql.plan.question import BoundCheck, BoundColumn, BoundReference, ResolvedQuestion
from kanon_sql.plan.sensitive_plan import order_of_values
from kanon_sql.spec.models.base import ReferenceModel, SensitiveModel
from kanon_sql.spec.models.closeness import TCloseness
from kanon_sql.spec.models.composition import ComposedKAnonymity
from kanon_sql.spec.models.diversity import (
    Homogeneity,
)
from kanon_sql.spec.models.reference import DeltaPresence, KMap
from kanon_sql.spec.models.risk import JournalistRisk
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.sql.macros import render


def class_size(checks: Sequence[BoundCheck]) -> int | None:
    """The size that every class must have, for all demands on sizes together."""
    sizes = [check.model.least_size for check in checks if check.gates]
    return max((size for size in sizes if size is not None), default=None)


def is_judged_by_class(check: BoundCheck) -> bool:
    """Whether a class by itself fails the check or passes it, so that a search can look for it."""
    return check.model.judged_by_class


def sensitive_demands(bound: ResolvedQuestion) -> list[BoundCheck]:
    """The demands on sensitive values that a class fails or not."""
    return [
        check
        for check in bound.checks
        if check.gates and isinstance(check.model, SensitiveModel) and is_judged_by_class(check)
    ]


def is_beside_table(check: BoundCheck) -> bool:
    """Whether a class is held against how the values of the whole table are spread."""
    return isinstance(check.model, SensitiveModel) and "shares" in check.model.needs


def other_sensitive(bound: ResolvedQuestion, check: BoundCheck) -> list[BoundColumn]:
    """The other sensitive attributes, where whoever looks may know them of a person too."""
    knows = isinstance(check.model, SensitiveModel) and check.model.with_other_sensitive
    return [each for each in bound.sensitive if each != check.column] if knows else []


def reference_demands(bound: ResolvedQuestion) -> list[BoundCheck]:
    """The demands that a class fails or not by how many the reference has of it, where the
    reference can be looked at through whichever levels the table has."""
    return [check for check in bound.checks if check.gates and _is_judged_beside(bound, check)]


def _is_judged_beside(bound: ResolvedQuestion, check: BoundCheck) -> bool:
    model = check.model
    if not isinstance(model, ReferenceModel) or model.reference is None:
        return False
    if bound.roles.references[model.reference].levels:
        return False
    match model:
        case KMap() | DeltaPresence():
            return True
        case JournalistRisk():
            return model.max_average is None and model.max_at_risk is None
    return False


def crowds_demanded(bound: ResolvedQuestion) -> dict[str, int]:
    """By earlier release: how many people who are in both must share their classes in either."""
    found: dict[str, int] = {}
    for check in bound.checks:
        if check.gates and is_about_crowds(check):
            model = check.model
            assert isinstance(model, ComposedKAnonymity)
            assert model.earlier is not None
            found[model.earlier] = max(found.get(model.earlier, 0), model.k or 0)
    return found


def is_about_crowds(check: BoundCheck) -> bool:
    """Whether a check is about those who share their classes here and in an earlier release."""
    return isinstance(check.model, ComposedKAnonymity)


def too_rare(check: BoundCheck) -> str:
    """The condition on a class, of which both sizes are known, that it fails such a demand."""
    model = check.model
    assert isinstance(model, ReferenceModel)
    population = "kanon_union" if model.missing == "union" else "kanon_population"
    # Such a reference can't contain the release.
    beyond = "kanon_population < kanon_size"
    match model:
        case KMap(k=int(k)):
            return render("k_map_violated", population=population, k=k)
        case DeltaPresence(max=None):
            return beyond
        case DeltaPresence():
            failed = render("delta_presence_violated", population=population, max=model.max)
        case _:
            assert isinstance(model, JournalistRisk)
            assert model.max_highest is not None
            failed = render("journalist_risk", bound=model.max_highest)
            if model.missing == "union":
                return failed
    return render("any_of", predicates=[beyond, failed])


def least_presence(check: BoundCheck) -> str | None:
    """The condition on a class of the reference, of which both sizes are known, that it is in the
    release too rarely, if a check demands that."""
    model = check.model
    if not isinstance(model, DeltaPresence) or not model.min:
        return None
    return render("delta_presence_violated", population="kanon_population", min=model.min)


def grows_never(bound: ResolvedQuestion) -> bool:
    """Whether the records in violating classes never grow more as classes become one: a class that
    passes every demand still passes it together with any other, whether that one passes or not.

    Of sizes and of how many values a class has this is so (LeFevre, DeWitt, Ramakrishnan 2005;
    Machanavajjhala et al. 2007, section 4); of how they are spread it is not. A crowd that two
    releases leave may be small in a class that is otherwise fine.
    """
    return not crowds_demanded(bound) and _grows_never_alone(bound)


def _grows_never_alone(bound: ResolvedQuestion) -> bool:
    """The same of what the release by itself and its references are asked."""
    return all(
        isinstance(check.model, SensitiveModel)
        and check.model.only_grows
        and not other_sensitive(bound, check)
        for check in sensitive_demands(bound)
    ) and all(isinstance(check.model, KMap) for check in reference_demands(bound))


def holds_together(bound: ResolvedQuestion) -> bool:
    """Whether classes that pass every demand still pass it as one, so that where nothing may be
    left out, whatever lies below a node that fails fails too.

    It is so of shares and distances, which a union has between those of its parts (Machanavajjhala
    et al. 2007, section 4; Li, Li, Venkatasubramanian 2007, section 4.2). People are no shares:
    someone in two classes counts once in their union. Whoever shares the classes of two releases
    shares coarser ones too.
    """
    if _grows_never_alone(bound):
        return True
    by_share = [each for each in reference_demands(bound) if not isinstance(each.model, KMap)]
    entities = [bound.entity, *(reference_of(bound, each).entity for each in by_share)]
    return not any(entities)


def reference_of(bound: ResolvedQuestion, check: BoundCheck) -> BoundReference:
    """The reference that a check is about."""
    assert isinstance(check.model, ReferenceModel)
    assert check.model.reference is not None
    return bound.references[check.model.reference]


def with_k(bound: ResolvedQuestion, k: int) -> ResolvedQuestion:
    """The same question with another k in place of the first that is demanded."""
    checks = list(bound.checks)
    for place, check in enumerate(checks):
        if check.gates and isinstance(check.model, KAnonymity):
            checks[place] = replace(check, model=check.model.model_copy(update={"k": k}))
            break
    return replace(bound, checks=tuple(checks))


def violating_classes(
    bound: ResolvedQuestion,
    relation: str,
    *,
    rolled_up: bool = False,
    whole: Mapping[str, str] | None = None,
) -> str:
    """One SELECT of the violating classes by their quasi-identifiers, each with its records.

    `relation` holds records, or where it is `rolled_up` a frequency set over the
    quasi-identifiers, the sensitive attributes demanded of and the entity. Where it has only some
    of the classes, `whole` has for each sensitive attribute what tells how often the whole table
    has each value.
    """
    statements = list(_statements(bound, relation, rolled_up, whole or {}))
    return render("violating_by_any", statements=statements)


def too_small_classes(bound: ResolvedQuestion, classes: str) -> str:
    """The same where sizes alone are demanded, and a set has a row for each class."""
    return render(
        "violating_classes",
        columns=list(bound.quasi_identifiers),
        violating=render("too_few_records", k=class_size(bound.checks)),
        classes=classes,
    )


def _statements(
    bound: ResolvedQuestion, relation: str, rolled_up: bool, whole: Mapping[str, str]
) -> Iterator[str]:
    """A statement for each sensitive attribute and each distance of its own; the first one looks
    at the sizes too, where it knows them."""
    size = class_size(bound.checks)
    too_small = render("too_small", k=size) if size else None
    demands = sensitive_demands(bound)
    alone = [each for each in demands if not other_sensitive(bound, each)]
    together = [each for each in alone if not _has_own_statement(each)]
    for sensitive in dict.fromkeys(check.column for check in together):
        asked = labelled(check for check in together if check.column == sensitive)
        yield _statement(
            bound, relation, rolled_up, whole, "sensitive_values", asked, also=too_small
        )
        too_small = None
    for each in labelled(check for check in alone if _has_own_statement(check)):
        yield _statement(bound, relation, rolled_up, whole, _distance(each), [each])
    if too_small:
        yield render(
            "k_anonymity",
            relation=relation,
            columns=list(bound.quasi_identifiers),
            entity=bound.entity,
            rolled_up=rolled_up,
            violating=too_small,
        )
    for each in labelled(check for check in demands if check not in alone):
        yield _whole_classes(bound, relation, rolled_up, whole, each)


def _whole_classes(
    bound: ResolvedQuestion,
    relation: str,
    rolled_up: bool,
    whole: Mapping[str, str],
    each: LabelledCheck,
) -> str:
    """The classes of which a part fails a check: those who have the same other sensitive values.

    The whole class goes, as leaving out a part of it would tell these.
    """
    others = other_sensitive(bound, each.check)
    columns = (*bound.quasi_identifiers, *others)
    by_parts = replace(bound, quasi_identifiers=columns, keys=columns)
    macro = _distance(each) if _has_own_statement(each.check) else "sensitive_values"
    return render(
        "classes_with_parts",
        relation=relation,
        columns=list(bound.quasi_identifiers),
        parts=_statement(by_parts, relation, rolled_up, whole, macro, [each]),
        rolled_up=rolled_up,
    )


def _has_own_statement(check: BoundCheck) -> bool:
    return isinstance(check.model, SensitiveModel) and check.model.has_own_distance


def _distance(each: LabelledCheck) -> str:
    assert isinstance(each.check.model, TCloseness)
    return f"{each.check.model.distance}_distance"


def _statement(
    bound: ResolvedQuestion,
    relation: str,
    rolled_up: bool,
    whole: Mapping[str, str],
    macro: str,
    asked: Sequence[LabelledCheck],
    *,
    also: str | None = None,
) -> str:
    sensitive = asked[0].check.column
    assert sensitive is not None
    verdicts = list(class_verdicts(bound, sensitive, asked))
    failed = [each.expression for each in verdicts if each.name.endswith("_violated")]
    if any(isinstance(each.check.model, Homogeneity) for each in asked):
        failed.append(render("homogeneity", entity=bound.entity, unknown=bound.unknown))
    own: dict[str, Any] = {}
    if macro == "sensitive_values":
        own = {
            "needs": needs(asked),
            "class_columns": class_columns(bound, sensitive, asked),
        }
    elif macro == "ordered_distance":
        own = {"order": order_of_values(asked[0].check)}
    else:
        own = {"paths": [list(path) for path in asked[0].check.paths]}
    return render(
        macro,
        relation=relation,
        columns=list(bound.quasi_identifiers),
        sensitive=sensitive,
        entity=bound.entity,
        unknown=bound.unknown,
        class_measures=list(class_measures(bound, sensitive, asked)),
        rolled_up=rolled_up,
        whole=whole.get(sensitive.alias),
        violating=render("any_of", predicates=[*([also] if also else []), *failed]),
        **own,
    )
