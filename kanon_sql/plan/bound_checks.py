"""The checks of a question, each with what it is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kanon_sql.errors import Faults, SpecError, did_you_mean, located, option
from kanon_sql.models.base import Model, ReferenceModel, SensitiveModel
from kanon_sql.models.catalogue import MODELS
from kanon_sql.models.earlier.models import (
    ComposedKAnonymity,
    ComposedLDiversity,
    ComposedModel,
)
from kanon_sql.models.events.models import EventModel, KmAnonymity, KnownEvents
from kanon_sql.models.reference.models import KMap
from kanon_sql.models.sizes.models import KAnonymity
from kanon_sql.models.values.models import Homogeneity, TCloseness
from kanon_sql.plan.join_columns import can_be_equal
from kanon_sql.plan.question import BoundCheck, BoundColumn, OtherTable
from kanon_sql.question.hierarchy_table import read_tree
from kanon_sql.question.other_tables import EARLIER, REFERENCE, OtherTableKind
from kanon_sql.question.spec import TableSpec
from kanon_sql.sql.tables import Table, family, find

_DEFAULT_MODELS = tuple(
    model
    for model in MODELS.values()
    if issubclass(model, SensitiveModel)
    and not any(field.is_required() for field in model.model_fields.values())
)
"""Sensitive models that need no parameters, so they can be measured by default."""
_DEFAULT_EVENT_MODELS = (KnownEvents(m=1), KnownEvents(m=2), KmAnonymity())
"""Models of events measured by default."""


def bound_checks(
    spec: TableSpec,
    table: Table,
    sensitive: tuple[BoundColumn, ...],
    others: Sequence[OtherTable],
) -> Iterator[BoundCheck]:
    """Requested checks, gating ones first; then the checks measured by default."""
    earlier = {other.name: other for other in others if other.kind is EARLIER}
    requested = []
    with Faults() as faults:
        for index, model in enumerate(spec.checks):
            with faults.collected(), located("checks", index):
                requested.append(
                    _composed(model, table, sensitive, earlier)
                    if isinstance(model, ComposedModel)
                    else _complete(model, spec, table, sensitive)
                )
    requested.sort(key=lambda check: not check.gates)
    models = [check.model for check in requested]
    yield from requested
    if spec.events and not any(model.gates or isinstance(model, EventModel) for model in models):
        yield from (BoundCheck(model, requested=False) for model in _DEFAULT_EVENT_MODELS)
    if spec.events and not spec.quasi_identifiers:
        return
    yield from _default_checks(spec, sensitive, models)
    yield from _default_composed_checks(sensitive, earlier, models)


def _default_checks(
    spec: TableSpec, sensitive: tuple[BoundColumn, ...], requested: Sequence[Model]
) -> Iterator[BoundCheck]:
    """Default measures: few if any check gates, otherwise every model without parameters."""
    if not any(isinstance(model, KAnonymity) for model in requested):
        yield BoundCheck(KAnonymity(), requested=False)
    matched = {model.reference for model in requested if isinstance(model, KMap)}
    for reference in spec.references:
        if reference not in matched:
            yield BoundCheck(KMap(reference=reference), requested=False)
    if spec.nulls == "wildcard":
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


def _default_composed_checks(
    sensitive: Sequence[BoundColumn], earlier: Mapping[str, OtherTable], requested: Sequence[Model]
) -> Iterator[BoundCheck]:
    """Default measures of each earlier release composed with this one."""
    for name, release in earlier.items():
        of_release = [m for m in requested if isinstance(m, ComposedModel) and m.earlier == name]
        if not any(isinstance(model, ComposedKAnonymity) for model in of_release):
            yield BoundCheck(ComposedKAnonymity(earlier=name), requested=False)
        measured_columns = {m.sensitive for m in of_release if isinstance(m, ComposedLDiversity)}
        for column in sensitive:
            other = release.sensitive.get(column.name)
            if column.name not in measured_columns and other and can_be_equal(column, other):
                model = ComposedLDiversity(sensitive=column.name, earlier=name)
                yield BoundCheck(model, requested=False, column=column)


def _complete(
    model: Model, spec: TableSpec, table: Table, sensitive: tuple[BoundColumn, ...]
) -> BoundCheck:
    """The model with its column or reference resolved."""
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
    if isinstance(model, EventModel):
        if not spec.events:
            raise SpecError(
                f"{model.name()} needs events: name the columns that make an event of a person, as "
                f"in {option('events', 'ward,month')}."
            )
        return BoundCheck(model, requested=True)
    if spec.events and not spec.quasi_identifiers:
        raise SpecError(
            f"{model.name()} is about classes, and there are no quasi-identifiers: name what an "
            f"attacker knows besides events with {option('quasi_identifiers', 'COLUMN')}, or check "
            "km_anonymity or known_events."
        )
    if model.answered_by == "estimate":
        require_scipy(model.name())
    if isinstance(model, ReferenceModel):
        name = _other_table_name(REFERENCE, model, list(spec.references))
        named = model.model_copy(update={"reference": name})
        return BoundCheck(named, requested=True)
    if isinstance(model, SensitiveModel):
        return _with_sensitive_column(model, spec, table, sensitive)
    return BoundCheck(model, requested=True)


def _composed(
    model: ComposedModel,
    table: Table,
    sensitive: tuple[BoundColumn, ...],
    earlier: Mapping[str, OtherTable],
) -> BoundCheck:
    """The model with its earlier release and column resolved."""
    release = earlier[_other_table_name(EARLIER, model, list(earlier))]
    named = model.model_copy(update={"earlier": release.name})
    if not isinstance(named, ComposedLDiversity):
        return BoundCheck(named, requested=True)
    name = _sensitive_name(named, table, sensitive)
    if name not in release.sensitive:
        raise SpecError(
            f'{model.name()}: {release.called} has no column "{name}". If it is '
            f"called otherwise there, say how: {option('earlier_releases.columns', {name: '…'})}. "
            f"Its columns: {', '.join(release.table.column_names)}."
        )
    column = next(column for column in sensitive if column.name == name)
    return BoundCheck(named.model_copy(update={"sensitive": name}), requested=True, column=column)


def _with_sensitive_column(
    model: SensitiveModel, spec: TableSpec, table: Table, sensitive: tuple[BoundColumn, ...]
) -> BoundCheck:
    name = _sensitive_name(model, table, sensitive)
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


def _sensitive_name(
    model: SensitiveModel | ComposedLDiversity, table: Table, sensitive: tuple[BoundColumn, ...]
) -> str:
    if model.sensitive is not None:
        return find(model.sensitive, table).name
    if len(sensitive) == 1:
        return sensitive[0].name
    names = ", ".join(column.name for column in sensitive)
    raise SpecError(
        f"{model.name()} needs a sensitive attribute: "
        + (f"name one of {names}" if names else "name it")
        + f", as in sensitive={sensitive[0].name if sensitive else 'COLUMN'}."
    )


def _other_table_name(kind: OtherTableKind, model: Model, names: Sequence[str]) -> str:
    """Resolve the reference or earlier release that a model names."""
    name: str | None = getattr(model, kind.prefix)
    if name is not None and name in names:
        return name
    if not names:
        raise SpecError(
            f"{model.name()} needs {kind.a_noun}: {kind.holds}. Name it with {option(kind.key)}."
        )
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        raise SpecError(
            f"{model.name()}: there are several {kind.noun}s ({', '.join(names)}); name one, as "
            f"in {kind.prefix}={names[0]}."
        )
    raise SpecError(
        f'{model.name()}: there is no {kind.noun} "{name}". {kind.noun.capitalize()}s: '
        f"{', '.join(names)}.{did_you_mean(name, names)}"
    )


def require_scipy(model: str) -> None:
    """Raise `SpecError` with the install command if SciPy, which the model needs, is missing."""
    try:
        import scipy.special  # type: ignore[import-untyped] # noqa: F401
    except ImportError:
        raise SpecError(f"{model} needs SciPy: pip install 'kanon-sql[estimates]'") from None
