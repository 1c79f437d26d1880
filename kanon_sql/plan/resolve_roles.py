"""Assigns each column of a question its role, and resolves its reference and earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kanon_sql.errors import SpecError, located, no_first_records
from kanon_sql.plan.named_columns import (
    NamedColumn,
    bound_condition,
    quasi_identifier_names,
    refuse_unknown,
    renamed_columns,
    sensitive_names,
)
from kanon_sql.plan.question import BoundColumn, OtherTable, OtherTableKey, Roles, same_name
from kanon_sql.plan.resolve import (
    bound_checks,
    column_named,
    levels_of,
    located_column,
    refuse_two_roles,
    refuse_uncomparable,
)
from kanon_sql.question.other_tables import EARLIER, REFERENCE, OtherTableKind
from kanon_sql.question.question_parts import EarlierReleaseSpec, OtherTableSpec, ReferenceSpec
from kanon_sql.question.spec import ROLES, TableSpec
from kanon_sql.sql.dialects.rules import BLANK_FIRST
from kanon_sql.sql.tables import Column, Table, find


def resolve_other(
    kind: OtherTableKind,
    name: str,
    spec: OtherTableSpec,
    table: Table,
    quasi_identifiers: Sequence[BoundColumn],
    sensitive: Sequence[BoundColumn],
    entity: BoundColumn | None,
) -> OtherTable:
    """Resolve the columns of a reference or an earlier release.

    Its quasi-identifiers default to the table's. An earlier release needs an entity, and may lack
    sensitive attributes. Raises `SpecError` with its location in the spec.
    """
    location = (kind.key, name)
    linked = [] if kind is REFERENCE or entity is None else [*sensitive, entity]
    names, linked_names = ([column.name for column in c] for c in (quasi_identifiers, linked))
    renamed = renamed_columns(kind, name, spec.columns, names, linked_names)
    shown, columns = _quasi_identifiers(kind, name, spec, table, quasi_identifiers, renamed)
    for column in shown if kind is REFERENCE else ():
        refuse_uncomparable(column, table)
    person = spec.entity or (renamed.get(entity.name, entity.name) if linked and entity else None)
    weight = spec.weight if isinstance(spec, ReferenceSpec) else None
    resolved = OtherTable(
        kind=kind,
        name=name,
        spec=spec,
        table=table,
        quasi_identifiers=tuple(shown),
        columns=columns,
        entity=column_named(person, table, (*location, "entity"), "kanon_entity")
        if person
        else None,
        weight=column_named(weight, table, (*location, "weight")) if weight else None,
        sensitive=dict(_sensitive(table, renamed, sensitive if linked else ())),
        where=bound_condition(spec.where, table, (*location, "where")),
        levels=levels_of(spec.levels, quasi_identifiers),
    )
    if kind is EARLIER:
        with located(*location):
            _refuse_unusable(resolved)
    with located(*location, "levels"):
        _refuse_levels(resolved)
    return resolved


def _quasi_identifiers(
    kind: OtherTableKind,
    name: str,
    spec: OtherTableSpec,
    table: Table,
    audited: Sequence[BoundColumn],
    renamed: Mapping[str, str],
) -> tuple[list[BoundColumn], dict[str, BoundColumn]]:
    """The quasi-identifiers of another table, and those shared with the audited table, by their
    name in the latter.

    An earlier release may list its own; a renamed column is listed under either name.
    """
    location = (kind.key, name)
    other_names = {column.name: renamed.get(column.name, column.name) for column in audited}
    if isinstance(spec, EarlierReleaseSpec) and spec.quasi_identifiers:
        folded = {name.casefold(): other for name, other in renamed.items()}
        shown = [
            column_named(folded.get(name.casefold(), name), table, (*location, "quasi_identifiers"))
            for name in spec.quasi_identifiers
        ]
        return shown, {
            audited_name: column
            for audited_name, name in other_names.items()
            for column in shown
            if same_name(column.name, name)
        }
    key = "columns" if kind is REFERENCE else "quasi_identifiers"
    shown = [
        column_named(
            other_names[column.name],
            table,
            (*location, key),
            column.alias if kind is REFERENCE else None,
        )
        for column in audited
    ]
    return shown, dict(zip(other_names, shown, strict=True))


def _sensitive(
    table: Table, renamed: Mapping[str, str], sensitive: Sequence[BoundColumn]
) -> Iterator[tuple[str, BoundColumn]]:
    """Its columns for the sensitive attributes; a missing one is skipped unless it was renamed."""
    for attribute in sensitive:
        other_name = renamed.get(attribute.name, attribute.name)
        if attribute.name in renamed or any(
            same_name(other_name, name) for name in table.column_names
        ):
            yield attribute.name, column_named(other_name, table, ("sensitive", attribute.name))


def _refuse_unusable(release: OtherTable) -> None:
    """Raise for a column with two roles, or one whose values can't be compared."""
    roles = [
        *((column, "a quasi-identifier") for column in release.quasi_identifiers),
        *((column, "sensitive") for column in release.sensitive.values()),
        *([(release.entity, "the entity")] if release.entity else []),
    ]
    try:
        refuse_two_roles(roles)
        for column, _ in roles:
            refuse_uncomparable(column, release.table)
    except SpecError as error:
        raise SpecError(f"{release.called}: {error.marked}") from None


