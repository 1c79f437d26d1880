"""Binds resolved columns to the requested generalisation levels.

`resolve` assigns each column its role, once; `bind` applies the levels. Whatever can't be queried
is rejected by these two, before SQL is rendered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kanon_sql.errors import SpecError, located
from kanon_sql.plan.levels import ColumnLevels, rows_of
from kanon_sql.plan.question import (
    AtLevel,
    BoundColumn,
    BoundEarlier,
    BoundReference,
    DataFacts,
    EarlierRoles,
    Location,
    ReferenceRoles,
    ResolvedQuestion,
    Roles,
)
from kanon_sql.spec.earlier_release import the_earlier
from kanon_sql.spec.question_parts import the_reference


def bind(roles: Roles, facts: DataFacts | None = None) -> ResolvedQuestion:
    """Apply the requested generalisation levels to every column.

    `facts` are the properties of the data that levels depend on. Raises `SpecError` with its
    location in the spec.
    """
    facts = facts or DataFacts()
    levels = tuple(_at_levels(roles, facts))
    generalised = {each.raw.name: each.column for each in levels}
    quasi_identifiers = tuple(
        generalised.get(column.name, column) for column in roles.quasi_identifiers
    )
    return ResolvedQuestion(
        roles=roles,
        facts=facts,
        quasi_identifiers=quasi_identifiers,
        keys=quasi_identifiers,
        sensitive=roles.sensitive,
        entity=roles.entity,
        weight=roles.weight,
        references={
            name: _bind_reference(reference, roles, facts)
            for name, reference in roles.references.items()
        },
        earlier={
            name: _bind_earlier(release, roles, facts) for name, release in roles.earlier.items()
        },
        checks=roles.checks,
        levels=levels,
    )


def _bind_reference(reference: ReferenceRoles, roles: Roles, facts: DataFacts) -> BoundReference:
    levels = tuple(_reference_levels(reference, roles, facts))
    generalised = {each.raw.alias: each.column for each in levels}
    return BoundReference(
        name=reference.name,
        table=reference.table,
        columns={
            own: generalised.get(column.alias, column) for own, column in reference.columns.items()
        },
        entity=reference.entity,
        weight=reference.weight,
        where=reference.where,
        levels=levels,
    )


def _bind_earlier(release: EarlierRoles, roles: Roles, facts: DataFacts) -> BoundEarlier:
    levels = tuple(_earlier_levels(release, roles, facts))
    generalised = {each.raw.name: each.column for each in levels}
    return BoundEarlier(
        name=release.name,
        table=release.table,
        quasi_identifiers=tuple(
            generalised.get(column.name, column) for column in release.quasi_identifiers
        ),
        entity=release.entity,
        sensitive=release.sensitive,
        where=release.where,
        levels=levels,
    )


def column_levels(
    roles: Roles, facts: DataFacts | None = None, *, without: Collection[str] = ()
) -> dict[str, ColumnLevels]:
    """The levels of every quasi-identifier by name, except those in `without`.

    Raises `SpecError` for a hierarchy that can't be read, has faults or doesn't fit the type.
    """
    return {
        column.name: _levels_for(roles, column, column, facts or DataFacts())
        for column in roles.quasi_identifiers
        if column.name not in without
    }


def _levels_for(
    roles: Roles,
    column: BoundColumn,
    values: BoundColumn,
    facts: DataFacts,
    longest: int | None = None,
) -> ColumnLevels:
    """The levels of a quasi-identifier for the values of one column: its own or another table's."""
    hierarchy = roles.hierarchy(column)
    with located("quasi_identifiers", column.name):
        return ColumnLevels.of(
            values.name,
            values.type,
            hierarchy,
            longest=longest,
            table=facts.hierarchies.get(column.name) or rows_of(column.name, hierarchy),
            faults=roles.spec.hierarchy_faults,
            show_values=facts.show_values,
        )


def _at_levels(roles: Roles, facts: DataFacts) -> Iterator[AtLevel]:
    for place, column in enumerate(roles.quasi_identifiers, start=1):
        level = roles.levels.get(column.name)
        if level:
            longest = facts.longest.get(column.name)
            levels = _levels_for(roles, column, column, facts, longest)
            with located("quasi_identifiers", column.name):
                _refuse_beyond_top("", column.name, levels, level)
            yield AtLevel(column, levels, level, place, portable=not roles.table.embedded)


def _refuse_beyond_top(prefix: str, name: str, levels: ColumnLevels, level: int) -> None:
    if level > levels.height:
        raise SpecError(
            f'{prefix}"{name}" has levels 0 to {levels.height}; level {level} was asked for.'
        )


def _reference_levels(
    reference: ReferenceRoles, roles: Roles, facts: DataFacts
) -> Iterator[AtLevel]:
    """The reference's columns, generalised by the table's hierarchies."""
    here = ("references", reference.name, "levels")
    referred = facts.referred.get(reference.name, {})
    yield from _levels_beside(
        here, f"{the_reference(reference.name)}: ", reference, roles, facts, referred
    )


def _earlier_levels(release: EarlierRoles, roles: Roles, facts: DataFacts) -> Iterator[AtLevel]:
    """An earlier release's columns, generalised by the table's hierarchies."""
    here = ("earlier_releases", release.name, "levels")
    longest = facts.longest_earlier.get(release.name, {})
    yield from _levels_beside(
        here, f"{the_earlier(release.name)}: ", release, roles, facts, longest
    )


def _levels_beside(
    here: Location,
    prefix: str,
    beside: ReferenceRoles | EarlierRoles,
    roles: Roles,
    facts: DataFacts,
    longest: Mapping[str, int],
) -> Iterator[AtLevel]:
    # Numbered after the release's tables of labels, which the same statement may join.
    for place, column in enumerate(roles.quasi_identifiers, start=1 + len(roles.quasi_identifiers)):
        level = beside.levels.get(column.name)
        if level:
            there = beside.columns[column.name]
            with located(*here):
                levels = _levels_for(roles, column, there, facts, longest.get(column.name))
                _refuse_beyond_top(prefix, column.name, levels, level)
            yield AtLevel(there, levels, level, place, portable=not beside.table.embedded)
