"""Completes checks with the columns and tables they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kanon_sql.errors import SpecError, did_you_mean, located, option
from kanon_sql.plan.join_columns import are_of_one_kind
from kanon_sql.plan.question import BoundCheck, BoundColumn, OtherTable
from kanon_sql.spec.hierarchy_table import read_tree
from kanon_sql.spec.models.base import Model, ReferenceModel, SensitiveModel
from kanon_sql.spec.models.catalogue import MODELS
from kanon_sql.spec.models.closeness import TCloseness
from kanon_sql.spec.models.composition import (
    ComposedKAnonymity,
    ComposedLDiversity,
    ComposedModel,
)
from kanon_sql.spec.models.diversity import Homogeneity
from kanon_sql.spec.models.reference import KMap
from kanon_sql.spec.models.sizes import KAnonymity
from kanon_sql.spec.other_tables import EARLIER, REFERENCE, OtherTableKind
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.column_types import family
from kanon_sql.sql.tables import Table, find

_UNASKED = tuple(
    model
    for model in MODELS.values()
    if issubclass(model, SensitiveModel)
    and not any(field.is_required() for field in model.model_fields.values())
)
"""Sensitive models that need no parameters, so they can be measured by default."""


def bound_checks(
    spec: TableSpec,
    table: Table,
    sensitive: tuple[BoundColumn, ...],
    others: Sequence[OtherTable],
) -> Iterator[BoundCheck]:
    """Requested checks, gating ones first; then the checks measured by default."""
    earlier = {each.name: each for each in others if each.kind is EARLIER}
    asked = []
    for place, model in enumerate(spec.checks):
        with located("checks", place):
            asked.append(
                _composed(model, table, sensitive, earlier)
                if isinstance(model, ComposedModel)
                else _complete(model, spec, table, sensitive)
            )
    asked.sort(key=lambda check: not check.gates)
    models = [check.model for check in asked]
    yield from asked
    yield from _unasked(spec, sensitive, models)
    yield from _composed_unasked(sensitive, earlier, models)


def _unasked(
    spec: TableSpec, sensitive: tuple[BoundColumn, ...], asked: Sequence[Model]
) -> Iterator[BoundCheck]:
    """Default measures: few if any check gates, otherwise every model without parameters."""
    if not any(isinstance(model, KAnonymity) for model in asked):
        yield BoundCheck(KAnonymity(), asked=False)
    matched = {model.reference for model in asked if isinstance(model, KMap)}
    for reference in spec.references:
        if reference not in matched:
            yield BoundCheck(KMap(reference=reference), asked=False)
    if spec.nulls == "wildcard":
        return
    required = any(model.gates for model in asked)
    for column in sensitive:
        for model in (Homogeneity,) if required else _UNASKED:
            measured = model(sensitive=column.name, with_other_sensitive=spec.with_other_sensitive)
            same = [each for each in asked if type(each) is model]
            known = [(each.sensitive, each.with_other_sensitive) for each in same]
            if (measured.sensitive, measured.with_other_sensitive) in known:
                continue
            if not model.of_numbers or family(column.type) == "number":
                yield BoundCheck(measured, asked=False, column=column)


def _composed_unasked(
    sensitive: Sequence[BoundColumn], earlier: Mapping[str, OtherTable], asked: Sequence[Model]
) -> Iterator[BoundCheck]:
    """Default measures of each earlier release composed with this one."""
    for name, release in earlier.items():
        of_release = [m for m in asked if isinstance(m, ComposedModel) and m.earlier == name]
        if not any(isinstance(model, ComposedKAnonymity) for model in of_release):
            yield BoundCheck(ComposedKAnonymity(earlier=name), asked=False)
        known = {m.sensitive for m in of_release if isinstance(m, ComposedLDiversity)}
        for column in sensitive:
            there = release.sensitive.get(column.name)
            if column.name not in known and there and are_of_one_kind(column, there):
                model = ComposedLDiversity(sensitive=column.name, earlier=name)
                yield BoundCheck(model, asked=False, column=column)


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
        defined = ", ".join(name for name, each in MODELS.items() if each.with_wildcards)
        raise SpecError(
            f"{model.name()} is not defined with nulls: wildcard, where records form no classes. "
            f"Defined are {defined}."
        )
    if model.answered_by == "estimate":
        require(model.name())
    if isinstance(model, ReferenceModel):
        name = _named_one(REFERENCE, model, list(spec.references))
        named = model.model_copy(update={"reference": name})
        return BoundCheck(named, asked=True)
    if isinstance(model, SensitiveModel):
        return _with_its_column(model, spec, table, sensitive)
    return BoundCheck(model, asked=True)


def _composed(
    model: ComposedModel,
    table: Table,
    sensitive: tuple[BoundColumn, ...],
    earlier: Mapping[str, OtherTable],
) -> BoundCheck:
    """The model with its earlier release and column resolved."""
    release = earlier[_named_one(EARLIER, model, list(earlier))]
    named = model.model_copy(update={"earlier": release.name})
    if not isinstance(named, ComposedLDiversity):
        return BoundCheck(named, asked=True)
    name = _sensitive_name(named, table, sensitive)
    if name not in release.sensitive:
        raise SpecError(
            f'{model.name()}: {release.called} has no column "{name}". If it is '
            f"called otherwise there, say how: {option('earlier_releases.columns', {name: '…'})}. "
            f"Its columns: {', '.join(release.table.column_names)}."
        )
    column = next(column for column in sensitive if column.name == name)
    return BoundCheck(named.model_copy(update={"sensitive": name}), asked=True, column=column)


def _with_its_column(
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
        return BoundCheck(complete, asked=True, column=column)
    has_order = kind in ("number", "text", "time", "boolean", "nothing", "")
    has_order = has_order or column.type == "TIME"
    if model.distance == "ordered" and model.order is None and not has_order:
        raise SpecError(
            f't_closeness: "{name}" is {column.type}, which has no order of its own. List its '
            "values in order, as in order=[low, middle, high]."
        )
    paths = read_tree(model.hierarchy) if model.hierarchy is not None else ()
    return BoundCheck(complete, asked=True, column=column, paths=paths)


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
        + f", as in {model.name()}:sensitive={sensitive[0].name if sensitive else 'COLUMN'}."
    )


def _named_one(kind: OtherTableKind, model: Model, names: Sequence[str]) -> str:
    """Resolve the reference or earlier release that a model names."""
    given: str | None = getattr(model, kind.prefix)
    if given is not None and given in names:
        return given
    if not names:
        raise SpecError(
            f"{model.name()} needs {kind.a_noun}: {kind.holds} ({option(kind.key, 'FILE')}, or "
            f"{kind.key}: in a spec)."
        )
    if given is None and len(names) == 1:
        return names[0]
    if given is None:
        raise SpecError(
            f"{model.name()}: there are several {kind.noun}s ({', '.join(names)}); name one, as "
            f"in {model.name()}:{kind.prefix}={names[0]}."
        )
    raise SpecError(
        f'{model.name()}: there is no {kind.noun} "{given}". {kind.noun.capitalize()}s: '
        f"{', '.join(names)}.{did_you_mean(given, names)}"
    )


def sensitive_of(model: Model) -> str | None:
    """The sensitive attribute that a model names, or None."""
    return model.sensitive if isinstance(model, SensitiveModel | ComposedLDiversity) else None


def require(model: str) -> None:
    """Raise `SpecError` with the install command if SciPy, which the model needs, is missing."""
    try:
        import scipy.special  # type: ignore[import-untyped] # noqa: F401
    except ImportError:
        raise SpecError(f"{model} needs SciPy: pip install 'kanon-sql[estimates]'") from None
