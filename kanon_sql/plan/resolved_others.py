"""The columns of a reference or an earlier release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kanon_sql.errors import SpecError, located
from kanon_sql.plan.binding import levels_of
from kanon_sql.plan.bound_columns import column_named, refuse_two_roles, refuse_uncomparable
from kanon_sql.plan.named_columns import bound_condition, renamed_columns
from kanon_sql.plan.question import BoundColumn, OtherTable, same_name
from kanon_sql.question.other_tables import EARLIER, REFERENCE, OtherTableKind
from kanon_sql.question.question_parts import EarlierReleaseSpec, OtherTableSpec, ReferenceSpec
from kanon_sql.sql.tables import Table


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
