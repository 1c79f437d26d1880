"""Resolves the columns of an earlier release by role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kanon_sql.errors import SpecError, did_you_mean, located, option
from kanon_sql.plan.question import BoundColumn, EarlierRoles, same_name
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
from kanon_sql.spec.earlier_release import EarlierReleaseSpec, the_earlier
from kanon_sql.spec.spec import TableSpec
from kanon_sql.sql.conditions import columns_of
from kanon_sql.sql.tables import Table


def resolve_earlier(
    name: str,
    asked: TableSpec,
    table: Table,
    quasi_identifiers: Sequence[BoundColumn],
    sensitive: Sequence[BoundColumn],
    entity: BoundColumn | None,
) -> EarlierRoles:
    """Resolve the columns of an earlier release.

    Its quasi-identifiers default to the table's; it needs an entity, and may lack sensitive
    attributes. Raises `SpecError` with its location in the spec.
    """
    here, spec = ("earlier_releases", name), asked.earlier_releases[name]
    if entity is None:
        with located(*here):
            raise SpecError(
                f"{the_earlier(name)}: nobody knows who is in both. Name the column that says "
                f"which person a record is about: {option('entity', 'person')}."
            )
    owns = [*quasi_identifiers, *sensitive, entity]
    with located(*here, "columns"):
        renamed = _renamed(name, spec, [column.name for column in owns])
    of_its_own = option("earlier_releases.quasi_identifiers")
    for own in quasi_identifiers if not spec.quasi_identifiers else ():
        if own.name not in renamed:
            otherwise = option("earlier_releases.columns", {own.name: "…"})
            published = f"name what it published instead: {of_its_own}"
            refuse_missing_beside(own.name, table, here, otherwise, published)
    columns = tuple(
        column_named(there, table, (*here, "quasi_identifiers"))
        for there in _quasi_identifiers(spec, renamed, quasi_identifiers)
    )
    found = EarlierRoles(
        name=name,
        table=table,
        quasi_identifiers=columns,
        columns={
            own.name: column
            for own in quasi_identifiers
            for column in columns
            if same_name(column.name, renamed.get(own.name, own.name))
        },
        entity=column_named(
            spec.entity or renamed.get(entity.name, entity.name),
            table,
            (*here, "entity"),
            "kanon_entity",
        ),
        sensitive=dict(_sensitive(table, renamed, sensitive)),
        where=bound_condition(spec.where, table, (*here, "where")),
        levels={},
    )
    with located(*here):
        try:
            _refuse_unusable(found)
        except SpecError as error:
            raise SpecError(f"{the_earlier(name)}: {error.marked}") from None
    with located(*here, "levels"):
        return _at_levels(found, spec, quasi_identifiers)


def _renamed(name: str, spec: EarlierReleaseSpec, owns: Sequence[str]) -> dict[str, str]:
    """The release's column names, by the table's own."""
    renamed: dict[str, str] = {}
    for own, there in spec.columns.items():
        matches = [each for each in owns if each == own] or [
            each for each in owns if same_name(each, own)
        ]
        if len(matches) != 1:
            raise SpecError(
                f'{the_earlier(name)}: "{own}" is no quasi-identifier, no sensitive attribute '
                f"and not the entity, and needs no other name there. These are {', '.join(owns)}."
                f"{did_you_mean(own, owns)}"
            )
        renamed[matches[0]] = there
    return renamed


def _quasi_identifiers(
    spec: EarlierReleaseSpec, renamed: Mapping[str, str], owns: Sequence[BoundColumn]
) -> list[str]:
    """Names of its quasi-identifiers; a renamed one may be listed under either name."""
    if not spec.quasi_identifiers:
        return [renamed.get(own.name, own.name) for own in owns]
    there = {own.casefold(): name for own, name in renamed.items()}
    return [there.get(name.casefold(), name) for name in spec.quasi_identifiers]


def _sensitive(
    table: Table, renamed: Mapping[str, str], sensitive: Sequence[BoundColumn]
) -> Iterator[tuple[str, BoundColumn]]:
    """Its columns for the sensitive attributes; a missing one is skipped unless it was renamed."""
    for own in sensitive:
        there = renamed.get(own.name, own.name)
        if own.name in renamed or any(same_name(there, each) for each in table.column_names):
            yield own.name, column_named(there, table, ("sensitive", own.name))


def _refuse_unusable(found: EarlierRoles) -> None:
    """Raise for a column with two roles, or one whose values can't be compared."""
    refuse_two_parts(
        [(column, "a quasi-identifier") for column in found.quasi_identifiers]
        + [(column, "sensitive") for column in found.sensitive.values()]
        + [(found.entity, "the entity")]
    )
    for column in (*found.quasi_identifiers, *found.sensitive.values(), found.entity):
        refuse_uncomparable(column, found.table)


def _at_levels(
    found: EarlierRoles, spec: EarlierReleaseSpec, quasi_identifiers: Sequence[BoundColumn]
) -> EarlierRoles:
    prefix = f"{the_earlier(found.name)}: "
    levels = levels_of(prefix, spec.levels, quasi_identifiers)
    for name in levels:
        if name not in found.columns:
            raise SpecError(
                f'{prefix}"{name}" is none of its quasi-identifiers, which are '
                f"{', '.join(column.name for column in found.quasi_identifiers)}."
            )
    return replace(found, levels=levels)


def named_of_earlier(asked: TableSpec, name: str) -> list[str]:
    """Column names of an unopened earlier release, as far as the spec names them.

    It is assumed to have the table's sensitive attributes.
    """
    spec = asked.earlier_releases[name]
    there = {own.casefold(): named for own, named in spec.columns.items()}
    owns = [
        *(spec.quasi_identifiers or asked.quasi_identifiers),
        *asked.sensitive,
        *(sensitive_of(each) for each in asked.checks),
        *([] if spec.entity else [asked.entity]),
    ]
    return each_once(
        *(there.get(own.casefold(), own) for own in owns if own),
        spec.entity,
        *columns_of(spec.where),
    )
