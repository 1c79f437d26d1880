"""The resolution of a question: a role for each column, its other tables, its checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kanon_sql.errors import SpecError, located, no_first_records
from kanon_sql.plan.binding import levels_of
from kanon_sql.plan.bound_checks import bound_checks
from kanon_sql.plan.bound_columns import (
    column_named,
    located_column,
    refuse_two_roles,
    refuse_uncomparable,
)
from kanon_sql.plan.named_columns import (
    NamedColumn,
    bound_condition,
    quasi_identifier_names,
    refuse_unknown,
    sensitive_names,
)
from kanon_sql.plan.question import BoundColumn, OtherTableKey, Roles
from kanon_sql.plan.resolved_others import resolve_other
from kanon_sql.question.roles import columns_by_role
from kanon_sql.question.spec import TableSpec
from kanon_sql.sql.dialects.rules import BLANK_FIRST
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
    roles = _with_columns(spec, table, may_lack_columns=is_open or bool(spec.events))
    _refuse_unsuited(roles)
    resolved = tuple(
        resolve_other(kind, name, other, others[kind, name], roles)
        for kind, name, other in spec.other_tables()
    )
    sensitive = roles.sensitive
    condition = bound_condition(spec.where, table, ("where",))
    checks = tuple(bound_checks(spec, table, sensitive, resolved))
    return replace(roles, where=condition, others=resolved, checks=checks)


def _with_columns(spec: TableSpec, table: Table, *, may_lack_columns: bool) -> Roles:
    """The columns of the table by role, without a condition, other tables and checks."""
    quasi_identifiers: tuple[BoundColumn, ...] = ()
    if spec.quasi_identifiers or not may_lack_columns:
        quasi_identifiers = tuple(_raw_quasi_identifiers(spec, table))
    if "*" in spec.events and "*" not in table.column_names:
        raise SpecError(
            "events can't be '*', every column: name the columns that make an event.",
        )
    events = tuple(
        _with_safe_alias(column_named(name, table, ("events", name)), "event", number)
        for number, name in enumerate(spec.events, start=1)
    )
    sensitive = tuple(
        column_named(name, table, ("sensitive", name), alias=f"kanon_sensitive_{number}")
        for number, name in enumerate(_sensitive_names(spec, table), start=1)
    )
    if spec.with_other_sensitive and len(sensitive) < 2:
        raise SpecError(
            "with_other_sensitive needs two sensitive attributes or more; there "
            f"{'is one' if sensitive else 'are none'}."
        )
    identifiers, insensitive = (
        tuple(located_column(name, table, (key, name)) for name in getattr(spec, key))
        for key in ("identifiers", "insensitive")
    )
    return Roles(
        spec=spec,
        table=table,
        quasi_identifiers=quasi_identifiers,
        events=events,
        sensitive=sensitive,
        identifiers=identifiers,
        insensitive=insensitive,
        entity=column_named(spec.entity, table, ("entity",), "kanon_entity")
        if spec.entity
        else None,
        weight=column_named(spec.weight, table, ("weight",)) if spec.weight else None,
        household=column_named(spec.household, table, ("household",), "kanon_household")
        if spec.household
        else None,
        levels=levels_of(
            spec.levels, (*quasi_identifiers, *events, *(sensitive if spec.original else ()))
        ),
    )


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
    for role_column, noun, reason in (
        (roles.entity, "an entity", "in which people could be counted"),
        (roles.weight, "a survey weight", "of which the weights could be added up"),
        (roles.household, "a household", "in which its people could be found"),
    ):
        if spec.nulls == "wildcard" and role_column:
            raise SpecError(
                f"nulls: wildcard is not defined with {noun}: compatible records form no classes "
                f"{reason}. Leave out one of the two."
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


def _raw_quasi_identifiers(spec: TableSpec, table: Table) -> Iterator[BoundColumn]:
    """The quasi-identifiers at raw values."""
    names = quasi_identifier_names(spec, table)
    if not names:
        raise SpecError(
            f"no quasi-identifiers of {table.name} are named: which columns may someone know of "
            "a person?"
        )
    for number, name in enumerate(names, start=1):
        column = column_named(name, table, ("quasi_identifiers", name))
        yield _with_safe_alias(column, "quasi_identifier", number)


def _with_safe_alias(column: BoundColumn, role: str, index: int) -> BoundColumn:
    """The column under its name, or a generated one if it has the prefix of generated names, or a
    blank before it that an alias loses on MySQL."""
    collides = column.name.casefold().startswith("kanon_") or BLANK_FIRST.match(column.name)
    return replace(column, alias=f"kanon_{role}_{index}" if collides else column.alias)
