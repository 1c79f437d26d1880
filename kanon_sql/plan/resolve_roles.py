"""Assigns each column of a question its role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kanon_sql.errors import Faults, SpecError, located, no_first_records
from kanon_sql.plan.question import BoundColumn, OtherTable, OtherTableKey, Roles
from kanon_sql.plan.resolve_checks import bound_checks, sensitive_of
from kanon_sql.plan.resolve_columns import (
    bound_condition,
    column_named,
    each_once,
    found_column,
    levels_of,
    refuse_two_parts,
    refuse_uncomparable,
)
from kanon_sql.plan.resolve_other import resolve_other
from kanon_sql.spec.hierarchy_table import read_hierarchy
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.conditions import columns_of
from kanon_sql.sql.tables import Table, find


def resolve(
    spec: TableSpec,
    table: Table,
    others: Mapping[OtherTableKey, Table],
    *,
    is_open: bool = False,
) -> Roles:
    """Resolve every column that `spec` names, and assign it its role. `others` are the references
    and earlier releases.

    `is_open`: the caller wants to find the quasi-identifiers, so none need be named. Raises
    `SpecError` with its location in the spec.
    """
    _refuse_undecided(spec, table)
    _refuse_unknown(spec, table)
    has_none = is_open and not spec.quasi_identifiers
    has_none = has_none or bool(spec.events and not spec.quasi_identifiers)
    quasi_identifiers = () if has_none else tuple(_raw_quasi_identifiers(spec, table))
    if "*" in spec.events and "*" not in table.column_names:
        raise SpecError(
            "events can't be '*', every column: name the columns that make an event.",
        )
    events = tuple(
        _with_own_alias(column_named(name, table, ("events", name)), "event", place)
        for place, name in enumerate(spec.events, start=1)
    )
    sensitive = tuple(
        column_named(name, table, ("sensitive", name), alias=f"kanon_sensitive_{place}")
        for place, name in enumerate(_sensitive_names(spec, table), start=1)
    )
    if spec.with_other_sensitive and len(sensitive) < 2:
        raise SpecError(
            "with_other_sensitive needs two sensitive attributes or more; there "
            f"{'is one' if sensitive else 'are none'}."
        )
    identifiers = tuple(
        found_column(name, table, ("identifiers", name)) for name in spec.identifiers
    )
    insensitive = tuple(
        found_column(name, table, ("insensitive", name)) for name in spec.insensitive
    )
    entity = (
        column_named(spec.entity, table, ("entity",), alias="kanon_entity") if spec.entity else None
    )
    weight = column_named(spec.weight, table, ("weight",)) if spec.weight else None
    refuse_two_parts(
        [(column, "a quasi-identifier") for column in quasi_identifiers]
        + [(column, "part of an event") for column in events]
        + [(column, "sensitive") for column in sensitive]
        + [(column, "an identifier") for column in identifiers]
        + [(column, "insensitive") for column in insensitive]
        + ([(entity, "the entity")] if entity else [])
        + ([(weight, "the weight")] if weight else [])
    )
    for column in (*quasi_identifiers, *events, *sensitive, *([entity] if entity else [])):
        refuse_uncomparable(column, table)
    if spec.first and not table.ordered:
        raise no_first_records(table.name)
    if spec.nulls == "wildcard" and entity:
        raise SpecError(
            "nulls: wildcard is not defined with an entity: compatible records form no classes in "
            "which people could be counted. Leave out one of the two."
        )
    if spec.nulls == "wildcard" and weight:
        raise SpecError(
            "nulls: wildcard is not defined with a survey weight: compatible records form no "
            "classes of which the weights could be added up. Leave out one of the two."
        )
    resolved = tuple(
        resolve_other(kind, name, other, others[kind, name], quasi_identifiers, sensitive, entity)
        for kind, name, other in spec.other_tables()
    )
    return Roles(
        spec=spec,
        table=table,
        quasi_identifiers=quasi_identifiers,
        events=events,
        sensitive=sensitive,
        identifiers=identifiers,
        insensitive=insensitive,
        entity=entity,
        weight=weight,
        where=bound_condition(spec.where, table, ("where",)),
        others=resolved,
        checks=tuple(bound_checks(spec, table, sensitive, resolved)),
        levels=levels_of(
            "",
            spec.levels,
            (*quasi_identifiers, *events),
            "Columns with levels" if events else "Quasi-identifiers",
        ),
    )


def _refuse_undecided(spec: TableSpec, table: Table) -> None:
    """Raise `SpecError` while columns are undecided."""
    if spec.undecided:
        with located("undecided"):
            one = len(spec.undecided) == 1
            raise SpecError(
                f"{'a column' if one else f'{len(spec.undecided)} columns'} of {table.name} "
                f"{'is' if one else 'are'} undecided: {', '.join(spec.undecided)}. Move "
                f"{'it' if one else 'each'} to quasi_identifiers, sensitive or identifiers, or to "
                "insensitive if it tells nothing of a person: a quasi-identifier that was missed "
                'makes a false "holds".'
            )


def _refuse_unknown(spec: TableSpec, table: Table) -> None:
    """Raise `SpecError` for every name that is no column of the table, and then for every hierarchy
    file that can't be read."""
    named: list[tuple[str, tuple[str | int, ...]]] = [
        (name, (part, name))
        for part in ("quasi_identifiers", "sensitive", "identifiers", "insensitive")
        for name in getattr(spec, part)
        if name != "*"
    ]
    named += [(name, (part,)) for part in ("entity", "weight") if (name := getattr(spec, part))]
    named += [
        (name, ("checks", place))
        for place, model in enumerate(spec.checks)
        if (name := sensitive_of(model)) and name not in spec.sensitive
    ]
    with Faults() as faults:
        for name, location in named:
            with faults.collected():
                found_column(name, table, location)
        for name, each in spec.quasi_identifiers.items() if faults else ():
            with faults.collected(), located("quasi_identifiers", name):
                if isinstance(each.hierarchy, str) and each.source is None:
                    read_hierarchy(each.hierarchy)


