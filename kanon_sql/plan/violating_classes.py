"""Which classes a release could not have: those below k, and those that fail a demanded check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kanon_sql.plan.audit_plan import order_of_values
from kanon_sql.plan.bound import BoundCheck, BoundSpec
from kanon_sql.plan.check_sql import (
    LabelledCheck,
    class_columns,
    class_measures,
    class_verdicts,
    labelled,
    needs,
)
from kanon_sql.spec.models.base import Model, SensitiveModel
from kanon_sql.spec.models.closeness import TCloseness
from kanon_sql.spec.models.diversity import (
    AlphaKAnonymity,
    Homogeneity,
    LDiversity,
    PSensitiveKAnonymity,
)
from kanon_sql.spec.models.risk import ProsecutorRisk
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.sql.macros import render
from kanon_sql.sql.thresholds import exactly


def class_size(checks: Sequence[BoundCheck]) -> int | None:
    """The size that every class must have, for all demands on sizes together."""
    sizes = [size for check in checks if check.gates for size in _sizes(check.model)]
    return max(sizes, default=None)


def _sizes(model: Model) -> Iterator[int]:
    match model:
        case KAnonymity(k=int(k)):
            yield k
        case AlphaKAnonymity(k=int(k)) | PSensitiveKAnonymity(k=int(k)):
            yield k
        case ProsecutorRisk() if model.max_highest:
            yield math.ceil(1 / exactly(model.max_highest))


def is_judged_by_class(check: BoundCheck) -> bool:
    """Whether a class by itself fails the check or passes it, so that a search can look for it."""
    match check.model:
        case KAnonymity():
            return True
        case ProsecutorRisk() as model:
            return model.max_average is None and model.max_at_risk is None
        case SensitiveModel() as model:
            return not model.with_other_sensitive
    return False


def sensitive_demands(bound: BoundSpec) -> list[BoundCheck]:
    """The demands on sensitive values that a class fails or not."""
    return [
        check
        for check in bound.checks
        if check.gates and isinstance(check.model, SensitiveModel) and is_judged_by_class(check)
    ]


def grows_never(bound: BoundSpec) -> bool:
    """Whether the records in violating classes never grow more as classes become one: a class that
    passes every demand still passes it together with any other, whether that one passes or not.

    Of sizes and of how many values a class has this is so (LeFevre, DeWitt, Ramakrishnan 2005;
    Machanavajjhala et al. 2007, section 4); of how they are spread it is not.
    """
    return all(
        isinstance(check.model, LDiversity | PSensitiveKAnonymity)
        for check in sensitive_demands(bound)
    )


def with_k(bound: BoundSpec, k: int) -> BoundSpec:
    """The same question with another k."""
    checks = tuple(
        replace(check, model=check.model.model_copy(update={"k": k}))
        if check.gates and isinstance(check.model, KAnonymity)
        else check
        for check in bound.checks
    )
    return replace(bound, checks=checks)


def violating_classes(
    bound: BoundSpec,
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
    return statements[0] if len(statements) == 1 else render("union_of", statements=statements)


def too_small_classes(bound: BoundSpec, classes: str) -> str:
    """The same where sizes alone are demanded, and a set has a row for each class."""
    return render(
        "violating_classes",
        columns=list(bound.quasi_identifiers),
        violating=render("too_few_records", k=class_size(bound.checks)),
        classes=classes,
    )


def _statements(
    bound: BoundSpec, relation: str, rolled_up: bool, whole: Mapping[str, str]
) -> Iterator[str]:
    """A statement for each sensitive attribute and each distance of its own; the first one looks
    at the sizes too, where it knows them."""
    size = class_size(bound.checks)
    too_small = render("too_small", k=size) if size else None
    demands = sensitive_demands(bound)
    together = [each for each in demands if not _has_own_statement(each)]
    for sensitive in dict.fromkeys(check.column for check in together):
        asked = labelled(check for check in together if check.column == sensitive)
        yield _statement(
            bound, relation, rolled_up, whole, "sensitive_values", asked, also=too_small
        )
        too_small = None
    for each in labelled(check for check in demands if _has_own_statement(check)):
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


def _has_own_statement(check: BoundCheck) -> bool:
    return isinstance(check.model, SensitiveModel) and check.model.has_own_distance


def _distance(each: LabelledCheck) -> str:
    assert isinstance(each.check.model, TCloseness)
    return f"{each.check.model.distance}_distance"


def _statement(
    bound: BoundSpec,
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