def _refuse_levels(other: OtherTable) -> None:
    """Raise for a level of a column that it lacks, or that has a second role there."""
    columns_with_roles = [*other.quasi_identifiers, other.entity, other.weight]
    for name in other.levels:
        if name not in other.columns:
            raise SpecError(
                f'{other.called}: "{name}" is none of its quasi-identifiers, which are '
                f"{', '.join(column.name for column in other.quasi_identifiers)}."
            )
        raw = other.columns[name].name
        if sum(column is not None and column.name == raw for column in columns_with_roles) > 1:
            raise SpecError(
                f'{other.called}: column "{raw}" plays two parts, so it can\'t be at a level for '
                "one of them. Copy it under another name in a view."
            )


def resolve(
    spec: TableSpec,
    table: Table,
    others: Mapping[OtherTableKey, Table],
    *,
    is_open: bool = False,
    further: Sequence[NamedColumn] = (),
) -> Roles:
    """Resolve every column that `spec` names, and assign it its role. `others` are the references
    and earlier releases, `further` are columns that are named beside the spec.

    `is_open`: the caller wants to find the quasi-identifiers, so none need be named. Raises
    `SpecError` with its location in the spec, for all unknown columns together.
    """
    _refuse_undecided(spec, table)
    refuse_unknown(spec, table, others, further)
    may_lack_columns = is_open and not spec.quasi_identifiers
    may_lack_columns = may_lack_columns or bool(spec.events and not spec.quasi_identifiers)
    quasi_identifiers = () if may_lack_columns else tuple(_raw_quasi_identifiers(spec, table))
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
    entity = (
        column_named(spec.entity, table, ("entity",), alias="kanon_entity") if spec.entity else None
    )
    weight = column_named(spec.weight, table, ("weight",)) if spec.weight else None
    columns_by_role: dict[str, Sequence[BoundColumn | Column]] = {
        "quasi_identifiers": quasi_identifiers,
        "events": events,
        "sensitive": sensitive,
        "identifiers": identifiers,
        "insensitive": insensitive,
        "entity": (entity,) if entity else (),
        "weight": (weight,) if weight else (),
    }
    refuse_two_roles(
        [(column, ROLES[key]) for key, columns in columns_by_role.items() for column in columns]
    )
    for column in (*quasi_identifiers, *events, *sensitive, *([entity] if entity else [])):
        refuse_uncomparable(column, table)
    if spec.first and not table.ordered:
        raise no_first_records(table.name)
    for role_column, noun, reason in (
        (entity, "an entity", "in which people could be counted"),
        (weight, "a survey weight", "of which the weights could be added up"),
    ):
        if spec.nulls == "wildcard" and role_column:
            raise SpecError(
                f"nulls: wildcard is not defined with {noun}: compatible records form no classes "
                f"{reason}. Leave out one of the two."
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
        levels=levels_of(spec.levels, (*quasi_identifiers, *events)),
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


def masked_columns(roles: Roles) -> list[BoundColumn]:
    """Masked columns, whose longest value must be known before their levels."""
    return [
        column
        for column in roles.generalisable
        if column.name in roles.levels and roles.hierarchy(column).has_mask
    ]


def masked_in_other(roles: Roles, other: OtherTable) -> list[tuple[BoundColumn, BoundColumn]]:
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
    requested = [roles.levels, *(other.levels for other in roles.others)]
    sources = {
        column.name: roles.hierarchy(column).source
        for column in roles.generalisable
        if every or any(column.name in levels for levels in requested)
    }
    return {name: source for name, source in sources.items() if source is not None}