def named_columns(spec: TableSpec, dialect: str) -> list[str]:
    """The columns a spec names, in its spelling.

    Raises `SpecError` for a wildcard, which only an open table can expand.
    """
    if "*" in spec.quasi_identifiers:
        raise SpecError(
            "quasi_identifiers: '*' is every column of a table that nobody has opened. Name them, "
            "or connect to the database."
        )
    of_checks = [sensitive_of(each) for each in spec.checks]
    return each_once(
        *spec.quasi_identifiers,
        *spec.events,
        *spec.sensitive,
        *of_checks,
        *spec.identifiers,
        *spec.insensitive,
        spec.entity,
        spec.weight,
        *columns_of(spec.where, dialect),
    )


def _sensitive_names(spec: TableSpec, table: Table) -> list[str]:
    """The sensitive attributes, including those only a check names."""
    declared = [find(name, table).name for name in spec.sensitive]
    named: dict[str, None] = {}
    for place, model in enumerate(spec.checks):
        sensitive = sensitive_of(model)
        if sensitive is not None:
            with located("checks", place):
                named[find(sensitive, table).name] = None
    return [*declared, *(name for name in named if name not in declared)]


def _raw_quasi_identifiers(spec: TableSpec, table: Table) -> Iterator[BoundColumn]:
    """The quasi-identifiers at raw values."""
    names = list(spec.quasi_identifiers)
    if "*" in names and "*" not in table.column_names:
        for name in names:
            if name != "*":
                column_named(name, table, ("quasi_identifiers", name))
        other = [
            *_sensitive_names(spec, table),
            *spec.events,
            *spec.identifiers,
            *spec.insensitive,
            *(name for name in (spec.entity, spec.weight) if name),
        ]
        taken = {find(name, table).name for name in other}
        names = [name for name in table.column_names if name not in taken]
    if not names:
        raise SpecError(
            f"no quasi-identifiers of {table.name} are named: which columns may someone know of "
            "a person?"
        )
    for place, name in enumerate(names, start=1):
        column = column_named(name, table, ("quasi_identifiers", name))
        yield _with_own_alias(column, "quasi_identifier", place)


def _with_own_alias(column: BoundColumn, role: str, place: int) -> BoundColumn:
    """The column under its name, or a generated one if it has the prefix of generated names."""
    collides = column.name.casefold().startswith("kanon_")
    return replace(column, alias=f"kanon_{role}_{place}" if collides else column.name)


def masked_columns(roles: Roles) -> list[BoundColumn]:
    """Masked columns, whose longest value must be known before their levels."""
    return [
        column
        for column in roles.generalisable
        if column.name in roles.levels and roles.hierarchy(column).has_mask
    ]


def masked_there(roles: Roles, other: OtherTable) -> list[tuple[BoundColumn, BoundColumn]]:
    """The quasi-identifiers masked in another table, each with its column there."""
    return [
        (column, other.columns[column.name])
        for column in roles.quasi_identifiers
        if column.name in other.levels and roles.hierarchy(column).has_mask
    ]


def hierarchy_sources(roles: Roles, *, every: bool = False) -> dict[str, str]:
    """The hierarchy file or table of each quasi-identifier with a requested level.

    With `every`, that of all quasi-identifiers.
    """
    asked = [roles.levels, *(each.levels for each in roles.others)]
    sources = {
        column.name: roles.hierarchy(column).source
        for column in roles.generalisable
        if every or any(column.name in levels for levels in asked)
    }
    return {name: source for name, source in sources.items() if source is not None}
