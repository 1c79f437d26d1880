"""The resolution of a question: a role for each column, its other tables, its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from kanon_sql.errors import Faults, SpecError, located, no_first_records, option
from kanon_sql.models.base import Model
from kanon_sql.models.catalogue import MODELS, as_measured, is_beside_classes
from kanon_sql.plan.binding import levels_of
from kanon_sql.plan.bound_columns import (
    column_named,
    located_column,
    refuse_two_roles,
    refuse_uncomparable,
)
from kanon_sql.plan.check_scope import CheckScope
from kanon_sql.plan.family_plan import family_plan, plan_of, requested_families
from kanon_sql.plan.named_columns import (
    NamedColumn,
    bound_condition,
    quasi_identifier_names,
    refuse_unknown,
    sensitive_names,
)
from kanon_sql.plan.question import BoundCheck, OtherTable, OtherTableKey, Roles
from kanon_sql.plan.resolved_others import resolve_other
from kanon_sql.question.roles import ROLES, Role, columns_by_role
from kanon_sql.question.table import TableSpec
from kanon_sql.sql.dialects.traits import BLANK_FIRST
from kanon_sql.sql.tables import Table, find


def resolve(
    spec: TableSpec,
    table: Table,
    others: Mapping[OtherTableKey, Table],
    *,
    is_open: bool = False,
    further: Sequence[NamedColumn] = (),
) -> Roles:
    """Resolve every column that `spec` names, and assign it its role. `others` are the references
    and earlier releases, `further` are columns named outside the spec.

    `is_open`: the caller wants to find the quasi-identifiers, so none need be named. Raises
    `SpecError` with its location in the spec, for all unknown columns together.
    """
    _refuse_undecided(spec, table)
    refuse_unknown(spec, table, others, further)
    families = {role.family for role, _ in columns_by_role(spec)} - {""}
    may_lack = is_open or any(map(is_beside_classes, families))
    roles = _with_columns(spec, table, may_lack_columns=may_lack)
    _refuse_unsuited(roles)
    resolved = tuple(
        resolve_other(kind, name, other, others[kind, name], roles)
        for kind, name, other in spec.other_tables()
    )
    condition = bound_condition(spec.where, table, ("where",))
    checks = tuple(_bound_checks(roles, resolved))
    return replace(roles, where=condition, others=resolved, checks=checks)


def _with_columns(spec: TableSpec, table: Table, *, may_lack_columns: bool) -> Roles:
    """The columns of the table by role, without a condition, other tables and checks."""
    names: dict[str, Any] = {role.key: getattr(spec, role.key) for role in ROLES}
    if names["quasi_identifiers"] or not may_lack_columns:
        names["quasi_identifiers"] = _quasi_identifier_names(spec, table)
    if "*" in spec.events and "*" not in table.column_names:
        raise SpecError(
            "events can't be '*', every column: name the columns that make an event.",
        )
    sensitive = names["sensitive"] = _sensitive_names(spec, table)
    if spec.with_other_sensitive and len(sensitive) < 2:
        raise SpecError(
            "with_other_sensitive needs two sensitive attributes or more; there "
            f"{'is one' if sensitive else 'are none'}."
        )
    columns: dict[str, Any] = {
        role.key: _columns(role, names[role.key], table)
        for role in ROLES
        if role.key in {field.name for field in fields(Roles)}
    }
    roles = Roles(spec=spec, table=table, levels={}, **columns)
    return replace(roles, levels=levels_of(spec.levels, roles.generalisable))


def _columns(role: Role, names: Any, table: Table) -> Any:
    """The columns of a role, or the one of a single role."""
    if role.is_single:
        return names and column_named(names, table, (role.key,), role.alias)
    if not role.is_compared:
        return tuple(located_column(name, table, (role.key, name)) for name in names)
    columns = []
    for number, name in enumerate(names, start=1):
        column, alias = column_named(name, table, (role.key, name)), f"kanon_{role.name}_{number}"
        is_safe = role.is_generalisable and not _is_taken(column.name)
        columns.append(column if is_safe else replace(column, alias=alias))
    return tuple(columns)


def _is_taken(name: str) -> bool:
    """Whether a column can't be called by its name: it has the prefix of generated names, or a
    blank before it that an alias loses on MySQL."""
    return name.casefold().startswith("kanon_") or bool(BLANK_FIRST.match(name))


def _refuse_unsuited(roles: Roles) -> None:
    """Raise `SpecError` for columns that can't have their role, or not in this table."""
    spec, table = roles.spec, roles.table
    columns = list(columns_by_role(roles))
    refuse_two_roles([(column, role.phrase) for role, column in columns])
    for role, column in columns:
        if role.is_compared:
            refuse_uncomparable(column, table)
    if spec.first and not table.ordered:
        raise no_first_records(table.name)
    for role, _ in columns if spec.nulls == "wildcard" else ():
        if role.against_wildcards:
            raise SpecError(
                f"nulls: wildcard is not defined with {role.against_wildcards}. Leave out one of "
                "the two."
            )


def _refuse_undecided(spec: TableSpec, table: Table) -> None:
    """Raise `SpecError` while columns are undecided."""
    if spec.undecided:
        with located("undecided"):
            single = len(spec.undecided) == 1
            raise SpecError(
                f"{'a column' if single else f'{len(spec.undecided)} columns'} of {table.name} "
                f"{'is' if single else 'are'} undecided: {', '.join(spec.undecided)}. Move "
                f"{'it' if single else 'each'} to quasi_identifiers, sensitive or identifiers, or "
                "to insensitive if it tells nothing of a person: a quasi-identifier that was "
                'missed makes a false "holds".'
            )


def _sensitive_names(spec: TableSpec, table: Table) -> list[str]:
    """The sensitive attributes in the table's spelling; one that only checks name stands once."""
    names = [find(name, table).name for name in sensitive_names(spec)]
    declared, of_checks = names[: len(spec.sensitive)], names[len(spec.sensitive) :]
    return [*declared, *dict.fromkeys(name for name in of_checks if name not in declared)]


def _quasi_identifier_names(spec: TableSpec, table: Table) -> list[str]:
    """The quasi-identifiers. Raises `SpecError` if there are none."""
    names = quasi_identifier_names(spec, table)
    if not names:
        raise SpecError(
            f"no quasi-identifiers of {table.name} are named: which columns may someone know of "
            "a person?"
        )
    return names


def _bound_checks(roles: Roles, others: Sequence[OtherTable]) -> Iterator[BoundCheck]:
    """Requested checks, gating ones first; then the checks measured by default."""
    scope = CheckScope(roles.spec, roles.table, roles.sensitive, others)
    requested = []
    with Faults() as faults:
        for index, model in enumerate(scope.spec.checks):
            with faults.collected(), located("checks", index):
                requested.append(_bound(model, scope))
    requested.sort(key=lambda check: not check.gates)
    models = [check.model for check in requested]
    yield from requested
    families = requested_families(models, roles, (other.kind for other in others))
    for name in as_measured(families):
        yield from family_plan(name).measured(scope, models)


def _bound(model: Model, scope: CheckScope) -> BoundCheck:
    """The model with its column or its other table resolved by its family. Raises `SpecError` for a
    model that is not defined on such a table."""
    spec = scope.spec
    if model.family == "cells":
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
    if scope.lacks_classes and model.needs_classes:
        raise SpecError(
            f"{model.name()} is about classes, and there are no quasi-identifiers: name what an "
            f"attacker knows besides events with {option('quasi_identifiers', 'COLUMN')}, or check "
            "km_anonymity or known_events."
        )
    return plan_of(model).bound(model, scope)
