"""Resolves the columns of a reference or an earlier release by role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext

from kanon_sql.errors import SpecError, did_you_mean, located, option
from kanon_sql.plan.question import BoundColumn, OtherTable, same_name
from kanon_sql.plan.resolve_checks import sensitive_of
from kanon_sql.plan.resolve_columns import (
    bound_condition,
    column_named,
    each_once,
    levels_of,
    refuse_missing_beside,
    refuse_two_parts,
    refuse_uncomparable,
)
from kanon_sql.spec.other_tables import EARLIER, REFERENCE, OtherTableKind
from kanon_sql.spec.question_parts import EarlierReleaseSpec, OtherTableSpec, ReferenceSpec
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.conditions import columns_of
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
    here = (kind.key, name)
    if kind is EARLIER and entity is None:
        with located(*here):
            raise SpecError(
                f"{kind.called(name)}: to compare with an earlier release, name the column that "
                f"identifies a person: {option('entity', 'person')}."
            )
    linked = [] if kind is REFERENCE or entity is None else [*sensitive, entity]
    with located(*here, "columns") if kind is EARLIER else nullcontext():
        renamed = _renamed(kind.called(name), spec, quasi_identifiers, linked)
    shown, columns = _quasi_identifiers(kind, name, spec, table, quasi_identifiers, renamed)
    for column in shown if kind is REFERENCE else ():
        refuse_uncomparable(column, table)
    person = spec.entity or (renamed.get(entity.name, entity.name) if linked and entity else None)
    weight = spec.weight if isinstance(spec, ReferenceSpec) else None
    with located(*here, "levels"):
        levels = levels_of(f"{kind.called(name)}: ", spec.levels, quasi_identifiers)
    found = OtherTable(
        kind=kind,
        name=name,
        spec=spec,
        table=table,
        quasi_identifiers=tuple(shown),
        columns=columns,
        entity=column_named(person, table, (*here, "entity"), "kanon_entity") if person else None,
        weight=column_named(weight, table, (*here, "weight")) if weight else None,
        sensitive=dict(_sensitive(table, renamed, sensitive if linked else ())),
        where=bound_condition(spec.where, table, (*here, "where")),
        levels=levels,
    )
    if kind is EARLIER:
        with located(*here):
            _refuse_unusable(found)
    with located(*here, "levels"):
        _refuse_levels(found)
    return found


def _renamed(
    called: str,
    spec: OtherTableSpec,
    quasi_identifiers: Sequence[BoundColumn],
    linked: Sequence[BoundColumn],
) -> dict[str, str]:
    """Its column names, by the table's own: quasi-identifiers and the columns that link people."""
    owns = [column.name for column in (*quasi_identifiers, *linked)]
    if linked:
        known = "no quasi-identifier, no sensitive attribute and not the entity"
        listed = f"These are {', '.join(owns)}."
    else:
        known = "no quasi-identifier"
        listed = f"Quasi-identifiers: {', '.join(sorted(owns))}."
    renamed: dict[str, str] = {}
    for own, there in spec.columns.items():
        matches = [each for each in owns if each == own] or [
            each for each in owns if same_name(each, own)
        ]
        if len(matches) != 1:
            raise SpecError(
                f'{called}: "{own}" is {known}, and needs no other name there. {listed}'
                f"{did_you_mean(own, owns)}"
            )
        renamed[matches[0]] = there
    return renamed


def _quasi_identifiers(
    kind: OtherTableKind,
    name: str,
    spec: OtherTableSpec,
    table: Table,
    owns: Sequence[BoundColumn],
    renamed: Mapping[str, str],
) -> tuple[list[BoundColumn], dict[str, BoundColumn]]:
    """Its quasi-identifiers, and those shared with the table by their name there.

    An earlier release may list its own, where a renamed one stands under either name.
    """
    here = (kind.key, name)
    there = {own.name: renamed.get(own.name, own.name) for own in owns}
    if isinstance(spec, EarlierReleaseSpec) and spec.quasi_identifiers:
        folded = {own.casefold(): each for own, each in renamed.items()}
        shown = [
            column_named(folded.get(each.casefold(), each), table, (*here, "quasi_identifiers"))
            for each in spec.quasi_identifiers
        ]
        return shown, {
            own: column
            for own, each in there.items()
            for column in shown
            if same_name(column.name, each)
        }
    for own in [own for own in there if own not in renamed]:
        ways_out = [option(f"{kind.key}.columns", {own: "…"})]
        if kind is EARLIER:
            of_its_own = option(f"{kind.key}.quasi_identifiers")
            ways_out.append(f"name what it published instead: {of_its_own}")
        refuse_missing_beside(own, table, here, *ways_out)
    key = "columns" if kind is REFERENCE else "quasi_identifiers"
    shown = [
        column_named(there[own.name], table, (*here, key), own.alias if kind is REFERENCE else None)
        for own in owns
    ]
    return shown, dict(zip(there, shown, strict=True))


def _sensitive(
    table: Table, renamed: Mapping[str, str], sensitive: Sequence[BoundColumn]
) -> Iterator[tuple[str, BoundColumn]]:
    """Its columns for the sensitive attributes; a missing one is skipped unless it was renamed."""
    for own in sensitive:
        there = renamed.get(own.name, own.name)
        if own.name in renamed or any(same_name(there, each) for each in table.column_names):
            yield own.name, column_named(there, table, ("sensitive", own.name))


def _refuse_unusable(release: OtherTable) -> None:
    """Raise for a column with two roles, or one whose values can't be compared."""
    roles = [
        *((column, "a quasi-identifier") for column in release.quasi_identifiers),
        *((column, "sensitive") for column in release.sensitive.values()),
        *([(release.entity, "the entity")] if release.entity else []),
    ]
    try:
        refuse_two_parts(roles)
        for column, _ in roles:
            refuse_uncomparable(column, release.table)
    except SpecError as error:
        raise SpecError(f"{release.called}: {error.marked}") from None


def _refuse_levels(other: OtherTable) -> None:
    """Raise for a level of a column that it lacks, or that has a second role there."""
    read = [*other.quasi_identifiers, other.entity, other.weight]
    for name in other.levels:
        if name not in other.columns:
            raise SpecError(
                f'{other.called}: "{name}" is none of its quasi-identifiers, which are '
                f"{', '.join(column.name for column in other.quasi_identifiers)}."
            )
        raw = other.columns[name].name
        if sum(column is not None and column.name == raw for column in read) > 1:
            raise SpecError(
                f'{other.called}: column "{raw}" plays two parts, so it can\'t be at a level for '
                "one of them. Copy it under another name in a view."
            )


def named_of_other(asked: TableSpec, spec: OtherTableSpec, dialect: str) -> list[str]:
    """Column names of an unopened reference or earlier release, as far as the spec names them.

    An earlier release is assumed to have the table's sensitive attributes.
    """
    there = {own.casefold(): named for own, named in spec.columns.items()}
    owns: list[str | None] = list(asked.quasi_identifiers)
    weight = None
    if isinstance(spec, ReferenceSpec):
        weight = spec.weight
    else:
        owns = [
            *(spec.quasi_identifiers or owns),
            *asked.sensitive,
            *(sensitive_of(each) for each in asked.checks),
            None if spec.entity else asked.entity,
        ]
    return each_once(
        *(there.get(own.casefold(), own) for own in owns if own),
        spec.entity,
        weight,
        *columns_of(spec.where, dialect),
    )
