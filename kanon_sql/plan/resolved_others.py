"""The columns of another table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kanon_sql.errors import SpecError, located
from kanon_sql.plan.binding import levels_of
from kanon_sql.plan.bound_columns import (
    bound_column,
    column_named,
    refuse_two_roles,
    refuse_uncomparable,
)
from kanon_sql.plan.named_columns import bound_condition, renamed_columns
from kanon_sql.plan.question import BoundColumn, OtherTable, Roles, same_name
from kanon_sql.question.other_tables import OtherTableKind
from kanon_sql.question.question_parts import EarlierReleaseSpec, OtherTableSpec, ReferenceSpec
from kanon_sql.sql.tables import Table


def resolve_other(
    kind: OtherTableKind, name: str, spec: OtherTableSpec, table: Table, roles: Roles
) -> OtherTable:
    """Resolve the columns of another table.

    Its quasi-identifiers default to the table's. An earlier release needs an entity, and may lack
    sensitive attributes; an original and a holdout may have an entity of their own. Raises
    `SpecError` with its location in the spec.
    """
    location = kind.place(name)
    quasi_identifiers, entity = roles.quasi_identifiers, roles.entity
    linked = [*roles.sensitive, *([entity] if entity else [])] if kind.has_sensitive else []
    names, linked_names = ([column.name for column in c] for c in (quasi_identifiers, linked))
    if kind.shares_columns:
        names, linked_names = list(roles.table.column_names), []
    renamed = renamed_columns(kind, name, spec.columns, names, linked_names)
    shown, columns = _quasi_identifiers(kind, name, spec, table, quasi_identifiers, renamed)
    for column in shown if not linked else ():
        refuse_uncomparable(column, table)
    person = spec.entity or (renamed.get(entity.name, entity.name) if linked and entity else None)
    weight = spec.weight if isinstance(spec, ReferenceSpec) else None
    on_all = roles.levels if kind.shares_columns else {}
    sensitive = dict(_sensitive(kind, table, renamed, roles.sensitive if linked else ()))
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
        sensitive=sensitive,
        shared={},
        where=bound_condition(spec.where, table, (*location, "where")),
        levels=levels_of({**on_all, **spec.levels}, (*quasi_identifiers, *roles.sensitive)),
    )
    if linked or kind.shares_columns:
        with located(*location):
            _refuse_unusable(resolved)
    with located(*location, "levels"):
        _refuse_levels(resolved)
    if not kind.shares_columns:
        return resolved
    return replace(resolved, shared=dict(_shared(resolved, roles, renamed)))


def _shared(
    other: OtherTable, roles: Roles, renamed: Mapping[str, str]
) -> Iterator[tuple[str, BoundColumn]]:
    """Its column for each column of the table that is no key, no target, no entity and no
    identifier, where it has one whose values can be compared."""
    with_role = {column.name for column in roles.of_classes}
    with_role |= {column.name for column in roles.identifiers}
    taken = [*other.quasi_identifiers, *other.sensitive.values()]
    taken += [other.entity] if other.entity else []
    taken_names = {column.name for column in taken}
    by_name = {column.name.casefold(): column for column in other.table.columns}
    for own in roles.table.columns:
        there = by_name.get(renamed.get(own.name, own.name).casefold())
        if own.name in with_role or there is None or there.name in taken_names:
            continue
        yield own.name, bound_column(there, own.name)


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
    location = kind.place(name)
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
    key = "quasi_identifiers" if kind.may_lack_columns else "columns"
    shown = [
        column_named(
            other_names[column.name],
            table,
            (*location, key),
            None if kind.may_lack_columns else column.alias,
        )
        for column in audited
    ]
    return shown, dict(zip(other_names, shown, strict=True))


def _sensitive(
    kind: OtherTableKind,
    table: Table,
    renamed: Mapping[str, str],
    sensitive: Sequence[BoundColumn],
) -> Iterator[tuple[str, BoundColumn]]:
    """Its columns for the sensitive attributes; a missing one is skipped unless it was renamed."""
    for attribute in sensitive:
        other_name = renamed.get(attribute.name, attribute.name)
        if attribute.name in renamed or any(
            same_name(other_name, name) for name in table.column_names
        ):
            alias = attribute.alias if kind.shares_columns else None
            yield (
                attribute.name,
                column_named(other_name, table, ("sensitive", attribute.name), alias),
            )


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
        if name not in other.columns and name not in other.sensitive:
            raise SpecError(
                f'{other.called}: "{name}" is none of its quasi-identifiers, which are '
                f"{', '.join(column.name for column in other.quasi_identifiers)}."
            )
        raw = (other.columns.get(name) or other.sensitive[name]).name
        if sum(column is not None and column.name == raw for column in columns_with_roles) > 1:
            raise SpecError(
                f'{other.called}: column "{raw}" plays two parts, so it can\'t be at a level for '
                "one of them. Copy it under another name in a view."
            )
