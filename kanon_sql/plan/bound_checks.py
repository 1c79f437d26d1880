"""The checks of a question, each with what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kanon_sql.errors import Faults, SpecError, located, option
from kanon_sql.models.base import Model, SensitiveModel
from kanon_sql.models.catalogue import MODELS, family_part
from kanon_sql.models.reference.models import KMap
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import Homogeneity
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.family_plan import plan_of
from kanon_sql.plan.question import BoundCheck, BoundColumn, OtherTable
from kanon_sql.question.spec import TableSpec
from kanon_sql.sql.tables import Table, family

_DEFAULT_MODELS = tuple(
    model
    for model in MODELS.values()
    if issubclass(model, SensitiveModel)
    and not any(field.is_required() for field in model.model_fields.values())
)
"""Sensitive models that need no parameters, so they can be measured by default."""
_WITHOUT_CLASSES = ("events", "earlier")
"""What models are computed from that need no classes, or say themselves what they need."""


def bound_checks(
    spec: TableSpec,
    table: Table,
    sensitive: tuple[BoundColumn, ...],
    others: Sequence[OtherTable],
) -> Iterator[BoundCheck]:
    """Requested checks, gating ones first; then the checks measured by default."""
    scope = CheckScope(spec, table, sensitive, others)
    requested = []
    with Faults() as faults:
        for index, model in enumerate(spec.checks):
            with faults.collected(), located("checks", index):
                requested.append(_bound(model, scope))
    requested.sort(key=lambda check: not check.gates)
    models = [check.model for check in requested]
    yield from requested
    if spec.events:
        yield from family_part("events", "plan").measured(scope, models)
        if not spec.quasi_identifiers:
            return
    yield from _default_checks(spec, sensitive, models)
    for name in dict.fromkeys(other.kind.family for other in others if other.kind.family):
        yield from family_part(name, "plan").measured(scope, models)


def _default_checks(
    spec: TableSpec, sensitive: tuple[BoundColumn, ...], requested: Sequence[Model]
) -> Iterator[BoundCheck]:
    """Default measures: few if any check gates, otherwise every model without parameters."""
    if not spec.original and not any(
        isinstance(model, KAnonymity) and model.columns is None for model in requested
    ):
        yield BoundCheck(KAnonymity(), requested=False)
    matched = {model.reference for model in requested if isinstance(model, KMap)}
    for reference in spec.references:
        if reference not in matched:
            yield BoundCheck(KMap(reference=reference), requested=False)
    # The records of a synthetic table are nobody, so their classes are measured where asked.
    if spec.nulls == "wildcard" or spec.original:
        return
    required = any(model.gates for model in requested)
    for column in sensitive:
        for model in (Homogeneity,) if required else _DEFAULT_MODELS:
            measured = model(sensitive=column.name, with_other_sensitive=spec.with_other_sensitive)
            alike = [check for check in requested if type(check) is model]
            measured_columns = [(check.sensitive, check.with_other_sensitive) for check in alike]
            if (measured.sensitive, measured.with_other_sensitive) in measured_columns:
                continue
            if not model.of_numbers or family(column.type) == "number":
                yield BoundCheck(measured, requested=False, column=column)


def _bound(model: Model, scope: CheckScope) -> BoundCheck:
    """The model with its column or its other table resolved by its family. Raises `SpecError` for a
    model that is not defined on such a table."""
    spec = scope.spec
    if model.answered_by == "cells":
        raise SpecError(
            f"{model.name()} is a rule for the cells of a table that is published, which "
            "kanon-sql tables checks. Of records, k_anonymity comes nearest."
        )
    if spec.nulls == "wildcard" and not model.with_wildcards:
        defined = ", ".join(name for name, model in MODELS.items() if model.with_wildcards)
        raise SpecError(
            f"{model.name()} is not defined with nulls: wildcard, where records form no classes. "
            f"Defined are {defined}."
        )
    if spec.events and not spec.quasi_identifiers and model.answered_by not in _WITHOUT_CLASSES:
        raise SpecError(
            f"{model.name()} is about classes, and there are no quasi-identifiers: name what an "
            f"attacker knows besides events with {option('quasi_identifiers', 'COLUMN')}, or check "
            "km_anonymity or known_events."
        )
    return plan_of(model).bound(model, scope)
